//! Counts what namespaces use, for their ResourceQuotas (`pkg/controller/resourcequota`). The API server charges quotas when
//! objects are made; this counts again when objects go, or when a quota itself changes.

use std::sync::Arc;
use std::time::Duration;

use pilothouse_apiserver::quota::{self, Counted};
use pilothouse_value::{Value, object};

use crate::discovery::{Discovery, Kind};
use crate::harness::api::{Api, Failure};
use crate::harness::controller::{Key, Reconcile, Runner};
use crate::harness::informer::Change;
use crate::harness::plan::Plan;
use crate::harness::queue::Queue;
use crate::resources::{DEFINITIONS, QUOTAS};

/// How often everything is counted again, whatever happened.
const RESYNC: Duration = Duration::from_secs(5 * 60);

struct Quotas {
    api: Api,
    discovery: Arc<Discovery>,
}

impl Reconcile for Quotas {
    type Key = Key;

    async fn reconcile(&self, key: &Key) -> Result<Option<Duration>, Failure> {
        let Some(quota) = self.api.of(&QUOTAS).get(&key.namespace, &key.name) else { return Ok(None) };
        let counted = quota::counted(&quota);
        let mut kinds = self.discovery.namespaced();
        if counted.iter().any(|counted| !kinds.iter().any(|kind| is(kind, counted))) {
            // It may be so new that it has not got about yet.
            self.discovery.refresh();
            kinds = self.discovery.namespaced();
        }
        let of = |counted: &Counted| kinds.iter().find(|kind| is(kind, counted));
        for counted in &counted {
            if let Some(kind) = of(counted) {
                self.api.of(&kind.gvr()).synced().await;
            }
        }
        let used = quota::used(&quota, self.api.now(), |counted| {
            Some(self.api.of(&of(counted)?.gvr()).list(Some(&key.namespace)))
        });
        let mut status = Value::object();
        status.set(&["hard"], quota.at(&["spec", "hard"]).cloned().unwrap_or_else(Value::object));
        status.set(&["used"], used);
        let mut plan = Plan::default();
        plan.status(&QUOTAS, &quota, status);
        self.api.act(plan).await?;
        Ok(Some(RESYNC))
    }
}

fn is(kind: &Kind, counted: &Counted) -> bool {
    kind.group == counted.group && kind.resource == counted.plural
}

/// Whether a change can make what is used another amount. What is made has been charged already, but to a quota that was
/// not there yet.
fn counts(kind: &Kind, change: &Change) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else { return true };
    if !kind.group.is_empty() {
        return false;
    }
    let differ = |path: &[&str]| old.at(path) != new.at(path);
    match kind.resource.as_str() {
        "pods" => {
            differ(&["status", "phase"])
                || differ(&["spec"])
                || object::deletion_timestamp(old) != object::deletion_timestamp(new)
        }
        "services" => differ(&["spec"]),
        "persistentvolumeclaims" => differ(&["spec"]) || differ(&["status", "allocatedResources"]),
        _ => false,
    }
}

/// Starts the controller.
pub(crate) fn start(api: &Api, runner: &Runner, discovery: &Arc<Discovery>) {
    let queue: Arc<Queue<Key>> = Arc::new(Queue::new());
    let keys = queue.clone();
    api.of(&QUOTAS).on_change(move |change| {
        let Some(quota) = &change.new else { return };
        // What is used changes when the API server charges: it may have charged for what is gone already.
        let decides = |quota: &Value| (quota.get("spec").cloned(), quota.get("status").cloned());
        if change.old.as_ref().is_none_or(|old| decides(old) != decides(quota)) {
            keys.add(Key::of(quota));
        }
    });
    let (keys, quotas) = (queue.clone(), Arc::downgrade(&api.of(&QUOTAS)));
    discovery.on_change(move |kind, change| {
        let Some(object) = change.latest().filter(|_| kind.namespaced) else { return };
        let Some(quotas) = quotas.upgrade() else { return };
        // Most namespaces have no quota.
        let here = quotas.list(object::namespace(object));
        if here.is_empty() || !counts(kind, change) {
            return;
        }
        let counts = |quota: &Value| quota::counted(quota).iter().any(|counted| is(kind, counted));
        here.iter().filter(|quota| counts(quota)).for_each(|quota| keys.add(Key::of(quota)));
    });
    let (keys, quotas) = (queue.clone(), Arc::downgrade(&api.of(&QUOTAS)));
    api.of(&DEFINITIONS).on_change(move |change| {
        let (Some(definition), Some(quotas)) = (&change.new, quotas.upgrade()) else { return };
        // What a quota limits may be defined after it.
        let text = |path: &[&str]| definition.str_at(path).unwrap_or_default().to_owned();
        let defined = Counted { group: text(&["spec", "group"]), plural: text(&["spec", "names", "plural"]) };
        let all = quotas.list(None);
        let counts = all.iter().filter(|quota| quota::counted(quota).contains(&defined));
        counts.for_each(|quota| keys.add(Key::of(quota)));
    });
    let reads = vec![api.of(&QUOTAS)];
    let quotas = Quotas { api: api.named("resourcequota-controller"), discovery: discovery.clone() };
    runner.run("resourcequota-controller", quotas, queue, reads);
}
