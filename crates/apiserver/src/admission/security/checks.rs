//! The checks of the standards `baseline` and `restricted`, each in the forms that it had since Kubernetes 1.0.

use std::collections::BTreeSet;

use pilothouse_value::{Value, field, object};

use super::policy::{Level, Standard, Version};

/// What a pod breaks.
#[derive(Debug)]
pub(super) struct Violation {
    /// In a few words.
    pub(super) reason: String,
    /// Who does it; may be empty.
    pub(super) detail: String,
}

type Outcome = Option<Violation>;

/// What a check looks at.
struct Pod<'a> {
    meta: &'a Value,
    spec: &'a Value,
    minor: u32,
}

type Check = fn(&Pod<'_>) -> Outcome;

/// The newest version that changed a rule.
const NEWEST: u32 = 37;

/// Checks a pod, or a template of one, against a standard. `pod` has the metadata.
pub(super) fn run(standard: Standard, pod: &Value, spec: &Value) -> Vec<Violation> {
    let minor = match standard.version {
        Version::Latest => NEWEST,
        Version::Minor(minor) => minor.min(NEWEST),
    };
    let restricted = match standard.level {
        Level::Privileged => return Vec::new(),
        Level::Baseline => false,
        Level::Restricted => true,
    };
    let pod = Pod { meta: pod, spec, minor };
    // Baseline first, then restricted, each in the order of upstream's names. A restricted check takes the place of the
    // baseline check of the same matter.
    let baseline: [(Check, bool); 12] = [
        (app_armor, true),
        (default_capabilities, !restricted || minor < 22),
        (host_namespaces, true),
        (host_paths, !restricted),
        (host_ports, true),
        (probe_hosts, minor >= 34),
        (privileged, true),
        (proc_mount, !restricted || minor < 35),
        (se_linux, true),
        (seccomp, !restricted || minor < 19),
        (sysctls, true),
        (windows_host_process, true),
    ];
    let stricter: [(Check, bool); 7] = [
        (privilege_escalation, minor >= 8),
        (dropped_capabilities, minor >= 22),
        (any_proc_mount, minor >= 35),
        (volume_types, true),
        (non_root, true),
        (root_user, minor >= 23),
        (seccomp_set, minor >= 19),
    ];
    let stricter = stricter.into_iter().filter(|_| restricted);
    baseline.into_iter().chain(stricter).filter(|(_, on)| *on).filter_map(|(check, _)| check(&pod)).collect()
}

impl<'a> Pod<'a> {
    fn containers(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        let spec = self.spec;
        ["initContainers", "containers", "ephemeralContainers"]
            .into_iter()
            .flat_map(move |list| spec.items_at(&[list]))
    }

    /// Names of the containers that are bad.
    fn bad(&self, mut is_bad: impl FnMut(&'a Value) -> bool) -> Vec<&'a str> {
        self.containers().filter(|container| is_bad(container)).map(name).collect()
    }

    fn is_windows(&self) -> bool {
        self.spec.str_at(&["os", "name"]) == Some("windows")
    }

    /// Whether root in the pod is nobody on the node, which later versions take into account.
    fn has_users_of_its_own(&self) -> bool {
        self.minor >= 35 && self.spec.at(&["hostUsers"]).and_then(Value::as_bool) == Some(false)
    }
}

fn name(value: &Value) -> &str {
    value.str_at(&["name"]).unwrap_or_default()
}

fn is(value: &Value, path: &[&str], wanted: bool) -> bool {
    value.at(path).and_then(Value::as_bool) == Some(wanted)
}

fn quoted<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("\"{word}\"")).collect();
    words.join(", ")
}

fn plural<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

fn containers(names: &[&str]) -> String {
    format!("{} {}", plural(names.len(), "container", "containers"), quoted(names.iter().copied()))
}

/// Who sets something: the pod, some containers, or both.
fn setters(pod: bool, names: &[&str]) -> Option<String> {
    let pod = pod.then(|| "pod".to_owned());
    let all: Vec<String> = pod.into_iter().chain((!names.is_empty()).then(|| containers(names))).collect();
    (!all.is_empty()).then(|| all.join(" and "))
}

fn violation(reason: impl Into<String>, detail: impl Into<String>) -> Outcome {
    Some(Violation { reason: reason.into(), detail: detail.into() })
}

fn app_armor(pod: &Pod<'_>) -> Outcome {
    const PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";
    let mut values: BTreeSet<&str> = BTreeSet::new();
    let is_bad = |value: Option<&'_ Value>| -> Option<String> {
        let kind = value?.str_at(&["type"]).unwrap_or_default();
        (!matches!(kind, "RuntimeDefault" | "Localhost")).then(|| kind.to_owned())
    };
    let profile = &["securityContext", "appArmorProfile"];
    let own = is_bad(pod.spec.at(profile));
    let bad: Vec<(&str, String)> = pod
        .containers()
        .filter_map(|container| Some((name(container), is_bad(container.at(profile))?)))
        .collect();
    values.extend(own.as_deref());
    values.extend(bad.iter().map(|(_, kind)| kind.as_str()));
    let names: Vec<&str> = bad.iter().map(|(name, _)| *name).collect();
    let annotations = object::annotations(pod.meta).into_iter().flat_map(|map| map.iter());
    let mut forbidden: Vec<String> = annotations
        .filter_map(|(key, value)| {
            let value = value.as_str().unwrap_or_default();
            let good = value.is_empty() || value == "runtime/default" || value.starts_with("localhost/");
            (key.starts_with(PREFIX) && !good).then(|| format!("{key}={}", field::quote(value)))
        })
        .collect();
    forbidden.sort();
    let mut who: Vec<String> = setters(own.is_some(), &names).into_iter().collect();
    if !forbidden.is_empty() {
        who.push(plural(forbidden.len(), "annotation", "annotations").to_owned());
    }
    if who.is_empty() {
        return None;
    }
    let all: Vec<&str> = values.into_iter().chain(forbidden.iter().map(String::as_str)).collect();
    violation(
        plural(all.len(), "forbidden AppArmor profile", "forbidden AppArmor profiles"),
        format!("{} must not set AppArmor profile type to {}", who.join(" and "), quoted(all)),
    )
}

