#!/usr/bin/env python3
"""Puts what was recorded from a real server (conformance/recorded) into the corpus of the targets that it can feed: the fuzzer
begins with what clients send, and with what is known to be odd. The corpus is not kept in the repository."""
import base64
import hashlib
import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDED = os.path.join(HERE, "..", "conformance", "recorded")
LONGEST = 4096
counts = {}


def put(target, content):
    content = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    if not content or len(content) > LONGEST:
        return
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, hashlib.sha1(content).hexdigest())
    if not os.path.exists(path):
        with open(path, "wb") as f:
            f.write(content)
        counts[target] = counts.get(target, 0) + 1


def text(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def scalars(value):
    if isinstance(value, dict):
        for member in value.values():
            yield from scalars(member)
    elif isinstance(value, list):
        for member in value:
            yield from scalars(member)
    elif isinstance(value, str):
        yield value


def schemas(value):
    if isinstance(value, dict):
        if value.get("type") == "object" and ("properties" in value or "x-kubernetes-validations" in value):
            yield value
        for member in value.values():
            yield from schemas(member)
    elif isinstance(value, list):
        for member in value:
            yield from schemas(member)


def conversation(steps):
    for step in steps:
        body = step.get("body")
        headers = step.get("headers") or {}
        kind = headers.get("Content-Type", "application/json")
        if isinstance(body, dict) and set(body) == {"file"}:
            continue
        if isinstance(body, dict) and set(body) == {"base64"}:
            body = base64.b64decode(body["base64"])
        elif body is not None and not isinstance(body, str):
            body = text(body)
        raw = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body or b""
        if "yaml" in kind:
            put("yaml", raw)
        elif raw:
            put("json", raw)
        if "patch" in kind and raw:
            put("patches", text({"metadata": {"name": "a"}, "data": {"a": "1"}}).encode() + b"\n" + raw)
        if "do" not in step:
            continue  # what others answer from here on, or were asked
        method, _, path = step["do"].partition(" ")
        if "${" not in step["do"] and "watch" not in path and "resourceVersion" not in path:
            put("requests", f"{method} {path} {kind}\n".encode() + raw)
        for found in re.findall(r"[?&](?:label|field)Selector=([^&]*)", path):
            put("selectors", found.replace("%20", " ").replace("%2C", ",").replace("%3D", "="))
        answer = step.get("answer")
        if isinstance(answer, dict) and answer.get("kind") and "managedFields" in text(answer):
            put("fields", text(answer))
        if isinstance(step.get("body"), dict):
            for scalar in scalars(step["body"]):
                if re.match(r"^[-+]?[0-9.]", scalar) and len(scalar) < 60:
                    put("quantities", scalar)
            for schema in schemas(step["body"]):
                put("definitions", text(schema) + "\n{}")


def main():
    for folder in ("truth", "builtins", "auth"):
        for name in sorted(os.listdir(os.path.join(RECORDED, folder))):
            if not name.endswith(".json"):
                continue
            with open(os.path.join(RECORDED, folder, name)) as f:
                steps = json.load(f)
            if isinstance(steps, list) and steps and isinstance(steps[0], dict) and "do" in steps[0]:
                conversation(steps)
    for folder in ("cel", "crds", "smd", "patches"):
        for name in sorted(os.listdir(os.path.join(RECORDED, folder))):
            if not name.endswith(".json"):
                continue
            with open(os.path.join(RECORDED, folder, name)) as f:
                recorded = json.load(f)
            for rule in re.findall(r'"rule": "((?:[^"\\]|\\.)*)"', text(recorded).replace('"rule":"', '"rule": "')):
                put("cel", json.loads(f'"{rule}"'))
            for schema in schemas(recorded):
                put("definitions", text(schema) + "\n{}")
    with open(os.path.join(RECORDED, "truth", "policies.json")) as f:
        for expression in re.findall(r'"expression": "((?:[^"\\]|\\.)*)"', f.read()):
            put("cel", json.loads(f'"{expression}"'))
    print("\n".join(f"{target}: {count}" for target, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
