"""What is asked, topic by topic, and as whom: the steps that record.py sends. A step `keep`s parts of an answer for later
ones, which write them as `${name}`."""

RBAC = "/apis/rbac.authorization.k8s.io/v1"

# Lines of a token file: the token is the name. The recorder itself is `admin` of system:masters.
USERS = [
    'ann,ann,ann-uid,"dev,ops"',
    "bob,bob,bob-uid",
    "carl,carl,carl-uid",
    'dora,dora,dora-uid,"dev"',
    "eve,eve,eve-uid",
]


def step(method, path, body=None, **more):
    one = {"method": method, "path": path, **more}
    if body is not None:
        one["body"] = body
    return one


def get(path, **more):
    return step("GET", path, **more)


def post(path, body, **more):
    return step("POST", path, body, **more)


POLICY = [get(f"{RBAC}/{plural}") for plural in ("clusterroles", "clusterrolebindings", "roles", "rolebindings")]


def put(path, body, **more):
    return step("PUT", path, body, **more)


def patch(path, body, kind="application/merge-patch+json", **more):
    return step("PATCH", path, body, headers={"Content-Type": kind, **more.pop("headers", {})}, **more)


def delete(path, **more):
    return step("DELETE", path, **more)


def rule(verbs, resources, groups=("",), names=()):
    one = {"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources)}
    if names:
        one["resourceNames"] = list(names)
    return one


def paths(verbs, urls):
    return {"verbs": list(verbs), "nonResourceURLs": list(urls)}


def role(name, *rules, namespace=None, **more):
    kind = "Role" if namespace else "ClusterRole"
    place = f"namespaces/{namespace}/roles" if namespace else "clusterroles"
    body = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "rules": list(rules)}
    body["metadata"].update(more.pop("metadata", {}))
    for key in ("aggregationRule",):
        if key in more:
            body[key] = more.pop(key)
    return post(f"{RBAC}/{place}", body, **more)


def user(name):
    return {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}


def group(name):
    return {"kind": "Group", "name": name, "apiGroup": "rbac.authorization.k8s.io"}


def account(name, namespace="default"):
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def bind(name, to, *subjects, namespace=None, kind=None, **more):
    place = f"namespaces/{namespace}/rolebindings" if namespace else "clusterrolebindings"
    body = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind or "ClusterRole", "name": to}, "subjects": list(subjects)}
    return post(f"{RBAC}/{place}", body, **more)


def config_map(name, namespace="default", **more):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}}
    return post(f"/api/v1/namespaces/{namespace}/configmaps", body, **more)


def namespace(name, **more):
    return post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, **more)


def sar(user, resource=None, path=None, **more):
    spec = {"user": user, **more.pop("spec", {})}
    if resource is not None:
        spec["resourceAttributes"] = resource
    if path is not None:
        spec["nonResourceAttributes"] = path
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    body.update(more.pop("top", {}))
    return post("/apis/authorization.k8s.io/v1/subjectaccessreviews", body, **more)


def self_sar(resource=None, path=None, **more):
    spec = dict(more.pop("spec", {}))
    if resource is not None:
        spec["resourceAttributes"] = resource
    if path is not None:
        spec["nonResourceAttributes"] = path
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    body.update(more.pop("top", {}))
    return post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body, **more)


def local_sar(namespace, spec, meta=None, **more):
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", "metadata": meta or {}, "spec": spec}
    return post(f"/apis/authorization.k8s.io/v1/namespaces/{namespace}/localsubjectaccessreviews", body, **more)


def rules_review(namespace, **more):
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": namespace}}
    return post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", body, **more)


def whoami(**more):
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    return post("/apis/authentication.k8s.io/v1/selfsubjectreviews", body, **more)


def review(token, audiences=None, **more):
    spec = {"token": token}
    if audiences is not None:
        spec["audiences"] = audiences
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
    return post("/apis/authentication.k8s.io/v1/tokenreviews", body, **more)


