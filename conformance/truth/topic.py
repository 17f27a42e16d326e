"""A conversation with a server: each call is recorded as one step, answers normalised (see README.md)."""
import base64
import copy
import datetime
import json
import os
import re
import time

import yaml

DAY = re.compile(r"\d{4}-\d\d-\d\d$")  # when a server began to look for old tokens
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
VERSIONS = re.compile(r"""((?:resource version|resourceVersion|current)[a-z ]*: ?|does not match the ResourceVersion in record \(|revision=|"resourceVersion":")\d+(?: \(\d+\))?""")
RUN = re.compile(r"(.)\1{999,}")
PORT = re.compile(r"(127\.0\.0\.1|OUTSIDE):\d{5}")
REPEAT = re.compile(r"\$\{(\}|[^*}]+)\*(\d+)\}")
DUMP = re.compile(r'Invalid value: "\{\\".*\}": ', re.S)
LONG = 1000  # characters of a text that is written down whatever is kept
WRITTEN = re.compile(r'(resourceVersion"?: ?")\d+')
# What a page says of its process. Upstream draws what stands between a name and its value by lot.
PROCESS = re.compile(r"^(Started|Up|Go version|Binary version|Emulation version|Paths)(?:: ?| |=) (.*)$", re.M)
AGE = re.compile(r"^\d+(ms|s|m\d*s?)$")


def messages(data):
    """The messages that came through a WebSocket: the number of each one's kind, and what it says."""
    out = []
    while len(data) >= 2:
        size, at = data[1] & 127, 2
        if size > 125:
            at = 4 if size == 126 else 10
            size = int.from_bytes(data[2:at], "big")
        out.append(f"{data[0] & 15} " + data[at:at + size].decode("latin-1"))
        data = data[at + size:]
    return out


