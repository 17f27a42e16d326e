"""Reading: resource versions, pages, selectors of labels and fields, transforms."""

CM = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def run(t):
    for i in range(6):
        t.post(CM, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{i}", "labels": {"n": str(i), "odd": str(i % 2), **({"x": ""} if i > 3 else {})}}, "data": {"i": str(i)}},
               **({"save": {"rv": "metadata.resourceVersion"}} if i == 3 else {}))
    t.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    t.post("/api/v1/namespaces/other/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c0", "labels": {"n": "0"}}})
    L = "labelSelector=n&"
    for match in ("", "Exact", "NotOlderThan", "Nothing"):
        for rv in ("", "0", "${rv}", "999999999", "abc", "-1"):
            for limit in ("", "2"):
                if rv == "999999999" and match != "Nothing":
                    continue
                query = "&".join(x for x in (rv and f"resourceVersion={rv}", match and f"resourceVersionMatch={match}", limit and f"limit={limit}") if x)
                t.get(f"{CM}?{query}", accept=PARTIAL)
    t.get(f"{CM}?resourceVersion=999999999")
    t.get(f"{CM}/c0?resourceVersion=${{rv}}")
    t.get(f"{CM}?limit=2", save={"c": "metadata.continue"}, keep=["metadata"])
    t.get(f"{CM}?limit=2&continue=${{c}}", save={"c2": "metadata.continue"}, keep=["metadata"])
    t.delete(f"{CM}/c3")
    t.get(f"{CM}?limit=2&continue=${{c}}", accept=PARTIAL)
    t.get(f"{CM}?limit=2&continue=${{c2}}", accept=PARTIAL)
    t.get(f"{CM}?limit=2&continue=${{c}}&resourceVersion=5")
    t.get(f"{CM}?limit=2&continue=${{c}}&resourceVersionMatch=Exact")
    t.get(f"{CM}?limit=2&continue=nonsense")
    t.get(f"{CM}?limit=2&continue=e30")
    t.get(f"{CM}?limit=2&labelSelector=n", keep=["metadata"])
    t.get(f"{CM}?limit=-1")
    t.get(f"{CM}?limit=x")
    t.get(f"{CM}?limit=100", keep=["metadata"])
    t.get("/api/v1/configmaps?labelSelector=n%3D0", accept=PARTIAL)
    t.get("/api/v1/configmaps?fieldSelector=metadata.namespace%3Dother", accept=PARTIAL)
    t.get("/api/v1/namespaces/missing/configmaps")
    t.get("/api/v1/namespaces/other/configmaps?labelSelector=none")
    for selector in ("n=1", "n==1", "n!=1", "n in (1,2)", "n notin (1,2)", "n", "!n", "!x", "x", "x=", "n>2", "n<2", "n>a", "n=1,odd=1", "n in (1", "n in ()", "n=(", "=", ",", "n=1,", "a b", "n=a b", "-n=1", "n in (1,)", "n = 1", " n ", "n=1,n=2",
                     "n=" + "v" * 64, "kubernetes.io/x=1", "a/b/c=1", "n notin", "in (a)", "n in 1", "n=1;odd=1", "x in (,)", "n>", "n>1,n<4", "N", "n=é", "n==", "!", "!!x", "!n=1", "x!=", "notin", "in", "in in (in)"):
        t.get(f"{CM}?labelSelector=" + "".join(f"%{b:02X}" for b in selector.encode()), accept=PARTIAL)
    for selector in ("metadata.name=c1", "metadata.name==c1", "metadata.name!=c1", "metadata.namespace=default", "metadata.name=c1,metadata.namespace=default", "metadata.name", "metadata.name=", "metadata.labels=x", "data.i=1", "=", ",", "metadata.name=c1,",
                     "metadata.name in (c1)", "metadata.name=c\\,1", "metadata.name=c\\1", "metadata.uid=x", "a=b=c", "!metadata.name", "metadata.name!="):
        t.get(f"{CM}?fieldSelector=" + "".join(f"%{b:02X}" for b in selector.encode()), accept=PARTIAL)
    for path, fields in (("/api/v1/pods", ("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName", "spec.host", "spec.x")),
                         ("/api/v1/nodes", ("spec.unschedulable", "metadata.namespace", "spec.x")), ("/api/v1/namespaces", ("status.phase", "name", "x")), ("/api/v1/secrets", ("type", "x")), ("/api/v1/services", ("spec.clusterIP", "spec.type", "x")),
                         ("/api/v1/replicationcontrollers", ("status.replicas", "x")), ("/api/v1/events", ("involvedObject.kind", "involvedObject.name", "involvedObject.namespace", "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
                          "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type", "x")), ("/apis/events.k8s.io/v1/events", ("regarding.kind", "regarding.name", "reason", "reportingController", "type", "involvedObject.kind", "x")),
                         ("/apis/apps/v1/replicasets", ("status.replicas", "x")), ("/apis/apps/v1/statefulsets", ("status.successful", "x")), ("/apis/apps/v1/deployments", ("status.replicas", "x")), ("/apis/batch/v1/jobs", ("status.successful", "x")), ("/apis/batch/v1/cronjobs", ("x",)),
                         ("/apis/certificates.k8s.io/v1/certificatesigningrequests", ("spec.signerName", "x")), ("/apis/resource.k8s.io/v1/resourceslices", ("spec.nodeName", "spec.driver", "x")), ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", ("metadata.namespace", "x")),
                         ("/apis/rbac.authorization.k8s.io/v1/roles", ("metadata.namespace", "x")), ("/apis/networking.k8s.io/v1/ingresses", ("x",)), ("/apis/storage.k8s.io/v1/storageclasses", ("metadata.namespace", "x")), ("/api/v1/persistentvolumes", ("name", "x")), ("/api/v1/persistentvolumeclaims", ("name", "x"))):
        for field in fields:
            t.get(f"{path}?fieldSelector={field}%3Dv", accept=PARTIAL)
            if field in ("spec.hostNetwork", "spec.unschedulable"):
                t.get(f"{path}?fieldSelector={field}%3Dtrue", accept=PARTIAL)
    t.get(f"{CM}?sendInitialEvents=true")
    t.get(f"{CM}?allowWatchBookmarks=true&timeoutSeconds=x")
    t.get(f"{CM}?labelSelector=n&limit=2", accept=TABLE, keep=["kind", "metadata", "rows"])
    t.get(f"{CM}/c0", accept=TABLE)
    t.get(f"{CM}/missing", accept=TABLE)
    t.get("/api/v1/namespaces/default/configmaps/c0?fieldSelector=x")
