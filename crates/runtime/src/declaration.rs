//! What a controller watches, owns, reads and writes: declared once, used for its watches and for its RBAC.

use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::rbac::v1::PolicyRule;

use crate::cache::{AnyStore, Cache, Change, Selection, Store};
use crate::controller::Controller;
use crate::object::{Key, Kind, Object, controller_of, group_of};
use crate::queue::Queue;

/// How many reconciles of a controller run at a time unless it says otherwise.
const CONCURRENCY: usize = 8;
/// How long one reconcile may take unless the controller says otherwise.
const TIMEOUT: Duration = Duration::from_secs(300);
/// How many objects one plan may remove unless the controller says otherwise.
const REMOVALS: usize = 10;

/// Starts a watch and ties it to a queue.
type Connect =
    Arc<dyn Fn(&Cache, Option<&str>, &Arc<Queue<Key>>, &ReadIndex) -> Arc<dyn AnyStore> + Send + Sync>;

/// Tells which keys must be reconciled when an object of a read kind changes.
pub(crate) type ReadIndex = Arc<crate::seen::Reads>;

/// What the engine has to know of a controller. Filled in by its `declare`.
pub struct Declaration<K> {
    pub(crate) name: String,
    pub(crate) concurrency: usize,
    pub(crate) timeout: Duration,
    finalizer: bool,
    pub(crate) removals: usize,
    pub(crate) every_change: bool,
    pub(crate) selection: Selection,
    pub(crate) owned: BTreeSet<Kind>,
    pub(crate) connections: Vec<(TypeId, Connect)>,
    pub(crate) reads: ReadIndex,
    rules: Vec<PolicyRule>,
    writes_status: bool,
    _kind: PhantomData<fn() -> K>,
}

impl<K> fmt::Debug for Declaration<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Declaration")
            .field("name", &self.name)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

impl<K: Object> Default for Declaration<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Object> Declaration<K> {
    /// A declaration of the main kind alone: watched, its status written, events sent.
    pub fn new() -> Self {
        Self {
            name: K::kind(&()).to_lowercase(),
            concurrency: CONCURRENCY,
            timeout: TIMEOUT,
            finalizer: false,
            removals: REMOVALS,
            every_change: false,
            selection: Selection::default(),
            owned: BTreeSet::new(),
            connections: Vec::new(),
            reads: Arc::default(),
            rules: Vec::new(),
            writes_status: true,
            _kind: PhantomData,
        }
    }

    /// What the controller `C` declares.
    pub fn of<C: Controller<Resource = K>>() -> Self {
        let mut declaration = Self::new();
        C::declare(&mut declaration);
        declaration
    }

    /// The controller's name: label of metrics, field manager of what it applies, source of its events. The default
    /// is the kind in lower case.
    pub fn name(&mut self, name: impl Into<String>) -> &mut Self {
        self.name = name.into();
        self
    }

    /// How many objects are reconciled at a time, at least one; the default is 8. The same object is never reconciled
    /// twice at a time.
    pub fn concurrency(&mut self, workers: usize) -> &mut Self {
        self.concurrency = workers.max(1);
        self
    }

    /// How long one reconcile may take before it is stopped; the default is 5 minutes.
    pub fn timeout(&mut self, limit: Duration) -> &mut Self {
        self.timeout = limit;
        self
    }

    /// Only look at objects of the main kind that this label selector matches.
    pub fn labels(&mut self, selector: impl Into<String>) -> &mut Self {
        self.selection.labels = Some(selector.into());
        self
    }

    /// Keep the object from vanishing until the controller's `cleanup` is done, by the finalizer `GROUP/NAME`.
    pub fn finalizer(&mut self) -> &mut Self {
        self.finalizer = true;
        self
    }

    /// How many objects one plan may remove; the default is 10. A plan that would remove more does nothing and asks:
    /// the annotation `pilothouse.dev/removal-budget` on the object allows a number for that object.
    pub fn removal_budget(&mut self, objects: usize) -> &mut Self {
        self.removals = objects;
        self
    }

