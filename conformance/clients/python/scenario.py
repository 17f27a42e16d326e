"""What tests of operators do with the package `kubernetes`, one line a step: typed clients, the dynamic client, watches, an informer."""
import base64
import copy
import datetime
import json
import os
import sys
import threading
import time

import yaml
from kubernetes import client, config, utils, watch
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import DynamicApiError
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
from kubernetes.utils.create_from_yaml import FailToCreateError

here = os.path.dirname(os.path.abspath(__file__))
GROUP, VERSION, PLURAL = "clients.example.com", "v1", "widgets"
JSON_PATCH, MERGE = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"


def plain(said):
    """A result of any of the library's kinds as something that JSON knows."""
    if isinstance(said, bytes):
        return base64.b64encode(said).decode()
    if isinstance(said, (list, tuple)):
        return [plain(item) for item in said]
    if hasattr(said, "to_dict") and type(said).__module__.startswith("kubernetes.dynamic"):
        return plain(said.to_dict())
    if isinstance(said, dict):
        return {str(key): plain(value) for key, value in said.items()}
    return client.ApiClient().sanitize_for_serialization(said)


def body(text):
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return str(text)


def failure(error):
    if isinstance(error, FailToCreateError):
        return {"raised": "FailToCreateError", "of": [failure(e) for e in error.api_exceptions], "text": str(error)}
    if isinstance(error, client.ApiException):
        return {"raised": type(error).__name__, "status": error.status, "reason": error.reason, "body": body(error.body),
                "type": (error.headers or {}).get("Content-Type"), "retry": (error.headers or {}).get("Retry-After")}
    if isinstance(error, DynamicApiError):
        return {"raised": type(error).__name__, "status": error.status, "reason": error.reason, "body": body(error.body), "text": error.summary()}
    return {"raised": type(error).__name__, "text": str(error)}


def step(name, do, /, *arguments, **named):
    """Does one thing, prints what came of it, and answers it (None when it failed)."""
    try:
        said = do(*arguments, **named)
    except Exception as error:  # noqa: BLE001: what is raised is what is compared
        said, shown = None, failure(error)
    else:
        shown = plain(said)
    print(f"{name}\t{json.dumps(shown, sort_keys=True)}", flush=True)
    return said


def with_head(name, do, /, *arguments, **named):
    """As `step`, for the variants that tell the status and the headers too."""
    def told():
        answer = do(*arguments, **named)
        data, status, headers = (answer.data, answer.status_code, answer.headers) if hasattr(answer, "status_code") else answer
        return {"status": status, "type": headers.get("Content-Type"), "warning": headers.get("Warning"), "data": data}
    return step(name, told)


def until(what, found, seconds=30):
    """Waits for what takes the server a moment, at most `seconds`."""
    end = time.time() + seconds
    while time.time() < end:
        try:
            if found():
                return
        except client.ApiException:
            pass
        time.sleep(0.05)
    print(f"waited in vain for {what}", file=sys.stderr)


config.load_kube_config()
core, apps, batch = client.CoreV1Api(), client.AppsV1Api(), client.BatchV1Api()
crds, custom = client.ApiextensionsV1Api(), client.CustomObjectsApi()
rbac, auth, authn = client.RbacAuthorizationV1Api(), client.AuthorizationV1Api(), client.AuthenticationV1Api()


def widget(name, **spec):
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Widget", "metadata": {"name": name, "labels": {"app": "w"}}, "spec": {"color": "red", **spec}}


def discovery():
    step("version", lambda: (lambda v: [v.major, v.minor, v.git_version, v.platform])(client.VersionApi().get_code()))
    step("api versions", client.CoreApi().get_api_versions)
    step("groups", client.ApisApi().get_api_versions)
    step("core resources", core.get_api_resources)
    step("apps resources", apps.get_api_resources)
    step("openid", client.WellKnownApi().get_service_account_issuer_open_id_configuration)
    step("logs", client.LogsApi().log_file_list_handler)


