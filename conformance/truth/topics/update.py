"""Replacing objects: versions, identity, what cannot change, writes that change nothing."""

CM = "/api/v1/namespaces/default/configmaps"


def cm(meta, **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **more}


def run(t):
    t.post(CM, cm({"name": "a", "labels": {"x": "1"}}, data={"k": "1"}), save={"rv": "metadata.resourceVersion", "uid": "metadata.uid"})
    t.put(CM + "/missing", cm({"name": "missing"}))
    t.put(CM + "/missing", cm({"name": "missing", "resourceVersion": "5"}))
    t.put(CM + "/missing", cm({"name": "missing", "uid": "00000000-0000-4000-8000-000000000000"}))
    t.put(CM + "/a", cm({"name": "b"}))
    t.put(CM + "/a", cm({}))
    t.put(CM + "/a", cm({"name": "a", "namespace": "other"}))
    t.put(CM + "/a", cm({"name": "a", "resourceVersion": "x"}))
    t.put(CM + "/a", cm({"name": "a", "resourceVersion": "1"}))
    t.put(CM + "/a", cm({"name": "a", "uid": "00000000-0000-4000-8000-000000000000"}))
    t.put(CM + "/a", cm({"name": "a", "labels": {"x": "1"}}, data={"k": "1"}))          # nothing changes
    t.put(CM + "/a", cm({"name": "a", "labels": {"x": "1"}, "resourceVersion": "${rv}"}, data={"k": "1"}))
    t.put(CM + "/a", cm({"name": "a", "labels": {"x": "1"}, "resourceVersion": "${rv}", "uid": "${uid}"}, data={"k": "2"}))
    t.put(CM + "/a", cm({"name": "a", "resourceVersion": "${rv}"}, data={"k": "3"}))
    for meta in ({"creationTimestamp": "2001-01-01T00:00:00Z"}, {"generation": 99}, {"deletionTimestamp": "2001-01-01T00:00:00Z"}, {"deletionGracePeriodSeconds": 1}, {"selfLink": "x"}, {"generateName": "g-"}, {"managedFields": []},
                 {"managedFields": [{}]}, {"managedFields": None}, {"finalizers": ["example.com/a"]}, {"finalizers": []}, {"ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "o", "uid": "u", "controller": True}]},
                 {"labels": {"bad value": "x"}}, {"annotations": {"a": "b"}}):
        t.put(CM + "/a", cm({"name": "a", **meta}, data={"k": "4"}))
    t.put(CM + "/a?dryRun=All", cm({"name": "a"}, data={"k": "dry"}))
    t.get(CM + "/a")
    # while it is being deleted
    t.post(CM, cm({"name": "held", "finalizers": ["example.com/a", "example.com/b"]}))
    t.delete(CM + "/held")
    t.delete(CM + "/held")
    t.post(CM, cm({"name": "held"}))
    t.put(CM + "/held", cm({"name": "held", "finalizers": ["example.com/a", "example.com/b", "example.com/c"]}))
    t.put(CM + "/held", cm({"name": "held", "finalizers": ["example.com/b"]}, data={"still": "writable"}))
    t.merge(CM + "/held", {"metadata": {"deletionTimestamp": None}})
    t.merge(CM + "/held", {"metadata": {"finalizers": None}})
    t.get(CM + "/held")
    # kinds with a spec
    dep = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}
    D = "/apis/apps/v1/namespaces/default/deployments"
    t.post(D, {**dep, "status": {"replicas": 3}})
    t.put(D + "/d", dep)
    t.put(D + "/d", {**dep, "spec": {**dep["spec"], "replicas": 5}})
    t.put(D + "/d", {**dep, "spec": {**dep["spec"], "selector": {"matchLabels": {"a": "c"}}}})
    t.put(D + "/d", {**dep, "spec": {**dep["spec"], "template": {"metadata": {"labels": {"a": "z"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
    t.put(D + "/d", {**dep, "metadata": {"name": "d", "labels": {"l": "1"}}})
    t.put(D + "/d/status", {**dep, "status": {"replicas": 2, "readyReplicas": 3, "availableReplicas": 1, "observedGeneration": 1}})
    t.put(D + "/d/status", {**dep, "spec": {}, "status": {"replicas": 2, "readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 1}})
    t.merge(D + "/d/status", {"metadata": {"labels": {"from": "status"}, "annotations": {"from": "status"}}, "spec": {"replicas": 9}, "status": {"conditions": [{"type": "Available", "status": "True", "lastUpdateTime": "2001-01-01T00:00:00Z", "lastTransitionTime": "2001-01-01T00:00:00Z"}]}})
    t.merge(D + "/d/status", {"status": {"conditions": [{"type": "", "status": "Maybe"}]}})
    t.get(D + "/d/status")
    t.put(D + "/d", {"apiVersion": "apps/v1beta1", "kind": "Deployment", "metadata": {"name": "d"}})
    t.put(D + "/d", {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "d"}})
    t.put("/apis/coordination.k8s.io/v1/namespaces/default/leases/new", {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "new"}, "spec": {"holderIdentity": "me"}})
    t.put("/api/v1/namespaces/default/events/new", {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "new", "namespace": "default"}, "involvedObject": {"namespace": "default"}})
    t.put("/api/v1/namespaces/default/services/new", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "new"}, "spec": {"ports": [{"port": 1}]}})
    t.put("/api/v1/namespaces/default/endpoints/new", {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "new"}})
    t.put("/apis/rbac.authorization.k8s.io/v1/clusterroles/new", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "new"}, "rules": []})
    t.put("/api/v1/nodes/new", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "new"}})
    t.put("/api/v1/namespaces/default/resourcequotas/new", {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "new"}})
    t.put("/api/v1/namespaces/default/limitranges/new", {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "new"}})
