//! The calls that the tests of apimachinery's managedfields make, with what the package answered, made to us. They stand in
//! `conformance/recorded/patches/managed.json`; `conformance/merging` records them.

use pilothouse_merge::managed::{self, Kind, Manager, Versions};
use pilothouse_schema::{Schema, builtin};
use pilothouse_value::{Gvk, Timestamp, Value, object, parse};
use std::fmt::Write as _;

/// As the tests have it: every version of an object is the object.
struct Same(&'static Schema);

impl Versions for Same {
    fn convert(&self, object: &Value, _: &str) -> Result<Option<Value>, String> {
        Ok(Some(object.clone()))
    }

    fn schema(&self, _: &str) -> Option<&Schema> {
        Some(self.0)
    }
}

/// What a call came to, without the times, which are those of the recording.
fn comparable(mut object: Value) -> Value {
    if let Some(Value::Array(entries)) = object.at_mut(&["metadata", "managedFields"]) {
        entries.iter_mut().for_each(|entry| drop(entry.take(&["time"])));
        entries.sort_by_key(Value::to_json);
    }
    object
}

fn entries(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

/// Makes a call: what we answer, and what upstream answered. `None` for one that is not about us.
fn make(call: &Value) -> Option<[Result<Value, String>; 2]> {
    let text = |name: &str| call.str_at(&[name]).unwrap_or_default();
    let theirs = match call.str_at(&["error"]) {
        // What the tests themselves make fail.
        Some("test error") => return None,
        Some(error) => Err(error.to_owned()),
        None => Ok(call.get("out").cloned().unwrap_or_default()),
    };
    let places = |version: &str| -> Option<Vec<String>> {
        let path = call.at(&["mappings", version])?;
        Some(path.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect())
    };
    let list = |entries: Option<Value>| entries.unwrap_or_default();
    Some(match text("op") {
        "decode" => {
            let mut object = Value::object();
            object.set(&["metadata", "managedFields"], call.get("entries").cloned().unwrap_or_default());
            // Only whether a set can be read is compared: its text prints a Go struct.
            let plain = |said: Result<(), String>| match said {
                Err(why) if why.contains("decoding versioned set") => {
                    Err("decoding versioned set".to_owned())
                }
                said => said.map(|()| Value::Null),
            };
            [plain(managed::check(&object)), plain(theirs.map(drop))]
        }
        "scale" => {
            let ours = managed::scale_to_subresource(entries(call.get("parent")), places).map(list);
            [ours, theirs]
        }
        "unscale" => {
            let (parent, scale) = (entries(call.get("parent")), entries(call.get("scale")));
            [managed::scale_to_parent(parent, scale, text("version"), places).map(list), theirs]
        }
        "apply" | "update" => {
            let (mut live, mut object) =
                (call.get("live").cloned().unwrap(), call.get("object").cloned().unwrap());
            let gvk = Gvk::of(&object)?;
            let schema = builtin::schema(&gvk)?;
            if object::api_version(&live) != gvk.api_version() {
                return None;
            }
            // To the tests an object that is not there yet has nothing, where one of a built-in kind has empty structs.
            let strange = format!("Strange{}", gvk.kind);
            live.set(&["kind"], strange.as_str());
            object.set(&["kind"], strange.as_str());
            let familiar = |said: Result<Value, String>| match said {
                Ok(value) => {
                    let text = value.to_json().replace("Strange", "");
                    Ok(comparable(parse::json(text.as_bytes()).unwrap().value))
                }
                Err(why) => Err(why.replace("Strange", "")),
            };
            let (same, api_version) = (Same(schema), gvk.api_version());
            let out = call.get("out").unwrap_or(&Value::Null);
            // A test of a manager that does not begin with new objects, which servers do not have any more.
            if text("op") == "update" && !out.is_null() && out.at(&["metadata", "managedFields"]).is_none() {
                return None;
            }
            let times = out.items_at(&["metadata", "managedFields"]).iter();
            let times = times.filter_map(|entry| Timestamp::parse(entry.str_at(&["time"])?).ok());
            // The tests of the cap have a lower one.
            let caps =
                text("manager").starts_with("fieldmanager_test_update_") || text("manager") == "no-op-update";
            let kind = Kind::of(schema).with_versions(&same).keeping(if caps { 3 } else { 10 });
            let manager = Manager {
                name: text("manager"),
                api_version: &api_version,
                subresource: text("subresource"),
                time: times.max_by_key(|time| time.unix_seconds()).unwrap_or(Timestamp::from_unix_seconds(0)),
            };
            let ours = if text("op") == "apply" {
                let force = call.get("force").and_then(Value::as_bool).unwrap();
                managed::apply(Some(&live), &object, &kind, &manager, force)
                    .map_err(|why| why.status().message)
            } else {
                // Whether an object is there is told by its uid.
                let is_there =
                    !object::uid(&live).is_empty() || live.at(&["metadata", "managedFields"]).is_some();
                managed::track(is_there.then_some(&live), &mut object, &kind, &manager);
                Ok(object)
            };
            [familiar(ours), theirs.map(comparable)]
        }
        other => panic!("{other} is no call"),
    })
}

#[test]
fn the_calls_of_the_field_managers_tests_come_out_as_recorded() {
    let file = crate::recorded_calls().join("patches/managed.json");
    let Value::Array(calls) = parse::json(&std::fs::read(file).unwrap()).unwrap().value else {
        panic!("no list")
    };
    let (mut replayed, mut equal, mut differences) = (0, 0, String::new());
    for call in &calls {
        let Some([ours, theirs]) = make(call) else { continue };
        replayed += 1;
        if ours == theirs {
            equal += 1;
            continue;
        }
        let print = |said: &Result<Value, String>| {
            said.as_ref().map_or_else(|why| format!("error: {why}"), Value::to_json)
        };
        writeln!(differences, "{}\n  ours   {}\n  theirs {}\n", call.to_json(), print(&ours), print(&theirs))
            .unwrap();
    }
    println!("managedfields: {replayed} replayed, {equal} equal");
    assert!(differences.is_empty(), "{differences}");
    assert!(replayed > 150, "only {replayed} calls");
}
