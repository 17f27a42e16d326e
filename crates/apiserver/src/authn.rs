//! Who is it? The user behind a request that came over the network, and whom they ask to be.
//!
//! This stage changes nothing but the user that the request is made as.

use http::HeaderMap;
use pilothouse_value::Status;
use rustls_pki_types::CertificateDer;

use crate::impersonation;
use crate::state::State;
use crate::user::User;

/// Finds out who sends a request that came over the network.
///
/// # Errors
/// 401 for credentials that are not good.
pub(crate) fn authenticate(
    state: &State,
    headers: &HeaderMap,
    certificates: &[CertificateDer<'static>],
) -> Result<User, Status> {
    state.identity.authenticator.authenticate(headers, Some(certificates))
}

/// The user that a request is carried out as: the caller, or whom the caller asks and may be.
///
/// # Errors
/// 403 for somebody that the caller may not be.
pub(crate) fn impersonate(state: &State, caller: User, headers: &HeaderMap) -> Result<User, Status> {
    Ok(impersonation::impersonated(&state.authorizer, &caller, headers)?.unwrap_or(caller))
}
