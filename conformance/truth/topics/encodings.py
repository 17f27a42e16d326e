"""Encodings, both ways: what is accepted, what is written and how, YAML, protobuf, deep documents."""

import json

CM = "/api/v1/namespaces/default/configmaps"
JSON, YAML, PROTO = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
META = ";as={};g=meta.k8s.io;v=v1"
ALL = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TOYS = "/apis/shop.example.com/v1/namespaces/default/toys"
TOY = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "toys.shop.example.com"}, "spec": {
    "group": "shop.example.com", "scope": "Namespaced", "names": {"plural": "toys", "kind": "Toy"}, "versions": [{
        "name": "v1", "served": True, "storage": True, "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}
SCALARS = ["", "1", "-1", "+1", "1.5", ".5", "1.", "1e3", "1e", "0x1f", "0o17", "017", "08", "0b11", "1_000", "1:30", "12:30:45", "true", "True", "tRue", "false", "yes", "Yes", "no", "NO", "on", "off", "y", "n", "Y", "null", "Null", "~", ".inf", "-.Inf",
           ".NaN", "nan", "=", "<<", "2001-01-01", "2001-12-14T21:59:43.10-05:00", "2001-1-1", " lead", "trail ", "a: b", "a:b", "a:", ":a", "a #b", "a#b", "#a", "- x", "-", "-x", "? x", "?", "?x", "@at", "%p", "!t", "&a", "*b", "{a}", "[b]", "a]", "a}", "a, b", ",a", "|", ">", "`",
           "'q'", "\"dq\"", "it's", "a\"b", "two\nlines", "two\nlines\n", "\nleading", "end\n\n", " lead\nline\n", "a\n\n b\n", "tab\there", "\ttab", "a\r\nb", "ünï", "\u0001", "\u2028", "\ufeff", "😀", "---", "...", "--- a", "a " * 60 + "b", "x" * 130, "a\\b", "é\n", "line \nnext\n",
           "%", "a%", "\\", "/", "a  b", "0", "00", "0.0", "1.0", "1e400", "9223372036854775808", "18446744073709551616", "0x", "1__0", "_1", "1_", "-0", "0.", "+.inf", "infinity"]


def varint(n):
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def field(tag, content):
    if isinstance(content, int):
        return varint(tag << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(tag << 3 | 2) + varint(len(content)) + content


def envelope(version, kind, raw, more=b""):
    return b"k8s\0" + field(1, field(1, version) + field(2, kind)) + field(2, raw) + more


def run(t):
    t.post(CM, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "1", "b": ""}, "binaryData": {"x": "AAE="}})
    t.crd(TOY)
    t.post(TOYS, {"apiVersion": "shop.example.com/v1", "kind": "Toy", "metadata": {"name": "t"}, "spec": {"size": 2}, "z": 1, "a": [1, {"y": 1, "b": None}], "f": 1.5})
    accepting(t)
    writing(t)
    reading(t)
    protobuf(t)
    bookmarks(t)
    deep(t)


def accepting(t):
    for accept in (PROTO, PROTO + META.format("Table"), PROTO + META.format("PartialObjectMetadata"), PROTO + META.format("PartialObjectMetadataList"), PROTO + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1",
                   PROTO + ";stream=watch", f"{JSON},{PROTO}", f"{PROTO},{JSON}", PROTO + ";q=0.5," + JSON, PROTO + ";q=0", "application/*", "application/*,text/plain", "text/*,application/json", JSON + ";stream=nothing", YAML + ";stream=watch," + JSON, JSON + ";sv=v1",
                   JSON + ";sv=v2", JSON + ";g=meta.k8s.io", JSON + ";v=v1", JSON + ";as=", JSON + ";as=PartialObjectMetadata;g=apps;v=v1", JSON + '; as="Table"; g=meta.k8s.io; v=v1', "*", "*/json", "APPLICATION/JSON", "application/json/x,application/yaml", "*/*," + YAML, YAML + ";q=x," + JSON,
                   YAML + ";q=0.1," + JSON + ";q=0.2", JSON + ";charset=utf-8", JSON + ";profile=nopeer", JSON + ";x=y=z", ",", YAML + META.format("Table"), JSON + META.format("Table") + "," + PROTO):
        for path in (CM + "/one", CM + "?limit=1&fieldSelector=metadata.name=one", TOYS + "/t", TOYS):
            t.get(path, accept=accept)
    for accept in (PROTO, YAML, "text/plain", "application/*", PROTO + META.format("Table"), JSON + META.format("PartialObjectMetadata"), f"{PROTO},{JSON}", PROTO + ";stream=watch"):
        for path in (CM + "/missing", "/api/v1/nothing", TOYS + "/missing", "/apis/shop.example.com/v1/nothing", CM + "?limit=x", "/version", "/apis/nothing.example.com/v1", "/openid/v1/jwks"):
            t.get(path, accept=accept, **({"keep": ["major"]} if path in ("/version", "/openid/v1/jwks") else {}))
        t.post(CM, {"metadata": {"name": "A"}}, accept=accept)
        t.delete(CM + "/missing", accept=accept)
    for accept in (PROTO, YAML, PROTO + ALL, YAML + ALL, JSON + ALL, f"{JSON},{JSON + ALL}", JSON + ";g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList", "application/*", "text/plain", JSON + META.format("Table"), "*/*"):
        if accept not in (PROTO, YAML):  # which say the address of the server
            t.get("/api", accept=accept, keep=["kind", "apiVersion", "metadata"])
        t.get("/apis/apps", accept=accept, keep=["kind", "apiVersion", "name"])
        t.get("/apis/node.k8s.io/v1", accept=accept, keep=["kind", "apiVersion", "resources"])
    for path in (CM, TOYS):
        for accept in (PROTO, PROTO + ";stream=watch", PROTO + META.format("PartialObjectMetadata"), PROTO + META.format("PartialObjectMetadataList"), PROTO + META.format("Table"), YAML, f"{YAML},{JSON}", f"{PROTO},{JSON}", "application/*"):
            t.get(path + "?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3D" + ("one" if path == CM else "t"), accept=accept)
    t.get(CM + "?watch=true&timeoutSeconds=1&resourceVersion=1", accept=PROTO + "," + JSON + ";q=0.1")
    t.get(TOYS + "/t/scale", accept=PROTO)
    t.get(TOYS + "/t/scale", accept=YAML)
    t.get(TOYS + "/t/scale", accept=JSON + META.format("Table"))


def writing(t):
    pretty = (("", {}), ("?pretty=true", {}), ("?pretty=1", {}), ("?pretty=t", {}), ("?pretty=yes", {}), ("?pretty=0", {"User-Agent": "curl/8"}), ("?pretty=", {"User-Agent": "Mozilla/5.0 (X)"}), ("", {"User-Agent": "Wget/1"}), ("", {"Accept": JSON + ";pretty=1"}), ("", {"Accept": JSON + ";pretty=true"}))
    for query, headers in pretty:
        t.get(CM + "/one" + query, headers=headers, written=True)
    for path in (TOYS + "/t", TOYS, CM + "?fieldSelector=metadata.name=one", CM + "/missing", "/api/v1/nothing", TOYS + "/missing", TOYS + "/t/scale", "/nothing"):
        for query in ("", "pretty=true"):
            t.get(path + ("&" if "?" in path else "?") + query, written=True)
        t.get(path, accept=YAML, written=True)
        t.get(path, accept="text/plain", written=True)
    t.delete(CM + "/missing?pretty=true", written=True)
    t.get(CM + "/one", accept=JSON + META.format("PartialObjectMetadata"), written=True)
    t.get(CM + "/one?watch=true&timeoutSeconds=1", written=True)
    t.get(CM + "?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Done&pretty=true", written=True)
    # scalars and keys, in YAML
    for number in range(0, len(SCALARS), 8):
        values = {f"{name:02}": value for name, value in enumerate(SCALARS[number:number + 8])}
        t.post(CM + "?dryRun=All", {"metadata": {"name": "scalars"}, "data": values}, accept=YAML, written=True, headers={"User-Agent": f"r{number}"})
        t.post(TOYS + "?dryRun=All", {"apiVersion": "shop.example.com/v1", "kind": "Toy", "metadata": {"name": "k"}, "m": {value: 1 for value in values.values() if value not in ("1e", "0x1f", "0o17", "0b11")}, "l": list(values.values())}, accept=YAML, written=True)
    t.post(TOYS + "?dryRun=All", {"apiVersion": "shop.example.com/v1", "kind": "Toy", "metadata": {"name": "k"}, "empty": {}, "none": [], "null": None, "i": -3, "big": 9007199254740993, "f": 0.1, "g": 1e21, "h": 1e-7, "j": 123456789012.5, "b": True,
                                   "nested": [[1, [2, {"a": [3]}]], [], {}, None, "x"], "keys": {"a10": 1, "a9": 1, "A": 1, "b-1": 1, "_x": 1, "x": 1, "1": 1, "10": 1, "9": 1, "é": 1, "a": {"c": {}, "b": []}, "a.b": 1, "a_b": 1, "aB": 1, "a01": 1, "a1": 1}}, accept=YAML, written=True)
    t.post("/apis/apps/v1/namespaces/default/deployments?dryRun=All", deployment("d"), written=True, headers={"User-Agent": "r"})
    t.post("/apis/apps/v1/namespaces/default/deployments?dryRun=All", deployment("d"), accept=YAML, written=True)
    t.post("/api/v1/namespaces/default/configmaps?dryRun=All", {"metadata": {"name": "html"}, "data": {"a": "<b>&\u2028\u2029\u0007\u007f\u00e9\"\\/"}}, written=True)


def deployment(name):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": {"z": "1", "a": "2"}, "annotations": {"b": "x: y", "a": "multi\nline\n"}}, "spec": {
        "selector": {"matchLabels": {"app": "a"}}, "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [
            {"name": "c", "image": "busybox", "command": ["sh", "-c", "echo 'a' > /x\nsleep 1\n"], "ports": [{"containerPort": 80}], "resources": {"limits": {"memory": "1Gi", "cpu": "0.5"}},
             "env": [{"name": "A", "value": "true"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}], "volumes": [{"name": "v", "emptyDir": {}}]}}}}