const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

fn added(container: &Value) -> impl Iterator<Item = &str> {
    container.items_at(&["securityContext", "capabilities", "add"]).iter().filter_map(Value::as_str)
}

fn default_capabilities(pod: &Pod<'_>) -> Outcome {
    let mut others: BTreeSet<&str> = BTreeSet::new();
    let bad = pod.bad(|container| {
        let before = others.len();
        let mut any = false;
        for capability in added(container).filter(|capability| !CAPABILITIES.contains(capability)) {
            any = true;
            others.insert(capability);
        }
        any || others.len() > before
    });
    if bad.is_empty() {
        return None;
    }
    let detail = format!(
        "{} must not include {} in securityContext.capabilities.add",
        containers(&bad),
        quoted(others)
    );
    violation("non-default capabilities", detail)
}

fn dropped_capabilities(pod: &Pod<'_>) -> Outcome {
    if pod.minor >= 25 && pod.is_windows() {
        return None;
    }
    let drops_all = |container: &Value| {
        let dropped = container.items_at(&["securityContext", "capabilities", "drop"]);
        dropped.iter().any(|capability| capability.as_str() == Some("ALL"))
    };
    let missing = pod.bad(|container| !drops_all(container));
    let mut others: BTreeSet<&str> = BTreeSet::new();
    let adding = pod.bad(|container| {
        let forbidden: Vec<&str> = added(container).filter(|one| *one != "NET_BIND_SERVICE").collect();
        others.extend(&forbidden);
        !forbidden.is_empty()
    });
    let mut details = Vec::new();
    if !missing.is_empty() {
        details
            .push(format!("{} must set securityContext.capabilities.drop=[\"ALL\"]", containers(&missing)));
    }
    if !adding.is_empty() {
        details.push(format!(
            "{} must not include {} in securityContext.capabilities.add",
            containers(&adding),
            quoted(others)
        ));
    }
    if details.is_empty() { None } else { violation("unrestricted capabilities", details.join("; ")) }
}

