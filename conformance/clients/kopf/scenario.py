"""An operator of kopf's, which runs while objects of its kind come, change and go: what it is told of, and what it leaves on the server.
Examples and peering follow kopf's own manifests."""
import asyncio
import datetime
import json
import re
import sys
import threading
import time

import kopf
import yaml
from kubernetes import client, config, utils

CRDS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kopfexamples.kopf.dev}
spec:
  scope: Namespaced
  group: kopf.dev
  names: {kind: KopfExample, plural: kopfexamples, singular: kopfexample, shortNames: [kopfexes, kopfex, kexes, kex]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
    additionalPrinterColumns:
    - {name: Duration, type: string, priority: 0, jsonPath: .spec.duration}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kopfpeerings.kopf.dev}
spec:
  scope: Namespaced
  group: kopf.dev
  names: {kind: KopfPeering, plural: kopfpeerings, singular: kopfpeering}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {status: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
told, more = [], threading.Condition()
IDENTITY = "scenario"


def note(*what):
    """Keeps what a handler was told."""
    with more:
        told.append([*what])
        more.notify_all()


def heard(*what, seconds=20):
    """Waits until a handler was told this."""
    with more:
        return more.wait_for(lambda: [*what] in told, seconds)


def times(*what):
    with more:
        return told.count([*what])


def clean(value):
    """Of an object, what does not tell of the moment."""
    if isinstance(value, dict):
        return {re.sub(r"/touch-dummy$", "", k): clean(v) for k, v in value.items() if k not in ("managedFields", "generation", "uid", "resourceVersion", "lastseen")}
    if isinstance(value, list):
        return [clean(v) for v in value]
    if isinstance(value, str) and value.startswith("{"):
        try:
            return clean(json.loads(value))
        except ValueError:
            return value
    return value


def step(name, do):
    try:
        said = do()
    except client.ApiException as error:
        said = {"raised": error.status, "body": json.loads(error.body)}
    print(f"{name}\t{json.dumps(clean(client.ApiClient().sanitize_for_serialization(said)), sort_keys=True)}", flush=True)


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_):
    settings.peering.name, settings.peering.mandatory = "default", True
    settings.watching.server_timeout = 5  # watches are opened again while the scenario runs
    settings.execution.default_backoff = 1
    settings.posting.enabled = True
    note("startup")


@kopf.on.cleanup()
def cleanup(**_):
    note("cleanup")


@kopf.on.resume("kopfexamples")
def resumed(name, **_):
    note("resume", name)


@kopf.on.create("kopfexamples")
async def created(spec, meta, name, namespace, body, patch, **_):
    note("create", name, dict(spec))
    kopf.info(body, reason="Created", message=f"seen {name}")
    patch.status["seen"] = True
    patch.metadata.labels["seen"] = "yes"
    child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-child"}, "data": {"of": name}}
    kopf.adopt(child)
    client.CoreV1Api().create_namespaced_config_map(namespace, child)
    return {"child": f"{name}-child"}


@kopf.on.create("kopfexamples", id="twice", retries=5)
def tried(name, retry, **_):
    note("twice", name, retry)
    if retry < 2:
        raise kopf.TemporaryError("not yet", delay=0.2)
    return retry


@kopf.on.create("kopfexamples", id="never")
def failing(name, **_):
    note("never", name)
    raise kopf.PermanentError("not at all")


@kopf.on.update("kopfexamples")
def updated(name, diff, **_):
    note("update", name, json.loads(json.dumps(list(diff))))


@kopf.on.field("kopfexamples", field="spec.items")
def field(name, old, new, **_):
    note("field", name, old, new)


@kopf.on.delete("kopfexamples")
def deleted(name, **_):
    note("delete", name)


@kopf.on.event("configmaps", labels={"watched": kopf.PRESENT})
def event(type, name, **_):
    note("event", type, name)


@kopf.on.event("secrets", field="metadata.name", value="watched")
def secret(type, name, **_):
    note("secret", type, name)


