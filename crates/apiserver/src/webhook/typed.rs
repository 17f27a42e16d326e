//! What Go's decoder says of members of a wrong type, in the documents that webhooks answer with.

use pilothouse_schema::builtin;
use pilothouse_value::field::quote;
use pilothouse_value::{Gvk, Value, object};

use crate::request::intake::{self, go_name};

/// Reads an answer that is to be a review of a kind, such as `TokenReview` of `authentication.k8s.io/v1`. One that does not say
/// what it is is taken for one.
///
/// # Errors
/// The decoder's text for what is none.
pub(crate) fn review(bytes: &[u8], api_version: &str, kind: &str) -> Result<Value, String> {
    let mut answer = intake::read_answer(bytes)?;
    let or = |given: &str, usual: &str| if given.is_empty() { usual.to_owned() } else { given.to_owned() };
    let (given, given_kind) =
        (or(object::api_version(&answer), api_version), or(object::kind(&answer), kind));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let (other_group, other) = given.split_once('/').unwrap_or(("", &given));
    let is_known = group == other_group
        && given_kind == kind
        && (other == version || matches!(other, "v1" | "v1beta1") && version != "v1alpha1")
        || builtin::type_name(&Gvk::new(other_group, other, &*given_kind)).is_some();
    if !is_known {
        let (kind, version) = (quote(&given_kind), quote(&given));
        return Err(format!(
            "no kind {kind} is registered for version {version} in scheme \"pkg/runtime/scheme.go:111\""
        ));
    }
    if (given.as_str(), given_kind.as_str()) != (api_version, kind) {
        return Err(format!("converting ({other}.{given_kind}) to ({version}.{kind}): unknown conversion"));
    }
    // The members are those of the version that is built in.
    let gvk = Gvk::new(group, "v1", kind);
    if builtin::type_name(&gvk).is_some() {
        builtin::decode(&gvk, &mut answer).map_err(|error| go_text(&error.to_string()).to_owned())?;
    }
    Ok(answer)
}

/// The part of a text that Go's decoder would say.
fn go_text(text: &str) -> &str {
    text.find("json: ").and_then(|at| text.get(at..)).unwrap_or(text)
}

/// The text for a member of a wrong type, such as `AdmissionReview.response`.
pub(crate) fn wrong(value: &Value, place: &str, wanted: &str) -> String {
    format!("json: cannot unmarshal {} into Go struct field {place} of type {wanted}", go_name(value))
}

/// Checks the members of a `Status` that stands at a place such as `response.status`.
///
/// # Errors
/// The text for the first member of a wrong type.
pub(crate) fn status(status: &Value, place: &str) -> Result<(), String> {
    builtin::decode(&Gvk::new("", "v1", "Status"), &mut status.clone()).map_err(|error| {
        let text = error.to_string();
        let why = go_text(&text);
        // It is read where it stands.
        match why.split_once("Go struct field ").and_then(|(head, rest)| Some((head, rest.split_once('.')?)))
        {
            Some((head, (name, rest))) => format!("{head}Go struct field {name}.{place}.{rest}"),
            None => why.to_owned(),
        }
    })
}
