//! Protobuf bodies of built-in kinds, and what follows when one can be read: pruning, defaulting, validation.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pilothouse_schema::{builtin, proto};

fuzz_target!(|data: &[u8]| {
    // The envelope begins with four bytes that no mutation finds.
    let body = [b"k8s\0", data].concat();
    for body in [data, &body] {
        if let Ok((gvk, mut value)) = proto::decode(body) {
            if builtin::decode(&gvk, &mut value).is_ok() {
                builtin::default(&gvk, &mut value);
                let _errors = builtin::validate(&gvk, &value, None, builtin::Policy::default());
            }
        }
    }
});
