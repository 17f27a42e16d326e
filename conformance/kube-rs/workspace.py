"""Makes a workspace of the published crates of kube-rs, so that their unit tests can be built.

usage: workspace.py FOLDER VERSION     downloads the crates of that version and lays them out as members of a workspace
       workspace.py binaries           reads cargo's messages and prints the paths of the test binaries
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

CRATES = ["kube", "kube-client", "kube-core", "kube-derive", "kube-runtime"]


def download(folder, version):
    """Lets cargo download the crates for a package that needs nothing else; returns where each one is."""
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src/lib.rs").touch()
    needs = "".join(f'{name} = "={version}"\n' for name in CRATES)
    needs += 'k8s-openapi = { version = "0.29", features = ["latest"] }\n'
    head = '[package]\nname = "download"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n'
    (folder / "Cargo.toml").write_text(head + needs)
    command = ["cargo", "metadata", "--format-version=1", "--manifest-path", folder / "Cargo.toml"]
    packages = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["packages"]
    return {p["name"]: Path(p["manifest_path"]).parent for p in packages if p["version"] == version}


def lay_out(folder, version):
    stamp = folder / "stamp"
    if stamp.exists() and stamp.read_text() == version:
        return
    found = download(folder / "download", version)
    for name in CRATES:
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(found[name], folder / name, ignore=shutil.ignore_patterns("Cargo.lock"))
    # The tests use the face of kube-rs, which the published crates do not say, because it would be a circle.
    for name, features in [("kube-client", ["derive", "client", "ws"]), ("kube-runtime", ["derive", "client", "runtime"])]:
        with (folder / name / "Cargo.toml").open("a") as manifest:
            manifest.write(f'\n[dev-dependencies.kube]\npath = "../kube"\nfeatures = {json.dumps(features)}\n')
    members = ", ".join(f'"{name}"' for name in CRATES)
    patches = "".join(f'{name} = {{ path = "{name}" }}\n' for name in CRATES)
    (folder / "Cargo.toml").write_text(
        f'[workspace]\nresolver = "3"\nmembers = [{members}]\nexclude = ["download"]\n[patch.crates-io]\n{patches}'
        "[profile.dev]\ndebug = false\n"
    )
    stamp.write_text(version)


def binaries():
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            print(message["executable"])


if __name__ == "__main__":
    if sys.argv[1] == "binaries":
        binaries()
    else:
        lay_out(Path(sys.argv[1]), sys.argv[2])
