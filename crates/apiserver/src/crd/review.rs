//! The document that a conversion webhook is sent, and what is made of its answer. Source: apiextensions
//! `pkg/apiserver/conversion/webhook_converter.go`.

use pilothouse_value::field::{self, Path};
use pilothouse_value::{Gvk, Map, Value, go_print, json, object};

use crate::crd::GROUP;
use crate::objects::metadata;
use crate::request::intake;
use crate::webhook::typed;

const KIND: &str = "ConversionReview";

/// The version of reviews to speak: the first of those that the definition names and this server knows.
pub(crate) fn version(definition: &Value) -> Option<&'static str> {
    let named = definition.items_at(&["spec", "conversion", "webhook", "conversionReviewVersions"]);
    named.iter().find_map(|version| match version.as_str() {
        Some("v1") => Some("v1"),
        Some("v1beta1") => Some("v1beta1"),
        _ => None,
    })
}

/// The question: convert this object to another version. It has room for the answer, as upstream's has.
pub(crate) fn request(version: &str, uid: &str, desired: &str, object: Value) -> Value {
    json!({
        "kind": KIND,
        "apiVersion": format!("{GROUP}/{version}"),
        "request": {"uid": uid, "desiredAPIVersion": desired, "objects": [object]},
        "response": {"uid": "", "convertedObjects": null, "result": {"metadata": {}}},
    })
}

/// Kinds beside reviews that upstream knows in this group. An answer that is one of them is told of otherwise.
const OTHERS: [&str; 9] = [
    "CustomResourceDefinition",
    "CustomResourceDefinitionList",
    "CreateOptions",
    "DeleteOptions",
    "GetOptions",
    "ListOptions",
    "PatchOptions",
    "UpdateOptions",
    "WatchEvent",
];
/// Kinds that upstream knows in the version `v1` of no group.
const PLAIN: [&str; 5] = ["Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"];

/// Checks that an answer is a review of a version; one that does not say what it is is taken for one.
///
/// # Errors
/// The decoder's text for what is no review of this version.
fn is_review(version: &'static str, answer: &Value) -> Result<(), String> {
    let own = format!("{GROUP}/{version}");
    let or = |given: &str, usual: &str| if given.is_empty() { usual.to_owned() } else { given.to_owned() };
    let (api_version, kind) = (or(object::api_version(answer), &own), or(object::kind(answer), KIND));
    let of_group = matches!(api_version.strip_prefix(GROUP), Some("/v1" | "/v1beta1"));
    let kind_of = &*kind;
    if !(of_group && (kind == KIND || OTHERS.contains(&kind_of))
        || api_version == "v1" && PLAIN.contains(&kind_of))
    {
        return Err(format!(
            "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
            field::quote(&kind),
            field::quote(&api_version)
        ));
    }
    if kind == KIND {
        check_types(api_version.rsplit('/').next().unwrap_or_default(), answer)?;
    }
    if kind != KIND || api_version != own {
        let given = api_version.rsplit('/').next().unwrap_or_default();
        return Err(format!("converting ({given}.{kind}) to ({version}.{KIND}): unknown conversion"));
    }
    Ok(())
}

/// Checks the types of the members of an answer, in their order.
fn check_types(version: &str, answer: &Value) -> Result<(), String> {
    for (key, kind) in [("request", "ConversionRequest"), ("response", "ConversionResponse")] {
        if let Some(wrong) =
            answer.get(key).filter(|member| !member.is_null() && member.as_object().is_none())
        {
            return Err(typed::wrong(wrong, &format!("{KIND}.{key}"), &format!("{version}.{kind}")));
        }
    }
    for (key, value) in answer.at(&["response"]).and_then(Value::as_object).into_iter().flat_map(Map::iter) {
        let place = format!("ConversionResponse.response.{key}");
        match (key, value) {
            (_, Value::Null) | ("uid", Value::String(_)) | ("convertedObjects", Value::Array(_)) => {}
            ("uid", _) => return Err(typed::wrong(value, &place, "types.UID")),
            ("convertedObjects", _) => return Err(typed::wrong(value, &place, "[]runtime.RawExtension")),
            ("result", Value::Object(_)) => typed::status(value, "response.result")?,
            ("result", _) => return Err(typed::wrong(value, &place, "v1.Status")),
            _ => {}
        }
    }
    Ok(())
}

