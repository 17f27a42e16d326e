//! Reads protobuf bodies by the table of types.
//!
//! Go writes every field that is not a pointer, zero or not; such zeros are dropped again here, so that the document
//! is the one that the same client would have sent as JSON.

use std::borrow::Cow;

use pilothouse_value::stack::deeper;
use pilothouse_value::{GroupVersion, Gvk, Map, Value};

use super::wire::{self, Payload, Reader};
use super::{MAGIC, ProtoError, special};
use crate::builtin::types::{self, Field, Form, TypeDef};
use crate::builtin::{is_omitted, zero};

/// How webhooks are reached: of the configurations of admission, not of CRDs.
const CLIENT_CONFIG: &str = "admissionregistration.v1.WebhookClientConfig";

/// The deepest nesting of messages that is read.
const MAX_DEPTH: u32 = 10_000;

/// The most values that one body may contain: a body of a few bytes must not become a document of gigabytes.
const MAX_VALUES: usize = 1_000_000;

/// Reads an enveloped body that says of what kind it is. Unknown fields are skipped.
///
/// # Errors
/// [`ProtoError`] for anything that is not one whole object of a built-in kind.
pub fn decode(body: &[u8]) -> Result<(Gvk, Value), ProtoError> {
    decode_as(body, &Gvk::default())
}

/// Reads an enveloped body, which is of this kind if it does not say another.
///
/// # Errors
/// As [`decode`].
pub fn decode_as(body: &[u8], expected: &Gvk) -> Result<(Gvk, Value), ProtoError> {
    Decoder { values: 0 }.envelope(body, expected, 0)
}

struct Decoder {
    values: usize,
}

type Malformed = Cow<'static, str>;

impl Decoder {
    fn envelope(&mut self, body: &[u8], expected: &Gvk, depth: u32) -> Result<(Gvk, Value), ProtoError> {
        let broken = |why: Malformed| ProtoError::Envelope(why);
        if body.is_empty() {
            return Err(broken("empty data".into()));
        }
        let message = body.strip_prefix(MAGIC).ok_or_else(|| {
            broken(
                "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
                    .into(),
            )
        })?;
        if message.is_empty() {
            return Err(broken("empty body".into()));
        }
        let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
        let mut fields = Reader::new(message);
        while let Some(field) = fields.next() {
            match field.map_err(|why| broken(why.of("Unknown")))? {
                (1, Payload::Bytes(type_meta)) => {
                    for field in Reader::new(type_meta) {
                        match field.map_err(|why| broken(why.of("TypeMeta")))? {
                            (1, Payload::Bytes(text)) => api_version = string(text),
                            (2, Payload::Bytes(text)) => kind = string(text),
                            _ => {}
                        }
                    }
                }
                (2, Payload::Bytes(bytes)) => raw = bytes,
                (_, Payload::Group) => fields.skip_group().map_err(|why| broken(why.of("Unknown")))?,
                // How the content is encoded is not looked at, as upstream.
                _ => {}
            }
        }
        // A version that is none, and what is not said, is what is expected.
        let version = api_version.parse::<GroupVersion>().unwrap_or_default();
        let version = match version.version.is_empty() {
            true => GroupVersion::new(&*expected.group, &*expected.version),
            false => version,
        };
        let gvk = version.kind(if kind.is_empty() { expected.kind.clone() } else { kind });
        let def = types::kind(&gvk).ok_or_else(|| ProtoError::UnknownKind(gvk.clone()))?;
        let mut map = self
            .message(def, &[raw], depth)
            .map_err(|why| ProtoError::Malformed { gvk: gvk.clone(), why })?;
        if def.field("kind").is_some() {
            map.insert("kind", gvk.kind.as_str());
            map.insert("apiVersion", gvk.api_version());
        }
        Ok((gvk, Value::Object(map)))
    }

