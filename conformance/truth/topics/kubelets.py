"""Logs, exec, attach and port-forward of pods: those of no node, of nodes that are not there or not reached, and of some that answer."""
from backend import Backends
from made import CORE, obj
from topics.proxies import answer, json_with

PODS = f"{CORE}/pods"
SPDY = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
SOCKET = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13"}


def pod(t, name, node=None, *containers, **spec):
    containers = containers or ("c",)
    t.post(PODS, obj("v1", "Pod", name, spec={"containers": [{"name": c, "image": "i"} for c in containers], **({"nodeName": node} if node else {}), **spec}), keep=["kind"])


def node(t, name, *addresses, port="${kubelet}", features=()):
    t.post("/api/v1/nodes", obj("v1", "Node", name), keep=["kind"])
    status = {"addresses": [{"type": kind, "address": address} for kind, address in addresses], "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}
    if features:
        status["declaredFeatures"] = list(features)
    t.call("PATCH", f"/api/v1/nodes/{name}/status", json_with({"status": status}, {1: port}), type="application/merge-patch+json", keep=["kind"])


def run(t):
    with Backends() as backends:
        t.serve_backends(backends)
        t.heads = True
        t.get("/api/v1/namespaces/default", keep=["kind"])
        node(t, "n", ("InternalIP", "${outside}"))
        node(t, "near", ("InternalIP", "127.0.0.1"), port="${near}")
        node(t, "gone", ("InternalIP", "${outside}"), port="${gone}")
        node(t, "plain", ("InternalIP", "${outside}"), port="${plain}")
        node(t, "bare")
        node(t, "new", ("InternalIP", "${outside}"), features=["ExtendWebSocketsToKubelet"])
        pod(t, "p", "n")
        pod(t, "near", "near")
        pod(t, "gone", "gone")
        pod(t, "plain", "plain")
        pod(t, "bare", "bare")
        pod(t, "new", "new")
        pod(t, "stray", "no-such-node")
        pod(t, "waiting")
        pod(t, "two", "n", "a", "b", initContainers=[{"name": "i", "image": "i"}])
        logs(t)
        sessions(t)
        methods(t)
        upgrades(t)
        rights(t)


def logs(t):
    base = "containerLogs/default"
    t.serve({f"{base}/p/c": answer("one\ntwo\n", Content_Type="text/plain; charset=x", X_Own="1"), f"{base}/near/c": answer("near\n"), f"{base}/two/b": answer("b\n"), f"{base}/two/i": answer("i\n"), f"{base}/new/c": answer("new\n")})
    for name in ("p", "near", "gone", "plain", "bare", "new", "stray", "waiting", "two", "none"):
        t.get(f"{PODS}/{name}/log")
    for container in ("a", "b", "i", "x", ""):
        t.get(f"{PODS}/two/log?container={container}")
    t.get(f"{PODS}/waiting/log?container=x")
    t.get(f"{PODS}/waiting/log?follow=true")
    t.get(f"{PODS}/none/log?container=x")
    for query in ("follow=true", "follow=0", "follow=maybe", "follow", "previous=true", "timestamps=1", "tailLines=5", "tailLines=-1", "tailLines=x", "tailLines=", "tailLines=99999999999999999999", "tailLines=1&tailLines=2", "limitBytes=3", "limitBytes=0", "limitBytes=x", "sinceSeconds=1", "sinceSeconds=0", "sinceSeconds=-5", "sinceSeconds=x", "sinceTime=2026-01-02T03:04:05Z", "sinceTime=2026-01-02T03:04:05.678%2B02:00", "sinceTime=x", "sinceTime=", "sinceTime=2026-01-02T03:04:05Z&sinceSeconds=1", "stream=Stdout", "stream=Stderr", "stream=All", "stream=", "stream=x", "stream=Stdout&tailLines=1", "tailLines=-1&limitBytes=0&sinceSeconds=0&stream=x", "insecureSkipTLSVerifyBackend=true", "insecureSkipTLSVerifyBackend=x", "unknown=1", "follow=true&previous=true&timestamps=true&sinceSeconds=7&tailLines=1&limitBytes=9&container=c", "dryRun=All", "pretty=true", "timeout=1s", "timeout=x", "limitBytes=9223372036854775807"):
        t.get(f"{PODS}/p/log?{query}")
    t.asked()
    for accept in ("text/plain", "application/yaml", "text/html", "application/vnd.kubernetes.protobuf", "*/*", "application/json;as=Table;v=v1;g=meta.k8s.io"):
        t.get(f"{PODS}/p/log", accept=accept)
        t.get(f"{PODS}/none/log", accept=accept)
        t.get(f"{PODS}/gone/log", accept=accept)
    t.get(f"{PODS}/p/log", headers={"Accept-Encoding": "gzip", "X-Own": "1", "Cookie": "a=b"})
    t.asked()
    for status in ("201 Created", "204 No Content", "206 Partial Content", "207 Multi", "301 Moved Permanently", "302 Found", "400 Bad Request", "401 Unauthorized", "403 Forbidden", "404 Not Found", "405 Method Not Allowed", "409 Conflict", "410 Gone", "413 Too Large", "415 Unsupported", "422 Unprocessable", "429 Too Many Requests", "500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout", "418 Teapot"):
        empty = status[:3] == "204"
        t.serve({f"{base}/p/c": {"raw": f"HTTP/1.1 {status}\r\n\r\n"} if empty else answer(f"why {status[:3]}\n", status, **({"Location": "/elsewhere"} if status[0] == "3" else {}), **({"Retry_After": "7"} if status[:3] in ("429", "503") else {}))})
        t.get(f"{PODS}/p/log")
    t.serve({f"{base}/p/c": answer("", "400 Bad Request")})
    t.get(f"{PODS}/p/log")
    t.serve({f"{base}/p/c": answer("", "404 Not Found")})
    t.get(f"{PODS}/p/log")
    t.serve({f"{base}/p/c": answer("long " * 20000, "400 Bad Request")})
    t.get(f"{PODS}/p/log", keep=["kind"])
    t.serve({f"{base}/p/c": {"raw": "", "then": "close"}})
    t.get(f"{PODS}/p/log")
    t.serve({f"{base}/p/c": {"raw": "not http at all\r\n\r\n", "then": "close"}})
    t.get(f"{PODS}/p/log")
    t.serve({f"{base}/p/c": {"raw": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n4\r\ntwo\n\r\n0\r\n\r\n"}})
    t.get(f"{PODS}/p/log?follow=true")
    t.forget()


def sessions(t):
    """Without an upgrade, and what goes wrong before one."""
    for sub, query in (("exec", "command=ls&stdout=true"), ("attach", "stdout=true"), ("portforward", "ports=80")):
        for name in ("p", "gone", "bare", "stray", "waiting", "two", "none"):
            t.get(f"{PODS}/{name}/{sub}?{query}")
        t.post(f"{PODS}/p/{sub}?{query}", "")
        t.get(f"{PODS}/p/{sub}")
        t.get(f"{PODS}/two/{sub}?container=x&{query}")
        t.get(f"{PODS}/two/{sub}?container=i&{query}")
        t.get(f"{PODS}/p/{sub}?dryRun=All&{query}")
        t.get(f"{PODS}/p/{sub}?stdin=x&tty=maybe&{query}")
        t.get(f"{PODS}/p/{sub}?ports=x&{query}")
        t.get(f"{PODS}/p/{sub}?ports=99999999999&{query}")
        t.get(f"{PODS}/p/{sub}/more?{query}")
    t.forget()


def methods(t):
    for sub in ("log", "exec", "attach", "portforward"):
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"):
            t.call(method, f"{PODS}/waiting/{sub}")
    for sub in ("exec", "log"):
        t.get(f"/api/v1/pods/{sub}")
        t.get(f"/api/v1/namespaces/default/pods/{sub}/{sub}")


def upgrades(t):
    def spdy(text=""):
        return {"raw": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n" + text, "then": "echo"}
    v4 = {**SPDY, "X-Stream-Protocol-Version": "v4.channel.k8s.io"}
    for sub, target, query in (("exec", "exec/default/{}/c", "command=ls&command=-l%20x&stdout=true&stdin=1&stderr=0&tty=false"), ("attach", "attach/default/{}/c", "stdin=true&stdout=true&stderr=true&tty=true"), ("portforward", "portForward/default/{}", "ports=80&ports=443")):
        t.serve({target.format(name): spdy() for name in ("p", "near", "new", "gone", "plain")})
        for name in ("p", "near", "new", "gone", "plain", "bare", "stray", "waiting", "none"):
            t.talk("POST", f"{PODS}/{name}/{sub}?{query}", v4, b"frames of spdy")
        t.talk("GET", f"{PODS}/p/{sub}?{query}", v4, b"got")
        t.talk("POST", f"{PODS}/p/{sub}", v4, b"no options")
        t.talk("POST", f"{PODS}/p/{sub}?{query}&container=c&unknown=1", {**v4, "X-Own": "1", "X-Forwarded-For": "1.2.3.4"}, b"x")
        t.talk("GET", f"{PODS}/new/{sub}?{query}", {**SOCKET, "Sec-WebSocket-Protocol": "v5.channel.k8s.io"}, b"\x82\x00")
        t.talk("GET", f"{PODS}/p/{sub}?{query}", {**SOCKET, "Sec-WebSocket-Protocol": "v4.channel.k8s.io"}, b"\x82\x00")
        t.talk("GET", f"{PODS}/p/{sub}?{query}", {**SPDY, "Upgrade": "own"}, b"anything")
        for status in ("200 OK", "302 Found", "400 Bad Request", "403 Forbidden", "404 Not Found", "500 Internal Server Error"):
            t.serve({target.format("p"): answer(f"why {status[:3]}\n", status, X_Own="1")})
            t.talk("POST", f"{PODS}/p/{sub}?{query}", v4)
        t.serve({target.format("p"): {"raw": "", "then": "close"}})
        t.talk("POST", f"{PODS}/p/{sub}?{query}", v4)
        t.asked()
        # what is translated for those that speak SPDY alone
        kinds = ("v5.channel.k8s.io", "SPDY/3.1+portforward.k8s.io", "v4.channel.k8s.io, v5.channel.k8s.io")
        for name in ("p", "gone", "waiting"):
            for protocol in kinds:
                t.talk("GET", f"{PODS}/{name}/{sub}?{query}", {**SOCKET, "Sec-WebSocket-Protocol": protocol})
        t.serve({target.format("p"): answer("why not\n", "403 Forbidden")})
        for protocol in kinds:
            t.talk("GET", f"{PODS}/p/{sub}?{query}", {**SOCKET, "Sec-WebSocket-Protocol": protocol})
        t.forget()  # kubelets are asked after the answer to a WebSocket


def rights(t):
    R = "/apis/rbac.authorization.k8s.io/v1"
    for name, verbs in (("getter", ["get"]), ("creator", ["create"])):
        t.post(f"{R}/clusterroles", obj("rbac.authorization.k8s.io/v1", "ClusterRole", name, rules=[{"apiGroups": [""], "resources": ["pods/exec", "pods/attach", "pods/portforward", "pods/log"], "verbs": verbs}]), keep=["kind"])
        t.post(f"{R}/clusterrolebindings", obj("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", name, roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}, subjects=[{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}]), keep=["kind"])
    t.settle(1)
    for user in ("getter", "creator", "nobody"):
        for sub in ("exec", "attach", "portforward", "log"):
            for method in ("GET", "POST"):
                t.call(method, f"{PODS}/waiting/{sub}?command=x&stdout=1", user=user)
            t.talk("GET", f"{PODS}/waiting/{sub}?command=x&stdout=1", {**SOCKET, "Sec-WebSocket-Protocol": "v5.channel.k8s.io"}, user=user)
        t.get(f"{PODS}/none/exec?command=x", user=user)
