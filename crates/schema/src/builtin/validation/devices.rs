//! Slices of devices (upstream: pkg/apis/resource/validation).

use std::collections::BTreeSet;

use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Value, names};

use super::super::write;
use super::{At, Errors, IMMUTABLE, scheduling, sources};

/// Most bytes of a name in an attribute, and of a text that is its value.
const LONGEST_NAME: usize = 32;
const LONGEST_VALUE: usize = 64;
pub(super) const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "None"];

pub(super) fn slice(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    driver(&spec, errors);
    pool(&spec.child("pool"), errors);
    if let Some(old) = old.and_then(|old| old.get("spec")) {
        let (name, path) = (spec.child("pool").text("name"), spec.path.child("pool").child("name"));
        if name != old.str_at(&["pool", "name"]).unwrap_or_default() {
            errors.invalid(&path, name, IMMUTABLE);
        }
        errors.immutable(&spec, old, "driver");
        errors.immutable(&spec, old, "nodeName");
    }
    nodes(&spec, errors);
    let shared = |field: &str| {
        !spec.child(field).value.is_null()
            || errors.as_given(&spec.path.child(field)).is_some_and(|given| given.as_array().is_some())
    };
    if shared("sharedCounters") && shared("devices") {
        errors.invalid(&spec.path, "", "only one of `sharedCounters` or `devices` is allowed");
    }
    let devices = spec.items("devices");
    let has_lists = |device: &At<'_>| {
        let lists = ["bools", "ints", "strings", "versions"];
        device.map("attributes").any(|(_, value)| lists.iter().any(|list| value.get(list).is_some()))
    };
    let is_advanced = |device: &At<'_>| {
        !device.items("taints").is_empty()
            || !device.items("consumesCounters").is_empty()
            || has_lists(device)
    };
    let most = if devices.iter().any(is_advanced) { 64 } else { 128 };
    if !too_many(&spec, "devices", most, errors) {
        let each = spec.flag("perDeviceNodeSelection");
        for device in &devices {
            let before = old
                .map(|old| old.items_at(&["spec", "devices"]))
                .into_iter()
                .flatten()
                .find(|old| old.str_at(&["name"]).unwrap_or_default() == device.text("name"));
            self::device(device, before, each, errors);
        }
        let mut seen = BTreeSet::new();
        for device in devices.iter().filter(|device| !seen.insert(device.text("name"))) {
            errors.0.push(Error::duplicate(&device.path, device.text("name")));
        }
    }
    if !too_many(&spec, "sharedCounters", 8, errors) {
        let sets = spec.items("sharedCounters");
        for set in &sets {
            counters(set, "name", errors);
        }
        unique(&sets, "name", "resource.v1.CounterSet", errors);
    }
}

/// The name of the driver of a slice or of a device.
pub(super) fn driver(at: &At<'_>, errors: &mut Errors) {
    match at.text("driver") {
        "" => errors.required(&at.path.child("driver"), ""),
        name => sources::csi_driver(&at.path.child("driver"), name, errors),
    }
}

/// Refuses a list that is too long, whose items nobody looks at then.
pub(super) fn too_many(at: &At<'_>, field: &str, most: usize, errors: &mut Errors) -> bool {
    let count = at.value.items_at(&[field]).len();
    if count > most {
        errors.0.push(Error::too_many(&at.path.child(field), count, most));
    }
    count > most
}

/// Refuses items of the same name, which are shown whole.
pub(super) fn unique(items: &[At<'_>], key: &str, of: &str, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for item in items.iter().filter(|item| !seen.insert(item.text(key))) {
        let shown = write::struct_json(of, item.value);
        errors.0.push(Error::duplicate(&item.path, Value::Null).showing(shown));
    }
}

