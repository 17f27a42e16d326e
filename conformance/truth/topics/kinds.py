"""Every built-in kind through the same life: created, replaced with and without its version, patched, applied, deleted; and one custom kind."""
import made
from made import KINDS, crd

CUSTOM = [("/apis/kinds.example.com/v1/namespaces/default/gears", "kinds.example.com/v1", "Gear", {"spec": {"size": "s"}}),
          ("/apis/kinds.example.com/v1/wheels", "kinds.example.com/v1", "Wheel", {"spec": {"size": "s"}})]
NAMES = {"RuntimeClass": "life", "APIService": "v1.life.example.com"}
REST = {"APIService": {"spec": {"group": "life.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 10}}}
GENERATION = ["kind", "metadata.generation", "metadata.labels", "metadata.resourceVersion"]


def run(t):
    t.crd(crd("kinds.example.com", "gears", "Gear", subresources={"status": {}}), keep=[])
    t.crd(crd("kinds.example.com", "wheels", "Wheel", scope="Cluster"), keep=[])
    for path, api_version, kind, rest in KINDS + CUSTOM:
        rest = REST.get(kind, rest)

        def it(name, **meta):
            if kind == "APIService":
                version = name.split(".")[0]
                return made.obj(api_version, kind, name, meta, spec={**rest["spec"], "version": version})
            return made.obj(api_version, kind, name, meta, **rest)
        name, other = NAMES.get(kind, "life"), "v2.life.example.com" if kind == "APIService" else "other"
        brief = {"keep": ["kind"]}
        t.post(path, it(name, resourceVersion="7"))
        t.post(path + "?dryRun=All", it(name), keep=GENERATION)
        t.post(path, it(name, uid="00000000-0000-4000-8000-000000000001", generation=9, creationTimestamp="2001-01-01T00:00:00Z", deletionTimestamp="2001-01-01T00:00:00Z", selfLink="/x"), keep=["kind", "metadata.generation", "metadata.uid", "metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.selfLink"])
        t.post(path, it(name))
        t.put(f"{path}/{name}", it(name, labels={"step": "free"}), keep=GENERATION)
        t.put(f"{path}/{name}", it(name, labels={"step": "old"}, resourceVersion="1"))
        t.put(f"{path}/{name}", it(name, labels={"step": "bad"}, resourceVersion="x"))
        t.put(f"{path}/{name}", it(name, labels={"step": "uid"}, uid="00000000-0000-4000-8000-00000000000a"))
        t.put(f"{path}/{name}", it(other))
        t.put(f"{path}/{name}", {**it(name), "kind": "Other"})
        t.put(f"{path}/{name}", {**it(name), "apiVersion": "v7"})
        t.put(f"{path}/{other}?dryRun=All", it(other), keep=GENERATION)
        t.put(f"{path}/{other}?dryRun=All", it(other, resourceVersion="5"), keep=GENERATION)
        t.put(f"{path}/{other}?dryRun=All", it(other, uid="00000000-0000-4000-8000-00000000000a"), keep=GENERATION)
        t.merge(f"{path}/{name}", {"metadata": {"labels": {"step": "merge"}}}, keep=GENERATION)
        t.merge(f"{path}/{name}", {"metadata": {"labels": {"step": "merge"}}}, keep=GENERATION)
        t.merge(f"{path}/{name}", {"metadata": {"resourceVersion": "1", "labels": {"step": "stale"}}})
        t.merge(f"{path}/{name}", {"metadata": {"uid": "00000000-0000-4000-8000-00000000000a"}})
        t.merge(f"{path}/{name}", {"metadata": {"name": "renamed"}})
        t.merge(f"{path}/{name}", {"metadata": {"namespace": "elsewhere"}})
        t.json_patch(f"{path}/{name}", [{"op": "replace", "path": "/metadata/labels/step", "value": "json"}], keep=GENERATION)
        t.strategic(f"{path}/{name}", {"metadata": {"labels": {"step": "strategic"}}}, keep=GENERATION)
        t.apply(f"{path}/{name}", {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": {"applied": "yes"}}}, keep=GENERATION)
        t.apply(f"{path}/{other}?dryRun=All", it(other), keep=["kind", "metadata.generation", "metadata.managedFields"])
        t.merge(f"{path}/{other}", {"metadata": {"labels": {"a": "b"}}})
        t.get(f"{path}/{name}/status", **brief)
        t.merge(f"{path}/{name}/status", {"metadata": {"labels": {"step": "status"}}, "status": {}}, keep=GENERATION)
        t.get(f"{path}/{name}/scale", keep=["kind", "apiVersion", "spec", "status"])
        t.get(f"{path}/{name}/nothing")
        t.get(f"{path}?limit=1&fieldSelector=metadata.name%3D{name}", accept=made.PARTIALS, keep=["kind", "apiVersion", "items"])
        t.delete(f"{path}/{name}", {"preconditions": {"uid": "00000000-0000-4000-8000-00000000000a"}})
        t.delete(f"{path}/{name}", {"preconditions": {"resourceVersion": "1"}})
        t.delete(f"{path}/{name}?dryRun=All", keep=["kind", "status", "details"])
        t.merge(f"{path}/{name}", {"metadata": {"finalizers": ["example.com/hold"]}}, keep=["kind", "metadata.finalizers", "metadata.generation"])
        t.delete(f"{path}/{name}", {"gracePeriodSeconds": 0}, keep=["kind", "status", "details", "metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds", "metadata.generation"])
        t.post(path, it(name))
        t.merge(f"{path}/{name}", {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}})
        t.put(f"{path}/{name}", it(name, finalizers=["example.com/hold"], labels={"step": "going"}), keep=GENERATION)
        t.merge(f"{path}/{name}", {"metadata": {"finalizers": None}}, keep=["kind", "status", "metadata.finalizers", "metadata.deletionTimestamp", "metadata.generation"])
        if kind != "Namespace":  # nobody empties it here
            t.get(f"{path}/{name}")
            t.delete(f"{path}/{name}")
