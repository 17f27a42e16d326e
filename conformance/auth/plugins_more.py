"""More of what admission plugins refuse: quotas, accounts, owners, certificates, nodes, and the plugins that are off by default."""
import os
import subprocess
import tempfile

from plugins import (EXEMPT, LIMITS, NOT_READY, PODS, PRIORITY, DEFAULTS, SECURITY, SHOW, SPACES, bind, container, delete, get, meta, patch,
                     pod, post, put, role, rule, space, user)

# --- ResourceQuota

USED = ["status.used", "status.hard"]


def quota(name, hard, namespace="quotas", **spec):
    return post(f"{SPACES}/{namespace}/resourcequotas", {"apiVersion": "v1", "kind": "ResourceQuota", **meta(name), "spec": {"hard": hard, **spec}}, only=["spec"])


def counted(name, namespace="quotas"):
    """Nobody counts in a cluster without controllers: what is there so far is written as they would."""
    return get(f"{SPACES}/{namespace}/resourcequotas/{name}", only=USED)


def settle(name, hard, namespace="quotas"):
    used = {key: "0" for key in hard}
    return patch(f"{SPACES}/{namespace}/resourcequotas/{name}/status", {"status": {"hard": hard, "used": used}}, only=USED)


def sized(name, requests=None, limits=None, namespace="quotas", **spec):
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    return pod(name, namespace, {"containers": [container(resources=resources)], **spec})


def thing(kind, plural, name, api="v1", namespace="quotas", **body):
    root = f"/api/{api}" if "/" not in api else f"/apis/{api}"
    return post(f"{root}/namespaces/{namespace}/{plural}", {"apiVersion": api, "kind": kind, **meta(name), **body}, only=["kind"])


HARD = {"pods": "2", "requests.cpu": "1", "limits.memory": "1Gi", "configmaps": "2", "services.nodeports": "1", "services": "3", "services.loadbalancers": "1",
        "persistentvolumeclaims": "1", "requests.storage": "5Gi", "gold.storageclass.storage.k8s.io/requests.storage": "1Gi", "secrets": "1",
        "count/deployments.apps": "1", "replicationcontrollers": "0", "requests.example.com/dongle": "1", "count/ingresses.networking.k8s.io": "0"}


