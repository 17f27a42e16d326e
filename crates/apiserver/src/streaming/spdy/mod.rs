//! SPDY/3.1 as Kubernetes clients use it: streams with headers over one upgraded connection.
//!
//! What is here is the server's half, and for exec and attach the client's half, of what `moby/spdystream` speaks: SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY
//! and data. SETTINGS and WINDOW_UPDATE are read over, because that library neither sends nor keeps windows.

mod client;
mod connection;
mod forward;
mod frame;
mod headers;
mod session;
#[cfg(test)]
mod tests;

pub(super) use client::{Remote, converse};
pub(super) use forward::serve_port_forward;
pub(super) use session::{Dialect, serve_session};
