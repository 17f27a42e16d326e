"""What requests made from the schemas of all built-in kinds (conformance/fuzz/wide.py) were answered differently once, made small: seeds
from 4 on. What came before stands in swept.py."""
import made
from made import CORE, POD_SPEC, obj

APPS = "/apis/apps/v1/namespaces/default"
RES = "/apis/resource.k8s.io/v1"
FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
SAID = ["kind", "message", "details.causes"]


def leftovers(t):
    """What upstream's merge leaves of a strategic merge patch is what a refusal of the outcome shows."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}]}], "volumes": [{"name": "v", "emptyDir": {}}]}}
    t.post(f"{APPS}/deployments", made.deployment("d", template=template), keep=["kind"])
    place = f"{APPS}/deployments/d?dryRun=All"
    containers = [
        {"$setElementOrder/containers": [{"name": "c"}], "containers": [{"name": "c", "image": "k", "env": [{"name": "A", "value": None}]}]},
        {"containers": [{"name": "c", "image": "k", "env": [{"name": "A", "value": None}], "resources": {"limits": None, "requests": {"cpu": None}}}]},
        {"containers": [{"name": "d", "image": None, "env": [{"name": "A", "$patch": "delete"}]}, {"name": "d", "command": ["a"]}]},
        {"nodeSelector": {"a": None, "b": "x"}, "affinity": {"nodeAffinity": {"$patch": "delete"}}, "tolerations": [{"key": "a"}, {"$patch": "delete", "key": "b"}, {"key": None}]},
        {"$setElementOrder/volumes": [{"name": "v"}], "volumes": [{"name": "v", "$retainKeys": ["secret", "name"], "secret": {"x": None}}]},
        {"$setElementOrder/volumes": [{"name": "v"}]}, {"$setElementOrder/tolerations": [{"name": "v"}]}, {"volumes": [{"$patch": "replace"}, {"name": "v"}]},
        {"volumes": [{"$patch": "delete", "name": "v"}, {"name": "w", "emptyDir": None}]}, {"$patch": "replace", "containers": []}, {"$patch": "delete", "containers": []}]
    specs = [{"template": {"spec": one}} for one in containers] + [
        {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}, {"template": {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"], "$setElementOrder/finalizers": ["a"]}}},
        {"selector": {"matchExpressions": [{"key": "a", "operator": None}, {"$patch": "delete"}, [None, {"$patch": "x"}]]}}, {"selector": {"$patch": "delete", "matchExpressions": [{"key": "a", "operator": None}]}}]
    patches = [{"spec": {"replicas": "x", **spec}} for spec in specs] + [
        {"metadata": {"labels": None, "annotations": {"a": None, "b": "c"}}, "spec": {"replicas": "x"}}, {"metadata": {"labels": {"x": None, "y": "1"}}, "spec": {"replicas": "x"}},
        {"$patch": "replace", "spec": {"replicas": "x"}}, {"$retainKeys": ["spec"], "spec": {"replicas": "x", "template": {"spec": {"dnsPolicy": None}}}}]
    for patch in patches:
        t.strategic(place, patch)
    for patch in [{"kind": "Other"}, {"kind": "Other", "spec": {"replicas": 3}}, {"apiVersion": "v1"}, {"apiVersion": "v1", "kind": "Pod"}, {"kind": 1}, {"spec": {"replicas": "x", "y": None}}, {"spec": {"$patch": "replace", "replicas": 2}},
                  {"spec": {"$patch": "delete"}}, {"$retainKeys": ["spec"], "spec": {"replicas": 3}}, {"spec": {"nothing": 1}}, {"spec": []}, {"metadata": {"name": "other"}}, {"x": {"y": 1}}, [], {"spec": {"$setElementOrder/x": []}}, {"$patch": "x"}]:
        for mode in ["", "&fieldValidation=Strict"]:
            t.strategic(f"{APPS}/deployments/d/scale?dryRun=All{mode}", patch, keep=["kind", "spec", *SAID[1:]])
        t.merge(f"{APPS}/deployments/d/scale?dryRun=All", patch, keep=["kind", "spec", *SAID[1:]])


def keys(t):
    """The keys of lists have the defaults that Go's types publish, and amounts are scalars."""
    for path, version, kind, spec in [(f"{APPS}/deployments", "apps/v1", "Deployment", None), (FLOW, "flowcontrol.apiserver.k8s.io/v1", "FlowSchema", {"priorityLevelConfiguration": {"name": "global-default"}})]:
        t.post(path, made.deployment("keys") if spec is None else obj(version, kind, "keys", spec=spec), keep=["kind"])
        for sub in ["", "/status"]:
            for condition in [{}, {"reason": "x"}, {"reason": 1}, {"type": None}, {"type": ""}, {"type": "x", "reason": 1}]:
                t.apply(f"{path}/keys{sub}?dryRun=All", {"apiVersion": version, "kind": kind, "metadata": {"name": "keys"}, "status": {"conditions": [condition]}}, keep=["kind", "message"])
        t.put(f"{path}/keys/status?dryRun=All", {"apiVersion": version, "kind": kind, "metadata": {"name": "keys"}, "status": {"conditions": [{"type": "a", "status": "True"}, {"type": "a", "status": "True"}]}}, keep=SAID)
    for secrets in [[None], [{}], [{"name": "a"}, {}], [{"name": ""}], [{"nothing": 1}]]:
        t.post(f"{CORE}/pods?dryRun=All", made.pod("p", imagePullSecrets=secrets), keep=["metadata.managedFields", "message"])
        t.apply(f"{CORE}/pods/q?dryRun=All", made.pod("q", imagePullSecrets=secrets), keep=["metadata.managedFields", "message"])
    for amount in [{}, [1], True, None, "x", [], 1.5]:
        t.apply(f"{CORE}/pods/q?dryRun=All", made.pod("q", resources={"limits": {"a": amount}}), keep=["message"])
        t.apply(f"{CORE}/limitranges/q?dryRun=All", obj("v1", "LimitRange", "q", spec={"limits": [{"type": "Container", "max": {"a": amount}}]}), keep=["message"])
        t.apply(f"{CORE}/pods/q?dryRun=All", made.pod("q", volumes=[{"name": "e", "emptyDir": {"sizeLimit": amount}}]), keep=["message"])
        t.apply(f"{CORE}/pods/q?dryRun=All", made.pod("q", containers=[{"name": "c", "image": "i", "livenessProbe": {"httpGet": {"port": amount}}}]), keep=["message"])


