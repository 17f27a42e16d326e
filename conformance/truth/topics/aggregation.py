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
        for scene in (obstacles, failures, passing, discovering, certificates, changing, documenting, upgrading):
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
    t.settle(1)
    t.get(f"{G}/v1")
    t.get(f"{G}/v1/bears")
    t.get(G)
    clear(t)
    t.get(G)
    t.delete(f"{S}/hook", keep=["kind"])


ZOO = "apis/zoo.example.com/v1"
V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
META = "io.k8s.apimachinery.pkg.apis.meta.v1"


def swagger(t):
    """What the server says of its kinds in the old way: names that are taken, with the same meaning or another, and more than its group."""
    known = t.server.call("GET", "/openapi/v2").json()
    taken = known["definitions"][f"{META}.ListMeta"]
    parameter = sorted(known["parameters"])[0]
    kind = {"group": "zoo.example.com", "version": "v1", "kind": "Bear"}
    bear = {"$ref": "#/definitions/com.example.zoo.v1.Bear"}
    operation = {
        "description": "list bears", "consumes": ["*/*"], "produces": ["application/json", "application/yaml"], "schemes": ["https"], "tags": ["zoo_v1"],
        "operationId": "listBears", "deprecated": True, "x-kubernetes-action": "list", "x-kubernetes-group-version-kind": kind,
        "parameters": [{"uniqueItems": True, "type": "string", "description": "a", "name": "a", "in": "query"}, {"$ref": f"#/parameters/{parameter}"}, {"$ref": "#/parameters/own"}],
        "responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/com.example.zoo.v1.BearList"}}, "401": {"description": "Unauthorized"}}}
    change = {
        "consumes": ["application/json"], "produces": ["application/json"], "operationId": "createBear",
        "parameters": [{"name": "body", "in": "body", "required": True, "schema": bear}], "responses": {"201": {"description": "Created", "schema": bear}}}
    return {
        "swagger": "2.0", "info": {"title": "Zoo", "version": "v7", "description": "of bears"}, "host": "zoo.example.com", "securityDefinitions": {"Other": {"type": "apiKey", "name": "x", "in": "header"}},
        "paths": {
            "/apis/zoo.example.com/v1/bears": {"get": operation, "post": change, "parameters": [{"name": "pretty", "in": "query", "type": "string"}]},
            "/apis/zoo.example.com/v1/": {"get": {"responses": {"200": {"description": "OK", "schema": {"$ref": f"#/definitions/{META}.APIResourceList"}}}}},
            "/apis/zoo.example.com/": {"get": {"responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/com.example.zoo.Elsewhere"}}}}},
            "/version/": {"get": {"responses": {"200": {"description": "not ours"}}}}},
        "parameters": {parameter: {"name": "another", "in": "query", "type": "integer"}, "own": {"name": "own", "in": "query", "type": "boolean"}},
        "definitions": {
            "com.example.zoo.v1.Bear": {
                "description": "a bear", "type": "object", "required": ["spec"], "x-kubernetes-group-version-kind": [kind],
                "properties": {"metadata": {"description": "who it is", "$ref": f"#/definitions/{META}.ObjectMeta"}, "age": {"type": "integer", "format": "int32", "default": 3},
                               "cubs": {"type": "array", "items": {"$ref": "#/definitions/com.example.zoo.v1.Bear"}}, "dens": {"type": "object", "additionalProperties": {"type": "string"}}}},
            "com.example.zoo.v1.BearList": {"type": "object", "properties": {"metadata": {"$ref": f"#/definitions/{META}.ListMeta"}, "items": {"type": "array", "items": bear}}},
            "com.example.zoo.Elsewhere": {"type": "object"},
            "com.example.zoo.Unused": {"type": "string"},
            f"{META}.APIResourceList": {**known["definitions"][f"{META}.APIResourceList"], "x-kubernetes-group-version-kind": [{"group": "zoo.example.com", "version": "v1", "kind": "APIResourceList"}]},
            f"{META}.ObjectMeta": {"description": "another one", "type": "object"},
            f"{META}.ListMeta": taken}}, parameter


