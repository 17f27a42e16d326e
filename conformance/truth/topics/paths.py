"""Where a path leads and what a method may do there: every door of the house, and what stands beside the doors."""
from made import CORE, cm, crd, deployment

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO")
GROUP = "/apis/paths.example.com/v1"


def run(t):
    t.post(f"{CORE}/configmaps", cm("one"), keep=["kind"])
    t.post("/apis/apps/v1/namespaces/default/deployments", deployment("d"), keep=["kind"])
    t.crd(crd("paths.example.com", "bolts", "Bolt", subresources={"status": {}}), keep=[])
    t.crd(crd("paths.example.com", "walls", "Wall", scope="Cluster"), keep=[])
    t.post(f"{GROUP}/namespaces/default/bolts", {"apiVersion": "paths.example.com/v1", "kind": "Bolt", "metadata": {"name": "b"}}, keep=["kind"])
    t.heads = True
    # methods, on everything that a path can name; a body that no kind accepts keeps the objects as they are
    for path in ("/", "/api", "/api/", "/api/v1", "/api/v1/", "/apis", "/apis/", "/apis/apps", "/apis/apps/", "/apis/apps/v1", "/apis/apps/v1/", "/apis/paths.example.com",
                 "/apis/paths.example.com/v1", "/version", "/version/", "/healthz", "/livez/ping", "/openapi", "/openapi/v3", "/openapi/v2", "/metrics", "/logs", "/nothing", "/apis/nothing.example.com/v1/things", "/api/v2/pods",
                 "/openid/v1/jwks", "/.well-known/openid-configuration", "/api/v1/nodes", "/api/v1/pods", f"{CORE}/configmaps", f"{CORE}/configmaps/one", f"{CORE}/configmaps/none",
                 f"{CORE}/configmaps/one/status", f"{CORE}/configmaps/one/nothing", f"{CORE}/nothing", f"{CORE}/pods/none/binding", f"{CORE}/pods/none/eviction", f"{CORE}/pods/none/status", f"{CORE}/pods/none/ephemeralcontainers",
                 f"{CORE}/pods/none/resize", f"{CORE}/bindings", f"{CORE}/serviceaccounts/none/token", "/api/v1/namespaces/default", "/api/v1/namespaces/none/status", "/api/v1/namespaces/none/finalize", "/api/v1/componentstatuses", "/api/v1/componentstatuses/none",
                 "/apis/apps/v1/deployments", "/apis/apps/v1/namespaces/default/deployments/d/scale", "/apis/apps/v1/namespaces/default/deployments/d/rollback", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                 "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews", "/apis/authentication.k8s.io/v1/tokenreviews", "/apis/certificates.k8s.io/v1/certificatesigningrequests/none/approval",
                 f"{GROUP}/bolts", f"{GROUP}/namespaces/default/bolts", f"{GROUP}/namespaces/default/bolts/b", f"{GROUP}/namespaces/default/bolts/b/status", f"{GROUP}/namespaces/default/bolts/b/scale", f"{GROUP}/namespaces/default/bolts/b/nothing",
                 f"{GROUP}/walls", f"{GROUP}/walls/w", f"{GROUP}/namespaces/default/walls", f"{GROUP}/namespaces/default/walls/w", f"{GROUP}/nothing", "/api/v1/watch/pods", f"/api/v1/watch/namespaces/default/configmaps/one", "/api/v1/proxy/pods"):
        for method in METHODS:
            if path == "/metrics" and method not in ("HEAD", "DELETE"):
                continue  # a page of numbers of the moment
            if method == "GET" and (path in ("/metrics", "/openapi/v2", "/openid/v1/jwks") or "/watch/" in path):
                continue
            if method == "DELETE" and path in (f"{CORE}/configmaps", f"{CORE}/configmaps/one", f"{GROUP}/namespaces/default/bolts", f"{GROUP}/namespaces/default/bolts/b", "/api/v1/nodes", "/api/v1/namespaces/default", f"{GROUP}/walls"):
                continue
            t.call(method, path, "{}" if method in ("POST", "PUT", "PATCH") else None, raw=True, keep=["kind", "groupVersion", "name", "major", "metadata.name"],
                   headers={"Content-Type": "application/merge-patch+json"} if method == "PATCH" else None)
    # paths that nobody should write
    for path in ("//", "//api/v1/pods", "/api//v1/pods", "/api/v1//pods", "/api/v1/namespaces//pods", "/api/v1/namespaces/default//configmaps/one", "/api/v1/namespaces/default/configmaps//one", "/api/v1/namespaces/default/configmaps/one/",
                 "/api/v1/namespaces/default/configmaps/", "/api/v1/namespaces/default/configmaps//", "/api/v1/namespaces/default/configmaps/one//", "/api/v1/namespaces/", "/api/v1/namespaces/default/", "/api/v1/pods/", "/api/./v1/pods", "/api/v1/../v1/pods", "/api/v1/namespaces/default/configmaps/..",
                 "/api/v1/namespaces/default/configmaps/.", "/api/v1/namespaces/../pods", "/api/v1/namespaces/default/configmaps/../secrets", "/../api/v1/pods", "/api/v1/namespaces/default/configmaps/%2e%2e", "/api/v1/namespaces/default/configmaps/a%2Fb", "/api/v1/namespaces/default/configmaps/o%6Ee",
                 "/api/v1/namespaces/def%61ult/configmaps/one", "/api/v1/names%70aces/default/configmaps/one", "/api/v1/namespaces/default%2Fconfigmaps/one", "/api/v1/namespaces/default/configmaps%2Fone", "/api%2Fv1/pods", "/api/v1/namespaces/default/configmaps/%00", "/api/v1/namespaces/default/configmaps/%20",
                 "/api/v1/namespaces/default/configmaps/+", "/api/v1/namespaces/default/configmaps/%C3%A9", "/api/v1/namespaces/default/configmaps/" + "n" * 254, "/api/v1/namespaces/default/configmaps/" + "n" * 3000, "/api/v1/namespaces/" + "n" * 300 + "/configmaps", "/API/v1/pods", "/Api", "/api/V1/pods", "/api/v1/Pods",
                 "/api/v1/configMaps", "/api/v1/namespaces/DEFAULT/configmaps", "/api/v1/pod", "/apis/apps/v1/deploy", "/apis/APPS/v1/deployments", "/apis/v1/pods", "/apis//v1/pods", "/apis/apps//deployments", "/apis/apps/v1beta1/deployments", "/apis/apps/v99", "/apis/core/v1/pods", "/apis/paths.example.com/v2/bolts",
                 "/apis/paths.example.com/v2", "/apis/extensions/v1beta1/ingresses", "/api/v1/namespaces/default/pods/none/proxy", "/api/v1/namespaces/default/pods/none/proxy/a/b", "/api/v1/namespaces/default/pods/none/log/extra", "/api/v1/namespaces/default/configmaps/one/status/extra", "/api/v1/namespaces/default/pods/none/status/x",
                 "/api/v1/namespaces/default/status", "/api/v1/namespaces/default/finalize", "/api/v1/namespaces/default/nothing/x", "/api/v1/namespaces/none/nothing", "/api/v1/nodes/none/status", "/api/v1/namespaces/default/nodes/none", "/api/v1/namespaces/default/namespaces", "/api/v1/watch", "/api/v1/watch/", "/api/v1/proxy",
                 "/api/v1/watch/nothing", "/api/v1/namespaces/default/componentstatuses", "/healthz/", "/healthz/etcd", "/healthz/ping/x", "/livez/", "/readyz/etcd", "/readyz/shutdown", "/livez/shutdown", "/healthz/poststarthook/start-apiextensions-informers", "/healthzz", "/readyz/informer-sync", "/livez/informer-sync", "/openapi/v3/", "/openapi/v3/nothing",
                 "/openapi/v3/apis/nothing/v1", "/openapi/v2/", "/openapi/v4", "/swagger.json", "/swaggerapi", "/ui", "/index.html", "/debug/pprof", "/debug/pprof/", "/debug/flags/v", "/logs/", "/metrics/slis", "/statusz", "/flagz", "/apis/metrics.k8s.io/v1beta1/nodes", "/favicon.ico",
                 "/apis/paths.example.com/v1/namespaces/default/bolts/", "/apis/paths.example.com/v1//bolts", "/apis/paths.example.com/v1/bolts/b", "/apis/paths.example.com/v1/namespaces/default/bolts/b/status/x", "/apis/paths.example.com/v1/namespaces/default/bolts//b", "/apis/paths.example.com/v1/namespaces/none/bolts",
                 "/apis/paths.example.com/v1/namespaces/default/Bolts", "/apis/paths.example.com/v1/bolt", "/apis/paths.example.com/v1/namespaces/default", "/apis/paths.example.com/v1/namespaces", "/apis/apps/v1/namespaces", "/apis/apps/v1/namespaces/default", "/api/v1/namespaces/default/bolts"):
        if path in ("/metrics/slis", "/debug/pprof", "/debug/pprof/"):
            continue
        t.call("GET", path, raw=True, keep=["kind", "groupVersion", "name", "metadata.name"])
    for path in ("/api/v1/namespaces/default/configmaps/", "/api/v1//namespaces/default/configmaps", "/api/v1/namespaces//configmaps", f"{GROUP}/namespaces/default/bolts/", f"{GROUP}/namespaces//bolts"):
        t.call("POST", path + "?dryRun=All", cm("two") if "configmaps" in path else {"apiVersion": "paths.example.com/v1", "kind": "Bolt", "metadata": {"name": "two"}}, raw=True, keep=["kind"])
    for path in ("/api/v1/namespaces/default/configmaps/one/", "/api/v1/namespaces/default/configmaps//one", "/api/v1/namespaces/default/configmaps/%6Fne"):
        t.call("PUT", path + "?dryRun=All", cm("one"), raw=True, keep=["kind"])
        t.call("DELETE", path + "?dryRun=All", raw=True, keep=["kind", "status", "details.name"])
