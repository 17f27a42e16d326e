#!/usr/bin/env python3
"""Asks the real library and Pilothouse the same random questions. See README.md."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

from generate import Generator
from wide import Spoiled, Wide

HERE = os.path.dirname(os.path.abspath(__file__))


def oracle(lines):
    """Answers of the real library, one for each line."""
    path = os.environ.get("CEL_ORACLE")
    command = [path] if path else ["go", "run", "."]
    done = subprocess.run(command, cwd=HERE, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def ours(lines):
    with tempfile.TemporaryDirectory() as folder:
        questions = os.path.join(folder, "questions.jsonl")
        with open(questions, "w") as f:
            f.write("\n".join(lines) + "\n")
        test = os.environ.get("CEL_TEST")
        command = [test] if test else ["cargo", "test", "-q", "-p", "pilothouse-schema", "--test", "it", "--"]
        subprocess.run([*command, "questions_are_answered_for_comparison"], cwd=HERE, check=True, capture_output=True,
                       env={**os.environ, "PILOTHOUSE_CEL_QUESTIONS": questions})
        with open(os.path.splitext(questions)[0] + ".answers") as f:
            return [json.loads(line) for line in f]


def comparable(answer):
    answer = dict(answer)
    for key in ("definition", "errors", "warnings"):
        if key in answer:
            # Which of equally expensive rules are named is chance.
            answer[key] = sorted((json.loads(re.sub(r"selfType\d+", "selfType", json.dumps(one))) for one in answer[key] if "contributed to estimated" not in one[2]), key=json.dumps)
    if "costs" in answer:
        answer["costs"] = [[float(number) if number > 2**63 - 1 else number for number in pair] for pair in answer["costs"]]
    answer.setdefault("spent", 0)
    return answer


def is_chance(answer):
    """Upstream looks at fields in no order: where it ends in the middle, what it has seen is chance, and so is which of
    equally expensive rules are named."""
    ends = any("no further validation rules will be run" in error[2] for error in answer.get("errors", []))
    return ends or any("contributed to estimated" in error[2] for error in answer.get("definition", []))


# The keys of a map of Go come in no order; those of a small one from a random key on, so that they may never be sorted.
ORDER = re.compile(r"\.map\(k, k\)\.isSorted\(\)")


def differences(real, mine):
    """What only one of two answers has."""
    for key in sorted(set(real) | set(mine)):
        if real.get(key) == mine.get(key):
            continue
        sides = [real.get(key), mine.get(key)]
        if all(isinstance(side, list) for side in sides) and key != "costs":
            sides = [[one for one in side if one not in other] for side, other in (sides, sides[::-1])]
        yield key, *sides


KINDS = {"plain": Generator, "wide": Wide, "spoiled": Spoiled}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--of", choices=KINDS, default="plain", help="what is asked: rules as they are recorded, rules with more in them, spoiled rules")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--show", type=int, default=20, help="how many differences are printed")
    parser.add_argument("--width", type=int, default=2000, help="how much of a line is printed")
    parser.add_argument("--keep", help="a file for the differences, as records")
    args = parser.parse_args()
    print(f"seed {args.seed}, {args.count} questions", file=sys.stderr)
    lines = [json.dumps(KINDS[args.of](args.seed, number).question()) for number in range(args.start, args.start + args.count)]
    kept, shown, skipped, refused, failed = {}, 0, 0, 0, 0
    for number, (line, real, mine) in enumerate(zip(lines, oracle(lines), ours(lines), strict=True), args.start):
        refused += bool(real.get("definition"))
        failed += bool(real.get("errors"))
        if "failure" in real or any("no further validation rules will be run" in error[2] for error in real.get("errors", [])):
            skipped += 1
            continue
        real, mine = comparable(real), comparable(mine)
        if real == mine:
            continue
        if ORDER.search(line) or any(comparable(again) != real for again in oracle([line] * 60)):
            skipped += 1
            continue
        kept[f"{args.of} {args.seed}-{number}"] = {"question": json.loads(line), "answer": real}
        if shown < args.show:
            shown += 1
            print(f"--- {number}: {line[:args.width]}")
            for key, one, other in differences(real, mine):
                print(f"  {key}\n    real {json.dumps(one, ensure_ascii=False)[:args.width]}\n    ours {json.dumps(other, ensure_ascii=False)[:args.width]}")
    print(f"{args.count} asked, {refused} definitions refused, {failed} objects refused, {skipped} skipped, {len(kept)} differ")
    if args.keep:
        with open(args.keep, "w") as f:
            json.dump(kept, f, ensure_ascii=False, indent=1)
    sys.exit(bool(kept))


if __name__ == "__main__":
    main()
