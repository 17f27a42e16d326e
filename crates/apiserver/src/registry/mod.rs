//! Everything that is served, by group, version and plural name. Requests read it without a lock.

pub(crate) mod eviction;
pub(crate) mod kinds;
pub(crate) mod resource;
pub(crate) mod strategy;
pub(crate) mod subresources;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use pilothouse_schema::builtin;
use tokio::sync::watch;

use crate::crd::Custom;
use crate::pages::discovery::Told;
use crate::pages::openapi;
use crate::registry::resource::Resource;

/// The resources that are served now.
#[derive(Debug)]
pub(crate) struct Registry {
    current: ArcSwap<Table>,
    writer: Mutex<()>,
    changed: watch::Sender<u64>,
    /// Whether all built-in resources are served.
    whole: bool,
}

/// One state of the registry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// Counts the changes; two tables with the same number are the same.
    pub(crate) generation: u64,
    /// When it last changed; `None` as long as it is what the server began with.
    pub(crate) changed: Option<SystemTime>,
    resources: BTreeMap<String, Arc<Resource>>,
    /// The paths that a definition gave, by the definition's name.
    definitions: BTreeMap<String, Vec<String>>,
    /// What discovery tells of this state: the core group, and all others.
    told: [OnceLock<Told>; 2],
    /// What OpenAPI documents tell of this state, as far as they were asked for.
    openapi: openapi::Cache,
}

/// Built-in resources that a server does not serve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Versions of groups: `apps/v1`, or `v1` of the core group.
    pub versions: BTreeSet<String>,
    /// Resources of versions: `batch/v1/cronjobs`.
    pub resources: BTreeSet<String>,
}

/// Group, version and plural name of each built-in resource.
pub fn served() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    builtin::resources().iter().map(|resource| (resource.group, resource.version, resource.plural))
}

impl LeftOut {
    fn has(&self, group: &str, version: &str, plural: &str) -> bool {
        let place = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        self.versions.contains(&place) || self.resources.contains(&format!("{place}/{plural}"))
    }
}

impl Registry {
    /// A registry of the built-in resources, but for these.
    pub(crate) fn built_in(left_out: &LeftOut) -> Registry {
        fn table(left_out: &LeftOut) -> Arc<Table> {
            let all = *left_out == LeftOut::default();
            let is_served =
                |one: &&builtin::Resource| all || !left_out.has(one.group, one.version, one.plural);
            let resources = builtin::resources().iter().filter(is_served).map(|table| {
                let resource = Resource::built_in(table);
                (path(&resource.group, &resource.version, &resource.plural), Arc::new(resource))
            });
            Arc::new(Table { resources: resources.collect(), ..Table::default() })
        }
        /// Nearly all servers of a process begin with the same.
        static BUILT_IN: LazyLock<Arc<Table>> = LazyLock::new(|| table(&LeftOut::default()));
        let whole = *left_out == LeftOut::default();
        let table = if whole { BUILT_IN.clone() } else { table(left_out) };
        Registry {
            current: ArcSwap::new(table),
            whole,
            writer: Mutex::new(()),
            changed: watch::Sender::new(0),
        }
    }

    /// Whether all built-in resources are served.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// What is served now.
    pub(crate) fn table(&self) -> Arc<Table> {
        self.current.load_full()
    }

    /// One resource, if it is served.
    pub(crate) fn get(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.current.load().get(group, version, plural)
    }

    /// Tells when the registry changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Serves what a definition defines now, in place of what it defined before.
    pub(crate) fn replace(&self, definition: &str, resources: Vec<Resource>) {
        let _writer = self.writer.lock();
        let mut table = Table::clone(&self.current.load());
        let before = table.definitions.remove(definition).unwrap_or_default();
        for path in &before {
            table.resources.remove(path);
        }
        let mut paths = Vec::new();
        for resource in resources {
            let path = path(&resource.group, &resource.version, &resource.plural);
            // A definition never takes the place of a built-in resource.
            if table.resources.get(&path).is_some_and(|own| own.is_built_in()) {
                continue;
            }
            table.resources.insert(path.clone(), Arc::new(resource));
            paths.push(path);
        }
        table.openapi.forget(before.iter().chain(&paths));
        if !paths.is_empty() {
            table.definitions.insert(definition.to_owned(), paths);
        }
        table.generation += 1;
        table.changed = Some(SystemTime::now());
        table.told = Default::default();
        let generation = table.generation;
        self.current.store(Arc::new(table));
        self.changed.send_replace(generation);
    }
}

impl Table {
    /// What discovery tells of this state; made by the first who asks.
    pub(crate) fn told(&self, core: bool, make: impl FnOnce() -> Told) -> &Told {
        let [others, own] = &self.told;
        (if core { own } else { others }).get_or_init(make)
    }

    /// The OpenAPI documents of this state.
    pub(crate) fn openapi(&self) -> &openapi::Cache {
        &self.openapi
    }

    /// One resource, if it is served.
    pub(crate) fn get(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.resources.get(&path(group, version, plural)).cloned()
    }

    /// Whether anything of a group is served that is built in.
    pub(crate) fn has_group(&self, group: &str) -> bool {
        self.iter().any(|resource| resource.group == group && resource.is_built_in())
    }

    /// Every resource, ordered by group, version and name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }

    /// What the resources of a definition know of it; `None` if it is not served.
    pub(crate) fn defined_by(&self, definition: &str) -> Option<Arc<Custom>> {
        self.any_of(definition)?.custom.clone()
    }

    /// One of the resources that a definition gave.
    pub(crate) fn any_of(&self, definition: &str) -> Option<Arc<Resource>> {
        self.resources.get(self.definitions.get(definition)?.first()?).cloned()
    }

    /// The resource of a kind, in any version or in the one given.
    pub(crate) fn of_kind(&self, group: &str, version: Option<&str>, kind: &str) -> Option<Arc<Resource>> {
        self.iter()
            .find(|resource| {
                resource.group == group
                    && resource.kind == kind
                    && version.is_none_or(|version| resource.version == version)
            })
            .cloned()
    }
}

fn path(group: &str, version: &str, plural: &str) -> String {
    [group, "/", version, "/", plural].concat()
}
