//! The rules that are in the store.

use super::{RuleKind, RuleSource};
use parking_lot::Mutex;
use pilothouse_store::{ResourceKey, Snapshot, Store};
use pilothouse_value::Value;
use std::sync::Arc;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Reads roles and bindings from a store.
pub struct StoreRules {
    store: Store,
    keys: [ResourceKey; 4],
    /// The last state that was looked at, and the stamp of its rules.
    seen: Mutex<(Snapshot, u64)>,
}

impl std::fmt::Debug for StoreRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreRules").finish_non_exhaustive()
    }
}

impl StoreRules {
    /// The rules of this store, as they are whenever they are asked for.
    pub fn new(store: Store) -> Self {
        let keys = ["roles", "rolebindings", "clusterroles", "clusterrolebindings"];
        let keys = keys.map(|plural| ResourceKey::new(GROUP, plural));
        let seen = Mutex::new((store.snapshot(), 0));
        Self { store, keys, seen }
    }

    fn key(&self, kind: RuleKind) -> &ResourceKey {
        let [roles, role_bindings, cluster_roles, cluster_role_bindings] = &self.keys;
        match kind {
            RuleKind::Role => roles,
            RuleKind::RoleBinding => role_bindings,
            RuleKind::ClusterRole => cluster_roles,
            RuleKind::ClusterRoleBinding => cluster_role_bindings,
        }
    }
}

impl RuleSource for StoreRules {
    fn stamp(&self) -> u64 {
        let mut seen = self.seen.lock();
        if self.store.revision() != seen.0.revision() {
            let now = self.store.snapshot();
            // Most writes are not about rules.
            if !self.keys.iter().all(|key| now.shares(&seen.0, key)) {
                seen.1 = now.revision();
            }
            seen.0 = now;
        }
        seen.1
    }

    fn documents(&self, kind: RuleKind) -> Vec<Arc<Value>> {
        let entries = self.store.snapshot().list(self.key(kind), None, None);
        entries.map(|entry| entry.object.value().clone()).collect()
    }
}
