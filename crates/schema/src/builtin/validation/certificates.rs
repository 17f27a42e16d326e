//! Certificate signing requests. Whether the request itself is well formed is checked where certificates are read
//! (the server does that); here is everything around it.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pilothouse_value::field::{Error, Path, quote};
use pilothouse_value::{Value, names};

use super::super::go;
use super::{At, Errors};

const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

pub(super) fn request(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    common(at, old, errors);
    if let Some(old) = old {
        update(at, old, false, errors);
    }
}

/// An update of the status, or of the approval.
pub(super) fn status(at: &At<'_>, old: &Value, approval: bool, errors: &mut Errors) {
    common(at, Some(old), errors);
    update(at, old, approval, errors);
    if !approval {
        let certificate =
            |object: &Value| object.str_at(&["status", "certificate"]).unwrap_or_default().to_owned();
        let (new, before) = (certificate(at.value), certificate(old));
        if new != before && !before.is_empty() {
            let path = Path::new("status").child("certificate");
            errors.forbidden(&path, "updates may not modify existing certificate content");
        }
    }
}

fn common(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    let usages = spec.items("usages");
    let request = spec.child("request");
    let text = request.value.as_str().unwrap_or_default();
    let pem = STANDARD.decode(text).unwrap_or_default();
    let is_request = String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE REQUEST-----");
    if !is_request {
        errors.invalid(&request.path, request.value.clone(), "PEM block type must be CERTIFICATE REQUEST");
    }
    if usages.is_empty() {
        errors.required(&spec.path.child("usages"), "");
    }
    // What was let in once stays.
    let unchanged = old.is_some_and(|old| old.at(&["spec", "usages"]) == spec.value.get("usages"));
    let mut seen = BTreeSet::new();
    if !unchanged {
        for usage in &usages {
            let text = usage.value.as_str().unwrap_or_default();
            if !USAGES.contains(&text) {
                errors.unsupported(&usage.path, text, &USAGES);
            }
        }
        for usage in &usages {
            let text = usage.value.as_str().unwrap_or_default();
            if !seen.insert(text) {
                errors.0.push(Error::duplicate(&usage.path, text));
            }
        }
    }
    let signer = spec.text("signerName");
    let path = spec.path.child("signerName");
    if signer == "kubernetes.io/legacy-unknown" {
        errors.invalid(&path, signer, "the legacy signerName is not allowed via this API version");
    } else {
        signer_name(&path, signer, errors);
    }
    if let Some(seconds) = spec.int("expirationSeconds").filter(|seconds| *seconds < 600) {
        let detail = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.invalid(&spec.path.child("expirationSeconds"), seconds, detail);
    }
    conditions(&at.child("status"), errors);
    let certificate = at.child("status").text("certificate");
    let before = old.and_then(|old| old.str_at(&["status", "certificate"])).unwrap_or_default();
    if !certificate.is_empty() && certificate != before {
        let pem = STANDARD.decode(certificate).unwrap_or_default();
        if !String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE-----") {
            errors.invalid(&Path::new("status").child("certificate"), "<certificate data>", NO_CERTIFICATE);
        }
    }
}

const NO_CERTIFICATE: &str = "must contain at least one CERTIFICATE PEM block";

/// The name of a signer: `DOMAIN/PATH`.
pub(super) fn signer_name(path: &Path, name: &str, errors: &mut Errors) {
    if name.is_empty() {
        return errors.required(path, "");
    }
    let segments: Vec<&str> = name.split('/').collect();
    let [domain, local] = segments[..] else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return errors.invalid(path, name, detail);
    };
    for label in domain.split('.') {
        for complaint in names::dns1123_label(label) {
            errors.invalid(path, domain, format!("validating label {}: {complaint}", quote(label)));
        }
    }
    if domain.split('.').count() < 2 {
        errors.invalid(path, domain, "should be a domain with at least two segments separated by dots");
    }
    for label in local.split('.') {
        for complaint in names::dns1123_subdomain(label) {
            errors.invalid(path, local, format!("validating label {}: {complaint}", quote(label)));
        }
    }
    if name.len() > 571 {
        errors.0.push(Error::too_long(path, 571));
    }
}

fn conditions(status: &At<'_>, errors: &mut Errors) {
    let path = status.path.child("conditions");
    let mut seen = BTreeSet::new();
    for condition in status.items("conditions") {
        let kind = condition.text("type");
        if kind.is_empty() {
            errors.required(&condition.path.child("type"), "");
        }
        let final_ones = ["Approved", "Denied", "Failed"];
        let allowed: &[&str] =
            if final_ones.contains(&kind) { &["True"] } else { &["False", "True", "Unknown"] };
        match condition.text("status") {
            "" => errors.required(&condition.path.child("status"), ""),
            _ => errors.one_of_all(&condition, "status", allowed),
        }
        let other = match kind {
            "Approved" => "Denied",
            "Denied" => "Approved",
            _ => "",
        };
        if !other.is_empty() && seen.contains(other) {
            let members = [r#"conditions[{"type": "Approved"}]"#, r#"conditions[{"type": "Denied"}]"#];
            let detail = format!("must specify at most one of: `{}`", members.join("`, `"));
            errors.invalid(&path, format!("{{{}}}", members.join(", ")), detail);
        }
        if !seen.insert(kind) {
            errors.0.push(Error::duplicate(&condition.path.child("type"), kind));
        }
    }
}

fn update(at: &At<'_>, old: &Value, approval: bool, errors: &mut Errors) {
    let path = Path::new("status").child("conditions");
    let of = |object: &Value, kind: &str| -> Vec<Value> {
        let all = object.items_at(&["status", "conditions"]).iter();
        all.filter(|c| c.str_at(&["type"]) == Some(kind)).cloned().collect()
    };
    for kind in ["Approved", "Denied", "Failed"] {
        if of(at.value, kind).len() < of(old, kind).len() {
            errors.forbidden(&path, format!("updates may not remove a condition of type {}", quote(kind)));
        }
    }
    if approval {
        return;
    }
    for kind in ["Approved", "Denied"] {
        let (new, before) = (of(at.value, kind), of(old, kind));
        if new.len() > before.len() {
            errors.forbidden(&path, format!("updates may not add a condition of type {}", quote(kind)));
        } else if new.len() == before.len() && new != before {
            let form = "[]@certificates.CertificateSigningRequestCondition";
            let show = |list: Vec<Value>| go::show_form_pretty(form, &Value::Array(list.into()));
            let difference = go::unified_diff(&show(before), &show(new));
            let detail = format!("updates may not modify a condition of type {}\n{difference}", quote(kind));
            errors.forbidden(&path, detail);
        }
    }
}
