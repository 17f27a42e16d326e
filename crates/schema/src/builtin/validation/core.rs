//! Secrets, config maps, namespaces.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Value, names};

use super::super::go;
use super::{At, Errors, IMMUTABLE};

/// Most bytes that the values of a secret or a config map may have in all.
const DATA_LIMIT: usize = 1024 * 1024;
const FROZEN: &str = "field is immutable when `immutable` is set";

pub(super) fn secret(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    if let Some(old) = old {
        if at.text("type") != old.str_at(&["type"]).unwrap_or_default() {
            errors.invalid(&Path::new("type"), at.text("type"), IMMUTABLE);
        }
        frozen(at, old, &["data"], errors);
    }
    data_keys(at, "data", errors);
    let size: usize = at.map("data").map(|(_, value)| value.as_str().map_or(0, str::len) / 4 * 3).sum();
    let data = at.path.child("data");
    if size > DATA_LIMIT {
        errors.0.push(Error::too_long(&data, DATA_LIMIT));
    }
    let has = |key: &str| at.child("data").value.get(key).is_some();
    let mut need = |keys: &[&str]| {
        for key in keys.iter().filter(|key| !has(key)) {
            errors.required(&data.key(key), "");
        }
    };
    match at.text("type") {
        "kubernetes.io/service-account-token" => {
            let key = "kubernetes.io/service-account.name";
            let annotations = at.child("metadata").child("annotations");
            if annotations.text(key).is_empty() {
                errors.required(&Path::new("metadata").child("annotations").key(key), "");
            }
        }
        "kubernetes.io/dockercfg" => docker_config(at, ".dockercfg", errors),
        "kubernetes.io/dockerconfigjson" => docker_config(at, ".dockerconfigjson", errors),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => need(&["username", "password"]),
        "kubernetes.io/ssh-auth" if at.child("data").text("ssh-privatekey").is_empty() => {
            errors.required(&data.key("ssh-privatekey"), "");
        }
        "kubernetes.io/tls" => need(&["tls.crt", "tls.key"]),
        _ => {}
    }
}

fn docker_config(at: &At<'_>, key: &str, errors: &mut Errors) {
    let path = at.path.child("data").key(key);
    match at.child("data").value.get(key).and_then(Value::as_str) {
        None => errors.required(&path, ""),
        Some(text) => {
            let bytes = STANDARD.decode(text).unwrap_or_default();
            if let Err(why) = go::check_json_object(&String::from_utf8_lossy(&bytes)) {
                errors.invalid(&path, REDACTED, why);
            }
        }
    }
}

const REDACTED: &str = "<secret contents redacted>";

/// What an immutable secret or config map must keep.
fn frozen(at: &At<'_>, old: &Value, fields: &[&str], errors: &mut Errors) {
    if old.get("immutable") != Some(&Value::Bool(true)) {
        return;
    }
    if !at.flag("immutable") {
        errors.forbidden(&Path::new("immutable"), FROZEN);
    }
    for field in fields {
        let path = Path::new(field);
        // To Go an empty map of bytes is another one than none, which is what comes back from the storage.
        let is_bytes = *field == "binaryData" || fields.len() == 1;
        let emptied = || {
            let given = errors.as_given(&path).and_then(Value::as_object);
            is_bytes && given.is_some_and(pilothouse_value::Map::is_empty)
        };
        if at.value.get(field) != old.get(field) || old.get(field).is_none() && emptied() {
            errors.forbidden(&path, FROZEN);
        }
    }
}

fn data_keys(at: &At<'_>, field: &str, errors: &mut Errors) {
    for (key, _) in at.map(field) {
        errors.complaints(&at.path.child(field).key(key), key, names::config_map_key(key));
    }
}

pub(super) fn config_map(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    if let Some(old) = old {
        frozen(at, old, &["data", "binaryData"], errors);
    }
    data_keys(at, "data", errors);
    data_keys(at, "binaryData", errors);
    let binary = at.child("binaryData");
    for (key, _) in at.map("data").filter(|(key, _)| binary.value.get(key).is_some()) {
        errors.invalid(&at.path.child("data").key(key), key, "duplicate of key present in binaryData");
    }
    let text: usize = at.map("data").map(|(_, value)| value.as_str().map_or(0, str::len)).sum();
    let bytes: usize =
        at.map("binaryData").map(|(_, value)| value.as_str().map_or(0, str::len) / 4 * 3).sum();
    if text + bytes > DATA_LIMIT {
        // What Go prints of a path without a name.
        errors.0.push(Error::too_long(&Path::new("[]"), DATA_LIMIT));
    }
}

/// What the finalizers of a namespace's spec may be called, and the levels of security that its labels may ask for.
pub(super) fn namespace(at: &At<'_>, errors: &mut Errors) {
    let path = at.path.child("spec").child("finalizers");
    for finalizer in at.child("spec").items("finalizers") {
        finalizer_name(&path, finalizer.value.as_str().unwrap_or_default(), errors);
    }
}

fn finalizer_name(path: &Path, name: &str, errors: &mut Errors) {
    let complaints = names::qualified_name(name);
    errors.complaints(path, name, complaints);
    if !name.contains('/') && name != "kubernetes" {
        let detail = "name is neither a standard finalizer name nor is it fully qualified";
        errors.invalid(path, name, detail);
    }
}

/// What `finalize` may leave of a namespace's finalizers.
pub(super) fn finalize(at: &At<'_>, errors: &mut Errors) {
    for finalizer in at.child("spec").items("finalizers") {
        finalizer_name(&finalizer.path, finalizer.value.as_str().unwrap_or_default(), errors);
    }
}
