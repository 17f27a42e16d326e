use super::escalation::{check_binding, check_role};
use super::reviews::{
    local_subject_access_review, self_subject_access_review, self_subject_rules_review, subject_access_review,
};
use super::*;
use crate::authorization::bootstrap_rbac::entries;
use parking_lot::Mutex;
use pilothouse_store::{Change, Config, ResourceKey, Store};
use pilothouse_value::json;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Documents that count how often they are read.
#[derive(Clone, Default)]
struct Documents(Arc<(Mutex<Vec<Arc<Value>>>, AtomicUsize)>);

impl Documents {
    fn add(&self, document: Value) {
        self.0.0.lock().push(Arc::new(document));
    }
}

impl RuleSource for Documents {
    fn stamp(&self) -> u64 {
        self.0.0.lock().len() as u64
    }

    fn documents(&self, kind: RuleKind) -> Vec<Arc<Value>> {
        self.0.1.fetch_add(1, Ordering::Relaxed);
        let kind = format!("{kind:?}");
        let all = self.0.0.lock();
        all.iter().filter(|document| document.str_at(&["kind"]) == Some(&kind)).cloned().collect()
    }
}

fn role(kind: &str, name: &str, namespace: &str, rules: Value) -> Value {
    let mut role = json!({"kind": kind, "metadata": {"name": name}});
    if !namespace.is_empty() {
        role.set(&["metadata", "namespace"], namespace);
    }
    role.set(&["rules"], rules);
    role
}

fn binding(name: &str, namespace: &str, role: (&str, &str), subject: (&str, &str)) -> Value {
    let kind = if namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" };
    let mut binding = json!({
        "kind": kind,
        "metadata": {"name": name},
        "roleRef": {"kind": role.0, "name": role.1},
        "subjects": [{"kind": subject.0, "name": subject.1}],
    });
    if !namespace.is_empty() {
        binding.set(&["metadata", "namespace"], namespace);
    }
    binding
}

/// The bootstrap policy, and what `more` adds.
fn authorizer(more: impl IntoIterator<Item = Value>) -> (Authorizer, Documents) {
    let documents = Documents::default();
    let table = entries("2026-01-01T00:00:00Z").map(|entry| entry.object);
    table.chain(more).for_each(|document| documents.add(document));
    (Authorizer::new(documents.clone()), documents)
}

fn may(
    authorizer: &Authorizer,
    user: &User,
    verb: &str,
    group: &str,
    resource: &str,
    namespace: &str,
) -> bool {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let asked = Attributes::of_resource(user, verb, group, resource);
    authorizer.authorize(&Attributes { subresource, namespace, ..asked }).allowed
}

#[test]
fn rules_match_verbs_groups_resources_and_names() {
    let rules = json!([
        {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
        {"verbs": ["*"], "apiGroups": ["apps"], "resources": ["deployments/scale"]},
        {"verbs": ["update"], "apiGroups": ["*"], "resources": ["*/status"]},
        {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"]},
    ]);
    let (authorizer, _) =
        authorizer([role("Role", "r", "n", rules), binding("b", "n", ("Role", "r"), ("User", "u"))]);
    let user = User::new("u", ["g"]);
    let table = [
        ("get", "", "pods", true),
        ("list", "", "pods", false),
        ("get", "apps", "pods", false),
        ("get", "", "pods/log", false),
        ("patch", "apps", "deployments/scale", true),
        ("patch", "apps", "deployments", false),
        ("update", "any.io", "things/status", true),
        ("update", "any.io", "things", false),
        ("get", "", "secrets", false),
    ];
    for (verb, group, resource, expected) in table {
        assert_eq!(may(&authorizer, &user, verb, group, resource, "n"), expected, "{verb} {resource}");
        assert!(!may(&authorizer, &user, verb, group, resource, "other"), "{verb} {resource}");
        assert!(!may(&authorizer, &user, verb, group, resource, ""), "{verb} {resource}");
    }
    let named =
        Attributes { name: "mine", namespace: "n", ..Attributes::of_resource(&user, "get", "", "secrets") };
    let decision = authorizer.authorize(&named);
    assert!(decision.allowed);
    assert_eq!(&*decision.reason, "RBAC: allowed by RoleBinding \"b/n\" of Role \"r\" to User \"u\"");
    assert!(!authorizer.authorize(&Attributes { name: "other", ..named }).allowed);
}

#[test]
fn subjects_are_users_groups_and_service_accounts() {
    let read = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]);
    let mut account = binding("c", "n", ("ClusterRole", "r"), ("ServiceAccount", "builder"));
    account.set(&["subjects"], json!([{"kind": "ServiceAccount", "name": "builder", "namespace": "ci"}]));
    let (authorizer, _) = authorizer([
        role("ClusterRole", "r", "", read),
        binding("b", "n", ("ClusterRole", "r"), ("Group", "g")),
        account,
    ]);
    assert!(may(&authorizer, &User::new("u", ["g"]), "get", "", "pods", "n"));
    assert!(!may(&authorizer, &User::new("u", ["h"]), "get", "", "pods", "n"));
    let builder = User::service_account("ci", "builder", "");
    assert!(may(&authorizer, &builder, "get", "", "pods", "n"));
    let asked = Attributes { namespace: "n", ..Attributes::of_resource(&builder, "get", "", "pods") };
    let reason = authorizer.authorize(&asked).reason;
    assert!(reason.ends_with("of ClusterRole \"r\" to ServiceAccount \"builder/ci\""), "{reason}");
}

