//! Documents and definitions that are as large as they may be: what is said of them has an end, and so has the time.

use pilothouse_schema::{builtin, default, structural, validate};
use pilothouse_value::field::Path;
use pilothouse_value::{Gvk, Status, Value, json};

/// How much all that is told of one object may be, about: an error that is told is told in full.
const TOLD: usize = 10 << 20;

fn told(errors: &[pilothouse_value::field::Error]) -> usize {
    errors.iter().map(|error| error.to_string().len()).sum()
}

fn list_of(items: &Value, count: usize, item: &Value) -> (Value, Value) {
    let schema = json!({"type": "object", "properties": {"list": {"type": "array", "items": items.clone()}}});
    (schema, json!({"list": vec![item.clone(); count]}))
}

#[test]
fn errors_that_show_a_long_enumeration_have_an_end() {
    let names: Vec<Value> = (0..20_000).map(|number| json!(format!("name-{number}"))).collect();
    let (schema, object) = list_of(&json!({"type": "string", "enum": names}), 20_000, &json!("other"));
    let schema = structural::parse(&schema, &Path::root()).unwrap();
    let errors = validate(&schema, &object, None, &Path::root());
    assert!(!errors.is_empty() && told(&errors) < TOLD, "{}", told(&errors));
    let (_, good) = list_of(&json!({}), 20_000, &json!("name-19999"));
    assert_eq!(validate(&schema, &good, None, &Path::root()), []);
}

#[test]
fn errors_that_show_a_long_pattern_have_an_end() {
    let pattern = "a".repeat(100_000);
    let (schema, object) = list_of(&json!({"type": "string", "pattern": pattern}), 20_000, &json!("b"));
    let schema = structural::parse(&schema, &Path::root()).unwrap();
    let errors = validate(&schema, &object, None, &Path::root());
    assert!(!errors.is_empty() && told(&errors) < TOLD, "{}", told(&errors));
}

#[test]
fn what_alternatives_say_in_vain_does_not_make_an_object_valid() {
    let long = "a".repeat(300_000);
    let one = json!({"anyOf": [{"pattern": long}, {"minLength": 1}], "type": "string"});
    let (mut schema, mut object) = list_of(&one, 200, &json!("b"));
    schema.set(&["properties", "z"], json!({"type": "string"}));
    let schema = structural::parse(&schema, &Path::root()).unwrap();
    assert_eq!(validate(&schema, &object, None, &Path::root()), []);
    object.set(&["z"], 1);
    assert!(!validate(&schema, &object, None, &Path::root()).is_empty());
}

#[test]
fn a_large_default_of_many_items_fills_no_more_than_can_be_stored() {
    let item =
        json!({"type": "object", "properties": {"text": {"type": "string", "default": "x".repeat(100_000)}}});
    let (schema, mut object) = list_of(&item, 100_000, &json!({}));
    let schema = structural::parse(&schema, &Path::root()).unwrap();
    default(&schema, &mut object);
    let size = object.to_json().len();
    assert!((3 << 20..6 << 20).contains(&size), "{size}");
}

#[test]
fn each_port_that_hides_each_other_is_not_told_of() {
    let port = json!({"containerPort": 1, "protocol": "TCP"});
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "a", "image": "i", "ports": vec![port; 10_000]}]},
    });
    let warnings = builtin::warnings(&Gvk::new("", "v1", "Pod"), &pod, None);
    assert!((4096..10_000).contains(&warnings.len()), "{}", warnings.len());
}

#[test]
fn a_failure_tells_of_so_many_fields_that_it_can_be_read() {
    let path = Path::new("metadata").child("labels");
    let detail = "x".repeat(1000);
    let errors: Vec<_> = (0..20_000)
        .map(|number| pilothouse_value::field::Error::invalid(&path, format!("{number}"), detail.as_str()))
        .collect();
    let status = Status::invalid("", "ConfigMap", "a", &errors);
    assert!(status.message.len() < TOLD / 2, "{}", status.message.len());
    let causes = status.details.unwrap().causes.len();
    assert!((3_000..5_000).contains(&causes), "{causes}");
}