fn host_namespaces(pod: &Pod<'_>) -> Outcome {
    let set: Vec<String> = ["hostNetwork", "hostPID", "hostIPC"]
        .into_iter()
        .filter(|field| is(pod.spec, &[field], true))
        .map(|field| format!("{field}=true"))
        .collect();
    if set.is_empty() { None } else { violation("host namespaces", set.join(", ")) }
}

fn host_paths(pod: &Pod<'_>) -> Outcome {
    let volumes = pod.spec.items_at(&["volumes"]).iter();
    let bad: Vec<&str> = volumes
        .filter(|volume| volume.get("hostPath").is_some_and(|path| !path.is_null()))
        .map(name)
        .collect();
    if bad.is_empty() {
        return None;
    }
    violation("hostPath volumes", format!("{} {}", plural(bad.len(), "volume", "volumes"), quoted(bad)))
}

fn host_ports(pod: &Pod<'_>) -> Outcome {
    let mut ports: BTreeSet<String> = BTreeSet::new();
    let bad = pod.bad(|container| {
        let own: Vec<i64> = container
            .items_at(&["ports"])
            .iter()
            .filter_map(|port| port.i64_at(&["hostPort"]).filter(|port| *port != 0))
            .collect();
        ports.extend(own.iter().map(i64::to_string));
        !own.is_empty()
    });
    if bad.is_empty() {
        return None;
    }
    let detail = format!(
        "{} {} {} {}",
        containers(&bad),
        plural(bad.len(), "uses", "use"),
        plural(ports.len(), "hostPort", "hostPorts"),
        ports.into_iter().collect::<Vec<_>>().join(", ")
    );
    violation("hostPort", detail)
}

fn probe_hosts(pod: &Pod<'_>) -> Outcome {
    const HANDLERS: [&[&str]; 5] = [
        &["livenessProbe"],
        &["readinessProbe"],
        &["startupProbe"],
        &["lifecycle", "postStart"],
        &["lifecycle", "preStop"],
    ];
    let (mut bad, mut hosts): (BTreeSet<&str>, BTreeSet<&str>) = (BTreeSet::new(), BTreeSet::new());
    for container in pod.containers() {
        for handler in HANDLERS.iter().filter_map(|path| container.at(path)) {
            for host in
                ["httpGet", "tcpSocket"].into_iter().filter_map(|kind| handler.str_at(&[kind, "host"]))
            {
                if !host.is_empty() {
                    bad.insert(name(container));
                    hosts.insert(host);
                }
            }
        }
    }
    if bad.is_empty() {
        return None;
    }
    let bad: Vec<&str> = bad.into_iter().collect();
    let detail = format!(
        "{} {} {} {}",
        containers(&bad),
        plural(bad.len(), "uses", "use"),
        plural(hosts.len(), "probe or lifecycle host", "probe or lifecycle hosts"),
        quoted(hosts)
    );
    violation("probe or lifecycle host", detail)
}

fn privileged(pod: &Pod<'_>) -> Outcome {
    let bad = pod.bad(|container| is(container, &["securityContext", "privileged"], true));
    if bad.is_empty() {
        return None;
    }
    violation("privileged", format!("{} must not set securityContext.privileged=true", containers(&bad)))
}

fn proc_mount(pod: &Pod<'_>) -> Outcome {
    if pod.has_users_of_its_own() { None } else { any_proc_mount(pod) }
}

fn any_proc_mount(pod: &Pod<'_>) -> Outcome {
    let mut kinds: BTreeSet<&str> = BTreeSet::new();
    let bad = pod.bad(|container| {
        let kind = container.str_at(&["securityContext", "procMount"]).filter(|kind| *kind != "Default");
        kinds.extend(kind);
        kind.is_some()
    });
    if bad.is_empty() {
        return None;
    }
    let detail = format!("{} must not set securityContext.procMount to {}", containers(&bad), quoted(kinds));
    violation("procMount", detail)
}

