//! ComponentStatuses: how the parts of the control plane are. Upstream asks them when somebody reads; here they are in this
//! process or not there at all, so what is stored says it. They are the answer to `kubectl get componentstatuses` alone.

use pilothouse_store::Change;
use pilothouse_value::{Value, json};

use crate::answer::document;
use crate::registry::resource;
use crate::state::State;

/// Which parts upstream knows, and where it would ask; the store needs no asking.
const COMPONENTS: [(&str, Option<u16>); 3] =
    [("controller-manager", Some(10257)), ("etcd-0", None), ("scheduler", Some(10259))];

/// Says of every part that only the API server and its store are there.
pub(crate) fn begin(state: &State) {
    for (name, port) in COMPONENTS {
        match port {
            None => tell(state, name, true, "ok"),
            Some(port) => {
                let why = format!(
                    "Get \"https://127.0.0.1:{port}/healthz\": dial tcp 127.0.0.1:{port}: connect: connection refused"
                );
                tell(state, name, false, &why);
            }
        }
    }
}

/// Says that the controllers and the scheduler are there too.
pub(crate) fn running(state: &State) {
    for (name, _) in COMPONENTS {
        tell(state, name, true, "ok");
    }
}

fn tell(state: &State, name: &str, healthy: bool, message: &str) {
    let status = if healthy { "True" } else { "False" };
    let value: Value = json!({
        "apiVersion": "v1",
        "kind": "ComponentStatus",
        "metadata": {"name": name},
        "conditions": [{"type": "Healthy", "status": status, "message": message}],
    });
    let bytes = document::encode(&value);
    let key = resource::key("", "componentstatuses");
    let stored = state.store.get(&key, "", name);
    if stored.as_ref().is_some_and(|stored| *stored.bytes() == bytes) {
        return;
    }
    let mut build = |_revision: u64| bytes.clone();
    // A durable copy that refuses shows at the next write that matters.
    let revision = stored.map(|stored| stored.revision());
    let _kept = state.store.commit(&key, "", name, revision, Change::Put(&mut build));
}
