//! Who a pod's processes are, and what they may do: security contexts, and what one operating system refuses.

use std::collections::BTreeSet;

use pilothouse_value::field::Error;
use pilothouse_value::names;

use super::{At, Errors};

const ID: &str = "must be between 0 and 2147483647, inclusive";
const SYSCTL: &str = "must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
const WINDOWS: &str = "cannot be set for a windows pod";

/// The number of a user or a group.
fn user_id(at: &At<'_>, field: &str, errors: &mut Errors) {
    if let Some(id) = at.int(field).filter(|id| !(0..=i64::from(i32::MAX)).contains(id)) {
        errors.invalid(&at.path.child(field), id, ID);
    }
}

pub(super) fn of_pod(spec: &At<'_>, errors: &mut Errors) {
    let Some(context) = spec.find("securityContext") else { return };
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        user_id(&context, field, errors);
    }
    for group in context.items("supplementalGroups") {
        let id = group.value.as_i64().unwrap_or_default();
        if !(0..=i64::from(i32::MAX)).contains(&id) {
            errors.invalid(&group.path, id, ID);
        }
    }
    sysctls(spec, &context, errors);
    errors.one_of(&context, "fsGroupChangePolicy", &["Always", "OnRootMismatch"], false);
    seccomp(&context, errors);
    windows_options(&context, errors);
    app_armor(&context, errors);
    errors.one_of(&context, "supplementalGroupsPolicy", &["Merge", "Strict"], false);
    errors.one_of(&context, "seLinuxChangePolicy", &["MountOption", "Recursive"], false);
}

fn sysctls(spec: &At<'_>, context: &At<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for sysctl in context.items("sysctls") {
        let (name, path) = (sysctl.text("name"), sysctl.path.child("name"));
        if name.is_empty() {
            errors.required(&path, "");
        } else if name.len() > 253 || !is_sysctl(name) {
            errors.invalid(&path, name, SYSCTL);
        } else if seen.contains(name) {
            errors.0.push(Error::duplicate(&path, name));
        }
        let dotted = name.replace('/', ".");
        let ipc = ["kernel.shm", "kernel.msg", "fs.mqueue."].iter().any(|start| dotted.starts_with(start))
            || dotted == "kernel.sem";
        if spec.flag("hostNetwork") && dotted.starts_with("net.") {
            errors.invalid(&path, name, "may not be specified when 'hostNetwork' is true");
        } else if spec.flag("hostIPC") && ipc {
            errors.invalid(&path, name, "may not be specified when 'hostIPC' is true");
        }
        seen.insert(name);
    }
}

fn is_sysctl(name: &str) -> bool {
    name.split(['.', '/']).all(|part| {
        let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        part.chars().all(|c| alphanumeric(c) || matches!(c, '-' | '_'))
            && part.starts_with(alphanumeric)
            && part.ends_with(alphanumeric)
    })
}

fn seccomp(context: &At<'_>, errors: &mut Errors) {
    let Some(profile) = context.find("seccompProfile") else { return };
    local_profile(&profile, "seccomp", "core.SeccompProfile", errors);
}

fn app_armor(context: &At<'_>, errors: &mut Errors) {
    let Some(profile) = context.find("appArmorProfile") else { return };
    let (kind, local) = (profile.text("type"), profile.find("localhostProfile"));
    let path = profile.path.child("localhostProfile");
    match kind {
        "" => errors.required(&profile.path.child("type"), "type is required when appArmorProfile is set"),
        "Localhost" => match local.as_ref().map(|at| at.value.as_str().unwrap_or_default()) {
            None => errors.required(&path, "must be set when AppArmor type is Localhost"),
            Some(text) if text.trim() != text => {
                errors.invalid(&path, text, "must not be padded with whitespace");
            }
            Some("") => errors.required(&path, "must be set when AppArmor type is Localhost"),
            Some(text) if text.len() > 4095 => errors.0.push(Error::too_long(&path, 4095)),
            Some(_) => {}
        },
        "RuntimeDefault" | "Unconfined" => {
            if let Some(local) = local {
                errors.invalid(&path, local.value.clone(), "can only be set when AppArmor type is Localhost");
            }
        }
        _ => errors.unsupported(
            &profile.path.child("type"),
            kind,
            &["Localhost", "RuntimeDefault", "Unconfined"],
        ),
    }
}