def versions(t):
    """Versions with an empty part, and patches whose outcome says no version."""
    for version in ["a/b/c", "v1/", "/", "", "/v1", "apps/", "apps/x", "x/v1", "//"]:
        for mode in ["", "&fieldValidation=Strict"]:
            t.post(f"{CORE}/configmaps?dryRun=All{mode}", {**made.cm("v"), "apiVersion": version}, keep=SAID)
            t.post(f"{APPS}/deployments?dryRun=All{mode}", {**made.deployment("v"), "apiVersion": version}, keep=["kind"] if version.endswith("/") else SAID)
    t.post(f"{CORE}/configmaps", made.cm("v"), keep=["kind"])
    t.post(f"{APPS}/deployments", made.deployment("v"), keep=["kind"])
    for place in [f"{CORE}/configmaps/v?dryRun=All", f"{APPS}/deployments/v?dryRun=All"]:
        for mode in ["", "&fieldValidation=Strict", "&fieldValidation=Ignore"]:
            for patch in [{"apiVersion": None}, {"apiVersion": ""}, {"apiVersion": None, "kind": None}, {"kind": None}, {"apiVersion": None, "nothing": 1}, {"apiVersion": None, "kind": "Pod"}, {"apiVersion": None, "kind": "Nothing"},
                          {"apiVersion": None, "metadata": {"labels": {"a": 1}}}, {"apiVersion": "/"}, {"apiVersion": "a/b/c"}, {"apiVersion": None, "metadata": None}]:
                t.merge(place + mode, patch, keep=SAID)
            t.json_patch(place + mode, [{"op": "remove", "path": "/apiVersion"}], keep=SAID)
            t.json_patch(place + mode, [{"op": "remove", "path": "/apiVersion"}, {"op": "add", "path": "/name", "value": "other"}], keep=SAID)


def empties(t):
    """What may not change is not emptied either, where there was nothing before."""
    t.post(f"{CORE}/configmaps", {**made.cm("frozen"), "immutable": True}, keep=["kind"])
    t.post(f"{CORE}/secrets", obj("v1", "Secret", "frozen", immutable=True), keep=["kind"])
    for kind in ["configmaps", "secrets"]:
        for patch in [{"binaryData": {}}, {"data": {}}, {"data": None}, {"data": {"x": None}}, {"stringData": {}}]:
            t.merge(f"{CORE}/{kind}/frozen?dryRun=All", patch, keep=SAID)
            t.strategic(f"{CORE}/{kind}/frozen?dryRun=All", patch, keep=SAID)


