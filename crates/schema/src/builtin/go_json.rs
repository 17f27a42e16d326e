//! What Go's `encoding/json` says of a text that is no JSON.

use pilothouse_value::parse::json_syntax_error;

/// Checks a text.
///
/// # Errors
/// Go's words for the first fault.
pub(super) fn check(text: &str) -> Result<(), String> {
    json_syntax_error(text.as_bytes()).map_or(Ok(()), Err)
}

/// As [`check`], and the text must be an object.
pub(super) fn check_object(text: &str) -> Result<(), String> {
    check(text)?;
    let found = match text.trim_start().chars().next() {
        Some('{') | Some('n') => return Ok(()),
        Some('[') => "array",
        Some('"') => "string",
        Some('t' | 'f') => "bool",
        _ => "number",
    };
    Err(format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_in_the_words_of_go() {
        for (text, fault) in [
            ("x", "invalid character 'x' looking for beginning of value"),
            ("{", "unexpected end of JSON input"),
            ("{a}", "invalid character 'a' looking for beginning of object key string"),
            ("[1 2]", "invalid character '2' after array element"),
            ("nul!", "invalid character '!' in literal null (expecting 'l')"),
            ("1 2", "invalid character '2' after top-level value"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ] {
            assert_eq!(check_object(text), Err(fault.to_owned()), "{text}");
        }
        for good in ["{}", " {\"a\": [1.5e3, -0, true, null, \"\\u00e9\"]} ", "null"] {
            assert_eq!(check_object(good), Ok(()), "{good}");
        }
    }
}
