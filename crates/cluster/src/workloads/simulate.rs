//! For tests: a small world of documents in which plans are carried out, so that a test can let a reconcile function
//! run until nothing is left to do.

use pilothouse_value::stack::deeper;
use pilothouse_value::{Value, object};

use crate::harness::plan::{Intent, Plan};

/// The objects there are, and what happened to them.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) objects: Vec<Value>,
    pub(crate) log: Vec<String>,
    made: usize,
}

impl World {
    pub(crate) fn of_kind(&self, kind: &str) -> Vec<&Value> {
        self.objects.iter().filter(|o| object::kind(o) == kind).collect()
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> Option<&Value> {
        self.objects.iter().find(|o| object::kind(o) == kind && object::name(o) == name)
    }

    pub(crate) fn put(&mut self, object: Value) {
        self.objects
            .retain(|o| object::kind(o) != object::kind(&object) || object::name(o) != object::name(&object));
        self.objects.push(object);
    }

    pub(crate) fn names(&self, kind: &str) -> Vec<String> {
        let mut names: Vec<String> = self.of_kind(kind).iter().map(|o| object::name(o).to_owned()).collect();
        names.sort();
        names
    }

    /// Carries out a plan. Says whether it changed anything.
    pub(crate) fn act(&mut self, plan: Plan) -> bool {
        let mut changed = false;
        for intent in plan.intents {
            match intent {
                Intent::Create { mut object, .. } => {
                    self.made += 1;
                    if object::name(&object).is_empty() {
                        let prefix = object.str_at(&["metadata", "generateName"]).unwrap_or_default();
                        let name = format!("{prefix}{}", self.made);
                        object.set(&["metadata", "name"], name);
                    }
                    object.set(&["metadata", "uid"], format!("uid-{}", self.made));
                    object.set(&["metadata", "generation"], 1);
                    object.set(
                        &["metadata", "creationTimestamp"],
                        format!("2026-01-01T00:00:{:02}Z", self.made % 60),
                    );
                    self.log.push(format!("create {} {}", object::kind(&object), object::name(&object)));
                    self.objects.push(object);
                    changed = true;
                }
                Intent::Update { object, .. } | Intent::UpdateStatus { object, .. } => {
                    self.put(object);
                    changed = true;
                }
                Intent::Patch { resource, name, patch, .. } => {
                    let plural = |o: &Value| format!("{}s", object::kind(o).to_lowercase());
                    let target = self
                        .objects
                        .iter_mut()
                        .find(|o| plural(o) == resource.resource && object::name(o) == name);
                    if let Some(target) = target {
                        let before = target.get("spec").cloned();
                        merge(target, &patch);
                        if target.get("spec").cloned() != before {
                            let generation = object::generation(target);
                            target.set(&["metadata", "generation"], generation + 1);
                        }
                        changed = true;
                    }
                }
                Intent::Delete { resource, name, .. } => {
                    let plural = |o: &Value| format!("{}s", object::kind(o).to_lowercase());
                    self.log.push(format!("delete {} {name}", resource.resource));
                    self.objects.retain(|o| plural(o) != resource.resource || object::name(o) != name);
                    changed = true;
                }
                Intent::Event { message, .. } => self.log.push(message),
            }
        }
        changed
    }

    /// Makes every pod run and be ready.
    pub(crate) fn run_pods(&mut self) -> bool {
        let mut changed = false;
        for pod in self.objects.iter_mut().filter(|o| object::kind(o) == "Pod") {
            if pod.get("status").is_none() {
                pod.set(&["status"], running());
                changed = true;
            }
        }
        changed
    }
}

/// The status of a pod that runs and is ready.
pub(crate) fn running() -> Value {
    pilothouse_value::json!({"phase": "Running", "conditions": [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
}

fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    for (key, value) in patch.iter() {
        if value.is_null() {
            target.make_object().remove(key);
        } else {
            deeper(|| merge(target.make_object().or_insert_with(key, Value::object), value));
        }
    }
}
