//! What a server makes again while it runs, when somebody has deleted it: its Service with the endpoints, the network of Services,
//! its lease, namespaces of the system, flow schemas and priority levels. Roles, API services and ConfigMaps come back at the next
//! start alone.
//!
//! Upstream's controllers look every ten seconds or every minute since the start. Here nobody looks: a deletion has the object made
//! at the time of that look, so that a server where nothing is deleted does nothing, and a held clock tells when it comes back.
//! `conformance/kept` has what a real server does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{bootstrap, presence};
use crate::fairness;
use crate::state::{State, Target};

/// What comes back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Service,
    Network,
    Lease,
    Namespaces,
    Fairness,
}

/// Which parts are about to be made again.
#[derive(Debug, Default)]
pub(crate) struct Keeper {
    pending: [AtomicBool; 5],
}

impl Part {
    /// The part that an object is of.
    fn of(target: &Target) -> Option<Part> {
        let is = |namespace: &str, name: &str| target.namespace == namespace && target.name == name;
        let part = match (target.resource.group.as_str(), target.resource.plural.as_str()) {
            ("", "services" | "endpoints") | ("discovery.k8s.io", "endpointslices") => {
                is("default", "kubernetes").then_some(Part::Service)
            }
            ("networking.k8s.io", "servicecidrs") => is("", "kubernetes").then_some(Part::Network),
            ("coordination.k8s.io", "leases") => {
                is(presence::SYSTEM, presence::identity()).then_some(Part::Lease)
            }
            ("", "namespaces") => {
                bootstrap::NAMESPACES.contains(&target.name.as_str()).then_some(Part::Namespaces)
            }
            (fairness::GROUP, plural) => {
                fairness::is_of_the_start(plural, &target.name).then_some(Part::Fairness)
            }
            _ => None,
        };
        part.filter(|_| target.resource.is_built_in())
    }

    /// How long upstream's controller waits between two looks.
    fn period(self) -> Duration {
        match self {
            Part::Service | Part::Network | Part::Lease => Duration::from_secs(10),
            Part::Namespaces | Part::Fairness => Duration::from_secs(60),
        }
    }

    fn make(self, state: &Arc<State>) {
        let made = match self {
            Part::Service => presence::service_again(state),
            Part::Network => {
                presence::network(state, &state.now());
                Ok(())
            }
            Part::Lease => {
                presence::lease_again(state);
                Ok(())
            }
            Part::Namespaces => bootstrap::namespaces(state),
            Part::Fairness => {
                state.fairness.begin(state, &state.now());
                Ok(())
            }
        };
        if let Err(status) = made {
            tracing::warn!(message = status.message, "what the server looks after was not made again");
        }
    }
}

/// Takes note of an object that is gone: what the server looks after is made again.
pub(crate) fn removed(state: &Arc<State>, target: &Target) {
    let Some(part) = Part::of(target) else { return };
    let Some(pending) = state.keeper.pending.get(part as usize) else { return };
    if pending.swap(true, Ordering::Relaxed) {
        return;
    }
    let (state, shutdown) = (Arc::downgrade(state), state.shutdown.clone());
    let wait = state.upgrade().map_or(Duration::ZERO, |state| until_next(&state, part.period()));
    tokio::spawn(async move {
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(wait) => {}
        }
        let Some(state) = state.upgrade() else { return };
        if let Some(pending) = state.keeper.pending.get(part as usize) {
            pending.store(false, Ordering::Relaxed);
        }
        part.make(&state);
    });
}

/// How long it is until the next look, when the first one was at the start.
fn until_next(state: &State, period: Duration) -> Duration {
    let passed = state.clock.now().since(state.started).as_nanos();
    let since_last = u64::try_from(passed % period.as_nanos()).unwrap_or_default();
    period.saturating_sub(Duration::from_nanos(since_last))
}

/// Renews the lease of the server's identity again and again, if it was asked to.
pub(crate) fn begin(state: &Arc<State>) {
    let Some(period) = state.presence.renewal.filter(|_| state.presence.identity) else { return };
    let (state, shutdown) = (Arc::downgrade(state), state.shutdown.clone());
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(period) => {}
            }
            let Some(state) = state.upgrade() else { return };
            presence::renew(&state);
        }
    });
}
