//! Paths that lead out of the server: proxies of pods, Services and nodes, and what the kubelet of a node answers for its
//! pods, where that kubelet is reached through a network.
//!
//! `location` says where a request goes, or why not; `dial` opens the connection; `reverse` passes a request on and its answer
//! back, with the changes that `rewrite` and `html` make; `upgrade` does the same for connections that leave HTTP, and `translated`
//! for sessions over WebSocket whose kubelet speaks SPDY alone.
//!
//! Source of behaviour: `apimachinery/pkg/util/proxy`, `pkg/registry/core/{pod,service,node}` and `pkg/kubelet/client`.

mod dial;
mod go_url;
pub(crate) mod heard;
mod html;
mod kubelets;
mod location;
mod logs;
pub(crate) mod reverse;
mod rewrite;
mod sessions;
mod sniff;
mod translated;
mod unzip;
pub(crate) mod upgrade;

use std::io;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty};
use pilothouse_value::Status;

pub(crate) use kubelets::Kubelets;
pub use kubelets::{KubeletClient, KubeletClientError};
pub(crate) use location::{of_node, of_pod, of_service, runs_here};
pub(crate) use logs::{LogQuery, logs, none as no_log};
pub(crate) use reverse::{Asked, proxy};
pub(crate) use sessions::{SessionQuery, session};

/// What is sent out, or comes from outside.
pub(crate) type Flow = UnsyncBoxBody<Bytes, io::Error>;

/// Nothing to send.
pub(crate) fn nothing() -> Flow {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// 500 as upstream has it for an error that says nothing of itself but its text.
fn failed(text: impl Into<String>) -> Status {
    Status::new(500, "", text)
}

/// 503 for somebody who cannot be reached.
fn unreachable(why: &str) -> Status {
    Status::unavailable(format!("error trying to reach service: {why}"))
}
