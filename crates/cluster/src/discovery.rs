//! Which resources are served, custom ones too, and what happens to the objects of all of them. Controllers that care
//! for every kind, the garbage collector and the namespace controller, stand on it.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use pilothouse_value::{GroupVersion, Gvr};

use crate::harness::api::Api;
use crate::harness::controller::Runner;
use crate::harness::informer::Change;

/// A resource whose objects can be listed, watched and deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) resource: String,
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
}

impl Kind {
    pub(crate) fn gvr(&self) -> Gvr {
        Gvr::new(&*self.group, &*self.version, &*self.resource)
    }
}

type Handler = Arc<dyn Fn(&Arc<Kind>, &Change) + Send + Sync>;

/// See the module.
pub(crate) struct Discovery {
    api: Api,
    /// By group and resource.
    kinds: RwLock<BTreeMap<(String, String), Arc<Kind>>>,
    handlers: Mutex<Vec<Handler>>,
}

impl std::fmt::Debug for Discovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Discovery").field("kinds", &self.kinds.read().len()).finish_non_exhaustive()
    }
}

impl Discovery {
    /// Asks what is served and follows it.
    pub(crate) fn start(api: &Api, runner: &Runner) -> Arc<Self> {
        let discovery =
            Arc::new(Self { api: api.clone(), kinds: RwLock::default(), handlers: Mutex::default() });
        discovery.refresh();
        let mut changed = api.client.resources_changed();
        changed.mark_changed();
        let (follow, stop) = (discovery.clone(), runner.stop.clone());
        runner.tasks.spawn(async move {
            while let Some(Ok(())) = stop.run_until_cancelled(changed.changed()).await {
                follow.refresh();
            }
        });
        discovery
    }

    /// Calls `handler` for each object of each kind that is there or will come, and for each change. It must not block.
    pub(crate) fn on_change(&self, handler: impl Fn(&Arc<Kind>, &Change) + Send + Sync + 'static) {
        let handler: Handler = Arc::new(handler);
        let mut handlers = self.handlers.lock();
        for kind in self.kinds.read().values() {
            self.attach(kind, &handler);
        }
        handlers.push(handler);
    }

    fn attach(&self, kind: &Arc<Kind>, handler: &Handler) {
        let (kind, handler) = (kind.clone(), handler.clone());
        self.api.of(&kind.gvr()).on_change(move |change| handler(&kind, change));
    }

    /// Every kind that is in namespaces.
    pub(crate) fn namespaced(&self) -> Vec<Arc<Kind>> {
        self.kinds.read().values().filter(|kind| kind.namespaced).cloned().collect()
    }

    /// Every kind.
    pub(crate) fn all(&self) -> Vec<Arc<Kind>> {
        self.kinds.read().values().cloned().collect()
    }

    /// The kind that an owner reference names, in whatever version.
    pub(crate) fn find(&self, api_version: &str, kind: &str) -> Option<Arc<Kind>> {
        let group = api_version.parse::<GroupVersion>().ok()?.group;
        self.kinds.read().values().find(|k| k.group == group && k.kind == kind).cloned()
    }

    /// Asks again what is served: new kinds are followed, and those that went are let go.
    pub(crate) fn refresh(&self) {
        let handlers = self.handlers.lock();
        let mut served: BTreeMap<(String, String), Arc<Kind>> = BTreeMap::new();
        for resource in self.api.client.resources() {
            let usable = ["list", "watch", "delete"].iter().all(|verb| resource.has_verb(verb));
            // Events are many, own nothing, and go by themselves.
            if !usable || resource.plural == "events" {
                continue;
            }
            let key = (resource.group.clone(), resource.plural.clone());
            served.entry(key).or_insert_with(|| {
                Arc::new(Kind {
                    group: resource.group.clone(),
                    version: resource.version.clone(),
                    resource: resource.plural.clone(),
                    kind: resource.kind.clone(),
                    namespaced: resource.namespaced,
                })
            });
        }
        let before = std::mem::replace(&mut *self.kinds.write(), served.clone());
        for (key, kind) in &before {
            if served.get(key) != Some(kind) {
                self.api.informers.forget(&kind.gvr());
            }
        }
        let known: HashSet<_> =
            before.iter().filter(|(key, kind)| served.get(*key) == Some(kind)).map(|(k, _)| k).collect();
        for (key, kind) in &served {
            if !known.contains(key) {
                handlers.iter().for_each(|handler| self.attach(kind, handler));
                // Even without a handler yet, so that it is followed from now on.
                self.api.of(&kind.gvr());
            }
        }
    }
}
