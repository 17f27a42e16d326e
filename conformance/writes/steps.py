"""The writes that are recorded: for each object its path, and the steps (operation, manager, document, options)."""
import copy

STRATEGIC, MERGE, JSON, APPLY, UPDATE, CREATE = "strategic", "merge", "json", "apply", "update", "create"


def deployment(name, **spec):
    container = {"name": "c", "image": "i:1", "ports": [{"containerPort": 80}], "env": [{"name": "E", "value": "1"}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "labels": {"x": "y"}, "annotations": {"n": "1"}},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template, **spec},
    }


def without(document, *path):
    document = copy.deepcopy(document)
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return document


def applied(version, kind, name, **fields):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def containers(*items):
    return {"template": {"spec": {"containers": list(items)}}}


def pod(patch):
    return {"spec": {"template": {"spec": patch}}}


def d1(**spec):
    return applied("apps/v1", "Deployment", "d1", spec=spec)


TWO_PORTS = {"name": "side", "image": "s", "ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "UDP"}]}
CLAIMED = [{"name": "c", "image": "zzz"}, {"name": "side", "image": "t"}]

CHANGED = ("apps/v1", "deployments", "d1", [
    (CREATE, "kubectl-create", deployment("d1")),
    (MERGE, "kubectl-scale", {"spec": {"replicas": 3}}),
    (STRATEGIC, "kubectl-set", pod({"$setElementOrder/containers": [{"name": "c"}], "containers": [{"image": "i:2", "name": "c"}]})),
    (STRATEGIC, "kubectl-label", {"metadata": {"labels": {"x": None, "z": "1"}}}),
    (STRATEGIC, "kubectl-client-side-apply", {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
    (STRATEGIC, "kubectl-client-side-apply", pod({
        "$setElementOrder/containers": [{"name": "new"}, {"name": "c"}],
        "containers": [
            {"name": "new", "image": "n"},
            {"name": "c", "env": [{"name": "F", "value": "2"}, {"name": "E", "$patch": "delete"}]},
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
    })),
    (STRATEGIC, "kubectl-client-side-apply", pod({
        "$setElementOrder/volumes": [{"name": "w"}, {"name": "v"}],
        "volumes": [
            {"name": "w", "emptyDir": {}},
            {"$retainKeys": ["name", "configMap"], "name": "v", "configMap": {"name": "cm"}, "emptyDir": None},
        ],
    })),
    (JSON, "jp", [
        {"op": "replace", "path": "/spec/replicas", "value": 5},
        {"op": "add", "path": "/metadata/annotations/k", "value": "v"},
    ]),
    (UPDATE, "putter", {"spec": {"paused": True, "minReadySeconds": 3}}),
    (UPDATE, "putter", {"spec": {"paused": None}}),
    (UPDATE, "ctrl", {"status": {"replicas": 1, "observedGeneration": 1}}, {"subresource": "status"}),
    (UPDATE, "putter", {}),
    (APPLY, "applier", d1(replicas=7)),
    (APPLY, "applier", d1(replicas=7), {"force": True}),
    (APPLY, "applier", d1(replicas=7)),
    (APPLY, "applier", d1(**containers(TWO_PORTS))),
    (APPLY, "applier", d1(**containers(without(TWO_PORTS, "ports")))),
    (APPLY, "other", d1(**containers(*CLAIMED))),
    (APPLY, "other", d1(**containers(*CLAIMED)), {"force": True}),
    (APPLY, "other", d1(**containers(CLAIMED[1]))),
    (APPLY, "other", d1(nope=1)),
    (APPLY, "other", d1(replicas="x")),
    (UPDATE, "putter", {"metadata": {"managedFields": []}}),
    (UPDATE, "putter", {"spec": {"replicas": 2}}),
    (APPLY, "applier", d1(replicas=7), {"force": True}),
])

APPLIED = ("apps/v1", "deployments", "d2", [
    (APPLY, "a1", deployment("d2")),
    (APPLY, "a1", deployment("d2")),
    (APPLY, "a1", deployment("d2", replicas=2)),
    (APPLY, "a2", deployment("d2")),
    (APPLY, "a1", without(without(deployment("d2"), "spec", "replicas"), "metadata", "annotations"), {"force": True}),
    (APPLY, "a2", without(deployment("d2"), "spec", "replicas")),
    (MERGE, "x", {"spec": {"replicas": None}}),
    (APPLY, "st", applied("apps/v1", "Deployment", "d2", status={"replicas": 9}), {"force": True, "subresource": "status"}),
])


def c1(**data):
    return applied("v1", "ConfigMap", "c1", data=data)


OWNED = ("v1", "configmaps", "c1", [
    (APPLY, "m1", c1(a="1", b="2")),
    (APPLY, "m2", c1(b="2", c="3")),
    (APPLY, "m2", c1(a="9")),
    (APPLY, "m1", c1(c="3")),
    (APPLY, "m2", c1()),
    (UPDATE, "p", {"data": {"z": "1", "a": None, "b": None, "c": None}}),
    (UPDATE, "p", {"data": None}),
    (UPDATE, "p", {"metadata": {
        "finalizers": ["a/b", "c/d"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "n", "uid": "u1"}],
    }}),
    (APPLY, "m3", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "c1", "finalizers": ["x/y", "c/d"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "n2", "uid": "u2"}],
    }}),
    (APPLY, "m3", applied("v1", "ConfigMap", "c1")),
    (UPDATE, "p", {"metadata": {"finalizers": None}}),
    *[(UPDATE, f"m{i:02}", {"data": {f"k{i}": "v"}}) for i in range(13)],
])

