//! What expressions cost while they run.

use pilothouse_cel::{DeclType, Env, EvalError, ListKind, PER_CALL_LIMIT, Val};
use pilothouse_value::{Value, json};

fn cost(expression: &str) -> u64 {
    let list = DeclType::list(DeclType::int(), None, ListKind::Atomic);
    let decl = DeclType::object("Self")
        .field("text", DeclType::string(None), true)
        .field("list", list, true)
        .field("at", DeclType::int(), true)
        .build();
    let document = json!({"text": "0123456789", "list": [1, 2, 3], "at": 1});
    let env = Env::kubernetes().variable("self", decl.clone()).build();
    let program = env.compile(expression).unwrap();
    let evaluation = program.eval(&[("self", Val::view(&document, &decl).unwrap())], None);
    assert!(evaluation.value.is_ok(), "{expression}: {:?}", evaluation.value);
    evaluation.cost
}

#[test]
fn steps_calls_and_lists_are_charged() {
    for (expression, expected) in [
        ("1 == 1", 1),
        ("[1, 2] == [1, 2]", 1),
        ("self.at == 1", 3),
        ("has(self.at)", 1),
        ("self.list[self.at] == 2", 5),
        ("self.at in [1, 2, 3]", 2),
        ("self.at in self.list", 7),
        ("self.at > 0 ? true : self.at > 5", 3),
        ("self.text.startsWith('01234567890')", 4),
        ("self.text.matches('^[0-9]+$')", 6),
        ("self.text + 'x' == 'y'", 5),
        ("[self.at, 2].size() == 2", 14),
        ("self.list.all(x, x > 0)", 18),
        ("self.list.map(x, x + 1).size() == 3", 47),
        ("optional.of(1).optMap(x, 2).hasValue()", 4),
    ] {
        let (got, same) = (cost(expression), expected);
        assert_eq!(got, same, "{expression}");
    }
}

#[test]
fn an_evaluation_ends_at_its_limit() {
    let list = DeclType::list(DeclType::int(), None, ListKind::Atomic);
    let env = Env::kubernetes().variable("self", list.clone()).build();
    let program = env.compile("self.all(a, self.all(b, self.all(c, a + b + c >= 0))) || true").unwrap();
    let document = Value::from((0..1_000).collect::<Vec<i64>>());
    let evaluation = program.eval(&[("self", Val::view(&document, &list).unwrap())], Some(PER_CALL_LIMIT));
    assert_eq!(evaluation.value.unwrap_err(), EvalError::CostLimitExceeded);
    assert!(evaluation.cost > PER_CALL_LIMIT && evaluation.cost < PER_CALL_LIMIT + 100);
}

#[test]
fn a_failed_evaluation_is_charged_too() {
    let env = Env::kubernetes().build();
    let evaluation = env.compile("{'a': 1}.b + 1 == 2").unwrap().eval(&[], None);
    assert_eq!(evaluation.value.unwrap_err().to_string(), "no such key: b");
    assert!(evaluation.cost > 0);
}
