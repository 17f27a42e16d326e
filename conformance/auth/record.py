#!/usr/bin/env python3
"""Writes down what a real kube-apiserver answers to whom. See README.md."""
import argparse
import json
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "crds"))
from server import Server  # noqa: E402

import plugins  # noqa: E402
import plugins_more  # noqa: E402
import plugins_off  # noqa: E402
import table  # noqa: E402
import topics  # noqa: E402

FILES = os.path.join(HERE, "files")
OUT = os.path.join(HERE, "..", "recorded", "auth")
ISSUER = "https://kubernetes.default.svc.cluster.local"
HEADERS = ("www-authenticate", "retry-after", "warning", "cache-control", "content-type", "content-encoding", "etag", "allow", "audit-id")


# What the server keeps caches of: they follow a little later.
WATCHED = ("rbac.", "serviceaccounts", "secrets", "/namespaces", "classes", "limitranges", "resourcequotas", "/nodes", "persistentvolume", "csidrivers", "leases")


class Names:
    """Puts names in the place of what differs from run to run."""

    def __init__(self):
        self.uids = {}

    def __call__(self, text):
        text = re.sub(r"eyJ[\w-]+\.[\w-]+\.[\w-]+", "<token>", text)
        text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", self.uid, text)
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>", text)
        text = re.sub(r"X509SHA256=[0-9a-f]+", "X509SHA256=<hash>", text)
        text = re.sub(r"\d+\.\d+\.\d+\.\d+:\d{4,5}", "<server>", text)
        text = re.sub(r'"(kid|x|y)": ?"[\w-]{43}"', r'"\1":"<key>"', text)
        text = re.sub(r"x{1000,}", "<fill>", text)
        text = re.sub(r"\[{1000,}\]*", "<deep>", text)
        return re.sub(r'"(resourceVersion|generation)": ?"?\d+"?', r'"\1":"<version>"', text)

    def uid(self, match):
        return self.uids.setdefault(match.group(0), f"<uid {len(self.uids) + 1}>")


def in_order(answer):
    """Rules are listed in the order of a cache, which is another one each time."""
    for kind in ("resourceRules", "nonResourceRules"):
        rules = answer.get("status", {}).get(kind) if isinstance(answer.get("status"), dict) else None
        if rules:
            rules.sort(key=lambda rule: json.dumps(rule, sort_keys=True, separators=(",", ":")))
    return answer


def only(answer, paths):
    """What an answer says at these paths."""
    said = {}
    for path in paths:
        value = answer
        for part in path.split("."):
            value = (value[int(part)] if part.isdigit() and int(part) < len(value) else value.get(part)) if value else None
        if value is not None:
            said[path] = value
    return said


def fill(value, found):
    """Puts what earlier answers said in the place of `${name}`."""
    return re.sub(r"\$\{(\w+)\}", lambda m: found[m.group(1)], value) if isinstance(value, str) else value


def fill_all(value, found):
    if isinstance(value, dict):
        return {key: fill_all(one, found) for key, one in value.items()}
    if isinstance(value, list):
        return [fill_all(one, found) for one in value]
    return fill(value, found)


def ask(server, step, found):
    headers = {key: fill(value, found) for key, value in step.get("headers", {}).items()}
    session = server.session
    user = step.get("as", "recorder")
    session.headers.pop("Authorization", None)
    session.headers["Accept-Encoding"] = "identity"
    if user:
        headers["Authorization"] = f"Bearer {fill(user, found)}"
    body = step.get("body")
    data = None
    if body is not None:
        headers.setdefault("Content-Type", "application/json")
        data = json.dumps(fill_all(body, found)) if not isinstance(body, str) else body
        data = data.replace("<fill>", "x" * step.get("fill", 0))
        data = data.replace("<deep>", "[" * step.get("deep", 0) + "]" * step.get("deep", 0))
    headers.setdefault("Accept", "application/json")
    headers.setdefault("User-Agent", "recorder")
    return server.call(step["method"], fill(step["path"], found), headers=headers, data=data)


def record(server, steps, names):
    found, result = {}, []
    for step in steps:
        time.sleep(step.pop("wait", 0))
        response = ask(server, step, found)
        if step["method"] != "GET" and "/events" not in step["path"] and any(word in step["path"] for word in WATCHED):
            time.sleep(0.3)  # the server's own caches follow
        for name, path in step.get("keep", {}).items():
            value = response.json()
            for part in path.split("."):
                value = value[int(part)] if part.isdigit() else value[part]
            found[name] = value
        said = {**step, "code": response.status_code}
        wanted = step.get("show", [])
        shown = {key: names(response.headers[key]) for key in HEADERS if key in wanted and key in response.headers}
        if shown:
            said["answerHeaders"] = shown
        if "application/json" in response.headers.get("Content-Type", ""):
            answer = response.json()
            if "only" in step and response.status_code < 300:
                answer = only(answer, step["only"])
            said["answer"] = in_order(json.loads(names(json.dumps(answer))))
        else:
            said["text"] = names(response.text)
        result.append(said)
    return result


def wait_for_roles(server, controllers):
    deadline = time.time() + 60
    while controllers and not server.call("GET", f"{topics.RBAC}/clusterroles/admin").json().get("rules"):
        if time.time() > deadline:
            raise SystemExit("the role admin was not filled in 60 s")
        time.sleep(0.2)


def write(name, steps):
    with open(os.path.join(OUT, f"{name}.json"), "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(step, sort_keys=True) for step in steps) + "\n]\n")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--bin", required=True, help="the folder of etcd and kube-apiserver")
    arguments.add_argument("topic", nargs="*", help="what to record; all by default")
    arguments = arguments.parse_args()
    os.makedirs(OUT, exist_ok=True)
    flags = [f"--service-account-issuer={ISSUER}", "--enable-bootstrap-token-auth"]
    more = {**plugins_more.ALL, **plugins_off.ALL}
    for name in arguments.topic or [*topics.ALL, *more]:
        if name in more:
            steps, own = more[name]
            with Server(arguments.bin, topics.USERS + plugins.USERS, flags + [flag.replace("{files}", FILES) for flag in own]) as server:
                time.sleep(1)  # the first requests after /readyz race with the bootstrap
                write(name, record(server, steps, Names()))
                print(f"{name}: {len(steps)}", flush=True)
            continue
        # Aggregated roles are filled by a controller; the policy is what the server itself makes.
        controllers = "" if name == "policy" else "clusterrole-aggregation-controller"
        with Server(arguments.bin, topics.USERS, flags, controllers) as server:
            wait_for_roles(server, controllers)
            steps = record(server, topics.ALL[name], Names())
            write(name, steps)
            print(f"{name}: {len(steps)}")
            if name == "policy":
                table.write(steps)


main()
