"""Objects inside messages: how what is wrong is shown, where it is no text and no number."""
import copy

from made import CORE, JOB, KINDS, POD_SPEC, SELECTOR, TEMPLATE, cm, crd, deployment, obj, pod

APPS = "/apis/apps/v1/namespaces/default"
OWNERS = [{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}, {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "v", "controller": True, "blockOwnerDeletion": True}, {"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "w", "blockOwnerDeletion": False, "controller": True}]


def run(t):
    t.crd(crd("shown.example.com", "mirrors", "Mirror"), keep=[])
    mirrors = "/apis/shown.example.com/v1/namespaces/default/mirrors"
    for path, it in ((f"{CORE}/configmaps", cm), (f"{CORE}/pods", pod), (f"{APPS}/deployments", deployment), (mirrors, lambda name, meta: obj("shown.example.com/v1", "Mirror", name, meta))):
        for owners in (OWNERS, OWNERS[:2], OWNERS[1:], [OWNERS[0]], [{**OWNERS[0], "controller": False}], [OWNERS[1], {**OWNERS[1], "uid": "x"}]):
            t.post(path + "?dryRun=All", it("owned", {"ownerReferences": owners}), keep=["kind"])
    for name, container in (("ports", {"ports": [{"containerPort": 1, "hostPort": 1}, {"containerPort": 2, "hostPort": 1}]}), ("env", {"env": [{"name": "a", "valueFrom": {}}, {"name": "b", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]}), ("mounts", {"volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/a"}]}),
                            ("probe", {"livenessProbe": {}, "readinessProbe": {"exec": {"command": ["a"]}, "httpGet": {"port": 1}}, "lifecycle": {"postStart": {}}}), ("resources", {"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2", "example.com/x": "1.5"}}}),
                            ("devices", {"volumeDevices": [{"name": "v", "devicePath": "/a"}]}), ("resize", {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "x"}, {"resourceName": "cpu", "restartPolicy": "NotRequired"}]})):
        t.post(f"{CORE}/pods?dryRun=All", obj("v1", "Pod", name, spec={"containers": [{"name": "c", "image": "i", **container}]}), keep=["kind"])
    for name, spec in (("volumes", {"volumes": [{"name": "v"}, {"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]}), ("tolerations", {"tolerations": [{"key": "a", "operator": "Exists", "value": "x"}, {"operator": "Equal", "effect": "NoExecute"}, {"key": "a", "effect": "NoSchedule", "tolerationSeconds": 3}]}),
                       ("affinity", {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}, "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}]}}}),
                       ("spread", {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}, {"maxSkew": 2, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}, {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "x", "minDomains": 0}]}),
                       ("aliases", {"hostAliases": [{"ip": "x", "hostnames": ["A b"]}], "dnsPolicy": "None", "dnsConfig": {"searches": ["a b"], "options": [{}]}}), ("gates", {"schedulingGates": [{"name": "a"}, {"name": "a"}], "readinessGates": [{"conditionType": "a b"}]}), ("context", {"securityContext": {"sysctls": [{"name": "a b", "value": "1"}, {"name": "a.b", "value": "1"}, {"name": "a.b", "value": "1"}], "supplementalGroups": [-1]}}),
                       ("claims", {"resourceClaims": [{"name": "a"}, {"name": "a", "resourceClaimName": "x", "resourceClaimTemplateName": "y"}]})):
        t.post(f"{CORE}/pods?dryRun=All", pod(name, None, **spec), keep=["kind"])
    bad = [
        ("apps/v1", "Deployment", f"{APPS}/deployments", {"spec": {"selector": {"matchLabels": {"z": "1", "b": "2"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}, "template": {"metadata": {"labels": {"z": "3", "c": "d"}}, "spec": POD_SPEC}}}),
        ("apps/v1", "Deployment", f"{APPS}/deployments", {"spec": {"selector": {}, "template": TEMPLATE, "strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "10%"}}}}),
        ("apps/v1", "StatefulSet", f"{APPS}/statefulsets", {"spec": {"selector": {"matchLabels": {"z": "1"}}, "template": TEMPLATE, "updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}}}),
        ("apps/v1", "DaemonSet", f"{APPS}/daemonsets", {"spec": {"selector": {"matchLabels": {"z": "1"}}, "template": TEMPLATE, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}}}),
        ("apps/v1", "ReplicaSet", f"{APPS}/replicasets", {"spec": {"selector": {"matchLabels": {"z": "1"}}, "template": TEMPLATE}}),
        ("batch/v1", "Job", "/apis/batch/v1/namespaces/default/jobs", {"spec": {**JOB, "manualSelector": True, "selector": {"matchLabels": {"z": "1", "a": "2"}}, "podFailurePolicy": {"rules": [{"action": "FailJob"}, {"action": "x", "onExitCodes": {"operator": "In", "values": [0, 2, 1, 1]}}]}}}),
        ("batch/v1", "CronJob", "/apis/batch/v1/namespaces/default/cronjobs", {"spec": {"schedule": "x", "jobTemplate": {"spec": {**JOB, "selector": {"matchLabels": {"b": "c"}}}}}}),
        ("v1", "Service", f"{CORE}/services", {"spec": {"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b", "targetPort": "x y"}], "clusterIP": "None", "externalIPs": ["x"], "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": -1}}, "ipFamilies": ["IPv4", "IPv4"], "loadBalancerSourceRanges": ["x"]}}),
        ("v1", "PersistentVolume", "/api/v1/persistentvolumes", {"spec": {"capacity": {"storage": "-1Gi"}, "accessModes": ["x", "ReadWriteOnce", "ReadWriteOncePod"], "hostPath": {"path": "/../x"}, "nfs": {"path": "/", "server": "a"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "x"}]}]}}}}),
        ("v1", "PersistentVolumeClaim", f"{CORE}/persistentvolumeclaims", {"spec": {"accessModes": ["ReadWriteOnce", "ReadWriteOncePod"], "resources": {"requests": {"storage": "-1"}}, "dataSource": {"kind": "PersistentVolumeClaim", "name": "x", "apiGroup": "a"}, "dataSourceRef": {"kind": "x", "name": "y"}, "selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}}),
        ("v1", "ResourceQuota", f"{CORE}/resourcequotas", {"spec": {"hard": {"pods": "1.5", "a b": "1"}, "scopes": ["Terminating", "NotTerminating", "x"], "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}, {"scopeName": "BestEffort", "operator": "In", "values": ["x"]}]}}}),
        ("v1", "LimitRange", f"{CORE}/limitranges", {"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}, "default": {"cpu": "3"}, "maxLimitRequestRatio": {"cpu": "0.5"}}, {"type": "Container"}, {"type": "Pod", "default": {"cpu": "1"}}]}}),
        ("v1", "Endpoints", f"{CORE}/endpoints", {"subsets": [{"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": 0}]}, {}]}),
        ("v1", "Node", "/api/v1/nodes", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule", "value": "x"}, {"key": "b", "effect": "y"}], "podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]}, "status": {"addresses": [{"type": "InternalIP", "address": "x"}, {"type": "InternalIP", "address": "x"}]}}),
        ("v1", "Secret", f"{CORE}/secrets", {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "YQ==", "a b": ""}}),
        ("networking.k8s.io/v1", "Ingress", "/apis/networking.k8s.io/v1/namespaces/default/ingresses", {"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 1, "name": "a"}}, "resource": {"kind": "x", "name": "y"}}, "rules": [{"host": "*.*", "http": {"paths": [{"path": "x", "pathType": "y", "backend": {}}]}}], "tls": [{"hosts": ["A b"]}]}}),
        ("networking.k8s.io/v1", "NetworkPolicy", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", {"spec": {"podSelector": {"matchLabels": {"a b": "c d"}}, "policyTypes": ["x", "Ingress", "Egress"], "ingress": [{"from": [{}, {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/8"]}, "podSelector": {}}], "ports": [{"port": "x y", "endPort": 2}, {"endPort": 1, "port": 2}]}]}}),
        ("discovery.k8s.io/v1", "EndpointSlice", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {"addressType": "IPv4", "endpoints": [{"addresses": ["127.0.0.1", "x"], "hints": {"forZones": [{"name": "a"}, {"name": "a"}]}}], "ports": [{"name": "a"}, {"name": "a", "protocol": "x"}]}),
        ("policy/v1", "PodDisruptionBudget", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", {"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "x", "values": ["b"]}]}, "minAvailable": "x", "maxUnavailable": -1}}),
        ("autoscaling/v2", "HorizontalPodAutoscaler", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", {"spec": {"maxReplicas": 0, "scaleTargetRef": {"kind": "", "name": "x"}, "metrics": [{"type": "Resource"}, {"type": "Pods", "pods": {"metric": {"name": "a/b", "selector": {"matchLabels": {"a b": "c"}}}, "target": {"type": "Utilization", "averageUtilization": 1}}}], "behavior": {"scaleUp": {"policies": [{"type": "x", "value": 0, "periodSeconds": 0}], "tolerance": "-1"}}}}),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {"rules": [{"verbs": []}, {"verbs": ["get"], "nonResourceURLs": ["/a"], "resources": ["b"]}], "aggregationRule": {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]}}),
        ("rbac.authorization.k8s.io/v1", "RoleBinding", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", {"roleRef": {"apiGroup": "x", "kind": "y", "name": ""}, "subjects": [{"kind": "z", "name": ""}, {"kind": "User", "apiGroup": "q", "name": "a"}]}),
        ("storage.k8s.io/v1", "StorageClass", "/apis/storage.k8s.io/v1/storageclasses", {"provisioner": "", "parameters": {"": "x"}, "allowedTopologies": [{"matchLabelExpressions": [{"key": "a", "values": ["b", "b"]}]}, {"matchLabelExpressions": [{"key": "a", "values": ["b", "b"]}]}]}),
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", {"spec": {"matchConstraints": {"resourceRules": [{"apiGroups": ["*", "a"], "apiVersions": ["*"], "operations": ["*", "CREATE"], "resources": ["*", "a"]}]}, "validations": [{"expression": "x"}], "paramKind": {"apiVersion": "x/y/z", "kind": "a"}}}),
        ("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration", "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations", {"spec": {"type": "Limited", "exempt": {}, "limited": {"nominalConcurrencyShares": -1, "limitResponse": {"type": "Reject", "queuing": {"queues": 1}}}}}),
        ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", {"spec": {"priorityLevelConfiguration": {"name": ""}, "distinguisherMethod": {"type": "x"}, "rules": [{"subjects": [{"kind": "User"}, {"kind": "x"}], "resourceRules": [{"verbs": ["*", "get"], "apiGroups": [], "resources": ["a"], "namespaces": ["b c"]}]}]}}),
        ("certificates.k8s.io/v1", "CertificateSigningRequest", "/apis/certificates.k8s.io/v1/certificatesigningrequests", {"spec": {"request": "", "signerName": "x", "usages": ["y", "y"], "expirationSeconds": 1}}),
        ("scheduling.k8s.io/v1", "PriorityClass", "/apis/scheduling.k8s.io/v1/priorityclasses", {"value": 2000000001, "preemptionPolicy": "x"}),
        ("node.k8s.io/v1", "RuntimeClass", "/apis/node.k8s.io/v1/runtimeclasses", {"handler": "A b", "overhead": {"podFixed": {"x y": "1"}}, "scheduling": {"tolerations": [{"key": "a", "operator": "Exists", "value": "v"}], "nodeSelector": {"a b": "c"}}}),
        ("storage.k8s.io/v1", "CSINode", "/apis/storage.k8s.io/v1/csinodes", {"spec": {"drivers": [{"name": "a", "nodeID": "", "topologyKeys": ["x", "x"], "allocatable": {"count": -1}}, {"name": "a", "nodeID": "b"}]}}),
    ]
    for version, kind, path, more in bad:
        t.post(path + "?dryRun=All", obj(version, kind, "bad", **more), keep=["kind"])
    immutable(t)
    expressions(t)


def immutable(t):
    """What may not change, in kinds that print what they were given."""
    changes = [
        ("deployments", {"spec": {"selector": {"matchLabels": {"a": "b", "z": "1"}}, "template": {"metadata": {"labels": {"z": "1"}}}}}), ("statefulsets", {"spec": {"serviceName": "other", "podManagementPolicy": "Parallel"}}), ("daemonsets", {"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}}),
        ("replicasets", {"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}}}), ("jobs", {"spec": {"completionMode": "Indexed", "completions": 3, "template": {"spec": {"terminationGracePeriodSeconds": 3}}}}), ("persistentvolumeclaims", {"spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "2Gi"}}, "storageClassName": "other"}}),
        ("persistentvolumes", {"spec": {"hostPath": {"path": "/other"}, "volumeMode": "Block"}}), ("rolebindings", {"roleRef": {"name": "other"}}), ("storageclasses", {"provisioner": "other", "parameters": {"b": "1", "a": "2"}}), ("priorityclasses", {"value": 6}), ("secrets", {"type": "other"}), ("endpointslices", {"addressType": "IPv6"}),
        ("runtimeclasses", {"handler": "other"}), ("csidrivers", {"spec": {"attachRequired": False, "volumeLifecycleModes": ["Ephemeral"]}}), ("volumeattachments", {"spec": {"attacher": "other", "source": {"persistentVolumeName": "q"}}}), ("controllerrevisions", {"data": {"b": 2, "a": {"d": 1, "c": 2}}}), ("ingressclasses", {"spec": {"controller": "example.com/other"}}),
        ("poddisruptionbudgets", {"spec": {"selector": {"matchLabels": {"z": "1"}}}}), ("services", {"spec": {"clusterIP": "10.0.0.99", "clusterIPs": ["10.0.0.99"]}}), ("leases", {"spec": {"leaseDurationSeconds": -1, "leaseTransitions": -1}}), ("events", {"reason": "other", "note": "x", "action": "other"}),
    ]
    for path, version, kind, more in KINDS:
        for plural, change in changes:
            if path.rsplit("/", 1)[1] == plural and not (plural == "events" and version == "v1"):
                t.post(path, obj(version, kind, "frozen", **copy.deepcopy(more)), keep=["kind"])
                t.merge(f"{path}/frozen?dryRun=All", change, keep=["kind"])


