"""Objects that a webhook converts: every place where it is asked, what it is asked, and what becomes of the request when it fails there."""
from hook import Hooks
from topics.conversions import NEW, OLD, answers, both, changed, raft, rafts, webhook
from topics.crd import C
from topics.webhooks import configure, hook, patch, review

FAIL = answers(response={"result": {"status": "Failure", "message": "not now"}})
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
ONE = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
MANY = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
SUB = {"subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.selector"}},
       "additionalPrinterColumns": [{"name": "N", "type": "integer", "jsonPath": ".spec.n"}, {"name": "S", "type": "string", "jsonPath": ".spec.s"}]}


def selectable(storage="v1", **more):
    """Both versions; the second can be selected by one field more. (Were they alike, a real server would want them alike in all.)"""
    versions = both(storage, **SUB)
    versions[0]["selectableFields"] = [{"jsonPath": ".spec.s"}]
    versions[1]["selectableFields"] = [{"jsonPath": ".spec.s"}, {"jsonPath": ".spec.only2"}]
    return [{**v, **more} for v in versions]


# Each version has something of its own, that the webhook gives back.
MOVE = {"to": {"example.com/v1": changed(spec={"only1": "one", "only2": None, "by2": None}), "example.com/v2": changed(spec={"only2": "two", "only1": None, "by1": None})}}


def failing(*versions):
    return {"to": {**MOVE["to"], **{f"example.com/{v}": FAIL for v in versions}}}


def run(t):
    with Hooks() as hooks:
        t.serve_hooks(hooks)
        t.serve(convert=MOVE, allow=review())
        t.post(C + "?dryRun=All", rafts(versions=both(**SUB, selectableFields=[{"jsonPath": ".spec.s"}])), keep=["kind"])
        t.post(C + "?dryRun=All", rafts(versions=both(**SUB)[:1], selectableFields=[{"jsonPath": ".spec.s"}]), keep=["kind"])
        t.crd(rafts(versions=selectable()))
        works(t)
        for directions in (("v1",), ("v2",), ("v1", "v2")):
            fails(t, directions)
        caches(t)
        storage(t)
        admission(t)
        rules(t)


def objects(t, *names):
    t.serve(convert=MOVE)
    for name in names:
        t.post(OLD, raft(name, metadata={"labels": {"name": name}}), keep=["kind"])
        t.merge(OLD + f"/{name}/status", {"status": {"n": 1, "selector": "a=b"}}, keep=["kind"])