def request_token(account, spec=None, namespace="default", meta=None, **more):
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec or {}}
    if meta:
        body["metadata"] = meta
    return post(f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token", body, **more)


def make_account(name, namespace="default", **more):
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    return post(f"/api/v1/namespaces/{namespace}/serviceaccounts", body, **more)


def imitate(who, groups=(), uid=None, extra=None, **more):
    """Headers of a request that is made as somebody else; one value a header."""
    headers = {"Impersonate-User": who} if who else {}
    for one in groups:
        headers["Impersonate-Group"] = one
    if uid:
        headers["Impersonate-Uid"] = uid
    for key, value in (extra or {}).items():
        headers[f"Impersonate-Extra-{key}"] = value
    return {"headers": headers, **more}


MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"

DECISIONS = [
    namespace("other"),
    config_map("one"), config_map("two"), config_map("one", "other"),
    get(MAPS, **{"as": "ann"}),
    get(f"{MAPS}/one", **{"as": "ann"}),
    get("/api/v1/nodes", **{"as": "ann"}),
    get("/api/v1/namespaces/default/pods/p/log", **{"as": "ann"}),
    get("/apis/apps/v1/deployments", **{"as": "ann"}),
    get("/apis/apps/v1/namespaces/default/deployments/d/scale", **{"as": "ann"}),
    get("/apis/nothing.example.com/v1/things", **{"as": "ann"}),
    get("/metrics", **{"as": "ann"}),
    get("/nothing/%3Cb%3E&", **{"as": "ann"}),
    get(f"{MAPS}/%3Cb%3E&", **{"as": "ann"}),
    config_map("three", **{"as": "ann"}),
    delete(MAPS, **{"as": "ann"}),
    delete(f"{MAPS}/one", **{"as": "ann"}),
    patch(f"{MAPS}/one", {"data": {"a": "2"}}, **{"as": "ann"}),
    put(f"{MAPS}/one", {"metadata": {"name": "one"}}, **{"as": "ann"}),
    get(f"{MAPS}?watch=true&timeoutSeconds=1", **{"as": "ann"}),
    get("/api/v1/watch/namespaces/default/configmaps?timeoutSeconds=1", **{"as": "ann"}),
    role("reader", rule(["get", "list"], ["configmaps"]), namespace="default"),
    bind("ann-reads", "reader", user("ann"), namespace="default", kind="Role"),
    get(f"{MAPS}/one", **{"as": "ann"}),
    get("/api/v1/namespaces/other/configmaps/one", **{"as": "ann"}),
    get("/api/v1/configmaps", **{"as": "ann"}),
    config_map("three", **{"as": "ann"}),
    role("one-map", rule(["get", "list", "watch", "update", "create", "delete"], ["configmaps"], names=["two"]), namespace="default"),
    bind("bob-one", "one-map", user("bob"), namespace="default", kind="Role"),
    get(f"{MAPS}/two", **{"as": "bob"}),
    get(f"{MAPS}/one", **{"as": "bob"}),
    get(MAPS, **{"as": "bob"}),
    get(f"{MAPS}?fieldSelector=metadata.name%3Dtwo", **{"as": "bob"}),
    get(f"{MAPS}?fieldSelector=metadata.name%3D%3Dtwo", **{"as": "bob"}),
    get(f"{MAPS}?fieldSelector=metadata.name%3Done", **{"as": "bob"}),
    get(f"{MAPS}?fieldSelector=metadata.name%21%3Done", **{"as": "bob"}),
    config_map("two", **{"as": "bob"}),
    delete(f"{MAPS}/one", **{"as": "bob"}),
    role("sub", rule(["get"], ["pods/log", "*/scale"], groups=["", "apps"])),
    bind("dev-sub", "sub", group("dev")),
    get("/api/v1/namespaces/default/pods/none/log", **{"as": "dora"}),
    get("/api/v1/namespaces/default/pods/none", **{"as": "dora"}),
    get("/apis/apps/v1/namespaces/default/deployments/none/scale", **{"as": "dora"}),
    get("/apis/apps/v1/namespaces/default/deployments/none", **{"as": "dora"}),
    get("/apis/apps/v1/namespaces/default/statefulsets/none/scale", **{"as": "ann"}),
    role("all-apps", rule(["*"], ["*"], groups=["apps"])),
    bind("carl-apps", "all-apps", user("carl"), namespace="other"),
    get("/apis/apps/v1/namespaces/other/deployments/none", **{"as": "carl"}),
    get("/apis/apps/v1/namespaces/other/deployments/none/status", **{"as": "carl"}),
    get("/apis/apps/v1/namespaces/default/deployments/none", **{"as": "carl"}),
    get("/apis/batch/v1/namespaces/other/jobs/none", **{"as": "carl"}),
    role("urls", paths(["get"], ["/metrics", "/logs/*"])),
    bind("carl-urls", "urls", user("carl")),
    get("/logs/none", **{"as": "carl"}),
    get("/debug/pprof", **{"as": "carl"}),
    step("POST", "/logs/none", **{"as": "carl"}),
    bind("lost", "not-there", user("eve"), namespace="default"),
    get(MAPS, **{"as": "eve"}),
    bind("lost-too", "not-there-either", user("eve")),
    get(MAPS, **{"as": "eve"}),
    get("/api/v1/nodes", **{"as": "eve"}),
    bind("lost-role", "no-role", user("eve"), namespace="default", kind="Role"),
    get(MAPS, **{"as": "eve"}),
    get("/api/v1/namespaces/default", **{"as": "ann"}),
    get("/api/v1/namespaces/default/status", **{"as": "ann"}),
    put("/api/v1/namespaces/default/finalize", {"metadata": {"name": "default"}}, **{"as": "ann"}),
    role("own-namespace", rule(["get"], ["namespaces"]), namespace="default"),
    bind("ann-namespace", "own-namespace", user("ann"), namespace="default", kind="Role"),
    get("/api/v1/namespaces/default", **{"as": "ann"}),
    get("/api/v1/namespaces/other", **{"as": "ann"}),
    step("POST", "/api/v1/namespaces/default/pods/p/exec?command=ls", **{"as": "ann"}),
    step("POST", "/api/v1/namespaces/default/pods/p/eviction", {"metadata": {"name": "p"}}, **{"as": "ann"}),
    get("/api/v1/namespaces/default/services/s/proxy/x", **{"as": "ann"}),
]

ANONYMOUS = [
    get(path, **{"as": None}) for path in (
        "/", "/healthz", "/livez", "/readyz", "/healthz/ping", "/livez/ping", "/api", "/apis", "/openapi/v2",
        "/openapi/v3", "/.well-known/openid-configuration", "/openid/v1/jwks", "/metrics", "/api/v1/pods",
        "/api/v1/namespaces/default/secrets/x", "/apis/apps/v1", "/nothing")
] + [
    whoami(**{"as": None}),
    self_sar({"verb": "get", "resource": "pods"}, **{"as": None}),
    get("/healthz", **{"as": "wrong"}),
    get("/api/v1/pods", **{"as": "wrong"}),
    get("/healthz", **{"as": None, "headers": {"Authorization": "Basic YTpi"}}),
    get("/api/v1/pods", **{"as": None, "headers": {"Authorization": "Bearer"}}),
    get("/api/v1/pods", **{"as": None, "headers": {"Authorization": "bearer ann"}}),
    get("/api/v1/pods", **{"as": None, "headers": {"Authorization": "Bearer  ann "}}),
    get("/api/v1/pods", **{"as": None, "headers": {"Authorization": "Token ann"}}),
    bind("anyone", "view", user("system:anonymous"), namespace="default"),
    role("look", rule(["list"], ["pods"]), namespace="default"),
    bind("nobody", "look", group("system:unauthenticated"), namespace="default", kind="Role"),
    get("/api/v1/namespaces/default/pods", **{"as": None}),
    *[whoami(**{"as": name}) for name in ("ann", "bob", "recorder")],
    get("/", **{"as": "ann"}), get("/healthz", **{"as": "ann"}), get("/api", **{"as": "bob"}),
    get("/openid/v1/jwks", **{"as": "ann"}),
    get("/.well-known/openid-configuration"),
]

ATTRIBUTES = {"verb": "get", "resource": "configmaps", "namespace": "default", "name": "one"}
REVIEWS = [
    role("reader", rule(["get", "list"], ["configmaps"]), namespace="default"),
    bind("ann-reads", "reader", user("ann"), namespace="default", kind="Role"),
    bind("viewers-view", "view", group("viewers"), namespace="default"),
    bind("dora-views", "view", user("dora"), namespace="default"),
    bind("robot-edits", "edit", account("robot"), namespace="default"),
    bind("robot-everywhere", "system:discovery", {"kind": "ServiceAccount", "name": "robot", "namespace": "other"}),
    role("urls", paths(["get"], ["/logs/*"])),
    bind("bob-urls", "urls", user("bob")),
    sar("ann", ATTRIBUTES), sar("bob", ATTRIBUTES), sar("ann", {**ATTRIBUTES, "verb": "delete"}),
    sar("nobody", ATTRIBUTES, spec={"groups": ["viewers"]}),
    sar("", ATTRIBUTES, spec={"groups": ["viewers"]}),
    sar("root", ATTRIBUTES, spec={"groups": ["system:masters"]}),
    sar("system:serviceaccount:default:robot", {**ATTRIBUTES, "resource": "secrets"}),
    sar("system:serviceaccount:other:robot", path={"path": "/api", "verb": "get"}),
    sar("bob", path={"path": "/logs/a", "verb": "get"}), sar("bob", path={"path": "/logs/a", "verb": "post"}),
    sar("bob", path={"path": "/apis", "verb": "get"}, spec={"groups": ["system:authenticated"]}),
    sar("ann", {**ATTRIBUTES, "subresource": "status"}),
    sar("ann", {**ATTRIBUTES, "version": "v1", "group": ""}),
    sar("ann", {**ATTRIBUTES, "group": "apps"}),
    sar("ann", {**ATTRIBUTES, "namespace": ""}),
    sar("ann", {}), sar("ann"), sar("ann", ATTRIBUTES, {"path": "/a", "verb": "get"}), sar(""), sar("", ATTRIBUTES),
    # Metadata must be empty; the answer would print all of it in the order of Go's fields.
    sar("ann", ATTRIBUTES, top={"metadata": {"namespace": "x"}}),
    sar("ann", ATTRIBUTES, spec={"uid": "u", "extra": {"Scopes": ["a", "b"]}, "groups": ["x"]}),
    sar("ann", ATTRIBUTES, **{"as": "bob"}),
    sar("ann", {**ATTRIBUTES, "fieldSelector": {"rawSelector": "metadata.name=one"}}),
    sar("ann", {**ATTRIBUTES, "fieldSelector": {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "In", "values": ["b"]}]}}),
    sar("ann", {**ATTRIBUTES, "fieldSelector": {}}),
    sar("ann", {**ATTRIBUTES, "fieldSelector": {"requirements": [{"key": "", "operator": "In", "values": ["b"]}]}}),
    sar("ann", {**ATTRIBUTES, "fieldSelector": {"requirements": [{"key": "a", "operator": "In", "values": []}]}}),
    sar("ann", {**ATTRIBUTES, "fieldSelector": {"requirements": [{"key": "a", "operator": "Exists", "values": ["b"]}]}}),
    sar("ann", {**ATTRIBUTES, "fieldSelector": {"requirements": [{"key": "a", "operator": "Exists"}]}}),
    sar("ann", {**ATTRIBUTES, "fieldSelector": {"requirements": [{"key": "a", "operator": "In", "values": ["b", "c"]}]}}),
    sar("ann", {**ATTRIBUTES, "fieldSelector": {"requirements": [
        {"key": "a", "operator": "In", "values": ["b", "c"]}, {"key": "a", "operator": "NotIn", "values": ["b"]}]}}),
    sar("ann", {**ATTRIBUTES, "fieldSelector": {"requirements": [{"key": "a", "operator": "Odd", "values": ["b"]}]}}),
    sar("ann", {**ATTRIBUTES, "fieldSelector": {"requirements": [{"key": "a", "operator": ""}]}}),
    sar("ann", {**ATTRIBUTES, "fieldSelector": {"rawSelector": "&"}}),
    sar("ann", {**ATTRIBUTES, "labelSelector": {"rawSelector": "a in (b, c)"}}),
    sar("ann", {**ATTRIBUTES, "labelSelector": {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "Exists"}]}}),
    sar("ann", {**ATTRIBUTES, "labelSelector": {}}),
    sar("ann", {**ATTRIBUTES, "labelSelector": {"requirements": [{"key": "a b", "operator": "Exists"}]}}),
    sar("ann", {**ATTRIBUTES, "labelSelector": {"requirements": [{"key": "a", "operator": "In"}]}}),
    sar("ann", {**ATTRIBUTES, "labelSelector": {"requirements": [{"key": "a", "operator": "Exists", "values": ["x"]}]}}),
    sar("ann", {**ATTRIBUTES, "labelSelector": {"requirements": [{"key": "a", "operator": "Odd"}]}}),
    sar("ann", {**ATTRIBUTES, "labelSelector": {"requirements": [{"key": "a", "operator": "In", "values": ["x y"]}]}}),
    sar("ann", {**ATTRIBUTES, "labelSelector": {"rawSelector": "a in"}, "fieldSelector": {"rawSelector": "&"}}),
    self_sar(ATTRIBUTES, **{"as": "ann"}), self_sar(ATTRIBUTES, **{"as": "bob"}), self_sar(ATTRIBUTES),
    self_sar(path={"path": "/logs/x", "verb": "get"}, **{"as": "bob"}), self_sar(**{"as": "ann"}),
    self_sar(ATTRIBUTES, {"path": "/"}, **{"as": "ann"}),
    self_sar({**ATTRIBUTES, "labelSelector": {"rawSelector": "a in"}}, **{"as": "ann"}),
    local_sar("default", {"user": "ann", "resourceAttributes": ATTRIBUTES}),
    local_sar("default", {"user": "ann", "resourceAttributes": {**ATTRIBUTES, "namespace": "other"}}),
    local_sar("default", {"user": "ann", "resourceAttributes": {"verb": "get", "resource": "configmaps"}}),
    local_sar("default", {"user": "ann", "nonResourceAttributes": {"verb": "get", "path": "/"}}),
    local_sar("default", {"resourceAttributes": ATTRIBUTES}),
    local_sar("default", {"user": "ann", "resourceAttributes": ATTRIBUTES}, {"namespace": "other"}),
    local_sar("nowhere", {"user": "ann", "resourceAttributes": {**ATTRIBUTES, "namespace": "nowhere"}}),
    rules_review("default", **{"as": "ann"}), rules_review("default", **{"as": "bob"}), rules_review("", **{"as": "bob"}),
    rules_review("default", **{"as": "dora"}), rules_review("default", **{"as": "eve"}), rules_review("default"),
    bind("lost", "not-there", user("eve"), namespace="default"),
    rules_review("default", **{"as": "eve"}),
    sar("eve", ATTRIBUTES),
    get("/apis/authorization.k8s.io/v1/subjectaccessreviews"),
    post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"apiVersion": "authorization.k8s.io/v1", "kind": "Other"}),
    post("/apis/authorization.k8s.io/v1/subjectaccessreviews?dryRun=All",
         {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": "ann", "resourceAttributes": ATTRIBUTES}}),
]

MORE = {"as": "ann"}
ESCALATION = [
    role("role-writer", rule(["*"], ["roles", "rolebindings", "clusterroles", "clusterrolebindings"], ["rbac.authorization.k8s.io"]),
         rule(["get", "list"], ["configmaps"]), rule(["get"], ["pods"], names=["p"]), paths(["get"], ["/logs/*"])),
    # ann may write roles, and has little else.
    {**role("writer", rule(["create", "update", "patch", "get", "delete"],
                           ["roles", "rolebindings", "clusterroles", "clusterrolebindings"], ["rbac.authorization.k8s.io"]),
            rule(["get", "list"], ["configmaps"]), rule(["get"], ["pods"], names=["p"]), paths(["get"], ["/logs/*"]))},
    bind("ann-writes", "writer", user("ann")),
    role("held", rule(["get"], ["configmaps"]), namespace="default", **MORE),
    role("all-held", rule(["get", "list"], ["configmaps"]), rule(["get"], ["pods"], names=["p"]), namespace="default", **MORE),
    role("verb", rule(["get", "delete"], ["configmaps"]), namespace="default", **MORE),
    role("name", rule(["get"], ["pods"], names=["p", "q"]), namespace="default", **MORE),
    role("no-name", rule(["get"], ["pods"]), namespace="default", **MORE),
    role("more", rule(["get", "delete"], ["configmaps", "secrets"], ["", "apps"]), namespace="default", **MORE),
    role("star", rule(["*"], ["*"], ["*"]), namespace="default", **MORE),
    role("sub", rule(["get"], ["configmaps/status"]), namespace="default", **MORE),
    role("urls", paths(["get"], ["/logs/a"]), **MORE),
    role("urls-more", paths(["get", "post"], ["/logs/a", "/other/*"]), **MORE),
    role("cluster", rule(["get"], ["nodes"]), rule(["list"], ["secrets"]), **MORE),
    role("aggregated", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}, **MORE),
    bind("held", "held", user("bob"), namespace="default", kind="Role", **MORE),
    bind("admin", "cluster-admin", user("bob"), **MORE),
    bind("edit", "edit", user("bob"), namespace="default", **MORE),
    bind("discover", "system:discovery", user("bob"), **MORE),
    bind("nothing", "not-there", user("bob"), namespace="default", **MORE),
    bind("nothing", "not-there", user("bob"), namespace="default", kind="Role", **MORE),
    role("binder", rule(["bind"], ["clusterroles"], ["rbac.authorization.k8s.io"], names=["view"])),
    bind("ann-binds", "binder", user("ann")),
    bind("view", "view", user("bob"), namespace="default", **MORE),
    bind("view", "view", user("bob"), **MORE),
    bind("nothing", "not-there", user("bob"), namespace="default", **MORE),
    patch(f"{RBAC}/namespaces/default/roles/held", {"rules": [rule(["get"], ["secrets"])]}, **MORE),
    patch(f"{RBAC}/namespaces/default/roles/held", {"metadata": {"labels": {"a": "b"}}}, **MORE),
    role("admins", rule(["get"], ["secrets"]), namespace="default"),
    patch(f"{RBAC}/namespaces/default/roles/admins", {"metadata": {"labels": {"a": "b"}}}, **MORE),
    patch(f"{RBAC}/namespaces/default/roles/admins", {"metadata": {"finalizers": ["example.com/x"]}}, **MORE),
    patch(f"{RBAC}/namespaces/default/roles/admins", {"rules": []}, **MORE),
    role("escalator", rule(["escalate"], ["roles"], ["rbac.authorization.k8s.io"])),
    bind("ann-escalates", "escalator", user("ann"), namespace="default"),
    role("anything", rule(["*"], ["*"], ["*"]), namespace="default", **MORE),
    role("anything", rule(["*"], ["*"], ["*"]), **MORE),
    # The rules of roles and bindings themselves.
    patch(f"{RBAC}/namespaces/default/rolebindings/held", {"roleRef": {"name": "other"}}),
    patch(f"{RBAC}/clusterrolebindings/view", {"roleRef": {"name": "other"}}),
    patch(f"{RBAC}/namespaces/default/rolebindings/held", {"subjects": [{"kind": "Robot", "name": "x"}]}),
    patch(f"{RBAC}/namespaces/default/rolebindings/held", {"subjects": [{"kind": "User", "name": ""}]}),
    patch(f"{RBAC}/namespaces/default/rolebindings/held", {"subjects": [{"kind": "User", "name": "x"}, {"kind": "Group", "name": "y"}]}),
    patch(f"{RBAC}/namespaces/default/rolebindings/held", {"subjects": [{"kind": "ServiceAccount", "name": "x"}]}),
    patch(f"{RBAC}/namespaces/default/rolebindings/held", {"subjects": [{"kind": "ServiceAccount", "name": "X", "namespace": "a"}]}),
    patch(f"{RBAC}/namespaces/default/rolebindings/held", {"subjects": [{"kind": "User", "name": "x", "apiGroup": "a"}]}),
    patch(f"{RBAC}/namespaces/default/rolebindings/held", {"subjects": [{"kind": "ServiceAccount", "name": "x", "namespace": "n", "apiGroup": "a"}]}),
    bind("bad-kind", "x", user("bob"), namespace="default", kind="Other"),
    bind("", "x", user("bob"), namespace="default"),
    bind("no-ref", "", user("bob"), namespace="default"),
    bind("role-ref", "x", user("bob"), kind="Role"),
    role("no-verbs", rule([], ["pods"]), namespace="default"),
    role("no-groups", rule(["get"], ["pods"], []), namespace="default"),
    role("no-resources", rule(["get"], []), namespace="default"),
    role("url-in-role", paths(["get"], ["/x"]), namespace="default"),
    role("mixed", {**rule(["get"], ["pods"]), "nonResourceURLs": ["/x"]}),
    role("star-name", rule(["get"], ["pods"], names=["a"]), {"verbs": ["get"]}, namespace="default"),
    role("bad-selector", aggregationRule={"clusterRoleSelectors": []}),
    role("bad-label", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a b": "c"}}]}),
    role("a/b"), role(".."), role("system:x:y", rule(["get"], ["pods"])),
]

IMPERSONATION = [
    role("reader", rule(["list"], ["configmaps"]), namespace="default"),
    bind("bob-reads", "reader", user("bob"), namespace="default", kind="Role"),
    role("be-bob", rule(["impersonate"], ["users"], names=["bob"]), rule(["impersonate"], ["groups"], names=["dev"]),
         rule(["impersonate"], ["userextras/scopes", "uids"], ["authentication.k8s.io"])),
    whoami(**imitate("bob", **{"as": "ann"})),
    get(MAPS, **imitate("bob", **{"as": "ann"})),
    bind("ann-is-bob", "be-bob", user("ann")),
    whoami(**imitate("bob", **{"as": "ann"})),
    whoami(**imitate("bob", ["dev"], "bob-uid", {"scopes": "view"}, **{"as": "ann"})),
    whoami(**imitate("bob", ["ops"], **{"as": "ann"})),
    whoami(**imitate("bob", extra={"other": "view"}, **{"as": "ann"})),
    whoami(**imitate("eve", **{"as": "ann"})),
    get(MAPS, **imitate("bob", **{"as": "ann"})),
    get("/api/v1/nodes", **imitate("bob", **{"as": "ann"})),
    whoami(**imitate("", ["dev"], **{"as": "ann"})),
    whoami(**imitate("", uid="u", **{"as": "ann"})),
    whoami(**imitate("", extra={"scopes": "a"}, **{"as": "ann"})),
    whoami(**imitate("system:anonymous")),
    whoami(**imitate("bob")),
    whoami(**imitate("bob", ["system:masters"])),
    whoami(**imitate("bob", ["system:unauthenticated"])),
    whoami(**imitate("bob", ["system:authenticated"])),
    whoami(**imitate("system:serviceaccount:default:robot")),
    whoami(**imitate("system:serviceaccount:default:robot", ["x"])),
    whoami(**imitate("system:serviceaccount:default")),
    whoami(**imitate("system:serviceaccount:default:robot:more")),
    whoami(**imitate("system:serviceaccount:Default:robot")),
    whoami(**imitate("system:node:n1")),
    whoami(**imitate("system:node:n1", ["x"])),
    whoami(**imitate("bob", extra={"a%2fb": "v", "Upper": "w"})),
    whoami(**imitate("system:serviceaccount:default:robot", **{"as": "ann"})),
    whoami(**imitate("system:node:n1", **{"as": "ann"})),
    whoami(**imitate("bob", **{"as": None})),
    # Constrained.
    role("robots", rule(["impersonate:serviceaccount"], ["serviceaccounts"], ["authentication.k8s.io"], names=["robot"]),
         namespace="default"),
    role("on-robots", rule(["impersonate-on:serviceaccount:list"], ["configmaps"]), namespace="default"),
    bind("carl-robots", "robots", user("carl"), namespace="default", kind="Role"),
    bind("carl-on-robots", "on-robots", user("carl"), namespace="default", kind="Role"),
    bind("robot-reads", "reader", account("robot"), namespace="default", kind="Role"),
    get(MAPS, **imitate("system:serviceaccount:default:robot", **{"as": "carl"})),
    get(f"{MAPS}/one", **imitate("system:serviceaccount:default:robot", **{"as": "carl"})),
    get(MAPS, **imitate("system:serviceaccount:default:other", **{"as": "carl"})),
    get(MAPS, **imitate("system:serviceaccount:default:robot", ["dev"], **{"as": "carl"})),
    role("infos", rule(["impersonate:user-info"], ["users", "groups", "uids", "userextras/example.com/scopes"], ["authentication.k8s.io"]),
         rule(["impersonate-on:user-info:*", "impersonate-on:user-info:list", "impersonate-on:user-info:create"],
              ["configmaps", "selfsubjectreviews"], ["", "authentication.k8s.io"])),
    bind("dora-infos", "infos", user("dora")),
    whoami(**imitate("bob", **{"as": "dora"})),
    whoami(**imitate("bob", ["dev"], "u", {"example.com%2fscopes": "v"}, **{"as": "dora"})),
    whoami(**imitate("bob", extra={"scopes": "v"}, **{"as": "dora"})),
    whoami(**imitate("bob", extra={"example.com%2fother": "v"}, **{"as": "dora"})),
    whoami(**imitate("bob", ["system:masters"], **{"as": "dora"})),
    get(MAPS, **imitate("bob", **{"as": "dora"})),
    get("/api/v1/nodes", **imitate("bob", **{"as": "dora"})),
    whoami(**imitate("system:node:n1", **{"as": "dora"})),
    role("nodes", rule(["impersonate:arbitrary-node"], ["nodes"], ["authentication.k8s.io"]),
         rule(["impersonate-on:arbitrary-node:create"], ["selfsubjectreviews"], ["authentication.k8s.io"])),
    bind("eve-nodes", "nodes", user("eve")),
    whoami(**imitate("system:node:n1", **{"as": "eve"})),
    whoami(**imitate("system:node:N1", **{"as": "eve"})),
    get("/healthz", **imitate("bob", **{"as": "eve"})),
]

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
       "spec": {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}}


