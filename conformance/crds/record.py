#!/usr/bin/env python3
"""Writes down what a real kube-apiserver says of the CRDs and objects of a corpus. See README.md."""
import argparse
import copy
import json
import os
import re
import sys
import time

import yaml

import probes
from server import Server

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "recorded", "crds")


class Plain(yaml.SafeLoader):
    """YAML as Kubernetes reads it, as far as this recorder needs it: dates stay text."""


Plain.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag not in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def documents(path):
    with open(path) as f:
        return [part for part in re.split(r"(?m)^---.*\n", f.read()) if part.strip() and not is_comment(part)]


def is_comment(part):
    return all(not line.strip() or line.lstrip().startswith("#") for line in part.splitlines())


def normalise(obj):
    obj = copy.deepcopy(obj)
    for key in ("uid", "creationTimestamp", "resourceVersion", "managedFields", "generation"):
        obj.get("metadata", {}).pop(key, None)
    if "generateName" in obj.get("metadata", {}):
        obj["metadata"].pop("name", None)
    return obj


def answer(response):
    """The part of a response that does not change from run to run."""
    body = response.json()
    result = {"code": response.status_code}
    warnings = re.findall(r'299 - "((?:[^"\\]|\\.)*)"', response.headers.get("Warning", ""))
    if warnings:
        result["warnings"] = sorted(re.sub(r"\\(.)", r"\1", w) for w in warnings)
    if body.get("kind") == "Status" and body.get("status") == "Failure":
        causes = body.get("details", {}).get("causes", [])
        result["reason"] = body.get("reason")
        if len(causes) <= 1:
            result["message"] = body["message"]
        if causes:
            result["causes"] = sorted(([c.get("reason"), c.get("field"), c.get("message")] for c in causes), key=str)
    else:
        result["object"] = normalise(body)
    return result


def crd_summary(response, crd):
    """What became of a CRD, without its schemas."""
    result = answer(response)
    result.pop("object", None)
    if crd:
        result["name"] = crd["metadata"]["name"]
        result["names"] = crd["spec"]["names"]
        result["conversion"] = crd["spec"]["conversion"]
        result["versions"] = [v["name"] for v in crd["spec"]["versions"]]
        result["storedVersions"] = crd["status"]["storedVersions"]
        result["conditions"] = sorted([c["type"], c["status"], c["reason"]] for c in crd["status"]["conditions"])
        result["rules"] = json.dumps(crd["spec"]).count('"x-kubernetes-validations"')
    return result


def collection(crd, version, namespace):
    names, group = crd["spec"]["names"], crd["spec"]["group"]
    where = f"/namespaces/{namespace}" if crd["spec"]["scope"] == "Namespaced" else ""
    return f"/apis/{group}/{version}{where}/{names['plural']}"


def ask(server, crd, version, body, content_type, namespace="default"):
    path = collection(crd, version, namespace)
    return answer(server.call("POST", f"{path}?fieldValidation=Warn&dryRun=All", data=body, headers={"Content-Type": content_type}))


def ask_probes(server, crd):
    found = {}
    for version in crd["spec"]["versions"]:
        if not version["served"]:
            continue
        for name, obj in probes.of_version(crd, version):
            obj = {"apiVersion": f"{crd['spec']['group']}/{version['name']}", "kind": crd["spec"]["names"]["kind"],
                   "metadata": {"name": "probe"}, **obj}
            found[f"{version['name']} {name}"] = (obj, ask(server, crd, version["name"], json.dumps(obj), "application/json"))
    return found


def record_project(server, plain, corpus, project):
    result = {"crds": {}, "samples": {}, "probes": {}}
    crds = {}
    for file in sorted(os.listdir(f"{corpus}/crds/{project}")):
        for at, text in enumerate(documents(f"{corpus}/crds/{project}/{file}")):
            if yaml.load(text, Plain).get("kind") != "CustomResourceDefinition":
                continue
            key = f"{file}#{at}"
            name = yaml.load(text, Plain)["metadata"]["name"]
            if name in [c["metadata"]["name"] for c in crds.values()]:
                server.delete_crd(name)
                plain.delete_crd(name)
            response, crd = server.create_crd(text.encode(), "application/yaml")
            result["crds"][key] = crd_summary(response, crd)
            if not crd:
                continue
            without = {k: crd[k] for k in ("apiVersion", "kind", "spec")}
            without["spec"] = {**crd["spec"], "conversion": {"strategy": "None"}}
            without["metadata"] = {"name": name, "annotations": crd["metadata"].get("annotations", {})}
            second, _ = plain.create_crd(json.dumps(without), "application/json")
            assert second.status_code == 201, second.text
            crds[name] = crd
            with_webhook, without_webhook = ask_probes(server, crd), ask_probes(plain, crd)
            result["probes"][key] = {
                name: pair(obj, said, without_webhook[name][1]) for name, (obj, said) in with_webhook.items()}
    folder = f"{corpus}/crs/{project}"
    for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        for at, text in enumerate(documents(f"{folder}/{file}")):
            obj = yaml.load(text, Plain)
            group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
            crd = next((c for c in crds.values() if c["spec"]["group"] == group and c["spec"]["names"]["kind"] == obj["kind"]), None)
            if crd is None:
                continue
            namespace = obj.get("metadata", {}).get("namespace", "default")
            for one in (server, plain):
                one.call("POST", "/api/v1/namespaces", json={"metadata": {"name": namespace}})
            said = [ask(one, crd, version, text.encode(), "application/yaml", namespace) for one in (server, plain)]
            result["samples"][f"{file}#{at}"] = pair(None, *said)
    return result


def pair(obj, said, plain):
    result = {} if obj is None else {"input": obj}
    result["answer"] = said
    if plain != said:
        result["plain"] = plain
    return result


