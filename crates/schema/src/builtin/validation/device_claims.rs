//! Claims of devices, what was given to them, and classes of devices (upstream: pkg/apis/resource/validation). The expressions of
//! selectors are not compiled.

use std::collections::BTreeSet;

use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Value, names};

use super::super::{ips, write};
use super::devices::{self, EFFECTS, binding, identifier, pool_name, too_many};
use super::{At, Errors, IMMUTABLE, scheduling, status};

/// Most entries of the lists of a claim: requests, constraints, configurations, selectors.
const MOST: usize = 32;
/// Most bytes of the parameters of a driver, and of the data that it says of a device.
const PARAMETERS: usize = 10 * 1024;
const NO_REQUEST: &str = "must be the name of a request in the claim or the name of a request and a subrequest \
                          separated by '/'";

pub(super) fn class(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    selectors(&spec, errors);
    if !too_many(&spec, "config", MOST, errors) {
        let stored = old.is_some_and(|old| old.at(&["spec", "config"]) == spec.value.get("config"));
        for config in spec.items("config") {
            configuration(&config, stored, errors);
        }
    }
    if let Some(name) = spec.find("extendedResourceName") {
        extended_name(&name, errors);
    }
}

/// The name of a resource that a driver gives, in the words of the rules that upstream declares.
fn extended_name(at: &At<'_>, errors: &mut Errors) {
    let name = at.value.as_str().unwrap_or_default();
    if !name.contains('/') {
        let detail = "a name must be a domain-prefixed path, such as 'example.com/my-prop'";
        errors.invalid(&at.path, name, detail);
    }
    if name.contains("kubernetes.io/") {
        errors.invalid(&at.path, name, "must not have \"kubernetes.io/\" domain");
    }
    if name.starts_with("requests.") {
        errors.invalid(&at.path, name, "must not have \"requests.\" prefix");
    }
    // Of the name of nothing upstream says how it must look, and no more.
    let complaints = names::qualified_name(name).into_iter();
    errors.complaints(
        &at.path,
        name,
        complaints.filter(|text| !text.ends_with("must be non-empty")).collect(),
    );
}

/// A claim of devices; `template` if it is one that claims are made from.
pub(super) fn claim(at: &At<'_>, template: bool, old: Option<&Value>, errors: &mut Errors) {
    let outer = at.child("spec");
    let is_changed = old.is_some_and(|old| old.get("spec") != at.value.get("spec"));
    if old.is_some() && !template {
        // What cannot be changed is not looked at again.
        if is_changed {
            errors.invalid(&outer.path, Value::Null, IMMUTABLE);
        }
        return;
    }
    if template {
        of_template(&outer.child("metadata"), errors);
    }
    let spec = if template { outer.child("spec") } else { outer.clone() };
    devices(&spec.child("devices"), errors);
    if is_changed {
        errors.shown(&outer.path, "resource.ResourceClaimTemplateSpec", outer.value, IMMUTABLE);
    }
}

/// The metadata of a template are labels and annotations, and nothing else.
fn of_template(at: &At<'_>, errors: &mut Errors) {
    const FIELDS: [(&str, &str); 13] = [
        ("name", "name"),
        ("generateName", "generateName"),
        ("namespace", "namespace"),
        ("selfLink", "selfLink"),
        ("uid", "uID"),
        ("resourceVersion", "resourceVersion"),
        ("generation", "generation"),
        ("creationTimestamp", "creationTimestamp"),
        ("deletionTimestamp", "deletionTimestamp"),
        ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
        ("ownerReferences", "ownerReferences"),
        ("finalizers", "finalizers"),
        ("managedFields", "managedFields"),
    ];
    super::labels(at, "labels", errors);
    for (key, _) in at.map("annotations") {
        let path = at.path.child("annotations");
        errors.complaints(&path, key, names::qualified_name(&key.to_lowercase()));
    }
    for (field, shown) in FIELDS {
        // What was given and is no value any more was one to Go, but for times and numbers.
        let given = errors.as_given(&at.path.child(field)).and_then(Value::as_array).is_some();
        let set = match at.child(field).value {
            Value::Null => given,
            Value::String(text) => !text.is_empty(),
            Value::Int(number) => *number != 0 || field == "deletionGracePeriodSeconds",
            _ => true,
        };
        if set {
            errors.forbidden(&at.path.child(shown), "cannot be set");
        }
    }
}

