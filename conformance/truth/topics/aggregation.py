"""APIServices that name a Service: whether it can be reached, what it is asked as whom, and what is told of it."""
import time

from hook import Hooks

A = "/apis/apiregistration.k8s.io/v1/apiservices"
S = "/api/v1/namespaces/default/services"
E = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
G = "/apis/zoo.example.com"
CONDITION = ["status", "spec.service"]


def external(name, host="127.0.0.1"):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"type": "ExternalName", "externalName": host}}


def api_service(port, name="v1.zoo.example.com", service="hook", trust='"insecureSkipTLSVerify": true', priority=2000, version=20):
    """As text, in which a port is a number."""
    version_name, _, group = name.partition(".")
    return ('{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "%s"}, "spec": {"group": "%s", "version": "%s", '
            '"groupPriorityMinimum": %d, "versionPriority": %d, %s, "service": {"namespace": "default", "name": "%s", "port": %s}}}'
            % (name, group, version_name, priority, version, trust, service, port))


def told(t, name="v1.zoo.example.com", **more):
    t.get(f"{A}/{name}", keep=["status.conditions", "metadata.managedFields"], **more)


def run(t):
    t.heads = False
    with Hooks() as hooks:
        t.serve_hooks(hooks)
        for scene in (obstacles, failures, passing, discovering, certificates, changing):
            scene(t)
            clear(t)


def clear(t):
    t.delete(f"{A}/v1.zoo.example.com", keep=["kind", "code"])
    t.until(f"{A}/v1.zoo.example.com", "code", 404)


def until(t, reason, name="v1.zoo.example.com"):
    t.until(f"{A}/{name}", "status.conditions.0.reason", reason)


def obstacles(t):
    """Without a Service, a port, or endpoints."""
    t.post(A, api_service(443), keep=["spec"])
    until(t, "ServiceNotFound")
    told(t)
    for path in (f"{G}/v1", f"{G}/v1/namespaces/default/bears", G, f"{G}/v1/"):
        t.get(path)
    t.post(S, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook"}, "spec": {"ports": [{"name": "web", "port": 80}]}}, keep=["kind"])
    until(t, "ServicePortError")
    told(t)
    t.merge(f"{S}/hook", {"spec": {"ports": [{"name": "web", "port": 443}]}}, keep=["kind"])
    until(t, "EndpointsNotFound")
    told(t)
    t.post(E, {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "hook-1", "labels": {"kubernetes.io/service-name": "hook"}},
               "addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.9"], "conditions": {"ready": False}}], "ports": [{"name": "web", "port": 443}]}, keep=["kind"])
    until(t, "MissingEndpoints")
    told(t)
    t.get("/apis", accept="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", keep=["kind"])
    t.delete(f"{E}/hook-1", keep=["kind"])
    t.delete(f"{S}/hook", keep=["kind"])


def failures(t):
    """A server that is not there, or that says something else than it should."""
    t.post(S, external("hook"), keep=["kind"])
    t.post(A, api_service("${port_gone}"), keep=["kind"])
    until(t, "FailedDiscoveryCheck")
    told(t)
    t.get(f"{G}/v1/namespaces/default/bears")
    t.merge(f"{A}/v1.zoo.example.com", '{"spec": {"service": {"port": ${port_good}}}}', keep=["kind"])
    t.until(f"{A}/v1.zoo.example.com", "status.conditions.0.message", "bad status")
    told(t)
    t.delete(f"{S}/hook", keep=["kind"])


RESOURCES = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "zoo.example.com/v1", "resources": [
    {"name": "bears", "singularName": "bear", "namespaced": True, "kind": "Bear", "verbs": ["get", "list", "watch", "create"], "shortNames": ["br"], "categories": ["all"]},
    {"name": "bears/status", "singularName": "", "namespaced": True, "kind": "Bear", "verbs": ["get", "update"]},
    {"name": "dens", "singularName": "den", "namespaced": False, "kind": "Den", "group": "other.example.com", "version": "v2", "verbs": ["list"]}]}


def serving(t, port="${port_good}", **more):
    t.post(S, external("hook"), keep=["kind"])
    t.serve(**{"apis/zoo.example.com/v1": {"code": 200, "body": RESOURCES}, "apis": {"code": 404, "headers": {"Content-Type": "text/plain"}, "body": "no"}})
    t.post(A, api_service(port, **more), keep=["kind"])
    until(t, "Passed")


