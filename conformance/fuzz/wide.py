#!/usr/bin/env python3
"""Asks a real kube-apiserver and ours the same about every built-in kind, room by room, and prints what they answer differently. See README.md."""
import argparse
import copy
import json
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import rooms_read  # noqa: E402
import rooms_write  # noqa: E402
from pair import Pair, Server  # noqa: E402
from shapes import Rng, Shapes, bases, place  # noqa: E402

ROOMS = {**rooms_write.ROOMS, **rooms_read.ROOMS}


class Kind:
    """A built-in kind with a valid object of it, which is there under the name `live`."""
    def __init__(self, path, base, number, at):
        self.path, self.base = path, copy.deepcopy(base)
        self.kind, self.version = base["kind"], base["apiVersion"]
        self.base["metadata"].setdefault("name", f"base-{number}")
        if at and self.can_be_renamed():
            self.base["metadata"]["name"] += f"-{at}"  # bases of several groups share a name
        self.name = self.base["metadata"]["name"]

    def can_be_renamed(self):
        return self.kind not in ("APIService", "IPAddress", "Namespace") and not re.search(r"[A-Z]|^system:|@", self.base["metadata"]["name"])

    def fresh(self, name=None):
        """Another object of the kind; one whose name is fixed keeps it."""
        new = copy.deepcopy(self.base)
        if self.can_be_renamed():
            new["metadata"]["name"] = name or f"{self.name}-new"
        return new


def kinds(pair, pattern):
    made = []
    for number, (path, found) in enumerate(sorted(bases().items())):
        # What limits others stands where no others are.
        path = re.sub("/default/(limitranges|resourcequotas)", r"/kube-node-lease/\1", path)
        if pattern and not re.search(pattern, path):
            continue
        for at, (base, needs) in enumerate(found):
            base = copy.deepcopy(base)
            if "kube-node-lease" in path:
                base["metadata"].pop("namespace", None)
            kind = Kind(path, base, number, at)
            for needed in needs:
                pair.quiet("POST", place(needed), needed["base"])
            answers = pair.quiet("POST", path, kind.base)
            codes = {a.status_code for a in answers}
            if codes - {201, 409}:
                print("not made:", path, kind.name, [a.text[:300] for a in answers])
                continue
            made.append(kind)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", required=True, help="folder of the real etcd and kube-apiserver")
    parser.add_argument("--ours", required=True, help="folder of our etcd and kube-apiserver")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", nargs="*", default=list(ROOMS), help="such as: " + ", ".join(ROOMS))
    parser.add_argument("--kinds", help="only collections whose path has this in it (a regular expression)")
    parser.add_argument("--cases", type=int, default=60, help="random cases of a kind in a room that is random")
    parser.add_argument("--show", type=int, default=2, help="how many of one way of differing are shown")
    parser.add_argument("--log", help="a file of all differences, one a line")
    arguments = parser.parse_args()
    with Server(arguments.real) as real, Server(arguments.ours) as ours:
        time.sleep(3)
        pair = Pair(real, ours, arguments.show, open(arguments.log, "w") if arguments.log else None)
        shapes = Shapes(real)
        there = kinds(pair, arguments.kinds)
        for room in arguments.rooms:
            before, start = pair.cases, time.time()
            for kind in there:
                pair.forget()
                rng = Rng(f"{arguments.seed} {room} {kind.path} {kind.name}")
                try:
                    ROOMS[room](pair, shapes, rng, kind, arguments.cases)
                except Exception as error:  # a room that stumbles over one kind goes on with the next
                    print("STUMBLED", room, kind.path, kind.name, repr(error)[:500], flush=True)
                    import traceback
                    traceback.print_exc()
            print(f"=== {room}: {pair.cases - before} requests in {time.time() - start:.0f} s", flush=True)
        pair.summary()


if __name__ == "__main__":
    main()
