"""Rooms of writes: what each kind says of members of a wrong type, missing, unknown or random; of patches at odd places; of applies by two managers."""
import copy

from shapes import get, members, put, without

FIELD = ["Strict", "Warn", "Ignore"]


def types(pair, shapes, rng, kind, cases):
    """Each member of the schema with a value of another type, created and patched as a dry run."""
    found = list(shapes.paths(shapes.of(kind.base), 5))
    for path, schema in found if len(found) < 4 * cases else rng.sample(found, 4 * cases):
        value = rng.choice(shapes_wrong(rng, shapes, schema))
        body = put(kind.fresh(), path, value)
        pair.ask("POST", f"{kind.path}?dryRun=All&fieldValidation={rng.choice(FIELD)}", body)
        if rng.random() < 0.25:
            patch = put({}, path, rng.choice(shapes_wrong(rng, shapes, schema)))
            pair.ask("PATCH", f"{kind.path}/{kind.name}?dryRun=All&fieldValidation={rng.choice(FIELD)}", patch, rng.choice(["merge", "strategic"]))
        if rng.random() < 0.25:
            body = put({"apiVersion": kind.version, "kind": kind.kind, "metadata": {"name": kind.name}}, path, rng.choice(shapes_wrong(rng, shapes, schema)))
            pair.ask("PATCH", f"{kind.path}/{kind.name}?dryRun=All&fieldManager=f&fieldValidation={rng.choice(FIELD)}", body, "apply")


def shapes_wrong(rng, shapes, schema):
    return [*rng.wrong(schema), None]


def missing(pair, shapes, rng, kind, cases):
    """Each member of a valid object gone, or null, or empty: created and updated as a dry run."""
    lives = pair.live(f"{kind.path}/{kind.name}")
    for path in members(kind.base):
        if path in (("apiVersion",), ("kind",), ("metadata",)):
            continue
        body = kind.fresh()
        without(body, path)
        pair.ask("POST", f"{kind.path}?dryRun=All", body)
        value = get(kind.base, path)
        empty = [None, {} if isinstance(value, dict) else [] if isinstance(value, list) else "" if isinstance(value, str) else 0]
        for other in empty:
            pair.ask("POST", f"{kind.path}?dryRun=All", put(kind.fresh(), path, other))
        if path != ("metadata", "name") and has(lives, path):
            pair.ask("PUT", f"{kind.path}/{kind.name}?dryRun=All", lambda live: without(live, path) or live, lives=lives)


def has(lives, path):
    try:
        return [get(live, path) for live in lives] is not None
    except (KeyError, IndexError, TypeError):
        return False


def unknown(pair, shapes, rng, kind, cases):
    """Members that nobody knows, members in another case, members twice, in each way of validating."""
    places = [p for p in [(), *members(kind.base)] if isinstance(get(kind.base, p), dict)]
    import json
    for path in rng.sample(places, min(len(places), 6)):
        for mode in FIELD:
            body = put(kind.fresh(), (*path, "nothing"), rng.choice([1, "x", {}, [1], None]))
            pair.ask("POST", f"{kind.path}?dryRun=All&fieldValidation={mode}", body)
            if get(kind.base, path):
                member = rng.choice(list(get(kind.base, path)))
                body = kind.fresh()
                inner = get(body, path)
                inner[member[:1].swapcase() + member[1:]] = inner.pop(member)
                pair.ask("POST", f"{kind.path}?dryRun=All&fieldValidation={mode}", body)
                body = kind.fresh()
                get(body, path)["twice"] = "TWICE"
                text = json.dumps(body).replace('"twice": "TWICE"', f'{json.dumps(member)}: {json.dumps(get(body, path)[member])}')
                pair.ask("POST", f"{kind.path}?dryRun=All&fieldValidation={mode}", text)
            patch = put({}, (*path, "nothing"), 1)
            pair.ask("PATCH", f"{kind.path}/{kind.name}?dryRun=All&fieldValidation={mode}", patch, rng.choice(["merge", "strategic"]))
            pair.ask("PATCH", f"{kind.path}/{kind.name}?dryRun=All&fieldValidation={mode}&fieldManager=f",
                     {**patch, "apiVersion": kind.version, "kind": kind.kind}, "apply")


def random_change(rng, shapes, document, schema, changes):
    """A document with random members of its schema set, dropped or replaced."""
    found = [p for p in shapes.paths(schema, 6) if p[0][0] != "metadata" or rng.random() < 0.1]
    for _ in range(changes):
        path, member = rng.choice(found)
        try:
            put(document, path, rng.value(shapes, member))
        except (TypeError, IndexError, KeyError):
            pass
    return document


def fill(pair, shapes, rng, kind, cases):
    """Valid objects with random members of their schema besides: created, updated, and their status."""
    schema, lives = shapes.of(kind.base), pair.live(f"{kind.path}/{kind.name}")
    for _ in range(cases):
        body = random_change(rng, shapes, kind.fresh(), schema, rng.randint(1, 3))
        pair.ask("POST", f"{kind.path}?dryRun=All", body)
        state = rng.getstate()

        def changed(live):
            rng.setstate(state)
            return random_change(rng, shapes, live, schema, 1 + (rng.random() < 0.3))
        pair.ask("PUT", f"{kind.path}/{kind.name}?dryRun=All", changed, lives=lives)
        rng.random()
        if "status" in lives[0] and rng.random() < 0.4:
            state = rng.getstate()
            pair.ask("PUT", f"{kind.path}/{kind.name}/status?dryRun=All", changed, lives=lives)
            rng.random()


