"""Numbers in every spelling that JSON has: what is read of them where a number is wanted, where something else is, and where nothing is known."""
import json

from topics.yaml import CM

CORE = "/api/v1/namespaces/default"
APPS = "/apis/apps/v1/namespaces/default"
NUMS = "/apis/example.com/v1/namespaces/default/nums"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

# All of them go where a number may stand, the first few everywhere.
FEW = ["1e400", "-1e400", "-0.0", "-0", "1.0", "1E3", "12345678901234567890", "1.50"]
LITERALS = FEW + [
    "1e0", "1e-400",
    "0", "0.0", "0e5", "-0e5", "0E+5", "1", "-1", "1.5", "1.500", "10.0", "1e3", "1e+3", "1e03", "1e-3", "12e-1", "10e-1", "0.1e1", "1e6", "1.5e3", "100e1",
    "2147483647", "2147483648", "-2147483649", "4294967297", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "9007199254740993.0",
    "1e18", "1e19", "1e20", "1e21", "1e22", "100000000000000000000", "1000000000000000000000", "123456789012345678901234567890", "100000000000000000000.5", "0.1", "0.30000000000000004", "0.100000000000000000001", "0.000001", "0.0000001", "1e-7", "1e-9", "1e-10", "123456789.125",
    "1.7976931348623157e308", "1.8e308", "1.7976931348623159e308", "-1.8e308", "5e-324", "2e-324", "0e400", "-0e400", "0.1e309", "1" + "0" * 309,
]

# A server breaks off when it meets another number in data that it keeps as text.
FINITE = [literal for literal in LITERALS if abs(float(literal)) < float("inf")]


def deployment(member, value):
    return '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},"spec":{"%s":%s,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}' % (member, value)


def pod(spec="", container=""):
    return '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{%s"automountServiceAccountToken":false,"containers":[{"name":"c","image":"i"%s}]}}' % (spec, container)


def config_map(more):
    return '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}%s}' % more


def meta(more):
    return '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x",%s}}' % more


def num(spec, more=""):
    return '{"apiVersion":"example.com/v1","kind":"Num","metadata":{"name":"x"%s},"spec":{%s}}' % (more, spec)


def crd(schema, name="others", more=""):
    return '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%s.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"%s","kind":"Other"},"versions":[{"name":"v1","served":true,"storage":true%s,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":%s}}}}}}]}}' % (name, name, more, schema)


NUM = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "nums.example.com"},
    "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "nums", "kind": "Num"}, "versions": [{
        "name": "v1", "served": True, "storage": True,
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "integer": {"type": "integer"}, "int32": {"type": "integer", "format": "int32"}, "int64": {"type": "integer", "format": "int64"},
                "number": {"type": "number"}, "float": {"type": "number", "format": "float"}, "double": {"type": "number", "format": "double"},
                "low": {"type": "number", "minimum": 0, "maximum": 1000, "multipleOf": 0.5}, "enum": {"type": "number", "enum": [0, 1, 1.5, 1000]},
                "either": {"x-kubernetes-int-or-string": True}, "text": {"type": "string"}, "flag": {"type": "boolean"}, "replicas": {"type": "integer"},
                "any": {"x-kubernetes-preserve-unknown-fields": True}, "list": {"type": "array", "items": {"type": "number"}},
                "set": {"type": "array", "items": {"type": "number"}, "x-kubernetes-list-type": "set"},
                "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"], "items": {"type": "object", "required": ["key"], "properties": {"key": {"type": "number"}, "value": {"type": "string"}}}},
                "rule": {"type": "number", "x-kubernetes-validations": [{"rule": "self != 7.0", "message": "seven"}]},
            }},
            "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        }}}}]},
}