def works(t):
    """What is asked, and what comes of it, as long as all is well."""
    t.forget()
    steps = (
        lambda: t.post(NEW, raft("a", "v2", metadata={"labels": {"a": "b"}}), save={"rv": "metadata.resourceVersion"}), lambda: t.post(NEW + "?dryRun=All", raft("dry", "v2")), lambda: t.get(NEW + "/a"), lambda: t.get(OLD + "/a"), lambda: t.get(NEW + "/a", accept=TABLE), lambda: t.get(NEW + "/a", accept=ONE),
        lambda: t.put(NEW + "/a", raft("a", "v2", spec={"n": 2, "s": "put"})), lambda: t.put(NEW + "/a", raft("a", "v2", spec={"n": 2, "s": "put"}, metadata={"resourceVersion": "${rv}"})), lambda: t.merge(NEW + "/a", {"spec": {"s": "merged"}}), lambda: t.merge(NEW + "/a", {"spec": {"s": "merged"}}), lambda: t.merge(NEW + "/a?dryRun=All", {"spec": {"s": "tried"}}),
        lambda: t.json_patch(NEW + "/a", [{"op": "replace", "path": "/spec/n", "value": 3}]), lambda: t.apply(NEW + "/a", raft("a", "v2", spec={"n": 3})), lambda: t.apply(OLD + "/a", raft("a", "v1", spec={"s": "applied"}), manager="older", force=True), lambda: t.apply(NEW + "/a", raft("a", "v2", spec={"s": "contested"})), lambda: t.apply(NEW + "/c", raft("c", "v2")),
        lambda: t.merge(NEW + "/a/status", {"status": {"n": 3, "selector": "a=b"}}), lambda: t.apply(NEW + "/a/status", raft("a", "v2", spec={}, status={"n": 4}), force=True), lambda: t.get(NEW + "/a/status"), lambda: t.get(NEW + "/a/scale"), lambda: t.merge(NEW + "/a/scale", {"spec": {"replicas": 5}}), lambda: t.get(OLD + "/a/scale"), lambda: t.apply(NEW + "/a/scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 6}}, force=True),
        lambda: t.get(NEW), lambda: t.get(NEW, accept=TABLE), lambda: t.get(NEW, accept=MANY), lambda: t.get(NEW + "?fieldSelector=spec.s%3Dcontested"), lambda: t.get(NEW + "?watch=1&timeoutSeconds=1", keep=["spec", "apiVersion"]), lambda: t.delete(NEW + "/a?dryRun=All"), lambda: t.delete(NEW + "/a"), lambda: t.delete(NEW))
    for step in steps:
        step()
        t.settle(0.1)
        t.asked_to_convert()


def reads(t, version, name):
    """Everything that only reads; some answers are of caches, and those were filled before."""
    t.get(version + f"/{name}", keep=["spec"])
    t.get(version + f"/{name}", accept=TABLE)
    t.get(version + f"/{name}", accept=ONE, keep=["kind"])
    t.get(version + f"/{name}?resourceVersion=0", keep=["spec"])
    for sub in ("status", "scale"):
        t.get(version + f"/{name}/{sub}", keep=["spec"])


def fails(t, directions):
    name = "-".join(directions)
    objects(t, *(f"{name}-{i}" for i in range(12)))
    t.settle(0.3)
    t.serve(convert=failing(*directions))
    for V, v in ((NEW, "v2"), (OLD, "v1")):
        reads(t, V, name + "-0")
        t.post(V, raft(f"{name}-made-{v}", v), keep=["spec"])
        t.post(V + "?dryRun=All", raft(f"{name}-dry", v), keep=["spec"])
        t.post(V, raft(f"{name}-1", v), keep=["spec"])
        t.post(V, {**raft("x", v, spec={"n": 99})}, keep=["spec"])
        one = V + f"/{name}-1"
        t.put(one, raft(f"{name}-1", v, spec={"n": 2, "s": "put"}), keep=["spec"])
        t.get(OLD + f"/{name}-1", keep=["metadata.resourceVersion"], save={"rv": "metadata.resourceVersion"})
        t.put(one, raft(f"{name}-1", v, spec={"n": 2, "s": "put"}, metadata={"resourceVersion": "${rv}"}), keep=["spec"])
        t.put(one + "?dryRun=All", raft(f"{name}-1", v, spec={"n": 4, "s": "put"}, metadata={"resourceVersion": "${rv}"}), keep=["spec"])
        t.put(one, raft(f"{name}-1", v, spec={"n": 2}, metadata={"resourceVersion": "1"}), keep=["spec"])
        t.put(V + f"/{name}-none", raft(f"{name}-none", v), keep=["spec"])
        t.merge(one, {"spec": {"s": "merged in " + v}}, keep=["spec"])
        t.merge(one + "?dryRun=All", {"spec": {"s": "tried in " + v}}, keep=["spec"])
        t.merge(one, {}, keep=["spec"])
        t.json_patch(one, [{"op": "replace", "path": "/spec/n", "value": 3 if v == "v1" else 4}], keep=["spec"])
        t.json_patch(one, [{"op": "test", "path": "/spec/n", "value": 8}], keep=["spec"])
        t.apply(one, raft(f"{name}-1", v, spec={"n": 7}), force=True, keep=["spec"])
        t.apply(V + f"/{name}-applied-{v}", raft(f"{name}-applied-{v}", v), keep=["spec"])
        t.merge(one + "/status", {"status": {"n": 3 if v == "v1" else 4}}, keep=["status"])
        t.put(one + "/status", raft(f"{name}-1", v, status={"n": 5}, metadata={"resourceVersion": "${rv}"}), keep=["status"])
        t.merge(one + "/scale", {"spec": {"replicas": 5 if v == "v1" else 6}}, keep=["spec"])
        t.put(one + "/scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": f"{name}-1", "namespace": "default"}, "spec": {"replicas": 2}}, keep=["spec"])
        t.delete(V + f"/{name}-2?dryRun=All", keep=["kind"])
        t.delete(V + f"/{name}-2", keep=["kind"])
        t.delete(V + f"/{name}-3", {"preconditions": {"uid": "other"}}, keep=["kind"])
        t.delete(V + f"/{name}-3", {"propagationPolicy": "Foreground"}, keep=["kind"])
        t.delete(V + f"/{name}-4?ignoreStoreReadErrorWithClusterBreakingPotential=true", keep=["kind"])
        t.get(V + "?limit=50", keep=["kind"])
        t.delete(V + "?labelSelector=name%3D" + name + "-5", keep=["kind"])
    t.serve(convert=MOVE)
    t.delete(OLD, keep=["kind"])
    t.settle(0.3)
    t.merge(OLD + f"/{name}-3", {"metadata": {"finalizers": None}}, keep=["kind"])
    t.forget()


