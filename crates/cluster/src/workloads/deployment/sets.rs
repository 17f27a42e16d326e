//! The ReplicaSets of a Deployment: which one is the new one, how they are numbered, how a new one is made.

use pilothouse_value::{Value, json, object};

use super::{REVISION, TEMPLATE_HASH, scale};
use crate::harness::plan::Plan;
use crate::resources::{DEPLOYMENTS, REPLICA_SETS};
use crate::workloads::replica_set::count;
use crate::workloads::revisions;

const HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// Annotations of a Deployment that its ReplicaSets do not get.
const NOT_COPIED: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    HISTORY,
    scale::DESIRED,
    scale::MAX,
    "deprecated.deployment.rollback.to",
];

/// A Deployment with its ReplicaSets.
pub(super) struct Sets<'a> {
    pub(super) deployment: &'a Value,
    /// The set that has the Deployment's template, if there is one.
    pub(super) new: Option<&'a Value>,
    /// All other sets, oldest first.
    pub(super) old: Vec<&'a Value>,
}

impl<'a> Sets<'a> {
    pub(super) fn new(deployment: &'a Value, mut owned: Vec<&'a Value>) -> Self {
        owned.sort_by_key(|set| (set.str_at(&["metadata", "creationTimestamp"]), object::name(set)));
        let template = without_hash(deployment);
        // Several sets may have the template; the oldest is taken, as upstream does, so that the choice is stable.
        let new = owned.iter().copied().find(|set| without_hash(set) == template);
        let old = owned.into_iter().filter(|set| !new.is_some_and(|new| std::ptr::eq(new, *set))).collect();
        Self { deployment, new, old }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &'a Value> + '_ {
        self.old.iter().copied().chain(self.new)
    }

    /// The old sets that should have pods.
    pub(super) fn old_active(&self) -> Vec<&'a Value> {
        self.old.iter().copied().filter(|set| scale::replicas(set) > 0).collect()
    }

    /// Whether the number of replicas was changed since the sets were last scaled.
    pub(super) fn is_scaling(&self) -> bool {
        let wanted = scale::replicas(self.deployment);
        self.all()
            .filter(|set| scale::replicas(set) > 0)
            .any(|set| scale::number_annotation(set, scale::DESIRED).is_some_and(|desired| desired != wanted))
    }

    fn next_revision(&self) -> i64 {
        self.old.iter().map(|set| revision(set)).max().unwrap_or_default() + 1
    }

    /// The name a new set gets.
    fn new_name(&self) -> String {
        format!("{}-{}", object::name(self.deployment), self.hash())
    }

    fn hash(&self) -> String {
        let template = self.deployment.at(&["spec", "template"]).unwrap_or(&Value::Null);
        revisions::hash(template, self.deployment.i64_at(&["status", "collisionCount"]))
    }

    /// If the name for the new set is taken by a set with another template: the next collision count.
    pub(super) fn collision(&self, all: &[&Value]) -> Option<i64> {
        let taken = self.new.is_none() && all.iter().any(|set| object::name(set) == self.new_name());
        taken.then(|| self.deployment.i64_at(&["status", "collisionCount"]).unwrap_or_default() + 1)
    }

    /// Makes the new set with this many replicas; returns its name.
    pub(super) fn create(&self, replicas: i64, plan: &mut Plan) -> String {
        let (name, hash) = (self.new_name(), self.hash());
        let mut template = self.deployment.at(&["spec", "template"]).cloned().unwrap_or_else(Value::object);
        template.set(&["metadata", "labels", TEMPLATE_HASH], &hash);
        let mut selector = self.deployment.at(&["spec", "selector"]).cloned().unwrap_or_else(Value::object);
        selector.set(&["matchLabels", TEMPLATE_HASH], &hash);
        let mut annotations = self.copied_annotations();
        annotations.set(&[REVISION], self.next_revision().to_string());
        scale::annotate(self.deployment, &mut annotations);
        let mut set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": &name}});
        set.set(&["metadata", "namespace"], object::namespace(self.deployment).unwrap_or_default());
        set.set(
            &["metadata", "labels"],
            template.at(&["metadata", "labels"]).cloned().unwrap_or_else(Value::object),
        );
        set.set(&["metadata", "annotations"], annotations);
        set.set(&["metadata", "ownerReferences"], vec![object::controller_reference(self.deployment)]);
        set.set(&["spec", "replicas"], replicas);
        set.set(&["spec", "selector"], selector);
        set.set(&["spec", "template"], template);
        if let Some(seconds) = self.deployment.at(&["spec", "minReadySeconds"]) {
            set.set(&["spec", "minReadySeconds"], seconds.clone());
        }
        plan.create(&REPLICA_SETS, set, None);
        if replicas > 0 {
            let message = format!("Scaled up replica set {name} from 0 to {replicas}");
            plan.event(self.deployment, "ScalingReplicaSet", message);
        }
        self.number_deployment(self.next_revision(), plan);
        name
    }

