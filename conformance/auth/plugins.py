"""What admission plugins add to objects and refuse: steps that record.py sends. The second half of each entry of ALL are the
flags that the server is started with; files that they name stand in `files`."""
import base64

from topics import RBAC, account, bind, delete, get, patch, post, put, role, rule, step, user  # noqa: F401

PODS = "/api/v1/namespaces/default/pods"
SPACES = "/api/v1/namespaces"
SHOW = ["warning"]
NODE = ",\"system:nodes\""
# Users that topics.USERS does not have.
USERS = ['n1,system:node:n1,n1-uid,"system:nodes"', 'n2,system:node:n2,n2-uid,"system:nodes"', 'nameless,system:node:,x,"system:nodes"',
         "fake,system:node:n1,fake-uid"]


def meta(name, **more):
    return {"metadata": {"name": name, **more}}


def space(name, annotations=None, **labels):
    labels = {f"pod-security.kubernetes.io/{key.replace('_', '-')}": value for key, value in labels.items()}
    return post(SPACES, {"apiVersion": "v1", "kind": "Namespace", **meta(name, labels=labels, annotations=annotations or {})}, show=SHOW,
                only=["kind"])


def container(name="c", **more):
    return {"name": name, "image": "i", **more}


def pod(name, namespace="default", spec=None, annotations=None, labels=None, **more):
    """A pod; what the plugins change is compared, of a pod that is made."""
    body = {"apiVersion": "v1", "kind": "Pod", **meta(name, annotations=annotations or {}, labels=labels or {}),
            "spec": {"containers": [container()], **(spec or {})}}
    more.setdefault("only", ["kind"])
    return post(f"{SPACES}/{namespace}/pods", body, show=SHOW, **more)


def secure(**more):
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"}, **more}


# --- PodSecurity

