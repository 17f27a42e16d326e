//! URLs as Go's `net/url` reads and writes them: which letters it escapes, and what it refuses.

use pilothouse_value::field::quote;

use crate::request::decode;

/// A URL in its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) scheme: String,
    opaque: String,
    /// With the `@`; as it was written.
    user: String,
    pub(super) host: String,
    /// Decoded.
    pub(super) path: String,
    /// As it was written, if that is not how it would be written.
    raw_path: String,
    /// With the `?`.
    query: String,
    /// With the `#`; as it is written.
    fragment: String,
    /// Whether a scheme stands before a path without a host.
    omits_host: bool,
}

impl Url {
    /// Reads a URL, which may be relative.
    ///
    /// # Errors
    /// The text of Go's error.
    pub(super) fn parse(text: &str) -> Result<Url, String> {
        Url::read(text).map_err(|why| format!("parse {}: {why}", quote(text)))
    }

    fn read(text: &str) -> Result<Url, String> {
        let (text, fragment) = match text.split_once('#') {
            Some((text, fragment)) => (text, Some(fragment)),
            None => (text, None),
        };
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let mut url = Url::default();
        if let Some(fragment) = fragment {
            check_escapes(fragment)?;
            let own = escape(&decode(fragment), in_fragment);
            let written = fragment.bytes().all(|byte| is_sub_delimiter(byte) || in_fragment(byte));
            url.fragment = format!("#{}", if written { fragment } else { &own });
        }
        let rest = match scheme(text)? {
            Some((scheme, rest)) => {
                url.scheme = scheme.to_ascii_lowercase();
                rest
            }
            None => text,
        };
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, format!("?{query}")),
            None => (rest, String::new()),
        };
        url.query = query;
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_owned();
                return Ok(url);
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let mut path = rest;
        if (!url.scheme.is_empty() || !rest.starts_with("///"))
            && let Some(rest) = rest.strip_prefix("//")
        {
            let (authority, after) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            path = after;
            let host = match authority.rsplit_once('@') {
                Some((user, host)) => {
                    let known =
                        |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
                    if !user.bytes().all(known) {
                        return Err("net/url: invalid userinfo".to_owned());
                    }
                    check_escapes(user)?;
                    url.user = format!("{user}@");
                    host
                }
                None => authority,
            };
            url.host = read_host(host)?;
        } else if !url.scheme.is_empty() {
            url.omits_host = true;
        }
        check_escapes(path)?;
        url.path = decode(path).into_owned();
        if escape(&url.path, in_path) != path {
            url.raw_path = path.to_owned();
        }
        Ok(url)
    }

    /// The path as it is written.
    pub(super) fn escaped_path(&self) -> String {
        let good = |byte: u8| is_sub_delimiter(byte) || in_path(byte);
        if !self.raw_path.is_empty() && self.raw_path.bytes().all(good) && decode(&self.raw_path) == self.path
        {
            return self.raw_path.clone();
        }
        if self.path == "*" { "*".to_owned() } else { escape(&self.path, in_path) }
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        if !self.opaque.is_empty() {
            f.write_str(&self.opaque)?;
        } else {
            let authority = !self.scheme.is_empty() || !self.host.is_empty() || !self.user.is_empty();
            let nothing = self.host.is_empty() && self.user.is_empty();
            let omits = nothing && (self.omits_host || self.path.is_empty());
            if authority && !omits {
                write!(f, "//{}{}", self.user, self.host)?;
            }
            let path = self.escaped_path();
            if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
                f.write_str("/")?;
            }
            if !authority && path.split('/').next().is_some_and(|segment| segment.contains(':')) {
                f.write_str("./")?;
            }
            f.write_str(&path)?;
        }
        write!(f, "{}{}", self.query, self.fragment)
    }
}

/// What stands before the first colon, if it is a scheme.
fn scheme(text: &str) -> Result<Option<(&str, &str)>, String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok(text.get(..at).zip(text.get(at + 1..))),
            _ => return Ok(None),
        }
    }
    Ok(None)
}

