"""Bytes that are no characters, in every place where a request has text: paths, queries, headers, bodies."""
import json

from topics.yaml import ANYS, CM, CRD

CORE = "/api/v1/namespaces/default"
APPS = "/apis/apps/v1/namespaces/default"

# No UTF-8; UTF-8 of what is no character; then characters that Go does not print as they are, and one that it does.
ESCAPED = ["%ff", "a%80", "%c3%28", "%e2%82", "%ed%a0%80", "%f0%9f%98", "%c0%80", "%f8%88%80%80%80", "%ff%fe", "%f4%90%80%80", "%f4%8f%bf%80", "%f4%8f%bf%bf", "%ef%bf%bd", "%ef%bf%be", "%ee%80%80", "%00", "%0a", "%1b", "%7f", "%c2%85", "%e2%80%a8", "%c3%a9", "%22", "%5c", "%F0%9F%98%80", "%cc%81"]
FEW = ["%ff", "a%80b", "%e2%82", "%f4%8f%bf%80", "%ef%bf%bd", "%00"]
BYTES = [b"\xff", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x8f\xbf\x80", b"\xef\xbf\xbd", b"a\x80b"]
LATIN = ["\xff", "a\xe9", "\xc3\xa9", "\xe2\x82", "\xf4\x8f\xbf\x80"]


def config_map(more=b"", name=b"x"):
    return b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"' + name + b'"}' + more + b"}"


def any(spec, name=b"x", more=b""):
    return b'{"apiVersion":"example.com/v1","kind":"Any","metadata":{"name":"' + name + b'"' + more + b'},"spec":' + spec + b"}"