#[test]
fn the_bootstrap_policy_gives_everyone_discovery_and_administrators_everything() {
    let (authorizer, _) = authorizer([]);
    let path = |user: &User, path| authorizer.authorize(&Attributes::of_path(user, "get", path)).allowed;
    let user = User::new("u", ["g"]);
    assert!(path(&user, "/api/v1") && path(&user, "/openapi/v3") && path(&user, "/healthz"));
    assert!(path(&User::anonymous(), "/version") && !path(&User::anonymous(), "/api"));
    assert!(!path(&user, "/metrics"));
    assert!(may(&authorizer, &user, "create", "authorization.k8s.io", "selfsubjectaccessreviews", ""));
    assert!(may(&authorizer, &User::admin(), "delete", "any.io", "things", "n"));
    let robot = User::service_account("ns", "robot", "");
    assert!(may(&authorizer, &robot, "list", "certificates.k8s.io", "clustertrustbundles", ""));
    assert!(!may(&authorizer, &user, "list", "certificates.k8s.io", "clustertrustbundles", ""));
}

#[test]
fn aggregated_roles_have_the_rules_of_their_parts() {
    let mut part = role(
        "ClusterRole",
        "things",
        "",
        json!([{"verbs": ["get"], "apiGroups": ["any.io"], "resources": ["things"]}]),
    );
    part.set(&["metadata", "labels", "rbac.authorization.k8s.io/aggregate-to-view"], "true");
    let (authorizer, _) = authorizer([part, binding("b", "n", ("ClusterRole", "admin"), ("User", "u"))]);
    let user = User::new("u", ["g"]);
    for (verb, group, resource) in
        [("get", "", "pods"), ("create", "", "pods/exec"), ("get", "any.io", "things")]
    {
        assert!(may(&authorizer, &user, verb, group, resource, "n"), "{verb} {resource}");
    }
    assert!(!may(&authorizer, &user, "create", "any.io", "things", "n"));
}

#[test]
fn a_refusal_says_what_upstream_says() {
    let (authorizer, _) = authorizer([binding("b", "n", ("Role", "gone"), ("User", "u"))]);
    let user = User::new("u", ["g"]);
    let asked = Attributes {
        subresource: "log",
        name: "p",
        namespace: "n",
        ..Attributes::of_resource(&user, "get", "", "pods")
    };
    let refused = authorizer.require(&asked).unwrap_err();
    assert_eq!((refused.code, refused.reason.as_str()), (403, "Forbidden"));
    assert_eq!(
        refused.message,
        "pods \"p\" is forbidden: User \"u\" cannot get resource \"pods/log\" in API group \"\" in the namespace \"n\": \
         rbac: RBAC: role.rbac.authorization.k8s.io \"gone\" not found"
    );
    let refused =
        authorizer.require(&Attributes::of_resource(&user, "list", "apps", "deployments")).unwrap_err();
    assert_eq!(
        refused.message,
        "deployments.apps is forbidden: User \"u\" cannot list resource \"deployments\" in API group \"apps\" at the \
         cluster scope"
    );
    let refused = authorizer.require(&Attributes::of_path(&user, "get", "/metrics")).unwrap_err();
    assert_eq!(refused.message, "forbidden: User \"u\" cannot get path \"/metrics\"");
}

#[test]
fn rules_are_compiled_once_for_each_state_of_the_documents() {
    let (authorizer, documents) = authorizer([]);
    let user = User::new("u", ["g"]);
    let reads = || documents.0.1.load(Ordering::Relaxed);
    assert!(!may(&authorizer, &user, "get", "", "pods", "n"));
    let once = reads();
    assert!(!may(&authorizer, &user, "get", "", "pods", "n"));
    assert_eq!(reads(), once);
    documents.add(binding("b", "", ("ClusterRole", "view"), ("User", "u")));
    assert!(may(&authorizer, &user, "get", "", "pods", "n"), "a new binding counts at once");
}

#[test]
fn the_rules_of_a_store_change_only_with_writes_about_rules() {
    let store = Store::memory(Config::default());
    let source = StoreRules::new(store.clone());
    let put = |plural: &str, document: Value| {
        let group = if plural == "pods" { "" } else { "rbac.authorization.k8s.io" };
        let mut bytes = move |_revision| document.to_json().into();
        store.commit(&ResourceKey::new(group, plural), "", "x", None, Change::Put(&mut bytes)).unwrap();
    };
    let before = source.stamp();
    put("pods", json!({"metadata": {"name": "x"}}));
    assert_eq!(source.stamp(), before);
    put("clusterroles", json!({"metadata": {"name": "x"}}));
    assert_ne!(source.stamp(), before);
    assert_eq!(source.documents(RuleKind::ClusterRole).len(), 1);
}

