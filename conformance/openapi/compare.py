#!/usr/bin/env python3
"""Says where our OpenAPI documents differ from a real server's: two folders, as README.md tells how to write them."""
import collections
import json
import os
import sys


def differ(real, ours, path, out):
    if isinstance(real, dict) and isinstance(ours, dict):
        for key in sorted(set(real) | set(ours)):
            if key not in ours:
                out.append((path + (key,), "missing", real[key]))
            elif key not in real:
                out.append((path + (key,), "extra", ours[key]))
            else:
                differ(real[key], ours[key], path + (key,), out)
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for at, (a, b) in enumerate(zip(real, ours)):
            differ(a, b, path + (at,), out)
    elif real != ours:
        out.append((path, "differs", [real, ours]))


def main():
    real, ours = sys.argv[1:3]
    served = sorted(name for name in os.listdir(real) if name.endswith(".json"))
    kinds, examples, missing = collections.Counter(), {}, []
    for name in served:
        if not os.path.exists(os.path.join(ours, name)):
            missing.append(name)
            continue
        out = []
        differ(json.load(open(os.path.join(real, name))), json.load(open(os.path.join(ours, name))), (), out)
        for path, what, values in out:
            # Names of paths, schemas, properties and verbs are what differences of one kind vary in.
            shape = ".".join("*" if at in (1,) or (at > 1 and path[at - 1] in ("properties", "schemas", "definitions")) else str(part)
                             for at, part in enumerate(path) if not isinstance(part, int))
            kinds[what, shape] += 1
            examples.setdefault((what, shape), (name, path, values))
    print("documents that are missing:", missing)
    for (what, shape), count in kinds.most_common(60):
        name, path, values = examples[what, shape]
        print(f"{count:6} {what:8} {shape}\n         {name} {'.'.join(map(str, path))}: {json.dumps(values)[:300]}")


if __name__ == "__main__":
    main()
