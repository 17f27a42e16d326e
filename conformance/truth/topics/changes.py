"""Schemas that change under stored objects: who owns what then, what of an object is checked again, what a version shows."""
from topics.crd import C, crd, version

B = "/apis/example.com/v1/namespaces/default/"


def structural(**properties):
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def thing(name, kind, spec=None, **more):
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name}, **({} if spec is None else {"spec": spec}), **more}


def become(t, plural, schema, **more):
    """Gives a definition another schema."""
    t.merge(f"{C}/{plural}.example.com", {"spec": {"versions": [version(schema=schema, **more)]}}, keep=["kind"])
    t.settle(2)


ITEM = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "value": {"type": "string"}, "more": {"type": "string"}}}
LISTS = {
    "atomic": {"type": "array", "x-kubernetes-list-type": "atomic", "items": ITEM},
    "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": ITEM},
    "plain": {"type": "array", "items": ITEM},
}
NAMES = {
    "atomic": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "string"}},
    "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
}
MAPS = {
    "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
    "granular": {"type": "object", "x-kubernetes-map-type": "granular", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "texts": {"type": "object", "additionalProperties": {"type": "string"}},
    "atomicTexts": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
}


def owners(t, number, shapes, before, after, one, two):
    """Two managers apply, the type changes, and each goes on: by applies, by an update, by giving up."""
    plural, kind = f"owned{number}s", f"Owned{number}"
    path = B + plural + "/o"
    t.crd(crd(plural, kind, versions=[version(schema=structural(x=shapes[before]))]))
    # The first that applies to an atomic value owns it whole; the second has to force.
    t.apply(path, thing("o", kind, {"x": one}), manager="first")
    t.apply(path, thing("o", kind, {"x": two}), manager="second")
    t.apply(path, thing("o", kind, {"x": two}), manager="second", force=True)
    t.merge(path + "?fieldManager=editor", {"metadata": {"labels": {"a": "b"}}})
    become(t, plural, structural(x=shapes[after]))
    t.get(path)
    t.merge(path + "?fieldManager=editor", {"metadata": {"labels": {"a": "c"}}})
    t.apply(path + "?dryRun=All", thing("o", kind, {"x": one}), manager="first")
    t.apply(path + "?dryRun=All", thing("o", kind, {"x": one}), manager="third")
    t.apply(path + "?dryRun=All", thing("o", kind, {}), manager="second")
    t.apply(path, thing("o", kind, {"x": one}), manager="first", force=True)
    t.apply(path, thing("o", kind, {"x": two}), manager="second", force=True)
    t.apply(path, thing("o", kind), manager="first")
    become(t, plural, structural(x=shapes[before]))
    t.get(path)
    t.apply(path, thing("o", kind, {"x": one}), manager="second", force=True)
    t.apply(path, thing("o", kind), manager="second")


def run(t):
    list_one, list_two = [{"name": "a", "value": "1"}], [{"name": "a", "value": "1", "more": "x"}, {"name": "b", "value": "2"}]
    number = 0
    for shapes, before, after, one, two in (
            (LISTS, "atomic", "map", list_one, list_two), (LISTS, "map", "atomic", list_one, list_two), (LISTS, "plain", "map", list_one, list_two), (NAMES, "atomic", "set", ["a"], ["a", "b"]), (NAMES, "set", "atomic", ["a"], ["a", "b"]),
            (MAPS, "atomic", "granular", {"a": "1"}, {"a": "1", "b": "2"}), (MAPS, "granular", "atomic", {"a": "1"}, {"a": "1", "b": "2"}), (MAPS, "free", "atomic", {"a": "1"}, {"a": "1", "b": "2"}), (MAPS, "atomic", "free", {"a": "1"}, {"a": "1", "b": "2"}),
            (MAPS, "texts", "atomicTexts", {"a": "1"}, {"a": "1", "b": "2"}), (MAPS, "atomicTexts", "texts", {"a": "1"}, {"a": "1", "b": "2"}), (MAPS, "free", "texts", {"a": "1"}, {"a": "1", "b": "2"})):
        number += 1
        owners(t, number, shapes, before, after, one, two)
    ratchets(t)
    wrong_kinds(t)
    scales(t)
    versions(t)
    subresources(t)


def ratchets(t):
    """What was stored under a laxer schema may stay as it is."""
    lax = structural(**{name: {"x-kubernetes-preserve-unknown-fields": True} for name in ("set", "map", "text", "number", "nested", "rule", "list")})
    rule = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "x-kubernetes-validations": [
        {"rule": "self.a > 5", "message": "a is small"}, {"rule": "!has(oldSelf.b) || self.b >= oldSelf.b", "message": "b shrank"}, {"rule": "!oldSelf.hasValue() || self.a != oldSelf.value().a + 1", "optionalOldSelf": True, "messageExpression": "'a may not be ' + string(self.a)"}]}
    strict = structural(
        set=NAMES["set"], map=LISTS["map"], text={"type": "string", "maxLength": 3, "pattern": "^[a-z]*$", "enum": ["abc", "de"]}, number={"type": "integer", "minimum": 10, "multipleOf": 5},
        nested={"type": "object", "required": ["must"], "properties": {"must": {"type": "string"}, "deep": {"type": "object", "minProperties": 1, "properties": {"n": {"type": "integer", "maximum": 1}, "m": {"type": "string", "format": "date"}}}}},
        rule=rule, list={"type": "array", "maxItems": 1, "items": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 1}}}})
    t.crd(crd("ratchets", "Ratchet", versions=[version(schema=lax)]))
    path = B + "ratchets"
    bad = {"set": ["a", "a", "b"], "map": [{"name": "a"}, {"name": "a"}, {"name": "b", "value": "1"}], "text": "TOOLONG", "number": 3, "nested": {"deep": {"n": 5, "m": "x"}}, "rule": {"a": 1, "b": 1}, "list": [{"n": 5}, {"n": 6}]}
    t.post(path, thing("r", "Ratchet", bad))
    t.post(path, thing("s", "Ratchet", {k: v for k, v in bad.items() if k in ("set", "map")}))
    t.post(path, thing("typed", "Ratchet", {"set": "x", "text": 5, "nested": []}))
    become(t, "ratchets", strict)
    t.get(path + "/r")
    t.post(path, thing("new", "Ratchet", bad))
    t.put(path + "/r", thing("r", "Ratchet", bad))
    t.merge(path + "/r", {"metadata": {"labels": {"a": "b"}}})
    t.merge(path + "/typed", {"metadata": {"labels": {"a": "b"}}})
    t.merge(path + "/typed", {"spec": {"nested": {"must": "x"}}})
    for spec in ({"set": ["a", "a"]}, {"set": ["a", "a", "c"]}, {"set": ["a", "a", "b", "b"]}, {"set": ["b", "a", "a"]}, {"set": ["a", "b"]}, {"map": [{"name": "a"}, {"name": "a"}]}, {"map": [{"name": "a"}, {"name": "a"}, {"name": "b", "value": "2"}]}, {"map": [{"name": "a"}, {"name": "b", "value": "1"}]},
                 {"map": [{"name": "a"}, {"name": "a"}, {"name": "b", "value": "1"}, {"name": "c", "value": 1}]}, {"text": "TOOLONGER"}, {"text": "de"}, {"number": 4}, {"number": 3, "text": "abc"}, {"number": 15}, {"nested": {"deep": {"n": 5, "m": "y"}}}, {"nested": {"deep": {"n": 6}}}, {"nested": {"must": "x"}}, {"nested": {"deep": {"n": None, "m": None}}}, {"nested": {"deep": None}},
                 {"rule": {"a": 1}}, {"rule": {"a": 2}}, {"rule": {"a": 7}}, {"rule": {"b": 0}}, {"rule": {"b": 2}}, {"rule": {"a": 9, "b": 9}}, {"list": [{"n": 5}, {"n": 6}, {"n": 7}]}, {"list": [{"n": 6}, {"n": 5}]}, {"list": [{"n": 5}]}, {"list": [{"n": 1}]}, {"rule": None, "text": None}):
        t.merge(path + "/r?dryRun=All", {"spec": spec})
        t.merge(path + "/s?dryRun=All", {"spec": spec})
    t.apply(path + "/r?dryRun=All", thing("r", "Ratchet", {"set": ["a"]}), force=True)
    t.apply(path + "/r?dryRun=All", thing("r", "Ratchet", {"set": ["a", "a"]}), force=True)
    t.apply(path + "/r?dryRun=All", thing("r", "Ratchet", {"map": [{"name": "a"}, {"name": "a"}]}), force=True)
    t.apply(path + "/r?dryRun=All", thing("r", "Ratchet", {"map": [{"name": "b", "value": "3"}]}), force=True)