#[test]
fn nobody_grants_what_they_do_not_have() {
    let own = json!([
        {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]},
        {"verbs": ["create"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"]},
    ]);
    let (authorizer, _) =
        authorizer([role("Role", "r", "n", own), binding("b", "n", ("Role", "r"), ("User", "u"))]);
    let user = User::new("u", ["g"]);
    let less = role("Role", "x", "n", json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]));
    assert_eq!(check_role(&authorizer, &user, "roles", &less), Ok(()));
    let more = role(
        "Role",
        "x",
        "n",
        json!([{"verbs": ["get", "delete", "watch"], "apiGroups": [""], "resources": ["pods"]}]),
    );
    let refused = check_role(&authorizer, &user, "roles", &more).unwrap_err();
    assert_eq!(
        refused.message,
        "roles.rbac.authorization.k8s.io \"x\" is forbidden: user \"u\" (groups=[\"g\" \"system:authenticated\"]) is \
         attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], \
         Verbs:[\"delete\" \"watch\"]}"
    );
    assert_eq!(check_role(&authorizer, &User::admin(), "roles", &more), Ok(()));
    let bind = binding("x", "n", ("ClusterRole", "view"), ("User", "v"));
    assert_eq!(check_binding(&authorizer, &user, "rolebindings", &bind).unwrap_err().code, 403);
    let bind = binding("x", "n", ("Role", "r"), ("User", "v"));
    assert_eq!(check_binding(&authorizer, &user, "rolebindings", &bind), Ok(()));
    let bind = binding("x", "n", ("Role", "gone"), ("User", "v"));
    assert_eq!(check_binding(&authorizer, &user, "rolebindings", &bind).unwrap_err().code, 404);
}

#[test]
fn a_role_that_grants_more_than_can_be_checked_is_refused() {
    let (authorizer, _) = authorizer([]);
    let many: Vec<String> = (0..100).map(|index| format!("x{index}")).collect();
    let rules = json!([{"verbs": many, "apiGroups": many, "resources": many}]);
    let refused =
        check_role(&authorizer, &User::new("u", ["g"]), "roles", &role("Role", "x", "n", rules.clone()));
    assert!(refused.unwrap_err().message.contains("it grants 1000000 combinations"));
    assert_eq!(check_role(&authorizer, &User::admin(), "roles", &role("Role", "x", "n", rules)), Ok(()));
}

#[tokio::test]
async fn access_reviews_answer_in_their_status() {
    let (authorizer, _) = authorizer([binding("b", "n", ("ClusterRole", "view"), ("User", "u"))]);
    let user = User::new("u", ["g"]);
    let spec = json!({"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "n"}});
    let review =
        json!({"kind": "SelfSubjectAccessReview", "metadata": {"creationTimestamp": null}, "spec": spec});
    let answer = self_subject_access_review(&authorizer, &user, review.clone()).await.unwrap();
    assert_eq!(answer.at(&["status", "allowed"]), Some(&json!(true)));
    assert_eq!(answer.at(&["spec"]), review.at(&["spec"]));
    let reason = answer.str_at(&["status", "reason"]).unwrap();
    assert_eq!(reason, "RBAC: allowed by RoleBinding \"b/n\" of ClusterRole \"view\" to User \"u\"");

    let mut other = review.clone();
    other.set(&["spec", "user"], "v");
    let answer = subject_access_review(&authorizer, other.clone()).await.unwrap();
    assert_eq!(answer.get("status"), Some(&json!({"allowed": false})));

    other.set(&["metadata", "namespace"], "m");
    let refused = local_subject_access_review(&authorizer, other).await.unwrap_err();
    assert!(
        refused.message.contains(
            "spec.resourceAttributes.namespace: Invalid value: \"n\": must match metadata.namespace"
        )
    );
    let refused = subject_access_review(&authorizer, json!({"spec": {}})).await.unwrap_err();
    assert_eq!(refused.code, 422);
    assert!(
        refused
            .message
            .contains("exactly one of nonResourceAttributes or resourceAttributes must be specified")
    );
    assert!(refused.message.contains("at least one of user or group must be specified"));
}

#[test]
fn a_rules_review_lists_what_the_caller_may() {
    let (authorizer, _) = authorizer([binding("b", "n", ("Role", "gone"), ("User", "u"))]);
    let user = User::new("u", ["g"]);
    let answer = self_subject_rules_review(&authorizer, &user, &json!({"spec": {"namespace": "n"}})).unwrap();
    let rules = answer.items_at(&["status", "resourceRules"]);
    let expected = json!({
        "verbs": ["create"],
        "apiGroups": ["authentication.k8s.io"],
        "resources": ["selfsubjectreviews"],
    });
    assert!(rules.contains(&expected), "{answer}");
    assert!(!answer.items_at(&["status", "nonResourceRules"]).is_empty());
    assert_eq!(answer.at(&["status", "incomplete"]), Some(&json!(false)));
    assert!(self_subject_rules_review(&authorizer, &user, &json!({"spec": {}})).is_err());
}
