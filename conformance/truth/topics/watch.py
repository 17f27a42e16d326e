"""Watching: where it begins, what an event is under a selector, bookmarks, errors, transforms."""

CM = "/api/v1/namespaces/default/configmaps"
W = "watch=true&timeoutSeconds=1&labelSelector=w"


def cm(name, **labels):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"w": "", **labels}}}


def run(t):
    t.post(CM, cm("a"), save={"a": "metadata.resourceVersion"})
    t.post(CM, cm("b", tier="x"), save={"b": "metadata.resourceVersion"})
    t.merge(CM + "/a", {"data": {"k": "1"}}, save={"a2": "metadata.resourceVersion"})
    t.merge(CM + "/b", {"metadata": {"labels": {"tier": "y"}}})
    t.merge(CM + "/b", {"metadata": {"labels": {"tier": "x"}}})
    t.merge(CM + "/b", {"metadata": {"labels": {"w": None}}})
    t.delete(CM + "/a")
    t.delete(CM + "/b")
    t.post(CM, cm("c"))
    t.post(CM, cm("d"))
    for query in ("", "&resourceVersion=0", "&resourceVersion=${a}", "&resourceVersion=${b}", "&resourceVersion=${a2}", "&resourceVersion=abc", "&resourceVersion=-1", "&resourceVersion=1", "&sendInitialEvents=true", "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
                  "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "&sendInitialEvents=true&resourceVersionMatch=Exact", "&resourceVersionMatch=NotOlderThan", "&resourceVersionMatch=Exact&resourceVersion=${a}", "&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=${a}",
                  "&sendInitialEvents=false", "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=${b}&allowWatchBookmarks=true", "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=abc", "&continue=x", "&limit=1", "&sendInitialEvents=maybe"):
        t.get(f"{CM}?{W}{query}")
    t.get(f"{CM}?watch=true&timeoutSeconds=1&labelSelector=tier%3Dx&resourceVersion=${{a}}")
    t.get(f"{CM}?watch=true&timeoutSeconds=1&labelSelector=tier&resourceVersion=${{a}}")
    t.get(f"{CM}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Da&resourceVersion=${{a}}")
    t.get(f"{CM}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Da&resourceVersion=${{b}}")
    t.get(f"{CM}/c?watch=true&timeoutSeconds=1")
    t.get(f"/api/v1/watch/namespaces/default/configmaps/c?timeoutSeconds=1")
    t.get(f"/api/v1/watch/namespaces/default/configmaps?timeoutSeconds=1&labelSelector=w")
    t.get(f"/api/v1/watch/configmaps?timeoutSeconds=1&labelSelector=w&resourceVersion=${{b}}")
    for value in ("1", "0", "false", "yes", "True", ""):
        t.get(f"{CM}?watch={value}&timeoutSeconds=1&labelSelector=w&resourceVersion=${{b}}")
    t.get(f"{CM}?{W}&resourceVersion=${{b}}", accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    t.get(f"{CM}?{W}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    t.get(f"{CM}?{W}&resourceVersion=${{b}}", accept="application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
    t.get(f"{CM}?{W}&resourceVersion=${{b}}", accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
    t.get(f"{CM}?{W}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
    t.get(f"{CM}?{W}&resourceVersion=${{b}}", accept="application/json;stream=watch")
    t.get(f"{CM}?{W}&resourceVersion=${{b}}", accept="application/xml")
    t.get(f"{CM}?watch=true&timeoutSeconds=1&labelSelector=((")
    t.get(f"{CM}?watch=true&timeoutSeconds=1&fieldSelector=x%3D1")
    t.get("/apis/apps/v1/deployments?watch=true&timeoutSeconds=1")
    t.get("/apis/apps/v1/namespaces/missing/deployments?watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
    t.get("/api/v1/namespaces/default/nothing?watch=true")
    t.get("/version?watch=true", keep=["major"])
    # a namespace, whose name is its own namespace
    t.get("/api/v1/namespaces?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Ddefault", keep=["type"])