def wrong_kinds(t):
    t.crd(crd("planks", "Plank", versions=[version(subresources={"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}})]))
    path = B + "planks"
    t.post(path, thing("p", "Plank", {"n": 1}))
    other = {"apiVersion": "example.com/v2", "kind": "Plank", "metadata": {"name": "gone"}}
    for name in ("gone", "p"):
        for sub in ("", "/status"):
            where = f"{path}/{name}{sub}"
            t.put(where, thing(name, "Boat"))
            t.put(where, {**other, "metadata": {"name": name}})
            t.put(where, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
            t.put(where, thing("else", "Plank"))
            t.put(where, {"metadata": {"name": name}})
            t.put(where, {"kind": "Plank", "metadata": {"name": name}})
            t.put(where, {"apiVersion": "example.com/v1", "metadata": {"name": name}})
            t.put(where, thing(name, "Plank", {"n": 2}))
            t.put(where, thing(name, "Plank", metadata={}))
            t.put(where, thing(name, "Plank", metadata={"name": name, "uid": "11111111-1111-1111-1111-111111111111"}))
            t.put(where, thing(name, "Plank", metadata={"name": name, "resourceVersion": "5"}))
            t.put(where, thing(name, "Plank", metadata={"name": name, "namespace": "other"}))
            t.merge(where, {"kind": "Boat"})
            t.merge(where, {"apiVersion": "example.com/v2"})
            t.merge(where, {"metadata": {"name": "else"}})
            t.json_patch(where, [{"op": "replace", "path": "/kind", "value": "Boat"}])
            t.json_patch(where, [{"op": "remove", "path": "/kind"}])
            t.apply(where, thing(name, "Boat"))
            t.apply(where, {**other, "metadata": {"name": name}})
            t.apply(where, thing("else", "Plank"))
            t.apply(where, {"metadata": {"name": name}})
            t.strategic(where, {"spec": {"n": 1}})
    for body in (thing("new", "Boat", {"n": "text"}), {**thing("new", "Plank"), "apiVersion": "example.com/v2"}, {"kind": "Plank", "metadata": {"name": "new"}}):
        t.post(path + "?dryRun=All", body)
    for sub in ("", "/status"):
        t.get(path + "/p" + sub, save={"rv": "metadata.resourceVersion"})
        t.put(path + "/p" + sub, thing("p", "Boat", {"n": 5}, metadata={"name": "p", "resourceVersion": "${rv}"}))
        t.put(path + "/p" + sub, thing("p", "Plank", {"n": 5}, metadata={"name": "p", "resourceVersion": "${rv}", "uid": "11111111-1111-1111-1111-111111111111"}))
        t.put(path + "/p" + sub, thing("p", "Plank", {"n": 5}, metadata={"name": "p", "resourceVersion": "5", "uid": "11111111-1111-1111-1111-111111111111"}))
        t.merge(path + "/p" + sub, {"kind": None})
        t.merge(path + "/p" + sub, {"apiVersion": None})
        t.merge(path + "/p" + sub, {"apiVersion": 5})
        t.merge(path + "/p" + sub, {"kind": "Boat", "apiVersion": "other.com/v3", "spec": {"n": "text"}})
        t.json_patch(path + "/p" + sub, [{"op": "replace", "path": "/apiVersion", "value": "v1"}])
    t.delete(path + "/gone/status")
    t.delete(path + "/else")


def scales(t):
    """Who owns the replicas, written through the object and through its scale."""
    path = B + "planks"
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "s", "namespace": "default"}}
    t.post(path + "?fieldManager=maker", thing("s", "Plank", {"n": 1, "other": "x"}))
    t.apply(path + "/s/scale", {**scale, "spec": {"replicas": 2}}, manager="scaler")
    t.apply(path + "/s/scale", {**scale, "spec": {"replicas": 2}}, manager="scaler", force=True)
    t.get(path + "/s")
    t.apply(path + "/s/scale", {**scale, "spec": {"replicas": 3}}, manager="other")
    t.apply(path + "/s", thing("s", "Plank", {"n": 4}), manager="applier")
    t.apply(path + "/s", thing("s", "Plank", {"n": 4}), manager="applier", force=True)
    t.apply(path + "/s/scale", scale, manager="scaler")
    t.apply(path + "/s/scale", {**scale, "kind": "Plank"}, manager="scaler")
    t.apply(path + "/gone/scale", {**scale, "metadata": {"name": "gone"}, "spec": {"replicas": 2}}, manager="scaler")
    t.put(path + "/s/scale?fieldManager=updater", {**scale, "spec": {"replicas": 6}})
    t.get(path + "/s")
    # objects that nobody owns anything of
    t.merge(path + "/s", {"metadata": {"managedFields": [{}]}})
    t.apply(path + "/s/scale", {**scale, "spec": {"replicas": 7}}, manager="scaler", force=True)
    t.apply(path + "/s/scale?dryRun=All", {**scale, "spec": {"replicas": 6}}, manager="scaler")
    t.put(path + "/s/scale?fieldManager=updater", {**scale, "spec": {"replicas": 8}})
    t.merge(path + "/s/scale?fieldManager=patcher", {"spec": {"replicas": 9}})
    t.get(path + "/s")
    t.merge(path + "/s/status?fieldManager=reporter", {"status": {"n": 1}})
    t.apply(path + "/s/status", thing("s", "Plank", {"n": 99}, status={"n": 2}), manager="status", force=True)
    t.get(path + "/s/scale")
    t.get(path + "/s")


def versions(t):
    """Two versions that keep different things: what was pruned in one is gone for the other."""
    v1 = structural(a={"type": "string"}, both={"type": "string", "default": "of v1"}, free={"type": "object", "x-kubernetes-preserve-unknown-fields": True}, num={"type": "integer"})
    v2 = structural(b={"type": "string", "default": "of v2"}, both={"type": "string"}, free={"type": "object", "properties": {"kept": {"type": "string"}}}, num={"x-kubernetes-int-or-string": True})
    t.crd(crd("duals", "Dual", versions=[version("v1", schema=v1), version("v2", storage=False, schema=v2)]))
    one, two = B + "duals", B.replace("/v1/", "/v2/") + "duals"
    spec = {"a": "x", "b": "y", "free": {"kept": "k", "lost": "l"}, "num": 5}
    t.post(one, thing("a", "Dual", spec))
    t.post(two, {**thing("b", "Dual", {**spec, "num": "5"}), "apiVersion": "example.com/v2"})
    for name in ("a", "b"):
        t.get(f"{one}/{name}")
        t.get(f"{two}/{name}")
    t.get(two, keep=["items", "kind"])
    t.put(two + "/a", {**thing("a", "Dual", spec), "apiVersion": "example.com/v2"})
    t.get(one + "/a")
    t.merge(one + "/b", {"spec": {"a": "z"}})
    t.merge(two + "/b", {"spec": {"b": "z"}})
    t.apply(two + "/b", {**thing("b", "Dual", {"both": "mine"}), "apiVersion": "example.com/v2"}, manager="newer")
    t.apply(one + "/b", thing("b", "Dual", {"both": "yours"}), manager="older")
    t.apply(one + "/b", thing("b", "Dual", {"both": "yours"}), manager="older", force=True)
    t.merge(f"{C}/duals.example.com", {"spec": {"versions": [version("v1", storage=False, schema=v1), version("v2", schema=v2)]}}, keep=["status"])
    t.settle(2)
    for name in ("a", "b"):
        t.get(f"{one}/{name}")
        t.get(f"{two}/{name}")
    t.merge(two + "/a", {"metadata": {"labels": {"moved": "yes"}}})
    t.get(one + "/a")
    t.get(f"{C}/duals.example.com", keep=["status"])
    t.merge(f"{C}/duals.example.com", {"spec": {"versions": [version("v2", schema=v2)]}}, keep=["spec"])
    t.merge(f"{C}/duals.example.com/status", {"status": {"storedVersions": ["v2"]}}, keep=["status"])
    t.merge(f"{C}/duals.example.com", {"spec": {"versions": [version("v2", schema=v2)]}}, keep=["status"])
    t.settle(2)
    t.get(one + "/a")
    t.get(two + "/a")
    t.get(two + "/b")
    t.apply(two + "/b", {**thing("b", "Dual", {"both": "again"}), "apiVersion": "example.com/v2"}, manager="newer", force=True)


def subresources(t):
    """Status and scale that come and go."""
    t.crd(crd("comings", "Coming"))
    path = B + "comings"
    t.post(path, thing("c", "Coming", {"n": 1}, status={"s": 1}))
    t.merge(path + "/c/status", {"status": {"s": 2}})
    become(t, "comings", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, subresources={"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.s", "labelSelectorPath": ".status.l"}})
    t.get(path + "/c/status")
    t.get(path + "/c/scale")
    t.merge(path + "/c", {"status": {"s": 3}})
    t.merge(path + "/c/status", {"status": {"s": 4, "l": "a=b"}})
    t.merge(path + "/c/status", {"status": {"s": "text"}})
    t.merge(path + "/c/scale", {"spec": {"replicas": 3}})
    t.merge(path + "/c", {"spec": {"n": "text"}})
    t.merge(path + "/c", {"spec": {"n": -1}})
    t.merge(path + "/c/status", {"status": {"l": 5}})
    t.get(path + "/c/scale")
    become(t, "comings", {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    t.get(path + "/c/scale")
    t.get(path + "/c/status")
    t.merge(path + "/c", {"status": {"s": 5}})