def passing(t):
    """Requests and answers as they are passed on."""
    serving(t)
    told(t)
    t.settle(2)
    bears = f"{G}/v1/namespaces/default/bears"
    t.serve(**{
        bears[1:]: {"code": 200, "body": {"kind": "BearList", "apiVersion": "zoo.example.com/v1", "metadata": {"resourceVersion": "7"}, "items": []}},
        f"{bears[1:]}/a": {"code": 200, "headers": {"Content-Type": "application/json", "X-Bear": "yes", "Access-Control-Allow-Origin": "*", "Cache-Control": "max-age=1"}, "body": {"kind": "Bear"}},
        f"{bears[1:]}/text": {"code": 418, "headers": {"Content-Type": "text/plain"}, "body": "short and stout"},
        f"{bears[1:]}/away": {"code": 302, "headers": {"Location": "https://${good}/elsewhere"}, "body": ""},
        f"{bears[1:]}/nowhere": {"code": 304, "headers": {}, "body": ""},
        f"{bears[1:]}/close": {"then": "close"},
    })
    t.forget()
    t.heads = True
    t.get(bears)
    t.get(f"{bears}?watch=false&labelSelector=a%3Db,c&limit=5&x&limit=4")
    t.get(f"{bears}/a")
    for name in ("text", "away", "nowhere", "unknown"):
        t.get(f"{bears}/{name}")
    t.asked()
    t.heads = False
    t.post(bears, {"kind": "Bear", "apiVersion": "zoo.example.com/v1", "metadata": {"name": "a"}, "spec": {"honey": 1.0}})
    t.call("PATCH", f"{bears}/a", {"spec": None}, type="application/merge-patch+json")
    t.delete(f"{bears}/a")
    t.asked()
    t.get(f"{bears}/close")
    t.get(bears, user="ann", groups=["dev", "system:authenticated"])
    t.forget()
    t.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {"metadata": {"name": "all"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}, "subjects": [{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}]}, keep=["kind"])
    t.settle(1)
    t.get(bears, user="ann", headers={"Impersonate-Extra-Example.com%2FScopes": "a", "Impersonate-Uid": "7", "X-Remote-User": "root", "X-Remote-Group": "system:masters", "X-Remote-Extra-B": "b", "X-Forwarded-For": "192.0.2.7"})
    t.get(f"{G}/v1", user="ann")
    t.get(f"{bears}/a%2Fb")
    t.asked()
    t.get(f"{G}/v2")
    t.get(f"{G}/v2/bears")
    t.get(G)


def discovering(t):
    """What is told of the group."""
    t.delete(f"{S}/hook", keep=["kind"])
    serving(t)
    t.settle(3)
    t.until("/apis", "groups.*.name", "zoo.example.com")
    t.get("/apis")
    t.get(G)
    t.get(f"{G}/v1")
    v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    t.until("/apis", "items.*.metadata.name", "zoo.example.com", accept=v2)
    t.picked("/apis", "items", "metadata.name", "zoo.example.com", accept=v2)
    clear(t)
    t.serve(**{"apis": {"code": 200, "headers": {"Content-Type": f"{v2}"}, "body": {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": [
        {"metadata": {"name": "zoo.example.com"}, "versions": [{"version": "v1", "freshness": "Current", "resources": [
            {"resource": "bears", "responseKind": {"group": "zoo.example.com", "version": "v1", "kind": "Bear"}, "scope": "Namespaced", "singularResource": "bear", "verbs": ["get"]}]}]}]}}})
    t.post(A, api_service("${port_good}", priority=17000, version=30), keep=["kind"])
    until(t, "Passed")
    t.settle(3)
    t.until("/apis", "items.*.metadata.name", "zoo.example.com", accept=v2)
    t.picked("/apis", "items", "metadata.name", "zoo.example.com", accept=v2)
    t.get("/apis")
    t.delete(f"{S}/hook", keep=["kind"])


def certificates(t):
    """Whom the server's certificate must be from, and for."""
    for port, name, trust in (("${port_good}", "hook", True), ("${port_other}", "hook", True), ("${port_stranger}", "hook", True), ("${port_plain}", "hook", False), ("${port_mute}", "hook", False), ("${port_good}", "other", True)):
        t.post(S, external(name), keep=["kind"])
        t.post(A, api_service(port, service=name, trust='"caBundle": "${bundle}"' if trust else '"insecureSkipTLSVerify": true'), keep=["kind"])
        t.until(f"{A}/v1.zoo.example.com", "status.conditions.0.reason", "")
        told(t)
        clear(t)
        t.delete(f"{S}/{name}", keep=["kind"])


def changing(t):
    """From a Service to none and back, and its end."""
    serving(t)
    t.json_patch(f"{A}/v1.zoo.example.com", [{"op": "remove", "path": "/spec/service"}, {"op": "remove", "path": "/spec/insecureSkipTLSVerify"}], keep=["spec"])
    until(t, "Local")
    told(t)
    t.get(f"{G}/v1")
    t.get(f"{G}/v1/bears")
    t.get(G)
    clear(t)
    t.get(G)
    t.delete(f"{S}/hook", keep=["kind"])