    /// Reconcile on every change of the main object. Without this, changes of nothing but the status are not a reason,
    /// since the controller makes them itself.
    pub fn on_every_change(&mut self) -> &mut Self {
        self.every_change = true;
        self
    }

    /// The main kind has no status subresource or the controller does not write it.
    pub fn no_status(&mut self) -> &mut Self {
        self.writes_status = false;
        self
    }

    /// The controller makes objects of kind `O` and the main object owns them. A change of one is a reason to reconcile
    /// its owner. Grants all that [`crate::Plan`] needs; removal is not granted for kinds that hold data (claims,
    /// secrets, namespaces, definitions).
    pub fn owns<O: Object>(&mut self) -> &mut Self {
        let kind = Kind::of::<O>();
        let mut verbs = vec!["get", "list", "watch", "create", "patch"];
        if !crate::plan::is_protected(&kind) {
            verbs.push("delete");
        }
        self.rule(&kind.group, &kind.plural, &verbs);
        self.owned.insert(kind);
        self.connect::<O>(|queue, _, change: &Change<'_, O>| {
            for object in [change.old, change.new].into_iter().flatten() {
                if let Some(owner) = controller_of(object.meta())
                    && owner.kind == K::kind(&())
                    && group_of(&owner.api_version) == K::group(&())
                {
                    let namespace = if Kind::of::<K>().namespaced { change.key.namespace() } else { None };
                    queue.add(&Key::new(namespace.unwrap_or_default(), owner.name.as_str()));
                }
            }
        })
    }

    /// The controller reads objects of kind `O`. When one changes, exactly the objects whose last reconcile read it are
    /// reconciled again.
    pub fn reads<O: Object>(&mut self) -> &mut Self {
        let kind = Kind::of::<O>();
        self.rule(&kind.group, &kind.plural, &["get", "list", "watch"]);
        self.connect::<O>(|queue, reads, change| {
            for key in reads.readers(TypeId::of::<O>(), change.key) {
                queue.add(&key);
            }
        })
    }

    /// The controller watches objects of kind `O`; `map` says which main objects are reconciled when one changes.
    pub fn watches<O: Object>(&mut self, map: impl Fn(&O) -> Vec<Key> + Send + Sync + 'static) -> &mut Self {
        let kind = Kind::of::<O>();
        self.rule(&kind.group, &kind.plural, &["get", "list", "watch"]);
        self.connect::<O>(move |queue, _, change| {
            for object in [change.old, change.new].into_iter().flatten() {
                for key in map(object) {
                    queue.add(&key);
                }
            }
        })
    }

    /// The controller calls these verbs on `O` itself, beside what the plan does: for example `create`, `delete`.
    pub fn uses<O: Object>(&mut self, verbs: &[&str]) -> &mut Self {
        let kind = Kind::of::<O>();
        self.rule(&kind.group, &kind.plural, verbs)
    }

    /// The controller calls these verbs on a subresource of `O`: for example `create` on `exec` of pods.
    pub fn uses_subresource<O: Object>(&mut self, subresource: &str, verbs: &[&str]) -> &mut Self {
        let kind = Kind::of::<O>();
        self.rule(&kind.group, &format!("{}/{subresource}", kind.plural), verbs)
    }

    /// The controller needs these verbs on a resource that has no type here.
    pub fn rule(&mut self, group: &str, resource: &str, verbs: &[&str]) -> &mut Self {
        self.rules.push(PolicyRule {
            api_groups: Some(vec![group.to_owned()]),
            resources: Some(vec![resource.to_owned()]),
            verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
            ..PolicyRule::default()
        });
        self
    }

    /// The finalizer's name, if there is one.
    pub(crate) fn finalizer_name(&self) -> Option<String> {
        self.finalizer.then(|| format!("{}/{}", K::group(&()), self.name))
    }

    /// The RBAC rules that the controller needs: one for each resource, in the order of group and resource, with the
    /// verbs in their usual order.
    pub fn rules(&self) -> Vec<PolicyRule> {
        let main = Kind::of::<K>();
        let mut all = Self::new();
        all.rule(&main.group, &main.plural, &["get", "list", "watch"]);
        if self.writes_status {
            all.rule(&main.group, &format!("{}/status", main.plural), &["patch"]);
        }
        if self.finalizer {
            all.rule(&main.group, &main.plural, &["patch"]);
        }
        if !self.owned.is_empty() {
            // Owner references that block the owner's deletion need this where OwnerReferencesPermissionEnforcement is on.
            all.rule(&main.group, &format!("{}/finalizers", main.plural), &["update"]);
        }
        all.rule("", "events", &["create", "patch"]);
        merge_rules(all.rules.iter().chain(&self.rules))
    }

    fn connect<O: Object>(
        &mut self,
        tell: impl Fn(&Queue<Key>, &crate::seen::Reads, &Change<'_, O>) + Send + Sync + 'static,
    ) -> &mut Self {
        let tell = Arc::new(tell);
        let connect: Connect = Arc::new(move |cache, namespace, queue, reads| {
            let selection = Selection { namespace: namespace.map(str::to_owned), ..Selection::default() };
            let store: Store<O> = cache.watch(&selection);
            let (tell, queue, reads) = (tell.clone(), queue.clone(), reads.clone());
            store.subscribe(move |change| {
                // A panic in a controller's mapping must not end the watch that all share.
                let told = catch_unwind(AssertUnwindSafe(|| tell(&queue, &reads, &change)));
                if told.is_err() {
                    tracing::error!(kind = %Kind::of::<O>(), key = %change.key, "the mapping of a watch panicked");
                }
            });
            Arc::new(store)
        });
        self.connections.push((TypeId::of::<O>(), connect));
        self
    }
}

