"""What requests made from the schemas of all built-in kinds (conformance/fuzz/wide.py) were answered differently once, made small."""
import made
from made import CORE, POD_SPEC, obj

APPS = "/apis/apps/v1/namespaces/default"
BATCH = "/apis/batch/v1/namespaces/default"
BRIEF = ["kind", "metadata.name", "metadata.generation", "message"]


def flattened(t):
    """A value of the wrong type inside structs that JSON flattens; what reads itself ends the reading."""
    for field, value in [("livenessProbe", {"exec": [{}]}), ("livenessProbe", {"httpGet": {"port": True}, "exec": 1}), ("env", [{"valueFrom": {"secretKeyRef": {"name": 1}}}])]:
        t.post(f"{CORE}/pods", made.pod("p", containers=[{"name": "c", "image": "i", field: value}]))
    for volume in [{"glusterfs": {"endpoints": 1}}, {"emptyDir": {"sizeLimit": "x"}, "secret": 1}, {"secret": 1, "emptyDir": {"sizeLimit": "x"}}]:
        t.post(f"{CORE}/pods", made.pod("p", volumes=[{"name": "v", **volume}]))
    t.post("/api/v1/persistentvolumes", obj("v1", "PersistentVolume", "v", spec={"rbd": {"monitors": [1]}, "claimRef": {"uid": 1}}))
    t.post("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", obj("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "p", spec={"matchConstraints": {"resourceRules": [{"apiGroups": {"a": 1}}]}}))
    t.post(f"{APPS}/statefulsets", obj("apps/v1", "StatefulSet", "s", spec={"volumeClaimTemplates": [{"kind": 1}]}))
    t.post(f"{CORE}/secrets", obj("v1", "Secret", "s", data={"a": "YQ"}, type=1))
    t.post(f"{CORE}/secrets", obj("v1", "Secret", "s", {"creationTimestamp": "x"}, data={"a": "YQ"}))
    for entries in [[{"fieldsV1": "x"}], [{"fieldsV1": [1]}], [{"fieldsV1": True, "manager": 1}]]:
        t.post(f"{CORE}/configmaps?dryRun=All", made.cm("c", {"managedFields": entries}), keep=BRIEF)


def converted(t):
    """What patches and applies make is converted by other rules than what is read."""
    t.post(f"{CORE}/secrets", obj("v1", "Secret", "conv", data={"a": "YQ=="}), keep=["kind"])
    place = f"{CORE}/secrets/conv?dryRun=All"
    for patch in [{"type": 1}, {"type": ["x"]}, {"type": {}}, {"type": True}, {"immutable": 1}, {"data": {"a": "YQ"}}, {"data": []}, {"data": {"a": 1}}, {"metadata": "x"}, {"metadata": {"finalizers": {}}}, {"metadata": {"uid": 1}},
                  {"metadata": {"creationTimestamp": 1}}, {"metadata": {"creationTimestamp": "x"}}, {"metadata": {"generation": 1.5}}, {"metadata": {"generation": "x"}}, {"metadata": {"managedFields": [{"operation": 1}]}},
                  {"metadata": {"managedFields": [{"fieldsV1": 1}]}}, {"metadata": {"ownerReferences": ["x"]}}, {"metadata": {"ownerReferences": [{"uid": 1}]}}, {"kind": 1}]:
        t.strategic(place, patch, keep=BRIEF)
    t.json_patch(place + "&fieldValidation=Strict", [{"op": "add", "path": "/kind", "value": 1}, {"op": "add", "path": "/nothing", "value": 1}])
    for mode in ["", "&fieldValidation=Ignore"]:
        t.json_patch(place + mode, [{"op": "add", "path": 1, "value": 1}])
        t.json_patch(place + mode, [{"op": 1, "path": "/a"}])
        t.json_patch(place + mode, {"op": "add"})
        t.json_patch(place + mode, [1])
    for meta in [{"managedFields": "x"}, {"managedFields": ["x"]}, {"managedFields": [{"operation": 1}]}, {"managedFields": [{"time": "x"}]}, {"managedFields": [{"manager": "m"}]}, {"managedFields": []}, {"creationTimestamp": 1}, {"creationTimestamp": "x"},
                 {"deletionTimestamp": "x", "namespace": "kube-system"}, {"resourceVersion": "x"}, {"resourceVersion": ""}]:
        t.apply(place, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "conv", **meta}}, keep=BRIEF)
    t.apply(place, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "conv"}, "data": {"a": "YQ"}})
    t.apply(f"{CORE}/secrets/fresh?dryRun=All", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "fresh"}, "data": {"a": "YQ"}})
    t.post(f"{APPS}/deployments", made.deployment("conv"), keep=["kind"])
    place = f"{APPS}/deployments/conv?dryRun=All"
    for spec in [{"replicas": 99999999999}, {"replicas": 1.5}, {"replicas": 2.0}, {"replicas": "1"}, {"paused": "x"}, {"template": []}, {"strategy": {"rollingUpdate": {"maxSurge": True}}}]:
        t.strategic(place, {"spec": spec}, keep=["kind", "spec.replicas", "message"])
        t.merge(place, {"spec": spec}, keep=["kind", "spec.replicas", "message"])
        t.apply(place, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "conv"}, "spec": spec}, force=True, keep=["kind", "spec.replicas", "message"])


