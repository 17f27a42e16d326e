"""A real server and ours, asked the same: each answer is normalised as the recorder of ../truth does, and what differs is gathered by kind."""
import collections
import copy
import json
import os
import re
import sys

import requests

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "crds"))
sys.path.insert(0, os.path.join(HERE, "..", "truth"))

from server import Server  # noqa: E402,F401
from topic import Topic  # noqa: E402

TYPES = {
    "apply": "application/apply-patch+yaml", "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json", "json": "application/json-patch+json",
}
PORTS = re.compile(r"\b3[0-2]\d{3}\b")
ADDRESS = re.compile(r"\b10\.0\.0\.\d+\b")
SUFFIX = re.compile(r"(x-|X-|a/b)[bcdfghjklmnpqrstvwxz2456789]{5}\b")
LONG = re.compile(r"(a{58})[bcdfghjklmnpqrstvwxz2456789]{5}\b")  # a name made of one that is too long
SHOWN = re.compile(r'Invalid value: (\{.*?\}|"\{.*?\}"|\[.*?\]): ', re.S)


def settled(value, key=None):
    """What no two servers share, and what Go prints in an order of its own, replaced."""
    if isinstance(value, dict):
        return {k: settled(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [settled(v, key) for v in value]
    if isinstance(value, str):
        value = LONG.sub(r"\1XXXXX", value)
        value = SUFFIX.sub(r"\1XXXXX", ADDRESS.sub("10.0.0.X", PORTS.sub("PORT", value)))
        if key == "message":
            value = SHOWN.sub("Invalid value: SHOWN: ", value.replace("value: {}: ", "value: null: ")).replace("value: []: ", "value: null: ")
            value = sorted(re.split(r"\n|, |[\[\]] ?", value))
    return value


def differences(a, b, path=""):
    """Where two answers differ: (path, real, ours)."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(set(a) | set(b)):
            yield from differences(a.get(key, "(none)"), b.get(key, "(none)"), f"{path}.{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, (x, y) in enumerate(zip(a, b)):
            yield from differences(x, y, f"{path}[{index}]")
    elif a != b:
        yield path, a, b


def general(text):
    """A text without the names that vary from case to case."""
    text = re.sub(r'\\?"[^"]*\\?"', "Q", text)
    return re.sub(r"\d+", "0", text)[:160]


class Pair:
    def __init__(self, real, ours, show=3, log=None):
        self.servers, self.show, self.log = (real, ours), show, log
        self.cases, self.kinds, self.panics = 0, collections.Counter(), [0, 0]
        self.story = False  # whether names of uids and versions last longer than one request
        self.forget()

    def forget(self):
        """Begins a story of its own: names of uids and versions start again."""
        self.topics = [Topic(server, "") for server in self.servers]

    def live(self, path):
        """The object at a path, as each has it."""
        return [server.call("GET", path).json() for server in self.servers]

    def quiet(self, method, path, body=None, **more):
        """A request whose answer is not compared."""
        return [server.call(method, path, json=body, **more) for server in self.servers]

    def ask(self, method, path, body=None, kind=None, lives=None, ignore=(), **more):
        """Asks both; `body` may be a function of the live object (`lives`, one for each). Answers both answers."""
        answers, raws = [], []
        if not self.story:
            self.forget()
        for at, topic in enumerate(self.topics):
            document = body(copy.deepcopy(lives[at])) if callable(body) else body
            topic.steps = []
            try:
                raws.append(topic.call(method, path, document, type=TYPES.get(kind, kind), **more))
            except requests.ConnectionError as error:
                # Go ends the connection of a request that it panics about; ours may not.
                print(f"--- {('the real server', 'OURS')[at]} ended the connection: {method} {path} {kind or ''} {json.dumps(document)[:1500]} {error}", flush=True)
                self.panics[at] += 1
                return None
            step = {k: v for k, v in topic.steps[0].items() if k in ("code", "type", "heads", "warnings", "answer")}
            if "warnings" in step:
                step["warnings"] = sorted(step["warnings"])
            answers.append(settled(step))
        self.cases += 1
        found = [(p, a, b) for p, a, b in differences(*answers) if not any(re.search(i, p) for i in ignore)]
        if found:
            where, a, b = found[0]
            name = re.sub(r"\[\d+\]", "[]", where) + " " + general(json.dumps(a)) + " | " + general(json.dumps(b))
            self.kinds[name] += 1
            if self.kinds[name] <= self.show:
                print(f"--- {method} {path} {kind or ''} {json.dumps(more) if more else ''} {json.dumps(document)[:1500]}")
                for p, a, b in found[:5]:
                    print(f"    {p}: real {json.dumps(a)[:700]}\n    {' ' * len(p)}  ours {json.dumps(b)[:700]}")
                sys.stdout.flush()
            if self.log:
                self.log.write(json.dumps({"do": [method, path, kind, document], "name": name, "real": answers[0], "ours": answers[1]}) + "\n")
        return raws

    def summary(self):
        print(f"{self.cases} requests, {sum(self.kinds.values())} answered differently, in {len(self.kinds)} ways")
        print("connections that ended: of the real server {}, of ours {}".format(*self.panics))
        for name, count in self.kinds.most_common():
            print(f"  {count:5} {name}")
