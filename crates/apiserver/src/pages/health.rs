//! The pages `/healthz`, `/livez` and `/readyz`, which tell whether the server is well: the names of their checks are
//! kube-apiserver's. A server that answers has passed them all.

use std::collections::BTreeSet;

use http::Response;
use pilothouse_value::field;

use crate::answer::render;
use crate::doors::body::Body;
use crate::request::Query;

/// The checks of `/healthz` and `/livez` before those that all pages have.
const ALIVE: [&str; 4] = ["ping", "log", "loopback-serving-certificate", "etcd"];
/// The checks of `/readyz` before those that all pages have.
const READY: [&str; 5] = ["ping", "log", "etcd", "etcd-readiness", "informer-sync"];
/// What has to have started.
const STARTED: [&str; 30] = [
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
];
const TEXT: &str = "text/plain; charset=utf-8";

/// The names of the checks of a page, in the order in which they are made.
pub(crate) fn checks(page: &str) -> impl Iterator<Item = &'static str> {
    let ready = page == "readyz";
    let first: &[&str] = if ready { &READY } else { &ALIVE };
    first.iter().copied().chain(STARTED).chain(ready.then_some("shutdown"))
}

/// Serves a page, or one check of it. `page` is its name; `check` is what follows in the path.
pub(crate) fn serve(page: &str, check: Option<&str>, query: &Query) -> Response<Body> {
    let checks: Vec<&str> = checks(page).collect();
    match check {
        None => {}
        Some(check) if checks.contains(&check) => return render::response(200, TEXT, Body::full("ok")),
        Some(_) => return render::no_such_page(),
    }
    if query.get("verbose").is_none() {
        return render::plain(200, "ok");
    }
    let excluded: Vec<&str> = query.all("exclude").collect();
    let mut text = String::new();
    for check in &checks {
        let how = if excluded.contains(check) { "excluded: ok" } else { "ok" };
        text.push_str(&format!("[+]{check} {how}\n"));
    }
    let unknown: BTreeSet<&str> = excluded.into_iter().filter(|name| !checks.contains(name)).collect();
    if !unknown.is_empty() {
        text.push_str(&format!(
            "warn: some health checks cannot be excluded: no matches for {}\n",
            unknown.into_iter().map(field::quote).collect::<Vec<_>>().join(",")
        ));
    }
    text.push_str(&format!("{page} check passed\n"));
    render::plain(200, text)
}