def reading(t):
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\n"
    for body in (head + "data: {a: b}\n", head + "data: {a: y}\n", head + "data: {a: 1}\n", head + "data: {a: ~}\n", head + "unknown: 1\ndata: {a: b}\nother: {x: 1}\n", head + "data:\n  a: b\n  a: c\n", "a: b\nunknown\n", head + "data: {a: &x b, c: *x}\n", head + "---\na: b\n", "[]", "~", "text", head + "data: {1: b}\n",
                 head + "data: {true: b}\n", head + "data: {a: 2001-01-01}\n", head + "data: {a: 0x10}\n", head + "binaryData: {a: !!binary YQ==}\n", head + "immutable: yes\n", head + "immutable: \"yes\"\n", "%YAML 1.2\n---\n" + head, head + "data: {a: 'x\n\n  y'}\n", "{\"kind\": \"ConfigMap\"," + " \"metadata\": {\"name\": \"y\"}, // c\n}", "\t" + head, head + "data: {? a : b}\n"):
        for validation in ("Strict", "Warn", "Ignore"):
            t.call("POST", f"{CM}?dryRun=All&fieldValidation={validation}", body, type=YAML)
    toy = "apiVersion: shop.example.com/v1\nkind: Toy\nmetadata:\n  name: y\n"
    for body in (toy + "a: y\n", toy + "a: 1.0\nb: 1e3\nc: 0o17\nd: 017\ne: 1_000\nf: .inf\n", toy + "a: 1.0\nb: 1e3\nc: 0o17\nd: 017\ne: 1_000\n", toy + "a: 2001-01-01\nb: 12:30:45\nc: 0b11\nd: +5\ne: -0\n", toy + "a: 1\na: 2\n", toy + "1: a\ntrue: b\n1.5: c\nnull: d\n", toy + "a: 9223372036854775808\n", toy + "a: 18446744073709551616\n",
                 toy + "a: !!str 1\nb: !!int \"2\"\nc: !!float 3\n", toy + "a: |\n  x\n   y\nb: >-\n  p\n  q\n", toy + "a: &x {b: 1}\nc: {<<: *x, d: 2}\n", "kind: Toy\n", toy + "metadata:\n  name: z\n"):
        t.call("POST", TOYS + "?dryRun=All&fieldValidation=Strict", body, type=YAML)
    for kind in ("application/json;charset=utf-8", "application/json; charset=utf-8; x=\"a;b\"", "APPLICATION/JSON", "application/json;", "application/json;charset", "application/json/x", "application/*", "*/*", "application/json, application/yaml", "application/x-yaml", "text/yaml", "application/cbor", "application/json;x=1;x=2", "\"application/json\"", "application/vnd.kubernetes.protobuf;x=y"):
        t.call("POST", CM + "?dryRun=All", {"metadata": {"name": "y"}}, type=kind)
        t.call("PATCH", CM + "/one?dryRun=All", {"data": {"y": "z"}}, type=kind)
        t.call("DELETE", CM + "/one?dryRun=All", {"dryRun": ["All"]}, type=kind)
        if PROTO not in kind:  # of which the handler of defined kinds panics
            t.call("POST", TOYS + "?dryRun=All", {"apiVersion": "shop.example.com/v1", "kind": "Toy", "metadata": {"name": "y"}}, type=kind)
    for kind in ("application/merge-patch+json;charset=utf-8", "APPLICATION/MERGE-PATCH+JSON", "application/merge-patch+json;", "application/merge-patch+json; x", "application/merge-patch+json,", "application/merge-patch+json;x=1;x=2"):
        t.call("PATCH", CM + "/one?dryRun=All", {"data": {"y": "z"}}, type=kind)


