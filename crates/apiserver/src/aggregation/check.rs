//! Whether others can be reached, as the status of their APIServices tells it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use pilothouse_value::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Remote, discovery, proxy, published, target};
use crate::authentication::user::{MASTERS, User};
use crate::objects::own_status;
use crate::registry::resource;
use crate::start::bootstrap::API_REGISTRATION;
use crate::state::{State, Target};

/// How soon somebody is asked again who does not answer; twice as long each time, up to the interval for those who do.
const SOON: Duration = Duration::from_millis(5);

/// The user as whom the aggregator itself asks.
pub(super) fn aggregator() -> User {
    User { groups: vec![MASTERS.into()], ..User::new("system:kube-aggregator", [""; 0]) }
}

/// Looks after one service of others until its APIService goes or says something else, or the server stops.
pub(super) async fn look_after(state: Weak<State>, remote: Arc<Remote>, shutdown: CancellationToken) {
    let mut failures = 0_u32;
    loop {
        let (answers, interval) = {
            let Some(state) = state.upgrade().filter(|_| !remote.is_gone()) else { return };
            tokio::select! {
                () = shutdown.cancelled() => return,
                answers = look(&state, &remote) => (answers, state.aggregator.options.interval),
            }
        };
        failures = if answers { 0 } else { failures.saturating_add(1) };
        let soon = SOON.saturating_mul(1 << failures.min(13));
        let wait = if answers { interval } else { soon.min(interval) };
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = remote.changed.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// Looks once, and writes down what it finds. False for what may soon be otherwise without anybody saying so.
async fn look(state: &Arc<State>, remote: &Arc<Remote>) -> bool {
    let found = match target::obstacle(state, remote) {
        Some((reason, message)) => Err((reason, message, true)),
        None => reach(state, remote).await.map_err(|message| ("FailedDiscoveryCheck", message, false)),
    };
    // Who reads that somebody can be reached finds what they serve, too.
    let passes = match &found {
        Ok(()) => {
            published::refresh(state, remote).await;
            discovery::refresh(state, remote).await
        }
        Err((.., passes)) => {
            remote.served.lock().clear();
            *passes
        }
    };
    if remote.is_gone() {
        return true;
    }
    let told = match &found {
        Ok(()) => condition(state, true, "Passed", "all checks passed"),
        Err((reason, message, _)) => condition(state, false, reason, message),
    };
    tell(state, remote, told).await;
    passes
}

/// The condition that says whether somebody can be reached.
pub(super) fn condition(state: &State, available: bool, reason: &str, message: &str) -> Value {
    json!({
        "type": "Available", "status": if available { "True" } else { "False" }, "reason": reason,
        "message": message, "lastTransitionTime": state.now(),
    })
}

async fn tell(state: &Arc<State>, remote: &Remote, condition: Value) {
    let Some(resource) = state.registry.get(API_REGISTRATION, "v1", "apiservices") else { return };
    let key = resource::key(API_REGISTRATION, "apiservices");
    let Some(stored) = state.store.get(&key, "", &remote.name) else { return };
    let target = Target { resource, namespace: String::new(), name: remote.name.clone(), subresource: None };
    own_status::tell_of_api_service(state, &target, &stored, condition).await;
}

/// Asks for what every API server has to serve.
async fn reach(state: &Arc<State>, remote: &Remote) -> Result<(), String> {
    let host = target::place(state, remote)?.host;
    let url = format!("https://{host}{}", remote.path());
    let (path, user) = (remote.path(), aggregator());
    let asked = proxy::ask(state, remote, &path, &[], &user);
    let answer = match tokio::time::timeout(state.aggregator.options.patience, asked).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(why)) => Err(format!("Get \"{url}\": {why}")),
        Err(_elapsed) => Err(format!(
            "Get \"{url}\": net/http: request canceled (Client.Timeout exceeded while awaiting headers)"
        )),
    };
    let why = match answer {
        Ok(answer) if answer.status.is_success() => return Ok(()),
        Ok(answer) => format!("bad status from {url}: {}", answer.status.as_u16()),
        Err(why) => why,
    };
    remote.pool.clear();
    Err(format!("failing or missing response from {url}: {why}"))
}
