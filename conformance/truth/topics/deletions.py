"""What webhooks are asked when objects are deleted: more than once, where upstream looks whether a mark is enough, and not at
all, where nothing changes. (How often they are asked of a pod that goes at once depends on how fast upstream's cache is.)"""
from made import CORE, cm, obj, pod
from topics.webhooks import configure, hook, review

from hook import Hooks

PODS = f"{CORE}/pods"
BRIEF = {"keep": ["kind"]}


def run(t):
    with Hooks() as hooks:
        t.serve_hooks(hooks)
        t.serve(allow=review(), deny=review(allowed=False, status={"message": "no"}))
        t.post("/api/v1/nodes", obj("v1", "Node", "n1"), **BRIEF)
        rules = {"rules": [{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods", "configmaps", "namespaces"]}]}
        for kind in ("validating", "mutating"):
            configure(t, kind, hook(**rules))
            pods(t)
            collections(t)
            for held in (None, "orphan", "foregroundDeletion", "example.com/x"):
                for policy in ("Background", "Foreground", None):
                    t.post(f"{CORE}/configmaps", cm("c", {"finalizers": [held]} if held else None), **BRIEF)
                    t.settle(0.3)
                    for options in ({"dryRun": ["All"]}, {}, {}):
                        delete(t, f"{CORE}/configmaps/c", {**options, **({"propagationPolicy": policy} if policy else {})})
                    t.merge(f"{CORE}/configmaps/c", {"metadata": {"finalizers": None}}, **BRIEF)
                    t.asked()
            t.post("/api/v1/namespaces", obj("v1", "Namespace", f"of-{kind}"), **BRIEF)
            t.settle(0.3)
            for options in ({"dryRun": ["All"]}, {}, {}):
                delete(t, f"/api/v1/namespaces/of-{kind}", options)
            denied(t, kind, rules)
            configure(t, kind)


def delete(t, path, options):
    t.delete(path, options, **BRIEF)
    t.asked()
    t.settle(0.3)


def pods(t):
    for node, held in (("n1", None), ("n1", "example.com/x"), ("n1", "orphan"), (None, "example.com/x")):
        t.post(PODS, pod("p", {"finalizers": [held]} if held else None, **({"nodeName": node} if node else {})), **BRIEF)
        t.settle(0.3)
        for options in ({"dryRun": ["All"]}, {"gracePeriodSeconds": 25, "dryRun": ["All"]}, {}, {"gracePeriodSeconds": 90}, {}, {"gracePeriodSeconds": 9}, {"gracePeriodSeconds": 9}, {"gracePeriodSeconds": 3, "propagationPolicy": "Foreground"}):
            delete(t, f"{PODS}/p", options)
        t.merge(f"{PODS}/p", {"metadata": {"finalizers": None}}, **BRIEF)
        t.delete(f"{PODS}/p?gracePeriodSeconds=0", **BRIEF)
        t.settle(0.3)
        t.forget()


def collections(t):
    t.post(PODS, pod("p", {"labels": {"set": "s"}}, nodeName="n1"), **BRIEF)
    t.post(f"{CORE}/configmaps", cm("c", {"labels": {"set": "s"}}), **BRIEF)
    t.settle(0.3)
    for path in (PODS, f"{CORE}/configmaps"):
        for options in ({"dryRun": ["All"]}, {}, {}):
            delete(t, f"{path}?labelSelector=set", options)
    t.delete(f"{PODS}/p?gracePeriodSeconds=0", **BRIEF)
    t.settle(0.3)
    t.forget()


def denied(t, kind, rules):
    t.post(PODS, pod("p", nodeName="n1"), **BRIEF)
    t.post(f"{CORE}/configmaps", cm("c", {"finalizers": ["orphan"]}), **BRIEF)
    configure(t, kind, hook(url="https://${good}/deny", **rules))
    for options in ({"gracePeriodSeconds": 0}, {}, {"dryRun": ["All"]}):
        t.delete(f"{PODS}/p", options)
        t.delete(f"{CORE}/configmaps/c", {"propagationPolicy": "Background", **options})
        t.asked()
    configure(t, kind)
    t.delete(f"{PODS}/p?gracePeriodSeconds=0", **BRIEF)
    t.delete(f"{CORE}/configmaps/c", {"propagationPolicy": "Background"}, **BRIEF)
    t.asked()
