//! Objects that every cluster starts with. They are the same in every server of a process but for a few texts, so they are
//! encoded once, with holes.

use std::sync::LazyLock;

use bytes::Bytes;
use pilothouse_store::{Change, ResourceKey};
use pilothouse_value::{Value, object};

use crate::answer::document;
use crate::authorization::bootstrap_rbac;
use crate::registry::Table;
use crate::registry::resource;
use crate::start::bootstrap;
use crate::state::State;

/// The time of writing, in the places of a seed's document where it belongs. No object of the server's own says it otherwise.
pub(crate) const NOW: &str = "%now%";
const UID: &str = "%uid%";
const REVISION: &str = "%revision%";

/// All roles and bindings of a new cluster.
pub(crate) static POLICY: LazyLock<Vec<Seed>> = LazyLock::new(|| {
    bootstrap_rbac::entries(NOW)
        .map(|entry| Seed::of(bootstrap_rbac::GROUP, entry.plural, entry.object))
        .collect()
});

/// The API services of the versions that are built in, and the priority classes.
pub(crate) static CLUSTER: LazyLock<Vec<Seed>> = LazyLock::new(|| {
    let classes = bootstrap::priority_classes().map(|class| ("scheduling.k8s.io", "priorityclasses", class));
    let services = bootstrap::built_in_api_services()
        .map(|service| (bootstrap::API_REGISTRATION, "apiservices", service));
    classes.chain(services).map(|(group, plural, object)| Seed::of(group, plural, object)).collect()
});

/// Writes an object that is known to be good, with what every object has, unless it is there.
pub(crate) fn write(state: &State, (group, plural): (&str, &str), mut value: Value, now: &str) {
    value.set(&["metadata", "uid"], uuid::Uuid::new_v4().to_string());
    value.set(&["metadata", "creationTimestamp"], now);
    let (namespace, name) =
        (object::namespace(&value).unwrap_or_default().to_owned(), object::name(&value).to_owned());
    let mut build = |revision: u64| {
        value.set(&["metadata", "resourceVersion"], revision.to_string());
        document::encode(&value)
    };
    // A durable copy that refuses shows at the next write that matters.
    let _kept =
        state.store.commit(&resource::key(group, plural), &namespace, &name, None, Change::Put(&mut build));
}

/// An object that is known to be good, encoded.
#[derive(Debug)]
pub(crate) struct Seed {
    key: ResourceKey,
    namespace: Box<str>,
    name: Box<str>,
    text: Box<[u8]>,
    /// Where something is to be filled in, in order.
    holes: Box<[(usize, Hole)]>,
}

#[derive(Clone, Copy, Debug)]
enum Hole {
    Uid,
    Now,
    Revision,
}

impl Seed {
    /// A seed of a document, which needs no identity, and says [`NOW`] for the time.
    pub(crate) fn of(group: &str, plural: &str, mut value: Value) -> Seed {
        value.set(&["metadata", "uid"], UID);
        value.set(&["metadata", "creationTimestamp"], NOW);
        value.set(&["metadata", "resourceVersion"], REVISION);
        let (mut text, mut holes) = (Vec::new(), Vec::new());
        let encoded = document::encode(&value);
        let mut rest: &[u8] = &encoded;
        while let Some(at) = rest.windows(2).position(|pair| pair == b"\"%") {
            let (before, from) = rest.split_at(at + 1);
            text.extend_from_slice(before);
            rest = from;
            for (mark, hole) in [(UID, Hole::Uid), (NOW, Hole::Now), (REVISION, Hole::Revision)] {
                if let Some(after) = from.strip_prefix(mark.as_bytes()) {
                    holes.push((text.len(), hole));
                    rest = after;
                }
            }
        }
        text.extend_from_slice(rest);
        Seed {
            key: resource::key(group, plural),
            namespace: object::namespace(&value).unwrap_or_default().into(),
            name: object::name(&value).into(),
            text: text.into(),
            holes: holes.into(),
        }
    }

    /// Whether this is no API service, or one of a version that is served; and of a resource that is served itself.
    pub(crate) fn is_of_what_is_served(&self, table: &Table) -> bool {
        if self.key != resource::key(bootstrap::API_REGISTRATION, "apiservices") {
            return table.iter().any(|resource| resource.key == self.key);
        }
        let (version, group) = self.name.split_once('.').unwrap_or_default();
        table.iter().any(|resource| resource.group == group && resource.version == version)
    }

    /// Writes the object and gives its uid, unless it is there: what is there stays as it is.
    pub(crate) fn write(&self, state: &State, now: &str) -> Option<String> {
        let uid = uuid::Uuid::new_v4().to_string();
        let mut build = |revision: u64| self.fill(&uid, now, &revision.to_string());
        let kept = state.store.commit(&self.key, &self.namespace, &self.name, None, Change::Put(&mut build));
        // A durable copy that refuses shows at the next write that matters.
        kept.is_ok().then_some(uid)
    }

    fn fill(&self, uid: &str, now: &str, revision: &str) -> Bytes {
        let filler = |hole: Hole| match hole {
            Hole::Uid => uid,
            Hole::Now => now,
            Hole::Revision => revision,
        };
        let more: usize = self.holes.iter().map(|(_, hole)| filler(*hole).len()).sum();
        let mut bytes = Vec::with_capacity(self.text.len() + more);
        let mut from = 0;
        for (at, hole) in &self.holes {
            bytes.extend_from_slice(self.text.get(from..*at).unwrap_or_default());
            bytes.extend_from_slice(filler(*hole).as_bytes());
            from = *at;
        }
        bytes.extend_from_slice(self.text.get(from..).unwrap_or_default());
        bytes.into()
    }
}
