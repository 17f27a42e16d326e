"""Parameters behind the question mark: unknown, empty, twice, of the wrong type, together."""
from made import CORE, PARTIALS, cm, crd, deployment, obj, pod

CM = f"{CORE}/configmaps"
CR = "/apis/queries.example.com/v1/namespaces/default/nuts"


def nut(name, **more):
    return obj("queries.example.com/v1", "Nut", name, **more)


def run(t):
    t.crd(crd("queries.example.com", "nuts", "Nut", subresources={"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}), keep=[])
    for path, body in ((CM, cm("a")), (CR, nut("a", spec={"replicas": 1})), ("/apis/apps/v1/namespaces/default/deployments", deployment("a")), (f"{CORE}/pods", pod("a", nodeName="n"))):
        t.post(path, body, keep=["kind"])
    brief = {"keep": ["kind"]}
    # reading
    for path in (CM, CR):
        for query in ("limit=-1", "limit=x", "limit=", "limit=1.5", "limit=99999999999999999999", "limit=0", "limit=+1", "limit=0x1", "limit=1&limit=x", "limit=x&limit=1", "timeoutSeconds=x", "timeoutSeconds=-1", "timeoutSeconds=", "timeoutSeconds=0", "timeoutSeconds=1.5", "resourceVersion=abc", "resourceVersion=-1", "resourceVersion=1.0",
                      "resourceVersion=+1", "resourceVersion=00", "resourceVersion=", "resourceVersion=18446744073709551616", "resourceVersion=9223372036854775808", "resourceVersion=0x1", "resourceVersion=%201", "resourceVersionMatch=exact", "resourceVersionMatch=", "resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan&resourceVersion=0", "resourceVersionMatch=Exact&resourceVersion=0",
                      "resourceVersionMatch=Exact&resourceVersion=0&limit=5", "resourceVersionMatch=Nothing&resourceVersion=1", "resourceVersionMatch=Exact&continue=x", "continue=", "continue=x", "continue=x&resourceVersion=0", "continue=x&resourceVersion=5", "continue=x&watch=true", "sendInitialEvents=true", "sendInitialEvents=false", "sendInitialEvents=x", "sendInitialEvents=",
                      "allowWatchBookmarks=x", "allowWatchBookmarks=", "watch=false", "watch=0", "watch=False", "watch=F", "labelSelector=", "labelSelector=%20", "labelSelector=a&labelSelector=b", "fieldSelector=", "fieldSelector=metadata.name%3Da&fieldSelector=metadata.name%3Db", "pretty=", "unknown=1", "Limit=1", "limit", "&", "?", "=x", "limit=1;limit=2", "a=%zz", "limit=%zz",
                      "labelSelector=%zz", "timeout=x", "timeout=-1s", "timeout=0", "timeout=5", "timeout=70s", "timeout=1h", "timeout=", "kind=x", "apiVersion=v9", "dryRun=Nope", "fieldManager=%00", "fieldValidation=x", "shardSelector=x", "includeObject=x", "export=true", "exact=true", "watch=maybe&timeoutSeconds=x"):
            t.get(f"{path}?{query}", accept=PARTIALS, keep=["kind", "metadata"])
    for path in (CM + "/a", CR + "/a"):
        for query in ("resourceVersion=abc", "resourceVersion=-1", "resourceVersion=", "resourceVersion=0", "resourceVersion=1", "resourceVersionMatch=Exact", "resourceVersionMatch=Nothing&resourceVersion=1", "limit=x", "watch=true", "watch=1&timeoutSeconds=1", "labelSelector=((", "fieldSelector=x%3D1", "export=true", "timeout=x", "pretty=maybe", "continue=x", "sendInitialEvents=true", "resourceVersion=18446744073709551616"):
            t.get(f"{path}?{query}", **brief)
    # writing
    for name, path, body in (("cm", CM, cm("new")), ("cr", CR, nut("new"))):
        for query in ("dryRun=Foo", "dryRun=all", "dryRun=", "dryRun=All&dryRun=Foo", "dryRun=Foo&dryRun=All", "dryRun=true", "dryRun=All,All", "dryRun=&dryRun=All", "fieldValidation=x&dryRun=All", "fieldValidation=strict&dryRun=All", "fieldValidation=&dryRun=All", "fieldValidation=Strict&fieldValidation=Ignore&dryRun=All", "fieldManager=&dryRun=All",
                      "fieldManager=" + "m" * 128 + "&dryRun=All", "fieldManager=" + "m" * 129 + "&dryRun=All", "fieldManager=%C3%A9&dryRun=All", "fieldManager=a%0Ab&dryRun=All", "fieldManager=%7F%01&dryRun=All", "fieldManager=%E2%80%A8&dryRun=All", "fieldManager=a&fieldManager=b&dryRun=All", "fieldManager=" + "%C3%A9" * 70 + "&dryRun=All", "force=true&dryRun=All", "force=x&dryRun=All", "force=&dryRun=All",
                      "dryRun=Foo&fieldValidation=x&fieldManager=%00", "propagationPolicy=x&dryRun=All", "gracePeriodSeconds=x&dryRun=All", "timeout=x&dryRun=All", "timeout=1h&dryRun=Foo", "resourceVersion=x&dryRun=All", "limit=x&dryRun=All", "watch=true&dryRun=All", "unknown=1&dryRun=All", "dryRun=%zz", "pretty=true&dryRun=All", "dryRun[]=All&dryRun=All"):
            t.post(f"{path}?{query}", body, keep=["kind", "metadata.managedFields"] if "fieldManager" in query else ["kind"])
            t.put(f"{path}/a?{query}", {**body, "metadata": {"name": "a", "labels": {"x": "y"}, **({"resourceVersion": "${%s}" % name} if name in t.saved else {})}}, **brief)
            t.merge(f"{path}/a?{query}", {"metadata": {"labels": {"x": "y"}}}, **brief)
            if "fieldManager" not in query:
                t.call("PATCH", f"{path}/a?fieldManager=f&{query}", {**body, "metadata": {"name": "a", "labels": {"z": "y"}}}, type="application/apply-patch+yaml", **brief)
        for query in ("", "fieldManager=", "fieldManager=a%00", "fieldManager=m&force=x&dryRun=All", "fieldManager=m&force=&dryRun=All", "fieldManager=m&force=false&dryRun=All", "fieldManager=m&force=0&dryRun=All", "fieldManager=m&force=1&dryRun=All", "dryRun=Foo&force=true", "fieldValidation=x"):
            t.call("PATCH", f"{path}/a?{query}", {**body, "metadata": {"name": "a"}}, type="application/apply-patch+yaml", **brief)
        for query in ("dryRun=Foo", "dryRun=", "gracePeriodSeconds=x", "gracePeriodSeconds=-5&dryRun=All", "gracePeriodSeconds=", "gracePeriodSeconds=1.5", "gracePeriodSeconds=99999999999999999999", "propagationPolicy=background", "propagationPolicy=&dryRun=All", "propagationPolicy=Orphan&orphanDependents=true", "orphanDependents=x&dryRun=All", "orphanDependents=false&dryRun=All", "orphanDependents=&dryRun=All",
                      "preconditions=x&dryRun=All", "preconditions.uid=x&dryRun=All", "uid=x&dryRun=All", "resourceVersion=1&dryRun=All", "ignoreStoreReadErrorWithClusterBreakingPotential=true&dryRun=All", "ignoreStoreReadErrorWithClusterBreakingPotential=false&dryRun=All", "unknown=x&dryRun=All", "timeout=x", "kind=x&dryRun=All", "dryRun=All&dryRun=All", "propagationPolicy=x&dryRun=Foo&orphanDependents=1", "fieldValidation=x&dryRun=All"):
            t.delete(f"{path}/a?{query}", **brief)
            t.delete(f"{path}?{query}", **brief)
        for body in ({"dryRun": ["Foo"]}, {"dryRun": ["All"], "propagationPolicy": ""}, {"dryRun": "All"}, {"dryRun": []}, {"dryRun": ["All"], "gracePeriodSeconds": -1}, {"gracePeriodSeconds": 1.5}, {"propagationPolicy": 1}, {"dryRun": ["All"], "orphanDependents": "x"}, {"dryRun": ["All"], "preconditions": {}}, {"dryRun": ["All"], "preconditions": {"uid": ""}}, {"dryRun": ["All"], "preconditions": {"resourceVersion": ""}},
                     {"dryRun": ["All"], "preconditions": {"uid": "x", "resourceVersion": "y"}}, {"dryRun": ["All"], "nothing": 1}, {"dryRun": ["All"], "apiVersion": "v1", "kind": "DeleteOptions"}, {"dryRun": ["All"], "apiVersion": "apps/v1", "kind": "DeleteOptions"}, {"dryRun": ["All"], "apiVersion": "v1", "kind": "ConfigMap"}, {"dryRun": ["All"], "kind": "DeleteOptions"}, {"dryRun": ["All"], "apiVersion": "queries.example.com/v1", "kind": "DeleteOptions"},
                     {"dryRun": ["All"], "apiVersion": "v1"}, "[]", "null", "1", '"x"', "dryRun: [All]", "{}x", '{"dryRun":["All"],"dryRun":["All"]}', {"dryRun": ["All"], "ignoreStoreReadErrorWithClusterBreakingPotential": True}, {"dryRun": ["All"], "ignoreStoreReadErrorWithClusterBreakingPotential": False}):
            if body in ("null", {"dryRun": []}):
                continue
            t.delete(f"{path}/a", body, **brief)
            t.delete(f"{path}/a?dryRun=All&gracePeriodSeconds=x", body, **brief)
        t.delete(f"{path}/a", "dryRun: [All]", type="application/yaml", **brief)
        t.delete(f"{path}/a", "dryRun: [All]", type="text/plain", **brief)
        t.delete(f"{path}/a", {"dryRun": ["All"]}, type="application/merge-patch+json", **brief)
        t.call("DELETE", f"{path}/a?dryRun=All", headers={"Content-Type": "text/plain"}, **brief)
