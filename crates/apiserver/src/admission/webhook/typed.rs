//! The members of an `AdmissionReview` that a webhook answers with, and what Go's decoder says of those of a wrong type.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pilothouse_value::Value;

use crate::webhook::typed;

/// Checks the types of a response. `version` is that of the review.
///
/// # Errors
/// The decoder's text for the first member that cannot be read.
pub(super) fn check(version: &str, review: &Value) -> Result<(), String> {
    let Some(response) = review.get("response").filter(|response| !response.is_null()) else { return Ok(()) };
    let Some(members) = response.as_object() else {
        return Err(typed::wrong(
            response,
            "AdmissionReview.response",
            &format!("{version}.AdmissionResponse"),
        ));
    };
    for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        let place = format!("AdmissionResponse.response.{key}");
        let is_text = |value: &Value| value.as_str().is_some() || value.is_null();
        match key {
            "uid" if !is_text(value) => return Err(typed::wrong(value, &place, "types.UID")),
            "allowed" if value.as_bool().is_none() => return Err(typed::wrong(value, &place, "bool")),
            "patch" => match value.as_str() {
                Some(text) => drop(patch(text)?),
                None => return Err(typed::wrong(value, &place, "[]uint8")),
            },
            "patchType" if !is_text(value) => {
                return Err(typed::wrong(value, &place, &format!("{version}.PatchType")));
            }
            "auditAnnotations" => {
                let Some(texts) = value.as_object() else {
                    return Err(typed::wrong(value, &place, "map[string]string"));
                };
                if let Some((_, other)) = texts.iter().find(|(_, text)| !is_text(text)) {
                    return Err(typed::wrong(other, &place, "string"));
                }
            }
            "warnings" => {
                let Some(texts) = value.as_array() else {
                    return Err(typed::wrong(value, &place, "[]string"));
                };
                if let Some(other) = texts.iter().find(|text| !is_text(text)) {
                    return Err(typed::wrong(other, &place, "string"));
                }
            }
            "status" if value.as_object().is_none() => return Err(typed::wrong(value, &place, "v1.Status")),
            "status" => typed::status(value, "response.status")?,
            _ => {}
        }
    }
    Ok(())
}

/// The bytes of a patch.
///
/// # Errors
/// The decoder's text for what is no base64.
pub(super) fn patch(text: &str) -> Result<Vec<u8>, String> {
    let plain: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    STANDARD.decode(&plain).map_err(|_| {
        let is_symbol = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
        let at = plain.find(|c| !is_symbol(c)).unwrap_or(plain.len() / 4 * 4);
        format!("illegal base64 data at input byte {at}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    #[test]
    fn members_of_a_wrong_type_are_told_as_go_tells_them() {
        let told = |response: Value| check("v1", &json!({"response": response})).unwrap_err();
        assert_eq!(
            told(json!({"warnings": [5]})),
            "json: cannot unmarshal number into Go struct field AdmissionResponse.response.warnings of type string"
        );
        assert_eq!(
            told(json!({"status": {"details": {"name": 5}}})),
            "json: cannot unmarshal number into Go struct field StatusDetails.response.status.details.name of type string"
        );
        assert_eq!(
            told(json!([])),
            "json: cannot unmarshal array into Go struct field AdmissionReview.response of type v1.AdmissionResponse"
        );
        assert_eq!(told(json!({"patch": "YQ"})), "illegal base64 data at input byte 0");
        assert_eq!(check("v1", &json!({"response": {"uid": "x", "allowed": true, "patch": "W10="}})), Ok(()));
    }
}
