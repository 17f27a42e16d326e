//! What of an answer is compared with what was recorded of it.

use pilothouse_value::Value;

use super::normal::Names;

/// The members of a document at a path, in which `*` stands for any index.
pub(super) fn deep(value: &Value, path: &str) -> Vec<Value> {
    let mut found = vec![value.clone()];
    for part in path.split('.') {
        found = found
            .iter()
            .flat_map(|one| match (one, part.parse::<usize>()) {
                (Value::Array(items), _) if part == "*" => items.to_vec(),
                (Value::Array(items), Ok(index)) => items.get(index).cloned().into_iter().collect(),
                _ => one.get(part).cloned().into_iter().collect(),
            })
            .collect();
    }
    found
}

/// The headers of an answer beside those that are compared anyway, or are of the connection alone.
pub(super) fn told(headers: &http::HeaderMap, step: &Value, names: &Names) -> Value {
    let sent = step.get("headers");
    let mut made = Value::object();
    for (name, value) in headers {
        let (name, value) = (name.as_str(), &*String::from_utf8_lossy(value.as_bytes()));
        let echoed = sent.is_some_and(|sent| sent.to_json().contains(value));
        let value = match name {
            "date" | "content-length" | "content-type" | "warning" | "transfer-encoding" | "connection" => {
                continue;
            }
            "audit-id" if !echoed => "ID",
            "etag" => "ETAG",
            "last-modified" => "LAST-MODIFIED",
            _ if name.starts_with("x-kubernetes-pf-") => "ID",
            _ => value,
        };
        let value = names.placed(value);
        let before = made.str_at(&[name]).map(|before| format!("{before}, {value}"));
        made.set(&[name], before.unwrap_or(value));
    }
    made
}

/// A text as it stands, anything else as JSON.
pub(super) fn spelled(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_json(), str::to_owned)
}

/// Scalars as their text, which is how the recorder reads YAML.
pub(super) fn as_text(value: Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(as_text).collect()),
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(key, value)| (key, as_text(value))).collect())
        }
        Value::String(text) => Value::String(text),
        other => Value::String(other.to_json()),
    }
}

/// What of an answer the step says is compared; all of it if it says nothing.
pub(super) fn kept(answer: Value, step: &Value) -> Value {
    let Some(keep) = step.get("keep").and_then(Value::as_array) else { return answer };
    if answer.str_at(&["kind"]) == Some("Status") {
        return answer;
    }
    let names: Vec<&str> = keep.iter().filter_map(Value::as_str).collect();
    if answer.get("type").is_some() && answer.get("object").is_some() && !names.contains(&"type") {
        return kept_of_event(answer, &names);
    }
    if let Value::Array(events) = answer {
        return events.into_iter().map(|event| kept_of_event(event, &names)).collect();
    }
    members(&answer, &names).unwrap_or(answer)
}

/// An event whose object has the members that are named, unless it is a failure.
fn kept_of_event(mut event: Value, names: &[&str]) -> Value {
    let failure = event.str_at(&["object", "kind"]) == Some("Status");
    if let Some(object) = event.get("object").filter(|_| !failure).and_then(|object| members(object, names)) {
        event.set(&["object"], object);
    }
    event
}

/// The members that are named; `a.b` is one inside, absent where it is not there. `None` for what has no members.
fn members(answer: &Value, names: &[&str]) -> Option<Value> {
    answer.as_object()?;
    let mut made = Value::object();
    for name in names {
        let (first, rest) = name.split_once('.').map_or((*name, None), |(first, rest)| (first, Some(rest)));
        let Some(found) = answer.get(first) else { continue };
        let Some(rest) = rest else {
            made.set(&[first], found.clone());
            continue;
        };
        let Some(inside) = members(found, &[rest]) else { continue };
        let mut whole = made.get(first).cloned().unwrap_or_else(Value::object);
        merge(&mut whole, &inside);
        made.set(&[first], whole);
    }
    Some(made)
}

/// Adds the members of one object to another.
fn merge(into: &mut Value, from: &Value) {
    for (key, value) in from.as_object().into_iter().flat_map(|map| map.iter()) {
        into.set(&[key], value.clone());
    }
}

/// The member of a document that these keys lead to.
pub(super) fn member(document: &Value, keys: &Value) -> Option<Value> {
    let keys: Vec<&str> = keys.as_array()?.iter().filter_map(Value::as_str).collect();
    document.at(&keys).cloned()
}
