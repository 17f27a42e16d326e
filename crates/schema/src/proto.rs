//! Protobuf, the other encoding of built-in kinds, by table: the field numbers stand beside the field names in the types
//! table. This module reads the bodies that client-go and kubectl send; [`encode`] writes answers.
//! (k8s.io/apimachinery `runtime/serializer/protobuf`.)
//!
//! Go writes every field that is not a pointer, zero or not; such zeros are dropped again here, so that the document
//! is the one that the same client would have sent as JSON.

mod encode;
#[cfg(test)]
mod random;
mod special;
mod wire;

pub use encode::{encode, encode_event, encode_list, is_encodable};

use pilothouse_value::{Gvk, Map, Value};

use crate::builtin::types::{self, Field, Form, TypeDef};
use crate::builtin::{is_omitted, zero};
use wire::{Payload, Reader};

/// The first bytes of every protobuf body.
pub const MAGIC: &[u8] = b"k8s\0";

/// The deepest nesting of messages that is read.
const MAX_DEPTH: u32 = 64;

/// The most values that one body may contain: a body of a few bytes must not become a document of gigabytes.
const MAX_VALUES: usize = 1_000_000;

/// A protobuf body that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtoError {
    /// The envelope is missing.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NotProtobuf,
    /// The envelope says that its content is compressed or is not protobuf.
    #[error(
        "the protobuf envelope holds {0}, which is not supported (hint: send the object as protobuf or JSON)"
    )]
    Content(String),
    /// The kind is not built in; custom resources have no protobuf form.
    #[error("no kind \"{}\" is registered for version \"{}\" in scheme (hint: send custom resources as JSON)", .0.kind, .0.api_version())]
    UnknownKind(Gvk),
    /// The bytes are not a message of the kind.
    #[error("reading the protobuf body of {kind}: {why}")]
    Malformed {
        /// The kind of the body, or `envelope`.
        kind: String,
        /// What is wrong.
        why: &'static str,
    },
}

/// Reads an enveloped body. Unknown fields are skipped.
///
/// # Errors
/// [`ProtoError`] for anything that is not one whole object of a built-in kind.
pub fn decode(body: &[u8]) -> Result<(Gvk, Value), ProtoError> {
    Decoder { values: 0 }.envelope(body, 0)
}

/// The type of the messages of a kind. The kinds that only answers are of, in groups of their own, are found here alone.
fn type_of(api_version: &str, kind: &str) -> Option<&'static TypeDef> {
    let answer = match (api_version, kind) {
        ("meta.k8s.io/v1" | "meta.k8s.io/v1beta1", "PartialObjectMetadata") => {
            "meta.v1.PartialObjectMetadata"
        }
        ("meta.k8s.io/v1" | "meta.k8s.io/v1beta1", "PartialObjectMetadataList") => {
            "meta.v1.PartialObjectMetadataList"
        }
        ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList") => "apidiscovery.v2.APIGroupDiscoveryList",
        // The oldest answer of all says no version.
        ("", "APIVersions") => "meta.v1.APIVersions",
        _ => return types::kind(&api_version.parse::<pilothouse_value::GroupVersion>().ok()?.kind(kind)),
    };
    types::find(answer).map(types::TypeId::def)
}

struct Decoder {
    values: usize,
}

type Malformed = &'static str;

impl Decoder {
    fn envelope(&mut self, body: &[u8], depth: u32) -> Result<(Gvk, Value), ProtoError> {
        let message = body.strip_prefix(MAGIC).ok_or(ProtoError::NotProtobuf)?;
        let malformed = |why| ProtoError::Malformed { kind: "envelope".to_owned(), why };
        let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
        for field in Reader::new(message) {
            match field.map_err(malformed)? {
                (1, Payload::Bytes(type_meta)) => {
                    for field in Reader::new(type_meta) {
                        match field.map_err(malformed)? {
                            (1, Payload::Bytes(text)) => api_version = string(text),
                            (2, Payload::Bytes(text)) => kind = string(text),
                            _ => {}
                        }
                    }
                }
                (2, Payload::Bytes(bytes)) => raw = bytes,
                (3 | 4, Payload::Bytes(text)) if !text.is_empty() => {
                    return Err(ProtoError::Content(string(text)));
                }
                _ => {}
            }
        }
        let gvk = api_version
            .parse::<pilothouse_value::GroupVersion>()
            .map(|version| version.kind(kind.clone()))
            .map_err(|_| malformed("the apiVersion is not a group and a version"))?;
        let def = types::kind(&gvk).ok_or_else(|| ProtoError::UnknownKind(gvk.clone()))?;
        let mut map = self
            .message(def, raw, depth)
            .map_err(|why| ProtoError::Malformed { kind: gvk.kind.clone(), why })?;
        if def.field("kind").is_some() {
            map.insert("kind", kind);
            map.insert("apiVersion", api_version);
        }
        Ok((gvk, Value::Object(map)))
    }