@kopf.timer("kopfexamples", interval=0.5, when=lambda spec, **_: spec.get("timed"))
def timer(name, **_):
    note("timer", name)


@kopf.daemon("kopfexamples", field="spec.daemon", value=True, cancellation_timeout=5)
async def daemon(name, stopped, **_):
    note("daemon starts", name)
    await stopped.wait(60)
    note("daemon stops", name)


@kopf.index("kopfexamples")
def colours(name, spec, **_):
    return {spec.get("colour", "none"): name}


@kopf.on.event("kopfexamples", labels={"ask": "index"})
def asked(colours: kopf.Index, **_):
    note("index", sorted(colours), sorted(n for s in colours.values() for n in s))


def operator(stop, ready):
    asyncio.run(kopf.operator(clusterwide=False, namespaces=["default"], identity=kopf_identity(), priority=10, stop_flag=stop, ready_flag=ready, peering_name="default"))


def kopf_identity():
    from kopf._core.engines.peering import Identity
    return Identity(IDENTITY)


def main():
    config.load_kube_config()
    core, custom, crds = client.CoreV1Api(), client.CustomObjectsApi(), client.ApiextensionsV1Api()
    at, peers = ("kopf.dev", "v1", "default", "kopfexamples"), ("kopf.dev", "v1", "default", "kopfpeerings")
    for definition in yaml.safe_load_all(CRDS):
        step(f"crd {definition['metadata']['name']}", lambda: utils.create_from_dict(client.ApiClient(), definition)[0].metadata.name)
    end = time.time() + 30
    while time.time() < end:
        try:
            custom.list_namespaced_custom_object(*at)
            custom.create_namespaced_custom_object(*peers, {"apiVersion": "kopf.dev/v1", "kind": "KopfPeering", "metadata": {"name": "default"}})
            break
        except client.ApiException:
            time.sleep(0.1)

    def example(name, meta=None, **spec):
        return {"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": {"name": name, **(meta or {})}, "spec": spec}

    def change(name, patch):
        return custom.patch_namespaced_custom_object(*at, name, patch, _content_type="application/merge-patch+json")

    def settled(name, holds, seconds=20):
        """The object as soon as it is as it should be."""
        last, stop = None, time.time() + seconds
        while time.time() < stop:
            last = custom.get_namespaced_custom_object(*at, name)
            if holds(last):
                return last
            time.sleep(0.1)
        return {"in vain": last}

    def gone(name):
        stop = time.time() + 40
        while time.time() < stop:
            try:
                custom.get_namespaced_custom_object(*at, name)
            except client.ApiException as error:
                return error.status
            time.sleep(0.1)
        return "stays"
    step("before", lambda: custom.create_namespaced_custom_object(*at, example("before", colour="red"))["metadata"]["name"])
    core.create_namespaced_config_map("default", {"metadata": {"name": "early", "labels": {"watched": ""}}})
    stop, ready = threading.Event(), threading.Event()
    thread = threading.Thread(target=operator, args=(stop, ready), daemon=True)
    thread.start()
    step("ready", lambda: ready.wait(40))
    step("startup", lambda: heard("startup"))
    step("found", lambda: heard("create", "before", {"colour": "red"}))
    step("listed", lambda: heard("event", None, "early"))
    peering = lambda: custom.get_namespaced_custom_object(*peers, "default")
    step("peering", lambda: [[k, sorted(v), v["priority"]] for k, v in peering().get("status", {}).items()])

    step("create", lambda: custom.create_namespaced_custom_object(*at, example("one", duration="1m", items=["a"])))
    step("created", lambda: heard("create", "one", {"duration": "1m", "items": ["a"]}))
    step("retried", lambda: heard("twice", "one", 2))
    step("failed", lambda: heard("never", "one"))
    done = lambda o: "kopf.zalando.org/last-handled-configuration" in o["metadata"].get("annotations", {}) and "kopf" not in o.get("status", {}) and "twice" in o.get("status", {})
    step("object", lambda: settled("one", done))
    step("child", lambda: core.read_namespaced_config_map("one-child", "default"))
    step("field", lambda: heard("field", "one", None, ["a"]))
    change("one", {"spec": {"items": ["a", "b"], "duration": None}})
    step("updated", lambda: heard("update", "one", [["remove", ["spec", "duration"], "1m", None], ["change", ["spec", "items"], ["a"], ["a", "b"]]]))
    step("field changed", lambda: heard("field", "one", ["a"], ["a", "b"]))
    step("object updated", lambda: settled("one", lambda o: done(o) and '"b"' in o["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"]))

    core.create_namespaced_config_map("default", {"metadata": {"name": "late", "labels": {"watched": ""}}})
    step("event added", lambda: heard("event", "ADDED", "late"))
    core.patch_namespaced_config_map("late", "default", {"data": {"a": "b"}})
    step("event modified", lambda: heard("event", "MODIFIED", "late"))
    core.delete_namespaced_config_map("late", "default")
    step("event deleted", lambda: heard("event", "DELETED", "late"))
    core.create_namespaced_secret("default", {"metadata": {"name": "watched"}})
    core.create_namespaced_secret("default", {"metadata": {"name": "unwatched"}})
    step("secret added", lambda: heard("secret", "ADDED", "watched"))
    step("secret unseen", lambda: times("secret", "ADDED", "unwatched"))

    time.sleep(6)  # longer than a watch lasts
    custom.create_namespaced_custom_object(*at, example("timed", timed=True, daemon=True, colour="blue"))
    step("timer", lambda: heard("timer", "timed"))
    step("daemon", lambda: heard("daemon starts", "timed"))
    change("timed", {"spec": {"daemon": False, "timed": False}})
    step("daemon stopped", lambda: heard("daemon stops", "timed"))
    step("daemon object", lambda: settled("timed", lambda o: done(o) and "daemon" in str(o["metadata"]["annotations"]) and not o["spec"]["daemon"] and "finalizers" in o["metadata"]))
    custom.create_namespaced_custom_object(*at, example("ask", {"labels": {"ask": "index"}}, colour="green"))
    step("index", lambda: heard("index", ["blue", "green", "none", "red"], ["ask", "before", "one", "timed"]))
    step("listed events", lambda: sorted({(e.reason, e.type, e.involved_object.name, e.message, e.source.component) for e in core.list_namespaced_event("default").items if e.involved_object.name == "one" and e.reason != "Logging"}))
    step("logged events", lambda: len([e for e in core.list_namespaced_event("default").items if e.involved_object.name == "one" and e.reason == "Logging"]) > 0)

    for name in ("one", "timed", "before", "ask"):
        step(f"delete {name}", lambda: custom.delete_namespaced_custom_object(*at, name)["metadata"]["finalizers"] if True else None)
        step(f"deleted {name}", lambda: heard("delete", name))
        step(f"gone {name}", lambda: gone(name))

    # Another peer of a higher priority makes the operator pause, and it goes on when that one is gone.
    now = client.ApiClient().sanitize_for_serialization(datetime.datetime.now(datetime.timezone.utc))
    custom.patch_namespaced_custom_object(*peers, "default", {"status": {"other": {"priority": 100, "lifetime": 60, "lastseen": now}}}, _content_type="application/merge-patch+json")
    time.sleep(3)
    custom.create_namespaced_custom_object(*at, example("paused"))
    time.sleep(2)
    step("paused", lambda: times("create", "paused", {}))
    custom.patch_namespaced_custom_object(*peers, "default", {"status": {"other": None}}, _content_type="application/merge-patch+json")
    step("goes on", lambda: heard("create", "paused", {}))
    stop.set()
    thread.join(30)
    step("stopped", lambda: [thread.is_alive(), times("cleanup")])
    step("peering left", lambda: sorted(peering().get("status", {})))
    step("held without operator", lambda: custom.delete_namespaced_custom_object(*at, "paused")["metadata"]["finalizers"])
    step("crd deleted", lambda: bool(crds.delete_custom_resource_definition("kopfexamples.kopf.dev")))


main()
sys.stdout.flush()