def bound(kind, name, uid=None, version="v1"):
    ref = {"kind": kind, "apiVersion": version, "name": name}
    if uid:
        ref["uid"] = uid
    return {"boundObjectRef": ref}


ISSUER = "https://kubernetes.default.svc.cluster.local"
TOKENS = [
    request_token("robot"),
    make_account("robot", keep={"account_uid": "metadata.uid"}),
    make_account("other"),
    request_token("robot", keep={"token": "status.token"}),
    request_token("robot", {"expirationSeconds": 600}),
    request_token("robot", {"expirationSeconds": 599}),
    request_token("robot", {"expirationSeconds": 4294967296}),
    request_token("robot", {"expirationSeconds": 4294967297}),
    request_token("robot", {"expirationSeconds": -1}),
    request_token("robot", {"audiences": ["a", "b"]}, keep={"audience_token": "status.token"}),
    request_token("robot", meta={"name": "other"}), request_token("robot", meta={"namespace": "other"}),
    request_token("robot", meta={"name": "robot", "namespace": "default", "labels": {"a": "b"}}),
    request_token("robot", meta={"uid": "11111111-1111-1111-1111-111111111111"}),
    request_token("robot", meta={"uid": "${account_uid}"}),
    request_token("robot", bound("Pod", "p")),
    post("/api/v1/namespaces/default/pods", POD, keep={"pod_uid": "metadata.uid"}),
    request_token("robot", bound("Pod", "p"), keep={"pod_token": "status.token"}),
    request_token("robot", bound("Pod", "p", "${pod_uid}")),
    request_token("robot", bound("Pod", "p", "wrong")),
    request_token("other", bound("Pod", "p")),
    request_token("robot", bound("Pod", "")),
    request_token("robot", bound("Thing", "p")), request_token("robot", bound("Pod", "p", version="v2")),
    request_token("robot", bound("Deployment", "p", version="apps/v1")),
    request_token("robot", bound("Secret", "s")),
    post(SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}, keep={"secret_uid": "metadata.uid"}),
    request_token("robot", bound("Secret", "s"), keep={"secret_token": "status.token"}),
    request_token("robot", bound("Node", "n")),
    post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}),
    request_token("robot", bound("Node", "n"), keep={"node_token": "status.token"}),
    request_token("robot", {"expirationSeconds": 3607, **bound("Pod", "p")}),
    request_token("nobody"), request_token("robot", namespace="nowhere"),
    request_token("robot", **{"as": "ann"}),
    get("/api/v1/namespaces/default/serviceaccounts/robot/token"),
    review("${token}"), review("${audience_token}"), review("${audience_token}", ["b", "c"]), review("${audience_token}", ["c"]),
    review("${token}", [ISSUER, "x"]), review("${token}", ["x"]),
    review("${pod_token}"), review("${secret_token}"), review("${node_token}"),
    review("nonsense"), review(""), review("a.b.c"), review("ann"), review("ann", ["x"]), review("bob"),
    review("${token}", **{"as": "ann"}),
    post("/apis/authentication.k8s.io/v1/tokenreviews", {
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {"name": "x"}, "spec": {"token": "ann"}}),
    whoami(**{"as": "${token}"}), whoami(**{"as": "${audience_token}"}), whoami(**{"as": "${pod_token}"}),
    whoami(**{"as": "${secret_token}"}), whoami(**{"as": "${node_token}"}),
    get("/api/v1/namespaces/default/pods", **{"as": "${token}"}),
    bind("robot-views", "view", account("robot"), namespace="default"),
    role("list-pods", rule(["list"], ["pods"]), namespace="default"),
    bind("accounts-list", "list-pods", group("system:serviceaccounts:default"), namespace="default", kind="Role"),
    get(MAPS, **{"as": "${token}"}),
    get("/openid/v1/jwks", **{"as": None}),
    delete(f"{SECRETS}/s"), review("${secret_token}", wait=11), whoami(**{"as": "${secret_token}"}),
    delete("/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0"), review("${pod_token}", wait=11), whoami(**{"as": "${pod_token}"}),
    delete("/api/v1/nodes/n"), review("${node_token}", wait=11),
    delete("/api/v1/namespaces/default/serviceaccounts/robot"), review("${token}", wait=11), whoami(**{"as": "${token}"}),
    make_account("robot"), review("${token}"),
]