/// The name of a pool: of segments.
pub(super) fn pool_name(path: &Path, name: &str, segments: bool, errors: &mut Errors) {
    if name.is_empty() {
        errors.required(path, "");
        return;
    }
    if name.len() > 253 {
        errors.0.push(Error::too_long(path, 253));
    }
    for (at, part) in name.split('/').enumerate() {
        for complaint in names::dns1123_subdomain(part) {
            let complaint = if segments { format!("segment {at}: {complaint}") } else { complaint };
            errors.invalid(path, part, complaint);
        }
    }
}

fn pool(at: &At<'_>, errors: &mut Errors) {
    pool_name(&at.path.child("name"), at.text("name"), false, errors);
    let count = at.int("resourceSliceCount").unwrap_or_default();
    if count <= 0 {
        errors.invalid(&at.path.child("resourceSliceCount"), count, "must be greater than zero");
    }
    if let Some(generation) = at.int("generation").filter(|generation| *generation < 0) {
        errors.invalid(&at.path.child("generation"), generation, "must be greater than or equal to zero");
    }
}

/// From which nodes the devices of a slice can be reached.
fn nodes(spec: &At<'_>, errors: &mut Errors) {
    let mut set = Vec::new();
    if let Some(name) = spec.find("nodeName") {
        match name.value.as_str().unwrap_or_default() {
            "" => errors.invalid(&name.path, "", "must be either unset or set to a non-empty string"),
            text => {
                set.push("`nodeName`");
                errors.complaints(&name.path, text, names::dns1123_subdomain(text));
            }
        }
    }
    if let Some(selector) = spec.find("nodeSelector") {
        set.push("`nodeSelector`");
        scheduling::node_selector(&selector, errors);
        if selector.items("nodeSelectorTerms").len() != 1 {
            let path = selector.path.child("nodeSelectorTerms");
            let terms = selector.child("nodeSelectorTerms").value;
            errors.shown_form(
                &path,
                "[]@core.NodeSelectorTerm",
                terms,
                "must have exactly one node selector term",
            );
        }
    }
    for field in ["allNodes", "perDeviceNodeSelection"] {
        match spec.find(field) {
            Some(at) if at.value.as_bool() == Some(false) => {
                errors.invalid(&at.path, false, "must be either unset or set to true");
            }
            Some(_) if field == "allNodes" => set.push("`allNodes`"),
            Some(_) => set.push("`perDeviceNodeSelection`"),
            None => {}
        }
    }
    let detail =
        "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    match set.len() {
        0 => errors.required(&spec.path, detail),
        1 => {}
        _ => {
            let detail = format!("{detail}, but multiple fields are set");
            errors.invalid(&spec.path, format!("{{{}}}", set.join(", ")), detail);
        }
    }
}

fn device(at: &At<'_>, old: Option<&Value>, each: bool, errors: &mut Errors) {
    let name = at.text("name");
    errors.complaints(&at.path.child("name"), name, names::dns1123_label(name));
    let count = at.map("attributes").count() + at.map("capacity").count();
    let mut most = |count: usize, most: usize, what: &str| {
        if count > most {
            let detail = format!("the total number of {what} must not exceed {most}");
            errors.invalid(&at.path, i64::try_from(count).unwrap_or(i64::MAX), detail);
        }
    };
    most(count, 32, "attributes and capacities");
    let of_one = |value: &Value| -> usize {
        let lists = ["bools", "ints", "strings", "versions"];
        lists.iter().map(|list| value.items_at(&[list]).len()).sum::<usize>().max(1)
    };
    most(at.map("attributes").map(|(_, value)| of_one(value)).sum(), 48, "attribute values");
    let attributes = at.path.child("attributes");
    for (name, value) in at.map("attributes") {
        qualified(&attributes, name, errors);
        attribute(&At { value, path: attributes.key(name) }, errors);
    }
    let is_new = |field: &str| old.is_none_or(|old| old.get(field) != at.value.get(field));
    if is_new("capacity") {
        let path = at.path.child("capacity");
        for (name, value) in at.map("capacity") {
            qualified(&path, name, errors);
            if value.get("requestPolicy").is_some() && !at.flag("allowMultipleAllocations") {
                let path = path.key(name).child("requestPolicy");
                errors.forbidden(&path, "allowMultipleAllocations must be true");
            }
        }
    }
    if is_new("taints") && !too_many(at, "taints", 16, errors) {
        for taint in at.items("taints") {
            let (key, value) = (taint.text("key"), taint.text("value"));
            errors.complaints(&taint.path.child("key"), key, names::qualified_name(key));
            errors.complaints(&taint.path.child("value"), value, names::label_value(value));
            errors.one_of(&taint, "effect", &EFFECTS, true);
        }
    }
    if !too_many(at, "consumesCounters", 2, errors) {
        let consumed = at.items("consumesCounters");
        for set in &consumed {
            counters(set, "counterSet", errors);
        }
        unique(&consumed, "counterSet", "resource.v1.DeviceCounterConsumption", errors);
    }
    nodes_of_device(at, each, errors);
    binding(at, errors);
}

