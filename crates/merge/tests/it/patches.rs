//! The calls that the tests of apimachinery's strategicpatch and of json-patch make, with what the libraries answered, made
//! to us. They stand under `conformance/recorded/patches`; `conformance/merging` records them. `PATCH_RECORDS` names
//! another file of calls, one a line.

use pilothouse_merge::{json_patch, merge_patch, strategic};
use pilothouse_schema::{Additional, Child, Patch, Schema, Type, builtin};
use pilothouse_value::{Gvk, Value, parse};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{LazyLock, Mutex};

/// The Go structs that calls name.
static STRUCTS: LazyLock<Mutex<HashMap<&'static str, &'static Schema>>> = LazyLock::new(Mutex::default);

fn find(name: &'static str) -> &'static Schema {
    STRUCTS.lock().unwrap()[name]
}

fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn child(ty: &Value) -> Child {
    if let Some(name) = ty.str_at(&["struct"]) {
        return Child::Named { name: leak(name), resolve: find };
    }
    if let Some(items) = ty.get("list") {
        return Schema { kind: Some(Type::Array), items: Some(child(items)), ..Default::default() }.into();
    }
    if let Some(values) = ty.get("map") {
        let additional = Some(Additional::Schema(child(values)));
        return Schema { kind: Some(Type::Object), additional, ..Default::default() }.into();
    }
    let kind = match ty.str_at(&["scalar"]).unwrap() {
        "bool" => Type::Boolean,
        "float32" | "float64" => Type::Number,
        "string" => Type::String,
        // Nothing is known of what may be anything.
        "interface" => return Schema::any().clone().into(),
        _ => Type::Integer,
    };
    Schema { kind: Some(kind), ..Default::default() }.into()
}

fn field(field: &Value) -> Child {
    let mut inner = child(field.get("type").unwrap());
    let text = |name: &str| field.str_at(&[name]).filter(|text| !text.is_empty());
    // A pointer to a struct can be the list of what it points to.
    if text("key").is_some() && field.at(&["type", "struct"]).is_some() {
        inner = Schema { kind: Some(Type::Array), items: Some(inner), ..Default::default() }.into();
    }
    if text("strategies").is_none() && text("key").is_none() {
        return inner;
    }
    let strategies: Vec<&'static str> =
        text("strategies").into_iter().flat_map(|text| text.split(',')).map(leak).collect();
    let patch = Patch {
        merge_key: text("key").map(leak),
        strategies: Box::leak(strategies.into_boxed_slice()),
        ..Patch::default()
    };
    Schema { patch, ..inner.get().clone() }.into()
}

/// Makes the structs of a file. Those that others copy come first.
fn structs(types: &Value) {
    let all: Vec<_> = types.as_object().unwrap().iter().collect();
    // A field with a strategy copies its type, so types are made until none changes any more; the deepest nesting is small.
    for _ in 0..8 {
        for (name, _) in &all {
            STRUCTS.lock().unwrap().entry(leak(name)).or_insert_with(Schema::any);
        }
        for (name, fields) in &all {
            let properties = fields
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, value)| (name.to_owned().into(), field(value)))
                .collect();
            let schema = Schema { kind: Some(Type::Object), properties, ..Default::default() };
            STRUCTS.lock().unwrap().insert(leak(name), Box::leak(Box::new(schema)));
        }
    }
}

fn read(call: &Value, name: &str) -> Option<Value> {
    let text = call.str_at(&[name])?;
    parse::json(text.as_bytes()).ok().map(|parsed| parsed.value)
}

