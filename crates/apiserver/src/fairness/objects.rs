//! The flow schemas and priority levels that every cluster starts with (upstream: apiserver/pkg/apis/flowcontrol/bootstrap).

use pilothouse_value::{Value, json};

use crate::start::seeds;

/// Who writes the state of a flow schema, as managed fields name it.
pub(crate) const CONSUMER: &str = "api-priority-and-fairness-config-consumer-v1";
const PRODUCER: &str = "api-priority-and-fairness-config-producer-v1";
/// The annotation of what the server brings up to date by itself.
pub(super) const AUTO_UPDATE: &str = "apf.kubernetes.io/autoupdate-spec";
const GROUPS: [&str; 2] = ["system:unauthenticated", "system:authenticated"];

/// A level: its name, its share, the percentage that it lends, and its queues (how many, of which a flow gets how many).
struct Level(&'static str, i64, i64, Option<(i64, i64)>);

const LEVELS: [Level; 8] = [
    Level("exempt", 0, 0, None),
    Level("catch-all", 5, 0, None),
    Level("global-default", 20, 50, Some((128, 6))),
    Level("leader-election", 10, 0, Some((16, 4))),
    Level("node-high", 40, 25, Some((64, 6))),
    Level("system", 30, 33, Some((64, 6))),
    Level("workload-high", 40, 50, Some((128, 6))),
    Level("workload-low", 100, 90, Some((128, 6))),
];

fn levels() -> impl Iterator<Item = Value> {
    LEVELS.iter().map(|Level(name, shares, lendable, queues)| {
        let exempt = *name == super::EXEMPT;
        let mut own = json!({"lendablePercent": *lendable, "nominalConcurrencyShares": *shares});
        let mut fields = json!({".": {}, "f:lendablePercent": {}, "f:nominalConcurrencyShares": {}});
        match queues {
            Some((queues, hand)) => {
                let queuing = json!({"queues": *queues, "handSize": *hand, "queueLengthLimit": 50});
                own.set(&["limitResponse"], json!({"type": "Queue", "queuing": queuing}));
                let queuing = json!({".": {}, "f:handSize": {}, "f:queueLengthLimit": {}, "f:queues": {}});
                fields.set(&["f:limitResponse"], json!({".": {}, "f:queuing": queuing, "f:type": {}}));
            }
            None if !exempt => {
                own.set(&["limitResponse"], json!({"type": "Reject"}));
                fields.set(&["f:limitResponse"], json!({".": {}, "f:type": {}}));
            }
            None => {}
        }
        let (kind, part) = if exempt { ("Exempt", "exempt") } else { ("Limited", "limited") };
        let mut spec = json!({"type": kind});
        spec.set(&[part], own);
        let mut written = json!({"f:type": {}});
        written.set(&[&format!("f:{part}")], fields);
        let mut level = object("PriorityLevelConfiguration", name, spec, written);
        level.set(&["status"], Value::object());
        level
    })
}

fn groups(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| json!({"kind": "Group", "group": {"name": *name}})).collect()
}

fn users(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| json!({"kind": "User", "user": {"name": *name}})).collect()
}

fn accounts_of_the_system() -> Value {
    json!({"kind": "ServiceAccount", "serviceAccount": {"namespace": "kube-system", "name": "*"}})
}

/// A rule for all that these ask for.
fn everything(subjects: Vec<Value>) -> Value {
    json!({
        "subjects": subjects,
        "resourceRules": [resources("*", "*", &["*"], true)],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    })
}

fn resources(verb: &str, group: &str, names: &[&str], cluster: bool) -> Value {
    let names: Vec<Value> = names.iter().map(|name| Value::from(*name)).collect();
    let mut rule = json!({"verbs": [verb], "apiGroups": [group], "resources": names, "namespaces": ["*"]});
    if cluster {
        rule.set(&["clusterScope"], true);
    }
    rule
}

