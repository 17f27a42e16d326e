"""Custom resource definitions: life cycle, names, versions, subresources, printing, selectable fields."""

C = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def crd(plural="boats", kind="Boat", group="example.com", scope="Namespaced", versions=None, names=None, meta=None, **spec):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}", **(meta or {})},
            "spec": {"group": group, "scope": scope, "names": {"plural": plural, "kind": kind, **(names or {})}, "versions": versions or [version()], **spec}}


def version(name="v1", served=True, storage=True, schema=None, **more):
    return {"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}, **more}


def boat(name="b", api="example.com/v1", kind="Boat", **more):
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **more}


def run(t):
    B = "/apis/example.com/v1/namespaces/default/boats"
    # refused
    for body in (crd(meta={"name": "wrong"}), crd(scope="Nowhere"), crd(scope=None), crd(group="Example.com"), crd(group="nodots"), crd(plural="Boats"), crd(kind="boat-s"), crd(kind=""), crd(versions=[]), crd(versions=[version("V1")]), crd(versions=[version(), version()]),
                 crd(versions=[version(storage=False)]), crd(versions=[version("v1"), version("v2")]), crd(names={"singular": "Boat"}), crd(names={"listKind": "Boat"}), crd(names={"shortNames": ["B_", "ok"]}), crd(names={"categories": ["a b"]}), crd(conversion={"strategy": "Nothing"}),
                 crd(conversion={"strategy": "Webhook"}), crd(conversion={"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}), crd(conversion={"strategy": "Webhook", "webhook": {"clientConfig": {}, "conversionReviewVersions": []}}),
                 crd(conversion={"strategy": "Webhook", "webhook": {"clientConfig": {"url": "http://x"}, "conversionReviewVersions": ["v9"]}}), crd(conversion={"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://x", "service": {"namespace": "a", "name": "b"}}, "conversionReviewVersions": ["v1"]}}),
                 crd(preserveUnknownFields=True), crd(versions=[version(additionalPrinterColumns=[{"name": "x", "type": "nothing", "jsonPath": ".x"}])]), crd(versions=[version(additionalPrinterColumns=[{"name": "", "type": "string", "jsonPath": "x["}])]),
                 crd(versions=[version(subresources={"scale": {"specReplicasPath": "spec.replicas", "statusReplicasPath": ".replicas"}})]), crd(versions=[version(subresources={"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".metadata.x"}})]),
                 crd(versions=[version(selectableFields=[{"jsonPath": ".spec.x"}])]), crd(versions=[version(selectableFields=[{"jsonPath": ".metadata.name"}])]), crd(versions=[version(deprecationWarning="x")]), crd(versions=[version(deprecated=True, deprecationWarning="x" * 300)]),
                 crd(versions=[{"name": "v1", "served": True, "storage": True}]), crd(group="x.k8s.io"), crd(group="x.k8s.io", meta={"annotations": {"api-approved.kubernetes.io": "nonsense"}}), {"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"}},
                 {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"}}, crd(unknown=1)):
        t.post(C + "?dryRun=All", body, keep=["spec", "status"])
    # life
    t.crd(crd(names={"shortNames": ["bt"], "categories": ["all", "fleet"]}), keep=["spec", "status", "metadata"])
    t.get(C + "/boats.example.com", keep=["status"])
    t.get("/apis/example.com")
    t.get("/apis/example.com/v1")
    t.post(B, boat(spec={"a": 1, "big": 9007199254740993, "f": 1.0, "e": 1e3}))
    t.get(B + "/b")
    t.put(B + "/b", boat(spec={"a": 2}))
    t.put(B + "/b", {**boat(spec={"a": 2}), "metadata": {"name": "b", "resourceVersion": "1"}})
    t.merge(B + "/b", {"spec": {"a": None, "b": [1, None, {"c": None}]}})
    t.merge(B + "/b", {"status": {"set": "without a status subresource"}})
    t.get(B + "/b/status")
    t.get(B + "/b/scale")
    for body in (boat(api="example.com/v2"), boat(kind="Ship"), {"metadata": {"name": "x"}}, boat("Upper"), boat("dot.dot"), boat(api="other.com/v1"), {**boat(), "metadata": {"name": "x", "labels": {"a": 1}}}, {**boat(), "metadata": {"name": "x", "unknown": 1}}, {**boat(), "metadata": None}, {**boat(), "metadata": "x"}, {**boat("x"), "spec": None}):
        t.post(B + "?dryRun=All", body)
        t.post(B + "?dryRun=All&fieldValidation=Strict", body)
    t.post(B, boat("held"))
    t.merge(B + "/held", {"metadata": {"finalizers": ["example.com/x"]}})
    t.get(B, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    t.get(B + "?limit=1", keep=["metadata"])
    t.delete(B + "?fieldSelector=metadata.name%3Db")
    # changing it
    t.merge(C + "/boats.example.com", {"spec": {"names": {"kind": "Ship", "listKind": "ShipList"}}}, keep=["spec"])
    t.merge(C + "/boats.example.com", {"spec": {"scope": "Cluster"}}, keep=["spec"])
    t.merge(C + "/boats.example.com", {"spec": {"group": "other.com"}}, keep=["spec"])
    t.merge(C + "/boats.example.com", {"spec": {"versions": [version("v2")]}}, keep=["spec"])
    t.merge(C + "/boats.example.com", {"status": {"storedVersions": ["v9"]}}, keep=["status"])
    t.merge(C + "/boats.example.com/status", {"status": {"storedVersions": []}}, keep=["status"])
    t.merge(C + "/boats.example.com/status", {"status": {"storedVersions": ["v9"]}}, keep=["status"])
    t.merge(C + "/boats.example.com", {"spec": {"versions": [version("v1", storage=False), version("v2", schema={"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "default": 3}}}}}, deprecated=True)]}}, keep=["spec"])
    t.settle(3)
    t.get(C + "/boats.example.com", keep=["status"])
    t.get("/apis/example.com")
    t.get("/apis/example.com/v2/namespaces/default/boats/held")
    t.post("/apis/example.com/v2/namespaces/default/boats", boat("two", api="example.com/v2", spec={"n": 0}))
    t.post("/apis/example.com/v2/namespaces/default/boats", boat("two", api="example.com/v2", spec={"gone": 1}))
    t.get(B + "/two")
    t.put(B + "/held", boat("held", spec={"n": 0}))
    t.get(C + "/boats.example.com/status", keep=["status"])
    # the end
    t.delete(C + "/boats.example.com", keep=["status"])
    t.settle(2)
    t.post(B, boat("late"))
    t.get(B + "/held")
    t.merge(B + "/held", {"metadata": {"finalizers": None}})
    t.settle(12)
    t.get(C + "/boats.example.com", keep=["status"])
    t.get(B)
    t.get("/apis/example.com/v1")
    # names that clash; each freed name is waited for by one, as which of two gets it is chance
    t.crd(crd("ships", "Ship", names={"shortNames": ["s"]}))
    t.crd(crd("ferries", "Ship"))
    t.settle(1)
    t.get(C + "/ferries.example.com", keep=["status"])
    t.get("/apis/example.com/v1/namespaces/default/ferries")
    t.crd(crd("barges", "Barge", names={"shortNames": ["s"]}))
    t.settle(1)
    t.get(C + "/barges.example.com", keep=["status"])
    t.delete(C + "/ships.example.com", keep=["status"])
    t.settle(4)
    t.get(C + "/ferries.example.com", keep=["status"])
    t.get(C + "/barges.example.com", keep=["status"])
    for plural in ("ferries", "barges"):  # discovery lists several in the order of a Go map
        t.delete(f"{C}/{plural}.example.com", keep=["kind"])
        t.settle(4)
    # everything in one
    t.crd(crd("rafts", "Raft", versions=[version("v1beta1", storage=False, deprecated=True, deprecationWarning="use v1"), version("v1", schema={"type": "object", "required": ["spec"], "properties": {"spec": {"type": "object", "required": ["replicas"], "properties": {
        "replicas": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 10}, "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"}, "label": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5}, "when": {"type": "string", "format": "date-time"},
        "template": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}, "ports": {"type": "array", "maxItems": 2, "items": {"x-kubernetes-int-or-string": True}}, "nul": {"type": "string", "nullable": True}, "nest": {"type": "object", "properties": {"d": {"type": "string", "default": "x"}}},
        "nestd": {"type": "object", "default": {}, "properties": {"d": {"type": "string", "default": "x"}}}}}, "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}, "phase": {"type": "string", "default": "New"}}}}},
        subresources={"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}}, selectableFields=[{"jsonPath": ".spec.colour"}, {"jsonPath": ".spec.replicas"}],
        additionalPrinterColumns=[{"name": "Colour", "type": "string", "jsonPath": ".spec.colour"}, {"name": "Want", "type": "integer", "jsonPath": ".spec.replicas", "format": "int32"}, {"name": "When", "type": "date", "jsonPath": ".spec.when"}, {"name": "Wide", "type": "string", "jsonPath": ".spec.label", "priority": 1, "description": "a label"}, {"name": "Ready", "type": "boolean", "jsonPath": ".status.ready"}])]), keep=["status"])
    R = "/apis/example.com/v1/namespaces/default/rafts"

    def raft(name="r", status=None, **spec):
        return {"apiVersion": "example.com/v1", "kind": "Raft", "metadata": {"name": name}, "spec": spec, **({"status": status} if status is not None else {})}
    t.get("/apis/example.com/v1")
    t.post(R, raft(replicas=2, label="abc", when="2001-01-01T00:00:00Z", status={"replicas": 5}))
    t.post(R, raft("s", replicas=3, colour="blue", template={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "odd": 1}, "spec": {"x": 1}}, ports=[1, "http"], nul=None, nest={}, unknown=1))
    for spec in ({}, {"replicas": -1}, {"replicas": 11}, {"replicas": "1"}, {"replicas": 1.0}, {"replicas": 1.5}, {"replicas": 2147483648}, {"replicas": None}, {"replicas": 1, "colour": "green"}, {"replicas": 1, "colour": None}, {"replicas": 1, "label": "ABC"}, {"replicas": 1, "label": "toolong"}, {"replicas": 1, "when": "soon"},
                 {"replicas": 1, "ports": [1, 2, 3]}, {"replicas": 1, "ports": [True]}, {"replicas": 1, "ports": "x"}, {"replicas": 1, "template": {}}, {"replicas": 1, "template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "Bad Name"}}}, {"replicas": 1, "template": {"apiVersion": "a/b/c", "kind": ""}}, {"replicas": 1, "nest": None}, {"replicas": 1, "nest": {"d": None}},
                 {"replicas": 1, "nul": 5}, {"replicas": -1, "label": "TOOLONG", "colour": "green"}):
        t.post(R + "?dryRun=All", raft("t", **spec))
        t.merge(R + "/r?dryRun=All", {"spec": spec})
    t.post(R + "?dryRun=All", {"apiVersion": "example.com/v1", "kind": "Raft", "metadata": {"name": "t"}})
    t.post(R + "?dryRun=All", {"apiVersion": "example.com/v1", "kind": "Raft", "metadata": {"name": "t"}, "spec": []})
    t.post("/apis/example.com/v1beta1/namespaces/default/rafts?dryRun=All", boat("old", api="example.com/v1beta1", kind="Raft"))
    t.get("/apis/example.com/v1beta1/namespaces/default/rafts/r")
    t.get(R, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    t.get(R + "?fieldSelector=spec.colour%3Dred", keep=["metadata", "kind"])
    for selector in ("spec.colour=blue", "spec.colour!=blue", "spec.replicas=2", "spec.label=abc", "metadata.name=r,spec.colour=red", "metadata.namespace=default"):
        t.get(R + "?fieldSelector=" + selector.replace("=", "%3D"), accept="application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
    t.get(R + "/r/scale")
    t.put(R + "/r/scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "r", "namespace": "default"}, "spec": {"replicas": 4}})
    t.put(R + "/r/scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "r", "namespace": "default"}, "spec": {"replicas": 40}})
    t.put(R + "/r/scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "r", "namespace": "default"}, "spec": {"replicas": -4}})
    t.put(R + "/r/scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "other"}, "spec": {"replicas": 4}})
    t.put(R + "/r/scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "r", "resourceVersion": "1"}, "spec": {"replicas": 5}})
    t.merge(R + "/r/scale", {"spec": {"replicas": 6}})
    t.merge(R + "/r/status", {"status": {"replicas": 2, "selector": "a=b"}, "spec": {"replicas": 9}, "metadata": {"labels": {"x": "y"}}})
    t.merge(R + "/r/status", {"status": None})
    t.put(R + "/r/status", raft(replicas=1, status={"phase": "Up", "unknown": 1}))
    t.put(R + "/r/status", raft(replicas=1, status={"phase": 5}))
    t.merge(R + "/r", {"status": {"phase": "Sneaky"}})
    t.merge(R + "/r", {"metadata": {"labels": {"l": "1"}}})
    t.merge(R + "/r", {"spec": {"label": "new"}})
    t.get(R + "/r/scale")
    t.get(R + "/r/status")
    t.delete(R + "/r/status")
    t.post(R + "/r/status", {})
    t.crd(crd("logs", "Log", scope="Cluster", versions=[version("v1", subresources={"scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}})]))
    t.post("/apis/example.com/v1/logs", boat("l", kind="Log"))
    t.get("/apis/example.com/v1/logs/l/scale")
    t.merge("/apis/example.com/v1/logs/l/scale", {"spec": {"replicas": 2}})
    t.get("/apis/example.com/v1/logs/l")
    t.get("/apis/example.com/v1/namespaces/default/logs")
    t.get("/apis/example.com/v1/namespaces/default/logs/l")
    t.post("/apis/example.com/v1/namespaces/default/logs", boat("l", kind="Log"))

    # How the bounds of numbers are printed.
    bounds = {"max": {"maximum": 1000000}, "large": {"maximum": 123456789012}, "min": {"minimum": 0.00001}, "times": {"multipleOf": 1000000},
              "parts": {"multipleOf": 0.00001}, "huge": {"maximum": 1e20}, "huger": {"maximum": 1e21}, "one": {"enum": [1000000, 1e7, 1e21, 0.00001]}}
    spec = {"type": "object", "properties": {name: {"type": "number", **bound} for name, bound in bounds.items()}}
    t.crd(crd("gauges", "Gauge", versions=[version("v1", schema={"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}})]))
    for name, values in {"max": [1000000.5, 2000000], "large": [123456789012.5, 123456789013], "min": [0.000001, 0], "times": [1.5, 7],
                         "parts": [0.000015, 0.00002], "huge": [1e22, 1e20], "huger": [1e22], "one": [5, 1e21]}.items():
        for value in values:
            t.post("/apis/example.com/v1/namespaces/default/gauges?dryRun=All", {"apiVersion": "example.com/v1", "kind": "Gauge", "metadata": {"name": "g"}, "spec": {name: value}}, keep=["code", "message", "details", "spec"])
