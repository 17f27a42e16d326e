"""Rooms of reads and of what stands beside the object: lists, forms of answers, options, names, subresources, deletions."""
import itertools
import json

TABLE, PARTIAL, PARTIALS = "Table", "PartialObjectMetadata", "PartialObjectMetadataList"
PROTOBUF = "application/vnd.kubernetes.protobuf"


def accepts(rng):
    kind = rng.choice(["application/json", "application/yaml", PROTOBUF, "*/*", "application/*", "text/plain", "application/cbor", "application/xml", ""])
    parts = [kind]
    if rng.random() < 0.6:
        parts.append("as=" + rng.choice([TABLE, TABLE, PARTIAL, PARTIALS, "Other"]))
        if rng.random() < 0.9:
            parts.append("v=" + rng.choice(["v1", "v1", "v1beta1", "v2"]))
        if rng.random() < 0.9:
            parts.append("g=" + rng.choice(["meta.k8s.io", "meta.k8s.io", "x"]))
    if rng.random() < 0.1:
        parts.append(rng.choice(["q=0.5", "q=0", "charset=utf-8", "pretty=1", "stream=watch"]))
    return ";".join(parts)


def forms(pair, shapes, rng, kind, cases):
    """One object and the list in each form of answer."""
    where = f"{kind.path}/{kind.name}"
    chosen = ["application/json", "application/yaml", PROTOBUF]
    for form in chosen:
        for what in ("", f";as={TABLE};v=v1;g=meta.k8s.io", f";as={PARTIAL};v=v1;g=meta.k8s.io"):
            pair.ask("GET", where, accept=form + what)
    for form in chosen:
        for what in (f";as={TABLE};v=v1;g=meta.k8s.io", f";as={PARTIALS};v=v1;g=meta.k8s.io"):
            pair.ask("GET", f"{kind.path}?limit=2", accept=form + what, ignore=(r"\.metadata|remaining",) if form == PROTOBUF else ())
    for _ in range(cases // 6):
        accept = ", ".join(accepts(rng) for _ in range(rng.choice([1, 1, 2, 3])))
        query = rng.choice(["", "?pretty=true", "?includeObject=None", "?includeObject=Object", "?includeObject=Metadata", "?includeObject=x"])
        pair.ask(rng.choice(["GET", "GET", "DELETE"]), where + query + ("&" if query else "?") + "dryRun=All", accept=accept)
        pair.ask("POST", kind.path + query + ("&" if query else "?") + "dryRun=All", kind.fresh(), accept=accept)


SELECTORS = ["metadata.name={name}", "metadata.name!={name}", "metadata.namespace=default", "metadata.namespace!=default", "metadata.name={name},metadata.namespace=default",
             "metadata.uid=x", "spec.nothing=x", "status.phase=x", "status.phase!=x", "spec.nodeName=", "type=Opaque", "reason=", "involvedObject.kind=", "metadata.name==x", "metadata.name=", "=x", "x", ",", "metadata.name in (x)",
             "spec.unschedulable=false", "status.replicas=0", "metadata.name=a\\,b", "metadata.name=x,", "spec.restartPolicy=Always", "spec.signerName=x", "status.successful=1", "spec.clusterIP=None", "spec.type=ClusterIP",
             "involvedObject.name=x", "type=Normal", "reportingComponent=", "source=x", "spec.schedulerName=x", "status.podIP=", "spec.hostNetwork=true", "spec.serviceAccountName=", "status.nominatedNodeName="]
LABELS = ["a=b", "a!=b", "a", "!a", "a in (b,c)", "a notin (b)", "a=b,c", "a==b", "a>1", "a<x", "a in ()", "a in (", "=b", "a b", "a/b/c=d", "A_=b", "a=b c", "-a", "", ",", "a=", "a in (b),", "x" * 64, "a=" + "x" * 64, "a gt 1"]


def lists(pair, shapes, rng, kind, cases):
    """Lists with every selector, limit, version and way of matching it."""
    for selector in SELECTORS:
        pair.ask("GET", f"{kind.path}?fieldSelector={quoted(selector.format(name=kind.name))}", keep=["kind", "items"])
    for selector in rng.sample(LABELS, 8):
        pair.ask("GET", f"{kind.path}?labelSelector={quoted(selector)}", keep=["kind", "items"])
    limits = ["", "limit=1", "limit=0", "limit=-1", "limit=x", "limit=500"]
    versions = ["", "resourceVersion=0", "resourceVersion=1", "resourceVersion=x", "resourceVersion=99999999", "resourceVersion=-1"]
    matches = ["", "resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan", "resourceVersionMatch=x"]
    more = ["", "", "continue=x", "watch=0", "sendInitialEvents=true", "sendInitialEvents=false", "allowWatchBookmarks=true", "timeoutSeconds=1", "timeoutSeconds=x", "pretty=1", "shardSelector=x"]
    combinations = list(itertools.product(limits, versions, matches, more))
    for parts in rng.sample(combinations, cases):
        if "resourceVersion=99999999" in parts and rng.random() < 0.9:
            continue  # each waits three seconds
        query = "&".join(part for part in parts if part)
        pair.ask("GET", f"{kind.path}?{query}", keep=["kind", "metadata.continue"])
        if rng.random() < 0.2:
            pair.ask("DELETE", f"{kind.path}?{query}&dryRun=All&labelSelector=nothing%3Dx", keep=["kind", "metadata.continue", "items"])


def quoted(text):
    import urllib.parse
    return urllib.parse.quote(text, safe="")


def watches(pair, shapes, rng, kind, cases):
    """Watches that end at once, with every option."""
    options = {
        "resourceVersion": ["", "0", "1", "x", "-1"], "resourceVersionMatch": ["", "NotOlderThan", "Exact", "x"],
        "sendInitialEvents": ["", "true", "false", "x"], "allowWatchBookmarks": ["", "true", "false", "1"],
        "limit": ["", "1"], "continue": ["", "x"], "fieldSelector": ["", f"metadata.name%3D{kind.name}", "spec.nothing%3Dx"], "labelSelector": ["", "a%3Db", "%21a", "a%20b"],
    }
    for _ in range(cases // 10):
        query = {name: rng.choice(values) for name, values in options.items() if rng.random() < 0.5}
        query = "&".join(["watch=true", "timeoutSeconds=1", *(f"{k}={v}" for k, v in query.items() if v)])
        accept = rng.choice(["application/json", "application/json", "application/yaml", PROTOBUF, f"application/json;as={TABLE};v=v1;g=meta.k8s.io", f"application/json;as={PARTIAL};v=v1;g=meta.k8s.io", "application/json;stream=watch", "text/html"])
        path = rng.choice([kind.path, kind.path, f"{kind.path}/{kind.name}"])
        answer = pair.ask("GET", f"{path}?{query}", accept=accept, keep=["kind", "metadata.annotations"])
        del answer


def options(pair, shapes, rng, kind, cases):
    """Options of writes that are odd: managers, ways of validating, dry runs, grace periods, propagation."""
    managers = ["", "x", "a%20b", "%C3%A9", "x" * 128, "x" * 129, "%0A", "%00", "a%2Fb", "%7F"]
    dry = ["All", "", "x", "All&dryRun=All", "None", "all"]
    modes = ["", "Strict", "Warn", "Ignore", "strict", "x"]
    for _ in range(cases // 3):
        query = f"?dryRun=All&fieldManager={rng.choice(managers)}" if rng.random() < 0.6 else f"?dryRun=All&dryRun={rng.choice(dry)}"
        if rng.random() < 0.5:
            query += f"&fieldValidation={rng.choice(modes)}"
        if rng.random() < 0.2:
            query += rng.choice(["&force=true", "&force=x", "&force=false", "&pretty=x", "&timeout=1s", "&timeout=x", "&timeout=0", "&timeout=-1s", "&x=y"])
        method = rng.choice(["POST", "PUT", "apply", "merge", "json", "strategic", "DELETE"])
        if method == "POST":
            pair.ask("POST", kind.path + query, kind.fresh())
        elif method == "PUT":
            pair.ask("PUT", f"{kind.path}/{kind.name}{query}", lambda live: live, lives=pair.live(f"{kind.path}/{kind.name}"))
        elif method == "DELETE":
            pair.ask("DELETE", f"{kind.path}/{kind.name}{query}")
        else:
            body = {"apiVersion": kind.version, "kind": kind.kind, "metadata": {"labels": {"a": "b"}}} if method != "json" else [{"op": "test", "path": "/kind", "value": kind.kind}]
            pair.ask("PATCH", f"{kind.path}/{kind.name}{query}", body, method)
    values = {
        "gracePeriodSeconds": [0, 1, -1, "x", None, 1.5], "propagationPolicy": ["Orphan", "Background", "Foreground", "x", "", 1, None], "orphanDependents": [True, False, "x", None],
        "dryRun": [["All"], ["x"], [], "All", ["All", "All"]], "preconditions": [{"uid": "x"}, {"resourceVersion": "x"}, {}, {"uid": 1}, "x", {"nothing": 1}],
        "kind": ["DeleteOptions", "Other", kind.kind], "apiVersion": ["v1", "v2", "meta.k8s.io/v1", kind.version, "apps/v1"], "nothing": [1], "ignoreStoreReadErrorWithClusterBreakingPotential": [True, False],
    }
    for _ in range(cases // 3):
        body = {name: rng.choice(of) for name, of in values.items() if rng.random() < 0.25}
        query = rng.choice(["", "&gracePeriodSeconds=0", "&propagationPolicy=Orphan", "&propagationPolicy=x", "&orphanDependents=true", "&gracePeriodSeconds=x", "&preconditions=x"])
        where = rng.choice([f"{kind.path}/{kind.name}?dryRun=All", f"{kind.path}/nothing?dryRun=All", f"{kind.path}?dryRun=All&labelSelector=nothing"])
        pair.ask("DELETE", where + query, body)


def metadata(pair, shapes, rng, kind, cases):
    """Names, namespaces, labels, owners and finalizers that are odd."""
    values = {
        "name": ["", "x", "A", "a_b", "a.b", "-a", "a" * 254, "a/b", "a%b", ".", "..", "a" * 64, 1, None], "generateName": ["x-", "X-", "", "a" * 250, "a/b", 1],
        "namespace": ["default", "other", "", "kube-system", "A b", 1], "labels": [{"a": "b"}, {"a b": "c"}, {"a": "b c"}, {"": ""}, {"a/b/c": "d"}, {"a": 1}, {"a": None}, "x", {"a": "x" * 64}],
        "annotations": [{"a": "b"}, {"a b": "c"}, {"A/B": ""}, {"a": 1}, {"": "x"}, {"a": "é\n"}], "finalizers": [["a"], ["a.b/c"], ["a b"], [""], ["a.b/c", "a.b/c"], [1], "x", ["orphan", "foregroundDeletion"], ["kubernetes"]],
        "ownerReferences": [[{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y"}], [{}], [{"apiVersion": "v1", "kind": "Event", "name": "x", "uid": "y"}], [{"apiVersion": "a/b/c", "kind": "", "name": "", "uid": ""}],
                            [{"apiVersion": "v1", "kind": "Pod", "name": n, "uid": n, "controller": True} for n in "xy"], [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y", "blockOwnerDeletion": True, "controller": False, "z": 1}], "x",
                            [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "y"}] * 2],
        "uid": ["x", "", 1], "resourceVersion": ["1", "x", "", 1], "generation": [5, -1, "x"], "creationTimestamp": [None, "2020-01-01T00:00:00Z", "x", 1, ""], "deletionTimestamp": [None, "2020-01-01T00:00:00Z", "x"],
        "deletionGracePeriodSeconds": [5, None, "x", -1], "selfLink": ["/x", 1], "managedFields": [None, [], [{}], [{"manager": "x"}], [{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {}}}],
                                                                                             [{"manager": "x", "operation": "Update", "apiVersion": "x", "time": "x"}], [{"operation": "x"}], [{"fieldsV1": "x"}], [{"manager": "x" * 129, "operation": "Update", "fieldsType": "x"}]],
        "clusterName": ["x"], "nothing": ["x"], "initializers": [{}],
    }
    for _ in range(cases):
        body = kind.fresh()
        chosen = rng.sample(list(values), rng.choice([1, 1, 2]))
        for name in chosen:
            body["metadata"][name] = rng.choice(values[name])
            if name == "generateName" and rng.random() < 0.7:
                body["metadata"].pop("name", None)
        pair.ask("POST", f"{kind.path}?dryRun=All", body)
        dice = rng.random()
        change = {name: body["metadata"].get(name) for name in chosen}
        if dice < 0.4:
            pair.ask("PUT", f"{kind.path}/{kind.name}?dryRun=All", lambda live: {**live, "metadata": {**live["metadata"], **change}}, lives=pair.live(f"{kind.path}/{kind.name}"))
        elif dice < 0.7:
            pair.ask("PATCH", f"{kind.path}/{kind.name}?dryRun=All", {"metadata": change}, rng.choice(["merge", "strategic"]))
        elif dice < 0.9:
            pair.ask("PATCH", f"{kind.path}/{kind.name}?dryRun=All&fieldManager=m", {"apiVersion": kind.version, "kind": kind.kind, "metadata": change}, "apply")


SUBS = ["status", "scale", "binding", "eviction", "ephemeralcontainers", "resize", "token", "finalize", "approval", "log", "exec", "attach", "portforward", "proxy", "nothing"]


def subresources(pair, shapes, rng, kind, cases):
    """Every subresource there is, with every method and bodies of each kind."""
    bodies = {
        "binding": ("v1", "Binding", {"target": {"kind": "Node", "name": "n"}}), "eviction": ("policy/v1", "Eviction", {}), "token": ("authentication.k8s.io/v1", "TokenRequest", {"spec": {"audiences": ["a"]}}),
        "scale": ("autoscaling/v1", "Scale", {"spec": {"replicas": 2}}), "finalize": ("v1", "Namespace", {"spec": {"finalizers": ["kubernetes"]}}),
    }
    for sub in SUBS:
        where = f"{kind.path}/{kind.name}/{sub}"
        if sub not in ("exec", "attach", "portforward", "proxy", "log"):
            pair.ask("GET", where, keep=["kind", "apiVersion", "metadata", "spec", "status"])
        version, name, rest = bodies.get(sub, (kind.version, kind.kind, {}))
        for _ in range(2):
            body = {"apiVersion": rng.choice([version, version, "v1", kind.version]), "kind": rng.choice([name, name, "Other", kind.kind]), "metadata": {"name": rng.choice([kind.name, kind.name, "other", ""])}, **rng.choice([rest, rest, {}, {"spec": 1}, {"spec": {"replicas": -1}}, {"status": {}}])}
            if sub in ("exec", "attach", "portforward", "proxy", "log"):
                continue
            for method in ("POST", "PUT", "DELETE"):
                pair.ask(method, f"{where}?dryRun=All", body if method != "DELETE" else None, ignore=(r"answer\.status\.(token|expirationTimestamp)",))
            pair.ask("PATCH", f"{where}?dryRun=All&fieldManager=f", body, "apply")
            pair.ask("PATCH", f"{where}?dryRun=All", body, "merge")
            pair.ask("PATCH", f"{where}?dryRun=All", body, "strategic")


def bodies(pair, shapes, rng, kind, cases):
    """Bodies in other forms, of other types, torn, empty, or of other kinds."""
    text = json.dumps(kind.fresh())
    import yaml
    written = yaml.safe_dump(kind.fresh())
    options = [("application/json", text[:-1]), ("application/json", ""), ("application/json", "null"), ("application/json", "[]"), ("application/json", "x"), ("application/json", text + "x"), ("application/json", text + text),
               ("application/yaml", written), ("application/yaml", text), ("application/yaml", written + "---\n" + written), ("application/yaml", "a: b: c"), ("application/yaml", ""), ("application/json", written), ("text/plain", text),
               ("application/xml", text), ("", text), (PROTOBUF, text), (PROTOBUF, "k8s\0"), ("application/json;charset=utf-8", text), ("application/json; x", text), ("application/merge-patch+json", text), ("application/cbor", text),
               ("application/json", json.dumps({**kind.fresh(), "kind": kind.kind + "List", "items": []})), ("application/json", json.dumps({**kind.fresh(), "apiVersion": "x/v1"})), ("application/json", json.dumps({**kind.fresh(), "kind": ""})),
               ("application/json", json.dumps({k: v for k, v in kind.fresh().items() if k not in ("apiVersion", "kind")})), ("application/json", json.dumps({**kind.fresh(), "apiVersion": 1})), ("application/json", json.dumps({**kind.fresh(), "metadata": None})),
               ("application/json", json.dumps({**kind.fresh(), "metadata": "x"})), ("application/json", json.dumps({**kind.fresh(), "kind": "Pod", "apiVersion": "v1"})), ("application/json", json.dumps({**kind.fresh(), "apiVersion": "v1beta1"}))]
    for content, body in options:
        pair.ask("POST", f"{kind.path}?dryRun=All", body, content)
        if rng.random() < 0.5:
            pair.ask("PUT", f"{kind.path}/{kind.fresh()['metadata']['name']}?dryRun=All", body, content)
        if rng.random() < 0.3:
            pair.ask("DELETE", f"{kind.path}/{kind.name}?dryRun=All", body, content)
        if rng.random() < 0.3:
            patch = rng.choice(["merge", "strategic", "json", "apply"])
            pair.ask("PATCH", f"{kind.path}/{kind.name}?dryRun=All&fieldManager=f", body, patch)


ROOMS = {"forms": forms, "lists": lists, "watches": watches, "options": options, "metadata": metadata, "subresources": subresources, "bodies": bodies}
