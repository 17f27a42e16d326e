"""The kill test: see `run`. Prints a line for each run that ends badly, and `N passed, N failed` last."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUNS, PILOTHOUSE = int(sys.argv[1]), sys.argv[2]
# The moments come from here: the same in every run, as far as a machine's pace lets them be.
SEED = int(os.environ.get("SEED", 37))
LIMIT_S = 180


def kubectl(*arguments, text=None):
    done = subprocess.run(["kubectl", *arguments], input=text, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode:
        raise RuntimeError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def get(*arguments):
    return json.loads(kubectl("get", *arguments, "-o", "json"))


def operator(log):
    return subprocess.Popen([PILOTHOUSE, "run", "protection", "--install-crds"], stdout=log, stderr=log)


def until(what, there):
    """Waits for what must come first."""
    deadline = time.monotonic() + LIMIT_S
    while not there():
        if time.monotonic() > deadline:
            raise SystemExit(f"{what} did not come within {LIMIT_S} s")
        time.sleep(0.05)


def action_set(run):
    action = {"name": "backup", "blueprint": "marks", "object": {"apiVersion": "v1", "resource": "configmaps", "name": "subject", "namespace": "kill"},
              "options": {"run": f"r{run}"}}
    return {"apiVersion": "cr.kanister.io/v1alpha1", "kind": "ActionSet", "metadata": {"name": f"backup-{run}", "namespace": "kill"},
            "spec": {"actions": [action]}}


def problems_of(run, status, marks):
    """What is wrong with how a run ended."""
    found = []
    state = (status or {}).get("state")
    if state not in ("complete", "failed"):
        found.append(f"ended in state {state!r} after {LIMIT_S} s")
    if state == "failed" and not status.get("error", {}).get("message"):
        found.append("failed without a reason")
    ran = Counter(mark for mark in marks if mark[0] == f"r{run}")
    for phase in ("first", "second", "third"):
        starts, ends = ran[(f"r{run}", phase, "start")], ran[(f"r{run}", phase, "end")]
        order = [mark[2] for mark in marks if mark[:2] == (f"r{run}", phase)]
        if "end" in order and "start" in order[order.index("end"):]:
            found.append(f"phase {phase} ran again after it had completed: {order}")
        if state == "complete" and ends != 1:
            found.append(f"complete, but phase {phase} ran {starts} times and ended {ends} times")
    return found


def main():
    random.seed(SEED)
    print(f"{RUNS} runs, SEED={SEED}")
    with tempfile.TemporaryDirectory() as work, open(f"{work}/log", "w+") as log:
        config = f"{work}/kubeconfig"
        os.environ.update(KUBECONFIG=config, HOME=work)
        cluster = subprocess.Popen([PILOTHOUSE, "cluster", "--kubeconfig", config], stdout=log, stderr=log)
        running = None
        try:
            until("the cluster's kubeconfig", lambda: os.path.exists(config) and os.path.getsize(config))
            running = operator(log)
            crd = ["kubectl", "get", "crd", "blueprints.cr.kanister.io"]
            until("the operator's kinds", lambda: subprocess.run(crd, capture_output=True).returncode == 0)
            kubectl("apply", "-f", str(HERE / "objects.yaml"))
            failed, ends, killed_in = 0, Counter(), Counter()
            for run in range(RUNS):
                kubectl("create", "-f", "-", text=json.dumps(action_set(run)))
                time.sleep(random.uniform(0.0, 1.6))
                status = get("-n", "kill", "actionset", f"backup-{run}").get("status") or {}
                phases = [p for a in status.get("actions", []) for p in a.get("phases", []) if p.get("state") == "running"]
                killed_in[phases[0]["name"] if phases else status.get("state", "not looked at")] += 1
                os.kill(running.pid, signal.SIGKILL)
                running.wait()
                running = operator(log)
                deadline = time.monotonic() + LIMIT_S
                while time.monotonic() < deadline:
                    status = get("-n", "kill", "actionset", f"backup-{run}").get("status") or {}
                    if status.get("state") in ("complete", "failed"):
                        break
                    time.sleep(0.1)
                volume = get("-n", "kill", "pvc", "marks")["spec"]["volumeName"]
                folder = get("pv", volume)["spec"]["hostPath"]["path"]
                marks = [tuple(line.split()) for line in Path(folder, "log").read_text().splitlines()] if Path(folder, "log").exists() else []
                problems = problems_of(run, status, marks)
                deadline = time.monotonic() + LIMIT_S
                while (pods := [p["metadata"]["name"] for p in get("-n", "kill", "pods")["items"]]) and time.monotonic() < deadline:
                    time.sleep(0.1)
                if pods:
                    problems.append(f"pods are left: {', '.join(pods)}")
                ends[status.get("state")] += 1
                if problems:
                    failed += 1
                    print(f"--- run {run}: " + "; ".join(problems), flush=True)
            print(f"ended: {dict(ends)}; killed in: {dict(killed_in)}")
            print(f"{RUNS - failed} passed, {failed} failed")
            if failed:
                log.seek(0)
                print("".join(log.readlines()[-40:]))
            return failed
        finally:
            for process in (running, cluster):
                if process:
                    process.terminate()
                    try:
                        process.wait(60)
                    except subprocess.TimeoutExpired:
                        process.kill()


sys.exit(1 if main() else 0)