def paths(t):
    for odd in ESCAPED:
        t.get(CM + f"/{odd}", raw=True)
        t.get(CM + f"/{odd}", raw=True, written=True)
    for odd in ESCAPED:
        t.get(f"/api/v1/namespaces/{odd}/configmaps/x", raw=True)
        t.get(f"/api/v1/{odd}", raw=True)
        t.get(f"/{odd}", raw=True)
    for odd in FEW:
        for path in (f"/api/v1/namespaces/{odd}", f"/api/v1/namespaces/{odd}/configmaps", f"/api/{odd}/pods", f"/apis/{odd}/v1/pods", f"/apis/apps/{odd}/pods", f"/apis/{odd}", f"/api/{odd}", f"{CM}/x/{odd}", f"{CORE}/pods/p/{odd}", f"/healthz/{odd}", f"/livez/{odd}", f"/logs/{odd}", f"/openapi/v3/{odd}", f"{ANYS}/{odd}", f"/apis/example.com/v1/{odd}", f"/apis/example.com/{odd}/anys", f"{ANYS}/x/{odd}", f"/version/{odd}", f"{CORE}/secrets/{odd}", f"{APPS}/deployments/{odd}/scale", f"{CORE}/pods/{odd}/log", f"/api/v1/nodes/{odd}", f"/api/v1/watch/namespaces/{odd}/configmaps?timeoutSeconds=1", f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{odd}"):
            t.get(path, raw=True, keep=["kind", "metadata"])
        for user in ("nobody", None):
            more = {"user": user} if user else {}
            t.put(CM + f"/{odd}", config_map(), raw=True, **more)
            t.delete(CM + f"/{odd}", raw=True, **more)
            t.merge(CM + f"/{odd}", {"data": {"a": "b"}}, raw=True, **more)
            t.apply(CM + f"/{odd}", config_map(), raw=True, **more)
            t.post(f"/api/v1/namespaces/{odd}/configmaps", config_map(), raw=True, **more)
            t.delete(f"/api/v1/namespaces/{odd}/configmaps", raw=True, **more)
            t.get(CM + f"/{odd}", raw=True, **more)
            t.get(f"/api/v1/namespaces/{odd}/configmaps", raw=True, keep=["kind"], **more)
            t.get(f"/{odd}", raw=True, **more)
            t.get(f"/apis/{odd}/v1/namespaces/{odd}/things/{odd}/{odd}", raw=True, **more)
            t.put(ANYS + f"/{odd}", any(b"{}"), raw=True, **more)
            t.merge(ANYS + f"/{odd}", {"spec": {"a": "b"}}, raw=True, **more)
            t.apply(ANYS + f"/{odd}", any(b"{}"), raw=True, **more)
            t.delete(ANYS + f"/{odd}", raw=True, **more)
        t.post(f"{CORE}/pods/{odd}/eviction", '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}', raw=True)
        t.post(f"{CORE}/pods/{odd}/binding", '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"name":"n"}}', raw=True)
        t.post(f"{CORE}/serviceaccounts/{odd}/token", '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}', raw=True)
        t.put(f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{odd}", '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"x"},"rules":[]}', raw=True)
        t.apply(f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{odd}", '{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","rules":[]}', raw=True)


def queries(t):
    for odd in ESCAPED:
        for query in ("labelSelector", "fieldSelector", "labelSelector=a%3D{}", "labelSelector=a%20in%20({},{})", "labelSelector={}%3Da", "labelSelector=a{}", "fieldSelector=metadata.name%3D{}", "fieldSelector={}%3Da", "labelSelector=a%3E{}", "labelSelector=a%20{}%20(b)"):
            query = query.format(odd, odd) if "{}" in query else f"{query}={odd}"
            t.get(f"{CM}?{query}", raw=True, keep=["kind"])
    for odd in FEW:
        for name in ("limit", "continue", "resourceVersion", "resourceVersionMatch", "timeoutSeconds", "timeoutSeconds=1&watch", "allowWatchBookmarks", "sendInitialEvents", "pretty", odd, "fieldValidation", "labelSelector=a&labelSelector"):
            t.get(f"{CM}?{name}={odd}", raw=True, keep=["kind"])
        t.get(f"{CM}?watch=1&timeoutSeconds=1&resourceVersion={odd}", raw=True, keep=["kind"])
        t.get(f"{CM}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3D{odd}", raw=True, keep=["kind"])
        t.get(f"{CM}/x?resourceVersion={odd}", raw=True, keep=["kind"])
        for name in ("fieldManager", "dryRun", "fieldValidation", odd):
            t.post(f"{CM}?dryRun=All&{name}={odd}", config_map(), raw=True, keep=["metadata.managedFields"])
            t.merge(f"{ANYS}/none?{name}={odd}", {}, raw=True, keep=["kind"])
        t.post(f"{CM}?dryRun=All&fieldManager={'a' * 127}{odd}", config_map(), raw=True, keep=["kind"])
        for name in ("gracePeriodSeconds", "propagationPolicy", "orphanDependents", "dryRun", "ignoreStoreReadErrorWithClusterBreakingPotential"):
            t.delete(f"{CM}/none?{name}={odd}", raw=True, keep=["kind"])
        for name in ("fieldManager", "force"):
            t.call("PATCH", f"{CM}/y?dryRun=All&fieldManager=m&{name}={odd}", config_map(name=b"y"), type="application/apply-patch+yaml", raw=True, keep=["metadata.managedFields"])
        t.call("PATCH", f"{CM}/y?dryRun=All&fieldManager={odd}", config_map(name=b"y"), type="application/apply-patch+yaml", raw=True, keep=["metadata.managedFields"])
        t.get(f"/healthz?exclude={odd}&verbose=1", raw=True)
        t.get(f"{CORE}/pods/p/log?container={odd}", raw=True)
        t.get(f"{CORE}/pods/p/log?tailLines={odd}", raw=True)
        t.get(f"{CM}?fieldSelector=metadata.name%3D{odd}", raw=True, user="nobody")


def headers(t):
    for odd in LATIN:
        for name in ("User-Agent", "Content-Type", "Accept", "Audit-ID", "If-None-Match", "Accept-Encoding", "X-Remote-User", "Origin"):
            t.post(CM + "?dryRun=All", config_map(), headers={name: {"latin-1": odd}}, raw=True, keep=["metadata.managedFields"])
        t.get(CM + "/x", headers={"Accept": {"latin-1": f"application/json;as={odd};v=v1;g=meta.k8s.io"}}, raw=True, keep=["kind"])
        t.get(CM + "/x", headers={"Accept": {"latin-1": f"application/{odd}, application/json"}}, raw=True, keep=["kind"])
        t.merge(CM + "/x", {}, headers={"Content-Type": {"latin-1": f"application/{odd}"}}, raw=True)
        for agent in (f"{odd}/1", f"a{odd}b/1", f"a/{odd}"):
            t.post(CM + "?dryRun=All", config_map(), headers={"User-Agent": {"latin-1": agent}}, raw=True, keep=["metadata.managedFields"])
        for name in ("Impersonate-User", "Impersonate-Uid"):
            t.get(CM + "/x", headers={"Impersonate-User": "bob", name: {"latin-1": odd}}, raw=True)
            t.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}', headers={"Impersonate-User": "bob", name: {"latin-1": odd}}, raw=True, written=True)
        t.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}', headers={"Impersonate-User": "bob", "Impersonate-Group": {"latin-1": odd}}, raw=True)
        t.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}', headers={"Impersonate-User": "bob", "Impersonate-Extra-A": {"latin-1": odd}}, raw=True)
        t.get("/version", headers={"Accept": {"latin-1": odd}}, raw=True)
        t.get("/apis", headers={"Accept": {"latin-1": odd}}, raw=True, keep=["kind"])


