#!/usr/bin/env python3
"""Writes down every object that a kube-apiserver makes by itself at start. See README.md."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "recorded", "boot")
sys.path.insert(0, os.path.join(HERE, "..", "crds"))
from server import Server  # noqa: E402

# An address that is nobody's, so that it can be told and never be reached.
ADDRESS = ["--endpoint-reconciler-type=lease", "--advertise-address=192.0.2.1"]
PROXIES = [
    "--client-ca-file={ca}", "--requestheader-client-ca-file={ca}", "--requestheader-allowed-names=front,back",
    "--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-"]
VARIANTS = {
    "default": ADDRESS,
    "master-count": ["--endpoint-reconciler-type=master-count", "--advertise-address=192.0.2.1"],
    "unreconciled": ["--endpoint-reconciler-type=none", "--advertise-address=192.0.2.1"],
    "unfair": [*ADDRESS, "--enable-priority-and-fairness=false"],
    "unnamed": [*ADDRESS, "--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false"],
    "alone": [*ADDRESS, "--feature-gates=UnknownVersionInteroperabilityProxy=false"],
    "proxies": [*ADDRESS, *PROXIES],
    "proxies-uid": [*ADDRESS, *PROXIES, "--requestheader-uid-headers=X-Remote-Uid"],
    "clients": [*ADDRESS, PROXIES[0]],
    "all-allowed": [*ADDRESS, "--authorization-mode=AlwaysAllow", "--anonymous-auth=false"],
    "no-flowcontrol": [*ADDRESS, "--enable-priority-and-fairness=false", "--runtime-config=flowcontrol.apiserver.k8s.io/v1=false"],
    "no-coordination": [*ADDRESS, "--runtime-config=coordination.k8s.io/v1=false"],
    "wide": [*ADDRESS, "--service-cluster-ip-range=10.96.0.0/12"],
    "envtest": ["--endpoint-reconciler-type=none", "--advertise-address=127.0.0.1"],
    "node-port": [*ADDRESS, "--kubernetes-service-node-port=30443"],
}


def listed(server):
    """Every object of every resource that can be listed, by the path of the list."""
    found = {}
    versions = ["api/v1"] + [f"apis/{v['groupVersion']}" for g in server.call("GET", "/apis").json()["groups"] for v in g["versions"]]
    for version in versions:
        for resource in server.call("GET", f"/{version}").json().get("resources", []):
            # Events are of repairs that race with the start, and go.
            if "list" in resource["verbs"] and resource["name"] != "events":
                path = f"/{version}/{resource['name']}"
                found[path] = server.call("GET", path).json().get("items") or []
    return {path: items for path, items in found.items() if items}


def normal(found, port):
    text = json.dumps(found, ensure_ascii=False)
    text = re.sub(r'"renewTime": "[^"]*"', '"renewTime": "TIME"', text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME", text)
    text = re.sub(r'"since": "\d{4}-\d\d-\d\d"', '"since": "DAY"', text)
    text = re.sub(r'"resourceVersion": "\d+"', '"resourceVersion": "RV"', text)
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID", text)
    text = re.sub(r"apiserver-[a-z2-7]{26}", "apiserver-ID", text)
    text = re.sub(r'"kubernetes.io/hostname": "[^"]*"', '"kubernetes.io/hostname": "HOST"', text)
    text = re.sub(r"-----BEGIN CERTIFICATE-----[^\"]*-----END CERTIFICATE-----", "CERTIFICATE", text)
    text = re.sub(rf"\b{port}\b", "6443", text)
    return json.loads(text)


def ordered(found):
    for items in found.values():
        # Two managers of one time come in the order of a Go map, and so do the three parts of the control plane.
        items.sort(key=lambda item: (item["metadata"].get("namespace", ""), item["metadata"]["name"]))
        for item in items:
            item["metadata"].get("managedFields", []).sort(key=lambda entry: json.dumps(entry, sort_keys=True))
    return found


def record(binaries, flags, folder):
    flags = [flag.replace("{ca}", f"{folder}/ca.crt") for flag in flags]
    with Server(binaries, flags=flags) as server:
        before = None
        for _ in range(20):
            time.sleep(3)  # controllers act within seconds; what two looks have alike is what stays
            now = listed(server)
            if now == before:
                break
            before = now
        return ordered(normal(now, server.port))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of etcd and kube-apiserver")
    parser.add_argument("--out", default=OUT)
    parser.add_argument("variant", nargs="*", help="variants to record (default: all)")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="record-ca-")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{folder}/ca.key", "-out", f"{folder}/ca.crt",
                    "-subj", "/CN=ca", "-days", "1"], check=True, capture_output=True)
    usual = {}
    for name, flags in VARIANTS.items():
        path = os.path.join(args.out, f"{name}.json")
        if args.variant and name not in args.variant:
            if name == "default":
                with open(path) as f:
                    usual = json.load(f)["objects"]
            continue
        found = record(args.bin, flags, folder)
        objects = sum(map(len, found.values()))
        if name == "default":
            usual = found
        else:  # only the lists that are others
            found = {path: found.get(path, []) for path in usual | found if found.get(path) != usual.get(path)}
        with open(path, "w") as f:
            lines = [json.dumps(path) + ": [\n" + ",\n".join("  " + json.dumps(i, ensure_ascii=False) for i in items) + "\n]" for path, items in found.items()]
            f.write(f'{{"flags": {json.dumps(flags)}, "objects": {{\n' + ",\n".join(lines) + "\n}}\n")
        print(f"{name}: {objects} objects, {len(found)} lists written", flush=True)
    subprocess.run(["rm", "-r", folder], check=True)


if __name__ == "__main__":
    main()
