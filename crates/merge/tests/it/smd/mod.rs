//! The calls that structured-merge-diff's own tests make, with what the library answered, made to us. They stand under
//! `conformance/recorded/smd`; `conformance/merging` records them. `SMD_RECORDS` names another file of calls, one a line.

mod types;
mod updates;

use pilothouse_merge::fieldset::{FieldSet, Filter, PathElement, Pattern, compare, print_path};
use pilothouse_merge::typed;
use pilothouse_value::{Value, parse};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use types::{Ref, Schema, Spec};

/// What a call came to, in a form that can be compared and printed.
type Answer = Result<Value, String>;

/// The schemas of a file, which live as long as the test.
#[derive(Default)]
struct Schemas(BTreeMap<String, &'static Schema>);

impl Schemas {
    fn ty(&self, call: &Value) -> Ref<'static> {
        let schema = self.0[call.str_at(&["schema"]).unwrap()];
        Ref { schema, spec: Box::leak(Box::new(Spec::parse(call.get("type")))) }
    }
}

fn set(value: Option<&Value>) -> FieldSet {
    FieldSet::from_value(value.unwrap_or(&Value::Null)).unwrap()
}

fn element(value: &Value) -> PathElement {
    let (kind, content) = types::fields(Some(value)).next().unwrap();
    match (kind, content) {
        ("f", Value::String(name)) => PathElement::field(name.as_str()),
        ("k", Value::Object(keys)) => PathElement::key(keys.clone()),
        ("i", index) => PathElement::Index(index.as_i64().unwrap()),
        (_, value) => PathElement::Value(value.clone()),
    }
}

fn element_value(element: &PathElement) -> Value {
    let mut value = Value::object();
    match element {
        PathElement::Field(name) => value.set(&["f"], &**name),
        PathElement::Key(keys) => value.set(&["k"], Value::Object(keys.iter().cloned().collect())),
        PathElement::Value(content) => value.set(&["v"], content.clone()),
        PathElement::Index(index) => value.set(&["i"], *index),
    }
    value
}

fn path(value: Option<&Value>) -> Vec<PathElement> {
    value.and_then(Value::as_array).into_iter().flatten().map(element).collect()
}

fn patterns(value: &Value) -> Filter {
    let one = |pattern: &Value| -> Pattern {
        let steps = pattern.as_array().into_iter().flatten();
        steps.map(|step| (!step.is_null()).then(|| element(step))).collect()
    };
    Filter::Include(value.as_array().into_iter().flatten().map(one).collect())
}

fn order(order: std::cmp::Ordering) -> Value {
    Value::Int(order as i64)
}

/// Makes a call. `None` for one that is not about us.
fn make(call: &Value, schemas: &Schemas) -> Option<Answer> {
    let op = call.str_at(&["op"]).unwrap();
    let (a, b) = (|| set(call.get("a")), || set(call.get("b")));
    let text = || call.str_at(&["text"]).unwrap();
    let value = || call.get("value").unwrap_or(&Value::Null);
    let other = || call.get("other").unwrap_or(&Value::Null);
    let ty = || schemas.ty(call);
    // An element that selects nothing cannot be made here.
    if ["a", "b"].iter().any(|name| call.get(name).is_some_and(Value::is_null)) && op != "compare_values" {
        return None;
    }
    let problems = |problems: typed::Problems| problems.to_string();
    Some(match op {
        "union" => Ok(a().union(&b()).to_value()),
        "intersection" => Ok(a().intersection(&b()).to_value()),
        "difference" => Ok(a().difference(&b()).to_value()),
        "recursive_difference" => Ok(a().recursive_difference(&b()).to_value()),
        "leaves" => Ok(a().leaves().to_value()),
        "named" => Ok(a().with_named_parents(Some(ty())).to_value()),
        "include" => Ok(patterns(call.get("patterns").unwrap()).apply(a()).to_value()),
        "has" => Ok(Value::Bool(a().has(&path(call.get("path"))))),
        "size" => Ok(Value::Int(a().len() as i64)),
        "empty" => Ok(Value::Bool(a().is_empty())),
        "print_set" => {
            let lines: Vec<String> = a().paths().iter().map(|path| print_path(path)).collect();
            Ok(Value::from(lines.join("\n")))
        }
        "equals" => Ok(Value::Bool(a() == b())),
        "write_set" => {
            Ok(parse::json(call.str_at(&["out"]).unwrap().as_bytes()).map(|_| a().to_value()).unwrap())
        }
        "read_set" => {
            let read = parse::json(text().as_bytes()).map_err(|why| why.to_string());
            read.and_then(|read| FieldSet::from_value(&read.value).map_err(|why| why.to_string()))
                .map(|set| set.to_value())
        }
        "write_element" => Ok(Value::from(element(call.get("a").unwrap()).to_text())),
        "read_element" => {
            PathElement::parse(text()).map(|element| element_value(&element)).map_err(|why| why.to_string())
        }
        "compare_elements" => {
            Ok(order(element(call.get("a").unwrap()).cmp(&element(call.get("b").unwrap()))))
        }
        "print_element" => Ok(Value::from(element(call.get("a").unwrap()).to_string())),
        "print_path" => Ok(Value::from(print_path(&path(call.get("a"))))),
        "compare_values" => {
            let value = |name| call.get(name).unwrap_or(&Value::Null);
            Ok(order(compare(value("a"), value("b"))))
        }
        "validate" => {
            let duplicates = call.get("duplicates").and_then(Value::as_bool).unwrap();
            typed::validate(ty(), value(), duplicates).map(|()| Value::Null).map_err(problems)
        }
        "merge" => typed::merge(ty(), value(), other()).map_err(problems),
        "compare" => {
            let compared = typed::compare(ty(), value(), other()).map_err(problems);
            compared.map(|changes| {
                let mut out = Value::object();
                out.set(&["removed"], changes.removed.to_value());
                out.set(&["modified"], changes.modified.to_value());
                out.set(&["added"], changes.added.to_value());
                out
            })
        }
        "fields" => typed::field_set(ty(), value()).map(|set| set.to_value()).map_err(problems),
        "remove" => Ok(typed::remove(ty(), value(), &set(call.get("fields")))),
        "extract" => Ok(typed::extract(ty(), value(), &set(call.get("fields")))),
        "extract_with_keys" => Ok(typed::extract_with_keys(ty(), value(), &set(call.get("fields")))),
        "reconcile" => typed::reconcile(ty(), &set(call.get("fields")))
            .map(|set| set.map_or(Value::Null, |set| set.to_value()))
            .map_err(|why| format!("errors reconciling field set with schema: {why}")),
        "update" | "apply" => updates::make(call, schemas),
        other => panic!("{other} is no call"),
    })
}

