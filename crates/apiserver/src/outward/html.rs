//! The links of a page. The page is read as Go's `golang.org/x/net/html` reads it, and start tags are written as that does;
//! everything else stays as it is, letter by letter.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::go_url::Url;

/// The attributes that hold links, by the element.
fn links_of(element: &str) -> &'static [&'static str] {
    match element {
        "a" | "area" | "base" | "link" => &["href"],
        "applet" => &["codebase"],
        "audio" | "embed" | "script" | "source" => &["src"],
        "blockquote" | "del" | "ins" | "q" => &["cite"],
        "body" => &["background"],
        "button" => &["formaction"],
        "command" => &["icon"],
        "form" => &["action"],
        "frame" | "iframe" => &["longdesc", "src"],
        "head" => &["profile"],
        "html" => &["manifest"],
        "img" => &["longdesc", "src", "usemap"],
        "input" => &["src", "usemap", "formaction"],
        "object" => &["classid", "codebase", "data", "usemap"],
        "video" => &["poster", "src"],
        _ => &[],
    }
}

/// Elements whose content is text, up to their end tag.
const RAW: [&str; 9] =
    ["iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp"];

/// The page with its links as `through` makes them.
pub(super) fn rewrite(page: &[u8], through: &dyn Fn(Url) -> String) -> Vec<u8> {
    let mut out = Vec::with_capacity(page.len() + page.len() / 8);
    let mut rest = page;
    while let Some(at) = rest.iter().position(|byte| *byte == b'<') {
        let (text, tag) = rest.split_at(at);
        out.extend_from_slice(text);
        match tag.get(1) {
            Some(byte) if byte.is_ascii_alphabetic() => {
                let Some((start, length)) = read_tag(tag) else {
                    // The page ends inside of a tag, which is then not there.
                    return out;
                };
                start.write(&mut out, through);
                rest = tag.get(length..).unwrap_or_default();
                if RAW.contains(&start.name.as_str()) {
                    let end = end_of_raw(rest, &start.name);
                    out.extend_from_slice(rest.get(..end).unwrap_or_default());
                    rest = rest.get(end..).unwrap_or_default();
                }
            }
            Some(b'!' | b'/' | b'?') => {
                let end = end_of_markup(tag);
                out.extend_from_slice(tag.get(..end).unwrap_or_default());
                rest = tag.get(end..).unwrap_or_default();
            }
            _ => {
                out.push(b'<');
                rest = tag.get(1..).unwrap_or_default();
            }
        }
    }
    out.extend_from_slice(rest);
    out
}

/// Where a comment, an end tag, a declaration or an instruction ends.
fn end_of_markup(tag: &[u8]) -> usize {
    if tag.starts_with(b"<!--") {
        // `<!-->` and `<!--->` are comments too.
        let from = tag.get(2..).unwrap_or_default();
        for (at, window) in from.windows(3).enumerate() {
            if window == b"-->" {
                return at + 5;
            }
        }
        return match from.starts_with(b"-->") {
            true => 5,
            false => tag.windows(4).position(|window| window == b"--!>").map_or(tag.len(), |at| at + 4),
        };
    }
    let named = tag.starts_with(b"</") && tag.get(2).is_some_and(u8::is_ascii_alphabetic);
    if named {
        return read_tag(tag).map_or(tag.len(), |(_, length)| length);
    }
    tag.iter().position(|byte| *byte == b'>').map_or(tag.len(), |at| at + 1)
}

