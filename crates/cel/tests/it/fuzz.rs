//! Whatever is written, nothing breaks: expressions are refused or evaluated within their limits.

use pilothouse_cel::{DeclType, Env, Val};
use pilothouse_value::json;
use proptest::prelude::*;

/// Compiles and, if that works, evaluates. The messages are made too, since they read the source.
fn try_out(expression: &str) {
    let env = Env::kubernetes_stored().variable("self", DeclType::dynamic()).build();
    match env.compile(expression) {
        Err(issues) => assert!(!issues.to_string().is_empty()),
        Ok(program) => {
            let document = json!({"a": [1, 2.5, "x", null, {"b": true}], "n": 3, "s": "text"});
            let evaluation = program.eval(&[("self", Val::dynamic(&document))], Some(10_000));
            if let Ok(value) = evaluation.value {
                let _shown = value.to_string();
            }
            let _estimate = program.estimate_cost(&DeclType::dynamic());
        }
    }
}

/// Pieces that expressions are made of.
const PIECES: [&str; 64] = [
    "self",
    "a",
    "n",
    "x",
    "1",
    "2u",
    "1.5",
    "'s'",
    "b'x'",
    "true",
    "null",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ".",
    ",",
    "?",
    ":",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "==",
    "!=",
    "<",
    ">=",
    "in",
    "&&",
    "||",
    " ",
    ".all(x, ",
    ".map(x, ",
    ".filter(x, ",
    ".exists(k, v, ",
    ".size()",
    "size(",
    "has(self.a",
    ".?",
    "[?",
    "{?",
    "optional.of(",
    ".optMap(x, ",
    ".sortBy(x, ",
    "type(",
    "int(",
    "string(",
    "dyn(",
    "'%s %d'.format([",
    "quantity('1Gi')",
    "ip('::1')",
    "url('/a')",
    "timestamp('2020-01-01T00:00:00Z')",
    "duration('1h')",
    ".matches('a+')",
    ".split(',')",
    "\u{e9}",
    "`a-b`",
    "\"",
    "sets.contains(",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        try_out(&text);
    }

    #[test]
    fn any_pieces_are_read(pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..24)) {
        try_out(&pieces.concat());
    }
}

/// As deep as the language allows, and deeper, on the stack that threads of tests and of servers have.
#[test]
fn deep_expressions_do_not_exhaust_the_stack() {
    let nested = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    for times in [60, 120, 245, 300, 5_000] {
        try_out(&nested("(", "1", ")", times));
        try_out(&nested("[", "1", "]", times));
        try_out(&nested("size([", "1", "])", times));
        try_out(&nested("{'a': ", "1", "}", times));
        try_out(&nested("1 + (", "1", ")", times));
        try_out(&nested("true ? (", "1", ") : 2", times));
        try_out(&nested("[1].map(x, ", "x", ")", times));
        try_out(&nested("[1].all(x, true && ", "true", ")", times));
        try_out(&nested("dyn(", "1", ")", times));
        try_out(&format!("self{}", ".a".repeat(times)));
        try_out(&format!("self{}", "[0]".repeat(times)));
        try_out(&format!("self{}", ".map(x, x)".repeat(times)));
        try_out(&vec!["1"; times].join(" + "));
        try_out(&vec!["true"; times].join(" && "));
        try_out(&format!("{}true", "!".repeat(times)));
        try_out(&format!("{}1", "-".repeat(times)));
        try_out(&format!("{}1", "true ? 1 : ".repeat(times)));
        try_out(&"(".repeat(times));
        try_out(&"{".repeat(times));
    }
}

/// `optMap` writes its target twice; a chain of them would double with each.
#[test]
fn macros_do_not_grow_without_bound() {
    for times in [5, 30, 120] {
        try_out(&format!("optional.of(1){}", ".optMap(x, x + 1)".repeat(times)));
    }
}
