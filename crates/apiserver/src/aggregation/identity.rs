//! Who sends a request, in the headers that a server behind this one reads it from.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::authentication::user::User;

const USER: &str = "x-remote-user";
const UID: &str = "x-remote-uid";
const GROUP: &str = "x-remote-group";
const EXTRA: &str = "x-remote-extra-";

/// Puts a user in the place of whom the headers named before.
pub(super) fn write(headers: &mut HeaderMap, user: &User) {
    let claimed: Vec<HeaderName> = headers
        .keys()
        .filter(|name| matches!(name.as_str(), USER | UID | GROUP) || name.as_str().starts_with(EXTRA))
        .cloned()
        .collect();
    for name in claimed {
        headers.remove(name);
    }
    let mut add = |name: &str, text: &str| {
        // What cannot be in a header cannot be told.
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(text.as_bytes()))
        {
            headers.append(name, value);
        }
    };
    add(USER, &user.name);
    if !user.uid.is_empty() {
        add(UID, &user.uid);
    }
    for group in &user.groups {
        add(GROUP, group);
    }
    for (key, values) in &user.extra {
        let name = format!("{EXTRA}{}", escaped(key));
        for value in values {
            add(&name, value);
        }
    }
}

/// A key as the name of a header can have it: what cannot be in one is escaped as in a URL, and so is `%`.
fn escaped(key: &str) -> String {
    let mut text = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_claims_is_not_passed_on() {
        let mut headers = HeaderMap::new();
        headers.insert("x-remote-user", HeaderValue::from_static("root"));
        headers.insert("x-remote-extra-a", HeaderValue::from_static("b"));
        headers.insert("x-other", HeaderValue::from_static("stays"));
        let mut user = User::new("ann", ["dev"]);
        user.extra.insert("example.com/a".into(), vec!["1".into(), "2".into()]);
        write(&mut headers, &user);
        assert_eq!(headers["x-remote-user"], "ann");
        assert_eq!(headers.get_all("x-remote-group").iter().count(), 2);
        assert_eq!(headers.get_all("x-remote-extra-example.com%2fa").iter().count(), 2);
        assert!(!headers.contains_key("x-remote-extra-a") && headers.contains_key("x-other"));
    }
}