BREACHES = {
    "privileged": {"containers": [container(securityContext={"privileged": True}), container("d", securityContext={"privileged": True})]},
    "caps": {"containers": [container(securityContext={"capabilities": {"add": ["NET_ADMIN", "SYS_TIME", "CHOWN"]}})]},
    "host-all": {"hostNetwork": True, "hostPID": True, "hostIPC": True},
    "host-pid": {"hostPID": True},
    "host-path": {"volumes": [{"name": "a", "hostPath": {"path": "/"}}, {"name": "b", "hostPath": {"path": "/b"}}]},
    "host-port": {"containers": [container(ports=[{"containerPort": 80, "hostPort": 81}, {"containerPort": 82, "hostPort": 83}])]},
    "proc-mount": {"hostUsers": True, "containers": [container(securityContext={"procMount": "Unmasked"})]},
    "proc-mount-users": {"hostUsers": False, "containers": [container(securityContext={"procMount": "Unmasked"})]},
    "selinux-type": {"securityContext": {"seLinuxOptions": {"type": "bad"}}},
    "selinux-user": {"containers": [container(securityContext={"seLinuxOptions": {"user": "u", "role": "r"}})]},
    "seccomp": {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
    "seccomp-container": {"containers": [container(securityContext={"seccompProfile": {"type": "Unconfined"}})]},
    "sysctls": {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}, {"name": "net.ipv4.tcp_syncookies", "value": "1"}]}},
    "app-armor": {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}},
    "app-armor-container": {"containers": [container(securityContext={"appArmorProfile": {"type": "Unconfined"}})]},
    "windows": {"hostNetwork": True, "securityContext": {"windowsOptions": {"hostProcess": True}}},
    "windows-container": {"hostNetwork": True, "containers": [container(securityContext={"windowsOptions": {"hostProcess": True}})]},
    "probe-host": {"containers": [container(livenessProbe={"httpGet": {"host": "10.0.0.1", "port": 80}},
                                            lifecycle={"postStart": {"tcpSocket": {"host": "h", "port": 1}}})]},
    "init": {"initContainers": [container("i", securityContext={"privileged": True})]},
    "two": {"hostPID": True, "containers": [container(securityContext={"privileged": True, "capabilities": {"add": ["SYS_ADMIN"]}})]},
}
STRICT = {
    "plain": {},
    "good": {"containers": [container(securityContext=secure())]},
    "good-pod": {"securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
                 "containers": [container(securityContext={"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}})]},
    "escalation": {"containers": [container(securityContext=secure(allowPrivilegeEscalation=True)), container("d", securityContext=secure())]},
    "caps-add": {"containers": [container(securityContext=secure(capabilities={"drop": ["ALL"], "add": ["CHOWN", "NET_BIND_SERVICE"]}))]},
    "caps-drop": {"containers": [container(securityContext=secure(capabilities={"drop": ["CHOWN"]}))]},
    "root": {"containers": [container(securityContext=secure(runAsNonRoot=False))]},
    "root-user": {"securityContext": {"runAsUser": 0}, "containers": [container(securityContext=secure())]},
    "root-user-container": {"containers": [container(securityContext=secure(runAsUser=0))]},
    "volumes": {"containers": [container(securityContext=secure())], "volumes": [
        {"name": "a", "nfs": {"server": "s", "path": "/"}}, {"name": "b", "iscsi": {"targetPortal": "p", "iqn": "iqn.2000-01.a.b", "lun": 0}},
        {"name": "c", "emptyDir": {}}]},
    "proc-strict": {"hostUsers": False, "containers": [container(securityContext=secure(procMount="Unmasked"))]},
    "windows-os": {"os": {"name": "windows"}, "securityContext": {"runAsNonRoot": True}},
    "user-namespace": {"hostUsers": False, "containers": [container(securityContext=secure(runAsNonRoot=None, runAsUser=0))]},
    "ephemeral-level": {"initContainers": [container("i")], "containers": [container(securityContext=secure())]},
}

SECURITY = [
    space("base", enforce="baseline"), space("strict", enforce="restricted"), space("watched", warn="restricted", audit="baseline"),
    space("old", enforce="baseline", enforce_version="v1.0"), space("older", enforce="restricted", enforce_version="v1.7", warn="privileged"),
    space("mixed", enforce="privileged", warn="baseline", warn_version="v1.20"), space("future", enforce="restricted", enforce_version="v1.99"),
    space("wrong", enforce="tight"), space("wrong-version", enforce="baseline", enforce_version="1.2", warn="no", warn_version="v2.0", audit="x", audit_version=""),
    space("open"),
]
for name, spec in BREACHES.items():
    SECURITY += [pod(name, "base", spec), pod(name, "watched", spec)]
for name, spec in STRICT.items():
    SECURITY += [pod(name, "strict", spec), pod(name, "older", spec), pod(name, "watched", spec)]
for name in ("sysctls", "seccomp", "proc-mount-users", "probe-host", "app-armor", "selinux-type", "caps", "windows"):
    SECURITY += [pod(name, "old", BREACHES[name]), pod(name, "mixed", BREACHES[name])]
SECURITY += [pod("future", "future", STRICT["plain"])]
SECURITY += [
    pod("annotated", "base", annotations={"container.apparmor.security.beta.kubernetes.io/c": "unconfined"}),
    pod("annotated-local", "base", annotations={"container.apparmor.security.beta.kubernetes.io/c": "localhost/x"}),
    pod("annotated-seccomp", "old", annotations={"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}),
]


def deployment(name, namespace, spec, kind="Deployment", **more):
    group = "/apis/apps/v1"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container()], **spec}}
    outer = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return post(f"{group}/namespaces/{namespace}/deployments", {"apiVersion": "apps/v1", "kind": kind, **meta(name), "spec": outer}, show=SHOW,
                only=["kind"], **more)


JOB = {"template": {"spec": {"restartPolicy": "Never", "hostPID": True, "containers": [container()]}}}
SECURITY += [
    deployment("d", "base", BREACHES["privileged"]), deployment("d", "strict", {}), deployment("d", "watched", BREACHES["two"]),
    deployment("d", "open", BREACHES["two"]), deployment("d", "older", {}),
    post("/apis/batch/v1/namespaces/base/jobs", {"apiVersion": "batch/v1", "kind": "Job", **meta("j"), "spec": JOB}, show=SHOW, only=["kind"]),
    post("/apis/batch/v1/namespaces/base/cronjobs", {"apiVersion": "batch/v1", "kind": "CronJob", **meta("j"),
                                                     "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}}}, show=SHOW, only=["kind"]),
    post("/api/v1/namespaces/base/podtemplates", {"apiVersion": "v1", "kind": "PodTemplate", **meta("t"), "template": {
        "metadata": {"labels": {"a": "b"}}, "spec": {"hostIPC": True, "containers": [container()]}}}, show=SHOW, only=["kind"]),
    # What a namespace has when it becomes stricter.
    pod("a", "open", BREACHES["two"]), pod("b", "open", BREACHES["two"]), pod("c", "open", BREACHES["two"]), pod("d", "open", BREACHES["host-pid"]),
    pod("e", "open", {"containers": [container(securityContext=secure())]}),
]
LABEL = "pod-security.kubernetes.io/"
for labels in ({"enforce": "baseline"}, {"enforce": "restricted"}, {"enforce": "baseline"}, {"enforce-version": "v1.20"}, {"enforce": "none"},
               {"warn": "baseline"}, {"enforce": "privileged"}, {"enforce": None, "enforce-version": None}, {"audit": "bad"}, {"audit-version": "v1.x"}):
    change = {"metadata": {"labels": {LABEL + key: value for key, value in labels.items()}}}
    SECURITY.append(patch(f"{SPACES}/open", change, show=SHOW, only=["kind"]))
SECURITY += [
    # Updates of pods that change no image are not looked at.
    patch(f"{SPACES}/open", {"metadata": {"labels": {LABEL + "enforce": "restricted"}}}, show=SHOW, only=["kind"]),
    patch(f"{SPACES}/open/pods/a", {"metadata": {"labels": {"x": "y"}}}, show=SHOW, only=["kind"]),
    patch(f"{SPACES}/open/pods/a", {"spec": {"containers": [{"name": "c", "image": "other"}]}}, "application/strategic-merge-patch+json", show=SHOW, only=["kind"]),
    patch(f"{SPACES}/strict/pods/good/ephemeralcontainers", {"spec": {"ephemeralContainers": [container("e")]}},
          "application/strategic-merge-patch+json", show=SHOW, only=["kind"]),
]

EXEMPT = [
    space("default-level"), space("exempt"), space("exempt-too", enforce="restricted", warn="baseline", audit="baseline"), space("own", enforce="privileged"),
    post("/apis/node.k8s.io/v1/runtimeclasses", {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", **meta("sandbox"), "handler": "h"}, only=["kind"]),
    role("pods", rule(["*"], ["pods", "namespaces"])), bind("ann-pods", "pods", user("ann")), bind("bob-pods", "pods", user("bob")),
]
for space_name in ("default-level", "exempt", "exempt-too", "own"):
    for who in ("ann", "bob"):
        EXEMPT += [pod(f"p-{who}", space_name, BREACHES["two"], **{"as": who}), pod(f"r-{who}", space_name, {}, **{"as": who})]
    EXEMPT.append(pod("class", space_name, {"runtimeClassName": "sandbox", "hostPID": True}, **{"as": "bob"}))
    EXEMPT.append(deployment("d", space_name, BREACHES["two"]))
for space_name, labels in (("exempt", {"enforce": "baseline", "audit-version": "v1.20"}), ("exempt", {"enforce": "restricted"}), ("exempt", {"warn": "baseline"}),
                           ("default-level", {"enforce": "privileged"}), ("default-level", {"enforce": "restricted"})):
    change = {"metadata": {"labels": {LABEL + key: value for key, value in labels.items()}}}
    EXEMPT.append(patch(f"{SPACES}/{space_name}", change, show=SHOW, only=["kind"]))

# --- Priority

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def klass(name, value, **more):
    return post(CLASSES, {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **meta(name), "value": value, **more}, only=["value", "preemptionPolicy"])


PRIORITY_FIELDS = ["spec.priority", "spec.priorityClassName", "spec.preemptionPolicy"]


def prioritized(name, spec=None, **more):
    return pod(name, spec=spec, only=PRIORITY_FIELDS, **more)


PRIORITY = [
    prioritized("none"), klass("high", 1000), klass("low", -5, preemptionPolicy="Never"), prioritized("high", {"priorityClassName": "high"}),
    prioritized("low", {"priorityClassName": "low"}), prioritized("missing", {"priorityClassName": "missing"}),
    prioritized("number", {"priority": 5}), prioritized("zero", {"priority": 0}), prioritized("other-number", {"priorityClassName": "high", "priority": 5}),
    prioritized("same-number", {"priorityClassName": "high", "priority": 1000}), prioritized("policy", {"preemptionPolicy": "Never"}),
    prioritized("other-policy", {"priorityClassName": "low", "preemptionPolicy": "PreemptLowerPriority"}),
    prioritized("critical", {"priorityClassName": "system-node-critical"}), prioritized("cluster", {"priorityClassName": "system-cluster-critical"}),
    klass("usual", 7, globalDefault=True, preemptionPolicy="Never"), prioritized("usual"), prioritized("usual-policy", {"preemptionPolicy": "PreemptLowerPriority"}),
    klass("usual-too", 9, globalDefault=True),
    patch(f"{CLASSES}/high", {"globalDefault": True}, only=["value"]), patch(f"{CLASSES}/usual", {"description": "x"}, only=["value"]),
    patch(f"{CLASSES}/usual", {"globalDefault": False}, only=["value"]), patch(f"{CLASSES}/high", {"globalDefault": True}, only=["value"]),
    prioritized("high-now"), klass("too-high", 1000000001), klass("system-own", 5), delete(f"{CLASSES}/high", only=["kind"]), prioritized("none-again"),
    patch(f"{PODS}/high", {"spec": {"priority": 3}}, only=PRIORITY_FIELDS), patch(f"{PODS}/high", {"metadata": {"labels": {"a": "b"}}}, only=PRIORITY_FIELDS),
    patch(f"{PODS}/usual", {"spec": {"priority": None}}, only=PRIORITY_FIELDS), patch(f"{PODS}/usual", {"spec": {"priorityClassName": "x"}}, only=PRIORITY_FIELDS),
]

# --- what pods and claims get: tolerations, storage classes, runtime classes

TOLERATIONS = ["spec.tolerations"]


def tolerant(name, *tolerations, **more):
    return pod(name, spec={"tolerations": list(tolerations)}, only=TOLERATIONS, **more)


NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
STORAGE = "/apis/storage.k8s.io/v1/storageclasses"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CLAIM_FIELDS = ["spec.storageClassName", "metadata.finalizers"]


def storage(name, default=None, **more):
    annotations = {DEFAULT_CLASS: default} if default else {}
    return post(STORAGE, {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", **meta(name, annotations=annotations), "provisioner": "p", **more},
                only=["metadata.name"])


def claim(name, spec=None, annotations=None, **more):
    return post(CLAIMS, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **meta(name, annotations=annotations or {}), "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **(spec or {})}}, only=CLAIM_FIELDS, **more)


RUNTIMES = "/apis/node.k8s.io/v1/runtimeclasses"
RUNTIME_FIELDS = ["spec.overhead", "spec.nodeSelector", "spec.tolerations", "spec.runtimeClassName"]


def runtime(name, **more):
    return post(RUNTIMES, {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", **meta(name), "handler": "h", **more}, only=["handler"])


def sandboxed(name, runtime_class, **spec):
    return pod(name, spec={"runtimeClassName": runtime_class, **spec}, only=RUNTIME_FIELDS)


DEFAULTS = [
    tolerant("plain"), tolerant("own", {"key": NOT_READY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}),
    tolerant("all", {"operator": "Exists"}), tolerant("any-effect", {"key": UNREACHABLE, "operator": "Exists"}),
    tolerant("schedule", {"key": NOT_READY, "operator": "Exists", "effect": "NoSchedule"}), tolerant("other", {"key": "k", "value": "v", "effect": "NoExecute"}),
    tolerant("empty-effect-all", {"operator": "Exists", "effect": "NoExecute"}),
    patch(f"{PODS}/plain", {"spec": {"tolerations": []}}, only=TOLERATIONS), patch(f"{PODS}/plain", {"metadata": {"labels": {"a": "b"}}}, only=TOLERATIONS),
    claim("before"), storage("slow"), claim("none-default"), storage("fast", "true"), claim("default"), claim("named", {"storageClassName": "slow"}),
    claim("empty", {"storageClassName": ""}), claim("annotated", annotations={"volume.beta.kubernetes.io/storage-class": "slow"}),
    storage("aaa", "true"), claim("of-two"), storage("not", "false"), patch(f"{STORAGE}/aaa", {"metadata": {"annotations": {DEFAULT_CLASS: "no"}}}, only=["metadata.name"]),
    claim("of-one"), get(f"{CLAIMS}/before", only=CLAIM_FIELDS),
    # Growth.
    patch(f"{CLAIMS}/named", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}, only=CLAIM_FIELDS),
    storage("grows", allowVolumeExpansion=True), claim("grows", {"storageClassName": "grows", "volumeName": "v"}),
    patch(f"{CLAIMS}/grows/status", {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}, only=CLAIM_FIELDS),
    patch(f"{CLAIMS}/grows", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}, only=CLAIM_FIELDS),
    claim("fixed", {"storageClassName": "slow", "volumeName": "w"}),
    patch(f"{CLAIMS}/fixed/status", {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}, only=CLAIM_FIELDS),
    patch(f"{CLAIMS}/fixed", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}, only=CLAIM_FIELDS),
    patch(f"{CLAIMS}/fixed", {"spec": {"resources": {"requests": {"storage": "500Mi"}}}}, only=CLAIM_FIELDS),
    claim("classless", {"storageClassName": "", "volumeName": "x"}),
    patch(f"{CLAIMS}/classless/status", {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}, only=CLAIM_FIELDS),
    patch(f"{CLAIMS}/classless", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}, only=CLAIM_FIELDS),
    post("/api/v1/persistentvolumes", {"apiVersion": "v1", "kind": "PersistentVolume", **meta("v", finalizers=["a.b/c"]), "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}}, only=["metadata.finalizers"]),
    # Classes of runtimes.
    runtime("plain"), runtime("heavy", overhead={"podFixed": {"cpu": "100m", "memory": "10Mi"}}),
    runtime("placed", scheduling={"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "k", "operator": "Exists"}]}),
    sandboxed("missing-class", "missing"), sandboxed("plain-class", "plain"), sandboxed("heavy", "heavy"), sandboxed("placed", "placed"),
    sandboxed("same-overhead", "heavy", overhead={"cpu": "0.1", "memory": "10Mi"}), sandboxed("other-overhead", "heavy", overhead={"cpu": "1"}),
    sandboxed("overhead-without", "plain", overhead={"cpu": "1"}), pod("overhead-alone", spec={"overhead": {"cpu": "1"}}, only=RUNTIME_FIELDS),
    sandboxed("same-selector", "placed", nodeSelector={"disk": "ssd", "a": "b"}), sandboxed("other-selector", "placed", nodeSelector={"disk": "hdd"}),
    sandboxed("same-toleration", "placed", tolerations=[{"key": "k", "operator": "Exists"}]),
    # A default class of ingresses, and a node that is new.
    post("/apis/networking.k8s.io/v1/ingressclasses", {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", **meta(
        "web", annotations={"ingressclass.kubernetes.io/is-default-class": "true"}), "spec": {"controller": "a.b/c"}}, only=["kind"]),
    post("/apis/networking.k8s.io/v1/namespaces/default/ingresses", {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", **meta("i"), "spec": {
        "defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}}, only=["spec.ingressClassName"]),
    post("/apis/networking.k8s.io/v1/namespaces/default/ingresses", {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", **meta(
        "old", annotations={"kubernetes.io/ingress.class": "x"}), "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}},
         show=SHOW, only=["spec.ingressClassName"]),
    post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", **meta("n", labels={"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"})}, only=["spec.taints"]),
    post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", **meta("m"), "spec": {"taints": [{"key": NOT_READY, "effect": "NoSchedule"}]}}, only=["spec.taints"]),
    pod("zoned", spec={"nodeName": "n"}, only=["metadata.labels"]), pod("zoned-own", spec={"nodeName": "n"}, labels={"topology.kubernetes.io/zone": "mine"}, only=["metadata.labels"]),
    pod("unzoned", spec={"nodeName": "gone"}, only=["metadata.labels"]),
]

# --- LimitRanger

LIMIT_FIELDS = ["spec.containers.0.resources", "metadata.annotations"]
LIMITS = [
    space("limits"),
    post(f"{SPACES}/limits/limitranges", {"apiVersion": "v1", "kind": "LimitRange", **meta("l"), "spec": {"limits": [
        {"type": "Container", "default": {"cpu": "200m", "memory": "64Mi"}, "defaultRequest": {"cpu": "100m"}, "min": {"cpu": "50m"},
         "max": {"cpu": "1", "memory": "1Gi"}, "maxLimitRequestRatio": {"cpu": "4"}},
        {"type": "Pod", "max": {"cpu": "1500m"}, "min": {"memory": "4Mi"}},
        {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}}]}}, only=["spec"]),
]


def limited(name, *resources, init=(), **more):
    spec = {"containers": [container(f"c{i}", resources=one) for i, one in enumerate(resources)]}
    if init:
        spec["initContainers"] = [container(f"i{i}", resources=one) for i, one in enumerate(init)]
    return pod(name, "limits", spec, only=LIMIT_FIELDS, **more)


LIMITS += [
    limited("none", {}), limited("two", {}, {}), limited("cpu", {"requests": {"cpu": "150m"}}), limited("limit", {"limits": {"cpu": "600m"}}),
    limited("small", {"requests": {"cpu": "10m"}}), limited("large", {"limits": {"cpu": "2"}}), limited("memory", {"limits": {"memory": "2Gi"}}),
    limited("ratio", {"requests": {"cpu": "100m"}, "limits": {"cpu": "500m"}}), limited("sum", *[{"limits": {"cpu": "800m"}, "requests": {"cpu": "800m"}}] * 2),
    limited("tiny-memory", {"requests": {"memory": "1Mi"}}), limited("many", {"requests": {"cpu": "10m"}, "limits": {"cpu": "3", "memory": "3Gi"}}),
    limited("init", {}, init=[{"limits": {"cpu": "2"}}]), limited("init-ok", {}, init=[{"requests": {"cpu": "200m"}, "limits": {"cpu": "200m"}}]),
    post(f"{SPACES}/limits/persistentvolumeclaims", {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **meta("small"), "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}}, only=["kind"]),
    post(f"{SPACES}/limits/persistentvolumeclaims", {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **meta("large"), "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "6Gi"}}}}, only=["kind"]),
    post(f"{SPACES}/limits/persistentvolumeclaims", {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **meta("fits"), "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}}, only=["kind"]),
    patch(f"{SPACES}/limits/pods/none", {"metadata": {"labels": {"a": "b"}}}, only=LIMIT_FIELDS),
    post(f"{SPACES}/limits/limitranges", {"apiVersion": "v1", "kind": "LimitRange", **meta("second"), "spec": {"limits": [
        {"type": "Container", "default": {"cpu": "300m", "ephemeral-storage": "1Gi"}}]}}, only=["spec"]),
    limited("both", {}),
]
