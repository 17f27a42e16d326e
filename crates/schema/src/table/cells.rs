//! What cells are made of: ages, joined lists, selectors.

use pilothouse_value::{Map, Timestamp, Value, object};

/// A stretch of time the way kubectl writes it (k8s.io/apimachinery `util/duration`).
pub(super) fn human_duration(seconds: i64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let two = |a: i64, unit: &str, b: i64, small: &str| {
        if b == 0 { format!("{a}{unit}") } else { format!("{a}{unit}{b}{small}") }
    };
    match () {
        () if seconds < -1 => "<invalid>".to_owned(),
        () if seconds < 0 => "0s".to_owned(),
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 24 * 8 => two(hours / 24, "d", hours % 24, "h"),
        () if hours < 24 * 365 * 2 => format!("{}d", hours / 24),
        () if hours < 24 * 365 * 8 => two(hours / 24 / 365, "y", hours / 24 % 365, "d"),
        () => format!("{}y", hours / 24 / 365),
    }
}

/// How long ago a time was; `<unknown>` for none.
pub(super) fn since(time: Option<&str>, now: Timestamp) -> String {
    match time.map(Timestamp::parse) {
        Some(Ok(time)) => human_duration(now.unix_seconds() - time.unix_seconds()),
        _ => "<unknown>".to_owned(),
    }
}

/// The age of an object.
pub(super) fn age(object: &Value, now: Timestamp) -> Value {
    since(object.str_at(&["metadata", "creationTimestamp"]), now).into()
}

pub(super) fn name(object: &Value) -> Value {
    object::name(object).into()
}

/// The text a path leads to, or an empty one.
pub(super) fn text<'v>(object: &'v Value, path: &[&str]) -> &'v str {
    object.str_at(path).unwrap_or_default()
}

/// The text a path leads to, or `other` if there is none.
pub(super) fn text_or<'v>(object: &'v Value, path: &[&str], other: &'v str) -> &'v str {
    object.str_at(path).filter(|text| !text.is_empty()).unwrap_or(other)
}

/// The number a path leads to, or 0.
pub(super) fn int(object: &Value, path: &[&str]) -> i64 {
    object.i64_at(path).unwrap_or_default()
}

/// The boolean a path leads to, or `other`.
pub(super) fn flag(object: &Value, path: &[&str], other: bool) -> bool {
    object.at(path).and_then(Value::as_bool).unwrap_or(other)
}

/// How many elements or fields there are.
pub(super) fn count(object: &Value, path: &[&str]) -> i64 {
    let length = match object.at(path) {
        Some(Value::Array(items)) => items.len(),
        Some(Value::Object(map)) => map.len(),
        _ => 0,
    };
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// A number or a text as it is written.
pub(super) fn scalar(value: Option<&Value>, other: &str) -> String {
    value.filter(|value| !value.is_null()).map_or_else(|| other.to_owned(), crate::jsonpath::text)
}

/// The strings of a list, joined.
pub(super) fn joined(object: &Value, path: &[&str]) -> String {
    let texts: Vec<&str> = object.items_at(path).iter().filter_map(Value::as_str).collect();
    texts.join(",")
}

/// The names and images of containers.
pub(super) fn containers(object: &Value, path: &[&str]) -> [Value; 2] {
    let all = |key: &str| {
        let texts: Vec<&str> =
            object.items_at(path).iter().map(|container| text(container, &[key])).collect();
        Value::from(texts.join(","))
    };
    [all("name"), all("image")]
}

/// Labels as `a=b,c=d`, or `<none>`.
pub(super) fn labels(object: &Value, path: &[&str]) -> String {
    let pairs = pairs(object.at(path).and_then(Value::as_object));
    if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") }
}

fn pairs(map: Option<&Map>) -> Vec<String> {
    let pair = |(key, value): (&str, &Value)| format!("{key}={}", value.as_str().unwrap_or_default());
    map.into_iter().flat_map(Map::iter).map(pair).collect()
}

/// A label selector as text; `none` where it selects everything.
pub(super) fn selector(object: &Value, path: &[&str], none: &str) -> String {
    let Some(selector) = object.at(path).filter(|selector| !selector.is_null()) else {
        return none.to_owned();
    };
    // Requirements are sorted by key, as in labels.Selector.
    let label = |(key, value): (&str, &Value)| {
        (key.to_owned(), format!("{key}={}", value.as_str().unwrap_or_default()))
    };
    let labels =
        selector.get("matchLabels").and_then(Value::as_object).into_iter().flat_map(Map::iter).map(label);
    let expression = |expression: &Value| {
        let key = text(expression, &["key"]);
        let mut values: Vec<&str> =
            expression.items_at(&["values"]).iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let requirement = match text(expression, &["operator"]) {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => "<error>".to_owned(),
        };
        (key.to_owned(), requirement)
    };
    let mut all: Vec<(String, String)> =
        labels.chain(selector.items_at(&["matchExpressions"]).iter().map(expression)).collect();
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    let all: Vec<String> = all.into_iter().map(|(_, requirement)| requirement).collect();
    if all.is_empty() { none.to_owned() } else { all.join(",") }
}

/// The first elements of a list, and how many there are more.
pub(super) fn some_of(list: &[String], max: usize, none: &str) -> String {
    let shown = list.iter().take(max).cloned().collect::<Vec<_>>().join(",");
    match list.len() {
        length if length > max => format!("{shown} + {} more...", length - max),
        _ if shown.is_empty() => none.to_owned(),
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_at_most_two_units() {
        let cases = [
            (-5, "<invalid>"),
            (-1, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (3599, "59m"),
            (3 * 3600 + 60, "3h1m"),
            (47 * 3600, "47h"),
            (50 * 3600, "2d2h"),
            (30 * 86400, "30d"),
            (800 * 86400, "2y70d"),
            (3000 * 86400, "8y"),
        ];
        for (seconds, text) in cases {
            assert_eq!(human_duration(seconds), text, "{seconds}");
        }
    }
}