fn local_profile(profile: &At<'_>, noun: &str, shown: &str, errors: &mut Errors) {
    let (kind, local) = (profile.text("type"), profile.find("localhostProfile"));
    let path = profile.path.child("localhostProfile");
    let kinds = ["Localhost", "RuntimeDefault", "Unconfined"];
    match kind {
        "" => {
            let detail = format!("type is required when {noun}Profile is set");
            errors.required(&profile.path.child("type"), detail.as_str());
        }
        kind if !kinds.contains(&kind) => errors.unsupported(&profile.path.child("type"), kind, &kinds),
        _ => {}
    }
    match (kind, &local) {
        ("Localhost", None) => {
            errors.required(&path, format!("must be set when {noun} type is Localhost").as_str());
        }
        ("Localhost", Some(text)) => {
            super::descending_path(&path, text.value.as_str().unwrap_or_default(), errors);
        }
        (_, Some(_)) => {
            let detail = format!("can only be set when {noun} type is Localhost");
            errors.shown(&path, shown, profile.value, &detail);
        }
        _ => {}
    }
}

fn windows_options(context: &At<'_>, errors: &mut Errors) {
    let Some(options) = context.find("windowsOptions") else { return };
    if let Some(name) = options.find("gmsaCredentialSpecName") {
        let text = name.value.as_str().unwrap_or_default();
        errors.complaints(&name.path, text, names::dns1123_subdomain(text));
    }
    if let Some(spec) = options.find("gmsaCredentialSpec") {
        let text = spec.value.as_str().unwrap_or_default();
        if text.is_empty() {
            errors.invalid(&spec.path, text, "gmsaCredentialSpec cannot be an empty string");
        } else if text.len() > 64 * 1024 {
            errors.invalid(&spec.path, text, "gmsaCredentialSpec size must be under 64 KiB");
        }
    }
    if let Some(user) = options.find("runAsUserName") {
        windows_user(&user, errors);
    }
}

fn windows_user(at: &At<'_>, errors: &mut Errors) {
    let text = at.value.as_str().unwrap_or_default();
    let mut complain = |wrong: bool, detail: &str| {
        if wrong {
            errors.invalid(&at.path, text, format!("runAsUserName{detail}"));
        }
    };
    if text.is_empty() {
        return complain(true, " cannot be an empty string");
    }
    if text.chars().any(|c| c.is_ascii_control()) {
        return complain(true, " cannot contain control characters");
    }
    if text.matches('\\').count() > 1 {
        return complain(true, " cannot contain more than one backslash");
    }
    let (domain, user) = match text.split_once('\\') {
        Some((domain, user)) => (Some(domain), user),
        None => (None, text),
    };
    if let Some(domain) = domain {
        complain(domain.len() >= 256, "'s Domain length must be under 256 characters");
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        let net_bios = (1..=15).contains(&domain.len())
            && !domain.starts_with('.')
            && !domain.contains(['\\', '/', ':', '*', '?', '"', '<', '>', '|']);
        let dns = !domain.is_empty()
            && domain.chars().all(good)
            && domain.starts_with(|c: char| c.is_ascii_alphanumeric());
        complain(!net_bios && !dns, "'s Domain doesn't match the NetBios nor the DNS format");
    }
    complain(user.is_empty(), "'s User cannot be empty");
    complain(user.len() > 104, "'s User length must not be longer than 104 characters");
    complain(
        !user.is_empty() && user.chars().all(|c| matches!(c, '.' | ' ')),
        "'s User cannot contain only periods or spaces",
    );
    let bad = ['"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']'];
    complain(user.contains(bad), "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
}

pub(super) fn of_container(spec: &At<'_>, at: &At<'_>, errors: &mut Errors) {
    let Some(context) = at.find("securityContext") else { return };
    if context.flag("privileged") && !errors.2.privileged {
        errors.forbidden(&context.path.child("privileged"), "disallowed by cluster policy");
    }
    for field in ["runAsUser", "runAsGroup"] {
        user_id(&context, field, errors);
    }
    if let Some(mount) = context.find("procMount") {
        errors.one_of_all(&context, "procMount", &["Default", "Unmasked"]);
        let host_users = spec.child("hostUsers").value.as_bool().unwrap_or(true);
        if host_users && mount.value.as_str() == Some("Unmasked") {
            errors.invalid(&mount.path, "Unmasked", "`hostUsers` must be false to use `Unmasked`");
        }
    }
    seccomp(&context, errors);
    if context.child("allowPrivilegeEscalation").value.as_bool() == Some(false) {
        if context.flag("privileged") {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            errors.shown(&context.path, "core.SecurityContext", context.value, detail);
        }
        for capability in context.child("capabilities").items("add") {
            if capability.value.as_str() == Some("CAP_SYS_ADMIN") {
                let detail =
                    "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
                errors.shown(&context.path, "core.SecurityContext", context.value, detail);
            }
        }
    }
    windows_options(&context, errors);
    app_armor(&context, errors);
}

/// All containers of a pod, in the order in which upstream visits them.
fn visited<'v>(spec: &At<'v>) -> Vec<At<'v>> {
    ["initContainers", "containers", "ephemeralContainers"].iter().flat_map(|list| spec.items(list)).collect()
}

