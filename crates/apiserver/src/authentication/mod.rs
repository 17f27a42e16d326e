//! Who is it? What a request shows of its sender, whom it asks to be, and the certificates and tokens that prove it.

pub mod authenticator;
pub(crate) mod authn;
pub mod bootstrap_tokens;
pub mod certs;
pub(crate) mod identity;
pub mod impersonation;
pub mod tokens;
pub mod user;
