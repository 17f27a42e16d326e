//! The little of XML that S3's answers need: the texts of elements by name, and one list to write.

/// The text of the first element of the name.
pub(super) fn text(document: &[u8], name: &str) -> Option<String> {
    texts(document, name).into_iter().next()
}

/// The texts of all elements of the name.
pub(super) fn texts(document: &[u8], name: &str) -> Vec<String> {
    let document = String::from_utf8_lossy(document);
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut found = Vec::new();
    let mut rest: &str = &document;
    while let Some((_, after)) = rest.split_once(&open) {
        let Some((inside, after)) = after.split_once(&close) else { break };
        found.push(unescape(inside));
        rest = after;
    }
    found
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let (entity, after) = after.split_once(';').unwrap_or((after, ""));
        let code = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
        out.extend(match entity {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            other => match (other.strip_prefix("#x"), other.strip_prefix('#')) {
                (Some(hex), _) => code(hex, 16),
                (None, Some(decimal)) => code(decimal, 10),
                (None, None) => None,
            },
        });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The body that completes an upload of parts with these tags.
pub(super) fn complete(tags: &[String]) -> String {
    let mut out = String::from("<CompleteMultipartUpload>");
    for (i, tag) in tags.iter().enumerate() {
        let tag = tag.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        out.push_str(&format!("<Part><PartNumber>{}</PartNumber><ETag>{tag}</ETag></Part>", i + 1));
    }
    out.push_str("</CompleteMultipartUpload>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_and_unescaped() {
        let document = b"<L><C><Key>a&amp;b&#x2F;c&#47;d</Key></C><C><Key>e</Key></C><Key>open";
        assert_eq!(texts(document, "Key"), ["a&b/c/d", "e"]);
        assert_eq!(text(document, "Code"), None);
    }
}
