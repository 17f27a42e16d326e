"""Deleting: what is answered, finalizers, grace, preconditions, collections."""

CM = "/api/v1/namespaces/default/configmaps"
POD = "/api/v1/namespaces/default/pods"


def cm(name, **meta):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}}


def pod(name, node=None, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **({"nodeName": node} if node else {}), **spec}}


def run(t):
    t.delete(CM + "/missing")
    t.post(CM, cm("a"))
    t.delete(CM + "/a?dryRun=All")
    t.delete(CM + "/a")
    t.delete(CM + "/a")
    for policy in ("Background", "Foreground", "Orphan"):
        t.post(CM, cm("p"))
        t.delete(CM + "/p", {"propagationPolicy": policy})
        t.delete(CM + "/p", {"propagationPolicy": "Background"})
        t.get(CM + "/p")
        t.merge(CM + "/p", {"metadata": {"finalizers": None}})
        t.get(CM + "/p")
    for orphan in (True, False):
        t.post(CM, cm("o"))
        t.delete(CM + "/o", {"orphanDependents": orphan})
        t.merge(CM + "/o", {"metadata": {"finalizers": []}})
    t.post(CM, cm("q"), save={"uid": "metadata.uid", "rv": "metadata.resourceVersion"})
    t.delete(CM + "/q", {"preconditions": {"uid": "wrong"}})
    t.delete(CM + "/q", {"preconditions": {"uid": "${uid}", "resourceVersion": "1"}})
    t.delete(CM + "/q", {"preconditions": {"uid": "${uid}", "resourceVersion": "${rv}"}})
    # pods
    t.post(POD, pod("free"))
    t.delete(POD + "/free")
    t.get(POD + "/free")
    t.post(POD, pod("bound", "n1"))
    t.delete(POD + "/bound?gracePeriodSeconds=60")
    t.delete(POD + "/bound?gracePeriodSeconds=90")
    t.delete(POD + "/bound", {"gracePeriodSeconds": 5})
    t.merge(POD + "/bound", {"metadata": {"labels": {"late": "yes"}}})
    t.delete(POD + "/bound", {"gracePeriodSeconds": 0})
    t.get(POD + "/bound")
    t.post(POD, pod("grace", "n1", terminationGracePeriodSeconds=7))
    t.delete(POD + "/grace", {"gracePeriodSeconds": -1})
    t.delete(POD + "/grace", {"gracePeriodSeconds": 0})
    t.post(POD, pod("zero", "n1", terminationGracePeriodSeconds=0))
    t.delete(POD + "/zero")
    t.post(POD, pod("done", "n1"))
    t.merge(POD + "/done/status", {"status": {"phase": "Succeeded"}})
    t.delete(POD + "/done")
    t.post(POD, {**pod("finalized", "n1"), "metadata": {"name": "finalized", "finalizers": ["example.com/x"]}})
    t.delete(POD + "/finalized")
    t.delete(POD + "/finalized", {"gracePeriodSeconds": 0})
    t.merge(POD + "/finalized", {"metadata": {"finalizers": None}})
    t.get(POD + "/finalized")
    # kinds that answer with the object
    for path, body in (("/api/v1/namespaces/default/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "x"}}),
                       ("/api/v1/namespaces/default/services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"ports": [{"port": 1}]}}),
                       ("/api/v1/namespaces/default/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}),
                       ("/api/v1/namespaces/default/resourcequotas", {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "x"}}),
                       ("/api/v1/namespaces/default/limitranges", {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "x"}}),
                       ("/api/v1/namespaces/default/endpoints", {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "x"}}),
                       ("/api/v1/namespaces/default/podtemplates", {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}),
                       ("/api/v1/namespaces/default/replicationcontrollers", {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "x"}, "spec": {"selector": {"a": "b"}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}),
                       ("/apis/apps/v1/namespaces/default/deployments", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}),
                       ("/apis/apps/v1/namespaces/default/statefulsets", {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "x"}, "spec": {"serviceName": "s", "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}),
                       ("/apis/batch/v1/namespaces/default/jobs", {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}),
                       ("/apis/batch/v1/namespaces/default/cronjobs", {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "x"}, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}}}),
                       ("/apis/policy/v1/namespaces/default/poddisruptionbudgets", {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "x"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "minAvailable": 1}}),
                       ("/apis/networking.k8s.io/v1/namespaces/default/ingresses", {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "x"}, "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 1}}}}}),
                       ("/apis/coordination.k8s.io/v1/namespaces/default/leases", {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "x"}}),
                       ("/apis/storage.k8s.io/v1/storageclasses", {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "x"}, "provisioner": "p"}),
                       ("/apis/rbac.authorization.k8s.io/v1/clusterroles", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "x"}, "rules": []}),
                       ("/apis/scheduling.k8s.io/v1/priorityclasses", {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "x"}, "value": 5}),
                       ("/api/v1/persistentvolumes", {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "x"}, "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}}),
                       ("/api/v1/namespaces/default/persistentvolumeclaims", {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "x"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
                       ("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}}),
                       ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "x"}})):
        t.post(path, body)
        t.delete(path + "/x")
        t.get(path + "/x")
    # collections
    for i in range(5):
        t.post(CM, cm(f"c{i}", labels={"n": str(i), "odd": str(i % 2)}, **({"finalizers": ["example.com/x"]} if i == 4 else {})))
    t.delete(CM + "?labelSelector=odd%3D1&dryRun=All")
    t.delete(CM + "?labelSelector=odd%3D1")
    t.delete(CM + "?fieldSelector=metadata.name%3Dc0")
    t.delete(CM + "?labelSelector=((")
    t.delete(CM + "?fieldSelector=nothing%3D1")
    t.delete(CM + "?limit=x")
    t.delete(CM + "?labelSelector=n", {"propagationPolicy": "Sometime"})
    t.delete(CM + "?labelSelector=n", {"preconditions": {"uid": "x"}})
    t.delete(CM + "?labelSelector=n")
    t.get(CM + "?labelSelector=n")
    t.merge(CM + "/c4", {"metadata": {"finalizers": None}})
    t.get(CM + "?labelSelector=n")