def directives(rng, value, depth=0):
    """A patch made of a part of a document, with directives of strategic merge here and there."""
    if isinstance(value, dict):
        made = {}
        for key, member in value.items():
            dice = rng.random()
            if dice < 0.5 or depth < 2 and dice < 0.8:
                made[key] = directives(rng, member, depth + 1)
            elif dice < 0.6:
                made[key] = None
        dice = rng.random()
        if dice < 0.08:
            made["$patch"] = rng.choice(["replace", "delete", "merge", "other", 1])
        elif dice < 0.14:
            made["$retainKeys"] = rng.choice([list(value)[:1], list(made), ["x"], "x", [1]])
        elif dice < 0.2 and value:
            key = rng.choice(list(value))
            made["$setElementOrder/" + key] = rng.choice([[], ["x"], [{"name": "c"}], "x", [value[key]] if not isinstance(value[key], list) else value[key][::-1]])
        elif dice < 0.26 and value:
            key = rng.choice(list(value))
            made["$deleteFromPrimitiveList/" + key] = rng.choice([["x"], value[key], [], "x", [{}]])
        return made
    if isinstance(value, list):
        made = [directives(rng, member, depth + 1) for member in value if rng.random() < 0.9]
        dice = rng.random()
        if dice < 0.1:
            made.append({"$patch": rng.choice(["replace", "delete", "merge", "x"])})
        elif dice < 0.15 and value and isinstance(value[0], dict):
            made.append({**value[0], "$patch": "delete"})
        elif dice < 0.2:
            made.append(rng.choice([None, 1, "x", {}, [], {"name": "new"}]))
        return made
    return rng.choice([value, value, value, None, "x", 1])


def operations(rng, document):
    """A JSON patch at places that are there, nearly there, or not."""
    places = ["/" + "/".join(str(k).replace("~", "~0").replace("/", "~1") for k in path) for path in members(document)]
    odd = ["", "/", "/nothing", "/nothing/x", "x", "/metadata/labels/-", "/metadata/labels/a~1b", "/metadata/labels/~2", "/metadata/finalizers/-", "/metadata/finalizers/0"]
    made = []
    for _ in range(rng.randint(1, 3)):
        def where():
            at = rng.choice(places) if rng.random() < 0.8 else rng.choice(odd)
            return at + rng.choice(["", "", "", "", "/-", "/0", "/-1", "/99", "/x", "/01", "/"])
        op = rng.choice(["add", "remove", "replace", "test", "copy", "move", "test"])
        step = {"op": op, "path": where()}
        if op in ("copy", "move"):
            step["from"] = where()
        elif op != "remove":
            step["value"] = rng.choice([1, "x", None, {}, [], {"a": "x"}, True])
        if rng.random() < 0.03:
            step.pop(rng.choice(list(step)))
        if rng.random() < 0.02:
            step["op"] = rng.choice(["ADD", "", 1, None, "none"])
        if rng.random() < 0.02:
            step["path"] = rng.choice([1, None])
        made.append(step)
    return made


def patches(pair, shapes, rng, kind, cases):
    """Patches of each type at odd places, as a dry run."""
    live = pair.live(f"{kind.path}/{kind.name}")[0]
    for key in ("uid", "creationTimestamp", "resourceVersion", "managedFields", "name", "namespace"):
        live["metadata"].pop(key, None)
    where = f"{kind.path}/{kind.name}"
    for _ in range(cases):
        mode = rng.choice(["", "", "&fieldValidation=Strict", "&fieldValidation=Warn", "&fieldValidation=Ignore"])
        sub = rng.choice(["", "", "", "/status"]) if "status" in live else ""
        pair.ask("PATCH", f"{where}{sub}?dryRun=All{mode}", directives(rng, live), "strategic")
        pair.ask("PATCH", f"{where}{sub}?dryRun=All{mode}", operations(rng, live), "json")
        if rng.random() < 0.5:
            pair.ask("PATCH", f"{where}{sub}?dryRun=All{mode}", random_change(rng, shapes, {}, shapes.of(kind.base), rng.randint(1, 3)), rng.choice(["merge", "strategic"]))


def applies(pair, shapes, rng, kind, cases):
    """Two managers apply parts of an object in turn, for real, with and without force; and others write between."""
    schema, name = shapes.of(kind.base), kind.fresh()["metadata"]["name"]
    if name == kind.name:
        return
    pair.story = True
    for _ in range(max(1, cases // 12)):
        pair.forget()
        for _ in range(8):
            body = kind.fresh()
            for path in list(members(body)):
                if path[0] not in ("apiVersion", "kind", "metadata") and rng.random() < 0.15:
                    try:
                        without(body, path)
                    except (KeyError, IndexError, TypeError):
                        pass
            if rng.random() < 0.6:
                body = random_change(rng, shapes, body, schema, rng.randint(1, 3))
            body["metadata"]["name"] = name
            manager, force = rng.choice(["m1", "m2"]), rng.choice(["", "", "&force=true"])
            sub = "/status" if rng.random() < 0.12 else ""
            if rng.random() < 0.8:
                pair.ask("PATCH", f"{kind.path}/{name}{sub}?fieldManager={manager}{force}", body, "apply")
            else:
                body.pop("apiVersion"), body.pop("kind")
                pair.ask("PATCH", f"{kind.path}/{name}{sub}?fieldManager={manager}", body, rng.choice(["merge", "strategic"]))
        pair.quiet("PATCH", f"{kind.path}/{name}", {"metadata": {"finalizers": None}}, headers={"Content-Type": "application/merge-patch+json"})
        pair.ask("DELETE", f"{kind.path}/{name}?gracePeriodSeconds=0")
    pair.story = False


ROOMS = {"types": types, "missing": missing, "unknown": unknown, "fill": fill, "patches": patches, "applies": applies}
