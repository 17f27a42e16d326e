//! ControllerRevisions: the templates that a StatefulSet or DaemonSet has had, and the hash that tells templates apart.

use pilothouse_value::{Value, json, object};

use super::replica_set::count;
use crate::harness::plan::Plan;
use crate::resources::CONTROLLER_REVISIONS;

/// The label by which a pod tells which revision it was made from.
pub(crate) const REVISION_HASH: &str = "controller-revision-hash";

/// A short hash of a template, of letters that cannot form words (`rand.SafeEncodeString`). It differs from the one
/// that upstream computes over Go's memory layout; nothing relies on its value.
pub(crate) fn hash(template: &Value, collisions: Option<i64>) -> String {
    const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut hash: u32 = 0x811c_9dc5;
    let salt = collisions.map(i64::to_le_bytes).unwrap_or_default();
    for byte in template.to_json().bytes().chain(salt) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash.to_string().bytes().map(|digit| char::from(LETTERS[usize::from(digit) % LETTERS.len()])).collect()
}

/// The revisions of an owner, and which of them is for its present template.
pub(crate) struct Revisions<'a> {
    /// Those that exist, oldest first.
    existing: Vec<&'a Value>,
    /// The name of the one for the present template.
    pub(crate) update: String,
}

impl<'a> Revisions<'a> {
    /// Finds the revision for the present template among `all`, or plans to make it, or to make it the newest again.
    /// It carries its hash under `label`.
    pub(crate) fn resolve(
        owner: &Value,
        label: &str,
        all: impl IntoIterator<Item = &'a Value>,
        plan: &mut Plan,
    ) -> Self {
        let mut existing: Vec<&Value> = all
            .into_iter()
            .filter(|r| object::controller_of(r).and_then(|r| r.str_at(&["uid"])) == Some(object::uid(owner)))
            .collect();
        existing.sort_by_key(|r| (number(r), object::name(r).to_owned()));
        let data = data(owner);
        let highest = existing.last().map(|r| number(r)).unwrap_or_default();
        // A set that went back to an old template gets that old revision back, with a new number.
        if let Some(same) = existing.iter().rev().find(|r| r.get("data") == Some(&data)) {
            if number(same) < highest {
                plan.patch(&CONTROLLER_REVISIONS, same, json!({"revision": highest + 1}));
            }
            let update = object::name(same).to_owned();
            return Self { existing, update };
        }
        let template = owner.at(&["spec", "template"]).unwrap_or(&Value::Null);
        let mut collisions = owner.i64_at(&["status", "collisionCount"]);
        let name_for = |hash: &str| format!("{}-{hash}", object::name(owner));
        let mut hash = hash(template, collisions);
        while existing.iter().any(|r| object::name(r) == name_for(&hash)) {
            collisions = Some(collisions.unwrap_or_default() + 1);
            hash = self::hash(template, collisions);
        }
        let name = name_for(&hash);
        let mut labels =
            owner.at(&["spec", "selector", "matchLabels"]).cloned().unwrap_or_else(Value::object);
        labels.set(&[label], &hash);
        let mut revision = json!({"apiVersion": "apps/v1", "kind": "ControllerRevision",
            "metadata": {"name": &name, "namespace": object::namespace(owner).unwrap_or_default()},
            "revision": highest + 1});
        revision.set(&["metadata", "labels"], labels);
        revision.set(&["metadata", "ownerReferences"], vec![object::controller_reference(owner)]);
        revision.set(&["data"], data);
        plan.create(&CONTROLLER_REVISIONS, revision, None);
        Self { existing, update: name }
    }

    /// The template of a revision, by its name.
    pub(crate) fn template(&self, owner: &Value, name: &str) -> Option<Value> {
        if name == self.update {
            return owner.at(&["spec", "template"]).cloned();
        }
        let revision = self.existing.iter().find(|r| object::name(r) == name)?;
        let mut template = revision.at(&["data", "spec", "template"])?.clone();
        template.take(&["$patch"]);
        Some(template)
    }

    /// Removes the oldest revisions beyond the owner's `revisionHistoryLimit` that no pod and no status names.
    pub(crate) fn clean_up(&self, owner: &Value, in_use: &[&str], plan: &mut Plan) {
        let limit = owner.i64_at(&["spec", "revisionHistoryLimit"]).unwrap_or(10);
        let unused: Vec<&&Value> = self
            .existing
            .iter()
            .filter(|r| object::name(r) != self.update && !in_use.contains(&object::name(r)))
            .collect();
        let too_many = usize::try_from(count(unused.len()) - limit).unwrap_or_default();
        for revision in unused.into_iter().take(too_many) {
            plan.delete(&CONTROLLER_REVISIONS, revision, None);
        }
    }
}

/// What a revision keeps: the template, as a strategic merge patch that puts it back.
fn data(owner: &Value) -> Value {
    let mut template = owner.at(&["spec", "template"]).cloned().unwrap_or_else(Value::object);
    template.set(&["$patch"], "replace");
    let mut data = json!({});
    data.set(&["spec", "template"], template);
    data
}

fn number(revision: &Value) -> i64 {
    revision.i64_at(&["revision"]).unwrap_or_default()
}

/// The revision that a pod was made from.
pub(crate) fn of_pod(pod: &Value) -> &str {
    object::label(pod, REVISION_HASH).unwrap_or_default()
}
