"""The server's side of public bug reports, step by step: what `pains` does not reach by creating and touching their inputs."""
from topics.crd import C, crd, version

W = "/apis/demo.example.com/v1/namespaces/default/widgets"
M = "/api/v1/namespaces/default/configmaps"
SIZE = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}, "tier": {"type": "string"}}}, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}


def widgets(**more):
    return crd("widgets", "Widget", group="demo.example.com", **{"versions": [version(schema=SIZE, subresources={"status": {}})], **more})


def widget(name="a", spec=None, api="demo.example.com/v1", **more):
    return {"apiVersion": api, "kind": "Widget", "metadata": {"name": name, **more.pop("metadata", {})}, **({} if spec is None else {"spec": spec}), **more}


def map_(name, **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more.pop("metadata", {})}, **more}


def gone(t, name="widgets.demo.example.com"):
    t.delete(f"{C}/{name}", keep=["kind"])
    t.server.delete_crd(name)
    t.settle(1)


def run(t):
    for scene in (versions, dead_conversion, ghosts, ratchets, numbers, sizes, ownership, deployments, webhook_configuration, conflicts, finalizers, owners, events, names, watching, memory, tokens, installing):
        scene(t)
    t.about = None


def versions(t):
    """P001, P004, P005, P022: versions that come and go, and what is stored in them."""
    t.about = "P001"
    two = SIZE
    one = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    t.crd(widgets(versions=[version("v1", storage=False, schema=one), version("v2", schema=two)]))
    V2 = W.replace("/v1/", "/v2/")
    t.post(V2, widget(spec={"size": 1, "tier": "gold"}, api="demo.example.com/v2"))
    t.get(W + "/a", save={"rv": "metadata.resourceVersion"})
    t.put(W + "/a", widget(spec={"size": 2}, metadata={"resourceVersion": "${rv}"}))
    t.get(V2 + "/a")
    t.merge(V2 + "/a", {"spec": {"tier": "gold"}})
    t.merge(W + "/a", {"spec": {"size": 3}})
    t.get(V2 + "/a")
    t.about = "P004"
    t.merge(C + "/widgets.demo.example.com", {"spec": {"versions": [version("v1", schema=one), version("v2", storage=False, schema=two)]}}, keep=["status"])
    t.get(C + "/widgets.demo.example.com", keep=["status"])
    t.merge(C + "/widgets.demo.example.com", {"spec": {"versions": [version("v1", schema=one)]}}, keep=["status"])
    t.merge(C + "/widgets.demo.example.com/status", {"status": {"storedVersions": ["v1"]}}, keep=["status"])
    t.merge(C + "/widgets.demo.example.com", {"spec": {"versions": [version("v1", schema=one)]}}, keep=["status"])
    t.settle(2)
    t.get(W + "/a")
    t.about = "P005"
    t.apply(C + "/widgets.demo.example.com", widgets(versions=[version("v1", schema=one), version("v2", storage=False, schema=two)]), manager="gitops", force=True, keep=["status"])
    t.json_patch(C + "/widgets.demo.example.com", [{"op": "replace", "path": "/spec/versions/0/storage", "value": False}], keep=["status"])
    t.json_patch(C + "/widgets.demo.example.com", [{"op": "replace", "path": "/spec/versions/0/storage", "value": False}, {"op": "replace", "path": "/spec/versions/1/storage", "value": True}], keep=["status"])
    t.apply(C + "/widgets.demo.example.com", widgets(versions=[version("v1", schema=one), version("v2", storage=False, schema=two)]), manager="gitops", keep=["status"])
    t.about = "P022"
    t.apply(C + "/widgets.demo.example.com", widgets(versions=[version("v1", schema=one)]), manager="older", force=True, keep=["status"])
    gone(t)