/// Where the text of an element ends: before its end tag.
fn end_of_raw(text: &[u8], name: &str) -> usize {
    if name == "plaintext" {
        return text.len();
    }
    // Behind `<!--` a script may hold another, whose end tag does not end the first.
    let mut hidden = Hidden::No;
    let mut at = 0;
    while at < text.len() {
        let rest = text.get(at..).unwrap_or_default();
        if name == "script" {
            match hidden {
                Hidden::No if rest.starts_with(b"<!--") => hidden = Hidden::Comment,
                Hidden::Comment if is_tag(rest, b"<", name) => hidden = Hidden::Script,
                Hidden::Comment | Hidden::Script if rest.starts_with(b"-->") => hidden = Hidden::No,
                Hidden::Script if is_tag(rest, b"</", name) => {
                    hidden = Hidden::Comment;
                    at += 2 + name.len();
                    continue;
                }
                _ => {}
            }
        }
        if hidden != Hidden::Script && is_tag(rest, b"</", name) {
            return at;
        }
        at += 1;
    }
    text.len()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hidden {
    No,
    Comment,
    Script,
}

fn is_tag(text: &[u8], opens: &[u8], name: &str) -> bool {
    let Some(rest) = text.strip_prefix(opens) else { return false };
    let Some((own, after)) = rest.split_at_checked(name.len()) else { return false };
    let ends = matches!(after.first(), Some(b' ' | b'\n' | b'\r' | b'\t' | 0x0c | b'/' | b'>'));
    own.eq_ignore_ascii_case(name.as_bytes()) && ends
}

/// A tag.
struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
    closes: bool,
}

impl Tag {
    fn write(&self, out: &mut Vec<u8>, through: &dyn Fn(Url) -> String) {
        let links = links_of(&self.name);
        out.push(b'<');
        out.extend_from_slice(self.name.as_bytes());
        for (key, value) in &self.attributes {
            let plain = unescape(value);
            let link = if links.contains(&key.as_str()) { Url::parse(&plain).ok() } else { None };
            let value = link.map_or(plain, through);
            out.push(b' ');
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(b"=\"");
            escape(&value, out);
            out.push(b'"');
        }
        out.extend_from_slice(if self.closes { b"/>" } else { b">" });
    }
}

/// Reads a tag, and how long it is; `None` if the page ends before it does.
fn read_tag(tag: &[u8]) -> Option<(Tag, usize)> {
    let mut at = if tag.starts_with(b"</") { 2 } else { 1 };
    let space = |byte: u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | 0x0c);
    let skip = |mut at: usize| {
        while tag.get(at).copied().is_some_and(space) {
            at += 1;
        }
        at
    };
    let text = |from: usize, to: usize| {
        String::from_utf8_lossy(tag.get(from..to).unwrap_or_default())
            .replace("\r\n", "\n")
            .replace('\r', "\n")
    };
    let start = at;
    while !(space(*tag.get(at)?) || matches!(tag.get(at)?, b'/' | b'>')) {
        at += 1;
    }
    let name = text(start, at).to_ascii_lowercase();
    let mut attributes: Vec<(String, String)> = Vec::new();
    let mut told = at;
    at = skip(at);
    while *tag.get(at)? != b'>' {
        let start = at;
        // A `=` may begin a name.
        while at == start && *tag.get(at)? == b'='
            || !(space(*tag.get(at)?) || matches!(tag.get(at)?, b'/' | b'=' | b'>'))
        {
            at += 1;
        }
        let key = text(start, at).to_ascii_lowercase();
        at = skip(at);
        let mut value = String::new();
        match tag.get(at)? {
            b'/' if key.is_empty() => at += 1,
            b'=' => {
                at = skip(at + 1);
                match *tag.get(at)? {
                    quote @ (b'"' | b'\'') => {
                        let start = at + 1;
                        at = start;
                        while *tag.get(at)? != quote {
                            at += 1;
                        }
                        value = text(start, at);
                        at += 1;
                    }
                    b'>' => {}
                    _ => {
                        let start = at;
                        while !(space(*tag.get(at)?) || *tag.get(at)? == b'>') {
                            at += 1;
                        }
                        value = text(start, at);
                        told = at;
                    }
                }
            }
            _ => {}
        }
        // Of those of one name the first counts.
        if !key.is_empty() && !attributes.iter().any(|(known, _)| *known == key) {
            attributes.push((key, value));
        }
        at = skip(at);
    }
    // A slash that ends a value closes nothing.
    let closes = at > told && tag.get(at - 1) == Some(&b'/');
    Some((Tag { name, attributes, closes }, at + 1))
}