/// From which nodes one device can be reached, where `each` says so for itself.
fn nodes_of_device(at: &At<'_>, each: bool, errors: &mut Errors) {
    const FIELDS: [&str; 3] = ["nodeName", "nodeSelector", "allNodes"];
    if !each {
        if FIELDS.iter().any(|field| at.find(field).is_some()) {
            let detail = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to \
                          true in the ResourceSlice spec";
            errors.invalid(&at.path, Value::Null, detail);
        }
        return;
    }
    let mut set = Vec::new();
    if let Some(name) = at.find("nodeName") {
        match name.value.as_str().unwrap_or_default() {
            "" => errors.invalid(&name.path, "", "must not be empty"),
            text => {
                set.push("`nodeName`");
                errors.complaints(&name.path, text, names::dns1123_subdomain(text));
            }
        }
    }
    if let Some(selector) = at.find("nodeSelector") {
        set.push("`nodeSelector`");
        scheduling::node_selector(&selector, errors);
    }
    match at.find("allNodes") {
        Some(all) if all.value.as_bool() == Some(false) => {
            errors.invalid(&all.path, false, "must be either unset or set to true");
        }
        Some(_) => set.push("`allNodes`"),
        None => {}
    }
    let detail = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set \
                  to true in the ResourceSlice spec";
    match set.len() {
        0 => errors.required(&at.path, detail),
        1 => {}
        _ => errors.invalid(&at.path, format!("{{{}}}", set.join(", ")), detail),
    }
}

/// A set of counters, or what is taken of one.
fn counters(at: &At<'_>, name: &str, errors: &mut Errors) {
    match at.text(name) {
        "" => errors.required(&at.path.child(name), ""),
        text => errors.complaints(&at.path.child(name), text, names::dns1123_label(text)),
    }
    let path = at.path.child("counters");
    match at.map("counters").count() {
        0 => errors.required(&path, ""),
        count if count > 32 => errors.0.push(Error::too_many(&path, count, 32)),
        _ => {
            for (key, _) in at.map("counters") {
                errors.complaints(&path, key, names::dns1123_label(key));
            }
        }
    }
}

fn attribute(at: &At<'_>, errors: &mut Errors) {
    const KINDS: [&str; 8] = ["int", "bool", "string", "version", "ints", "bools", "strings", "versions"];
    let too_long = |path: &Path, text: &str, errors: &mut Errors| {
        if text.len() > LONGEST_VALUE {
            errors.0.push(Error::too_long(path, LONGEST_VALUE));
        }
    };
    let version = |at: &At<'_>, errors: &mut Errors| {
        let text = at.value.as_str().unwrap_or_default();
        if !is_semantic_version(text) {
            errors.invalid(&at.path, text, "must be a string compatible with semver.org spec 2.0.0");
        }
        too_long(&at.path, text, errors);
    };
    if let Some(text) = at.find("string") {
        too_long(&text.path, text.value.as_str().unwrap_or_default(), errors);
    }
    if let Some(text) = at.find("version") {
        version(&text, errors);
    }
    for text in at.items("strings") {
        too_long(&text.path, text.value.as_str().unwrap_or_default(), errors);
    }
    at.items("versions").iter().for_each(|text| version(text, errors));
    let given: Vec<&str> = KINDS.into_iter().filter(|kind| at.find(kind).is_some()).collect();
    let known = KINDS.map(|kind| format!("`{kind}`")).join(", ");
    match given.len() {
        0 => errors.invalid(&at.path, "", format!("must specify one of: {known}")),
        1 => {}
        _ => {
            let shown = format!("{{{}}}", given.join(", "));
            errors.invalid(&at.path, shown, format!("must specify exactly one of: {known}"));
        }
    }
}

