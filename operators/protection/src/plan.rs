//! Renders a whole action before anything of it runs.
//!
//! Every phase is rendered against the real object; outputs of phases that have not run are unknown, and so is what is
//! made from them. What is wrong shows here, with its place, and not in the middle of a restore.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::api::{ActionSpec, Artifact, Blueprint, BlueprintAction, BlueprintPhase, ObjectReference};
use crate::check::{self, Problem, phase_name};
use crate::functions::{args, registry};
use crate::params::{Params, PhaseParams};
use crate::render::{self, RenderError};
use crate::template::TemplateError;

/// An action, rendered.
#[derive(Clone, Debug, Default)]
pub struct ActionPlan {
    /// Its phases, the deferred one last.
    pub phases: Vec<PhasePlan>,
    /// What it will make, as far as it is known.
    pub artifacts: BTreeMap<String, Artifact>,
}

/// A phase, rendered.
#[derive(Clone, Debug)]
pub struct PhasePlan {
    /// The name for people.
    pub name: String,
    /// The function.
    pub func: String,
    /// Whether it is the deferred phase.
    pub deferred: bool,
    /// The Secrets and ConfigMaps that it uses, by their names in the phase.
    pub objects: BTreeMap<String, ObjectReference>,
    /// The arguments; what is not known stands in `<…>`.
    pub args: Map<String, Value>,
    /// The arguments into which something went that is not known yet.
    pub unknown: BTreeSet<String>,
}

/// What the objects of phases hold, as far as it was looked up. Not having one does not fail a plan.
#[derive(Clone, Default)]
pub struct Lookup {
    /// Secrets by namespace and name.
    pub secrets: BTreeMap<(String, String), k8s_openapi::api::core::v1::Secret>,
    /// ConfigMaps by namespace and name.
    pub config_maps: BTreeMap<(String, String), k8s_openapi::api::core::v1::ConfigMap>,
}

/// Renders an action that is to be run: a function that cannot be run here is wrong too.
///
/// # Errors
/// Everything that is wrong with it.
pub fn action(
    blueprint: &Blueprint,
    spec: &ActionSpec,
    params: &Params,
    lookup: &Lookup,
) -> Result<ActionPlan, Vec<Problem>> {
    let not_built = blueprint.actions.get(&spec.name).map(check::not_built).unwrap_or_default();
    let refused: Vec<_> = not_built
        .into_iter()
        .map(|(phase, function)| Problem {
            blueprint: blueprint.metadata.name.clone().unwrap_or_default(),
            action: spec.name.clone(),
            phase,
            message: format!(
                "function {} cannot be run by this operator yet; it runs {}",
                function.name,
                registry::built_names()
            ),
        })
        .collect();
    match render_action(blueprint, spec, params, lookup) {
        Ok(plan) if refused.is_empty() => Ok(plan),
        Ok(_) => Err(refused),
        Err(problems) => Err(problems.into_iter().chain(refused).collect()),
    }
}

/// Renders an action, also one with functions that cannot be run here.
///
/// # Errors
/// Everything that is wrong with it.
pub fn render_action(
    blueprint: &Blueprint,
    spec: &ActionSpec,
    params: &Params,
    lookup: &Lookup,
) -> Result<ActionPlan, Vec<Problem>> {
    let problem = |phase: &str, message: String| Problem {
        blueprint: blueprint.metadata.name.clone().unwrap_or_default(),
        action: spec.name.clone(),
        phase: phase.to_owned(),
        message,
    };
    let Some(action) = blueprint.actions.get(&spec.name) else {
        let known = blueprint.actions.keys().cloned().collect::<Vec<_>>().join(", ");
        return Err(vec![problem("", format!("Action {} not found; the Blueprint has: {known}", spec.name))]);
    };
    let mut problems: Vec<_> =
        check::blueprint(blueprint).into_iter().filter(|p| p.action == spec.name).collect();
    problems.extend(missing_inputs(action, spec).into_iter().map(|message| problem("", message)));
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut plan = ActionPlan::default();
    let mut params = params.clone();
    for (blueprint_phase, deferred) in
        action.phases.iter().map(|p| (p, false)).chain(action.defer_phase.iter().map(|p| (p, true)))
    {
        let name = phase_name(blueprint_phase, deferred);
        match phase(blueprint_phase, deferred, &mut params, lookup) {
            Ok(planned) => plan.phases.push(planned),
            Err(message) => problems.push(problem(&name, message)),
        }
    }
    match render::artifacts(&action.output_artifacts, &params.to_value()) {
        Ok(artifacts) => plan.artifacts = artifacts,
        Err(error) => problems.push(problem("", explain(&error, action, &params))),
    }
    if problems.is_empty() { Ok(plan) } else { Err(problems) }
}

