"""Watches of a custom kind and of a built-in one: where they begin, what crosses a selector, how they are refused."""
from made import CORE, TABLE, cm, crd, obj

CM = f"{CORE}/configmaps"
CR = "/apis/watches.example.com/v1/namespaces/default/hands"
NS = "/api/v1/namespaces"
# What an event shows that does not depend on how fast the writes before it were.
EVENT = ["kind", "apiVersion", "metadata.name", "metadata.resourceVersion", "metadata.labels", "metadata.annotations", "metadata.finalizers", "metadata.deletionTimestamp", "columnDefinitions", "spec", "status", "major"]
META = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


def hand(name, meta=None, **more):
    return obj("watches.example.com/v1", "Hand", name, meta, **more)


def run(t):
    definition = crd("watches.example.com", "hands", "Hand")
    definition["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": ".spec.size"}]
    t.crd(definition, keep=[])
    brief = {"keep": ["kind"]}
    for path, it in ((CR, hand), (CM, cm)):
        t.post(path, it("one", {"labels": {"w": "1"}}), **brief, save={"first": "metadata.resourceVersion"})
        t.post(path, it("two", {"labels": {"w": "1", "t": "a"}}), **brief, save={"second": "metadata.resourceVersion"})
        t.merge(path + "/two", {"metadata": {"labels": {"t": "b"}}}, **brief)
        t.merge(path + "/two", {"metadata": {"labels": {"t": "a"}}}, **brief)
        t.merge(path + "/two", {"metadata": {"labels": {"t": None}}}, **brief)
        t.merge(path + "/one", {"metadata": {"labels": {"t": "a"}}}, **brief)
        t.merge(path + "/one", {"metadata": {"labels": {"t": "a"}}}, **brief)
        t.merge(path + "/one", {"metadata": {"finalizers": ["example.com/x"]}}, **brief)
        t.delete(path + "/one", **brief)
        t.merge(path + "/one", {"metadata": {"finalizers": None}}, **brief)
        t.delete(path + "/two", **brief)
        t.post(path, it("two", {"labels": {"w": "1", "t": "a"}}), **brief)
        t.post(path, it("three", {"labels": {"w": "1"}}), **brief, save={"last": "metadata.resourceVersion"})
        w = "watch=true&timeoutSeconds=1&labelSelector=w"
        for initial in ("", "sendInitialEvents=true&", "sendInitialEvents=false&", "sendInitialEvents=&", "sendInitialEvents=x&"):
            for match in ("", "resourceVersionMatch=NotOlderThan&", "resourceVersionMatch=Exact&", "resourceVersionMatch=x&"):
                for version in ("", "0", "${first}", "${last}"):
                    for bookmarks in ("", "&allowWatchBookmarks=true"):
                        if version == "${last}" and (initial == "" or bookmarks == ""):
                            continue
                        if initial in ("sendInitialEvents=&", "sendInitialEvents=x&") and (bookmarks or match[21:] not in ("", "NotOlderThan&")):
                            continue
                        t.get(f"{path}?{w}&{initial}{match}resourceVersion={version}{bookmarks}", accept=META, keep=EVENT)
        for version in ("abc", "-1", "1", "999999999", "18446744073709551616", "00", "1.5"):
            t.get(f"{path}?{w}&resourceVersion={version}", keep=EVENT)
            t.get(f"{path}?{w}&resourceVersion={version}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", keep=EVENT)
            t.get(f"{path}?{w}&resourceVersion={version}", accept=META, keep=EVENT)
        t.get(f"{path}?watch=true&timeoutSeconds=5&resourceVersion=999999999", keep=EVENT)
        for selector in ("labelSelector=t%3Da", "labelSelector=t%3Db", "labelSelector=t", "labelSelector=%21t", "labelSelector=t!%3Da", "fieldSelector=metadata.name%3Done", "fieldSelector=metadata.name!%3Done&labelSelector=w", "labelSelector=t%3Da&fieldSelector=metadata.name%3Dtwo", "fieldSelector=metadata.namespace%3Dother", "fieldSelector=metadata.name%3Dnone"):
            t.get(f"{path}?watch=true&timeoutSeconds=1&{selector}&resourceVersion=${{first}}", accept=META, keep=EVENT)
            t.get(f"{path}?watch=true&timeoutSeconds=1&{selector}&resourceVersion=${{second}}", **({"accept": META} if path == CM else {}), keep=EVENT)
        for query in ("limit=1", "continue=x", "limit=x", "timeoutSeconds=x", "timeoutSeconds=-1&fieldSelector=x", "labelSelector=((", "fieldSelector=x", "fieldSelector=spec.size%3D1&resourceVersion=${first}&timeoutSeconds=1", "fieldSelector=metadata.labels%3D1", "resourceVersionMatch=", "dryRun=x&timeoutSeconds=1&resourceVersion=${last}", "timeout=1ms&timeoutSeconds=1&resourceVersion=${last}",
                      "timeout=x&timeoutSeconds=1&resourceVersion=${last}", "pretty=true&timeoutSeconds=1&resourceVersion=${second}&labelSelector=t%3Da", "includeObject=None&timeoutSeconds=1&resourceVersion=${second}", "includeObject=x&timeoutSeconds=1&resourceVersion=${second}"):
            t.get(f"{path}?watch=true&{query}" + ("" if "timeoutSeconds" in query else "&timeoutSeconds=1"), keep=EVENT)
        for accept in (TABLE, META, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/yaml", "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch,application/json", "application/xml", "application/json;as=Nothing;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io", "application/cbor-seq,application/json"):
            if "protobuf" in accept:
                continue
            t.get(f"{path}?{w}&resourceVersion=${{second}}", accept=accept, keep=EVENT)
            t.get(f"{path}?{w}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&fieldSelector=metadata.name%3Dnone", accept=accept, keep=EVENT)
        for includes in ("None", "Metadata", "Object"):
            t.get(f"{path}?{w}&resourceVersion=${{second}}&includeObject={includes}&fieldSelector=metadata.name%3Dthree", accept=TABLE, keep=EVENT + (["rows"] if includes == "None" else []))
        group = path.split("/namespaces")[0]
        plural = path.rsplit("/", 1)[1]
        t.get(f"{group}/watch/namespaces/default/{plural}?timeoutSeconds=1&resourceVersion=${{second}}&labelSelector=t%3Da", accept=META, keep=EVENT)
        t.get(f"{group}/watch/namespaces/default/{plural}/three?timeoutSeconds=1&resourceVersion=${{second}}", accept=META, keep=EVENT)
        t.get(f"{group}/watch/{plural}?timeoutSeconds=1&resourceVersion=${{second}}&labelSelector=w", accept=META, keep=EVENT)
        t.get(f"{group}/{plural}?watch=true&timeoutSeconds=1&resourceVersion=${{second}}&labelSelector=w", accept=META, keep=EVENT)
        t.get(f"{path}/two?watch=true&timeoutSeconds=1", accept=META, keep=["kind"])
        t.get(f"{path}/none?watch=true&timeoutSeconds=1", accept=META, keep=EVENT)
        t.get(f"{group}/namespaces/missing/{plural}?watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", accept=META, keep=EVENT)
        for value in ("true", "True", "TRUE", "1", "yes", "", "t", "false", "False", "0", "f", "no", "true&watch=false", "false&watch=true"):
            t.get(f"{path}?watch={value}&timeoutSeconds=1&resourceVersion=${{last}}&labelSelector=none", accept=META, keep=["kind"])
        t.get(f"{path}?watch&timeoutSeconds=1&resourceVersion=${{last}}&labelSelector=none", accept=META, keep=["kind"])
        t.call("POST", f"{path}?watch=true", it("posted"), **brief)
        t.delete(f"{path}/posted?watch=true", **brief)
    # a selectable field that changes
    t.post(CR, hand("field", spec={"size": "s"}), **brief, save={"f": "metadata.resourceVersion"})
    for size in ("m", "s", "l", None):
        t.merge(CR + "/field", {"spec": {"size": size}}, **brief)
    for selector in ("spec.size%3Ds", "spec.size!%3Ds", "spec.size%3D", "spec.size%3Dm,metadata.name%3Dfield", "metadata.name%3Dother,spec.size%3Ds"):
        t.get(f"{CR}?watch=true&timeoutSeconds=1&fieldSelector={selector}&resourceVersion=${{f}}", keep=EVENT)
    pod = obj("v1", "Pod", "p", spec={"containers": [{"name": "c", "image": "i"}]})
    t.post(f"{CORE}/pods", pod, **brief, save={"p": "metadata.resourceVersion"})
    t.merge(f"{CORE}/pods/p/status", {"status": {"phase": "Running"}}, **brief)
    t.post(f"{CORE}/pods/p/binding", obj("v1", "Binding", "p", target={"name": "n1"}))
    t.merge(f"{CORE}/pods/p/status", {"status": {"phase": "Succeeded"}}, **brief)
    t.delete(f"{CORE}/pods/p?gracePeriodSeconds=0", **brief)
    for selector in ("status.phase%3DRunning", "status.phase!%3DRunning", "spec.nodeName%3Dn1", "spec.nodeName%3D", "spec.nodeName!%3D,status.phase%3DRunning", "metadata.name%3Dp"):
        t.get(f"{CORE}/pods?watch=true&timeoutSeconds=1&fieldSelector={selector}&resourceVersion=${{p}}", accept=META, keep=EVENT)
    # a cluster's own kinds
    t.post(NS, obj("v1", "Namespace", "n", {"labels": {"w": "1"}}), **brief, save={"n": "metadata.resourceVersion"})
    t.merge(NS + "/n", {"metadata": {"labels": {"x": "y"}}}, **brief)
    t.delete(NS + "/n", **brief)
    t.get(f"{NS}?watch=true&timeoutSeconds=1&labelSelector=w&resourceVersion=${{n}}", accept=META, keep=EVENT)
    t.get(f"{NS}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dn&resourceVersion=${{n}}", accept=META, keep=EVENT)
    t.get(f"{NS}?watch=true&timeoutSeconds=1&fieldSelector=status.phase%3DTerminating&resourceVersion=${{n}}", accept=META, keep=EVENT)
    t.get(f"/api/v1/watch/namespaces/n?timeoutSeconds=1&resourceVersion=${{n}}", accept=META, keep=EVENT)
    t.get(f"/api/v1/watch/namespaces?timeoutSeconds=1&resourceVersion=${{n}}&labelSelector=w", accept=META, keep=EVENT)
    t.get(f"{NS}/n?watch=true", **brief)
    for path in ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", f"{CORE}/bindings", "/api/v1/componentstatuses", "/api/v1/nothing", "/apis/nothing.example.com/v1/things", "/version", "/api", "/apis/apps/v1"):
        t.get(path + "?watch=true&timeoutSeconds=1", keep=["kind", "major"])
