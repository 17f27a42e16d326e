"""Pages beside the API: what the process says of itself, in every form that it can be asked for."""

STATUSZ = "application/json;as=Statusz;g=config.k8s.io;v={}"
FLAGZ = "application/json;as=Flagz;g=config.k8s.io;v={}"
# Of the page with the flags: which they are depends on the server.
META = ["kind", "apiVersion", "metadata"]
FORMS = ("application/json", "application/yaml", "text/plain", "*/*", "text/*", "application/*", "text/html", "application/xml", "text/plain;q=0.5,application/json", "application/json,text/plain;q=0.5", "text/plain; charset=utf-8", "application/vnd.kubernetes.protobuf",
         "application/cbor", "nonsense", "text/html,application/xhtml+xml,*/*;q=0.8", "application/json;pretty=1", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;stream=watch")
METHODS = ("HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def run(t):
    t.heads = True
    t.get("/")
    t.get("/index.html")
    for page, kind in (("/statusz", "Statusz"), ("/flagz", "Flagz")):
        keep = {"keep": META} if kind == "Flagz" else {}
        t.get(page, raw=True, headers={"Accept": ""})
        t.get(page, raw=True, headers={"Accept": " "})
        for accept in FORMS:
            t.get(page, raw=True, accept=accept)
        for form in ("application/json", "application/yaml", "text/plain", "application/vnd.kubernetes.protobuf", "application/cbor", "*/*"):
            for version in ("v1alpha1", "v1beta1", "v1"):
                t.get(page, raw=True, accept=f"{form};as={kind};g=config.k8s.io;v={version}", **keep)
        for accept in (f"application/json;v=v1beta1;g=config.k8s.io;as={'Flagz' if kind == 'Statusz' else 'Statusz'}", f"application/json;v=v1beta1;as={kind}", f"application/json;g=config.k8s.io;as={kind}", "application/json;v=v1beta1;g=config.k8s.io", f"application/json;v=v1alpha1;g=config.k8s.io;as={kind},application/json;v=v1beta1;g=config.k8s.io;as={kind}",
                       f"application/json;v=v1;g=config.k8s.io;as={kind},text/plain", f"application/json;v=v1beta1;g=config.k8s.io;as={kind};pretty=1", f"application/yaml;v=v1beta1;g=config.k8s.io;as={kind};q=0.9,text/plain"):
            t.get(page, raw=True, accept=accept, **({} if accept.endswith("text/plain") else keep))
        for query in ("?pretty=true", "?verbose", "?as=x"):
            t.get(page + query, raw=True, accept="text/plain")
            t.get(page + query, raw=True, accept=f"application/json;as={kind};g=config.k8s.io;v=v1beta1", **keep)
        for method in METHODS:
            t.call(method, page, "{}" if method in ("POST", "PUT", "PATCH") else None, raw=True, accept="text/plain")
        for user, groups in (("nobody", ("system:authenticated",)), ("watcher", ("system:monitoring", "system:authenticated"))):
            t.get(page, accept="text/plain", user=user, groups=groups)
        for path in (page + "/", page + "/x", page + "z"):
            t.get(path, raw=True, accept="text/plain", keep=META)
    for path in ("/debug/flags", "/debug/flags/", "/debug/flags/x", "/debug/flags/v/x", "/debug", "/debug/"):
        t.get(path, raw=True, keep=META)
        for method in METHODS:
            t.call(method, path, "1" if method in ("POST", "PUT", "PATCH") else None, raw=True, keep=META)
    for method in ("GET",) + METHODS:
        for body in ("3", "x", "", "-1", "99999999999", " 2", "0"):
            if method in ("POST", "PUT", "PATCH") or body == "3":
                t.call(method, "/debug/flags/v", body if method in ("POST", "PUT", "PATCH") else None, raw=True, keep=META)
    t.get("/debug/flags/v", user="nobody", groups=("system:authenticated",), keep=META)
    for path in ("/configz", "/metrics/slis/", "/metrics/", "/logs", "/logs/", "/logs/x", "/logs/../x", "/debug/api_priority_and_fairness/", "/debug/api_priority_and_fairness/nothing", "/version/", "/version/x", "/openid", "/openid/v1", "/openid/v1/", "/.well-known", "/.well-known/"):
        t.get(path, raw=True, keep=["paths"] if path in ("/openid",) else META)
        t.get(path, raw=True, accept="text/plain", keep=META)
    for path, keep in (("/version", ["major", "minor"]), ("/.well-known/openid-configuration", ["response_types_supported", "subject_types_supported"]), ("/openid/v1/jwks", ["none"])):
        for accept in ("", *FORMS):
            t.get(path, raw=True, accept=accept, keep=keep)
        for query in ("?pretty=true", "?pretty=false"):
            t.get(path + query, raw=True, keep=keep)
    for page in ("/healthz", "/livez", "/readyz"):
        for accept in ("", *FORMS):
            t.get(page, raw=True, accept=accept)
        for query in ("?verbose", "?verbose=false", "?verbose=0", "?verbose&exclude=etcd", "?exclude=etcd", "?exclude=nothing", "?verbose&exclude=nothing", "?verbose&exclude=b&exclude=a&exclude=etcd&exclude=b", "?verbose&exclude=etcd,log", "?verbose&exclude=", "?allowlist=ping", "?verbose&exclude=poststarthook/rbac/bootstrap-roles", "?verbose&exclude=%22a%20b%22", "?verbose=1&pretty=true",
                      "?exclude=etcd&exclude=ping&verbose=x"):
            t.get(page + query, raw=True)
        for check in ("ping", "log", "etcd", "etcd-readiness", "informer-sync", "shutdown", "loopback-serving-certificate", "poststarthook/rbac/bootstrap-roles", "poststarthook/start-apiextensions-controllers", "poststarthook/nothing", "poststarthook", "poststarthook/", "autoregister-completion", "ping/", "PING", "etcd%20", "poststarthook%2Frbac%2Fbootstrap-roles"):
            t.get(f"{page}/{check}", raw=True)
            t.get(f"{page}/{check}?verbose", raw=True)
            t.get(f"{page}/{check}?exclude={check}", raw=True)
        for method in METHODS:
            t.call(method, page + "/ping", "x" if method in ("POST", "PUT", "PATCH") else None, raw=True)