def caches(t):
    """Lists and watches of what was converted before."""
    objects(t, "cached-a", "cached-b")
    t.get(NEW, keep=["metadata"], save={"rv": "metadata.resourceVersion"})
    for accept in (None, TABLE, MANY):
        t.get(NEW + "?limit=5", accept=accept, keep=["kind"])
    # Read before: what caches hold needs nobody.
    t.serve(convert=FAIL)
    for query in ("", "?limit=5", "?resourceVersion=0", "?labelSelector=name%3Dcached-a", "?fieldSelector=metadata.name%3Dcached-b", "?resourceVersion=${rv}&resourceVersionMatch=Exact", "?resourceVersion=${rv}"):
        t.get(NEW + query, keep=["items"])
    t.get(NEW + "?watch=1&timeoutSeconds=1&resourceVersion=0", keep=["spec"])
    t.get(NEW + "?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", keep=["spec"])
    t.serve(convert=MOVE)
    t.forget()


def storage(t):
    """Another version is stored from now on: what is stored stays as it is until it is written."""
    objects(t, "old")
    t.merge(C + "/rafts.example.com", {"spec": {"versions": selectable("v2")}}, keep=["status"])
    t.settle(1.2)
    t.forget()
    t.get(C + "/rafts.example.com", keep=["status"])
    t.get(NEW + "/old")
    t.get(OLD + "/old", save={"rv": "metadata.resourceVersion"})
    t.asked_to_convert()
    t.post(OLD, raft("new"))
    t.asked_to_convert()
    t.get(OLD + "?limit=9", keep=["items"])
    t.serve(convert=failing("v1"))
    t.get(OLD + "/old", keep=["spec"])
    t.get(OLD + "/new", keep=["spec"])
    t.get(NEW + "/new", keep=["spec"])
    t.serve(convert=failing("v2"))
    t.get(NEW + "/old", keep=["spec"])
    t.merge(OLD + "/old", {"metadata": {"labels": {"x": "y"}}}, keep=["spec"])
    t.delete(OLD + "/old?dryRun=All", keep=["kind"])
    t.serve(convert=MOVE)
    t.forget()
    # A change moves it.
    t.merge(OLD + "/old", {"metadata": {"labels": {"moved": "yes"}}})
    t.asked_to_convert()
    t.get(NEW + "/old")
    t.asked_to_convert()
    # A version that is no longer served is still stored.
    t.merge(C + "/rafts.example.com", {"spec": {"versions": [{**v, "served": v["name"] == "v2"} for v in selectable("v2")]}}, keep=["status"])
    t.settle(1.2)
    t.get(OLD + "/old")
    t.get(NEW + "/old", keep=["spec"])
    t.merge(C + "/rafts.example.com/status", {"status": {"storedVersions": ["v2"]}}, keep=["status"])
    t.merge(C + "/rafts.example.com", {"spec": {"versions": [v for v in selectable("v2") if v["name"] == "v2"]}}, keep=["status"])
    t.settle(1.2)
    t.get(NEW + "/old", keep=["spec", "metadata"])
    t.apply(NEW + "/old", raft("old", "v2", spec={"s": "applied"}), force=True)
    t.merge(C + "/rafts.example.com", {"spec": {"versions": selectable("v1")}}, keep=["status"])
    t.settle(1.2)
    t.get(OLD + "/old", keep=["spec"])
    t.delete(OLD, keep=["kind"])
    t.settle(0.5)
    t.forget()


