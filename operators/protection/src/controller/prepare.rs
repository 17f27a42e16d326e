//! Looks at a whole ActionSet before anything of it runs.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube::{Client, ResourceExt as _};
use serde::{Deserialize, Serialize};

use super::access;
use super::journal::{is_already_exists, is_not_found};
use super::observe::{self, ObserveError};
use crate::api::{
    API_VERSION, ActionSet, ActionSetStatus, ActionSpec, ActionStatus, Blueprint, Phase, State,
};
use crate::check::phase_name;
use crate::params::Pinned;
use crate::plan::{self, Lookup};

/// The key of the pinned parts in their Secret.
const KEY: &str = "pinned";

/// What an ActionSet keeps to, from its start to its end: the Blueprints and the objects as they were. Editing a Blueprint
/// does not change work that runs.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct PinnedSet {
    /// One for each action, in their order.
    pub(crate) actions: Vec<PinnedAction>,
}

/// What an action keeps to.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct PinnedAction {
    pub(crate) blueprint: Blueprint,
    pub(crate) pinned: Pinned,
}

/// Why an ActionSet is not started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PrepareError {
    /// It is not valid.
    #[error("{0}")]
    Invalid(String),
    /// The API server gave no answer.
    #[error("{0}")]
    Later(String),
}

impl From<ObserveError> for PrepareError {
    fn from(error: ObserveError) -> Self {
        match &error {
            ObserveError::Invalid(_) => Self::Invalid(error.to_string()),
            ObserveError::Request { .. } => Self::Later(error.to_string()),
        }
    }
}

/// Checks everything that can be checked, and sees what the actions will keep to.
///
/// # Errors
/// Everything that is wrong, in one text.
pub(crate) async fn prepare(
    client: &Client,
    set: &ActionSet,
    default_namespace: &str,
) -> Result<PinnedSet, PrepareError> {
    let Some(spec) = &set.spec else {
        return Err(PrepareError::Invalid("the ActionSet has no spec".to_owned()));
    };
    let mut all = PinnedSet::default();
    let mut problems = Vec::new();
    for action in &spec.actions {
        match prepare_action(client, set, action, default_namespace).await {
            Ok(pinned) => all.actions.push(pinned),
            Err(PrepareError::Invalid(text)) => problems.push(text),
            Err(later) => return Err(later),
        }
    }
    if problems.is_empty() { Ok(all) } else { Err(PrepareError::Invalid(problems.join("\n"))) }
}