/// Makes a call: what we answer, and what the library answered. `None` for one that is not about us.
fn make(call: &Value) -> Option<[Result<Value, String>; 2]> {
    let error = call.str_at(&["error"]).map(str::to_owned);
    let text = |error: pilothouse_merge::PatchError| error.to_string();
    Some(match call.str_at(&["op"]).unwrap() {
        "strategic" => {
            let (original, patch) = (call.get("original").unwrap(), call.get("patch").unwrap());
            // In Go nothing is an empty map too.
            let patch = if patch.is_null() { &Value::object() } else { patch };
            let name = call.str_at(&["type", "struct"]).unwrap();
            let schema = find(leak(name));
            let mut named = original.clone();
            let has_kind = original.get("kind").is_some();
            if !has_kind {
                // The name of the root type, where objects say their kind.
                named.set(&["kind"], name);
            }
            let mut ours = strategic::apply(&named, patch, schema).map_err(text);
            if let Ok(out) = &mut ours
                && !has_kind
                && patch.get("kind").is_none()
            {
                out.take(&["kind"]);
            }
            [ours, error.map_or_else(|| Ok(call.get("out").cloned().unwrap_or_default()), Err)]
        }
        "builtin" => {
            let (original, patch) = (call.get("original").unwrap(), call.get("patch").unwrap());
            let schema = builtin::schema(&Gvk::of(original)?)?;
            let ours = strategic::apply(original, patch, schema).map_err(text);
            match (&ours, error) {
                // Upstream meets what is wrong in no order.
                (Err(why), Some(_)) => [ours.clone(), Err(why.clone())],
                (_, error) => {
                    let out = || Ok(call.get("out").cloned().unwrap_or_default());
                    [ours.clone(), error.map_or_else(out, Err)]
                }
            }
        }
        "json" => {
            // The server's limit is not that of the library's tests.
            if error.as_ref().is_some_and(|error| error.contains("accumulated size")) {
                return None;
            }
            let ours = json_patch::apply(&read(call, "original")?, &read(call, "patch")?).map_err(text);
            [ours, error.map_or_else(|| Ok(read(call, "out").unwrap()), Err)]
        }
        "merge" => {
            let (mut doc, patch) = (read(call, "original")?, read(call, "patch")?);
            if merge_patch::check(&patch).is_err() {
                return None;
            }
            merge_patch::apply(&mut doc, &patch);
            [Ok(doc), error.map_or_else(|| Ok(read(call, "out").unwrap()), Err)]
        }
        _ => return None,
    })
}

fn replay(calls: impl Iterator<Item = Value>) -> (usize, usize, String) {
    let (mut replayed, mut equal, mut differences) = (0, 0, String::new());
    for call in calls {
        if let Some(types) = call.get("types") {
            structs(types);
        }
        let Some([ours, theirs]) = make(&call) else { continue };
        replayed += 1;
        if ours == theirs {
            equal += 1;
        } else if differences.len() < 50_000 {
            let print = |said: &Result<Value, String>| {
                said.as_ref().map_or_else(|why| format!("error: {why}"), Value::to_json)
            };
            writeln!(
                differences,
                "{}\n  ours   {}\n  theirs {}\n",
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
fn the_calls_of_the_patch_libraries_tests_come_out_as_recorded() {
    let mut differences = String::new();
    if let Some(file) = std::env::var_os("PATCH_RECORDS") {
        let text = std::fs::read_to_string(file).unwrap();
        let calls = text.lines().map(|line| parse::json(line.as_bytes()).unwrap().value);
        let (replayed, equal, found) = replay(calls);
        println!("patches: {replayed} replayed, {equal} equal");
        assert!(found.is_empty(), "{found}");
        return;
    }
    let folder = crate::recorded_calls().join("patches");
    for (name, least) in [("strategic", 200), ("json", 60), ("found", 0)] {
        let text = std::fs::read(folder.join(format!("{name}.json"))).unwrap();
        let Value::Array(calls) = parse::json(&text).unwrap().value else { panic!("{name} is no list") };
        let (replayed, equal, found) = replay(calls.into_iter());
        println!("{name} patches: {replayed} replayed, {equal} equal");
        assert!(replayed >= least, "only {replayed} calls of {name}");
        differences.push_str(&found);
    }
    assert!(differences.is_empty(), "{differences}");
}
