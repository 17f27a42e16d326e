//! Profiles of seccomp and AppArmor, which pods had in annotations before they had fields for them.

use pilothouse_value::Value;

use super::{At, Errors};

/// Where the annotation says what the field of a container says, they say the same.
pub(super) fn match_annotations(pod: &At<'_>, errors: &mut Errors) {
    let spec = pod.child("spec");
    let annotation = |key: &str| pod.value.str_at(&["metadata", "annotations", key]);
    let of_pod = spec.child("securityContext");
    if let (Some(field), Some(text)) =
        (of_pod.find("seccompProfile"), annotation("seccomp.security.alpha.kubernetes.io/pod"))
    {
        matches("seccomp", &field, &field, text, errors);
    }
    let containers: Vec<At<'_>> = ["initContainers", "containers", "ephemeralContainers"]
        .iter()
        .flat_map(|list| spec.items(list))
        .collect();
    for container in &containers {
        let key = format!("container.seccomp.security.alpha.kubernetes.io/{}", container.text("name"));
        let field = container.child("securityContext").find("seccompProfile");
        if let (Some(field), Some(text)) = (field, annotation(&key)) {
            matches("seccomp", &field, &field, text, errors);
        }
    }
    if spec.value.str_at(&["os", "name"]) == Some("windows") {
        return;
    }
    for container in &containers {
        let key = format!("container.apparmor.security.beta.kubernetes.io/{}", container.text("name"));
        let own = container.child("securityContext").child("appArmorProfile");
        let inherited = of_pod.child("appArmorProfile");
        let field = if own.value.is_null() { &inherited } else { &own };
        if let (false, Some(text)) = (field.value.is_null(), annotation(&key)) {
            matches("apparmor", field, &own, text, errors);
        }
    }
}

/// `field` says what the annotation should; errors stand at `shown`.
fn matches(what: &str, field: &At<'_>, shown: &At<'_>, annotation: &str, errors: &mut Errors) {
    let differs = |errors: &mut Errors| {
        errors
            .forbidden(&shown.path.child("type"), format!("{what} type in annotation and field must match"));
    };
    match field.text("type") {
        "Unconfined" if annotation != "unconfined" => differs(errors),
        "RuntimeDefault"
            if annotation != "runtime/default" && (what != "seccomp" || annotation != "docker/default") =>
        {
            differs(errors);
        }
        "Localhost" => match annotation.strip_prefix("localhost/") {
            None => differs(errors),
            Some(name) if field.value.get("localhostProfile").and_then(Value::as_str) != Some(name) => {
                let detail = format!("{what} profile in annotation and field must match");
                errors.forbidden(&shown.path.child("localhostProfile"), detail);
            }
            Some(_) => {}
        },
        _ => {}
    }
}
