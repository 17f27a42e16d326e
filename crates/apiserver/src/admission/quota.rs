//! ResourceQuota: what is made must fit into the quotas of its namespace, and is charged to them before it is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pilothouse_merge::managed;
use pilothouse_schema::{Schema, builtin};
use pilothouse_store::{Change, Object};
use pilothouse_value::{Gvk, Quantity, Status, Value, object};

use super::configuration::Limited;
use super::{Attributes, Operation, Plugin};
use crate::answer::document;
use crate::objects::resources;
use crate::quota::{self, Amounts, Kind, Scope};
use crate::registry::resource;

/// How often charging starts over when others charge the same quota.
const ATTEMPTS: usize = 100;

/// See the module.
pub(super) struct ResourceQuota;

impl Plugin for ResourceQuota {
    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let resource = attributes.resource();
        let limited = &attributes.state().plugins.settings.limited;
        if attributes.target.namespace.is_empty() {
            return Ok(());
        }
        let mut quotas = quotas(attributes, None);
        // Most namespaces have none.
        if quotas.is_empty() && limited.is_empty() {
            return Ok(());
        }
        let Some(kind) = Kind::of(&resource.group, &resource.plural) else { return Ok(()) };
        if !concerns(&kind, attributes) {
            return Ok(());
        }
        for _ in 0..ATTEMPTS {
            let charges = check(&kind, attributes, &quotas)?;
            if attributes.dry_run() {
                return Ok(());
            }
            // Who could not be charged is looked at once more; the others have been charged.
            let mut failed = BTreeSet::new();
            for charge in charges {
                if !store(attributes, &charge)? {
                    failed.insert(object::name(charge.quota.value()).to_owned());
                }
            }
            if failed.is_empty() {
                return Ok(());
            }
            quotas = self::quotas(attributes, Some(&failed));
        }
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Err(Status::conflict("", "resourcequotas", "", why))
    }
}

/// The quotas of the namespace, or those of them with these names.
fn quotas(attributes: &Attributes<'_>, names: Option<&BTreeSet<String>>) -> Vec<Arc<Object>> {
    let snapshot = attributes.state().store.snapshot();
    let key = resource::key("", "resourcequotas");
    let list =
        snapshot.list(&key, Some(&attributes.target.namespace), None).map(|entry| entry.object.clone());
    list.filter(|quota| names.is_none_or(|names| names.contains(object::name(quota.value())))).collect()
}

/// Whether the operation can change what is used.
fn concerns(kind: &Kind, attributes: &Attributes<'_>) -> bool {
    let created = attributes.operation == Operation::Create;
    let (Some(new), old) = (&attributes.object, &attributes.old) else { return false };
    match (kind, attributes.subresource()) {
        (Kind::Pods, "") => {
            created
                || old.as_ref().is_some_and(|old| quota::is_terminating(old) != quota::is_terminating(new))
        }
        (Kind::Pods, "resize") => !created,
        (Kind::Services | Kind::Claims, "") => true,
        (Kind::Claims, "status") => old.as_ref().is_some_and(|old| {
            let status = |claim: &Value| claim.at(&["status", "allocatedResources"]).cloned();
            status(old) != status(new)
        }),
        (Kind::Others { .. }, "") => created,
        _ => false,
    }
}

/// What is to be added to a quota.
struct Charge {
    quota: Arc<Object>,
    used: Amounts,
}

