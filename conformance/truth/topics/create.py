"""Creating: names, metadata, namespaces, strictness, what the server writes itself."""

CM = "/api/v1/namespaces/default/configmaps"
SECRET = "/api/v1/namespaces/default/secrets"


def cm(meta, **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **more}


def run(t):
    t.post(CM, cm({"name": "plain"}, data={"a": "1"}))
    t.post(CM, cm({"name": "plain"}))
    for name in ("", "Upper", "under_score", "-dash", "dash-", "dot.dot", "a" * 253, "a" * 254, "a b", "é", "..", "a/b", "a%b", "1"):
        t.post(CM, cm({"name": name}))
    t.post(CM, cm({}))
    for base in ("gen-", "Gen", "g" * 70, "gen_"):
        t.post(CM + "?dryRun=All", cm({"generateName": base}))
    t.post(CM, cm({"name": "named", "generateName": "gen-"}))
    for meta in ({"uid": "00000000-0000-4000-8000-000000000001"}, {"creationTimestamp": "2001-01-01T00:00:00Z"}, {"generation": 7}, {"selfLink": "/x"}, {"deletionTimestamp": "2001-01-01T00:00:00Z"},
                 {"deletionGracePeriodSeconds": 5}, {"resourceVersion": "1"}, {"resourceVersion": "0"}, {"resourceVersion": "x"}, {"resourceVersion": ""}, {"namespace": "default"}, {"namespace": "other"}, {"namespace": ""},
                 {"labels": {"a": "b", "example.com/x": ""}}, {"labels": {"-a": "b"}}, {"labels": {"a": "-b"}}, {"labels": {"a": "b" * 64}}, {"labels": {"a/b/c": "x"}}, {"labels": {"Example.com/x": "x"}}, {"labels": {"": "x"}},
                 {"annotations": {"A/b": "x"}}, {"annotations": {"a b": "x"}}, {"annotations": {"a": "${x*200000}"}}, {"annotations": {"a": "${x*262145}"}}, {"annotations": {"x" * 64: ""}}, {"annotations": None}, {"labels": None},
                 {"finalizers": ["plain"]}, {"finalizers": ["example.com/x"]}, {"finalizers": ["example.com/x", "example.com/x"]}, {"finalizers": ["a b"]}, {"finalizers": [""]}, {"finalizers": ["orphan", "foregroundDeletion"]},
                 {"finalizers": ["orphan"]}, {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "00000000-0000-4000-8000-000000000002"}]},
                 {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": ""}]}, {"ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]}, {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "o", "uid": "u"}]},
                 {"ownerReferences": [{"apiVersion": "a/b/c", "kind": "X", "name": "o", "uid": "u"}]}, {"ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "o", "uid": "u", "controller": True}, {"apiVersion": "v1", "kind": "Y", "name": "o", "uid": "w", "controller": True}]},
                 {"ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "o", "uid": "u"}, {"apiVersion": "v1", "kind": "X", "name": "o", "uid": "u"}]}, {"managedFields": []}, {"managedFields": [{}]},
                 {"managedFields": [{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}}]},
                 {"managedFields": [{"manager": "m", "operation": "Nothing", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}]}, {"managedFields": [{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV9", "fieldsV1": {}}]},
                 {"managedFields": [{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"nonsense": {}}}]}, {"nothing": 1}, {"Name": "upper"}, {"clusterName": "x"}):
        t.post(CM + "?dryRun=All", cm({"name": "meta", **meta}))
    # strictness
    for mode in ("Strict", "Warn", "Ignore", ""):
        query = f"?dryRun=All&fieldValidation={mode}"
        t.post(CM + query, cm({"name": "s"}, dat={"a": "1"}))
        t.post(CM + query, cm({"name": "s", "lables": {}}, data={"a": "1"}, more=[1], andMore=None))
        t.post(CM + query, '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s"},"data":{"a":"1","a":"2"}}')
        t.post(CM + query, '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s","name":"t"},"data":{"a":"1"},"data":{"b":"2"}}')
        t.post(CM + query, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {a: x, b: 'y', n: no}\n", type="application/yaml")
        t.post(CM + query, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {a: x, a: w}\nbad: 1\n", type="application/yaml")
        t.post(CM + query, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {a: [}\n", type="application/yaml")
        t.post("/apis/apps/v1/namespaces/default/deployments" + query, {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
            "spec": {"replicas": 1, "replcas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i", "imagePolicy": "x", "ports": [{"containerPort": 1, "port": 2}]}]}}}})
        t.post("/apis/apps/v1/namespaces/default/deployments" + query, {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"replicas": "1", "selector": {}, "template": {}}})
    # namespaces
    t.post("/api/v1/namespaces/missing/configmaps", cm({"name": "x"}))
    t.post("/api/v1/configmaps", cm({"name": "x", "namespace": "default"}))
    t.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made", "namespace": "x", "labels": {"team": "a"}}})
    t.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dot.dot"}})
    t.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a" * 64}})
    t.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "spec"}, "spec": {"finalizers": ["example.com/mine"]}, "status": {"phase": "Terminating"}})
    t.delete("/api/v1/namespaces/made")
    t.post("/api/v1/namespaces/made/configmaps", cm({"name": "late"}))
    t.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made"}})
    for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
        t.delete(f"/api/v1/namespaces/{name}?dryRun=All")
    # data
    t.post(CM, cm({"name": "both"}, data={"k": "1"}, binaryData={"k": "MQ=="}))
    t.post(CM, cm({"name": "keys"}, data={"a b": "1", "..": "2", "x" * 254: "3", ".": "4", "ok.key_-": "5"}))
    t.post(CM, cm({"name": "frozen"}, data={"k": "1"}, immutable=True))
    t.put(CM + "/frozen", cm({"name": "frozen"}, data={"k": "2"}, immutable=True))
    t.put(CM + "/frozen", cm({"name": "frozen"}, data={"k": "1"}))
    t.put(CM + "/frozen", cm({"name": "frozen", "labels": {"fine": "yes"}}, data={"k": "1"}, immutable=True))
    for kind, data in (("Opaque", {}), ("kubernetes.io/tls", {}), ("kubernetes.io/tls", {"tls.crt": "", "tls.key": ""}), ("kubernetes.io/dockerconfigjson", {}), ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "e30="}),
                       ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "bm9wZQ=="}), ("kubernetes.io/dockercfg", {}), ("kubernetes.io/basic-auth", {}), ("kubernetes.io/basic-auth", {"username": "YQ=="}), ("kubernetes.io/ssh-auth", {}),
                       ("kubernetes.io/service-account-token", {}), ("bootstrap.kubernetes.io/token", {}), ("example.com/own", {"x": "YQ=="}), (None, {"x": "YQ=="}), ("Opaque", {"x": "?"}), ("Opaque", {"bad key": "YQ=="})):
        t.post(SECRET + "?dryRun=All", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **({"type": kind} if kind else {}), "data": data})
    t.post(SECRET, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "str"}, "stringData": {"a": "b", "c": "d"}, "data": {"a": "eA=="}})
    t.put(SECRET + "/str", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "str"}, "type": "kubernetes.io/tls", "data": {"a": "eA=="}})
