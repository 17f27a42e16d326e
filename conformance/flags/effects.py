#!/usr/bin/env python3
"""Records what flags of kube-apiserver do that clients see, and which values it refuses. See README.md."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "crds"))
from server import Server  # noqa: E402

OUT = os.path.join(HERE, "..", "recorded", "flags.json")
SHOWN = re.compile(r"access-control-.*|strict-transport-security|vary|allow|content-type|connection")
PODS = "/api/v1/namespaces/default/pods"


def pod(name, container=None, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "i", **(container or {})}], **spec}}


def step(method, path, body=None, **headers):
    return {"method": method, "path": path, **({"body": body} if body is not None else {}),
            **({"headers": {name.replace("_", "-"): value for name, value in headers.items()}} if headers else {})}


PRIVILEGED = {"securityContext": {"privileged": True}}
GOOD, BAD = "https://good.example:8443", "https://good.example.evil"
CASES = {
    "doors": (["--cors-allowed-origins=//good\\.example(:|$),//127.0.0.1(:|$)", "--external-hostname=api.example.com",
               "--strict-transport-security-directives=max-age=31536000,includeSubDomains"], [
        step("GET", "/version"),
        step("GET", "/version", Origin=GOOD),
        step("GET", "/version", Origin=BAD),
        step("OPTIONS", "/version", Origin=GOOD, Access_Control_Request_Method="GET"),
        step("OPTIONS", "/version", Origin=GOOD, Authorization=""),
        step("OPTIONS", "/api/v1/pods", Origin=GOOD, Access_Control_Request_Method="DELETE"),
        step("OPTIONS", "/api/v1/pods", Origin=BAD, Access_Control_Request_Method="DELETE"),
        step("GET", "/nothing", Origin="http://127.0.0.1"),
        step("GET", "/api/v1/namespaces/default/pods/none", Origin=GOOD),
        step("GET", "/api/v1/nodes", Origin=GOOD, Authorization="Bearer nobody"),
        step("POST", PODS, "{", Origin=GOOD),
        step("GET", "/api"),
    ]),
    "unprivileged": (["--allow-privileged=false"], [
        step("POST", PODS, pod("plain")),
        step("POST", PODS, pod("privileged", PRIVILEGED)),
        step("POST", PODS, pod("more", {**PRIVILEGED, "imagePullPolicy": "x", "name": "C"}, restartPolicy="x")),
        step("POST", PODS, pod("first", initContainers=[{"name": "i", "image": "i", **PRIVILEGED}])),
        step("POST", PODS, pod("not", {"securityContext": {"privileged": False}})),
        step("POST", PODS, pod("host", hostNetwork=True, os={"name": "windows"},
                               securityContext={"windowsOptions": {"hostProcess": True}})),
        step("POST", "/apis/apps/v1/namespaces/default/deployments", {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod("", PRIVILEGED)["spec"]}}}),
        step("PATCH", f"{PODS}/plain/ephemeralcontainers", {
            "spec": {"ephemeralContainers": [{"name": "e", "image": "i", **PRIVILEGED}]}},
            Content_Type="application/strategic-merge-patch+json"),
    ]),
}
# What a server does with a flag of REFUSED that it does not refuse at once is not known: it waits for its etcd.
REFUSED = [
    ["--cors-allowed-origins=good.example"], ["--cors-allowed-origins=//good(.example$"], ["--cors-allowed-origins="],
    ["--strict-transport-security-directives=max-age"], ["--strict-transport-security-directives= ,preload"],
    ["--goaway-chance=0.5"], ["--goaway-chance=-1"], ["--goaway-chance=x"], ["--goaway-chance=NaN"],
    ["--livez-grace-period=-1s"], ["--shutdown-delay-duration=-1s"], ["--shutdown-watch-termination-grace-period=-1s"],
    ["--request-timeout=-1s"], ["--min-request-timeout=-1"], ["--min-request-timeout=x"], ["--storage-initialization-timeout=-1s"],
    ["--max-requests-inflight=-1"], ["--max-mutating-requests-inflight=-1"],
    ["--tls-min-version=VersionTLS14"], ["--tls-min-version="], ["--tls-cipher-suites=TLS_NOTHING"],
    ["--tls-curve-preferences=x"], ["--tls-sni-cert-key=only"], ["--tls-sni-cert-key=a,b,c"], ["--tls-sni-cert-key=/none.crt,/none.key"],
    ["--http2-max-streams-per-connection=x"], ["--secure-port=0"], ["--secure-port=70000"], ["--bind-address=x"], ["--advertise-address=x"],
    ["--allow-privileged=perhaps"], ["--audit-log-maxage=-1"], ["--audit-log-maxbackup=-1"], ["--audit-log-maxsize=-1"],
    ["--audit-log-mode=x"], ["--audit-log-format=x"], ["--audit-log-version=v1"], ["--audit-log-batch-buffer-size=0", "--audit-log-mode=batch", "--audit-log-path=-"],
    ["--event-ttl=x"], ["--service-cluster-ip-range=x"], ["--service-cluster-ip-range=10.0.0.0/8"], ["--service-node-port-range=x"],
    ["--endpoint-reconciler-type=x"], ["--enable-admission-plugins=X"], ["--disable-admission-plugins=X"], ["--admission-control=X"],
    ["--authorization-mode=X"], ["--authorization-mode="], ["--authorization-mode=RBAC,RBAC"], ["--authorization-mode=ABAC"],
    ["--authorization-mode=Webhook"], ["--authorization-policy-file=/none"], ["--authorization-webhook-version=v2"],
    ["--storage-backend=etcd2"], ["--storage-media-type=text/plain"], ["--watch-cache-sizes=x"], ["--etcd-servers="],
    ["--emulated-version=9.9"], ["--min-compatibility-version=9.9"], ["--runtime-config=x/y=perhaps"],
    ["--feature-gates=X=true"], ["--feature-gates=X"], ["--logging-format=x"], ["--v=x"], ["--vmodule=x"], ["--log-flush-frequency=x"],
    ["--service-account-issuer=://x"], ["--service-account-max-token-expiration=1m"], ["--service-account-jwks-uri=x"],
    ["--api-audiences="], ["--anonymous-auth=x"], ["--token-auth-file=/none"], ["--client-ca-file=/none"],
    ["--requestheader-client-ca-file=/none"], ["--requestheader-username-headers=a b"], ["--kubelet-certificate-authority=/none"],
    ["--kubelet-preferred-address-types=x"], ["--kubelet-timeout=x"], ["--proxy-client-cert-file=/none"], ["--enable-aggregator-routing=x"],
    ["--peer-ca-file=/none"], ["--lease-reuse-duration-seconds=x"], ["--encryption-provider-config=/none"],
    ["--egress-selector-config-file=/none"], ["--tracing-config-file=/none"], ["--oidc-issuer-url=http://x"], ["--oidc-client-id=x"],
    ["--authentication-config=/none"], ["--authentication-token-webhook-config-file=/none"], ["--audit-policy-file=/none"],
    ["--audit-webhook-config-file=/none"], ["--audit-webhook-mode=x"], ["--max-connection-bytes-per-sec=x"], ["--delete-collection-workers=x"],
    ["--goaway-chance"], ["--bind-address"], ["word"],
]


def ask(server, one):
    headers = {**one.get("headers", {})}
    server.session.headers["Accept-Encoding"] = "identity"
    server.session.headers["Accept"] = "application/json"
    if one.get("body") is not None:
        headers.setdefault("Content-Type", "application/json")
    data = one.get("body")
    data = data if data is None or isinstance(data, str) else json.dumps(data)
    answer = server.call(one["method"], one["path"], headers=headers, data=data)
    said = {**one, "code": answer.status_code}
    said["shown"] = {name.lower(): value for name, value in answer.headers.items() if SHOWN.fullmatch(name.lower())}
    if one["path"] == "/api" or (answer.status_code >= 400 and "json" in answer.headers.get("content-type", "")):
        said["answer"] = json.loads(answer.text.replace(f":{server.port}", ":<port>"))
    return said


def refusal(binaries, key, flags):
    """What a server says that does not start: the last thing on standard error, without its head."""
    base = ["--etcd-servers=http://127.0.0.1:1", "--service-account-issuer=https://localhost", f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}", "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24", f"--cert-dir={os.path.dirname(key)}"]
    given = {flag.split("=")[0] for flag in flags}
    command = [os.path.join(binaries, "kube-apiserver"), *[flag for flag in base if flag.split("=")[0] not in given], *flags]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=6, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return {"flags": flags, "starts": True}
    failed = re.findall(r'"command failed" err="((?:[^"\\]|\\.)*)"', ended.stderr)
    text = json.loads(f'"{failed[-1]}"') if failed else (ended.stderr.strip().splitlines() or [""])[-1]
    return {"flags": flags, "code": ended.returncode, "text": text}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of etcd and kube-apiserver")
    args = parser.parse_args()
    lines = []
    for name, (flags, steps) in CASES.items():
        with Server(args.bin, flags=flags) as server:
            lines.append({"case": name, "flags": flags, "steps": [ask(server, one) for one in steps]})
            print(f"{name}: {len(steps)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        key = os.path.join(folder, "sa.key")
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key], check=True, capture_output=True)
        refused = [refusal(args.bin, key, flags) for flags in REFUSED]
    lines += [line for line in refused if "starts" not in line]
    with open(OUT, "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(line, sort_keys=True) for line in lines) + "\n]\n")


main()
