#!/usr/bin/env python3
"""Writes down what a real kube-apiserver makes of writes. See README.md."""
import argparse
import copy
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "crds"))

from server import Server  # noqa: E402
import steps  # noqa: E402

OUT = os.path.join(HERE, "..", "recorded", "writes.json")
CONTENT_TYPES = {
    steps.STRATEGIC: "application/strategic-merge-patch+json",
    steps.MERGE: "application/merge-patch+json",
    steps.JSON: "application/json-patch+json",
    steps.APPLY: "application/apply-patch+yaml",
}


def merge(target, patch):
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            merge(target[key], value)
        else:
            target[key] = copy.deepcopy(value)
    return target


def normalise(obj):
    obj = copy.deepcopy(obj)
    for key in ("uid", "creationTimestamp", "resourceVersion", "generation"):
        obj["metadata"].pop(key, None)
    for entry in obj["metadata"].get("managedFields", []):
        entry.pop("time", None)
    return obj


def send(server, path, name, live, operation, manager, body, options):
    query = f"?fieldManager={manager}"
    if operation == steps.CREATE:
        return server.call("POST", path + query, json=body)
    target = "/".join([path, name, *filter(None, [options.get("subresource")])])
    if operation == steps.UPDATE:
        return server.call("PUT", target + query, json=merge(copy.deepcopy(live), body))
    if options.get("force"):
        query += "&force=true"
    headers = {"Content-Type": CONTENT_TYPES[operation]}
    return server.call("PATCH", target + query, data=json.dumps(body), headers=headers)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of etcd and kube-apiserver")
    arguments = parser.parse_args()
    with Server(arguments.bin) as server, open(OUT, "w") as out:
        server.create_crd(json.dumps(steps.CRD), "application/json")
        # For two seconds after a definition is established, the first create of an object waits.
        time.sleep(3)
        out.write('{"schema":' + json.dumps(steps.SCHEMA, separators=(",", ":"), sort_keys=True) + ',\n"objects":[\n')
        for number, (version, plural, name, writes) in enumerate(steps.OBJECTS):
            path = ("/api/" if version == "v1" else "/apis/") + version + "/namespaces/default/" + plural
            live = None
            out.write((",\n" if number else "") + json.dumps({"version": version, "name": name})[:-1] + ', "steps": [\n')
            for index, (operation, manager, body, *rest) in enumerate(writes):
                options = rest[0] if rest else {}
                response = send(server, path, name, live, operation, manager, body, options)
                said = response.json()
                step = {"operation": operation, "manager": manager, "body": body, **options, "code": response.status_code}
                if response.ok:
                    live = said
                    step["after"] = normalise(said)
                else:
                    step["message"] = said["message"]
                out.write((",\n" if index else "") + json.dumps(step, separators=(",", ":"), sort_keys=True))
            out.write("\n]}")
        out.write("\n]}\n")


main()
