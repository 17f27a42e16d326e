//! What is wrong with a `Content-Type`, in the words of Go's `mime.ParseMediaType`.

/// Checks a media type with its parameters.
///
/// # Errors
/// Go's text for what cannot be read.
pub(super) fn check(text: &str) -> Result<(), &'static str> {
    let (base, mut rest) = match text.find(';') {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let after = after_token(base.trim()).ok_or("mime: no media type")?;
    if !after.is_empty() {
        let sub = after.strip_prefix('/').ok_or("mime: expected slash after first token")?;
        if !after_token(sub).ok_or("mime: expected token after slash")?.is_empty() {
            return Err("mime: unexpected content after media subtype");
        }
    }
    let mut seen: Vec<(String, &str)> = Vec::new();
    while !rest.trim_start().is_empty() {
        rest = rest.trim_start();
        let Some((name, value, after)) = parameter(rest) else {
            return if rest.trim() == ";" { Ok(()) } else { Err("mime: invalid media parameter") };
        };
        let name = name.to_ascii_lowercase();
        if seen.iter().any(|(known, other)| *known == name && *other != value) {
            return Err("mime: duplicate parameter name");
        }
        seen.push((name, value));
        rest = after;
    }
    Ok(())
}

/// Takes `; name=value`.
fn parameter(text: &str) -> Option<(&str, &str, &str)> {
    let text = text.strip_prefix(';')?.trim_start();
    let after = after_token(text)?;
    let name = text.strip_suffix(after)?;
    let rest = after.trim_start().strip_prefix('=')?.trim_start();
    if let Some(inside) = rest.strip_prefix('"') {
        let mut escaped = false;
        let end = inside.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })?;
        return Some((name, inside.get(..end)?, inside.get(end + 1..)?));
    }
    let after = after_token(rest)?;
    Some((name, rest.strip_suffix(after)?, after))
}

/// What follows the token that a text begins with; `None` if it begins with none.
fn after_token(text: &str) -> Option<&str> {
    let is_token = |c: char| c.is_ascii_graphic() && !"()<>@,;:\\\"/[]?=".contains(c);
    let end = text.find(|c| !is_token(c)).unwrap_or(text.len());
    if end == 0 { None } else { text.get(end..) }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn media_types_are_read_as_go_reads_them() {
        for right in ["application/json", "a/b; c=d", "a/b;c=\"d;e\\\"\";", "text", "a/b; c=d; c=d"] {
            assert_eq!(check(right), Ok(()), "{right}");
        }
        let cases = [
            ("a;b=;", "mime: invalid media parameter"),
            ("a/b;c", "mime: invalid media parameter"),
            ("", "mime: no media type"),
            ("a b", "mime: expected slash after first token"),
            ("a/", "mime: expected token after slash"),
            ("a/b c", "mime: unexpected content after media subtype"),
            ("a/b;c=d;c=e", "mime: duplicate parameter name"),
        ];
        for (wrong, why) in cases {
            assert_eq!(check(wrong), Err(why), "{wrong}");
        }
    }
}