    /// Reads a message whose bytes may come in several parts, which count as one.
    fn message(&mut self, def: &'static TypeDef, parts: &[&[u8]], depth: u32) -> Result<Map, Malformed> {
        if depth > MAX_DEPTH {
            return Err("messages are nested too deeply".into());
        }
        let mut found = Found::default();
        for bytes in parts {
            self.fields(def, &mut Vec::new(), bytes, depth, &mut found)?;
        }
        let mut map = Map::new();
        for (field, value) in found.values {
            let value = finish(&field.form, value);
            // Where an empty bundle of certificates is another than none, protobuf tells the two apart.
            let tells = def.name == CLIENT_CONFIG && field.form == Form::Bytes;
            if tells || !is_omitted(field, &value) {
                map.insert(field.name, value);
            }
        }
        for (field, parts) in found.messages {
            let Form::Ref(id) = &field.form else { continue };
            let value = Value::Object(deeper(|| self.message(id.def(), &parts, depth + 1))?);
            if !is_omitted(field, &value) {
                map.insert(field.name, value);
            }
        }
        Ok(map)
    }

    /// Reads the fields of a message and of the messages inside it that JSON flattens. `outer` are their tags.
    fn fields<'b>(
        &mut self,
        def: &'static TypeDef,
        outer: &mut Vec<u32>,
        bytes: &'b [u8],
        depth: u32,
        found: &mut Found<'b>,
    ) -> Result<(), Malformed> {
        let broken = |why: wire::Broken| why.of(def.go_name());
        let mut fields = Reader::new(bytes);
        while let Some((tag, wire_type)) = fields.key().map_err(broken)? {
            self.values += 1;
            if self.values > MAX_VALUES {
                return Err("the body contains too many values".into());
            }
            outer.push(tag);
            let inside = def.fields.iter().find(|field| field.tags.starts_with(outer));
            let own = inside.filter(|field| field.tags.len() == outer.len());
            let fits = match (inside, own) {
                (_, Some(field)) => fits(&field.form, wire_type),
                (inside, None) => inside.is_none() || wire_type == 2,
            };
            if !fits {
                let name = own.map_or_else(|| def.go_name().to_owned(), go_field);
                return Err(format!("proto: wrong wireType = {wire_type} for field {name}").into());
            }
            match (inside, own, fields.payload(wire_type).map_err(broken)?) {
                (None, _, Payload::Group) => fields.skip_group().map_err(broken)?,
                (None, ..) => {}
                (_, Some(field), Payload::Bytes(bytes)) if matches!(field.form, Form::Ref(_)) => {
                    found.message(field).push(bytes);
                }
                (_, Some(field), payload) => self.add(&field.form, payload, found.value(field), depth)?,
                (Some(_), None, Payload::Bytes(inner)) if outer.len() < 4 => {
                    self.fields(def, outer, inner, depth, found)?;
                }
                (Some(_), None, _) => return Err("messages are nested too deeply".into()),
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
                    let number = number.map_err(|why| why.of(""))?;
                    let number = self.one(item, Payload::Varint(number), depth)?;
                    push(value, number);
                }
            }
            (Form::List(item), payload) => push(value, self.one(item, payload, depth)?),
            (Form::Map(item), Payload::Bytes(entry)) => {
                let (mut key, mut of_key) = (String::new(), None);
                for field in Reader::new(entry) {
                    match field.map_err(|why| why.of(""))? {
                        (1, Payload::Bytes(text)) => key = string(text),
                        (2, payload) => of_key = Some(self.one(item, payload, depth)?),
                        _ => {}
                    }
                }
                push(
                    value,
                    Value::Array(vec![Value::String(key), of_key.unwrap_or_else(|| zero(item))].into()),
                );
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
                Value::Object(deeper(|| self.message(id.def(), &[bytes], depth + 1))?)
            }
            (Form::WrappedList(item), Payload::Bytes(bytes)) => {
                let mut items = Value::Array(Vec::new().into());
                for field in Reader::new(bytes) {
                    if let (1, payload) = field.map_err(|why| why.of(""))? {
                        push(&mut items, self.one(item, payload, depth)?);
                    }
                }
                items
            }
            (Form::PropsOr(props_or), Payload::Bytes(bytes)) => self.props_or(*props_or, bytes, depth)?,
            (Form::Raw, Payload::Bytes(bytes)) => self.raw(bytes, depth)?,
            (form, Payload::Bytes(bytes)) => special::decode(form, bytes)?,
            _ => return Err("proto: wrong wireType".into()),
        })
    }

    fn props_or(&mut self, props_or: types::PropsOr, bytes: &[u8], depth: u32) -> Result<Value, Malformed> {
        let props = types::find(types::PROPS).ok_or("the table of types is incomplete")?.def();
        let (mut schema, mut many, mut allows) = (None, Vec::new(), false);
        for field in Reader::new(bytes) {
            match (props_or, field.map_err(|why| why.of(""))?) {
                (types::PropsOr::Bool, (1, Payload::Varint(n))) => allows = n != 0,
                (types::PropsOr::Bool, (2, Payload::Bytes(bytes)))
                | (types::PropsOr::Array | types::PropsOr::Strings, (1, Payload::Bytes(bytes))) => {
                    schema = Some(deeper(|| self.message(props, &[bytes], depth + 1))?);
                }
                (types::PropsOr::Array, (2, Payload::Bytes(bytes))) => {
                    many.push(Value::Object(deeper(|| self.message(props, &[bytes], depth + 1))?));
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
            (None, _) => Value::Array(many.into()),
        })
    }

    /// `runtime.RawExtension`: the object inside is JSON, or protobuf with an envelope of its own.
    fn raw(&mut self, bytes: &[u8], depth: u32) -> Result<Value, Malformed> {
        let mut raw = &[][..];
        for field in Reader::new(bytes) {
            if let (1, Payload::Bytes(bytes)) = field.map_err(|why| why.of(""))? {
                raw = bytes;
            }
        }
        if raw.starts_with(MAGIC) {
            if depth > MAX_DEPTH {
                return Err("messages are nested too deeply".into());
            }
            return match deeper(|| self.envelope(raw, &Gvk::default(), depth + 1)) {
                Ok((_, object)) => Ok(object),
                Err(_) => Err("an object inside the object cannot be read".into()),
            };
        }
        special::json(raw)
    }
}

