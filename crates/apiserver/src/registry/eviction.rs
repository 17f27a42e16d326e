//! `POST pods/NAME/eviction`: a deletion that keeps the promise of a disruption budget, as upstream's eviction storage does it.
//!
//! A pod that no longer (or not yet) serves is deleted at once. Any other pod is looked up in the one budget that selects it: one that
//! is not ready may go when enough others are healthy, or when the budget says so; one that is ready is taken from what the budget still
//! allows, before its deletion is tried.

use pilothouse_value::selector::LabelSelector;
use pilothouse_value::{Gvk, Status, Value, field, json, object};

use crate::answer::document::Document;
use crate::authentication::user::{MASTERS, User};
use crate::crd::names;
use crate::registry::resource;
use crate::request::options::{DeleteOptions, WriteOptions};
use crate::state::{Context, Target};
use crate::verbs::create::Tracking;
use crate::verbs::{self, delete, update};

/// How many pods a budget may know as about to go.
const MOST_DISRUPTED: usize = 2000;
/// The type of a cause that tells of a budget.
const BUDGET: &str = "DisruptionBudget";
/// The condition that tells whether a budget allows anything.
const ALLOWED: &str = "DisruptionAllowed";
const VIOLATES: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
const IGNORE_UNREADABLE: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// Looks at what upstream refuses before admission is asked.
///
/// # Errors
/// 400 for another name than that of the path, 422 for an option that has no place here, 500 for rehearsals that do not fit.
pub(crate) fn check(target: &Target, eviction: &Value, options: &WriteOptions) -> Result<(), Status> {
    if object::name(eviction) != target.name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    if eviction.at(&["deleteOptions", IGNORE_UNREADABLE]).and_then(Value::as_bool) == Some(true) {
        let path = field::Path::new("deleteOptions").child(IGNORE_UNREADABLE);
        let why = "can not be set for pod eviction, try after removing the option";
        let error = field::Error::invalid(&path, true, why);
        return Err(Status::invalid("policy", "Eviction", &target.name, &[error]));
    }
    let rehearsed = eviction.items_at(&["deleteOptions", "dryRun"]);
    if options.dry_run && !rehearsed.is_empty() && !matches!(rehearsed, [one] if one.as_str() == Some("All"))
    {
        let named: Vec<&str> = rehearsed.iter().filter_map(Value::as_str).collect();
        let text =
            format!("Non-matching dry-run options in request and content: [All] and [{}]", named.join(" "));
        return Err(Status::new(500, "", text));
    }
    Ok(())
}

/// Deletes a pod unless that would break a budget's promise.
///
/// # Errors
/// 404 without the pod, 409 if it is another than was asked for, 429 with the budget's cause, and what the deletion says.
pub(crate) async fn evict(
    context: &Context,
    target: &Target,
    eviction: &Value,
    options: &WriteOptions,
) -> Result<(), Status> {
    let mut asked = eviction
        .get("deleteOptions")
        .map(|body| DeleteOptions::parse(&crate::request::Query::default(), Some(body)))
        .transpose()?
        .unwrap_or_default();
    asked.dry_run |= options.dry_run;
    let pod = verbs::stored(&context.state, target)?;
    let pod = pod.value();
    let phase = pod.str_at(&["status", "phase"]);
    if matches!(phase, Some("Succeeded" | "Failed" | "Pending")) || object::deletion_timestamp(pod).is_some()
    {
        return mark_and_delete(context, target, &asked).await;
    }
    let Some(budget) = budget_of(context, target, pod)? else {
        return mark_and_delete(context, target, &asked).await;
    };
    if counts_for_nothing(pod, &budget) {
        // It may have become ready since: then the client is to ask again.
        let pinned = asked.resource_version.is_some();
        let version = object::resource_version(pod).to_owned();
        let asked = DeleteOptions { resource_version: asked.resource_version.or(Some(version)), ..asked };
        return match mark_and_delete(context, target, &asked).await {
            Err(status) if status.is_conflict() && !pinned => Err(still_processed(object::name(&budget))),
            done => done,
        };
    }
    take_one(context, target, &budget, asked.dry_run).await?;
    mark_and_delete(context, target, &asked).await
}

/// The one budget that selects a pod.
fn budget_of(context: &Context, target: &Target, pod: &Value) -> Result<Option<Value>, Status> {
    let budgets = resource::key("policy", "poddisruptionbudgets");
    let snapshot = context.state.store.snapshot();
    let mut covering = snapshot.list(&budgets, Some(&target.namespace), None).filter_map(|entry| {
        let budget = entry.object.value();
        // Without a selector a budget selects nothing.
        let selector = LabelSelector::from_object(budget.at(&["spec", "selector"])?).ok()?;
        selector.matches(object::labels(pod)).then(|| Value::clone(budget))
    });
    let found = covering.next();
    if covering.next().is_some() {
        let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
        return Err(Status::new(500, "", why));
    }
    Ok(found)
}

/// Whether a pod is none of those that its budget guards: it is not ready, and others are, or the budget lets such pods go.
fn counts_for_nothing(pod: &Value, budget: &Value) -> bool {
    let ready = object::condition(pod, "Ready").and_then(|condition| condition.str_at(&["status"]));
    if ready == Some("True") {
        return false;
    }
    let desired = number(budget, "desiredHealthy");
    budget.str_at(&["spec", "unhealthyPodEvictionPolicy"]) == Some("AlwaysAllow")
        || (number(budget, "currentHealthy") >= desired && desired > 0)
}

