//! `/metrics`: what the server counts of itself, as Prometheus reads it. The names are kube-apiserver's; there are few.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use http::Response;

use crate::answer::render;
use crate::doors::body::Body;
use crate::registry::resource::Resource;
use crate::state::State;

/// Serves the page. It looks at the store when it is asked, so that nothing is counted while nobody asks.
pub(crate) fn serve(state: &State) -> Response<Body> {
    let mut text = String::from(
        "# HELP kubernetes_build_info [BETA] A metric with a constant '1' value labeled by version.\n\
         # TYPE kubernetes_build_info gauge\n\
         kubernetes_build_info{git_version=\"v1.37.2\",major=\"1\",minor=\"37\"} 1\n\
         # HELP apiserver_storage_objects [STABLE] Number of stored objects at the time of last check.\n\
         # TYPE apiserver_storage_objects gauge\n",
    );
    let snapshot = state.store.snapshot();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for resource in state.registry.table().iter().filter(|resource| resource.has_verb("list")) {
        counts.entry(name(resource)).or_insert_with(|| snapshot.list(&resource.key, None, None).count());
    }
    for (name, count) in counts {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "apiserver_storage_objects{{resource=\"{name}\"}} {count}");
    }
    let _ = writeln!(
        text,
        "# HELP apiserver_current_inflight_requests [STABLE] Number of requests that are being answered, but for those that \
         last.\n# TYPE apiserver_current_inflight_requests gauge\napiserver_current_inflight_requests {}",
        state.in_flight.now()
    );
    render::response(200, "text/plain; version=0.0.4; charset=utf-8", Body::full(text))
}

/// Sets the counts back to nothing. All that is served is looked at when it is asked for, so there are none.
pub(crate) fn reset() -> Response<Body> {
    render::response(200, "text/plain; charset=utf-8", Body::full("metrics reset\n"))
}

fn name(resource: &Resource) -> String {
    match resource.group.as_str() {
        "" => resource.plural.clone(),
        group => format!("{}.{group}", resource.plural),
    }
}
