"""Objects that several topics ask for."""

CORE = "/api/v1/namespaces/default"
POD_SPEC = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC}
SELECTOR = {"matchLabels": {"a": "b"}}
JOB = {"template": {"spec": {**POD_SPEC, "restartPolicy": "Never"}}}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def obj(api_version, kind, name, meta=None, **more):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **(meta or {})}, **more}


def cm(name, meta=None, **more):
    return obj("v1", "ConfigMap", name, meta, **more)


def pod(name, meta=None, **spec):
    return obj("v1", "Pod", name, meta, spec={**POD_SPEC, **spec})


def deployment(name, meta=None, **spec):
    return obj("apps/v1", "Deployment", name, meta, spec={"selector": SELECTOR, "template": TEMPLATE, **spec})


def crd(group, plural, kind, scope="Namespaced", subresources=None, versions=("v1",), **more):
    return obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{group}", spec={
        "group": group, "scope": scope, "names": {"plural": plural, "kind": kind},
        "versions": [{"name": v, "served": True, "storage": v == versions[0], "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {
                "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}, "size": {"type": "string"}, "list": {"type": "array", "items": {"type": "string"}}}},
                "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}, "phase": {"type": "string"}}}}}},
            **({"subresources": subresources} if subresources else {}), **more} for v in versions]})


# (collection, apiVersion, kind, what the object has beside its metadata), of every built-in kind that stands on its own.
KINDS = [
    (f"{CORE}/configmaps", "v1", "ConfigMap", {}),
    (f"{CORE}/secrets", "v1", "Secret", {}),
    (f"{CORE}/serviceaccounts", "v1", "ServiceAccount", {}),
    (f"{CORE}/pods", "v1", "Pod", {"spec": POD_SPEC}),
    (f"{CORE}/podtemplates", "v1", "PodTemplate", {"template": TEMPLATE}),
    (f"{CORE}/replicationcontrollers", "v1", "ReplicationController", {"spec": {"selector": {"a": "b"}, "template": TEMPLATE}}),
    (f"{CORE}/services", "v1", "Service", {"spec": {"ports": [{"port": 1}]}}),
    (f"{CORE}/endpoints", "v1", "Endpoints", {}),
    (f"{CORE}/events", "v1", "Event", {"involvedObject": {"namespace": "default"}}),
    (f"{CORE}/limitranges", "v1", "LimitRange", {}),
    (f"{CORE}/resourcequotas", "v1", "ResourceQuota", {}),
    (f"{CORE}/persistentvolumeclaims", "v1", "PersistentVolumeClaim", {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
    ("/api/v1/persistentvolumes", "v1", "PersistentVolume", {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}}),
    ("/api/v1/nodes", "v1", "Node", {}),
    ("/api/v1/namespaces", "v1", "Namespace", {}),
    ("/apis/apps/v1/namespaces/default/deployments", "apps/v1", "Deployment", {"spec": {"selector": SELECTOR, "template": TEMPLATE}}),
    ("/apis/apps/v1/namespaces/default/statefulsets", "apps/v1", "StatefulSet", {"spec": {"serviceName": "s", "selector": SELECTOR, "template": TEMPLATE}}),
    ("/apis/apps/v1/namespaces/default/daemonsets", "apps/v1", "DaemonSet", {"spec": {"selector": SELECTOR, "template": TEMPLATE}}),
    ("/apis/apps/v1/namespaces/default/replicasets", "apps/v1", "ReplicaSet", {"spec": {"selector": SELECTOR, "template": TEMPLATE}}),
    ("/apis/apps/v1/namespaces/default/controllerrevisions", "apps/v1", "ControllerRevision", {"revision": 1, "data": {"x": 1}}),
    ("/apis/batch/v1/namespaces/default/jobs", "batch/v1", "Job", {"spec": JOB}),
    ("/apis/batch/v1/namespaces/default/cronjobs", "batch/v1", "CronJob", {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}}}),
    ("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", "autoscaling/v2", "HorizontalPodAutoscaler", {"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}}),
    ("/apis/policy/v1/namespaces/default/poddisruptionbudgets", "policy/v1", "PodDisruptionBudget", {"spec": {"selector": SELECTOR, "minAvailable": 1}}),
    ("/apis/networking.k8s.io/v1/namespaces/default/ingresses", "networking.k8s.io/v1", "Ingress", {"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 1}}}}}),
    ("/apis/networking.k8s.io/v1/ingressclasses", "networking.k8s.io/v1", "IngressClass", {"spec": {"controller": "example.com/c"}}),
    ("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", "networking.k8s.io/v1", "NetworkPolicy", {"spec": {"podSelector": {}}}),
    ("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", "discovery.k8s.io/v1", "EndpointSlice", {"addressType": "IPv4", "endpoints": []}),
    ("/apis/coordination.k8s.io/v1/namespaces/default/leases", "coordination.k8s.io/v1", "Lease", {"spec": {"holderIdentity": "me"}}),
    ("/apis/events.k8s.io/v1/namespaces/default/events", "events.k8s.io/v1", "Event", {"eventTime": "2020-01-01T00:00:00.000000Z", "reportingController": "example.com/c", "reportingInstance": "i", "action": "a", "reason": "r", "type": "Normal", "regarding": {"namespace": "default"}}),
    ("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", "rbac.authorization.k8s.io/v1", "Role", {"rules": []}),
    ("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", "rbac.authorization.k8s.io/v1", "RoleBinding", {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}}),
    ("/apis/rbac.authorization.k8s.io/v1/clusterroles", "rbac.authorization.k8s.io/v1", "ClusterRole", {"rules": []}),
    ("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}}),
    ("/apis/scheduling.k8s.io/v1/priorityclasses", "scheduling.k8s.io/v1", "PriorityClass", {"value": 5}),
    ("/apis/storage.k8s.io/v1/storageclasses", "storage.k8s.io/v1", "StorageClass", {"provisioner": "p"}),
    ("/apis/storage.k8s.io/v1/csidrivers", "storage.k8s.io/v1", "CSIDriver", {"spec": {}}),
    ("/apis/storage.k8s.io/v1/csinodes", "storage.k8s.io/v1", "CSINode", {"spec": {"drivers": []}}),
    ("/apis/storage.k8s.io/v1/volumeattachments", "storage.k8s.io/v1", "VolumeAttachment", {"spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "p"}}}),
    ("/apis/node.k8s.io/v1/runtimeclasses", "node.k8s.io/v1", "RuntimeClass", {"handler": "h"}),
    ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", {}),
    ("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", {}),
    ("/apis/apiregistration.k8s.io/v1/apiservices", "apiregistration.k8s.io/v1", "APIService", {}),
    ("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations", "flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration", {"spec": {"type": "Exempt"}}),
    ("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "flowcontrol.apiserver.k8s.io/v1", "FlowSchema", {"spec": {"priorityLevelConfiguration": {"name": "exempt"}}}),
]
