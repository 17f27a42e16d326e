#!/usr/bin/env python3
"""Writes down what a real kube-apiserver answers, asks others and notes in its audit log under the flags and files of a topic. See README.md."""
import argparse
import datetime
import json
import os
import re
import shutil
import sys
import tempfile
import time

import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "recorded", "authorities")
sys.path[:0] = [os.path.join(HERE, "..", "crds"), os.path.join(HERE, "..", "truth")]

from hook import Hooks, authority, pem  # noqa: E402
from server import Server  # noqa: E402

import cases  # noqa: E402

UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
FULL = (("clients", ("ann", ["dev"]), "ann"), ("clients", ("front", []), "client-front"), ("proxies", ("front", []), "front"), ("proxies", ("other", []), "other"))


class Names:
    """Puts names in the place of what differs from run to run."""

    def __init__(self, places):
        self.places = places

    def __call__(self, value):
        return json.loads(self.text(json.dumps(value)))

    def text(self, text):
        for place, name in self.places.items():
            text = text.replace(place, name)
        text = UID.sub("<uid>", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>", text)
        text = re.sub(r"eyJ[\w-]+\.[\w-]+\.[\w-]+", "<token>", text)
        text = re.sub(r'"continue": ?"[\w-]+"', '"continue":"<continue>"', text)
        text = re.sub(r"X509SHA256=[0-9a-f]+", "X509SHA256=<hash>", text)
        text = re.sub(r"127\.0\.0\.1:\d{4,5}", "<server>", text)
        return re.sub(r'"(resourceVersion|generation)": ?"?\d+"?', r'"\1":"<version>"', text)


class Talk:
    """The conversation of a topic; what is said becomes a step each."""

    def __init__(self, server, hooks, folder, names):
        self.server, self.hooks, self.folder, self.names, self.steps = server, hooks, folder, names, []
        self.read = 0

    def serve(self, path, body, code=200, **more):
        """What the outside answers at a path from here on."""
        answer = {"code": code, "body": body, **more}
        with self.hooks.lock:
            self.hooks.table[f"/{path}"] = answer
        self.steps.append({"serve": {f"/{path}": answer}})

    def ask(self, do, body=None, who="ann", cert=None, wait=0, only=None, **headers):
        """A request by the bearer of a token, or with a certificate; `only` keeps these members of an answer that is no refusal."""
        time.sleep(wait)
        method, path = do.split(" ")
        headers = {key.replace("_", "-"): value for key, value in headers.items()}
        sent = {"Accept": "application/json", "User-Agent": "recorder/1", "Accept-Encoding": "identity", **headers}
        if who:
            sent["Authorization"] = f"Bearer {who}"
        data = None
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
            data = body if isinstance(body, str) else json.dumps(body)
        pair = (f"{self.folder}/{cert}.pem", f"{self.folder}/{cert}.key") if cert else None
        session = requests.Session()  # a connection of its own: a certificate is of a connection
        session.trust_env = False
        url = f"https://127.0.0.1:{self.server.port}{path}"
        response = session.request(method, url, data=data, headers=sent, cert=pair, verify=False, timeout=60)
        step = {"ask": do, "who": who, **({"cert": cert} if cert else {}), **({"headers": headers} if headers else {}), **({"body": body} if body is not None else {}), **({"only": only} if only is not None else {}), "code": response.status_code}
        if "json" in response.headers.get("Content-Type", ""):
            answer = {} if "watch=" in path else response.json()
            if only is not None and response.status_code < 300:
                answer = {key: answer[key] for key in only if key in answer}
            for kind in ("resourceRules", "nonResourceRules"):  # in the order of a cache
                if isinstance(answer.get("status"), dict) and answer["status"].get(kind):
                    answer["status"][kind].sort(key=lambda rule: json.dumps(rule, sort_keys=True, separators=(",", ":")))
            step["answer"] = self.names(answer)
        elif only != []:
            step["answer"] = self.names.text(response.text)
        session.close()
        self.steps.append(step)

    def asked(self, settle=0):
        """What the outside was asked since the last time."""
        time.sleep(settle)
        with self.hooks.lock:
            asked, self.hooks.asked = self.hooks.asked, []
        self.steps.append({"asked": self.names(asked)})

    def audit(self):
        """What was written into the audit log since the last time."""
        time.sleep(0.5)
        with open(f"{self.folder}/audit.log") as f:
            f.seek(self.read)
            lines = f.read()
            self.read = f.tell()
        self.steps.append({"audit": [self.names(json.loads(line)) for line in lines.split("\n") if line]})


def certificates(folder):
    for name in ("clients", "proxies"):
        certificate, key = authority(name)
        with open(f"{folder}/{name}-ca.pem", "wb") as f:
            f.write(pem(certificate))
        for of, (common, groups), file in FULL:
            if of != name:
                continue
            own = ec.generate_private_key(ec.SECP256R1())
            subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common), *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, g) for g in groups)])
            made = (x509.CertificateBuilder().subject_name(subject).issuer_name(certificate.subject).public_key(own.public_key()).serial_number(x509.random_serial_number())
                    .not_valid_before(datetime.datetime(2001, 1, 1)).not_valid_after(datetime.datetime(2100, 1, 1))
                    .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False).sign(key, hashes.SHA256()))
            with open(f"{folder}/{file}.pem", "wb") as f:
                f.write(pem(made))
            with open(f"{folder}/{file}.key", "wb") as f:
                f.write(own.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))


def record(binaries, topic):
    folder = tempfile.mkdtemp(prefix="authorities-")
    certificates(folder)
    with Hooks() as hooks:
        places = {"good": f"127.0.0.1:{hooks.names['good']}", "gone": f"127.0.0.1:{hooks.names['gone']}", "bundle": hooks.bundle, "dir": folder}

        def fill(text):
            return re.sub(r"\$\{(\w+)\}", lambda m: places[m.group(1)], text)

        for name, text in {"tokens": cases.TOKENS, **topic.FILES}.items():
            with open(f"{folder}/{name}", "w") as f:
                f.write(fill(text))
        with Server(binaries, cases.TOKENS.split("\n")[:-1], [fill(flag) for flag in topic.FLAGS]) as server:
            time.sleep(1.5)  # the first requests after /readyz race with the bootstrap
            with hooks.lock:
                hooks.asked = []
            talk = Talk(server, hooks, folder, Names({places["good"]: "<good>", places["gone"]: "<gone>", folder: "<dir>", places["bundle"]: "<bundle>"}))
            if os.path.exists(f"{folder}/audit.log"):
                talk.read = os.path.getsize(f"{folder}/audit.log")
            topic.run(talk)
    shutil.rmtree(folder, ignore_errors=True)
    return [{"flags": topic.FLAGS, "files": {"tokens": cases.TOKENS, **topic.FILES}}, *talk.steps]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of etcd and kube-apiserver")
    parser.add_argument("topic", nargs="*", help="topics to record (default: all)")
    args = parser.parse_args()
    os.makedirs(OUT, exist_ok=True)
    for name in args.topic or cases.ALL:
        steps = record(args.bin, cases.ALL[name])
        with open(os.path.join(OUT, f"{name}.json"), "w") as f:
            f.write("[\n" + ",\n".join(json.dumps(step, ensure_ascii=False) for step in steps) + "\n]\n")
        print(f"{name}: {len(steps) - 1}", flush=True)


main()
