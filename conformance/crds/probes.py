"""Small objects that break one rule of a schema each, derived from the schema itself."""

LIMIT = 16


def of_version(crd, version):
    """Yields (name, top-level fields) for a version of a CRD, at most LIMIT derived ones, spread over the kinds of rules."""
    schema = version.get("schema", {}).get("openAPIV3Schema", {})
    yield "empty", {}
    if "spec" in schema.get("properties", {}):
        yield "spec {}", {"spec": {}}
        yield "spec is text", {"spec": "text"}
        yield "spec null", {"spec": None}
        yield "unknown field", {"spec": {"noSuchField": 1}}
    found = {}
    for kind, path, value in walk(schema, []):
        found.setdefault(kind, []).append((path, value))
    taken, turn = 0, 0
    while taken < LIMIT and any(turn < len(ones) for ones in found.values()):
        for kind in sorted(found):
            if turn < len(found[kind]) and taken < LIMIT:
                path, value = found[kind][turn]
                yield f"{kind} {'.'.join(map(str, path))}", nest(path, value)
                taken += 1
        turn += 1


def nest(path, value):
    for step in reversed(path):
        value = [value] if step == 0 else {step: value}
    return value


def walk(schema, path):
    if len(path) > 6 or (path and path[0] in ("metadata", "apiVersion", "kind")):
        return
    kind = schema.get("type")
    if path:
        if "enum" in schema:
            yield "enum", path, "no-such-value"
        if "pattern" in schema:
            yield "pattern", path, "\u0001 !"
        if "format" in schema and kind == "string":
            yield f"format {schema['format']}", path, "not of this format"
        if "format" in schema and kind == "integer":
            yield "big", path, 9223372036854775807
        if "minimum" in schema:
            yield "minimum", path, int(schema["minimum"]) - 1
        if "maximum" in schema:
            yield "maximum", path, int(schema["maximum"]) + 1
        if "minLength" in schema:
            yield "minLength", path, ""
        if schema.get("maxLength", 1 << 20) < 300:
            yield "maxLength", path, "x" * (schema["maxLength"] + 1)
        if "minItems" in schema:
            yield "minItems", path, []
        if schema.get("maxItems", 1 << 20) < 10:
            yield "maxItems", path, [{}] * (schema["maxItems"] + 1)
        if "x-kubernetes-int-or-string" in schema:
            yield "int-or-string", path, True
        if schema.get("x-kubernetes-embedded-resource"):
            yield "embedded", path, {"kind": "", "metadata": {"name": 1}}
            yield "embedded meta", path, {"apiVersion": "v1", "kind": "A_b", "metadata": {"labels": {"a b": "c"}, "x": 1}}
        if schema.get("x-kubernetes-list-type") == "set":
            yield "set", path, ["a", "a", "b", "a"]
        if schema.get("x-kubernetes-list-type") == "map":
            keys = schema["x-kubernetes-list-map-keys"]
            yield "map", path, [{k: sample(schema["items"]["properties"][k]) for k in keys}] * 2
        if schema.get("nullable"):
            yield "nullable", path, None
        elif kind:
            yield f"null {kind}", path, None
        if "required" in schema:
            yield "required", path, {}
        for junctor in ("oneOf", "anyOf", "allOf", "not"):
            if junctor in schema:
                yield junctor, path, sample(schema)
        if kind:
            yield f"type {kind}", path, 1 if kind in ("string", "object", "array") else "text"
        if "default" in schema:
            parent = path[:-1]
            if parent and parent[-1] != 0:
                yield "default", parent, {}
    for name, child in sorted(schema.get("properties", {}).items()):
        yield from walk(child, path + [name])
    if isinstance(schema.get("items"), dict):
        yield from walk(schema["items"], path + [0])
    if isinstance(schema.get("additionalProperties"), dict):
        yield from walk(schema["additionalProperties"], path + ["key"])


def sample(schema):
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    return {"string": "a", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}.get(schema.get("type"), {})
