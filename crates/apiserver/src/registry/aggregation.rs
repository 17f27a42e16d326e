//! API services of others: groups and versions that an APIService says a service of the cluster serves. Nothing is passed on
//! to such a service here, so it is told to be out of reach, as kube-apiserver tells of one that is.
//!
//! What is looked up here is looked up only for a path that nobody else serves.

use std::sync::Arc;

use pilothouse_value::Value;

use crate::registry::resource;
use crate::start::bootstrap;
use crate::state::State;

/// Whether somebody else is said to serve a version of a group.
pub(crate) fn serves(state: &State, group: &str, version: &str) -> bool {
    let key = resource::key(bootstrap::API_REGISTRATION, "apiservices");
    let service = state.store.get(&key, "", &format!("{version}.{group}"));
    service.is_some_and(|service| service.value().at(&["spec", "service"]).is_some())
}

/// The versions of a group that somebody else is said to serve, the most wanted first; none if there are none.
pub(crate) fn versions(state: &State, group: &str) -> Vec<String> {
    let key = resource::key(bootstrap::API_REGISTRATION, "apiservices");
    let snapshot = state.store.snapshot();
    let services = snapshot.list(&key, None, None).map(|entry| Arc::clone(entry.object.value()));
    let of_group = |service: &Arc<Value>| {
        service.str_at(&["spec", "group"]) == Some(group) && service.at(&["spec", "service"]).is_some()
    };
    let mut found: Vec<(i64, String)> = services
        .filter(of_group)
        .filter_map(|service| {
            let version = service.str_at(&["spec", "version"])?.to_owned();
            Some((service.i64_at(&["spec", "versionPriority"]).unwrap_or_default(), version))
        })
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, version)| version).collect()
}