async fn prepare_action(
    client: &Client,
    set: &ActionSet,
    action: &ActionSpec,
    default_namespace: &str,
) -> Result<PinnedAction, PrepareError> {
    let namespace = set.namespace().unwrap_or_default();
    if action.blueprint.is_empty() {
        return Err(PrepareError::Invalid(format!("action {:?}: Blueprint is not specified", action.name)));
    }
    let api: Api<Blueprint> = Api::namespaced(client.clone(), &namespace);
    let blueprint = match api.get(&action.blueprint).await {
        Ok(blueprint) => blueprint,
        Err(error) if is_not_found(&error) => {
            return Err(PrepareError::Invalid(format!(
                "action {:?}: Blueprint {:?} not found in namespace {namespace:?}\n\
                 hint: a Blueprint is looked up in the namespace of the ActionSet",
                action.name, action.blueprint
            )));
        }
        Err(error) => {
            return Err(PrepareError::Later(format!(
                "cannot read Blueprint {:?}: {error}",
                action.blueprint
            )));
        }
    };
    let in_action = |text: String| PrepareError::Invalid(format!("action {:?}: {text}", action.name));
    let observed = |error: ObserveError| match error {
        ObserveError::Invalid(text) => in_action(text),
        other => other.into(),
    };
    let pinned = observe::pin(client, action).await.map_err(observed)?;
    let params = observe::params(client, &namespace, action, pinned.clone()).await.map_err(observed)?;
    // Once to learn which objects the phases use, and again with those that are there.
    let told = |problems: Vec<crate::check::Problem>| {
        PrepareError::Invalid(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    };
    let first = plan::action(&blueprint, action, &params, &Lookup::default()).map_err(told)?;
    let objects: Vec<_> = first.phases.iter().flat_map(|phase| phase.objects.values().cloned()).collect();
    let lookup = observe::lookup(client, &objects).await.map_err(observed)?;
    let plan = plan::action(&blueprint, action, &params, &lookup).map_err(told)?;
    missing_objects(&plan, &lookup).map_err(in_action)?;
    let needs = access::needs(&plan, default_namespace, &pinned.subject);
    let denied = access::denied(client, needs).await;
    if !denied.is_empty() {
        let list = denied.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        return Err(in_action(format!(
            "the operator may not: {list}\nhint: bind a role with these verbs to the operator's service account in that namespace"
        )));
    }
    Ok(PinnedAction { blueprint, pinned })
}

/// What the first phase uses must be there already; later phases may use what earlier ones make.
fn missing_objects(plan: &plan::ActionPlan, lookup: &Lookup) -> Result<(), String> {
    let Some(first) = plan.phases.first() else { return Ok(()) };
    for (name, reference) in &first.objects {
        let key = (reference.namespace.clone(), reference.name.clone());
        let missing = match reference.kind.to_lowercase().as_str() {
            "secret" => !lookup.secrets.contains_key(&key),
            "configmap" => !lookup.config_maps.contains_key(&key),
            _ => false,
        };
        if missing {
            return Err(format!(
                "phase {:?}: the {} {}/{} (objects.{name}) does not exist",
                first.name, reference.kind, reference.namespace, reference.name
            ));
        }
    }
    Ok(())
}

/// The status of an ActionSet whose work has not begun.
pub(crate) fn initial_status(set: &ActionSet, pinned: &PinnedSet) -> ActionSetStatus {
    let specs = set.spec.iter().flat_map(|s| &s.actions);
    let actions = specs
        .zip(&pinned.actions)
        .map(|(spec, pinned)| {
            let action = pinned.blueprint.actions.get(&spec.name).cloned().unwrap_or_default();
            ActionStatus {
                name: spec.name.clone(),
                object: spec.object.clone(),
                blueprint: spec.blueprint.clone(),
                phases: action
                    .phases
                    .iter()
                    .map(|p| Phase { name: p.name.clone(), ..Phase::default() })
                    .collect(),
                artifacts: action.output_artifacts,
                defer_phase: match &action.defer_phase {
                    Some(phase) => Phase { name: phase_name(phase, true), ..Phase::default() },
                    None => Phase { state: State::None, ..Phase::default() },
                },
            }
        })
        .collect();
    ActionSetStatus { state: State::Pending, actions, ..ActionSetStatus::default() }
}

fn secret_name(set: &ActionSet) -> String {
    format!("actionset-{}", set.uid().unwrap_or_default())
}

/// Writes what the actions keep to; durable when this returns. A Secret holds it, since an object may be one.
///
/// # Errors
/// As the request.
pub(crate) async fn save(client: &Client, set: &ActionSet, pinned: &PinnedSet) -> Result<(), kube::Error> {
    let api: Api<Secret> = Api::namespaced(client.clone(), &set.namespace().unwrap_or_default());
    let bytes = serde_json::to_vec(pinned).map_err(kube::Error::SerdeError)?;
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(secret_name(set)),
            labels: Some(BTreeMap::from([("createdBy".to_owned(), "kanister".to_owned())])),
            owner_references: Some(vec![OwnerReference {
                api_version: API_VERSION.to_owned(),
                kind: "ActionSet".to_owned(),
                name: set.name_any(),
                uid: set.uid().unwrap_or_default(),
                ..OwnerReference::default()
            }]),
            ..ObjectMeta::default()
        },
        type_: Some("protection.pilothouse.dev/journal".to_owned()),
        data: Some(BTreeMap::from([(KEY.to_owned(), k8s_openapi::ByteString(bytes))])),
        ..Secret::default()
    };
    match api.create(&PostParams::default(), &secret).await {
        Ok(_) => Ok(()),
        // Left by a start that did not come as far as `running`: nothing has relied on it.
        Err(error) if is_already_exists(&error) => {
            forget(client, set).await?;
            api.create(&PostParams::default(), &secret).await.map(|_| ())
        }
        Err(error) => Err(error),
    }
}

/// Reads what the actions keep to; `None` when it is gone.
///
/// # Errors
/// As the request.
pub(crate) async fn load(client: &Client, set: &ActionSet) -> Result<Option<PinnedSet>, kube::Error> {
    let api: Api<Secret> = Api::namespaced(client.clone(), &set.namespace().unwrap_or_default());
    let Some(secret) = api.get_opt(&secret_name(set)).await? else { return Ok(None) };
    let bytes = secret.data.as_ref().and_then(|d| d.get(KEY));
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes.0).ok()))
}

/// Removes what the actions kept to.
///
/// # Errors
/// As the request.
pub(crate) async fn forget(client: &Client, set: &ActionSet) -> Result<(), kube::Error> {
    let api: Api<Secret> = Api::namespaced(client.clone(), &set.namespace().unwrap_or_default());
    match api.delete(&secret_name(set), &DeleteParams::default()).await {
        Ok(_) => Ok(()),
        Err(error) if is_not_found(&error) => Ok(()),
        Err(error) => Err(error),
    }
}
