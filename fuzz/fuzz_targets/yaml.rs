//! YAML: one document, and a stream of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pilothouse_value::parse;

fuzz_target!(|text: &str| {
    let _stream = parse::yaml_stream(text);
    let Ok(parsed) = parse::yaml(text) else {
        return;
    };
    let json = parsed.value.to_json();
    let again = parse::json(json.as_bytes()).expect("what was printed can be read");
    assert_eq!(parsed.value, again.value);
});
