"""Flow schemas and priority levels: which ones there are, which a request matches, and what becomes of those that are made and go."""
F = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
P = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
M = "/api/v1/namespaces/default/configmaps"
GROUPS = ["system:authenticated"]


def level(name, **more):
    return {"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration", "metadata": {"name": name},
            "spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}}, **more}}


def schema(name, to, precedence, subjects, **rules):
    return {"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "metadata": {"name": name},
            "spec": {"priorityLevelConfiguration": {"name": to}, "matchingPrecedence": precedence, "rules": [{"subjects": subjects, **rules}]}}


def user(name):
    return {"kind": "User", "user": {"name": name}}


def resources(verbs=("*",), groups=("*",), names=("*",), namespaces=("*",), cluster=True):
    return {"verbs": list(verbs), "apiGroups": list(groups), "resources": list(names), "namespaces": list(namespaces), "clusterScope": cluster}


def asks(t, path, **more):
    """What matters is in the head; most of these are refused."""
    t.get(path, keep=["kind"], **more)


def state(t, name):
    t.settle(1.5)
    t.get(f"{F}/{name}", keep=["status", "metadata.managedFields", "metadata.generation"])


def run(t):
    t.flows = t.heads = True
    t.get(F)
    t.get(P)
    for who, groups in (("ann", GROUPS), ("system:kube-controller-manager", GROUPS), ("system:kube-scheduler", GROUPS), ("system:node:a", ["system:nodes", *GROUPS]),
                        ("system:serviceaccount:kube-system:a", ["system:serviceaccounts", "system:serviceaccounts:kube-system", *GROUPS]),
                        ("system:serviceaccount:default:a", ["system:serviceaccounts", "system:serviceaccounts:default", *GROUPS]),
                        ("root", ["system:masters", *GROUPS]), ("nobody", ["strangers"]), ("system:anonymous", ["system:unauthenticated"])):
        for path in (M, "/api/v1/nodes", "/api/v1/nodes/a/status", "/apis/coordination.k8s.io/v1/namespaces/default/leases", "/apis/coordination.k8s.io/v1/namespaces/default/leases/a",
                     "/healthz", "/livez/ping", "/readyzz", "/version", "/apis"):
            asks(t, path, user=who, groups=groups)
    t.post(M, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}, keep=["kind"], user="ann", groups=GROUPS)

    # one that leads nowhere, then somewhere, then nowhere again
    t.post(F, schema("mine", "own", 50, [user("ann")], resourceRules=[resources(names=["configmaps"], cluster=False)], nonResourceRules=[{"verbs": ["get"], "nonResourceURLs": ["/version/*", "/apis"]}]), keep=["kind"])
    state(t, "mine")
    asks(t, M, user="ann", groups=GROUPS)
    t.post(P, level("own"), keep=["metadata.generation", "status", "spec"])
    state(t, "mine")
    for path in (M, f"{M}/a", "/api/v1/configmaps", "/api/v1/namespaces/default/secrets", "/version", "/version/x", "/versions", "/apis", "/apis/apps"):
        asks(t, path, user="ann", groups=GROUPS)
    asks(t, M, user="bob", groups=GROUPS)
    t.post(F, schema("before", "own", 50, [user("*")], resourceRules=[resources(verbs=["get"], groups=[""], names=["configmaps", "pods/log"], namespaces=["default"], cluster=False)]), keep=["kind"])
    state(t, "before")
    for path in (M, f"{M}/a", "/api/v1/namespaces/other/configmaps/a", "/api/v1/namespaces/default/pods/a", "/api/v1/namespaces/default/pods/a/status"):
        asks(t, path, user="ann", groups=GROUPS)
    t.merge(f"{F}/mine", {"spec": {"priorityLevelConfiguration": {"name": "gone"}}}, keep=["metadata.generation"])
    state(t, "mine")
    asks(t, "/apis", user="ann", groups=GROUPS)
    t.merge(f"{F}/mine", {"spec": {"priorityLevelConfiguration": {"name": "exempt"}}}, keep=["metadata.generation"])
    state(t, "mine")
    asks(t, "/apis", user="ann", groups=GROUPS)
    t.delete(f"{P}/own")
    state(t, "before")
    asks(t, f"{M}/a", user="bob", groups=GROUPS)
    t.delete(f"{F}/before")
    t.delete(f"{F}/mine")
    t.settle(1)
    asks(t, "/apis", user="ann", groups=GROUPS)

    # what every cluster starts with
    t.merge(f"{F}/exempt", {"spec": {"matchingPrecedence": 5}})
    t.merge(f"{F}/exempt", {"metadata": {"labels": {"a": "b"}}}, keep=["metadata.labels"])
    t.merge(f"{P}/exempt", {"spec": {"exempt": {"lendablePercent": 10}}}, keep=["spec"])
    t.merge(f"{P}/catch-all", {"spec": {"limited": {"nominalConcurrencyShares": 7}}}, keep=["spec", "code"])
    t.merge(f"{F}/catch-all", {"spec": {"matchingPrecedence": 9999}})
    t.merge(f"{F}/global-default", {"spec": {"matchingPrecedence": 9901}}, keep=["spec.matchingPrecedence", "metadata.generation"])
    for what in (f"{F}/catch-all", f"{P}/workload-low"):
        t.delete(what, keep=["kind"])
    t.settle(1.5)
    t.get(f"{F}/service-accounts", keep=["status"])
    asks(t, M, user="system:serviceaccount:default:a", groups=["system:serviceaccounts", *GROUPS])
    asks(t, M, user="nobody", groups=["strangers"])
    for name in ("default", "kube-system", "kube-public"):
        t.delete(f"/api/v1/namespaces/{name}")