def dead_conversion(t):
    """P007, P008, P136: a definition that still names a conversion webhook that is gone."""
    dead = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"service": {"namespace": "widget-system", "name": "gone", "path": "/convert"}}}}
    t.about = "P008"
    t.crd(widgets(versions=[version("v1", storage=False, schema=SIZE, subresources={"status": {}}), version("v2", schema=SIZE, subresources={"status": {}})], conversion=dead))
    V2 = W.replace("/v1/", "/v2/")
    t.post(V2, widget(spec={"size": 1}, api="demo.example.com/v2"))
    t.get(V2 + "/a")
    t.get(W + "/a")
    t.get(W)
    t.get("/apis/demo.example.com/v1/widgets?limit=1")
    t.get(W, accept="application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
    t.get(W, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    t.post(W, widget("b", spec={"size": 1}))
    t.merge(W + "/a", {"spec": {"size": 2}})
    t.apply(W + "/a", widget(spec={"size": 3}))
    t.merge(W + "/a/status", {"status": {"x": 1}})
    t.delete(W + "/a")
    t.delete(W)
    t.post(V2, widget("c", spec={"size": 1}, api="demo.example.com/v2", metadata={"ownerReferences": [{"apiVersion": "demo.example.com/v1", "kind": "Widget", "name": "a", "uid": "11111111-1111-1111-1111-111111111111"}]}))
    t.about = "P136"
    t.merge(C + "/widgets.demo.example.com", {"spec": {"versions": [version("v1", schema=SIZE), version("v2", storage=False, schema=SIZE)]}}, keep=["status"])
    t.settle(2)
    t.get(V2 + "/a")
    t.merge(V2 + "/a", {"spec": {"size": 2}})
    t.delete(V2 + "/a", keep=["kind"])
    t.merge(C + "/widgets.demo.example.com", {"spec": {"conversion": {"strategy": "None", "webhook": None}}}, keep=["status"])
    t.settle(2)
    t.get(W + "/a")
    t.get(V2 + "/c")
    gone(t)


def ghosts(t):
    """P016, P014, P071: definitions that go while there are objects."""
    t.about = "P016"
    t.crd(widgets())
    t.post(W, widget(spec={"size": 1}, metadata={"finalizers": ["demo.example.com/nobody"]}))
    t.delete(C + "/widgets.demo.example.com", keep=["kind"])
    t.settle(2)
    t.get(C + "/widgets.demo.example.com", keep=["status"])
    t.get(W + "/a")
    t.post(W, widget("late"))
    t.merge(W + "/a", {"metadata": {"finalizers": ["demo.example.com/nobody", "demo.example.com/other"]}})
    t.merge(C + "/widgets.demo.example.com", {"metadata": {"finalizers": None}}, keep=["kind"])
    t.settle(2)
    t.get(C + "/widgets.demo.example.com", keep=["status"])
    t.about = "P071"
    t.get(W)
    t.get(W + "/a")
    t.get("/apis/demo.example.com")
    t.about = "P016"
    t.crd(widgets())
    t.get(W + "/a")
    t.post(W, widget("new"))
    t.merge(W + "/a", {"metadata": {"finalizers": None}})
    t.get(W, keep=["kind"])
    t.about = "P014"
    t.delete(C + "/widgets.demo.example.com?propagationPolicy=Orphan", keep=["kind"])
    t.settle(7)
    t.crd(widgets())
    t.get(W + "/new")
    gone(t)


def ratchets(t):
    """P010, P011, P026, P029, P031, P032, P034: schemas that become strict, status writes, nulls, rules."""
    t.about = "P010"
    loose = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"mode": {"type": "string", "pattern": "^[a-z]+$"}}}, "status": {"type": "object", "properties": {"phase": {"type": "string"}, "message": {"type": "string"}}}}}
    strict = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"mode": {"type": "string", "enum": ["on", "off"]}}}, "status": {"type": "object", "required": ["message"], "properties": {"phase": {"type": "string", "enum": ["Up"]}, "message": {"type": "string"}}}}}
    sub = {"status": {}}
    t.crd(widgets(versions=[version(schema=loose, subresources=sub)]))
    t.post(W, widget(spec={"mode": "auto"}, metadata={"finalizers": ["demo.example.com/f"]}))
    t.merge(W + "/a/status", {"status": {"phase": "Old"}})
    t.merge(C + "/widgets.demo.example.com", {"spec": {"versions": [version(schema=strict, subresources=sub)]}}, keep=["kind"])
    t.settle(2)
    t.merge(W + "/a", {"metadata": {"labels": {"x": "y"}}})
    t.merge(W + "/a/status", {"status": {"phase": "Old"}})
    t.merge(W + "/a/status", {"status": {"message": "m"}})
    t.merge(W + "/a/status", {"status": {"phase": "Up", "message": "m"}})
    t.about = "P011"
    t.merge(W + "/a/status", {"status": {"message": None}})
    t.merge(W + "/a", {"metadata": {"finalizers": None}})
    t.delete(W + "/a", keep=["kind"])
    t.about = "P026"
    t.post(W, widget("b", spec={"mode": "on"}))
    t.merge(W + "/b/status", {"status": {"message": "m", "observedGeneration": 1, "conditions": [{"type": "Ready"}]}})
    t.merge(W + "/b/status?fieldValidation=Strict", {"status": {"message": "m", "observedGeneration": 1}})
    gone(t)
    t.about = "P029"
    typed = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "string"}}, "map": {"type": "object", "additionalProperties": {"type": "string"}}, "object": {"type": "object", "properties": {"a": {"type": "string"}}}, "nullable": {"type": "array", "nullable": True, "items": {"type": "string"}}, "def": {"type": "array", "items": {"type": "string"}, "default": ["x"]}, "items": {"type": "array", "items": {"type": "string"}}}}}}
    t.crd(widgets(versions=[version(schema=typed)]))
    for spec in ({"list": None}, {"map": None}, {"object": None}, {"nullable": None}, {"def": None}, {"items": [None]}, {"map": {"a": None}}, {"object": {"a": None}}):
        t.post(W + "?dryRun=All", widget(spec=spec))
        t.apply(W + "/n?dryRun=All", widget("n", spec=spec))
    gone(t)
    t.about = "P031"
    rule = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"x-kubernetes-int-or-string": True, "x-kubernetes-validations": [{"rule": "self != '0'"}]}}}}}
    t.crd(widgets(versions=[version(schema=rule)]))
    for size in (0, "0", 1, "1", "0%"):
        t.post(W + "?dryRun=All", widget(spec={"size": size}))
    gone(t)
    t.about = "P032"
    for bound in ({}, {"maxItems": 10}, {"maxItems": 1000}, {"maxItems": 100000}):
        for text in ({}, {"maxLength": 64}):
            items = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"list": {"type": "array", **bound, "items": {"type": "object", "properties": {"s": {"type": "string", **text}}}, "x-kubernetes-validations": [{"rule": "self.all(x, self.exists_one(y, y.s == x.s))"}]}}}}}
            t.post(C + "?dryRun=All", widgets(versions=[version(schema=items)]), keep=["kind"])
    t.about = "P034"
    for protocol in ({"type": "string"}, {"type": "string", "default": "TCP"}):
        ports = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["containerPort", "protocol"], "items": {"type": "object", "required": ["containerPort"], "properties": {"containerPort": {"type": "integer"}, "protocol": protocol}}}}}}}
        t.post(C + "?dryRun=All", widgets(versions=[version(schema=ports)]), keep=["kind"])
    t.about = "P017"
    for short in (["widgets"], ["widget"], ["wd", "wd"]):
        t.crd(widgets(names={"shortNames": short}))
        t.get(C + "/widgets.demo.example.com", keep=["status"])
        t.merge(C + "/widgets.demo.example.com", {"metadata": {"labels": {"again": "yes"}}}, keep=["kind"])
        t.settle(1)
        t.get(C + "/widgets.demo.example.com", keep=["status"])
        gone(t)
    t.about = "P019"
    for meta in ({}, {"annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1"}}, {"annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}}, {"annotations": {"api-approved.kubernetes.io": "yes"}}):
        t.post(C + "?dryRun=All", crd("widgets", "Widget", group="demo.k8s.io", meta=meta), keep=["status"])
    t.about = "P028"
    for default in ({"person": None}, {"person": {}}, {}, None):
        t.post(C + "?dryRun=All", widgets(versions=[version(schema={"type": "object", "properties": {"spec": {"type": "object", "default": default, "properties": {"person": {"type": "object", "properties": {"name": {"type": "string"}}}}}}})]), keep=["kind"])
    t.about = "P035"
    for enum in ({"oneOf": [{"type": "string", "enum": ["a"], "description": "A"}, {"type": "string", "enum": ["b"]}]}, {"anyOf": [{"type": "string"}, {"enum": [None], "nullable": True}]}, {"oneOf": [{"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}, {"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}}}]}, {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}):
        t.post(C + "?dryRun=All", widgets(versions=[version(schema={"type": "object", "properties": {"spec": enum}})]), keep=["kind"])


