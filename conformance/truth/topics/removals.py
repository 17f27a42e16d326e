"""Going away: collections, finalizers, propagation, owners, of a custom kind and of built-in ones."""
from made import CORE, PARTIALS, cm, crd, deployment, obj, pod

CM = f"{CORE}/configmaps"
CR = "/apis/removals.example.com/v1/namespaces/default/seals"
D = "/apis/apps/v1/namespaces/default/deployments"
GOING = ["kind", "status", "details", "metadata.name", "metadata.finalizers", "metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds", "metadata.generation"]
BRIEF = {"keep": ["kind"]}


def seal(name, meta=None, **more):
    return obj("removals.example.com/v1", "Seal", name, meta, **more)


def run(t):
    t.crd(crd("removals.example.com", "seals", "Seal", subresources={"status": {}}), keep=[])
    for path, it in ((CR, seal), (CM, cm), (D, deployment)):
        finalizers(t, path, it)
        collections(t, path, it)
        owners(t, path, it)
    pods(t)


def finalizers(t, path, it):
    for policy in ("Background", "Foreground", "Orphan", "", "background", "Nothing"):
        for dry in ("", "?dryRun=All"):
            t.post(path, it("p"), **BRIEF)
            t.delete(f"{path}/p{dry}", {"propagationPolicy": policy}, keep=GOING)
            t.get(path + "/p", keep=GOING)
        t.delete(path + "/p", {"propagationPolicy": "Foreground"}, keep=GOING)
        t.delete(path + "/p", {"propagationPolicy": "Orphan"}, keep=GOING)
        t.delete(path + "/p", {"propagationPolicy": "Background"}, keep=GOING)
        t.merge(path + "/p", {"metadata": {"finalizers": None}}, keep=GOING)
        t.get(path + "/p", keep=GOING)
    for given in (["orphan"], ["foregroundDeletion"], ["orphan", "foregroundDeletion"], ["example.com/x", "orphan"], ["example.com/x"]):
        for policy in (None, "Background", "Foreground", "Orphan"):
            t.post(path, it("f", {"finalizers": given}), keep=GOING)
            t.delete(path + "/f", {"propagationPolicy": policy} if policy else None, keep=GOING)
            t.merge(path + "/f", {"metadata": {"finalizers": None}}, keep=GOING)
    t.post(path, it("g", {"finalizers": ["example.com/a", "example.com/b"]}), **BRIEF, save={"rv": "metadata.resourceVersion", "uid": "metadata.uid"})
    t.delete(path + "/g?gracePeriodSeconds=30", keep=GOING, save={"rv2": "metadata.resourceVersion"})
    t.delete(path + "/g?gracePeriodSeconds=10", keep=GOING)
    t.delete(path + "/g", {"gracePeriodSeconds": 0}, keep=GOING)
    t.delete(path + "/g", {"preconditions": {"resourceVersion": "1"}})
    t.delete(path + "/g", {"preconditions": {"uid": "${uid}", "resourceVersion": "${rv2}"}}, keep=GOING)
    t.merge(path + "/g", {"metadata": {"finalizers": ["example.com/a", "example.com/b", "example.com/c"]}})
    t.merge(path + "/g", {"metadata": {"finalizers": ["example.com/b", "example.com/a"]}}, keep=GOING)
    t.merge(path + "/g", {"metadata": {"finalizers": ["example.com/c"]}})
    t.merge(path + "/g", {"metadata": {"deletionTimestamp": None, "deletionGracePeriodSeconds": None}}, keep=GOING)
    t.merge(path + "/g", {"metadata": {"deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 99}}, keep=GOING)
    t.merge(path + "/g", {"metadata": {"labels": {"still": "writable"}}}, keep=["kind", "metadata.labels"])
    t.apply(path + "/g", {**{k: v for k, v in it("g").items() if k in ("apiVersion", "kind")}, "metadata": {"name": "g", "finalizers": ["example.com/z"]}})
    t.post(path, it("g"))
    t.json_patch(path + "/g", [{"op": "remove", "path": "/metadata/finalizers/0"}], keep=GOING)
    t.json_patch(path + "/g?dryRun=All", [{"op": "remove", "path": "/metadata/finalizers"}], keep=GOING)
    t.json_patch(path + "/g", [{"op": "remove", "path": "/metadata/finalizers"}], keep=GOING)
    t.json_patch(path + "/g", [{"op": "remove", "path": "/metadata/finalizers"}])
    for bad in ([""], ["a b"], ["plain"], ["kubernetes"], ["a/b/c"], ["Example.com/x"], ["example.com/"], ["/x"], ["example.com/" + "x" * 64], ["x" * 300 + "/x"], ["example.com/x", "example.com/x"]):
        t.post(path + "?dryRun=All", it("h", {"finalizers": bad}), keep=GOING)


def collections(t, path, it):
    accept = {"accept": PARTIALS, "keep": ["kind", "metadata", "items", "status", "details"]}
    for i in range(6):
        t.post(path, it(f"c{i}", {"labels": {"col": str(i), "odd": str(i % 2)}, **({"finalizers": ["example.com/x"]} if i == 5 else {})}), **BRIEF)
    own = "labelSelector=col"
    t.delete(f"{path}?{own}&limit=2&dryRun=All", **accept)
    t.delete(f"{path}?{own}&limit=2", **accept)
    t.get(f"{path}?{own}", **accept)
    t.delete(f"{path}?{own}&fieldSelector=metadata.name%3Dc4", **accept)
    t.delete(f"{path}?{own}&resourceVersion=0&dryRun=All", **accept)
    t.delete(f"{path}?{own}&resourceVersion=1&dryRun=All", **accept)
    t.delete(f"{path}?{own}&resourceVersion=abc", **accept)
    t.delete(f"{path}?{own}&resourceVersionMatch=Exact", **accept)
    t.delete(f"{path}?{own}&continue=x", **accept)
    t.delete(f"{path}?{own}&watch=true&dryRun=All", **accept)
    t.delete(f"{path}?{own}&sendInitialEvents=true", **accept)
    t.delete(f"{path}?{own}", {"preconditions": {"uid": "00000000-0000-4000-8000-00000000000a"}}, **accept)
    t.delete(f"{path}?{own}", {"preconditions": {"resourceVersion": "1"}}, **accept)
    t.delete(f"{path}?{own}", {"propagationPolicy": "Foreground", "dryRun": ["All"]}, **accept)
    t.delete(f"{path}?labelSelector=col,odd%3D1", {"propagationPolicy": "Orphan"}, **accept)
    t.get(f"{path}?{own}", **accept)
    t.delete(f"{path}?{own}", {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}, **accept)
    t.get(f"{path}?{own}", **accept)
    t.delete(f"{path}?labelSelector=none", **accept)
    t.delete(f"{path}?labelSelector=none")
    t.delete(f"{path}?{own}", accept="application/json;as=Table;v=v1;g=meta.k8s.io", keep=["kind"])
    t.merge(f"{path}/c5", {"metadata": {"finalizers": None}}, keep=GOING)
    t.merge(f"{path}/c3", {"metadata": {"finalizers": None}}, keep=GOING)
    t.delete(path.replace("/default/", "/missing/") + "?labelSelector=none")
    t.delete(path.replace("/namespaces/default/", "/") + "?labelSelector=none")


def owners(t, path, it):
    own = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "00000000-0000-4000-8000-00000000000a"}
    other = {**own, "uid": "00000000-0000-4000-8000-00000000000b"}
    for references in ([own], [own, own], [own, {**own, "controller": True}], [{**own, "controller": True}, other], [{**own, "controller": True}, {**other, "controller": True}], [{**own, "controller": False, "blockOwnerDeletion": True}], [{**own, "uid": ""}], [{**own, "name": ""}], [{**own, "kind": ""}], [{**own, "apiVersion": ""}], [{}], [None],
                       [{**own, "apiVersion": "a/b/c"}], [{**own, "apiVersion": "/v1"}], [{**own, "apiVersion": "v1", "kind": "Event"}], [{**own, "apiVersion": "events.k8s.io/v1", "kind": "Event"}], [{**own, "kind": "Nothing"}], [{**own, "unknown": 1}], [{**own, "uid": 5}], [{**own, "controller": "yes"}], {}, "x", None, [], [own, other, own, other]):
        t.post(path + "?dryRun=All", it("owned", {"ownerReferences": references}), keep=["kind", "metadata.ownerReferences"])
    t.post(path, it("owned", {"ownerReferences": [own]}), **BRIEF)
    t.merge(path + "/owned", {"metadata": {"ownerReferences": [own, own]}}, keep=["kind", "metadata.ownerReferences"])
    t.merge(path + "/owned", {"metadata": {"ownerReferences": [{**own, "controller": True}, {**other, "controller": True}]}})
    t.json_patch(path + "/owned", [{"op": "add", "path": "/metadata/ownerReferences/-", "value": other}], keep=["kind", "metadata.ownerReferences"])
    if path != CR:
        t.strategic(path + "/owned", {"metadata": {"ownerReferences": [{**other, "controller": True}]}}, keep=["kind", "metadata.ownerReferences"])
        t.strategic(path + "/owned", {"metadata": {"ownerReferences": [{"uid": other["uid"], "$patch": "delete"}]}}, keep=["kind", "metadata.ownerReferences"])
    t.apply(path + "/owned", {**{k: v for k, v in it("owned").items() if k in ("apiVersion", "kind")}, "metadata": {"name": "owned", "ownerReferences": [{**other, "name": "p"}]}}, keep=["kind", "metadata.ownerReferences"])
    t.apply(path + "/owned", {**{k: v for k, v in it("owned").items() if k in ("apiVersion", "kind")}, "metadata": {"name": "owned", "ownerReferences": [other, other]}}, keep=["kind", "metadata.ownerReferences"])
    t.delete(path + "/owned", **BRIEF)


def pods(t):
    path = f"{CORE}/pods"
    for grace in (None, 0, 1, -1, -100, 5):
        for node in (None, "n"):
            t.post(path, pod("g", **({"nodeName": node} if node else {})), **BRIEF)
            t.delete(path + "/g", {"gracePeriodSeconds": grace} if grace is not None else None, keep=GOING)
            t.get(path + "/g", keep=GOING)
            t.delete(path + "/g", {"gracePeriodSeconds": 3}, keep=GOING)
            t.delete(path + "/g", {"gracePeriodSeconds": 0}, keep=GOING)
    for phase in ("Pending", "Running", "Succeeded", "Failed", "Unknown"):
        t.post(path, pod("h", nodeName="n"), **BRIEF)
        t.merge(path + "/h/status", {"status": {"phase": phase}}, keep=["kind", "status"])
        t.delete(path + "/h", keep=GOING)
        t.delete(path + "/h?gracePeriodSeconds=0", keep=GOING)
    t.post(path, pod("i", {"finalizers": ["example.com/x"]}, nodeName="n"), **BRIEF)
    t.delete(path + "/i?gracePeriodSeconds=20", keep=GOING)
    t.merge(path + "/i", {"metadata": {"finalizers": None}}, keep=GOING)
    t.get(path + "/i", keep=GOING)
    t.delete(path + "/i?gracePeriodSeconds=0", keep=GOING)
    t.post(path, pod("j", {"finalizers": ["example.com/x"]}, nodeName="n"), **BRIEF)
    t.delete(path + "/j?gracePeriodSeconds=0", keep=GOING)
    t.merge(path + "/j", {"metadata": {"finalizers": []}}, keep=GOING)
    t.get(path + "/j", keep=GOING)
    for i in range(3):
        t.post(path, pod(f"k{i}", {"labels": {"k": ""}}, **({"nodeName": "n"} if i else {})), **BRIEF)
    t.delete(path + "?labelSelector=k", {"gracePeriodSeconds": 7}, accept=PARTIALS, keep=["kind", "items"])
    t.get(path + "?labelSelector=k", accept=PARTIALS, keep=["kind", "items"])
    t.delete(path + "?labelSelector=k&gracePeriodSeconds=0", accept=PARTIALS, keep=["kind"])
    t.get(path + "?labelSelector=k", accept=PARTIALS, keep=["kind", "items"])
