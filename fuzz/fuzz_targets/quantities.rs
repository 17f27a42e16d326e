//! Quantities and times: the canonical form says the same, and is its own canonical form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pilothouse_value::{Quantity, Timestamp, names};

fuzz_target!(|text: &str| {
    if let Ok(quantity) = text.parse::<Quantity>() {
        let canonical = quantity.to_string();
        let again: Quantity = canonical.parse().expect("a canonical quantity is one");
        assert_eq!(quantity, again, "{text:?} {canonical:?}");
        assert_eq!(canonical, again.to_string());
        let _sums = (quantity.plus(again), quantity.minus(again), quantity.rounded_up().value(), quantity.milli_value());
    }
    if let Ok(time) = Timestamp::parse(text) {
        assert_eq!(Timestamp::parse(&time.to_string()).map(Timestamp::unix_seconds), Ok(time.unix_seconds()));
    }
    let _names = (names::dns1123_subdomain(text), names::qualified_name(text), names::label_value(text));
});
