#!/usr/bin/env python3
"""Random admission policies to a real server and to ours: what is wrong with their expressions, word for word and in its order. See README.md."""
import argparse
import json
import os
import random
import re
import sys

import requests

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cel"), os.path.join(HERE, "..", "crds")]

from server import Server  # noqa: E402
from wide import Wide  # noqa: E402

GROUP = "/apis/admissionregistration.k8s.io/v1/"
RULES = {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}
NAMES = ["spec", "metadata", "containers", "a", "b_c", "`d-e`", "in", "namespace"]
FIELDS = ["op", "path", "from", "value", "value", "valu", "?value", "?op", "Op"]
SEEN = ["object", "oldObject", "object.spec", "object.?spec", "request", "request.name", "request.userInfo.groups", "namespaceObject.metadata.labels", "params", "params.a", "variables", "variables.v", "variables.w", "authorizer", "authorizer.requestResource", "Object", "Object.spec", "JSONPatch", "nothing"]
SCOPE = [("object", {"type": "object", "properties": {"s": {"type": "string"}, "n": {"type": "integer"}}})]
KINDS = ["bool", "int", "string", "double", "bytes", "timestamp", "duration"]


class Policies(Wide):
    """Expressions of admission policies, from those of validation rules."""

    def __init__(self, seed, number):
        super().__init__(seed, number)
        self.random = random.Random(f"policies {seed} {number}")

    def plain(self, depth):
        if self.chance(0.35):
            return self.pick(SEEN)
        return self.expression(self.pick(KINDS), SCOPE, min(depth, 2))

    def anything(self, depth):
        if depth <= 0 or self.chance(0.4):
            return self.plain(depth)
        sub = lambda: self.anything(depth - 1)  # noqa: E731
        return self.pick([
            lambda: self.object(depth - 1), lambda: self.patch(depth - 1), lambda: self.object(depth - 1) + "." + self.pick(NAMES), lambda: self.patch(depth - 1) + "." + self.pick(FIELDS),
            lambda: f"[{', '.join(sub() for _ in range(self.random.randint(0, 3)))}]", lambda: f"{{{self.pick(['1', chr(39) + 'a' + chr(39), sub()])}: {sub()}}}", lambda: f"({sub()} {self.pick(['==', '!=', '+', '&&', '||', '<', 'in'])} {sub()})",
            lambda: f"(has({self.pick([self.object(0), self.patch(0), 'object', 'variables'])}.{self.pick(NAMES + FIELDS)}) ? {sub()} : {sub()})", lambda: f"({self.pick(['true', 'object.a', sub()])} ? {sub()} : {sub()})",
            lambda: f"{self.pick(['type', 'dyn', 'string', 'size', 'optional.of', 'optional.ofNonZeroValue', 'jsonpatch.escapeKey', 'quantity'])}({sub()})", lambda: f"{sub()}.{self.pick(['value()', 'hasValue()', 'first()', 'size()', 'flatten()', 'distinct()', 'orValue(' + sub() + ')', 'or(' + sub() + ')', 'includes(1)', 'foo()'])}",
            lambda: f"{sub()}.{self.pick(['map', 'filter', 'exists', 'all', 'optMap', 'sortBy', 'exists_one'])}(x, {self.pick(['x', 'x.op', 'x == x', sub(), self.object(0), self.patch(0)])})", lambda: f"{sub()}{self.pick(['[0]', '[?0]', '[' + chr(39) + 'a' + chr(39) + ']', '.?' + self.pick(NAMES)])}",
        ])()

    def fields(self, names, depth):
        value = lambda: self.anything(depth) if self.chance(0.5) else self.plain(depth)  # noqa: E731
        return ", ".join(f"{self.pick(names)}: {value()}" for _ in range(self.random.randint(0, 2)))

    def object(self, depth):
        name = ".".join(["Object", *(self.pick(NAMES) for _ in range(self.pick([0, 0, 0, 1, 2])))])
        return f"{self.pick(['', '', '', '', '.'])}{name}{{{self.fields(NAMES, depth)}}}"

    def patch(self, depth):
        return f"JSONPatch{{{self.fields(FIELDS, depth)}}}"

    def text(self, kind):
        if self.chance(0.25):
            made = self.anything(3)
        elif kind == "configuration":
            made = self.object(2)
        elif kind == "patch":
            made = f"[{', '.join(self.patch(2) for _ in range(self.random.randint(0, 2)))}]"
        else:
            made = self.expression("string" if kind == "text" else "bool", SCOPE, 2) if self.chance(0.6) else self.plain(2)
        made = made[:2000]
        return self.spoil(made) if self.chance(0.12) else made

    def spoil(self, text):
        at = self.random.randrange(len(text) + 1)
        return text[:at] + self.pick(["(", ")", "}", "{", "-", "!", ".", ",", "?", "@", "'", " in ", "é", "\n"]) + text[at + self.random.randint(0, 1):]

    def policy(self):
        """The resource, and the body."""
        some = lambda most, make: [make() for _ in range(self.random.randint(0, most))]  # noqa: E731
        spec = {"matchConstraints": RULES}
        if self.chance(0.3):
            spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
        spec["matchConditions"] = some(2, lambda: {"name": self.pick(["a", "b", "c d", ""]), "expression": self.text("bool")})
        spec["variables"] = some(3, lambda: {"name": self.pick(["v", "w", "v", "in", "a b"]), "expression": self.anything(2)})
        if self.chance(0.3):
            spec["validations"] = some(2, lambda: {"expression": self.text("bool"), "messageExpression": self.text("text")})
            spec["auditAnnotations"] = some(2, lambda: {"key": self.pick(["a", "b", "c d"]), "valueExpression": self.text("text")})
            return "validatingadmissionpolicies", "ValidatingAdmissionPolicy", spec
        mutation = lambda: self.pick([  # noqa: E731
            {"patchType": "JSONPatch", "jsonPatch": {"expression": self.text("patch")}}, {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": self.text("configuration")}}])
        spec.update(mutations=some(3, mutation), reinvocationPolicy="Never")
        return "mutatingadmissionpolicies", "MutatingAdmissionPolicy", spec


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", required=True, help="folder of the real etcd and kube-apiserver")
    parser.add_argument("--ours", required=True, help="folder of our etcd and kube-apiserver")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--show", type=int, default=10, help="how many differences are printed")
    args = parser.parse_args()
    refused = differing = ended = 0
    with Server(args.real) as real, Server(args.ours) as ours:
        for number in range(args.start, args.start + args.count):
            plural, kind, spec = Policies(args.seed, number).policy()
            body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "p"}, "spec": spec}
            answers = []
            for server in (real, ours):
                try:
                    answer = server.call("POST", f"{GROUP}{plural}?dryRun=All", json=body)
                except requests.ConnectionError:
                    # So ends what Go panics about.
                    answers.append((0, "the connection ended", None))
                    continue
                said = answer.json() if answer.status_code >= 300 else {}
                # Which number a type has that is not known is chance: upstream gives them in the order of a map of Go.
                said = json.loads(re.sub(r"_var\d+", "_var", json.dumps(said)))
                answers.append((answer.status_code, said.get("message"), said.get("details")))
            refused += answers[0][0] >= 300
            ended += answers[0][0] == 0
            if answers[0] != answers[1] and answers[0][0]:
                differing += 1
                if differing <= args.show:
                    print(f"--- {number}: {json.dumps(spec, ensure_ascii=False)}")
                    causes = [((said or {}).get("causes") or [], code, message) for code, message, said in answers]
                    for name, (own, code, message), (other, *_) in (("real", *causes), ("ours", *causes[::-1])):
                        print(f"    {name} {code}", *[json.dumps(one, ensure_ascii=False) for one in own if one not in other][:3] or [(message or "")[:300]], sep="\n      ")
    print(f"{args.count} policies, {refused} refused, {ended} that upstream ended the connection of, {differing} answered differently (seed {args.seed})")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