fn read_host(host: &str) -> Result<String, String> {
    let port = if host.starts_with('[') {
        let Some(end) = host.rfind(']') else { return Err("missing ']' in host".to_owned()) };
        host.get(end + 1..).unwrap_or_default()
    } else {
        host.rfind(':').and_then(|at| host.get(at..)).unwrap_or_default()
    };
    let digits = port.strip_prefix(':').map(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    if !port.is_empty() && digits != Some(true) {
        return Err(format!("invalid port {} after host", quote(port)));
    }
    check_escapes(host)?;
    if let Some(odd) = host.bytes().find(|byte| b" <>\"\\^`{|}".contains(byte)) {
        return Err(format!("invalid character {} in host name", quote(&char::from(odd).to_string())));
    }
    Ok(decode(host).into_owned())
}

fn check_escapes(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('%') {
        let digits = text.as_bytes().get(at + 1..at + 3);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            let wrong: String = text.get(at..).unwrap_or_default().chars().take(3).collect();
            return Err(format!("invalid URL escape {}", quote(&wrong)));
        }
    }
    Ok(())
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)
}

/// What may stand in what was written, beside what is not escaped.
fn is_sub_delimiter(byte: u8) -> bool {
    b"!$&'()*+,;=:@[]%".contains(&byte)
}

/// What is not escaped in a path.
fn in_path(byte: u8) -> bool {
    is_unreserved(byte) || b"$&+,/:;=@".contains(&byte)
}

/// What is not escaped behind `#`.
fn in_fragment(byte: u8) -> bool {
    is_unreserved(byte) || b"$&+,/:;=?@!()*".contains(&byte)
}

fn escape(text: &str, stays: fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if stays(byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// A decoded path as Go writes it.
pub(super) fn escape_path(path: &str) -> String {
    escape(path, in_path)
}

/// A value of a query as Go writes it.
pub(super) fn escape_value(text: &str) -> String {
    escape(text, |byte| is_unreserved(byte) || byte == b' ').replace(' ', "+")
}

/// Paths one behind the other, without empty parts, `.` and `..`; Go's `path.Join`.
pub(super) fn join(first: &str, second: &str) -> String {
    let whole = match (first.is_empty(), second.is_empty()) {
        (true, true) => return String::new(),
        (true, false) => second.to_owned(),
        (false, true) => first.to_owned(),
        (false, false) => format!("{first}/{second}"),
    };
    let rooted = whole.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    match (rooted, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_as_go_does() {
        let table = [
            ("http://h:80/a%2Fb?x=%zz#f", "http://h:80/a%2Fb?x=%zz#f"),
            ("HTTP://h/a b", "http://h/a%20b"),
            ("//h/x", "//h/x"),
            ("mailto:x@y", "mailto:x@y"),
            ("a/b", "a/b"),
            ("?q", "?q"),
            ("", ""),
            ("#", "#"),
            ("/é", "/%C3%A9"),
            ("http://u:p@h/", "http://u:p@h/"),
            ("file:///x", "file:///x"),
        ];
        for (text, written) in table {
            assert_eq!(Url::parse(text).unwrap().to_string(), written, "{text}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused_with_its_text() {
        let table = [
            ("http://[::1/x", "parse \"http://[::1/x\": missing ']' in host"),
            ("/%zz", "parse \"/%zz\": invalid URL escape \"%zz\""),
            ("a:b:c/d%", "parse \"a:b:c/d%\": invalid URL escape \"%\""),
            (":x", "parse \":x\": missing protocol scheme"),
            ("1:x", "parse \"1:x\": first path segment in URL cannot contain colon"),
            ("http://h:x/", "parse \"http://h:x/\": invalid port \":x\" after host"),
        ];
        for (text, why) in table {
            if text == "a:b:c/d%" {
                // Behind a scheme without a slash nothing is looked at.
                assert!(Url::parse(text).is_ok());
                continue;
            }
            assert_eq!(Url::parse(text).unwrap_err(), why, "{text}");
        }
    }

    #[test]
    fn joined_paths_have_no_way_back() {
        let table =
            [("", "/../x", "/x"), ("/a", "b//c/./d", "/a/b/c/d"), ("/a/b", "../../..", "/"), ("", "", "")];
        for (first, second, joined) in table {
            assert_eq!(join(first, second), joined);
        }
    }
}
