//! `$(VAR)` in commands, arguments and environment values, as `third_party/forked/golang/expansion` has it: `$$` is a
//! dollar sign, and a reference to what is not defined stays as it is written.

/// Replaces the references in a text.
pub(super) fn expand(text: &str, lookup: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(tail) = rest.strip_prefix('$') {
            out.push('$');
            rest = tail;
        } else if let Some((name, tail)) = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            match lookup(name) {
                Some(value) => out.push_str(&value),
                None => {
                    out.push_str("$(");
                    out.push_str(name);
                    out.push(')');
                }
            }
            rest = tail;
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn references_escapes_and_what_is_neither() {
        let lookup = |name: &str| (name == "A").then(|| "1".to_owned());
        for (text, expected) in [
            ("$(A)-$(A)", "1-1"),
            ("$$(A)", "$(A)"),
            ("$(B)", "$(B)"),
            ("$A ${A} $", "$A ${A} $"),
            ("$(A", "$(A"),
            ("$$$(A)", "$1"),
        ] {
            assert_eq!(expand(text, lookup), expected, "{text}");
        }
    }
}
