"""Empty bytes, lists and maps, and none: what survives in the storage, and what counts as a change."""
import copy

from made import CORE, KINDS, cm, obj

PROTO = "application/vnd.kubernetes.protobuf"
A = "/apis/admissionregistration.k8s.io/v1"
KEEP = ["kind", "metadata.generation", "metadata.resourceVersion"]
BUNDLE = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJlVENDQVIrZ0F3SUJBZ0lVYQ=="


def webhook(name, config=None, **more):
    return {"name": f"{name}.example.com", "clientConfig": {"service": {"namespace": "a", "name": "b"}, **(config or {})}, "rules": [{"operations": ["*"], "apiGroups": ["none.example.com"], "apiVersions": ["v1"], "resources": ["nothings"]}], "sideEffects": "None", "admissionReviewVersions": ["v1"], **more}


def run(t):
    bundles(t)
    lists(t)
    other_bytes(t)
    jobs(t)


def bundles(t):
    """Bundles of certificates, which upstream compares as they are in memory."""
    for kind in ("validating", "mutating"):
        path, name = f"{A}/{kind}webhookconfigurations", f"{kind.capitalize()}WebhookConfiguration"

        def config(*hooks, **meta):
            return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": name, "metadata": {"name": "w", **meta}, "webhooks": list(hooks)}

        def put(*hooks, **more):
            t.get(path + "/w", keep=["kind"], save={"v": "metadata.resourceVersion"})
            t.put(path + "/w", config(*hooks, resourceVersion="${v}"), **more)
        t.post(path, config(webhook("a"), webhook("b")))
        empty = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": ""}]
        t.json_patch(path + "/w?dryRun=All", empty)
        t.json_patch(path + "/w", empty)
        t.json_patch(path + "/w", empty, keep=KEEP)
        t.get(path + "/w")
        t.get(path + "/w", accept="application/yaml", keep=["webhooks"])
        t.get(path, keep=["items"])
        t.get(path + "/w", accept=PROTO)
        t.merge(path + "/w", {"metadata": {"labels": {"x": "y"}}}, keep=KEEP)
        t.merge(path + "/w", {"metadata": {"labels": {"x": "y"}}}, keep=KEEP)
        put(webhook("a"), webhook("b"))
        put(webhook("a"), webhook("b"), keep=KEEP)
        put(webhook("a"), webhook("b", {"caBundle": ""}), keep=KEEP)
        put(webhook("a"), webhook("b", {"caBundle": ""}), keep=KEEP)
        put(webhook("a"), webhook("b", {"caBundle": None}), keep=KEEP)
        put(webhook("a"), webhook("b", {"caBundle": None}), keep=KEEP)
        put(webhook("a", {"caBundle": ""}), webhook("b", {"caBundle": ""}), keep=KEEP)
        t.strategic(path + "/w", {"webhooks": [{"name": "b.example.com", "clientConfig": {"caBundle": ""}}]}, keep=KEEP)
        t.strategic(path + "/w", {"webhooks": [{"name": "a.example.com", "clientConfig": {"caBundle": None}}]}, keep=KEEP)
        t.strategic(path + "/w", {"webhooks": [{"name": "a.example.com", "clientConfig": {"caBundle": ""}}]}, keep=KEEP)
        t.strategic(path + "/w", {"webhooks": [{"name": "a.example.com", "timeoutSeconds": 3}]}, keep=KEEP)
        t.json_patch(path + "/w", [{"op": "remove", "path": "/webhooks/1"}], keep=KEEP)
        t.json_patch(path + "/w", [{"op": "test", "path": "/webhooks/0/clientConfig/caBundle", "value": ""}], keep=KEEP)
        t.json_patch(path + "/w", [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}], keep=KEEP)
        t.get(path + "/w")
        t.delete(path + "/w", keep=["kind"])
        t.get(f"{path}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dw", keep=KEEP)
        # applied
        for bundle in ({}, {"caBundle": ""}, {"caBundle": ""}, {}, {"caBundle": None}, {"caBundle": ""}):
            t.apply(path + "/w", config(webhook("a", bundle)))
        t.apply(path + "/w", config(webhook("a", {"caBundle": ""})), manager="another")
        t.apply(path + "/w", config(webhook("a")), manager="another", keep=KEEP)
        t.get(path + "/w")
        t.delete(path + "/w", keep=["kind"])
        t.post(path, config(webhook("a", {"caBundle": ""})))
        put(webhook("a"), keep=KEEP)
        t.delete(path + "/w", keep=["kind"])
        # lists of these kinds are compared so, too
        t.post(path, config(webhook("a", rules=[], matchConditions=[], namespaceSelector={"matchLabels": {}, "matchExpressions": []})), save={"w": "metadata.resourceVersion"})
        for hooks in ([webhook("a", rules=[], matchConditions=[])], [webhook("a", rules=[], matchConditions=[])], [webhook("a", rules=None)], [webhook("a", rules=None)], [webhook("a", rules=[{**webhook("a")["rules"][0], "scope": "*"}])], [webhook("a", matchConditions=[])], [webhook("a", matchConditions=[])], [webhook("a")], [webhook("a")],
                      [webhook("a", namespaceSelector={"matchLabels": {}})], [webhook("a", namespaceSelector={"matchLabels": {}})], [webhook("a", namespaceSelector={"matchExpressions": []}, objectSelector={"matchLabels": {}})], [webhook("a", namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Exists", "values": []}]})], [webhook("a", namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Exists", "values": []}]})], [], [], None):
            t.get(path + "/w", keep=["kind"], save={"v": "metadata.resourceVersion"})
            body = config(*(hooks or []), resourceVersion="${v}")
            if hooks is None:
                del body["webhooks"]
            t.put(path + "/w", body, keep=KEEP)
        t.merge(path + "/w", {"webhooks": []}, keep=KEEP)
        t.merge(path + "/w", {"webhooks": None}, keep=KEEP)
        t.apply(path + "/w", config(), keep=KEEP)
        t.apply(path + "/w", config(), keep=KEEP)
        t.get(f"{path}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dw&resourceVersion=${{w}}", keep=KEEP)
        t.delete(path + "/w", keep=["kind"])


