//! What a server does to an object that it holds as a tree of maps and lists when it makes a Go struct of it (apimachinery's
//! `runtime.DefaultUnstructuredConverter`). What a strategic merge patch or an apply has made goes this way instead of the
//! decoder's: whole numbers that are too large lose their upper bits, and what does not fit is told in other words.

use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;
use pilothouse_value::base64::{self, Alphabet};
use pilothouse_value::{Gvk, Map, Value};

use super::types::{self, Field, Form, TypeDef};
use super::{decode, go_names};

/// The name of the type of one of `metadata.managedFields`.
const ENTRY: &str = "meta.v1.ManagedFieldsEntry";

/// Makes the values of `object` such as the Go struct of `gvk` can hold; [`decode`](super::decode()) takes them then. What the
/// kind does not have is left alone, and so is an object of a kind that is not built in.
///
/// # Errors
/// Upstream's text for the first value, in the order of Go's structs, that cannot be held.
pub fn convert(gvk: &Gvk, object: &mut Value) -> Result<(), String> {
    types::kind(gvk).map_or(Ok(()), |def| of_struct(def, object))
}

/// Whether a value can be read as one of `metadata.managedFields`.
pub fn is_managed_fields_entry(value: &Value) -> bool {
    value.as_object().is_some()
        && types::find(ENTRY).is_some_and(|id| of_struct(id.def(), &mut value.clone()).is_ok())
}

fn of_struct(def: &'static TypeDef, value: &mut Value) -> Result<(), String> {
    let Value::Object(map) = value else {
        return Err(format!("cannot restore struct from: {}", go_kind(value)));
    };
    let mut first: Option<(usize, String)> = None;
    for (name, value) in map.iter_mut() {
        let Some(field) = def.field(name) else { continue };
        if first.as_ref().is_none_or(|(position, _)| field.position < *position)
            && let Err(why) = of_form(Place { def, field }, &field.form, value)
        {
            first = Some((field.position, why));
        }
    }
    first.map_or(Ok(()), |(_, why)| Err(why))
}

/// The field that a value, or the list or map around it, is of.
#[derive(Clone, Copy)]
struct Place {
    def: &'static TypeDef,
    field: &'static Field,
}

impl Place {
    /// What Go calls the type of a value of this form: a text may have a name of its own.
    fn go_name(self, wanted: &str) -> String {
        go_names::refine(wanted, self.def.name, self.field.name, &self.field.form)
            .unwrap_or_else(|| wanted.to_owned())
    }
}

fn of_form(place: Place, form: &'static Form, value: &mut Value) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    match form {
        Form::String => match value {
            Value::String(_) => Ok(()),
            // A number could be a character to Go.
            Value::Int(_) => Err(format!("cannot convert int64 to {}", place.go_name("string"))),
            _ => Err("unrecognized type: string".to_owned()),
        },
        Form::Bool => match value {
            Value::Bool(_) => Ok(()),
            _ => Err("unrecognized type: bool".to_owned()),
        },
        Form::Int32 => of_int(place, value, "int32"),
        Form::Int64 => of_int(place, value, "int64"),
        Form::Double => match value {
            Value::Int(_) | Value::Float(_) | Value::Spelled(_) => Ok(()),
            _ => Err("unrecognized type: float64".to_owned()),
        },
        Form::Bytes => of_bytes(value),
        Form::List(item) | Form::WrappedList(item) => match value {
            Value::Array(items) => items.iter_mut().try_for_each(|value| of_form(place, item, value)),
            other => Err(format!("cannot restore slice from {}", go_kind(other))),
        },
        Form::Map(item) => match value {
            Value::Object(map) => of_map(place, item, map),
            other => Err(format!("cannot restore map from {}", go_kind(other))),
        },
        Form::Ref(id) => of_struct(id.def(), value),
        // What has a form of its own in JSON is read by that.
        Form::Time
        | Form::MicroTime
        | Form::Duration
        | Form::Quantity
        | Form::IntOrString
        | Form::Raw
        | Form::Json
        | Form::Fields
        | Form::PropsOr(_) => decode::read_alone(form, &mut value.clone()),
    }
}

