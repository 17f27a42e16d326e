"""What a disruption budget says of an eviction: whom it counts, whom it lets go, what is left of it, and what it tells."""
from made import CORE, obj, pod

PODS, BUDGETS = f"{CORE}/pods", "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
READY = [{"type": "Ready", "status": "True"}]
OPEN = {"observedGeneration": 1, "desiredHealthy": 1, "currentHealthy": 2, "expectedPods": 2, "disruptionsAllowed": 1}


def evict(t, name, options=None, query="", **more):
    more = {**more, **({} if options is None else {"deleteOptions": options})}
    t.post(f"{PODS}/{name}/eviction{query}", obj("policy/v1", "Eviction", name, **more))


def make(t, name, phase="Running", conditions=READY, **status):
    """A pod of the budget's, in a phase; `v` keeps its version and `u` its uid."""
    t.post(PODS, pod(name, {"labels": {"app": "e"}}), keep=["kind"])
    t.merge(f"{PODS}/{name}/status", {"status": {"phase": phase, "conditions": conditions, **status}}, keep=["kind"],
            save={"v": "metadata.resourceVersion", "u": "metadata.uid"})


def budget(t, name="b", **status):
    """The budget as it is when the eviction comes."""
    t.delete(f"{BUDGETS}/{name}", keep=["kind"])
    t.post(BUDGETS, obj("policy/v1", "PodDisruptionBudget", name, spec={"selector": {"matchLabels": {"app": "e"}}, "minAvailable": 1}), keep=["kind"])
    if status:
        t.merge(f"{BUDGETS}/{name}/status", {"status": status}, keep=["kind"])


def left(t, name, gone=None):
    t.get(f"{BUDGETS}/{name}", keep=["metadata.generation", "metadata.managedFields", "status"])
    if gone:
        t.get(f"{PODS}/{gone}", keep=["code", "metadata.deletionTimestamp", "status.conditions", "status.phase"])


def run(t):
    counted(t)
    told(t)
    unready(t)
    asked(t)
    phases(t)


def counted(t):
    """A pod that is let go is taken from what is left, and so is one whose deletion then fails."""
    make(t, "a")
    budget(t, **OPEN)
    evict(t, "a", query="?dryRun=All")
    left(t, "b", "a")
    evict(t, "a", {"dryRun": ["All"]})
    left(t, "b", "a")
    evict(t, "a", {"preconditions": {"uid": "00000000-0000-4000-8000-00000000000a"}})
    left(t, "b", "a")
    evict(t, "a")
    budget(t, **{**OPEN, "disruptionsAllowed": 3})
    evict(t, "a", {"preconditions": {"resourceVersion": "1"}})
    evict(t, "a", {"preconditions": {"resourceVersion": "${v}", "uid": "${u}"}})
    left(t, "b", "a")
    make(t, "c")
    evict(t, "c", {"gracePeriodSeconds": 0})
    left(t, "b", "c")
    make(t, "d")
    evict(t, "d", {"propagationPolicy": "Foreground"})
    left(t, "b", "d")
    make(t, "e")
    evict(t, "e", {"gracePeriodSeconds": 5})


