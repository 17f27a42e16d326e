//! Quantities, times and base64: the canonical form says the same, and is its own canonical form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pilothouse_value::base64::{self, Alphabet};
use pilothouse_value::{GroupVersion, Quantity, Timestamp, field, names};

fuzz_target!(|text: &str| {
    if let Ok(quantity) = text.parse::<Quantity>() {
        let printed = quantity.to_string();
        let again: Quantity = printed.parse().expect("a printed quantity is one");
        // Beyond a quintillion upstream's units end, and it writes none.
        if quantity.nano().unsigned_abs() < 10u128.pow(30) {
            assert_eq!(quantity, again, "{text:?} {printed:?}");
        }
        assert_eq!(printed, again.to_string());
        let canonical = Quantity::canonical(text).expect("a quantity has a canonical form");
        let again: Quantity = canonical.parse().expect("a canonical quantity is one");
        if quantity.nano().unsigned_abs() < 10u128.pow(30) {
            assert_eq!(quantity, again, "{text:?} {canonical:?}");
        }
        assert_eq!(Quantity::canonical(&canonical).as_ref(), Ok(&canonical));
        let _sums = (quantity.plus(again), quantity.minus(again), quantity.rounded_up().value(), quantity.milli_value());
        let _rounded = quantity.round_up_milli();
    } else {
        assert!(Quantity::canonical(text).is_err());
    }
    for time in [Timestamp::parse(text), Timestamp::parse_micro(text)].into_iter().flatten() {
        let within = (0..=253_402_300_799).contains(&time.unix_seconds());
        let again = Timestamp::parse(&time.nano());
        assert!(again == Ok(time) || !within, "{text:?}");
        let micro = Timestamp::parse_micro(&time.micro()).map(Timestamp::unix_seconds);
        assert!(micro == Ok(time.unix_seconds()) || !within, "{text:?}");
    }
    for alphabet in [Alphabet::Standard, Alphabet::RawUrl] {
        if let Ok(bytes) = base64::decode(alphabet, text.as_bytes()) {
            assert!(bytes.len() <= text.len());
        }
    }
    if let Ok(version) = text.parse::<GroupVersion>() {
        assert_eq!(version.to_string().parse(), Ok(version));
    }
    assert!(field::quote(text).is_char_boundary(1));
    let _names = (names::dns1123_subdomain(text), names::qualified_name(text), names::label_value(text));
});
