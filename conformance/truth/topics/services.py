"""APIService objects: those that the server makes for what it serves itself, and those of others."""
from made import PARTIALS, crd, obj

PATH = "/apis/apiregistration.k8s.io/v1/apiservices"
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def service(name, **spec):
    group, version = name.split(".", 1)[1], name.split(".")[0]
    return obj("apiregistration.k8s.io/v1", "APIService", name, spec={"group": group, "version": version, "groupPriorityMinimum": 100, "versionPriority": 10, **spec})


def run(t):
    t.get(PATH, keep=["kind", "apiVersion"])
    for name in ("v1.", "v1.apps", "v1.batch", "v2.autoscaling", "v1.autoscaling", "v1.rbac.authorization.k8s.io", "v1.apiextensions.k8s.io", "v1.networking.k8s.io", "v1.storage.k8s.io", "v1.policy", "v1.coordination.k8s.io", "v1.events.k8s.io", "v1.authentication.k8s.io", "v1.authorization.k8s.io", "v1.certificates.k8s.io",
                 "v1.discovery.k8s.io", "v1.node.k8s.io", "v1.scheduling.k8s.io", "v1.admissionregistration.k8s.io", "v1.flowcontrol.apiserver.k8s.io", "v1.resource.k8s.io", "v1.apiregistration.k8s.io", "v1.nothing", "v1"):
        t.get(f"{PATH}/{name}", keep=["kind", "apiVersion", "metadata.name", "metadata.labels", "spec", "status"])
    t.get(f"{PATH}/v1.apps", accept="application/json;as=Table;v=v1;g=meta.k8s.io", keep=["kind", "rows", "columnDefinitions"])
    t.crd(crd("services.example.com", "bells", "Bell", versions=("v1", "v1beta1")), keep=[])
    t.settle(3)
    for version in ("v1", "v1beta1", "v2"):
        t.get(f"{PATH}/{version}.services.example.com", keep=["kind", "metadata.name", "metadata.labels", "spec", "status"])
    t.get(PATH + "?labelSelector=kube-aggregator.kubernetes.io/automanaged%3Dtrue", accept=PARTIALS, keep=["kind"])
    t.get(PATH + "/v1.apps/status", keep=["kind", "status"])
    t.merge(PATH + "/v1.apps/status?dryRun=All", {"status": {"conditions": []}}, keep=["kind", "status"])
    t.post(PATH, service("v1.others.example.com", service={"name": "s", "namespace": "default"}, insecureSkipTLSVerify=True), keep=["kind", "spec"])
    t.settle(3)
    t.get(PATH + "/v1.others.example.com", keep=["kind", "spec", "status"])
    t.get("/apis/others.example.com/v1")
    t.get("/apis/others.example.com/v1/things")
    t.get("/apis/others.example.com")
    t.put(PATH + "/v1.others.example.com", service("v1.others.example.com", service={"name": "s", "namespace": "default"}, insecureSkipTLSVerify=True, groupPriorityMinimum=200))
    t.merge(PATH + "/v1.others.example.com", {"spec": {"groupPriorityMinimum": 300}}, keep=["kind", "spec", "metadata.generation"])
    t.delete(PATH + "/v1.others.example.com", keep=["kind", "status"])
    t.settle(2)
    t.get("/apis/others.example.com/v1")
    for bad in ({"groupPriorityMinimum": 0}, {"groupPriorityMinimum": 20001}, {"versionPriority": 0}, {"versionPriority": 1001}, {"group": "other"}, {"version": "v2"}, {"version": "V1"}, {"service": {}}, {"service": {"name": "s"}}, {"service": {"name": "s", "namespace": "n", "port": 0}}, {"service": {"name": "s", "namespace": "n"}},
                {"service": {"name": "s", "namespace": "n"}, "caBundle": "eA=="}, {"caBundle": "eA=="}, {"insecureSkipTLSVerify": True}, {"service": {"name": "s", "namespace": "n"}, "insecureSkipTLSVerify": True, "caBundle": "eA=="}, {"service": {"name": "s", "namespace": "n", "port": 70000}, "insecureSkipTLSVerify": True}, {"group": ""}, {"version": ""}):
        t.post(PATH + "?dryRun=All", service("v1.bad.example.com", **bad), keep=["kind", "spec"])
    for name in ("v1", "v1.Bad.example.com", "v2.bad.example.com"):
        t.post(PATH + "?dryRun=All", {**service("v1.bad.example.com"), "metadata": {"name": name}}, keep=["kind", "spec"])
    t.delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bells.services.example.com", keep=["kind"])
    t.settle(4)
    t.get(PATH + "/v1.services.example.com", keep=["kind"])
    t.get("/apis/services.example.com")
    t.get("/apis/services.example.com/v1")
