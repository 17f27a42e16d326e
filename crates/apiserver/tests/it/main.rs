//! Behaviour of the API server through its public doors. Each test has a server of its own.

mod access;
mod admission;
mod crd;
mod create;
mod delete;
mod discovery;
mod http;
mod list;
mod network;
mod patch;
mod scale;
mod support;
mod update;
mod watch;
