"""Documents that are sent and not stored: bindings, evictions, requests for tokens, reviews. What is told of fields that nobody knows,
of other places than that of the path, and of bodies of other shapes."""
import json

from made import CORE, obj, pod

AUTHN, AUTHZ = "/apis/authentication.k8s.io/v1", "/apis/authorization.k8s.io/v1"
PLACE = {"verb": "get", "resource": "pods", "namespace": "default"}
ASKED = [
    (f"{CORE}/pods/p/eviction", obj("policy/v1", "Eviction", "p", deleteOptions={"dryRun": ["All"]}), "deleteOptions"),
    (f"{CORE}/pods/p/binding", obj("v1", "Binding", "p", target={"kind": "Node", "name": "n"}), "target"),
    (f"{CORE}/bindings", obj("v1", "Binding", "p", target={"kind": "Node", "name": "n"}), "target"),
    (f"{CORE}/serviceaccounts/default/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["a"], "expirationSeconds": 5}}, "spec"),
    (f"{AUTHN}/tokenreviews", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "none"}}, "spec"),
    (f"{AUTHN}/selfsubjectreviews", {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}, "metadata"),
    (f"{AUTHZ}/subjectaccessreviews", {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": "eve", "resourceAttributes": PLACE}}, "spec"),
    (f"{AUTHZ}/selfsubjectaccessreviews", {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": PLACE}}, "spec"),
    (f"{AUTHZ}/namespaces/default/localsubjectaccessreviews", {"apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", "metadata": {"namespace": "default"}, "spec": {"user": "eve", "resourceAttributes": PLACE}}, "spec"),
    (f"{AUTHZ}/selfsubjectrulesreviews", {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "default"}}, "spec"),
]


def run(t):
    t.post(f"{CORE}/serviceaccounts", obj("v1", "ServiceAccount", "default"), keep=["kind"])
    t.post(f"{CORE}/pods", pod("p"), keep=["kind"])
    for path, body, part in ASKED:
        ask = lambda sent, query="", **more: t.post(f"{path}?dryRun=All{query}", sent, **more)
        kept = {"keep": ["kind", "message", "reason", "code"]} if "rules" in path else {}
        inner = {**body.get(part, {}), "nope": {"a": 1}}
        for query in ("", "&fieldValidation=Warn", "&fieldValidation=Strict", "&fieldValidation=Ignore", "&fieldValidation=No"):
            ask({**body, "nope": 1, "Kind": "x"}, query, **kept)
            ask({**body, part: inner}, query, **kept)
            ask(json.dumps(body)[:-1] + f', "kind": "{body["kind"]}", "nope": 1, "nope": 2}}', query, **kept)
        ask(json.dumps(body).replace('"kind"', '"KIND"', 1), **kept)
        t.call("POST", f"{path}?dryRun=All", f"apiVersion: {body['apiVersion']}\nkind: {body['kind']}\nkind: {body['kind']}\nnope: 1\n", type="application/yaml", **kept)
        t.call("POST", f"{path}?dryRun=All&fieldValidation=Strict", f"apiVersion: {body['apiVersion']}\nkind: {body['kind']}\nkind: {body['kind']}\nnope: 1\n", type="application/yaml", **kept)
        for meta in ({"namespace": "other"}, {"namespace": ""}, {"name": ""}, {"name": "q"}, {"generateName": "g"}, {"labels": {"a b": "c"}}, {"nope": 1}, {"creationTimestamp": None}, {"creationTimestamp": "today"}):
            ask({**body, "metadata": {**body.get("metadata", {}), **meta}}, **kept)
        for sent in ({**body, "kind": "Other"}, {**body, "apiVersion": "v9"}, {k: v for k, v in body.items() if k not in ("kind", "apiVersion")}, {**body, part: None}, {**body, part: []}, {**body, part: "text"}, "", "null", "[]", "text", "{"):
            ask(sent, **kept)
