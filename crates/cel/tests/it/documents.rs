//! Documents read with their declared types.

use pilothouse_cel::{DeclType, ListKind, Val};
use pilothouse_value::{Value, json};

use crate::eval_with;

fn text() -> DeclType {
    DeclType::string(None)
}

fn is_true(expression: &str, decl: &DeclType, document: &Value) {
    assert_eq!(eval_with(expression, decl, document).as_deref(), Ok("true"), "{expression}");
}

#[test]
fn properties_are_read_with_their_types() {
    let decl = DeclType::object("Spec")
        .field("ratio", DeclType::double(), true)
        .field("at", DeclType::date_time(), true)
        .field("day", DeclType::date(), true)
        .field("wait", DeclType::duration(), true)
        .field("data", DeclType::bytes(None), true)
        .field("port", DeclType::int_or_string(None), true)
        .field("labels", DeclType::map(text(), None), true)
        .build();
    let document = json!({
        "ratio": 1, "at": "2020-01-01T00:00:00Z", "day": "2020-01-01", "wait": "2 hours", "data": "aGk=",
        "port": "80%", "labels": {"a-b": "c"},
    });
    for expression in [
        "self.ratio == 1.0",
        "self.at == self.day",
        "self.wait == duration('2h')",
        "self.data == b'hi'",
        "type(self.port) == string && self.port == '80%'",
        "self.labels['a-b'] == 'c' && self.labels.size() == 1 && 'a-b' in self.labels",
        "!has(self.labels.x) && !self.labels[?'x'].hasValue()",
    ] {
        is_true(expression, &decl, &document);
    }
}

#[test]
fn names_of_properties_are_escaped() {
    let decl = DeclType::object("Spec")
        .field("a-b", text(), true)
        .field("namespace", text(), true)
        .field("x__y", text(), true)
        .build();
    let document = json!({"a-b": "1", "namespace": "2", "x__y": "3"});
    is_true(
        "self.a__dash__b == '1' && self.__namespace__ == '2' && self.x__underscores__y == '3'",
        &decl,
        &document,
    );
    // Since 1.31 a reserved word may stand as it is.
    is_true("self.namespace == '2'", &decl, &document);
    assert!(eval_with("self.x__y == '3'", &decl, &document).unwrap_err().contains("undefined field 'x__y'"));
}

#[test]
fn null_is_an_absent_property_and_an_error_elsewhere() {
    let decl = DeclType::object("Spec")
        .field("a", text().nullable(true), false)
        .field("list", DeclType::list(text(), None, ListKind::Atomic), false)
        .build();
    let document = json!({"a": null, "list": [null]});
    is_true("!has(self.a)", &decl, &document);
    assert_eq!(
        eval_with("self.list[0] == 'x'", &decl, &document),
        Err("invalid data, got null for schema with nullable=false".to_owned())
    );
}

#[test]
fn data_that_is_not_of_its_type_is_an_error_where_it_is_used() {
    let decl = DeclType::object("Spec")
        .field("list", DeclType::list(text(), None, ListKind::Atomic), false)
        .field("number", DeclType::int(), false)
        .build();
    let document = json!({"list": "no", "number": 1});
    is_true("self.number == 1", &decl, &document);
    is_true("has(self.number) || has(self.list)", &decl, &document);
    assert_eq!(
        eval_with("has(self.list)", &decl, &document),
        Err("invalid data, expected an array for the provided schema with type=array".to_owned())
    );
}

fn lists(kind: ListKind, items: DeclType) -> DeclType {
    let list = DeclType::list(items, None, kind);
    DeclType::object("Lists").field("a", list.clone(), true).field("b", list, true).build()
}

#[test]
fn sets_compare_and_add_without_order() {
    let document = json!({"a": ["x", "y"], "b": ["y", "x"]});
    is_true("self.a == self.b", &lists(ListKind::Set, text()), &document);
    is_true("self.a != self.b", &lists(ListKind::Atomic, text()), &document);
    let document = json!({"a": ["x", "y"], "b": ["y", "z"]});
    let decl = lists(ListKind::Set, text());
    is_true("(self.a + self.b) == ['z', 'y', 'x'] && (self.a + self.b).size() == 3", &decl, &document);
}

#[test]
fn lists_with_keys_compare_and_merge_by_key() {
    let item = DeclType::object("Item").field("k", text(), true).field("v", text(), false).build();
    let decl = lists(ListKind::Map(["k".into()].into()), item);
    let document = json!({"a": [{"k": "1", "v": "x"}, {"k": "2"}], "b": [{"k": "2"}, {"k": "1", "v": "x"}]});
    is_true("self.a == self.b", &decl, &document);
    let document = json!({"a": [{"k": "1", "v": "x"}, {"k": "2"}], "b": [{"k": "3"}, {"k": "1", "v": "y"}]});
    is_true("self.a != self.b", &decl, &document);
    is_true(
        "(self.a + self.b).map(i, i.k) == ['1', '2', '3'] && (self.a + self.b)[0].v == 'y'",
        &decl,
        &document,
    );
}

#[test]
fn what_is_not_declared_counts_when_objects_are_compared() {
    let part = DeclType::object("Part").field("raw", DeclType::preserved(), false).build();
    let decl = DeclType::object("Spec").field("a", part.clone(), true).field("b", part, true).build();
    is_true("self.a == self.b", &decl, &json!({"a": {"raw": [1]}, "b": {"raw": [1]}}));
    is_true("self.a != self.b", &decl, &json!({"a": {"raw": [1]}, "b": {"raw": [2]}}));
    assert!(eval_with("has(self.a.raw)", &decl, &json!({})).unwrap_err().contains("undefined field 'raw'"));
}

#[test]
fn documents_without_a_schema_are_read_as_they_come() {
    let env = pilothouse_cel::Env::kubernetes().variable("object", DeclType::dynamic()).build();
    let document = json!({"spec": {"replicas": 3, "x": null}, "list": [1, "a", 1.5]});
    let program = env
        .compile("object.spec.replicas > 2 && object.spec.x == null && object.list[2] > 1.0 && !has(object.spec.y)")
        .unwrap();
    let evaluation = program.eval(&[("object", Val::dynamic(&document))], None);
    assert_eq!(evaluation.value.unwrap().as_bool(), Some(true));
}

#[test]
fn types_are_named_by_where_they_are() {
    let inner = DeclType::object("object").field("x", DeclType::int(), false).build();
    let list = DeclType::list(inner, None, ListKind::Atomic);
    let decl = DeclType::object("object").field("items", list, false).build().assign_names("selfType");
    let message = eval_with("self.items[0] == 1", &decl, &json!({})).unwrap_err();
    let expected = "found no matching overload for '_==_' applied to '(selfType.items.@idx, int)'";
    assert!(message.contains(expected), "{message}");
}
