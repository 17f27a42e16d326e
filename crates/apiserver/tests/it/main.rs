//! Behaviour of the API server through its public doors. Each test has a server of its own.

mod create;
mod support;