/// Writes text as Go's `html.EscapeString` does.
fn escape(text: &str, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\r' => out.extend_from_slice(b"&#13;"),
            other => out.push(other),
        }
    }
}

/// Reads the entities of an attribute's value.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, entity) = rest.split_at(at);
        out.push_str(before);
        let length = match entity.strip_prefix("&#") {
            Some(number) => read_number(number, &mut out).map_or(0, |length| length + 2),
            None => read_name(entity, &mut out),
        };
        if length == 0 {
            out.push('&');
        }
        rest = entity.get(length.max(1)..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Reads a number behind `&#`; how long it is.
fn read_number(text: &str, out: &mut String) -> Option<usize> {
    let (digits, radix) = match text.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let length = digits.chars().take_while(|digit| digit.is_digit(radix)).count();
    let (number, after) = digits.split_at_checked(length).filter(|(number, _)| !number.is_empty())?;
    let code = u32::from_str_radix(number, radix).unwrap_or(u32::MAX);
    let old = code.checked_sub(0x80).and_then(|at| WINDOWS.get(usize::try_from(at).ok()?));
    out.push(match old {
        Some(meant) => *meant,
        None => char::from_u32(code).filter(|c| *c != '\0').unwrap_or('\u{fffd}'),
    });
    Some(text.len() - after.len() + usize::from(after.starts_with(';')))
}

/// Reads a name behind `&`; how long the entity is, 0 if it is none. Some count without a semicolon, but never where the text
/// could be a parameter of a link.
fn read_name(text: &str, out: &mut String) -> usize {
    let body = text.get(1..).unwrap_or_default();
    let letters = body.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let after = body.as_bytes().get(letters);
    let length = letters + usize::from(after == Some(&b';'));
    match body.get(..length).and_then(|name| ENTITIES.get(name)) {
        Some(meant) if letters > 0 && after != Some(&b'=') => {
            out.push_str(meant);
            length + 1
        }
        _ => 0,
    }
}

/// The names of HTML5 (from the WHATWG's list), most of them with their semicolon; read when the first is met.
static ENTITIES: LazyLock<HashMap<&str, String>> = LazyLock::new(|| {
    let lines = include_str!("entities.txt").lines();
    let entity = |line: &'static str| {
        let (name, codes) = line.split_once(' ')?;
        let codes = codes.split(' ').filter_map(|code| char::from_u32(u32::from_str_radix(code, 16).ok()?));
        Some((name, codes.collect()))
    };
    lines.filter_map(entity).collect()
});

/// What the numbers from 0x80 mean, as pages of an older time have them.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rewritten(page: &str) -> String {
        let through = |url: Url| format!("[{url}]");
        String::from_utf8(rewrite(page.as_bytes(), &through)).unwrap()
    }

    #[test]
    fn links_are_changed_and_nothing_else_is() {
        let page = "<!-- <a href='/x'> --><P TITLE=\"/no\">a < b</P ><a HREF=/y>&copy;</a><style>a{b:url(/s)}</style>";
        let expected = "<!-- <a href='/x'> --><p title=\"/no\">a < b</P ><a href=\"[/y]\">&copy;</a><style>a{b:url(/s)}</style>";
        assert_eq!(rewritten(page), expected);
    }

    #[test]
    fn entities_of_attributes_are_read() {
        let table = [
            ("a&amp;b", "a&b"),
            ("&lt;&gt;&quot;&apos;", "<>\"'"),
            ("&hellip;&#8230;&#x2026;&#133;", "…………"),
            ("?a=1&copy=2&copy;&copy", "?a=1&copy=2©©"),
            ("&bogus;&;&#;&#x;&", "&bogus;&;&#;&#x;&"),
            ("&#0;&#xD800;&#99999999999;", "\u{fffd}\u{fffd}\u{fffd}"),
        ];
        for (text, read) in table {
            assert_eq!(unescape(text), read, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_page_is_read_to_its_end(page in "[<>/!?a-c='\"& \\-]{0,60}") {
            let _ = rewritten(&page);
        }
    }
}
