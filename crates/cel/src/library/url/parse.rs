//! From text to the parts of a URL, and how they are written. Source: Go's `net/url` (`parse`, `parseAuthority`, `unescape`,
//! `shouldEscape`, `URL.String`).

use std::fmt::Write as _;

use pilothouse_value::field::quote;

use super::super::net;

/// A URL in its parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) scheme: String,
    /// What follows a scheme without a slash: `mailto:`.
    opaque: String,
    user: Option<(String, Option<String>)>,
    pub(super) host: String,
    /// Whether there is a scheme and a path, but no place for a host.
    omits_host: bool,
    /// As it is written.
    path: String,
    /// Whether a question mark is all there is of the query.
    forces_query: bool,
    pub(super) query: String,
    /// As it is written.
    fragment: String,
}

/// Where a text stands: that decides which characters are written as they are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Path,
    Host,
    Zone,
    UserPassword,
    QueryComponent,
    Fragment,
}

impl Url {
    /// Reads an absolute URL or an absolute path, as `url.ParseRequestURI` and then `url.Parse` do.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |text: &str, why: String| format!("parse {}: {why}", quote(text));
        // A request has no fragment, so `#` is an ordinary character while the text is checked.
        Self::read(text, true).map_err(|why| wrong(text, why))?;
        let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Self::read(rest, false).map_err(|why| wrong(rest, why))?;
        unescape(fragment, Part::Fragment).map_err(|why| wrong(text, why))?;
        fragment.clone_into(&mut url.fragment);
        Ok(url)
    }

    fn read(text: &str, is_request: bool) -> Result<Self, String> {
        if text.bytes().any(|b| b < b' ' || b == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if text.is_empty() && is_request {
            return Err("empty url".to_owned());
        }
        if text == "*" {
            return Ok(Self { path: text.to_owned(), ..Self::default() });
        }
        let (scheme, mut rest) = scheme(text)?;
        let mut url = Self { scheme: scheme.to_ascii_lowercase(), ..Self::default() };
        if let Some(before) = rest.strip_suffix('?').filter(|before| !before.contains('?')) {
            url.forces_query = true;
            rest = before;
        } else if let Some((before, query)) = rest.split_once('?') {
            query.clone_into(&mut url.query);
            rest = before;
        }
        let has_scheme = !scheme.is_empty();
        if !rest.starts_with('/') {
            if has_scheme {
                rest.clone_into(&mut url.opaque);
                return Ok(url);
            }
            if is_request {
                return Err("invalid URI for request".to_owned());
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let may_have_host = has_scheme || (!is_request && !rest.starts_with("///"));
        match rest.strip_prefix("//").filter(|_| may_have_host) {
            Some(after) => {
                let end = after.find('/').unwrap_or(after.len());
                let (authority, path) = after.split_at_checked(end).unwrap_or((after, ""));
                url.authority(authority)?;
                rest = path;
            }
            None => url.omits_host = has_scheme && rest.starts_with('/'),
        }
        unescape(rest, Part::Path)?;
        rest.clone_into(&mut url.path);
        Ok(url)
    }

    fn authority(&mut self, authority: &str) -> Result<(), String> {
        let (user, host) =
            authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
        self.host = read_host(&self.scheme, host)?;
        let Some(user) = user else { return Ok(()) };
        let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
        if !user.bytes().all(is_allowed) {
            return Err("net/url: invalid userinfo".to_owned());
        }
        let (name, password) =
            user.split_once(':').map_or((user, None), |(name, password)| (name, Some(password)));
        let name = unescape(name, Part::UserPassword)?;
        let password = password.map(|password| unescape(password, Part::UserPassword)).transpose()?;
        self.user = Some((name, password));
        Ok(())
    }

    /// The name of the host, and the port.
    pub(super) fn host_and_port(&self) -> (&str, &str) {
        let (name, port) = match self.host.rfind(':').and_then(|at| self.host.split_at_checked(at)) {
            Some((name, port)) if is_optional_port(port) => (name, port.get(1..).unwrap_or_default()),
            _ => (self.host.as_str(), ""),
        };
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        (bare.unwrap_or(name), port)
    }

    /// The path with all that may not stand in one written by numbers.
    pub(super) fn escaped_path(&self) -> String {
        if self.path == "*" { self.path.clone() } else { rewritten(&self.path, Part::Path) }
    }
}

/// A text that is read: as it stands if all of it may stand there, else anew.
fn rewritten(text: &str, part: Part) -> String {
    let may_stand = |b: u8| b"!$&'()*+,;=:@[]%".contains(&b) || !is_escaped(b, part);
    if text.bytes().all(may_stand) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() * 2);
    escape(&mut out, &unescaped_bytes(text.as_bytes(), part == Part::QueryComponent), part);
    out
}

/// As Go puts the parts together again.
impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        if !self.scheme.is_empty() {
            out.push_str(&self.scheme);
            out.push(':');
        }
        if self.opaque.is_empty() {
            let path = self.escaped_path();
            let has_authority = !self.host.is_empty() || self.user.is_some();
            if (!self.scheme.is_empty() && !self.omits_host && !path.is_empty()) || has_authority {
                out.push_str("//");
            }
            if let Some((name, password)) = &self.user {
                escape(&mut out, name.as_bytes(), Part::UserPassword);
                if let Some(password) = password {
                    out.push(':');
                    escape(&mut out, password.as_bytes(), Part::UserPassword);
                }
                out.push('@');
            }
            escape(&mut out, self.host.as_bytes(), Part::Host);
            if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
                out.push('/');
            }
            if out.is_empty() && path.split('/').next().is_some_and(|segment| segment.contains(':')) {
                out.push_str("./");
            }
            out.push_str(&path);
        } else {
            out.push_str(&self.opaque);
        }
        if self.forces_query || !self.query.is_empty() {
            out.push('?');
            out.push_str(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push('#');
            out.push_str(&rewritten(&self.fragment, Part::Fragment));
        }
        f.write_str(&out)
    }
}