/// Containers that are processes of a Windows host: all of a pod, or none.
pub(super) fn host_process(spec: &At<'_>, errors: &mut Errors) {
    let option = |at: &At<'_>| {
        at.child("securityContext").child("windowsOptions").child("hostProcess").value.as_bool()
    };
    let of_pod = option(spec);
    let containers = visited(spec);
    let mut count = 0;
    for container in &containers {
        let own = option(container);
        if let (Some(pod), Some(own)) = (of_pod, own)
            && pod != own
        {
            let path = container.path.child("securityContext").child("windowsOptions").child("hostProcess");
            errors.invalid(
                &path,
                own,
                format!("pod hostProcess value must be identical if both are specified, was {pod}"),
            );
        }
        count += usize::from(own.or(of_pod) == Some(true));
    }
    if count == 0 {
        return;
    }
    if count != containers.len() {
        let detail =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.invalid(&spec.path, "", detail);
    }
    if !spec.flag("hostNetwork") {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.invalid(&spec.path.child("hostNetwork"), false, detail);
    }
    if !errors.2.privileged {
        errors.forbidden(&spec.path, "hostProcess containers are disallowed by cluster policy");
    }
}

pub(super) fn operating_system(spec: &At<'_>, errors: &mut Errors) {
    let Some(os) = spec.find("os") else { return };
    let refuse = |at: &At<'_>, fields: &[&str], detail: &str, errors: &mut Errors| {
        for field in fields {
            let given = at.find(field).is_some_and(|at| {
                // Flags without a pointer are given when they are set, lists when they have elements.
                !matches!(at.value.as_bool(), Some(false) if field.starts_with("host"))
                    && at.value.as_array().is_none_or(|items| !items.is_empty())
            });
            if given {
                errors.forbidden(&at.path.child(field), detail);
            }
        }
    };
    match os.text("name") {
        "" => errors.required(&os.path.child("name"), ""),
        "linux" => {
            let detail = "windows options cannot be set for a linux pod";
            refuse(&spec.child("securityContext"), &["windowsOptions"], detail, errors);
            for container in visited(spec) {
                refuse(&container.child("securityContext"), &["windowsOptions"], detail, errors);
            }
        }
        "windows" => {
            let fields = [
                "appArmorProfile",
                "seLinuxOptions",
                "seccompProfile",
                "fsGroup",
                "fsGroupChangePolicy",
                "sysctls",
                "runAsUser",
                "runAsGroup",
                "supplementalGroups",
                "supplementalGroupsPolicy",
                "seLinuxChangePolicy",
            ];
            refuse(&spec.child("securityContext"), &fields, WINDOWS, errors);
            if spec.find("hostUsers").is_some() {
                errors.forbidden(&spec.path.child("hostUsers"), WINDOWS);
            }
            refuse(spec, &["hostPID", "hostIPC", "shareProcessNamespace"], WINDOWS, errors);
            let fields = [
                "appArmorProfile",
                "seLinuxOptions",
                "seccompProfile",
                "capabilities",
                "readOnlyRootFilesystem",
                "privileged",
                "allowPrivilegeEscalation",
                "procMount",
                "runAsUser",
                "runAsGroup",
            ];
            for container in visited(spec) {
                refuse(&container.child("securityContext"), &fields, WINDOWS, errors);
            }
        }
        name => errors.unsupported(&os.path, name, &["linux", "windows"]),
    }
}
