//! Running an ActionSet and showing its phases as they change.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::api::{DynamicObject, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::kubernetes::{Wait, resource, until};
use crate::error::{Doing, Error, Result};
use crate::ui::Ui;

/// The namespace of the operator and its objects.
pub(crate) const OPERATOR_NAMESPACE: &str = "pilothouse";

/// One action on one object.
pub(crate) struct Action<'a> {
    pub(crate) name: &'a str,
    pub(crate) blueprint: &'a str,
    pub(crate) profile: &'a str,
    /// The object that the action is about: kind, namespace, name.
    pub(crate) object: (&'a str, &'a str, &'a str),
    /// Artifacts of an earlier action.
    pub(crate) artifacts: Option<Value>,
}

/// The API of ActionSets.
pub(crate) fn action_sets(client: &Client) -> Api<DynamicObject> {
    let resource = resource("cr.kanister.io", "v1alpha1", "ActionSet", "actionsets");
    Api::namespaced_with(client.clone(), OPERATOR_NAMESPACE, &resource)
}

/// Creates an ActionSet, shows each phase as it goes, and returns the artifacts once it is complete.
pub(crate) async fn run(client: &Client, ui: &Ui, action: Action<'_>, bound: Duration) -> Result<Value> {
    let (kind, namespace, name) = action.object;
    let mut spec = json!({
        "name": action.name,
        "blueprint": action.blueprint,
        "object": {"kind": kind, "namespace": namespace, "name": name},
        "profile": {"kind": "Profile", "name": action.profile, "namespace": OPERATOR_NAMESPACE},
    });
    if let Some(artifacts) = action.artifacts {
        spec["artifacts"] = artifacts;
    }
    let api = action_sets(client);
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "cr.kanister.io/v1alpha1",
        "kind": "ActionSet",
        "metadata": {"generateName": format!("{}-", action.name), "namespace": OPERATOR_NAMESPACE},
        "spec": {"actions": [spec]},
    }))
    .map_err(|e| {
        Error::wrong("building the ActionSet", e, "this is a defect of pilothouse: please report it")
    })?;
    let created = api
        .create(&PostParams::default(), &object)
        .await
        .doing(format!("creating the ActionSet {}", action.name))?;
    let name = created.name_any();
    ui.progress(&format!("ActionSet {name}"));
    let mut shown = BTreeMap::new();
    let doing = format!("waiting for the ActionSet {name}");
    let hint = format!("kubectl -n {OPERATOR_NAMESPACE} describe actionset {name}");
    until(&api, &name, Wait { doing: &doing, bound, hint: &hint }, |state| {
        let Some(state) = state else {
            return Err(Error::wrong(&doing, "it is gone", "who has deleted it?"));
        };
        show_phases(ui, state, &mut shown);
        let status = &state.data["status"];
        match status["state"].as_str().unwrap_or("not looked at yet") {
            "complete" => Ok(Ok(status["actions"][0]["artifacts"].clone())),
            "failed" => {
                let why = status["error"]["message"].as_str().unwrap_or("no reason given");
                Err(Error::wrong(format!("the ActionSet {name} has failed"), why, &hint))
            }
            other => Ok(Err(format!("state {other}"))),
        }
    })
    .await
}

fn show_phases(ui: &Ui, action_set: &DynamicObject, shown: &mut BTreeMap<String, String>) {
    let action = &action_set.data["status"]["actions"][0];
    let phases = action["phases"].as_array().map_or(&[][..], Vec::as_slice);
    let deferred = Some(&action["deferPhase"]).filter(|phase| phase.is_object());
    for phase in phases.iter().chain(deferred) {
        let (Some(name), Some(state)) = (phase["name"].as_str(), phase["state"].as_str()) else { continue };
        if !state.is_empty() && state != "pending" && shown.get(name).map(String::as_str) != Some(state) {
            shown.insert(name.to_owned(), state.to_owned());
            ui.progress(&format!("phase {name}: {state}"));
        }
    }
}
