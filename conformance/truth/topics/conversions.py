"""Conversion webhooks: every answer that is none, as a read of one object, a write and a list tell it."""
from hook import Hooks
from topics.crd import C, crd, version

R = "/apis/example.com/%s/namespaces/default/rafts"
OLD, NEW = R % "v1", R % "v2"
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}, "s": {"type": "string"}, "only%s": {"type": "string"}, "by%s": {"type": "string", "default": "default of %s"}, "big": {"type": "string"}}},
                                           "status": {"type": "object", "properties": {"n": {"type": "integer"}, "selector": {"type": "string"}}}}}


def schema(number):
    """A schema whose members `onlyN` and `byN` are of one version alone; the second has a default."""
    spec = SCHEMA["properties"]["spec"]
    members = {key.replace("%s", number): {**value, **({"default": f"of {number}"} if "default" in value else {})} for key, value in spec["properties"].items()}
    return {**SCHEMA, "properties": {**SCHEMA["properties"], "spec": {**spec, "properties": members}}}


def both(storage="v1", **more):
    return [version(f"v{number}", storage=f"v{number}" == storage, schema=schema(number), **more) for number in "12"]


def webhook(url="https://${good}/convert", versions=("v1",), **client):
    return {"strategy": "Webhook", "webhook": {"clientConfig": client or {"url": url, "caBundle": "${bundle}"}, "conversionReviewVersions": list(versions)}}


def rafts(conversion=None, versions=None, plural="rafts", **more):
    return crd(plural, plural[:-1].capitalize(), versions=versions or both(), conversion=conversion or webhook(), **more)


def raft(name="a", api="v1", kind="Raft", **more):
    return {"apiVersion": f"example.com/{api}", "kind": kind, "metadata": {"name": name, **more.pop("metadata", {})}, "spec": {"n": 1, "s": "x"}, **more}


def answers(**change):
    return {"convert": {"answer": change}}


def changed(**merge):
    return {"convert": {"merge": merge}}


