//! The rules of built-in kinds that no type says: what must be there, which values exist, what may not change
//! (upstream: pkg/apis/*/validation). The ones that users meet are here, with upstream's texts; the metadata that
//! all objects have is not, because it follows the same rules for custom resources.

mod addresses;
mod autoscaler;
mod certificates;
mod container_statuses;
mod containers;
mod control;
mod core;
mod device_claims;
mod devices;
mod environment;
mod events;
mod jobs;
mod mounts;
mod network;
mod nodes;
mod other;
mod pod;
mod pod_update;
mod policies;
mod probes;
mod profiles;
mod quotas;
mod resources;
mod schedule;
mod scheduling;
mod security;
mod services;
mod sources;
mod status;
mod storage;
mod storage_drivers;
mod volumes;
mod webhooks;
mod workloads;

pub use policies::{CompilePolicy, PolicyExpression, PolicyRole, validate_policy};
pub use services::validate_cluster_ips;
pub use webhooks::{CompileCondition, ConditionProblem, validate_webhooks};

use std::ops::{Deref, DerefMut};

use pilothouse_value::field::{Error, Path, Shown};
use pilothouse_value::stack::deeper;
use pilothouse_value::{Gvk, Map, Value, names};

use super::{autoscalers, go};

/// What the cluster lets pods do, beyond what the rules of their kind say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether containers may be privileged, and processes of a Windows host (`--allow-privileged`). Default: yes.
    pub privileged: bool,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy { privileged: true }
    }
}

/// Finds what is wrong with an object that is created (`old` is `None`) or replaced. It must have been read, defaulted
/// and prepared. Of kinds without rules nothing is wrong. The expressions of webhook configurations and of admission policies are
/// not looked at here; see [`validate_webhooks`] and [`validate_policy`].
pub fn validate(gvk: &Gvk, object: &Value, old: Option<&Value>, policy: Policy) -> Vec<Error> {
    validate_with(gvk, object, old, Errors::under(policy))
}

/// As [`validate`], with errors that show values as they were given: there a list that is empty differs from one that is
/// not there. `given` is the document before it was read.
pub fn validate_as_given(
    gvk: &Gvk,
    object: &Value,
    old: Option<&Value>,
    policy: Policy,
    given: &Value,
) -> Vec<Error> {
    validate_with(gvk, object, old, Errors::under(policy).showing(object, given))
}

