"""The plugins that are off by default, and what nodes may do."""
from plugins import (NOT_READY, PODS, SHOW, SPACES, bind, container, delete, get, meta, patch, pod, post, put, role, rule, space, user)  # noqa: F401
from plugins_more import certificate
from topics import RBAC, sar, step  # noqa: F401

POD_FIELDS = ["spec.nodeSelector", "spec.tolerations", "spec.containers.0.imagePullPolicy", "metadata.namespace"]


def seen(name, namespace="default", spec=None, **more):
    return pod(name, namespace, spec, only=POD_FIELDS, **more)


SELECT = "scheduler.alpha.kubernetes.io/node-selector"
DEFAULTS_FOR, WHITELIST = "scheduler.alpha.kubernetes.io/defaultTolerations", "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
SIZED = [container(resources={"requests": {"cpu": "1m"}})]
KEY = '[{"key": "a", "operator": "Exists"}]'


def event(name, namespace="default", component="c", **more):
    return post(f"{SPACES}/{namespace}/events", {"apiVersion": "v1", "kind": "Event", **meta(name), "source": {"component": component},
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": namespace, "apiVersion": "v1"}}, only=["kind"], **more)


AFFINITY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}]}}
BY_HOST = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}]}}
SOFT = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}}]}}
SERVICES = f"{SPACES}/default/services"


def service(name, addresses=(), **more):
    return post(SERVICES, {"apiVersion": "v1", "kind": "Service", **meta(name), "spec": {"ports": [{"port": 80}], "externalIPs": list(addresses)}},
                only=["spec.externalIPs"], show=SHOW, **more)


OFF = [
    # NamespaceAutoProvision
    seen("p", "new-space"), get(f"{SPACES}/new-space", only=["metadata.name", "status"]), get(f"{SPACES}/newer/pods", only=["kind"]),
    post(f"{SPACES}/newer/pods?dryRun=All", {"apiVersion": "v1", "kind": "Pod", **meta("p"), "spec": {"containers": [container()]}}, only=["kind"]),
    post(f"{SPACES}/Bad_Name/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", **meta("c")}, only=["kind"]),
    # LimitPodHardAntiAffinityTopology
    seen("zonal", spec={"affinity": AFFINITY}), seen("by-host", spec={"affinity": BY_HOST}), seen("soft", spec={"affinity": SOFT}),
    # AlwaysPullImages
    seen("pulls"), seen("present", spec={"containers": [container(imagePullPolicy="Never")], "initContainers": [container("i", imagePullPolicy="IfNotPresent")]}),
    # PodNodeSelector
    space("plain"), space("ssd", {SELECT: "disk=ssd,a=b"}), space("empty", {SELECT: ""}), space("broken", {SELECT: "disk"}), space("broken-key", {SELECT: "a b=c"}),
    space("listed"), space("broken-value", {SELECT: "a=b c"}),
    seen("p", "plain"), seen("p", "ssd"), seen("p", "empty"), seen("p", "broken"), seen("p", "broken-key"), seen("p", "broken-value"),
    seen("same", "ssd", {"nodeSelector": {"disk": "ssd", "x": "y"}}), seen("other", "ssd", {"nodeSelector": {"disk": "hdd"}}), seen("default-other", "plain", {"nodeSelector": {"env": "x"}}),
    seen("in-list", "listed", {"nodeSelector": {"env": "all"}}), seen("not-in-list", "listed", {"nodeSelector": {"q": "r"}}), seen("list", "listed", {"nodeSelector": {"a": "b"}}),
    patch(f"{SPACES}/ssd/pods/p", {"metadata": {"labels": {"a": "b"}}}, only=POD_FIELDS),
    # PodTolerationRestriction
    space("tolerant", {DEFAULTS_FOR: KEY}), space("strict", {WHITELIST: '[{"key": "a", "operator": "Exists"}, {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists"}]'}),
    space("both", {DEFAULTS_FOR: KEY, WHITELIST: KEY}), space("wrong", {DEFAULTS_FOR: "{"}), space("none", {DEFAULTS_FOR: "", WHITELIST: ""}),
    seen("p", "tolerant"), seen("p", "strict"), seen("p", "both"), seen("p", "none"), seen("sized", "none", {"containers": SIZED}), seen("sized", "both", {"containers": SIZED}),
    seen("own", "tolerant", {"tolerations": [{"key": "a", "operator": "Equal", "value": "x", "effect": "NoSchedule"}]}), seen("wide", "tolerant", {"tolerations": [{"operator": "Exists"}]}),
    seen("listed", "strict", {"tolerations": [{"key": "a", "operator": "Equal", "value": "b"}]}), seen("unlisted", "strict", {"tolerations": [{"key": "z", "operator": "Exists"}]}),
    seen("unlisted", "plain", {"tolerations": [{"key": "z", "operator": "Exists"}]}), seen("cluster-listed", "plain", {"tolerations": [{"key": "c", "operator": "Exists", "effect": "NoSchedule"}]}),
    # ExtendedResourceToleration
    seen("dongle", "none", {"containers": [container(resources={"limits": {"example.com/dongle": "1", "cpu": "1m"}})]}),
    seen("dongles", "none", {"containers": [container(resources={"limits": {"example.com/dongle": "1"}}), container("d", resources={"limits": {"a.b/c": "1", "requests.x": "1"}})]}),
    # DenyServiceExternalIPs
    service("plain"), service("outside", ["1.2.3.4"]), patch(f"{SERVICES}/plain", {"spec": {"externalIPs": ["1.2.3.4"]}}, only=["spec.externalIPs"]),
    # EventRateLimit: three for each namespace.
    *[event(f"e{i}", "plain") for i in range(5)], event("other", "ssd"), event("dry", "plain", headers={"x": "y"}),
    # NamespaceExists, and what is not there.
    delete(f"{SPACES}/nowhere/pods/x"), get(f"{SPACES}/nowhere/pods/x"),
]
# --- Nodes

