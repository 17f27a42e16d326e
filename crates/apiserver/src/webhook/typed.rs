//! What Go's decoder says of members of a wrong type, in the documents that webhooks answer with.

use pilothouse_schema::builtin;
use pilothouse_value::{Gvk, Value};

use crate::request::intake::go_name;

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
        let why = text.find("json: ").and_then(|at| text.get(at..)).unwrap_or(&text);
        // It is read where it stands.
        match why.split_once("Go struct field ").and_then(|(head, rest)| Some((head, rest.split_once('.')?)))
        {
            Some((head, (name, rest))) => format!("{head}Go struct field {name}.{place}.{rest}"),
            None => why.to_owned(),
        }
    })
}