def definitions():
    path = os.path.join(here, "..", "widgets.yaml")
    step("crd from yaml", utils.create_from_yaml, client.ApiClient(), path)
    until("the definition", lambda: any(
        c.type == "Established" and c.status == "True"
        for c in crds.read_custom_resource_definition(f"{PLURAL}.{GROUP}").status.conditions or []))
    until("its resources", lambda: custom.list_cluster_custom_object(GROUP, VERSION, PLURAL))
    step("crd again", utils.create_from_yaml, client.ApiClient(), path)
    step("crd applied", utils.create_from_yaml, client.ApiClient(), path, apply=True)
    step("crd read", crds.read_custom_resource_definition, f"{PLURAL}.{GROUP}")
    step("crd status", crds.read_custom_resource_definition_status, f"{PLURAL}.{GROUP}")
    step("crd list", lambda: [c.metadata.name for c in crds.list_custom_resource_definition().items])
    broken = yaml.safe_load(open(path))
    broken["metadata"]["name"] = "others.clients.example.com"
    step("crd of another name", crds.create_custom_resource_definition, broken)
    broken = yaml.safe_load(open(path))
    broken["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["color"] = {"enum": ["a"]}
    broken["metadata"]["resourceVersion"] = crds.read_custom_resource_definition(f"{PLURAL}.{GROUP}").metadata.resource_version
    step("crd without type", crds.replace_custom_resource_definition, f"{PLURAL}.{GROUP}", broken)
    step("crd patched", crds.patch_custom_resource_definition, f"{PLURAL}.{GROUP}", {"metadata": {"annotations": {"a": "b"}}})
    step("group resources", custom.get_api_resources, GROUP, VERSION)


def customs():
    ns = "default"
    at = (GROUP, VERSION, ns, PLURAL)
    step("cr create", custom.create_namespaced_custom_object, *at, widget("one", port=80, parts=[{"name": "a"}, {"name": "b", "weight": 2}], ratio=0.5))
    step("cr exists", custom.create_namespaced_custom_object, *at, widget("one"))
    step("cr invalid", custom.create_namespaced_custom_object, *at, widget("bad", color="pink", replicas=101, token="A", port=1.5, names=["a", "a"], parts=[{}]))
    step("cr rule", custom.create_namespaced_custom_object, *at, widget("bad", replicas=20))
    step("cr wrong kind", custom.create_namespaced_custom_object, *at, {**widget("bad"), "kind": "Gadget"})
    step("cr wrong version", custom.create_namespaced_custom_object, *at, {**widget("bad"), "apiVersion": "v2"})
    step("cr no name", custom.create_namespaced_custom_object, *at, {**widget("bad"), "metadata": {}})
    step("cr bad name", custom.create_namespaced_custom_object, *at, widget("Bad_Name"))
    step("cr other namespace", custom.create_namespaced_custom_object, *at, {**widget("bad"), "metadata": {"name": "bad", "namespace": "other"}})
    step("cr no namespace", custom.create_namespaced_custom_object, GROUP, VERSION, "nowhere", PLURAL, widget("bad"))
    with_head("cr unknown field warned", custom.create_namespaced_custom_object_with_http_info, *at, widget("warned", extra=1, deep={"a": 1}), field_validation="Warn")
    step("cr unknown field strict", custom.create_namespaced_custom_object, *at, widget("strict", extra=1), field_validation="Strict")
    with_head("cr unknown field ignored", custom.create_namespaced_custom_object_with_http_info, *at, widget("ignored", extra=1), field_validation="Ignore")
    step("cr validation unknown", custom.create_namespaced_custom_object, *at, widget("never"), field_validation="Sometimes")
    step("cr dry run", custom.create_namespaced_custom_object, *at, widget("dry"), dry_run="All", field_manager="tester")
    step("cr dry run wrong", custom.create_namespaced_custom_object, *at, widget("dry"), dry_run="Some")
    step("cr dry run left nothing", custom.get_namespaced_custom_object, *at, "dry")
    one = step("cr get", custom.get_namespaced_custom_object, *at, "one")
    with_head("cr old version", custom.get_namespaced_custom_object_with_http_info, GROUP, "v1alpha1", ns, PLURAL, "one")
    step("cr no version", custom.get_namespaced_custom_object, GROUP, "v3", ns, PLURAL, "one")
    step("cr merge patch", custom.patch_namespaced_custom_object, *at, "one", {"spec": {"color": "blue", "ratio": None}}, _content_type=MERGE)
    step("cr patch by default", custom.patch_namespaced_custom_object, *at, "one", {"spec": {"limit": 12}})
    step("cr json patch", custom.patch_namespaced_custom_object, *at, "one", [{"op": "test", "path": "/spec/color", "value": "blue"}, {"op": "add", "path": "/spec/names", "value": ["x"]}], _content_type=JSON_PATCH)
    step("cr json patch test", custom.patch_namespaced_custom_object, *at, "one", [{"op": "test", "path": "/spec/color", "value": "red"}], _content_type=JSON_PATCH)
    step("cr json patch missing", custom.patch_namespaced_custom_object, *at, "one", [{"op": "remove", "path": "/spec/nothing"}], _content_type=JSON_PATCH)
    step("cr json patch of a document", custom.patch_namespaced_custom_object, *at, "one", {"spec": {}}, _content_type=JSON_PATCH)
    step("cr strategic patch", custom.patch_namespaced_custom_object, *at, "one", {"spec": {}}, _content_type=STRATEGIC)
    step("cr patch invalid", custom.patch_namespaced_custom_object, *at, "one", {"spec": {"replicas": "three"}}, _content_type=MERGE)
    step("cr patch of none", custom.patch_namespaced_custom_object, *at, "none", {"spec": {"replicas": 3}}, _content_type=MERGE)
    step("cr stale", custom.replace_namespaced_custom_object, *at, "one", one)
    step("cr stale patch", custom.patch_namespaced_custom_object, *at, "one", {"metadata": {"resourceVersion": "1"}}, _content_type=MERGE)
    fresh = custom.get_namespaced_custom_object(*at, "one")
    fresh["spec"]["token"] = "abc"
    fresh["status"] = {"ready": True}
    fresh = step("cr replace", custom.replace_namespaced_custom_object, *at, "one", fresh)
    del fresh["spec"]["token"]
    step("cr transition rule", custom.replace_namespaced_custom_object, *at, "one", fresh)
    step("cr other uid", custom.replace_namespaced_custom_object, *at, "one", {**fresh, "metadata": {**fresh["metadata"], "uid": "x"}})
    step("cr other name", custom.replace_namespaced_custom_object, *at, "two", fresh)
    step("cr replace without version", custom.replace_namespaced_custom_object, *at, "one", {**widget("one", token="abc")})
    status = {"status": {"ready": True, "replicas": 2, "selector": "app=w", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}]}, "spec": {"color": "green"}}
    step("cr status patch", custom.patch_namespaced_custom_object_status, *at, "one", status, _content_type=MERGE)
    step("cr status invalid", custom.patch_namespaced_custom_object_status, *at, "one", {"status": {"conditions": [{"type": "A", "status": "maybe", "lastTransitionTime": "yesterday"}]}}, _content_type=MERGE)
    full = step("cr status get", custom.get_namespaced_custom_object_status, *at, "one")
    full["status"]["replicas"] = 3
    step("cr status replace", custom.replace_namespaced_custom_object_status, *at, "one", full)
    step("cr scale", custom.get_namespaced_custom_object_scale, *at, "one")
    step("cr scale patch", custom.patch_namespaced_custom_object_scale, *at, "one", {"spec": {"replicas": 4}}, _content_type=MERGE)
    step("cr scale beyond", custom.patch_namespaced_custom_object_scale, *at, "one", {"spec": {"replicas": 50}}, _content_type=MERGE)
    step("cr scale negative", custom.patch_namespaced_custom_object_scale, *at, "one", {"spec": {"replicas": -1}}, _content_type=MERGE)
    step("cr list", custom.list_namespaced_custom_object, *at)
    step("cr by label", custom.list_namespaced_custom_object, *at, label_selector="app in (w),!x", limit=1)
    step("cr by label wrong", custom.list_namespaced_custom_object, *at, label_selector="a in w")
    step("cr by field", lambda: [w["metadata"]["name"] for w in custom.list_namespaced_custom_object(*at, field_selector="spec.color=red,metadata.name!=warned")["items"]])
    step("cr by field unknown", custom.list_namespaced_custom_object, *at, field_selector="spec.token=abc")
    step("cr everywhere", lambda: len(custom.list_custom_object_for_all_namespaces(GROUP, VERSION, PLURAL)["items"]))