fn schemas() -> Vec<Value> {
    let (controllers, scheduler) = ("system:kube-controller-manager", "system:kube-scheduler");
    let leases = |verbs: &[&str]| {
        let mut rule = resources("*", "coordination.k8s.io", &["leases"], false);
        rule.set(&["verbs"], verbs.iter().map(|verb| Value::from(*verb)).collect::<Vec<_>>());
        rule
    };
    let mut leaders = users(&[controllers, scheduler]);
    leaders.push(accounts_of_the_system());
    let nodes = [resources("*", "", &["nodes", "nodes/status"], true), leases(&["*"])];
    let probes = json!({
        "subjects": groups(&GROUPS),
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}],
    });
    let election = json!({"subjects": leaders, "resourceRules": [leases(&["get", "create", "update"])]});
    let high = json!({"subjects": groups(&["system:nodes"]), "resourceRules": nodes.to_vec()});
    let (by_user, by_namespace) = (Some("ByUser"), Some("ByNamespace"));
    vec![
        schema(super::EXEMPT, "exempt", 1, None, everything(groups(&["system:masters"]))),
        schema("probes", "exempt", 2, None, probes),
        schema("system-leader-election", "leader-election", 100, by_user, election),
        schema("system-node-high", "node-high", 400, by_user, high),
        schema("system-nodes", "system", 500, by_user, everything(groups(&["system:nodes"]))),
        schema(
            "kube-controller-manager",
            "workload-high",
            800,
            by_namespace,
            everything(users(&[controllers])),
        ),
        schema("kube-scheduler", "workload-high", 800, by_namespace, everything(users(&[scheduler]))),
        schema(
            "kube-system-service-accounts",
            "workload-high",
            900,
            by_namespace,
            everything(vec![accounts_of_the_system()]),
        ),
        schema(
            "service-accounts",
            "workload-low",
            9000,
            by_user,
            everything(groups(&["system:serviceaccounts"])),
        ),
        schema("global-default", "global-default", 9900, by_user, everything(groups(&GROUPS))),
        schema(super::CATCH_ALL, "catch-all", 10000, by_user, everything(groups(&GROUPS))),
    ]
}

fn schema(name: &str, level: &str, precedence: i64, told_apart: Option<&str>, rule: Value) -> Value {
    let mut spec = json!({
        "priorityLevelConfiguration": {"name": level}, "matchingPrecedence": precedence, "rules": [rule],
    });
    let mut written =
        json!({"f:matchingPrecedence": {}, "f:priorityLevelConfiguration": {"f:name": {}}, "f:rules": {}});
    if let Some(told_apart) = told_apart {
        spec.set(&["distinguisherMethod", "type"], told_apart);
        written.set(&["f:distinguisherMethod"], json!({".": {}, "f:type": {}}));
    }
    let mut made = object("FlowSchema", name, spec, written);
    made.set(&["status", "conditions"], vec![super::dangling(level, true, seeds::NOW)]);
    let state = json!({
        "manager": CONSUMER, "operation": "Apply", "apiVersion": super::API_VERSION, "time": seeds::NOW,
        "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"Dangling\"}": {
            ".": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:reason": {}, "f:status": {}, "f:type": {},
        }}}},
        "subresource": "status",
    });
    if let Some(managers) = made.at_mut(&["metadata", "managedFields"]).and_then(Value::as_array_mut) {
        managers.insert(0, state);
    }
    made
}

fn object(kind: &str, name: &str, spec: Value, written: Value) -> Value {
    let mut annotation = Value::object();
    annotation.set(&[AUTO_UPDATE], "true");
    let mut fields = json!({"f:metadata": {"f:annotations": {".": {}}}});
    fields.set(&["f:metadata", "f:annotations", &format!("f:{AUTO_UPDATE}")], Value::object());
    fields.set(&["f:spec"], written);
    json!({
        "apiVersion": super::API_VERSION,
        "kind": kind,
        "metadata": {
            "name": name,
            "generation": 1,
            "annotations": annotation,
            "managedFields": [{
                "manager": PRODUCER, "operation": "Update", "apiVersion": super::API_VERSION,
                "time": seeds::NOW, "fieldsType": "FieldsV1", "fieldsV1": fields,
            }],
        },
        "spec": spec,
    })
}

/// All of them, as plural name and document, without what a server fills in: the levels, then the schemas. `told` says whether
/// the schemas have their state.
pub(super) fn all(told: bool) -> Vec<(&'static str, Value)> {
    let levels = levels().map(|level| (super::LEVELS, level));
    let schemas = schemas().into_iter().map(|mut schema| {
        if !told {
            schema.set(&["status"], Value::object());
            let managers = schema.at_mut(&["metadata", "managedFields"]).and_then(Value::as_array_mut);
            managers.into_iter().for_each(|managers| managers.retain(|one| one.get("subresource").is_none()));
        }
        (super::SCHEMAS, schema)
    });
    levels.chain(schemas).collect()
}