def admission(t):
    """Webhooks that want to see another version than the one that a request speaks: the object is converted for them, and back."""
    rule = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["rafts", "rafts/status", "rafts/scale"]}
    t.serve(n=patch({"op": "replace", "path": "/spec/n", "value": 7}), big=patch({"op": "replace", "path": "/spec/n", "value": 70}), label=patch({"op": "add", "path": "/metadata/labels", "value": {"by": "webhook"}}), name=patch({"op": "replace", "path": "/metadata/name", "value": "z"}), other=patch({"op": "replace", "path": "/apiVersion", "value": "example.com/v2"}))
    objects(t, "judged")
    for kind, path in (("validating", "allow"), ("mutating", "allow"), ("mutating", "n"), ("mutating", "big"), ("mutating", "label"), ("mutating", "name"), ("mutating", "other")):
        configure(t, kind, hook(url="https://${good}/" + path, rules=[rule]))
        for answer in (MOVE, failing("v1"), failing("v2"), {"to": {**MOVE["to"], "example.com/v1": changed(metadata={"name": "renamed"})}}):
            t.serve(convert=answer)
            t.forget()
            t.post(NEW + "?dryRun=All", raft("asked", "v2"), keep=["spec", "metadata.labels", "metadata.name"])
            t.asked("AdmissionReview")
            t.merge(NEW + "/judged?dryRun=All", {"spec": {"s": "patched"}}, keep=["spec", "metadata.labels"])
            t.delete(NEW + "/judged?dryRun=All", keep=["kind"])
            t.asked("AdmissionReview")
        t.serve(convert=MOVE)
        t.merge(NEW + "/judged/status?dryRun=All", {"status": {"n": 2}}, keep=["spec", "status"])
        t.merge(NEW + "/judged/scale?dryRun=All", {"spec": {"replicas": 2}}, keep=["spec", "status"])
        t.asked("AdmissionReview")
        configure(t, kind)
    # Two that want different versions: it goes there and back again.
    configure(t, "mutating", hook("a.example.com", url="https://${good}/n", rules=[rule]), hook("b.example.com", url="https://${good}/label", rules=[{**rule, "apiVersions": ["v2"]}]), hook("c.example.com", rules=[rule], matchPolicy="Exact"))
    t.forget()
    t.post(NEW + "?dryRun=All", raft("asked", "v2"))
    t.asked("AdmissionReview")
    t.post(OLD + "?dryRun=All", raft("asked", "v1"))
    t.asked("AdmissionReview")
    configure(t, "mutating", hook("a.example.com", url="https://${good}/n", rules=[rule], failurePolicy="Ignore"))
    t.serve(convert=failing("v1"))
    t.post(NEW + "?dryRun=All", raft("asked", "v2"))
    t.asked("AdmissionReview")
    configure(t, "mutating")
    t.serve(convert=MOVE)
    t.delete(OLD, keep=["kind"])
    t.forget()


def rules(t):
    """Validation, defaults and pruning belong to the version that is spoken; the stored version is not judged."""
    strict = both()
    strict[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": "!has(self.n) || self.n < 5", "message": "v1 wants less than 5"}]
    strict[1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": "!has(self.n) || self.n > 2", "message": "v2 wants more than 2"}]
    strict[1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"] = ["s"]
    t.crd(rafts(plural="reeds", versions=strict))
    R = "/apis/example.com/%s/namespaces/default/reeds"
    for n in (1, 3, 8):
        for v in ("v1", "v2"):
            t.post(R % v, raft(f"n{n}-{v}", v, "Reed", spec={"n": n, "s": "x", "odd": 1, "by1": "mine"}))
        t.merge(R % "v2" + f"/n{n}-v1", {"metadata": {"labels": {"a": "b"}}})
        t.merge(R % "v1" + f"/n{n}-v2", {"metadata": {"labels": {"a": "b"}}})
    t.serve(convert={"to": {"example.com/v1": changed(spec={"s": None, "odd": 2, "n": "many"}), "example.com/v2": changed(spec={"s": None, "odd": {"x": 1}, "n": 1})}})
    t.post(R % "v2", raft("made", "v2", "Reed", spec={"n": 4, "s": "x"}))
    t.get(R % "v1" + "/made")
    t.get(R % "v2" + "/made")
    t.merge(R % "v2" + "/made", {"metadata": {"labels": {"a": "b"}}})
    t.merge(R % "v1" + "/made", {"metadata": {"labels": {"a": "b"}}})
    t.apply(R % "v2" + "/made", raft("made", "v2", "Reed", spec={"n": 5, "s": "y"}), force=True)
