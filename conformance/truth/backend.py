"""What stands behind nodes, pods and Services in a recorded conversation: servers that answer, letter by letter, as a table says."""
import base64
import os
import socket
import ssl
import threading

from hook import authority, pem
from cryptography.hazmat.primitives import serialization

# The servers, and whether they speak TLS: those of one address that is not loopback, for which upstream proxies.
SERVERS = {"plain": False, "kubelet": True, "near": True}


def own_address():
    """The address that this machine has in its network. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(("192.0.2.1", 9))
        return s.getsockname()[0]


class Backends:
    """All of SERVERS while a `with` block lasts; `near` listens on loopback. Each name stands for a port, `outside` for the address."""

    def __enter__(self):
        self.table, self.asked, self.lock = {}, [], threading.Lock()
        self.names, self.listeners = {"outside": own_address()}, []
        certificate, key = authority("kubelet")
        path = os.path.join("/tmp", f"backend-{os.getpid()}.pem")
        with open(path, "wb") as f:
            f.write(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
            f.write(pem(certificate))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        os.remove(path)
        for name, secure in SERVERS.items():
            listener = socket.create_server(("127.0.0.1" if name == "near" else self.names["outside"], 0))
            self.listeners.append(listener)
            self.names[name] = listener.getsockname()[1]
            threading.Thread(target=self.accept, args=(listener, context if secure else None), daemon=True).start()
        with socket.create_server((self.names["outside"], 0)) as gone:
            self.names["gone"] = gone.getsockname()[1]
        return self

    def __exit__(self, *_):
        for listener in self.listeners:
            listener.close()

    def accept(self, listener, context):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection, context), daemon=True).start()

    def serve(self, connection, context):
        """Whoever speaks TLS where none is spoken, or none where it is, is told in plain words, as Go's servers do."""
        try:
            if connection.recv(1, socket.MSG_PEEK) == b"\x16" and not context:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                connection.close()
                return
            if context:
                if connection.recv(1, socket.MSG_PEEK) != b"\x16":
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
                    connection.close()
                    return
                connection = context.wrap_socket(connection, server_side=True)
            connection.settimeout(30)
            with connection, connection.makefile("rb") as reader:
                while self.talk(connection, reader):
                    pass
        except OSError:
            pass

    def talk(self, connection, reader):
        """Answers one request; whether there may be another."""
        line = reader.readline().decode("latin-1").strip()
        if not line:
            return False
        headers, length, chunked = {}, 0, False
        while header := reader.readline().decode("latin-1").strip():
            name, _, value = header.partition(":")
            name, value = name.lower(), value.strip()
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        length = int(headers.get("content-length", 0))
        body = reader.read(length)
        while headers.get("transfer-encoding") == "chunked":
            part = reader.read(int(reader.readline(), 16))
            reader.readline()
            body += part
            if not part:
                break
        if line.count(" ") != 2:
            return False
        method, target, _ = line.split(" ")
        with self.lock:
            self.asked.append({"do": f"{method} {target}", "headers": headers, **({"body": body.decode()} if body else {})})
            said = self.table.get(target.partition("?")[0], {"raw": "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nno such path\n"})
        connection.sendall(self.fill(said))
        if said.get("then") == "echo":
            while data := reader.read1(4096):
                connection.sendall(data)
        return said.get("then") is None

    def fill(self, said):
        head, _, text = said["raw"].partition("\r\n\r\n")
        for name, place in self.names.items():
            head, text = (part.replace("${%s}" % name, str(place)) for part in (head, text))
        data = base64.b64decode(said["base64"]) if "base64" in said else text.encode()
        return head.replace("Content-Length: *", f"Content-Length: {len(data)}").encode("latin-1") + b"\r\n\r\n" * ("\r\n\r\n" in said["raw"]) + data
