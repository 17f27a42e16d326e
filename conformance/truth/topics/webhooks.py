"""Admission webhooks: what they are asked, what becomes of their answers, and what a client is told when they fail."""
import base64
import json

from hook import Hooks
from topics.crd import crd, version

A = "/apis/admissionregistration.k8s.io/v1/"
M = "/api/v1/namespaces/default/configmaps"


def review(api="admission.k8s.io/v1", **response):
    return {"body": {"apiVersion": api, "kind": "AdmissionReview", "response": {"uid": "$UID", "allowed": True, **response}}}


def patch(*operations, **more):
    return review(patchType="JSONPatch", patch=base64.b64encode(json.dumps(operations).encode()).decode(), **more)


def hook(name="a.example.com", url="https://${good}/allow", **more):
    config = more.pop("clientConfig", None) or {"url": url, "caBundle": "${bundle}"}
    return {"name": name, "clientConfig": config, "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}], "sideEffects": "None", "admissionReviewVersions": ["v1"], **more}


def map_(name="m", **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more.pop("metadata", {})}, **more}


def configure(t, kind, *hooks, name="c", **more):
    """Puts a configuration in the place of the one before it, and waits, unrecorded, until the server heeds it."""
    path = f"{A}{kind}webhookconfigurations"
    t.delete(f"{path}/{name}", keep=["kind"])
    if hooks:
        t.post(path, {"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind.capitalize()}WebhookConfiguration", "metadata": {"name": name}, "webhooks": list(hooks)}, keep=["kind"], **more)
    t.settle(0.4)


def ask(t, path=M + "?dryRun=All", body=None, **more):
    t.post(path, body or map_(data={"a": "1"}), **more)


def run(t):
    with Hooks() as hooks:
        t.serve_hooks(hooks)
        t.serve(allow=review())
        t.get("/api/v1/namespaces/default", keep=["kind"])
        refused(t)
        what_is_asked(t)
        answers(t)
        failures(t)
        redirects(t)
        mutations(t)
        rounds(t)
        services(t)
        conditions(t)
        custom(t)


