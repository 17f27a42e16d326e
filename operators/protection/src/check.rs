//! Whether a Blueprint is well made, as far as it shows without an object to act on.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::api::{Blueprint, BlueprintAction, BlueprintPhase};
use crate::functions::registry::{self, Function};
use crate::render;
use crate::template::Template;

/// Something that is wrong with a Blueprint, or with what an ActionSet asks of it, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The Blueprint.
    pub blueprint: String,
    /// The action; empty for the whole Blueprint.
    pub action: String,
    /// The phase; empty for the whole action.
    pub phase: String,
    /// What is wrong, with the argument where there is one.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "blueprint {:?}", self.blueprint)?;
        for (what, name) in [("action", &self.action), ("phase", &self.phase)] {
            if !name.is_empty() {
                write!(f, ", {what} {name:?}")?;
            }
        }
        write!(f, ": {}", self.message)
    }
}

/// The name of a phase for people: a deferred phase may have none.
pub fn phase_name(phase: &BlueprintPhase, deferred: bool) -> String {
    match (phase.name.as_str(), deferred) {
        ("", true) => "deferPhase".to_owned(),
        (name, _) => name.to_owned(),
    }
}

/// Everything that is wrong with the Blueprint. Functions that exist but cannot be run here are not wrong: see
/// [`not_built`].
pub fn blueprint(blueprint: &Blueprint) -> Vec<Problem> {
    let name = blueprint.metadata.name.as_deref().unwrap_or_default();
    blueprint.actions.iter().flat_map(|(key, action)| check_action(name, key, action)).collect()
}

fn phases(action: &BlueprintAction) -> impl Iterator<Item = (&BlueprintPhase, bool)> {
    action.phases.iter().map(|p| (p, false)).chain(action.defer_phase.iter().map(|p| (p, true)))
}

/// The functions of the action that exist but cannot be run here, with the phases that call them.
pub fn not_built(action: &BlueprintAction) -> Vec<(String, &'static Function)> {
    phases(action)
        .filter_map(|(phase, deferred)| {
            let function = registry::find(&phase.func).filter(|f| !f.built)?;
            Some((phase_name(phase, deferred), function))
        })
        .collect()
}

fn check_action(blueprint: &str, key: &str, action: &BlueprintAction) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    for (phase, deferred) in phases(action) {
        let mut report = |message: String| {
            problems.push(Problem {
                blueprint: blueprint.to_owned(),
                action: key.to_owned(),
                phase: phase_name(phase, deferred),
                message,
            });
        };
        if phase.name.is_empty() && !deferred {
            report("the phase has no name".to_owned());
        }
        // Kanister wants names unique over the whole Blueprint, which two of its own Blueprints break; within an action
        // they must be, because outputs are found by them.
        if !phase.name.is_empty() && !names.insert(&phase.name) {
            report(format!("Duplicated phase name is not allowed. Violating phase '{}'", phase.name));
        }
        match registry::find(&phase.func) {
            None => report(format!("Requested function {{{}}} has not been registered", phase.func)),
            Some(function) => check_args(phase, function, &mut report),
        }
        for (name, reference) in &phase.objects {
            for source in [&reference.name, &reference.namespace, &reference.kind] {
                if let Err(error) = Template::parse(source) {
                    report(format!("objects.{name}: {error}"));
                }
            }
        }
    }
    for (name, artifact) in &action.output_artifacts {
        for source in artifact.key_value.values().chain([&artifact.kopia_snapshot]) {
            if let Err(error) = Template::parse(source) {
                problems.push(Problem {
                    blueprint: blueprint.to_owned(),
                    action: key.to_owned(),
                    phase: String::new(),
                    message: format!("outputArtifacts.{name}: {error}"),
                });
            }
        }
    }
    problems
}

fn check_args(phase: &BlueprintPhase, function: &Function, report: &mut impl FnMut(String)) {
    for required in function.required {
        if !phase.args.contains_key(*required) {
            report(format!("Required arg missing: {required}"));
        }
    }
    for (name, value) in &phase.args {
        if !function.accepts(name) {
            report(format!("argument {name} is not supported by {}", function.name));
            continue;
        }
        render::texts(value, name.clone(), &mut |path, source| {
            if let Err(error) = Template::parse(source) {
                report(format!("argument {path}: {error}"));
            }
        });
    }
    for (name, labels) in [("podLabels", true), ("podAnnotations", false)] {
        match phase.args.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::Object(map)) => {
                for (key, value) in map {
                    if !key.contains("{{") && !qualified_name(key) {
                        report(format!("label key '{key}' failed validation"));
                    }
                    if let Some(value) =
                        value.as_str().filter(|v| labels && !v.contains("{{") && !label_value(v))
                    {
                        report(format!("label value '{value}' failed validation"));
                    }
                }
            }
            Some(_) => report(format!("argument {name}: must be a map of texts")),
        }
    }
}

fn label_value(value: &str) -> bool {
    value.is_empty() || (value.len() <= 63 && name_part(value))
}

fn name_part(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let ends = [text.as_bytes().first(), text.as_bytes().last()];
    text.bytes().all(inner) && ends.iter().all(|b| b.is_some_and(u8::is_ascii_alphanumeric))
}

fn qualified_name(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let prefix_ok = prefix.is_none_or(|p| {
        !p.is_empty()
            && p.len() <= 253
            && p.split('.').all(|part| {
                !part.contains('_') && name_part(part) && part.bytes().all(|b| !b.is_ascii_uppercase())
            })
    });
    prefix_ok && name.len() <= 63 && name_part(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(actions: serde_json::Value) -> Vec<String> {
        let value = serde_json::json!({"metadata": {"name": "bp"}, "actions": actions});
        blueprint(&serde_json::from_value(value).unwrap()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_fault_is_told_with_its_place() {
        let found = problems(serde_json::json!({"backup": {
            "phases": [
                {"func": "KubeTusk", "name": "a"},
                {"func": "KubeTask", "name": "a", "args": {"image": "i", "comand": ["x"]}},
                {"func": "KubeExec", "name": "b", "args": {
                    "namespace": "{{ .Namespace.Name", "pod": "p", "command": ["sh", "{{ nope }}"]}},
                {"func": "KubeTask", "name": "c", "args": {
                    "image": "i", "command": ["x"], "podLabels": {"a b": "c"}, "podAnnotations": []}},
            ],
            "outputArtifacts": {"o": {"keyValue": {"k": "{{ if }}"}}},
        }}));
        let expected = [
            "blueprint \"bp\", action \"backup\", phase \"a\": Requested function {KubeTusk} has not been registered",
            "phase \"a\": Duplicated phase name is not allowed. Violating phase 'a'",
            "Required arg missing: command",
            "argument comand is not supported by KubeTask",
            "argument namespace: template line 1: unclosed action",
            "argument command[1]: template line 1: function \"nope\" not defined",
            "label key 'a b' failed validation",
            "argument podAnnotations: must be a map of texts",
            "outputArtifacts.o: template line 1: missing value for if",
        ];
        for part in expected {
            assert!(found.iter().any(|p| p.contains(part)), "{part}\nin {found:#?}");
        }
        assert_eq!(found.len(), expected.len(), "{found:#?}");
    }

    #[test]
    fn two_actions_may_use_one_name() {
        let phase =
            serde_json::json!([{"func": "LocationDelete", "name": "same", "args": {"artifact": "a"}}]);
        assert!(problems(serde_json::json!({"a": {"phases": phase}, "b": {"phases": phase}})).is_empty());
    }
}
