#!/usr/bin/env python3
"""Writes down what a real kube-apiserver says of objects of built-in kinds. See README.md."""
import argparse
import copy
import json
import os
import re
import sys
import time

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "crds"))
from server import Server  # noqa: E402

OUT = os.path.join(HERE, "..", "recorded", "builtins")
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Plain(yaml.SafeLoader):
    """YAML whose dates stay text."""


Plain.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith((":timestamp", ":value"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def change(document, changes):
    """A copy with fields set; `a.0.b` leads through objects and lists, an index at the end of a list appends."""
    document = copy.deepcopy(document)
    for path, value in changes.items():
        keys, holder = path.split("."), document
        for at, key in enumerate(keys):
            empty = [] if at + 1 < len(keys) and keys[at + 1].isdigit() else {}
            if isinstance(holder, list):
                key = int(key)
                if key == len(holder):
                    holder.append(None)
            if at + 1 == len(keys):
                holder[key] = copy.deepcopy(value)
            else:
                if (holder.get(key) if isinstance(holder, dict) else holder[key]) is None:
                    holder[key] = empty
                holder = holder[key]
    return document


def settled(value):
    """Values that no two runs share are replaced by one of their form."""
    if isinstance(value, dict):
        return {key: 30000 if "odePort" in key and isinstance(one, int) and one >= 30000 else settled(one) for key, one in value.items()}
    if isinstance(value, list):
        return [settled(one) for one in value]
    if isinstance(value, str):
        value = re.sub(r"20(2[6-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", value)
        value = re.sub(r"20(2[6-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", "MICROTIME", value)
        value = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", value)
        value = re.sub(r"\b(x-|A_)[bcdfghjklmnpqrstvwxz2456789]{5}\b", r"\1RANDOM", value)
        value = re.sub(r"\b10\.0\.0\.\d+\b", "10.0.0.X", value)
    return value


def normalise(document):
    uid = document.get("metadata", {}).get("uid")
    text = json.dumps(document)
    document = json.loads(text.replace(uid, "UID") if uid else text)
    for key in ("uid", "creationTimestamp", "resourceVersion", "managedFields"):
        document.get("metadata", {}).pop(key, None)
    return settled(document)


def difference(old, new, path, changed, removed):
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            where = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
            if key not in new:
                removed.append(where)
            elif key not in old:
                changed[where] = new[key]
            else:
                difference(old[key], new[key], where, changed, removed)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (one, other) in enumerate(zip(old, new)):
            difference(one, other, f"{path}/{at}", changed, removed)
    elif old != new or type(old) is not type(new):
        changed[path] = new


def answer(response, since=None, uid=""):
    """The part of a response that does not change from run to run; of an object what differs from `since`."""
    body = response.json()
    result = {"code": response.status_code}
    warnings = re.findall(r'299 - "((?:[^"\\]|\\.)*)"', response.headers.get("Warning", ""))
    if warnings:
        result["warnings"] = [re.sub(r"\\(.)", r"\1", w) for w in warnings]
    if body.get("kind") == "Status" and body.get("status") == "Failure":
        result["reason"] = body.get("reason")
        text = json.dumps(body["message"])
        result["message"] = settled(json.loads(text.replace(uid, "UID") if uid else text))
        causes = body.get("details", {}).get("causes", [])
        if len(causes) > 1 or (causes and causes[0].get("message") not in body["message"]):
            result["causes"] = [settled([c.get("reason"), c.get("field"), c.get("message")]) for c in causes]
        return result
    body = normalise(body)
    if since is None:
        result["object"] = body
        return result
    changed, removed = {}, []
    difference(since, body, "", changed, removed)
    if changed:
        result["changed"] = changed
    if removed:
        result["removed"] = sorted(removed)
    return result


QUANTITY = re.compile(r"\d+(\.\d+)?(m|[kMGTPE]i?)?")


def others(value, writes):
    """Values to put in place of one: for a new object such as may break a rule, for a stored one such as change it."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [-1, 0, 99999] if writes == "new" else [value + 1]
    if isinstance(value, str):
        if QUANTITY.fullmatch(value):
            return ["-1", "1.5m"] if writes == "new" else [value + "0"]
        return ["", "A_ b"] if writes == "new" else [value + "x"]
    if isinstance(value, list):
        return [[], value + value[:1]] if writes == "new" else [value[:-1]]
    if isinstance(value, dict) and value and all(isinstance(one, str) for one in value.values()):
        return [None, {"a b": "c d"}] if writes == "new" else [None, {**value, "swept": "x"}]
    return [None, {}] if writes == "new" else [None]


def sweep(value, path, writes):
    """Each member of a document, one after the other, with another value."""
    for other in others(value, writes) if "." in path or writes == "new" else []:
        yield {path: other}
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict) and any("." in key for key in value):
        return
    for key, member in members:
        yield from sweep(member, f"{path}.{key}", writes)


def swept(group, on, document):
    uid = document["metadata"].get("uid", "no uid")
    for root in group.get("sweep", {}).get(on, []):
        value = document
        for key in root.split("."):
            value = value[int(key)] if isinstance(value, list) else value.get(key, {})
        for changes in sweep(value, root, "new" if on in ("create", "status") else "stored"):
            # What names the object itself differs from server to server.
            if uid not in json.dumps(changes):
                yield changes


def place(group):
    version, plural = group["resource"].rsplit("/", 1)
    where = f"/namespaces/{group.get('namespace', 'default')}" if group.get("namespace") != "" else ""
    return f"{'/api' if '/' not in version else '/apis'}/{version}{where}/{plural}"


def record_group(server, group, number):
    """One group of cases: the base is created, then each case is asked without leaving a trace."""
    path, base = place(group), group["base"]
    name = base["metadata"].setdefault("name", f"base-{number}")
    query = {"fieldManager": "recorder"}
    dry = {**query, "dryRun": "All"}
    result = {"resource": group["resource"], "namespace": group.get("namespace", "default"), "base": base}
    if "fresh" in group:
        result["fresh"] = group["fresh"]
    for needed in group.get("needs", []):
        server.call("POST", place(needed), json=needed["base"])
    if "needs" in group:
        result["needs"] = group["needs"]
    created = server.call("POST", path, params=query, json=base)
    result["answer"] = answer(created)
    assert created.status_code == 201, (group["resource"], number, created.text)
    since = result["answer"]["object"]
    for step in group.get("before", []):
        if "wait" in step:
            time.sleep(step["wait"])
            done = server.call("GET", f"{path}/{name}")
            result.setdefault("before", []).append({**step, "answer": answer(done, since)})
            continue
        live = server.call("GET", f"{path}/{name}").json()
        sub = step.get("subresource")
        done = server.call("PUT", f"{path}/{name}" + (f"/{sub}" if sub else ""), params=query, json=change(live, step["set"]))
        assert done.status_code == 200, (group["resource"], number, step, done.text)
        result.setdefault("before", []).append({**step, "answer": answer(done, since)})
    live = server.call("GET", f"{path}/{name}").json()
    uid = live["metadata"]["uid"]
    after = normalise(live)
    cases = []

    def case(said, **what):
        cases.append({**what, "answer": said})

    for changes in [*group.get("create", []), *swept(group, "create", base)]:
        fresh = {} if {"metadata.name", "metadata.generateName"} & set(changes) else {"metadata.name": group.get("fresh", f"{name}-new")}
        body = change(base, {**fresh, **changes})
        case(answer(server.call("POST", path, params=dry, json=body), since), on="create", set=changes)
    for subresource in (None, "status", "scale", "approval", "ephemeralcontainers", "resize", "finalize"):
        where = f"{path}/{name}" + (f"/{subresource}" if subresource else "")
        for changes in [*group.get(subresource or "update", []), *swept(group, subresource or "update", live)]:
            subject = live if subresource != "scale" else server.call("GET", where).json()
            against = after if subresource != "scale" else normalise(subject)
            said = answer(server.call("PUT", where, params=dry, json=change(subject, changes)), against, uid)
            case(said, on=subresource or "update", set=changes)
    for subresource in ("binding", "eviction", "token"):
        for body in group.get(subresource, []):
            said = answer(server.call("POST", f"{path}/{name}/{subresource}", params=dry, json=body))
            case(said, on=subresource, body=body)
    for selector in group.get("selectors", []):
        said = server.call("GET", path, params={"fieldSelector": selector})
        body = said.json()
        found = {"found": any(o["metadata"]["name"] == name for o in body["items"])} if said.status_code == 200 else answer(said)
        case(found, on="list", selector=selector)
    if group.get("table", True):
        table = server.call("GET", f"{path}/{name}", headers={"Accept": TABLE}).json()
        assert table["kind"] == "Table", table
        cells = [re.sub(r"^\d+s$", "AGE", re.sub(r":3\d{4}/", ":30000/", c)) if isinstance(c, str) else c for c in settled(table["rows"][0]["cells"])]
        case({"columns": [[c["name"], c["type"], c["format"], c["priority"], c["description"]] for c in table["columnDefinitions"]], "cells": cells}, on="table")
    result["cases"] = cases
    server.call("PATCH", f"{path}/{name}", data='{"metadata":{"finalizers":null}}', headers={"Content-Type": "application/merge-patch+json"})
    server.call("DELETE", f"{path}/{name}", json={"gracePeriodSeconds": 0})
    return result


def dump(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def write(name, groups):
    with open(f"{OUT}/{name}.json", "w") as out:
        out.write('{"groups":[\n')
        for at, group in enumerate(groups):
            cases = group.pop("cases")
            out.write((",\n" if at else "") + dump(group)[:-1] + ',"cases":[\n')
            out.write(",\n".join(dump(one) for one in cases) + "\n]}")
        out.write("\n]}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of etcd and kube-apiserver")
    parser.add_argument("names", nargs="*", help="the case files to record; all without")
    arguments = parser.parse_args()
    os.makedirs(OUT, exist_ok=True)
    total = 0
    with Server(arguments.bin) as server:
        for file in sorted(os.listdir(f"{HERE}/cases")):
            name = file.removesuffix(".yaml")
            if arguments.names and name not in arguments.names:
                continue
            with open(f"{HERE}/cases/{file}") as f:
                groups = [group for group in yaml.load_all(f, Plain) if group]
            recorded = []
            for number, group in enumerate(groups):
                recorded.append(record_group(server, group, number))
            count = sum(len(group["cases"]) + 1 for group in recorded)
            total += count
            print(f"{name}: {count}", flush=True)
            write(name, recorded)
    print(f"{total} pairs")


if __name__ == "__main__":
    main()
