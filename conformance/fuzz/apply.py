#!/usr/bin/env python3
"""Sends the same random writes to a real kube-apiserver and to ours, and prints what they answer differently. See README.md."""
import argparse
import copy
import json
import os
import random
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "crds"))

from server import Server  # noqa: E402

STRING, INT = {"type": "string"}, {"type": "integer"}
SPEC = {"type": "object", "properties": {
    "replicas": INT, "n": INT, "word": STRING, "maybe": {"type": "string", "nullable": True},
    "set": {"type": "array", "x-kubernetes-list-type": "set", "items": STRING},
    "list": {"type": "array", "items": STRING},
    "keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"], "items": {
        "type": "object", "required": ["a"], "properties": {"a": STRING, "b": {"type": "integer", "default": 1}, "c": STRING}}},
    "map": {"type": "object", "additionalProperties": STRING},
    "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"x": STRING, "y": STRING}},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "deep": {"type": "object", "properties": {"x": STRING, "y": {"type": "object", "properties": {"z": STRING, "w": INT}}}},
    "any": {"x-kubernetes-int-or-string": True},
}}
NEWER = copy.deepcopy(SPEC)
NEWER["properties"]["extra"] = STRING
PORT = {"type": "object", "required": ["port"], "properties": {
    "port": INT, "protocol": {"type": "string", "default": "TCP"}, "name": STRING,
    "hosts": {"type": "array", "x-kubernetes-list-type": "set", "items": STRING},
    "routes": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["path"], "items": {
        "type": "object", "required": ["path"], "properties": {"path": STRING, "weight": {"type": "integer", "default": 1}}}}}}
SHIP = {"type": "object", "properties": {
    "numbers": {"type": "array", "x-kubernetes-list-type": "set", "items": INT},
    "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"], "items": PORT},
    "three": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b", "c"], "items": {
        "type": "object", "properties": {"a": {"type": "string", "default": "x"}, "b": {"type": "integer", "default": 0},
                                         "c": {"type": "boolean", "default": False}, "d": STRING}}},
    "rows": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "object", "properties": {"x": STRING, "y": INT}}},
    "byName": {"type": "object", "additionalProperties": PORT},
    "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": STRING},
    "template": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
    "settings": {"type": "object", "default": {"mode": "x"}, "properties": {"mode": {"type": "string", "default": "y"}, "level": {"type": "integer", "default": 3}}},
    "ratio": {"type": "number"}, "maybe": {"type": "object", "nullable": True, "properties": {"x": STRING}},
}}
STATUS = {"type": "object", "properties": {"ok": STRING, "replicas": INT, "selector": STRING}}


def version(name, spec, storage):
    return {
        "name": name, "served": True, "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": STATUS}}},
        "subresources": {"status": {}, "scale": {
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}},
    }


def definition(plural, kind, versions):
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.fuzz.example.com"},
        "spec": {"group": "fuzz.example.com", "scope": "Namespaced", "names": {"plural": plural, "kind": kind}, "versions": versions},
    }


CRDS = [definition("boats", "Boat", [version("v1", SPEC, True), version("v2", NEWER, False)]), definition("ships", "Ship", [version("v1", SHIP, True)])]


def filled(value):
    """A document without its empty lists and objects."""
    if isinstance(value, dict):
        return {key: filled(inner) for key, inner in value.items() if inner not in ([], {}) or key == "emptyDir"}
    return [filled(inner) for inner in value] if isinstance(value, list) else value


