//! JSON: what is read is printed so that reading it again gives the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pilothouse_value::parse;

fuzz_target!(|data: &[u8]| {
    let Ok(parsed) = parse::json(data) else {
        return;
    };
    let text = parsed.value.to_json();
    let again = parse::json(text.as_bytes()).expect("what was printed can be read");
    assert_eq!(parsed.value, again.value);
    parse::json_merging(data).expect("what was read can be read");
    let _keys = parse::json_keys(data);
});