/// Whether everything fits, and what each quota is charged.
fn check(kind: &Kind, attributes: &Attributes<'_>, quotas: &[Arc<Object>]) -> Result<Vec<Charge>, Status> {
    let Some(object) = &attributes.object else { return Ok(Vec::new()) };
    let now = attributes.state().clock.now();
    let input = kind.usage(object, now);
    let limited = &attributes.state().plugins.settings.limited;
    let (limited_names, limited_scopes) = limited_by_default(kind, attributes, limited, object, &input);

    let mut interesting: Vec<&Arc<Object>> = Vec::new();
    let mut restricted: BTreeSet<String> = BTreeSet::new();
    let mut scopes: BTreeSet<&str> = BTreeSet::new();
    for quota in quotas {
        let value = quota.value();
        let own = quota::scopes_of(value);
        scopes.extend(own.iter().filter(|scope| kind.in_scope(scope, object)).map(|scope| scope.name));
        let hard = resources::read(value.at(&["status", "hard"]));
        let names = kind.matching(hard.keys().map(String::as_str));
        if names.is_empty() || !kind.in_scopes_of(value, object) {
            continue;
        }
        let name = object::name(value);
        kind.check(&names, object)
            .map_err(|why| attributes.forbidden(&format!("failed quota: {name}: {why}")))?;
        let used = resources::read(value.at(&["status", "used"]));
        if names.iter().any(|name| !used.contains_key(*name)) {
            let names: Vec<&str> = names.into_iter().collect();
            let why = format!("status unknown for quota: {name}, resources: {}", names.join(","));
            return Err(attributes.forbidden(&why));
        }
        restricted.extend(names.into_iter().map(str::to_owned));
        interesting.push(quota);
    }
    let negative: Vec<&str> =
        input.iter().filter(|(_, amount)| amount.nano() < 0).map(|(name, _)| name.as_str()).collect();
    if !negative.is_empty() {
        let why = format!("quota usage is negative for resource(s): {}", negative.join(","));
        return Err(attributes.forbidden(&why));
    }
    let more = attributes.old.as_ref().map(|old| difference(&input, &kind.usage(old, now)));
    let delta_of = |quota: &Object| -> Amounts {
        // An object that comes under a quota only now is charged as a whole.
        let known = attributes.old.as_ref().is_some_and(|old| kind.in_scopes_of(quota.value(), old));
        let delta = more.as_ref().filter(|_| known).unwrap_or(&input);
        delta
            .iter()
            .filter(|(_, amount)| !amount.is_zero())
            .map(|(name, amount)| (name.clone(), *amount))
            .collect()
    };
    let deltas: Vec<(&Arc<Object>, Amounts)> = interesting
        .iter()
        .map(|quota| (*quota, delta_of(quota)))
        .filter(|(_, delta)| !delta.is_empty())
        .collect();
    let charged = match interesting.is_empty() {
        false => !deltas.is_empty(),
        true => more.as_ref().unwrap_or(&input).values().any(|amount| !amount.is_zero()),
    };
    if !charged {
        return Ok(Vec::new());
    }
    let uncovered: Vec<&str> =
        limited_names.iter().filter(|name| !restricted.contains(*name)).map(String::as_str).collect();
    if !uncovered.is_empty() {
        return Err(attributes.forbidden(&format!("insufficient quota to consume: {}", uncovered.join(","))));
    }
    let uncovered: Vec<String> = limited_scopes
        .into_iter()
        .filter(|(name, _)| !scopes.contains(&**name))
        .map(|(_, text)| text)
        .collect();
    if !uncovered.is_empty() {
        let why = format!("insufficient quota to match these scopes: [{}]", uncovered.join(" "));
        return Err(Status::new(500, "", why));
    }
    deltas.into_iter().map(|(quota, delta)| charge(attributes, quota, &delta)).collect()
}

/// What the configuration of the server says must be covered by a quota: names of resources, and scopes with their texts.
fn limited_by_default(
    kind: &Kind,
    attributes: &Attributes<'_>,
    limited: &[Limited],
    object: &Value,
    usage: &Amounts,
) -> (BTreeSet<String>, BTreeMap<String, String>) {
    let (mut names, mut scopes) = (BTreeSet::new(), BTreeMap::new());
    let resource = attributes.resource();
    for limit in limited {
        for scope in &limit.match_scopes {
            let read = Scope::read(scope);
            if kind.in_scope(&read, object) {
                scopes.insert(read.name.to_owned(), limit.scope_text(scope));
            }
        }
        if limit.group != resource.group || limit.resource != resource.plural {
            continue;
        }
        let used = usage.iter().filter(|(_, amount)| amount.nano() > 0).map(|(name, _)| name);
        let matches = |name: &&String| limit.match_contains.iter().any(|part| name.contains(part.as_str()));
        names.extend(used.filter(matches).cloned());
    }
    (names, scopes)
}

