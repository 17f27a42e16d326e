//! Writes documents of built-in kinds as protobuf, by the same tables that [`decode`](super::decode) reads them by, byte
//! for byte as a real server does. (k8s.io/apimachinery `runtime/serializer/protobuf`, and the `generated.pb.go` of types.)
//!
//! Fields go in the order of their tags. A field that is no pointer is written always: a text, a number or a struct that the
//! document does not have is written as its zero; what is a pointer, a list or a map only if it is there. Messages are
//! written from their end to their beginning, for only then the length before a message costs nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Timestamp, Value, object};

use super::MAGIC;
use super::wire::Writer;
use crate::builtin::types::{self, Field, Form, PropsOr, Step, TypeDef};

/// The tags of `runtime.Unknown`, the envelope of every body.
const TYPE_META: u32 = 1;
const RAW: u32 = 2;
const CONTENT_ENCODING: u32 = 3;
const CONTENT_TYPE: u32 = 4;

/// Whether objects of a kind have a protobuf form.
pub fn is_encodable(api_version: &str, kind: &str) -> bool {
    super::type_of(api_version, kind).is_some()
}

/// A document as a body with its envelope; `None` if its kind has no protobuf form.
pub fn encode(value: &Value) -> Option<Vec<u8>> {
    let mut out = Writer::new();
    envelope(value, &mut out)?;
    Some(out.finish())
}

/// A list as a body with its envelope, made of the metadata and the items, which need not say what they are. `None` if the
/// kind of the list has no protobuf form.
pub fn encode_list<'a>(
    api_version: &str,
    kind: &str,
    metadata: &Value,
    items: impl DoubleEndedIterator<Item = &'a Value>,
) -> Option<Vec<u8>> {
    let def = super::type_of(api_version, kind)?;
    let field = def.field("items")?;
    let Form::List(item) = &field.form else { return None };
    let mut out = Writer::new();
    in_envelope(api_version, kind, &mut out, |out| {
        for value in items.rev() {
            tagged(item, tag_of(field), value, out);
        }
        if let Some(field) = def.field("metadata") {
            tagged(&field.form, tag_of(field), metadata, out);
        }
    });
    Some(out.finish())
}

/// One event of a watch as a frame of the stream: its length in four bytes, then the event. `None` if the kind of the object
/// has no protobuf form.
pub fn encode_event(event_type: &str, object: &Value) -> Option<Vec<u8>> {
    let mut out = Writer::new();
    // WatchEvent has no envelope; the object in its RawExtension has.
    let end = out.len();
    let raw = out.len();
    envelope(object, &mut out)?;
    out.length_since(raw);
    out.key(1, 2);
    out.length_since(raw);
    out.key(2, 2);
    out.text(1, event_type);
    let length = u32::try_from(out.len() - end).ok()?;
    out.put(&length.to_be_bytes());
    Some(out.finish())
}

fn envelope(value: &Value, out: &mut Writer) -> Option<()> {
    let (api_version, kind) = (object::api_version(value), object::kind(value));
    let def = super::type_of(api_version, kind)?;
    let map = value.as_object()?;
    in_envelope(api_version, kind, out, |out| message(def, map, out));
    Some(())
}

fn in_envelope(api_version: &str, kind: &str, out: &mut Writer, content: impl FnOnce(&mut Writer)) {
    out.text(CONTENT_TYPE, "");
    out.text(CONTENT_ENCODING, "");
    let end = out.len();
    content(out);
    out.length_since(end);
    out.key(RAW, 2);
    let end = out.len();
    out.text(2, kind);
    out.text(1, api_version);
    out.length_since(end);
    out.key(TYPE_META, 2);
    out.put(MAGIC);
}

fn message(def: &'static TypeDef, map: &Map, out: &mut Writer) {
    steps(def, def.wire_order(), map, out);
}

/// Writes the fields of a message, the last first. The fields of messages that JSON flattens stand in the same `map`.
fn steps(def: &'static TypeDef, order: &[Step], map: &Map, out: &mut Writer) {
    for step in order.iter().rev() {
        match step {
            Step::Field(at) => {
                if let Some(known) = def.fields.get(*at) {
                    field(known, map, out);
                }
            }
            Step::Message(tag, inner) => {
                let end = out.len();
                steps(def, inner, map, out);
                out.length_since(end);
                out.key(*tag, 2);
            }
        }
    }
}

fn tag_of(field: &Field) -> u32 {
    field.tags.last().copied().unwrap_or_default()
}

fn field(field: &Field, map: &Map, out: &mut Writer) {
    let tag = tag_of(field);
    match map.get(field.name).filter(|value| !value.is_null()) {
        Some(value) => tagged(&field.form, tag, value, out),
        None if field.pointer => {}
        None => zero(&field.form, tag, out),
    }
}

/// What is written for a field that is no pointer and has no value.
fn zero(form: &Form, tag: u32, out: &mut Writer) {
    match form {
        Form::Bytes | Form::List(_) | Form::Map(_) | Form::PropsOr(_) | Form::WrappedList(_) => {}
        form => tagged(form, tag, &Value::Null, out),
    }
}

