//! YAML: what is read has a form in JSON, which both readers read in the same way.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pilothouse_value::parse;

fuzz_target!(|data: &[u8]| {
    let Ok(parsed) = parse::yaml(data) else {
        return;
    };
    let json = parsed.value.to_json();
    let again = parse::json(json.as_bytes()).expect("what was printed can be read");
    assert_eq!(parsed.value, again.value);
    // YAML has fewer characters, and longer line breaks.
    if !json.chars().all(|c| matches!(c, ' '..='~' | '\u{a1}'..='\u{1fff}')) || json.len() > 1000 {
        return;
    }
    let twice = parse::yaml(&json).expect("JSON is YAML");
    assert!(twice.repeated.is_empty());
    assert_eq!(parsed.value, twice.value);
});