/// The objects of an answer.
///
/// # Errors
/// Why the answer is none, or what the webhook says went wrong.
pub(crate) fn converted(version: &'static str, uid: &str, mut answer: Value) -> Result<Vec<Value>, String> {
    is_review(version, &answer)?;
    // The older version never looked at what an answer says it is, nor at whom it is for.
    let strict = version == "v1";
    let given = Gvk::of(&answer).unwrap_or_else(|| {
        let (group, version) =
            object::api_version(&answer).split_once('/').unwrap_or(("", object::api_version(&answer)));
        Gvk::new(group, version, object::kind(&answer))
    });
    let expected = Gvk::new(GROUP, version, KIND);
    if strict && given != expected {
        return Err(format!("expected webhook response of {}, got {}", go(&expected), go(&given)));
    }
    let mut response =
        answer.take(&["response"]).filter(|response| !response.is_null()).ok_or("no response provided")?;
    let given = response.str_at(&["uid"]).unwrap_or_default();
    if strict && given != uid {
        return Err(format!("expected response.uid={}, got {}", field::quote(uid), field::quote(given)));
    }
    let status = response.str_at(&["result", "status"]).unwrap_or_default();
    if status != "Success" {
        let message = response.str_at(&["result", "message"]).unwrap_or_default();
        return Err(if message.is_empty() {
            format!("response.result.status was '{status}', not 'Success'")
        } else {
            message.to_owned()
        });
    }
    Ok(match response.take(&["convertedObjects"]) {
        Some(Value::Array(objects)) => objects.into_vec(),
        _ => Vec::new(),
    })
}

/// What is wrong with a converted object that is none; upstream tells it without a word of the webhook.
pub(crate) fn unreadable(converted: &Value) -> Option<String> {
    match converted {
        Value::Null => Some("unexpected end of JSON input".to_owned()),
        // A version that cannot be read is as good as no kind.
        Value::Object(_)
            if object::kind(converted).is_empty()
                || object::api_version(converted).matches('/').count() > 1 =>
        {
            Some(format!("Object 'Kind' is missing in '{}'", converted.to_json()))
        }
        Value::Object(_) => None,
        other => Some(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            intake::go_name(other)
        )),
    }
}

/// A group, version and kind as Go prints it.
pub(crate) fn go(gvk: &Gvk) -> String {
    let version =
        if gvk.group.is_empty() && gvk.version.is_empty() { "/".to_owned() } else { gvk.api_version() };
    format!("{version}, Kind={}", gvk.kind)
}

/// Takes over the converted object: it must be the same object in the desired version, and of its metadata only labels and
/// annotations may differ.
///
/// # Errors
/// How the message goes on after `conversion webhook for X returned `.
pub(crate) fn accept(original: &Value, mut converted: Value, desired: &str) -> Result<Value, String> {
    let wrong = |what: &str, expected: &str, given: &str| {
        Err(format!("invalid object at index 0: invalid {what} (expected {expected}, received {given})"))
    };
    let given = object::api_version(&converted);
    if given != desired {
        return wrong("groupVersion", desired, given);
    }
    let (kind, given) = (object::kind(original), object::kind(&converted));
    if kind != given {
        return wrong("kind", kind, given);
    }
    same_object(original, &converted).map_err(|why| format!("invalid object: {why}"))?;
    restore_metadata(original, &mut converted).map_err(|why| format!("invalid metadata: {why}"))?;
    Ok(converted)
}

fn same_object(original: &Value, converted: &Value) -> Result<(), String> {
    for (key, what) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let text = |value: &Value| value.str_at(&["metadata", key]).unwrap_or_default().to_owned();
        let (expected, given) = (text(original), text(converted));
        if expected != given {
            return Err(format!("must have the same {what}: {expected} != {given}"));
        }
    }
    Ok(())
}

/// Puts the metadata of the original in place of that of the converted object, which keeps its labels and annotations.
fn restore_metadata(original: &Value, converted: &mut Value) -> Result<(), String> {
    let mut given = match converted.take(&["metadata"]) {
        None => return Err("missing metadata in converted object".to_owned()),
        Some(given) if given.as_object().is_some() => given,
        Some(given) => {
            return Err(format!(
                "invalid metadata of type {} in converted object",
                go_print::type_name(&given)
            ));
        }
    };
    let mut metadata = original.get("metadata").cloned().unwrap_or_else(Value::object);
    for key in ["labels", "annotations"] {
        let Some(texts) = given.take(&[key]).filter(|texts| !texts.is_null()) else {
            metadata.take(&[key]);
            continue;
        };
        let Some(map) = texts.as_object() else {
            return Err(format!(
                "invalid metadata.{key} of type {} in converted object",
                go_print::type_name(&texts)
            ));
        };
        for (name, value) in map.iter() {
            if value.as_str().is_none() {
                let found = go_print::type_name(value);
                return Err(format!(
                    "metadata.{key}[{name}] must be a string, but is {found} in converted object"
                ));
            }
        }
        if metadata.get(key) != Some(&texts) {
            check(key, map)?;
        }
        metadata.set(&[key], texts);
    }
    converted.set(&["metadata"], metadata);
    Ok(())
}