def applied():
    dynamic = DynamicClient(client.ApiClient())
    widgets = dynamic.resources.get(api_version=f"{GROUP}/{VERSION}", kind="Widget")
    print(f"dynamic resource\t{json.dumps([widgets.name, widgets.namespaced, widgets.verbs, widgets.short_names, widgets.categories, sorted(widgets.subresources)])}")
    step("dynamic unknown", dynamic.resources.get, api_version="nope/v1", kind="Nope")
    step("dynamic search", lambda: sorted(f"{r.group_version}/{r.kind}" for r in dynamic.resources.search(kind="Event")))
    step("dynamic create", widgets.create, body=widget("dyn"), namespace="default")
    step("dynamic exists", widgets.create, body=widget("dyn"), namespace="default")
    step("dynamic not found", widgets.get, name="none", namespace="default")
    step("dynamic invalid", widgets.create, body=widget("bad", color="pink"), namespace="default")
    step("dynamic unsupported", widgets.patch, body=widget("dyn"), namespace="default")
    step("dynamic merge", widgets.patch, body=widget("dyn", limit=11), namespace="default", content_type=MERGE)
    step("dynamic media type", widgets.patch, body=widget("dyn", limit=11), namespace="default", content_type="application/nonsense")
    step("dynamic status", widgets.status.patch, body={"metadata": {"name": "dyn"}, "status": {"replicas": 1}}, namespace="default", content_type=MERGE)
    step("dynamic scale", widgets.scale.get, name="dyn", namespace="default")
    step("apply", widgets.server_side_apply, body=widget("ssa", replicas=2, parts=[{"name": "a", "weight": 1}]), namespace="default", field_manager="first")
    step("apply again", widgets.server_side_apply, body=widget("ssa", replicas=2, parts=[{"name": "a", "weight": 1}]), namespace="default", field_manager="first")
    step("apply conflict", widgets.server_side_apply, body=widget("ssa", replicas=3, parts=[{"name": "a", "weight": 7}]), namespace="default", field_manager="second")
    step("apply forced", widgets.server_side_apply, body=widget("ssa", replicas=3, parts=[{"name": "a", "weight": 7}, {"name": "b"}]), namespace="default", field_manager="second", force_conflicts=True)
    step("apply less", widgets.server_side_apply, body=widget("ssa"), namespace="default", field_manager="second")
    step("apply without manager", widgets.server_side_apply, body=widget("ssa"), namespace="default")
    step("apply twice the key", widgets.server_side_apply, body=widget("ssa", parts=[{"name": "a"}, {"name": "a"}]), namespace="default", field_manager="first")
    step("apply unknown field", widgets.server_side_apply, body=widget("ssa", extra=1), namespace="default", field_manager="first")
    step("apply managed fields", widgets.server_side_apply, body={**widget("ssa"), "metadata": {"name": "ssa", "managedFields": [{}]}}, namespace="default", field_manager="first")
    step("apply dry run", widgets.server_side_apply, body=widget("ssa", limit=99), namespace="default", field_manager="third", dry_run="All")
    step("apply status", widgets.status.server_side_apply, body={"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "ssa"}, "status": {"ready": True}}, namespace="default", field_manager="status")
    services = dynamic.resources.get(api_version="v1", kind="Service")
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "ssa"}, "spec": {"selector": {"a": "b"}, "clusterIP": "10.0.0.77", "ports": [{"port": 80, "targetPort": "web"}, {"port": 53, "protocol": "UDP", "targetPort": 53, "name": "dns"}]}}
    step("service apply invalid", services.server_side_apply, body=service, namespace="default", field_manager="first")
    service["spec"]["ports"][0]["name"] = "web"
    step("service apply", services.server_side_apply, body=service, namespace="default", field_manager="first")
    service["spec"]["ports"] = [{"port": 80, "targetPort": 8080, "name": "web"}]
    step("service conflict", services.server_side_apply, body=service, namespace="default", field_manager="second")
    step("service forced", services.server_side_apply, body=service, namespace="default", field_manager="second", force_conflicts=True)
    step("dynamic watch", lambda: [(e["type"], e["object"].metadata.name) for e in widgets.watch(namespace="default", timeout=1)])
    step("dynamic watch fresh", lambda: [(e["type"], e["raw_object"]["metadata"].get("name"), e["raw_object"]["metadata"].get("annotations")) for e in widgets.watch(namespace="default", timeout=1, allow_watch_bookmarks=True, send_initial_events=True, resource_version_match="NotOlderThan")])
    step("dynamic list", lambda: [w.metadata.name for w in widgets.get(namespace="default", field_selector="spec.color=red").items])
    step("dynamic delete", widgets.delete, name="dyn", namespace="default", body={"propagationPolicy": "Orphan"})
    step("dynamic delete many", widgets.delete, namespace="default", label_selector="app=none")


