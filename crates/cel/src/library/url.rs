//! URLs as Go reads them. Source: `k8s.io/apiserver/pkg/cel/library/urls.go`, Go's `net/url`.

use std::any::Any;
use std::sync::Arc;

use super::operators::strings;
use super::{Outcome, hosts, no_such_overload};
use crate::error::EvalError;
use crate::types::HostType;
use crate::val::{MapBuilder, Opaque, Val};

#[derive(Debug, Clone, PartialEq, Eq)]
struct Url {
    scheme: String,
    user: Option<String>,
    host: String,
    /// As it is written.
    path: String,
    query: String,
    fragment: String,
}

impl Opaque for Url {
    fn host_type(&self) -> HostType {
        hosts::URL
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref() == Some(self)
    }
}

/// Reads an absolute URL or an absolute path.
fn parse(text: &str) -> Result<Url, String> {
    let request = |why: &str| format!("parse {text:?}: {why}");
    if text.is_empty() {
        return Err(request("empty url"));
    }
    if text.bytes().any(|b| b < b' ' || b == 0x7f) {
        return Err(request("net/url: invalid control character in URL"));
    }
    // A request has no fragment, so `#` is an ordinary character while the rest is checked.
    check(text).map_err(|why| request(&why))?;
    let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
    let mut url = split(rest).map_err(|why| request(&why))?;
    url.fragment = fragment.to_owned();
    Ok(url)
}

fn check(text: &str) -> Result<(), String> {
    if text == "*" {
        return Ok(());
    }
    let (scheme, rest) = scheme(text)?;
    let (rest, _query) = rest.split_once('?').unwrap_or((rest, ""));
    if !rest.starts_with('/') {
        return if scheme.is_some() { Ok(()) } else { Err("invalid URI for request".to_owned()) };
    }
    split(text).map(|_| ())
}

fn scheme(text: &str) -> Result<(Option<&str>, &str), String> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            ':' => return Ok((text.get(..at), text.get(at + 1..).unwrap_or_default())),
            _ => break,
        }
    }
    Ok((None, text))
}

fn split(text: &str) -> Result<Url, String> {
    let (scheme, rest) = scheme(text)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut url = Url {
        scheme: scheme.unwrap_or_default().to_ascii_lowercase(),
        user: None,
        host: String::new(),
        path: String::new(),
        query: query.to_owned(),
        fragment: String::new(),
    };
    if !rest.starts_with('/') && scheme.is_some() {
        return Ok(url);
    }
    let mut path = rest;
    if let Some(after) = rest.strip_prefix("//").filter(|_| scheme.is_some()) {
        let end = after.find('/').unwrap_or(after.len());
        let authority = after.get(..end).unwrap_or_default();
        path = after.get(end..).unwrap_or_default();
        let host = match authority.rsplit_once('@') {
            Some((user, host)) => {
                url.user = Some(user.to_owned());
                host
            }
            None => authority,
        };
        check_host(host)?;
        url.host = unescape(host, false)?;
    }
    unescape(path, false)?;
    path.clone_into(&mut url.path);
    Ok(url)
}

fn check_host(host: &str) -> Result<(), String> {
    let port = match host.strip_prefix('[') {
        Some(bracketed) => match bracketed.rsplit_once(']') {
            Some((address, port)) => {
                let address = address.split_once("%25").map_or(address, |(address, _)| address);
                if address.parse::<std::net::Ipv6Addr>().is_err() {
                    return Err(format!("invalid host: ParseAddr({address:?}): unable to parse IP"));
                }
                port
            }
            None => return Err("missing ']' in host".to_owned()),
        },
        None => host.rfind(':').and_then(|at| host.get(at..)).unwrap_or_default(),
    };
    let is_port = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    if !is_port {
        return Err(format!("invalid port {port:?} after host"));
    }
    let is_allowed =
        |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:[]<>\"%".contains(c);
    if let Some(c) = host.chars().find(|c| !is_allowed(*c)) {
        return Err(format!("invalid character {:?} in host name", c.to_string()));
    }
    Ok(())
}

/// The text with its `%xx` resolved; of a query, `+` is a space.
fn unescape(text: &str, is_query: bool) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'%' => {
                let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
                let value = digits
                    .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
                    .and_then(|digits| u8::from_str_radix(digits, 16).ok());
                let Some(value) = value else {
                    let shown = String::from_utf8_lossy(after.get(..2).unwrap_or(after)).into_owned();
                    return Err(format!("invalid URL escape {:?}", format!("%{shown}")));
                };
                bytes.push(value);
                rest = after.get(2..).unwrap_or_default();
            }
            b'+' if is_query => bytes.push(b' '),
            other => bytes.push(*other),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_plain(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&b)
}

pub(super) fn url<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(text)] = args else { return no_such_overload() };
    match parse(text) {
        Ok(url) => Ok(Val::Opaque(Arc::new(url))),
        Err(why) => Err(EvalError::new(format!("URL parse error during conversion from string: {why}"))),
    }
}

pub(super) fn is_url<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(text)] = args else { return no_such_overload() };
    Ok(Val::Bool(parse(text).is_ok()))
}

/// Why a text is no URL, if it is none.
pub(super) fn problem(text: &str) -> Option<String> {
    parse(text).err()
}

fn one<'v>(args: &'v [Val<'_>]) -> Result<&'v Url, EvalError> {
    args.first().and_then(Val::downcast).ok_or_else(EvalError::no_such_overload)
}

pub(super) fn scheme_of<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    one(args).map(|url| Val::text(&*url.scheme))
}

pub(super) fn host<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    one(args).map(|url| Val::text(&*url.host))
}

/// Host and port.
fn parts(host: &str) -> (&str, &str) {
    let (name, port) = match host.rfind(':') {
        // A colon within brackets is part of the address.
        Some(at) if host.rfind(']').is_none_or(|bracket| bracket < at) => {
            (host.get(..at).unwrap_or_default(), host.get(at + 1..).unwrap_or_default())
        }
        _ => (host, ""),
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    (bare.unwrap_or(name), port)
}

pub(super) fn hostname<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    one(args).map(|url| Val::text(parts(&url.host).0))
}

pub(super) fn port<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    one(args).map(|url| Val::text(parts(&url.host).1))
}

pub(super) fn escaped_path<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let url = one(args)?;
    // What is written is kept if all of it may stand in a path.
    if url.path.bytes().all(|b| is_plain(b) || b"%!'()*[]".contains(&b)) {
        return Ok(Val::text(&*url.path));
    }
    let path = unescape(&url.path, false).unwrap_or_default();
    let mut escaped = String::with_capacity(path.len());
    for b in path.bytes() {
        if is_plain(b) {
            escaped.push(char::from(b));
        } else {
            escaped.push_str(&format!("%{b:02X}"));
        }
    }
    Ok(Val::text(escaped))
}

pub(super) fn query<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let url = one(args)?;
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for pair in url.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Ok(key), Ok(value)) = (unescape(key, true), unescape(value, true)) else { continue };
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => found.push((key, vec![value])),
        }
    }
    let mut builder = MapBuilder::default();
    for (key, values) in found {
        builder.put(Val::text(key), strings(values))?;
    }
    Ok(Val::Map(builder.build()))
}
