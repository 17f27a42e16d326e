"""Graces: pods that are deleted in every phase, with and without somebody who runs or holds them, and how watchers see it."""
from made import CORE, PARTIAL, TABLE, cm, deployment, obj, pod

PODS = f"{CORE}/pods"
EVENT = ["kind", "metadata.name", "metadata.resourceVersion", "metadata.generation", "metadata.finalizers", "metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds", "metadata.labels", "spec.terminationGracePeriodSeconds", "status.phase", "status.message", "details", "code", "reason", "message"]
BRIEF = {"keep": ["kind"]}
FINALIZER = ["example.com/x"]


def run(t):
    t.post(f"{CORE}/serviceaccounts", obj("v1", "ServiceAccount", "default"), **BRIEF)
    t.post("/api/v1/nodes", obj("v1", "Node", "n1"), **BRIEF)
    phases(t)
    again(t)
    preconditions(t)
    finalizers(t)
    collections(t)
    selectors(t)
    evictions(t)
    others(t)


def make(t, name, node=None, phase=None, finalizers=None, labels=None, grace=None, **more):
    """A pod as it is when the deletion comes; `m` keeps the version that it was created with."""
    spec = {**({"nodeName": node} if node else {}), **({"terminationGracePeriodSeconds": grace} if grace is not None else {})}
    meta = {**({"finalizers": finalizers} if finalizers else {}), **({"labels": labels} if labels else {})}
    t.post(PODS, pod(name, meta, **spec), **BRIEF, save={"m": "metadata.resourceVersion", "uid": "metadata.uid"})
    if phase:
        t.merge(f"{PODS}/{name}/status", {"status": {"phase": phase}}, keep=["kind", "metadata.resourceVersion"], save={"v": "metadata.resourceVersion"})


def seen(t, name, more="", **asked):
    """What a watcher of one pod saw since it was created."""
    t.get(f"{PODS}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3D{name}&resourceVersion=${{m}}{more}", keep=EVENT, **asked)


def let_go(t, name):
    t.merge(f"{PODS}/{name}", {"metadata": {"finalizers": None}}, keep=EVENT)
    t.delete(f"{PODS}/{name}?gracePeriodSeconds=0", keep=EVENT)


def phases(t):
    count = 0
    for node in (None, "n1"):
        for phase in (None, "Running", "Succeeded", "Failed", "Unknown"):
            for held in (None, FINALIZER):
                for query in ("?gracePeriodSeconds=0", "", "?gracePeriodSeconds=7", "?gracePeriodSeconds=-1"):
                    if query in ("?gracePeriodSeconds=7", "?gracePeriodSeconds=-1") and (held or phase in ("Failed", "Unknown")):
                        continue
                    count += 1
                    name = f"p{count}"
                    make(t, name, node, phase, held)
                    t.delete(f"{PODS}/{name}{query}{'&' if query else '?'}dryRun=All", keep=EVENT)
                    t.delete(f"{PODS}/{name}{query}", keep=EVENT)
                    t.get(f"{PODS}/{name}", keep=EVENT)
                    let_go(t, name)
                    seen(t, name)
    for grace in (0, 1, 600, -5):
        make(t, f"own{abs(grace)}", "n1", "Running", grace=grace)
        t.delete(f"{PODS}/own{abs(grace)}", keep=EVENT)
        let_go(t, f"own{abs(grace)}")
        seen(t, f"own{abs(grace)}")