def builtins():
    ns = "default"
    step("namespace", core.create_namespace, {"metadata": {"name": "clients"}})
    step("namespace twice", core.create_namespace, {"metadata": {"name": "clients"}})
    step("configmap", core.create_namespaced_config_map, ns, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="cm", labels={"a": "1"}), data={"k": "v", "e": ""}, binary_data={"b": base64.b64encode(bytes(range(256))).decode()}))
    step("configmap read", core.read_namespaced_config_map, "cm", ns)
    step("configmap twice a key", core.create_namespaced_config_map, ns, {"metadata": {"name": "cm2"}, "data": {"k": "v"}, "binaryData": {"k": "AA=="}})
    step("configmap not base64", core.create_namespaced_config_map, ns, {"metadata": {"name": "cm2"}, "binaryData": {"k": "not base64!"}})
    step("configmap of numbers", raw, client.ApiClient(), "POST", "/api/v1/namespaces/default/configmaps", {"Content-Type": "application/json"}, {"metadata": {"name": "cm2"}, "data": {"k": 1}})
    step("configmap of lists", raw, client.ApiClient(), "POST", "/api/v1/namespaces/default/configmaps", {"Content-Type": "application/json"}, {"metadata": {"name": "cm2"}, "data": ["k"]})
    step("configmap unknown", raw, client.ApiClient(), "POST", "/api/v1/namespaces/default/configmaps", {"Content-Type": "application/json"}, {"metadata": {"name": "cm3", "nope": 1}, "data": {}, "more": 2})
    step("configmap unknown strict", raw, client.ApiClient(), "POST", "/api/v1/namespaces/default/configmaps?fieldValidation=Strict", {"Content-Type": "application/json"}, {"metadata": {"name": "cm4", "nope": 1}, "data": {}, "more": 2})
    step("configmap immutable", core.patch_namespaced_config_map, "cm", ns, {"immutable": True})
    step("configmap no more", core.patch_namespaced_config_map, "cm", ns, {"data": {"k": "w"}})
    step("configmap generated", lambda: core.create_namespaced_config_map(ns, {"metadata": {"generateName": "gen-"}}).metadata.name.startswith("gen-"))
    step("configmap managed fields", lambda: [f.to_dict() for f in core.read_namespaced_config_map("cm", ns).metadata.managed_fields])
    step("secret", core.create_namespaced_secret, ns, {"metadata": {"name": "s"}, "stringData": {"a": "b"}, "data": {"c": "ZA=="}})
    step("secret type", core.create_namespaced_secret, ns, {"metadata": {"name": "tls"}, "type": "kubernetes.io/tls", "data": {}})
    step("secret other type", core.patch_namespaced_secret, "s", ns, {"type": "other"})
    container = client.V1Container(name="c", image="i", ports=[client.V1ContainerPort(container_port=80)], resources=client.V1ResourceRequirements(requests={"cpu": "0.10", "memory": "1024Mi"}, limits={"cpu": "1500m"}),
                                   liveness_probe=client.V1Probe(http_get=client.V1HTTPGetAction(path="/", port="http")), env=[client.V1EnvVar(name="E", value="1")])
    template = client.V1PodTemplateSpec(metadata=client.V1ObjectMeta(labels={"a": "1"}), spec=client.V1PodSpec(containers=[container]))
    deployment = client.V1Deployment(metadata=client.V1ObjectMeta(name="d"), spec=client.V1DeploymentSpec(replicas=2, selector=client.V1LabelSelector(match_labels={"a": "1"}), template=template))
    step("deployment", apps.create_namespaced_deployment, ns, deployment)
    other = copy.deepcopy(deployment)
    other.metadata.name, other.spec.selector.match_labels = "e", {"b": "1"}
    step("deployment selects nothing", apps.create_namespaced_deployment, ns, other)
    step("deployment by key", apps.patch_namespaced_deployment, "d", ns, {"spec": {"template": {"spec": {"containers": [{"name": "c", "env": [{"name": "F", "value": "2"}]}]}}}})
    step("deployment by index", apps.patch_namespaced_deployment, "d", ns, [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "j"}], _content_type=JSON_PATCH)
    step("deployment by merge", apps.patch_namespaced_deployment, "d", ns, {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "k"}]}}}}, _content_type=MERGE)
    step("deployment selector", apps.patch_namespaced_deployment, "d", ns, {"spec": {"selector": {"matchLabels": {"a": "2"}}, "template": {"metadata": {"labels": {"a": "2"}}}}})
    step("deployment delete directive", apps.patch_namespaced_deployment, "d", ns, {"spec": {"template": {"spec": {"containers": [{"name": "x", "image": "y"}, {"name": "c", "$patch": "delete"}]}}}})
    step("deployment scale", apps.read_namespaced_deployment_scale, "d", ns)
    step("deployment scaled", apps.patch_namespaced_deployment_scale, "d", ns, {"spec": {"replicas": 5}})
    scale = apps.read_namespaced_deployment_scale("d", ns)
    scale.spec.replicas = 6
    step("deployment scale replaced", apps.replace_namespaced_deployment_scale, "d", ns, scale)
    step("deployment status", apps.patch_namespaced_deployment_status, "d", ns, {"status": {"replicas": 6, "readyReplicas": 7, "conditions": [{"type": "Available", "status": "True"}]}})
    read = apps.read_namespaced_deployment("d", ns)
    read.spec.paused = True
    step("deployment replaced", apps.replace_namespaced_deployment, "d", ns, read)
    step("deployment stale", apps.replace_namespaced_deployment, "d", ns, read)
    step("deployment wrong quantity", apps.patch_namespaced_deployment, "d", ns, {"spec": {"template": {"spec": {"containers": [{"name": "x", "resources": {"requests": {"cpu": "a lot"}}}]}}}})
    step("deployment wrong number", apps.patch_namespaced_deployment, "d", ns, {"spec": {"replicas": "5"}})
    step("service", core.create_namespaced_service, ns, {"metadata": {"name": "svc"}, "spec": {"clusterIP": "10.0.0.9", "ports": [{"port": 80, "targetPort": "http"}]}})
    step("service clash", core.create_namespaced_service, ns, {"metadata": {"name": "svc2"}, "spec": {"clusterIP": "10.0.0.9", "ports": [{"port": 80}]}})
    step("job", batch.create_namespaced_job, ns, {"metadata": {"name": "j"}, "spec": {"template": {"spec": {"restartPolicy": "Always", "containers": [{"name": "c", "image": "i"}]}}}})
    step("cronjob", batch.create_namespaced_cron_job, ns, {"metadata": {"name": "cj"}, "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}}})
    step("cronjob schedule", batch.patch_namespaced_cron_job, "cj", ns, {"spec": {"schedule": "whenever"}})
    step("hpa", client.AutoscalingV2Api().create_namespaced_horizontal_pod_autoscaler, ns, {"metadata": {"name": "h"}, "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}})
    step("ingress", client.NetworkingV1Api().create_namespaced_ingress, ns, {"metadata": {"name": "i"}, "spec": {"rules": [{"host": "*.a.b", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]}})
    step("policy", client.NetworkingV1Api().create_namespaced_network_policy, ns, {"metadata": {"name": "n"}, "spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 80, "endPort": 90}], "from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}})
    step("class", client.StorageV1Api().create_storage_class, {"metadata": {"name": "sc"}, "provisioner": "p"})
    step("claim", core.create_namespaced_persistent_volume_claim, ns, {"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1.5Gi"}}}})
    step("quota", core.create_namespaced_resource_quota, "clients", {"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": "0", "pods": "1"}}})
    step("priority", client.SchedulingV1Api().create_priority_class, {"metadata": {"name": "pc"}, "value": 5})
    step("lease", client.CoordinationV1Api().create_namespaced_lease, ns, client.V1Lease(metadata=client.V1ObjectMeta(name="l"), spec=client.V1LeaseSpec(holder_identity="me", lease_duration_seconds=15, renew_time=datetime.datetime(2020, 1, 1, 1, 2, 3, 456789, datetime.timezone.utc))))
    step("core event", core.create_namespaced_event, ns, {"metadata": {"name": "ev"}, "involvedObject": {"kind": "ConfigMap", "namespace": ns, "name": "cm"}, "reason": "R", "message": "M", "type": "Normal", "firstTimestamp": "2020-01-01T00:00:00Z", "count": 1})
    step("event", client.EventsV1Api().create_namespaced_event, ns, {"metadata": {"name": "ev2"}, "eventTime": "2020-01-01T00:00:00.000001Z", "reportingController": "c", "reportingInstance": "i", "action": "A", "reason": "R", "type": "Normal", "regarding": {"kind": "ConfigMap", "namespace": ns, "name": "cm"}})
    step("event invalid", raw, client.ApiClient(), "POST", "/apis/events.k8s.io/v1/namespaces/default/events", {"Content-Type": "application/json"}, {"metadata": {"name": "ev3"}, "regarding": {"kind": "ConfigMap", "namespace": "other", "name": "cm"}})
    step("events of one", lambda: [e.metadata.name for e in core.list_namespaced_event(ns, field_selector="involvedObject.name=cm,involvedObject.kind=ConfigMap").items])


