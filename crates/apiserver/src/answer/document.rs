//! The stored form of an object and what it becomes on the way out.
//!
//! Stored bytes always begin with the type, see [`prefix`]. So an object can be shown in another version whose fields
//! are the same, or inside a list that leaves both out, by copying bytes and without parsing.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use pilothouse_schema::builtin;
use pilothouse_store::Object;
use pilothouse_value::{Value, go_json, object};

use crate::registry::resource;

/// An object on its way to a client.
#[derive(Clone, Debug)]
pub(crate) enum Document {
    /// As it is stored.
    Stored(Arc<Object>),
    /// As it was made for this answer.
    Made(Arc<Value>),
    /// A configuration of webhooks with bundles of certificates that are there and have no bytes: as it is stored, with them,
    /// and as everyone sees it who does not read protobuf, without them.
    Bundled(Arc<Object>, Arc<Value>),
}

impl Document {
    /// The document, for those who look into it.
    pub(crate) fn value(&self) -> Arc<Value> {
        match self {
            Document::Stored(object) => object.value().clone(),
            Document::Made(value) | Document::Bundled(_, value) => value.clone(),
        }
    }

    /// The document as protobuf tells it, which tells bytes that are empty from none.
    pub(crate) fn binary(&self) -> Arc<Value> {
        match self {
            Document::Bundled(stored, _) => stored.value().clone(),
            other => other.value(),
        }
    }

    /// Writes it as compact JSON.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Document::Stored(object) if begins_before_type(object.bytes()) => {
                go_json::write(object.value(), out);
            }
            Document::Stored(object) => out.extend_from_slice(object.bytes()),
            Document::Made(value) | Document::Bundled(_, value) if is_built_in(value) => {
                builtin::write_json(value, out);
            }
            Document::Made(value) | Document::Bundled(_, value) => go_json::write_stored(value, out),
        }
    }

    /// Writes it as compact JSON without `apiVersion` and `kind`, as an item of a list of a built-in kind.
    pub(crate) fn write_item(&self, out: &mut Vec<u8>) {
        match self {
            Document::Stored(object) => {
                out.push(b'{');
                out.extend_from_slice(after_type(object.bytes()));
            }
            Document::Made(value) | Document::Bundled(_, value) if is_built_in(value) => {
                builtin::write_item_json(value, out);
            }
            Document::Made(value) | Document::Bundled(_, value) => encode_fields(value, out),
        }
    }
}

impl From<Value> for Document {
    fn from(value: Value) -> Document {
        Document::Made(Arc::new(value))
    }
}

/// The bytes of an object: compact JSON that begins with its type.
pub(crate) fn encode(value: &Value) -> Bytes {
    let mut out = Vec::with_capacity(512);
    encode_into(value, &mut out);
    out.into()
}

fn encode_into(value: &Value, out: &mut Vec<u8>) {
    if is_built_in(value) || value.as_object().is_none() {
        builtin::write_json(value, out);
        return;
    }
    out.extend_from_slice(prefix(object::api_version(value), object::kind(value)).as_bytes());
    let start = out.len();
    encode_fields(value, out);
    // What encode_fields began as an object of its own goes on the one that the prefix began.
    match out.get(start + 1) {
        Some(b'}') => {
            out.truncate(start);
            out.push(b'}');
        }
        _ => {
            if let Some(brace) = out.get_mut(start) {
                *brace = b',';
            }
        }
    }
}

/// Whether stored bytes of a defined kind have a member that upstream, which goes by the alphabet, writes before the type.
fn begins_before_type(bytes: &[u8]) -> bool {
    let Some(member) = bytes.strip_prefix(b"{\"apiVersion\"").map(|_| after_type(bytes)) else {
        return false;
    };
    member.strip_prefix(b"\"").is_some_and(|name| name < &b"kind"[..])
}

/// Whether a document is of a kind whose members have an order of their own.
fn is_built_in(value: &Value) -> bool {
    let api_version = object::api_version(value);
    BUILT_IN.contains(api_version) || api_version.starts_with("meta.k8s.io/")
}

/// `{"kind":"…","apiVersion":"…"` without an end; for what is not built in, the other way round. That is how upstream writes
/// its structures, and its maps; clients that read a stream tell by the place what they were misled by.
pub(crate) fn prefix(api_version: &str, kind: &str) -> String {
    let (api, name) = (Value::from(api_version).to_json(), Value::from(kind).to_json());
    if BUILT_IN.contains(api_version) {
        format!("{{\"kind\":{name},\"apiVersion\":{api}")
    } else {
        format!("{{\"apiVersion\":{api},\"kind\":{name}")
    }
}

/// The API versions that are built in.
static BUILT_IN: LazyLock<HashSet<String>> = LazyLock::new(|| {
    builtin::resources().iter().map(|table| resource::api_version(table.group, table.version)).collect()
});

/// Writes an object's fields but `apiVersion` and `kind`, in braces.
fn encode_fields(value: &Value, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut first = true;
    for (key, field) in value.as_object().into_iter().flat_map(|map| map.iter()) {
        if key == "apiVersion" || key == "kind" {
            continue;
        }
        if !first {
            out.push(b',');
        }
        first = false;
        go_json::string(key, out);
        out.push(b':');
        go_json::write_stored(field, out);
    }
    out.push(b'}');
}

/// What follows the type at the beginning of stored bytes. Neither value of the type holds an escape.
pub(crate) fn after_type(bytes: &[u8]) -> &[u8] {
    let mut quotes = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b'"' {
            quotes += 1;
            if quotes == 8 {
                let rest = bytes.get(at + 1..).unwrap_or_default();
                return rest.strip_prefix(b",").unwrap_or(rest);
            }
        }
    }
    bytes.strip_prefix(b"{").unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    #[test]
    fn bytes_begin_with_the_type() {
        let value =
            json!({"kind": "Pod", "apiVersion": "v1", "status": {}, "metadata": {"uid": "u", "name": "x"}});
        let bytes = encode(&value);
        let expected = br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","uid":"u"},"status":{}}"#;
        assert_eq!(&bytes[..], expected);
        assert_eq!(after_type(&bytes), br#""metadata":{"name":"x","uid":"u"},"status":{}}"#);
        let value =
            json!({"kind": "Toy", "apiVersion": "shop.example.com/v1", "aa": "<", "metadata": {"uid": "u"}});
        let expected =
            br#"{"apiVersion":"shop.example.com/v1","kind":"Toy","aa":"\u003c","metadata":{"uid":"u"}}"#;
        let bytes = encode(&value);
        assert_eq!(&bytes[..], expected);
        assert!(begins_before_type(&bytes));
        let mut written = Vec::new();
        Document::from(value).write(&mut written);
        let expected =
            br#"{"aa":"\u003c","apiVersion":"shop.example.com/v1","kind":"Toy","metadata":{"uid":"u"}}"#;
        assert_eq!(written, expected);
    }

    #[test]
    fn an_object_with_nothing_but_a_type_is_still_an_object() {
        let value = json!({"kind": "Pod", "apiVersion": "v1"});
        assert_eq!(&encode(&value)[..], br#"{"kind":"Pod","apiVersion":"v1"}"#);
        let value = json!({"kind": "Toy", "apiVersion": "shop.example.com/v1"});
        assert_eq!(&encode(&value)[..], br#"{"apiVersion":"shop.example.com/v1","kind":"Toy"}"#);
    }
}
