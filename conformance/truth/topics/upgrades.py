"""Published CRDs in releases one after the other: create the old one and an object, update to the new one, read and write."""
import os
import re

import yaml

C = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def run(t):
    root = os.path.join(t.corpus, "upgrades")
    for project in sorted(os.listdir(root)):
        releases = {}
        for name in sorted(os.listdir(os.path.join(root, project))):
            with open(os.path.join(root, project, name)) as f:
                documents = [d for d in re.split(r"(?m)^---.*\n", f.read()) if d.strip() and yaml.load(d, Loader=yaml.BaseLoader)]
            crd = yaml.load(documents[0], Loader=yaml.BaseLoader)
            key = crd["metadata"]["name"]
            order = [int(n) for n in re.findall(r"\d+", name.split("__")[0])]
            releases.setdefault(key, []).append((order, f"upgrades/{project}/{name}", crd))
        for key in sorted(releases):
            walk(t, key, sorted(releases[key], key=lambda r: r[0]))


def walk(t, key, releases):
    """Each pair of neighbours among the releases: the older one is created anew for each pair."""
    for (_, old, old_crd), (_, new, new_crd) in zip(releases, releases[1:]):
        created = t.crd({"file": old}, type="application/yaml")
        if created.get("kind") != "CustomResourceDefinition":
            continue
        spec = created["spec"]
        version = next(v["name"] for v in spec["versions"] if v["storage"])
        scope = "" if spec["scope"] == "Cluster" else "namespaces/default/"
        base = lambda v: f"/apis/{spec['group']}/{v}/{scope}{spec['names']['plural']}"  # noqa: E731
        kind = spec["names"]["kind"]
        objects = [{"apiVersion": f"{spec['group']}/{version}", "kind": kind, "metadata": {"name": f"o{i}"}, **more} for i, more in enumerate(({}, {"spec": {}}, {"spec": {"surprise": 1}}))]
        for body in objects:
            t.post(base(version), body)
        t.call("PATCH", f"{C}/{key}?fieldManager=upgrade&force=true", {"file": new}, type="application/apply-patch+yaml", keep=["status"])
        t.settle(4)
        t.get(f"{C}/{key}", keep=["status"])
        t.get(f"/apis/{spec['group']}")
        served = sorted({v["name"] for c in (old_crd, new_crd) for v in c["spec"].get("versions", [])})
        for v in served:
            for body in objects:
                t.get(f"{base(v)}/{body['metadata']['name']}")
            t.merge(f"{base(v)}/o1", {"metadata": {"labels": {"touched": v}}})
            t.post(base(v), {**objects[0], "apiVersion": f"{spec['group']}/{v}", "metadata": {"name": f"new-{v}"}})
        t.delete(f"{C}/{key}", keep=["kind"])
        t.server.delete_crd(key)
        t.settle(1)