def metadata(t):
    """Names that names are made of, finalizers, generations and versions, of each kind."""
    for path, version, kind, rest in made.KINDS:
        name = {"RuntimeClass": "swept", "APIService": "v1.swept.example.com"}.get(kind, "swept")
        if kind == "APIService":
            rest = {"spec": {"group": "swept.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 10}}
        one = obj(version, kind, name, **rest)
        for meta in [{"generateName": "A_b"}, {"generateName": "a/b"}, {"generateName": "X-"}, {"finalizers": ["x"]}, {"generation": -1}]:
            t.post(f"{path}?dryRun=All", {**one, "metadata": {"name": name, **meta}}, keep=BRIEF)
        t.post(f"{path}?dryRun=All", {**one, "metadata": {}}, keep=["kind", "message"])
        t.post(f"{path}?dryRun=All", {**one, "metadata": {"name": "."}}, keep=BRIEF)
        t.post(path, one, keep=["kind"])
        for meta in [{"generateName": "A_b"}, {"generateName": "a/b"}, {"generateName": "X-"}, {"finalizers": ["x"], "labels": {"a b": "c"}}, {"resourceVersion": ""}, {"resourceVersion": "x"}]:
            t.merge(f"{path}/{name}?dryRun=All", {"metadata": meta}, keep=BRIEF)
        if kind not in ("APIService", "CSINode"):
            t.merge(f"{path}/{name}/status?dryRun=All", {"metadata": {"generateName": "A_b", "finalizers": ["x"]}}, keep=BRIEF)
    for kind, path, rest in [("Pod", f"{CORE}/pods", {"spec": POD_SPEC}), ("Deployment", f"{APPS}/deployments", {"spec": {"selector": made.SELECTOR, "template": made.TEMPLATE}}), ("Job", f"{BATCH}/jobs", {"spec": made.JOB})]:
        version = "v1" if kind == "Pod" else "apps/v1" if kind == "Deployment" else "batch/v1"
        for name in ["a.b", "${a*64}"]:
            t.post(f"{path}?dryRun=All", obj(version, kind, name, **rest), keep=["kind"])
    t.post(f"{BATCH}/jobs?dryRun=All", obj("batch/v1", "Job", "a.b", spec={**made.JOB, "completionMode": "Indexed", "completions": 3}), keep=["kind"])
    t.put(f"{CORE}/configmaps/swept", {**made.cm("other"), "metadata": {"name": "other", "namespace": "kube-system"}})


def disabled(t):
    """Fields of features that are off."""
    spec = {**POD_SPEC, "evictionResponders": [{"name": "a.b/c"}], "schedulingGroup": {"podGroupName": "g"}, "volumes": [
        {"name": "v", "secret": {"secretName": "s", "defaultUser": 5, "items": [{"key": "k", "path": "p", "user": 7}]}}, {"name": "e", "emptyDir": {"mode": 7}}]}
    t.post(f"{CORE}/pods?dryRun=All", obj("v1", "Pod", "off", spec=spec), keep=["kind", "spec.volumes", "spec.evictionResponders", "spec.schedulingGroup"])
    t.post(f"{APPS}/deployments?dryRun=All", made.deployment("off", template={"metadata": {"labels": {"a": "b"}}, "spec": spec}), keep=["kind", "spec.template.spec.volumes", "spec.template.spec.evictionResponders"])
    t.post(f"{BATCH}/jobs?dryRun=All", obj("batch/v1", "Job", "off", spec={**made.JOB, "scheduling": {}}), keep=["kind", "spec.scheduling"])
    t.post("/api/v1/nodes?dryRun=All", obj("v1", "Node", "off", spec={"podCIDR": "10.1.0.0/24", "podPreemptionPolicy": {}}, status={"config": {"active": {}}}), keep=["kind", "spec", "status.config", "metadata.managedFields"])
    t.post(f"{CORE}/pods?dryRun=All", obj("v1", "Pod", "kept", spec={**POD_SPEC, "evictionResponders": [None]}), keep=["kind", "spec.evictionResponders"])


def options(t):
    """Options of watches, deletions and answers that are looked at in an order."""
    base = f"{CORE}/configmaps?watch=true&timeoutSeconds=1"
    for more in ["&continue=x", "&continue=x&resourceVersion=0", "&continue=x&sendInitialEvents=true", "&continue=x&resourceVersionMatch=NotOlderThan", "&resourceVersionMatch=Exact&sendInitialEvents=true&labelSelector=a%20b", "&labelSelector=a%20b&continue=x"]:
        t.get(base + more)
    t.get(f"{CORE}/configmaps?resourceVersionMatch=x&labelSelector=a%20b")
    t.get(f"{CORE}/configmaps?resourceVersionMatch=x&fieldSelector=a")
    t.delete(f"{CORE}/configmaps/none", {"kind": "ConfigMap", "preconditions": "x"})
    t.delete(f"{BATCH}/jobs?labelSelector=nothing%3Dx", {"preconditions": {"resourceVersion": "x"}}, keep=["kind"])
    t.delete(f"{BATCH}/jobs?labelSelector=nothing%3Dx", {"propagationPolicy": "Orphan"}, keep=["kind"])
    t.post(f"{CORE}/pods", made.pod("form"), keep=["kind"])
    t.delete(f"{CORE}/pods/form?dryRun=All", accept=made.PARTIALS)
    for name, selector in [("set", {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}), ("both", {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["c"]}, {"key": "a", "operator": "Exists"}]})]:
        t.post(f"{APPS}/deployments", made.deployment(name, selector=selector), keep=["kind"])
        t.get(f"{APPS}/deployments/{name}/scale", keep=["status"])
    t.post(f"{APPS}/deployments", made.deployment("bad", selector={"matchExpressions": [{"key": "a", "operator": "x"}]}, template={"spec": {"containers": [{}]}}))


