//! Reading documents as values. Source: `k8s.io/apiserver/pkg/cel/common/valuesunstructured.go`.

use pilothouse_value::base64::{self, Alphabet};
use pilothouse_value::{Value, go_print};

use super::{ListVal, MapVal, Text, Val};
use crate::decl::{DeclType, Shape};
use crate::error::EvalError;
use crate::time;

pub(super) fn dynamic(document: &Value) -> Val<'_> {
    match document {
        Value::Null => Val::Null,
        Value::Bool(value) => Val::Bool(*value),
        Value::Int(value) => Val::Int(*value),
        Value::Float(value) => Val::Double(*value),
        Value::Spelled(_) => Val::Double(document.as_f64().unwrap_or_default()),
        Value::String(text) => Val::String(Text::Borrowed(text)),
        Value::Array(items) => Val::List(ListVal::dynamic(items)),
        Value::Object(map) => Val::Map(MapVal::dynamic(map)),
    }
}

pub(super) fn view<'a>(document: &'a Value, decl: &'a DeclType) -> Result<Val<'a>, EvalError> {
    if matches!(decl.shape, Shape::Dynamic | Shape::Host) {
        return Ok(dynamic(document));
    }
    if document.is_null() {
        return if decl.is_nullable() {
            Ok(Val::Null)
        } else {
            Err(EvalError::new("invalid data, got null for schema with nullable=false"))
        };
    }
    match (&decl.shape, document) {
        (Shape::IntOrString, Value::Int(value)) | (Shape::Int, Value::Int(value)) => Ok(Val::Int(*value)),
        (Shape::IntOrString | Shape::String, Value::String(text)) => Ok(Val::String(Text::Borrowed(text))),
        (Shape::Bool, Value::Bool(value)) => Ok(Val::Bool(*value)),
        (Shape::Double, Value::Int(value)) => Ok(Val::Double(*value as f64)),
        (Shape::Double, Value::Float(value)) => Ok(Val::Double(*value)),
        (Shape::List(list), Value::Array(items)) => Ok(Val::List(ListVal::view(items, list))),
        (Shape::Map(values), Value::Object(map)) => Ok(Val::Map(MapVal::of_map(map, values))),
        (Shape::Object(object), Value::Object(map)) => Ok(Val::Map(MapVal::of_object(map, object))),
        (Shape::Duration, Value::String(text)) => time::parse_loose_duration(text)
            .map(Val::Duration)
            .map_err(|why| EvalError::new(format!("Invalid duration {text}: {why}"))),
        (Shape::Date, Value::String(text)) => time::parse_date(text)
            .map(Val::Timestamp)
            .map_err(|why| EvalError::new(format!("Invalid date formatted string {text}: {why}"))),
        (Shape::DateTime, Value::String(text)) => time::parse_loose_date_time(text)
            .map(Val::Timestamp)
            .map_err(|why| EvalError::new(format!("Invalid date-time formatted string {text}: {why}"))),
        // As upstream: the alphabet of URLs, although the schema asks for the other one.
        (Shape::Bytes, Value::String(text)) => base64::decode(Alphabet::Url, text.as_bytes())
            .map(|bytes| Val::Bytes(bytes.into()))
            .map_err(|why| EvalError::new(format!("Invalid byte formatted string {text}: {why}"))),
        (Shape::Preserved, _) => Ok(Val::Preserved(document)),
        (shape, _) => Err(EvalError::new(mismatch(shape, document))),
    }
}

fn mismatch(shape: &Shape, document: &Value) -> String {
    let found = go_print::type_name(document);
    match shape {
        Shape::IntOrString => {
            "invalid data, expected XIntOrString value to be either a string or integer".to_owned()
        }
        Shape::Map(_) | Shape::Object(_) => {
            "invalid data, expected a map for the provided schema with type=object".to_owned()
        }
        Shape::List(_) => {
            "invalid data, expected an array for the provided schema with type=array".to_owned()
        }
        Shape::Int => format!("invalid data, expected int, got {found}"),
        Shape::Double => format!("invalid data, expected float, got {found}"),
        Shape::Bool => format!("invalid data, expected bool, got {found}"),
        _ => format!("invalid data, expected string, got {found}"),
    }
}
