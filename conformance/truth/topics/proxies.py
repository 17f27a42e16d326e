"""What is passed on to pods, Services and nodes: whom a path names, what is sent there, and what becomes of the answer."""
import base64
import gzip

from backend import Backends
from made import CORE, obj

HTML = '<!DOCTYPE html>\n<HTML><Head><link href="/style.css"><base href="http://${outside}:${plain}/b/"></head><body background=/img.png>\n<!-- href="/c" --><A HREF=\'/top?x=1&amp;y=2#f\' id=a>t</A><a href="rel/x">r</a><a href="http://other.example.com/x">o</a><a href="//${outside}:${plain}/q">p</a><img src=/i.png alt="a &lt; b" /><script src="/s.js">if (a < b) "/x";</script><form action="/f/" method=post><input src=/i formaction="/g"></form><p title="/no">&copy; & x</p><iframe src="/p/"/><del cite="%zz"></del><video poster="/v" src="/api/v1/namespaces/default/pods/web/proxy/w"></video></body></HTML>\n'


def answer(text="ok\n", status="200 OK", **headers):
    lines = [f"{name.replace('_', '-')}: {one}" for name, value in {"Content_Type": "text/plain", **headers}.items() for one in (value if isinstance(value, list) else [value]) if one is not None]
    return {"raw": "\r\n".join([f"HTTP/1.1 {status}", *lines, "Content-Length: *", "", text])}


def pod(name, address="${outside}", ports=(), **spec):
    ports = [{"containerPort": port, **({"name": label} if label else {})} for port, label in ports]
    return obj("v1", "Pod", name, {"labels": {"app": name}}, spec={"containers": [{"name": "c", "image": "i", **({"ports": ports} if ports else {})}], **spec}), {"status": {"podIP": address, "podIPs": [{"ip": address}]}} if address else None


def make_pod(t, *args, **more):
    body, status = pod(*args, **more)
    t.post(f"{CORE}/pods", body, keep=["kind"])
    if status:
        t.merge(f"{CORE}/pods/{body['metadata']['name']}/status", status, keep=["kind"])


def slice_(name, service, ports, *endpoints, **more):
    return obj("discovery.k8s.io/v1", "EndpointSlice", name, {"labels": {"kubernetes.io/service-name": service}}, addressType="IPv4", endpoints=list(endpoints), ports=ports, **more)


def endpoint(address="${outside}", target="web", ready=None, **more):
    return {"addresses": [address], **({"conditions": {"ready": ready}} if ready is not None else {}), **({"targetRef": {"kind": "Pod", "name": target, "namespace": "default", **more}} if target else {})}