class Random(random.Random):
    def some(self, options):
        """A random part of a dict of makers."""
        return {key: make() for key, make in options.items() if self.random() < 0.3}

    def word(self):
        return self.choice(["x", "y", "z"])

    def words(self):
        return {self.choice("abc"): self.word() for _ in range(self.randint(0, 2))}

    def unique(self, make, key):
        items = {key(item): item for item in (make() for _ in range(self.randint(0, 3)))}
        return list(items.values())

    def metadata(self):
        return self.some({"labels": self.words, "annotations": self.words, "finalizers": lambda: self.sample(["a.b/c", "a.b/d"], self.randint(0, 2))})

    def anything(self, depth=0):
        kind = self.randint(0, 5 if depth < 2 else 3)
        if kind == 4:
            return [self.anything(depth + 1) for _ in range(self.randint(0, 2))]
        if kind == 5:
            return {self.choice("abc"): self.anything(depth + 1) for _ in range(self.randint(0, 2))}
        return [None, 1, "x", True][kind]

    def boat(self, newer):
        keyed = lambda: {"a": self.word(), **self.some({"b": lambda: self.randint(1, 2), "c": self.word})}
        spec = self.some({
            "replicas": lambda: self.randint(0, 3), "n": lambda: self.randint(0, 3), "word": self.word,
            "maybe": lambda: self.choice([None, "x"]), "set": lambda: self.unique(self.word, str),
            "list": lambda: [self.word() for _ in range(self.randint(0, 3))],
            "keyed": lambda: self.unique(keyed, lambda item: (item["a"], item.get("b", 1))),
            "map": self.words, "whole": lambda: self.some({"x": self.word, "y": self.word}),
            "free": lambda: {self.choice("abc"): self.anything() for _ in range(self.randint(0, 2))},
            "deep": lambda: self.some({"x": self.word, "y": lambda: self.some({"z": self.word, "w": lambda: 1})}),
            "any": lambda: self.choice([1, "x"]),
            **({"extra": self.word} if newer else {}),
        })
        return {"spec": spec} if self.random() < 0.9 else {}

    def boat_status(self):
        return self.some({"ok": self.word, "replicas": lambda: self.randint(0, 2), "selector": lambda: "a=b"})

    def container(self, name):
        port = lambda: {"containerPort": self.randint(1, 3), **self.some({"protocol": lambda: self.choice(["TCP", "UDP"]), "name": lambda: "p" + self.word()})}
        key = lambda item: (item["containerPort"], item.get("protocol", "TCP"))
        return {"name": name, "image": self.word(), **self.some({
            "env": lambda: self.unique(lambda: {"name": self.word().upper(), "value": self.word()}, lambda item: item["name"]),
            "ports": lambda: self.unique(port, key), "args": lambda: [self.word() for _ in range(self.randint(0, 2))],
            "resources": lambda: {"limits": {"cpu": self.choice(["1", "500m"])}},
            "volumeMounts": lambda: [], "stdin": lambda: True,
        })}

    def deployment(self):
        names = self.sample(["c", "d", "e"], self.randint(1, 2))
        pod = {"containers": [self.container(name) for name in names], **self.some({
            "nodeSelector": self.words, "tolerations": lambda: [{"key": self.word(), "operator": "Exists"}],
            "volumes": lambda: [], "terminationGracePeriodSeconds": lambda: self.randint(1, 3),
            "imagePullSecrets": lambda: self.unique(lambda: {"name": self.word()}, str),
        })}
        return {"spec": {"selector": {"matchLabels": {"app": "x"}}, "template": {"metadata": {"labels": {"app": "x"}}, "spec": pod},
                         **self.some({"replicas": lambda: self.randint(0, 3), "paused": lambda: True, "minReadySeconds": lambda: 1,
                                      "strategy": lambda: {"type": "Recreate"}})}}

    def deployment_status(self):
        condition = lambda: {"type": self.word(), "status": "True"}
        return self.some({"replicas": lambda: 1, "conditions": lambda: self.unique(condition, lambda item: item["type"])})

    def ship(self):
        number = lambda: self.choice([0, 1, 1, 2, 3])
        routes = lambda: self.unique(lambda: {"path": self.word(), **self.some({"weight": number})}, lambda item: item["path"])
        port = lambda: {"port": number(), **self.some({
            "protocol": lambda: self.choice(["TCP", "UDP"]), "name": self.word, "hosts": lambda: self.unique(self.word, str), "routes": routes})}
        three = lambda: self.some({"a": self.word, "b": number, "c": lambda: self.choice([True, False]), "d": self.word})
        spec = self.some({
            "numbers": lambda: self.unique(number, str), "ports": lambda: self.unique(port, lambda item: (item["port"], item.get("protocol", "TCP"))),
            "three": lambda: self.unique(three, lambda item: (item.get("a", "x"), item.get("b", 0), item.get("c", False))),
            "rows": lambda: [self.some({"x": self.word, "y": number}) for _ in range(self.randint(0, 2))],
            "byName": lambda: {self.choice("abc"): port() for _ in range(self.randint(0, 2))}, "whole": self.words,
            "template": lambda: {"apiVersion": "v1", "kind": self.choice(["ConfigMap", "Pod"]), "metadata": {"labels": self.words()}, "data": self.words()},
            "settings": lambda: self.some({"mode": self.word, "level": number}), "ratio": lambda: self.choice([1, 1.5, 0.25]),
            "maybe": lambda: self.choice([None, {}, {"x": "y"}]),
        })
        return {"spec": spec} if self.random() < 0.9 else {}

    def service(self):
        port = lambda: {"port": self.randint(1, 3), "name": "p" + self.word(), **self.some({
            "protocol": lambda: self.choice(["TCP", "UDP"]), "targetPort": lambda: self.choice([80, "http"]), "appProtocol": lambda: "a.b/c"})}
        ports, names = self.unique(port, lambda item: (item["port"], item.get("protocol", "TCP"))), set()
        ports = [item for item in ports if item["name"] not in names and not names.add(item["name"])] or [{"port": 1, "name": "p"}]
        return {"spec": {"ports": ports, **self.some({
            "selector": self.words, "type": lambda: self.choice(["ClusterIP", "NodePort", "LoadBalancer"]), "externalIPs": lambda: ["1.2.3.4"],
            "sessionAffinity": lambda: self.choice(["None", "ClientIP"]), "publishNotReadyAddresses": lambda: True,
            "loadBalancerSourceRanges": lambda: self.choice([[], ["10.0.0.0/8"]]), "internalTrafficPolicy": lambda: self.choice(["Cluster", "Local"]),
        })}}

    def service_status(self):
        condition = lambda: {"type": "a.b/" + self.word(), "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        return self.some({"conditions": lambda: self.unique(condition, lambda item: item["type"]),
                          "loadBalancer": lambda: {"ingress": [{"ip": "1.2.3." + str(self.randint(1, 2))}]}})

    def template(self, **more):
        names = self.sample(["c", "d", "e"], self.randint(1, 2))
        return {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [self.container(name) for name in names], **more, **self.some({
            "nodeSelector": self.words, "hostAliases": lambda: self.unique(lambda: {"ip": "1.2.3." + str(self.randint(1, 2)), "hostnames": ["a"]}, str),
            "volumes": lambda: self.unique(lambda: {"name": self.word(), "emptyDir": {}}, lambda item: item["name"])})}}

    def stateful_set(self):
        claim = lambda: {"metadata": {"name": self.word()}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
        return {"spec": {"serviceName": "s", "selector": {"matchLabels": {"app": "x"}}, "template": self.template(), **self.some({
            "replicas": lambda: self.randint(0, 3), "minReadySeconds": lambda: 1, "podManagementPolicy": lambda: "Parallel",
            "volumeClaimTemplates": lambda: self.unique(claim, lambda item: item["metadata"]["name"]),
            "updateStrategy": lambda: self.choice([{"type": "OnDelete"}, {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}]),
            "persistentVolumeClaimRetentionPolicy": lambda: {"whenDeleted": "Delete"}})}}

    def stateful_set_status(self):
        condition = lambda: {"type": self.word(), "status": "True"}
        return {"replicas": 1, **self.some({"readyReplicas": lambda: 1, "conditions": lambda: self.unique(condition, lambda item: item["type"])})}

    def job(self):
        template = filled(self.template(restartPolicy=self.choice(["Never", "OnFailure"])))
        return {"spec": {"template": template, **self.some({
            "parallelism": lambda: self.randint(0, 2), "completions": lambda: self.randint(1, 2), "backoffLimit": lambda: self.randint(1, 3),
            "suspend": lambda: self.choice([True, False]), "ttlSecondsAfterFinished": lambda: 5, "activeDeadlineSeconds": lambda: self.randint(5, 6)})}}

    def pod(self):
        # A refused change of a pod is shown as a difference of Go's structs, where an empty list is another than none.
        return filled({"spec": self.template()["spec"]})

    def pod_status(self):
        condition = lambda: {"type": self.choice(["Ready", "PodScheduled", "a.b/c"]), "status": self.choice(["True", "False"])}
        return self.some({"phase": lambda: self.choice(["Pending", "Running"]), "message": self.word, "hostIP": lambda: "1.2.3.4",
                          "podIPs": lambda: [{"ip": "1.2.3.5"}], "conditions": lambda: self.unique(condition, lambda item: item["type"])})

    def config(self):
        return self.some({"data": self.words, "binaryData": lambda: {}, "immutable": lambda: False})


class Kind:
    def __init__(self, version, plural, kind, make, status=None, scale=False):
        self.version, self.plural, self.kind, self.make, self.status, self.scale = version, plural, kind, make, status, scale
        self.path = ("/api/" if version == "v1" else "/apis/") + version + "/namespaces/default/" + plural

    def document(self, rng, name):
        document = {"apiVersion": self.version, "kind": self.kind, "metadata": {"name": name, **rng.metadata()}, **self.make(rng)}
        if self.kind == "Job":
            # One without labels has its template's upstream: the very map, which gets more labels later.
            document["metadata"]["labels"] = {"a": "x"}
        return document


KINDS = [
    [Kind("fuzz.example.com/v1", "boats", "Boat", lambda r: r.boat(False), Random.boat_status, True),
     Kind("fuzz.example.com/v2", "boats", "Boat", lambda r: r.boat(True), Random.boat_status, True)],
    [Kind("fuzz.example.com/v1", "boats", "Boat", lambda r: r.boat(False), Random.boat_status, True)],
    [Kind("apps/v1", "deployments", "Deployment", Random.deployment, Random.deployment_status, True)],
    [Kind("v1", "configmaps", "ConfigMap", Random.config)],
    [Kind("fuzz.example.com/v1", "ships", "Ship", Random.ship, Random.boat_status, True)],
    [Kind("v1", "services", "Service", Random.service, Random.service_status)],
    [Kind("apps/v1", "statefulsets", "StatefulSet", Random.stateful_set, Random.stateful_set_status, True)],
    [Kind("batch/v1", "jobs", "Job", Random.job)],
    [Kind("v1", "pods", "Pod", Random.pod, Random.pod_status)],
]

APPLY, MERGE, STRATEGIC, JSON = (f"application/{kind}" for kind in
                                 ("apply-patch+yaml", "merge-patch+json", "strategic-merge-patch+json", "json-patch+json"))


def operations(rng, document):
    """A few random operations of a JSON patch."""
    paths = ["/metadata/labels", "/metadata/labels/a", "/spec/replicas", "/spec/list/0", "/spec/list/-", "/spec/map/a", "/spec/nothing/x",
             "/data/a", "/spec/template/spec/containers/0/image", "/spec/template/spec/containers/-1"]
    for _ in range(rng.randint(1, 3)):
        op = rng.choice(["add", "remove", "replace", "test", "copy", "move"])
        step = {"op": op, "path": rng.choice(paths)}
        if op in ("copy", "move"):
            step["from"] = rng.choice(paths)
        elif op != "remove":
            step["value"] = rng.choice([1, "x", {"a": "x"}])
        yield step


def step(rng, kinds, name):
    """A random request: method, path, content type, body; a body that is a function is made of the present object."""
    kind = rng.choice(kinds)
    document = kind.document(rng, name)
    manager = rng.choice(["m1", "m2", "m3", "kubectl"])
    query = f"?fieldManager={manager}" + rng.choice(["", "", "", "&dryRun=All"])
    place = f"{kind.path}/{name}"
    force = rng.choice(["", "&force=true"])
    strange = rng.random() < 0.03
    if strange:
        odd = rng.choice([
            lambda d: d["metadata"].pop("name"), lambda d: d.update(kind="Other"), lambda d: d["metadata"].update(namespace="other"),
            lambda d: d["metadata"].update(managedFields=[]), lambda d: d.update(apiVersion="v9"), lambda d: d.update(nothing=1),
            lambda d: d["metadata"].update(name="another"), lambda d: d.update(spec="x"), lambda d: d["metadata"].update(uid="x"),
            lambda d: d["metadata"].update(resourceVersion="1"), lambda d: d["metadata"].update(generation=7),
        ])
        odd(document)
    choice = rng.random()
    if choice < 0.4:
        return "PATCH", place + query + force, APPLY, document
    if choice < 0.5:
        return "POST", kind.path + query, "application/json", document
    if choice < 0.62:
        def replaced(live):
            new = copy.deepcopy(document)
            new["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
            if rng.random() < 0.2:
                new["metadata"]["managedFields"] = rng.choice([[], [{}], live["metadata"].get("managedFields", [])])
            return new
        return "PUT", place + query, "application/json", replaced
    if choice < 0.72 and kind.status:
        status = {"apiVersion": kind.version, "kind": kind.kind, "metadata": {"name": name, **rng.metadata()}, "status": kind.status(rng)}
        if rng.random() < 0.5:
            return "PATCH", f"{place}/status{query}{force}", APPLY, status
        del status["metadata"]["name"]
        return "PATCH", f"{place}/status{query}", MERGE, status
    if choice < 0.82 and kind.scale:
        scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name}, "spec": rng.some({"replicas": lambda: rng.randint(0, 3)})}
        if rng.random() < 0.6:
            return "PATCH", f"{place}/scale{query}{force}", APPLY, scale
        return rng.choice([("PATCH", f"{place}/scale{query}", MERGE, {"spec": scale["spec"]}), ("PUT", f"{place}/scale{query}", "application/json", scale)])
    if choice < 0.88:
        return "PATCH", place + query, JSON, list(operations(rng, document))
    del document["apiVersion"], document["kind"]
    document["metadata"].pop("name", None)
    if choice < 0.94 and kind.kind not in ("Boat", "Ship"):
        return "PATCH", place + query, STRATEGIC, document
    return "PATCH", place + query, MERGE, document