fn validate_with(gvk: &Gvk, object: &Value, old: Option<&Value>, mut errors: Errors) -> Vec<Error> {
    if autoscalers::is_first(gvk) {
        let convert = |autoscaler: &Value| autoscalers::convert_autoscaler(autoscaler, "autoscaling/v2");
        return validate_with(&autoscalers::second(), &convert(object), old.map(convert).as_ref(), errors);
    }
    let (at, errors_ref) = (At::root(object), &mut errors);
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Pod") => pod::pod(&at, old, errors_ref),
        ("", "PodTemplate") => pod::template(&at.child("template"), errors_ref),
        ("", "Service") => services::service(&at, old, errors_ref),
        ("", "Secret") => core::secret(&at, old, errors_ref),
        ("", "ConfigMap") => core::config_map(&at, old, errors_ref),
        ("", "PersistentVolumeClaim") => storage::claim(&at, old, errors_ref),
        ("", "PersistentVolume") => storage::volume(&at, old, errors_ref),
        ("", "Event") => events::event(&at, false, old, errors_ref),
        ("events.k8s.io", "Event") => events::event(&at, true, old, errors_ref),
        ("", "Endpoints") => addresses::endpoints(&at, old, errors_ref),
        ("discovery.k8s.io", "EndpointSlice") => addresses::slice(&at, old, errors_ref),
        ("", "Node") => nodes::node(&at, old, errors_ref),
        ("", "Namespace") => core::namespace(&at, errors_ref),
        ("", "LimitRange") => quotas::limit_range(&at, errors_ref),
        ("", "ResourceQuota") => quotas::quota(&at, old, errors_ref),
        ("networking.k8s.io", "IngressClass") => network::ingress_class(&at, old, errors_ref),
        ("networking.k8s.io", "IPAddress") => network::ip_address(&at, old, errors_ref),
        ("networking.k8s.io", "ServiceCIDR") => network::service_cidr(&at, old, errors_ref),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => control::flow_schema(&at, errors_ref),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => {
            control::priority_level(&at, errors_ref)
        }
        ("apiregistration.k8s.io", "APIService") => control::api_service(&at, errors_ref),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy") => {
            let mutates = gvk.kind == "MutatingAdmissionPolicy";
            errors_ref.0.extend(validate_policy(object, mutates, old, None, &mut |_| None));
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => {
            policies::binding(&at, errors_ref);
        }
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding") => {
            policies::mutating_binding(&at, errors_ref);
        }
        ("resource.k8s.io", "DeviceClass") => device_claims::class(&at, old, errors_ref),
        ("resource.k8s.io", "ResourceClaim") => device_claims::claim(&at, false, old, errors_ref),
        ("resource.k8s.io", "ResourceClaimTemplate") => device_claims::claim(&at, true, old, errors_ref),
        ("resource.k8s.io", "ResourceSlice") => devices::slice(&at, old, errors_ref),
        ("", "ReplicationController") => workloads::replication_controller(&at, errors_ref),
        ("apps", "Deployment") => workloads::deployment(&at, old, errors_ref),
        ("apps", "ReplicaSet") => workloads::replica_set(&at, old, errors_ref),
        ("apps", "DaemonSet") => workloads::daemon_set(&at, old, errors_ref),
        ("apps", "StatefulSet") => workloads::stateful_set(&at, old, errors_ref),
        ("apps", "ControllerRevision") => workloads::controller_revision(&at, old, errors_ref),
        ("batch", "Job") => jobs::job(&at, old, errors_ref),
        ("batch", "CronJob") => jobs::cron_job(&at, old, errors_ref),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaler::autoscaler(&at, errors_ref),
        ("policy", "PodDisruptionBudget") => other::disruption_budget(&at, errors_ref),
        ("rbac.authorization.k8s.io", "Role") => other::role(&at, true, errors_ref),
        ("rbac.authorization.k8s.io", "ClusterRole") => other::role(&at, false, errors_ref),
        ("rbac.authorization.k8s.io", "RoleBinding") => other::binding(&at, old, true, errors_ref),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding") => other::binding(&at, old, false, errors_ref),
        ("networking.k8s.io", "Ingress") => network::ingress(&at, old, errors_ref),
        ("networking.k8s.io", "NetworkPolicy") => network::policy(&at, old, errors_ref),
        ("coordination.k8s.io", "Lease") => other::lease(&at, errors_ref),
        ("storage.k8s.io", "StorageClass") => storage::class(&at, old, errors_ref),
        ("storage.k8s.io", "VolumeAttachment") => storage_drivers::attachment(&at, old, errors_ref),
        ("storage.k8s.io", "CSIDriver") => storage_drivers::driver(&at, old, errors_ref),
        ("storage.k8s.io", "CSINode") => storage_drivers::node(&at, old, errors_ref),
        ("storage.k8s.io", "CSIStorageCapacity") => storage_drivers::capacity(&at, old, errors_ref),
        ("storage.k8s.io", "VolumeAttributesClass") => {
            storage_drivers::attributes_class(&at, old, errors_ref)
        }
        ("certificates.k8s.io", "CertificateSigningRequest") => certificates::request(&at, old, errors_ref),
        ("node.k8s.io", "RuntimeClass") => other::runtime_class(&at, old, errors_ref),
        ("scheduling.k8s.io", "PriorityClass") => other::priority_class(&at, old, errors_ref),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => errors_ref.0.extend(validate_webhooks(object, old, &|_, _| None)),
        _ => {}
    }
    errors.0.errors
}

