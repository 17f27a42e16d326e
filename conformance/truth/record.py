#!/usr/bin/env python3
"""Sends the requests of `topics` to a real kube-apiserver and writes down its answers. See README.md."""
import argparse
import importlib
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "recorded", "truth")
sys.setrecursionlimit(50_000)  # some answers nest deeply
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "crds"))

from server import Server  # noqa: E402
from topic import Topic  # noqa: E402


def record(binaries, corpus, name):
    with Server(binaries) as server:
        topic = Topic(server, corpus)
        topic.settle(1)  # the first requests after /readyz race with the bootstrap
        importlib.import_module(f"topics.{name}").run(topic)
        return topic.steps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of etcd and kube-apiserver")
    parser.add_argument("--corpus", required=True, help="folder of CRDs, samples and upgrades")
    parser.add_argument("topic", nargs="*", help="topics to record (default: all)")
    args = parser.parse_args()
    names = args.topic or sorted(f[:-3] for f in os.listdir(os.path.join(HERE, "topics")) if f.endswith(".py") and f[0] != "_")
    os.makedirs(OUT, exist_ok=True)
    for name in names:
        # What differs between two runs of the real server is not an answer that anybody could rely on.
        first, second = record(args.bin, args.corpus, name), record(args.bin, args.corpus, name)
        if len(first) != len(second):
            raise SystemExit(f"{name}: {len(first)} steps, then {len(second)}: a topic must ask the same each time")
        unstable = 0
        for a, b in zip(first, second):
            if a != b:
                unstable += 1
                one, two = json.dumps(a), json.dumps(b)
                at = max(0, len(os.path.commonprefix([one, two])) - 200)
                print(f"{name}: unstable, only its code is kept: {a.get('do', 'what webhooks were asked')}\n  {one[at:at + 400]}\n  {two[at:at + 400]}", file=sys.stderr)
                a.pop("answer", None)
                a.pop("asked", None)
                a["unstable"] = True
        with open(os.path.join(OUT, f"{name}.json"), "w") as f:
            f.write("[\n" + ",\n".join(json.dumps(s, sort_keys=False, ensure_ascii=False) for s in first) + "\n]\n")
        print(f"{name}: {len(first)} pairs, {unstable} unstable", flush=True)


if __name__ == "__main__":
    main()