/// The scheme, empty if there is none, and what follows it.
fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            ':' => return Ok(text.split_once(':').unwrap_or(("", text))),
            _ => break,
        }
    }
    Ok(("", text))
}

fn is_optional_port(port: &str) -> bool {
    port.is_empty() || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
}

fn check_port(port: &str) -> Result<(), String> {
    if is_optional_port(port) { Ok(()) } else { Err(format!("invalid port {} after host", quote(port))) }
}

fn read_host(scheme: &str, host: &str) -> Result<String, String> {
    match host.rfind('[') {
        Some(0) => {}
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {
            let last = host.rfind(':');
            // Only of what is fetched by HTTP more than one colon is refused.
            let at = if matches!(scheme, "http" | "https") { host.find(':') } else { last };
            if let Some(port) = at.and_then(|at| host.get(at..)) {
                check_port(port)?;
            }
            return unescape(host, Part::Host);
        }
    }
    let Some((bracketed, port)) = host.get(1..).and_then(|host| host.rsplit_once(']')) else {
        return Err("missing ']' in host".to_owned());
    };
    check_port(port)?;
    let port = unescape(port, Part::Host)?;
    let address = match bracketed.find("%25").and_then(|at| bracketed.split_at_checked(at)) {
        Some((address, zone)) => {
            format!("{}{}", unescape(address, Part::Host)?, unescape(zone, Part::Zone)?)
        }
        None => unescape(bracketed, Part::Host)?,
    };
    match net::address_problem(&address) {
        Some(why) => Err(format!("invalid host: {why}")),
        None if !address.contains(':') => Err("invalid IP-literal".to_owned()),
        None => Ok(format!("[{address}]{port}")),
    }
}

/// Whether a byte is written by its number.
fn is_escaped(b: u8, part: Part) -> bool {
    if b.is_ascii_alphanumeric() {
        return false;
    }
    if matches!(part, Part::Host | Part::Zone) && b"!$&'()*+,;=:[]<>\"".contains(&b) {
        return false;
    }
    match b {
        b'-' | b'_' | b'.' | b'~' => return false,
        b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'?' | b'@' => match part {
            Part::Path => return b == b'?',
            Part::UserPassword => return b"@/?:".contains(&b),
            Part::QueryComponent => return true,
            Part::Fragment => return false,
            Part::Host | Part::Zone => {}
        },
        b'!' | b'(' | b')' | b'*' if part == Part::Fragment => return false,
        _ => {}
    }
    true
}

fn escape(out: &mut String, bytes: &[u8], part: Part) {
    for b in bytes {
        match b {
            b' ' if part == Part::QueryComponent => out.push('+'),
            b if is_escaped(*b, part) => {
                // Writing to a string does not fail.
                write!(out, "%{b:02X}").ok();
            }
            b => out.push(char::from(*b)),
        }
    }
}

/// The text with its `%xx` resolved, if all of it may stand where it stands. What is no UTF-8 then is shown as such.
pub(super) fn unescape(text: &str, part: Part) -> Result<String, String> {
    let mut rest = text.as_bytes();
    let wrong = |bytes: &[u8]| format!("invalid URL escape {}", quote(&String::from_utf8_lossy(bytes)));
    while let Some((first, after)) = rest.split_first() {
        match first {
            b'%' => {
                let shown = rest.get(..3).unwrap_or(rest);
                let Some(value) = hexadecimal(after) else { return Err(wrong(shown)) };
                let is_percent = shown == b"%25";
                let is_refused = match part {
                    Part::Host => value < 0x80 && !is_percent,
                    Part::Zone => !is_percent && value != b' ' && is_escaped(value, Part::Host),
                    _ => false,
                };
                if is_refused {
                    return Err(wrong(shown));
                }
                rest = after.get(2..).unwrap_or_default();
            }
            b if matches!(part, Part::Host | Part::Zone) && b.is_ascii() && is_escaped(*b, part) => {
                return Err(format!("invalid character {} in host name", quote(&char::from(*b).to_string())));
            }
            _ => rest = after,
        }
    }
    let bytes = unescaped_bytes(text.as_bytes(), part == Part::QueryComponent);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn hexadecimal(digits: &[u8]) -> Option<u8> {
    let [high, low, ..] = *digits else { return None };
    let digit = |b: u8| char::from(b).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

fn unescaped_bytes(mut rest: &[u8], is_query: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'%' => match hexadecimal(after) {
                Some(value) => {
                    bytes.push(value);
                    rest = after.get(2..).unwrap_or_default();
                }
                None => bytes.push(b'%'),
            },
            b'+' if is_query => bytes.push(b' '),
            other => bytes.push(*other),
        }
    }
    bytes
}
