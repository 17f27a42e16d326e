"""Kinds that are served in two versions: autoscalers, and the two faces of events."""

V1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
V2 = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
CORE = "/api/v1/namespaces/default/events"
NEW = "/apis/events.k8s.io/v1/namespaces/default/events"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PREFIX = "autoscaling.alpha.kubernetes.io/"
REF = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
MEMORY = {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "100Mi"}}}
PODS = {"type": "Pods", "pods": {"metric": {"name": "m", "selector": {"matchLabels": {"a": "b"}}}, "target": {"type": "AverageValue", "averageValue": "1k"}}}
OBJECT = {"type": "Object", "object": {"describedObject": {"apiVersion": "v1", "kind": "Service", "name": "s"}, "metric": {"name": "m"}, "target": {"type": "Value", "value": "5"}}}
AVERAGE = {"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "s"}, "metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "5"}}}
EXTERNAL = {"type": "External", "external": {"metric": {"name": "m", "selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}, "target": {"type": "Value", "value": "2"}}}
CONTAINER = {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c", "target": {"type": "Utilization", "averageUtilization": 60}}}
BEHAVIOR = {"scaleUp": {"stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 2, "periodSeconds": 30}]}, "scaleDown": {"selectPolicy": "Disabled", "tolerance": "0.05"}}
STATUS = {"currentReplicas": 2, "desiredReplicas": 3, "observedGeneration": 1, "lastScaleTime": "2001-01-01T00:00:00Z",
          "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 30, "averageValue": "30m"}}}, {"type": "Pods", "pods": {"metric": {"name": "m"}, "current": {"averageValue": "1k"}}},
                             {"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "s"}, "metric": {"name": "m"}, "current": {"value": "5"}}}, {"type": "External", "external": {"metric": {"name": "m"}, "current": {"averageValue": "5"}}},
                             {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c", "current": {"averageUtilization": 0, "averageValue": "5m"}}}],
          "conditions": [{"type": "AbleToScale", "status": "True", "reason": "R", "message": "m <&>", "lastTransitionTime": "2001-01-01T00:00:00Z"}, {"type": "ScalingActive", "status": "False"}]}


def v2(name, meta=None, **spec):
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name, **(meta or {})}, "spec": {"scaleTargetRef": REF, "maxReplicas": 5, **spec}}


def v1(name, meta=None, **spec):
    return {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name, **(meta or {})}, "spec": {"scaleTargetRef": REF, "maxReplicas": 5, **spec}}


def both(t, name):
    t.get(f"{V1}/{name}")
    t.get(f"{V2}/{name}")


def run(t):
    t.post(V2, v2("plain"), save={"rv": "metadata.resourceVersion"})
    both(t, "plain")
    t.post(V2 + "?fieldManager=two", v2("rich", {"annotations": {"own": "x", PREFIX + "metrics": "[]", PREFIX + "behavior": "x"}}, minReplicas=2, metrics=[MEMORY, CPU, PODS, OBJECT, AVERAGE, EXTERNAL, CONTAINER], behavior=BEHAVIOR))
    both(t, "rich")
    t.put(V2 + "/rich/status?fieldManager=controller", {**v2("rich"), "status": STATUS})
    both(t, "rich")
    t.get(V1 + "/rich/status")
    t.get(V1 + "/rich", accept=TABLE)
    t.get(V2 + "/rich", accept=TABLE)
    # changes through the first version
    t.merge(V1 + "/rich?fieldManager=one", {"spec": {"maxReplicas": 7}})
    t.merge(V1 + "/rich?fieldManager=one", {"spec": {"targetCPUUtilizationPercentage": 70}})
    t.merge(V1 + "/rich?fieldManager=one", {"spec": {"targetCPUUtilizationPercentage": None}})
    t.merge(V1 + "/rich?fieldManager=one", {"metadata": {"annotations": {PREFIX + "behavior": None}}})
    both(t, "rich")
    t.merge(V1 + "/rich?fieldManager=one", {"metadata": {"annotations": {PREFIX + "metrics": None}}})
    both(t, "rich")
    t.merge(V1 + "/rich?fieldManager=one", {"metadata": {"annotations": {PREFIX + "conditions": None, PREFIX + "current-metrics": None}}})
    t.merge(V1 + "/rich/status?fieldManager=one", {"metadata": {"annotations": {PREFIX + "conditions": None}}})
    t.merge(V1 + "/rich/status?fieldManager=one", {"status": {"currentReplicas": 4, "currentCPUUtilizationPercentage": 90}})
    both(t, "rich")
    t.json_patch(V1 + "/rich", [{"op": "replace", "path": "/metadata/annotations/own", "value": "y"}])
    t.strategic(V1 + "/rich", {"spec": {"minReplicas": 3}})
    t.strategic(V2 + "/rich", {"spec": {"metrics": [CPU]}})
    both(t, "rich")
    t.put(V1 + "/plain?fieldManager=one", v1("plain", targetCPUUtilizationPercentage=40))
    both(t, "plain")
    t.put(V1 + "/plain?fieldManager=one", v1("plain"))
    both(t, "plain")
    # made through the first version
    for name, annotations in (("a", {}), ("b", {"metrics": '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1"}}]'}), ("c", {"metrics": '[{"type":"Object","object":{"target":{"kind":"S","name":"s"},"metricName":"m","targetValue":"0","averageValue":"3"}}]'}),
                              ("d", {"metrics": '[{"type":"External","external":{"metricName":"m","targetAverageValue":"3"}},{"type":"ContainerResource","containerResource":{"name":"cpu","container":"c","targetAverageUtilization":3}}]'}),
                              ("e", {"behavior": '{"scaleup":{"selectpolicy":"Min"}}'}), ("f", {"behavior": '{}'}), ("g", {"behavior": '[]'}), ("h", {"metrics": "{}"}), ("i", {"metrics": "null"}), ("j", {"metrics": "[]"}), ("k", {"metrics": "[1]"}),
                              ("l", {"metrics": '[{"type":"Resource","resource":{"name":"cpu","targetAverageUtilization":20}}]'}), ("m", {"conditions": '[{"type":"A","status":"True"}]', "current-metrics": "[]"}),
                              ("n", {"metrics": '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"x"}}]'}), ("o", {"behavior": '{"ScaleDown":{"Policies":[{"Type":"Foo","Value":0,"PeriodSeconds":0}]}}'})):
        t.post(V1, v1(name, {"annotations": {PREFIX + key: text for key, text in annotations.items()}}))
        both(t, name)
    t.post(V1, v1("p", targetCPUUtilizationPercentage=0))
    t.post(V1, v1("q", minReplicas=0))
    t.post(V1, v2("r"))
    t.post(V2, v1("s"))
    t.post(V1 + "?dryRun=All", v1("t"))
    t.post(V1, {**v1("u"), "spec": {"scaleTargetRef": REF, "maxReplicas": 5, "metrics": [CPU]}})
    # apply: each version's managers
    t.apply(V1 + "/applied", v1("applied", targetCPUUtilizationPercentage=50), manager="one")
    t.apply(V2 + "/applied", v2("applied", metrics=[CPU, MEMORY]), manager="two")
    t.apply(V2 + "/applied", v2("applied", metrics=[MEMORY]), manager="two", force=True)
    both(t, "applied")
    t.apply(V1 + "/applied", v1("applied", minReplicas=2), manager="one")
    t.apply(V1 + "/applied", v1("applied", minReplicas=2, targetCPUUtilizationPercentage=60), manager="three")
    t.apply(V2 + "/applied", v2("applied", minReplicas=3), manager="two")
    both(t, "applied")
    t.put(V2 + "/applied?fieldManager=four", v2("applied", minReplicas=4, behavior=BEHAVIOR))
    both(t, "applied")
    # lists and watches of each version
    for path in (V1, V2):
        t.get(path)
        t.get(f"{path}?watch=true&timeoutSeconds=1&resourceVersion=${{rv}}&fieldSelector=metadata.name%3Dapplied")
        t.get(path, accept=TABLE)
    t.delete(V1 + "/applied")
    t.delete(V2 + "/rich")
    t.get("/apis/autoscaling/v1")
    # events
    old = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "old"}, "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"}, "reason": "R", "message": "m", "type": "Warning", "count": 2, "firstTimestamp": "2001-01-01T00:00:00Z", "lastTimestamp": "2001-01-02T00:00:00Z", "source": {"component": "c", "host": "h"}}
    new = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "new"}, "regarding": {"kind": "Pod", "namespace": "default", "name": "p"}, "related": {"kind": "Node", "name": "n"}, "reason": "R", "note": "m", "action": "A", "type": "Normal",
           "eventTime": "2001-01-01T00:00:00.000001Z", "reportingController": "a.b/c", "reportingInstance": "i", "series": {"count": 3, "lastObservedTime": "2001-01-02T00:00:00.000000Z"}}
    t.post(CORE + "?fieldManager=one", old, save={"erv": "metadata.resourceVersion"})
    t.post(NEW + "?fieldManager=two", new)
    for name in ("old", "new"):
        t.get(f"{CORE}/{name}")
        t.get(f"{NEW}/{name}")
        t.get(f"{CORE}/{name}", accept=TABLE)
        t.get(f"{NEW}/{name}", accept=TABLE)
    t.merge(CORE + "/new?fieldManager=one", {"series": {"count": 4}})
    t.merge(NEW + "/old?fieldManager=two", {"metadata": {"labels": {"a": "b"}}})
    t.merge(NEW + "/new?fieldManager=two", {"series": {"count": 5}})
    t.merge(NEW + "/new?fieldManager=two", {"note": "other"})
    t.merge(CORE + "/old?fieldManager=one", {"count": 3, "message": "other"})
    t.apply(NEW + "/new", {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "new", "labels": {"x": "y"}}}, manager="applier")
    t.get(CORE + "/new")
    for path in (CORE, NEW):
        t.get(path)
        t.get(f"{path}?watch=true&timeoutSeconds=1&resourceVersion=${{erv}}")
        t.get(f"{path}?fieldSelector=reason%3DR")
    t.get(f"{CORE}?fieldSelector=involvedObject.name%3Dp")
    t.get(f"{NEW}?fieldSelector=regarding.name%3Dp")
    t.get(f"{NEW}?fieldSelector=involvedObject.name%3Dp")
    t.get(f"{CORE}?fieldSelector=reportingComponent%3Da.b/c")
    t.get(f"{NEW}?fieldSelector=reportingController%3Da.b/c")
    t.get(f"{NEW}?fieldSelector=source%3Dc")
    t.post(NEW, {**new, "metadata": {"name": "bad"}, "reportingController": ""})
    t.post(NEW, {**new, "metadata": {"name": "bad"}, "note": "x" * 1025})
    t.post(CORE, {**old, "metadata": {"name": "bad"}, "involvedObject": {"kind": "Pod", "namespace": "other", "name": "p"}})
    t.delete(NEW + "/old")
    t.delete(CORE + "/new")
