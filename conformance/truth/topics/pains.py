"""Small inputs made from public bug reports: what a server says of each definition and object, before and after a change."""
import os
import re

import yaml

C = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BUILT_IN = {  # kind: path of its resource
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments", "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets", "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles", "Namespace": "/api/v1/namespaces", "Lease": "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
    "Pod": "/api/v1/namespaces/{}/pods", "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims", "Secret": "/api/v1/namespaces/{}/secrets",
    "MutatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
}
# The definition that objects without one of their own belong to: it takes everything.
ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def run(t):
    t.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "play"}})
    root = os.path.join(t.corpus, "pains")
    for folder in sorted(f for f in os.listdir(root) if os.path.isdir(os.path.join(root, f))):
        files = {}
        for name in sorted(os.listdir(os.path.join(root, folder))):
            if name.endswith(".yaml"):
                with open(os.path.join(root, folder, name)) as f:
                    parts = [p for p in re.split(r"(?m)^---.*\n", f.read()) if p.strip()]
                files[name] = [(p, d) for p in parts if isinstance(d := yaml.load(p, Loader=yaml.BaseLoader), dict) and d.get("kind") and d.get("metadata")]
        if any(files.values()):
            t.about = folder
            pain(t, files)
    t.about = None


def pain(t, files):
    """First the older definitions, then the objects, then the newer definitions, then everything is read and written again."""
    later = [n for n in ("mid.yaml", "new.yaml", "bundle.yaml") if n in files and {"old.yaml", "live.yaml"} & set(files)]
    first = [n for n in files if n not in later]
    made, objects = [], []
    for name in first:
        for text, doc in files[name]:
            if doc["kind"] == "CustomResourceDefinition":
                if t.crd(text, type="application/yaml").get("kind") == "CustomResourceDefinition":
                    made.append(doc["metadata"]["name"])
            else:
                objects.append((text, doc))
    for _, doc in objects:
        if doc["kind"] not in BUILT_IN and not served(t, doc):
            group, version = doc["apiVersion"].split("/")
            plural = doc["kind"].lower() + "s"
            if f"{plural}.{group}" in made:
                continue
            t.crd({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"}, "spec": {
                "group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": doc["kind"]},
                "versions": [{"name": version, "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": ANY}}]}})
            made.append(f"{plural}.{group}")
    for text, doc in objects:
        path = where(doc)
        t.call("POST", path + "?fieldValidation=Strict&dryRun=All", text, type="application/yaml")
        t.call("POST", path, text, type="application/yaml")
        again(t, path, doc)
    for name in later:
        for text, doc in files[name]:
            if doc["kind"] == "CustomResourceDefinition":
                t.call("PATCH", f"{C}/{doc['metadata']['name']}?fieldManager=upgrade&force=true", text, type="application/apply-patch+yaml", keep=["status"])
        t.settle(3)
        for _, doc in objects:
            again(t, where(doc), doc)
    for _, doc in objects:
        if doc["metadata"].get("name") and doc["kind"] != "Namespace":
            t.merge(f"{where(doc)}/{doc['metadata']['name']}", {"metadata": {"finalizers": None}})
            t.delete(f"{where(doc)}/{doc['metadata']['name']}", {"gracePeriodSeconds": 0})
    for name in reversed(made):
        t.delete(f"{C}/{name}", keep=["kind"])
        t.server.delete_crd(name)
    t.settle(1)


def served(t, doc):
    return t.server.call("GET", where(doc)).status_code != 404


def where(doc):
    namespace = doc["metadata"].get("namespace", "default")
    namespace = namespace if namespace == "default" else "play"
    if doc["kind"] in BUILT_IN:
        return BUILT_IN[doc["kind"]].format(namespace)
    return f"/apis/{doc['apiVersion']}/namespaces/{namespace}/{doc['kind'].lower()}s"


def again(t, path, doc):
    name = doc["metadata"].get("name")
    if not name:
        return
    t.get(f"{path}/{name}")
    t.merge(f"{path}/{name}", {"metadata": {"labels": {"touched": "yes"}}})
    if doc["kind"] not in BUILT_IN:
        t.merge(f"{path}/{name}/status", {"status": {"observedGeneration": 1}})
        t.apply(f"{path}/{name}", {"apiVersion": doc["apiVersion"], "kind": doc["kind"], "metadata": {"name": name, "annotations": {"by": "apply"}}})