def bootstrap(id, type="bootstrap.kubernetes.io/token", **data):
    fields = {"token-id": id, "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true", **data}
    return post(SYSTEM_SECRETS, {
        "apiVersion": "v1", "kind": "Secret", "type": type, "metadata": {"name": f"bootstrap-token-{id}"},
        "stringData": {key: value for key, value in fields.items() if value is not None}})


SYSTEM_SECRETS = "/api/v1/namespaces/kube-system/secrets"
BOOTSTRAP = [
    whoami(**{"as": "absent.0123456789abcdef"}),
    bootstrap("abcdef"), whoami(**{"as": "abcdef.0123456789abcdef"}),
    review("abcdef.0123456789abcdef"), review("abcdef.0123456789abcdef", ["x"]),
    whoami(**{"as": "abcdef.0123456789abcdee"}), whoami(**{"as": "abcdeg.0123456789abcdef"}), whoami(**{"as": "abcdef.0123"}),
    get("/api/v1/nodes", **{"as": "abcdef.0123456789abcdef"}),
]
for number, change in enumerate((
        {"auth-extra-groups": "system:bootstrappers:b,system:bootstrappers:a"}, {"auth-extra-groups": "dev"},
        {"auth-extra-groups": "system:bootstrappers:A"}, {"auth-extra-groups": ""},
        {"expiration": "2020-01-01T00:00:00Z"}, {"expiration": "2120-01-01T00:00:00Z"}, {"expiration": "soon"},
        {"usage-bootstrap-authentication": "false"}, {"usage-bootstrap-authentication": None}, {"token-id": "abcdeg"},
        {"description": "x"}, {"type": "Opaque"})):
    id = f"aaaaa{number:x}"
    BOOTSTRAP += [bootstrap(id, **change), whoami(**{"as": f"{id}.0123456789abcdef"})]