def told(t):
    """Why it may not be."""
    make(t, "t")
    budget(t)
    evict(t, "t")
    for status in (
            {},
            {"observedGeneration": 2},
            {"desiredHealthy": 2, "currentHealthy": 1},
            {"desiredHealthy": 2, "currentHealthy": 2},
            {"desiredHealthy": 1, "currentHealthy": 2},
            {"observedGeneration": 0, "disruptionsAllowed": 5},
            {"conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "no scale", "lastTransitionTime": "2020-01-01T00:00:00Z"}]},
            {"conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "", "lastTransitionTime": "2020-01-01T00:00:00Z"}]},
            {"desiredHealthy": 1, "currentHealthy": 2, "conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "Other", "message": "said so", "lastTransitionTime": "2020-01-01T00:00:00Z"}]},
            {"desiredHealthy": 1, "currentHealthy": 2, "conditions": [{"type": "DisruptionAllowed", "status": "True", "reason": "SyncFailed", "message": "said so", "lastTransitionTime": "2020-01-01T00:00:00Z"}]}):
        budget(t, **{"observedGeneration": 1, "desiredHealthy": 0, "currentHealthy": 0, "expectedPods": 2, "disruptionsAllowed": 0, **status})
        evict(t, "t")
        evict(t, "t", query="?dryRun=All")
    budget(t, **{**OPEN, "conditions": [{"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods", "message": "m", "observedGeneration": 1, "lastTransitionTime": "2020-01-01T00:00:00Z"}], "disruptedPods": {"other": "2020-01-01T00:00:00Z"}})
    budget(t, "second", **OPEN)
    evict(t, "t")
    t.delete(f"{BUDGETS}/second", keep=["kind"])
    t.merge(f"{BUDGETS}/b", {"spec": {"minAvailable": 2}}, keep=["metadata.generation"])
    evict(t, "t")
    t.merge(f"{BUDGETS}/b/status", {"status": {"observedGeneration": 2}}, keep=["kind"])
    evict(t, "t")
    left(t, "b", "t")


def unready(t):
    """A pod that is not ready counts for nothing."""
    for policy in (None, "IfHealthyBudget", "AlwaysAllow"):
        for status in (OPEN, {**OPEN, "disruptionsAllowed": 0}, {**OPEN, "disruptionsAllowed": 0, "currentHealthy": 0}, {**OPEN, "disruptionsAllowed": 0, "desiredHealthy": 0}, {**OPEN, "observedGeneration": 0}):
            for conditions in ([], [{"type": "Ready", "status": "False"}]):
                make(t, "u", conditions=conditions)
                budget(t)
                if policy:
                    t.merge(f"{BUDGETS}/b", {"spec": {"unhealthyPodEvictionPolicy": policy}}, keep=["metadata.generation"])
                t.merge(f"{BUDGETS}/b/status", {"status": {**status, "observedGeneration": status["observedGeneration"] * 2}}, keep=["kind"])
                evict(t, "u")
                left(t, "b")
                t.delete(f"{PODS}/u?gracePeriodSeconds=0", keep=["kind"])


def asked(t):
    """What the request itself may say."""
    make(t, "q")
    budget(t, **OPEN)
    for options in ({"dryRun": ["Some"]}, {"dryRun": ["All", "All"]}, {"dryRun": []}, {"gracePeriodSeconds": -1, "dryRun": ["All"]}, {"propagationPolicy": "Sideways", "dryRun": ["All"]},
                    {"orphanDependents": True, "propagationPolicy": "Orphan", "dryRun": ["All"]}, {"ignoreStoreReadErrorWithClusterBreakingPotential": True},
                    {"ignoreStoreReadErrorWithClusterBreakingPotential": False, "dryRun": ["All"]}, {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]}, {"kind": "Other", "apiVersion": "v2", "dryRun": ["All"]}, {"nope": 1, "dryRun": ["All"]}):
        evict(t, "q", options)
        evict(t, "q", options, "?dryRun=All")
        budget(t, **OPEN)
        make(t, "q")
    t.post(f"{PODS}/q/eviction?dryRun=Some", obj("policy/v1", "Eviction", "q"))
    t.post(f"{PODS}/q/eviction?fieldValidation=Strict&dryRun=All", obj("policy/v1", "Eviction", "q", nope=1))
    t.post(f"{PODS}/q/eviction?dryRun=All&fieldManager=me", {**obj("policy/v1", "Eviction", "q"), "metadata": {"name": "q", "namespace": "other"}})
    t.post(f"{PODS}/q/eviction?dryRun=All", {**obj("policy/v1", "Eviction", "q"), "metadata": {"name": "q", "labels": {"a": "b"}, "uid": "x"}})
    t.post(f"{PODS}/q/eviction?dryRun=All", {**obj("policy/v1", "Eviction", "q"), "metadata": {"generateName": "q"}})


def phases(t):
    """Whom no budget holds."""
    budget(t, **{**OPEN, "disruptionsAllowed": 0})
    for phase in ("Pending", "Running", "Succeeded", "Failed", "Unknown"):
        make(t, phase.lower(), phase)
        evict(t, phase.lower(), {"dryRun": ["All"]})
        evict(t, phase.lower(), {"preconditions": {"resourceVersion": "1"}})
        evict(t, phase.lower())
        left(t, "b", phase.lower())
    t.post(PODS, pod("held", {"labels": {"app": "e"}, "finalizers": ["example.com/hold"]}), keep=["kind"])
    t.merge(f"{PODS}/held/status", {"status": {"phase": "Running", "conditions": READY}}, keep=["kind"])
    evict(t, "held")
    t.delete(f"{PODS}/held", keep=["kind"])
    evict(t, "held")
    t.get(f"{PODS}/held", keep=["metadata.managedFields", "metadata.generation", "status.conditions"])
    t.post(PODS, pod("free"), keep=["kind"])
    evict(t, "free")
    budget(t, "bad", **OPEN)
