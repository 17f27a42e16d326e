"""Server-side apply: ownership, conflicts, force, list kinds, subresources, what managedFields say."""

CM = "/api/v1/namespaces/default/configmaps"
D = "/apis/apps/v1/namespaces/default/deployments"
SVC = "/api/v1/namespaces/default/services"


def cm(name="a", meta=None, **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **(meta or {})}, **more}


def dep(containers=None, **spec):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers or [{"name": "c", "image": "i"}]}}, **spec}}


def run(t):
    t.call("PATCH", CM + "/a", cm(), type="application/apply-patch+yaml")
    t.call("PATCH", CM + "/a?fieldManager=", cm(), type="application/apply-patch+yaml")
    t.apply(CM + "/a", cm(data={"x": "1", "y": "1"}))
    t.apply(CM + "/a", cm(data={"x": "1", "y": "1"}))
    t.apply(CM + "/a", cm(data={"x": "2"}))
    t.apply(CM + "/a", cm(data={"x": "3"}), manager="other")
    t.apply(CM + "/a", cm(data={"x": "2"}), manager="other")
    t.apply(CM + "/a", cm(data={"x": "3"}), manager="other", force=True)
    t.apply(CM + "/a", cm(data={"x": "2"}))
    t.apply(CM + "/a", cm(data={}))
    t.apply(CM + "/a", cm())
    t.put(CM + "/a?fieldManager=putter", cm(data={"x": "put", "z": "put"}))
    t.apply(CM + "/a", cm(data={"x": "9", "z": "9"}))
    t.apply(CM + "/a?dryRun=All", cm(data={"x": "9"}), force=True)
    t.get(CM + "/a")
    t.merge(CM + "/a?fieldManager=patcher", {"data": {"x": None, "w": "1"}})
    t.apply(CM + "/a", cm(data={"w": "2", "v": "2"}), force=False)
    for body in (cm(name="b"), {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}, {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}}, {"kind": "ConfigMap", "metadata": {"name": "a"}}, {"apiVersion": "v1", "metadata": {"name": "a"}}, cm(meta={"managedFields": []}),
                 cm(meta={"managedFields": [{"manager": "x"}]}), cm(meta={"resourceVersion": "1"}), cm(meta={"uid": "x"}), cm(meta={"namespace": "other"}), cm(unknown=1), cm(data={"a": 1}), cm(data={"a": None}), cm(data=None), cm(data=[]), cm(meta={"labels": {"l": "1"}, "annotations": {"a": "1"}, "finalizers": ["example.com/x"]}),
                 cm(meta={"finalizers": ["example.com/x", "example.com/x"]}), cm(meta={"creationTimestamp": None}), cm(meta={"generation": 1}), {}, [], None, "text"):
        t.apply(CM + "/a?dryRun=All", body)
        t.apply(CM + "/a?dryRun=All&fieldValidation=Strict", body)
    t.apply(CM + "/fresh", cm("fresh", meta={"uid": "00000000-0000-4000-8000-000000000000"}))
    t.apply(CM + "/fresh", cm("fresh", meta={"resourceVersion": "5"}))
    t.apply(CM + "/fresh", {"apiVersion": "v1", "kind": "ConfigMap"})
    t.call("PATCH", CM + "/yaml?fieldManager=y", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata: {a: x}\n", type="application/apply-patch+yaml")
    t.call("PATCH", CM + "/yaml?fieldManager=y&fieldValidation=Strict", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata: {a: x, a: w}\n", type="application/apply-patch+yaml")
    t.call("PATCH", CM + "/yaml?fieldManager=y", "a: [}", type="application/apply-patch+yaml")
    t.call("PATCH", CM + "/yaml?fieldManager=y", "apiVersion: v1\nkind: ConfigMap\n---\nkind: x\n", type="application/apply-patch+yaml")
    # an object that nobody tracked
    t.post(CM, cm("plain", meta={"managedFields": [{}]}, data={"a": "1"}))
    t.put(CM + "/plain", cm("plain", meta={"managedFields": [{}]}, data={"a": "1", "b": "1"}))
    t.apply(CM + "/plain", cm("plain", data={"a": "2", "c": "1"}))
    t.apply(CM + "/plain", cm("plain", data={"a": "2", "c": "1"}), force=True)
    t.json_patch(CM + "/plain", [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}])
    t.json_patch(CM + "/plain", [{"op": "replace", "path": "/metadata/managedFields", "value": []}])
    t.merge(CM + "/plain", {"metadata": {"managedFields": [{"manager": "forged", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}}]}})
    t.merge(CM + "/plain", {"metadata": {"managedFields": [{"manager": "forged", "operation": "Sometimes", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}]}})
    for i in range(13):
        t.merge(CM + f"/plain?fieldManager=m{i:02}", {"data": {f"k{i}": "1"}}, **({} if i > 9 else {"keep": ["data"]}))
    # client-side apply goes over to server-side apply
    last = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{},"name":"csa","namespace":"default"},"data":{"a":"1"}}\n'
    t.post(CM + "?fieldManager=kubectl-client-side-apply", cm("csa", meta={"annotations": {"kubectl.kubernetes.io/last-applied-configuration": last}}, data={"a": "1"}))
    t.apply(CM + "/csa", cm("csa", data={"a": "2"}), manager="kubectl")
    t.apply(CM + "/csa", cm("csa", data={"a": "3"}), manager="other")
    # lists by key, sets, defaults
    t.apply(D + "/d", dep())
    t.apply(D + "/d", dep(replicas=3), manager="scaler")
    t.apply(D + "/d", dep([{"name": "side", "image": "s"}]), manager="side")
    t.apply(D + "/d", dep([{"name": "c", "image": "other"}]), manager="side")
    t.apply(D + "/d", dep([{"name": "c", "image": "other"}, {"name": "side", "image": "z"}]), manager="third")
    t.apply(D + "/d", dep([{"name": "c", "image": "i", "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}], "env": [{"name": "A", "value": "1"}], "args": ["x"]}]))
    t.apply(D + "/d", dep([{"name": "c", "image": "i", "ports": [{"containerPort": 80, "protocol": "TCP"}], "env": [{"name": "A", "value": "2"}, {"name": "B", "value": "1"}], "args": ["y"]}]))
    t.apply(D + "/d", dep([{"name": "c", "image": "i", "args": ["z"]}]), manager="args")
    t.apply(D + "/d?dryRun=All", dep([{"name": "c", "image": "i"}, {"name": "c", "image": "j"}]))
    t.apply(D + "/d?dryRun=All", dep([{"image": "nameless"}]))
    t.apply(D + "/d?dryRun=All", dep([{"name": "c", "image": "i", "unknown": 1}]))
    t.apply(D + "/d?dryRun=All", dep([{"name": "c", "image": "i", "ports": [{"containerPort": "x"}]}]))
    t.apply(D + "/d?dryRun=All", dep([{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1000m", "memory": 1}}}]))
    t.put(D + "/d/scale?fieldManager=scale-put", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d", "namespace": "default"}, "spec": {"replicas": 5}})
    t.get(D + "/d")
    t.apply(D + "/d", dep(replicas=3), manager="scaler")
    t.apply(D + "/d/scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d", "namespace": "default"}, "spec": {"replicas": 7}}, manager="scale-applier")
    t.apply(D + "/d/scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d", "namespace": "default"}, "spec": {"replicas": 7}}, manager="scale-applier", force=True)
    t.get(D + "/d")
    t.apply(D + "/d/status", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": {"x": "y"}}, "status": {"replicas": 2, "conditions": [{"type": "Available", "status": "True"}]}}, manager="controller")
    t.apply(D + "/d", {**dep(), "status": {"replicas": 9}}, manager="cheeky")
    t.merge(D + "/d/status?fieldManager=st", {"status": {"observedGeneration": 1}, "metadata": {"labels": {"q": "r"}}})
    t.delete(D + "/d")
    t.apply(SVC + "/s", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}, {"port": 80, "protocol": "UDP", "name": "u"}]}})
    t.apply(SVC + "/s", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80, "name": "t"}, {"port": 80, "protocol": "UDP", "name": "u"}]}})
    t.apply(SVC + "/s", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"c": "d"}}}, manager="sel")
    t.apply(SVC + "/s", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"c": "d"}}}, manager="sel", force=True)
    # custom resources
    t.crd({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "boats.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"}, "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
           "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
               "replicas": {"type": "integer"}, "plain": {"type": "array", "items": {"type": "string"}}, "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
               "keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"], "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "port": {"type": "integer", "default": 80}, "value": {"type": "string"}}}},
               "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}, "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "map": {"type": "object", "additionalProperties": {"type": "string"}}, "any": {"x-kubernetes-int-or-string": True}, "dflt": {"type": "string", "default": "d"}}},
               "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string"}}}}}}}]}})
    B = "/apis/example.com/v1/namespaces/default/boats"

    def boat(**spec):
        return {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "b"}, "spec": spec}
    t.apply(B + "/b", boat(plain=["a"], set=["a", "b"], keyed=[{"name": "x", "value": "1"}, {"name": "x", "port": 81}], whole={"a": "1"}, free={"x": {"y": [1]}}, map={"k": "v"}, any=5))
    t.apply(B + "/b", boat(plain=["b"]), manager="second")
    t.apply(B + "/b", boat(set=["c"], keyed=[{"name": "y"}], map={"l": "w"}), manager="second")
    t.apply(B + "/b", boat(whole={"b": "2"}), manager="second")
    t.apply(B + "/b", boat(whole={"b": "2"}), manager="second", force=True)
    t.apply(B + "/b", boat(free={"x": {"z": 1}}), manager="second")
    t.apply(B + "/b", boat(set=["a", "a"]))
    t.apply(B + "/b", boat(keyed=[{"name": "x"}, {"name": "x", "port": 80}]))
    t.apply(B + "/b", boat(keyed=[{"value": "keyless"}]))
    t.apply(B + "/b", boat(unknown=1))
    t.apply(B + "/b?fieldValidation=Strict", boat(unknown=1))
    t.apply(B + "/b", boat(replicas="x"))
    t.apply(B + "/b", boat(set=["b"]))
    t.put(B + "/b?fieldManager=putter", {**boat(set=["x", "x"]), "metadata": {"name": "b"}})
    t.merge(B + "/b?fieldManager=merger", {"spec": {"keyed": [{"name": "n"}], "plain": None, "any": "text"}})
    t.apply(B + "/b/status", {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "b"}, "status": {"phase": "Up"}}, manager="controller")
    t.apply(B + "/b", {**boat(), "status": {"phase": "Down"}}, manager="cheeky")
    t.merge(B + "/b/status?fieldManager=st", {"status": {"replicas": 1}, "spec": {"dflt": "no"}})
    t.apply(B + "/b/scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "b", "namespace": "default"}, "spec": {"replicas": 7}}, manager="scale-applier")
    t.get(B + "/b")
    t.strategic(B + "/b", {})
    t.apply(B + "/b", boat())
    t.apply(B + "/b", {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "b"}}, manager="second")
    t.get(B + "/b")