def comparable(response):
    """An answer without what is another's every time."""
    try:
        said = response.json()
        uid = said.get("metadata", {}).get("uid")
        if uid:
            said = json.loads(response.text.replace(uid, "UID"))
    except ValueError:
        return [response.status_code, response.text]
    meta = said.get("metadata", {})
    if said.get("kind") == "Service":
        # Addresses and ports are allocated at random.
        for key in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
            said["spec"][key] = key in said["spec"] and said["spec"][key] not in ("None", ["None"])
        for port in said["spec"].get("ports", []):
            port["nodePort"] = "nodePort" in port
    for key in ("uid", "creationTimestamp", "resourceVersion", "deletionTimestamp"):
        meta.pop(key, None)
    for entry in meta.get("managedFields", []):
        entry["time"] = "time" in entry
    meta.get("managedFields", []).sort(key=lambda entry: json.dumps(entry, sort_keys=True))
    if said.get("kind") == "Status":
        # Conflicts come in the order of a map; a patched object is shown with its version and the order of its fields.
        causes = said.get("details", {}).get("causes", [])
        for place in (said, *causes):
            place["message"] = re.sub(r'(patch: |^)Invalid value: ".*": (json|strict)', r"\1Invalid value: \2", place.get("message", ""))
            place["message"] = re.sub(r"UID in object meta: .*", "", place["message"])
            place["message"] = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", place["message"])
            place["message"] = re.sub(r"\b3[0-2]\d{3}\b", "PORT", place["message"])
            # Texts print Go's structs, where an empty list is another than none.
            place["message"] = place["message"].replace(":[]", ":null").replace("value: []: ", "value: null: ")
        said["message"] = sorted(re.split(r"\n|, |[\[\]] ?", said.get("message", "")))
        causes.sort(key=lambda cause: json.dumps(cause, sort_keys=True))
    # What is doubtful in a pod is not what this is about.
    warnings = [text for text in (response.headers.get("Warning") or "").split(", 299 - ") if text and "duplicate port" not in text]
    return [response.status_code, said, warnings]