fn number(budget: &Value, name: &str) -> i64 {
    budget.i64_at(&["status", name]).unwrap_or_default()
}

/// 429: the numbers of the budget are not those of what it now says.
fn still_processed(name: &str) -> Status {
    Status::too_many_requests(VIOLATES, 10).with_cause(
        BUDGET,
        format!("The disruption budget {name} is still being processed by the server."),
        "",
    )
}

/// Takes one pod from what the budget allows; a rehearsal only looks whether there is one.
async fn take_one(context: &Context, target: &Target, budget: &Value, dry_run: bool) -> Result<(), Status> {
    if dry_run {
        return taken(budget, &target.name, "").map(drop);
    }
    let state = &context.state;
    let gvk = Gvk::new("policy", "v1", "PodDisruptionBudget");
    let budgets = state.registry.get(&gvk.group, &gvk.version, "poddisruptionbudgets");
    let budget_target = Target {
        resource: budgets.ok_or_else(Status::no_such_path)?,
        name: object::name(budget).to_owned(),
        subresource: Some("status".into()),
        ..target.clone()
    };
    // The server itself writes here, whoever asks for the eviction.
    let server =
        Context::new(state.clone(), User::new("system:apiserver", [MASTERS]), Some("kube-apiserver".into()));
    let now = state.now();
    let options = WriteOptions::default();
    update::change(&server, &budget_target, &options, "", Tracking::Update, |current| {
        taken(current, &target.name, &now)
    })
    .await
    .map(drop)
}

/// The budget after one pod more is about to go.
fn taken(budget: &Value, pod: &str, now: &str) -> Result<Value, Status> {
    let name = object::name(budget);
    let observed = number(budget, "observedGeneration");
    if observed < budget.i64_at(&["metadata", "generation"]).unwrap_or_default() {
        return Err(still_processed(name));
    }
    let refused = |why: &str, told: &str| {
        Status::forbidden("policy", "poddisruptionbudget", name, why).with_cause(
            BUDGET,
            format!("The disruption budget {name} does not allow evicting pods currently: {told}"),
            "",
        )
    };
    let allowed = number(budget, "disruptionsAllowed");
    if allowed < 0 {
        let why = "pdb disruptions allowed is negative";
        return Err(refused(why, why));
    }
    let known = budget.at(&["status", "disruptedPods"]).and_then(Value::as_object);
    if known.is_some_and(|known| known.len() > MOST_DISRUPTED) {
        return Err(refused(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
            "too many pending evictions not confirmed by PDB controller",
        ));
    }
    if allowed == 0 {
        return Err(Status::too_many_requests(VIOLATES, 0).with_cause(BUDGET, why_none(budget), ""));
    }
    let mut left = budget.clone();
    left.set(&["status", "disruptionsAllowed"], allowed - 1);
    if allowed == 1 {
        let mut condition = names::condition(ALLOWED, "False", "InsufficientPods", "", now);
        condition.set(&["observedGeneration"], observed);
        names::set_condition(&mut left, condition);
    }
    left.set(&["status", "disruptedPods", pod], now);
    Ok(left)
}

/// What is told of a budget that allows nothing.
fn why_none(budget: &Value) -> String {
    let name = object::name(budget);
    let (healthy, desired) = (number(budget, "currentHealthy"), number(budget, "desiredHealthy"));
    let said = object::condition(budget, ALLOWED).filter(|said| said.str_at(&["status"]) == Some("False"));
    let message = said.and_then(|said| said.str_at(&["message"])).filter(|message| !message.is_empty());
    let reason = said.and_then(|said| said.str_at(&["reason"])).unwrap_or_default();
    match message {
        Some(message) if reason == "SyncFailed" => format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {message}"
        ),
        _ if healthy <= desired => {
            format!("The disruption budget {name} needs {desired} healthy pods and has {healthy} currently")
        }
        Some(message) => {
            format!(
                "The disruption budget {name} does not allow evicting pods currently ({reason}): {message}"
            )
        }
        None => format!("The disruption budget {name} does not allow evicting pods currently"),
    }
}

/// Whoever looks at the pod while it ends sees why; the pod's owner is not made its field manager by that.
async fn mark_and_delete(context: &Context, target: &Target, asked: &DeleteOptions) -> Result<(), Status> {
    let pod_target = Target { subresource: None, ..target.clone() };
    let mut asked = asked.clone();
    if !asked.dry_run {
        let marked = Target { subresource: Some("eviction".into()), ..target.clone() };
        let now = context.state.now();
        let done: Document =
            update::change(context, &marked, &WriteOptions::default(), "", Tracking::Done, |current| {
                delete::check_preconditions(&pod_target, &asked, current)?;
                let mut pod = current.clone();
                names::set_condition(
                    &mut pod,
                    json!({
                        "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                        "message": "Eviction API: evicting", "lastProbeTime": null, "lastTransitionTime": now.as_str(),
                    }),
                );
                Ok(pod)
            })
            .await?;
        // The version that was asked for is now that which this write has made.
        if asked.resource_version.is_some() {
            asked.resource_version = Some(object::resource_version(&done.value()).to_owned());
        }
    }
    delete::delete_unasked(context, &pod_target, &asked).await.map(drop)
}
