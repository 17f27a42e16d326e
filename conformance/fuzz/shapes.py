"""What the objects of each kind look like: the real server's OpenAPI documents, a valid object of each kind, and random values of a schema."""
import json
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "builtins"))

import yaml  # noqa: E402
from record import Plain, place  # noqa: E402

WORDS = ["x", "x", "a", "b", "", "A_ b", "a.b/c", "1", "true", "10.0.0.5", "fd00::1", "http", "Never", "TCP", "*", "/x", "../x", "a" * 64, "é", "x=y", "-", "x" * 254]
TIMES = ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000000Z", "2020-01-01", "x", ""]
AMOUNTS = ["1", "0", "-1", "500m", "1Gi", "1.5", 2, "x", "", "1e3", "0.5m"]


def bases():
    """{path of the collection: (valid object, objects that it needs)}"""
    made = {}
    folder = os.path.join(HERE, "..", "builtins", "cases")
    for file in sorted(os.listdir(folder)):
        with open(os.path.join(folder, file)) as f:
            for group in yaml.load_all(f, Plain):
                if group:
                    made.setdefault(place(group), []).append((group["base"], group.get("needs", [])))
    return made


class Shapes:
    def __init__(self, server):
        self.schemas, self.kinds = {}, {}
        index = server.call("GET", "/openapi/v3").json()["paths"]
        for path, at in index.items():
            if path.startswith(("api/", "apis/")):
                document = server.call("GET", at["serverRelativeURL"]).json()
                for name, schema in document.get("components", {}).get("schemas", {}).items():
                    self.schemas[name] = schema
                    for gvk in schema.get("x-kubernetes-group-version-kind", []):
                        self.kinds[(gvk["group"], gvk["version"], gvk["kind"])] = name

    def of(self, document):
        group, _, version = document["apiVersion"].rpartition("/")
        return {"$ref": "#/components/schemas/" + self.kinds[(group, version, document["kind"])]}

    def at(self, schema):
        """The schema behind references; with the list type of where it stands."""
        while True:
            if "$ref" in schema:
                schema = self.schemas[schema["$ref"].rsplit("/", 1)[1]]
            elif len(schema.get("allOf", [])) == 1:
                schema = {**{k: v for k, v in schema.items() if k != "allOf"}, **self.at(schema["allOf"][0])}
            else:
                return schema

    def paths(self, schema, depth=5, path=()):
        """(path, schema) of each member, lists and maps with one item."""
        schema = self.at(schema)
        if path:
            yield path, schema
        if len(path) >= depth:
            return
        for name, member in schema.get("properties", {}).items():
            if path or name not in ("apiVersion", "kind"):
                yield from self.paths(member, depth, (*path, name))
        if "items" in schema:
            yield from self.paths(schema["items"], depth, (*path, 0))
        elif isinstance(schema.get("additionalProperties"), dict):
            yield from self.paths(schema["additionalProperties"], depth, (*path, "a"))


class Rng(random.Random):
    def value(self, shapes, schema, depth=3):
        """A random value that a schema may have."""
        schema = shapes.at(schema)
        kind, form = schema.get("type"), schema.get("format")
        if "oneOf" in schema and kind is None or form == "int-or-string":
            return self.choice([*AMOUNTS, 80, "http", "50%"])
        if kind == "object" or "properties" in schema:
            if "properties" in schema:
                names = list(schema["properties"])
                chosen = set(self.sample(names, min(len(names), self.randint(0, 3)))) | {n for n in schema.get("required", []) if self.random() < 0.9}
                return {n: self.value(shapes, schema["properties"][n], depth - 1) for n in names if n in chosen} if depth > 0 else {}
            inner = schema.get("additionalProperties")
            if not isinstance(inner, dict):
                return self.choice([{}, {"a": 1}])
            return {self.choice(["a", "b", "cpu", "memory", "a.b/c", "A_ b"]): self.value(shapes, inner, depth - 1) for _ in range(self.randint(0, 2))}
        if kind == "array":
            return [self.value(shapes, schema["items"], depth - 1) for _ in range(self.randint(0, 2))]
        if kind == "boolean":
            return self.random() < 0.5
        if kind in ("integer", "number"):
            return self.choice([0, 1, 1, 2, 5, 80, 443, 65536, -1, 2147483647])
        if schema.get("enum") and self.random() < 0.8:
            return self.choice(schema["enum"])
        if form in ("date-time",):
            return self.choice(TIMES)
        if form == "byte":
            return self.choice(["YQ==", "", "!", "YQ"])
        if kind == "string":
            return self.choice(WORDS)
        return self.choice([None, 1, "x", {}, {"a": [1]}])

    def wrong(self, schema):
        """Values of other types than a schema's."""
        kind, form = schema.get("type"), schema.get("format")
        if kind == "string":
            return [1, True, {}, ["x"]] if form != "byte" else [1, "!!", {}, ["x"]]
        if kind in ("integer", "number"):
            return ["x", "1", 1.5, True, {}, [1], 99999999999]
        if kind == "boolean":
            return ["true", 1, {}, [True]]
        if kind == "array":
            return ["x", 1, {}, [None], {"a": 1}, [[]]]
        if kind == "object" or "properties" in schema:
            return ["x", 1, True, [], [{}]]
        return [True, {}, [1], 1.5]


def put(document, path, value):
    """Sets a member, making what leads to it."""
    holder = document
    for at, key in enumerate(path):
        last = at + 1 == len(path)
        following = None if last else [] if isinstance(path[at + 1], int) else {}
        if isinstance(holder, list):
            if not holder:
                holder.append(None)
            key = min(key, len(holder) - 1) if isinstance(key, int) else 0
            if last:
                holder[key] = value
            elif not isinstance(holder[key], type(following)):
                holder[key] = following
        elif last:
            holder[key] = value
        elif not isinstance(holder.get(key), type(following)):
            holder[key] = following
        if not last:
            holder = holder[key]
    return document


def members(value, path=()):
    """The paths of all members of a document."""
    for key, member in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from members(member, (*path, key))


def without(document, path):
    for key in path[:-1]:
        document = document[key]
    del document[path[-1]]


def get(document, path):
    for key in path:
        document = document[key]
    return document


def same(a, b):
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)