/// Writes a value under a tag. A value of the wrong type is written as the zero of its form: documents that come here were
/// read by the same table.
fn tagged(form: &Form, tag: u32, value: &Value, out: &mut Writer) {
    match form {
        Form::String => out.text(tag, value.as_str().unwrap_or_default()),
        Form::Bool => out.number(tag, u64::from(value.as_bool().unwrap_or_default())),
        // Negative numbers are extended to 64 bits, as every reader expects.
        Form::Int32 | Form::Int64 => out.number(tag, value.as_i64().unwrap_or_default() as u64),
        Form::Double => {
            out.put(&value.as_f64().unwrap_or_default().to_le_bytes());
            out.key(tag, 1);
        }
        Form::Bytes => {
            let bytes = STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default();
            out.bytes(tag, &bytes);
        }
        Form::List(item) => {
            for value in value.as_array().into_iter().flatten().rev() {
                tagged(item, tag, value, out);
            }
        }
        Form::Map(item) => {
            for (key, value) in value.as_object().into_iter().flat_map(Map::iter).rev() {
                let end = out.len();
                tagged(item, 2, value, out);
                out.text(1, key);
                out.length_since(end);
                out.key(tag, 2);
            }
        }
        form => {
            let end = out.len();
            content(form, value, out);
            out.length_since(end);
            out.key(tag, 2);
        }
    }
}

/// The content of a message.
fn content(form: &Form, value: &Value, out: &mut Writer) {
    static EMPTY: Map = Map::new();
    match form {
        Form::Ref(id) => deeper(|| message(id.def(), value.as_object().unwrap_or(&EMPTY), out)),
        Form::WrappedList(item) => {
            for value in value.as_array().into_iter().flatten().rev() {
                tagged(item, 1, value, out);
            }
        }
        Form::PropsOr(props_or) => props(*props_or, value, out),
        Form::Time | Form::MicroTime => {
            if let Some(time) = value.as_str().and_then(|text| Timestamp::parse(text).ok()) {
                let nanos = if *form == Form::MicroTime { time.subsecond_nanos() / 1000 * 1000 } else { 0 };
                out.number(2, u64::from(nanos));
                out.number(1, time.unix_seconds() as u64);
            }
        }
        Form::Quantity => match value {
            Value::Null => out.text(1, "0"),
            Value::String(text) => out.text(1, text),
            other => out.text(1, &other.to_json()),
        },
        Form::IntOrString => {
            out.text(3, value.as_str().unwrap_or_default());
            out.number(2, value.as_i64().unwrap_or_default() as u64);
            out.number(1, u64::from(value.as_str().is_some()));
        }
        Form::Raw | Form::Json | Form::Fields if !value.is_null() => {
            out.bytes(1, value.to_json().as_bytes());
        }
        // Nothing is in them; the others are no messages.
        _ => {}
    }
}

fn props(props_or: PropsOr, value: &Value, out: &mut Writer) {
    let schema = |tag, value: &Value, out: &mut Writer| {
        if let Some(id) = types::find(types::PROPS) {
            tagged(&Form::Ref(id), tag, value, out);
        }
    };
    match (props_or, value) {
        (PropsOr::Bool, Value::Bool(allows)) => out.number(1, u64::from(*allows)),
        (PropsOr::Bool, value) => {
            schema(2, value, out);
            out.number(1, 1);
        }
        (PropsOr::Array, Value::Array(many)) => many.iter().rev().for_each(|one| schema(2, one, out)),
        (PropsOr::Strings, Value::Array(names)) => {
            names.iter().rev().for_each(|name| tagged(&Form::String, 2, name, out));
        }
        (PropsOr::Array | PropsOr::Strings, value) => schema(1, value, out),
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_value::json;

    use super::super::tests::objects;
    use super::*;

    #[test]
    fn json_is_written_as_the_bytes_that_go_writes() {
        let mut count = 0;
        for (body, value) in objects() {
            assert_eq!(
                encode(&value).as_deref().map(|bytes| STANDARD.encode(bytes)),
                Some(STANDARD.encode(&body)),
                "{value}"
            );
            count += 1;
        }
        assert!(count > 200, "{count} objects");
    }

    #[test]
    fn a_list_is_written_as_if_it_were_one_document() {
        let list = json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": [
            {"metadata": {"name": "a"}, "data": {"k": "v", "a": "b"}}, {"metadata": {"name": "b"}}]});
        let items = list.items_at(&["items"]);
        let metadata = list.get("metadata").unwrap();
        assert_eq!(encode_list("v1", "ConfigMapList", metadata, items.iter()), encode(&list));
        assert_eq!(super::super::decode(&encode(&list).unwrap()).unwrap().1.items_at(&["items"]).len(), 2);
    }

    #[test]
    fn what_is_not_built_in_has_no_protobuf_form() {
        assert_eq!(encode(&json!({"kind": "Toy", "apiVersion": "shop.example.com/v1"})), None);
        assert_eq!(encode(&json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1"})), None);
    }

    #[test]
    fn an_event_is_framed_by_its_length() {
        let object = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}});
        let frame = encode_event("ADDED", &object).unwrap();
        let length = u32::from_be_bytes(frame[..4].try_into().unwrap());
        assert_eq!(usize::try_from(length).unwrap(), frame.len() - 4);
        assert!(frame[4..].starts_with(b"\x0a\x05ADDED\x12"));
        assert!(frame.ends_with(&encode(&object).unwrap()));
    }
}