# What a webhook says that does not convert.
WRONG = {
    # the whole answer
    "wrongKind": answers(kind="Conversion"), "noKind": answers(kind=None), "wrongVersion": answers(apiVersion="apiextensions.k8s.io/v1beta1"), "unknownVersion": answers(apiVersion="apiextensions.k8s.io/v9"), "wrongGroup": answers(apiVersion="example.com/v1"), "otherKind": answers(kind="CustomResourceDefinition"), "noVersion": answers(apiVersion=None),
    "bare": answers(apiVersion=None, kind=None), "core": answers(apiVersion="v1", kind="Pod"), "noResponse": answers(response=None), "listResponse": answers(response=[]), "textResponse": answers(response="no"), "moreFields": answers(extra=1),
    "empty": {"body": ""}, "text": {"body": "hello"}, "blank": {"body": "  "}, "yaml": {"body": "apiVersion: apiextensions.k8s.io/v1\nkind: ConversionReview\n"}, "list": {"body": []}, "null": {"body": "null"}, "number": {"body": "5"}, "cut": {"body": '{"apiVersion": "apiextensions.k8s.io/v1", "kind"'}, "braces": {"body": "{}"},
    "statusBody": {"body": {"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "told", "reason": "Told", "code": 409}}, "successBody": {"body": {"apiVersion": "v1", "kind": "Status", "status": "Success"}},
    "otherType": {**answers(), "headers": {"Content-Type": "text/plain"}}, "noType": {**answers(), "headers": {}}, "yamlType": {**answers(), "headers": {"Content-Type": "application/yaml"}}, "protoType": {**answers(), "headers": {"Content-Type": "application/vnd.kubernetes.protobuf"}}, "badType": {**answers(), "headers": {"Content-Type": "a;b=;"}},
    # the response
    "wrongUid": answers(response={"uid": "x"}), "noUid": answers(response={"uid": None}), "numberUid": answers(response={"uid": 5}), "noResult": answers(response={"result": None}), "emptyResult": answers(response={"result": {"status": None}}), "oddStatus": answers(response={"result": {"status": "success"}}),
    "failure": answers(response={"result": {"status": "Failure"}}), "failureMessage": answers(response={"result": {"status": "Failure", "message": "no \"way\"\nat all"}}), "failureReason": answers(response={"result": {"status": "Failure", "reason": "Conflict", "code": 409, "details": {"name": "x"}}}), "failureBoth": answers(response={"result": {"status": "Failure", "reason": "Conflict", "message": "it is so", "code": 409}}),
    "successMessage": answers(response={"result": {"message": "fine"}}), "textResult": answers(response={"result": "Success"}), "numberMessage": answers(response={"result": {"status": "Failure", "message": 5}}),
    "failureUid": answers(response={"uid": "x", "result": {"status": "Failure", "message": "no"}}),
    # the objects
    "noObjects": answers(response={"convertedObjects": None}), "fewer": {"convert": {"keep": 0}}, "more": {"convert": {"more": [raft("more", "v2")]}}, "textObjects": answers(response={"convertedObjects": "x"}), "objectObjects": answers(response={"convertedObjects": {}}),
    "nullObject": {"convert": {"keep": 0, "more": [None]}}, "textObject": {"convert": {"keep": 0, "more": ["x"]}}, "numberObject": {"convert": {"keep": 0, "more": [5]}}, "listObject": {"convert": {"keep": 0, "more": [[]]}}, "boolObject": {"convert": {"keep": 0, "more": [True]}}, "emptyObject": {"convert": {"keep": 0, "more": [{}]}},
    "objectList": {"convert": {"keep": 0, "more": [{"apiVersion": "example.com/v2", "kind": "RaftList", "items": []}]}}, "objectNoKind": changed(kind=None), "objectNoVersion": changed(apiVersion=None), "objectKind": changed(kind="Ship"), "objectVersion": changed(apiVersion="example.com/v3"), "objectSame": changed(apiVersion="example.com/v1"),
    "objectGroup": changed(apiVersion="other.com/v2"), "objectCore": changed(apiVersion="v2"), "objectSlashes": changed(apiVersion="a/b/c"), "numberKind": changed(kind=5), "numberVersion": changed(apiVersion=5),
    # the metadata
    "name": changed(metadata={"name": "other"}), "noName": changed(metadata={"name": None}), "numberName": changed(metadata={"name": 5}), "namespace": changed(metadata={"namespace": "other"}), "noNamespace": changed(metadata={"namespace": None}), "uid": changed(metadata={"uid": "other"}), "noUidIn": changed(metadata={"uid": None}),
    "noMetadata": changed(metadata=None), "textMetadata": {"convert": {"merge": {"metadata": "x"}}}, "labels": changed(metadata={"labels": {"a": "b", "more": "c"}}), "noLabels": changed(metadata={"labels": None}), "listLabels": changed(metadata={"labels": []}), "numberLabel": changed(metadata={"labels": {"a": 5}}), "badLabel": changed(metadata={"labels": {"a b": "c"}}),
    "annotations": changed(metadata={"annotations": {"a": "b"}}), "badAnnotation": changed(metadata={"annotations": {"a b": "c"}}), "textAnnotations": changed(metadata={"annotations": "x"}), "nullAnnotation": {"convert": {"merge": {"metadata": {"annotations": {"a": True}}}}},
    "otherMetadata": changed(metadata={"generation": 99, "resourceVersion": "5", "finalizers": ["example.com/x"], "creationTimestamp": "2001-01-01T00:00:00Z", "generateName": "g", "managedFields": [], "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}], "unknown": 1}),
    # the content
    "unknown": changed(spec={"only1": "x", "only2": "y", "odd": {"deep": 1}}, odd=1), "invalid": changed(spec={"n": 99}), "wrongType": changed(spec={"n": "many", "s": 5}), "nullMember": {"convert": {"more": [], "merge": {"spec": {"s": "y", "by2": ""}}}}, "noSpec": changed(spec=None), "textSpec": {"convert": {"merge": {"spec": "x"}}}, "status": changed(status={"n": 5}),
    "big": {"convert": {"big": 200_000}}, "floats": changed(spec={"n": 1.5}),
}
CODES = (199, 201, 202, 204, 206, 300, 304, 400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 413, 415, 418, 422, 429, 500, 501, 502, 503, 504, 599)


def codes():
    told = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "told", "reason": "Told"}
    for code in CODES[1:]:
        yield f"plain{code}", {"code": code, "headers": {"Content-Type": "text/plain"}, "body": "" if code in (204, 304) else "told"}
    for code in (201, 400, 404, 409, 500, 503):
        yield f"review{code}", {"code": code, **answers()}
        yield f"status{code}", {"code": code, "body": {**told, "code": code}}
        yield f"blank{code}", {"code": code, "headers": {"Content-Type": "text/html"}, "body": "  "}


def redirects():
    for code in (301, 302, 303, 307, 308):
        yield f"to{code}", {"code": code, "headers": {"Location": "https://${good}/there"}}
    for name, place in (("loop", "/convert"), ("toGone", "https://${gone}/x"), ("toPlain", "http://${plain}/there"), ("toOther", "https://${other}/there"), ("toBad", "http://%zz")):
        yield name, {"code": 307, "headers": {"Location": place}}
    yield "toNowhere", {"code": 307, "headers": {}}


def run(t):
    with Hooks() as hooks:
        t.serve_hooks(hooks)
        t.serve(convert={"convert": {}}, there={"convert": {}})
        for plural in ("rafts", "logs"):
            t.crd(rafts(plural=plural))
        single(t)
        servers(t)
        writes(t)
        lists(t)


def single(t):
    """One object, stored in the first version and read in the second."""
    t.post(OLD, raft(metadata={"labels": {"a": "b"}}))
    t.get(NEW + "/a")
    t.asked_to_convert()
    for answer in (*WRONG.values(), *dict(codes()).values(), *dict(redirects()).values()):
        t.serve(convert=answer)
        t.get(NEW + "/a")
    t.serve(convert={"then": "close"})
    t.get(NEW + "/a")
    t.serve(convert={"then": "hang"})
    t.get(NEW + "/a?timeout=1s")
    t.serve(convert={**answers(), "short": 5})
    t.get(NEW + "/a")
    t.serve(convert={"convert": {}})
    t.forget()


def servers(t):
    """Servers that cannot be reached or are not to be trusted, and the places where definitions say that they are."""
    places = [{"url": f"https://${{{server}}}/convert", "caBundle": "${bundle}"} for server in ("other", "bare", "expired", "stranger", "plain", "mute", "gone")]
    places += [{"url": "https://${good}/convert"}, {"url": "https://${good}/nowhere", "caBundle": "${bundle}"}, {"url": "https://${good}", "caBundle": "${bundle}"}, {"url": "https://${good}//convert/../convert/", "caBundle": "${bundle}"}, {"url": "https://${good}/convert", "caBundle": "ICA="}]
    places += [{"service": {"namespace": "default", "name": name, **more}, "caBundle": "${bundle}"} for name, more in (("none", {}), ("headless", {"path": "/x"}), ("named", {"port": 8443}), ("hook", {"path": "/convert", "port": 444}))]
    t.post("/api/v1/namespaces/default/services", {"metadata": {"name": "named"}, "spec": {"type": "ExternalName", "externalName": "127.0.0.1"}}, keep=["kind"])
    t.post("/api/v1/namespaces/default/services", {"metadata": {"name": "headless"}, "spec": {"clusterIP": "None", "ports": [{"port": 443}]}}, keep=["kind"])
    t.post("/api/v1/namespaces/default/services", {"metadata": {"name": "hook"}, "spec": {"ports": [{"port": 443}]}}, keep=["kind"])
    for place in places:
        t.merge(C + "/rafts.example.com", {"spec": {"conversion": {"webhook": {"clientConfig": {"url": None, "service": None, "caBundle": None, **place}}}}}, keep=["kind"])
        t.settle(0.6)
        t.get(NEW + "/a")
        t.post(NEW, raft("b", "v2"))
    for versions in (["v1beta1"], ["v9", "v1beta1", "v1"], ["v1", "v1beta1"], ["v9"]):
        t.merge(C + "/rafts.example.com", {"spec": {"conversion": {"webhook": {"conversionReviewVersions": versions, "clientConfig": {"service": None, "url": "https://${good}/convert", "caBundle": "${bundle}"}}}}}, keep=["spec.conversion"])
        t.settle(1.5)
        t.forget()
        t.get(NEW + "/a")
        t.asked_to_convert()
        for name in ("wrongKind", "wrongVersion", "bare", "unknownVersion", "wrongUid", "noResult", "failureMessage"):
            t.serve(convert=WRONG[name])
            t.get(NEW + "/a")
        t.serve(convert={"convert": {}}, v1=answers(apiVersion="apiextensions.k8s.io/v1"))
    t.merge(C + "/rafts.example.com", {"spec": {"conversion": {"strategy": "None", "webhook": None}}}, keep=["spec.conversion"])
    t.settle(0.6)
    t.get(NEW + "/a")
    t.merge(C + "/rafts.example.com", {"spec": {"conversion": webhook()}}, keep=["kind"])
    t.settle(0.6)
    t.forget()


# Answers of each sort, for the places where many would say little more.
SOME = ("wrongKind", "text", "wrongUid", "failure", "failureMessage", "noObjects", "more", "emptyObject", "nullObject", "objectKind", "objectVersion", "name", "numberLabel", "noMetadata", "badLabel", "unknown", "invalid", "wrongType", "status", "noSpec", "floats", "textSpec")


def writes(t):
    """Objects that are written in the second version, and stored in the first."""
    t.post(OLD, raft("w"))
    for name in SOME:
        t.serve(convert={"to": {"example.com/v1": WRONG[name]}})
        t.post(NEW, raft("n-" + name.lower(), "v2"))
        t.post(NEW + "?dryRun=All", raft("dry", "v2"))
        t.merge(NEW + "/w?fieldManager=m", {"spec": {"s": "by " + name}})
        t.get(OLD + "/n-" + name.lower())
    t.serve(convert={"convert": {}})
    t.get(OLD + "/w")
    t.delete(OLD, keep=["kind"])
    t.forget()


def lists(t):
    """Several objects, some of which do not come back as they should."""
    L = "/apis/example.com/%s/namespaces/default/logs"
    for name in "abc":
        t.post(L % "v1", raft(name, kind="Log"))
    t.get(L % "v2")
    named = {name: {"convert": {"named": {"b": change["convert"]["merge"]}}} for name, change in WRONG.items() if "merge" in change.get("convert", {})}
    more = {"reverse": {"convert": {"reverse": True}}, "two": {"convert": {"keep": 2}}, "four": {"convert": {"more": [raft("d", "v2")]}}, "nulls": {"convert": {"keep": 2, "more": [None]}}, "emptyLast": {"convert": {"keep": 2, "more": [{}]}}, "textLast": {"convert": {"keep": 2, "more": ["x"]}}}
    for name, answer in {**named, **more, **{name: WRONG[name] for name in SOME if name not in named}}.items():
        t.serve(convert={"convert": {}})
        # Another place to ask at: nothing of what was read before is known any more.
        t.merge(C + "/logs.example.com", {"spec": {"conversion": webhook(url="https://${good}/convert/" + name)}}, keep=["kind"])
        t.serve(**{f"convert/{name}": answer})
        t.settle(0.6)
        t.get(L % "v2" + "?limit=5")
        t.get(L % "v1", keep=["kind"])
    t.forget()
