//! What a value becomes in the field of a message. Source: `ConvertToNative` of cel-go `common/types` and of
//! `k8s.io/apiserver/pkg/cel`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{FieldKind, Message};
use crate::library::convert;
use crate::val::{MapBuilder, Val};

/// The greatest whole number that JSON can hold, and its negative.
const JSON_SAFE: u64 = (1 << 53) - 1;

/// The value of a field, and why it can be none.
pub(super) type Native = Result<Val<'static>, String>;

/// A value for a field that is no list and no map of values.
pub(super) fn native(value: &Val<'_>, kind: FieldKind) -> Native {
    use FieldKind as K;
    Ok(match (value, kind) {
        (Val::Optional(Some(value)), kind) => return native(value, kind),
        (Val::Optional(None), _) => return Err("optional.none() dereference".to_owned()),
        (value, K::Value | K::Values | K::Fields) => return json(value),
        (Val::Bool(value), K::Bool) => Val::Bool(*value),
        (Val::Bytes(bytes), K::Bytes) => Val::Bytes(bytes.clone()),
        (Val::Double(value), K::Double) => Val::Double(*value),
        (Val::Double(value), K::Float) => Val::Double(f64::from(*value as f32)),
        (Val::Int(value), K::Int64) => Val::Int(*value),
        (Val::Int(value), K::Int32 | K::Null) => {
            Val::Int(i64::from(i32::try_from(*value).map_err(|_| "integer overflow")?))
        }
        (Val::Uint(value), K::Uint64) => Val::Uint(*value),
        (Val::Uint(value), K::Uint32) => {
            Val::Uint(u64::from(u32::try_from(*value).map_err(|_| "unsigned integer overflow")?))
        }
        (Val::String(text), K::String) => Val::text(&**text),
        (Val::Map(map), K::Struct) if !map.is_declared() => return json(value),
        (Val::List(list), K::List) if !list.is_declared() => return json(value),
        (value, kind) => return Err(mismatch(value, kind.go_type())),
    })
}

/// A value as `google.protobuf.Value` holds it: what JSON has.
pub(super) fn json(value: &Val<'_>) -> Native {
    Ok(match value {
        Val::Null => Val::Null,
        Val::Bool(value) => Val::Bool(*value),
        Val::Int(number) if number.unsigned_abs() <= JSON_SAFE => Val::Double(*number as f64),
        Val::Uint(number) if *number <= JSON_SAFE => Val::Double(*number as f64),
        Val::Double(number) => Val::Double(*number),
        Val::Bytes(bytes) => Val::text(STANDARD.encode(bytes)),
        Val::Int(_) | Val::Uint(_) | Val::String(_) | Val::Timestamp(_) | Val::Duration(_) => {
            Val::text(convert::text(value).unwrap_or_default())
        }
        Val::Optional(Some(value)) => return json(value),
        Val::Optional(None) => return Err("optional.none() dereference".to_owned()),
        Val::List(list) if !list.is_declared() => {
            let items = list.iter().map(|item| json(&item.map_err(|why| why.to_string())?));
            Val::list(items.collect::<Result<_, _>>()?)
        }
        Val::Map(map) if !map.is_declared() => {
            let mut entries = Vec::with_capacity(map.len());
            for key in map.keys() {
                let name = native(&key, FieldKind::String)?;
                let value = map.find(&key).unwrap_or(Ok(Val::Null)).map_err(|why| why.to_string())?;
                entries.push((name, json(&value)?));
            }
            made(entries)
        }
        Val::Opaque(_) => match value.downcast::<Message>() {
            Some(message) => made(message.to_json()),
            None => return Err(mismatch(value, FieldKind::Value.go_type())),
        },
        value => return Err(mismatch(value, FieldKind::Value.go_type())),
    })
}

/// A map with these entries, whose keys are texts.
pub(super) fn made(entries: Vec<(Val<'static>, Val<'static>)>) -> Val<'static> {
    let mut builder = MapBuilder::default();
    for (key, value) in entries {
        // The last of two alike counts; a text can always be a key.
        builder.put(key, value).ok();
    }
    Val::Map(builder.build())
}

/// That a value is nothing for a field, in the words of each type.
fn mismatch(value: &Val<'_>, to: &str) -> String {
    let from = match value {
        Val::Int(_) | Val::Uint(_) => {
            return format!("unsupported type conversion from '{}' to {to}", value.type_name());
        }
        Val::String(_) => return format!("unsupported native conversion from string to '{to}'"),
        Val::Type(_) => return "type conversion not supported for 'type'".to_owned(),
        Val::Preserved(_) => {
            return format!(
                "type conversion to '{to}' not supported for values preserved by x-kubernetes-preserve-unknown-fields"
            );
        }
        Val::Bool(_) => "bool",
        Val::Double(_) => "Double",
        Val::Bytes(_) => "Bytes",
        Val::Null => "'null_type'",
        Val::Timestamp(_) => "'Timestamp'",
        Val::Duration(_) => "'Duration'",
        Val::List(list) if list.is_declared() => "'list(dyn)'",
        Val::List(_) => "list",
        Val::Map(map) if map.is_declared() => "'map(dyn, dyn)'",
        Val::Map(_) => "map",
        Val::Opaque(value) => {
            // Go's names are those of the types without the package, but for the authorizer's.
            let name = value.host_type().name;
            let short = match name.rsplit_once('.') {
                _ if name.starts_with("kubernetes.authorization.") => name,
                Some((_, "NamedFormat")) => "Format",
                Some((_, short)) => short,
                None => name,
            };
            return format!("type conversion error from '{short}' to '{to}'");
        }
        Val::Optional(_) | Val::Wrong(_) => "optional",
    };
    format!("type conversion error from {from} to '{to}'")
}
