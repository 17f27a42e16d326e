//! Writes that were sent to a real kube-apiserver 1.37.2, which stand in `conformance/recorded/writes.json`, sent to us.

use pilothouse_merge::fieldset::{FieldSet, Filter};
use pilothouse_merge::managed::{self, Manager, Reset};
use pilothouse_merge::{json_patch, merge_patch, strategic};
use pilothouse_schema::{Schema, builtin, default, structural};
use pilothouse_value::field::Path;
use pilothouse_value::{Gvk, Timestamp, Value, json, object, parse};
use std::fmt::Write as _;

/// An object as a server would store it: read as its kind, with defaults.
struct Kind<'s> {
    schema: &'s Schema,
    gvk: Gvk,
}

impl Kind<'_> {
    fn read(&self, mut object: Value) -> Value {
        if builtin::schema(&self.gvk).is_some() {
            // An empty list is no list to a kind, but to the managers it is.
            let cleared = object.at(&["metadata", "managedFields"]) == Some(&json!([]));
            builtin::decode(&self.gvk, &mut object).unwrap();
            builtin::default(&self.gvk, &mut object);
            if cleared {
                object.set(&["metadata", "managedFields"], json!([]));
            }
        } else {
            default(self.schema, &mut object);
        }
        object
    }

    /// What becomes of the object, or the text of the refusal.
    fn write(&self, live: Option<&Value>, step: &Value) -> Result<Value, String> {
        let text = |field: &str| step.str_at(&[field]).unwrap_or_default();
        let body = step.get("body").unwrap();
        let manager = Manager {
            name: text("manager"),
            api_version: &self.gvk.api_version(),
            subresource: text("subresource"),
            time: Timestamp::from_unix_seconds(0),
        };
        let reset: &[&[&str]] = match manager.subresource {
            "" => &[&["status"]],
            _ if builtin::schema(&self.gvk).is_some() => &[&["spec"]],
            _ => &[&["metadata"], &["spec"]],
        };
        let filter = Filter::Exclude(FieldSet::of_fields(reset));
        let kind = managed::Kind::of(self.schema).resetting(Some(Reset { filter: &filter, only_in: None }));
        let patched = match text("operation") {
            "apply" => {
                let force = step.get("force").and_then(Value::as_bool).unwrap_or_default();
                let applied = managed::apply(live, body, &kind, &manager, force);
                return applied.map(|object| self.read(object)).map_err(|why| why.status().message);
            }
            "create" => Ok(body.clone()),
            "json" => json_patch::apply(live.unwrap(), body),
            "strategic" => strategic::apply(live.unwrap(), body, self.schema),
            _ => merge_patch::check(body).map(|()| {
                let mut patched = live.unwrap().clone();
                merge_patch::apply(&mut patched, body);
                patched
            }),
        };
        let mut written = self.read(patched.map_err(|why| why.status().message)?);
        managed::track(live, &mut written, &kind, &manager);
        Ok(written)
    }
}

/// An object in the form of the records: what merging is not about is left out.
fn comparable(mut object: Value) -> Value {
    for field in ["uid", "creationTimestamp", "resourceVersion", "generation", "namespace"] {
        object.take(&["metadata", field]);
    }
    if let Some(Value::Array(entries)) = object.at_mut(&["metadata", "managedFields"]) {
        entries.iter_mut().for_each(|entry| drop(entry.take(&["time"])));
        // Without their times entries have no order.
        entries.sort_by_key(Value::to_json);
    }
    // A new object has an empty status, which its kind adds when it is stored.
    if object.get("status").and_then(Value::as_object).is_some_and(pilothouse_value::Map::is_empty) {
        object.take(&["status"]);
    }
    object
}

#[test]
fn recorded_writes_come_out_as_from_a_real_server() {
    let file =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/recorded/writes.json");
    let recorded = parse::json(&std::fs::read(file).unwrap()).unwrap().value;
    let custom = structural::parse(recorded.get("schema").unwrap(), &Path::root()).unwrap();
    let (mut compared, mut differences) = (0, String::new());
    for object in recorded.items_at(&["objects"]) {
        let mut live: Option<Value> = None;
        for (index, step) in object.items_at(&["steps"]).iter().enumerate() {
            let after = step.get("after");
            let kind = [after, live.as_ref()].into_iter().flatten().map(object::kind).next().unwrap();
            let version = object.str_at(&["version"]).unwrap();
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            let gvk = Gvk::new(group, version, kind);
            let kind = Kind { schema: builtin::schema(&gvk).unwrap_or(&custom), gvk };
            let ours = kind.write(live.as_ref(), step).map(comparable);
            let theirs = match after {
                Some(after) => Ok(comparable(after.clone())),
                None => Err(step.str_at(&["message"]).unwrap().to_owned()),
            };
            // Whether the merged object is a good one is not decided here.
            let is_about_rules = matches!(&theirs, Err(message) if message.contains(" is invalid: "));
            if !is_about_rules {
                compared += 1;
                if ours != theirs {
                    let name = object.str_at(&["name"]).unwrap();
                    let print = |said: &Result<Value, String>| {
                        said.as_ref().map_or_else(Clone::clone, Value::to_json)
                    };
                    writeln!(
                        differences,
                        "{name} step {index}:\n  ours   {}\n  theirs {}",
                        print(&ours),
                        print(&theirs)
                    )
                    .unwrap();
                }
            }
            if let Some(after) = after {
                live = Some(after.clone());
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
    assert!(compared > 90, "only {compared} writes were compared");
}
