//! What counts against ResourceQuotas: how much of which resource an object uses, and which quotas it falls under.
//!
//! The plugin ResourceQuota charges quotas when objects are made; the controller of `pilothouse-cluster` counts again when
//! they are gone. Both count with what is here. The rules are those of k8s.io/kubernetes' `pkg/quota/v1`.

mod claims;
mod pods;
mod scopes;

use std::collections::BTreeSet;
use std::sync::Arc;

use pilothouse_value::{Quantity, Timestamp, Value};

pub(crate) use crate::objects::resources::Amounts;
use crate::objects::resources::{self};

/// Resources whose count has had a name of its own since before `count/…`.
const ALIASES: [&str; 4] = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];

/// The kinds of objects that are counted, each in a way of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What they ask of nodes, and how many there are.
    Pods,
    /// How many there are, and of node ports and load balancers.
    Services,
    /// How much storage, in all and by class.
    Claims,
    /// How many there are.
    Others {
        /// The names under which they are counted.
        names: Vec<String>,
    },
}

impl Kind {
    /// How objects of a resource are counted; `None` for what never is.
    pub(crate) fn of(group: &str, plural: &str) -> Option<Kind> {
        Some(match (group, plural) {
            ("", "pods") => Kind::Pods,
            ("", "services") => Kind::Services,
            ("", "persistentvolumeclaims") => Kind::Claims,
            ("" | "events.k8s.io", "events") | ("", "bindings" | "componentstatuses") => return None,
            ("authentication.k8s.io" | "authorization.k8s.io", _) => return None,
            _ => {
                let mut names = vec![count_name(group, plural)];
                if group.is_empty() && ALIASES.contains(&plural) {
                    names.push(plural.to_owned());
                }
                Kind::Others { names }
            }
        })
    }

    /// Which of some names of resources these objects use.
    pub(crate) fn matching<'a>(&self, names: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
        names.filter(|name| self.uses(name)).collect()
    }

    fn uses(&self, name: &str) -> bool {
        match self {
            Kind::Pods => pods::uses(name),
            Kind::Services => {
                matches!(
                    name,
                    "count/services" | "services" | "services.nodeports" | "services.loadbalancers"
                )
            }
            Kind::Claims => claims::uses(name),
            Kind::Others { names } => names.iter().any(|own| own == name),
        }
    }

    /// What an object uses at this time.
    pub(crate) fn usage(&self, object: &Value, now: Timestamp) -> Amounts {
        match self {
            Kind::Pods => pods::usage(object, now),
            Kind::Services => services(object),
            Kind::Claims => claims::usage(object),
            Kind::Others { names } => {
                names.iter().map(|name| (name.clone(), Quantity::from_i64(1))).collect()
            }
        }
    }

    /// Whether an object falls under a requirement on its scope.
    pub(crate) fn in_scope(&self, scope: &scopes::Scope<'_>, object: &Value) -> bool {
        match self {
            Kind::Pods => scope.holds_pod(object),
            Kind::Claims => scope.holds_claim(object),
            Kind::Services | Kind::Others { .. } => false,
        }
    }

    /// Whether an object falls under a quota, as far as scopes say.
    pub(crate) fn in_scopes_of(&self, quota: &Value, object: &Value) -> bool {
        scopes::of(quota).iter().all(|scope| self.in_scope(scope, object))
    }

    /// What containers must say for a quota to count them, and do not.
    ///
    /// # Errors
    /// With what is missing where.
    pub(crate) fn check(&self, required: &BTreeSet<&str>, object: &Value) -> Result<(), String> {
        match self {
            Kind::Pods => pods::check(required, object),
            _ => Ok(()),
        }
    }
}

pub(crate) use scopes::{Scope, is_terminating, of as scopes_of};

/// The name under which the number of objects of a resource is limited: `count/deployments.apps`.
fn count_name(group: &str, plural: &str) -> String {
    match group {
        "" => format!("count/{plural}"),
        group => format!("count/{plural}.{group}"),
    }
}

