//! The part of kubectl's JSONPath that conditions use: fields, indexes, `*`, and comparisons in filters.

use serde_json::Value;

/// Replaces every `{$…}` of the text by what the path finds in the document, as `kubectl get -o jsonpath` prints it.
///
/// # Errors
/// When a path has no sense, or the document does not have what it names.
pub(super) fn substitute(text: &str, document: &Value) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{$") {
        let Some(length) = rest.get(start..).and_then(|r| r.find('}')) else { break };
        let path = rest.get(start + 2..start + length).unwrap_or_default();
        out.push_str(rest.get(..start).unwrap_or_default());
        let found = find(path, document)?;
        out.push_str(&found.iter().map(|v| print(v)).collect::<Vec<_>>().join(" "));
        rest = rest.get(start + length + 1..).unwrap_or_default();
    }
    out.push_str(rest);
    Ok(out)
}

fn print(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn find<'a>(path: &str, document: &'a Value) -> Result<Vec<&'a Value>, String> {
    let mut found = vec![document];
    let mut rest = path.trim();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let end = closing(after).ok_or_else(|| format!("unterminated array in {path:?}"))?;
            let (inside, after) = after.split_at(end);
            found = subscript(inside.trim(), &found, path)?;
            rest = after.get(1..).unwrap_or_default();
        } else {
            let after = rest.strip_prefix('.').ok_or_else(|| format!("unexpected {rest:?} in {path:?}"))?;
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, after) = after.split_at(end);
            if name == "*" {
                found = found.iter().flat_map(|v| children(v)).collect();
            } else if !name.is_empty() {
                found = found
                    .iter()
                    .map(|v| v.get(name).ok_or_else(|| format!("{name} is not found")))
                    .collect::<Result<_, _>>()?;
            }
            rest = after;
        }
    }
    Ok(found)
}

/// Where the subscript ends: a bracket outside of quotes.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (None, ']') => return Some(i),
            (None, '\'' | '"') => quote = Some(c),
            (Some(q), c) if q == c => quote = None,
            _ => {}
        }
    }
    None
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(map) => map.values().collect(),
        _ => Vec::new(),
    }
}

fn subscript<'a>(inside: &str, found: &[&'a Value], path: &str) -> Result<Vec<&'a Value>, String> {
    if inside == "*" {
        return Ok(found.iter().flat_map(|v| children(v)).collect());
    }
    if let Some(filter) = inside.strip_prefix("?(").and_then(|f| f.strip_suffix(')')) {
        return filtered(filter, found, path);
    }
    if let Some(name) = inside.strip_prefix('\'').and_then(|n| n.strip_suffix('\'')) {
        return found.iter().map(|v| v.get(name).ok_or_else(|| format!("{name} is not found"))).collect();
    }
    // kubectl reads `[]` as the first item.
    let index: i64 = if inside.is_empty() {
        0
    } else {
        inside.parse().map_err(|_| format!("invalid array index {inside}"))?
    };
    found
        .iter()
        .map(|v| {
            let items = v.as_array().ok_or_else(|| format!("{path:?}: not an array"))?;
            let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
            let at = if index < 0 { index + length } else { index };
            usize::try_from(at)
                .ok()
                .and_then(|at| items.get(at))
                .ok_or_else(|| format!("array index out of bounds: index {index}, length {length}"))
        })
        .collect()
}

fn filtered<'a>(filter: &str, found: &[&'a Value], path: &str) -> Result<Vec<&'a Value>, String> {
    let operator = ["==", "!="].into_iter().find(|op| filter.contains(op));
    let (left, wanted) = match operator {
        Some(op) => filter.split_once(op).map_or((filter, None), |(l, r)| (l, Some((op, r.trim())))),
        None => (filter, None),
    };
    let left = left.trim().strip_prefix('@').ok_or_else(|| format!("unsupported filter in {path:?}"))?;
    let holds = |item: &Value| {
        let value = find(left, item).ok().and_then(|f| f.first().map(|v| print(v)));
        match wanted {
            None => value.is_some(),
            Some((op, right)) => {
                let right = right.trim_matches(['"', '\'']);
                value.is_some_and(|v| (v == right) == (op == "=="))
            }
        }
    };
    Ok(found.iter().flat_map(|v| children(v)).filter(|item| holds(item)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_shipped_blueprints() {
        let document = serde_json::json!({
            "status": {"finishTime": "now", "finished": ["a", "b"], "readyReplicas": 2,
                "conditions": [{"type": "Ready", "status": "True"}, {"type": "X", "status": "False"}]},
            "metadata": {"labels": {"app.io/name": "n"}},
        });
        for (text, expected) in [
            ("{{ if \"{$.status.finishTime}\" }}x", "{{ if \"now\" }}x"),
            (
                "{$.status.finished[]}|{$.status.finished[1]}|{$.status.finished[-1]}|{$.status.finished[*]}",
                "a|b|b|a b",
            ),
            ("{$.status.conditions[?(@.type==\"Ready\")].status}", "True"),
            ("{$.metadata.labels['app.io/name']} {$.status.readyReplicas}", "n 2"),
            ("no path", "no path"),
        ] {
            assert_eq!(substitute(text, &document).as_deref(), Ok(expected), "{text}");
        }
        for text in ["{$.status.nope}", "{$.status.finished[9]}", "{$.status[0]}", "{$x}"] {
            assert!(substitute(text, &document).is_err(), "{text}");
        }
    }
}
