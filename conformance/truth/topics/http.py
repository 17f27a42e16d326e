"""Paths, verbs, negotiation, options: what is said before any object is looked at."""

CM = "/api/v1/namespaces/default/configmaps"


def cm(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def run(t):
    for path in ("/nothing", "/api/v2", "/api/v1/nothing", "/apis/nothing.example.com", "/apis/apps/v2", "/apis/apps/v1/nothing",
                 "/api/v1/namespaces/default/nothing", "/api/v1/namespaces/default/configmaps/x/nothing", "/api/v1/configmaps/x",
                 "/api/v1/namespaces/default/nodes", "/api/v1/namespaces/default/configmaps/missing", "/apis/apps/v1/deployments/x",
                 "/api/v1/namespaces/missing", "/api/v1/nodes/missing", "/apis/apps/v1/namespaces/default/deployments/missing",
                 "/apis/rbac.authorization.k8s.io/v1/clusterroles/missing", "/api/v1/namespaces/default/pods/missing/log",
                 "/api/v1/namespaces/default/pods/missing/status", "/apis/apps/v1/namespaces/default/deployments/missing/scale",
                 "/api/v1/namespaces/default/services/missing/status", "/healthz", "/livez", "/readyz", "/healthz/ping", "/healthz/nothing",
                 "/api/v1/watch/nothing", "/apis/", "/api/v1/namespaces/default/configmaps/"):
        t.get(path, **({} if path != "/apis/" else {"keep": ["kind", "apiVersion"]}))
    t.post(CM, cm("one", a="1"))
    # verbs that a resource does not have
    t.delete("/api/v1/namespaces/default/configmaps/one/nothing")
    for method, path, body in (
            ("PUT", CM, cm("one")), ("PATCH", CM, {}), ("POST", CM + "/one", cm("one")), ("POST", "/api/v1/namespaces/default", {}),
            ("DELETE", "/api/v1/namespaces", None), ("PUT", "/api/v1/namespaces/default/bindings", {}), ("GET", "/api/v1/namespaces/default/bindings", None),
            ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", None), ("DELETE", "/version", None), ("POST", "/version", {}),
            ("POST", "/healthz", {}), ("PATCH", "/api", {}), ("POST", "/api/v1", {}), ("OPTIONS", CM, None), ("TRACE", CM, None), ("FOO", CM, None)):
        t.call(method, path, body)
    # answers in other formats
    for accept in ("application/json", "application/yaml", "*/*", "application/*", "text/plain", "text/html,*/*;q=0.1", "application/xml",
                   "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v1beta1;g=meta.k8s.io", "application/json;as=Table;v=v9;g=meta.k8s.io",
                   "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
                   "application/json;as=Nothing;v=v1;g=meta.k8s.io", "application/json;q=0.5,application/yaml", "application/json;stream=watch", "nonsense", ";", "application/json;as=Table;g=meta.k8s.io;v=v1,application/json",
                   "application/yaml;as=Table;v=v1;g=meta.k8s.io"):
        t.get(CM + "/one", accept=accept)
    for accept in ("application/yaml", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
                   "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/xml"):
        t.get(CM, accept=accept)
    for include in ("None", "Metadata", "Object", "Nothing"):
        t.get(CM + "/one?includeObject=" + include, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    for pretty in ("true", "1", "false", "0", "maybe"):
        t.get(CM + "/one?pretty=" + pretty)
    # bodies
    for kind in ("application/json", "application/json; charset=utf-8", "application/yaml", "text/plain", "application/xml", "application/vnd.kubernetes.protobuf", "nonsense", "application/merge-patch+json"):
        t.post(CM + "?dryRun=All", cm("two"), type=kind)
    for kind in ("application/json", "application/xml", "text/plain", "application/merge-patch+json; charset=utf-8", "application/strategic-merge-patch+json", "application/apply-patch+yaml",
                 "application/json-patch+json", "application/yaml", "application/apply-patch+cbor"):
        t.call("PATCH", CM + "/one?dryRun=All", {"data": {"b": "2"}}, type=kind)
    for body in ("", "{", "[]", "null", "1", '"text"', "{}", '{"apiVersion":"v1"}', '{"kind":"ConfigMap"}', '{"apiVersion":"v1","kind":"ConfigMap"}', '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}',
                 '{"apiVersion":"v2","kind":"ConfigMap","metadata":{"name":"x"}}', '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":[]}',
                 '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":1}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":1}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":[]}',
                 '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":"a"}', '{"apiVersion":"a/b/c","kind":"ConfigMap","metadata":{"name":"x"}}', '{"apiVersion":1,"kind":"ConfigMap"}',
                 '{"metadata":{"name":"kindless"},"data":{"a":"1"}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":"not base64!"}}',
                 '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","labels":{"a":1}}}', '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","creationTimestamp":"yesterday"}}'):
        t.post(CM + "?dryRun=All", body)
    t.call("POST", CM + "?dryRun=All", None)
    # options
    for query in ("dryRun=All", "dryRun=all", "dryRun=All&dryRun=All", "dryRun=", "fieldValidation=Strict", "fieldValidation=Loud", "fieldManager=" + "m" * 129, "fieldManager=a%00b", "fieldManager=me", "pretty=x",
                  "timeout=1", "timeout=abc", "timeout=5s", "unknown=1", "dryRun=All&fieldValidation=Loud"):
        t.post(CM + "?" + query, cm("opt"))
        t.put(CM + "/opt?" + query, cm("opt", x="1"))
        t.merge(CM + "/opt?" + query, {"data": {"y": "1"}})
        t.delete(CM + "/opt?" + query)
    for body in ({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Sometime"}, {"propagationPolicy": "Orphan", "orphanDependents": True}, {"dryRun": ["None"]}, {"gracePeriodSeconds": "x"},
                 {"preconditions": {"uid": "00000000-0000-4000-8000-000000000000"}}, {"preconditions": {"resourceVersion": "1"}}, {"kind": "Pod", "apiVersion": "v1"}, {"unknown": 1}, "{", {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}, {"kind": "DeleteOptions", "apiVersion": "nothing/v1"}):
        t.post(CM, cm("gone"))
        t.delete(CM + "/gone", body)
    t.delete(CM + "/gone?propagationPolicy=Sometime")
    t.delete(CM + "/gone?gracePeriodSeconds=x")
    t.delete(CM + "/gone?gracePeriodSeconds=5&propagationPolicy=Background")
    t.call("HEAD", CM + "/one")
    t.call("GET", CM + "/one", headers={"User-Agent": "curl/8.0"})
    t.get("/api/v1/namespaces/default/configmaps/one?resourceVersion=abc")
    t.get("/api/v1/namespaces/default/configmaps/one?resourceVersion=0")
    t.get("/api/v1/namespaces/default/configmaps/one?resourceVersion=999999999")