class Topic:
    def __init__(self, server, corpus):
        self.server, self.corpus, self.steps = server, corpus, []
        self.heads = False  # whether the headers of the answers are written down too
        self.flows = False  # whether those of flow schemas and priority levels are told by their names
        self.saved = {}
        self.names = {"uid": {}, "rv": {}}
        self.hooks, self.places = None, {}
        self.about = None  # the report that the steps are for

    # --- asking

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def post(self, path, body, **more):
        return self.call("POST", path, body, **more)

    def put(self, path, body, **more):
        return self.call("PUT", path, body, **more)

    def delete(self, path, body=None, **more):
        return self.call("DELETE", path, body, **more)

    def merge(self, path, body, **more):
        return self.call("PATCH", path, body, type="application/merge-patch+json", **more)

    def json_patch(self, path, body, **more):
        return self.call("PATCH", path, body, type="application/json-patch+json", **more)

    def strategic(self, path, body, **more):
        return self.call("PATCH", path, body, type="application/strategic-merge-patch+json", **more)

    def apply(self, path, body, manager="applier", force=None, **more):
        query = f"fieldManager={manager}" + ("" if force is None else f"&force={str(force).lower()}")
        return self.call("PATCH", path + ("&" if "?" in path else "?") + query, body, type="application/apply-patch+yaml", **more)

    def call(self, method, path, body=None, type=None, accept=None, headers=None, save=None, keep=None, user=None, groups=(), raw=False, written=False):
        """body: a document, text, bytes, {"file": path in the corpus} or {"base64": bytes}; ${x} in a path or body is what `save` kept as x,
        ${x*9} is xxxxxxxxx, ${}*9} is nine braces.
        keep: the members of the answer that are written down (default: all; a.b is one inside). save: {x: "path.in.answer"}.
        raw: the path goes out as it stands, without what the client library makes of it.
        headers: of {"latin-1": text} each character is a byte.
        written: the answer is written down letter by letter."""
        step = {"do": f"{method} {path}"}
        if self.about:
            step["about"] = self.about
        sent = dict(headers or {})
        if type:
            sent["Content-Type"] = type
        if accept:
            sent["Accept"] = accept
        if user:
            sent["Impersonate-User"] = user
        if groups:
            sent["Impersonate-Group"] = ",".join(groups)
        if sent:
            step["headers"] = sent
        data = None
        if isinstance(body, dict) and set(body) == {"file"}:
            with open(os.path.join(self.corpus, body["file"]), "rb") as f:
                data = f.read()
        elif isinstance(body, dict) and set(body) == {"base64"}:
            data = base64.b64decode(body["base64"])
        elif isinstance(body, bytes):
            data = body
            body = {"base64": base64.b64encode(body).decode()}
        elif isinstance(body, str):
            data = self.fill(body).encode()
        elif body is not None:
            data = self.fill(json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)).encode()  # as the replay writes it
        if body is not None:
            # A document reader may not keep how a number was written, and upstream tells 1.0 from 1.
            step["body"] = data.decode() if has_whole_floats(body) else body
        if save:
            step["save"] = save
        if keep is not None:
            step["keep"] = keep
        wire = {"Accept": "application/json", "User-Agent": "recorder/1", **{name: sent_bytes(value) for name, value in sent.items()}}
        if data is not None:
            wire.setdefault("Content-Type", "application/json")
        if groups:  # a header that repeats
            wire.pop("Impersonate-Group")
        if raw or (self.heads or "%zz" in path) and not groups:
            response = self.unaltered(method, self.fill(path), data, wire)
        elif groups:
            response = self.with_groups(method, self.fill(path), data, wire, groups)
        else:
            response = self.server.call(method, self.fill(path), data=data, headers=wire)
        step["code"] = response.status_code
        kind = response.headers.get("Content-Type", "")
        if kind != "application/json":
            step["type"] = kind
        warnings = re.findall(r'299 - "((?:[^"\\]|\\.)*)"', utf8(response.headers.get("Warning", "")))
        if warnings:
            step["warnings"] = [self.text(re.sub(r"\\(.)", r"\1", w)) for w in warnings]
        if self.heads:
            step["heads"] = self.told(response.headers, sent)
        raw = None
        if written:
            step["raw"] = True
        if method == "HEAD":
            pass
        elif "protobuf" in kind:
            step["answer"] = self.frames(response.content) if "stream=watch" in kind else self.piece(response.content)
        elif written:
            step["answer"] = WRITTEN.sub(r"\1N", self.text(response.text))
        elif "json" in kind:
            lines = [line for line in response.text.split("\n") if line.strip()]
            try:
                raw = json.loads(response.text)
                answer = self.normal(raw)
                if keep is not None and is_event(answer, keep):
                    answer = kept_of_event(answer, keep)
            except json.JSONDecodeError:
                answer = [self.normal(json.loads(line)) for line in lines]
                if keep is not None:
                    answer = [kept_of_event(event, keep) for event in answer]
            if keep is not None and isinstance(answer, dict) and answer.get("kind") != "Status" and not is_event(answer, keep):
                answer = kept(answer, keep)
            step["answer"] = answer
        elif "yaml" in kind:
            answer = self.normal(yaml.load(response.text, Loader=yaml.BaseLoader))
            status = isinstance(answer, dict) and answer.get("kind") == "Status"
            step["answer"] = answer if keep is None or status else kept(answer, keep)
        elif response.text and not (keep is not None and len(response.text) > LONG):
            step["answer"] = self.text(response.text)
        for name, where in (save or {}).items():
            value = raw
            for part in where.split("."):
                value = value[int(part)] if isinstance(value, list) else value[part]
            self.saved[name] = str(value)
        self.steps.append(step)
        return raw

    def serve_hooks(self, hooks):
        """From here on `${good}` and the other names of hook.SERVERS stand for addresses, and `${bundle}` for whom they are trusted by."""
        self.hooks = hooks
        for name, port in hooks.names.items():
            self.saved[name] = f"127.0.0.1:{port}"
            self.saved[f"port_{name}"] = str(port)
            self.places[f"127.0.0.1:{port}"] = f"HOOK-{name}"
        self.saved["bundle"] = hooks.bundle
        self.places[hooks.bundle] = "BUNDLE"

    def until(self, path, where, what, accept=None):
        """Asks, unrecorded, until a member of the answer has this in it (`code`: the status); `*` stands for any index. The replay does so too."""
        step = {"until": path, "where": where, "what": what, **({"accept": accept} if accept else {})}
        deadline = time.time() + 60
        while time.time() < deadline:
            response = self.server.call("GET", path, headers={"Accept": accept or "application/json"})
            if where == "code":
                found = [response.status_code]
            else:
                try:
                    found = [response.json()]
                except json.JSONDecodeError:
                    found = []
            for part in where.split(".") if where != "code" else ():
                found = [inner for value in found for inner in members(value, part)]
            if any(str(what) in str(value) for value in found):
                self.steps.append(step)
                return
            time.sleep(0.1)
        raise SystemExit(f"{path}: {where} is not {what}: {response.text[:1000]}")

    def picked(self, path, among, where, what, accept=None):
        """Asks, and writes down the one of a list in the answer whose member says this."""
        answer = self.server.call("GET", path, headers={"Accept": accept or "application/json"}).json()
        found = [one for one in answer[among] if what in [inner for inner in deep(one, where.split("."))]]
        self.steps.append({"picked": path, "among": among, "where": where, "what": what, **({"accept": accept} if accept else {}), "answer": self.normal(found)})

    def members(self, path, *members, accept=None):
        """Asks, and writes down these members of the answer, each told by the keys that lead to it."""
        answer = self.server.call("GET", path, headers={"Accept": accept or "application/json"}).json()
        found = []
        for keys in members:
            value = answer
            for key in keys:
                value = value.get(key) if isinstance(value, dict) else None
            found.append(value)
        self.steps.append({"members": path, "of": members, **({"accept": accept} if accept else {}), "answer": self.normal(found)})

    def serve_backends(self, backends):
        """From here on the names of backend.SERVERS stand for ports and `${outside}` for the address that they are at."""
        self.hooks = backends
        outside = backends.names["outside"]
        for name, place in backends.names.items():
            self.saved[name] = str(place)
            if name != "outside":
                self.places[f"{outside}:{place}"] = f"OUTSIDE:{name}"
                self.places[f"127.0.0.1:{place}"] = f"NEAR:{name}"
                self.places[f":{place}"] = f":{name}"
        self.places[f"127.0.0.1:{self.server.port}"] = "SERVER"
        self.places[outside] = "OUTSIDE"

    def serve(self, paths=None, **table):
        """Says what the webhooks answer at these paths (without the first `/`), beside what was said before."""
        table = {f"/{path}": answer for path, answer in [*(paths or {}).items(), *table.items()]}
        with self.hooks.lock:
            self.hooks.table.update(table)
        self.steps.append({"serve": table})

    def forget(self):
        """What the webhooks were asked so far is not written down."""
        with self.hooks.lock:
            self.hooks.asked = []
        self.steps.append({"forget": True})

    def asked_to_convert(self):
        """Writes down which conversions the webhooks were asked for since the last time, each once: how often is a matter of caches."""
        with self.hooks.lock:
            asked, self.hooks.asked = self.hooks.asked, []
        made = {}
        for one in asked:
            for review in conversions(one):
                made[json.dumps(review, sort_keys=True)] = review
        self.steps.append({"converted": [made[key] for key in sorted(made)]})

    def asked(self, kind=None):
        """Writes down what the webhooks were asked since the last time, or of it the reviews of a kind."""
        with self.hooks.lock:
            asked, self.hooks.asked = self.hooks.asked, []
        if kind:
            asked = [a for a in asked if a["body"]["kind"] == kind]
        # those of one request may come at once
        self.steps.append({"asked": sorted((self.normal(a) for a in asked), key=lambda a: a["do"]), **({"kind": kind} if kind else {})})

    def talk(self, method, path, headers, say=b"", user=None, groups=(), until=None):
        """Leaves HTTP: sends a request that asks for an upgrade, and then some bytes. The head of the answer is written down, and what
        came after it until what was sent has come back, or the end, or `until`: then it is told by the messages of a
        WebSocket; nothing if nothing is sent or waited for."""
        import socket
        import ssl
        step = {"do": f"{method} {path}", "headers": headers, "talk": say.decode("latin-1"), **({"until": until.decode("latin-1")} if until else {})}
        until = until or say
        if user:
            headers = {**headers, "Impersonate-User": user}
            step["headers"] = headers
        context = ssl._create_unverified_context()
        with socket.create_connection(("127.0.0.1", self.server.port)) as raw, context.wrap_socket(raw) as connection:
            connection.settimeout(10)
            lines = [f"{method} {self.fill(path)} HTTP/1.1", f"Host: 127.0.0.1:{self.server.port}", "Authorization: Bearer recorder", *(f"{k}: {v}" for k, v in headers.items())]
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            came = b""
            try:
                while b"\r\n\r\n" not in came and (part := connection.recv(4096)):
                    came += part
            except (TimeoutError, ConnectionError):
                pass
            if not came:  # what a panic of a handler comes to
                self.steps.append({**step, "code": 0})
                return
            head, _, rest = came.partition(b"\r\n\r\n")
            status, *lines = head.decode("latin-1").split("\r\n")
            code = int(status.split(" ")[1])
            heads = {}
            for line in sorted(lines):
                name, _, value = line.partition(": ")
                name = name.lower()
                if name == "date":
                    continue
                value = "ID" if name == "audit-id" or name.startswith("x-kubernetes-pf-") else self.text(value)
                heads[name] = f"{heads[name]}, {value}" if name in heads else value
            try:
                if code == 101:
                    connection.sendall(say)
                    rest = rest if until else b""
                wanted = int(heads.get("content-length", 1 << 20))
                while (len(rest) < wanted if code != 101 else not rest.endswith(until)) and (part := connection.recv(4096)):
                    rest += part
            except (TimeoutError, ConnectionError):
                pass
        told = self.text(rest.decode("latin-1")) if until == say or code != 101 else [self.text(m) for m in messages(rest)]
        self.steps.append({**step, "code": code, "heads": heads, "answer": told})

    def unaltered(self, method, path, data, wire):
        import http.client
        import ssl

        import requests
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, context=ssl._create_unverified_context(), timeout=60)
        connection._validate_path = lambda path: None
        connection.putrequest(method, path, skip_host="Host" in wire, skip_accept_encoding=True)
        for name, value in {"Authorization": "Bearer recorder", **wire}.items():
            connection.putheader(name, value)
        if data is not None or method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(data or b"")))
        connection.endheaders(data)
        response = requests.Response()
        try:
            answer = connection.getresponse()
            response.status_code, response._content = answer.status, answer.read()
        except (http.client.RemoteDisconnected, http.client.IncompleteRead):  # what a panic of a handler comes to
            response.status_code, response._content = 0, b""
            return response
        response.encoding = "utf-8"
        joined = {}
        for name, value in answer.getheaders():
            value = value.encode("latin-1").decode(errors="replace")
            joined[name] = f"{joined[name]}, {value}" if name in joined else value
        response.headers = requests.structures.CaseInsensitiveDict(joined)
        connection.close()
        return response

    def told(self, headers, sent):
        """The headers that an answer has beside those that are written down anyway, or are of the connection alone."""
        made = {}
        for name, value in sorted((name.lower(), value) for name, value in headers.items()):
            if name in ("date", "content-length", "content-type", "warning", "transfer-encoding", "connection"):
                continue
            if name.startswith("x-kubernetes-pf-"):
                value = self.text(value) if self.flows else "ID"
            if name == "audit-id" and value not in sent.values():
                value = "ID"
            if name in ("etag", "last-modified"):
                value = name.upper()
            for place, symbol in self.places.items():
                value = value.replace(place, symbol)
            made[name] = value
        return made

    def with_groups(self, method, path, data, wire, groups):
        import requests
        # requests cannot repeat a header; one call with urllib3 can
        import urllib3
        pool = urllib3.PoolManager(cert_reqs="CERT_NONE", assert_hostname=False)
        head = urllib3.HTTPHeaderDict(wire)
        head.add("Authorization", "Bearer recorder")
        for group in groups:
            head.add("Impersonate-Group", group)
        answer = pool.request(method, f"https://127.0.0.1:{self.server.port}{path}", body=data, headers=head, timeout=60)
        response = requests.Response()
        response.status_code, response._content = answer.status, answer.data
        response.headers = requests.structures.CaseInsensitiveDict(answer.headers)
        return response

    def crd(self, body, keep=("status",), **more):
        """Creates a CRD and waits, unrecorded, until it is served or refused."""
        created = self.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body, keep=list(keep), **more)
        if created.get("kind") == "CustomResourceDefinition":
            self.wait_served(created["metadata"]["name"])
        return created

    def wait_served(self, name):
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
        deadline = time.time() + 30
        while time.time() < deadline:
            crd = self.server.call("GET", path).json()
            conditions = {c["type"]: c["status"] for c in crd["status"].get("conditions") or []}
            if conditions.get("NamesAccepted") == "False":
                return
            if conditions.get("Established") == "True" and all(
                    self.server.call("GET", f"/apis/{crd['spec']['group']}/{v['name']}/{crd['spec']['names']['plural']}").status_code != 404
                    for v in crd["spec"]["versions"] if v["served"]):
                self.settle(1.2)
                return
            time.sleep(0.1)
        raise SystemExit(f"{name} was not established in 30 s: {crd.get('status')}")

    def settle(self, seconds=2):
        """Gives the real server's controllers time; the replay does not need it."""
        time.sleep(seconds)

    # --- protobuf, without knowing what it is of: what looks like text is text, what can be read as a message is one

    def frames(self, data):
        made = []
        while data:
            end = 4 + int.from_bytes(data[:4], "big")
            made.append(self.message(data[4:end]))
            data = data[end:]
        return made

    def piece(self, data):
        if data.startswith(b"k8s\0"):
            return ["k8s", *self.message(data[4:])]
        try:
            text = data.decode()
            if all(c >= " " and c != "\x7f" or c in "\n\t" for c in text):
                return "N" if text.isdigit() else self.text(text)
        except UnicodeDecodeError:
            pass
        message = self.message(data)
        return data.hex() if message is None else message

    def message(self, data):
        """The fields as [tag, value]; None if it is no message."""
        made, at = [], 0

        def varint():
            nonlocal at
            value = shift = 0
            while True:
                byte = data[at]
                at += 1
                value |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    return value

        try:
            while at < len(data):
                key = varint()
                if key & 7 == 0:
                    number = (varint() + 2**63) % 2**64 - 2**63
                    made.append([key >> 3, "TIME" if 1_700_000_000 < number < 2_000_000_000 else number])
                elif key & 7 == 1:
                    made.append([key >> 3, data[at:at + 8].hex()])
                    at += 8
                elif key & 7 == 2:
                    end = varint() + at
                    if end > len(data):
                        return None
                    made.append([key >> 3, self.piece(data[at:end])])
                    at = end
                else:
                    return None
        except IndexError:
            return None
        return made

    # --- normalising

    def fill(self, text):
        text = REPEAT.sub(lambda m: m.group(1) * int(m.group(2)), text)
        return re.sub(r"\$\{(\w+)\}", lambda m: self.saved[m.group(1)], text)

    def symbol(self, kind, value):
        known = self.names[kind]
        return known.setdefault(value, f"{kind}-{len(known) + 1}")

    def text(self, text):
        for place, name in self.places.items():
            text = text.replace(place, name)
        text = PORT.sub(r"\1:PORT", text)
        text = RUN.sub(lambda m: "${%s*%d}" % (m.group(1), len(m.group(0))), text)
        text = UUID.sub(lambda m: self.symbol("uid", m.group(0)), text)
        text = TIME.sub(lambda m: "TIME" if near_now(m.group(0)) else m.group(0), text)
        text = DUMP.sub('Invalid value: "{...}": ', text)  # a whole object in the order of Go's structs
        if text.startswith("\napiserver flagz\n"):
            text = text[:text.index("only.\n") + 6]  # what follows depends on how the server was started
        text = PROCESS.sub(lambda m: f"{m.group(1)}: {m.group(1).upper() if m.group(1) in ('Started', 'Up', 'Go version') else m.group(2)}", text)
        return VERSIONS.sub(r"\1N", text)

    def normal(self, value, key=None, listed=False):
        if isinstance(value, dict):
            if value.get("type") == "BOOKMARK":
                value = unversioned(value)  # how far the store is depends on what else it does
            made = {}
            generated = value.get("generateName") if isinstance(value.get("generateName"), str) else None
            is_list = "items" in value and isinstance(value.get("metadata"), dict) and str(value.get("kind", "")).endswith("List")
            is_table = value.get("kind") == "Table"
            for k, v in sorted(value.items()):  # names are given in this order
                if k == "resourceVersion" and isinstance(v, str) and v.isdigit():
                    made[k] = "RV" if listed else self.symbol("rv", v)
                elif k == "continue" and isinstance(v, str) and v:
                    made[k] = "CONTINUE"
                elif k == "name" and generated and isinstance(v, str) and v.startswith(generated):
                    made[k] = generated + "XXXXX"
                elif k in ("clusterIP",) and isinstance(v, str) and re.match(r"\d", v):
                    made[k] = "IP"
                elif k == "clusterIPs" and isinstance(v, list):
                    made[k] = ["IP" if re.match(r"\d", str(x)) else x for x in v]
                elif k in ("nodePort", "healthCheckNodePort") and isinstance(v, int) and v >= 30000:
                    made[k] = 30000
                elif k == "uptimeSeconds":
                    made[k] = "UP"
                elif k == "goVersion":
                    made[k] = "GO"
                elif k == "managedFields" and isinstance(v, list):
                    # upstream orders them by time first, and times are of the clock
                    made[k] = sorted((self.normal(x, k) for x in v), key=lambda x: json.dumps(x, sort_keys=True))
                else:
                    made[k] = self.normal(v, k, listed=(is_list or is_table) and k == "metadata")
                if k == "port" and isinstance(v, int) and f"127.0.0.1:{v}" in self.places:
                    made[k] = self.places[f"127.0.0.1:{v}"]
            causes = (value.get("details") or {}).get("causes") if value.get("kind") == "Status" and isinstance(value.get("details"), dict) else None
            if causes and len(causes) > 1:
                # several causes come in the order of a Go map
                made["details"]["causes"] = sorted(made["details"]["causes"], key=lambda c: json.dumps(c, sort_keys=True))
                if made.get("reason") == "Invalid":
                    made.pop("message")
            return made
        if isinstance(value, list):
            return [self.normal(v, key) for v in value]
        if isinstance(value, str):
            if key == "cells" and AGE.match(value):
                return "AGE"
            if key == "since" and DAY.match(value):
                return "DAY"
            return self.text(value)
        return value