/// The requests of a claim, by name, with those that are alternatives.
struct Names<'v>(Vec<(&'v str, Vec<&'v str>)>);

impl<'v> Names<'v> {
    fn of(devices: &At<'v>) -> Self {
        let alternatives = |request: &At<'v>| -> Vec<&'v str> {
            request.items("firstAvailable").iter().map(|one| one.text("name")).collect()
        };
        let requests = devices.items("requests");
        Self(requests.iter().map(|request| (request.text("name"), alternatives(request))).collect())
    }

    fn has(&self, name: &str) -> bool {
        let (request, alternative) =
            name.split_once('/').map_or((name, None), |(name, rest)| (name, Some(rest)));
        let mut found = self.0.iter().rev().filter(|(known, _)| *known == request);
        found.next().is_some_and(|(_, known)| alternative.is_none_or(|name| known.contains(&name)))
    }
}

fn devices(at: &At<'_>, errors: &mut Errors) {
    let known = Names::of(at);
    if !too_many(at, "requests", MOST, errors) {
        let requests = at.items("requests");
        for one in &requests {
            request(one, errors);
        }
        devices::unique(&requests, "name", "resource.v1.DeviceRequest", errors);
    }
    if !too_many(at, "constraints", MOST, errors) {
        for constraint in at.items("constraints") {
            references(&constraint, &known, errors);
            match (constraint.find("matchAttribute"), constraint.find("distinctAttribute")) {
                (Some(name), _) | (None, Some(name)) => full_name(&name, errors),
                (None, None) => {
                    let detail = "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple \
                                  fields are set";
                    errors.required(&constraint.path, detail);
                }
            }
        }
    }
    if !too_many(at, "config", MOST, errors) {
        for config in at.items("config") {
            references(&config, &known, errors);
            configuration(&config, false, errors);
        }
    }
}

fn request(at: &At<'_>, errors: &mut Errors) {
    let name = at.text("name");
    errors.complaints(&at.path.child("name"), name, names::dns1123_label(name));
    let detail = "exactly one of `exactly` or `firstAvailable` is required";
    let alternatives = at.items("firstAvailable");
    match (at.find("exactly"), alternatives.is_empty()) {
        (None, true) => errors.required(&at.path, detail),
        (Some(_), false) => {
            let detail = format!("{detail}, but multiple fields are set");
            errors.invalid(&at.path, Value::Null, detail);
        }
        (Some(exactly), true) => one(&exactly, errors),
        (None, false) => {
            if too_many(at, "firstAvailable", 8, errors) {
                return;
            }
            for alternative in &alternatives {
                let name = alternative.text("name");
                errors.complaints(&alternative.path.child("name"), name, names::dns1123_label(name));
                one(alternative, errors);
            }
            devices::unique(&alternatives, "name", "resource.v1.DeviceSubRequest", errors);
        }
    }
}

/// One request of devices of a class.
fn one(at: &At<'_>, errors: &mut Errors) {
    let (class, path) = (at.text("deviceClassName"), at.path.child("deviceClassName"));
    match class {
        "" => errors.required(&path, ""),
        _ => errors.complaints(&path, class, names::dns1123_subdomain(class)),
    }
    selectors(at, errors);
    let (count, path) = (at.int("count").unwrap_or_default(), at.path.child("count"));
    match at.text("allocationMode") {
        "All" if count != 0 => {
            errors.invalid(&path, count, "must not be specified when allocationMode is 'All'");
        }
        "ExactCount" if count <= 0 => errors.invalid(&path, count, "must be greater than zero"),
        "All" | "ExactCount" => {}
        other => errors.unsupported(&at.path.child("allocationMode"), other, &["All", "ExactCount"]),
    }
    at.items("tolerations").iter().for_each(|one| toleration(one, errors));
}

fn selectors(at: &At<'_>, errors: &mut Errors) {
    if too_many(at, "selectors", MOST, errors) {
        return;
    }
    for selector in at.items("selectors") {
        match selector.find("cel") {
            None => errors.required(&selector.path.child("cel"), ""),
            Some(cel) if cel.text("expression").len() > PARAMETERS => {
                errors.0.push(Error::too_long(&cel.path.child("expression"), PARAMETERS));
            }
            Some(_) => {}
        }
    }
}

