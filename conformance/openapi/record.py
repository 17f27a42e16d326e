#!/usr/bin/env python3
"""Writes down what a real kube-apiserver publishes as OpenAPI, as hashes and digests. See README.md."""
import argparse
import hashlib
import json
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "crds"))
from server import Server  # noqa: E402

ROOT = os.path.join(HERE, "..", "..")
OUT = os.path.join(ROOT, "conformance", "recorded", "openapi")
HASHES = os.path.join(ROOT, "crates", "schema", "src", "openapi", "hashes.txt")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
V2 = "application/com.github.proto-openapi.spec.v2"
V3 = "application/com.github.proto-openapi.spec.v3"
PLAIN = {"Accept": "application/json", "Accept-Encoding": "identity"}


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def of_value(value):
    return digest(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())


def documents(server, keep):
    """The hash of each built-in document, and a digest of each path and definition in both versions."""
    index = server.call("GET", "/openapi/v3").json()["paths"]
    if keep:
        os.makedirs(keep, exist_ok=True)

    def write(path, answer):
        if keep:
            with open(os.path.join(keep, path.replace("/", "+") + ".json"), "wb") as f:
                f.write(answer.content)

    with open(HASHES, "w") as f:
        for path, document in sorted(index.items()):
            f.write(f"{path} {document['serverRelativeURL'].split('hash=')[1]}\n")
    swagger = server.call("GET", "/openapi/v2", headers=PLAIN)
    write("v2", swagger)
    v2 = swagger.json()
    protobuf = server.call("GET", "/openapi/v2", headers={"Accept": V2 + "@v1.0+protobuf"}).content
    lines = [f"openapi/v2 {digest(swagger.content)} {digest(protobuf)}"]
    paths, definitions = {}, {}
    for path, document in sorted(index.items()):
        url = document["serverRelativeURL"]
        protobuf = server.call("GET", url, headers={"Accept": V3 + ".v1.0+protobuf"}).content
        answer = server.call("GET", url, headers=PLAIN)
        write(path, answer)
        lines.append(f"openapi/v3/{path} {digest(answer.content)} {digest(protobuf)}")
        for name, item in answer.json().get("paths", {}).items():
            paths[name] = of_value(item)
        for name, schema in answer.json().get("components", {}).get("schemas", {}).items():
            definitions.setdefault(name, of_value(schema))
    for both, own in ((paths, v2["paths"]), (definitions, v2["definitions"])):
        for name in sorted(set(both) | set(own)):
            lines.append(f"{name} {of_value(own[name]) if name in own else '-'} {both.get(name, '-')}")
    with open(os.path.join(OUT, "documents.txt"), "w") as f:
        f.write("\n".join(lines) + "\n")