fn se_linux(pod: &Pod<'_>) -> Outcome {
    let (mut types, mut user, mut role) = (BTreeSet::new(), false, false);
    let minor = pod.minor;
    let mut is_bad = |options: Option<&Value>| {
        let Some(options) = options.filter(|options| !options.is_null()) else { return false };
        let text = |field: &str| options.str_at(&[field]).unwrap_or_default().to_owned();
        let kind = text("type");
        let good = matches!(&*kind, "" | "container_t" | "container_init_t" | "container_kvm_t")
            || (minor >= 31 && kind == "container_engine_t");
        let (has_user, has_role) = (!text("user").is_empty(), !text("role").is_empty());
        user |= has_user;
        role |= has_role;
        if !good {
            types.insert(kind);
        }
        !good || has_user || has_role
    };
    let path = &["securityContext", "seLinuxOptions"];
    let own = is_bad(pod.spec.at(path));
    let bad = pod.bad(|container| is_bad(container.at(path)));
    let who = setters(own, &bad)?;
    let mut data = Vec::new();
    if !types.is_empty() {
        let kinds = quoted(types.iter().map(String::as_str));
        data.push(format!("{} {kinds}", plural(types.len(), "type", "types")));
    }
    if user {
        data.push("user may not be set".to_owned());
    }
    if role {
        data.push("role may not be set".to_owned());
    }
    violation(
        "seLinuxOptions",
        format!("{who} set forbidden securityContext.seLinuxOptions: {}", data.join("; ")),
    )
}

/// The type of a seccomp profile that is set; `Err` if it is a bad one.
fn profile(value: &Value) -> Option<Result<(), &str>> {
    let profile = value.at(&["securityContext", "seccompProfile"]).filter(|profile| !profile.is_null())?;
    let kind = profile.str_at(&["type"]).unwrap_or_default();
    Some(if matches!(kind, "RuntimeDefault" | "Localhost") { Ok(()) } else { Err(kind) })
}

fn seccomp(pod: &Pod<'_>) -> Outcome {
    if pod.minor < 19 {
        return seccomp_annotations(pod);
    }
    let mut values: BTreeSet<&str> = BTreeSet::new();
    let own = match profile(pod.spec) {
        Some(Err(kind)) => values.insert(kind),
        _ => false,
    };
    let bad = pod.bad(|container| match profile(container) {
        Some(Err(kind)) => {
            values.insert(kind);
            true
        }
        _ => false,
    });
    let who = setters(own, &bad)?;
    violation(
        "seccompProfile",
        format!("{who} must not set securityContext.seccompProfile.type to {}", quoted(values)),
    )
}

fn seccomp_annotations(pod: &Pod<'_>) -> Outcome {
    let is_bad = |value: &str| {
        !matches!(value, "runtime/default" | "docker/default") && !value.starts_with("localhost/")
    };
    let keys = std::iter::once("seccomp.security.alpha.kubernetes.io/pod".to_owned()).chain(
        pod.containers().map(|one| format!("container.seccomp.security.alpha.kubernetes.io/{}", name(one))),
    );
    let forbidden: BTreeSet<String> = keys
        .filter_map(|key| {
            let value = object::annotation(pod.meta, &key)?;
            is_bad(value).then(|| format!("{key}={}", field::quote(value)))
        })
        .collect();
    if forbidden.is_empty() {
        return None;
    }
    let what = plural(forbidden.len(), "annotation", "annotations");
    violation(
        "seccompProfile",
        format!("forbidden {what} {}", forbidden.into_iter().collect::<Vec<_>>().join(", ")),
    )
}

fn seccomp_set(pod: &Pod<'_>) -> Outcome {
    if pod.minor >= 25 && pod.is_windows() {
        return None;
    }
    let explicit = seccomp(pod);
    if explicit.is_some() {
        return explicit;
    }
    if profile(pod.spec).is_some() {
        return None;
    }
    let bad = pod.bad(|container| profile(container).is_none());
    if bad.is_empty() {
        return None;
    }
    let detail = format!(
        "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
        containers(&bad)
    );
    violation("seccompProfile", detail)
}

