//! `AuthorizationConfiguration`: modes with names, in a file, as in `--authorization-config`.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Value, names, object, parse};

use super::matching::Conditions;
use super::{Mode, NamedMode, WebhookAuthorizer};
use crate::request::duration;

const VERSIONS: [&str; 3] =
    ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"];
const LONGEST: Duration = Duration::from_secs(30);

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigurationError(String);

/// Reads a configuration, in YAML or JSON, and the kubeconfigs that it names.
///
/// # Errors
/// With everything in it that makes no sense.
pub fn read_configuration(text: &str) -> Result<Vec<NamedMode>, ConfigurationError> {
    let document = parse::yaml(text).map_err(|error| ConfigurationError(error.to_string()))?.value;
    let (version, kind) = (object::api_version(&document), object::kind(&document));
    if kind != "AuthorizationConfiguration" || !VERSIONS.contains(&version) {
        return Err(ConfigurationError(format!(
            "no kind {kind:?} is registered for version {version:?}; hint: kind: AuthorizationConfiguration, apiVersion: {}",
            VERSIONS[0]
        )));
    }
    let path = Path::new("authorizers");
    let (mut modes, mut errors) = (Vec::new(), Vec::new());
    let (mut types, mut seen) = (HashSet::new(), HashSet::new());
    let given = document.items_at(&["authorizers"]);
    if given.is_empty() {
        errors.push(Error::required(&path, "at least one authorization mode must be defined"));
    }
    for (index, authorizer) in given.iter().enumerate() {
        let path = path.index(index);
        let text = |field: &str| authorizer.str_at(&[field]).unwrap_or_default();
        let (kind, name) = (text("type"), text("name"));
        let mode = match kind {
            "" => {
                errors.push(Error::required(&path.child("type"), ""));
                continue;
            }
            "AlwaysAllow" => Some(Mode::AlwaysAllow),
            "AlwaysDeny" => Some(Mode::AlwaysDeny),
            "RBAC" => Some(Mode::Rbac),
            "Node" => Some(Mode::Node),
            "Webhook" => None,
            // Upstream takes ABAC only from flags.
            _ => {
                let known = ["AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"];
                errors.push(Error::unsupported(&path.child("type"), kind, known));
                continue;
            }
        };
        if !types.insert(kind) && kind != "Webhook" {
            errors.push(Error::duplicate(&path.child("type"), kind));
            continue;
        }
        let wrong = names::dns1123_subdomain(name);
        if name.is_empty() {
            errors.push(Error::required(&path.child("name"), ""));
        } else if seen.contains(name) {
            errors.push(Error::duplicate(&path.child("name"), name));
        } else if !wrong.is_empty() {
            let why = format!("authorizer name is invalid: {}", wrong.join(", "));
            errors.push(Error::invalid(&path.child("name"), name, why));
        }
        seen.insert(name);
        let webhook = authorizer.get("webhook").filter(|webhook| !webhook.is_null());
        let mode = match (mode, webhook) {
            (Some(mode), None) => Some(mode),
            (Some(_), Some(_)) => {
                let why = "may only be specified when type=Webhook";
                errors.push(Error::invalid(&path.child("webhook"), "non-null", why));
                None
            }
            (None, None) => {
                errors.push(Error::required(&path.child("webhook"), "required when type=Webhook"));
                None
            }
            (None, Some(webhook)) => read_webhook(webhook, &path, &mut errors).map(Mode::Webhook),
        };
        modes.extend(mode.map(|mode| NamedMode { name: name.to_owned(), mode }));
    }
    match errors.as_slice() {
        [] => Ok(modes),
        [one] => Err(ConfigurationError(one.to_string())),
        many => {
            let texts: Vec<String> = many.iter().map(ToString::to_string).collect();
            Err(ConfigurationError(format!("[{}]", texts.join(", "))))
        }
    }
}

