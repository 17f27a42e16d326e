#!/usr/bin/env python3
"""Writes down the discovery documents of a real kube-apiserver. See README.md."""
import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "crds"))
from server import Server  # noqa: E402

OUT = os.path.join(HERE, "..", "recorded", "builtins", "discovery.json")
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binaries", help="the folder of etcd and kube-apiserver")
    args = parser.parse_args()
    documents = []
    with Server(args.binaries) as server:
        def say(path, accept="application/json"):
            answer = server.call("GET", path, headers={"Accept": accept})
            kept = {name: answer.headers[name] for name in ("Content-Type", "Vary", "Cache-Control") if name in answer.headers}
            body = answer.json() if "json" in answer.headers.get("Content-Type", "") else answer.text
            if "json" in answer.headers.get("Content-Type", "") and path in ("/api", "/apis") and isinstance(body, dict):
                body.pop("serverAddressByClientCIDRs", None)
                for group in body.get("items", []):
                    group.get("metadata", {}).pop("creationTimestamp", None)
            documents.append({"path": path, "accept": accept, "code": answer.status_code, "headers": kept, "body": body})
            return body
        say("/api")
        groups = say("/apis")["groups"]
        say("/api/v1")
        for group in groups:
            say(f"/apis/{group['name']}")
            for version in group["versions"]:
                say(f"/apis/{version['groupVersion']}")
        for path in ("/api", "/apis"):
            say(path, AGGREGATED)
        for path in ("/apis/nothing.io", "/apis/apps/v9", "/api/v9"):
            say(path)
        say("/api", "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList")
    with open(OUT, "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(document, separators=(",", ":"), sort_keys=True) for document in documents) + "\n]\n")


if __name__ == "__main__":
    main()
