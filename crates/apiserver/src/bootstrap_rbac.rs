//! The roles and bindings that a cluster starts with: those that people and operators use.
//!
//! They are a table, turned into documents when a server starts; that is some dozen small objects. What is left out are
//! the roles of the control plane's own components: here they are part of the server and need none.
//! Source: kube-apiserver's bootstrap policy.

use pilothouse_value::{Value, json};

const GROUP: &str = "rbac.authorization.k8s.io";
const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "delete", "deletecollection", "patch", "update"];
const READ_WRITE: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const CREATE: &[&str] = &["create"];

/// One rule: verbs on resources of groups, or on paths if there are no groups.
struct Rule {
    verbs: &'static [&'static str],
    groups: &'static [&'static str],
    on: &'static [&'static str],
}

const fn rule(
    verbs: &'static [&'static str],
    groups: &'static [&'static str],
    on: &'static [&'static str],
) -> Rule {
    Rule { verbs, groups, on }
}

const fn get(paths: &'static [&'static str]) -> Rule {
    Rule { verbs: &["get"], groups: &[], on: paths }
}

struct Role {
    name: &'static str,
    /// The role that takes up this one, as in the label `…/aggregate-to-NAME`.
    part_of: Option<&'static str>,
    /// Whether the rules are those of the roles that are part of this one.
    aggregates: bool,
    rules: &'static [Rule],
}

const fn role(name: &'static str, rules: &'static [Rule]) -> Role {
    Role { name, part_of: None, aggregates: false, rules }
}

const fn part(name: &'static str, of: &'static str, rules: &'static [Rule]) -> Role {
    Role { part_of: Some(of), ..role(name, rules) }
}

const fn aggregate(name: &'static str, part_of: Option<&'static str>) -> Role {
    Role { part_of, aggregates: true, ..role(name, &[]) }
}

const ROLES: &[Role] = &[
    role("cluster-admin", &[rule(&["*"], &["*"], &["*"]), rule(&["*"], &[], &["*"])]),
    aggregate("admin", None),
    aggregate("edit", Some("admin")),
    aggregate("view", Some("edit")),
    part("system:aggregate-to-admin", "admin", TO_ADMIN),
    part("system:aggregate-to-edit", "edit", TO_EDIT),
    part("system:aggregate-to-view", "view", TO_VIEW),
    role(
        "system:auth-delegator",
        &[
            rule(CREATE, &["authentication.k8s.io"], &["tokenreviews"]),
            rule(CREATE, &["authorization.k8s.io"], &["subjectaccessreviews"]),
        ],
    ),
    role(
        "system:basic-user",
        &[
            rule(CREATE, &["authorization.k8s.io"], &["selfsubjectaccessreviews", "selfsubjectrulesreviews"]),
            rule(CREATE, &["authentication.k8s.io"], &["selfsubjectreviews"]),
        ],
    ),
    role(
        "system:cluster-trust-bundle-discovery",
        &[rule(READ, &["certificates.k8s.io"], &["clustertrustbundles"])],
    ),
    role(
        "system:discovery",
        &[get(&[
            "/api",
            "/api/*",
            "/apis",
            "/apis/*",
            "/healthz",
            "/livez",
            "/openapi",
            "/openapi/*",
            "/readyz",
            "/version",
            "/version/",
        ])],
    ),
    role(
        "system:monitoring",
        &[
            get(&[
                "/flagz",
                "/healthz",
                "/healthz/*",
                "/livez",
                "/livez/*",
                "/metrics",
                "/metrics/slis",
                "/readyz",
                "/readyz/*",
                "/statusz",
            ]),
            rule(&["get"], &[""], &["nodes/metrics"]),
        ],
    ),
    role(
        "system:persistent-volume-provisioner",
        &[
            rule(&["create", "delete", "get", "list", "watch"], &[""], &["persistentvolumes"]),
            rule(&["get", "list", "update", "watch"], &[""], &["persistentvolumeclaims"]),
            rule(READ, &["storage.k8s.io"], &["storageclasses"]),
            rule(&["watch"], &[""], &["events"]),
            rule(&["create", "patch", "update"], &["", "events.k8s.io"], &["events"]),
        ],
    ),
    role("system:public-info-viewer", &[get(&["/healthz", "/livez", "/readyz", "/version", "/version/"])]),
    role(
        "system:service-account-issuer-discovery",
        &[get(&[
            "/.well-known/openid-configuration",
            "/.well-known/openid-configuration/",
            "/openid/v1/jwks",
            "/openid/v1/jwks/",
        ])],
    ),
];

const TO_ADMIN: &[Rule] = &[
    rule(CREATE, &["authorization.k8s.io"], &["localsubjectaccessreviews"]),
    rule(READ_WRITE, &[GROUP], &["rolebindings", "roles"]),
];