fn read_webhook(webhook: &Value, path: &Path, errors: &mut Vec<Error>) -> Option<Arc<WebhookAuthorizer>> {
    let before = errors.len();
    let text = |field: &str| webhook.str_at(&[field]).unwrap_or_default();
    let mut time = |field: &str, default: Option<Duration>| {
        let given = text(field);
        if given.is_empty() && default.is_some() {
            return default;
        }
        match duration::parse(given) {
            _ if given.is_empty() => {
                errors.push(Error::required(&path.child(field), ""));
                None
            }
            Ok(time) if time.is_zero() => default.or_else(|| {
                errors.push(Error::required(&path.child(field), ""));
                None
            }),
            Ok(time) => Some(time),
            Err(why) => {
                errors.push(Error::invalid(&path.child(field), given, why));
                None
            }
        }
    };
    let timeout = time("timeout", None);
    let mut allow_for = time("authorizedTTL", Some(Duration::from_secs(300)));
    let mut deny_for = time("unauthorizedTTL", Some(LONGEST));
    if timeout.is_some_and(|timeout| timeout > LONGEST) {
        errors.push(Error::invalid(&path.child("timeout"), text("timeout"), "must be > 0s and <= 30s"));
    }
    let keeps = |field: &str| webhook.get(field).and_then(Value::as_bool) != Some(false);
    allow_for = allow_for.filter(|_| keeps("cacheAuthorizedRequests")).or(Some(Duration::ZERO));
    deny_for = deny_for.filter(|_| keeps("cacheUnauthorizedRequests")).or(Some(Duration::ZERO));
    let mut one_of = |field: &str, known: &[&'static str], needed: Option<&str>| match text(field) {
        "" => errors.extend(needed.map(|why| Error::required(&path.child(field), why))),
        given if known.contains(&given) => {}
        given => errors.push(Error::unsupported(&path.child(field), given, known.iter().copied())),
    };
    let conditions = webhook.items_at(&["matchConditions"]);
    one_of("subjectAccessReviewVersion", &["v1", "v1beta1"], Some(""));
    let needed = (!conditions.is_empty()).then_some("required if match conditions are specified");
    one_of("matchConditionSubjectAccessReviewVersion", &["v1"], needed);
    one_of("failurePolicy", &["NoOpinion", "Deny"], Some(""));
    let place = path.child("connectionInfo");
    let connection = |field: &str| webhook.str_at(&["connectionInfo", field]).unwrap_or_default();
    let file = connection("kubeConfigFile");
    match connection("type") {
        "" => errors.push(Error::required(&place.child("type"), "")),
        "KubeConfigFile" if file.is_empty() => {
            errors.push(Error::required(&place.child("kubeConfigFile"), ""));
        }
        "KubeConfigFile" if !file.starts_with('/') => {
            errors.push(Error::invalid(&place.child("kubeConfigFile"), file, "must be an absolute path"));
        }
        "KubeConfigFile" => {}
        // There is no cluster around this server whose credentials it could use.
        other => errors.push(Error::unsupported(&place.child("type"), other, ["KubeConfigFile"])),
    }
    let conditions = match Conditions::compile(conditions, path) {
        Ok(conditions) => conditions,
        Err(wrong) => {
            errors.extend(wrong);
            return None;
        }
    };
    if errors.len() > before {
        return None;
    }
    let version = text("subjectAccessReviewVersion");
    let (allow_for, deny_for) = (allow_for.unwrap_or_default(), deny_for.unwrap_or_default());
    match WebhookAuthorizer::new(file, version, allow_for, deny_for) {
        Ok(made) => {
            let made = made.timeout(timeout.unwrap_or(LONGEST)).with_conditions(conditions);
            let denies = text("failurePolicy") == "Deny";
            Some(Arc::new(if denies { made.deny_on_failure() } else { made }))
        }
        Err(why) => {
            errors.push(Error::invalid(&place.child("kubeConfigFile"), file, why.to_string()));
            None
        }
    }
}