/// The name of an attribute or a capacity: of C, with the domain of a driver before it or none.
fn qualified(path: &Path, name: &str, errors: &mut Errors) {
    let (domain, name) = match name.split_once('/') {
        Some((_, rest)) if rest.contains('/') => return,
        Some((domain, name)) => (Some(domain), name),
        None => (None, name),
    };
    match domain {
        Some("") => errors.invalid(path, "", "the domain must not be empty"),
        Some(domain) => sources::csi_driver(path, domain, errors),
        None => {}
    }
    if domain.is_some() && name.is_empty() {
        errors.invalid(path, "", "the name must not be empty");
        return;
    }
    if name.len() > LONGEST_NAME {
        errors.0.push(Error::too_long(path, LONGEST_NAME));
    }
    errors.complaints(path, name, identifier(name));
}

/// What is wrong with an identifier of C.
pub(super) fn identifier(text: &str) -> Vec<String> {
    let first = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    let good = text.as_bytes().first().is_some_and(first)
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let detail = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric \
                  characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is \
                  '[A-Za-z_][A-Za-z0-9_]*')";
    if good { Vec::new() } else { vec![detail.to_owned()] }
}

/// The conditions that bind a device, and those that say that it cannot be.
pub(super) fn binding(at: &At<'_>, errors: &mut Errors) {
    const BOTH: [&str; 2] = ["bindingConditions", "bindingFailureConditions"];
    for field in BOTH {
        if !too_many(at, field, 4, errors) {
            for condition in at.items(field) {
                let text = condition.value.as_str().unwrap_or_default();
                errors.complaints(&condition.path, text, names::qualified_name(text));
            }
        }
    }
    let [good, bad] = BOTH.map(|field| at.items(field));
    for conditions in [&good, &bad] {
        let mut seen = BTreeSet::new();
        for condition in conditions.iter() {
            let text = condition.value.as_str().unwrap_or_default();
            if !seen.insert(text) {
                errors.0.push(Error::duplicate(&condition.path, text));
            }
        }
    }
    for condition in bad.iter().filter(|condition| good.iter().any(|good| good.value == condition.value)) {
        let detail = "bindingFailureConditions must not overlap with bindingConditions";
        errors.invalid(&condition.path, condition.value.clone(), detail);
    }
    let [good_field, bad_field] = BOTH;
    for (present, missing, field, other) in
        [(&bad, &good, good_field, bad_field), (&good, &bad, bad_field, good_field)]
    {
        if missing.is_empty() && !present.is_empty() {
            let detail = format!("{field} are required to use {other}");
            errors.invalid(&at.path.child(field), Value::Null, detail);
        }
    }
}

/// Whether a text is a version as semver.org has it.
fn is_semantic_version(text: &str) -> bool {
    let numeric = |part: &str| {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        digits && (part == "0" || !part.starts_with('0'))
    };
    let word = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    let (core, before) = text.split_once('-').map_or((text, None), |(core, before)| (core, Some(before)));
    core.split('.').count() == 3
        && core.split('.').all(numeric)
        && before.is_none_or(|before| {
            before.split('.').all(|part| word(part) && (!is_number(part) || numeric(part)))
        })
        && build.is_none_or(|build| build.split('.').all(word))
}
