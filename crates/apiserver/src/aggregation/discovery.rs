//! What others serve, as clients are told of it among all else.

use std::sync::Arc;

use http::header;
use pilothouse_value::{Value, json, parse};
use tokio::time::Instant;

use super::{Aggregator, Claim, Remote, check, proxy};
use crate::authentication::user::User;
use crate::state::State;

const EVERYTHING: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// What somebody serves, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct Served {
    /// The resources of the group and version, as aggregated discovery tells them.
    resources: Vec<Value>,
    /// When they were asked for last with success.
    asked: Option<Instant>,
}

/// A group and version that others serve.
pub(crate) struct Version {
    pub(crate) claim: Claim,
    /// As aggregated discovery tells it.
    pub(crate) told: Value,
}

/// Asks what somebody serves, unless that was done lately. Whether they said it.
pub(super) async fn refresh(state: &Arc<State>, remote: &Remote) -> bool {
    let options = &state.aggregator.options;
    if remote.served.lock().asked.is_some_and(|asked| asked.elapsed() < options.interval * 2) {
        return true;
    }
    let found = tokio::time::timeout(options.patience, resources(state, remote)).await.ok().flatten();
    let mut served = remote.served.lock();
    match found {
        Some(resources) => *served = Served { resources, asked: Some(Instant::now()) },
        None => served.asked = None,
    }
    served.asked.is_some()
}

impl Served {
    /// Nobody answers: what they served is not known any more.
    pub(super) fn clear(&mut self) {
        *self = Served::default();
    }
}

async fn resources(state: &Arc<State>, remote: &Remote) -> Option<Vec<Value>> {
    let accept = [(header::ACCEPT, EVERYTHING)];
    let answer = proxy::ask(state, remote, "/apis", &accept, &check::aggregator()).await.ok()?;
    let kind =
        answer.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_whole = ["g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"]
        .into_iter()
        .all(|part| kind.split(';').any(|own| own.trim() == part));
    if answer.status == 200 && is_whole {
        let document = parse::json(&answer.body).ok()?.value;
        let group = document
            .items_at(&["items"])
            .iter()
            .find(|group| group.str_at(&["metadata", "name"]).unwrap_or_default() == remote.claim.group);
        let mut versions = group.into_iter().flat_map(|group| group.items_at(&["versions"]));
        let version = versions.find(|one| one.str_at(&["version"]) == Some(remote.claim.version.as_str()));
        return Some(version.map(|version| version.items_at(&["resources"]).to_vec()).unwrap_or_default());
    }
    if answer.status == 503 {
        return None;
    }
    let user = User { groups: Vec::new(), ..User::new("system:kube-aggregator", [""; 0]) };
    let accept = [(header::ACCEPT, "application/json")];
    let answer = proxy::ask(state, remote, &remote.path(), &accept, &user).await.ok()?;
    if answer.status != 200 {
        return None;
    }
    Some(converted(parse::json(&answer.body).ok()?.value.items_at(&["resources"])))
}

/// The resources of an `APIResourceList` in the form of aggregated discovery.
fn converted(list: &[Value]) -> Vec<Value> {
    let text = |row: &Value, key: &str| row.str_at(&[key]).unwrap_or_default().to_owned();
    let kind = |row: &Value| json!({"group": text(row, "group"), "version": text(row, "version"), "kind": text(row, "kind")});
    let mut made: Vec<Value> = Vec::new();
    for row in list {
        let name = text(row, "name");
        let verbs = row.items_at(&["verbs"]).to_vec();
        let Some((parent, part)) = name.split_once('/') else {
            let namespaced = row.get("namespaced").and_then(Value::as_bool) == Some(true);
            let mut resource = json!({
                "resource": name.as_str(), "responseKind": kind(row),
                "scope": if namespaced { "Namespaced" } else { "Cluster" },
                "singularResource": text(row, "singularName"), "verbs": verbs,
            });
            for key in ["shortNames", "categories"] {
                if !row.items_at(&[key]).is_empty() {
                    resource.set(&[key], row.items_at(&[key]).to_vec());
                }
            }
            made.push(resource);
            continue;
        };
        let own = json!({"subresource": part, "responseKind": kind(row), "verbs": verbs});
        let resource = made.iter_mut().find(|one| one.str_at(&["resource"]) == Some(parent));
        if let Some(resource) = resource {
            match resource.entry(&["subresources"]) {
                Value::Array(all) => all.push(own),
                other => *other = vec![own].into(),
            }
        }
    }
    made
}

impl Aggregator {
    /// The groups and versions that others serve.
    pub(crate) fn versions(&self) -> Vec<Version> {
        let told = |remote: &Remote| {
            let served = remote.served.lock();
            let mut told = json!({
                "version": remote.claim.version.as_str(),
                "freshness": if served.asked.is_some() { "Current" } else { "Stale" },
            });
            if !served.resources.is_empty() {
                told.set(&["resources"], served.resources.clone());
            }
            told
        };
        let of = |remote: Arc<Remote>| Version { claim: remote.claim.clone(), told: told(&remote) };
        self.all().into_iter().map(of).collect()
    }
}
