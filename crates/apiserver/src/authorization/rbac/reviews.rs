//! The reviews of `authorization.k8s.io`: who may do what, asked through the API. Nothing is stored; a request document
//! becomes an answer document.

use super::{Attributes, Authorizer, Rule, selectors};
use crate::authentication::user::User;
use pilothouse_schema::builtin;
use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Map, Status, Value, json};
use std::collections::BTreeMap;

const GROUP: &str = "authorization.k8s.io";
const ONE_OF: &str = "exactly one of nonResourceAttributes or resourceAttributes must be specified";

/// Answers a `SubjectAccessReview`: may the user it names?
///
/// # Errors
/// 422 for a review that asks for nothing, or for nobody.
pub async fn subject_access_review(authorizer: &Authorizer, review: Value) -> Result<Value, Status> {
    let mut errors: Vec<Error> = check_union(&review).into_iter().chain(check_subject(&review)).collect();
    errors.extend(selectors::check(&review));
    errors.extend(check_metadata(&review, &[]));
    refuse(&errors)?;
    let user = subject(&review);
    Ok(answer(authorizer, &user, review).await)
}

/// Answers a `LocalSubjectAccessReview`: may the user it names, in this namespace?
///
/// # Errors
/// 422 as for the other reviews, and if it asks for another namespace or for no resource.
pub async fn local_subject_access_review(authorizer: &Authorizer, review: Value) -> Result<Value, Status> {
    let spec = Path::new("spec");
    let mut errors: Vec<Error> = check_union(&review).into_iter().chain(check_subject(&review)).collect();
    errors.extend(selectors::check(&review));
    errors.extend(check_metadata(&review, &["namespace"]));
    let namespace = review.str_at(&["metadata", "namespace"]).unwrap_or_default();
    if let Some(asked) = review.at(&["spec", "resourceAttributes"]) {
        let asked = asked.str_at(&["namespace"]).unwrap_or_default();
        if asked != namespace {
            let path = spec.child("resourceAttributes").child("namespace");
            errors.push(Error::invalid(&path, asked, "must match metadata.namespace"));
        }
    }
    if let Some(path) = review.at(&["spec", "nonResourceAttributes"]).filter(|path| !path.is_null()) {
        let at = spec.child("nonResourceAttributes");
        errors.push(Error::invalid(&at, printed(path), "disallowed on this kind of request"));
    }
    refuse(&errors)?;
    let user = subject(&review);
    Ok(answer(authorizer, &user, review).await)
}

/// Answers a `SelfSubjectAccessReview`: may the caller? (`kubectl auth can-i`)
///
/// # Errors
/// 422 for a review that asks for nothing.
pub async fn self_subject_access_review(
    authorizer: &Authorizer,
    user: &User,
    review: Value,
) -> Result<Value, Status> {
    let mut errors: Vec<Error> = check_union(&review).into_iter().collect();
    errors.extend(selectors::check(&review));
    errors.extend(check_metadata(&review, &[]));
    refuse(&errors)?;
    Ok(answer(authorizer, user, review).await)
}

/// Answers a `SelfSubjectRulesReview`: what may the caller in a namespace? (`kubectl auth can-i --list`)
///
/// # Errors
/// 400 without a namespace.
pub fn self_subject_rules_review(
    authorizer: &Authorizer,
    user: &User,
    review: &Value,
) -> Result<Value, Status> {
    let namespace = review.str_at(&["spec", "namespace"]).unwrap_or_default();
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let (rules, missing, incomplete) = authorizer.permissions(user, namespace);
    let (resources, urls): (Vec<&Rule>, Vec<&Rule>) = rules.iter().partition(|rule| rule.urls.is_empty());
    let resources = resources.into_iter().map(|rule| {
        words([
            ("verbs", &rule.verbs),
            ("apiGroups", &rule.groups),
            ("resources", &rule.resources),
            ("resourceNames", &rule.names),
        ])
    });
    let urls = urls.into_iter().map(|rule| words([("verbs", &rule.verbs), ("nonResourceURLs", &rule.urls)]));
    let mut status = Map::new();
    status.insert("resourceRules", resources.collect::<Value>());
    status.insert("nonResourceRules", urls.collect::<Value>());
    // Upstream says so only where an authorizer cannot list its rules at all.
    status.insert("incomplete", incomplete);
    if !missing.is_empty() {
        let one = missing.len() == 1 || !incomplete;
        let text = missing.join(", ");
        status.insert("evaluationError", if one { text } else { format!("[{text}]") });
    }
    let mut answer = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "metadata": {},
        // Upstream answers with an empty spec.
        "spec": {},
    });
    answer.set(&["status"], Value::Object(status));
    Ok(answer)
}