fn services(service: &Value) -> Amounts {
    let ports = service.items_at(&["spec", "ports"]);
    let (mut node_ports, mut balancers) = (0, 0);
    match service.str_at(&["spec", "type"]) {
        Some("NodePort") => node_ports = ports.len(),
        Some("LoadBalancer") => {
            balancers = 1;
            let allocates = service.at(&["spec", "allocateLoadBalancerNodePorts"]).and_then(Value::as_bool);
            let has_port = |port: &&Value| port.i64_at(&["nodePort"]).unwrap_or_default() != 0;
            node_ports =
                if allocates == Some(false) { ports.iter().filter(has_port).count() } else { ports.len() };
        }
        _ => {}
    }
    let number = |count: usize| Quantity::from_i64(i64::try_from(count).unwrap_or(i64::MAX));
    Amounts::from([
        ("count/services".to_owned(), number(1)),
        ("services".to_owned(), number(1)),
        ("services.nodeports".to_owned(), number(node_ports)),
        ("services.loadbalancers".to_owned(), number(balancers)),
    ])
}

/// A resource whose objects a quota counts: its group and its plural name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// The API group; empty for the core group.
    pub group: String,
    /// The plural name.
    pub plural: String,
}

/// The resources that a quota counts: those that its `spec.hard` limits.
pub fn counted(quota: &Value) -> BTreeSet<Counted> {
    let hard = quota.at(&["spec", "hard"]).and_then(Value::as_object);
    let mut all = BTreeSet::new();
    let mut add = |group: &str, plural: &str| {
        all.insert(Counted { group: group.to_owned(), plural: plural.to_owned() });
    };
    for name in hard.into_iter().flat_map(|hard| hard.keys()) {
        for (plural, kind) in
            [("pods", Kind::Pods), ("services", Kind::Services), ("persistentvolumeclaims", Kind::Claims)]
        {
            if kind.uses(name) {
                add("", plural);
            }
        }
        if ALIASES.contains(&name) {
            add("", name);
        }
        if let Some(counted) = name.strip_prefix("count/") {
            let (plural, group) = counted.split_once('.').unwrap_or((counted, ""));
            if !matches!((group, plural), ("", "pods" | "services" | "persistentvolumeclaims")) {
                add(group, plural);
            }
        }
    }
    all
}

/// The `status.used` of a quota at this time. `list` gives the objects of a resource in the quota's namespace; where it gives
/// none the resource is not known, and what was counted stays.
pub fn used(quota: &Value, now: Timestamp, list: impl Fn(&Counted) -> Option<Vec<Arc<Value>>>) -> Value {
    let hard = resources::read(quota.at(&["spec", "hard"]));
    let before = resources::read(quota.at(&["status", "used"]));
    let mut used = Amounts::new();
    for counted in counted(quota) {
        let Some(kind) = Kind::of(&counted.group, &counted.plural) else { continue };
        let names = kind.matching(hard.keys().map(String::as_str));
        let Some(objects) = list(&counted) else {
            let kept = names.iter().filter_map(|name| Some(((*name).to_owned(), *before.get(*name)?)));
            used.extend(kept);
            continue;
        };
        for name in &names {
            used.entry((*name).to_owned()).or_insert_with(|| Quantity::from_i64(0));
        }
        for object in objects.iter().filter(|object| kind.in_scopes_of(quota, object)) {
            let mut usage = kind.usage(object, now);
            usage.retain(|name, _| names.contains(name.as_str()));
            resources::add(&mut used, &usage);
        }
    }
    resources::write(&used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    #[test]
    fn a_quota_counts_what_it_limits() {
        let quota = json!({"spec": {"hard": {
            "pods": "10", "requests.cpu": "2", "count/deployments.apps": "3", "count/widgets.example.com": "1",
            "secrets": "5", "gold.storageclass.storage.k8s.io/requests.storage": "1Gi",
        }}});
        let names: Vec<String> =
            counted(&quota).iter().map(|one| format!("{}.{}", one.plural, one.group)).collect();
        assert_eq!(
            names,
            ["persistentvolumeclaims.", "pods.", "secrets.", "deployments.apps", "widgets.example.com"]
        );
        let pod = |cpu: &str, phase: &str| {
            Arc::new(json!({
                "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}, "status": {"phase": phase},
            }))
        };
        let used = used(&quota, Timestamp::from_unix_seconds(0), |counted| match counted.plural.as_str() {
            "pods" => Some(vec![pod("500m", "Running"), pod("700m", "Running"), pod("1", "Succeeded")]),
            "widgets" => None,
            _ => Some(Vec::new()),
        });
        assert_eq!(
            used,
            json!({
                "pods": "2", "requests.cpu": "1200m", "count/deployments.apps": "0", "secrets": "0",
                "gold.storageclass.storage.k8s.io/requests.storage": "0",
            })
        );
    }
}