def selectors(t):
    """Kinds that do not know of namespaces, tables in an order of their own, and events, which are in no cache."""
    for path in ["/api/v1/namespaces", "/api/v1/nodes", "/api/v1/persistentvolumes", "/apis/storage.k8s.io/v1/storageclasses", "/apis/certificates.k8s.io/v1/certificatesigningrequests", "/apis/resource.k8s.io/v1/resourceslices"]:
        for selector in ["metadata.namespace%3Ddefault", "metadata.namespace%21%3Ddefault", "metadata.namespace%3D", "metadata.name%3Dx,metadata.namespace%3Ddefault"]:
            t.get(f"{path}?fieldSelector={selector}", keep=["kind", "message"])
    t.get(FLOW, accept=TABLE, keep=["rows"])
    for group in ["/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events"]:
        for query in ["resourceVersion=99999999", "resourceVersion=99999999&resourceVersionMatch=Exact", "resourceVersion=99999999&resourceVersionMatch=NotOlderThan", "resourceVersion=99999999&limit=1"]:
            t.get(f"{group}?{query}")
    for name in "ab":
        t.post(f"{CORE}/events", obj("v1", "Event", name, involvedObject={"namespace": "default"}), keep=["kind"])
        t.post(f"{CORE}/configmaps", made.cm(f"listed-{name}"), keep=["kind"])
    for query in ["limit=1&resourceVersion=0", "limit=1", "limit=1&resourceVersion=0&resourceVersionMatch=NotOlderThan"]:
        t.get(f"{CORE}/events?{query}", keep=["metadata"])
        t.get(f"{CORE}/configmaps?labelSelector=nothing&{query}", keep=["metadata"])