def numbers(t):
    """P013, P037, P038, P050: numbers and YAML."""
    t.about = "P037"
    t.crd(widgets(versions=[version(schema={"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer", "format": "int64"}, "f": {"type": "number"}, "i": {"type": "integer", "format": "int32"}}}}})]))
    for n in (9007199254740993, 9223372036854775807, -9223372036854775808):
        t.post(W + "?dryRun=All", widget(spec={"n": n, "f": n}))
    for text in ("9223372036854775808", "1e3", "1.0", "1.5", "-0", "0.1e1", "12345678901234567890123"):
        t.post(W + "?dryRun=All", '{"apiVersion":"demo.example.com/v1","kind":"Widget","metadata":{"name":"n"},"spec":{"n":%s,"f":%s,"i":%s}}' % (text, text, text))
        t.call("POST", W + "?dryRun=All", "apiVersion: demo.example.com/v1\nkind: Widget\nmetadata: {name: n}\nspec: {n: %s, f: %s, i: %s}\n" % (text, text, text), type="application/yaml")
    gone(t)
    t.about = "P013"
    t.post(C + "?dryRun=All", widgets(versions=[version(schema={"type": "object", "properties": {"spec": {"type": "number", "minimum": 1, "maximum": 10, "multipleOf": 2}}})]), keep=["spec"])
    t.post(C + "?dryRun=All", widgets(versions=[version(schema={"type": "object", "properties": {"spec": {"type": "number", "minimum": 1.5, "maximum": 10.25, "multipleOf": 0.5}}})]), keep=["spec"])
    t.about = "P038"
    frag = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.demo.example.com}
spec:
  group: demo.example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          matchType: {type: string, enum: ['!=', =, =~, '!~']}
          traps: {x-kubernetes-preserve-unknown-fields: true}