N1, N2 = {"as": "n1"}, {"as": "n2"}
NODES = "/api/v1/nodes"
MIRROR = {"kubernetes.io/config.mirror": "x"}
SECRETS, MAPS = f"{SPACES}/default/secrets", f"{SPACES}/default/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
CSI = "/apis/storage.k8s.io/v1/csinodes"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"


def node(name, labels=None, spec=None, **more):
    more.setdefault("only", ["metadata.name"])
    return post(NODES, {"apiVersion": "v1", "kind": "Node", **meta(name, labels=labels or {}), "spec": spec or {}}, **more)


def owner(name="n1", uid="${uid}", **more):
    return {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid, "controller": True, **more}


def mirror(name, owners, spec=None, annotations=None, **more):
    body = {"apiVersion": "v1", "kind": "Pod", **meta(name, annotations=MIRROR if annotations is None else annotations, ownerReferences=owners),
            "spec": {"nodeName": "n1", "containers": [container()], **(spec or {})}}
    return post(PODS, body, only=["metadata.name"], **{**N1, **more})


def secret(name, **more):
    return post(SECRETS, {"apiVersion": "v1", "kind": "Secret", **meta(name)}, only=["kind"], **more)


def config_map(name, **more):
    return post(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", **meta(name)}, only=["kind"], **more)


def token(account, spec, **more):
    return post(f"{SPACES}/default/serviceaccounts/{account}/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec},
                only=["spec.boundObjectRef.name"], **{**N1, **more})


def bound(uid="${pod}", name="mine", kind="Pod", version="v1", **more):
    return {"boundObjectRef": {"kind": kind, "apiVersion": version, "name": name, "uid": uid}, **more}


def lease(name, namespace="kube-node-lease", **more):
    return post(f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases", {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **meta(name)}, only=["metadata.name"], **more)


def csi_node(name, **more):
    return post(CSI, {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", **meta(name), "spec": {"drivers": []}}, only=["metadata.name"], **more)


def slice_of(name, node_name, **more):
    return post(SLICES, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", **meta(name), "spec": {
        "driver": "d.example.com", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, **({"nodeName": node_name} if node_name else {"allNodes": True}), "devices": []}},
        only=["metadata.name"], **more)


MINE = {"nodeName": "n1", "serviceAccountName": "robot", "imagePullSecrets": [{"name": "pull"}], "containers": [container(
    env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "env", "key": "k"}}}, {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "env", "key": "k"}}}],
    envFrom=[{"secretRef": {"name": "from"}}, {"configMapRef": {"name": "from"}}])], "volumes": [
        {"name": "s", "secret": {"secretName": "volume"}}, {"name": "c", "configMap": {"name": "volume"}}, {"name": "p", "persistentVolumeClaim": {"claimName": "claim"}},
        {"name": "j", "projected": {"sources": [{"secret": {"name": "projected"}}, {"configMap": {"name": "projected"}}, {"serviceAccountToken": {"path": "t", "audience": "api"}}]}}]}
