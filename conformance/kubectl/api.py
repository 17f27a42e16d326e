#!/usr/bin/env python3
"""Drives releases of kubectl through the API scenario (api_steps.py), on an API server without controllers and nodes.

usage: api.py record|check --bin DIR --kubectl PATH [--kubectl PATH ...]

DIR has etcd and kube-apiserver: those of Kubernetes to record, the folder that `pilothouse envtest` prints to check. What each
release of kubectl printed stands in ../recorded/kubectl-api/MINOR.txt.
"""
import argparse
import atexit
import difflib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# For one step.
LIMIT_S = 300
sys.path.insert(0, str(HERE.parent / "crds"))

from api_steps import STEPS  # noqa: E402
from normal import normalise  # noqa: E402
from server import Server  # noqa: E402

KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:%d", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: recorder}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
"""


# Where a server listens and where kubectl keeps its files.
PLACES = [(r"127\.0\.0\.1:\d+", "SERVER"), (r"/tmp/[\w./-]+", "FILE")]


def play(binaries, kubectl):
    """What each step printed: name -> (exit code, text)."""
    home = tempfile.mkdtemp(dir="/tmp")
    atexit.register(shutil.rmtree, home, True)
    os.makedirs(f"{home}/bin")
    os.symlink(os.path.realpath(kubectl), f"{home}/bin/kubectl")
    with Server(binaries) as server:
        Path(home, "config").write_text(KUBECONFIG % server.port)
        # kubectl names the files that it makes, and speaks the language of its user.
        environment = {**os.environ, "HOME": home, "TMPDIR": "/tmp", "LC_ALL": "C.UTF-8", "KUBECONFIG": f"{home}/config",
                       "PATH": f"{home}/bin:{os.environ['PATH']}"}
        said = {}
        for name, command, *_ in STEPS:
            try:
                done = subprocess.run(["bash", "-c", command], cwd=HERE / "scenario", stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, env=environment)
                said[name] = (done.returncode, normalise(done.stdout + done.stderr, *PLACES))
            except subprocess.TimeoutExpired:
                said[name] = (-1, f"not done in {LIMIT_S} s")
        return said


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=["record", "check"])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--kubectl", required=True, action="append")
    args = parser.parse_args()
    different = 0
    for kubectl in args.kubectl:
        version = json.loads(subprocess.run([kubectl, "version", "--client", "-o", "json"], capture_output=True, text=True, check=True).stdout)["clientVersion"]
        minor = f"{version['major']}.{version['minor'].rstrip('+')}"
        path = HERE.parent / "recorded" / "kubectl-api" / f"{minor}.json"
        said = play(args.bin, kubectl)
        if args.mode == "record":
            for name, _, *code in STEPS:
                if said[name][0] != (code[0] if code else 0):
                    print(f"{minor} {name}: exit {said[name][0]}\n{said[name][1][-600:]}")
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps({name: {"exit": code, "text": text.split("\n")} for name, (code, text) in said.items()}, indent=0, ensure_ascii=False) + "\n")
            print(f"kubectl {minor}: {len(said)} steps recorded")
            continue
        recorded = json.loads(path.read_text())
        agreed = 0
        for name, command, *_ in STEPS:
            expected, (code, text) = recorded[name], said[name]
            if (expected["exit"], expected["text"]) == (code, text.split("\n")):
                agreed += 1
                continue
            print(f"--- {minor} {name}: {command}\n    exit {code}, recorded {expected['exit']}")
            for line in list(difflib.unified_diff(expected["text"], text.split("\n"), "recorded", "here", lineterm="", n=1))[2:40]:
                print(f"    {line}")
        print(f"kubectl {minor}: {agreed} of {len(STEPS)} steps agree")
        different += len(STEPS) - agreed
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