    fn message(&mut self, def: &'static TypeDef, bytes: &[u8], depth: u32) -> Result<Map, Malformed> {
        if depth > MAX_DEPTH {
            return Err("messages are nested too deeply");
        }
        let mut found: Vec<(&'static Field, Value)> = Vec::new();
        self.fields(def, &mut Vec::new(), bytes, depth, &mut found)?;
        let mut map = Map::new();
        for (field, value) in found {
            let value = finish(&field.form, value);
            if !is_omitted(field, &value) {
                map.insert(field.name, value);
            }
        }
        Ok(map)
    }

    /// Reads the fields of a message and of the messages inside it that JSON flattens. `outer` are their tags.
    fn fields(
        &mut self,
        def: &'static TypeDef,
        outer: &mut Vec<u32>,
        bytes: &[u8],
        depth: u32,
        found: &mut Vec<(&'static Field, Value)>,
    ) -> Result<(), Malformed> {
        for field in Reader::new(bytes) {
            let (tag, payload) = field?;
            self.values += 1;
            if self.values > MAX_VALUES {
                return Err("the body contains too many values");
            }
            outer.push(tag);
            let inside = def.fields.iter().find(|field| field.tags.starts_with(outer));
            match (inside, payload) {
                (None, _) => {}
                (Some(field), payload) if field.tags.len() == outer.len() => {
                    let at = match found.iter().position(|(seen, _)| std::ptr::eq(*seen, field)) {
                        Some(at) => at,
                        None => {
                            found.push((field, Value::Null));
                            found.len() - 1
                        }
                    };
                    if let Some((_, value)) = found.get_mut(at) {
                        self.add(&field.form, payload, value, depth)?;
                    }
                }
                (Some(_), Payload::Bytes(inner)) if outer.len() < 4 => {
                    self.fields(def, outer, inner, depth, found)?
                }
                (Some(_), _) => return Err("a field has the wrong wire type"),
            }
            outer.pop();
        }
        Ok(())
    }

    /// Adds one occurrence of a field. The entries of maps are collected as a list of pairs and sorted by [`finish`].
    fn add(
        &mut self,
        form: &Form,
        payload: Payload<'_>,
        value: &mut Value,
        depth: u32,
    ) -> Result<(), Malformed> {
        match (form, payload) {
            (Form::List(item), Payload::Bytes(packed)) if is_varint(item) => {
                for number in wire::packed(packed) {
                    let number = self.one(item, Payload::Varint(number?), depth)?;
                    push(value, number);
                }
            }
            (Form::List(item), payload) => push(value, self.one(item, payload, depth)?),
            (Form::Map(item), Payload::Bytes(entry)) => {
                let (mut key, mut of_key) = (String::new(), None);
                for field in Reader::new(entry) {
                    match field? {
                        (1, Payload::Bytes(text)) => key = string(text),
                        (2, payload) => of_key = Some(self.one(item, payload, depth)?),
                        _ => {}
                    }
                }
                push(value, Value::Array(vec![Value::String(key), of_key.unwrap_or_else(|| zero(item))]));
            }
            (form, payload) => *value = self.one(form, payload, depth)?,
        }
        Ok(())
    }

    fn one(&mut self, form: &Form, payload: Payload<'_>, depth: u32) -> Result<Value, Malformed> {
        Ok(match (form, payload) {
            (Form::String, Payload::Bytes(text)) => Value::String(string(text)),
            (Form::Bool, Payload::Varint(n)) => Value::Bool(n != 0),
            // Negative numbers are sign-extended on the wire; what does not fit is cut off, as in Go.
            (Form::Int32, Payload::Varint(n)) => Value::Int(i64::from(n as i32)),
            (Form::Int64, Payload::Varint(n)) => Value::Int(n as i64),
            (Form::Double, Payload::Fixed64(bits)) => special::double(bits)?,
            (Form::Ref(id), Payload::Bytes(bytes)) => {
                Value::Object(self.message(id.def(), bytes, depth + 1)?)
            }
            (Form::WrappedList(item), Payload::Bytes(bytes)) => {
                let mut items = Value::Array(Vec::new());
                for field in Reader::new(bytes) {
                    if let (1, payload) = field? {
                        push(&mut items, self.one(item, payload, depth)?);
                    }
                }
                items
            }
            (Form::PropsOr(props_or), Payload::Bytes(bytes)) => self.props_or(*props_or, bytes, depth)?,
            (Form::Raw, Payload::Bytes(bytes)) => self.raw(bytes, depth)?,
            (form, Payload::Bytes(bytes)) => special::decode(form, bytes)?,
            _ => return Err("a field has the wrong wire type"),
        })
    }

    fn props_or(&mut self, props_or: types::PropsOr, bytes: &[u8], depth: u32) -> Result<Value, Malformed> {
        let props =
            types::find("apiextensions.v1.JSONSchemaProps").ok_or("the table of types is incomplete")?.def();
        let (mut schema, mut many, mut allows) = (None, Vec::new(), false);
        for field in Reader::new(bytes) {
            match (props_or, field?) {
                (types::PropsOr::Bool, (1, Payload::Varint(n))) => allows = n != 0,
                (types::PropsOr::Bool, (2, Payload::Bytes(bytes)))
                | (types::PropsOr::Array | types::PropsOr::Strings, (1, Payload::Bytes(bytes))) => {
                    schema = Some(self.message(props, bytes, depth + 1)?);
                }
                (types::PropsOr::Array, (2, Payload::Bytes(bytes))) => {
                    many.push(Value::Object(self.message(props, bytes, depth + 1)?));
                }
                (types::PropsOr::Strings, (2, Payload::Bytes(text))) => {
                    many.push(Value::String(string(text)))
                }
                _ => {}
            }
        }
        Ok(match (schema, props_or) {
            (Some(schema), _) => Value::Object(schema),
            (None, types::PropsOr::Bool) => Value::Bool(allows),
            (None, _) => Value::Array(many),
        })
    }

    /// `runtime.RawExtension`: the object inside is JSON, or protobuf with an envelope of its own.
    fn raw(&mut self, bytes: &[u8], depth: u32) -> Result<Value, Malformed> {
        let mut raw = &[][..];
        for field in Reader::new(bytes) {
            if let (1, Payload::Bytes(bytes)) = field? {
                raw = bytes;
            }
        }
        if raw.starts_with(MAGIC) {
            if depth > MAX_DEPTH {
                return Err("messages are nested too deeply");
            }
            return match self.envelope(raw, depth + 1) {
                Ok((_, object)) => Ok(object),
                Err(_) => Err("an object inside the object cannot be read"),
            };
        }
        special::json(raw)
    }
}

fn is_varint(form: &Form) -> bool {
    matches!(form, Form::Bool | Form::Int32 | Form::Int64)
}

fn push(list: &mut Value, item: Value) {
    match list {
        Value::Array(items) => items.push(item),
        other => *other = Value::Array(vec![item]),
    }
}

/// Makes the map out of the pairs that were collected; of a key that came twice the last value stays.
fn finish(form: &Form, value: Value) -> Value {
    match (form, value) {
        (Form::Map(_), Value::Array(pairs)) => {
            let pair = |pair| match pair {
                Value::Array(pair) => {
                    let mut pair = pair.into_iter();
                    match (pair.next(), pair.next()) {
                        (Some(Value::String(key)), Some(value)) => Some((key, value)),
                        _ => None,
                    }
                }
                _ => None,
            };
            let mut pairs: Vec<(String, Value)> = pairs.into_iter().filter_map(pair).collect();
            // Sorted first (stably), because inserting at the end is what the map is fast at.
            pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(pairs.into_iter().collect())
        }
        (_, value) => value,
    }
}

fn string(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    /// Objects as Go encoded them: protobuf in base64, a tab, JSON. Made by `generate/`.
    static OBJECTS: &str = include_str!("../tests/data/go_objects.txt");

    pub(super) fn objects() -> impl Iterator<Item = (Vec<u8>, Value)> {
        OBJECTS.lines().map(|line| {
            let (proto, json) = line.split_once('\t').unwrap();
            (STANDARD.decode(proto).unwrap(), pilothouse_value::parse::json(json.as_bytes()).unwrap().value)
        })
    }

    #[test]
    fn protobuf_reads_as_the_json_that_go_writes() {
        let mut count = 0;
        for (body, expected) in objects() {
            let (gvk, mut object) = decode(&body).unwrap();
            crate::builtin::decode(&gvk, &mut object).unwrap();
            assert_eq!(object, expected, "{gvk}");
            count += 1;
        }
        assert!(count > 200, "{count} objects");
    }

    #[test]
    fn json_that_go_wrote_stays_as_it_is() {
        for (_, expected) in objects() {
            let mut object = expected.clone();
            crate::builtin::decode(&Gvk::of(&expected).unwrap(), &mut object).unwrap();
            assert_eq!(object, expected);
        }
    }

    #[test]
    fn bodies_that_are_not_protobuf_say_so() {
        assert_eq!(decode(b"{}"), Err(ProtoError::NotProtobuf));
        let body = b"k8s\0\x0a\x0b\x0a\x04a/v1\x12\x03Web";
        let error = decode(body).unwrap_err().to_string();
        assert!(error.starts_with("no kind \"Web\" is registered for version \"a/v1\" in scheme"), "{error}");
        let body = b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x05\x12";
        assert!(matches!(decode(body), Err(ProtoError::Malformed { .. })));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&[MAGIC, &bytes].concat());
        }

        #[test]
        fn no_damaged_object_panics(pick in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
            let all: Vec<&str> = OBJECTS.lines().collect();
            let mut body = STANDARD.decode(pick.get(&all).split('\t').next().unwrap()).unwrap();
            let at = at.index(body.len());
            body[at] = byte;
            if cut {
                body.truncate(at);
            }
            let _ = decode(&body);
        }
    }
}
