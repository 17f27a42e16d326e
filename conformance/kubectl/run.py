#!/usr/bin/env python3
"""Drives a real kubectl through the scenario and compares what it prints with what it prints against a real cluster.

usage: run.py record OUT    runs it on the cluster of KUBECONFIG and writes what was seen to the folder OUT
       run.py check OUT     runs it on the cluster of KUBECONFIG and compares

What differs between any two runs (ages, uids, names with random parts, addresses), and the name of the only node, is
normalised on both sides.
"""

import atexit
import difflib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from normal import normalise
from steps import STEPS

HERE = Path(__file__).resolve().parent
LIMIT_S = 300


def run(command):
    done = subprocess.run(
        ["bash", "-c", command], cwd=HERE / "scenario", stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S
    )
    return done.returncode, normalise(done.stdout + done.stderr)


def main():
    mode, folder = sys.argv[1], Path(sys.argv[2])
    # kubectl remembers what a server serves in its home folder; another run's memory must not speak here.
    os.environ["HOME"] = home = tempfile.mkdtemp()
    # kubectl speaks the language of its user.
    os.environ.update(LC_ALL="C.UTF-8")
    atexit.register(shutil.rmtree, home, True)
    folder.mkdir(parents=True, exist_ok=True)
    passed, failed = 0, []
    for name, command, *code in STEPS:
        expected = code[0] if code else 0
        loose, name = name.endswith("!"), name.rstrip("!")
        try:
            got, text = run(command)
        except subprocess.TimeoutExpired:
            got, text = f"none within {LIMIT_S} s", ""
        path = folder / f"{name}.txt"
        if mode == "record" and got == expected and not loose:
            path.write_text(text)
        problems = []
        if got != expected:
            problems.append(f"exit code {got}, expected {expected}:\n{text}")
        elif mode == "check" and not loose:
            wanted = normalise(path.read_text()) if path.exists() else None
            if wanted is None:
                problems.append("nothing is recorded for it")
            elif wanted != text:
                lines = difflib.unified_diff(wanted.splitlines(True), text.splitlines(True), "real", "ours")
                problems.append("".join(lines))
        if problems:
            failed.append(name)
            print(f"--- {name}: {command}\n" + "\n".join(problems), flush=True)
        else:
            passed += 1
    print(f"{passed} passed, {len(failed)} failed" + (f": {' '.join(failed)}" if failed else ""))
    sys.exit(1 if failed else 0)


main()