def hard(name):
    # Of two quotas that a pod exceeds, upstream names the one that its cache has first: the scopes overlap without that.
    return {"pods": "9" if name == "not-terminating" else "1"}


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
SERVICE = {"ports": [{"port": 80}]}
QUOTAS = [
    space("quotas"), quota("all", HARD), settle("all", HARD),
    sized("unsized"), sized("half", {"cpu": "500m"}), sized("half", {"cpu": "500m"}, {"memory": "64Mi"}),
    sized("most", {"cpu": "600m"}, {"memory": "2Gi"}), sized("rest", {"cpu": "500m"}, {"memory": "64Mi"}), sized("third", {"cpu": "1m"}, {"memory": "1Mi"}),
    counted("all"),
    thing("ConfigMap", "configmaps", "a"), thing("ConfigMap", "configmaps", "b"), thing("ConfigMap", "configmaps", "c"), thing("Secret", "secrets", "a"),
    thing("Secret", "secrets", "b"), thing("Service", "services", "plain", spec=SERVICE), thing("Service", "services", "ported", spec={**SERVICE, "type": "NodePort"}),
    thing("Service", "services", "balanced", spec={**SERVICE, "type": "LoadBalancer"}),
    patch(f"{SPACES}/quotas/services/plain", {"spec": {"type": "NodePort"}}, only=["kind"]),
    thing("Service", "services", "balanced", spec={**SERVICE, "type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}),
    thing("Service", "services", "fourth", spec=SERVICE),
    thing("PersistentVolumeClaim", "persistentvolumeclaims", "gold", spec={**CLAIM, "storageClassName": "gold"}),
    thing("PersistentVolumeClaim", "persistentvolumeclaims", "silver", spec={**CLAIM, "storageClassName": "silver"}),
    thing("PersistentVolumeClaim", "persistentvolumeclaims", "more", spec={**CLAIM, "storageClassName": "silver"}),
    thing("ReplicationController", "replicationcontrollers", "rc", spec={"selector": {"a": "b"}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container()]}}}),
    thing("Deployment", "deployments", "d", "apps/v1", spec={"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container()]}}}),
    thing("Deployment", "deployments", "e", "apps/v1", spec={"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container()]}}}),
    thing("Ingress", "ingresses", "i", "networking.k8s.io/v1", spec={"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}),
    counted("all"),
    post(f"{SPACES}/quotas/configmaps?dryRun=All", {"apiVersion": "v1", "kind": "ConfigMap", **meta("dry")}, only=["kind"]),
    delete(f"{SPACES}/quotas/configmaps/a", only=["kind"]), thing("ConfigMap", "configmaps", "still-full"),
    # Scopes.
    space("scopes"),
    *[step for name, spec in {
        "best-effort": {"scopes": ["BestEffort"]}, "not-best-effort": {"scopes": ["NotBestEffort"]}, "terminating": {"scopes": ["Terminating"]},
        "not-terminating": {"scopes": ["NotTerminating"]},
        "important": {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}},
        "any-class": {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}},
        "affine": {"scopeSelector": {"matchExpressions": [{"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}]}},
    }.items() for step in (quota(name, hard(name), "scopes", **spec), settle(name, hard(name), "scopes"))],
    post("/apis/scheduling.k8s.io/v1/priorityclasses", {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **meta("high"), "value": 10}, only=["value"]),
    sized("one", namespace="scopes"), sized("two", namespace="scopes"), sized("sized", {"cpu": "1m"}, namespace="scopes"),
    sized("sized-ends", {"cpu": "1m"}, namespace="scopes", activeDeadlineSeconds=5), sized("ends", namespace="scopes", activeDeadlineSeconds=5),
    *[counted(name, "scopes") for name in ("best-effort", "not-best-effort", "terminating", "not-terminating", "any-class", "important")],
    quota("wrong-scope", {"configmaps": "1"}, "scopes", scopes=["BestEffort"]), quota("both", {"pods": "1"}, "scopes", scopes=["BestEffort", "NotBestEffort"]),
    quota("unknown", {"pods": "1"}, "scopes", scopes=["Other"]), quota("negative", {"pods": "-1"}, "scopes"), quota("name", {"nothing here": "1"}, "scopes"),
    quota("operator", {"pods": "1"}, "scopes", scopeSelector={"matchExpressions": [{"scopeName": "BestEffort", "operator": "In", "values": ["x"]}]}),
]

# --- ServiceAccount

ACCOUNT_FIELDS = ["spec.serviceAccountName", "spec.serviceAccount", "spec.imagePullSecrets", "spec.containers.0.volumeMounts.0.mountPath", "spec.automountServiceAccountToken"]


def made(name, namespace="accounts", spec=None, **more):
    return pod(name, namespace, spec, only=ACCOUNT_FIELDS, **more)


def an_account(name, **more):
    return post(f"{SPACES}/accounts/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", **meta(name, annotations=more.pop("annotations", {})), **more}, only=["kind"])


ACCOUNTS = [
    space("accounts"), made("early"), an_account("default"), made("usual"), made("named", spec={"serviceAccountName": "default"}),
    made("old-name", spec={"serviceAccount": "default"}), made("missing", spec={"serviceAccountName": "missing"}),
    an_account("pulls", imagePullSecrets=[{"name": "s"}, {"name": "t"}]), made("pulls", spec={"serviceAccountName": "pulls"}),
    made("pulls-own", spec={"serviceAccountName": "pulls", "imagePullSecrets": [{"name": "mine"}]}),
    an_account("quiet", automountServiceAccountToken=False), made("quiet", spec={"serviceAccountName": "quiet"}),
    made("quiet-but", spec={"serviceAccountName": "quiet", "automountServiceAccountToken": True}), made("none", spec={"automountServiceAccountToken": False}),
    made("mounted", spec={"containers": [container(volumeMounts=[{"name": "v", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}])],
                          "volumes": [{"name": "v", "emptyDir": {}}]}),
    an_account("strict", annotations={"kubernetes.io/enforce-mountable-secrets": "true"}, secrets=[{"name": "known"}]),
    *[made(f"strict-{name}", spec={"serviceAccountName": "strict", **spec}) for name, spec in {
        "plain": {}, "volume": {"volumes": [{"name": "v", "secret": {"secretName": "other"}}]}, "known": {"volumes": [{"name": "v", "secret": {"secretName": "known"}}]},
        "env": {"containers": [container(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "other", "key": "k"}}}])]},
        "from": {"containers": [container(envFrom=[{"secretRef": {"name": "other"}}])]}, "pull": {"imagePullSecrets": [{"name": "other"}]},
        "init": {"initContainers": [container("i", env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "other", "key": "k"}}}])]},
        "projected": {"volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "other"}}]}}]}}.items()],
    made("mirror", annotations={"kubernetes.io/config.mirror": "x"}, spec={"nodeName": "n"}),
    made("mirror-account", annotations={"kubernetes.io/config.mirror": "x"}, spec={"nodeName": "n", "serviceAccountName": "default"}),
    made("mirror-secret", annotations={"kubernetes.io/config.mirror": "x"}, spec={"nodeName": "n", "volumes": [{"name": "v", "secret": {"secretName": "s"}}]}),
    made("mirror-token", annotations={"kubernetes.io/config.mirror": "x"}, spec={"nodeName": "n", "volumes": [
        {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}),
    patch(f"{SPACES}/accounts/pods/usual", {"spec": {"serviceAccountName": "pulls"}}, only=ACCOUNT_FIELDS),
]

# --- OwnerReferencesPermissionEnforcement

MAPS = f"{SPACES}/default/configmaps"


def owned(name, *owners, **more):
    return post(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", **meta(name, ownerReferences=list(owners))}, only=["metadata.ownerReferences"], **more)


def owner(name="o", block=None, kind="ConfigMap", version="v1"):
    one = {"apiVersion": version, "kind": kind, "name": name, "uid": f"uid-{name}"}
    return {**one, "blockOwnerDeletion": block} if block is not None else one


ANN, BOB = {"as": "ann"}, {"as": "bob"}
OWNERS = [
    role("writer", rule(["create", "update", "patch"], ["configmaps"])), bind("ann-writes", "writer", user("ann")), bind("bob-writes", "writer", user("bob")),
    role("deleter", rule(["delete"], ["configmaps"])), bind("bob-deletes", "deleter", user("bob")),
    role("finalizer", rule(["update"], ["configmaps/finalizers"], names=["o"])), bind("bob-finalizes", "finalizer", user("bob")),
    owned("a"), owned("ann-none", **ANN), owned("ann-one", owner(), **ANN), owned("ann-blocks", owner(block=True), **ANN), owned("ann-not", owner(block=False), **ANN),
    owned("bob-blocks", owner(block=True), **BOB), owned("bob-other", owner("p", block=True), **BOB), owned("bob-kind", owner(block=True, kind="Nothing"), **BOB),
    owned("bob-node", owner(block=True, kind="Node"), **BOB), owned("bob-group", owner(block=True, kind="Deployment", version="apps/v1"), **BOB),
    owned("bob-two", owner(block=True), owner("p", block=True), **BOB), owned("bob-version", owner(block=True, version="v2"), **BOB),
    *[patch(f"{MAPS}/a", {"metadata": {"ownerReferences": [one]}}, only=["metadata.ownerReferences"], **who)
      for who in (ANN, BOB) for one in (owner(), owner(block=True), owner("p", block=True))],
    patch(f"{MAPS}/a", {"metadata": {"labels": {"x": "y"}}}, only=["metadata.labels"], **ANN),
    patch(f"{MAPS}/a", {"metadata": {"ownerReferences": []}}, only=["metadata.ownerReferences"], **ANN),
]

# --- Certificates

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


def signing_request(subject):
    import base64
    with tempfile.TemporaryDirectory() as folder:
        pem = os.path.join(folder, "r")
        subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", os.path.join(folder, "k"),
                        "-out", pem, "-subj", subject], check=True, capture_output=True)
        return base64.b64encode(open(pem, "rb").read()).decode()


def certificate(name, subject, signer="example.com/s", usages=("client auth",), **more):
    return post(REQUESTS, {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", **meta(name), "spec": {
        "request": signing_request(subject), "signerName": signer, "usages": list(usages)}}, only=["spec.signerName", "spec.username"], **more)


def approve(name, kind="Approved", **more):
    return put(f"{REQUESTS}/{name}/approval", {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", **meta(name), "spec": {
        "request": "", "signerName": "example.com/s"}, "status": {"conditions": [{"type": kind, "status": "True", "reason": "r", "message": "m"}]}},
        only=["status.conditions.0.type"], **more)


