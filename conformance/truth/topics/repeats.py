"""Applies of the same document again and again after others have applied and written: what stays, and which of them change nothing."""
import random

from topics.crd import crd, version

PLACE = "/apis/example.com/v1/namespaces/default/repeats"
WORD = {"type": "string"}
WORDS = {"type": "object", "additionalProperties": WORD}
ITEM = {"type": "object", "required": ["name"], "properties": {"name": WORD, "image": WORD, "args": {"type": "array", "items": WORD}}}
SPEC = {
    "replicas": {"type": "integer"},
    "data": WORDS,
    "selector": {**WORDS, "x-kubernetes-map-type": "atomic"},
    "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": WORD},
    "list": {"type": "array", "items": WORD},
    "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": ITEM},
    "deep": {"type": "object", "properties": {"data": WORDS, "more": {"type": "object", "properties": {"data": WORDS}}}},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": SPEC}}}


def made(rng):
    """A spec; often its maps and lists are empty."""
    def some(of):
        return rng.sample(of, rng.choice([0, 0, 1, 2]))

    def words():
        return {key: rng.choice("ab") for key in some("abc")}

    def item(name):
        return {"name": name, **({"image": rng.choice("ab")} if rng.random() < .4 else {}), **({"args": some("ab")} if rng.random() < .3 else {})}
    fields = {
        "replicas": lambda: rng.randrange(3), "data": words, "selector": words, "tags": lambda: some("abc"), "list": lambda: some("abc"),
        "items": lambda: [item(name) for name in some("abc")],
        "deep": lambda: rng.choice([{}, {"data": words()}, {"more": {}}, {"more": {"data": words()}}]),
        "free": lambda: rng.choice([{}, {"x": {}}, {"x": words(), "y": []}]),
    }
    return {name: fields[name]() for name in sorted(rng.sample(sorted(fields), rng.choice([0, 0, 1, 2, 3])))}


def story(t, name, first, second, third):
    def body(spec):
        return {"apiVersion": "example.com/v1", "kind": "Repeat", "metadata": {"name": name}, "spec": spec}
    keep = ["kind", "message", "details", "spec", "metadata.managedFields", "metadata.generation", "metadata.resourceVersion"]
    t.apply(f"{PLACE}/{name}", body(first), manager="me", keep=keep)
    t.apply(f"{PLACE}/{name}", body(second), manager="you", force=True, keep=keep)
    t.get(f"{PLACE}/{name}", keep=["kind"], save={"v": "metadata.resourceVersion"})
    written = body(third)
    written["metadata"]["resourceVersion"] = "${v}"
    t.put(f"{PLACE}/{name}?fieldManager=edit", written, keep=keep)
    for _ in range(3):
        t.apply(f"{PLACE}/{name}", body(first), manager="me", force=True, keep=keep)
    t.apply(f"{PLACE}/{name}", body(second), manager="you", keep=keep)
    t.apply(f"{PLACE}/{name}", body(second), manager="you", force=True, keep=keep)


def run(t):
    t.crd(crd("repeats", "Repeat", versions=[version(schema=SCHEMA)]), keep=["kind"])
    story(t, "a", {}, {"data": {"a": "a"}}, {"data": {}, "tags": []})
    story(t, "b", {}, {"data": {"a": "a"}}, {"data": {}, "items": []})
    story(t, "c", {}, {"deep": {"data": {"a": "a"}}}, {"deep": {"data": {}, "more": {}}})
    rng = random.Random(37)
    for index in range(30):
        story(t, f"r{index}", made(rng), made(rng), made(rng))