fn sysctls(pod: &Pod<'_>) -> Outcome {
    const ALLOWED: [(&str, u32); 14] = [
        ("kernel.shm_rmid_forced", 0),
        ("net.ipv4.ip_local_port_range", 0),
        ("net.ipv4.tcp_syncookies", 0),
        ("net.ipv4.ping_group_range", 0),
        ("net.ipv4.ip_unprivileged_port_start", 0),
        ("net.ipv4.ip_local_reserved_ports", 27),
        ("net.ipv4.tcp_keepalive_time", 29),
        ("net.ipv4.tcp_fin_timeout", 29),
        ("net.ipv4.tcp_keepalive_intvl", 29),
        ("net.ipv4.tcp_keepalive_probes", 29),
        ("net.ipv4.tcp_rmem", 32),
        ("net.ipv4.tcp_wmem", 32),
        ("net.ipv4.tcp_slow_start_after_idle", 37),
        ("net.ipv4.tcp_notsent_lowat", 37),
    ];
    let forbidden: Vec<&str> = pod
        .spec
        .items_at(&["securityContext", "sysctls"])
        .iter()
        .map(name)
        .filter(|sysctl| !ALLOWED.iter().any(|(name, since)| name == sysctl && pod.minor >= *since))
        .collect();
    if forbidden.is_empty() { None } else { violation("forbidden sysctls", forbidden.join(", ")) }
}

fn windows_host_process(pod: &Pod<'_>) -> Outcome {
    let path = &["securityContext", "windowsOptions", "hostProcess"];
    let bad = pod.bad(|container| is(container, path, true));
    let who = setters(is(pod.spec, path, true), &bad)?;
    violation("hostProcess", format!("{who} must not set securityContext.windowsOptions.hostProcess=true"))
}

fn privilege_escalation(pod: &Pod<'_>) -> Outcome {
    if pod.minor >= 25 && pod.is_windows() {
        return None;
    }
    let bad = pod.bad(|container| !is(container, &["securityContext", "allowPrivilegeEscalation"], false));
    if bad.is_empty() {
        return None;
    }
    let detail = format!("{} must set securityContext.allowPrivilegeEscalation=false", containers(&bad));
    violation("allowPrivilegeEscalation != false", detail)
}

fn volume_types(pod: &Pod<'_>) -> Outcome {
    const ALLOWED: [&str; 9] = [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ];
    let mut kinds: BTreeSet<&str> = BTreeSet::new();
    let mut bad = Vec::new();
    for volume in pod.spec.items_at(&["volumes"]) {
        let fields = volume.as_object().into_iter().flat_map(|map| map.iter());
        let kind =
            fields.filter(|(key, value)| *key != "name" && !value.is_null()).map(|(key, _)| key).next();
        if kind.is_some_and(|kind| ALLOWED.contains(&kind)) {
            continue;
        }
        bad.push(name(volume));
        kinds.insert(kind.unwrap_or("unknown"));
    }
    if bad.is_empty() {
        return None;
    }
    let detail = format!(
        "{} {} {} {} {}",
        plural(bad.len(), "volume", "volumes"),
        quoted(bad.iter().copied()),
        plural(bad.len(), "uses", "use"),
        plural(kinds.len(), "restricted volume type", "restricted volume types"),
        quoted(kinds)
    );
    violation("restricted volume types", detail)
}

fn non_root(pod: &Pod<'_>) -> Outcome {
    const REASON: &str = "runAsNonRoot != true";
    if pod.has_users_of_its_own() {
        return None;
    }
    let path = &["securityContext", "runAsNonRoot"];
    let of = |value: &Value| value.at(path).and_then(Value::as_bool);
    let bad = pod.bad(|container| of(container) == Some(false));
    if let Some(who) = setters(of(pod.spec) == Some(false), &bad) {
        return violation(REASON, format!("{who} must not set securityContext.runAsNonRoot=false"));
    }
    if of(pod.spec) == Some(true) {
        return None;
    }
    let bad = pod.bad(|container| of(container).is_none());
    if bad.is_empty() {
        return None;
    }
    violation(REASON, format!("pod or {} must set securityContext.runAsNonRoot=true", containers(&bad)))
}

fn root_user(pod: &Pod<'_>) -> Outcome {
    if pod.has_users_of_its_own() {
        return None;
    }
    let is_root = |value: &Value| value.i64_at(&["securityContext", "runAsUser"]) == Some(0);
    let who = setters(is_root(pod.spec), &pod.bad(is_root))?;
    violation("runAsUser=0", format!("{who} must not set runAsUser=0"))
}
