"""Exec and attach over WebSocket of a pod whose kubelet speaks SPDY alone: all that is said until the end, for kubelets that
do not do what they are asked. (Kubelets are asked after the answer to a WebSocket: what they are asked is told at the end.)"""
from backend import Backends
from topics.kubelets import PODS, SOCKET, node, pod
from topics.proxies import answer

END = b"\x88\x02\x03\xe8"  # closed, and nothing is wrong
V5 = {**SOCKET, "Sec-WebSocket-Protocol": "v5.channel.k8s.io"}
JSON = {"Content_Type": "application/json"}


def run(t):
    with Backends() as backends:
        t.serve_backends(backends)
        t.heads = True
        t.get("/api/v1/namespaces/default", keep=["kind"])
        node(t, "n", ("InternalIP", "${outside}"))
        node(t, "gone", ("InternalIP", "${outside}"), port="${gone}")
        node(t, "plain", ("InternalIP", "${outside}"), port="${plain}")
        for name, on in (("p", "n"), ("gone", "gone"), ("plain", "plain")):
            pod(t, name, on)
        refused(t)
        streams(t)


def ask(t, name="p", sub="exec", query="command=ls&stdout=true"):
    t.talk("GET", f"{PODS}/{name}/{sub}?{query}", V5, until=END)


def refused(t):
    ask(t, "gone")
    ask(t, "gone", "attach", "stdin=true&tty=true")
    ask(t, "plain")
    where = "exec/default/p/c"
    switching = "HTTP/1.1 101 Switching Protocols\r\n"
    for said in (
        *(answer(f"why {status[:3]}\n", status) for status in ("200 OK", "302 Found", "400 Bad Request", "403 Forbidden", "404 Not Found", "500 Internal Server Error")),
        *(answer("moved\n", status, Location="/elsewhere?a=b") for status in ("301 Moved Permanently", "302 Found", "303 See Other", "304 Not Modified", "307 Temporary Redirect", "308 Permanent Redirect")),
        answer("", "403 Forbidden"), answer(" \n", "403 Forbidden"), answer("a <b> & \"c\"\u2028é\n", "400 Bad Request"),
        answer('{"message": " of json ", "error": "other"}', "403 Forbidden", **JSON), answer('{"message": " ", "error": "of json"}', "403 Forbidden"),
        answer('{"message": 1, "error": "of json"}', "403 Forbidden"), answer('["message"]', "403 Forbidden"), answer("{}", "403 Forbidden"),
        {"raw": "", "then": "close"}, {"raw": "not http at all\r\n\r\n", "then": "close"}, {"raw": "HTTP/1.1 403 Forbidden\r\n", "then": "close"},
        {"raw": "HTTP/1.1 403 Forbidden\r\nContent-Length: 10\r\n\r\nno", "then": "close"}, {"raw": "HTTP/1.1 403 Forbidden\r\n\r\nuntil the end", "then": "close"},
        {"raw": switching + "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n", "then": "close"},
        {"raw": switching + "Upgrade: SPDY/3.1\r\n\r\n", "then": "close"},
    ):
        t.serve({where: said})
        ask(t)
    t.asked()


def streams(t):
    """Which channel is told that there is a session, and what is asked of the kubelet."""
    t.serve({f"{sub}/default/p/c": answer("why not\n", "403 Forbidden") for sub in ("exec", "attach")})
    for query in ("stdout=true", "stderr=true", "stdin=true", "stdin=true&stderr=true", "stdout=true&stderr=true", "stdin=true&tty=true", "stdout=true&tty=true", "stderr=true&tty=true", "stdin=true&stdout=true&stderr=true&tty=true", ""):
        ask(t, query=f"command=a&command=b%20c&{query}")
        ask(t, sub="attach", query=query)
    t.asked()
