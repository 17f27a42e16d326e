"""What is asked under which flags and files, topic by topic. `${dir}` is the folder of the files, `${good}` the address of a server outside, `${gone}` one
where nobody listens, `${bundle}` the authority of the first."""
import json

M = "/api/v1/namespaces/default/configmaps"
P = "/api/v1/namespaces/default/pods"
REVIEWS = "/apis/authorization.k8s.io/v1/"
# The token is the name.
TOKENS = 'recorder,admin,admin,"system:masters"\nroot,root,root-uid,"system:masters,ops"\nann,ann,ann-uid,"dev,ops"\nbob,bob,bob-uid\n'
USUAL = ["--token-auth-file=${dir}/tokens"]


def kubeconfig(path, server="${good}"):
    return json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": f"https://{server}/{path}", "certificate-authority-data": "${bundle}"}}],
                       "users": [{"name": "u", "user": {"token": "of-the-server"}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]})


def decision(version="v1", **status):
    return {"apiVersion": f"authorization.k8s.io/{version}", "kind": "SubjectAccessReview", "status": status}


def map_(name, **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **more}


def pod(name, image="i", annotations=None, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations or {}}, "spec": {"containers": [{"name": "c", "image": image}], **spec}}


class Authorizer:
    """--authorization-mode=Webhook,RBAC, in the newer version of the review."""
    FLAGS = USUAL + ["--authorization-mode=Webhook,RBAC", "--authorization-webhook-config-file=${dir}/authorizer", "--authorization-webhook-version=v1", "--authorization-webhook-cache-authorized-ttl=0s", "--authorization-webhook-cache-unauthorized-ttl=0s"]
    FILES = {"authorizer": kubeconfig("authorize")}
    VERSION = "v1"

    @classmethod
    def run(cls, t):
        def decide(**status):
            t.serve("authorize", decision(cls.VERSION, **status))

        decide(allowed=True)
        for do in (f"GET {M}", f"GET {M}/none", f"GET {M}?watch=1&timeoutSeconds=1&resourceVersion=999999", f"GET {M}?labelSelector=a%3Db,c+in+(d,e),!f", f"GET {M}?fieldSelector=metadata.name%3Dx,metadata.namespace!%3Dy", f"GET {M}?labelSelector=a%3D%3D%3Db", "GET /api/v1/namespaces/default/pods/p/log", "GET /apis/apps/v1/deployments", "GET /version", "GET /metrics?x=y", "GET /nothing/at/all",
                   "GET /api/v1/namespaces/default", "GET /api/v1/nodes/n", "GET /apis/nothing.example.com/v1/things", f"DELETE {M}?fieldSelector=metadata.name%3Dnone", f"DELETE {M}/none"):
            t.ask(do, only=[] if "metrics" in do or "watch" in do else ["major"] if "version" in do else ["kind"])
            t.asked()
        t.ask(f"POST {M}", map_("a"), only=["kind"])
        t.ask(f"PATCH {M}/a", {"data": {"a": "b"}}, Content_Type="application/merge-patch+json", only=["kind"])
        t.ask(f"PUT {M}/a", map_("a"), only=["kind"])
        t.ask(f"GET {M}", who="bob", only=["kind"])
        t.ask(f"GET {M}", who=None, only=["kind"])
        t.asked()
        # Somebody of system:masters is not asked about.
        t.ask(f"GET {M}", who="root", only=["kind"])
        t.asked()
        t.ask(f"GET {M}", Impersonate_User="carl", Impersonate_Group="some", Impersonate_Extra_Scope="s", only=["kind"])
        t.asked()
        for status in ({"allowed": False}, {"allowed": False, "reason": "no opinion on it"}, {"denied": True}, {"denied": True, "reason": "not you"}, {"allowed": True, "denied": True}, {"allowed": False, "evaluationError": "it broke"}, {"allowed": True, "evaluationError": "it broke"}, {"allowed": True, "reason": "you may"}):
            decide(**status)
            t.ask(f"GET {M}", only=["kind"])
            t.ask("GET /version", only=["major"])
            t.ask("GET /apis/apps/v1/namespaces/default/deployments/d/status")
            t.ask(f"POST {REVIEWS}selfsubjectaccessreviews", {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}, who="root", only=["status"])
            t.ask(f"POST {REVIEWS}subjectaccessreviews", {"spec": {"user": "dora", "groups": ["x"], "uid": "u", "extra": {"k": ["v"]}, "resourceAttributes": {"namespace": "n", "verb": "list", "group": "apps", "version": "v1", "resource": "deployments", "subresource": "scale", "name": "d", "labelSelector": {"requirements": [{"key": "a", "operator": "In", "values": ["b"]}]}}}}, who="root", only=["status"])
            t.ask(f"POST {REVIEWS}subjectaccessreviews", {"spec": {"user": "dora", "nonResourceAttributes": {"verb": "get", "path": "/x"}}}, who="root", only=["status"])
            t.asked()
        t.ask(f"POST {REVIEWS}selfsubjectrulesreviews", {"spec": {"namespace": "default"}}, who="ann")
        t.ask(f"POST {REVIEWS}namespaces/default/localsubjectaccessreviews", {"metadata": {"namespace": "default"}, "spec": {"user": "dora", "resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}}}, who="root", only=["status"])
        t.asked()
        for body, code in (("hello", 200), ("", 200), ({}, 200), ([], 200), ({"apiVersion": "authorization.k8s.io/v1", "kind": "Other", "status": {"allowed": True}}, 200), ({"status": {"allowed": True}}, 200), ({"apiVersion": "authorization.k8s.io/v2", "kind": "SubjectAccessReview", "status": {"allowed": True}}, 200),
                           (decision("v1beta1" if cls.VERSION == "v1" else "v1", allowed=True), 200), (decision(cls.VERSION, allowed="yes"), 200), (decision(cls.VERSION, allowed=True), 201), (decision(cls.VERSION, allowed=True), 400), ("no", 403), ({"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "told", "code": 409}, 409), ("", 404), ("x", 503)):
            t.serve("authorize", body, code)
            t.ask(f"GET {M}")
            t.ask("GET /version", only=["major"])
        t.ask(f"POST {REVIEWS}selfsubjectaccessreviews", {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}, who="root", only=["status"])
        # What roles allow needs no webhook to be sound.
        role = {"metadata": {"name": "reader"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]}
        t.ask("POST /apis/rbac.authorization.k8s.io/v1/clusterroles", role, who="root", only=["kind"])
        t.ask("POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {"metadata": {"name": "reader"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"}, "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}]}, who="root", only=["kind"])
        t.ask(f"GET {M}", wait=0.5, only=["kind"])
        t.ask(f"GET {M}/a")
        t.ask(f"POST {REVIEWS}subjectaccessreviews", {"spec": {"user": "ann", "resourceAttributes": {"namespace": "default", "verb": "list", "resource": "configmaps"}}}, who="root", only=["status"])
        t.ask(f"POST {REVIEWS}selfsubjectrulesreviews", {"spec": {"namespace": "default"}}, who="bob")
        decide(denied=True, reason="never")
        t.ask(f"GET {M}")


class OlderAuthorizer(Authorizer):
    """The older version of the review, which is asked unless another is named."""
    FLAGS = [flag for flag in Authorizer.FLAGS if "version" not in flag]
    VERSION = "v1beta1"


class Kept:
    """Answers that are kept for a time."""
    FLAGS = USUAL + ["--authorization-mode=Webhook", "--authorization-webhook-config-file=${dir}/authorizer", "--authorization-webhook-version=v1"]
    FILES = {"authorizer": kubeconfig("authorize")}

    @staticmethod
    def run(t):
        for status in ({"allowed": True}, {"denied": True, "reason": "no"}, {"allowed": False}):
            t.serve("authorize", decision(**status))
            for do in (f"GET {M}", f"GET {M}", f"GET {M}?limit=5", f"GET {M}/a", f"GET {M}/a", f"GET {M}?labelSelector=a%3Db", "GET /version", "GET /version?x=y"):
                t.ask(do, only=["kind"])
            t.ask(f"GET {M}", who="bob", only=["kind"])
            t.asked()
        t.serve("authorize", "x", 400)
        t.ask(f"GET {P}")
        t.ask(f"GET {P}")
        t.asked()


def configuration(*authorizers):
    return json.dumps({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration", "authorizers": list(authorizers)})


def webhook(name, *conditions, policy="NoOpinion", **more):
    return {"type": "Webhook", "name": name, "webhook": {"authorizedTTL": "0s", "unauthorizedTTL": "0s", "cacheAuthorizedRequests": False, "cacheUnauthorizedRequests": False, "timeout": "3s", "subjectAccessReviewVersion": "v1", "matchConditionSubjectAccessReviewVersion": "v1",
                                                         "failurePolicy": policy, "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "${dir}/" + name}, "matchConditions": [{"expression": c} for c in conditions], **more}}


class Structured:
    """--authorization-config: several webhooks, of which each is asked about what its conditions match."""
    FLAGS = USUAL + ["--authorization-config=${dir}/config", "--authorization-mode="]
    FILES = {"config": configuration(webhook("first", "has(request.resourceAttributes)", "request.resourceAttributes.namespace != 'kube-system'", "!('system:serviceaccounts' in request.groups)", policy="Deny"),
                                     webhook("second", "request.user != 'bob'"), webhook("broken", "request.resourceAttributes.verb == 'get' || request.extra['x'][0] == 'y'", policy="NoOpinion"), {"type": "RBAC", "name": "rbac"}),
             "first": kubeconfig("first"), "second": kubeconfig("second"), "broken": kubeconfig("broken", "${gone}")}

    @staticmethod
    def run(t):
        for first, second in (({"allowed": True}, {"denied": True}), ({"allowed": False}, {"allowed": True, "reason": "by the second"}), ({"denied": True, "reason": "by the first"}, {"allowed": True}), ({"allowed": False, "reason": "one"}, {"allowed": False, "reason": "two"}), ({"allowed": False}, {"denied": True, "reason": "by the second"})):
            t.serve("first", decision(**first))
            t.serve("second", decision(**second))
            for do in (f"GET {M}", f"GET {M}/none", "GET /api/v1/namespaces/kube-system/configmaps", "GET /version", "GET /livez"):
                t.ask(do, only=["kind"])
                t.asked()
            t.ask(f"GET {M}", who="bob", only=["kind"])
            t.asked()
            t.ask(f"POST {REVIEWS}subjectaccessreviews", {"spec": {"user": "dora", "resourceAttributes": {"namespace": "n", "verb": "list", "resource": "pods"}}}, who="root", only=["status"])
            t.asked()
        t.serve("second", decision(allowed=False))
        for body, code in (("x", 400), ("x", 200), (decision(allowed=False, evaluationError="it broke"), 200)):
            t.serve("first", body, code)
            t.ask(f"GET {M}")
            t.ask("GET /version", only=["major"])
            t.ask(f"POST {REVIEWS}subjectaccessreviews", {"spec": {"user": "dora", "resourceAttributes": {"namespace": "n", "verb": "get", "resource": "pods"}}}, who="root", only=["status"])


class Conditions:
    """Conditions that cannot be evaluated: what the failure policy says."""
    FLAGS = USUAL + ["--authorization-config=${dir}/config", "--authorization-mode="]
    FILES = {"config": configuration(webhook("first", "request.extra['none'][0] == 'x'", policy="NoOpinion"), webhook("second", "request.user == 'ann'", "request.resourceAttributes.name == 'a'", "request.resourceAttributes.fieldSelector.requirements[0].key == 'metadata.name'", policy="Deny"), {"type": "RBAC", "name": "rbac"}),
             "first": kubeconfig("first"), "second": kubeconfig("second")}

    @staticmethod
    def run(t):
        t.serve("first", decision(allowed=True))
        t.serve("second", decision(allowed=True))
        for who in ("ann", "bob"):
            for do in (f"GET {M}", f"GET {M}/a", "GET /version", f"GET {M}?fieldSelector=metadata.name%3Da", f"GET {M}/a?fieldSelector=metadata.name%3Da"):
                t.ask(do, who=who, only=["kind"])
                t.asked()
        t.ask(f"POST {REVIEWS}subjectaccessreviews", {"spec": {"user": "ann", "resourceAttributes": {"namespace": "n", "verb": "list", "resource": "pods"}}}, who="root", only=["status"])


def user(version="v1", authenticated=True, audiences=None, error=None, **info):
    status = {"authenticated": authenticated, **({"user": info} if info else {}), **({"audiences": audiences} if audiences is not None else {}), **({"error": error} if error else {})}
    return {"apiVersion": f"authentication.k8s.io/{version}", "kind": "TokenReview", "status": status}


WHOAMI = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews"


class Tokens:
    """--authentication-token-webhook-config-file: tokens that somebody outside knows."""
    FLAGS = USUAL + ["--authentication-token-webhook-config-file=${dir}/authenticator", "--authentication-token-webhook-version=v1", "--authentication-token-webhook-cache-ttl=0s", "--api-audiences=one,two"]
    FILES = {"authenticator": kubeconfig("authenticate")}
    VERSION = "v1"

    @classmethod
    def run(cls, t):
        v = cls.VERSION

        def who(token):
            t.ask(WHOAMI, {}, who=token, only=["status"])

        who("ann")
        t.asked()
        answers = [user(v, username="eve"), user(v, username="eve", uid="7", groups=["a", "b"], extra={"Scope/X": ["p", "q"], "y": []}), user(v, username="eve", groups=["system:authenticated", "system:masters"]), user(v, username=""), user(v), user(v, username="system:anonymous"), user(v, audiences=["one"], username="eve"), user(v, audiences=["other"], username="eve"), user(v, audiences=[], username="eve"),
                   user(v, False), user(v, False, error="it is old"), user(v, error="it is odd", username="eve"), user("v1beta1" if v == "v1" else "v1", username="eve"), {"apiVersion": f"authentication.k8s.io/{v}", "kind": "Other"}, {"status": {"authenticated": True, "user": {"username": "eve"}}}, {}, "hello", "", user(v, "yes", username="eve"), user(v, username=5)]
        for number, body in enumerate(answers):
            t.serve("authenticate", body)
            who(f"token-{number}")
            if number < 2:
                t.asked()
            t.ask(f"POST /apis/authentication.k8s.io/{'v1'}/tokenreviews", {"spec": {"token": f"token-{number}"}}, who="root", only=["status"])
            t.ask(f"POST /apis/authentication.k8s.io/{'v1'}/tokenreviews", {"spec": {"token": f"token-{number}", "audiences": ["one", "three"]}}, who="root", only=["status"])
            if number in (0, 6):
                t.asked()
        for code, body in ((201, user(v, username="eve")), (400, "no"), (401, "no"), (403, user(v, username="eve")), (404, "x"), (409, {"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "told"}), (503, "x")):
            t.serve("authenticate", body, code)
            who(f"code-{code}")
            t.ask("POST /apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": f"code-{code}"}}, who="root", only=["status"])
        t.serve("authenticate", user(v, username="eve"))
        for header in ("Bearer", "bearer a", "Bearer a b", "Basic YTpi", "Bearer  a"):
            t.ask(WHOAMI, {}, who=None, Authorization=header, only=["status"])


class OlderTokens(Tokens):
    FLAGS = [flag for flag in Tokens.FLAGS if "webhook-version" not in flag]
    VERSION = "v1beta1"


class Proxies:
    """--requestheader-*: a proxy with a certificate of its own authority says who asks."""
    FLAGS = USUAL + ["--client-ca-file=${dir}/clients-ca.pem", "--requestheader-client-ca-file=${dir}/proxies-ca.pem", "--requestheader-allowed-names=front", "--requestheader-username-headers=X-Remote-User,X-User", "--requestheader-uid-headers=X-Remote-Uid", "--requestheader-group-headers=X-Remote-Group,X-Groups", "--requestheader-extra-headers-prefix=X-Remote-Extra-,X-More-"]
    FILES = {}

    @staticmethod
    def run(t):
        def who(cert=None, token=None, **headers):
            t.ask(WHOAMI, {}, who=token, cert=cert, only=["status"], **headers)

        for cert in (None, "ann", "client-front", "front", "other"):
            for token in (None, "bob", "nobody"):
                who(cert, token)
                who(cert, token, X_Remote_User="eve")
        for headers in ({"X-User": "eve"}, {"X-Remote-User": "", "X-User": "eve"}, {"X-Remote-User": "eve", "X-User": "dora"}, {"X-Remote-Group": "dev"}, {"X-Remote-User": "eve", "X-Remote-Group": "dev", "X-Groups": "ops"}, {"X-Remote-User": "eve", "X-Remote-Group": ""}, {"X-Remote-User": "eve", "X-Remote-Group": "dev, ops"}, {"X-Remote-User": "eve", "X-Remote-Uid": "7"}, {"X-Remote-Uid": "7"},
                        {"X-Remote-User": "eve", "X-Remote-Extra-Scope": "a", "X-More-Scope": "b"}, {"X-Remote-User": "eve", "X-Remote-Extra-Example.com%2FPath": "a"}, {"X-Remote-User": "eve", "X-Remote-Extra-": "a"}, {"X-Remote-User": "eve", "X-Remote-Extra-%zz": "a"}, {"X-Remote-User": "system:anonymous"}, {"X-Remote-User": "eve", "X-Remote-Group": "system:unauthenticated"}, {"X-Remote-User": "eve", "X-Remote-Group": "system:authenticated"}):
            t.ask(WHOAMI, {}, who=None, cert="front", only=["status"], **headers)
        t.ask(f"GET {M}", who=None, cert="front", X_Remote_User="eve", X_Remote_Group="system:masters", only=["kind"])
        t.ask(f"GET {M}", who=None, cert="front", X_Remote_User="eve", X_Remote_Group="system:masters", Impersonate_User="carl")
        t.ask("GET /api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", who="root", only=["kind"])


def anonymous(**more):
    return json.dumps({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration", **more})


PATHS = ("/livez", "/livez/", "/livez/ping", "/readyz", "/healthz", "/version", "/api", "/api/", "/apis/apps/v1", "/", "/livez?verbose", "//livez", "/metrics", M)


class Anonymous:
    """Requests without credentials, on some paths alone."""
    FLAGS = USUAL + ["--authentication-config=${dir}/config"]
    FILES = {"config": anonymous(anonymous={"enabled": True, "conditions": [{"path": "/livez"}, {"path": "/api"}, {"path": "/version"}, {"path": M}]})}

    @staticmethod
    def run(t):
        for path in PATHS:
            t.ask(f"GET {path}", who=None, only=[] if "metrics" in path or "healthz" in path or "verbose" in path else ["kind"])
        t.ask("GET /livez", who="nobody")
        t.ask("GET /livez", who="ann")
        t.ask(WHOAMI, {}, who=None)
        t.ask("GET /livez", who="root", Impersonate_User="system:anonymous")
        t.ask("GET /version", who="root", Impersonate_User="system:anonymous", only=["kind"])


class NoAnonymous(Anonymous):
    FLAGS = USUAL + ["--anonymous-auth=false"]
    FILES = {}


class AnonymousOff(Anonymous):
    FILES = {"config": anonymous(anonymous={"enabled": False})}


class AnonymousUnsaid(Anonymous):
    FILES = {"config": anonymous()}


def image(allowed=True, **status):
    return {"apiVersion": "imagepolicy.k8s.io/v1alpha1", "kind": "ImageReview", "status": {"allowed": allowed, **status}}


class Images:
    """ImagePolicyWebhook: somebody outside says which images may run."""
    FLAGS = USUAL + ["--enable-admission-plugins=ImagePolicyWebhook", "--admission-control-config-file=${dir}/admission"]
    FILES = {"admission": json.dumps({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [{"name": "ImagePolicyWebhook", "configuration": {"imagePolicy": {"kubeConfigFile": "${dir}/images", "allowTTL": -1, "denyTTL": -1, "retryBackoff": 1, "defaultAllow": False}}}]}), "images": kubeconfig("images")}

    @staticmethod
    def run(t):
        t.serve("images", image())
        notes = {"a.image-policy.k8s.io/x": "1", "x.image-policy.k8s.io": "2", "image-policy.k8s.io/y": "3", "example.com/z": "4"}
        t.ask(f"POST {P}", pod("a", annotations=notes, initContainers=[{"name": "i", "image": "init:1"}]), who="root", only=["kind"])
        t.asked()
        t.ask(f"POST {P}?dryRun=All", pod("b"), who="root", only=["kind"])
        t.asked()
        t.ask(f"PATCH {P}/a", {"spec": {"containers": [{"name": "c", "image": "j"}]}}, who="root", Content_Type="application/strategic-merge-patch+json", only=["kind"])
        t.asked()
        t.ask(f"PATCH {P}/a", {"metadata": {"labels": {"a": "b"}}}, who="root", Content_Type="application/merge-patch+json", only=["kind"])
        t.ask(f"PATCH {P}/a/status", {"status": {"message": "m"}}, who="root", Content_Type="application/merge-patch+json", only=["kind"])
        t.ask(f"PATCH {P}/a/ephemeralcontainers", {"spec": {"ephemeralContainers": [{"name": "e", "image": "debug"}]}}, who="root", Content_Type="application/strategic-merge-patch+json", only=["kind"])
        t.asked()
        t.ask("POST /apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}, who="root", only=["kind"])
        t.asked()
        for body in (image(False), image(False, reason="not this one"), image(True, reason="fine"), image(True, auditAnnotations={"a": "b"}), {}, {"status": {"allowed": True}}, {"apiVersion": "imagepolicy.k8s.io/v1alpha1", "kind": "Other", "status": {"allowed": True}}, {"apiVersion": "imagepolicy.k8s.io/v1", "kind": "ImageReview", "status": {"allowed": True}}, "hello", "", image("yes")):
            t.serve("images", body)
            t.ask(f"POST {P}?dryRun=All", pod("x"), who="root", only=["kind"])
        for code in (201, 400, 403, 404, 503):
            t.serve("images", "no", code)
            t.ask(f"POST {P}?dryRun=All", pod("x"), who="root", only=["kind"])


class OpenImages(Images):
    """The same, where nobody who answers is as good as a yes."""
    FILES = {name: text.replace('"defaultAllow": false', '"defaultAllow": true') for name, text in Images.FILES.items()}


def policy(*rules, **more):
    quiet = {"level": "None", "users": ["system:apiserver", "admin"]}
    return json.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [quiet, *rules], **more})


class Audit:
    """What is written of which request, at every level and stage."""
    FLAGS = USUAL + ["--audit-log-path=${dir}/audit.log", "--audit-policy-file=${dir}/policy"]
    FILES = {"policy": policy({"level": "None", "resources": [{"group": "", "resources": ["secrets"]}]}, {"level": "None", "nonResourceURLs": ["/livez*"]}, {"level": "Metadata", "users": ["bob"], "omitStages": ["RequestReceived"]}, {"level": "Metadata", "resources": [{"group": "", "resources": ["configmaps"], "resourceNames": ["secret-map"]}]},
                              {"level": "Request", "resources": [{"group": "", "resources": ["services", "pods/eviction"]}], "omitStages": ["RequestReceived"]}, {"level": "RequestResponse", "resources": [{"group": "apps", "resources": ["deployments", "*/scale"]}], "omitManagedFields": True}, {"level": "RequestResponse", "namespaces": ["default"]}, {"level": "Metadata"})}

    @staticmethod
    def run(t):
        def ask(do, body=None, who="root", **more):
            t.ask(do, body, who=who, only=more.pop("only", ["kind"]), **more)
            t.audit()

        ask("GET /livez")
        ask("GET /version?x=y", only=["major"])
        ask("GET /nothing")
        ask("GET /api/v1/namespaces/default/secrets")
        ask(f"GET {M}", who="bob")
        ask(f"GET {M}", who=None)
        ask(f"GET {M}", who="nobody")
        ask("GET /version", who=None, Authorization="Basic YTpi", only=["major"])
        ask(f"POST {M}", map_("a", data={"k": "v"}))
        ask(f"POST {M}?dryRun=All&fieldManager=me", map_("b"))
        ask(f"POST {M}", map_("a"))
        ask(f"POST {M}", map_("Wrong_Name"))
        ask(f"POST {M}", {"metadata": {"name": "secret-map"}})
        ask(f"POST {M}", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-yaml}\n", Content_Type="application/yaml")
        ask(f"POST {M}", "{not json")
        ask(f"POST {M}", map_("odd", extra=1))
        ask(f"GET {M}/a")
        ask(f"GET {M}/secret-map")
        ask(f"GET {M}/none")
        ask(f"GET {M}?limit=1")
        ask(f"GET {M}?watch=1&timeoutSeconds=1&resourceVersion=999999999")
        ask(f"PUT {M}/a", map_("a", data={"k": "w"}))
        ask(f"PATCH {M}/a", {"data": {"l": "x"}}, Content_Type="application/merge-patch+json")
        ask(f"PATCH {M}/a", [{"op": "replace", "path": "/data/l", "value": "y"}], Content_Type="application/json-patch+json")
        ask(f"PATCH {M}/a", {"data": {"m": "z"}}, Content_Type="application/strategic-merge-patch+json")
        ask(f"PATCH {M}/a?fieldManager=m&force=true", "apiVersion: v1\nkind: ConfigMap\ndata: {n: q}\n", Content_Type="application/apply-patch+yaml")
        ask(f"PATCH {M}/none", {"data": {}}, Content_Type="application/merge-patch+json")
        ask(f"DELETE {M}/a", {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        ask(f"DELETE {M}/a")
        ask(f"DELETE {M}?fieldSelector=metadata.name%3Dfrom-yaml")
        ask("POST /api/v1/namespaces/default/services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
        ask("PATCH /api/v1/namespaces/default/services/s", {"metadata": {"labels": {"a": "b"}}}, Content_Type="application/merge-patch+json")
        deployment = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}
        ask("POST /apis/apps/v1/namespaces/default/deployments", deployment)
        ask("GET /apis/apps/v1/namespaces/default/deployments")
        ask("PATCH /apis/apps/v1/namespaces/default/deployments/d/scale", {"spec": {"replicas": 2}}, Content_Type="application/merge-patch+json")
        ask("PUT /apis/apps/v1/namespaces/default/deployments/d/status", deployment)
        ask(f"POST {P}/none/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "none"}})
        ask(f"POST {REVIEWS}selfsubjectaccessreviews", {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}})
        ask("GET /api/v1/namespaces/default")
        ask("POST /api/v1/namespaces", {"metadata": {"name": "n"}})
        ask(f"GET {M}", Impersonate_User="carl", Impersonate_Group="some", Impersonate_Uid="5", Impersonate_Extra_Scope="s")
        ask(f"GET {M}", who="ann", Impersonate_User="carl")
        ask(f"GET {M}", Audit_ID="mine", User_Agent="x" * 1100, X_Forwarded_For="10.1.2.3, 10.1.2.4", X_Real_Ip="10.1.2.5")
        ask(f"GET {P}/none/log")
        ask("GET /apis/apps/v1")
        ask(f"GET {M}?labelSelector=a%3D%3D%3Db")
        ask(f"POST {P}", pod("p", containers=[]))
        ask("POST /api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "sa"}})
        ask("POST /api/v1/namespaces/default/serviceaccounts/sa/token", {"spec": {"expirationSeconds": 600}}, only=["kind"])
        ask("GET /openapi/v3/api/v1", only=[])


class AuditStages(Audit):
    """Stages that are left out for all, and levels by default."""
    FILES = {"policy": policy({"level": "Request", "verbs": ["create", "update", "patch"], "omitManagedFields": False}, {"level": "RequestResponse", "verbs": ["get", "list"], "omitStages": ["ResponseComplete"]}, {"level": "RequestResponse", "userGroups": ["ops"]}, {"level": "Metadata", "omitStages": ["ResponseStarted"]}, omitStages=["RequestReceived"], omitManagedFields=True)}

    @staticmethod
    def run(t):
        for do, body, who in ((f"POST {M}", map_("a"), "root"), (f"GET {M}/a", None, "root"), (f"GET {M}", None, "root"), (f"GET {M}?watch=1&timeoutSeconds=1&resourceVersion=0", None, "root"), (f"PUT {M}/a", map_("a"), "root"), (f"DELETE {M}/a", None, "root"), (f"DELETE {M}/a", None, "bob"), ("GET /version", None, "ann"), (f"GET {M}?watch=1&timeoutSeconds=1&resourceVersion=0", None, "bob"), ("GET /api", None, "bob")):
            t.ask(do, body, who=who, only=["kind"])
            t.audit()


class AuditWebhook:
    """The same events, sent outside."""
    FLAGS = USUAL + ["--audit-webhook-config-file=${dir}/outside", "--audit-policy-file=${dir}/policy", "--audit-webhook-mode=blocking"]
    FILES = {"policy": policy({"level": "RequestResponse", "resources": [{"group": "", "resources": ["configmaps"]}]}, {"level": "None"}, omitManagedFields=True), "outside": kubeconfig("audit")}

    @staticmethod
    def run(t):
        t.serve("audit", "")
        t.ask(f"POST {M}", map_("a"), who="root", only=["kind"])
        t.asked(0.5)
        t.ask(f"GET {M}/a", who="ann")
        t.asked(0.5)


ALL = {"authorizer": Authorizer, "authorizer-older": OlderAuthorizer, "authorizer-kept": Kept, "structured": Structured, "conditions": Conditions, "tokens": Tokens, "tokens-older": OlderTokens, "proxies": Proxies, "anonymous": Anonymous, "anonymous-refused": NoAnonymous, "anonymous-off": AnonymousOff,
       "anonymous-unsaid": AnonymousUnsaid, "images": Images, "images-open": OpenImages, "audit": Audit, "audit-stages": AuditStages, "audit-webhook": AuditWebhook}
