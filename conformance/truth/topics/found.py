"""What random writes (conformance/fuzz) were answered differently once, made small."""
from topics.crd import crd

CORE = "/api/v1/namespaces/default/"
APPS = "/apis/apps/v1/namespaces/default/"
BATCH = "/apis/batch/v1/namespaces/default/"
POD = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
CLAIM = {"metadata": {"name": "a"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


def service(name, **spec):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [{"port": 1, "name": "p"}], **spec}}


def deployments(t):
    """A change of the annotations alone is a new generation of a Deployment, and of nothing else."""
    for plural, kind in [("deployments", "Deployment"), ("statefulsets", "StatefulSet")]:
        spec = {"selector": {"matchLabels": {"app": "x"}}, "template": POD, "replicas": 2, **({"serviceName": "s"} if kind == "StatefulSet" else {})}
        t.apply(APPS + plural + "/o", {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "o"}, "spec": spec})
        t.strategic(APPS + plural + "/o", {"metadata": {"annotations": {"c": "x"}}, "spec": {"replicas": 2, "template": POD}})
        t.strategic(APPS + plural + "/o", {"metadata": {"labels": {"c": "x"}}})
        t.merge(APPS + plural + "/o", {"metadata": {"annotations": {"c": "y"}}})
        t.merge(APPS + plural + "/o", {"metadata": {"annotations": {"c": "y"}}})


def stateful_sets(t):
    """What stays is told field by field."""
    spec = {"serviceName": "s", "selector": {"matchLabels": {"app": "x"}}, "template": POD, "volumeClaimTemplates": [CLAIM]}
    place = APPS + "statefulsets/v"
    t.apply(place, {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "v"}, "spec": spec})
    t.merge(place, {"spec": {"podManagementPolicy": "Parallel"}})
    t.merge(place, {"spec": {"serviceName": "t", "volumeClaimTemplates": None}})
    t.json_patch(place, [{"op": "replace", "path": "/spec/volumeClaimTemplates/0/metadata/name", "value": "b"}])
    t.apply(place, {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "v"}, "spec": {**spec, "volumeClaimTemplates": [CLAIM, {**CLAIM, "metadata": {"name": "c"}}]}})


def services(t):
    """A Service of another type gives up what it had; its status may be written before there is one."""
    place = CORE + "services/"
    t.apply(place + "a/status", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}})
    t.put(place + "a/status", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "status": {}})
    t.merge(place + "a/status", {"status": {}})
    t.apply(place + "b/status", {**service("b"), "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}, keep=["kind", "status", "message"])
    t.put(place + "c/status", service("c", type="ExternalName", externalName="a.b"), keep=["kind", "spec", "status", "message"])
    t.get(place + "c", keep=["kind", "spec", "status", "message"])
    t.post(CORE + "services", service("d", type="NodePort", externalIPs=["1.2.3.4"]), keep=["kind"])
    t.apply(place + "d", service("d", type="ClusterIP", ports=[{"port": 2, "name": "q"}]), force=True, keep=["kind", "message", "details", "status"])
    t.merge(place + "d", {"spec": {"externalIPs": None, "type": "ClusterIP"}}, keep=["kind", "message", "details", "status"])
    t.put(place + "d", {**service("d"), "metadata": {"name": "d", "uid": "x"}})


def places(t):
    """The places of the storage that a message tells."""
    for plural, kind, body in [
        ("endpoints", "Endpoints", {}), ("configmaps", "ConfigMap", {}), ("serviceaccounts", "ServiceAccount", {}),
        ("replicationcontrollers", "ReplicationController", {"spec": {"selector": {"app": "x"}, "template": POD}}),
    ]:
        t.post(CORE + plural, {"apiVersion": "v1", "kind": kind, "metadata": {"name": "o"}, **body}, keep=["kind"])
        t.put(CORE + plural + "/o", {"apiVersion": "v1", "kind": kind, "metadata": {"name": "o", "uid": "x"}, **body})
        t.put(CORE + plural + "/o?dryRun=All", {"apiVersion": "v1", "kind": kind, "metadata": {"name": "o", "uid": "x"}, **body})


def identities(t):
    """Who patches the uid of a custom resource hears of it twice."""
    t.crd(crd("founds", "Found"))
    places = [(CORE + "configmaps/i", "v1", "ConfigMap"), ("/apis/example.com/v1/namespaces/default/founds/i", "example.com/v1", "Found"),
              (CORE + "pods/i", "v1", "Pod")]
    for place, version, kind in places:
        document = {"apiVersion": version, "kind": kind, "metadata": {"name": "i", "finalizers": ["a.b/c"]}, **({"spec": POD["spec"]} if kind == "Pod" else {})}
        t.apply(place, document, keep=["kind"])
        t.apply(place, {**document, "metadata": {"name": "i", "uid": "x"}})
        t.merge(place, {"metadata": {"uid": "x", "labels": {"a b": "c"}}})
        t.merge(place, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 1}})
        t.delete(place, keep=["kind"])
        t.merge(place, {"metadata": {"finalizers": ["a.b/c", "a.b/d"]}})
        t.merge(place, {"metadata": {"deletionGracePeriodSeconds": 5}})


def run(t):
    identities(t)
    deployments(t)
    stateful_sets(t)
    services(t)
    places(t)