fn toleration(at: &At<'_>, errors: &mut Errors) {
    let (key, value) = (at.text("key"), at.text("value"));
    if !key.is_empty() {
        errors.complaints(&at.path.child("key"), key, names::qualified_name(key));
    }
    match at.text("operator") {
        "Exists" if !value.is_empty() => {
            errors.invalid(&at.path.child("value"), value, "must be empty for operator `Exists`");
        }
        "Equal" => errors.complaints(&at.path.child("value"), value, names::label_value(value)),
        "Exists" => {}
        _ => errors.one_of(at, "operator", &["Equal", "Exists"], true),
    }
    if !at.text("effect").is_empty() {
        errors.one_of(at, "effect", &EFFECTS, true);
    }
}

/// The name of an attribute with the domain of its driver, in the words of the rules that upstream declares.
fn full_name(at: &At<'_>, errors: &mut Errors) {
    let text = at.value.as_str().unwrap_or_default();
    let (domain, name) = text.split_once('/').map_or((None, text), |(domain, name)| (Some(domain), name));
    match domain {
        None => {
            let detail = "a fully qualified name must be a domain and a name separated by a slash";
            errors.invalid(&at.path, text, detail);
        }
        Some(domain) => {
            for complaint in names::dns1123_subdomain(domain) {
                errors.invalid(&at.path, domain, format!("prefix: {complaint}"));
            }
        }
    }
    errors.complaints(&at.path, name, identifier(name));
}

/// Names of requests, each of the claim and told once.
fn references(at: &At<'_>, known: &Names<'_>, errors: &mut Errors) {
    if too_many(at, "requests", MOST, errors) {
        return;
    }
    let requests = at.items("requests");
    for request in &requests {
        reference(&request.path, request.value.as_str().unwrap_or_default(), known, errors);
    }
    let mut seen = BTreeSet::new();
    for request in &requests {
        let name = request.value.as_str().unwrap_or_default();
        if !seen.insert(name) {
            errors.0.push(Error::duplicate(&request.path, name));
        }
    }
}

fn reference(path: &Path, name: &str, known: &Names<'_>, errors: &mut Errors) {
    if name.split('/').count() > 2 {
        errors.invalid(path, name, NO_REQUEST);
        return;
    }
    for part in name.split('/') {
        errors.complaints(path, part, names::dns1123_label(part));
    }
    if !known.has(name) {
        errors.invalid(path, name, NO_REQUEST);
    }
}

fn configuration(at: &At<'_>, stored: bool, errors: &mut Errors) {
    let Some(opaque) = at.find("opaque") else {
        errors.required(&at.path.child("opaque"), "");
        return;
    };
    declared_driver(&opaque.path.child("driver"), opaque.text("driver"), errors);
    raw(&opaque, "parameters", stored, errors);
}

/// The name of a driver, in the words of the rules that upstream declares.
fn declared_driver(path: &Path, name: &str, errors: &mut Errors) {
    if name.is_empty() {
        errors.required(path, "");
    } else if name.len() > 63 {
        let detail = "may not be more than 63 characters";
        let mut error = Error::too_long(path, 63);
        error.detail = detail.to_owned();
        errors.0.push(error);
    } else if !names::dns1123_subdomain(&name.to_lowercase()).is_empty() {
        let detail = "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end \
                      with an alphanumeric character (e.g. 'Example.com', regex used for validation is \
                      '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
        errors.invalid(path, name, detail);
    }
}

/// An object of a driver's own.
fn raw(at: &At<'_>, field: &str, stored: bool, errors: &mut Errors) {
    let path = at.path.child(field);
    match at.child(field).value {
        Value::Null => errors.required(&path, ""),
        value if !stored && value.to_json().len() > PARAMETERS => {
            errors.0.push(Error::too_long(&path, PARAMETERS));
        }
        Value::Object(_) => {}
        _ => errors.invalid(&path, "<value omitted>", "must be a valid JSON object"),
    }
}

