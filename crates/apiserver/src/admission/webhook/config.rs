//! The configurations that are stored, in the form that requests are matched with.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pilothouse_store::{ResourceKey, Snapshot};
use pilothouse_value::selector::LabelSelector;
use pilothouse_value::{Value, object};

use super::super::conditions::Conditions;
use crate::registry::resource;
use crate::state::State;

/// The group of the configurations.
pub(super) const GROUP: &str = "admissionregistration.k8s.io";
/// Seconds that a webhook has to answer if its configuration does not say.
const TIMEOUT: u64 = 10;

/// The versions of `AdmissionReview` that this server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewVersion {
    V1,
    V1Beta1,
}

/// One webhook of a configuration.
#[derive(Debug)]
pub(in crate::admission) struct Webhook {
    /// Tells it from all others: the configuration, and the place and name in it.
    pub(super) uid: String,
    pub(super) configuration: String,
    pub(super) name: String,
    pub(super) client_config: Value,
    pub(super) rules: Vec<Rule>,
    /// Whether rules for other versions of a resource count.
    pub(super) equivalent: bool,
    /// Whether the request goes on without an answer.
    pub(super) ignores_failure: bool,
    pub(super) namespace_selector: Result<LabelSelector, String>,
    pub(super) object_selector: Result<LabelSelector, String>,
    /// Whether it may be asked about a dry run.
    pub(super) without_side_effects: bool,
    pub(super) timeout: Duration,
    /// The first of its versions that this server knows.
    pub(super) review_version: Option<ReviewVersion>,
    /// Whether it is asked again when others changed the object after it; only of mutating ones.
    pub(super) reinvoked: bool,
    pub(super) conditions: Conditions,
}

/// What a webhook wants to be asked about.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) operations: Vec<String>,
    pub(super) groups: Vec<String>,
    pub(super) versions: Vec<String>,
    /// Resources and subresources, each possibly `*`.
    pub(super) resources: Vec<(String, String)>,
    pub(super) scope: Scope,
}

/// Which resources a rule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    Cluster,
    Namespaced,
    /// One that nobody knows: nothing.
    Other,
}

/// All webhooks, as of one state of the store.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    mutating: Vec<Arc<Webhook>>,
    validating: Vec<Arc<Webhook>>,
}

impl Compiled {
    /// The mutating ones, in the order in which they are asked.
    pub(in crate::admission) fn mutating(&self) -> &[Arc<Webhook>] {
        &self.mutating
    }

    /// The validating ones.
    pub(in crate::admission) fn validating(&self) -> &[Arc<Webhook>] {
        &self.validating
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }
}

/// Keeps the compiled webhooks up to date. Asking costs a comparison of two pointers while no configuration is written.
pub(crate) struct Configurations {
    mutating: ResourceKey,
    validating: ResourceKey,
    seen: Mutex<Option<(Snapshot, Arc<Compiled>)>>,
}

impl std::fmt::Debug for Configurations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Configurations").finish_non_exhaustive()
    }
}

impl Configurations {
    /// Nothing seen yet.
    pub(crate) fn new() -> Configurations {
        Configurations {
            mutating: resource::key(GROUP, "mutatingwebhookconfigurations"),
            validating: resource::key(GROUP, "validatingwebhookconfigurations"),
            seen: Mutex::new(None),
        }
    }

    /// The webhooks that are configured now.
    pub(in crate::admission) fn get(&self, state: &State) -> Arc<Compiled> {
        let mut seen = self.seen.lock();
        let now = match &*seen {
            Some((snapshot, compiled)) if snapshot.revision() == state.store.revision() => {
                return compiled.clone();
            }
            _ => state.store.snapshot(),
        };
        let compiled = match seen.take() {
            Some((before, compiled))
                if now.shares(&before, &self.mutating) && now.shares(&before, &self.validating) =>
            {
                compiled
            }
            _ => Arc::new(Compiled {
                mutating: compile(&now, &self.mutating),
                validating: compile(&now, &self.validating),
            }),
        };
        *seen = Some((now, compiled.clone()));
        compiled
    }
}

/// The webhooks of all configurations of a kind; configurations come in the order of their names.
fn compile(snapshot: &Snapshot, key: &ResourceKey) -> Vec<Arc<Webhook>> {
    let configurations = snapshot.list(key, None, None);
    configurations
        .flat_map(|entry| {
            let configuration = entry.object.value();
            let name = object::name(configuration).to_owned();
            let webhooks = configuration.items_at(&["webhooks"]).iter().enumerate();
            webhooks.map(|(index, value)| Arc::new(webhook(&name, index, value))).collect::<Vec<_>>()
        })
        .collect()
}

fn webhook(configuration: &str, index: usize, value: &Value) -> Webhook {
    let text = |key: &str| value.str_at(&[key]).unwrap_or_default();
    let name = text("name").to_owned();
    let selector = |key: &str| match value.get(key) {
        Some(selector) => LabelSelector::from_object(selector).map_err(|error| error.to_string()),
        None => Ok(LabelSelector::everything()),
    };
    let seconds = value.i64_at(&["timeoutSeconds"]).and_then(|seconds| u64::try_from(seconds).ok());
    let versions = value.items_at(&["admissionReviewVersions"]).iter().filter_map(Value::as_str);
    Webhook {
        uid: format!("{configuration}/{index}/{name}"),
        configuration: configuration.to_owned(),
        client_config: value.get("clientConfig").cloned().unwrap_or_default(),
        rules: value.items_at(&["rules"]).iter().map(rule).collect(),
        equivalent: text("matchPolicy") != "Exact",
        ignores_failure: text("failurePolicy") == "Ignore",
        namespace_selector: selector("namespaceSelector"),
        object_selector: selector("objectSelector"),
        without_side_effects: matches!(text("sideEffects"), "None" | "NoneOnDryRun"),
        timeout: Duration::from_secs(seconds.unwrap_or(TIMEOUT)),
        review_version: versions
            .filter_map(|version| match version {
                "v1" => Some(ReviewVersion::V1),
                "v1beta1" => Some(ReviewVersion::V1Beta1),
                _ => None,
            })
            .next(),
        reinvoked: text("reinvocationPolicy") == "IfNeeded",
        conditions: Conditions::compile(value.items_at(&["matchConditions"])),
        name,
    }
}

fn rule(value: &Value) -> Rule {
    let list = |key: &str| -> Vec<String> {
        value.items_at(&[key]).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let split = |text: String| match text.split_once('/') {
        Some((resource, sub)) => (resource.to_owned(), sub.to_owned()),
        None => (text, String::new()),
    };
    Rule {
        operations: list("operations"),
        groups: list("apiGroups"),
        versions: list("apiVersions"),
        resources: list("resources").into_iter().map(split).collect(),
        scope: match value.str_at(&["scope"]) {
            None | Some("*") => Scope::All,
            Some("Cluster") => Scope::Cluster,
            Some("Namespaced") => Scope::Namespaced,
            Some(_) => Scope::Other,
        },
    }
}
