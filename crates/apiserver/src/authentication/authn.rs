//! Who is it? The user behind a request that came over the network, and whom they ask to be.
//!
//! This stage changes nothing but the user that the request is made as.

use http::HeaderMap;
use pilothouse_value::Status;
use rustls_pki_types::CertificateDer;

use crate::authentication::impersonation;
use crate::authentication::user::User;
use crate::authorization::rbac::Attributes;
use crate::state::State;

/// Finds out who sends a request that came over the network.
///
/// # Errors
/// 401 for credentials that are not good.
pub(crate) async fn authenticate(
    state: &State,
    headers: &HeaderMap,
    certificates: &[CertificateDer<'static>],
    path: &str,
) -> Result<User, Status> {
    state.identity.authenticator.authenticate(headers, Some(certificates), path).await
}

/// The user that a request is carried out as, if the caller asks to be somebody else. `asked` is the request, by the
/// caller.
///
/// # Errors
/// 403 for somebody that the caller may not be.
pub(crate) fn impersonate(
    state: &State,
    asked: &Attributes<'_>,
    headers: &HeaderMap,
) -> Result<Option<User>, Status> {
    let constrained = state.tuning.constrained_impersonation;
    impersonation::impersonated(&state.authorizer, &state.impersonations, constrained, asked, headers)
}