def story(rng, servers, number, length, only=None):
    """Sends random writes of one object to both; yields the requests that were answered differently."""
    kinds = rng.choice(KINDS if only is None else [kinds for kinds in KINDS if kinds[0].kind in only])
    name = f"o{number}"
    sent = []
    for _ in range(length):
        method, path, content_type, body = step(rng, kinds, name)
        state, answers = rng.getstate(), []
        for server in servers:
            rng.setstate(state)
            document = body
            if callable(body):
                live = server.call("GET", path.split("?")[0])
                document = body(live.json()) if live.ok else body({"metadata": {"resourceVersion": ""}})
            answers.append(comparable(server.call(method, path, data=json.dumps(document), headers={"Content-Type": content_type})))
        sent.append([method, path, content_type, document])
        yield answers[0] == answers[1], sent, answers
        if answers[0] != answers[1]:
            return


def differences(a, b, path=""):
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(set(a) | set(b)):
            yield from differences(a.get(key, "(none)"), b.get(key, "(none)"), f"{path}.{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, (x, y) in enumerate(zip(a, b)):
            yield from differences(x, y, f"{path}[{index}]")
    elif a != b:
        yield f"{path}: real {json.dumps(a)[:600]} ours {json.dumps(b)[:600]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", required=True, help="folder of the real etcd and kube-apiserver")
    parser.add_argument("--ours", required=True, help="folder of our etcd and kube-apiserver")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stories", type=int, default=100)
    parser.add_argument("--kinds", nargs="*", help="only stories of these kinds, such as Pod")
    parser.add_argument("--first", type=int, default=0, help="the number of the first story")
    parser.add_argument("--log", action="store_true", help="print every request and both answers")
    parser.add_argument("--length", type=int, default=12, help="writes of one object")
    arguments = parser.parse_args()
    cases = found = 0
    with Server(arguments.real) as real, Server(arguments.ours) as ours:
        for server in (real, ours):
            for crd in CRDS:
                server.create_crd(json.dumps(crd), "application/json")
        time.sleep(3)
        for number in range(arguments.first, arguments.first + arguments.stories):
            rng = Random(arguments.seed * 1_000_003 + number)
            for same, sent, answers in story(rng, (real, ours), number, arguments.length, arguments.kinds):
                cases += 1
                if arguments.log:
                    print(json.dumps({"sent": sent[-1], "real": answers[0], "ours": answers[1]}))
                if not same:
                    found += 1
                    print(f"--- story {number}, after {len(sent) - 1} writes:", *sent[-1][:3], json.dumps(sent[-1][3]))
                    for line in list(differences(*answers))[:6]:
                        print("   ", line)
    print(f"{cases} requests, {found} answered differently (seed {arguments.seed})")


main()