"""
    t.call("POST", C, frag, type="application/yaml", keep=["spec"])
    t.wait_served("widgets.demo.example.com")
    for value in ("=", "'='", "=~", "on", "'on'", "~"):
        t.call("POST", W + "?dryRun=All", f"apiVersion: demo.example.com/v1\nkind: Widget\nmetadata: {{name: m}}\nmatchType: {value}\n", type="application/yaml")
    traps = ("on", "off", "yes", "No", "y", "n", "true", "True", "0755", "0o755", "0x1F", "1e3", "1_000", "2024-01-01", "12:30:45", "~", "null", "Null", ".inf", "-.INF", ".nan", "1.", ".5", "+1", "0b11", "<<", "!!str 5", "!!int '5'", "'5'", "|\n  a\n  b", ">\n  a\n  b")
    for value in traps:
        t.call("POST", W + "?dryRun=All", f"apiVersion: demo.example.com/v1\nkind: Widget\nmetadata: {{name: m}}\ntraps: {value}\n", type="application/yaml")
    gone(t)
    t.about = "P050"
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": {"cpu": 2.5, "memory": "1.5Gi"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "quantities"}, "spec": {"containers": [container]}}
    t.post("/api/v1/namespaces/default/pods", pod, keep=["spec"])
    t.apply("/api/v1/namespaces/default/pods/quantities?dryRun=All", pod, keep=["metadata"])
    t.apply("/api/v1/namespaces/default/pods/quantities?dryRun=All", {**pod, "spec": {"containers": [{**container, "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2500m", "memory": "1536Mi"}}}]}}, manager="other", keep=["metadata"])
    t.apply("/api/v1/namespaces/default/pods/quantities?dryRun=All", {**pod, "spec": {"containers": [{**container, "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}]}}, manager="other", keep=["metadata"])
    t.delete("/api/v1/namespaces/default/pods/quantities", {"gracePeriodSeconds": 0}, keep=["kind"])


def sizes(t):
    """P040, P041: objects that are too large."""
    t.about = "P040"
    t.crd(widgets())
    t.post(W, widget(spec={"size": 1}, metadata={"finalizers": ["demo.example.com/f"], "annotations": {"last": "${x*200000}"}}), keep=["kind"])
    t.merge(W + "/a", {"metadata": {"annotations": {"more": "${y*70000}"}}})
    t.merge(W + "/a", {"metadata": {"annotations": {"more": "${y*70000}"}, "finalizers": None}})
    t.merge(W + "/a", {"metadata": {"annotations": {"last": "${x*262140}"}}}, keep=["kind"])
    t.merge(W + "/a", {"metadata": {"annotations": {"last": "${x*262141}"}}}, keep=["kind"])
    t.merge(W + "/a", {"metadata": {"finalizers": None}}, keep=["kind"])
    for meta in ({"labels": {"a b": "c"}}, {"annotations": {"a b": "c"}}, {"finalizers": ["x y"]}, {"ownerReferences": [{"apiVersion": "v1", "kind": "", "name": "", "uid": ""}]}, {"labels": {"a": "b c"}, "finalizers": ["x y"]}):
        t.merge(W + "/a?dryRun=All", {"metadata": meta})
        t.post(W + "?dryRun=All", widget("new", metadata=meta))
        t.merge(W + "/a/status?dryRun=All", {"metadata": meta})
    t.get(W + "/a")
    t.about = "P041"
    for size in (1000000, 1500000, 1600000):
        t.merge(W + "/a/status", {"status": {"log": "${z*%d}" % size}}, keep=["kind"])
    t.merge(W + "/a/status", {"status": {"log": "short"}}, keep=["kind"])
    t.post(M, map_("big", data={"a": "${x*1048577}"}))
    t.post(M, map_("big", data={"a": "${x*1048000}"}), keep=["kind"])
    t.post(W, widget("huge", status={}, metadata={"annotations": {"a": "${x*3200000}"}}))
    gone(t)


def ownership(t):
    """P043, P044, P133: who owns what."""
    t.about = "P044"
    t.crd(widgets())
    t.apply(W + "/s", widget("s", spec={"size": 1}, status={"phase": "Up"}), manager="user")
    t.apply(W + "/s/status", widget("s", status={"phase": "Up"}), manager="operator")
    t.apply(W + "/s", widget("s", spec={"size": 1}, status={"phase": "Down"}), manager="user")
    t.get(W + "/s")
    t.about = "P043"
    t.put(W + "/s?fieldManager=defaulter", {"apiVersion": "demo.example.com/v1", "kind": "Widget", "metadata": {"name": "s", "resourceVersion": "0"}, "spec": {"size": 1, "tier": "low"}})
    t.merge(W + "/s?fieldManager=defaulter", {"spec": {"size": 2, "tier": "low"}})
    t.apply(W + "/s", widget("s", spec={"size": 1, "tier": "low"}), manager="user")
    t.apply(W + "/s", widget("s", spec={"size": 2}), manager="user")
    t.about = "P133"
    t.apply(W + "/s", widget("s", spec={"tier": "high"}), manager="hand", force=True)
    t.apply(W + "/s", widget("s", spec={}), manager="user")
    t.get(W + "/s")
    gone(t)


def deployments(t):
    """P046, P047, P049, P055, P128: built-in kinds under apply."""
    D = "/apis/apps/v1/namespaces/default/deployments"
    ports = [{"containerPort": 80, "protocol": "TCP", "name": "a"}, {"containerPort": 80, "protocol": "TCP", "name": "b"}]

    def deployment(name="d", container=None, **spec):
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"a": name}}, "template": {"metadata": {"labels": {"a": name}}, "spec": {"containers": [{"name": "c", "image": "i", **(container or {})}], **spec}}}}
    t.about = "P046"
    t.post(D + "?fieldManager=maker", deployment(container={"ports": ports, "env": [{"name": "X", "value": "1"}, {"name": "X", "value": "2"}]}), keep=["metadata", "spec"])
    t.apply(D + "/d", deployment(container={"ports": ports[:1]}), manager="applier")
    t.apply(D + "/d", deployment(container={"ports": ports}), manager="applier", force=True)
    t.apply(D + "/d", deployment(container={"env": [{"name": "X", "value": "3"}]}), manager="applier", force=True, keep=["metadata", "spec"])
    t.strategic(D + "/d", {"spec": {"template": {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 8080}]}]}}}}, keep=["spec"])
    t.strategic(D + "/d", {"spec": {"template": {"spec": {"containers": [{"name": "c", "env": [{"name": "X", "$patch": "delete"}]}]}}}}, keep=["spec"])
    t.about = "P047"
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    t.apply(D + "/e", deployment("e", topologySpreadConstraints=[spread]), keep=["spec"])
    t.apply(D + "/e", deployment("e", topologySpreadConstraints=[{**spread, "whenUnsatisfiable": "ScheduleAnyway"}]), keep=["spec"])
    t.apply(D + "/e", deployment("e", topologySpreadConstraints=[spread, spread]))
    t.merge(D + "/e?fieldManager=hand", {"spec": {"template": {"spec": {"topologySpreadConstraints": [{**spread, "maxSkew": 2}, {**spread, "whenUnsatisfiable": "ScheduleAnyway"}]}}}}, keep=["spec"])
    t.apply(D + "/e", deployment("e", topologySpreadConstraints=[{**spread, "whenUnsatisfiable": "ScheduleAnyway"}]), force=True, keep=["spec"])
    t.about = "P049"
    S = "/apis/apps/v1/namespaces/default/statefulsets"
    sts = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"}, "spec": {"serviceName": "s", "selector": {"matchLabels": {"a": "s"}}, "template": {"metadata": {"labels": {"a": "s"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}
    t.apply(S + "/s", sts)
    t.apply(S + "/s", sts)
    t.put(S + "/s", sts)
    t.about = "P055"
    for spec in ({"serviceName": "other"}, {"podManagementPolicy": "Parallel"}, {"selector": {"matchLabels": {"a": "t"}}}, {"volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}, {"replicas": 2, "revisionHistoryLimit": 3}):
        t.merge(S + "/s?dryRun=All", {"spec": spec}, keep=["spec"])
    t.delete(S + "/s", {"propagationPolicy": "Foreground"})
    t.get(S + "/s", keep=["metadata"])
    t.post(S, sts)
    t.delete(S + "/s", {"propagationPolicy": "Foreground"}, keep=["kind"])
    t.merge(S + "/s", {"metadata": {"finalizers": None}}, keep=["kind"])
    t.about = "P128"
    for data in ({"labels": None}, {"labels": {}}, {"annotations": {}}):
        t.apply(M + "/child", {**map_("child", metadata=data, data={"a": "1"}), "binaryData": None}, manager="hook")
    t.put(M + "/child", {**map_("child", metadata={"labels": {}}, data={"a": "1"}), "binaryData": {}})
    for plural in ("deployments/d", "deployments/e"):
        t.delete(f"/apis/apps/v1/namespaces/default/{plural}", keep=["kind"])


def webhook_configuration(t):
    """P056, P094, P095, P097: configurations that several write, and bundles that are none."""
    V = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    hook = {"name": "w.demo.example.com", "clientConfig": {"service": {"namespace": "widget-system", "name": "gone"}}, "rules": [{"operations": ["*"], "apiGroups": ["demo.example.com"], "apiVersions": ["*"], "resources": ["widgets"]}], "sideEffects": "None", "admissionReviewVersions": ["v1"]}
    conf = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "w"}, "webhooks": [hook]}
    t.about = "P056"
    t.post(V, conf, save={"rv": "metadata.resourceVersion"})
    t.merge(V + "/w", {"metadata": {"labels": {"by": "one"}}})
    t.put(V + "/w", {**conf, "metadata": {"name": "w", "resourceVersion": "${rv}", "labels": {"by": "two"}}})
    t.about = "P094"
    for bundle in ("", "YQ==", "bm90IGEgY2VydA==", "!!", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K"):
        t.json_patch(V + "/w?dryRun=All", [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle}])
        t.post(C + "?dryRun=All", widgets(conversion={"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://x.example.com", "caBundle": bundle}}}), keep=["status"])
    t.about = "P095"
    t.json_patch(V + "/w", [{"op": "replace", "path": "/webhooks/0/rules/0", "value": {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}}])
    t.settle(1.5)
    t.post(M + "?dryRun=All", map_("guarded"))
    t.post("/api/v1/namespaces/kube-system/configmaps?dryRun=All", map_("guarded"))
    t.json_patch(V + "/w", [{"op": "add", "path": "/webhooks/0/namespaceSelector", "value": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]}}])
    t.settle(1.5)
    t.post("/api/v1/namespaces/kube-system/configmaps?dryRun=All", map_("guarded"))
    t.post(M + "?dryRun=All", map_("guarded"))
    t.about = "P097"
    t.json_patch(V + "/w", [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}])
    t.settle(1.5)
    t.post(M + "?dryRun=All", map_("guarded"))
    t.delete(V + "/w", keep=["kind"])
    t.settle(1.5)


def conflicts(t):
    """P053, P058, P082: writers that have not seen what the others wrote."""
    t.about = "P058"
    t.crd(widgets())
    t.post(W, widget(spec={"size": 1}), save={"rv": "metadata.resourceVersion", "uid": "metadata.uid"})
    t.merge(W + "/a", {"spec": {"size": 2}})
    t.put(W + "/a", widget(spec={"size": 3}, metadata={"resourceVersion": "${rv}"}))
    t.merge(W + "/a", {"metadata": {"resourceVersion": "${rv}"}, "spec": {"size": 3}})
    t.json_patch(W + "/a", [{"op": "replace", "path": "/metadata/resourceVersion", "value": "${rv}"}])
    t.apply(W + "/a", widget(spec={"size": 4}, metadata={"resourceVersion": "${rv}"}), force=True)
    t.merge(W + "/a/status", {"metadata": {"resourceVersion": "${rv}"}, "status": {"x": 1}})
    t.delete(W + "/a", {"preconditions": {"uid": "11111111-1111-1111-1111-111111111111"}})
    t.about = "P053"
    t.merge(W + "/a/status", {"status": {"seen": "1"}})
    t.merge(W + "/a/status", {"status": {"seen": "1"}})
    t.merge(W + "/a/status", {"status": {"seen": "2"}})
    t.about = "P082"
    t.merge(W + "/a", {"metadata": {"finalizers": ["demo.example.com/one", "demo.example.com/two"]}})
    t.json_patch(W + "/a", [{"op": "test", "path": "/metadata/finalizers/0", "value": "demo.example.com/two"}, {"op": "remove", "path": "/metadata/finalizers/0"}])
    t.json_patch(W + "/a", [{"op": "remove", "path": "/metadata/finalizers/5"}])
    t.json_patch(W + "/a", [{"op": "test", "path": "/metadata/finalizers/0", "value": "demo.example.com/one"}, {"op": "remove", "path": "/metadata/finalizers/0"}])
    t.merge(W + "/a", {"metadata": {"finalizers": ["demo.example.com/one"]}})
    t.apply(W + "/a", widget(metadata={"finalizers": ["demo.example.com/three"]}), manager="three")
    t.apply(W + "/a", widget(), manager="three")
    t.merge(W + "/a", {"metadata": {"finalizers": None}})
    gone(t)


def finalizers(t):
    """P079, P080, P083, P098: objects that cannot go."""
    t.about = "P098"
    rule = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"ref": {"type": "string"}}, "x-kubernetes-validations": [{"rule": "self.ref != 'gone'"}]}}}
    t.crd(widgets())
    t.post(W, widget(spec={"size": 1, "tier": "gone"}, metadata={"finalizers": ["demo.example.com/f"]}))
    rule["properties"]["spec"]["properties"] = {"size": {"type": "integer", "minimum": 5}, "tier": {"type": "string"}}
    rule["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": "self.tier != 'gone'", "message": "the tier is gone"}]
    t.merge(C + "/widgets.demo.example.com", {"spec": {"versions": [version(schema=rule, subresources={"status": {}})]}}, keep=["kind"])
    t.settle(2)
    t.delete(W + "/a")
    t.merge(W + "/a", {"spec": {"size": 2}})
    t.about = "P080"
    t.merge(W + "/a", {"metadata": {"finalizers": ["demo.example.com/f", "demo.example.com/late"]}})
    t.merge(W + "/a", {"metadata": {"deletionTimestamp": None}})
    t.about = "P098"
    t.merge(W + "/a", {"metadata": {"finalizers": None}})
    t.get(W + "/a")
    t.about = "P083"
    t.post(W, widget("p", spec={"size": 7, "tier": "t"}))
    t.delete(W + "/p", {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"}, save={"uid": "metadata.uid"})
    t.post(M, map_("child", metadata={"ownerReferences": [{"apiVersion": "demo.example.com/v1", "kind": "Widget", "name": "p", "uid": "${uid}", "blockOwnerDeletion": True, "controller": True}]}))
    t.get(W + "/p")
    t.merge(W + "/p", {"metadata": {"finalizers": None}})
    t.about = "P079"
    t.post("/api/v1/namespaces", {"metadata": {"name": "leaving"}})
    L = W.replace("default", "leaving")
    t.post(L, widget(spec={"size": 9, "tier": "t"}, metadata={"finalizers": ["demo.example.com/f"]}))
    t.delete("/api/v1/namespaces/leaving")
    t.post(L, widget("late", spec={"size": 9, "tier": "t"}))
    t.merge(L + "/a", {"metadata": {"labels": {"a": "b"}}})
    t.merge(L + "/a", {"metadata": {"finalizers": None}}, keep=["kind"])
    t.put("/api/v1/namespaces/leaving/finalize", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "leaving"}, "spec": {"finalizers": []}}, keep=["kind"])
    t.get("/api/v1/namespaces/leaving")
    gone(t)


def owners(t):
    """P074, P085, P086: owner references."""
    for about, owner in (("P074", {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u", "controller": True}), ("P085", {"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "u"}), ("P086", {"apiVersion": "demo.example.com/v1alpha1", "kind": "Widget", "name": "o", "uid": "u"}),
                         ("P086", {"apiVersion": "a/b/c", "kind": "", "name": "", "uid": ""}), ("P086", {"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"})):
        t.about = about
        t.post(M + "?dryRun=All", map_("owned", metadata={"ownerReferences": [owner]}))
        t.post(M + "?dryRun=All", map_("owned", metadata={"ownerReferences": [owner, {**owner, "uid": "v", "controller": True}, {**owner, "uid": "w", "controller": True}]}))


def events(t):
    """P109, P110: events that are told, or not taken."""
    E = "/apis/events.k8s.io/v1/namespaces/%s/events"
    event = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "eventTime": "2001-01-01T00:00:00.000000Z", "reportingController": "demo.example.com/op", "reportingInstance": "op-1", "action": "Do", "reason": "Done", "type": "Normal", "regarding": {"apiVersion": "demo.example.com/v1", "kind": "Realm", "name": "r"}, "note": "n"}
    t.about = "P110"
    for namespace in ("default", "kube-system"):
        for change in ({}, {"regarding": {"apiVersion": "demo.example.com/v1", "kind": "Realm", "name": "r", "namespace": "kube-system"}}, {"note": "${n*1025}"}, {"note": "${n*1024}"}, {"reportingController": "a/b/c"}, {"reportingController": ""}, {"reportingInstance": "x" * 129}, {"reportingInstance": ""}, {"action": ""}, {"action": "x" * 129}, {"reason": ""}, {"reason": "x" * 129}, {"type": "Odd"}, {"eventTime": None}, {"series": {"count": 1, "lastObservedTime": None}}, {"deprecatedCount": 5}):
            t.post(E % namespace + "?dryRun=All", {**event, **change})
        core = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "c"}, "involvedObject": {"kind": "Realm", "name": "r"}, "message": "${m*1025}", "reason": "Done"}
        t.post(f"/api/v1/namespaces/{namespace}/events?dryRun=All", core)
        t.post(f"/api/v1/namespaces/{namespace}/events?dryRun=All", {**core, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "other"}, "message": "m"})
    t.about = "P109"
    t.post(E % "default", event)
    t.merge(E % "default" + "/e", {"series": {"count": 2, "lastObservedTime": "2001-01-01T00:00:01.000000Z"}})
    t.merge(E % "default" + "/e", {"note": "other"})
    t.merge(E % "default" + "/e", {"reportingInstance": "op-2"})
    t.delete(E % "default" + "/e", keep=["kind"])


def names(t):
    """P139: names that are valid for one kind and too long for what is made from them."""
    t.about = "P139"
    for size in (52, 53, 63, 64, 253, 254):
        name = "n" * size
        for path, body in ((M, map_(name)), (M, map_("labelled", metadata={"labels": {"of": name}})), ("/api/v1/namespaces/default/services", {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}), ("/apis/batch/v1/namespaces/default/cronjobs", {"metadata": {"name": name}, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}}}),
                           ("/api/v1/namespaces", {"metadata": {"name": name}}), ("/apis/apps/v1/namespaces/default/statefulsets", {"metadata": {"name": name}, "spec": {"serviceName": "s", "selector": {"matchLabels": {"a": "s"}}, "template": {"metadata": {"labels": {"a": "s"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})):
            t.post(path + "?dryRun=All", body, keep=["kind"])


def watching(t):
    """P065, P067, P020: kinds that are not there, versions that are too old."""
    t.about = "P065"
    for path in ("/apis/demo.example.com/v1/widgets", "/apis/demo.example.com/v1/widgets?watch=1", "/apis/demo.example.com/v1", "/apis/demo.example.com", W):
        t.get(path)
    t.post(W, widget())
    t.about = "P020"
    created = t.call("POST", C, widgets(), keep=["kind"])
    t.wait_served("widgets.demo.example.com")
    t.get(C + "/widgets.demo.example.com", keep=["status"])
    t.get(W, keep=["kind", "items"])
    assert created
    t.about = "P067"
    t.get(W + "?watch=1&resourceVersion=1&timeoutSeconds=1")
    t.get(W + "?resourceVersion=1&resourceVersionMatch=Exact")
    t.get(W + "?watch=1&resourceVersion=99999999&timeoutSeconds=1", keep=["kind"])
    gone(t)


def memory(t):
    """P100, P101, P103: ways to see less."""
    t.about = "P100"
    S = "/api/v1/namespaces/default/secrets"
    for i in range(3):
        t.post(S, {"metadata": {"name": f"s{i}", "labels": {"n": str(i)}}, "type": "helm.sh/release.v1", "stringData": {"v": "${v*5000}"}}, keep=["kind"])
    t.get(S, accept="application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
    t.get(S + "?fieldSelector=type%3Dhelm.sh%2Frelease.v1&limit=2", keep=["metadata"])
    t.get(S + "?fieldSelector=metadata.name%3Ds1", keep=["kind", "items"])
    t.about = "P101"
    t.get(S + "?labelSelector=n+in+%281%2C2%29", accept="application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
    t.get(S + "?labelSelector=%21n", keep=["items"])
    t.about = "P103"
    t.get("/api/v1/secrets?fieldSelector=metadata.namespace%3Ddefault%2Cmetadata.name%3Ds0", accept="application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
    t.delete(S + "?labelSelector=n", keep=["kind"])


def tokens(t):
    """P061, P059, P113, P062: what a service account may do, and for how long."""
    t.about = "P113"
    t.post("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "op"}}, keep=["kind"])
    for spec in ({"expirationSeconds": 60}, {"expirationSeconds": 4294967297}, {"audiences": [""]}, {"boundObjectRef": {"kind": "Pod", "name": "none", "apiVersion": "v1"}}, {"boundObjectRef": {"kind": "ConfigMap", "name": "x", "apiVersion": "v1"}}):
        t.post("/api/v1/namespaces/default/serviceaccounts/op/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}, keep=["kind"])
    t.about = "P059"
    who = {"user": "system:serviceaccount:default:op", "groups": ("system:serviceaccounts", "system:serviceaccounts:default")}
    for path in ("/api/v1/secrets", "/api/v1/secrets?watch=1", M, "/apis/demo.example.com/v1/widgets"):
        t.get(path, **who)
    t.about = "P064"
    t.post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", {"metadata": {"name": "op"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]}, keep=["kind"])
    t.post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", {"metadata": {"name": "op"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "op"}, "subjects": [{"kind": "ServiceAccount", "name": "op", "namespace": "default"}]}, keep=["kind"])
    t.settle(1)
    t.get(M, keep=["kind"], **who)
    t.get("/api/v1/configmaps", **who)
    t.about = "P061"
    t.post(M, map_("x"), **who)
    t.put(M + "/x", map_("x"), **who)
    t.about = "P062"
    t.post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", {"metadata": {"name": "more"}, "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}, **who)


def installing(t):
    """P023, P025: objects of a newer schema than the installed one."""
    t.about = "P025"
    t.crd(widgets())
    for validation in ("Ignore", "Warn", "Strict"):
        t.post(W + f"?dryRun=All&fieldValidation={validation}", widget(spec={"size": 1, "limit": 5}))
        t.merge(W + f"/none?fieldValidation={validation}", {"spec": {"limit": 5}})
    t.post(W, widget(spec={"size": 1}), keep=["kind"])
    for validation in ("Ignore", "Warn", "Strict"):
        t.merge(W + f"/a?dryRun=All&fieldValidation={validation}", {"spec": {"limit": 5}})
        t.apply(W + f"/a?dryRun=All&fieldValidation={validation}", widget(spec={"limit": 5}))
    t.about = "P023"
    t.post(W + "?dryRun=All", widget("b", spec={"size": {"min": 1}}))
    t.post(W + "?dryRun=All", widget("b", spec={"size": "1"}))
    gone(t)
