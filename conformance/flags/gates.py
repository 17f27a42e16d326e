#!/usr/bin/env python3
"""Makes the lists of flags and feature gates that `pilothouse envtest` knows. See README.md."""
import argparse
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "..", "crates", "envtest", "src", "flags", "gates.txt")
SUITES = os.path.join(os.path.dirname(OUT), "suites.txt")
FLAGS = os.path.join(HERE, "..", "recorded", "flags.txt")
HEAD = """# The feature gates of kube-apiserver 1.37.2: their defaults, and ! for those that are locked. Made by conformance/flags/gates.py.
"""
SOURCES = ("kubernetes@v1.37.2/pkg/features/kube_features.go", "apiserver@v0.37.2/pkg/features/kube_features.go",
           "apiextensions-apiserver@v0.37.2/pkg/features/kube_features.go", "component-base@v0.37.2/logs/api/v1/kube_features.go",
           "component-base@v0.37.2/metrics/features/kube_features.go", "component-base@v0.37.2/zpages/features/kube_features.go",
           "kube-aggregator@v0.37.2/pkg/features/kube_features.go")


def from_sources(modules):
    gates = {}
    for source in SOURCES:
        path = os.path.join(modules, source)
        if not os.path.exists(path):
            continue
        text = open(path).read()
        names = dict(re.findall(r'(\w+)\s+(?:featuregate\.)?(?:Feature)?\s*=\s*"(\w+)"', text))
        names.update(re.findall(r'(\w+) featuregate\.Feature = "(\w+)"', text))
        for name, specs in re.findall(r"^\t+(?:\w+\.)?(\w+): \{((?:\s*\{Version:[^\n]*\},?[^\n]*\n)+)", text, re.M):
            last = re.findall(r"\{Version:[^\n]*\}", specs)[-1]
            gates[names.get(name, name)] = ("Default: true" in last, "LockToDefault: true" in last)
        for name, spec in re.findall(r"^\t+(\w+):\s+\{(Default:[^}\n]*)\}", text, re.M):
            gates.setdefault(names.get(name, name), ("Default: true" in spec, "LockToDefault: true" in spec))
    return gates


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of kube-apiserver")
    parser.add_argument("--modules", required=True, help="folder of Go's modules of k8s.io")
    args = parser.parse_args()
    shown = subprocess.run([os.path.join(args.bin, "kube-apiserver"), "--help"], capture_output=True, text=True).stdout
    gates = from_sources(args.modules)
    for name, default in re.findall(r"kube:(\w+)=true\|false \(\w+ - default=(\w+)\)", shown):
        gates[name] = (default == "true", False)
    with open(OUT, "w") as out:
        out.write(HEAD + "".join(f"{name} {'on' if on else 'off'}{' !' if locked else ''}\n" for name, (on, locked) in sorted(gates.items())))
    flags = sorted(set(re.findall(r"^ {2,6}(?:-\w, )? *--([\w-]+)", shown, re.M)))
    with open(FLAGS, "w") as out:
        out.write("\n".join(flags) + "\n")
    suites = re.findall(r"--tls-cipher-suites strings(?:.*\n){3}", shown)
    with open(SUITES, "w") as out:
        out.write("".join(f"{name}\n" for name in sorted(set(re.findall(r"TLS_\w+", suites[0])))))
    print(len(gates), "gates", len(flags), "flags")


main()