def pods():
    ns = "default"
    pod = {"metadata": {"name": "p", "labels": {"app": "p"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    step("pod", core.create_namespaced_pod, ns, pod)
    step("pod log", core.read_namespaced_pod_log, "p", ns)
    step("pod log of none", core.read_namespaced_pod_log, "none", ns)
    step("pod image", lambda: core.patch_namespaced_pod("p", ns, {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}).spec.containers[0].image)
    step("pod command", core.patch_namespaced_pod, "p", ns, {"spec": {"containers": [{"name": "c", "command": ["x"]}]}})
    step("pod status", lambda: core.patch_namespaced_pod_status("p", ns, {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}).status)
    step("pod by phase", lambda: [p.metadata.name for p in core.list_namespaced_pod(ns, field_selector="status.phase=Running,spec.nodeName=").items])
    step("pod by nothing known", core.list_namespaced_pod, ns, field_selector="spec.color=red")
    step("budget", client.PolicyV1Api().create_namespaced_pod_disruption_budget, ns, {"metadata": {"name": "b"}, "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "p"}}}})
    step("evict", core.create_namespaced_pod_eviction, "p", ns, {"metadata": {"name": "p"}})
    step("budget status", client.PolicyV1Api().patch_namespaced_pod_disruption_budget_status, "b", ns, {"status": {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 0, "expectedPods": 1}})
    step("evict dry", core.create_namespaced_pod_eviction, "p", ns, {"metadata": {"name": "p"}, "deleteOptions": {"dryRun": ["All"]}})
    step("evict other", core.create_namespaced_pod_eviction, "p", ns, {"metadata": {"name": "q"}})
    step("evict with uid", core.create_namespaced_pod_eviction, "p", ns, {"metadata": {"name": "p"}, "deleteOptions": {"preconditions": {"uid": "no"}}})
    step("evict now", core.create_namespaced_pod_eviction, "p", ns, {"metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": 0}})
    step("pod gone", core.read_namespaced_pod, "p", ns)
    step("bind", core.create_namespaced_pod, ns, pod)
    step("binding", lambda: core.create_namespaced_pod_binding("p", ns, {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "nowhere"}}, _preload_content=False).status)
    step("binding again", core.create_namespaced_pod_binding, "p", ns, {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "nowhere"}})
    step("pod bound", lambda: core.read_namespaced_pod("p", ns).spec.node_name)
    step("pod exec", core.connect_get_namespaced_pod_exec, "p", ns, command=["ls"])
    step("pod delete", core.delete_namespaced_pod, "p", ns)
    step("pod going", lambda: core.read_namespaced_pod("p", ns).metadata.deletion_grace_period_seconds)
    step("pod delete now", core.delete_namespaced_pod, "p", ns, grace_period_seconds=0)
    step("pod in quota", lambda: core.create_namespaced_pod("clients", pod).metadata.name)
    step("pod beyond quota", core.create_namespaced_pod, "clients", {**pod, "metadata": {"name": "p2"}})
    step("node", core.create_node, {"metadata": {"name": "n1"}, "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}})
    step("node status", lambda: core.patch_node_status("n1", {"status": {"capacity": {"cpu": "4", "memory": "8Gi"}, "conditions": [{"type": "Ready", "status": "True"}]}}).status)
    step("node list", lambda: [n.metadata.name for n in core.list_node(field_selector="spec.unschedulable=false").items])


def lists():
    ns = "clients"
    step("no configmaps here", core.create_namespaced_config_map, ns, {"metadata": {"name": "x"}})
    step("quota deleted", core.delete_namespaced_resource_quota, "q", ns)
    for n in range(7):
        core.create_namespaced_config_map(ns, {"metadata": {"name": f"c{n}", "labels": {"odd": str(n % 2)}}, "data": {"n": str(n)}})
    page, told = None, []
    while True:
        part = core.list_namespaced_config_map(ns, limit=3, _continue=page)
        told.append([[c.metadata.name for c in part.items], part.metadata.remaining_item_count, bool(part.metadata._continue)])
        page = part.metadata._continue
        if not page:
            break
    step("pages", lambda: told)
    step("page wrong", core.list_namespaced_config_map, ns, limit=3, _continue="nonsense")
    step("limit negative", core.list_namespaced_config_map, ns, limit=-1)
    step("page with selector", lambda: [(p.metadata.remaining_item_count, len(p.items)) for p in [core.list_namespaced_config_map(ns, limit=2, label_selector="odd=1")]])
    step("list", core.list_namespaced_config_map, ns, label_selector="odd=1", field_selector="metadata.name!=c1")
    step("list of exactly", core.list_namespaced_config_map, ns, resource_version="1", resource_version_match="Exact")
    step("list of the future", core.list_namespaced_config_map, ns, resource_version="99999999", timeout_seconds=1)
    step("list of nonsense", core.list_namespaced_config_map, ns, resource_version="abc")
    step("list match alone", core.list_namespaced_config_map, ns, resource_version_match="Exact")
    step("list match unknown", core.list_namespaced_config_map, ns, resource_version="1", resource_version_match="Nearly")
    step("list field", core.list_namespaced_config_map, ns, field_selector="data.n=1")
    step("list field syntax", core.list_namespaced_config_map, ns, field_selector="metadata.name")
    step("list label syntax", core.list_namespaced_config_map, ns, label_selector="a=b=c")
    step("list any", lambda: sorted(c.metadata.name for c in core.list_config_map_for_all_namespaces(resource_version="0", label_selector="odd").items))
    for kind, named in (("Table", "configmaps"), ("PartialObjectMetadataList", "configmaps"), ("Table", "pods"), ("Table", "nodes"), ("PartialObjectMetadataList", "secrets")):
        api = client.ApiClient()
        api.set_default_header("Accept", f"application/json;as={kind};v=v1;g=meta.k8s.io")
        place = "" if named == "nodes" else f"namespaces/{ns}/"
        step(f"{named} as {kind}", raw, api, "GET", f"/api/v1/{place}{named}")
    api = client.ApiClient()
    step("widgets as Table", raw, api, "GET", f"/apis/{GROUP}/v1/widgets", {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
    step("as YAML", raw, api, "GET", f"/api/v1/namespaces/{ns}/configmaps/c0", {"Accept": "application/yaml"})
    step("as nothing known", raw, api, "GET", f"/api/v1/namespaces/{ns}/configmaps/c0", {"Accept": "text/csv"})
    step("as Table of old", raw, api, "GET", f"/api/v1/namespaces/{ns}/configmaps/c0", {"Accept": "application/json;as=Table;v=v1beta1;g=meta.k8s.io"})
    step("no such path", raw, api, "GET", "/api/v1/nothing")
    step("no such method", raw, api, "PUT", "/api/v1/namespaces")
    step("healthz", raw, api, "GET", "/healthz")


def raw(api, method, path, headers=None, sent=None):
    """A request that no method of the library makes, by its REST client."""
    head = {**api.default_headers, "Authorization": api.configuration.get_api_key_with_prefix("BearerToken"), **(headers or {})}
    answer = api.rest_client.request(method, api.configuration.host + path, headers=head, body=sent)
    answer.read()
    return {"status": answer.status, "type": answer.getheader("Content-Type"), "warning": answer.getheader("Warning"), "data": body(answer.data.decode())}


def watches():
    ns, w = "clients", watch.Watch()
    version = core.list_namespaced_config_map(ns).metadata.resource_version

    def change():
        core.patch_namespaced_config_map("c0", ns, {"data": {"x": "y"}, "metadata": {"labels": {"odd": "1"}}})
        core.delete_namespaced_config_map("c1", ns)
        core.create_namespaced_config_map(ns, {"metadata": {"name": "c9", "labels": {"odd": "0"}}})
    change()

    def seen(count, **how):
        watcher, got = watch.Watch(), []
        for event in watcher.stream(core.list_namespaced_config_map, ns, timeout_seconds=2, **how):
            got.append([event["type"], event["raw_object"]["metadata"].get("name"), sorted(event["raw_object"])])
            if len(got) == count:
                watcher.stop()
        return got
    step("watch", seen, 3, resource_version=version)
    step("watch odd", seen, 2, resource_version=version, label_selector="odd=1")
    step("watch even", seen, 2, resource_version=version, label_selector="odd=0")
    step("watch one", seen, 1, resource_version=version, field_selector="metadata.name=c1")
    step("watch all", lambda: sorted(e[1] for e in seen(7)))
    step("watch old", seen, 1, resource_version="1")
    step("watch nonsense", seen, 1, resource_version="abc")
    step("watch initial", lambda: [e[:2] for e in seen(99, resource_version="0", allow_watch_bookmarks=True, send_initial_events=True, resource_version_match="NotOlderThan")])
    step("watch initial wrong", seen, 1, send_initial_events=True)
    step("watch and limit", seen, 1, limit=1)
    listed = raw(client.ApiClient(), "GET", f"/api/v1/namespaces/{ns}/configmaps?watch=true&resourceVersion=1&timeoutSeconds=2")
    step("watch of old as it is", lambda: listed)
    step("watch of a field", lambda: [e["type"] for e in w.stream(custom.list_namespaced_custom_object, GROUP, VERSION, "default", PLURAL, timeout_seconds=1, field_selector="spec.color=red")])
    step("watch of events", lambda: [e["object"].metadata.name for e in watch.Watch().stream(core.list_namespaced_event, "default", timeout_seconds=1)])


def informers():
    from kubernetes.informer import ADDED, DELETED, MODIFIED, SharedInformer
    ns, seen, more = "clients", [], threading.Condition()
    informer = SharedInformer(core.list_namespaced_config_map, namespace=ns, label_selector="odd")

    def handler(kind):
        def handle(item):
            with more:
                seen.append([kind, item.metadata.name if hasattr(item, "metadata") else item["metadata"]["name"]])
                more.notify_all()
        return handle

    def wait(count):
        with more:
            return more.wait_for(lambda: len(seen) >= count, 20)
    for kind in (ADDED, MODIFIED, DELETED):
        informer.add_event_handler(kind, handler(kind))
    there = len(core.list_namespaced_config_map(ns, label_selector="odd").items)
    informer.start()
    step("informer starts", wait, there)
    core.create_namespaced_config_map(ns, {"metadata": {"name": "inf", "labels": {"odd": "3"}}})
    step("informer adds", wait, there + 1)
    core.patch_namespaced_config_map("inf", ns, {"data": {"a": "b"}})
    step("informer changes", wait, there + 2)
    core.delete_namespaced_config_map("inf", ns)
    step("informer deletes", wait, there + 3)
    informer.stop()
    step("informer saw", lambda: sorted(seen[:there]) + seen[there:])
    step("informer cache", lambda: sorted(informer.cache.list_keys()))


def removals():
    ns, at = "default", (GROUP, VERSION, "default", PLURAL)
    step("finalizer", custom.patch_namespaced_custom_object, *at, "one", {"metadata": {"finalizers": ["clients.example.com/hold"]}}, _content_type=MERGE)
    step("finalizer bad", custom.patch_namespaced_custom_object, *at, "one", {"metadata": {"finalizers": ["hold"]}}, _content_type=MERGE)
    step("delete held", custom.delete_namespaced_custom_object, *at, "one")
    step("delete held again", custom.delete_namespaced_custom_object, *at, "one")
    step("finalizer added late", custom.patch_namespaced_custom_object, *at, "one", {"metadata": {"finalizers": ["clients.example.com/hold", "clients.example.com/more"]}}, _content_type=MERGE)
    step("still written", lambda: custom.patch_namespaced_custom_object(*at, "one", {"spec": {"limit": 13}}, _content_type=MERGE)["metadata"]["generation"])
    step("finalizer gone", custom.patch_namespaced_custom_object, *at, "one", {"metadata": {"finalizers": None}}, _content_type=MERGE)
    step("gone", custom.get_namespaced_custom_object, *at, "one")
    step("delete none", custom.delete_namespaced_custom_object, *at, "one")
    step("delete foreground", custom.delete_namespaced_custom_object, *at, "ssa", propagation_policy="Foreground")
    step("delete foreground held", lambda: custom.get_namespaced_custom_object(*at, "ssa")["metadata"]["finalizers"])
    step("delete policy wrong", custom.delete_namespaced_custom_object, *at, "warned", propagation_policy="Sideways")
    step("delete policy twice", apps.delete_namespaced_deployment, "d", ns, body=client.V1DeleteOptions(propagation_policy="Orphan", orphan_dependents=True))
    step("delete precondition", custom.delete_namespaced_custom_object, *at, "warned", body={"preconditions": {"uid": "no"}})
    step("delete precondition version", apps.delete_namespaced_deployment, "d", ns, body={"preconditions": {"resourceVersion": "1"}})
    step("delete dry", apps.delete_namespaced_deployment, "d", ns, dry_run="All")
    step("delete orphan", apps.delete_namespaced_deployment, "d", ns, propagation_policy="Orphan")
    step("delete orphan held", lambda: apps.read_namespaced_deployment("d", ns).metadata.finalizers)
    step("delete warned", custom.delete_namespaced_custom_object, *at, "warned")
    step("delete many", core.delete_collection_namespaced_config_map, "clients", label_selector="odd=1")
    step("delete many left", lambda: [c.metadata.name for c in core.list_namespaced_config_map("clients", label_selector="odd").items])
    step("delete many of widgets", custom.delete_collection_namespaced_custom_object, *at)
    step("delete namespace", core.delete_namespace, "clients")
    step("create while it goes", core.create_namespaced_config_map, "clients", {"metadata": {"name": "late"}})
    step("finalize namespace", core.replace_namespace_finalize, "clients", {"metadata": {"name": "clients"}, "spec": {"finalizers": []}})
    step("delete default namespace", core.delete_namespace, "default")


def who():
    step("self", authn.create_self_subject_review, {})
    step("account", core.create_namespaced_service_account, "default", {"metadata": {"name": "sa"}})
    asked = core.create_namespaced_service_account_token("sa", "default", client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=["https://localhost"], expiration_seconds=3600)))
    step("token", lambda: [asked.kind, asked.spec.audiences, asked.spec.expiration_seconds, len(asked.status.token.split("."))])
    step("token too short", core.create_namespaced_service_account_token, "sa", "default", {"spec": {"audiences": ["a"], "expirationSeconds": 5}})
    step("token of none", core.create_namespaced_service_account_token, "none", "default", {"spec": {"audiences": ["a"]}})
    step("token review", lambda: (lambda s: [s.authenticated, s.user.username, s.user.groups, s.audiences, sorted(s.user.extra)])(authn.create_token_review({"spec": {"token": asked.status.token}}).status))
    step("token review wrong", authn.create_token_review, {"spec": {"token": "nonsense"}})
    step("token review empty", raw, client.ApiClient(), "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"Content-Type": "application/json"}, {"spec": {}})
    other = client.Configuration.get_default_copy()
    other.refresh_api_key_hook = None
    other.api_key = {"authorization": f"Bearer {asked.status.token}", "BearerToken": f"Bearer {asked.status.token}"}
    by = client.ApiClient(other)
    step("as account", client.CoreV1Api(by).list_namespaced_pod, "default")
    step("as account all", client.CoreV1Api(by).list_pod_for_all_namespaces)
    step("as account write", client.CustomObjectsApi(by).create_namespaced_custom_object, GROUP, VERSION, "default", PLURAL, widget("x"))
    step("as account status", client.CustomObjectsApi(by).patch_namespaced_custom_object_status, GROUP, VERSION, "default", PLURAL, "x", {})
    step("role", rbac.create_namespaced_role, "default", {"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]})
    step("binding of role", rbac.create_namespaced_role_binding, "default", client.V1RoleBinding(metadata=client.V1ObjectMeta(name="r"), role_ref=client.V1RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name="r"), subjects=[client.RbacV1Subject(kind="ServiceAccount", name="sa", namespace="default")]))
    until("the role", lambda: client.CoreV1Api(by).list_namespaced_pod("default") is not None)
    step("as account now", lambda: len(client.CoreV1Api(by).list_namespaced_pod("default").items))
    step("role ref", rbac.replace_namespaced_role_binding, "r", "default", {"metadata": {"name": "r"}, "roleRef": {"kind": "Role", "name": "other", "apiGroup": "rbac.authorization.k8s.io"}})
    step("can i", lambda: auth.create_self_subject_access_review({"spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}}).status)
    step("can they", lambda: auth.create_subject_access_review({"spec": {"user": "system:serviceaccount:default:sa", "resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "default"}}}).status)
    step("can they not", lambda: auth.create_subject_access_review({"spec": {"user": "eve", "groups": ["g"], "resourceAttributes": {"verb": "delete", "resource": "pods", "namespace": "default"}}}).status)
    step("review invalid", auth.create_subject_access_review, {"spec": {"user": "eve"}})
    step("rules", lambda: sorted(json.dumps(plain(r), sort_keys=True) for r in (lambda s: s.resource_rules + s.non_resource_rules)(
        client.AuthorizationV1Api(by).create_self_subject_rules_review({"spec": {"namespace": "default"}}).status)))
    by = client.ApiClient()
    by.set_default_header("Impersonate-User", "eve")
    by.set_default_header("Impersonate-Group", "friends")
    step("as eve", client.AuthenticationV1Api(by).create_self_subject_review, {})
    step("as eve secrets", client.CoreV1Api(by).list_secret_for_all_namespaces)
    step("as eve escalates", client.RbacAuthorizationV1Api(by).create_cluster_role, {"metadata": {"name": "all"}, "rules": []})
    wrong = client.Configuration.get_default_copy()
    wrong.refresh_api_key_hook = None
    wrong.api_key = {"authorization": "Bearer wrong", "BearerToken": "Bearer wrong"}
    step("as nobody", client.CoreV1Api(client.ApiClient(wrong)).list_namespace)
    none = client.Configuration.get_default_copy()
    none.refresh_api_key_hook = None
    none.api_key = {}
    step("as anonymous", client.CoreV1Api(client.ApiClient(none)).list_namespace)
    step("as anonymous version", lambda: client.VersionApi(client.ApiClient(none)).get_code().major)


def leaders():
    def lead(lock):
        led = threading.Event()
        election = leaderelection.LeaderElection(electionconfig.Config(lock, lease_duration=4, renew_deadline=3, retry_period=1, onstarted_leading=led.set, onstopped_leading=lambda: None))
        threading.Thread(target=election.run, daemon=True).start()
        return led.wait(20)
    step("leads by configmap", lead, ConfigMapLock("leader", "default", "me"))
    step("leader of configmap", lambda: sorted(json.loads(core.read_namespaced_config_map("leader", "default").metadata.annotations["control-plane.alpha.kubernetes.io/leader"])))
    step("leads by lease", lead, LeaseLock("leader", "default", "me"))
    step("leader of lease", lambda: client.CoordinationV1Api().read_namespaced_lease("leader", "default").spec.holder_identity)


def certificates():
    api = client.CertificatesV1Api()
    step("signing request invalid", api.create_certificate_signing_request, {"metadata": {"name": "c"}, "spec": {"request": base64.b64encode(b"no pem").decode(), "signerName": "example.com/x", "usages": ["client auth"]}})
    step("webhook", client.AdmissionregistrationV1Api().create_validating_webhook_configuration, {"metadata": {"name": "w"}, "webhooks": [{"name": "a.b.c", "clientConfig": {"url": "https://127.0.0.1:1/x"}, "sideEffects": "None", "admissionReviewVersions": ["v1"], "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["endpoints"]}]}]})
    until("the webhook", lambda: refused(lambda: core.create_namespaced_endpoints("default", {"metadata": {"name": "e"}}, dry_run="All")))
    step("webhook unreachable", lambda: core.create_namespaced_endpoints("default", {"metadata": {"name": "e"}}))
    step("webhook deleted", client.AdmissionregistrationV1Api().delete_validating_webhook_configuration, "w")


def refused(do):
    try:
        do()
    except client.ApiException:
        return True
    return False


for chapter in (discovery, definitions, customs, applied, builtins, pods, lists, watches, informers, removals, who, leaders, certificates):
    step(f"chapter {chapter.__name__}", chapter)
step("crd deleted", crds.delete_custom_resource_definition, f"{PLURAL}.{GROUP}")
os._exit(0)
