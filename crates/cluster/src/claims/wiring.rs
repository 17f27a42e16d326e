//! The wiring of the claims controller: claims and volumes in one queue, since each changes the other.

use std::sync::Arc;
use std::time::Duration;

use pilothouse_value::{Value, object};

use super::{Folders, bind, release};
use crate::harness::api::{Api, Failure};
use crate::harness::controller::{Key, Reconcile, Runner};
use crate::harness::informer::Object;
use crate::harness::queue::Queue;
use crate::resources::{CLAIMS, PODS, STORAGE_CLASSES, VOLUMES};

struct Claims {
    api: Api,
    folders: Folders,
}

impl Reconcile for Claims {
    type Key = Key;

    async fn reconcile(&self, key: &Key) -> Result<Option<Duration>, Failure> {
        if key.namespace.is_empty() { self.volume(&key.name).await } else { self.claim(key).await }
    }
}

impl Claims {
    async fn claim(&self, key: &Key) -> Result<Option<Duration>, Failure> {
        let Some(claim) = self.api.of(&CLAIMS).get(&key.namespace, &key.name) else { return Ok(None) };
        let (plan, make) = {
            let volumes = self.api.of(&VOLUMES).list(None);
            let classes = self.api.of(&STORAGE_CLASSES).list(None);
            let pods = self.api.of(&PODS).list(Some(&key.namespace));
            let world = bind::World {
                volumes: &refs(&volumes),
                classes: &refs(&classes),
                pods: &refs(&pods),
                folders: &self.folders,
            };
            bind::reconcile(&claim, &world)
        };
        if let Some(volume) = make {
            self.folders.make(&volume)?;
        }
        self.api.act(plan).await
    }

    async fn volume(&self, name: &str) -> Result<Option<Duration>, Failure> {
        let Some(volume) = self.api.of(&VOLUMES).get("", name) else { return Ok(None) };
        let (plan, remove) = {
            let claim =
                claim_key(&volume).and_then(|key| self.api.of(&CLAIMS).get(&key.namespace, &key.name));
            release::reconcile(&volume, claim.as_deref())
        };
        if let Some(path) = remove {
            self.folders.remove(&path).await?;
        }
        self.api.act(plan).await
    }
}

fn claim_key(volume: &Value) -> Option<Key> {
    let reference = volume.at(&["spec", "claimRef"])?;
    Some(Key::new(reference.str_at(&["namespace"])?, reference.str_at(&["name"])?))
}

fn refs(objects: &[Object]) -> Vec<&Value> {
    objects.iter().map(|object| &**object).collect()
}

/// Starts the controller and makes the default class, unless it exists.
pub(crate) async fn start(api: &Api, runner: &Runner, folders: Folders) -> Result<(), Failure> {
    let api = api.named("persistentvolume-controller");
    if api.get(&STORAGE_CLASSES, "", super::STANDARD).await?.is_none() {
        api.create(&STORAGE_CLASSES, release::standard_class()).await?;
    }
    let queue: Arc<Queue<Key>> = Arc::new(Queue::new());
    let reads: Vec<_> = [&*CLAIMS, &*VOLUMES, &*STORAGE_CLASSES, &*PODS].map(|r| api.of(r)).into();
    let claims = api.of(&CLAIMS);
    let keys = queue.clone();
    let volumes = api.of(&VOLUMES);
    let named = volumes.clone();
    claims.on_change(move |change| {
        if let Some(claim) = change.latest() {
            keys.add(Key::of(claim));
            let volume = claim.str_at(&["spec", "volumeName"]).filter(|name| !name.is_empty());
            if let Some(volume) = volume.and_then(|volume| named.get("", volume)) {
                keys.add(Key::of(&volume));
            }
        }
    });
    let (keys, waiting) = (queue.clone(), claims.clone());
    volumes.on_change(move |change| {
        let Some(volume) = change.latest() else { return };
        keys.add(Key::of(volume));
        match claim_key(volume) {
            Some(claim) => keys.add(claim),
            None => unbound(&waiting.list(None)).for_each(|claim| keys.add(claim)),
        }
    });
    let (keys, waiting) = (queue.clone(), claims.clone());
    api.of(&STORAGE_CLASSES).on_change(move |change| {
        if change.new.is_some() {
            unbound(&waiting.list(None)).for_each(|claim| keys.add(claim));
        }
    });
    let keys = queue.clone();
    api.of(&PODS).on_change(move |change| {
        // A pod may be the first consumer of a claim, or the last user of one that is to go.
        let ended = change.new.as_ref().is_none_or(|pod| crate::workloads::pods::is_finished(pod));
        if let Some(pod) = change.latest().filter(|_| ended || change.old.is_none()) {
            let namespace = object::namespace(pod).unwrap_or_default();
            crate::scheduler::claims_of(pod).for_each(|claim| keys.add(Key::new(namespace, claim)));
        }
    });
    runner.run("persistentvolume-controller", Claims { api, folders }, queue, reads);
    Ok(())
}

fn unbound(claims: &[Object]) -> impl Iterator<Item = Key> + '_ {
    claims
        .iter()
        .filter(|claim| claim.str_at(&["status", "phase"]) != Some("Bound"))
        .map(|claim| Key::of(claim))
}
