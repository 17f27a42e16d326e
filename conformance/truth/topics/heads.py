"""The headers that answers carry."""
from made import CORE, TABLE, cm, crd, deployment, pod

DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def run(t):
    t.heads = True
    brief = {"keep": ["kind"]}
    t.post(f"{CORE}/configmaps", cm("a", data={"k": "${v*200000}"}), **brief)
    t.post(f"{CORE}/configmaps", cm("b"), headers={"Audit-Id": "mine-1"}, **brief)
    for method, path, body in (("GET", f"{CORE}/configmaps/b", None), ("HEAD", f"{CORE}/configmaps/b", None), ("GET", f"{CORE}/configmaps?limit=1", None), ("GET", f"{CORE}/configmaps/none", None), ("PUT", f"{CORE}/configmaps/b", cm("b")), ("DELETE", f"{CORE}/configmaps/none", None),
                               ("POST", f"{CORE}/configmaps", cm("b")), ("POST", f"{CORE}/configmaps", cm("B")), ("POST", "/api/v1/namespaces/none/configmaps", cm("x")), ("GET", "/api", None), ("GET", "/apis", None), ("GET", "/apis/apps", None), ("GET", "/api/v1", None), ("GET", "/version", None), ("GET", "/healthz", None), ("GET", "/healthz?verbose", None), ("GET", "/livez/nothing", None),
                               ("GET", "/", None), ("GET", "/nothing", None), ("GET", "/openid/v1/jwks", None), ("GET", "/.well-known/openid-configuration", None), ("GET", f"{CORE}/configmaps?watch=true&timeoutSeconds=1&resourceVersion=0&fieldSelector=metadata.name%3Dnone", None), ("GET", f"{CORE}/configmaps?resourceVersion=99999999", None),
                               ("GET", f"{CORE}/configmaps?resourceVersion=1&resourceVersionMatch=Exact", None), ("POST", "/healthz", "{}"), ("OPTIONS", f"{CORE}/configmaps", None)):
        t.call(method, path, body, keep=["kind", "major"])
        t.call(method, path, body, headers={"Audit-Id": "mine-2", "Origin": "https://example.com"}, keep=["kind", "major"])
    for accept in ("application/yaml", TABLE, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "application/xml", "application/json;stream=watch", "*/*", "application/json;charset=utf-8", "application/yaml;q=0.1, application/json;q=0.9", "application/json;pretty=1"):
        t.get(f"{CORE}/configmaps/b", accept=accept, **brief)
        t.get(f"{CORE}/configmaps?labelSelector=x", accept=accept, **brief)
        t.get("/apis", accept=accept, keep=["kind"]) if "Partial" not in accept else None
        t.get("/version", accept=accept, keep=["major"]) if accept == "application/yaml" else None
    for accept in (DISCOVERY, DISCOVERY + ",application/json", "application/json," + DISCOVERY, DISCOVERY.replace("v2", "v2beta1"), DISCOVERY.replace("v2", "v2beta1") + ",application/json", DISCOVERY + ",*/*", DISCOVERY + ";profile=nopeer", DISCOVERY + ";profile=nopeer," + DISCOVERY + ",application/json",
                   DISCOVERY.replace("json", "yaml"), "application/json;as=APIGroupDiscoveryList;v=v2", "application/json;as=Nothing;v=v2;g=apidiscovery.k8s.io"):
        for path in ("/api", "/apis"):
            t.get(path, accept=accept, keep=["kind", "apiVersion"])
    for path in ("/apis/apps", "/apis/apps/v1", "/api/v1"):
        t.get(path, accept=DISCOVERY + ",application/json", keep=["kind", "apiVersion"])
        t.get(path, accept=DISCOVERY, keep=["kind", "apiVersion"])
    for path in ("/api", "/apis"):
        for known in ('"nonsense"', "*", ""):
            t.get(path, accept=DISCOVERY, headers={"If-None-Match": known}, keep=["kind"])
            t.get(path, headers={"If-None-Match": known}, keep=["kind"])
    # large answers
    for encoding in ("gzip", "gzip;q=0", "deflate", "identity", "*", "br, gzip", "GZIP"):
        t.call("GET", f"{CORE}/configmaps/b", headers={"Accept-Encoding": encoding}, **brief)
    # warnings
    t.post(f"{CORE}/configmaps?dryRun=All", cm("w", nothing=1, other=2), **brief)
    t.post(f"{CORE}/pods?dryRun=All", pod("w", {"annotations": {"scheduler.alpha.kubernetes.io/critical-pod": ""}}, **{"containers": [{"name": "c", "image": "i", "env": [{"name": "A"}, {"name": "A"}]}]}), **brief)
    t.post(f"{CORE}/configmaps?dryRun=All", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"w"},' + ",".join(f'"unknown{n}":1' for n in range(80)) + "}", **brief)
    t.post(f"{CORE}/configmaps?dryRun=All", cm("w", **{"f${x*5000}": 1, "g": 2}), **brief)
    t.post(f"{CORE}/configmaps?dryRun=All", cm("w", **{"f${x*300}": 1, "g${x*4000}": 2}), **brief)
    t.post(f"{CORE}/configmaps?dryRun=All", cm("w", **{'q"uote': 1, "back\\slash": 2, "é": 3}), **brief)
    t.post("/apis/apps/v1/namespaces/default/deployments?dryRun=All", deployment("w", unknown=1), **brief)
    t.crd({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "olds.heads.example.com"}, "spec": {"group": "heads.example.com", "scope": "Namespaced", "names": {"plural": "olds", "kind": "Old"}, "versions": [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}, {"name": "v1beta1", "served": True, "storage": False, "deprecated": True, "schema": {"openAPIV3Schema": SCHEMA}},
        {"name": "v1alpha1", "served": True, "storage": False, "deprecated": True, "deprecationWarning": "gone \"soon\"; see \\docs", "schema": {"openAPIV3Schema": SCHEMA}}]}}, keep=[])
    for version in ("v1", "v1beta1", "v1alpha1"):
        path = f"/apis/heads.example.com/{version}/namespaces/default/olds"
        t.post(path, {"apiVersion": f"heads.example.com/{version}", "kind": "Old", "metadata": {"name": version}}, **brief)
        t.get(path + "/v1", **brief)
        t.get(path, **brief)
        t.get(path + "/none")
        t.delete(path + "/none")
        t.get(path + "?watch=true&timeoutSeconds=1&resourceVersion=0&fieldSelector=metadata.name%3Dnone")
        t.merge(path + "/v1?dryRun=All", {"spec": {"a": 1}}, **brief)
    # who is not known, and who may not
    t.heads = True
    t.get(f"{CORE}/configmaps", user="nobody")
    t.get("/version", user="nobody", keep=["major"])
    t.get("/metrics", user="nobody")
    t.delete(f"{CORE}/configmaps/b", user="nobody")
    t.call("DELETE", f"{CORE}/configmaps/b", **brief)