LAST = ('{"apiVersion":"v1","data":{"a":"1"},"kind":"ConfigMap","metadata":{"annotations":{},"name":"c2",'
        '"namespace":"default"}}\n')
MIGRATED = ("v1", "configmaps", "c2", [
    (CREATE, "kubectl-client-side-apply", {
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"},
        "metadata": {"name": "c2", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": LAST}},
    }),
    (APPLY, "someone", applied("v1", "ConfigMap", "c2", data={"a": "2"})),
    (APPLY, "kubectl", applied("v1", "ConfigMap", "c2", data={"a": "2"})),
])


def s1(*ports):
    return applied("v1", "Service", "s1", spec={"ports": list(ports)})


PATCHED = ("v1", "services", "s1", [
    (CREATE, "kc", applied("v1", "Service", "s1", spec={
        "clusterIP": "None", "clusterIPs": ["None"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
        "selector": {"a": "b"},
        "ports": [{"port": 80, "name": "h"}, {"port": 80, "protocol": "UDP", "name": "u"}],
    })),
    (APPLY, "ap", s1({"port": 80, "targetPort": 8080})),
    (APPLY, "ap", s1({"port": 80, "targetPort": 8080}), {"force": True}),
    (STRATEGIC, "sm", {"spec": {"ports": [{"port": 81, "name": "n"}]}}),
    (STRATEGIC, "sm", {"metadata": {"finalizers": ["a/b"]}}),
    (STRATEGIC, "sm", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}}),
    (STRATEGIC, "sm", {"spec": {"ports": [{"name": "n"}]}}),
    (STRATEGIC, "sm", {"spec": {"ports": [{"$patch": "bogus", "port": 1}]}}),
    (JSON, "jp", [{"op": "remove", "path": "/nope"}]),
    (JSON, "jp", [{"op": "add", "path": "/spec/ports/9", "value": {}}]),
    (JSON, "jp", [{"op": "remove", "path": "/spec/ports/-1"}]),
    (JSON, "jp", {"op": "remove"}),
    (JSON, "jp", [1]),
    (JSON, "jp", [{"op": "test", "path": 5}]),
    (MERGE, "mp", []),
    (STRATEGIC, "sm", []),
])

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
KEYED = {
    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
    "items": {"type": "object", "required": ["a"], "properties": {"a": TEXT, "b": {"type": "integer", "default": 1}, "c": TEXT}},
}
SPEC = {"type": "object", "properties": {
    "n": NUMBER,
    "m": {"type": "object", "additionalProperties": TEXT},
    "at": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"x": TEXT, "y": TEXT}},
    "l": {"type": "array", "items": TEXT},
    "s": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
    "k": KEYED,
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}}
SCHEMA = {"type": "object", "properties": {"spec": SPEC, "status": {"type": "object", "properties": {"ok": TEXT}}}}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "ts.t.io"},
    "spec": {
        "group": "t.io", "scope": "Namespaced", "names": {"plural": "ts", "kind": "T", "singular": "t", "listKind": "TList"},
        "versions": [{
            "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": SCHEMA},
        }],
    },
}


def t1(**spec):
    return applied("t.io/v1", "T", "t1", spec=spec)


CUSTOM = ("t.io/v1", "ts", "t1", [
    (APPLY, "a", t1(n=1, m={"a": "1"}, at={"x": "1", "y": "2"}, l=["a"], s=["x", "y"],
                    k=[{"a": "1", "c": "q"}, {"a": "1", "b": 2}], free={"q": {"w": [1, {"e": 2}]}, "r": 1})),
    (APPLY, "b", t1(n=1, m={"b": "1"}, s=["z", "y"], k=[{"a": "2"}, {"a": "1", "b": 2, "c": "w"}], free={"q": {"t": 1}})),
    (APPLY, "b", t1(at={"x": "2"}, l=["b"], free={"q": {"w": [2]}})),
    (APPLY, "b", t1(at={"x": "2"}, l=["b"], free={"q": {"w": [2]}}), {"force": True}),
    (APPLY, "a", t1(n=1)),
    (APPLY, "b", t1(s=["p", "q", "r"])),
    (APPLY, "a", t1(n=1, s=["r", "x", "p"])),
    (UPDATE, "p", {"spec": {"n": 4, "s": ["q"], "free": {"y": {}}}}),
    (UPDATE, "ctrl", {"status": {"ok": "yes"}}, {"subresource": "status"}),
    (APPLY, "a", t1(bogus=1)),
    (APPLY, "a", t1(s=["a", "a"])),
    (MERGE, "mp", {"spec": {"n": 9}}),
])

UNTRACKED = ("t.io/v1", "ts", "t2", [
    (CREATE, "cr", applied("t.io/v1", "T", "t2", spec={"n": 1, "m": {}, "k": [{"a": "z"}]})),
    (UPDATE, "cr", {"spec": {"m": {"a": "1"}}}),
    (UPDATE, "cr", {"metadata": {"managedFields": [{}]}}),
    (UPDATE, "cr", {"spec": {"n": 2}}),
    (APPLY, "a", applied("t.io/v1", "T", "t2", spec={"n": 2, "l": ["x"]})),
])

OBJECTS = [CHANGED, APPLIED, OWNED, MIGRATED, PATCHED, CUSTOM, UNTRACKED]
