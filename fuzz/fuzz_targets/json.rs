//! JSON: what is read is printed so that reading it again gives the same, whichever reader it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pilothouse_value::parse;

fuzz_target!(|data: &[u8]| {
    let wrong = parse::json_syntax_error(data);
    let Ok(parsed) = parse::json(data) else {
        return;
    };
    assert_eq!(wrong, None, "what is read has no syntax error");
    let text = parsed.value.to_json();
    let again = parse::json(text.as_bytes()).expect("what was printed can be read");
    // A float without a fraction is printed, and then read, as a whole number, which has no zero with a sign.
    let settled = again.value.to_json();
    assert!(settled == text || text.contains("-0"), "{settled:?} {text:?}");
    let settled_again = parse::json(settled.as_bytes()).expect("what was printed can be read").value.to_json();
    assert_eq!(settled_again, settled);
    assert!(again.duplicates.is_empty());
    let pretty = parse::json(parsed.value.to_json_pretty().as_bytes()).expect("what was printed can be read");
    assert_eq!(again.value, pretty.value);
    let mut merged = parse::json_merging(data).expect("what was read can be read").value;
    merged.read_numbers().expect("what was read has no number that cannot be read");
    assert!(!parsed.duplicates.is_empty() || merged == parsed.value);
    let mut keys = 0;
    parse::json_keys(data, |_| keys += 1);
    assert!(keys >= parsed.duplicates.len());
});
