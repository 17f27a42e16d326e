//! From the spelling of a string or of bytes to its contents. Source: cel-go `parser/unescape.go`.

/// The contents of a string literal, with its quotes and perhaps an `r` before them.
pub(super) fn string(literal: &str) -> Result<String, &'static str> {
    let (body, is_raw) = body(literal);
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    if is_raw || !body.contains('\\') {
        return Ok(body);
    }
    let mut out = String::with_capacity(body.len());
    let mut rest = body.as_str();
    while let Some(at) = rest.find('\\') {
        out.push_str(rest.get(..at).unwrap_or_default());
        let (value, after) = escape(rest.get(at..).unwrap_or_default())?;
        out.push(char::from_u32(value).ok_or("invalid unicode code point")?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// The contents of a bytes literal without its `b`.
pub(super) fn bytes(literal: &str) -> Result<Vec<u8>, &'static str> {
    let (body, is_raw) = body(literal);
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    if is_raw {
        return Ok(body.into_bytes());
    }
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body.as_str();
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(rest.get(..at).unwrap_or_default().as_bytes());
        let here = rest.get(at..).unwrap_or_default();
        if here.starts_with("\\u") || here.starts_with("\\U") {
            return Err("unable to unescape string");
        }
        let (value, after) = escape(here)?;
        out.push(u8::try_from(value).map_err(|_| "unable to unescape string")?);
        rest = after;
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

fn body(literal: &str) -> (&str, bool) {
    let quoted = literal.strip_prefix(['r', 'R']).unwrap_or(literal);
    let is_raw = quoted.len() != literal.len();
    let triple = ["'''", "\"\"\""].into_iter().find(|t| quoted.len() >= 6 && quoted.starts_with(t));
    let width = if triple.is_some() { 3 } else { 1 };
    (quoted.get(width..quoted.len().saturating_sub(width)).unwrap_or_default(), is_raw)
}

/// The value of an escape and what follows it.
fn escape(rest: &str) -> Result<(u32, &str), &'static str> {
    let after = |length: usize| rest.get(length..).unwrap_or_default();
    let hex = |length: usize| {
        let digits = rest.get(2..2 + length).ok_or("unable to unescape string")?;
        let value = u32::from_str_radix(digits, 16).map_err(|_| "unable to unescape string")?;
        Ok((value, after(2 + length)))
    };
    let simple = |c: char| Ok((u32::from(c), after(2)));
    match rest.as_bytes().get(1) {
        Some(b'a') => simple('\x07'),
        Some(b'b') => simple('\x08'),
        Some(b'f') => simple('\x0C'),
        Some(b'n') => simple('\n'),
        Some(b'r') => simple('\r'),
        Some(b't') => simple('\t'),
        Some(b'v') => simple('\x0B'),
        Some(c @ (b'\\' | b'\'' | b'"' | b'`' | b'?')) => simple(char::from(*c)),
        Some(b'x' | b'X') => hex(2),
        Some(b'u') => hex(4),
        Some(b'U') => hex(8),
        Some(b'0'..=b'3') => {
            let digits = rest.get(1..4).ok_or("unable to unescape octal sequence in string")?;
            let value = u32::from_str_radix(digits, 8);
            value.map(|value| (value, after(4))).map_err(|_| "unable to unescape octal sequence in string")
        }
        _ => Err("unable to unescape string"),
    }
}