/// The status of a claim, which says what was given to it and who uses it.
pub(super) fn claim_status(at: &At<'_>, old: &Value, errors: &mut Errors) {
    let status = at.child("status");
    let known = Names::of(&at.child("spec").child("devices"));
    let allocation = status.find("allocation");
    if !too_many(&status, "reservedFor", 256, errors) {
        let users = status.items("reservedFor");
        for user in &users {
            for field in ["resource", "name", "uid"] {
                if user.text(field).is_empty() {
                    errors.required(&user.path.child(field), "");
                }
            }
        }
        devices::unique(&users, "uid", "resource.v1.ResourceClaimConsumerReference", errors);
    }
    let results = allocation.as_ref().map(|at| at.child("devices").items("results")).unwrap_or_default();
    let given: Vec<[&str; 4]> = results.iter().map(identity).collect();
    let mut seen = BTreeSet::new();
    for device in status.items("devices") {
        device_status(&device, &given, errors);
        if !seen.insert(identity(&device)) {
            let shown = write::struct_json("resource.v1.AllocatedDeviceStatus", device.value);
            errors.0.push(Error::duplicate(&device.path, Value::Null).showing(shown));
        }
    }
    if !status.items("reservedFor").is_empty() && allocation.is_none() {
        let detail = "may not be specified when `allocated` is not set";
        errors.forbidden(&status.path.child("reservedFor"), detail);
    }
    let Some(allocation) = allocation else { return };
    match old.at(&["status", "allocation"]) {
        Some(_) => errors.immutable(&status, old.get("status").unwrap_or(&Value::Null), "allocation"),
        None => self::allocation(&allocation, &known, errors),
    }
}

/// What tells devices apart.
fn identity<'v>(at: &At<'v>) -> [&'v str; 4] {
    ["driver", "pool", "device", "shareID"].map(|field| at.text(field))
}

fn allocation(at: &At<'_>, known: &Names<'_>, errors: &mut Errors) {
    let devices = at.child("devices");
    if !too_many(&devices, "results", MOST, errors) {
        for result in devices.items("results") {
            reference(&result.path.child("request"), result.text("request"), known, errors);
            declared_driver(&result.path.child("driver"), result.text("driver"), errors);
            pool_name(&result.path.child("pool"), result.text("pool"), true, errors);
            let device = result.text("device");
            errors.complaints(&result.path.child("device"), device, names::dns1123_label(device));
            binding(&result, errors);
            result.items("tolerations").iter().for_each(|one| toleration(one, errors));
            share(&result, errors);
        }
    }
    if !too_many(&devices, "config", 2 * MOST, errors) {
        for config in devices.items("config") {
            errors.one_of(&config, "source", &["FromClaim", "FromClass"], true);
            references(&config, known, errors);
            configuration(&config, false, errors);
        }
    }
    if let Some(selector) = at.find("nodeSelector") {
        scheduling::node_selector(&selector, errors);
    }
}

fn share(at: &At<'_>, errors: &mut Errors) {
    let Some(share) = at.find("shareID") else { return };
    let text = share.value.as_str().unwrap_or_default();
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |part: &&str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if parts.iter().map(|part| part.len()).ne([8, 4, 4, 4, 12]) || !parts.iter().all(digits) {
        errors.invalid(&share.path, text, "must be a lowercase UUID in 8-4-4-4-12 format");
    }
}

/// What the driver of a device says of it.
fn device_status(at: &At<'_>, given: &[[&str; 4]], errors: &mut Errors) {
    devices::driver(at, errors);
    pool_name(&at.path.child("pool"), at.text("pool"), false, errors);
    let device = at.text("device");
    errors.complaints(&at.path.child("device"), device, names::dns1123_label(device));
    share(at, errors);
    let own = identity(at);
    if !given.contains(&own) {
        let [driver, pool, device, share] = own.map(pilothouse_value::field::quote);
        let shown =
            format!("{{\"Driver\":{driver},\"Pool\":{pool},\"Device\":{device},\"ShareID\":{share}}}");
        let error = Error::invalid(&at.path, Value::Null, "must be an allocated device in the claim");
        errors.0.push(error.showing(shown));
    }
    too_many(at, "conditions", 8, errors);
    status::conditions(at, errors);
    if at.find("data").is_some() {
        raw(at, "data", false, errors);
    }
    let network = at.child("networkData");
    for (field, most) in [("interfaceName", 256), ("hardwareAddress", 128)] {
        if network.text(field).len() > most {
            errors.0.push(Error::too_long(&network.path.child(field), most));
        }
    }
    if !too_many(&network, "ips", 16, errors) {
        let mut seen = BTreeSet::new();
        for address in network.items("ips") {
            let text = address.value.as_str().unwrap_or_default();
            if ips::Network::sloppy(text).is_none() {
                let detail = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
                errors.invalid(&address.path, text, detail);
            }
            if !seen.insert(text) {
                errors.0.push(Error::duplicate(&address.path, text));
            }
        }
    }
}