def built_in(t):
    for value in LITERALS:
        t.post(APPS + "/deployments?dryRun=All", deployment("replicas", value), keep=["spec.replicas"])
    for value in LITERALS:
        t.post(CORE + "/pods?dryRun=All", pod(f'"terminationGracePeriodSeconds":{value},'), keep=["spec.terminationGracePeriodSeconds"])
    for value in LITERALS:
        t.post(CORE + "/services?dryRun=All", '{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"clusterIP":"None","ports":[{"port":80,"targetPort":%s}]}}' % value, keep=["spec.ports"])
    for value in LITERALS:
        t.post(CORE + "/resourcequotas?dryRun=All", '{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"x"},"spec":{"hard":{"limits.cpu":%s}}}' % value, keep=["spec"])
    for value in LITERALS:
        t.post(CORE + "/pods?dryRun=All", pod(f'"volumes":[{{"name":"v","emptyDir":{{"sizeLimit":{value}}}}}],'), keep=["spec.volumes"])
    for value in FINITE:
        t.post(APPS + "/controllerrevisions?dryRun=All", '{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"x"},"revision":1,"data":{"a":[%s]}}' % value, keep=["data"], written=True)
    for value in FEW:
        for unlike in ("[%s]", '{"a":%s}', '"%s"'):
            t.post(APPS + "/deployments?dryRun=All", deployment("replicas", unlike % value), keep=["spec.replicas"])
        for member in ("minReadySeconds", "paused", "strategy", "template", "paths"):
            t.post(APPS + "/deployments?dryRun=All", deployment(member, value), keep=["spec.minReadySeconds"])
        t.post(APPS + "/deployments?dryRun=All&fieldValidation=Strict", deployment("paths", value), keep=["spec.minReadySeconds"])
        t.post(APPS + "/deployments?dryRun=All", deployment("strategy", '{"rollingUpdate":{"maxSurge":%s,"maxUnavailable":1}}' % value), keep=["spec.strategy"])
        t.post(APPS + "/deployments?dryRun=All", deployment("minReadySeconds", f'1,"minReadySeconds":{value}'), keep=["spec.minReadySeconds"])
        t.post(APPS + "/deployments?dryRun=All", deployment("minReadySeconds", f'{value},"minReadySeconds":1'), keep=["spec.minReadySeconds"])
        t.post(APPS + "/deployments?dryRun=All", deployment("Replicas", value), keep=["spec.replicas"])
        t.post(APPS + "/controllerrevisions?dryRun=All", '{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"x"},"revision":%s}' % value, keep=["revision"])
        if value in FINITE:
            t.post(APPS + "/controllerrevisions?dryRun=All", '{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"x"},"revision":1,"data":%s}' % value, keep=["data"])
        for more in (f',"data":{{"a":{value}}}', f',"data":{value}', f',"immutable":{value}', f',"binaryData":{{"a":{value}}}', f',"binaryData":{{"a":[{value}]}}', f',"binaryData":{value}', f',"zzz":{value}', f',"zzz":[{{"a":{value}}}]'):
            t.post(CM + "?dryRun=All", config_map(more), keep=["data", "binaryData", "immutable"])
        for more in ("generation", "uid", "creationTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "managedFields", "labels", "finalizers", "ownerReferences", "generateName"):
            t.post(CM + "?dryRun=All", meta(f'"{more}":{value}'), keep=["metadata.generation"])
        for more in (f'"labels":{{"a":{value}}}', f'"finalizers":[{value}]', f'"ownerReferences":[{{"controller":{value}}}]', '"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":%s}}]' % value, '"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":%s}]' % value):
            t.post(CM + "?dryRun=All", meta(more), keep=["metadata.labels"])
        for body in (value, f"[{value}]", f'{{"kind":{value}}}', f'{{"apiVersion":{value}}}', f'{{"apiVersion":"v1","kind":"ConfigMap","metadata":{value}}}'):
            t.post(CM + "?dryRun=All", body, keep=["kind"])
        t.post(CORE + "/secrets?dryRun=All", '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"},"data":{"a":[%s]}}' % value, keep=["data"])
        t.post(CORE + "/pods?dryRun=All", pod(container=',"resources":{"limits":{"memory":%s},"requests":{"memory":%s}}' % (value, value)), keep=["spec.containers"])
        t.post(CORE + "/pods?dryRun=All", pod(f'"restartPolicy":{value},'), keep=["kind"])
        t.post(CORE + "/pods?dryRun=All", pod(f'"overhead":{{"cpu":{value}}},'), keep=["spec.overhead"])
        t.post(CORE + "/pods?dryRun=All", pod(container=',"env":[{"name":"a","value":%s}]' % value), keep=["kind"])
        t.post(CORE + "/pods?dryRun=All", pod(container=',"livenessProbe":{"periodSeconds":%s,"httpGet":{"port":%s}}' % ("1", value)), keep=["kind"])
        t.post(CORE + "/pods?dryRun=All", pod(container=',"livenessProbe":{"periodSeconds":%s,"httpGet":{"port":1}}' % value), keep=["kind"])
        t.post("/apis/policy/v1/namespaces/default/poddisruptionbudgets?dryRun=All", '{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"x"},"spec":{"minAvailable":%s}}' % value, keep=["spec"])
        t.post("/api/v1/persistentvolumes?dryRun=All", '{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"x"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":%s},"hostPath":{"path":"/a"}}}' % value, keep=["spec.capacity"])
        t.post("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers?dryRun=All", '{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"x"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"a","name":"b"},"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"AverageValue","averageValue":%s}}}]}}' % value, keep=["spec.metrics"])
        t.post("/apis/coordination.k8s.io/v1/namespaces/default/leases?dryRun=All", '{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"x"},"spec":{"renewTime":%s}}' % value, keep=["spec"])
        t.post("/apis/coordination.k8s.io/v1/namespaces/default/leases?dryRun=All", '{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"x"},"spec":{"leaseDurationSeconds":%s}}' % value, keep=["spec"])
        t.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", '{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"a","extra":{"a":[%s]},"nonResourceAttributes":{"path":"/","verb":"get"}}}' % value, keep=["spec"])
        t.post(CORE + "/serviceaccounts/default/token", '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":%s}}' % value, keep=["spec.audiences"])


def yaml_bodies(t):
    for value in LITERALS:
        t.post(APPS + "/deployments?dryRun=All", deployment("replicas", value).replace(":", ": "), type="application/yaml", keep=["spec.replicas"])
    for value in LITERALS:
        t.post(CORE + "/resourcequotas?dryRun=All", 'apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: x}\nspec: {hard: {limits.cpu: %s}}\n' % value, type="application/yaml", keep=["spec"])
    for value in LITERALS:
        t.post(CORE + "/services?dryRun=All", 'apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {clusterIP: None, ports: [{port: 80, targetPort: %s}]}' % value, type="application/yaml", keep=["spec.ports"])
    for value in LITERALS:
        t.post(NUMS + "?dryRun=All", 'apiVersion: example.com/v1\nkind: Num\nmetadata: {name: x}\nspec: {any: %s}\n' % value, type="application/yaml", keep=["spec"])
    for value in FEW + [".inf", ".nan", "0x10", "1_000.5", "190:20:30", "+1", "+1.5", "1.", ".5"]:
        for member in ("integer", "number", "either", "text"):
            t.post(NUMS + "?dryRun=All", 'apiVersion: example.com/v1\nkind: Num\nmetadata: {name: x}\nspec: {%s: %s}\n' % (member, value), type="application/yaml", keep=["spec"])
        t.post(CM + "?dryRun=All", 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, generation: %s}\n' % value, type="application/yaml", keep=["metadata.generation"])
        t.post(CM + "?dryRun=All", 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: %s}\n' % value, type="application/yaml", keep=["data"])
        t.post(APPS + "/controllerrevisions?dryRun=All", 'apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: x}\nrevision: 1\ndata: {a: %s}\n' % value, type="application/yaml", keep=["data"])


def custom(t):
    for value in LITERALS:
        t.post(NUMS + "?dryRun=All", num(f'"any":{value}'), written=True)
    for member in ("integer", "int32", "int64", "number", "float", "low", "enum", "either"):
        for value in LITERALS:
            t.post(NUMS + "?dryRun=All", num(f'"{member}":{value}'), keep=["spec"])
    for value in FEW:
        for spec in (f'"text":{value}', f'"flag":{value}', f'"zzz":{value}', f'"list":[{value}]', f'"list":{value}', f'"rule":{value}', f'"set":[1,{value}]', f'"set":[1.0,1,{value}]', f'"map":[{{"key":{value}}}]', f'"map":[{{"key":1}},{{"key":{value}}}]', f'"any":{{"apiVersion":{value},"kind":{value}}}'):
            t.post(NUMS + "?dryRun=All", num(spec), keep=["spec"])
        t.post(NUMS + "?dryRun=All&fieldValidation=Strict", num(f'"zzz":{value}'), keep=["spec"])
        for more in (f',"generation":{value}', f',"labels":{{"a":{value}}}', f',"finalizers":[{value}]', f',"creationTimestamp":{value}', f',"zzz":{value}', f',"ownerReferences":[{{"controller":{value}}}]', f',"uid":{value}', f',"deletionGracePeriodSeconds":{value}', f',"managedFields":{value}'):
            t.post(NUMS + "?dryRun=All", num("", more), keep=["metadata.generation", "metadata.labels"])
        for body in (value, f'{{"kind":{value}}}', f'{{"apiVersion":"example.com/v1","kind":{value}}}', f'{{"apiVersion":{value},"kind":"Num"}}', f'{{"apiVersion":"example.com/v1","kind":"Num","metadata":{value}}}', f'{{"apiVersion":"example.com/v1","kind":"Num","metadata":{{"name":{value}}}}}', f'{{"apiVersion":"example.com/v1","kind":"Num","metadata":{{"name":"x"}},"spec":{value}}}'):
            t.post(NUMS + "?dryRun=All", body, keep=["kind"])
    # Kept, and read again.
    for at, value in enumerate(LITERALS):
        t.post(NUMS, num(f'"any":{value}').replace('"x"', f'"n{at}"', 1), written=True)
        t.get(NUMS + f"/n{at}", written=True)
    for at, value in enumerate(FEW):
        t.put(NUMS + f"/n{at}", num(f'"any":{value}').replace('"x"', f'"n{at}"', 1), written=True)
        t.get(NUMS + f"/n{at}/scale", keep=["spec", "status"])
        t.put(NUMS + f"/n{at}/scale", '{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"n%d"},"spec":{"replicas":%s}}' % (at, value), keep=["spec"])


def definitions(t):
    for value in LITERALS:
        t.post(CRDS + "?dryRun=All", crd('{"type":"number","minimum":%s}' % value), keep=["spec.versions"])
    for value in LITERALS:
        t.post(CRDS + "?dryRun=All", crd('{"type":"number","default":%s}' % value), keep=["spec.versions"])
    for value in FEW:
        for schema in ('{"type":"number","enum":[%s]}', '{"type":"number","example":%s}', '{"type":"integer","default":%s}', '{"type":"integer","minimum":%s}', '{"type":"string","maxLength":%s}', '{"type":"array","items":{"type":"string"},"minItems":%s}', '{"type":"number","multipleOf":%s}', '{"type":"number","exclusiveMinimum":%s}', '{"type":"object","additionalProperties":%s}', '{"type":%s}', '{"x-kubernetes-int-or-string":true,"default":%s}'):
            t.post(CRDS + "?dryRun=All", crd(schema % value), keep=["spec.versions"])
        t.post(CRDS + "?dryRun=All", crd('{"type":"string"}', more=f',"additionalPrinterColumns":[{{"name":"a","type":"string","jsonPath":".a","priority":{value}}}]'), keep=["spec.versions"])
        t.post(CRDS + "?dryRun=All", crd('{"type":"array","items":{"type":"number"},"default":[%s]}' % value), keep=["spec.versions"])


def patches(t):
    t.post(APPS + "/deployments", deployment("replicas", "1"), keep=["kind"])
    t.post(CM, config_map(',"data":{"a":"1"}'), keep=["kind"])
    t.post(CORE + "/resourcequotas", '{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"x"},"spec":{"hard":{"limits.cpu":"1"}}}', keep=["kind"])
    t.post(NUMS, num('"integer":1,"number":1.5,"any":{"a":1,"b":1.5,"c":1000,"d":1e21,"e":1e-7,"f":0,"g":"1"},"either":1,"list":[1,1.5],"map":[{"key":1,"value":"a"},{"key":1.5,"value":"b"}],"set":[1,1.5]'), keep=["spec"])
    x, c, q, n = APPS + "/deployments/x?dryRun=All", CM + "/x?dryRun=All", CORE + "/resourcequotas/x?dryRun=All", NUMS + "/x?dryRun=All"
    for value in LITERALS:
        t.merge(x, '{"spec":{"replicas":%s}}' % value, keep=["spec.replicas"])
        t.strategic(x, '{"spec":{"replicas":%s}}' % value, keep=["spec.replicas"])
        t.json_patch(x, '[{"op":"replace","path":"/spec/replicas","value":%s}]' % value, keep=["spec.replicas"])
    for value in LITERALS:
        t.merge(q, '{"spec":{"hard":{"limits.cpu":%s}}}' % value, keep=["spec"])
        t.strategic(q, '{"spec":{"hard":{"limits.cpu":%s}}}' % value, keep=["spec"])
        t.json_patch(q, '[{"op":"replace","path":"/spec/hard/limits.cpu","value":%s}]' % value, keep=["spec"])
    for value in LITERALS:
        t.merge(n, '{"spec":{"any":{"a":%s}}}' % value, keep=["spec.any"])
        t.json_patch(n, '[{"op":"add","path":"/spec/any/a","value":%s}]' % value, keep=["spec.any"])
    for value in LITERALS:
        t.merge(n, '{"spec":{"integer":%s}}' % value, keep=["spec.integer"])
        t.json_patch(n, '[{"op":"add","path":"/spec/integer","value":%s}]' % value, keep=["spec.integer"])
    for value in LITERALS:
        t.json_patch(n, '[{"op":"test","path":"/spec/any/a","value":%s}]' % value, keep=["kind"])
    for member in "bcdefg":
        for value in ("1", "1.0", "1.5", "1.50", "15e-1", "1000", "1e3", "1000.0", "1e21", "1e+21", "1000000000000000000000", "1e-7", "1e-07", "0.0000001", "0", "-0", "0.0", '"1"', "[1]", "null"):
            t.json_patch(n, '[{"op":"test","path":"/spec/any/%s","value":%s}]' % (member, value), keep=["kind"])
    for value in ("1", "1.0", "1e0", "-0", "2", '"1"', "null", "1e400"):
        t.json_patch(x, '[{"op":"test","path":"/spec/replicas","value":%s}]' % value, keep=["kind"])
        t.json_patch(x, '[{"op":"add","path":"/spec/replicas","value":%s},{"op":"test","path":"/spec/replicas","value":%s}]' % (value, value), keep=["spec.replicas"])
        if value == "null":
            continue  # a server breaks off when it compares lists with it
        t.json_patch(n, '[{"op":"add","path":"/spec/any","value":[%s,{"a":%s}]},{"op":"test","path":"/spec/any","value":[%s,{"a":1}]}]' % (value, value, value), keep=["spec.any"])
        t.json_patch(n, '[{"op":"test","path":"/spec/list","value":[%s,1.5]}]' % value, keep=["kind"])
        t.json_patch(n, '[{"op":"test","path":"/spec/map/0","value":{"value":"a","key":%s}}]' % value, keep=["kind"])
        t.json_patch(n, '[{"op":"add","path":"/spec/any/%s","value":1}]' % value, keep=["spec.any"])
        t.json_patch(n, '[{"op":"add","path":"/spec/list/%s","value":1}]' % value, keep=["spec.list"])
    for value in FEW:
        for op in (f'{{"op":{value}}}', f'{{"op":"add","path":{value},"value":1}}', f'{{"op":"remove","path":"/spec/list/0","value":{value}}}', f'{{"op":"copy","from":{value},"path":"/spec/any"}}', f'{{"op":"add","path":"/zzz","value":{value}}}', f'{{"op":"add","path":"/metadata/generation","value":{value}}}', f'{{"op":"add","path":"/metadata/labels","value":{{"a":{value}}}}}', value):
            t.json_patch(n, f"[{op}]", keep=["spec.list"])
            t.json_patch(x, f"[{op}]", keep=["spec.replicas"])
        for patch in (value, f"[{value}]", '{"zzz":%s}' % value, '{"metadata":{"labels":{"a":%s}}}' % value, '{"metadata":{"generation":%s}}' % value, '{"metadata":{"annotations":%s}}' % value, '{"spec":%s}' % value, '{"kind":%s}' % value, '{"data":{"a":%s}}' % value, '{"metadata":{"finalizers":[%s]}}' % value, '{"immutable":%s}' % value, '{"binaryData":{"a":[%s]}}' % value):
            t.merge(c, patch, keep=["data", "metadata.labels"])
            t.strategic(c, patch, keep=["data", "metadata.labels"])
            t.merge(n, patch, keep=["spec.integer", "metadata.labels"])
            t.merge(c + "&fieldValidation=Strict", patch, keep=["data", "metadata.labels"])
            t.strategic(c + "&fieldValidation=Strict", patch, keep=["data", "metadata.labels"])
        for patch in ('{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":%s}}}}', '{"spec":{"strategy":{"rollingUpdate":{"maxSurge":%s}}}}', '{"spec":{"template":{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":%s}}}]}}}}', '{"spec":{"template":{"spec":{"containers":[{"name":%s,"image":"a"}]}}}}', '{"spec":{"template":{"spec":{"containers":[{"name":"c","ports":[{"containerPort":%s}]}]}}}}', '{"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"a","value":%s}]}]}}}}'):
            t.merge(x, patch % value, keep=["spec.strategy"])
            t.strategic(x, patch % value, keep=["spec.strategy", "spec.template.spec"])
        t.merge(APPS + "/deployments/x/scale?dryRun=All", '{"spec":{"replicas":%s}}' % value, keep=["spec"])
        t.json_patch(APPS + "/deployments/x/scale?dryRun=All", '[{"op":"replace","path":"/spec/replicas","value":%s}]' % value, keep=["spec"])
        t.strategic(APPS + "/deployments/x/scale?dryRun=All", '{"spec":{"replicas":%s}}' % value, keep=["spec"])
        t.put(APPS + "/deployments/x/scale?dryRun=All", '{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x"},"spec":{"replicas":%s}}' % value, keep=["spec"])
        t.put(APPS + "/deployments/x?dryRun=All", deployment("replicas", value), keep=["spec.replicas"])
        t.merge(NUMS + "/x/status?dryRun=All", '{"status":{"replicas":%s}}' % value, keep=["status"])
        t.merge(NUMS + "/x/scale?dryRun=All", '{"spec":{"replicas":%s}}' % value, keep=["spec"])


def applies(t):
    for value in LITERALS:
        t.apply(NUMS + "/y?dryRun=All", num(f'"any":{value}').replace('"x"', '"y"', 1), written=True)
    for value in LITERALS:
        t.apply(NUMS + "/y?dryRun=All", num(f'"integer":{value}').replace('"x"', '"y"', 1), keep=["spec"])
    for value in LITERALS:
        t.apply(APPS + "/deployments/x?dryRun=All", deployment("replicas", value), force=True, keep=["spec.replicas"])
    for value in LITERALS:
        t.apply(CORE + "/resourcequotas/x?dryRun=All", '{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"x"},"spec":{"hard":{"limits.cpu":%s}}}' % value, force=True, keep=["spec"])
    for value in FEW:
        t.apply(CM + "/x?dryRun=All", config_map(f',"data":{{"a":{value}}}'), force=True, keep=["data"])
        t.apply(CM + "/x?dryRun=All", meta(f'"generation":{value}'), force=True, keep=["data"])
        t.apply(CM + "/x?dryRun=All", meta(f'"labels":{{"a":{value}}}'), force=True, keep=["data"])
        for spec in (f'"number":{value}', f'"either":{value}', f'"list":[{value}]', f'"set":[{value}]', f'"set":[1,{value}]', f'"map":[{{"key":{value},"value":"c"}}]', f'"map":[{{"key":1}},{{"key":{value}}}]', f'"text":{value}', f'"zzz":{value}'):
            t.apply(NUMS + "/x?dryRun=All", num(spec), force=True, keep=["spec"])
        t.apply(NUMS + "/f?dryRun=All", num(f'"map":[{{"key":{value},"value":"c"}}],"set":[{value}]').replace('"x"', '"f"', 1), keep=["metadata.managedFields"])
        t.apply(CORE + "/services/y?dryRun=All", '{"apiVersion":"v1","kind":"Service","metadata":{"name":"y"},"spec":{"clusterIP":"None","ports":[{"port":%s,"targetPort":1}]}}' % value, keep=["spec.ports", "metadata.managedFields"])
        if value in FINITE:
            t.apply(APPS + "/controllerrevisions/x?dryRun=All", '{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"x"},"revision":1,"data":{"a":%s}}' % value, keep=["data"])


def options(t):
    for value in LITERALS:
        t.delete(CM + "/x?dryRun=All", '{"gracePeriodSeconds":%s}' % value, keep=["kind"])
    for value in FEW:
        for body in (value, f'{{"kind":{value}}}', f'{{"preconditions":{{"uid":{value}}}}}', f'{{"orphanDependents":{value}}}', f'{{"propagationPolicy":{value}}}', f'{{"dryRun":[{value}]}}', f'{{"zzz":{value}}}', f'{{"preconditions":{value}}}'):
            t.delete(CM + "/x?dryRun=All", body, keep=["kind"])
        t.delete(NUMS + "/x?dryRun=All", f'{{"gracePeriodSeconds":{value}}}', keep=["kind"])
        t.delete(CM + "?dryRun=All", f'{{"gracePeriodSeconds":{value}}}', keep=["kind"])
        t.delete(CM + "/x?dryRun=All", f"gracePeriodSeconds: {value}\n", type="application/yaml", keep=["kind"])
        t.delete(CM + f"/x?dryRun=All&gracePeriodSeconds={value}", keep=["kind"])
        t.get(CM + f"?limit={value}", keep=["kind"])
        t.get(CM + f"?timeoutSeconds={value}", keep=["kind"])
        t.post(CORE + "/pods/p/eviction?dryRun=All", '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"},"deleteOptions":{"gracePeriodSeconds":%s}}' % value, keep=["kind"])


def run(t):
    t.crd(json.loads(json.dumps(NUM)))
    t.post(CORE + "/serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}, keep=["kind"])
    for part in (built_in, yaml_bodies, custom, definitions, patches, applies, options):
        part(t)
