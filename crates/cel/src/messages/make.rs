//! From the fields of a message to the value that it stands for.

use super::native::{Native, json, made, native};
use super::{Descriptor, FieldKind, Kind, named, wire};
use crate::error::EvalError;
use crate::library::hosts;
use crate::patches;
use crate::time::Timestamp;
use crate::types::HostType;
use crate::val::{Opaque, Val};

/// A message that is no other value.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    descriptor: &'static Descriptor,
    /// The fields that are set.
    fields: Vec<(&'static str, Val<'static>)>,
}

impl Message {
    /// The value of a field; of one that is not set what stands for it. `None` if there is no such field.
    pub(crate) fn field(&self, name: &str) -> Option<Val<'static>> {
        let field = self.descriptor.field(name)?;
        Some(self.set_field(name).unwrap_or_else(|| match field.kind {
            FieldKind::String => Val::text(""),
            _ => Val::Null,
        }))
    }

    /// Whether a field is set; an empty text is none. `None` if there is no such field.
    pub(crate) fn has(&self, name: &str) -> Option<bool> {
        self.descriptor.field(name)?;
        Some(self.set_field(name).is_some_and(|value| value.as_str() != Some("")))
    }

    fn set_field(&self, name: &str) -> Option<Val<'static>> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }

    pub(super) fn to_json(&self) -> Vec<(Val<'static>, Val<'static>)> {
        self.fields.iter().map(|(name, value)| (Val::text(*name), value.clone())).collect()
    }
}

impl Opaque for Message {
    fn host_type(&self) -> HostType {
        if self.descriptor.fields.is_empty() { hosts::EMPTY } else { hosts::FIELDS_ENTRY }
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        let other: &dyn std::any::Any = other;
        let Some(other) = other.downcast_ref::<Self>() else { return false };
        let is_same = |field: &super::Field| match (self.field(field.name), other.field(field.name)) {
            (Some(a), Some(b)) => a.equals(&b).unwrap_or(false),
            _ => false,
        };
        std::ptr::eq(self.descriptor, other.descriptor) && self.descriptor.fields.iter().all(is_same)
    }
}

/// Makes a message. Of two fields of the same name the last counts.
///
/// # Errors
/// When a value is nothing for its field, or the type of an `Any` is not known.
pub(crate) fn make(name: &str, values: &[(&str, Val<'_>)]) -> Result<Val<'static>, EvalError> {
    if patches::named(name).is_some() {
        return Err(EvalError::new(format!("'{name}' of a mutation cannot be made yet")));
    }
    let Some(descriptor) = named(name) else { return Err(EvalError::new(format!("unknown type '{name}'"))) };
    let mut fields: Vec<(&'static str, Val<'static>)> = Vec::with_capacity(values.len());
    for (name, value) in values {
        let Some(field) = descriptor.field(name) else {
            return Err(EvalError::new(format!("no such field: {name}")));
        };
        let place = format!("{}.{}", descriptor.name, field.name);
        let converted = match (field.kind, value) {
            (FieldKind::Values, Val::List(list)) => list_of(list.iter()),
            (FieldKind::Fields, Val::Map(map)) => map_of(map),
            (FieldKind::Values | FieldKind::Fields, value) => {
                let ty = match value {
                    Val::List(_) => "list(dyn)",
                    Val::Map(_) => "map(dyn, dyn)",
                    value => value.type_name(),
                };
                return Err(EvalError::new(format!("unsupported field type for {place}: {ty}")));
            }
            (kind, value) => native(value, kind),
        };
        let wrong =
            |why| EvalError::new(format!("field type conversion error for {place} value type: {why}"));
        let converted = converted.map_err(wrong)?;
        fields.retain(|(known, _)| *known != field.name);
        fields.push((field.name, converted));
    }
    finish(descriptor, fields)
}

fn list_of<'a>(items: impl Iterator<Item = Result<Val<'a>, EvalError>>) -> Native {
    let items = items.map(|item| json(&item.map_err(|why| why.to_string())?));
    Ok(Val::list(items.collect::<Result<_, _>>()?))
}

fn map_of(map: &crate::val::MapVal<'_>) -> Native {
    let mut entries = Vec::with_capacity(map.len());
    for key in map.keys() {
        let value = map.find(&key).unwrap_or(Ok(Val::Null)).map_err(|why| why.to_string())?;
        entries.push((native(&key, FieldKind::String)?, json(&value)?));
    }
    Ok(made(entries))
}

/// The value that a message with these fields stands for.
pub(super) fn finish(
    descriptor: &'static Descriptor,
    fields: Vec<(&'static str, Val<'static>)>,
) -> Result<Val<'static>, EvalError> {
    let get = |name: &str| fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
    let int = |name: &str| match get(name) {
        Some(Val::Int(number)) => number,
        _ => 0,
    };
    Ok(match descriptor.kind {
        Kind::Wrapper => get("value").unwrap_or_else(|| zero(descriptor)),
        Kind::Timestamp => Val::Timestamp(Timestamp::of_message(int("seconds"), int("nanos"))),
        Kind::Duration => Val::Duration(duration(int("seconds"), int("nanos"))),
        Kind::Struct => get("fields").unwrap_or_else(|| made(Vec::new())),
        Kind::ListValue => get("values").unwrap_or_else(|| Val::list(Vec::new())),
        // One of its fields; a null is a number that says nothing.
        Kind::Value => match fields.last() {
            None | Some(("null_value", _)) => Val::Null,
            Some((_, value)) => value.clone(),
        },
        Kind::Any => {
            let (url, bytes) = (get("type_url"), get("value"));
            let text = url.as_ref().and_then(Val::as_str).unwrap_or_default();
            let bytes = if let Some(Val::Bytes(bytes)) = &bytes { &**bytes } else { &[] };
            return wire::unpack(text, bytes).ok_or_else(|| unknown_any(text, bytes));
        }
        Kind::Plain => Val::Opaque(std::sync::Arc::new(Message { descriptor, fields })),
    })
}

fn zero(descriptor: &Descriptor) -> Val<'static> {
    match descriptor.fields.first().map(|field| field.kind) {
        Some(FieldKind::Bool) => Val::Bool(false),
        Some(FieldKind::Bytes) => Val::Bytes([].into()),
        Some(FieldKind::Double | FieldKind::Float) => Val::Double(0.0),
        Some(FieldKind::Int32 | FieldKind::Int64) => Val::Int(0),
        Some(FieldKind::Uint32 | FieldKind::Uint64) => Val::Uint(0),
        Some(FieldKind::String) => Val::text(""),
        _ => Val::Null,
    }
}

/// In nanoseconds; what is too long is the longest there is.
fn duration(seconds: i64, nanos: i64) -> i64 {
    let total = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    i64::try_from(total).unwrap_or(if seconds < 0 { i64::MIN } else { i64::MAX })
}

/// As protobuf for Go prints a message that cannot be read.
fn unknown_any(url: &str, bytes: &[u8]) -> EvalError {
    let mut parts = Vec::with_capacity(2);
    if !url.is_empty() {
        parts.push(format!("type_url:{}", quote(url.as_bytes())));
    }
    if !bytes.is_empty() {
        parts.push(format!("value:{}", quote(bytes)));
    }
    EvalError::new(format!("unsupported conversion to ref.Val: (*dynamicpb.Message){}", parts.join("  ")))
}

fn quote(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(*byte)]),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b' '..=b'~' => out.push(char::from(*byte)),
            byte => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}