def sent_bytes(value):
    """A header as the client library takes it, which writes characters as bytes of that number."""
    return value["latin-1"] if isinstance(value, dict) else value


def conversions(asked):
    """What a conversion webhook was asked, one object at a time: lists are asked in parts of any size."""
    request = asked["body"]["request"]
    for o in request["objects"]:
        metadata = {key: "SET" if key in ("uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionTimestamp") else value for key, value in o["metadata"].items()}
        yield {**asked, "body": {**asked["body"], "request": {**request, "uid": "UID", "objects": [{**o, "metadata": metadata}]}}}


def members(value, part):
    if isinstance(value, list):
        return value if part == "*" else [value[int(part)]] if int(part) < len(value) else []
    return [value[part]] if isinstance(value, dict) and part in value else []


def deep(value, parts):
    found = [value]
    for part in parts:
        found = [inner for one in found for inner in members(one, part)]
    return found


def utf8(header):
    """A header whose bytes the client library took for characters of that number."""
    try:
        return header.encode("latin-1").decode(errors="replace")
    except UnicodeEncodeError:
        return header


def has_whole_floats(value):
    if isinstance(value, float):
        return value.is_integer()
    return any(map(has_whole_floats, value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()))


def is_event(answer, keep):
    """Whether an answer is the one event of a watch, of whose object something is kept."""
    return isinstance(answer, dict) and set(answer) == {"type", "object"} and "type" not in keep


def kept_of_event(event, keep):
    """An event whose object has the members that are named, unless it is a failure."""
    return event if event["object"].get("kind") == "Status" else {**event, "object": kept(event["object"], keep)}


def kept(answer, keep):
    """The members of an answer that are named; a.b is one inside, absent where it is not there."""
    made = {}
    for name in keep:
        first, _, rest = name.partition(".")
        if first not in answer:
            continue
        if not rest:
            made[first] = answer[first]
        elif isinstance(answer[first], dict):
            made[first] = {**made.get(first, {}), **kept(answer[first], [rest])}
    return made


def unversioned(value):
    if isinstance(value, dict):
        return {k: "RV" if k == "resourceVersion" else unversioned(v) for k, v in value.items()}
    return [unversioned(v) for v in value] if isinstance(value, list) else value


def near_now(text):
    try:
        when = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return False
    return abs((when - datetime.datetime.now(datetime.timezone.utc)).total_seconds()) < 2 * 86400