/// Finds what is wrong with an update through a subresource (`status`, `ephemeralcontainers`, …). Of subresources
/// without rules nothing is wrong.
pub fn validate_subresource(
    gvk: &Gvk,
    subresource: &str,
    object: &Value,
    old: &Value,
    policy: Policy,
) -> Vec<Error> {
    if autoscalers::is_first(gvk) {
        let convert = |autoscaler: &Value| autoscalers::convert_autoscaler(autoscaler, "autoscaling/v2");
        return validate_subresource(
            &autoscalers::second(),
            subresource,
            &convert(object),
            &convert(old),
            policy,
        );
    }
    let mut errors = Errors::under(policy);
    let (at, errors_ref) = (At::root(object), &mut errors);
    match (gvk.group.as_str(), gvk.kind.as_str(), subresource) {
        ("", "Pod", "status") => pod_update::status(&at, old, errors_ref),
        ("", "Pod", "ephemeralcontainers") => pod_update::ephemeral_containers(&at, old, errors_ref),
        ("", "Pod", "resize") => pod_update::resize(&at, old, errors_ref),
        ("certificates.k8s.io", "CertificateSigningRequest", "approval") => {
            certificates::status(&at, old, true, errors_ref);
        }
        ("", "Namespace", "finalize") => core::finalize(&at, errors_ref),
        (_, _, "status") => status::validate(gvk, &at, old, errors_ref),
        _ => {}
    }
    errors.0.errors
}

/// Finds what is wrong with a binding of a pod to a node.
pub fn validate_binding(binding: &Value) -> Vec<Error> {
    let mut errors = Errors::default();
    pod_update::binding(&At::root(binding), &mut errors);
    errors.0.errors
}

/// How much text all errors of one object may take, in bytes: each may show much, and there may be one for each item of a list.
const MOST_TOLD: usize = 8 << 20;

/// The errors that were found so far. It is used like the list that it holds, and takes no more when it is full.
#[derive(Debug, Default)]
struct Found {
    errors: Vec<Error>,
    told: usize,
}

impl Found {
    fn push(&mut self, error: Error) {
        if self.told > MOST_TOLD {
            return;
        }
        let shown = match &error.shown {
            Shown::Text(text) => text.len(),
            _ => error.value.as_str().map_or(0, str::len),
        };
        self.told += error.detail.len() + error.path.as_str().len() + shown;
        self.errors.push(error);
    }

    fn extend(&mut self, errors: impl IntoIterator<Item = Error>) {
        errors.into_iter().for_each(|error| self.push(error));
    }
}

impl Deref for Found {
    type Target = Vec<Error>;

    fn deref(&self) -> &Vec<Error> {
        &self.errors
    }
}

impl DerefMut for Found {
    fn deref_mut(&mut self) -> &mut Vec<Error> {
        &mut self.errors
    }
}

/// What was found so far; the object with the empty lists that its author gave, if errors are to show them; and what pods may.
#[derive(Debug, Default)]
struct Errors(Found, Option<Box<Value>>, Policy);

impl Errors {
    fn under(policy: Policy) -> Self {
        Self(Found::default(), None, policy)
    }

    fn showing(self, object: &Value, given: &Value) -> Self {
        let mut shown = object.clone();
        put_back_empty(&mut shown, given);
        Self(self.0, Some(Box::new(shown)), self.2)
    }

    /// What stands at a path as it was given; `None` if that is not known.
    fn as_given(&self, path: &Path) -> Option<&Value> {
        let mut value = &**self.1.as_ref()?;
        for part in path.as_str().split(['.', '[']) {
            let part = part.trim_end_matches(']');
            value = match value {
                Value::Array(items) => items.get(part.parse::<usize>().ok()?)?,
                other => other.get(part)?,
            };
        }
        Some(value)
    }