def refused(t):
    """Configurations that are not accepted."""
    for kind in ("validating", "mutating"):
        path, name = f"{A}{kind}webhookconfigurations?dryRun=All", f"{kind.capitalize()}WebhookConfiguration"
        for bad in (hook("short"), hook(url="http://x.example.com"), hook(url="https://user@x.example.com"), hook(url="https://x.example.com?a=b"), hook(url="https://x.example.com#f"), hook(url="x"), hook(url="https://"), hook(clientConfig={"caBundle": "${bundle}"}),
                    hook(clientConfig={"url": "https://x.example.com", "service": {"namespace": "a", "name": "b"}}), hook(clientConfig={"service": {"namespace": "", "name": "", "path": "x", "port": 0}}), hook(clientConfig={"service": {"namespace": "a", "name": "b", "path": "/a//b/", "port": 70000}}),
                    hook(clientConfig={"url": "https://x.example.com", "caBundle": "YQ=="}), hook(timeoutSeconds=0), hook(timeoutSeconds=31), hook(sideEffects="Some"), hook(sideEffects="Unknown"), hook(sideEffects=None), hook(failurePolicy="Maybe"), hook(matchPolicy="Almost"), hook(admissionReviewVersions=[]),
                    hook(admissionReviewVersions=["v2"]), hook(admissionReviewVersions=["v1", "v1", "B_d"]), hook(rules=[{"operations": [], "apiGroups": [], "apiVersions": [], "resources": []}]), hook(rules=[{"operations": ["*", "CREATE"], "apiGroups": ["*", "a"], "apiVersions": ["*", "v1"], "resources": ["*", "pods", "*/*", "pods/*", "pods/status"]}]),
                    hook(rules=[{"operations": ["PATCH"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "scope": "Galaxy"}]), hook(namespaceSelector={"matchExpressions": [{"key": "a b", "operator": "In"}]}), hook(matchConditions=[{"name": "", "expression": ""}]), hook(matchConditions=[{"name": "a", "expression": "object.x +"}, {"name": "a", "expression": "1"}])):
            t.post(path, {"apiVersion": "admissionregistration.k8s.io/v1", "kind": name, "metadata": {"name": "bad"}, "webhooks": [bad]}, keep=["kind"])
        t.post(path, {"apiVersion": "admissionregistration.k8s.io/v1", "kind": name, "metadata": {"name": "bad"}, "webhooks": [hook(), hook()]}, keep=["kind"])
        t.post(path, {"apiVersion": "admissionregistration.k8s.io/v1", "kind": name, "metadata": {"name": "plain"}, "webhooks": [hook(clientConfig={"service": {"namespace": "a", "name": "b"}})]})


def what_is_asked(t):
    for kind in ("validating", "mutating"):
        configure(t, kind, hook())
        t.post(M + "?fieldManager=maker&fieldValidation=Strict", map_(data={"a": "1"}))
        t.asked()
        t.post(M, map_("by-someone"), user="someone", groups=("system:masters", "more"))
        t.asked()
        t.merge(M + "/m?fieldManager=changer", {"data": {"b": "2"}})
        t.asked()
        t.put(M + "/m?dryRun=All", map_(data={"c": "3"}))
        t.asked()
        t.apply(M + "/m", map_(data={"d": "4"}), force=True)
        t.asked()
        t.delete(M + "/m?dryRun=All", {"propagationPolicy": "Background", "gracePeriodSeconds": 3})
        t.delete(M + "/m", {"preconditions": {}})
        t.asked()
        t.get(M + "/m")
        t.asked()
        t.post(M, map_("one"))
        t.delete(M + "?labelSelector=none%3Dsuch", keep=["kind"])
        t.delete(M + "?fieldSelector=metadata.name%3Done", keep=["kind"])
        t.asked()
        configure(t, kind, hook(rules=[{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]))
        t.post("/api/v1/namespaces", {"metadata": {"name": f"of-{kind}"}})
        t.asked()
        t.post("/apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": "d"}, "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}, keep=["kind"])
        t.asked()
        t.merge("/apis/apps/v1/namespaces/default/deployments/d/scale", {"spec": {"replicas": 2}})
        t.asked()
        t.merge("/apis/apps/v1/namespaces/default/deployments/d/status", {"status": {"replicas": 2}}, keep=["kind"])
        t.asked()
        t.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}, keep=["status"])
        t.asked()
        t.delete("/apis/apps/v1/namespaces/default/deployments/d", keep=["kind"])
        t.asked()
        configure(t, kind)