const TO_EDIT: &[Rule] = &[
    rule(
        READ,
        &[""],
        &["pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "secrets", "services/proxy"],
    ),
    rule(&["impersonate"], &[""], &["serviceaccounts"]),
    rule(WRITE, &[""], &["pods", "pods/attach", "pods/exec", "pods/portforward", "pods/proxy"]),
    rule(CREATE, &[""], &["pods/eviction"]),
    rule(
        WRITE,
        &[""],
        &[
            "configmaps",
            "persistentvolumeclaims",
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "secrets",
            "serviceaccounts",
            "services",
            "services/proxy",
        ],
    ),
    rule(CREATE, &[""], &["serviceaccounts/token"]),
    rule(WRITE, &["", "events.k8s.io"], &["events"]),
    rule(
        WRITE,
        &["apps"],
        &[
            "daemonsets",
            "deployments",
            "deployments/rollback",
            "deployments/scale",
            "replicasets",
            "replicasets/scale",
            "statefulsets",
            "statefulsets/scale",
        ],
    ),
    rule(WRITE, &["autoscaling"], &["horizontalpodautoscalers"]),
    rule(WRITE, &["batch"], &["cronjobs", "jobs"]),
    rule(
        WRITE,
        &["extensions"],
        &[
            "daemonsets",
            "deployments",
            "deployments/rollback",
            "deployments/scale",
            "ingresses",
            "networkpolicies",
            "replicasets",
            "replicasets/scale",
            "replicationcontrollers/scale",
        ],
    ),
    rule(WRITE, &["policy"], &["poddisruptionbudgets"]),
    rule(WRITE, &["networking.k8s.io"], &["ingresses", "networkpolicies"]),
    rule(READ_WRITE, &["coordination.k8s.io"], &["leases"]),
    rule(WRITE, &["resource.k8s.io"], &["resourceclaims", "resourceclaimtemplates"]),
];

const TO_VIEW: &[Rule] = &[
    rule(
        READ,
        &[""],
        &[
            "configmaps",
            "endpoints",
            "persistentvolumeclaims",
            "persistentvolumeclaims/status",
            "pods",
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "serviceaccounts",
            "services",
            "services/status",
        ],
    ),
    rule(
        READ,
        &[""],
        &[
            "bindings",
            "limitranges",
            "namespaces/status",
            "pods/log",
            "pods/status",
            "replicationcontrollers/status",
            "resourcequotas",
            "resourcequotas/status",
        ],
    ),
    rule(READ, &[""], &["namespaces"]),
    rule(READ, &["", "events.k8s.io"], &["events"]),
    rule(READ, &["discovery.k8s.io"], &["endpointslices"]),
    rule(
        READ,
        &["apps"],
        &[
            "controllerrevisions",
            "daemonsets",
            "daemonsets/status",
            "deployments",
            "deployments/scale",
            "deployments/status",
            "replicasets",
            "replicasets/scale",
            "replicasets/status",
            "statefulsets",
            "statefulsets/scale",
            "statefulsets/status",
        ],
    ),
    rule(READ, &["autoscaling"], &["horizontalpodautoscalers", "horizontalpodautoscalers/status"]),
    rule(READ, &["batch"], &["cronjobs", "cronjobs/status", "jobs", "jobs/status"]),
    rule(
        READ,
        &["extensions"],
        &[
            "daemonsets",
            "daemonsets/status",
            "deployments",
            "deployments/scale",
            "deployments/status",
            "ingresses",
            "ingresses/status",
            "networkpolicies",
            "replicasets",
            "replicasets/scale",
            "replicasets/status",
            "replicationcontrollers/scale",
        ],
    ),
    rule(READ, &["policy"], &["poddisruptionbudgets", "poddisruptionbudgets/status"]),
    rule(READ, &["networking.k8s.io"], &["ingresses", "ingresses/status", "networkpolicies"]),
    rule(READ, &["resource.k8s.io"], &["resourceclaims", "resourceclaims/status", "resourceclaimtemplates"]),
];

/// Cluster role bindings: name of binding and role, and the groups.
const BINDINGS: &[(&str, &[&str])] = &[
    ("cluster-admin", &["system:masters"]),
    ("system:basic-user", &["system:authenticated"]),
    ("system:cluster-trust-bundle-discovery", &["system:serviceaccounts"]),
    ("system:discovery", &["system:authenticated"]),
    ("system:monitoring", &["system:monitoring"]),
    ("system:public-info-viewer", &["system:authenticated", "system:unauthenticated"]),
    ("system:service-account-issuer-discovery", &["system:serviceaccounts"]),
];

/// The cluster roles, without what the server fills in.
pub fn cluster_roles() -> impl Iterator<Item = Value> {
    ROLES.iter().map(|role| {
        let rules = if role.aggregates { rules_of_parts(role.name) } else { own_rules(role) };
        let mut document = object("ClusterRole", role.name);
        if let Some(of) = role.part_of {
            document.set(&["metadata", "labels", &label(of)], "true");
        }
        if role.aggregates {
            let mut selector = json!({"matchLabels": {}});
            selector.set(&["matchLabels", &label(role.name)], "true");
            document.set(&["aggregationRule", "clusterRoleSelectors"], vec![selector]);
        }
        document.set(&["rules"], rules);
        document
    })
}

/// The cluster role bindings, without what the server fills in.
pub fn cluster_role_bindings() -> impl Iterator<Item = Value> {
    BINDINGS.iter().map(|(name, groups)| {
        let mut document = object("ClusterRoleBinding", name);
        document.set(&["roleRef"], json!({"apiGroup": GROUP, "kind": "ClusterRole", "name": name}));
        let groups = groups.iter().map(|group| json!({"apiGroup": GROUP, "kind": "Group", "name": group}));
        document.set(&["subjects"], groups.collect::<Value>());
        document
    })
}

fn object(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {
            "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
            "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
            "name": name,
        },
    })
}

fn label(of: &str) -> String {
    format!("rbac.authorization.k8s.io/aggregate-to-{of}")
}

fn own_rules(role: &Role) -> Vec<Value> {
    let rules = role.rules.iter().map(|rule| {
        if rule.groups.is_empty() {
            json!({"nonResourceURLs": rule.on, "verbs": rule.verbs})
        } else {
            json!({"apiGroups": rule.groups, "resources": rule.on, "verbs": rule.verbs})
        }
    });
    rules.collect()
}

/// What the aggregation rule finds among the roles of the table.
fn rules_of_parts(name: &str) -> Vec<Value> {
    let parts = ROLES.iter().filter(|role| role.part_of == Some(name));
    parts.flat_map(|part| if part.aggregates { rules_of_parts(part.name) } else { own_rules(part) }).collect()
}