def answers(server):
    """Codes and headers of requests."""
    apps = "/openapi/v3/apis/apps"
    tag = server.call("GET", apps).headers["etag"]
    swagger = server.call("GET", "/openapi/v2").headers["etag"]
    found = tag.strip('"')
    requests = [(method, path, {}) for method in ("GET", "POST", "HEAD") for path in (
        "/openapi/v2", "/openapi/v3", apps, apps + "?hash=x", apps + f"?hash={found}", apps + "?hash=")]
    requests += [("GET", path, {}) for path in (
        "/openapi/v2/", "/openapi/v2/x", "/openapi/v3/", "/openapi/v3/x", apps + "/", apps + "/v9", "/openapi", "/openapi/", "/openapi/v4",
        "/openapi/v2?pretty=true", "/openapi/v3/logs", "/swagger.json")]
    for accept in ("application/json", "*/*", "application/*", "text/html", "text/*, application/json;q=0.5", "application/yaml", "foo", "*",
                   V2 + "@v1.0+protobuf", V2 + ".v1.0+protobuf", V3 + "@v1.0+protobuf", V3 + ".v1.0+protobuf",
                   f"application/json;q=0.3,{V2}@v1.0+protobuf,{V3}@v1.0+protobuf", "application/vnd.kubernetes.protobuf"):
        requests += [("GET", path, {"Accept": accept}) for path in ("/openapi/v2", "/openapi/v3", apps)]
    for known in ("*", tag, swagger, f'"x", {tag}', "W/" + tag, '"x"'):
        requests += [("GET", path, {"If-None-Match": known}) for path in ("/openapi/v2", "/openapi/v3", apps, apps + f"?hash={found}")]
    requests += [("GET", "/openapi/v2", {"Accept-Encoding": "gzip", "Accept": accept}) for accept in ("application/json", V2 + "@v1.0+protobuf", "text/html")]
    requests += [("GET", "/openapi/v3/apis/apps/v1", {"Accept-Encoding": "gzip"})]
    kept = []
    for method, path, headers in requests:
        answer = server.call(method, path, headers={"Accept-Encoding": "identity", **headers}, allow_redirects=False)
        said = {name: answer.headers[name] for name in ("Content-Type", "Etag", "Vary", "Cache-Control", "Location", "Content-Encoding")
                if name in answer.headers}
        said.update({name: "TIME" for name in ("Last-Modified", "Expires") if name in answer.headers})
        one = {"method": method, "path": path, "headers": headers, "code": answer.status_code, "said": said}
        if answer.content:
            one["body"] = digest(answer.content)
        kept.append(one)
    with open(os.path.join(OUT, "answers.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(one, separators=(",", ":")) for one in kept) + "\n]\n")


def definitions(server, corpus):
    """The documents of well-known CRDs, and of one that says all that can be said."""
    known = server.call("GET", "/openapi/v3").json()["paths"]
    bodies = []
    folder = os.path.join(ROOT, "conformance", "recorded", "crds")
    for name in sorted(os.listdir(folder)):
        for key in sorted(json.load(open(os.path.join(folder, name))).get("crds", {})):
            file, at = key.rsplit("#", 1)
            text = open(os.path.join(corpus, "crds", name.removesuffix(".json"), file)).read()
            parts = [part for part in re.split(r"(?m)^---.*$", text)
                     if any(line.strip() and not line.strip().startswith("#") for line in part.split("\n"))]
            bodies.append((parts[int(at)], "application/yaml"))
    bodies.append((open(os.path.join(HERE, "zoo.json")).read(), "application/json"))
    groups = 0
    for body, kind in bodies:
        answer = server.call("POST", DEFINITIONS, data=body.encode(), headers={"Content-Type": kind})
        groups += answer.status_code == 201
    last, deadline = None, time.time() + 90
    while time.time() < deadline:  # The aggregator and its controllers come to see them one after another.
        index = server.call("GET", "/openapi/v3").json()["paths"]
        swagger = server.call("GET", "/openapi/v2", headers=PLAIN).content
        if last == (len(index), len(swagger)) and "apis/zoo.example.com/v4" in index:
            break
        last = (len(index), len(swagger))
        time.sleep(5)
    lines = []
    protobuf = server.call("GET", "/openapi/v2", headers={"Accept": V2 + "@v1.0+protobuf"}).content
    lines.append(f"openapi/v2 {digest(swagger)} {digest(protobuf)}")
    for path in sorted(set(index) - set(known)):
        url = f"/openapi/v3/{path}"
        protobuf = server.call("GET", url, headers={"Accept": V3 + "@v1.0+protobuf"}).content
        answer = server.call("GET", url, headers=PLAIN)
        lines.append(f"{url[1:]} {digest(answer.content)} {digest(protobuf)}")
        schemas = answer.json()["components"]["schemas"]
        own = json.loads(swagger)["definitions"]
        for name, schema in sorted(schemas.items()):
            if not name.startswith("io.k8s.api"):
                lines.append(f"{name} {of_value(own[name])} {of_value(schema)}")
    with open(os.path.join(OUT, "crds.txt"), "w") as f:
        f.write("\n".join(lines) + "\n")
    print(f"{groups} definitions, {len(set(index) - set(known))} group versions")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binaries", help="the folder of etcd and kube-apiserver")
    parser.add_argument("--corpus", default=os.path.join(ROOT, "..", "..", "shared", "corpus"), help="the folder with crds/PROJECT/*.yaml")
    parser.add_argument("--keep", help="a folder for the built-in documents themselves, which compare.py reads")
    args = parser.parse_args()
    os.makedirs(OUT, exist_ok=True)
    with Server(args.binaries) as server:
        documents(server, args.keep)
        answers(server)
        definitions(server, args.corpus)


if __name__ == "__main__":
    main()