def answers(t):
    """Every answer, to a webhook that must be heard and to one that need not be."""
    said = {
        "denied": review(allowed=False), "deniedWhy": review(allowed=False, status={"message": "because", "code": 403, "reason": "Forbidden"}), "deniedOk": review(allowed=False, status={"message": "fine", "code": 200, "status": "Success"}),
        "deniedReason": review(allowed=False, status={"reason": "Broken", "code": 418}), "deniedDetails": review(allowed=False, status={"message": "m", "code": 422, "reason": "Invalid", "details": {"name": "n", "kind": "k", "causes": [{"field": "f", "reason": "r", "message": "m"}], "retryAfterSeconds": 3}}),
        "deniedText": review(allowed=False, status={"message": "two\nlines \"quoted\"", "code": 599}), "warned": review(warnings=["careful", "x" * 300, "", "line\nbreak"]), "deniedWarned": review(allowed=False, warnings=["careful"]), "allowedStatus": review(status={"message": "ignored", "code": 500}),
        "annotated": review(auditAnnotations={"a": "b", "a/b/c": "d"}), "wrongUid": {"body": {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": "x", "allowed": True}}}, "noUid": {"body": {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"allowed": True}}},
        "noResponse": {"body": {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}}, "nullResponse": {"body": {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": None}}, "wrongVersion": review("admission.k8s.io/v1beta1"), "wrongGroup": review("example.com/v1"), "unknownVersion": review("admission.k8s.io/v7"),
        "wrongKind": {"body": {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionThing", "response": {"uid": "$UID", "allowed": True}}}, "noKind": {"body": {"apiVersion": "admission.k8s.io/v1", "response": {"uid": "$UID", "allowed": True}}}, "noApiVersion": {"body": {"kind": "AdmissionReview", "response": {"uid": "$UID", "allowed": True}}},
        "bare": {"body": {"response": {"uid": "$UID", "allowed": True}}}, "empty": {"body": ""}, "text": {"body": "hello"}, "yaml": {"body": "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nresponse: {uid: $UID, allowed: true}\n"}, "list": {"body": []}, "null": {"body": "null"}, "number": {"body": "5"}, "cut": {"body": '{"apiVersion": "admission.k8s.io/v1", "kind"'}, "braces": {"body": "{}"},
        "otherType": {**review(), "headers": {"Content-Type": "text/plain"}}, "noType": {**review(), "headers": {}}, "yamlType": {**review(), "headers": {"Content-Type": "application/yaml"}}, "protoType": {**review(), "headers": {"Content-Type": "application/vnd.kubernetes.protobuf"}}, "badType": {**review(), "headers": {"Content-Type": "a;b=;"}},
        "stringAllowed": review(allowed="yes"), "stringStatus": review(allowed=False, status="no"), "numberMessage": review(allowed=False, status={"message": 5}), "unknownFields": review(extra=1), "patchOfNone": patch(), "patchAny": patch({"op": "add", "path": "/data/x", "value": "y"}), "patchType": review(patchType="JSONPatch"),
        "patchNoType": review(patch="W10="), "patchBadType": review(patch="W10=", patchType="Merge"), "patchEmptyType": review(patch="W10=", patchType=""), "patchNoBase64": review(patch="%%%", patchType="JSONPatch"), "patchNoJson": review(patch="YWJj", patchType="JSONPatch"), "patchNoList": review(patch="e30=", patchType="JSONPatch"),
        "patchMissing": patch({"op": "remove", "path": "/data/none"}), "patchTest": patch({"op": "test", "path": "/data/a", "value": "2"}), "patchUnknown": patch({"op": "increase", "path": "/data/a"}), "patchKind": patch({"op": "replace", "path": "/kind", "value": "Secret"}), "patchWrong": patch({"op": "replace", "path": "/data", "value": 5}),
        "patchField": patch({"op": "add", "path": "/unknown", "value": 5}), "patchName": patch({"op": "replace", "path": "/metadata/name", "value": "other"}), "patchInvalid": patch({"op": "add", "path": "/data/a b", "value": "x"}), "patchLabels": patch({"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}),
    }
    t.serve(**said)
    for kind in ("validating", "mutating"):
        for name in said:
            configure(t, kind, hook(url="https://${good}/" + name))
            ask(t)
        for name in ("denied", "wrongUid", "empty", "patchNoJson", "patchMissing", "patchKind"):
            configure(t, kind, hook(url="https://${good}/" + name, failurePolicy="Ignore"))
            ask(t)
        for name, old in (("denied", "v1beta1"), ("warned", "v1beta1"), ("wrongUid", "v1beta1"), ("patchNoType", "v1beta1"), ("allow", "v1beta1")):
            answer = json.loads(json.dumps(said.get(name, review())).replace("admission.k8s.io/v1", "admission.k8s.io/v1beta1"))
            t.serve(**{f"beta_{name}": answer})
            configure(t, kind, hook(url=f"https://${{good}}/beta_{name}", admissionReviewVersions=[old, "v1"]))
            ask(t)
        configure(t, kind)
    t.forget()


def failures(t):
    """Servers that cannot be reached, are not to be trusted, or do not do what they should."""
    t.serve(hang={"then": "hang"}, close={"then": "close"}, short={**review(), "short": 5}, slow={"code": 503, "headers": {"Content-Type": "text/plain"}, "body": "not now"})
    codes = {}
    for code in (199, 201, 202, 204, 206, 207, 300, 304, 400, 401, 402, 403, 404, 405, 406, 409, 410, 413, 415, 418, 422, 429, 500, 501, 502, 503, 504, 599):
        if code >= 200:
            codes[f"plain{code}"] = {"code": code, "headers": {"Content-Type": "text/plain"}, "body": "" if code in (204, 304) else "told"}
            codes[f"review{code}"] = {"code": code, **review()} if code not in (204, 304) else {"code": code, "body": ""}
    for code in (400, 403, 404, 409, 422, 500, 503):
        codes[f"status{code}"] = {"code": code, "body": {"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "told", "reason": "Told", "code": code}}
        codes[f"success{code}"] = {"code": code, "body": {"apiVersion": "v1", "kind": "Status", "status": "Success", "message": "told", "code": code}}
        codes[f"blank{code}"] = {"code": code, "headers": {"Content-Type": "text/html"}, "body": "  "}
        codes[f"bare{code}"] = {"code": code, "headers": {}, "body": "x"}
    t.serve(**codes)
    urls = [f"https://${{good}}/{name}" for name in ("close", "short", "nowhere", "slow", *codes)] + [f"https://${{{server}}}/allow" for server in ("other", "bare", "expired", "stranger", "plain", "mute", "gone")] + [
        "https://${good}", "https://${good}/", "https://${good}/allow/", "https://${good}//allow", "https://${good}/a/../allow", "https://${good}/al%6Cow"]
    for url in urls:
        configure(t, "validating", hook(url=url))
        ask(t)
    for config in ({"url": "https://${good}/allow"},):
        configure(t, "validating", hook(clientConfig=config))
        ask(t)
    configure(t, "mutating", hook(url="https://${gone}/x"))
    configure(t, "validating")
    ask(t)
    configure(t, "mutating", hook(url="https://${gone}/x", failurePolicy="Ignore"))
    ask(t)
    configure(t, "mutating")
    configure(t, "validating", hook(url="https://${good}/hang", timeoutSeconds=1))
    ask(t)
    configure(t, "validating", hook(url="https://${good}/hang", timeoutSeconds=1, failurePolicy="Ignore"))
    ask(t)
    configure(t, "validating", hook(sideEffects="NoneOnDryRun"), hook("b.example.com", url="https://${gone}/b", failurePolicy="Ignore"), hook("d.example.com", url="https://${gone}/d"))
    ask(t)
    configure(t, "validating")
    t.forget()


def redirects(t):
    for code in (301, 302, 303, 307, 308):
        t.serve(**{f"to{code}": {"code": code, "headers": {"Location": "https://${good}/allow"}}, f"path{code}": {"code": code, "headers": {"Location": "allow?x=y"}}})
    t.serve(loop={"code": 307, "headers": {"Location": "/loop"}}, nowhere={"code": 307, "headers": {}}, gone={"code": 307, "headers": {"Location": "https://${gone}/x"}}, plain={"code": 307, "headers": {"Location": "http://${plain}/allow"}}, other={"code": 308, "headers": {"Location": "https://${other}/allow"}},
            bad={"code": 302, "headers": {"Location": "http://%zz"}}, told={"code": 302, "headers": {"Location": "/told2"}}, told2={"code": 403, "headers": {"Content-Type": "text/plain"}, "body": "no way"}, twice={"code": 307, "headers": {"Location": "/to302"}})
    for path in [f"{how}{code}" for code in (301, 302, 303, 307, 308) for how in ("to", "path")] + ["loop", "nowhere", "gone", "plain", "other", "bad", "told", "twice"]:
        configure(t, "validating", hook(url="https://${good}/" + path))
        t.forget()
        ask(t)
        t.asked()
    configure(t, "validating")


def mutations(t):
    """What a mutating webhook changes is checked as if the client had said it."""
    changes = {
        "label": [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}], "badLabel": [{"op": "add", "path": "/metadata/labels", "value": {"a b": "b"}}], "data": [{"op": "add", "path": "/data/z", "value": "26"}], "immutable": [{"op": "add", "path": "/immutable", "value": True}], "namespace": [{"op": "replace", "path": "/metadata/namespace", "value": "kube-system"}],
        "uid": [{"op": "add", "path": "/metadata/uid", "value": "mine"}], "version": [{"op": "add", "path": "/metadata/resourceVersion", "value": "5"}], "managers": [{"op": "add", "path": "/metadata/managedFields", "value": []}], "badManagers": [{"op": "add", "path": "/metadata/managedFields", "value": [{"manager": "x", "operation": "Odd"}]}],
        "finalizer": [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/x"]}], "owner": [{"op": "add", "path": "/metadata/ownerReferences", "value": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]}], "nothing": [{"op": "test", "path": "/kind", "value": "ConfigMap"}], "same": [{"op": "replace", "path": "/data/a", "value": "1"}],
        "negative": [{"op": "add", "path": "/metadata/finalizers", "value": []}, {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/y"}], "copy": [{"op": "copy", "from": "/data/a", "path": "/data/b"}], "move": [{"op": "move", "from": "/data/a", "path": "/data/b"}], "deep": [{"op": "add", "path": "/a/b/c", "value": 1}],
    }
    t.serve(**{name: patch(*operations) for name, operations in changes.items()})
    for name in changes:
        configure(t, "mutating", hook(url="https://${good}/" + name))
        t.post(M, map_(f"by-{name.lower()}", data={"a": "1"}))
        t.merge(M + f"/by-{name.lower()}?dryRun=All", {"data": {"c": "3"}})
        t.apply(M + f"/by-{name.lower()}?dryRun=All", map_(f"by-{name.lower()}", data={"d": "4"}))
    configure(t, "mutating")
    t.forget()


def rounds(t):
    """Several webhooks: their order, and who is asked again."""
    t.serve(first=patch({"op": "add", "path": "/data/first", "value": "1"}), second=patch({"op": "add", "path": "/data/second", "value": "2"}), none=review())
    for one, two in (("Never", "Never"), ("IfNeeded", "Never"), ("Never", "IfNeeded"), ("IfNeeded", "IfNeeded")):
        configure(t, "mutating", hook("b.example.com", url="https://${good}/first", reinvocationPolicy=one), hook("a.example.com", url="https://${good}/second", reinvocationPolicy=two))
        ask(t)
        t.asked()
    configure(t, "mutating", hook("a.example.com", url="https://${good}/none", reinvocationPolicy="IfNeeded"), name="b")
    configure(t, "mutating", hook("a.example.com", url="https://${good}/first"), name="c")
    ask(t)
    t.asked()
    configure(t, "mutating", hook("a.example.com", url="https://${good}/denied"), name="a")
    ask(t)
    t.asked()
    for name in "abc":
        configure(t, "mutating", name=name)
    configure(t, "validating", hook("a.example.com", url="https://${good}/deniedWhy"), hook("b.example.com", url="https://${good}/warned"))
    ask(t)
    configure(t, "validating", hook(sideEffects="None", url="https://${good}/warned"), hook("b.example.com", url="https://${good}/warned"))
    ask(t)
    configure(t, "validating")
    t.forget()


def services(t):
    """Webhooks behind Services, as far as that is told without a network."""
    t.post("/api/v1/namespaces/default/services", {"metadata": {"name": "plain"}, "spec": {"ports": [{"port": 443}]}}, keep=["kind"])
    t.post("/api/v1/namespaces/default/services", {"metadata": {"name": "headless"}, "spec": {"clusterIP": "None", "ports": [{"port": 443}]}}, keep=["kind"])
    for service in ({"name": "none"}, {"name": "plain", "port": 444, "path": "/x"}, {"name": "headless"}, {"name": "plain", "namespace": "other"}):
        configure(t, "validating", hook(clientConfig={"service": {"namespace": "default", **service}, "caBundle": "${bundle}"}))
        ask(t)
    configure(t, "validating")


def conditions(t):
    for conditions_ in ([{"name": "no", "expression": "false"}], [{"name": "yes", "expression": "true"}], [{"name": "data", "expression": "has(object.data) && 'a' in object.data"}], [{"name": "error", "expression": "object.data['none'] == 'x'"}], [{"name": "error", "expression": "object.data['none'] == 'x'"}, {"name": "no", "expression": "request.operation == 'DELETE'"}],
                        [{"name": "user", "expression": "request.userInfo.username == 'admin' && 'system:masters' in request.userInfo.groups"}], [{"name": "old", "expression": "oldObject == null"}], [{"name": "authz", "expression": "authorizer.group('').resource('pods').namespace('default').check('get').allowed()"}],
                        [{"name": "dry", "expression": "request.dryRun"}], [{"name": "meta", "expression": "object.metadata.name.startsWith('m') && request.name == 'm' && request.namespace == 'default'"}]):
        for kind in ("validating", "mutating"):
            configure(t, kind, hook(url="https://${good}/denied", matchConditions=conditions_))
            ask(t)
            configure(t, kind, hook(url="https://${good}/denied", matchConditions=conditions_, failurePolicy="Ignore"))
            ask(t)
            configure(t, kind)
    for selectors in ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}, {"namespaceSelector": {"matchLabels": {"a": "b"}}}, {"objectSelector": {"matchLabels": {"a": "b"}}}, {"objectSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}}):
        configure(t, "validating", hook(url="https://${good}/denied", **selectors))
        ask(t)
        ask(t, body=map_(metadata={"labels": {"a": "b"}}))
        ask(t, path="/api/v1/namespaces/nowhere/configmaps?dryRun=All")
    configure(t, "validating")
    t.forget()


def custom(t):
    """Webhooks for a custom resource with two versions, by the version that they want."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer", "default": 3, "maximum": 9}, "s": {"type": "string"}}}, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    sub = {"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}}
    t.crd(crd("hulls", "Hull", versions=[version("v1", schema=schema, subresources=sub), version("v2", storage=False, schema=schema, subresources=sub)]))
    rule = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v2"], "resources": ["hulls", "hulls/*"]}
    H = "/apis/example.com/v1/namespaces/default/hulls"
    one = {"apiVersion": "example.com/v1", "kind": "Hull", "metadata": {"name": "h"}, "spec": {"s": "x"}}
    t.serve(n=patch({"op": "replace", "path": "/spec/n", "value": 7}), big=patch({"op": "replace", "path": "/spec/n", "value": 70}), odd=patch({"op": "add", "path": "/spec/odd", "value": 1}), gone=patch({"op": "remove", "path": "/spec/n"}), v1=patch({"op": "replace", "path": "/apiVersion", "value": "example.com/v1"}), status=patch({"op": "add", "path": "/status", "value": {"x": 1}}),
            replicas=patch({"op": "replace", "path": "/spec/replicas", "value": 5}))
    for policy in ("Equivalent", "Exact"):
        for path in ("allow", "n", "big", "odd", "gone", "v1", "status"):
            configure(t, "mutating", hook(url="https://${good}/" + path, rules=[rule], matchPolicy=policy))
            t.post(H + "?dryRun=All", one)
            t.post(H.replace("v1", "v2", 1) + "?dryRun=All", {**one, "apiVersion": "example.com/v2"})
            t.asked()
    configure(t, "mutating", hook(rules=[rule]))
    configure(t, "validating", hook(rules=[{**rule, "apiVersions": ["v1"]}]))
    t.post(H, one)
    t.merge(H + "/h/status", {"status": {"n": 1}})
    t.merge(H + "/h/scale", {"spec": {"replicas": 2}})
    t.asked()
    configure(t, "mutating", hook(url="https://${good}/replicas", rules=[{**rule, "resources": ["hulls/scale"]}]))
    t.merge(H + "/h/scale", {"spec": {"replicas": 4}})
    t.get(H + "/h/scale")
    t.asked()
    configure(t, "mutating")
    configure(t, "validating", hook(url="https://${good}/denied", rules=[rule]))
    t.delete(H + "/h")
    t.delete(H)
    configure(t, "validating")
