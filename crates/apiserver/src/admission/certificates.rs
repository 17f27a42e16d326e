//! Who may approve and sign certificates, and attest bundles of them: CertificateApproval, CertificateSigning,
//! CertificateSubjectRestriction, ClusterTrustBundleAttest.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pilothouse_value::{Status, Value};
use rustls_pki_types::pem::{PemObject as _, SectionKind};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer as _;

use super::{Attributes, Operation, Plugin};
use crate::authorization::rbac;

const GROUP: &str = "certificates.k8s.io";
const REQUESTS: &str = "certificatesigningrequests";
/// The signer of certificates that the API server takes as who a client is.
const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// Whether the user may do this with a signer, or with all signers of its domain.
fn may(attributes: &Attributes<'_>, verb: &str, signer: &str) -> bool {
    let domain = format!("{}/*", signer.split('/').next().unwrap_or_default());
    [signer, &domain].into_iter().any(|name| {
        let asked = rbac::Attributes::of_resource(attributes.user(), verb, GROUP, "signers");
        attributes.state().authorizer.authorize(&rbac::Attributes { name, ..asked }).allowed
    })
}

fn signer(request: &Value) -> &str {
    request.str_at(&["spec", "signerName"]).unwrap_or_default()
}

/// CertificateApproval: who approves a request must be allowed to approve for its signer.
pub(super) struct CertificateApproval;

impl Plugin for CertificateApproval {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Update
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        if !attributes.resource().is(GROUP, REQUESTS) || attributes.subresource() != "approval" {
            return Ok(());
        }
        let signer = attributes.old.as_ref().map(|old| signer(old)).unwrap_or_default();
        if may(attributes, "approve", signer) {
            return Ok(());
        }
        let why = format!("user not permitted to approve requests with signerName {signer:?}");
        Err(attributes.forbidden(&why))
    }
}

/// CertificateSigning: who writes a certificate must be allowed to sign for its signer.
pub(super) struct CertificateSigning;

impl Plugin for CertificateSigning {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Update
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        if !attributes.resource().is(GROUP, REQUESTS) || attributes.subresource() != "status" {
            return Ok(());
        }
        let (Some(new), Some(old)) = (&attributes.object, &attributes.old) else { return Ok(()) };
        let same = |field: &str| new.at(&["status", field]) == old.at(&["status", field]);
        if (same("certificate") && same("conditions")) || may(attributes, "sign", signer(old)) {
            return Ok(());
        }
        let why = format!("user not permitted to sign requests with signerName {:?}", signer(old));
        Err(attributes.forbidden(&why))
    }
}

/// CertificateSubjectRestriction: nobody gets a certificate as `system:masters`.
pub(super) struct CertificateSubjectRestriction;

impl Plugin for CertificateSubjectRestriction {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let Some(request) = attributes.object.as_ref().filter(|_| attributes.is(GROUP, REQUESTS)) else {
            return Ok(());
        };
        if signer(request) != CLIENT_SIGNER {
            return Ok(());
        }
        match organizations(request.str_at(&["spec", "request"]).unwrap_or_default()) {
            None => {
                Err(attributes.forbidden("failed to parse CSR: PEM block type must be CERTIFICATE REQUEST"))
            }
            Some(groups) if groups.iter().any(|group| group == crate::authentication::user::MASTERS) => {
                let why = format!("use of {CLIENT_SIGNER} signer with system:masters group is not allowed");
                Err(attributes.forbidden(&why))
            }
            Some(_) => Ok(()),
        }
    }
}

/// The organizations that a request (PEM in base64) asks for; `None` if it is none.
fn organizations(request: &str) -> Option<Vec<String>> {
    let der = der(request)?;
    let (_, request) = X509CertificationRequest::from_der(&der).ok()?;
    let subject = &request.certification_request_info.subject;
    let groups = subject.iter_organization().filter_map(|group| group.as_str().ok());
    Some(groups.map(str::to_owned).collect())
}

/// The common name that a request (PEM in base64) asks for; `None` if it is none.
pub(super) fn common_name(request: &str) -> Option<String> {
    let der = der(request)?;
    let (_, request) = X509CertificationRequest::from_der(&der).ok()?;
    let mut names = request.certification_request_info.subject.iter_common_name();
    Some(names.next().and_then(|name| name.as_str().ok()).unwrap_or_default().to_owned())
}

fn der(request: &str) -> Option<Vec<u8>> {
    let pem = STANDARD.decode(request).ok()?;
    let mut sections = <(SectionKind, Vec<u8>)>::pem_slice_iter(&pem).filter_map(Result::ok);
    sections.find_map(|(kind, der)| (kind == SectionKind::Csr).then_some(der))
}

/// ClusterTrustBundleAttest: who writes the bundle of a signer must be allowed to speak for it.
pub(super) struct ClusterTrustBundleAttest;

impl Plugin for ClusterTrustBundleAttest {
    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let Some(bundle) = attributes.object.as_ref().filter(|_| attributes.is(GROUP, "clustertrustbundles"))
        else {
            return Ok(());
        };
        let signer = signer(bundle);
        if signer.is_empty() || may(attributes, "attest", signer) {
            return Ok(());
        }
        let why = format!("user not permitted to attest for signerName {signer:?}");
        Err(attributes.forbidden(&why))
    }
}
