//! What patterns match, and what is wrong with those that are none.

use super::*;

fn matches(pattern: &str, text: &str) -> bool {
    Pattern::new(pattern).unwrap().is_match(text)
}

#[test]
fn patterns_match_as_in_go() {
    for (pattern, text, expected) in [
        ("a", "xay", true),
        (r"^\d+$", "123", true),
        (r"^\d+$", "١٢٣", false),
        (r"^\w$", "é", false),
        (r"^\s$", "\u{a0}", false),
        (r"\bfoo\b", "a foo b", true),
        (r"^a\Bb$", "ab", true),
        (r"^\Qa.b*\E$", "a.b*", true),
        (r"^\Qa.b*\E$", "axbb", false),
        (r"^[\w-]+$", "a-b", true),
        (r"^[a-z&&b]+$", "&&", true),
        (r"^[[]$", "[", true),
        (r"^[]a]$", "]", true),
        (r"^[^]a]$", "]", false),
        (r"^[[:alpha:]_]+$", "ab_", true),
        (r"^a{$", "a{", true),
        (r"^a{,5}$", "a{,5}", true),
        (r"^a{2,3}$", "aaa", true),
        (r"^\x41\x{42}\103$", "ABC", true),
        (r"^\p{^Greek}$", "a", true),
        (r"^\pL+$", "aé", true),
        (r"(?i)^abc$", "ABC", true),
        (r"^(?P<x>a)(?<y>b)$", "ab", true),
        (r"^.$", "\n", false),
        (r"^\<\>\_\-$", "<>_-", true),
        (r"^$", "a", false),
        ("", "anything", true),
        (r"^}$", "}", true),
        (r"^((a{10}){10}|(b{100})*|(c{1000}){0}){10}$", "", true),
        (r"^(?:a|b)*?c$", "abc", true),
    ] {
        assert_eq!(matches(pattern, text), expected, "{pattern} on {text:?}");
    }
}

#[test]
fn errors_are_those_of_go() {
    for (pattern, expected) in [
        ("a**", "invalid nested repetition operator: `**`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
        ("a(?", "invalid or unsupported Perl syntax: `(?`"),
        ("a(?i-s", "invalid or unsupported Perl syntax: `(?i-s`"),
        ("(?P<", "invalid or unsupported Perl syntax: `(?P`"),
        ("(?<", "invalid or unsupported Perl syntax: `(?<`"),
        ("(?<=a)", "invalid named capture: `(?<=a)`"),
        (r"\8", r"invalid escape sequence: `\8`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        ("(a{1000}){1000}", "invalid repeat count: `{1000}`"),
        ("((a{10}b{100,})*c){11}?", "invalid repeat count: `{11}?`"),
        ("[a--]", "invalid character class range: `a--`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        ("\\", "trailing backslash at end of expression: ``"),
    ] {
        let error = Pattern::new(pattern).unwrap_err();
        assert_eq!(error.to_string(), format!("error parsing regexp: {expected}"), "{pattern}");
    }
}