def condition(name, **more):
    return patch(f"{REQUESTS}/{name}/approval", {"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "r", "message": "m",
                 "lastUpdateTime": "2020-01-01T00:00:00Z", "lastTransitionTime": "2020-01-01T00:00:00Z"}]}}, only=["status.conditions.0.type"], **more)


CERTIFICATES = [
    certificate("own", "/CN=x"), certificate("masters", "/O=system:masters/CN=x"),
    certificate("client", "/CN=x/O=dev", "kubernetes.io/kube-apiserver-client"), certificate("client-masters", "/O=system:masters/CN=x", "kubernetes.io/kube-apiserver-client"),
    certificate("client-many", "/O=dev/O=system:masters/CN=x", "kubernetes.io/kube-apiserver-client"),
    certificate("kubelet", "/O=system:nodes/CN=system:node:n", "kubernetes.io/kube-apiserver-client-kubelet", ["digital signature", "client auth"]),
    role("csr", rule(["create", "get", "update", "patch"], ["certificatesigningrequests", "certificatesigningrequests/approval", "certificatesigningrequests/status"], ["certificates.k8s.io"])),
    bind("ann-csr", "csr", user("ann")), bind("bob-csr", "csr", user("bob")), bind("carl-csr", "csr", user("carl")),
    role("approver", rule(["approve"], ["signers"], ["certificates.k8s.io"], names=["example.com/s"])), bind("bob-approves", "approver", user("bob")),
    role("signer", rule(["approve", "sign"], ["signers"], ["certificates.k8s.io"], names=["example.com/*"])), bind("carl-signs", "signer", user("carl")),
    condition("own", **{"as": "ann"}), condition("client", **{"as": "bob"}), condition("client", **{"as": "carl"}), condition("own", **{"as": "bob"}), condition("masters", **{"as": "carl"}),
    *[patch(f"{REQUESTS}/own/status", {"status": {"certificate": "eA=="}}, only=["kind"], **{"as": who}) for who in ("ann", "bob", "carl")],
    *[patch(f"{REQUESTS}/{name}/status", {"status": {"conditions": [{"type": "Failed", "status": "True", "reason": "r", "message": "m"}]}}, only=["status.conditions.0.type"], **{"as": who})
      for name, who in (("masters", "ann"), ("masters", "bob"), ("client", "carl"), ("masters", "carl"))],
]
ALL = {
    "security": (SECURITY, []), "exempt": (EXEMPT, ["--admission-control-config-file={files}/exempt.json"]), "priority": (PRIORITY, []), "defaults": (DEFAULTS, []),
    "limits": (LIMITS, []), "quotas": (QUOTAS, []), "accounts": (ACCOUNTS, ["--disable-admission-plugins=AlwaysAdmit"]),
    "owners": (OWNERS, ["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"]), "certificates": (CERTIFICATES, []),
}