def documents(t, parameter, kinds=True, index=True):
    """`kinds`: whether definitions of several kinds are asked for, too: of one that is gone a real server remembers the kind.
    `index`: whether that of the third version is, too, which tells hashes of what the server writes itself."""
    names = ["com.example.zoo.v1.Bear", "com.example.zoo.v1.BearList", "com.example.zoo.Elsewhere", "com.example.zoo.Unused",
             *([f"{META}.APIResourceList"] if kinds else []), f"{META}.ObjectMeta_v2", f"{META}.ListMeta", f"{META}.ListMeta_v2"]
    t.members("/openapi/v2", ["info"], ["host"], ["securityDefinitions"], *(["definitions", name] for name in names),
              *(["paths", f"/{path}"] for path in (f"{ZOO}/bears", f"{ZOO}/", "apis/zoo.example.com/", "version/")),
              *(["parameters", name] for name in (parameter, f"{parameter}_v2", "own")))
    if index:
        t.members("/openapi/v3", *(["paths", path] for path in (ZOO, "apis/zoo.example.com", "apis/zoo.example.com/v9")))


def documenting(t):
    """What the server says of its kinds, as this server tells it; and what is left of it when nobody answers any more."""
    spec, parameter = swagger(t)
    document = {"openapi": "3.0.0", "info": {"title": "Zoo", "version": "v7"}, "paths": {}}
    place = {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash=0{number}"} for number, path in enumerate((ZOO, "apis/zoo.example.com"))}
    t.serve({
        "openapi/v3": {"code": 200, "body": {"paths": place}},
        f"openapi/v3/{ZOO}": {"code": 200, "headers": {"Content-Type": "application/json", "Etag": '"00"', "Cache-Control": "public, immutable"}, "body": document},
        "openapi/v2": {"code": 200, "headers": {"Content-Type": "application/json", "Etag": '"07"'}, "body": spec}})
    serving(t)
    t.until("/openapi/v3", "paths", ZOO)
    t.until("/openapi/v2", "definitions", "com.example.zoo.v1.Bear")
    documents(t, parameter)
    t.heads = True
    for path in (f"{ZOO}?hash=00", ZOO, f"{ZOO}/", "apis/zoo.example.com", "apis/zoo.example.com/v9"):
        t.get(f"/openapi/v3/{path}")
    t.get(f"/openapi/v3/{ZOO}", accept="application/com.github.proto-openapi.spec.v3.v1.0+protobuf")
    t.get(f"/openapi/v3/{ZOO}", user="ann")
    t.heads = False
    # Nobody answers any more.
    close = {"then": "close"}
    t.serve({"openapi/v3": close, f"openapi/v3/{ZOO}": close, "openapi/v2": close, ZOO: close, "apis": close})
    t.merge(f"{S}/hook", {"metadata": {"annotations": {"changed": "yes"}}}, keep=["kind"])
    until(t, "FailedDiscoveryCheck")
    t.until("/apis", "items.*.versions.*.freshness", "Stale", accept=V2)
    t.picked("/apis", "items", "metadata.name", "zoo.example.com", accept=V2)
    t.get(G)
    t.get(f"{G}/v1")
    documents(t, parameter)
    t.get(f"/openapi/v3/{ZOO}")
    clear(t)
    t.delete(f"{S}/hook", keep=["kind"])
    t.settle(2)
    documents(t, parameter, kinds=False)
    t.get(f"/openapi/v3/{ZOO}")
    t.picked("/apis", "items", "metadata.name", "zoo.example.com", accept=V2)


def upgrading(t):
    """A server that knows the old way alone."""
    spec, parameter = swagger(t)
    missing = {"code": 404, "headers": {"Content-Type": "text/plain"}, "body": "no"}
    t.serve({"openapi/v3": missing, f"openapi/v3/{ZOO}": missing, "openapi/v2": {"code": 200, "body": spec}})
    serving(t)
    t.until("/openapi/v3", "paths", ZOO)
    documents(t, parameter, index=False)
    t.get(f"/openapi/v3/{ZOO}")
    clear(t)
    t.delete(f"{S}/hook", keep=["kind"])
    t.settle(2)
    t.members("/openapi/v3", ["paths", ZOO])
    t.get(f"/openapi/v3/{ZOO}")
