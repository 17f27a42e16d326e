use crate::{Value, json};

fn read(text: &str) -> Result<Value, String> {
    super::read(text.as_bytes()).map(|read| read.value).map_err(|error| error.to_string())
}

#[test]
fn scalars_are_those_of_yaml_1_1() {
    for (text, value) in [
        ("05", json!(5)),
        ("08", json!(8)),
        ("010", json!(8)),
        ("0o7", json!(7)),
        ("0x1F", json!(31)),
        ("1_000", json!(1000)),
        ("190:20:30", json!("190:20:30")),
        ("1e3", json!(1000)),
        ("1e400", json!("1e400")),
        ("y", json!(true)),
        ("2001-01-01", json!("2001-01-01")),
        ("0b-101", json!(-5)),
        ("._5", json!("._5")),
        (".5_0", json!(0.5)),
        ("!!str 1", json!("1")),
        ("!!binary aGk=", json!("hi")),
    ] {
        assert_eq!(read(text), Ok(value), "{text}");
    }
}

#[test]
fn a_bomb_of_anchors_is_refused_by_nodes_and_by_bytes() {
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(99));
    assert_eq!(read(&long).unwrap_err(), "yaml: document contains excessive aliasing");
    let itself = read("a: &a [*a]").unwrap_err();
    assert_eq!(itself, "yaml: anchor 'a' value contains itself");
}

#[test]
fn what_is_wrong_in_a_later_piece_is_found_when_it_is_wanted() {
    let broken = |text: &str| {
        let bytes = [text.as_bytes(), b"\xff"].concat();
        super::read(&bytes).unwrap_err().to_string()
    };
    assert_eq!(broken("a: {]\n"), "yaml: invalid leading UTF-8 octet");
    assert_eq!(broken(&format!("a: {{]\n{}", "x".repeat(600))), "yaml: did not find expected node content");
}

#[test]
fn plain_json_is_read_the_same_by_both_readers() {
    for text in [
        r#"{"a":1,"b":[true,null,-5],"c":{"d":"x\n\"y\" é","e":""}}"#,
        "{\n  \"a\": [\n    1\n  ],\n\t\"b\": {}\n}\n",
        r#"{"a":"\/"}"#,
        r#"{"a":1.50,"b":1e3}"#,
        r#"{"a":0e05}"#,
        r#"{"a":[1e3,-0,-0e1]}"#,
        r#"{"a":1,"a":2}"#,
    ] {
        let shortcut = super::shortcut::plain_json(text.as_bytes());
        let source = super::source::Source::new(text.as_bytes());
        let document = super::compose::compose(&source).and_then(|document| super::build::build(&document));
        if let Some(value) = shortcut {
            assert_eq!(document.map(|read| read.value), Ok(value), "{text}");
        }
    }
}