    /// The value, or the empty one that was given in its place.
    fn or_as_given(&self, path: &Path, value: Value) -> Value {
        match self.as_given(path).filter(|_| value.is_null()) {
            Some(Value::Array(items)) if items.is_empty() => Value::Array(Vec::new().into()),
            _ => value,
        }
    }

    /// The struct at a path as it was given.
    fn struct_as_given<'a>(&'a self, path: &Path, value: &'a Value) -> &'a Value {
        let given = self.as_given(path);
        given.filter(|given| given.as_array().is_some() == value.as_array().is_some()).unwrap_or(value)
    }

    fn required(&mut self, path: &Path, detail: &str) {
        self.0.push(Error::required(path, detail));
    }

    fn invalid(&mut self, path: &Path, value: impl Into<Value>, detail: impl Into<String>) {
        let value = self.or_as_given(path, value.into());
        self.0.push(Error::invalid(path, value, detail));
    }

    fn forbidden(&mut self, path: &Path, detail: impl Into<String>) {
        self.0.push(Error::forbidden(path, detail));
    }

    /// The value is malformed, and is shown as the Go struct of this name.
    fn shown(&mut self, path: &Path, name: &str, value: &Value, detail: &str) {
        let shown = go::show(name, self.struct_as_given(path, value));
        self.0.push(Error::invalid(path, Value::Null, detail).showing(shown));
    }

    /// The value is malformed, and is shown in this form (`[]@core.PodIP`).
    fn shown_form(&mut self, path: &Path, form: &str, value: &Value, detail: &str) {
        let shown = go::show_form(form, self.struct_as_given(path, value));
        self.0.push(Error::invalid(path, Value::Null, detail).showing(shown));
    }

    /// Malformed, and upstream shows no value.
    fn invalid_without_value(&mut self, path: &Path, detail: &str) {
        self.0.push(Error::invalid(path, Value::Null, detail).without_value());
    }

    /// One error for each complaint about a name.
    fn complaints(&mut self, path: &Path, value: &str, complaints: Vec<String>) {
        self.0.extend(complaints.into_iter().map(|complaint| Error::invalid(path, value, complaint)));
    }

    /// The field must be one of some words; an empty one is required, if it must be there.
    fn one_of(&mut self, at: &At<'_>, field: &str, words: &[&str], required: bool) {
        match at.text(field) {
            "" if required => self.required(&at.path.child(field), ""),
            // Nothing, unless it is given: a pointer of Go can point to an empty word.
            "" if at.find(field).is_none() => {}
            word if words.contains(&word) => {}
            word => self.unsupported(&at.path.child(field), word, words),
        }
    }

    /// The field must be one of some words; an empty one is none of them.
    fn one_of_all(&mut self, at: &At<'_>, field: &str, words: &[&str]) {
        if !words.contains(&at.text(field)) {
            self.unsupported(&at.path.child(field), at.text(field), words);
        }
    }

    fn unsupported(&mut self, path: &Path, value: impl Into<Value>, words: &[&str]) {
        let value = self.or_as_given(path, value.into());
        self.0.push(Error::unsupported(path, value, words.iter().copied()));
    }

    /// The field must be one of some words, and is shown as the Go struct that holds it.
    fn unsupported_struct(&mut self, at: &At<'_>, name: &str, words: &[&str]) {
        let error = Error::unsupported(&at.path, Value::Null, words.iter().copied());
        self.0.push(error.showing(go::show(name, at.value)));
    }

    fn not_negative(&mut self, at: &At<'_>, fields: &[&str]) {
        for field in fields {
            if let Some(number) = at.int(field).filter(|number| *number < 0) {
                self.invalid(&at.path.child(field), number, NOT_NEGATIVE);
            }
        }
    }

    fn not_negative_integers(&mut self, at: &At<'_>, fields: &[&str]) {
        for field in fields {
            if let Some(number) = at.int(field).filter(|number| *number < 0) {
                self.invalid(&at.path.child(field), number, "must be a non-negative integer");
            }
        }
    }