fn words<const N: usize>(fields: [(&str, &Vec<String>); N]) -> Value {
    let fields = fields.into_iter().filter(|(name, words)| *name == "verbs" || !words.is_empty());
    Value::Object(fields.map(|(name, words)| (name, Value::from(words.clone()))).collect())
}

fn refuse(errors: &[Error]) -> Result<(), Status> {
    // Upstream does not name the kind: the field that it reads is empty by then.
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid(GROUP, "", "", errors)) }
}

fn check_metadata(review: &Value, allowed: &[&str]) -> Option<Error> {
    let metadata = review.get("metadata")?;
    let fields = metadata.as_object()?;
    let is_set = |key: &str, value: &Value| {
        !value.is_null() && value.as_str() != Some("") && key != "managedFields" && !allowed.contains(&key)
    };
    let text = if allowed.is_empty() { "must be empty" } else { "must be empty except for namespace" };
    let set = fields.iter().any(|(key, value)| is_set(key, value));
    let shown = || builtin::metadata_json(metadata);
    set.then(|| Error::invalid(&Path::new("metadata"), Value::Null, text).showing(shown()))
}

fn check_union(review: &Value) -> Option<Error> {
    let given = |field: &str| review.at(&["spec", field]).filter(|value| !value.is_null());
    let (resource, path) = (given("resourceAttributes"), given("nonResourceAttributes"));
    (resource.is_some() == path.is_some())
        .then(|| Error::invalid(&Path::new("spec"), path.map(printed).unwrap_or_default(), ONE_OF))
}

/// A path as upstream's messages print it: with the names of the fields in Go.
fn printed(path: &Value) -> Value {
    let text = |field: &str| path.str_at(&[field]).unwrap_or_default();
    json!({"Path": text("path"), "Verb": text("verb")})
}

fn check_subject(review: &Value) -> Option<Error> {
    let user = review.str_at(&["spec", "user"]).unwrap_or_default();
    let is_missing = user.is_empty() && review.items_at(&["spec", "groups"]).is_empty();
    is_missing.then(|| {
        Error::invalid(
            &Path::new("spec").child("user"),
            user,
            "at least one of user or group must be specified",
        )
    })
}

fn subject(review: &Value) -> User {
    let strings = |value: &Value| {
        let strings = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        strings.map(str::to_owned).collect::<Vec<_>>()
    };
    let extra = review.at(&["spec", "extra"]).and_then(Value::as_object);
    let extra: BTreeMap<String, Vec<String>> = extra
        .into_iter()
        .flat_map(Map::iter)
        .map(|(key, values)| (key.to_lowercase(), strings(values)))
        .collect();
    User {
        name: review.str_at(&["spec", "user"]).unwrap_or_default().to_owned(),
        uid: review.str_at(&["spec", "uid"]).unwrap_or_default().to_owned(),
        groups: review.at(&["spec", "groups"]).map(strings).unwrap_or_default(),
        extra,
    }
}

async fn answer(authorizer: &Authorizer, user: &User, mut review: Value) -> Value {
    let resource = review.at(&["spec", "resourceAttributes"]).filter(|value| !value.is_null());
    let path = review.at(&["spec", "nonResourceAttributes"]);
    let text = |of: &'static str| resource.or(path).and_then(|asked| asked.str_at(&[of])).unwrap_or_default();
    let [fields, labels] =
        ["fieldSelector", "labelSelector"].map(|kind| selectors::text(&review, kind).unwrap_or_default());
    let decision = authorizer
        .authorize_async(&Attributes {
            user,
            verb: text("verb"),
            group: text("group"),
            // A review that names no version asks about all of them.
            version: match text("version") {
                "" if resource.is_some() => "*",
                version => version,
            },
            resource: text("resource"),
            subresource: text("subresource"),
            name: text("name"),
            namespace: text("namespace"),
            path: text("path"),
            field_selector: &fields,
            label_selector: &labels,
            is_resource: resource.is_some(),
        })
        .await;
    let mut status = Map::new();
    status.insert("allowed", decision.allowed);
    if decision.denied {
        status.insert("denied", true);
    }
    if !decision.reason.is_empty() {
        status.insert("reason", &*decision.reason);
    }
    let unread = selectors::evaluation_error(&review);
    let errors: Vec<&str> = decision
        .error
        .as_deref()
        .into_iter()
        .chain(Some(unread.as_str()).filter(|text| !text.is_empty()))
        .collect();
    if !errors.is_empty() {
        status.insert("evaluationError", errors.join("; "));
    }
    review.set(&["status"], Value::Object(status));
    review
}
