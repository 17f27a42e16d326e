//! Label and field selectors, as text and as documents: what is read is printed so that reading it again gives the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pilothouse_value::selector::{FieldSelector, LabelSelector};
use pilothouse_value::{json, object, parse};

fuzz_target!(|text: &str| {
    let labelled = json!({"metadata": {"labels": {"a": "b", "app.kubernetes.io/name": "x", "n": "5"}}});
    if let Ok(selector) = LabelSelector::parse(text) {
        let matched = selector.matches(object::labels(&labelled));
        let printed = selector.to_string();
        let again = LabelSelector::parse(&printed).expect("a printed selector is one");
        assert_eq!(selector, again, "{text:?} {printed:?}");
        assert_eq!(matched, again.matches(object::labels(&labelled)));
    }
    if let Ok(selector) = FieldSelector::parse(text) {
        let _matches = selector.matches(|field| field.to_owned().into());
        let printed = selector.to_string();
        assert_eq!(FieldSelector::parse(&printed).as_ref(), Ok(&selector), "{text:?} {printed:?}");
    }
    if let Ok(parsed) = parse::json(text.as_bytes())
        && let Ok(selector) = LabelSelector::from_object(&parsed.value)
    {
        let _matches = selector.matches(object::labels(&labelled));
    }
});
