"""A kube-apiserver with its etcd on loopback, for as long as a `with` block lasts."""
import http.client
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import time

import requests
import urllib3

urllib3.disable_warnings()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, binaries, users=(), flags=(), controllers=""):
        """`users` are lines of a token file beside the recorder's own; `flags` take the place of those that kube-apiserver is
        started with, or are added (one that ends in `=` only takes a place); `controllers` of a controller manager run beside it."""
        self.binaries, self.users, self.flags, self.controllers = binaries, users, flags, controllers
        self.processes = []

    def __enter__(self):
        # Between the choice of a free port and its use somebody else may take it: then with others.
        for _ in range(4):
            try:
                return self.start()
            except SystemExit as refused:
                if "address already in use" not in str(refused):
                    raise
        return self.start()

    def start(self):
        self.processes = []
        self.dir = tempfile.mkdtemp(prefix="record-")
        client, peer, self.port = free_port(), free_port(), free_port()
        with open(f"{self.dir}/tokens", "w") as f:
            f.write("\n".join(['recorder,admin,admin,"system:masters"', *self.users]) + "\n")
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{self.dir}/sa.key"],
                       check=True, capture_output=True)
        self.run("etcd", f"--data-dir={self.dir}/etcd", "--unsafe-no-fsync", f"--listen-client-urls=http://127.0.0.1:{client}",
                 f"--advertise-client-urls=http://127.0.0.1:{client}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
                 f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}", f"--initial-cluster=default=http://127.0.0.1:{peer}")
        flags = [
            f"--etcd-servers=http://127.0.0.1:{client}", f"--cert-dir={self.dir}", "--bind-address=127.0.0.1", f"--secure-port={self.port}",
            "--authorization-mode=RBAC", f"--token-auth-file={self.dir}/tokens", "--service-account-issuer=https://localhost",
            f"--service-account-key-file={self.dir}/sa.key", f"--service-account-signing-key-file={self.dir}/sa.key",
            "--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.0.0.0/24", "--allow-privileged=true",
            "--endpoint-reconciler-type=none"]
        given = {flag.split("=")[0] for flag in self.flags}
        self.run("kube-apiserver", *[flag for flag in flags if flag.split("=")[0] not in given], *(flag for flag in self.flags if not flag.endswith("=")))
        self.session = requests.Session()
        self.session.trust_env = False  # no proxy and no CA bundle of the environment
        self.session.verify = False
        self.session.headers["Authorization"] = "Bearer recorder"
        deadline, last = time.monotonic() + 180, None
        while time.monotonic() < deadline:
            try:
                last = self.call("GET", "/readyz")
                if last.status_code == 200:
                    self.run_controllers()
                    return self
                last = last.text
            except requests.ConnectionError as error:
                last = error
            if any(p.poll() is not None for p in self.processes):
                break
            time.sleep(0.2)
        log = "".join(open(f"{self.dir}/{name}.log").read()[-2000:] for name in ("etcd", "kube-apiserver"))
        self.__exit__()
        raise SystemExit(f"kube-apiserver did not become ready ({last}): {log}")

    def run_controllers(self):
        if not self.controllers:
            return
        with open(f"{self.dir}/kubeconfig", "w") as f:
            f.write(f"""{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: {{cluster: c, user: c}}}}],
clusters: [{{name: c, cluster: {{server: "https://127.0.0.1:{self.port}", insecure-skip-tls-verify: true}}}}],
users: [{{name: c, user: {{token: recorder}}}}]}}""")
        self.run("kube-controller-manager", f"--kubeconfig={self.dir}/kubeconfig", f"--controllers={self.controllers}",
                 "--leader-elect=false", "--secure-port=0", f"--service-account-private-key-file={self.dir}/sa.key")

    def run(self, name, *flags):
        log = open(f"{self.dir}/{name}.log", "w")
        command = [os.path.join(self.binaries, name), *flags]
        self.processes.append(subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    def call(self, method, path, **kwargs):
        sent = requests.Request(method, f"https://127.0.0.1:{self.port}{path}").prepare().url.partition(f":{self.port}")[2]
        if sent != path:
            return self.call_as_it_is(method, path, **kwargs)
        return self.session.request(method, f"https://127.0.0.1:{self.port}{path}", timeout=60, **kwargs)

    def call_as_it_is(self, method, path, data=None, headers=None):
        """For paths that `requests` would tidy up first."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context)
        connection._validate_path = lambda path: None
        connection.request(method, path, body=data, headers={"Authorization": "Bearer recorder", **(headers or {})})
        answer = connection.getresponse()
        response = requests.Response()
        response.status_code, response._content = answer.status, answer.read()
        response.headers = requests.structures.CaseInsensitiveDict(answer.getheaders())
        connection.close()
        return response

    def create_crd(self, body, content_type):
        """Creates a CRD (bytes) and waits until it is served; answers (response of the create, CRD as served or None)."""
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        response = self.call("POST", f"{path}?fieldValidation=Warn", data=body, headers={"Content-Type": content_type})
        if response.status_code != 201:
            return response, None
        name = response.json()["metadata"]["name"]
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            crd = self.call("GET", f"{path}/{name}").json()
            if any(c["type"] == "Established" and c["status"] == "True" for c in crd["status"].get("conditions") or []):
                served = all(
                    self.call("GET", f"/apis/{crd['spec']['group']}/{v['name']}/{crd['spec']['names']['plural']}").status_code == 200
                    for v in crd["spec"]["versions"] if v["served"])
                if served:
                    return response, crd
            if any(c["type"] == "NamesAccepted" and c["status"] == "False" for c in crd["status"].get("conditions") or []):
                return response, crd
            time.sleep(0.1)
        raise SystemExit(f"{name} was not established in 120 s: {crd.get('status')}")

    def delete_crd(self, name):
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
        self.call("DELETE", path)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if self.call("GET", path).status_code == 404:
                return
            time.sleep(0.2)
        raise SystemExit(f"{name} was not deleted in 120 s")