def bodies(t):
    for odd in BYTES:
        for body in (odd, b"{" + odd + b"}", b'{"a":' + odd + b"}", b'{"a"' + odd, b'{"a":1' + odd, b"[1" + odd, b'"' + odd + b'"', b'{"kind":"' + odd + b'"}', b'{"' + odd + b'":1}', b'{"apiVersion":"' + odd + b'","kind":"ConfigMap"}', b'{"apiVersion":"' + odd + b'/v1","kind":"ConfigMap"}', b'{"apiVersion":"v1","kind":"' + odd + b'"}', b'{"apiVersion":"a/b/' + odd + b'","kind":"ConfigMap"}', b'{"a":"' + odd + b'\x01"}', b'{"a":"\\' + odd + b'"}', b'{"a":n' + odd + b'"}', b'{"a":1.' + odd + b'"}', b'{}' + odd, b'{"abcdefghijklmnopqrstuvwxyz":"' + odd):
            t.post(CM + "?dryRun=All", body, keep=["kind"])
            t.post(ANYS + "?dryRun=All", body, keep=["kind"])
            t.post(CM + "?dryRun=All", body, type="application/yaml", keep=["kind"])
            t.apply(ANYS + "/x?dryRun=All", body, keep=["kind"])
        for more in (b',"data":{"a":"' + odd + b'"}', b',"data":{"' + odd + b'":"a"}', b',"' + odd + b'":1', b',"' + odd + b'":1,"' + odd + b'":2', b',"binaryData":{"a":"' + odd + b'"}', b',"immutable":"' + odd + b'"', b',"data":{"' + odd + b'":1}'):
            for validation in ("", "&fieldValidation=Strict"):
                t.post(CM + "?dryRun=All" + validation, config_map(more), keep=["data"])
            t.merge(CM + "/x?dryRun=All", b"{" + more[1:] + b"}", keep=["data"])
            t.strategic(CM + "/x?dryRun=All", b"{" + more[1:] + b"}", keep=["data"])
            t.apply(CM + "/x?dryRun=All", config_map(more), keep=["data"])
        t.post(CM + "?dryRun=All", config_map(name=odd), keep=["metadata"])
        t.post(ANYS + "?dryRun=All", any(b"{}", name=odd), keep=["metadata"])
        for more in (b'"labels":{"a":"' + odd + b'"}', b'"labels":{"' + odd + b'":"a"}', b'"annotations":{"a":"' + odd + b'"}', b'"annotations":{"' + odd + b'":"a"}', b'"generateName":"' + odd + b'"', b'"namespace":"' + odd + b'"', b'"finalizers":["' + odd + b'"]', b'"uid":"' + odd + b'"', b'"creationTimestamp":"' + odd + b'"', b'"resourceVersion":"' + odd + b'"'):
            t.post(CM + "?dryRun=All", b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x",' + more + b"}}", keep=["metadata.annotations"])
            t.post(ANYS + "?dryRun=All", any(b"{}", more=b"," + more), keep=["metadata.annotations"])
        for spec in (b'{"a":"' + odd + b'"}', b'{"' + odd + b'":1}', b'"' + odd + b'"', b'{"a":{"' + odd + b'":1,"' + odd + b'":2}}'):
            t.post(ANYS + "?dryRun=All", any(spec), written=True)
            t.post(ANYS + "?dryRun=All&fieldValidation=Strict", any(spec), keep=["spec"])
            t.apply(ANYS + "/x?dryRun=All", any(spec), keep=["spec"])
            t.merge(ANYS + "/x?dryRun=All", b'{"spec":' + spec + b"}", keep=["spec"])
        for op in (b'{"op":"' + odd + b'","path":"/data/a"}', b'{"op":"add","path":"/data/' + odd + b'","value":"a"}', b'{"op":"add","path":"/data/a","value":"' + odd + b'"}', b'{"op":"remove","path":"/data/' + odd + b'"}', b'{"op":"test","path":"/data/a","value":"' + odd + b'"}', b'{"op":"copy","from":"/data/' + odd + b'","path":"/data/b"}', b'{"op":"add","path":"/' + odd + b'/a","value":1}', b'{"op":"add","path":"/spec/' + odd + b'","value":1}', b'{"' + odd + b'":1,"op":"add","path":"/data/b","value":"x"}', b'{"op":"replace","path":"' + odd + b'","value":1}'):
            t.json_patch(CM + "/x?dryRun=All", b"[" + op + b"]", keep=["data"])
            t.json_patch(ANYS + "/x?dryRun=All", b"[" + op + b"]", keep=["spec"])
        t.strategic(CM + "/x?dryRun=All", b'{"$patch":"' + odd + b'"}', keep=["data"])
        t.strategic(CM + "/x?dryRun=All", b'{"metadata":{"$deleteFromPrimitiveList/finalizers":["' + odd + b'"]}}', keep=["data"])
        t.strategic(CM + "/x?dryRun=All", b'{"$retainKeys":["' + odd + b'"]}', keep=["data"])
        t.post(APPS + "/deployments?dryRun=All", b'{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},"spec":{"replicas":"' + odd + b'","selector":{"matchLabels":{"a":"' + odd + b'"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"' + odd + b'","image":"i"}]}}}}', keep=["kind"])
        t.post(APPS + "/deployments?dryRun=All", b'{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},"spec":{"selector":{"matchLabels":{"a":"' + odd + b'"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"' + odd + b'","image":"i"}]}}}}', keep=["kind"])
        t.post(CORE + "/pods?dryRun=All", b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"' + odd + b'"}}}]}}', keep=["kind"])
        t.post(CORE + "/pods?dryRun=All", b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"restartPolicy":"' + odd + b'","containers":[{"name":"c","image":"' + odd + b'","env":[{"name":"' + odd + b'","value":"' + odd + b'"}]}]}}', keep=["kind"])
        t.post(CORE + "/secrets?dryRun=All", b'{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"},"stringData":{"a":"' + odd + b'"}}', keep=["data"])
        t.post(CORE + "/secrets?dryRun=All", b'{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"},"data":{"a":"' + odd + b'"}}', keep=["data"])
        t.post("/apis/coordination.k8s.io/v1/namespaces/default/leases?dryRun=All", b'{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"x"},"spec":{"renewTime":"' + odd + b'"}}', keep=["spec"])
        t.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All", b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"' + odd + b'"},"spec":{"group":"' + odd + b'","scope":"Namespaced","names":{"plural":"' + odd + b'","kind":"' + odd + b'"},"versions":[{"name":"' + odd + b'","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"' + odd + b'","properties":{"' + odd + b'":{"type":"string","pattern":"' + odd + b'"}}}}}]}}', keep=["kind"])
        t.post(CM, config_map(name=b"gone"), keep=["kind"])
        for body in (b'{"kind":"' + odd + b'"}', b'{"propagationPolicy":"' + odd + b'"}', b'{"preconditions":{"uid":"' + odd + b'"}}', b'{"dryRun":["' + odd + b'"]}', odd, b'{"' + odd + b'":1}'):
            t.delete(CM + "/gone", body, keep=["kind"])
        t.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", b'{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"' + odd + b'","resourceAttributes":{"verb":"' + odd + b'","resource":"' + odd + b'","name":"' + odd + b'"}}}', keep=["spec", "status"])
        t.post("/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All", b'{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"' + odd + b'"},"rules":[]}', keep=["kind"])


def run(t):
    t.crd(json.loads(json.dumps(CRD)))
    t.post(CORE + "/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}, keep=["kind"])
    t.post(CM, config_map(b',"data":{"a":"1"}'), keep=["kind"])
    t.post(ANYS, any(b'{"a":1}'), keep=["kind"])
    for part in (paths, queries, headers, bodies):
        part(t)
