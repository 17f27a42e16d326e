//! Label and field selectors, as text and as documents.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pilothouse_value::selector::{FieldSelector, LabelSelector};
use pilothouse_value::{json, object, parse};

fuzz_target!(|text: &str| {
    let labelled = json!({"metadata": {"labels": {"a": "b", "app.kubernetes.io/name": "x", "n": "5"}}});
    if let Ok(selector) = LabelSelector::parse(text) {
        let _matches = selector.matches(object::labels(&labelled));
    }
    if let Ok(selector) = FieldSelector::parse(text) {
        let _matches = selector.matches(|field| field.to_owned().into());
    }
    if let Ok(parsed) = parse::json(text.as_bytes())
        && let Ok(selector) = LabelSelector::from_object(&parsed.value)
    {
        let _matches = selector.matches(object::labels(&labelled));
    }
});