/// What the Blueprint says it needs and the ActionSet does not give.
fn missing_inputs(action: &BlueprintAction, spec: &ActionSpec) -> Vec<String> {
    let mut missing = Vec::new();
    for (what, field, needed, given) in [
        ("artifact", "artifacts", &action.input_artifact_names, spec.artifacts.keys().collect::<Vec<_>>()),
        ("ConfigMap", "configMaps", &action.config_map_names, spec.config_maps.keys().collect()),
        ("Secret", "secrets", &action.secret_names, spec.secrets.keys().collect()),
    ] {
        missing.extend(needed.iter().filter(|name| !given.contains(name)).map(|name| {
            format!("the action needs the {what} {name:?}\nhint: give it in spec.actions[].{field}")
        }));
    }
    missing
}

fn phase(
    phase: &BlueprintPhase,
    deferred: bool,
    params: &mut Params,
    lookup: &Lookup,
) -> Result<PhasePlan, String> {
    let mut known = true;
    let data = params.to_value();
    let explained =
        |error: RenderError, params: &Params| explain(&error, &BlueprintAction::default(), params);
    let objects = phase
        .objects
        .iter()
        .map(|(name, reference)| {
            let rendered = render::reference(reference, &format!("objects.{name}"), &data, &mut known)?;
            Ok((name.clone(), rendered))
        })
        .collect::<Result<BTreeMap<_, _>, RenderError>>()
        .map_err(|error| explained(error, params))?;
    let seen = look_up(&objects, lookup);
    if deferred {
        params.defer_phase = Some(seen);
    } else {
        params.phases.insert(phase.name.clone(), seen);
    }
    let function =
        registry::find(&phase.func).ok_or_else(|| format!("there is no function {}", phase.func))?;
    let rendered = render::args(&phase.args, function.raw, &params.to_value())
        .map_err(|error| explained(error, params))?;
    // What is wrong with an argument that is not known yet will show when it is.
    if let Err(error) = args::read(&phase.func, &rendered.args)
        && !rendered.unknown.contains(&error.argument)
        && error.argument != "func"
    {
        return Err(error.to_string());
    }
    Ok(PhasePlan {
        name: phase_name(phase, deferred),
        func: phase.func.clone(),
        deferred,
        objects,
        args: rendered.args,
        unknown: rendered.unknown,
    })
}

fn look_up(objects: &BTreeMap<String, ObjectReference>, lookup: &Lookup) -> PhaseParams {
    let mut seen = PhaseParams::default();
    for (name, reference) in objects {
        let key = (reference.namespace.clone(), reference.name.clone());
        match reference.kind.to_lowercase().as_str() {
            "secret" => {
                seen.secrets.insert(name.clone(), lookup.secrets.get(&key).cloned());
            }
            "configmap" => {
                seen.config_maps.insert(name.clone(), lookup.config_maps.get(&key).cloned());
            }
            _ => {}
        }
    }
    seen
}

/// Adds to the text of a template's error what its author can do about it.
pub fn explain(error: &RenderError, action: &BlueprintAction, params: &Params) -> String {
    let mut text = error.to_string();
    let TemplateError::MissingKey { key, path } = &error.source else {
        if matches!(&error.source, TemplateError::Exec { message, .. } if message.starts_with("nil pointer"))
        {
            text.push_str(
                "\nhint: the object of the action is of another kind than the Blueprint is made for",
            );
        }
        return text;
    };
    let hint = match path.split('.').nth(1) {
        Some("Phases")
            if action.phases.iter().any(|p| p.name == *key) || !params.phases.contains_key(key) =>
        {
            "only phases that come before, and the phase itself, can be seen"
        }
        Some("ArtifactsIn") => "give the artifact in spec.actions[].artifacts of the ActionSet",
        Some("Options") => {
            "give the option in spec.actions[].options of the ActionSet, or use `index .Options`"
        }
        Some("Secrets") => "give the Secret in spec.actions[].secrets of the ActionSet",
        Some("ConfigMaps") => "give the ConfigMap in spec.actions[].configMaps of the ActionSet",
        _ => return text,
    };
    text.push_str("\nhint: ");
    text.push_str(hint);
    text
}
