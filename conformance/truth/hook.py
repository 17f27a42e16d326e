"""Webhooks on loopback: HTTPS servers that answer as a table says, which a topic sets and the replay reads from the recorded step."""
import base64
import datetime
import http.server
import ipaddress
import json
import os
import socket
import ssl
import threading

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

# The servers, by the certificate that they show: what it is for, who signed it, and the year that it ends in.
SERVERS = {
    "good": (["127.0.0.1", "localhost", "hook.default.svc"], "authority", 2100),
    "other": (["other.example.com"], "authority", 2100),
    "bare": ([], "authority", 2100),
    "expired": (["127.0.0.1"], "authority", 2020),
    "stranger": (["127.0.0.1"], "stranger", 2100),
    "plain": None,  # no TLS at all
    "mute": None,  # closes every connection
}


class Hooks:
    """All of SERVERS while a `with` block lasts. `table` says what is answered at which path; `asked` is what came."""

    def __enter__(self):
        self.table, self.asked, self.lock = {}, [], threading.Lock()
        self.names, self.servers = {}, []
        authorities = {name: authority(name) for name in ("authority", "stranger")}
        self.bundle = base64.b64encode(pem(authorities["authority"][0])).decode()
        for name, certificate in SERVERS.items():
            if name == "mute":
                listener = socket.create_server(("127.0.0.1", 0))
                threading.Thread(target=close_all, args=(listener,), daemon=True).start()
                self.names[name] = listener.getsockname()[1]
                continue
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"hooks": self}))
            server.daemon_threads = True
            server.handle_error = lambda *_: None  # a client that does not trust the certificate hangs up
            if certificate:
                server.socket = self.tls(*certificate, authorities).wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.servers.append(server)
            self.names[name] = server.server_address[1]
        with socket.create_server(("127.0.0.1", 0)) as gone:
            self.names["gone"] = gone.getsockname()[1]
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.shutdown()

    def tls(self, names, signer, year, authorities):
        certificate, key = authorities[signer]
        own = ec.generate_private_key(ec.SECP256R1())
        builder = (x509.CertificateBuilder().subject_name(called("hook")).issuer_name(certificate.subject).public_key(own.public_key())
                   .serial_number(x509.random_serial_number()).not_valid_before(datetime.datetime(2001, 1, 1)).not_valid_after(datetime.datetime(year, 1, 1)))
        if names:
            alternatives = [x509.IPAddress(ipaddress.ip_address(n)) if n[0].isdigit() else x509.DNSName(n) for n in names]
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        path = os.path.join("/tmp", f"hook-{os.getpid()}-{threading.get_ident()}.pem")
        with open(path, "wb") as f:
            f.write(own.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
            f.write(pem(builder.sign(key, hashes.SHA256())))
        context.load_cert_chain(path)
        os.remove(path)
        return context


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hooks = None

    def answer(self):
        path = self.path.split("?")[0]
        length = int(self.headers.get("Content-Length") or 0)
        text = self.rfile.read(length).decode()
        review = json.loads(text) if text else None
        head = {name: self.headers[name] for name in ("Content-Type", "Accept", "User-Agent", "Referer", "Authorization") if name in self.headers}
        # those of a proxy, which come several times
        for name in sorted({name.lower() for name in self.headers if name.lower().startswith(("x-remote-", "x-forwarded-"))}):
            head[name] = self.headers.get_all(name)
        with self.hooks.lock:
            self.hooks.asked.append({"do": f"{self.command} {self.path}", "headers": head, **({"body": review} if text else {})})
            said = self.hooks.table.get(path)
        if said is None:
            said = {"code": 404, "headers": {"Content-Type": "text/plain"}, "body": "no such path"}
        if "to" in said:  # a conversion, by the version that is wanted
            said = said["to"].get(review["request"]["desiredAPIVersion"], {"convert": {}})
        if said.get("then") == "hang":
            self.connection.settimeout(60)
            try:
                self.rfile.read(1)
            except OSError:
                pass
            self.close_connection = True
            return
        if said.get("then") == "close":
            self.close_connection = True
            return
        body = said.get("body", "")
        if "convert" in said:
            body = compact(converted(review, said["convert"])) if review else {}
        text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
        if review and isinstance(review.get("request"), dict):
            text = text.replace("$UID", review["request"].get("uid", ""))
        data = text.encode()
        self.send_response_only(said.get("code", 200))
        for name, value in said.get("headers", {"Content-Type": "application/json"}).items():
            self.send_header(name, self.fill(value))
        self.send_header("Content-Length", str(len(data) + said.get("short", 0)))
        self.end_headers()
        self.wfile.write(data)
        if said.get("short"):
            self.close_connection = True

    def fill(self, value):
        for name, port in self.hooks.names.items():
            value = value.replace("${%s}" % name, f"127.0.0.1:{port}")
        return value

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *_):
        pass


def converted(review, change):
    """The answer to a ConversionReview: the objects in the desired version, with a merge patch each, and one more for those of a name in
    `named`; `keep` of them, backwards with `reverse`, then `more`. `big` is how many letters are put into spec.big."""
    request = review["request"]
    objects = []
    for o in request["objects"]:
        o = merged({**o, "apiVersion": request["desiredAPIVersion"]}, change.get("merge", {}))
        o = merged(o, change.get("named", {}).get(o["metadata"].get("name"), {}) if isinstance(o.get("metadata"), dict) else {})
        objects.append(merged(o, {"spec": {"big": "x" * change["big"]}}) if "big" in change else o)
    objects = objects[:change.get("keep", len(objects))]
    if change.get("reverse"):
        objects.reverse()
    response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects + change.get("more", [])}
    return merged({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}, change.get("answer", {}))


def compact(document):
    """As Go writes it: what is told of an object has its letters."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def merged(value, patch):
    if not isinstance(value, dict) or not isinstance(patch, dict):
        return patch
    value = dict(value)
    for key, change in patch.items():
        if change is None:
            value.pop(key, None)
        else:
            value[key] = merged(value.get(key, {} if isinstance(change, dict) else None), change)
    return value


def close_all(listener):
    while True:
        with listener.accept()[0] as connection:
            connection.recv(4096)  # what was said is heard before the line goes dead


def called(name):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def authority(name):
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (x509.CertificateBuilder().subject_name(called(name)).issuer_name(called(name)).public_key(key.public_key())
                   .serial_number(x509.random_serial_number()).not_valid_before(datetime.datetime(2001, 1, 1)).not_valid_after(datetime.datetime(2100, 1, 1))
                   .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(key, hashes.SHA256()))
    return certificate, key


def pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)