    /// The field, which is shown as the Go struct of this name, may not change.
    fn immutable_struct(&mut self, at: &At<'_>, old: &Value, field: &str, name: &str) {
        let (new, before) = (at.child(field), old.get(field).unwrap_or(&Value::Null));
        if new.value == before {
            return;
        }
        if new.value.is_null() {
            self.invalid(&new.path, Value::Null, IMMUTABLE);
        } else {
            self.shown(&new.path, name, new.value, IMMUTABLE);
        }
    }

    /// The field may not change.
    fn immutable(&mut self, at: &At<'_>, old: &Value, field: &str) {
        let get = |object: &Value| object.get(field).filter(|value| !value.is_null()).cloned();
        let (new, old) = (get(at.value), get(old));
        if new != old && field == "selector" && new.as_ref().is_some_and(|new| new.as_object().is_some()) {
            self.shown(&at.path.child(field), "v1.LabelSelector", at.child(field).value, IMMUTABLE);
        } else if new != old {
            self.invalid(&at.path.child(field), new.unwrap_or_default(), IMMUTABLE);
        }
    }
}

/// Puts the empty lists and maps of the document that was given back into the one that was read from it.
fn put_back_empty(read: &mut Value, given: &Value) {
    match (read, given) {
        (Value::Object(read), Value::Object(given)) => {
            for (key, given) in given.iter() {
                let empty = match given {
                    Value::Array(items) => items.is_empty(),
                    Value::Object(map) => map.is_empty(),
                    _ => false,
                };
                match read.get_mut(key) {
                    Some(value) if !value.is_null() => deeper(|| put_back_empty(value, given)),
                    _ if empty => drop(read.insert(key, given.clone())),
                    _ => {}
                }
            }
        }
        (Value::Array(read), Value::Array(given)) => {
            read.iter_mut().zip(given).for_each(|(read, given)| deeper(|| put_back_empty(read, given)));
        }
        _ => {}
    }
}

const NOT_NEGATIVE: &str = "must be greater than or equal to 0";
const IMMUTABLE: &str = "field is immutable";
const SELECTOR_MISMATCH: &str = "`selector` does not match template `labels`";

/// A place in the object.
#[derive(Debug, Clone)]
struct At<'v> {
    value: &'v Value,
    path: Path,
}

impl<'v> At<'v> {
    fn root(value: &'v Value) -> Self {
        Self { value, path: Path::root() }
    }

    /// A field, null if it is not there.
    fn child(&self, field: &str) -> At<'v> {
        const NULL: &Value = &Value::Null;
        At { value: self.value.get(field).unwrap_or(NULL), path: self.path.child(field) }
    }

    /// A field that is there.
    fn find(&self, field: &str) -> Option<At<'v>> {
        Some(self.child(field)).filter(|at| !at.value.is_null())
    }

    /// The elements of a list.
    fn items(&self, field: &str) -> Vec<At<'v>> {
        let path = self.path.child(field);
        let items = self.value.get(field).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        items.iter().enumerate().map(|(at, value)| At { value, path: path.index(at) }).collect()
    }

    fn text(&self, field: &str) -> &'v str {
        self.value.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    fn int(&self, field: &str) -> Option<i64> {
        self.value.get(field).and_then(Value::as_i64)
    }

    fn flag(&self, field: &str) -> bool {
        self.value.get(field).and_then(Value::as_bool).unwrap_or_default()
    }

    fn map(&self, field: &str) -> impl Iterator<Item = (&'v str, &'v Value)> {
        self.value.get(field).and_then(Value::as_object).into_iter().flat_map(Map::iter)
    }
}

/// Labels of pods, nodes and selectors.
fn labels(at: &At<'_>, field: &str, errors: &mut Errors) {
    let path = at.path.child(field);
    for (key, value) in at.map(field) {
        errors.complaints(&path, key, names::qualified_name(key));
        let value = value.as_str().unwrap_or_default();
        errors.complaints(&path, value, names::label_value(value));
    }
}