fn of_map(place: Place, item: &'static Form, map: &mut Map) -> Result<(), String> {
    map.values_mut().try_for_each(|value| of_form(place, item, value))
}

fn of_int(place: Place, value: &mut Value, wanted: &str) -> Result<(), String> {
    let number = match value {
        Value::Int(number) => *number,
        // What does not fit becomes the smallest there is, as on amd64.
        Value::Float(number) if number.trunc() == *number => value.as_i64().unwrap_or(i64::MIN),
        Value::Float(_) => return Err(format!("cannot convert float64 to {}", place.go_name(wanted))),
        _ => return Err(format!("unrecognized type: {wanted}")),
    };
    #[expect(clippy::cast_possible_truncation, reason = "so does Go")]
    let number = if wanted == "int32" { i64::from(number as i32) } else { number };
    *value = Value::Int(number);
    Ok(())
}

fn of_bytes(value: &mut Value) -> Result<(), String> {
    match value {
        Value::String(text) => base64::decode(Alphabet::Standard, text.as_bytes())
            .map(drop)
            .map_err(|why| format!("error decoding from json: {why}")),
        Value::Array(items) => {
            let mut bytes = Vec::with_capacity(items.len());
            for item in items {
                bytes.push(match item {
                    Value::Null => 0,
                    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "so does Go")]
                    Value::Int(number) => *number as u8,
                    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "so does Go")]
                    Value::Float(number) if number.fract() == 0.0 => item.as_i64().unwrap_or(i64::MIN) as u8,
                    Value::Float(_) => return Err("cannot convert float64 to uint8".to_owned()),
                    _ => return Err("unrecognized type: uint8".to_owned()),
                });
            }
            *value = STANDARD.encode(bytes).into();
            Ok(())
        }
        other => Err(format!("cannot restore slice from {}", go_kind(other))),
    }
}

/// What Go calls the kind of a value that came from JSON.
fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) | Value::Spelled(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_value::json;

    use super::*;

    fn converted(version: &str, kind: &str, mut object: Value) -> Result<Value, String> {
        convert(&Gvk::new("", version, kind), &mut object).map(|()| object)
    }

    #[test]
    fn what_does_not_fit_is_told_in_the_words_of_the_converter() {
        for (secret, why) in [
            (json!({"type": 1}), "cannot convert int64 to v1.SecretType"),
            (json!({"type": []}), "unrecognized type: string"),
            (json!({"immutable": 1}), "unrecognized type: bool"),
            (json!({"metadata": "x"}), "cannot restore struct from: string"),
            (json!({"metadata": {"finalizers": {}}}), "cannot restore slice from map"),
            (json!({"metadata": {"labels": [1]}}), "cannot restore map from slice"),
            (json!({"data": {"a": "YQ"}}), "error decoding from json: illegal base64 data at input byte 0"),
            (
                json!({"metadata": {"creationTimestamp": 1}}),
                "json: cannot unmarshal number into Go value of type string",
            ),
            (json!({"metadata": {"generation": 1.5}}), "cannot convert float64 to int64"),
            // The first in the order of the struct.
            (json!({"type": 1, "data": 1, "kind": 1}), "cannot convert int64 to string"),
        ] {
            assert_eq!(converted("v1", "Secret", secret.clone()), Err(why.to_owned()), "{secret:?}");
        }
    }

    #[test]
    fn numbers_lose_what_does_not_fit() {
        let pod = json!({"spec": {"priority": 99999999999i64, "containers": [{"ports": [{"containerPort": 80.0}]}]}});
        let expected =
            json!({"spec": {"priority": 1215752191, "containers": [{"ports": [{"containerPort": 80}]}]}});
        assert_eq!(converted("v1", "Pod", pod), Ok(expected));
    }

    #[test]
    fn entries_of_managers_are_told_from_other_things() {
        assert!(is_managed_fields_entry(&json!({"manager": "m", "fieldsV1": "anything"})));
        assert!(!is_managed_fields_entry(&json!({"manager": {}})));
        assert!(!is_managed_fields_entry(&json!("x")));
    }
}