def again(t):
    """A second deletion of a pod that is being deleted."""
    count = 0
    for first in ("", "?gracePeriodSeconds=20"):
        for held in (None, FINALIZER):
            for second in ({"gracePeriodSeconds": 0}, {"gracePeriodSeconds": 5}, {"gracePeriodSeconds": 20}, {"gracePeriodSeconds": 90}, {"gracePeriodSeconds": -3}, {}, {"propagationPolicy": "Foreground"}, {"propagationPolicy": "Orphan", "gracePeriodSeconds": 5}, {"propagationPolicy": "Background", "gracePeriodSeconds": 0}):
                if first == "" and held is None and "propagationPolicy" not in second:
                    continue
                count += 1
                name = f"a{count}"
                make(t, name, "n1", "Running", held)
                t.delete(f"{PODS}/{name}{first}", keep=EVENT)
                t.merge(f"{PODS}/{name}/status", {"status": {"message": "ending"}}, keep=EVENT)
                t.delete(f"{PODS}/{name}?dryRun=All", second, keep=EVENT)
                t.delete(f"{PODS}/{name}", second, keep=EVENT)
                t.get(f"{PODS}/{name}", keep=EVENT)
                t.delete(f"{PODS}/{name}", {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}, keep=EVENT)
                t.delete(f"{PODS}/{name}", {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}, keep=EVENT)
                t.merge(f"{PODS}/{name}", {"metadata": {"finalizers": None}}, keep=EVENT)
                t.get(f"{PODS}/{name}", keep=EVENT)
                seen(t, name)
    # one that ends while it is being deleted
    for phase in ("Succeeded", "Failed"):
        make(t, "ends", "n1", "Running")
        t.delete(f"{PODS}/ends", keep=EVENT)
        t.merge(f"{PODS}/ends/status", {"status": {"phase": phase}}, keep=EVENT)
        t.delete(f"{PODS}/ends", keep=EVENT)
        t.delete(f"{PODS}/ends?gracePeriodSeconds=10", keep=EVENT)
        t.delete(f"{PODS}/ends?gracePeriodSeconds=0", keep=EVENT)
        seen(t, "ends")


def preconditions(t):
    for node in (None, "n1"):
        make(t, "pre", node, "Running")
        for given in ({"resourceVersion": "1"}, {"resourceVersion": "${m}"}, {"uid": "no"}, {"uid": "${uid}", "resourceVersion": "1"}):
            t.delete(f"{PODS}/pre", {"preconditions": given, "gracePeriodSeconds": 0}, keep=EVENT)
        t.delete(f"{PODS}/pre?dryRun=All", {"preconditions": {"uid": "${uid}", "resourceVersion": "${v}"}, "gracePeriodSeconds": 0}, keep=EVENT)
        t.delete(f"{PODS}/pre", {"preconditions": {"uid": "${uid}", "resourceVersion": "${v}"}, "gracePeriodSeconds": 0}, keep=EVENT)
        seen(t, "pre")
    make(t, "pre", "n1", "Running")
    t.delete(f"{PODS}/pre", {"preconditions": {"resourceVersion": "${v}"}}, keep=EVENT, save={"w": "metadata.resourceVersion"})
    t.delete(f"{PODS}/pre", {"preconditions": {"resourceVersion": "${v}"}, "gracePeriodSeconds": 0}, keep=EVENT)
    t.delete(f"{PODS}/pre", {"preconditions": {"resourceVersion": "${w}"}, "gracePeriodSeconds": 0}, keep=EVENT)
    seen(t, "pre")


def finalizers(t):
    """Finalizers of propagation, that the deletion itself takes away or adds."""
    count = 0
    for given in (None, ["orphan"], ["foregroundDeletion"], ["example.com/x", "orphan"]):
        for node in (None, "n1"):
            for policy in ("Background", "Foreground", "Orphan"):
                count += 1
                make(t, f"f{count}", node, None, given)
                for dry in ("&dryRun=All", ""):
                    t.delete(f"{PODS}/f{count}?gracePeriodSeconds=0{dry}", {"propagationPolicy": policy}, keep=EVENT)
                t.get(f"{PODS}/f{count}", keep=EVENT)
                t.delete(f"{PODS}/f{count}?gracePeriodSeconds=0", {"propagationPolicy": "Background"}, keep=EVENT)
                let_go(t, f"f{count}")
                seen(t, f"f{count}")


