//! Which families of IP addresses a Service has, and whether they fit the addresses that it asks for. The cluster has
//! one family, IPv4 (upstream: pkg/registry/core/service/storage/alloc.go).

use pilothouse_schema::builtin;
use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Status, Value};

use super::{invalid, is_external_name};

const OURS: &str = "IPv4";
const OTHER: &str = "IPv6";
const SINGLE: &str = "SingleStack";
const PREFER: &str = "PreferDualStack";
const REQUIRE: &str = "RequireDualStack";

fn texts<'v>(service: &'v Value, list: &str) -> Vec<&'v str> {
    service.items_at(&["spec", list]).iter().filter_map(Value::as_str).collect()
}

fn same(a: &Value, b: &Value, list: &str) -> bool {
    texts(a, list) == texts(b, list)
}

fn reduced(new: &Value, old: &Value, list: &str) -> bool {
    let (now, before) = (texts(new, list).len(), texts(old, list).len());
    now > 0 && now < before
}

fn policy(service: &Value) -> Option<&str> {
    service.str_at(&["spec", "ipFamilyPolicy"])
}

/// Makes `clusterIPs` say what `clusterIP` says, where a client knows only the older of the two.
pub(super) fn align_addresses(service: &mut Value, old: Option<&Value>) {
    let one = service.str_at(&["spec", "clusterIP"]).unwrap_or_default().to_owned();
    let Some(old) = old else {
        if !one.is_empty() && texts(service, "clusterIPs").is_empty() {
            service.set(&["spec", "clusterIPs"], vec![one]);
        }
        return;
    };
    let before = old.str_at(&["spec", "clusterIP"]).unwrap_or_default();
    if before == one {
        let kept = old.items_at(&["spec", "clusterIPs"]);
        if texts(service, "clusterIPs").is_empty() && !kept.is_empty() {
            service.set(&["spec", "clusterIPs"], kept.to_vec());
        }
    } else if same(service, old, "clusterIPs") {
        if one.is_empty() {
            service.take(&["spec", "clusterIPs"]);
        } else {
            service.set(&["spec", "clusterIPs"], vec![one]);
        }
    }
}

/// Nothing of the addresses of a Service that prefers two families changes, unless the client changes it.
fn stays_as_preferred(service: &Value, old: &Value) -> bool {
    policy(service) == Some(PREFER)
        && policy(old).is_none_or(|policy| policy == PREFER)
        && service.at(&["spec", "type"]) == old.at(&["spec", "type"])
        && matches!(super::kind(service), "ClusterIP" | "NodePort" | "LoadBalancer")
        && same(service, old, "clusterIPs")
        && same(service, old, "ipFamilies")
}

/// Fills in the families and their policy, and takes the second family from a Service that gives it up.
///
/// # Errors
/// 422 if they do not fit each other, the addresses or the cluster.
pub(super) fn choose(service: &mut Value, old: Option<&Value>) -> Result<(), Status> {
    if is_external_name(service) || old.is_some_and(|old| stays_as_preferred(service, old)) {
        return Ok(());
    }
    let selects =
        service.at(&["spec", "selector"]).and_then(Value::as_object).is_some_and(|map| !map.is_empty());
    let free_headless = service.str_at(&["spec", "clusterIP"]) == Some("None") && !selects;
    if policy(service).is_none() {
        let chosen = match old.and_then(policy) {
            Some(before) => before,
            None if free_headless => REQUIRE,
            None => SINGLE,
        };
        service.set(&["spec", "ipFamilyPolicy"], chosen);
    }
    let errors = builtin::validate_cluster_ips(service, old);
    if !errors.is_empty() {
        return Err(invalid(service, &errors));
    }
    let errors = fit(service, old);
    if !errors.is_empty() {
        return Err(invalid(service, &errors));
    }
    let single = policy(service) == Some(SINGLE);
    if free_headless {
        let first = texts(service, "ipFamilies").first().copied().unwrap_or(OURS).to_owned();
        if texts(service, "ipFamilies").len() < 2 {
            let second = if first == OURS { OTHER } else { OURS };
            let families = if single { vec![first] } else { vec![first, second.to_owned()] };
            service.set(&["spec", "ipFamilies"], families);
        }
        return Ok(());
    }
    let spec = Path::new("spec");
    let mut errors = Vec::new();
    if policy(service) == Some(REQUIRE) {
        let detail = "this cluster is not configured for dual-stack services";
        errors.push(Error::invalid(&spec.child("ipFamilyPolicy"), REQUIRE, detail));
    }
    for (index, family) in texts(service, "ipFamilies").into_iter().enumerate().filter(|(_, f)| *f != OURS) {
        let path = spec.child("ipFamilies").index(index);
        errors.push(Error::invalid(&path, family, "not configured on this cluster"));
    }
    if !errors.is_empty() {
        return Err(invalid(service, &errors));
    }
    if texts(service, "ipFamilies").is_empty() {
        service.set(&["spec", "ipFamilies"], vec![OURS]);
    }
    Ok(())
}

/// Whether policy, families and addresses fit each other; cuts what a single family does without, and adds the families
/// of addresses.
fn fit(service: &mut Value, old: Option<&Value>) -> Vec<Error> {
    let spec = Path::new("spec");
    let policy_path = spec.child("ipFamilyPolicy");
    let chosen = policy(service).unwrap_or_default().to_owned();
    let mut errors = Vec::new();
    if let Some(old) = old {
        for (list, what) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")] {
            if chosen == SINGLE {
                if same(service, old, list)
                    && let Some(items) = service.at_mut(&["spec", list]).and_then(Value::as_array_mut)
                {
                    items.truncate(1);
                }
            } else if reduced(service, old, list) {
                let detail = format!("must be 'SingleStack' to release the secondary {what}");
                errors.push(Error::invalid(&policy_path, chosen.as_str(), detail));
            }
        }
    }
    for (list, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
        if chosen == SINGLE && texts(service, list).len() == 2 {
            let detail =
                format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
            errors.push(Error::invalid(&policy_path, chosen.as_str(), detail));
        }
    }
    let mut families: Vec<String> = texts(service, "ipFamilies").into_iter().map(str::to_owned).collect();
    let given = families.len();
    for (index, address) in texts(service, "clusterIPs").into_iter().enumerate() {
        if address == "None" {
            break;
        }
        if index < families.len() {
            continue;
        }
        if address.contains(':') {
            let path = spec.child("clusterIPs").index(index);
            let shown = service.at(&["spec", "clusterIPs"]).cloned().unwrap_or_default();
            errors.push(Error::invalid(&path, shown, format!("{OTHER} is not configured on this cluster")));
        } else {
            families.push(OURS.to_owned());
        }
    }
    if families.len() > given {
        service.set(&["spec", "ipFamilies"], families);
    }
    errors
}