    /// Gives the new set the highest number (it may be an old one that the Deployment went back to), its settings, and
    /// the Deployment the same number.
    pub(super) fn keep_revision(&self, plan: &mut Plan) {
        let Some(new) = self.new else { return };
        let (next, now) = (self.next_revision(), revision(new));
        let mut annotations = json!({});
        for (key, value) in self.copied_annotations().as_object().into_iter().flat_map(|m| m.iter()) {
            if object::annotations(new).and_then(|m| m.get(key)) != Some(value) {
                annotations.set(&[key], value.clone());
            }
        }
        if now < next {
            annotations.set(&[REVISION], next.to_string());
            if now > 0 {
                let before = object::annotation(new, HISTORY).map(|h| format!("{h},")).unwrap_or_default();
                annotations.set(&[HISTORY], format!("{before}{now}"));
            }
        }
        let mut patch = json!({});
        if annotations.as_object().is_some_and(|m| !m.is_empty()) {
            patch.set(&["metadata", "annotations"], annotations);
        }
        let min_ready = |of: &Value| of.i64_at(&["spec", "minReadySeconds"]).unwrap_or_default();
        if min_ready(new) != min_ready(self.deployment) {
            patch.set(&["spec", "minReadySeconds"], min_ready(self.deployment));
        }
        if patch != json!({}) {
            plan.patch(&REPLICA_SETS, new, patch);
        }
        self.number_deployment(next.max(now), plan);
    }

    fn number_deployment(&self, revision: i64, plan: &mut Plan) {
        let revision = revision.to_string();
        if object::annotation(self.deployment, REVISION) != Some(&revision) {
            let patch = json!({"metadata": {"annotations": {REVISION: revision}}});
            plan.patch(&DEPLOYMENTS, self.deployment, patch);
        }
    }

    fn copied_annotations(&self) -> Value {
        let mut annotations = object::annotations(self.deployment).cloned().unwrap_or_default();
        annotations.retain(|key, _| !NOT_COPIED.contains(&key));
        annotations.into()
    }

    /// Whether the new set has all the pods, all of them are available, and no old pod is left.
    pub(super) fn is_complete(&self) -> bool {
        let wanted = scale::replicas(self.deployment);
        let total: i64 = self.all().map(|set| scale::reported(set, "replicas")).sum();
        let available: i64 = self.all().map(|set| scale::reported(set, "availableReplicas")).sum();
        self.new.is_some_and(|new| scale::reported(new, "replicas") == wanted)
            && total == wanted
            && available == wanted
    }

    /// Once the Deployment is complete, removes the oldest sets beyond its `revisionHistoryLimit`.
    pub(super) fn clean_up(&self, plan: &mut Plan) {
        let Some(limit) = self.deployment.i64_at(&["spec", "revisionHistoryLimit"]) else { return };
        if !self.is_complete() {
            return;
        }
        let mut alive: Vec<_> =
            self.old.iter().filter(|set| object::deletion_timestamp(set).is_none()).collect();
        let too_many = count(alive.len()) - limit;
        alive.sort_by_key(|set| revision(set));
        for set in alive.into_iter().take(usize::try_from(too_many).unwrap_or_default()) {
            let observed = set.i64_at(&["status", "observedGeneration"]).unwrap_or_default();
            if scale::replicas(set) == 0
                && scale::reported(set, "replicas") == 0
                && object::generation(set) <= observed
            {
                plan.delete(&REPLICA_SETS, set, None);
            }
        }
    }
}

fn without_hash(of: &Value) -> Value {
    let mut template = of.at(&["spec", "template"]).cloned().unwrap_or_else(Value::object);
    template.take(&["metadata", "labels", TEMPLATE_HASH]);
    template
}

/// The number of a set's template; 0 if it has none.
pub(super) fn revision(set: &Value) -> i64 {
    scale::number_annotation(set, REVISION).unwrap_or_default()
}
