//! Room to be opened.
pub mod authenticator;
pub mod bootstrap_rbac;
pub mod certs;
pub mod impersonation;
pub mod kubelet;
pub mod rbac;
pub mod streaming;
pub mod tokens;
pub mod user;