def make_node(t, name, *addresses, port=None, **status):
    t.post("/api/v1/nodes", obj("v1", "Node", name), keep=["kind"])
    endpoints = {"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}} if port else {}
    t.merge(f"/api/v1/nodes/{name}/status", {"status": {"addresses": [{"type": kind, "address": address} for kind, address in addresses], **endpoints, **status}}, keep=["kind"])



def run(t):
    with Backends() as backends:
        t.serve_backends(backends)
        t.heads = True
        t.get("/api/v1/namespaces/default", keep=["kind"])
        make_pod(t, "web")
        make_pod(t, "lonely", None)
        for name, address in (("loop", "127.0.0.1"), ("link", "169.254.1.1"), ("many", "224.0.0.1"), ("loop6", "::1"), ("link6", "fe80::1"), ("none", "0.0.0.0"), ("all", "255.255.255.255")):
            make_pod(t, name, address)
            t.get(f"{CORE}/pods/{name}:80/proxy/x")
        whom(t)
        what(t)
        answers(t)
        pages(t)
        services(t)
        nodes(t)
        upgrades(t)
        rights(t)


def whom(t):
    t.serve({"": answer("root\n"), "x": answer("x\n")})
    base = f"{CORE}/pods"
    for name in ("web:${plain}", "http:web:${plain}", "https:web:${kubelet}", "https:web:${plain}", "web:${kubelet}", "web:${gone}", "https:web:${gone}", "web:", "http:web:", "ftp:web:${plain}", ":${plain}", "::", "a:b:c:d", "web:99999999", "https:web", "none:${plain}", "lonely:${plain}", "lonely", "Web:${plain}", "web%3A${plain}"):
        t.get(f"{base}/{name}/proxy/x")
    t.get("/api/v1/namespaces/none/pods/web:${plain}/proxy/x")
    t.get("/api/v1/pods/web/proxy/x")
    t.get(f"{base}/web/proxy/x?dryRun=All")
    t.asked()


def what(t):
    base = f"{CORE}/pods/web:${{plain}}/proxy"
    t.serve({"a": answer("a\n"), "a/": answer("a/\n"), "a//b": answer("slashes\n"), "a/b": answer("b\n"), "c d": answer("space\n"), "c%20d": answer("space\n"), "status": answer("s\n"), "%C3%A9": answer("e\n"), "a%2Fb": answer("b\n"), "a%3Fb": answer("b\n"), "/": answer("two\n")})
    for path in ("", "?q=1", "/", "//", "/a", "/a/", "/a//b", "/a/b", "/a/./b", "/a/../b", "/../x", "/a%2Fb", "/a%2fb/", "/c%20d", "/%C3%A9", "/a%3Fb", "/a?q=1&q=2&path=z", "/a?q=%zz", "/a?x;y", "/a?q=a+b%20c", "/missing", "/a;b", "/a:b@c", "/a%25b", "/a'b(c)!*$&+,=~"):
        t.get(base + path, raw=True)
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"):
        t.call(method, base + "/a")
        t.call(method, base)
    for method in ("TRACE", "CONNECT", "PROPFIND"):
        t.call(method, base + "/a")
    t.asked()
    t.post(base + "/a", "some text", type="text/plain")
    t.put(base + "/a", {"kind": "Anything"}, type="application/json")
    t.merge(base + "/a", "not json")
    t.delete(base + "/a", "x=y", type="application/x-www-form-urlencoded")
    t.get(base + "/a", headers={"Content-Type": "text/x"}, body="body of get")
    t.asked()
    t.get(base + "/a", headers={"X-Own": "1", "Accept": "text/html", "Accept-Encoding": "br", "User-Agent": "", "Cookie": "a=b", "Referer": "http://r/", "Origin": "http://o", "Range": "bytes=0-1", "If-None-Match": "x"})
    t.get(base + "/a", headers={"Connection": "X-Gone, keep-alive", "X-Gone": "1", "Keep-Alive": "5", "Proxy-Authorization": "secret", "Proxy-Connection": "x", "Te": "trailers", "Trailer": "X", "Upgrade": "h2c"})
    t.get(base + "/a", headers={"X-Forwarded-For": "1.2.3.4", "X-Forwarded-Host": "evil", "X-Forwarded-Proto": "ftp", "X-Forwarded-Uri": "/evil", "Forwarded": "for=1.2.3.4"})
    t.get(base + "/a", headers={"Audit-Id": "own", "X-Remote-User": "root", "X-Remote-Group": "system:masters"})
    t.asked()


def answers(t):
    base = f"{CORE}/pods/web:${{plain}}/proxy"
    t.serve({
        "heads": answer("h\n", X_Own="1", Set_Cookie=["a=1", "b=2"], Access_Control_Allow_Origin="*", Access_Control_Allow_Methods="GET", Access_Control_Allow_Headers="X", Access_Control_Allow_Credentials="true", Access_Control_Expose_Headers="X", Access_Control_Max_Age="1", Server="s", Keep_Alive="timeout=5", Proxy_Authenticate="p", Cache_Control="max-age=5", Audit_Id="theirs", X_Content_Type_Options="sniff", Warning='299 - "theirs"', Connection="X-Gone", X_Gone="1"),
        "none": {"raw": "HTTP/1.1 204 No Content\r\n\r\n"}, "same": {"raw": "HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n"},
        "teapot": answer("short and stout\n", "418 I'm a teapot"), "broken": answer("broken\n", "500 Internal Server Error"), "odd": answer("odd\n", "299 Odd"), "low": answer("low\n", "99 Low"), "high": answer("high\n", "799 High"),
        "refused": answer('{"kind":"Status"}', "403 Forbidden", Content_Type="application/json"), "typeless": answer("<html>\n", Content_Type=None),
        "chunks": {"raw": "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n3\r\none\r\n4\r\ntwo\n\r\n0\r\nX-End: 1\r\n\r\n"},
        "old": {"raw": "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end\n", "then": "close"},
        "empty": {"raw": "", "then": "close"}, "garbage": {"raw": "not http at all\r\n\r\n", "then": "close"}, "half": {"raw": "HTTP/1.1 200 OK\r\nContent-", "then": "close"},
        "zipped": {"raw": "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: *\r\n\r\n", "base64": base64.b64encode(gzip.compress(b"zipped\n", mtime=0)).decode()},
        "unzipped": answer("plain\n", Content_Encoding="gzip")})
    for path in ("heads", "none", "same", "teapot", "broken", "odd", "low", "high", "refused", "typeless", "chunks", "old", "empty", "garbage", "half", "zipped"):
        t.get(f"{base}/{path}")
    t.call("HEAD", f"{base}/zipped")
    t.call("HEAD", f"{base}/heads")
    t.forget()
    places = {"away": "http://other.example.com/x", "abs": "/next", "absdir": "/next/", "rel": "next", "up": "../next", "root": "/", "own": "http://${outside}:${plain}/next?q=1#f", "owns": "https://${outside}:${plain}/next", "own2": "//${outside}:${plain}/next", "query": "?x=1", "inside": f"{CORE}/pods/web:${{plain}}/proxy/x", "bad": "http://[::1/x", "bad2": "/%zz", "blank": "/a%20b/%C3%A9", "server": "https://${server}/next", "mail": "mailto:x@example.com", "dots": "/a/../b/./c//d"}
    t.serve({f"to/{name}": answer("moved\n", "302 Found", Location=place) for name, place in places.items() if name != "server"})
    for name in places:
        if name != "server":
            t.get(f"{base}/to/{name}")
    t.serve({"made": answer("made\n", "201 Created", Location="/made/1", Content_Location="/made/1", Refresh="5; url=/x")})
    t.post(f"{base}/made", "x", type="text/plain")
    t.get(f"{base}/to/own", headers={"Host": "other.example.com"})
    t.serve({"host": answer("host\n", "302 Found", Location="http://front.example.com/next")})
    t.get(f"{base}/host", headers={"Host": "front.example.com"})
    t.asked()


def pages(t):
    base = f"{CORE}/pods/web:${{plain}}/proxy"
    def page(text, kind="text/html; charset=utf-8", **more):
        return answer(text, Content_Type=kind, **more)
    bodies = {"whole": HTML, "cut": '<a href="/x">a</a><a href="/y', "quotes": "<a href='/x\"y' title=\"it's\" data-x>q</a>", "upper": '<A HREF="/X"><IMG SRC="/Y"/>', "twice": '<a href="/1" href="/2">', "raw": '<textarea><a href="/x"></textarea><title><a href="/t"></title><style><a href="/s"></style><script><!--<script><a href="/j"></script>--></script><a href="/after">', "entities": '<a href="/a?b=1&amp;c=2&copy=3&#47;&#x2f;&lt;">e</a><img src="/x" alt="&amp;amp; &quot; &nbsp; &bogus; <>\'&quot;">', "doctype": '<!doctype html><?php <a href="/x"> ?><![CDATA[<a href="/y">]]></a href="/z">', "spaces": "<a\n\thref =\n'/x'\n>x</a\n><a href=/y/>y<br/ ><a / href=/z>", "odd": '<a href="">e</a><a href>n</a><a href=" /x ">s</a><a href="#f">f</a><a href="javascript:x">j</a><a href="/é b">u</a><a href="/a%2Fb">p</a>', "slash": '<a href="/">root</a><a href="/d/">d</a><a href="/a/../b">dots</a><a href="//h/x">h</a>', "lt": "a < b <> <3 <a<b href='/x'> <!> <!-- <a href='/c'> --> <!---> <a href='/d'>"}
    t.serve({f"page/{name}": page(text) for name, text in bodies.items()})
    for name in bodies:
        t.get(f"{base}/page/{name}")
    html = '<a href="/x">x</a>\n'
    t.serve({"xhtml": page(html, "application/xhtml+xml"), "caps": page(html, "Text/HTML"), "spaced": page(html, " text/html ; x=y"), "moved": {**page(html, Location="/y")}, "failed": {"raw": "HTTP/1.1 500 X\r\nContent-Type: text/html\r\nContent-Length: *\r\n\r\n" + html},
             "zip": {"raw": "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: *\r\n\r\n", "base64": base64.b64encode(gzip.compress(html.encode(), mtime=0)).decode()}, "nozip": page(html, Content_Encoding="gzip")})
    for path in ("xhtml", "caps", "spaced", "moved", "failed", "zip"):
        t.get(f"{base}/{path}")
    t.get(f"{base}/nozip", headers={"Accept-Encoding": "gzip"})
    t.call("HEAD", f"{base}/caps")
    t.call("HEAD", f"{base}/page/whole")
    t.forget()


def services(t):
    S = f"{CORE}/services"
    E = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    t.serve({"x": answer("x\n"), "": answer("root\n"), "page": answer('<a href="/x">x</a>\n', Content_Type="text/html"), "to": answer("", "302 Found", Location="/x")})
    make_pod(t, "other", "198.51.100.9")
    t.post(S, obj("v1", "Service", "s", spec={"ports": [{"name": "http", "port": 80, "targetPort": 8080}, {"name": "tls", "port": 443}]}), keep=["kind"])
    t.post(S, obj("v1", "Service", "one", spec={"ports": [{"port": 80}]}), keep=["kind"])
    for name in ("s", "s:80", "s:http", "one", "none", "none:80"):
        t.get(f"{S}/{name}/proxy/x")
    t.post(E, slice_("loop", "one", [{"name": "", "port": 80}], endpoint("127.0.0.1")))
    body = slice_("s-1", "s", [{"name": "http", "port": 1}, {"name": "tls", "port": 2}], endpoint())
    t.call("POST", E, json_with(body, {1: "${plain}", 2: "${kubelet}"}), keep=["kind"])
    t.call("POST", E, json_with(slice_("one-1", "one", [{"name": "", "port": 1}], endpoint()), {1: "${plain}"}), keep=["kind"])
    t.settle(1)
    for name in ("s", "s:80", "s:http", "http:s:http", "https:s:tls", "https:s:443", "s:443", "s:81", "s:nope", "s:-80", "s:080", "s:+80", "s:8080", "one", "one:80", "http:one:", "one:", "https:one:", "ftp:s:http", "a:b:c:d", ":80", "none", "none:80", "none:x"):
        t.get(f"{S}/{name}/proxy/x")
    t.get(f"{S}/s:http/proxy")
    t.get(f"{S}/s:http/proxy/page")
    t.get(f"{S}/s:http/proxy/to")
    t.call("HEAD", f"{S}/one/proxy")
    t.post(f"{S}/one/proxy", "x", type="text/plain")
    t.get("/api/v1/namespaces/none/services/s/proxy")
    def only(*endpoints, ports=None):
        t.call("PUT", f"{E}/one-1", json_with(slice_("one-1", "one", ports or [{"name": "", "port": 1}], *endpoints), {1: "${plain}"}), keep=["kind"])
        t.settle(0.5)
        t.get(f"{S}/one/proxy/x")
    only(endpoint(target=None))
    only(endpoint(target="none"))
    only(endpoint(target="other"))
    only(endpoint(ready=False))
    only(endpoint(ready=True))
    only(endpoint(ready=False), endpoint("198.51.100.1", target="web"), endpoint(ready=True))
    only(endpoint(kind="Node"))
    only(endpoint(namespace="other"))
    only()
    only(endpoint(), ports=[{"port": 1}])
    only(endpoint(), ports=[{"name": "http", "port": 1}])
    only(endpoint(), ports=[])
    t.delete(f"{CORE}/pods/web?gracePeriodSeconds=0", keep=["kind"])
    only(endpoint())
    make_pod(t, "web")
    t.post(S, obj("v1", "Service", "ext", spec={"type": "ExternalName", "externalName": "example.com", "ports": [{"port": 80}]}), keep=["kind"])
    t.get(f"{S}/ext/proxy/x")
    t.get(f"{S}/ext:80/proxy/x")
    t.forget()


def json_with(body, ports):
    """The text of a document with names in the place of some numbers."""
    import json
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    for port, name in ports.items():
        text = text.replace(f'"port":{port}}}', f'"port":{name}}}').replace(f'"Port":{port}}}', f'"Port":{name}}}')
    return text


def nodes(t):
    N = "/api/v1/nodes"
    def node(name, *addresses, port="${kubelet}"):
        t.post(N, obj("v1", "Node", name), keep=["kind"])
        status = {"addresses": [{"type": kind, "address": address} for kind, address in addresses]}
        if port:
            status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": 1}}
        t.call("PATCH", f"{N}/{name}/status", json_with({"status": status}, {1: port}), type="application/merge-patch+json", keep=["kind"])
    t.serve({"x": answer("x\n"), "": answer("root\n"), "pods": answer('{"kind":"PodList"}', Content_Type="application/json"), "to": answer("", "302 Found", Location="/x"), "metrics/": answer("m\n")})
    node("n", ("InternalIP", "${outside}"))
    for name in ("n", "n:${kubelet}", "n:${plain}", "https:n:${plain}", "http:n:${plain}", "http:n:${kubelet}", "https:n:${kubelet}", "https:n:", "http:n:", "n:${gone}", "ftp:n:", "a:b:c:d", ":1", "none", "none:1", "https:none:1"):
        t.get(f"{N}/{name}/proxy/x")
    t.get(f"{N}/n/proxy")
    t.get(f"{N}/n/proxy/")
    t.get(f"{N}/n/proxy/pods?a=b")
    t.get(f"{N}/n/proxy/to")
    t.get(f"{N}/n/proxy/metrics/")
    t.post(f"{N}/n/proxy/x", "body", type="text/plain")
    for method in ("PUT", "DELETE", "HEAD", "OPTIONS"):
        t.call(method, f"{N}/n/proxy/x")
    t.asked()
    node("bare")
    node("loop", ("InternalIP", "127.0.0.1"), port="${near}")
    node("name", ("Hostname", "localhost"), port="${near}")
    node("gone", ("InternalIP", "${outside}"), port="${gone}")
    node("both", ("ExternalIP", "198.51.100.1"), ("InternalIP", "${outside}"), ("InternalIP", "198.51.100.2"))
    node("dns", ("ExternalDNS", "no-such-host.invalid"), ("InternalIP", "${outside}"))
    node("odd", ("Hostname", ""), ("InternalIP", "${outside}"))
    node("other", ("Fancy", "${outside}"))
    node("link", ("InternalIP", "169.254.1.1"))
    node("plainly", ("InternalIP", "${outside}"), port="${plain}")
    for name in ("bare", "loop", "loop:80", "name", "gone", "both", "dns", "odd", "other", "link", "plainly", "http:plainly:${plain}", "plainly:80"):
        t.get(f"{N}/{name}/proxy/x")
    t.forget()


def upgrades(t):
    echo = {"raw": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: own\r\nConnection: Upgrade\r\nX-Own: 1\r\nAccess-Control-Allow-Origin: *\r\n\r\nhello\n", "then": "echo"}
    t.serve({"up": echo, "": echo, "no": answer("no\n"), "bad": answer("bad\n", "400 Bad Request", X_Own="1"), "moved": answer("", "302 Found", Location="/up"), "empty": {"raw": "", "then": "close"}, "garbage": {"raw": "garbage\r\n\r\n", "then": "close"}})
    own = {"Connection": "Upgrade", "Upgrade": "own"}
    base = f"{CORE}/pods/web:${{plain}}/proxy"
    for path in ("/up", "/up?q=1", "", "/", "/no", "/bad", "/moved", "/empty", "/garbage", "/missing"):
        t.talk("GET", base + path, own, b"one two three")
    t.talk("POST", base + "/up", own, b"posted")
    t.talk("GET", base + "/up", {"Connection": "keep-alive, upgrade", "Upgrade": "own", "X-Own": "2", "X-Forwarded-For": "1.2.3.4", "X-Forwarded-Host": "h", "Te": "trailers"}, b"x")
    t.talk("GET", base + "/up", {"Upgrade": "own"}, b"x")
    t.talk("GET", f"{CORE}/pods/web:${{gone}}/proxy/up", own, b"x")
    t.talk("GET", f"{CORE}/pods/https:web:${{kubelet}}/proxy/up", own, b"x")
    t.talk("GET", f"{CORE}/pods/https:web:${{plain}}/proxy/up", own, b"x")
    t.talk("GET", f"{CORE}/pods/none/proxy/up", own, b"x")
    t.talk("GET", "/api/v1/nodes/n/proxy/up", own, b"to a kubelet")
    t.talk("GET", f"{CORE}/services/s:http/proxy/up", own, b"to a service")
    t.asked()


def rights(t):
    R = "/apis/rbac.authorization.k8s.io/v1"
    def role(name, verbs, *resources):
        t.post(f"{R}/clusterroles", obj("rbac.authorization.k8s.io/v1", "ClusterRole", name, rules=[{"apiGroups": [""], "resources": list(resources), "verbs": verbs}]), keep=["kind"])
        t.post(f"{R}/clusterrolebindings", obj("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", name, roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}, subjects=[{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}]), keep=["kind"])
    role("reader", ["get"], "pods/proxy", "services/proxy", "nodes/proxy")
    role("fine", ["get"], "nodes/metrics", "nodes/log", "nodes/healthz", "nodes/pods")
    t.settle(1)
    t.serve({"x": answer("x\n"), "metrics": answer("m\n")})
    for user in ("reader", "fine"):
        for method in ("GET", "POST", "HEAD", "OPTIONS", "DELETE"):
            t.call(method, f"{CORE}/pods/web:${{plain}}/proxy/x", user=user)
            t.call(method, "/api/v1/nodes/n/proxy/x", user=user)
        t.get("/api/v1/nodes/n/proxy/metrics", user=user)
        t.get(f"{CORE}/services/s:http/proxy/x", user=user)
    t.talk("GET", f"{CORE}/pods/web:${{plain}}/proxy/x", {"Connection": "Upgrade", "Upgrade": "own"}, user="reader")
    t.asked()
