"""Lists of a custom kind and of a built-in one: versions, pages while objects change, tokens, selectors, forms."""
import base64
import json

from made import CORE, PARTIALS, TABLE, cm, crd, obj

CM = f"{CORE}/configmaps"
CR = "/apis/reads.example.com/v1/namespaces/default/leaves"
ALL = "/apis/reads.example.com/v1/leaves"


def leaf(name, meta=None, **more):
    return obj("reads.example.com/v1", "Leaf", name, meta, **more)


def token(**parts):
    return base64.urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode().rstrip("=")


def percent(text):
    return "".join(f"%{b:02X}" for b in text.encode())


def run(t):
    definition = crd("reads.example.com", "leaves", "Leaf")
    definition["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": ".spec.size"}, {"jsonPath": ".spec.replicas"}]
    t.crd(definition, keep=[])
    names = {"keep": ["kind", "apiVersion", "metadata", "items"], "accept": PARTIALS}
    t.get(CR)
    t.get(ALL, accept=TABLE, keep=["kind", "metadata", "rows", "columnDefinitions"])
    t.get(ALL, accept=PARTIALS)
    t.get(f"{CORE}/secrets")
    t.get(f"{CORE}/secrets", accept="application/yaml")
    for i in range(5):
        t.post(CR, leaf(f"l{i}", {"labels": {"n": str(i)}}, spec={"size": "big" if i % 2 else "small", "replicas": i}), keep=["kind"], **({"save": {"rv": "metadata.resourceVersion", "uid": "metadata.uid"}} if i == 2 else {}))
        t.post(CM, cm(f"c{i}", {"labels": {"n": str(i)}}), keep=["kind"], **({"save": {"crv": "metadata.resourceVersion"}} if i == 2 else {}))
    t.post("/api/v1/namespaces", obj("v1", "Namespace", "a-space"), keep=["kind"])
    for name in ("l1", "l", "l1.b", "l1-b", "l10"):
        t.post("/apis/reads.example.com/v1/namespaces/a-space/leaves", leaf(name), keep=["kind"])
    t.get(ALL, **names)
    t.get(ALL + "?limit=3", **names, save={"all": "metadata.continue"})
    t.get(ALL + "?limit=3&continue=${all}", **names, save={"all2": "metadata.continue"})
    t.get(ALL + "?limit=30&continue=${all2}", **names)
    t.get(CR + "?limit=3&continue=${all2}", **names)
    t.get(CR, keep=["kind", "apiVersion", "items"])
    for path, rv in ((CR, "${rv}"), (CM, "${crv}")):
        for match in ("", "Exact", "NotOlderThan"):
            for limit in ("", "limit=2&", "limit=200&"):
                for selector in ("", "labelSelector=n%3D1&"):
                    t.get(f"{path}?{limit}{selector}resourceVersion={rv}" + (match and f"&resourceVersionMatch={match}"), **names)
        for match in ("", "NotOlderThan"):
            t.get(f"{path}?limit=2&resourceVersion=0" + (match and f"&resourceVersionMatch={match}"), **names)
        t.get(f"{path}?limit=2&labelSelector=n&resourceVersion={rv}&resourceVersionMatch=Exact", **names, save={"e": "metadata.continue"})
        t.get(f"{path}?limit=2&labelSelector=n&continue=${{e}}", **names)
        t.get(f"{path}?limit=2&labelSelector=n&continue=${{e}}&resourceVersion=0", **names)
        for unknown in ("999999999", "999999999&limit=1", "999999999&resourceVersionMatch=NotOlderThan", "999999999&resourceVersionMatch=Exact", "999999999&limit=1&resourceVersionMatch=Exact"):
            t.get(f"{path}?resourceVersion={unknown}")
        t.get(f"{path}?resourceVersion=1&resourceVersionMatch=Exact")
        t.get(f"{path}/none?resourceVersion=999999999")
        t.get(f"{path}/none?resourceVersion=1")
    # pages while objects come and go
    t.get(CR + "?limit=2", **names, save={"p1": "metadata.continue"})
    t.delete(CR + "/l2", keep=["status"])
    t.post(CR, leaf("l25"), keep=["kind"])
    t.merge(CR + "/l3", {"spec": {"size": "changed"}}, keep=["kind"])
    t.get(CR + "?limit=2&continue=${p1}", keep=["metadata", "items"], save={"p2": "metadata.continue"})
    t.get(CR + "?limit=2&continue=${p2}", **names)
    t.get(CR + "?limit=2", **names)
    t.get(CR + "?limit=1&labelSelector=n", **names, save={"s1": "metadata.continue"})
    t.get(CR + "?limit=1&labelSelector=n&continue=${s1}", **names, save={"s2": "metadata.continue"})
    t.get(CR + "?limit=1&continue=${s2}", **names)
    t.get(CR + "?limit=6", **names)
    t.get(CR + "?limit=5", **names)
    t.get(CR + "?limit=4", **names)
    t.get(CR + "?continue=${p1}", **names)
    t.get(CR + "?limit=2&continue=${p1}&resourceVersion=${rv}", **names)
    t.get(CR + "?limit=2&continue=${p1}&resourceVersion=${rv}&resourceVersionMatch=Exact", **names)
    t.get(CR + "?limit=2&continue=${p1}&resourceVersionMatch=NotOlderThan", **names)
    t.get(CM + "?limit=2&continue=${p1}", **names)
    for made in (token(v="meta.k8s.io/v1", rv=-1, start="l1\u0000"), token(v="meta.k8s.io/v1", rv=0, start="l1\u0000"), token(v="meta.k8s.io/v1", rv=-1, start=""), token(v="meta.k8s.io/v1", rv=-2, start="l1\u0000"), token(v="meta.k8s.io/v2", rv=1, start="x"), token(v="", rv=1, start="x"), token(rv=1), token(v="meta.k8s.io/v1", rv="x", start="l"),
                 token(v="meta.k8s.io/v1", rv=1, start="../../x"), token(v="meta.k8s.io/v1", rv=-1, start="../l1"), token(v="meta.k8s.io/v1", rv=-1, start="/l1\u0000"), token(v="meta.k8s.io/v1", rv=-1, start="zzz"), token(v="meta.k8s.io/v1", rv=999999999, start="l1\u0000"), token(v="meta.k8s.io/v1", rv=1, start="l1\u0000"), token(v="meta.k8s.io/v1", rv=-1, start="l1", more=1), "AAAA", "e30", "e30=", "====", "%20", "é", "bnVsbA", "W10"):
        t.get(f"{CR}?limit=2&continue={made if made.isascii() else percent(made)}", **names)
        t.get(f"{CM}?limit=2&continue={made if made.isascii() else percent(made)}", **names)
    # selectors
    for selector in ("metadata.name=l1", "metadata.namespace=default", "metadata.namespace=a-space", "spec.size=big", "spec.size!=big", "spec.size=", "spec.size", "spec.replicas=1", "spec.replicas=01", "spec.replicas!=1,spec.size=small", ".spec.size=big", "spec.nothing=1", "spec=1", "metadata.labels.n=1", "metadata.uid=x", "status.phase=x", "spec.size==big", "spec.size=big,metadata.name=l1", "spec.size in (big)"):
        t.get(f"{ALL}?fieldSelector={percent(selector)}", **names)
        t.delete(f"{CR}?dryRun=All&fieldSelector={percent(selector)}", **names)
        t.get(f"{CR}?watch=true&timeoutSeconds=1&resourceVersion=${{rv}}&fieldSelector={percent(selector)}", accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
    for selector in ("n", "n=1", "n!=1", "n in (1,2),n!=2", "!n", "n>1", "n>=1", "((", "n=1,,", "n in (1", "a/b/c"):
        t.get(f"{CR}?labelSelector={percent(selector)}&limit=2", **names)
        t.delete(f"{CR}?dryRun=All&labelSelector={percent(selector)}", **names)
        t.get(f"{CR}?watch=true&timeoutSeconds=1&resourceVersion=${{rv}}&labelSelector={percent(selector)}", accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
    # forms
    for accept in (TABLE, TABLE.replace("v=v1", "v=v1beta1"), TABLE + ",application/json", "application/yaml", "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io", "application/cbor,application/json", "application/cbor"):
        t.get(f"{CR}?limit=1", accept=accept)
        t.get(f"{CR}/l1", accept=accept)
        t.get(f"{CR}/none", accept=accept)