def lists(t):
    """Empty lists and maps in the specs of other kinds: sent twice, then left out."""
    policy = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
    np = lambda **spec: obj("networking.k8s.io/v1", "NetworkPolicy", "n", spec=spec)
    t.post(policy, np(podSelector={}, ingress=[], policyTypes=["Ingress"]), save={"n": "metadata.resourceVersion"})
    for spec in ({"ingress": []}, {"ingress": []}, {}, {}, {"ingress": [{}]}, {"ingress": [{}]}, {"ingress": [{"from": [], "ports": []}]}, {"ingress": [{"from": [], "ports": []}]}, {"ingress": [{"from": [{"podSelector": {}}]}]}, {"ingress": [{"from": [{"podSelector": {"matchLabels": {}}}]}]}, {"ingress": [{"from": [{"podSelector": {"matchLabels": {}}}]}]},
                 {"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": []}}]}]}, {"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": []}}]}]}, {"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}, {"egress": []}, {"egress": []}, {"podSelector": {"matchLabels": {}, "matchExpressions": []}}, {"podSelector": {"matchExpressions": []}}, {}, {}):
        t.put(policy + "/n", np(**{"podSelector": {}, "policyTypes": ["Ingress"], **spec}), keep=KEEP + ["spec"])
    for spec in ({"ingress": []}, {"ingress": []}, {"egress": []}, {"ingress": None}, {"podSelector": {"matchLabels": {}}}):
        t.merge(policy + "/n", {"spec": spec}, keep=KEEP + ["spec"])
        t.strategic(policy + "/n", {"spec": spec}, keep=KEEP)
    for spec in ({"ingress": []}, {"ingress": []}, {}, {"ingress": [{}]}, {"ingress": [{"from": []}]}, {"ingress": [{"from": []}]}):
        t.apply(policy + "/n", np(**{"podSelector": {}, "policyTypes": ["Ingress"], **spec}), force=True, keep=KEEP + ["spec"])
    t.get(f"{policy}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dn&resourceVersion=${{n}}", keep=KEEP)
    empties = {
        "deployments": {"spec": {"template": {"spec": {"volumes": [], "nodeSelector": {}, "tolerations": [], "initContainers": [], "hostAliases": [], "imagePullSecrets": [], "containers": [{"name": "c", "image": "i", "env": [], "ports": [], "args": [], "command": [], "volumeMounts": [], "resources": {"limits": {}, "requests": {}}}]}, "metadata": {"annotations": {}}}}},
        "daemonsets": {"spec": {"template": {"spec": {"volumes": [], "nodeSelector": {}}}}}, "statefulsets": {"spec": {"volumeClaimTemplates": [], "template": {"spec": {"volumes": []}}}}, "replicasets": {"spec": {"template": {"spec": {"tolerations": []}}}}, "jobs": {"spec": {"template": {"metadata": {"annotations": {}}}}}, "cronjobs": {"spec": {"jobTemplate": {"metadata": {"labels": {}, "annotations": {}}, "spec": {"template": {"spec": {"volumes": []}}}}}},
        "replicationcontrollers": {"spec": {"template": {"spec": {"volumes": []}}}}, "ingresses": {"spec": {"rules": [], "tls": []}}, "poddisruptionbudgets": {"spec": {"selector": {"matchExpressions": []}}}, "horizontalpodautoscalers": {"spec": {"metrics": []}}, "endpointslices": {"endpoints": [], "ports": []}, "services": {"spec": {"externalIPs": [], "loadBalancerSourceRanges": [], "selector": {}}},
        "persistentvolumeclaims": {"spec": {"selector": None}}, "persistentvolumes": {"spec": {"mountOptions": []}}, "configmaps": {"data": {}, "binaryData": {}}, "secrets": {"data": {}, "stringData": {}}, "serviceaccounts": {"secrets": [], "imagePullSecrets": []}, "resourcequotas": {"spec": {"hard": {}, "scopes": []}}, "limitranges": {"spec": {"limits": []}}, "roles": {"rules": []}, "clusterroles": {"rules": []},
        "rolebindings": {"subjects": []}, "storageclasses": {"parameters": {}, "mountOptions": [], "allowedTopologies": []}, "csidrivers": {"spec": {"tokenRequests": [], "volumeLifecycleModes": []}}, "ingressclasses": {"spec": {"parameters": None}}, "podtemplates": {"template": {"spec": {"volumes": []}}}, "endpoints": {"subsets": []}, "nodes": {"spec": {"taints": [], "podCIDRs": []}},
    }
    for path, version, kind, more in KINDS:
        empty = empties.get(path.rsplit("/", 1)[1])
        if empty is None:
            continue
        t.post(path, obj(version, kind, "e", **copy.deepcopy(more)), keep=["kind"])
        for meta in ({"labels": {}, "annotations": {}, "finalizers": [], "ownerReferences": []}, None):
            change = {**empty, **({"metadata": meta} if meta else {})}
            t.merge(f"{path}/e", change, keep=KEEP)
            t.merge(f"{path}/e", change, keep=KEEP)
        t.merge(f"{path}/e", {"metadata": {"labels": {"a": "b"}}}, keep=KEEP)
        t.get(f"{path}/e", keep=["metadata.labels", "metadata.annotations", "spec", "data", "binaryData", "rules", "subjects", "secrets", "subsets", "template", "endpoints", "ports"])
        t.delete(f"{path}/e", keep=["kind"])


def other_bytes(t):
    """Bytes in maps, and in the status of certificates."""
    for path, kind, data in ((f"{CORE}/secrets", "Secret", "data"), (f"{CORE}/configmaps", "ConfigMap", "binaryData")):
        t.post(path, obj("v1", kind, "b", **{data: {"a": "", "b": "YQ==", "c": None}}))
        t.post(path + "?dryRun=All", obj("v1", kind, "d", **{data: {"a": "", "c": None}}))
        t.get(path + "/b", accept=PROTO)
        for change in ({"a": None}, {"a": ""}, {"a": ""}, {"c": None}, {"c": ""}, {"d": None}):
            t.merge(path + "/b", {data: change}, keep=KEEP + [data])
        t.json_patch(path + "/b", [{"op": "add", "path": f"/{data}/e", "value": None}], keep=KEEP + [data])
        t.json_patch(path + "/b?dryRun=All", [{"op": "add", "path": f"/{data}/f", "value": None}], keep=KEEP + [data])
        t.apply(path + "/b", obj("v1", kind, "b", **{data: {"a": "", "g": None}}), force=True)
        t.delete(path + "/b", keep=["kind"])


def jobs(t):
    """Jobs without labels, which have those of their pods."""
    path = "/apis/batch/v1/namespaces/default/jobs"
    template = lambda labels: {"metadata": {"labels": labels} if labels is not None else {}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    keep = ["metadata.labels", "metadata.name", "spec.template.metadata", "spec.selector"]
    for labels in (None, {}, {"a": "b"}):
        for own in (None, {}, {"a": "b"}, {"c": "d"}):
            job = obj("batch/v1", "Job", "j", {"labels": own} if own is not None else None, spec={"template": template(labels)})
            t.post(path + "?dryRun=All", job, keep=keep)
            t.post(path, job, keep=keep)
            t.get(path + "/j", keep=keep)
            t.merge(path + "/j", {"metadata": {"annotations": {"x": "y"}}}, keep=keep)
            t.delete(path + "/j?propagationPolicy=Background", keep=["kind"])
            own = {key: value for key, value in job["metadata"].items() if key != "name"}
            if labels:  # or else what it is called stands in its labels
                t.post(path, {**job, "metadata": {**own, "generateName": "g-"}}, keep=["metadata.labels"])
            t.apply(path + "/k", {**job, "metadata": {**own, "name": "k"}}, keep=keep)
            t.delete(path + "/k?propagationPolicy=Background", keep=["kind"])