def protobuf(t):
    name = lambda text: field(1, field(1, text))
    entry = lambda key, value: field(2, field(1, key) + field(2, value))
    bodies = {
        "whole": envelope("v1", "ConfigMap", name("p") + entry("a", "1")),
        "with more": envelope("v1", "ConfigMap", name("p") + field(99, "x") + field(98, 7), field(9, "x")),
        "zeros": envelope("v1", "ConfigMap", field(1, field(1, "p") + field(2, "") + field(3, "") + field(7, 0) + field(8, b"")) + field(4, 0)),
        "map twice": envelope("v1", "ConfigMap", name("p") + entry("a", "1") + entry("a", "2")),
        "map without a value": envelope("v1", "ConfigMap", name("p") + field(2, field(1, "a"))),
        "map without a key": envelope("v1", "ConfigMap", name("p") + field(2, field(2, "a"))),
        "metadata twice": envelope("v1", "ConfigMap", name("p") + field(1, field(11, field(1, "l") + field(2, "v")))),
        "no kind": envelope("", "", name("p")),
        "no version": envelope("", "ConfigMap", name("p")),
        "another kind": envelope("v1", "Secret", name("p")),
        "another version": envelope("apps/v1", "ConfigMap", name("p")),
        "no such kind": envelope("v1", "Nothing", name("p")),
        "no such group": envelope("nothing.example.com/v1", "Thing", name("p")),
        "bad version": envelope("a/b/c", "ConfigMap", name("p")),
        "JSON inside": envelope("v1", "ConfigMap", json.dumps({"metadata": {"name": "p"}}), field(4, "application/json")),
        "compressed": envelope("v1", "ConfigMap", name("p"), field(3, "gzip")),
        "nothing": b"k8s\0",
        "no magic": field(1, "x"),
        "half": envelope("v1", "ConfigMap", name("p"))[:-3],
        "cut inside": b"k8s\0" + field(1, field(1, "v1") + field(2, "ConfigMap")) + field(2, b"\x0a\x05\x0a"),
        "wrong wire": envelope("v1", "ConfigMap", field(1, 5)),
        "group": envelope("v1", "ConfigMap", name("p") + b"\x1b\x1c"),
        "end of a group": envelope("v1", "ConfigMap", name("p") + b"\x1c"),
        "tag zero": envelope("v1", "ConfigMap", name("p") + b"\x00\x00"),
        "long varint": envelope("v1", "ConfigMap", name("p") + b"\x20" + b"\xff" * 11),
        "not UTF-8": envelope("v1", "ConfigMap", name("p") + entry("a", b"\xff\xfe")),
        "raw missing": b"k8s\0" + field(1, field(1, "v1") + field(2, "ConfigMap")),
        "JSON": b'{"metadata":{"name":"p"}}',
        "empty": b"",
    }
    for about, body in bodies.items():
        t.call("POST", CM + "?dryRun=All", body, type=PROTO, headers={"X-About": about})
    t.call("POST", CM, bodies["whole"], type=PROTO, accept=PROTO)
    t.call("PUT", CM + "/p", envelope("v1", "ConfigMap", name("p") + entry("b", "2")), type=PROTO, accept=PROTO + "," + JSON)
    t.call("PUT", TOYS + "/t/scale", envelope("autoscaling/v1", "Scale", name("t") + field(2, field(1, 3))), type=PROTO, accept=PROTO)
    t.call("PATCH", CM + "/p", bodies["whole"], type=PROTO)
    options = lambda raw: envelope("v1", "DeleteOptions", raw)
    for about, body in (("dry run", options(field(5, "All"))), ("of another group", envelope("meta.k8s.io/v1", "DeleteOptions", field(5, "All"))), ("of a group", envelope("apps/v1", "DeleteOptions", field(5, "All"))),
                        ("preconditions", options(field(2, field(2, "1")))), ("no kind", envelope("", "", field(5, "All"))), ("another kind", envelope("v1", "ConfigMap", b"")), ("broken", options(b"\x0a\x05")), ("not protobuf", b"{}"), ("policy", options(field(4, "Sometime"))), ("both", options(field(3, 1) + field(4, "Orphan")))):
        t.call("DELETE", CM + "/p", body, type=PROTO, headers={"X-About": about})
    t.call("DELETE", TOYS + "/t?dryRun=All", options(field(5, "All")), type=PROTO)
    t.call("DELETE", CM + "?fieldSelector=metadata.name%3Dnothing", options(field(5, "All")), type=PROTO, accept=PROTO)
    t.call("DELETE", CM + "/p", options(field(1, 0)), type=PROTO, accept=PROTO)
    t.call("POST", "/api/v1/namespaces/default/pods/missing/eviction", envelope("policy/v1", "Eviction", name("missing")), type=PROTO, accept=PROTO)
    t.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", envelope("authorization.k8s.io/v1", "SelfSubjectAccessReview", field(2, field(1, field(2, "get") + field(5, "pods")))), type=PROTO, accept=PROTO)
    t.call("POST", "/api/v1/namespaces/default/serviceaccounts", envelope("v1", "ServiceAccount", name("sa")), type=PROTO, accept=PROTO)


