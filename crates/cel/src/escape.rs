//! Names of properties as identifiers: `a-b` is `a__dash__b`, and words that CEL reserves stand between underscores.
//! Source: `k8s.io/apiserver/pkg/cel/escaping.go`.

use std::borrow::Cow;

/// Words that are no identifiers in CEL, besides those that are tokens.
pub(crate) const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// The identifier for a property; `None` if it has characters that cannot be escaped.
pub fn escape(name: &str) -> Option<Cow<'_, str>> {
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(Cow::Owned(format!("__{name}__")));
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')) {
        return None;
    }
    if !name.contains("__") && !name.contains(['-', '.', '/']) {
        return Some(Cow::Borrowed(name));
    }
    let mut out = String::with_capacity(name.len() + 16);
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let (piece, length) = match c {
            '_' if rest.starts_with("__") => ("__underscores__", 2),
            '.' => ("__dot__", 1),
            '-' => ("__dash__", 1),
            '/' => ("__slash__", 1),
            _ => (rest.get(..1).unwrap_or_default(), 1),
        };
        out.push_str(piece);
        rest = rest.get(length..).unwrap_or_default();
    }
    Some(Cow::Owned(out))
}

/// The property for an identifier; `None` if it has an escape that means nothing.
pub fn unescape(ident: &str) -> Option<Cow<'_, str>> {
    if !ident.contains("__") {
        return Some(Cow::Borrowed(ident));
    }
    let mut out = String::with_capacity(ident.len());
    let mut rest = ident;
    while let Some(start) = rest.find("__") {
        let after = rest.get(start + 2..).unwrap_or_default();
        // An escape is two underscores, something without underscores, and two underscores.
        let length = after.find('_').unwrap_or(after.len());
        if length == 0 || !after.get(length..).unwrap_or_default().starts_with("__") {
            // No escape starts here: one character on, as the pattern is searched from left to right.
            out.push_str(rest.get(..=start).unwrap_or_default());
            rest = rest.get(start + 1..).unwrap_or_default();
            continue;
        }
        let word = after.get(..length).unwrap_or_default();
        out.push_str(rest.get(..start).unwrap_or_default());
        match word {
            "underscores" => out.push_str("__"),
            "dot" => out.push('.'),
            "dash" => out.push('-'),
            "slash" => out.push('/'),
            word if RESERVED.contains(&word) && word.len() + 4 == ident.len() => out.push_str(word),
            _ => return None,
        }
        rest = after.get(length + 2..).unwrap_or_default();
    }
    out.push_str(rest);
    Some(Cow::Owned(out))
}