/// What is used more than before; nothing where it is less.
fn difference(now: &Amounts, before: &Amounts) -> Amounts {
    let zero = Quantity::from_i64(0);
    now.iter()
        .map(|(name, amount)| {
            let more = amount.minus(before.get(name).copied().unwrap_or(zero));
            (name.clone(), if more > zero { more } else { zero })
        })
        .collect()
}

/// What a quota has used once something is added.
fn charge(attributes: &Attributes<'_>, quota: &Arc<Object>, delta: &Amounts) -> Result<Charge, Status> {
    let value = quota.value();
    let hard = resources::read(value.at(&["status", "hard"]));
    let before = resources::read(value.at(&["status", "used"]));
    let requested: Amounts = delta
        .iter()
        .filter(|(name, _)| hard.contains_key(*name))
        .map(|(name, amount)| (name.clone(), *amount))
        .collect();
    let mut used = before.clone();
    resources::add(&mut used, &requested);
    let exceeded = |name: &&String| matches!((used.get(*name), hard.get(*name)), (Some(used), Some(hard)) if used > hard);
    let exceeded: Vec<&String> = requested.keys().filter(exceeded).collect();
    if attributes.subresource() != "status" && !exceeded.is_empty() {
        let print = |amounts: &Amounts| {
            let amounts = exceeded.iter().filter_map(|name| Some(format!("{name}={}", amounts.get(*name)?)));
            amounts.collect::<Vec<_>>().join(",")
        };
        return Err(attributes.forbidden(&format!(
            "exceeded quota: {}, requested: {}, used: {}, limited: {}",
            object::name(value),
            print(&requested),
            print(&before),
            print(&hard)
        )));
    }
    Ok(Charge { quota: quota.clone(), used })
}

/// Writes down what a quota has used; `false` if somebody else wrote in between.
fn store(attributes: &Attributes<'_>, charge: &Charge) -> Result<bool, Status> {
    let state = attributes.state();
    let old = charge.quota.value();
    if resources::read(old.at(&["status", "used"])) == charge.used {
        return Ok(true);
    }
    let mut new = Value::clone(old);
    new.set(&["status", "used"], resources::write(&charge.used));
    let gvk = Gvk::new("", "v1", "ResourceQuota");
    let schema = builtin::schema(&gvk).unwrap_or(Schema::any());
    let manager = managed::Manager {
        name: "kube-apiserver",
        api_version: "v1",
        subresource: "status",
        time: state.clock.now(),
    };
    managed::track(Some(old), &mut new, &managed::Kind::of(schema), &manager);
    let (namespace, name) =
        (object::namespace(old).unwrap_or_default().to_owned(), object::name(old).to_owned());
    let mut build = |revision: u64| {
        new.set(&["metadata", "resourceVersion"], revision.to_string());
        document::encode(&new)
    };
    let key = resource::key("", "resourcequotas");
    let expected = Some(charge.quota.revision());
    match state.store.commit(&key, &namespace, &name, expected, Change::Put(&mut build)) {
        Ok(_) => Ok(true),
        Err(pilothouse_store::Mismatch::Stale { .. }) => Ok(false),
        Err(pilothouse_store::Mismatch::Durable(error)) => Err(Status::internal(format!(
            "storing resourcequotas {name:?}: {error}; hint: look at the space and the permissions of the data folder"
        ))),
    }
}
