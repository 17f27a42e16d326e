//! The expression language: parse, check, estimate, evaluate within a budget.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use pilothouse_cel::{DeclType, Env, ListKind, PER_CALL_LIMIT, Val};
use pilothouse_value::{Value, json};

fn env() -> &'static (Env, DeclType, Value) {
    static ENV: OnceLock<(Env, DeclType, Value)> = OnceLock::new();
    ENV.get_or_init(|| {
        let words = DeclType::list(DeclType::string(Some(100)), Some(10), ListKind::Atomic);
        let object = DeclType::object("Self")
            .field("i", DeclType::int(), true)
            .field("s", DeclType::string(Some(100)), true)
            .field("l", words, true)
            .field("m", DeclType::map(DeclType::int(), Some(10)), true)
            .build();
        let value = json!({"i": 3, "s": "text", "l": ["a", "b", "1.2.3.4"], "m": {"a": 1, "b": 2}});
        // With all that any environment has: the newest functions, and what mutations make.
        (Env::kubernetes_stored().variable("self", object.clone()).patches().build(), object, value)
    })
}

fuzz_target!(|text: &str| {
    let (env, object, value) = env();
    let Ok(program) = env.compile(text) else { return };
    let _estimate = program.estimate_cost(object);
    let Ok(this) = Val::view(value, object) else { return };
    let _evaluation = program.eval(&[("self", this)], Some(PER_CALL_LIMIT));
});
