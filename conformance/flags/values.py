#!/usr/bin/env python3
"""Asks a real kube-apiserver at /flagz for the values of its flags: of those that are not given, and of some that are. See README.md."""
import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "..", "crates", "envtest", "src", "flags", "values.txt")
SHOWN = os.path.join(HERE, "..", "recorded", "flagz.json")
HEAD = "# What /flagz of kube-apiserver 1.37.2 says of flags that are not given. Made by conformance/flags/values.py.\n"
sys.path.insert(0, os.path.join(HERE, "..", "crds"))

from server import Server  # noqa: E402

# What depends on the machine or on the recorder.
PLACES = ("advertise-address", "external-hostname", "etcd-servers", "cert-dir", "secure-port", "token-auth-file", "service-account-issuer", "service-account-key-file", "service-account-signing-key-file", "tls-cert-file", "tls-private-key-file",
          "bind-address", "authorization-mode", "disable-admission-plugins", "service-cluster-ip-range", "allow-privileged", "endpoint-reconciler-type")
# What these are without the recorder, as the help says.
DEFAULTS = {"bind-address": "0.0.0.0", "cert-dir": "/var/run/kubernetes", "secure-port": "6443", "authorization-mode": "[]", "disable-admission-plugins": "[]", "service-cluster-ip-range": "", "allow-privileged": "false", "endpoint-reconciler-type": "lease",
            "advertise-address": "", "external-hostname": "", "etcd-servers": "[]", "token-auth-file": "", "service-account-issuer": "[]", "service-account-key-file": "[]", "service-account-signing-key-file": "", "tls-cert-file": "", "tls-private-key-file": ""}
GIVEN = [
    ["--feature-gates=WatchList=false,APIServerIdentity=true", "--runtime-config=apps/v1/daemonsets=false,batch/v1=true", "--enable-admission-plugins=AlwaysPullImages,DenyServiceExternalIPs", "--enable-admission-plugins=NodeRestriction",
     "--disable-admission-plugins=ServiceAccount,PodSecurity", "--event-ttl=90m", "--goaway-chance=0.0010", "--v=2", "--request-timeout=90s", "--cors-allowed-origins=//a$,//b$", "--service-node-port-range=30000-31000", "--anonymous-auth=t", "--disable-http2-serving", "--audit-log-maxage=7",
     "--max-requests-inflight=100", "--requestheader-allowed-names=a,b", "--requestheader-username-headers=X-User", "--tls-min-version=VersionTLS12", "--kubelet-preferred-address-types=Hostname", "--service-account-issuer=https://a", "--service-account-issuer=https://b",
     "--authorization-mode=Node,RBAC", "--shutdown-delay-duration=1500ms", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--service-cluster-ip-range=10.1.0.0/16", "--etcd-compaction-interval=0", "--audit-webhook-batch-throttle-qps=1.50", "--vmodule=a=2,b*=3", "--external-hostname=example.com",
     "--profiling=false", "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_AES_128_GCM_SHA256", "--tls-curve-preferences=29,23", "--api-audiences=x,y", "--service-account-max-token-expiration=2h", "--default-not-ready-toleration-seconds=30"],
    ["--runtime-config=api/all=true", "--feature-gates=kube:TokenRequestServiceAccountUIDValidation=false", "--allow-privileged=false", "--max_mutating_requests_inflight=3", "--min-request-timeout=60", "--authentication-token-webhook-cache-ttl=1h1m1s", "--livez-grace-period=1h", "--etcd-prefix=registry", "--enable-logs-handler=false",
     "--strict-transport-security-directives=max-age=3,includeSubDomains", "--storage-media-type=application/json", "--delete-collection-workers=4", "--audit-log-path=-", "--kubelet-timeout=0.5s", "--cert-dir="],
]


def flags(binaries, given):
    with Server(binaries, flags=given) as server:
        return server.call("GET", "/flagz", headers={"Accept": "application/json;as=Flagz;g=config.k8s.io;v=v1beta1"}).json()["flags"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of etcd and kube-apiserver")
    args = parser.parse_args()
    values = {**flags(args.bin, []), **DEFAULTS}
    with open(OUT, "w") as out:
        out.write(HEAD + "".join(f"{name}={value}\n" for name, value in sorted(values.items())))
    shown = []
    for given in GIVEN:
        seen = flags(args.bin, given)
        names = {flag[2:].partition("=")[0].replace("_", "-") for flag in given}
        shown.append({"given": given, "shown": {name: value for name, value in seen.items() if name in names or name not in PLACES and value != values[name]}})
    with open(SHOWN, "w") as out:
        json.dump(shown, out, indent=1)
        out.write("\n")
    print(len(values), "values,", sum(len(s["shown"]) for s in shown), "given")


main()
