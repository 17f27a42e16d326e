//! The roles and bindings that a cluster starts with: all that kube-apiserver 1.37.2 makes.
//!
//! They are a table, `bootstrap_rbac/policy.txt`, which is made from a recording of the real server and turned into
//! documents, some hundred small ones, which `seeds` encodes once for all servers of a process. Aggregated roles are stored without rules, as
//! upstream stores them; the rules are the aggregation controller's. Until it has written them the authorizer puts
//! them together itself.

use pilothouse_value::{Map, Value, json};

pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
const TABLE: &str = include_str!("bootstrap_rbac/policy.txt");

/// A role or binding of the table, without what the server fills in.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The resource that it is: `clusterroles`, `clusterrolebindings`, `roles` or `rolebindings`.
    pub plural: &'static str,
    /// The document.
    pub object: Value,
}

/// All roles and bindings of a new cluster, one after the other. Times in the bookkeeping of fields are `now`.
pub fn entries(now: &str) -> impl Iterator<Item = Entry> {
    let mut lines = TABLE.lines().filter(|line| !line.starts_with('#')).peekable();
    std::iter::from_fn(move || {
        let (kind, rest) = lines.next()?.split_once(' ')?;
        let mut entry = read_head(kind, rest)?;
        let rules = std::iter::from_fn(|| lines.next_if(|line| line.starts_with("  ")));
        let rules: Vec<Value> = rules.filter_map(|line| read_rule(line.trim_start())).collect();
        if let Some(known) = entry.object.get_mut("rules").and_then(Value::as_array_mut) {
            known.extend(rules);
        }
        let managers = entry.object.at_mut(&["metadata", "managedFields"]).and_then(Value::as_array_mut);
        managers.into_iter().flatten().for_each(|manager| manager.set(&["time"], now));
        Some(entry)
    })
}

/// The first line of an entry: `KIND [NAMESPACE/]NAME …`.
fn read_head(kind: &str, rest: &str) -> Option<Entry> {
    let (plural, kind) = match kind {
        "clusterrole" => ("clusterroles", "ClusterRole"),
        "role" => ("roles", "Role"),
        "clusterrolebinding" => ("clusterrolebindings", "ClusterRoleBinding"),
        "rolebinding" => ("rolebindings", "RoleBinding"),
        _ => return None,
    };
    let mut words = rest.split(' ');
    let name = words.next()?;
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    let mut object =
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}});
    if !namespace.is_empty() {
        object.set(&["metadata", "namespace"], namespace);
    }
    object.set(&["metadata", "labels", "kubernetes.io/bootstrapping"], "rbac-defaults");
    object.set(&["metadata", "annotations", "rbac.authorization.kubernetes.io/autoupdate"], "true");
    let mut written = Vec::new();
    if plural.ends_with("roles") {
        let mut aggregated = false;
        for word in words {
            match word.strip_prefix('+') {
                Some(of) => object.set(&["metadata", "labels", &part_of(of)], "true"),
                None => aggregated = word == "*",
            }
        }
        if aggregated {
            let mut selector = json!({"matchLabels": {}});
            selector.set(&["matchLabels", &part_of(name)], "true");
            object.set(&["aggregationRule", "clusterRoleSelectors"], vec![selector]);
            object.set(&["rules"], Value::Null);
            written.push(("f:aggregationRule", json!({".": {}, "f:clusterRoleSelectors": {}})));
        } else {
            object.set(&["rules"], Vec::<Value>::new());
            written.push(("f:rules", json!({})));
        }
    } else {
        let (kind, role) = words.next()?.split_once(':')?;
        object.set(&["roleRef"], json!({"apiGroup": GROUP, "kind": kind, "name": role}));
        let subjects: Vec<Value> = words.filter_map(read_subject).collect();
        written.push(("f:roleRef", json!({})));
        if !subjects.is_empty() {
            object.set(&["subjects"], subjects);
            written.push(("f:subjects", json!({})));
        }
    }
    let managed = managed_fields(&object, written);
    object.set(&["metadata", "managedFields"], managed);
    Some(Entry { plural, object })
}

/// A rule: `VERBS GROUPS: RESOURCES [=NAMES]`, or `VERBS PATHS`.
fn read_rule(line: &str) -> Option<Value> {
    let (verbs, rest) = line.split_once(' ')?;
    let list = |text: &str| text.split(',').map(Value::from).collect::<Value>();
    // No path has a colon.
    let Some((groups, resources)) = rest.split_once(": ") else {
        return Some(
            json!({"verbs": list(verbs), "nonResourceURLs": rest.split(' ').map(Value::from).collect::<Value>()}),
        );
    };
    let groups = groups.split(',').map(|group| if group == "core" { "" } else { group });
    let (names, resources): (Vec<&str>, Vec<&str>) =
        resources.split(' ').partition(|word| word.starts_with('='));
    let mut rule = json!({"verbs": list(verbs)});
    rule.set(&["apiGroups"], groups.map(Value::from).collect::<Value>());
    rule.set(&["resources"], resources.into_iter().map(Value::from).collect::<Value>());
    if !names.is_empty() {
        let names = names.iter().map(|name| Value::from(name.trim_start_matches('=')));
        rule.set(&["resourceNames"], names.collect::<Value>());
    }
    Some(rule)
}

/// `KIND:NAME`, or `ServiceAccount:NAMESPACE/NAME`.
fn read_subject(word: &str) -> Option<Value> {
    let (kind, name) = word.split_once(':')?;
    match (kind, name.split_once('/')) {
        ("ServiceAccount", Some((namespace, name))) => {
            Some(json!({"kind": kind, "name": name, "namespace": namespace}))
        }
        _ => Some(json!({"apiGroup": GROUP, "kind": kind, "name": name})),
    }
}

/// The bookkeeping of a write by the server itself.
fn managed_fields(object: &Value, written: Vec<(&str, Value)>) -> Vec<Value> {
    let keys = |path: &[&str]| {
        let mut fields = Map::new();
        fields.insert(".", Value::object());
        for key in object.at(path).and_then(Value::as_object).into_iter().flat_map(Map::keys) {
            fields.insert(format!("f:{key}"), Value::object());
        }
        Value::Object(fields)
    };
    let mut fields = Value::object();
    fields.set(&["f:metadata", "f:annotations"], keys(&["metadata", "annotations"]));
    fields.set(&["f:metadata", "f:labels"], keys(&["metadata", "labels"]));
    for (field, value) in written {
        fields.set(&[field], value);
    }
    vec![json!({
        "manager": "kube-apiserver", "operation": "Update", "apiVersion": "rbac.authorization.k8s.io/v1",
        "fieldsType": "FieldsV1", "fieldsV1": fields,
    })]
}

/// The label of a role that is part of an aggregated one.
fn part_of(aggregated: &str) -> String {
    format!("rbac.authorization.k8s.io/aggregate-to-{aggregated}")
}