def rules(t):
    """Which of several sources is looked at, and what is said of it."""
    pods = f"{CORE}/pods?dryRun=All"
    for volume in [{"hostPath": {"path": "/a"}, "cephfs": {}}, {"emptyDir": {}, "downwardAPI": {}, "image": {}}, {"flocker": {}, "rbd": {}, "quobyte": {}}, {"scaleIO": {}, "projected": {}, "storageos": {}, "photonPersistentDisk": {}}, {"csi": {}, "ephemeral": {}}]:
        t.post(pods, made.pod("p", volumes=[{"name": "v", **volume}]), keep=SAID)
    for source in [{"hostPath": {"path": "/a"}, "flexVolume": {}, "cephfs": {}}, {"photonPersistentDisk": {"pdID": "x"}, "flocker": {}, "nfs": {}}]:
        t.post("/api/v1/persistentvolumes?dryRun=All", obj("v1", "PersistentVolume", "v", spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **source}), keep=SAID)
    csi = {"accessModes": ["ReadWriteOnce"], "csi": {"driver": "d.e", "volumeHandle": "h"}}
    for more in [{}, {"claimRef": {}}, {"capacity": {}}, {"capacity": {"storage": "1Gi"}}, {"nodeAffinity": {}}, {"storageClassName": "A_"}, {"volumeMode": "Block"}, {"volumeMode": "x"}, {"persistentVolumeReclaimPolicy": "Delete"}, {"csi": None, "nfs": {"server": "s", "path": "/p"}}]:
        t.post("/apis/storage.k8s.io/v1/volumeattachments?dryRun=All", obj("storage.k8s.io/v1", "VolumeAttachment", "va", spec={"attacher": "a.b", "nodeName": "n", "source": {"inlineVolumeSpec": {**csi, **more}}}), keep=SAID)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {**POD_SPEC, "volumes": [{"name": "data"}, {"name": "x"}]}}
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    t.post(f"{APPS}/statefulsets?dryRun=All", obj("apps/v1", "StatefulSet", "s", spec={"selector": made.SELECTOR, "template": template, "volumeClaimTemplates": [claim]}), keep=SAID)
    target = {"type": "Value", "value": "1"}
    for metric in [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}, "external": {}}, {"type": "Pods", "external": {"metric": {"name": "m"}, "target": target}, "pods": {}},
                   {"type": "x", "resource": {}, "object": {}}, {"resource": {}, "containerResource": {}}, {"type": "Object", "external": {}}]:
        t.post("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers?dryRun=All", obj("autoscaling/v2", "HorizontalPodAutoscaler", "h", spec={"maxReplicas": 5, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "metrics": [metric]}), keep=SAID)
    for more in [{"restartPolicyRules": [{}]}, {"restartPolicyRules": [{}], "restartPolicy": "Never"}, {"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}], "restartPolicy": "Always"}]:
        t.post(pods, made.pod("p", initContainers=[{"name": "i", "image": "i", **more}]), keep=SAID)
        t.post(pods, made.pod("p", containers=[{"name": "i", "image": "i", **more}]), keep=SAID)
    t.post(pods, made.pod("p", restartPolicy="Never", containers=[{"name": "c", "image": "i", "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}]), keep=SAID)
    t.post(pods, made.pod("p", ephemeralContainers=[{"name": "e", "image": "i", "ports": [], "restartPolicyRules": [], "resizePolicy": []}]), keep=SAID)
    for features in [["A", "B/c"], ["a"], ["A", "A"], ["B", "A"], ["A/"], ["A//b"], [""], ["A/1"], ["A" * 254]]:
        t.post("/api/v1/nodes?dryRun=All", obj("v1", "Node", "n", status={"declaredFeatures": features}), keep=SAID)
    driver = {"attachRequired": True, "podInfoOnMount": False, "storageCapacity": False}
    for more in [{"serviceAccountTokenInSecrets": True}, {"serviceAccountTokenInSecrets": False}, {"serviceAccountTokenInSecrets": True, "tokenRequests": [{"audience": "a"}]}]:
        t.post("/apis/storage.k8s.io/v1/csidrivers?dryRun=All", obj("storage.k8s.io/v1", "CSIDriver", "d.e", spec={**driver, **more}), keep=SAID)
    t.post(f"{CORE}/serviceaccounts?dryRun=All", obj("v1", "ServiceAccount", "a", secrets=[{"name": "s", "kind": "x", "namespace": "n", "uid": "u", "fieldPath": "f"}, {"kind": "y"}]), keep=["secrets"])
    spec = {**claim["spec"], "dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}}
    t.post(f"{CORE}/persistentvolumeclaims", obj("v1", "PersistentVolumeClaim", "c", spec=spec), keep=["kind"])
    t.merge(f"{CORE}/persistentvolumeclaims/c?dryRun=All", {"spec": {"dataSourceRef": {"apiGroup": "A_ b"}}}, keep=["kind", "message"])
    t.merge(f"{CORE}/persistentvolumeclaims/c/status?dryRun=All", {"status": {"healthStatus": {"healthConditions": [{"status": "x", "reason": "r"}]}}}, keep=["status"])
    t.post("/apis/policy/v1/namespaces/default/poddisruptionbudgets?dryRun=All", obj("policy/v1", "PodDisruptionBudget", "b", spec={"minAvailable": 1}, status={"disruptedPods": "x"}), keep=SAID)


def devices(t):
    """Slices of devices, claims of devices and their classes."""
    base = {"driver": "d.e", "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}
    term = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
    for more in [{"driver": ""}, {"driver": "x=y"}, {"driver": "a" * 64}, {"pool": {}}, {"pool": {"name": "a/B", "generation": -1, "resourceSliceCount": 1}}, {"pool": {"name": "p" * 254, "resourceSliceCount": 1}}, {"nodeName": "A_"}, {"allNodes": True}, {"allNodes": False}, {"nodeName": None, "allNodes": False, "perDeviceNodeSelection": False},
                 {"nodeName": None, "nodeSelector": {"nodeSelectorTerms": [term, term]}}, {"devices": [], "sharedCounters": []}, {"devices": [{"name": "d"}], "sharedCounters": [{"name": "c", "counters": {"a": {"value": "1"}}}]},
                 {"sharedCounters": [{}, {"name": "A_", "counters": {"B_": {"value": "1"}}}, {"name": "a", "counters": {"b": {"value": "1"}}}, {"name": "a", "counters": {"b": {"value": "1"}}}]}, {"sharedCounters": [{"name": f"c{n}", "counters": {"a": {"value": "1"}}} for n in range(9)]},
                 {"sharedCounters": [{"name": "a", "counters": {f"c{n}": {"value": "1"} for n in range(33)}}]}]:
        t.post(f"{RES}/resourceslices?dryRun=All", obj("resource.k8s.io/v1", "ResourceSlice", "s", spec={**base, **more}), keep=SAID)
    for device in [{}, {"name": "A_"}, {"attributes": {"a": {}}}, {"attributes": {"a": {"int": 1, "bool": True}}}, {"attributes": {"a": {"string": "s" * 65}, "b": {"version": "x=y"}, "c": {"version": "1.2.3-a.1+b" + "0" * 60}}}, {"attributes": {"A-b": {"int": 1}, "/x": {"int": 1}, "a/": {"int": 1}, "A_/b": {"int": 1}, "d.e/" + "n" * 33: {"int": 1}, "a/b/c": {"int": 1}}},
                   {"attributes": {"a": {"int": 0}, "b": {"bool": False}, "c": {"string": ""}, "d.e/ok": {"version": "1.0.0"}}}, {"capacity": {"a": {"value": "1", "requestPolicy": {"default": "1"}}}}, {"capacity": {"A-b": {"value": "1"}}}, {"attributes": {f"a{n}": {"int": n} for n in range(33)}},
                   {"taints": [{}]}, {"taints": [{"key": "a b", "value": "../x", "effect": "x"}, {"key": "a", "effect": "NoSchedule"}]}, {"taints": [{"key": "a", "effect": "NoExecute"}] * 17}, {"consumesCounters": [{}]}, {"consumesCounters": [{"counterSet": "A_", "counters": {"B_": {"value": "1"}}}]},
                   {"consumesCounters": [{"counterSet": "a", "counters": {"b": {"value": "1"}}}] * 2}, {"consumesCounters": [{"counterSet": f"a{n}", "counters": {"b": {"value": "1"}}} for n in range(3)]}, {"nodeName": "n"}, {"allNodes": False}, {"nodeSelector": {"nodeSelectorTerms": [term]}},
                   {"bindingConditions": ["a"]}, {"bindingFailureConditions": ["a"]}, {"bindingConditions": ["a", "a b", "a"], "bindingFailureConditions": ["a", "c", "c"]}, {"bindingConditions": list("abcde"), "bindingFailureConditions": ["x"]}]:
        t.post(f"{RES}/resourceslices?dryRun=All", obj("resource.k8s.io/v1", "ResourceSlice", "s", spec={**base, "devices": [{"name": "d", **device} if device else device]}), keep=SAID)
    t.post(f"{RES}/resourceslices?dryRun=All", obj("resource.k8s.io/v1", "ResourceSlice", "s", spec={**base, "devices": [{"name": "d"}, {"name": "d"}]}), keep=SAID)
    for count in [128, 129]:
        t.post(f"{RES}/resourceslices?dryRun=All", obj("resource.k8s.io/v1", "ResourceSlice", "s", spec={**base, "devices": [{"name": f"d{n}"} for n in range(count)]}), keep=["kind", "message"])
    each = {**base, "nodeName": None, "perDeviceNodeSelection": True}
    for device in [{}, {"nodeName": "n"}, {"nodeName": ""}, {"nodeName": "A_"}, {"nodeName": "n", "allNodes": True}, {"allNodes": False}, {"nodeSelector": {"nodeSelectorTerms": [term]}, "nodeName": "n"}]:
        t.post(f"{RES}/resourceslices?dryRun=All", obj("resource.k8s.io/v1", "ResourceSlice", "s", spec={**each, "devices": [{"name": "d", **device}]}), keep=SAID)
    configs = [{}, {"opaque": {}}, {"opaque": {"driver": "x=y", "parameters": {}}}, {"opaque": {"driver": "d.e", "parameters": 1}}, {"opaque": {"driver": "D.e", "parameters": {"a": "b"}}}, {"opaque": {"driver": "d.e", "parameters": None}}, {"opaque": {"driver": "d" * 64, "parameters": {}}}]
    for spec in [{"config": [config]} for config in configs] + [{"config": [configs[4]] * 33}, {"selectors": [{}]}, {"extendedResourceName": "a"}, {"extendedResourceName": "a.b/c"}, {"extendedResourceName": "fd00::1"}, {"extendedResourceName": "kubernetes.io/a"}, {"extendedResourceName": "requests.a.b/c"}, {"extendedResourceName": ""}]:
        t.post(f"{RES}/deviceclasses?dryRun=All", obj("resource.k8s.io/v1", "DeviceClass", "d", spec=spec), keep=SAID)
    exactly = {"deviceClassName": "c"}
    claims = [{"requests": [{"name": "r", "exactly": more}]} for more in [exactly, {}, {"deviceClassName": "A_"}, {**exactly, "allocationMode": "x"}, {**exactly, "allocationMode": "All", "count": 2}, {**exactly, "count": -1}, {**exactly, "allocationMode": "ExactCount", "count": 3}, {**exactly, "selectors": [{}]},
              {**exactly, "tolerations": [{}, {"key": "a b", "operator": "x", "effect": "y"}, {"operator": "Exists", "value": "v"}, {"operator": "Equal", "value": "a b"}]}]] + [
        {"requests": [{}]}, {"requests": [{"name": "A_", "exactly": exactly}, {"name": "r", "exactly": exactly}, {"name": "r", "exactly": exactly}]}, {"requests": [{"name": "r", "exactly": exactly, "firstAvailable": [{"name": "f", "deviceClassName": "c"}]}]},
        {"requests": [{"name": "r", "firstAvailable": [{}]}]}, {"requests": [{"name": "r", "firstAvailable": [{"name": "f", "deviceClassName": "A_", "allocationMode": "x"}, {"name": "f", "deviceClassName": "c"}]}]}, {"requests": [{"name": "r", "firstAvailable": [{"name": f"f{n}", "deviceClassName": "c"} for n in range(9)]}]},
        {"requests": [{"name": f"r{n}", "exactly": exactly} for n in range(33)]}] + [
        {"requests": [{"name": "r", "exactly": exactly}, {"name": "f", "firstAvailable": [{"name": "a", "deviceClassName": "c"}]}], **more} for more in
        [{"constraints": [{}]}, {"constraints": [{"matchAttribute": "x"}]}, {"constraints": [{"matchAttribute": "d.e/a", "distinctAttribute": "d.e/b"}]}, {"constraints": [{"matchAttribute": ""}]}, {"constraints": [{"distinctAttribute": "A_/b-c"}]}, {"constraints": [{"requests": ["r", "f/a", "f", "x", "r/a", "f/a/b", "A_", "r"], "matchAttribute": "d.e/a"}]},
         {"config": [{"requests": ["r", "x", "r"], **configs[4]}]}, *[{"config": [config]} for config in configs]]]
    for claim in claims:
        t.post(f"{RES}/namespaces/default/resourceclaims?dryRun=All", obj("resource.k8s.io/v1", "ResourceClaim", "c", spec={"devices": claim}), keep=SAID)
    for meta in [{"labels": {"a b": "c"}}, {"annotations": {"a b": "c"}}, {"name": "n"}, {"generateName": "n"}, {"namespace": "n"}, {"finalizers": ["a.b/c"]}, {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]}, {"uid": "u"}, {"resourceVersion": "1"}, {"generation": 1}, {"creationTimestamp": "2020-01-01T00:00:00Z"}, {"deletionTimestamp": "2020-01-01T00:00:00Z"},
                 {"deletionGracePeriodSeconds": 1}, {"selfLink": "x"}, {"managedFields": [{}]}, {"managedFields": [{"manager": "m"}]}]:
        t.post(f"{RES}/namespaces/default/resourceclaimtemplates?dryRun=All", obj("resource.k8s.io/v1", "ResourceClaimTemplate", "c", spec={"metadata": meta, "spec": {"devices": claims[0]}}), keep=["kind", "message"])
    t.post(f"{RES}/namespaces/default/resourceclaims", obj("resource.k8s.io/v1", "ResourceClaim", "c", spec={"devices": {"requests": [{"name": "r", "exactly": exactly}]}}), keep=["kind"])
    result = {"request": "r", "driver": "d.e", "pool": "p", "device": "d"}
    for status in [{"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]}, {"allocation": {"devices": {"results": [{}]}}}, {"allocation": {"devices": {"results": [{**result, "request": "-", "pool": "Never/a", "device": "x=y"}]}}}, {"allocation": {"devices": {"results": [result], "config": [{}]}}},
                   {"allocation": {"devices": {"results": [result], "config": [{"source": "x", "requests": ["a" * 64], **configs[4]}]}}}, {"allocation": {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": []}}}, {"allocation": {"devices": {"results": [result]}}, "reservedFor": [{}, {"resource": "pods", "name": "p", "uid": "u"}, {"resource": "pods", "name": "q", "uid": "u"}]},
                   {"allocation": {"devices": {"results": [result] * 33}}}, {"allocation": {"devices": {"results": [{**result, "shareID": "x"}]}}}, {"devices": [{}]}, {"allocation": {"devices": {"results": [result]}}, "devices": [{"driver": "d.e", "pool": "p", "device": "d", "data": 1, "conditions": [{}], "networkData": {"ips": ["x", "10.0.0.1/24", "10.0.0.1/24"], "interfaceName": "i" * 257, "hardwareAddress": "h" * 129}}]},
                   {"allocation": {"devices": {"results": [result]}}, "devices": [{"driver": "d.e", "pool": "p", "device": "d", "data": {"a": "b"}}] * 2}]:
        t.merge(f"{RES}/namespaces/default/resourceclaims/c/status?dryRun=All", {"status": status}, keep=SAID)


def statuses(t):
    """What a kubelet says of containers, certificates of pods, and what pods are told once for all."""
    t.post(f"{CORE}/pods", made.pod("status", containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]), keep=["kind"])
    for status in [{"containerStatuses": [{"name": "c", "user": {"linux": {"uid": -1, "gid": 2147483648, "supplementalGroups": [1, -1]}}}]}, {"ephemeralContainerStatuses": [{"name": "e", "allocatedResourcesStatus": [{"name": "x"}]}]},
                   {"containerStatuses": [{"name": "c", "allocatedResourcesStatus": [{"name": "cpu", "resources": [{"resourceID": "a"}, {"resourceID": "a", "health": "Healthy", "message": ""}]}, {"name": "x"}, {"name": "claim:x"}]}]},
                   {"initContainerStatuses": [{"name": "i", "allocatedResourcesStatus": [{"name": "y", "resources": [{"resourceID": "a", "health": "Unknown", "message": "m" * 1025}]}]}]}, {"conditions": [{"type": "a", "status": "True", "observedGeneration": -1}]},
                   {"extendedResourceClaimStatus": {}}, {"extendedResourceClaimStatus": {"resourceClaimName": "A_", "requestMappings": [{"containerName": "c", "resourceName": "cpu", "requestName": "r"}, {"containerName": "x", "requestName": "-"}, {"containerName": "c", "resourceName": "x", "requestName": "r"}, {"containerName": "c", "resourceName": "cpu", "requestName": "r"}]}},
                   {"volumeHealth": [{}]}, {"nodeAllocatableResourceClaimStatuses": [{}]}]:
        t.merge(f"{CORE}/pods/status/status?dryRun=All", {"status": status}, keep=SAID)
    for certificate in [{}, {"signerName": "x", "keyType": "RSA", "maxExpirationSeconds": 1}, {"signerName": "a.b/c", "keyType": "ED25519", "maxExpirationSeconds": 7862401, "keyPath": "../x", "certificateChainPath": "a", "credentialBundlePath": "a"},
                        {"signerName": "kubernetes.io/x", "keyType": "ED25519", "maxExpirationSeconds": 86401, "keyPath": "k"}]:
        t.post(f"{CORE}/pods?dryRun=All", made.pod("p", volumes=[{"name": "v", "projected": {"sources": [{"podCertificate": certificate}]}}]), keep=SAID)
    t.post(f"{CORE}/pods?dryRun=All", made.pod("p", containers=[{"image": "i"}, {"image": "j"}], initContainers=[{"image": "k"}], ephemeralContainers=[{"image": "l"}]), keep=SAID)
    t.post(f"{CORE}/pods?dryRun=All", made.pod("p", ephemeralContainers=[{"name": "e", "image": "l", "resources": {"limits": {}}}], resources={"claims": []}), keep=SAID)
    t.post(f"{CORE}/pods?dryRun=All", made.pod("p", resourceClaims=[{"name": "", "resourceClaimTemplateName": "t"}]), keep=SAID)
    for namespace in ["*", "a.b", "n"]:
        t.post(f"{CORE}/persistentvolumeclaims?dryRun=All", obj("v1", "PersistentVolumeClaim", "c", spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "dataSourceRef": {"apiGroup": "a.b", "kind": "K", "name": "n", "namespace": namespace}}), keep=SAID)


def run(t):
    leftovers(t)
    keys(t)
    versions(t)
    empties(t)
    selectors(t)
    rules(t)
    devices(t)
    statuses(t)
