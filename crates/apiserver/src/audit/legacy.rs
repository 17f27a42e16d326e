//! An event of the audit log as one line of text, which upstream calls `legacy`.
//!
//! Source of behaviour: apiserver `pkg/audit/format.go`.

use pilothouse_value::{Timestamp, Value, field};

/// The line of an event, without its end.
pub(super) fn line(event: &Value) -> String {
    let filled = |path: &[&str]| event.str_at(path).filter(|text| !text.is_empty());
    let user = filled(&["user", "username"]);
    let groups = |path: &[&str]| {
        let groups = event.items_at(path).iter().filter_map(Value::as_str).map(field::quote);
        Some(groups.collect::<Vec<_>>().join(",")).filter(|groups| !groups.is_empty())
    };
    let other = event.get("impersonatedUser");
    let received = filled(&["requestReceivedTimestamp"]).and_then(|text| Timestamp::parse_micro(text).ok());
    let quoted = [
        ("id", filled(&["auditID"]).unwrap_or_default().to_owned()),
        ("stage", filled(&["stage"]).unwrap_or_default().to_owned()),
        (
            "ip",
            event.items_at(&["sourceIPs"]).first().and_then(Value::as_str).unwrap_or("<unknown>").to_owned(),
        ),
        ("method", filled(&["verb"]).unwrap_or_default().to_owned()),
        ("user", user.unwrap_or("<none>").to_owned()),
        (
            "groups",
            groups(&["user", "groups"]).filter(|_| user.is_some()).unwrap_or_else(|| "<none>".to_owned()),
        ),
        (
            "as",
            match other {
                Some(other) => other.str_at(&["username"]).unwrap_or_default().to_owned(),
                None => "<self>".to_owned(),
            },
        ),
        ("asgroups", groups(&["impersonatedUser", "groups"]).unwrap_or_else(|| "<lookup>".to_owned())),
        ("user-agent", filled(&["userAgent"]).unwrap_or_default().to_owned()),
        ("namespace", filled(&["objectRef", "namespace"]).unwrap_or("<none>").to_owned()),
        ("uri", filled(&["requestURI"]).unwrap_or_default().to_owned()),
    ];
    let quoted = quoted.map(|(name, text)| format!("{name}={}", field::quote(&text)));
    let code = event.get("responseStatus").map(|status| status.i64_at(&["code"]).unwrap_or_default());
    let response = code.map_or_else(|| "<deferred>".to_owned(), |code| code.to_string());
    let received = received.map(Timestamp::nano).unwrap_or_default();
    format!("{received} AUDIT: {} response=\"{response}\"", quoted.join(" "))
}

#[cfg(test)]
mod tests {
    use pilothouse_value::json;

    use super::*;

    #[test]
    fn what_is_not_known_is_told_in_brackets() {
        let event =
            json!({"stage": "RequestReceived", "requestReceivedTimestamp": "2026-11-30T08:00:00.120000Z"});
        let expected = "2026-11-30T08:00:00.12Z AUDIT: id=\"\" stage=\"RequestReceived\" ip=\"<unknown>\" method=\"\" \
                        user=\"<none>\" groups=\"<none>\" as=\"<self>\" asgroups=\"<lookup>\" user-agent=\"\" \
                        namespace=\"<none>\" uri=\"\" response=\"<deferred>\"";
        assert_eq!(line(&event), expected);
    }

    #[test]
    fn groups_are_quoted_twice() {
        let event = json!({
            "auditID": "a", "stage": "ResponseComplete", "verb": "get", "sourceIPs": ["192.0.2.1", "192.0.2.2"],
            "user": {"username": "ann", "groups": ["dev", "system:authenticated"]}, "userAgent": "kubectl \"x\"",
            "impersonatedUser": {"username": "bob", "groups": ["ops"]}, "objectRef": {"namespace": "default"},
            "requestURI": "/api/v1/namespaces/default", "responseStatus": {"code": 404},
            "requestReceivedTimestamp": "2026-11-30T08:00:00.000000Z",
        });
        let expected = r#"2026-11-30T08:00:00Z AUDIT: id="a" stage="ResponseComplete" ip="192.0.2.1" method="get" user="ann" groups="\"dev\",\"system:authenticated\"" as="bob" asgroups="\"ops\"" user-agent="kubectl \"x\"" namespace="default" uri="/api/v1/namespaces/default" response="404""#;
        assert_eq!(line(&event), expected);
    }
}