/// One rule for each resource, with the verbs of all rules about it.
pub(crate) fn merge_rules<'a>(rules: impl IntoIterator<Item = &'a PolicyRule>) -> Vec<PolicyRule> {
    const ORDER: [&str; 8] =
        ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
    let place = |verb: &str| ORDER.iter().position(|known| *known == verb).unwrap_or(ORDER.len());
    let mut merged: BTreeMap<(String, String), BTreeSet<(usize, String)>> = BTreeMap::new();
    for rule in rules {
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                let verbs = merged.entry((group.clone(), resource.clone())).or_default();
                verbs.extend(rule.verbs.iter().map(|verb| (place(verb), verb.clone())));
            }
        }
    }
    merged
        .into_iter()
        .map(|((group, resource), verbs)| PolicyRule {
            api_groups: Some(vec![group]),
            resources: Some(vec![resource]),
            verbs: verbs.into_iter().map(|(_, verb)| verb).collect(),
            ..PolicyRule::default()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret};

    use super::*;

    fn table(rules: &[PolicyRule]) -> Vec<String> {
        rules
            .iter()
            .map(|rule| {
                format!(
                    "{}/{}: {}",
                    rule.api_groups.as_ref().unwrap().join(","),
                    rule.resources.as_ref().unwrap().join(","),
                    rule.verbs.join(",")
                )
            })
            .collect()
    }

    #[test]
    fn rules_are_derived_from_the_declaration() {
        let mut declaration = Declaration::<ConfigMap>::new();
        declaration
            .finalizer()
            .owns::<Deployment>()
            .owns::<PersistentVolumeClaim>()
            .reads::<Secret>()
            .uses::<Secret>(&["create"])
            .uses_subresource::<Pod>("exec", &["create"]);
        assert_eq!(
            table(&declaration.rules()),
            [
                "/configmaps: get,list,watch,patch",
                "/configmaps/finalizers: update",
                "/configmaps/status: patch",
                "/events: create,patch",
                "/persistentvolumeclaims: get,list,watch,create,patch",
                "/pods/exec: create",
                "/secrets: get,list,watch,create",
                "apps/deployments: get,list,watch,create,patch,delete",
            ]
        );
    }
}
