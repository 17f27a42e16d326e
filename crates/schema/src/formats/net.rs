//! Formats of networks: addresses, names, URIs.

use std::net::Ipv6Addr;
use std::sync::LazyLock;

use regex::Regex;

/// Four decimal numbers; leading zeros are tolerated, as by old releases of Go.
fn is_dotted(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 4 && parts.iter().all(|part| is_number_up_to(part, 255))
}

fn is_number_up_to(text: &str, limit: u32) -> bool {
    !text.is_empty()
        && text.len() <= 9
        && text.bytes().all(|b| b.is_ascii_digit())
        && text.parse::<u32>().is_ok_and(|number| number <= limit)
}

fn is_ipv6_text(text: &str) -> bool {
    // The last part may be written as IPv4 with leading zeros, which Rust's parser refuses.
    match text.rsplit_once(':') {
        Some((head, tail)) if tail.contains('.') => {
            is_dotted(tail) && format!("{head}:1.1.1.1").parse::<Ipv6Addr>().is_ok()
        }
        _ => text.parse::<Ipv6Addr>().is_ok(),
    }
}

pub(super) fn is_ipv4(text: &str) -> bool {
    is_dotted(text) || (text.contains('.') && is_ipv6_text(text))
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    (is_dotted(address) && is_number_up_to(length, 32))
        || (is_ipv6_text(address) && is_number_up_to(length, 128))
}

/// 6, 8 or 20 bytes in hexadecimal, by twos with `:` or `-`, or by fours with dots.
pub(super) fn is_mac(text: &str) -> bool {
    let all_hex = |parts: &[&str], length: usize| {
        parts.iter().all(|part| part.len() == length && part.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    match text.as_bytes().get(2) {
        Some(separator @ (b':' | b'-')) => {
            let parts: Vec<&str> = text.split(char::from(*separator)).collect();
            matches!(parts.len(), 6 | 8 | 20) && all_hex(&parts, 2)
        }
        _ if text.contains('.') => {
            let parts: Vec<&str> = text.split('.').collect();
            matches!(parts.len(), 3 | 4 | 10) && all_hex(&parts, 4)
        }
        _ => matches!(text.len(), 12 | 16 | 40) && all_hex(&[text], text.len()),
    }
}

pub(super) fn is_hostname(text: &str) -> bool {
    static HOSTNAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
        const EDGE: &str = r"[a-zA-Z0-9\p{S}\p{L}]";
        const INNER: &str = r"[a-zA-Z0-9\-\p{S}\p{L}]";
        let last = format!("{EDGE}(?:-?{EDGE}{{0,62}})?");
        let labels = format!(r"(?:{EDGE}(?:{INNER}{{0,61}}{EDGE})?\.)+[a-zA-Z\p{{L}}]{{2,63}}");
        // The anchors bind as they do upstream: to all alternatives.
        Regex::new(&format!("^(?:{last}|{labels})$")).ok()
    });
    text.len() <= 255
        && text.split('.').all(|label| label.len() <= 63)
        && HOSTNAME.as_ref().is_some_and(|hostname| hostname.is_match(text))
}

/// An absolute URI or an absolute path, as Go's `url.ParseRequestURI` takes it.
pub(super) fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|b| b < b' ' || b == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let (scheme, rest) = match split_scheme(text) {
        Ok(parts) => parts,
        Err(()) => return false,
    };
    let (rest, _query) = rest.split_once('?').unwrap_or((rest, ""));
    if !rest.starts_with('/') {
        // Opaque (`mailto:a@b`) with a scheme; without one it is relative and therefore refused.
        return scheme.is_some();
    }
    let (authority, path) = match rest.strip_prefix("//") {
        Some(after) if scheme.is_some() || !rest.starts_with("///") => {
            let end = after.find('/').unwrap_or(after.len());
            (after.get(..end).unwrap_or_default(), after.get(end..).unwrap_or_default())
        }
        _ => ("", rest),
    };
    // Without a scheme, a request URI that starts with two slashes is a path.
    let (authority, path) = if scheme.is_none() { ("", rest) } else { (authority, path) };
    // Where a port begins is clear for these two: their hosts have no colons.
    let is_web = matches!(scheme, Some("http" | "https"));
    has_valid_escapes(path) && is_authority(authority, is_web)
}

fn split_scheme(text: &str) -> Result<(Option<&str>, &str), ()> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err(()),
            ':' => return Ok((text.get(..at), text.get(at + 1..).unwrap_or_default())),
            _ => break,
        }
    }
    Ok((None, text))
}

fn has_valid_escapes(text: &str) -> bool {
    text.split('%').skip(1).all(|after| after.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2)
}

fn is_authority(authority: &str, is_web: bool) -> bool {
    let host = match authority.rsplit_once('@') {
        None => authority,
        Some((user, host)) => {
            let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
            if !user.bytes().all(allowed) || !has_valid_escapes(user) {
                return false;
            }
            host
        }
    };
    let (name, port) = match host.strip_prefix('[') {
        Some(bracketed) => match bracketed.split_once(']') {
            Some((name, port)) => {
                let address = name.split_once("%25").map_or(name, |(address, _)| address);
                if !is_ipv6(address) {
                    return false;
                }
                ("", port)
            }
            None => return false,
        },
        None => match if is_web { host.find(':') } else { host.rfind(':') } {
            Some(at) => (host.get(..at).unwrap_or_default(), host.get(at..).unwrap_or_default()),
            None => (host, ""),
        },
    };
    let is_port = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    let allowed = |b: u8| b >= 0x80 || b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:[]<>\"%".contains(&b);
    // A host may have escapes of bytes that are not ASCII, and of the sign itself.
    let allowed_escape = |after: &str| after.starts_with("25") || after.starts_with(|c: char| c > '7');
    is_port
        && name.bytes().all(allowed)
        && has_valid_escapes(name)
        && name.split('%').skip(1).all(allowed_escape)
}