def immutable(t):
    """What may not change, and is shown as the zero of its type."""
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    event = {"eventTime": "2020-01-01T00:00:00.000000Z", "reportingController": "a.b/c", "reportingInstance": "i", "action": "a", "reason": "r", "type": "Normal", "note": "n", "regarding": {"namespace": "default"}}
    t.post(path, obj("events.k8s.io/v1", "Event", "e", **event), keep=["kind"])
    for field in ["note", "type", "action", "reason", "reportingInstance", "eventTime"]:
        t.merge(f"{path}/e", {field: None})
    path = "/apis/resource.k8s.io/v1/resourceslices"
    t.post(path, obj("resource.k8s.io/v1", "ResourceSlice", "s", spec={"driver": "d.e", "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}), keep=["kind"])
    for spec in [{"pool": {"name": None}}, {"pool": {"name": "q"}}, {"nodeName": None}, {"nodeName": ""}]:
        t.merge(f"{path}/s", {"spec": spec})
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    t.post(path, obj("resource.k8s.io/v1", "ResourceClaim", "c", spec={}), keep=["kind"])
    t.merge(f"{path}/c", {"spec": {"devices": {"requests": [{"name": "A_"}]}}})
    t.post("/api/v1/persistentvolumes", obj("v1", "PersistentVolume", "iscsi", spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2015-02.a:b", "lun": 1, "chapAuthSession": True, "secretRef": {"name": "s"}}}), keep=["kind"])
    t.merge("/api/v1/persistentvolumes/iscsi", {"spec": {"iscsi": {"lun": 2}}})


def run(t):
    flattened(t)
    converted(t)
    metadata(t)
    disabled(t)
    options(t)
    immutable(t)