def expressions(t):
    """What is compiled of admission policies before they are stored."""
    group = "admissionregistration.k8s.io/v1"
    rules = {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}
    params = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    good = [{"expression": "true"}]
    texts = ["true", " true ", "1", "x", "x +", "object.x", "object.x == 1", "has(object.x) ? true : false", "params.x == 1", "request.nothing == 1", "request.name == 'a'", "variables.a", "variables.a == 1", "oldObject == null",
             "namespaceObject.metadata.name == 'a'", "namespaceObject.metadata.other == 'a'", "authorizer.path('/a').check('get').allowed()", "authorizer.requestResource.check('get').allowed()", "'a'.matches('(')", "'a'", "null", "[1]", "{'a': 1}", "type(1)", "optional.of(1)", "'a' + 1", "quantity('1')"]
    fields = [lambda x: {"validations": [{"expression": x}]}, lambda x: {"validations": [{"expression": "true", "messageExpression": x}]}, lambda x: {"auditAnnotations": [{"key": "k", "valueExpression": x}]},
              lambda x: {"validations": good, "matchConditions": [{"name": "c", "expression": x}]}, lambda x: {"validations": good, "variables": [{"name": "v", "expression": x}]}]
    path = f"/apis/{group}/validatingadmissionpolicies"

    def policy(name, spec, kind="ValidatingAdmissionPolicy"):
        return obj(group, kind, name, spec={"matchConstraints": rules, **spec})

    for text in texts:
        for field in fields:
            for more in ({}, params):
                t.post(path + "?dryRun=All", policy("p", {**field(text), **more}), keep=["kind"])
    typed = ["true", "1", "1u", "1.5", "'a'", "b'a'", "null", "timestamp('2020-01-01T00:00:00Z')", "duration('1s')", "[1]", "[[1]]", "[]", "{'a': 1}", "{}", "{1: 'a'}", "object.x", "optional.of(1)", "type(1)", "x", "quantity('1')", "variables.other", "request", "request.userInfo", "dyn(1)"]
    uses = ["variables.v", "variables.v == 1", "variables.v + 1 == 2", "variables.w", "variables.v.a == 1", "variables.v[0] == 1", "variables.v['a'] == 1", "variables.v == variables.v", "size(variables.v) == 1", "has(variables.v)"]
    for text in typed:
        for use in uses:
            t.post(path + "?dryRun=All", policy("p", {"variables": [{"name": "v", "expression": text}], "validations": [{"expression": use}]}), keep=["kind"])
    for names in (["a", "b"], ["b", "a"], ["a__b", "a"], ["a", "a"], ["in", "a"], ["a b", "a"]):
        variables = [{"name": names[0], "expression": "1"}, {"name": names[1], "expression": f"variables.{names[0]} == 1"}]
        for use in (f"variables.{names[1]}", f"variables.{names[0]}", f"variables.{names[0]} == 1", "variables.none"):
            t.post(path + "?dryRun=All", policy("p", {"variables": variables, "validations": [{"expression": use}]}), keep=["kind"])
    t.post(path, policy("p", {"validations": good, "matchConditions": [{"name": "c", "expression": "true"}]}), keep=["kind"])
    for change in ({"paramKind": None}, {"matchConditions": [{"name": "c", "expression": "x"}]}, {"validations": [{"expression": "true"}, {"expression": "y"}]}, {"failurePolicy": "Ignore"}):
        t.merge(f"{path}/p?dryRun=All", {"spec": change}, keep=["kind"])
    changes = f"/apis/{group}/mutatingadmissionpolicies"
    mutation = {"reinvocationPolicy": "Never", "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'remove', path: '/a'}]"}}]}
    for text in texts:
        for field in fields[3:]:
            more = {key: value for key, value in field(text).items() if key != "validations"}
            t.post(changes + "?dryRun=All", policy("p", {**mutation, **more}, "MutatingAdmissionPolicy"), keep=["kind"])
