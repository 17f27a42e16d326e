#!/usr/bin/env python3
"""Writes down what the real library says of rules. See README.md."""
import argparse
import json
import os
import sys

import yaml

import fuzz
from generate import Generator

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "recorded", "cel")
AROUND = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "thing"}}


class Plain(yaml.SafeLoader):
    """YAML as Kubernetes reads it: dates stay text."""


Plain.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag not in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def write(name, record):
    os.makedirs(OUT, exist_ok=True)
    with open(f"{OUT}/{name}.json", "w") as f:
        f.write("{\n" + ",\n".join(f" {json.dumps(key, ensure_ascii=False)}: {body(value)}" for key, value in record.items()) + "\n}\n")


def body(value):
    """One line for each thing that was asked."""
    if isinstance(value, dict) and value and all(isinstance(one, dict) for one in value.values()) and "answer" not in value:
        return "{\n" + ",\n".join(f"  {json.dumps(key, ensure_ascii=False)}: {json.dumps(one, ensure_ascii=False)}" for key, one in value.items()) + "\n }"
    return json.dumps(value, ensure_ascii=False)


def topic(name):
    with open(f"{HERE}/cases/{name}.yaml") as f:
        cases = yaml.load(f, Plain)
    schema, found = cases["schema"], {**AROUND, **cases["object"]}
    questions = [{"schema": {**schema, "x-kubernetes-validations": [{"rule": rule}]}, "object": found} for rule in cases["rules"]]
    answers = dict(zip(cases["rules"], ask(questions), strict=True))
    write(name, {"schema": schema, "object": found, "rules": {rule: answer for rule, answer in answers.items() if answer}})
    return sum(answer is not None for answer in answers.values())


def ask(questions):
    """An answer for each question; None where it is not always the same."""
    lines = [json.dumps(question) for question in questions]
    rounds = [fuzz.oracle(lines) for _ in range(4)]
    same = lambda answers: len({json.dumps(fuzz.comparable(answer), sort_keys=True) for answer in answers}) == 1
    return [answers[0] if same(answers) and "failure" not in answers[0] and not fuzz.is_chance(answers[0]) else None for answers in zip(*rounds, strict=True)]


def random(seed, count):
    """Of random questions those that everybody answers in the same way each time."""
    questions = [Generator(seed, number).question() for number in range(count)]
    kept = {}
    for number, (question, answer) in enumerate(zip(questions, ask(questions), strict=True)):
        if answer:
            kept[f"{seed}-{number}"] = {"question": question, "answer": answer}
    write("random", kept)
    return len(kept)


def again(name):
    """Asks what is recorded once more."""
    path = f"{OUT}/{name}.json"
    if not os.path.exists(path):
        return 0
    with open(path) as f:
        record = json.load(f)
    answers = zip(record.items(), ask([one["question"] for one in record.values()]), strict=True)
    found = {key: {"question": one["question"], "answer": answer} for (key, one), answer in answers if answer}
    write(name, found)
    return len(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=37)
    parser.add_argument("--count", type=int, default=600)
    args = parser.parse_args()
    for file in sorted(os.listdir(f"{HERE}/cases")):
        name = file.removesuffix(".yaml")
        print(name, topic(name), file=sys.stderr)
    print("random", random(args.seed, args.count), file=sys.stderr)
    print("found", again("found"), file=sys.stderr)


if __name__ == "__main__":
    main()