def bookmarks(t):
    """What a kind looks like when nothing is set."""
    query = "?watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=nothing%3Dhas"
    discovered = t.server.call("GET", "/apis", headers={"Accept": JSON + ALL}).json()["items"] + t.server.call("GET", "/api", headers={"Accept": JSON + ALL}).json()["items"]
    for group in discovered:
        for version in group["versions"]:
            for resource in version["resources"]:
                if "watch" in resource["verbs"]:
                    name = group["metadata"].get("name")
                    t.get((f"/apis/{name}/" if name else "/api/") + f"{version['version']}/{resource['resource']}{query}")
    for path in ("/api/v1/pods", "/apis/apps/v1/deployments", TOYS, "/api/v1/events"):
        for accept in (JSON + META.format("Table"), JSON + META.format("PartialObjectMetadata"), PROTO, PROTO + META.format("PartialObjectMetadata"), JSON + ";as=Table;g=meta.k8s.io;v=v1beta1"):
            t.get(path + query, accept=accept)
        t.get(path + query + "&includeObject=None", accept=JSON + META.format("Table"))
        t.get(path + query + "&includeObject=Object", accept=JSON + META.format("Table"))


def deep(t):
    """Nesting, which both servers bound by the same number."""
    for levels in (100, 127, 128, 200, 9990, 9999, 10000, 10001, 20000):
        opened, closed = "${[*%d}" % levels, "${]*%d}" % levels
        t.call("POST", CM + "?dryRun=All&fieldValidation=Strict", '{"metadata":{"name":"deep"},"unknown":%s1%s}' % (opened, closed), type=JSON)
        t.call("POST", CM + "?dryRun=All&fieldValidation=Ignore", '{"metadata":{"name":"deep"},"unknown":%s1%s}' % (opened, closed), type=JSON)
        t.call("POST", TOYS + "?dryRun=All", '{"apiVersion":"shop.example.com/v1","kind":"Toy","metadata":{"name":"deep"},"a":%s1%s}' % (opened, closed), type=JSON, keep=["kind"])
        t.call("POST", CM + "?dryRun=All", '{"metadata":{"name":"deep"},"data":%s' % opened, type=JSON)
    for levels in (100, 200, 5000):
        t.call("PATCH", TOYS + "/t?dryRun=All", '{"a":${[*%d}1${]*%d}}' % (levels, levels), type="application/merge-patch+json", keep=["kind"])
        t.call("PATCH", TOYS + "/t?dryRun=All", '[{"op":"add","path":"/a","value":${[*%d}1${]*%d}}]' % (levels, levels), type="application/json-patch+json", keep=["kind"])
        t.call("PATCH", CM + "/one?dryRun=All", '{"unknown":${[*%d}1${]*%d}}' % (levels, levels), type="application/strategic-merge-patch+json", keep=["kind"])
        t.call("PATCH", TOYS + "/t?dryRun=All&fieldManager=m&force=true", '{"apiVersion":"shop.example.com/v1","kind":"Toy","metadata":{"name":"t"},"a":${[*%d}1${]*%d}}' % (levels, levels), type="application/apply-patch+yaml", keep=["kind"])
        t.call("DELETE", CM + "/one", '{"dryRun":["All"],"unknown":${[*%d}1${]*%d}}' % (levels, levels), type=JSON, keep=["kind"])