def record_rules(server):
    with open(f"{HERE}/rules.yaml") as f:
        cases = yaml.load(f, Plain)
    result = {}
    for name, patch in cases["cases"].items():
        crd = merge(copy.deepcopy(cases["base"]), patch or {})
        response = server.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldValidation=Warn&dryRun=All", json=crd)
        said = answer(response)
        if "object" in said:
            said["object"] = {"spec": {k: v for k, v in said["object"]["spec"].items() if k != "versions"}, "status": said["object"]["status"]}
        result[name] = {"input": crd, "answer": said}
    return result


def merge(target, patch):
    if not isinstance(patch, dict) or not isinstance(target, dict):
        return patch
    for key, value in patch.items():
        if value == "~":
            target.pop(key, None)
        else:
            target[key] = merge(target[key], value) if key in target else value
    return target


def record_values(server):
    with open(f"{HERE}/values.yaml") as f:
        cases = yaml.load(f, Plain)
    result = {}
    properties = {name: case["schema"] for name, case in cases.items()}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "values.test.example.com"},
        "spec": {"group": "test.example.com", "scope": "Cluster", "names": {"plural": "values", "kind": "Value"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                     "type": "object", "properties": properties}}}]}}
    response, crd_now = server.create_crd(json.dumps(crd), "application/json")
    assert crd_now, response.text
    for name, case in cases.items():
        answers = []
        for value in case["values"]:
            body = {"apiVersion": "test.example.com/v1", "kind": "Value", "metadata": {"name": "v"}, name: value}
            said = ask(server, crd_now, "v1", json.dumps(body), "application/json")
            if "object" in said:
                said["object"] = {k: v for k, v in said["object"].items() if k == name}
            answers.append({"value": value, "answer": said})
        result[name] = {"schema": case["schema"], "answers": answers}
    return result


def record_updates(server):
    with open(f"{HERE}/updates.yaml") as f:
        cases = yaml.load(f, Plain)
    definitions = cases.pop("definitions")
    names = {case: f"x{at}" for at, case in enumerate(cases)}
    sentinel = {"sentinel": {"type": "integer"}}
    lax = {names[case]: {"x-kubernetes-preserve-unknown-fields": True} for case in cases}
    strict = {names[case]: cases[case]["schema"] for case in cases}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "updates.test.example.com"},
        "spec": {"group": "test.example.com", "scope": "Cluster", "names": {"plural": "updates", "kind": "Update"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                     "type": "object", "properties": {**lax, "sentinel": {"type": "string"}}}}}]}}
    _, crd = server.create_crd(json.dumps(crd), "application/json")
    path, definition = collection(crd, "v1", ""), "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/updates.test.example.com"
    result = {}
    for name, patch in definitions.items():
        changed = merge(copy.deepcopy(crd), patch)
        response = server.call("PUT", f"{definition}?dryRun=All&fieldValidation=Warn", json=changed)
        said = answer(response)
        if "object" in said:
            said["object"] = {"storedVersions": said["object"]["status"]["storedVersions"]}
        result[f"definition: {name}"] = {"patch": patch, "answer": said}
    stored = {}
    for case in cases:
        body = {"apiVersion": "test.example.com/v1", "kind": "Update", "metadata": {"name": names[case]}, names[case]: cases[case]["old"]}
        response = server.call("POST", path, json=body)
        assert response.status_code == 201, response.text
        stored[case] = response.json()
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] = {**strict, **sentinel}
    crd = server.call("PUT", definition, json=crd | {"metadata": {k: v for k, v in crd["metadata"].items() if k != "resourceVersion"} | {
        "resourceVersion": server.call("GET", definition).json()["metadata"]["resourceVersion"]}})
    assert crd.status_code == 200, crd.text
    probe = {"apiVersion": "test.example.com/v1", "kind": "Update", "metadata": {"name": "probe"}, "sentinel": 1}
    while server.call("POST", f"{path}?dryRun=All", json=probe).status_code != 201:
        time.sleep(0.1)
    for case in cases:
        body = dict(stored[case])
        body[names[case]] = cases[case]["new"]
        said = answer(server.call("PUT", f"{path}/{names[case]}?dryRun=All&fieldValidation=Warn", json=body))
        if "object" in said:
            said["object"] = said["object"].get(names[case])
        result[case] = {"field": names[case], **cases[case], "answer": said}
    return result


def write(name, value):
    os.makedirs(OUT, exist_ok=True)
    with open(f"{OUT}/{name}.json", "w") as f:
        f.write(pretty(value) + "\n")


def pretty(value, indent="", depth=0):
    """JSON with one line for each thing that was asked: small to read, small to compare."""
    if depth < 3 and isinstance(value, dict) and value:
        inner = indent + " "
        return "{\n" + ",\n".join(f"{inner}{json.dumps(k)}: {pretty(v, inner, depth + 1)}" for k, v in value.items()) + "\n" + indent + "}"
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of etcd and kube-apiserver")
    parser.add_argument("--corpus", required=True, help="folder with crds/PROJECT and crs/PROJECT")
    parser.add_argument("names", nargs="*", help="projects, `rules`, `updates` or `values`; all if none is named")
    args = parser.parse_args()
    names = args.names or ["rules", "updates", "values", *sorted(os.listdir(f"{args.corpus}/crds"))]
    with Server(args.bin) as server, Server(args.bin) as plain:
        for name in names:
            if name == "rules":
                write(name, record_rules(server))
            elif name == "updates":
                write(name, record_updates(server))
            elif name == "values":
                write(name, record_values(server))
            else:
                write(name, record_project(server, plain, args.corpus, name))
            print(name, file=sys.stderr)


if __name__ == "__main__":
    main()
