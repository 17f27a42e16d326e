//! The rules of the scale subresource for objects of a custom resource.
//! Source: apiextensions `pkg/registry/customresource/validator.go`.

use pilothouse_value::field::{self, Path};
use pilothouse_value::{Value, go_print};

/// What is wrong with the replicas of an object; `scale` is `spec.versions[].subresources.scale`. On a write of the
/// status only the status is looked at.
pub fn validate(scale: &Value, object: &Value, only_status: bool) -> Vec<field::Error> {
    let mut errors = Vec::new();
    let keys: &[&str] =
        if only_status { &["statusReplicasPath"] } else { &["specReplicasPath", "statusReplicasPath"] };
    for key in keys {
        let path = scale.str_at(&[key]).unwrap_or_default();
        let at = Path::new(path);
        match nested(object, path) {
            Ok(None) => {}
            Ok(Some(Value::Int(replicas))) if *replicas < 0 => {
                errors.push(field::Error::invalid(&at, *replicas, "should be a non-negative integer"));
            }
            Ok(Some(Value::Int(replicas))) => {
                if *replicas > i64::from(i32::MAX) {
                    let detail = format!("should be less than or equal to {}", i32::MAX);
                    errors.push(field::Error::invalid(&at, *replicas, detail));
                }
            }
            Ok(Some(other)) => {
                let detail = format!(
                    "{path} accessor error: {} is of the type {}, expected int64",
                    go_print::plain(other),
                    go_print::type_name(other)
                );
                errors.push(field::Error::invalid(&at, 0_i64, detail));
            }
            Err(detail) => errors.push(field::Error::invalid(&at, 0_i64, detail)),
        }
    }
    if let Some(path) = scale.str_at(&["labelSelectorPath"]) {
        match nested(object, path) {
            Ok(None | Some(Value::String(_))) => {}
            Ok(Some(other)) => {
                let detail = format!(
                    "{path} accessor error: {} is of the type {}, expected string",
                    go_print::plain(other),
                    go_print::type_name(other)
                );
                errors.push(field::Error::invalid(&Path::new(path), "", detail));
            }
            Err(detail) => errors.push(field::Error::invalid(&Path::new(path), "", detail)),
        }
    }
    errors
}

fn nested<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut value = object;
    let mut walked = String::new();
    for step in path.trim_start_matches('.').split('.') {
        walked.push('.');
        walked.push_str(step);
        if value.is_null() {
            return Ok(None);
        }
        let Some(fields) = value.as_object() else {
            let (value, kind) = (go_print::plain(value), go_print::type_name(value));
            return Err(format!(
                "{walked} accessor error: {value} is of the type {kind}, expected map[string]interface{{}}"
            ));
        };
        match fields.get(step) {
            Some(inner) => value = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}