/// A label selector of any object.
fn label_selector(at: &At<'_>, errors: &mut Errors) {
    labels(at, "matchLabels", errors);
    for expression in at.items("matchExpressions") {
        let values = expression.items("values");
        match expression.text("operator") {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.required(&expression.path.child("values"), detail);
            }
            "In" | "NotIn" => {}
            "Exists" | "DoesNotExist" => {
                if !values.is_empty() {
                    let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                    errors.forbidden(&expression.path.child("values"), detail);
                }
            }
            operator => {
                errors.invalid(&expression.path.child("operator"), operator, "not a valid selector operator")
            }
        }
        let key = expression.text("key");
        errors.complaints(&expression.path.child("key"), key, names::qualified_name(key));
        for value in values {
            let text = value.value.as_str().unwrap_or_default();
            errors.complaints(&value.path, text, names::label_value(text));
        }
    }
}

/// A port as a number.
fn port_number(path: &Path, number: i64, errors: &mut Errors) {
    if !(1..=65535).contains(&number) {
        errors.invalid(path, number, "must be between 1 and 65535, inclusive");
    }
}

/// A port as a number or as the name of a container's port.
fn port(path: &Path, value: &Value, errors: &mut Errors) {
    match value.as_str() {
        Some(name) => errors.complaints(path, name, port_name(name)),
        None => port_number(path, value.as_i64().unwrap_or_default(), errors),
    }
}

/// What is wrong with the name of a port (an IANA service name).
fn port_name(name: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut complain = |is_wrong: bool, complaint: &str| {
        if is_wrong {
            complaints.push(complaint.to_owned());
        }
    };
    complain(name.len() > 15, "must be no more than 15 characters");
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let shaped = !name.is_empty() && name.chars().all(good);
    complain(!shaped, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    complain(!name.chars().any(|c| c.is_ascii_lowercase()), "must contain at least one letter (a-z)");
    complain(name.contains("--"), "must not contain consecutive hyphens");
    complain(name.starts_with('-') || name.ends_with('-'), "must not begin or end with a hyphen");
    complaints
}

/// A number or a percentage that is not negative.
fn int_or_percent(at: &At<'_>, errors: &mut Errors) {
    match at.value {
        Value::Int(number) if *number < 0 => errors.invalid(&at.path, *number, NOT_NEGATIVE),
        Value::String(text) => {
            let digits = text
                .strip_suffix('%')
                .filter(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
            if digits.is_none() {
                let detail = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or \
                              '93%', regex used for validation is '[0-9]+%')";
                errors.invalid(&at.path, text.as_str(), detail);
            }
        }
        _ => {}
    }
}

/// A percentage that is at most 100.
fn at_most_all(at: &At<'_>, errors: &mut Errors) {
    let percent =
        at.value.as_str().and_then(|text| text.strip_suffix('%')).and_then(|text| text.parse::<i64>().ok());
    if percent.is_some_and(|percent| percent > 100) {
        errors.invalid(&at.path, at.value.clone(), "must not be greater than 100%");
    }
}

/// A path below something, which must not leave it.
fn descending_path(path: &Path, text: &str, errors: &mut Errors) {
    if text.starts_with('/') {
        errors.invalid(path, text, "must be a relative path");
    }
    no_backsteps(path, text, errors);
}

fn no_backsteps(path: &Path, text: &str, errors: &mut Errors) {
    if text.split('/').any(|part| part == "..") {
        errors.invalid(path, text, "must not contain '..'");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ports() {
        assert!(port_name("http-2").is_empty());
        assert_eq!(port_name("80"), ["must contain at least one letter (a-z)"]);
        assert_eq!(port_name("a--b"), ["must not contain consecutive hyphens"]);
    }
}