def large(size, name="large", **more):
    """A ConfigMap with a value of `size` bytes: `<fill>` in a body is that many x."""
    return post(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "<fill>"}}, fill=size, **more)


# Requests as such: health, times, sizes, headers.
REQUESTS = [get(path) for path in (
    "/healthz", "/healthz?verbose", "/healthz/etcd", "/healthz/ping", "/healthz/log", "/healthz/nothing", "/livez?verbose",
    "/livez?verbose&exclude=etcd", "/livez?exclude=etcd", "/livez?verbose&exclude=nothing", "/livez?exclude=nothing&exclude=other",
    "/readyz?verbose", "/readyz?verbose&exclude=ping&exclude=log", "/readyz/shutdown", "/readyz/informer-sync", "/livez/shutdown",
    "/healthz/", "/readyz/poststarthook/rbac/bootstrap-roles", "/healthz/poststarthook/nothing")] + [
    step("POST", "/healthz"), step("HEAD", "/healthz", show=["content-type", "cache-control"]),
    get("/healthz", show=["content-type", "cache-control"]), get("/readyz?verbose", show=["content-type"]),
    get(f"{MAPS}?limit=1", show=["content-type", "cache-control"]),
] + [get(f"{MAPS}/none?timeout={value}") for value in ("1s", "5", "abc", "-1s", "0", "0s", "10m", "1h1m", "1.5s", "1d", "", "+1s", ".5s", "1ns1")] + [
    post(f"{MAPS}?timeout=x", {"metadata": {"name": "t"}}),
    large(1024 * 1024 + 1, "over"), large(3 * 1024 * 1024, "too-large"), large(200 * 1024),
    get(f"{MAPS}/large", headers={"Accept-Encoding": "gzip"}, show=["content-encoding", "content-type"]),
    get(f"{MAPS}/large", headers={"Accept-Encoding": "identity"}, show=["content-encoding"]),
    get(f"{MAPS}/none", headers={"Accept-Encoding": "gzip"}, show=["content-encoding"]),
    post(MAPS, "<deep>", deep=11000), post(MAPS, '{"metadata": {"name": "deep"}, "x": <deep>}', deep=100),
    get("/healthz", headers={"Audit-Id": "given"}, show=["audit-id"]),
    get(f"{MAPS}/none", headers={"Audit-Id": "given"}, show=["audit-id"]),
]

ALL = {
    "anonymous": ANONYMOUS, "bootstrap": BOOTSTRAP, "decisions": DECISIONS, "escalation": ESCALATION, "impersonation": IMPERSONATION,
    "policy": POLICY, "requests": REQUESTS, "reviews": REVIEWS, "tokens": TOKENS,
}
