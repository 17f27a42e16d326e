"""JSON patch, merge patch, strategic merge patch: what they do and how they are refused."""

CM = "/api/v1/namespaces/default/configmaps"
D = "/apis/apps/v1/namespaces/default/deployments"
SVC = "/api/v1/namespaces/default/services"


def run(t):
    t.post(CM, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"l": "1"}, "annotations": {"a/b": "slash"}}, "data": {"k": "1"}}, save={"rv": "metadata.resourceVersion"})
    for patch in ([{"op": "add", "path": "/data/new", "value": "x"}], [{"op": "replace", "path": "/data/k", "value": "2"}], [{"op": "remove", "path": "/data/k"}], [{"op": "test", "path": "/data/k", "value": "1"}],
                  [{"op": "test", "path": "/data/k", "value": "nope"}], [{"op": "test", "path": "/data/none", "value": "x"}], [{"op": "test", "path": "/data/none", "value": None}], [{"op": "remove", "path": "/data/none"}], [{"op": "replace", "path": "/data/none", "value": "x"}],
                  [{"op": "add", "path": "/nothing/deep", "value": "x"}], [{"op": "move", "from": "/data/k", "path": "/data/moved"}], [{"op": "copy", "from": "/data/k", "path": "/data/copied"}], [{"op": "move", "from": "/data/none", "path": "/data/x"}],
                  [{"op": "copy", "from": "/data/none", "path": "/data/x"}], [{"op": "replace", "path": "/metadata/annotations/a~1b", "value": "x"}], [{"op": "replace", "path": "/metadata/annotations/a~0b", "value": "x"}], [{"op": "nothing", "path": "/data/k"}], [{"path": "/data/k"}],
                  [{"op": "add", "value": "x"}], [{"op": "add", "path": "data/k", "value": "x"}], [{"op": "add", "path": "/data/k"}], [{"op": "replace", "path": "", "value": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}}], [], {}, "x", None, [1], [{"op": "add", "path": "/data", "value": 1}],
                  [{"op": "replace", "path": "/metadata/name", "value": "b"}], [{"op": "replace", "path": "/kind", "value": "Secret"}], [{"op": "replace", "path": "/apiVersion", "value": "v2"}], [{"op": "add", "path": "/metadata/namespace", "value": "other"}], [{"op": "remove", "path": "/metadata"}],
                  [{"op": "add", "path": "/metadata/resourceVersion", "value": "1"}], [{"op": "add", "path": "/metadata/uid", "value": "x"}], [{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/x"}], [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/x"]}],
                  [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/x"]}, {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/y"}, {"op": "add", "path": "/metadata/finalizers/0", "value": "example.com/z"}],
                  [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/x"]}, {"op": "remove", "path": "/metadata/finalizers/5"}], [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/x"]}, {"op": "remove", "path": "/metadata/finalizers/-1"}],
                  [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/x"]}, {"op": "add", "path": "/metadata/finalizers/9", "value": "example.com/y"}], [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/x"]}, {"op": "add", "path": "/metadata/finalizers/x", "value": "example.com/y"}],
                  [{"op": "add", "path": "/unknown", "value": 1}], [{"op": "test", "path": "/metadata/labels", "value": {"l": "1"}}], [{"op": "test", "path": "/metadata/generation", "value": None}]):
        t.json_patch(CM + "/a?dryRun=All", patch)
        if len(str(patch)) < 60:
            t.json_patch(CM + "/a?dryRun=All&fieldValidation=Strict", patch)
    for patch in ({"data": {"k": None}}, {"data": {"k": "2", "n": "3"}}, {"data": None}, {}, [], "x", None, 1, {"data": {"k": 5}}, {"data": []}, {"metadata": {"labels": None}}, {"metadata": {"labels": {"l": None, "m": "1"}}}, {"metadata": None}, {"metadata": {"name": "b"}}, {"metadata": {"namespace": "x"}},
                  {"kind": "Secret"}, {"apiVersion": "v2"}, {"apiVersion": "apps/v1", "kind": "Deployment"}, {"metadata": {"resourceVersion": "1"}}, {"metadata": {"resourceVersion": "${rv}"}}, {"metadata": {"uid": "x"}}, {"unknown": 1}, {"metadata": {"unknown": 1}}, {"metadata": {"finalizers": ["example.com/x"]}},
                  {"metadata": {"creationTimestamp": None}}, {"metadata": {"generation": 5}}, {"metadata": {"managedFields": None}}, {"metadata": {"ownerReferences": [{"apiVersion": "v1"}]}}, {"immutable": True}, {"immutable": "yes"}):
        t.merge(CM + "/a?dryRun=All", patch)
        t.strategic(CM + "/a?dryRun=All", patch)
        if len(str(patch)) < 30:
            t.merge(CM + "/a?dryRun=All&fieldValidation=Strict", patch)
    for text in ("", "{", '{"data":{"k":"1","k":"2"}}', "data: {k: y}"):
        for kind in ("application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"):
            t.call("PATCH", CM + "/a?dryRun=All&fieldManager=m", text, type=kind)
            t.call("PATCH", CM + "/a?dryRun=All&fieldManager=m&fieldValidation=Strict", text, type=kind)
    t.merge(CM + "/missing", {"data": {}})
    t.json_patch(CM + "/missing", [])
    t.strategic(CM + "/missing", {})
    t.merge(CM + "/a", {})
    t.merge(CM + "/a", {"data": {"k": "1"}})
    t.merge(CM + "/a?force=true", {"data": {"k": "1"}})
    t.call("PATCH", CM + "/a?dryRun=All", "[" + ",".join(['{"op":"test","path":"/data/k","value":"1"}'] * 3) + "]", type="application/json-patch+json")
    # strategic merge
    t.post(D, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
               "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "ports": [{"containerPort": 80}, {"containerPort": 81, "protocol": "UDP"}], "args": ["x", "y"],
               "volumeMounts": [{"name": "v", "mountPath": "/v"}]}, {"name": "side", "image": "s"}], "volumes": [{"name": "v", "emptyDir": {}}], "tolerations": [{"key": "k", "operator": "Exists"}]}}}})

    def spec(**s):
        return {"spec": {"template": {"spec": s}}}
    for patch in (spec(containers=[{"name": "c", "image": "new"}]), spec(containers=[{"name": "third", "image": "t"}]), spec(containers=[{"name": "c", "$patch": "delete"}]), spec(containers=[{"$patch": "replace"}, {"name": "only", "image": "o"}]),
                  spec(containers=[{"image": "nameless"}]), spec(containers=[{"name": "c", "env": [{"name": "A", "value": "9"}, {"name": "C", "value": "3"}]}]), spec(containers=[{"name": "c", "env": [{"name": "A", "$patch": "delete"}]}]), spec(containers=[{"name": "c", "env": None}]),
                  spec(containers=[{"name": "c", "args": ["z"]}]), spec(containers=[{"name": "c", "ports": [{"containerPort": 80, "name": "http"}]}]), spec(containers=[{"name": "c", "ports": [{"containerPort": 80, "protocol": "UDP"}]}]), spec(**{"$setElementOrder/containers": [{"name": "side"}, {"name": "c"}]}),
                  spec(**{"$setElementOrder/containers": [{"name": "side"}, {"name": "new"}, {"name": "c"}], "containers": [{"name": "new", "image": "n"}]}), spec(**{"$setElementOrder/containers": [{"name": "side"}], "containers": [{"name": "new", "image": "n"}]}),
                  spec(volumes=[{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "x"}}]), spec(volumes=[{"name": "v", "configMap": {"name": "x"}}]), spec(volumes=[{"name": "v", "$patch": "delete"}]), {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
                  {"spec": {"strategy": {"type": "Recreate"}}}, {"spec": {"strategy": {"$patch": "replace", "type": "Recreate"}}}, {"spec": {"strategy": {"$patch": "delete"}}}, {"spec": {"strategy": {"$patch": "merge", "rollingUpdate": {"maxSurge": 2}}}}, {"spec": {"strategy": {"$patch": "nothing"}}},
                  {"metadata": {"$patch": "replace", "name": "d"}}, {"metadata": {"finalizers": ["example.com/a"]}}, {"metadata": {"finalizers": ["example.com/a"], "$deleteFromPrimitiveList/finalizers": ["example.com/b"]}}, {"metadata": {"$setElementOrder/finalizers": ["example.com/b", "example.com/a"], "finalizers": ["example.com/a", "example.com/b"]}},
                  {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "o", "uid": "u"}]}}, spec(tolerations=[{"key": "z", "operator": "Exists"}]), spec(containers="x"), spec(containers=[1]), spec(containers={}), {"spec": None}, {"spec": {"replicas": "x"}}, {"spec": {"replicas": None}}, {"spec": {"unknown": 1}},
                  spec(containers=[{"name": "c", "unknown": 1}]), spec(imagePullSecrets=[{"name": "a"}]), spec(nodeSelector={"a": "b"}), spec(nodeSelector={"$patch": "delete"}), {"$patch": "delete"}, {"$patch": "replace"}, {"$retainKeys": ["spec"]}, spec(hostAliases=[{"ip": "1.1.1.1", "hostnames": ["x"]}]),
                  spec(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]), spec(**{"$setElementOrder/containers": "x"}), spec(**{"$deleteFromPrimitiveList/containers": ["x"]}), spec(containers=[{"name": "c", "$retainKeys": ["name", "image"], "image": "z"}])):
        t.strategic(D + "/d?dryRun=All", patch)
    t.json_patch(D + "/d?dryRun=All", [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "z"}])
    t.json_patch(D + "/d?dryRun=All", [{"op": "replace", "path": "/spec/template/spec/containers/7/image", "value": "z"}])
    t.merge(D + "/d?dryRun=All", {"spec": {"template": {"spec": {"containers": [{"name": "one", "image": "o"}]}}}})
    t.post(SVC, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}, "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}})
    for patch in ({"spec": {"ports": [{"port": 80, "targetPort": 8080}]}}, {"spec": {"ports": [{"port": 80, "$patch": "delete"}]}}, {"spec": {"ports": [{"name": "a", "port": 90}]}}, {"spec": {"selector": {"$patch": "replace", "z": "1"}}}, {"spec": {"$setElementOrder/ports": [{"port": 81}, {"port": 80}], "ports": [{"port": 81, "name": "bb"}]}}):
        t.strategic(SVC + "/s?dryRun=All", patch)
    t.strategic("/api/v1/nodes/none", {})
    t.strategic("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/none", {})
