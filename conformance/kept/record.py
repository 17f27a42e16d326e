#!/usr/bin/env python3
"""Deletes what a kube-apiserver makes by itself, and writes down what comes back. See README.md."""
import argparse
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "recorded", "kept.json")
sys.path[:0] = [os.path.join(HERE, "..", "boot"), os.path.join(HERE, "..", "crds")]
from record import ADDRESS, normal  # noqa: E402
from server import Server  # noqa: E402

NAMESPACED = "/api/v1/namespaces"
FAIR = "/apis/flowcontrol.apiserver.k8s.io/v1"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
PATHS = [
    f"{NAMESPACED}/default/services/kubernetes", f"{NAMESPACED}/default/endpoints/kubernetes",
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes",
    f"{LEASES}/apiserver-ID", f"{FAIR}/flowschemas/catch-all", f"{FAIR}/flowschemas/exempt", f"{FAIR}/flowschemas/global-default",
    f"{FAIR}/prioritylevelconfigurations/catch-all", f"{FAIR}/prioritylevelconfigurations/leader-election",
    f"{ROLES}/clusterroles/view", f"{ROLES}/clusterrolebindings/cluster-admin",
    f"{ROLES}/namespaces/kube-system/roles/extension-apiserver-authentication-reader",
    "/apis/apiregistration.k8s.io/v1/apiservices/v1.apps", f"{NAMESPACED}/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking",
    "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical", f"{NAMESPACED}/kube-public",
]
PERIODS = (10, 60)  # seconds between two looks of upstream's controllers
SLACK = 3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of etcd and kube-apiserver")
    args = parser.parse_args()
    with Server(args.bin, flags=ADDRESS) as server:
        time.sleep(12)  # what is not there at first comes with the second look
        name = server.call("GET", LEASES).json()["items"][0]["metadata"]["name"]
        at = {path: path.replace("apiserver-ID", name) for path in PATHS}
        uids = {path: server.call("GET", at[path]).json()["metadata"]["uid"] for path in PATHS}
        codes, gone, back = {}, {}, {}
        for path in PATHS:
            codes[path] = server.call("DELETE", at[path]).status_code
            gone[path] = time.time()
        while time.time() < gone[PATHS[-1]] + PERIODS[-1] + 2 * SLACK:
            for path in set(PATHS) - set(back):
                found = server.call("GET", at[path]).json()
                if found["kind"] != "Status" and found["metadata"]["uid"] != uids[path]:
                    back[path] = time.time() - gone[path]
            time.sleep(0.1)
        steps = []
        for path in PATHS:
            step = {"delete": path, "code": codes[path]}
            if path in back:
                step["within"] = next(period for period in PERIODS if back[path] < period + SLACK)
                step["object"] = normal(server.call("GET", at[path]).json(), server.port)
            steps.append(step)
            print(path, codes[path], back.get(path))
    with open(OUT, "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(step) for step in steps) + "\n]\n")


if __name__ == "__main__":
    main()