/// What was found in a message.
#[derive(Default)]
struct Found<'b> {
    values: Vec<(&'static Field, Value)>,
    /// Messages inside; of one that comes in several parts all are read as one.
    messages: Vec<(&'static Field, Vec<&'b [u8]>)>,
}

impl<'b> Found<'b> {
    fn value(&mut self, field: &'static Field) -> &mut Value {
        entry(&mut self.values, field)
    }

    fn message(&mut self, field: &'static Field) -> &mut Vec<&'b [u8]> {
        entry(&mut self.messages, field)
    }
}

fn entry<'l, T: Default>(list: &'l mut Vec<(&'static Field, T)>, field: &'static Field) -> &'l mut T {
    let at = list.iter().position(|(known, _)| std::ptr::eq(*known, field)).unwrap_or_else(|| {
        list.push((field, T::default()));
        list.len() - 1
    });
    &mut list[at].1
}

/// Whether a field of this form may have this wire type.
fn fits(form: &Form, wire_type: u64) -> bool {
    match form {
        Form::Bool | Form::Int32 | Form::Int64 => wire_type == 0,
        Form::Double => wire_type == 1,
        Form::List(item) => fits(item, wire_type) || (is_varint(item) && wire_type == 2),
        _ => wire_type == 2,
    }
}

/// The name of a field in Go.
fn go_field(field: &Field) -> String {
    match (field.name, &field.form) {
        ("metadata", Form::Ref(id)) => id.def().go_name().to_owned(),
        ("uid" | "ip", _) => field.name.to_ascii_uppercase(),
        ("apiVersion", _) => "APIVersion".to_owned(),
        (name, _) => {
            let mut letters = name.chars();
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
        }
    }
}

fn is_varint(form: &Form) -> bool {
    matches!(form, Form::Bool | Form::Int32 | Form::Int64)
}

fn push(list: &mut Value, item: Value) {
    match list {
        Value::Array(items) => items.push(item),
        other => *other = Value::Array(vec![item].into()),
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

pub(super) fn string(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