fn check(key: &str, map: &Map) -> Result<(), String> {
    let path = Path::new("metadata");
    let mut errors = Vec::new();
    if key == "labels" {
        metadata::labels(Some(map), &path.child("labels"), &mut errors);
    } else {
        // The field is named so upstream.
        metadata::annotations(Some(map), &path.child("annotation"), &mut errors);
    }
    match errors.as_slice() {
        [] => Ok(()),
        [one] => Err(one.to_string()),
        many => {
            let texts: Vec<String> = many.iter().map(ToString::to_string).collect();
            Err(format!("[{}]", texts.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widget(version: &str) -> Value {
        json!({
            "apiVersion": format!("demo.io/{version}"), "kind": "Widget",
            "metadata": {"name": "a", "namespace": "n", "uid": "u", "labels": {"x": "1"}, "generation": 3},
        })
    }

    fn taken(change: impl FnOnce(&mut Value)) -> Result<Value, String> {
        let mut converted = widget("v2");
        change(&mut converted);
        accept(&widget("v1"), converted, "demo.io/v2")
    }

    #[test]
    fn labels_and_annotations_are_taken_over_and_nothing_else_of_metadata() {
        let value = taken(|value| {
            value.set(&["metadata", "labels"], json!({"y": "2"}));
            value.set(&["metadata", "annotations"], json!({"z": "3"}));
            value.set(&["metadata", "generation"], 9);
            value.set(&["metadata", "finalizers"], json!(["demo.io/x"]));
        });
        let expected = json!({
            "name": "a", "namespace": "n", "uid": "u", "labels": {"y": "2"}, "annotations": {"z": "3"}, "generation": 3,
        });
        assert_eq!(value.unwrap().get("metadata"), Some(&expected));
    }

    #[test]
    fn another_object_is_refused() {
        let refused = |path: &[&str], value: &str| taken(|one| one.set(path, value)).unwrap_err();
        assert_eq!(refused(&["metadata", "name"], "b"), "invalid object: must have the same name: a != b");
        assert_eq!(refused(&["metadata", "uid"], "v"), "invalid object: must have the same UID: u != v");
        assert_eq!(
            refused(&["kind"], "Other"),
            "invalid object at index 0: invalid kind (expected Widget, received Other)"
        );
        assert_eq!(
            refused(&["apiVersion"], "demo.io/v3"),
            "invalid object at index 0: invalid groupVersion (expected demo.io/v2, received demo.io/v3)"
        );
    }

    #[test]
    fn metadata_that_cannot_be_read_is_refused() {
        assert_eq!(
            taken(|value| drop(value.take(&["metadata"]))).unwrap_err(),
            "invalid object: must have the same name: a != "
        );
        assert_eq!(
            taken(|value| value.set(&["metadata", "labels"], json!([]))).unwrap_err(),
            "invalid metadata: invalid metadata.labels of type []interface {} in converted object"
        );
        assert_eq!(
            taken(|value| value.set(&["metadata", "labels"], json!({"x": 1}))).unwrap_err(),
            "invalid metadata: metadata.labels[x] must be a string, but is int64 in converted object"
        );
        let text = taken(|value| value.set(&["metadata", "labels"], json!({"x": "a b"}))).unwrap_err();
        assert!(
            text.starts_with("invalid metadata: metadata.labels: Invalid value: \"a b\": a valid label"),
            "{text}"
        );
    }

    #[test]
    fn an_answer_to_another_question_is_refused() {
        let answer = |version: &str, uid: &str| {
            json!({
                "apiVersion": format!("apiextensions.k8s.io/{version}"), "kind": "ConversionReview",
                "response": {"uid": uid, "result": {"status": "Success"}, "convertedObjects": [1]},
            })
        };
        assert_eq!(converted("v1", "a", answer("v1", "a")).unwrap(), [Value::from(1)]);
        assert_eq!(
            converted("v1", "a", answer("v1", "b")).unwrap_err(),
            "expected response.uid=\"a\", got \"b\""
        );
        assert_eq!(
            converted("v1", "a", answer("v1beta1", "a")).unwrap_err(),
            "converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion"
        );
        assert!(converted("v1beta1", "a", answer("v1beta1", "b")).is_ok(), "the older version does not look");
        let mut failed = answer("v1", "a");
        failed.set(&["response", "result"], json!({"status": "Failed", "message": "no way"}));
        assert_eq!(converted("v1", "a", failed.clone()).unwrap_err(), "no way");
        failed.take(&["response", "result", "message"]);
        assert_eq!(
            converted("v1", "a", failed.clone()).unwrap_err(),
            "response.result.status was 'Failed', not 'Success'"
        );
        failed.take(&["response"]);
        assert_eq!(converted("v1", "a", failed).unwrap_err(), "no response provided");
    }
}