def collections(t):
    for query in ("&gracePeriodSeconds=0", "", "&gracePeriodSeconds=4", "&dryRun=All"):
        for name, more in (("one", {"node": "n1", "phase": "Running"}), ("two", {"phase": "Running"}), ("three", {"node": "n1", "finalizers": FINALIZER}), ("four", {"node": "n1", "phase": "Failed"})):
            make(t, name, labels={"set": "s"}, **more)
            if name == "one":
                t.get(f"{PODS}/one", keep=["kind"], save={"c": "metadata.resourceVersion"})
        t.delete(f"{PODS}?labelSelector=set{query}", keep=["kind"])
        for name in ("one", "two", "three", "four"):
            t.get(f"{PODS}/{name}", keep=EVENT)
            t.merge(f"{PODS}/{name}", {"metadata": {"finalizers": None}}, keep=EVENT)
        t.delete(f"{PODS}?labelSelector=set&gracePeriodSeconds=0", keep=["kind"])
        for name in ("one", "two", "three", "four"):
            t.get(f"{PODS}?watch=true&timeoutSeconds=1&labelSelector=set&fieldSelector=metadata.name%3D{name}&resourceVersion=${{c}}", keep=EVENT)


def selectors(t):
    make(t, "sel", "n1", "Running", labels={"w": "1"})
    t.delete(f"{PODS}/sel", keep=EVENT, save={"marked": "metadata.resourceVersion"})
    t.delete(f"{PODS}/sel?gracePeriodSeconds=0", keep=EVENT, save={"gone": "metadata.resourceVersion"})
    for selector in ("labelSelector=w", "labelSelector=w%3D2", "fieldSelector=status.phase%3DRunning", "fieldSelector=spec.nodeName%3Dn1", "fieldSelector=spec.nodeName%3D", "fieldSelector=spec.restartPolicy%3DAlways,metadata.name%3Dsel"):
        for since in ("${m}", "${v}", "${marked}"):
            t.get(f"{PODS}?watch=true&timeoutSeconds=1&{selector}&resourceVersion={since}", keep=EVENT)
    t.get(f"{PODS}?watch=true&timeoutSeconds=1&labelSelector=w&resourceVersion=${{gone}}", keep=EVENT)
    for accept in (TABLE, PARTIAL):
        t.get(f"{PODS}?watch=true&timeoutSeconds=1&labelSelector=w&resourceVersion=${{m}}", accept=accept, keep=["kind", "metadata.resourceVersion", "metadata.deletionTimestamp", "metadata.generation"])
    t.get(f"/api/v1/watch/namespaces/default/pods/sel?timeoutSeconds=1&resourceVersion=${{m}}", keep=EVENT)
    t.get(f"/api/v1/pods?watch=true&timeoutSeconds=1&labelSelector=w&resourceVersion=${{m}}&allowWatchBookmarks=true", keep=EVENT)


def evictions(t):
    for name, node, phase, options in (("e1", "n1", "Running", {}), ("e2", "n1", "Running", {"gracePeriodSeconds": 0}), ("e3", None, None, {}), ("e4", "n1", "Succeeded", {}), ("e5", None, None, {"dryRun": ["All"]}), ("e6", None, None, {"propagationPolicy": "Orphan"})):
        make(t, name, node, phase)
        t.post(f"{PODS}/{name}/eviction", obj("policy/v1", "Eviction", name, deleteOptions=options))
        t.get(f"{PODS}/{name}", keep=EVENT)
        let_go(t, name)
        seen(t, name)


def others(t):
    """Kinds without a grace, whose finalizers the deletion changes."""
    for path, it in ((f"{CORE}/configmaps", cm), ("/apis/apps/v1/namespaces/default/deployments", deployment)):
        for given in (None, ["orphan"], ["foregroundDeletion"], ["orphan", "example.com/x"]):
            for policy in ("Background", "Orphan", None):
                name = f"o-{given and len(given)}-{policy}".lower() + (given or [""])[0].lower()
                t.post(path, it(name, {"finalizers": given} if given else None), **BRIEF, save={"m": "metadata.resourceVersion"})
                for dry in ("?dryRun=All", "", ""):
                    t.delete(f"{path}/{name}{dry}", {"propagationPolicy": policy, "gracePeriodSeconds": 0} if policy else {"gracePeriodSeconds": 9}, keep=EVENT)
                t.merge(f"{path}/{name}", {"metadata": {"finalizers": None}}, keep=EVENT)
                t.get(f"{path}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3D{name}&resourceVersion=${{m}}", keep=EVENT)