STATUS = {"status": {"phase": "Running"}}
NODE_STEPS = [
    # What a node may see.
    *[get(path, **N1, only=["kind"]) for path in (NODES, f"{NODES}/n1", f"{NODES}/n2", "/api/v1/pods", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1",
      "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2", f"{SPACES}/default/pods", f"{NODES}?fieldSelector=metadata.name%3Dn1", "/api/v1/services", SECRETS, MAPS,
      f"{SECRETS}/env", "/api/v1/secrets", "/api/v1/persistentvolumes", SPACES, "/apis/apps/v1/deployments", LEASES, f"{LEASES}/n1", f"{LEASES}/n2",
      "/apis/coordination.k8s.io/v1/namespaces/default/leases/n1", CSI, f"{CSI}/n1", f"{CSI}/n2", SLICES, f"{SLICES}?fieldSelector=spec.nodeName%3Dn1", "/apis/node.k8s.io/v1/runtimeclasses")],
    get("/api/v1/pods", **{"as": "nameless"}), get("/api/v1/pods", **{"as": "fake"}), node("n1", **{"as": "nameless"}), node("n1", **{"as": "fake"}),
    # Nodes themselves.
    node("n1", {"node-restriction.kubernetes.io/x": "y", "a.k8s.io/b": "c", "kubernetes.io/hostname": "n1"}, **N1), node("n2", **N1), node("n1", {"kubernetes.io/hostname": "n1",
         "kubelet.kubernetes.io/x": "y", "own": "1"}, **N1, keep={"uid": "metadata.uid"}),
    node("n2"), patch(f"{NODES}/n2", {"metadata": {"labels": {"a": "b"}}}, **N1), patch(f"{NODES}/n1", {"metadata": {"labels": {"a": "b"}}}, only=["metadata.name"], **N1),
    patch(f"{NODES}/n1", {"metadata": {"labels": {"a.node-restriction.kubernetes.io/a": "b", "kubernetes.io/role": "x"}}}, **N1),
    patch(f"{NODES}/n1", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, **N1), patch(f"{NODES}/n1", {"metadata": {"ownerReferences": [owner()]}}, **N1),
    patch(f"{NODES}/n1/status", {"status": {"phase": "Running"}}, only=["metadata.name"], **N1), patch(f"{NODES}/n2/status", {"status": {"phase": "Running"}}, **N1),
    delete(f"{NODES}/n1", **N1), delete(f"{NODES}/n2", **N1),
    # Pods.
    pod("mine", spec=MINE, keep={"pod": "metadata.uid"}), pod("theirs", spec={"nodeName": "n2"}, keep={"other": "metadata.uid"}),
    mirror("plain", [owner()], annotations={}), mirror("unplaced", [owner()], spec={"nodeName": "n2"}), mirror("unowned", []), mirror("two", [owner(), owner("n2", "x", controller=False)]),
    mirror("of-n2", [owner("n2")]), mirror("of-pod", [{**owner(), "kind": "Pod"}]), mirror("no-controller", [owner(controller=False)]), mirror("blocks", [owner(blockOwnerDeletion=True)]),
    mirror("wrong-uid", [owner(uid="x")]), mirror("account", [owner()], {"serviceAccountName": "robot"}), mirror("secret", [owner()], {"volumes": [{"name": "s", "secret": {"secretName": "x"}}]}),
    mirror("map", [owner()], {"containers": [container(envFrom=[{"configMapRef": {"name": "x"}}])]}), mirror("claim", [owner()], {"volumes": [{"name": "s", "persistentVolumeClaim": {"claimName": "x"}}]}),
    mirror("token", [owner()], {"volumes": [{"name": "s", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}), mirror("csi", [owner()], {"volumes": [{"name": "s", "csi": {"driver": "d"}}]}),
    mirror("good", [owner()], {"volumes": [{"name": "s", "emptyDir": {}}, {"name": "h", "hostPath": {"path": "/x"}}]}),
    patch(f"{PODS}/mine", {"metadata": {"labels": {"a": "b"}}}, **N1), patch(f"{PODS}/mine/status", STATUS, only=["status.phase"], **N1), patch(f"{PODS}/theirs/status", STATUS, **N1),
    patch(f"{PODS}/mine/status", {"metadata": {"labels": {"a": "b"}}}, **N1), patch(f"{PODS}/mine/status", {"status": {"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "y"}]}}, **N1),
    post(f"{PODS}/theirs/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", **meta("theirs")}, **N1), post(f"{PODS}/none/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", **meta("none")}, **N1),
    post(f"{PODS}/mine/binding", {"apiVersion": "v1", "kind": "Binding", **meta("mine"), "target": {"name": "n1"}}, **N1), delete(f"{PODS}/theirs", **N1),
    get(f"{PODS}/mine", only=["kind"], **N1), get(f"{PODS}/theirs", **N1), get(f"{PODS}/good", only=["kind"], **N1), get(f"{PODS}?fieldSelector=metadata.name%3Dmine", only=["kind"], **N1),
    # What pods refer to.
    *[secret(name) for name in ("pull", "env", "from", "volume", "projected", "other")], *[config_map(name) for name in ("env", "from", "volume", "projected", "other")],
    *[get(f"{where}/{name}", only=["kind"], **N1) for where in (SECRETS, MAPS) for name in ("pull", "env", "from", "volume", "projected", "other", "missing")],
    get(f"{SECRETS}/env", **N2), get(f"{SECRETS}?fieldSelector=metadata.name%3Denv", only=["kind"], **N1), get(f"{SECRETS}?fieldSelector=metadata.name%3Dother", **N1),
    secret("new", **N1), delete(f"{SECRETS}/env", **N1), patch(f"{MAPS}/env", {"data": {"a": "b"}}, **N1),
    post(f"{SPACES}/default/persistentvolumeclaims", {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **meta("claim"), "spec": {"volumeName": "pv", "storageClassName": "",
         "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}, only=["kind"]),
    post("/api/v1/persistentvolumes", {"apiVersion": "v1", "kind": "PersistentVolume", **meta("pv"), "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
         "claimRef": {"namespace": "default", "name": "claim"}, "csi": {"driver": "d", "volumeHandle": "h", "nodeStageSecretRef": {"name": "stage", "namespace": "kube-system"},
         "controllerPublishSecretRef": {"name": "control", "namespace": "kube-system"}}}}, only=["kind"]),
    post(f"{SPACES}/kube-system/secrets", {"apiVersion": "v1", "kind": "Secret", **meta("stage")}, only=["kind"]), post(f"{SPACES}/kube-system/secrets", {"apiVersion": "v1", "kind": "Secret", **meta("control")}, only=["kind"]),
    *[get(path, only=["kind"], **who) for who in (N1, N2) for path in (f"{SPACES}/default/persistentvolumeclaims/claim", "/api/v1/persistentvolumes/pv", f"{SPACES}/kube-system/secrets/stage", f"{SPACES}/kube-system/secrets/control")],
    patch(f"{SPACES}/default/persistentvolumeclaims/claim/status", {"status": {"capacity": {"storage": "1Gi"}}}, only=["kind"], **N1),
    patch(f"{SPACES}/default/persistentvolumeclaims/claim", {"metadata": {"labels": {"a": "b"}}}, **N1),
    post("/apis/storage.k8s.io/v1/volumeattachments", {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", **meta("va"), "spec": {"attacher": "d", "nodeName": "n1", "source": {"persistentVolumeName": "pv"}}}, only=["kind"]),
    get("/apis/storage.k8s.io/v1/volumeattachments/va", only=["kind"], **N1), get("/apis/storage.k8s.io/v1/volumeattachments/va", **N2), get("/apis/storage.k8s.io/v1/volumeattachments", **N1),
    # Tokens.
    post(f"{SPACES}/default/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", **meta("robot")}, only=["kind"]), post(f"{SPACES}/default/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", **meta("other")}, only=["kind"]),
    token("robot", {}), token("robot", bound(audiences=["api"])), token("robot", bound("", audiences=["api"])), token("robot", bound("wrong", audiences=["api"])), token("robot", bound("${other}", "theirs", audiences=["api"])),
    token("robot", bound(kind="Secret")), token("robot", bound(audiences=["api", "b"])), token("robot", bound(audiences=["b"])), token("robot", bound()), token("robot", bound("x", "gone")), token("other", bound()),
    token("robot", bound(audiences=["api"]), **N2), get(f"{SPACES}/default/serviceaccounts/robot", only=["kind"], **N1), get(f"{SPACES}/default/serviceaccounts/other", **N1), get(f"{SPACES}/default/serviceaccounts", **N1),
    role("audience", rule(["request-serviceaccounts-token-audience"], ["b"])), bind("audience", "audience", user("system:node:n1")), token("robot", bound(audiences=["b"])),
    # Leases, CSI nodes, slices, certificates.
    lease("n1", **N1), lease("n2", **N1), lease("n1", "default", **N1), get(f"{LEASES}/n1", only=["kind"], **N1), patch(f"{LEASES}/n1", {"metadata": {"labels": {"a": "b"}}}, only=["kind"], **N1),
    delete(f"{LEASES}/n2", **N1), delete(f"{LEASES}/n1", only=["kind"], **N1),
    csi_node("n1", **N1), csi_node("n2", **N1), get(f"{CSI}/n1", only=["kind"], **N1), delete(f"{CSI}/n2", **N1), patch(f"{CSI}/n1/status", {"status": {}}, **N1),
    slice_of("s1", "n1", **N1), slice_of("s2", "n2", **N1), slice_of("s3", None, **N1), slice_of("s2", "n2"), get(f"{SLICES}/s1", only=["kind"], **N1), get(f"{SLICES}/s2", **N1), delete(f"{SLICES}/s2", **N1), delete(f"{SLICES}/s1", only=["kind"], **N1),
    certificate("own", "/O=system:nodes/CN=system:node:n1", "kubernetes.io/kube-apiserver-client-kubelet", ["digital signature", "client auth"], **N1),
    certificate("others", "/O=system:nodes/CN=system:node:n2", "kubernetes.io/kube-apiserver-client-kubelet", ["digital signature", "client auth"], **N1),
    certificate("other-signer", "/CN=x", "example.com/s", **N1),
    # Asked for others.
    *[sar("system:node:n1", {"verb": verb, "resource": resource, "name": name, "namespace": space_name, "group": group, **more}, spec={"groups": ["system:nodes"]})
      for verb, group, resource, name, space_name, more in (
          ("get", "", "secrets", "env", "default", {}), ("get", "", "secrets", "other", "default", {}), ("list", "", "secrets", "", "default", {}), ("get", "", "secrets", "env", "", {}),
          ("update", "", "secrets", "env", "default", {}), ("get", "", "pods", "mine", "default", {"subresource": "log"}), ("create", "", "pods", "", "default", {"subresource": "eviction"}),
          ("create", "", "serviceaccounts", "robot", "default", {"subresource": "token"}), ("create", "", "serviceaccounts", "", "default", {}), ("get", "", "nodes", "n2", "", {}),
          ("update", "storage.k8s.io", "csinodes", "n1", "", {"subresource": "status"}), ("get", "storage.k8s.io", "csinodes", "n1", "", {"subresource": "x"}), ("list", "", "pods", "", "", {}),
          ("list", "", "pods", "", "", {"fieldSelector": {"requirements": [{"key": "spec.nodeName", "operator": "In", "values": ["n1"]}]}}),
          ("watch", "resource.k8s.io", "resourceslices", "", "", {"fieldSelector": {"rawSelector": "spec.nodeName=n1"}}), ("impersonate", "resource.k8s.io", "resourceslices", "", "", {}),
          ("update", "", "persistentvolumeclaims", "claim", "default", {"subresource": "status"}), ("get", "", "persistentvolumeclaims", "claim", "default", {"subresource": "status"}),
          ("get", "certificates.k8s.io", "podcertificaterequests", "x", "default", {}), ("delete", "certificates.k8s.io", "podcertificaterequests", "x", "default", {}),
          ("list", "certificates.k8s.io", "podcertificaterequests", "", "", {}), ("patch", "coordination.k8s.io", "leases", "n1", "kube-node-lease", {}), ("list", "coordination.k8s.io", "leases", "", "kube-node-lease", {}))],
    post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "default"}}, only=["status.incomplete", "status.evaluationError"], **N1),
]

# --- Other modes

MODES = [
    *[get(path, only=["kind"], **{"as": who}) for who in ("ann", "bob", "carl", "dora", "eve", None) for path in ("/api/v1/pods", MAPS, "/healthz", "/api", "/apis/apps/v1/deployments", f"{SPACES}/kube-system/configmaps")],
    *[config_map(f"c-{who}", **{"as": who}) for who in ("ann", "bob", "carl", "dora", "eve")],
    *[sar(who, {"verb": "get", "resource": "pods", "namespace": "default"}, spec={"groups": ["dev"]}) for who in ("ann", "bob", "zoe")],
    *[post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "default"}}, **{"as": who}) for who in ("ann", "bob", "carl", "dora", "eve")],
    get("/api/v1/pods", only=["kind"]),
]
ALL = {
    "off": (OFF, ["--admission-control-config-file={files}/off.json", "--enable-admission-plugins=NamespaceAutoProvision,LimitPodHardAntiAffinityTopology,AlwaysPullImages,"
                  "PodNodeSelector,PodTolerationRestriction,EventRateLimit,ExtendedResourceToleration,DenyServiceExternalIPs,NamespaceExists"]),
    "nodes": (NODE_STEPS, ["--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"]),
    "abac": (MODES, ["--authorization-mode=ABAC", "--authorization-policy-file={files}/abac.jsonl"]),
    "modes": (MODES, ["--authorization-mode=AlwaysDeny,Node,ABAC,RBAC", "--authorization-policy-file={files}/abac.jsonl"]),
    "always-deny": (MODES, ["--authorization-mode=AlwaysDeny"]),
}