/// What the library answered.
fn expected(call: &Value) -> Answer {
    match call.get("error") {
        Some(Value::String(error)) => return Err(error.clone()),
        _ if call.str_at(&["op"]) == Some("write_set") => {
            return Ok(parse::json(call.str_at(&["out"]).unwrap().as_bytes()).unwrap().value);
        }
        _ => {}
    }
    Ok(call.get("out").cloned().unwrap_or_default())
}

/// Whether two answers are the same; of texts that a JSON parser wrote it only counts that there is one.
fn agree(op: &str, ours: &Answer, theirs: &Answer) -> bool {
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => compare(ours, theirs).is_eq(),
        (Err(_), Err(_)) if op.starts_with("read_") => true,
        (Err(ours), Err(theirs)) => same_problems(ours, theirs),
        _ => false,
    }
}

/// Whether two texts name the same problems. The library meets the fields of a map in no order, and stops at the first one
/// that is not declared.
fn same_problems(ours: &str, theirs: &str) -> bool {
    let lines = |text: &str| {
        // The tests of the library read YAML, whose maps have another name in Go.
        let text = text.replace("map[interface {}]interface {}", "map[string]interface {}");
        let mut lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
        lines.sort();
        lines
    };
    let stops = |text: &str| text.contains("field not declared in schema");
    // A map inside a path is printed in no order either.
    let letters = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    lines(ours) == lines(theirs) || letters(ours) == letters(theirs) || (stops(ours) && stops(theirs))
}

/// Makes all calls of a file: how many there were, and what differs.
fn replay(calls: impl Iterator<Item = Value>, name: &str) -> (usize, usize, String) {
    let mut schemas = Schemas::default();
    let (mut replayed, mut equal, mut differences) = (0, 0, String::new());
    for call in calls {
        let op = call.str_at(&["op"]).unwrap().to_owned();
        if op == "schema" {
            let schema = Box::leak(Box::new(Schema::parse(call.get("schema").unwrap())));
            schemas.0.insert(call.str_at(&["id"]).unwrap().to_owned(), schema);
            continue;
        }
        let Some(ours) = make(&call, &schemas) else { continue };
        replayed += 1;
        let theirs = expected(&call);
        if agree(&op, &ours, &theirs) {
            equal += 1;
        } else if differences.len() < 100_000 {
            let print =
                |said: &Answer| said.as_ref().map_or_else(|why| format!("error: {why}"), Value::to_json);
            writeln!(
                differences,
                "{name}: {}\n  ours   {}\n  theirs {}\n",
                call.to_json(),
                print(&ours),
                print(&theirs)
            )
            .unwrap();
        }
    }
    (replayed, equal, differences)
}

#[test]
fn the_calls_of_structured_merge_diffs_tests_come_out_as_recorded() {
    let folder = crate::recorded_calls().join("smd");
    let (mut replayed, mut equal, mut differences) = (0, 0, String::new());
    let mut add = |(more, same, differing): (usize, usize, String)| {
        replayed += more;
        equal += same;
        differences.push_str(&differing);
    };
    if let Some(file) = std::env::var_os("SMD_RECORDS") {
        let text = std::fs::read_to_string(file).unwrap();
        let calls = text.lines().map(|line| parse::json(line.as_bytes()).unwrap().value);
        add(replay(calls, "records"));
    } else {
        for name in ["fieldpath", "value", "typed", "merge", "cli", "found"] {
            let text = std::fs::read(folder.join(format!("{name}.json"))).unwrap();
            let Value::Array(calls) = parse::json(&text).unwrap().value else { panic!("{name} is no list") };
            add(replay(calls.into_iter(), name));
        }
    }
    println!("structured-merge-diff: {replayed} replayed, {equal} equal");
    assert!(differences.is_empty(), "{differences}");
    assert_eq!(replayed, equal);
    assert!(std::env::var_os("SMD_RECORDS").is_some() || replayed > 2_000, "only {replayed} calls");
}
