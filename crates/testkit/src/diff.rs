//! What differs between two documents, one line a field.

use serde_json::Value;

/// The fields in which `new` differs from `old`: `- ` what is gone, `+ ` what has come, `~ ` what has changed.
pub fn diff(old: &Value, new: &Value) -> String {
    let mut lines = Vec::new();
    compare("", old, new, true, &mut lines);
    lines.join("\n")
}

/// The fields of `wanted` that `seen` does not have, or has otherwise.
pub(crate) fn missing(wanted: &Value, seen: &Value) -> String {
    let mut lines = Vec::new();
    compare("", seen, wanted, false, &mut lines);
    lines.join("\n")
}

/// With `gone`, fields that only `old` has are differences too.
fn compare(path: &str, old: &Value, new: &Value, gone: bool, lines: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (name, old) in old.iter().filter(|(name, _)| gone && !new.contains_key(*name)) {
                lines.push(format!("  - {}: {old}", join(path, name)));
            }
            for (name, new) in new {
                match old.get(name) {
                    None => lines.push(format!("  + {}: {new}", join(path, name))),
                    Some(old) => compare(&join(path, name), old, new, gone, lines),
                }
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            for (index, old) in old.iter().enumerate().skip(new.len()) {
                lines.push(format!("  - {path}[{index}]: {old}"));
            }
            for (index, new) in new.iter().enumerate() {
                match old.get(index) {
                    None => lines.push(format!("  + {path}[{index}]: {new}")),
                    Some(old) => compare(&format!("{path}[{index}]"), old, new, gone, lines),
                }
            }
        }
        (old, new) if old == new => {}
        (old, new) => lines.push(format!("  ~ {path}: {old} -> {new}")),
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_difference_is_a_line() {
        let old = json!({"spec": {"replicas": 1, "gone": true, "list": [1, {"a": 1}]}});
        let new = json!({"spec": {"replicas": 2, "list": [1, {"a": 2}, 3]}, "new": "x"});
        assert_eq!(
            diff(&old, &new),
            "  + new: \"x\"\n  - spec.gone: true\n  ~ spec.list[1].a: 1 -> 2\n  + spec.list[2]: 3\n  ~ spec.replicas: 1 -> 2"
        );
    }

    #[test]
    fn what_nobody_asked_for_is_not_missing() {
        assert_eq!(missing(&json!({"a": 1}), &json!({"a": 1, "b": 2})), "");
        assert_eq!(missing(&json!({"a": 1}), &json!({"b": 2})), "  + a: 1");
    }
}
