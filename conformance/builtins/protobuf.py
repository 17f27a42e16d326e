#!/usr/bin/env python3
"""Writes down the same answers of a real kube-apiserver as JSON and as protobuf, to `../recorded/protobuf/answers.txt`: one answer a
line, the path and what was accepted, the protobuf in base64, the JSON, separated by tabs. See README.md."""
import argparse
import base64
import json
import os
import sys

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from record import Plain, Server, change, place  # noqa: E402

OUT = os.path.join(HERE, "..", "recorded", "protobuf")
PROTOBUF, JSON = "application/vnd.kubernetes.protobuf", "application/json"
META = ";as={};g=meta.k8s.io;v=v1"
DISCOVERY = ";as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2"
TWICE = 3
# One with every form of a schema: what may stand in the place of one, defaults, numbers.
DEFINITION = yaml.safe_load("""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {plural: toys, kind: Toy, shortNames: [t], categories: [all]}
  conversion: {strategy: None}
  versions:
  - name: v1
    served: true
    storage: true
    deprecated: true
    deprecationWarning: old
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size, priority: 1}]
    selectableFields: [{jsonPath: .spec.colour}]
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    schema:
      openAPIV3Schema:
        type: object
        description: A toy.
        properties:
          spec:
            type: object
            required: [colour]
            x-kubernetes-preserve-unknown-fields: true
            x-kubernetes-validations: [{rule: "!oldSelf.hasValue() || self.size < 9", message: too large, optionalOldSelf: true, reason: FieldValueInvalid}]
            properties:
              colour: {type: string, default: red, enum: [red, "blue"], maxLength: 9, pattern: "^[a-z]+$"}
              size: {type: integer, format: int32, minimum: 1, maximum: 8.0, default: 3}
              ratio: {type: number, multipleOf: 0.25, exclusiveMinimum: true, minimum: -1.5}
              parts: {type: array, items: {type: string}, x-kubernetes-list-type: set, maxItems: 3, minItems: 0, default: []}
              tags: {type: object, additionalProperties: {type: string}, default: {a: b}}
              any: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], nullable: true}
              not: {type: string, not: {enum: [x, null, 1.5]}, example: {b: 1, a: [x]}, externalDocs: {url: https://example.com}}
          status: {type: object, properties: {size: {type: integer}}}
""")
# Kinds that no case is about.
OTHERS = yaml.safe_load("""
- resource: admissionregistration.k8s.io/v1/mutatingadmissionpolicies
  namespace: ""
  base:
    metadata: {name: m}
    spec:
      paramKind: {apiVersion: v1, kind: ConfigMap}
      matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods], resourceNames: [a]}]}
      variables: [{name: a, expression: "1"}]
      mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{}"}}]
      reinvocationPolicy: Never
- resource: admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings
  namespace: ""
  base: {metadata: {name: m}, spec: {policyName: m, paramRef: {name: a, namespace: default, parameterNotFoundAction: Deny}, matchResources: {objectSelector: {matchLabels: {a: b}}}}}
- resource: admissionregistration.k8s.io/v1/mutatingwebhookconfigurations
  namespace: ""
  base:
    metadata: {name: m}
    webhooks: [{name: a.example.com, clientConfig: {url: "https://127.0.0.1:1/"}, sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Ignore,
      rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, "UPDATE"], resources: [nothing], scope: Cluster}], matchConditions: [{name: a, expression: "true"}]}]
- resource: admissionregistration.k8s.io/v1/validatingwebhookconfigurations
  namespace: ""
  base:
    metadata: {name: v}
    webhooks: [{name: a.example.com, clientConfig: {service: {name: s, namespace: default, path: /x}}, sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Ignore}]
""")


class Recorder:
    def __init__(self, server):
        self.server, self.lines = server, []

    def get(self, path, more="", method="GET", **sent):
        for _ in range(TWICE):
            # An object may change between the two; then both are asked again.
            first = self.server.call(method, path, headers={"Accept": JSON + more}, **sent)
            proto = self.server.call(method, path, headers={"Accept": PROTOBUF + more}, **sent)
            again = self.server.call(method, path, headers={"Accept": JSON + more}, **sent)
            if first.text == again.text:
                break
        assert proto.headers["Content-Type"].startswith(PROTOBUF), (path, proto.status_code, proto.text)
        self.lines.append("\t".join((method + " " + path + more, base64.b64encode(proto.content).decode(), again.text.rstrip("\n"))))

    def group(self, group, number):
        """Creates the base of a group of cases and asks for it, and for what it is listed in."""
        path, base = place(group), group["base"]
        name = base["metadata"].setdefault("name", f"base-{number}")
        for needed in group.get("needs", []):
            self.server.call("POST", place(needed), json=needed["base"])
        # Without spaces: what is kept as raw JSON is kept as it was sent.
        text = json.dumps(base, separators=(",", ":"), sort_keys=True)
        created = self.server.call("POST", path, params={"fieldManager": "recorder"}, data=text, headers={"Content-Type": JSON})
        assert created.status_code == 201, (path, created.text)
        for step in group.get("before", []):
            live = self.server.call("GET", f"{path}/{name}").json()
            sub = step.get("subresource")
            self.server.call("PUT", f"{path}/{name}" + (f"/{sub}" if sub else ""), json=change(live, step["set"]))
        self.get(f"{path}/{name}")
        if "scale" in group:
            self.get(f"{path}/{name}/scale")
        self.get(path + f"?fieldSelector=metadata.name={name}")
        self.get(f"{path}/{name}", META.format("PartialObjectMetadata"))
        self.get(path, META.format("PartialObjectMetadataList"))
        self.server.call("PATCH", f"{path}/{name}", data='{"metadata":{"finalizers":null}}', headers={"Content-Type": "application/merge-patch+json"})
        self.server.call("DELETE", f"{path}/{name}", json={"gracePeriodSeconds": 0})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of etcd and kube-apiserver")
    arguments = parser.parse_args()
    os.makedirs(OUT, exist_ok=True)
    with Server(arguments.bin) as server:
        recorder = Recorder(server)
        for path in ("/api", "/apis", "/apis/apps", "/api/v1", "/apis/apps/v1", "/apis/batch/v1", "/apis/autoscaling/v2"):
            recorder.get(path)
        recorder.get("/api", DISCOVERY)
        for path in ("/api/v1/nothing", "/api/v1/namespaces/default/pods/missing", "/api/v1/namespaces/default/pods?limit=x", "/apis/apps/v9",
                     "/api/v1/pods?resourceVersion=x", "/apis/rbac.authorization.k8s.io/v1/clusterroles/edit", "/api/v1/namespaces/kube-system",
                     "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/cluster-admin", "/apis/apps/v1/namespaces/default/deployments",
                     "/apis/apiregistration.k8s.io/v1/apiservices/v1.apps"):
            recorder.get(path)
        for path, body in (("/api/v1/namespaces/default/pods", {"metadata": {"name": "A"}}),
                           ("/api/v1/namespaces", {"metadata": {"name": "default"}}),
                           ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                            {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}),
                           ("/apis/authorization.k8s.io/v1/subjectaccessreviews",
                            {"spec": {"user": "u", "groups": ["a", "b"], "extra": {"k": ["v", "w"], "a": []}, "nonResourceAttributes": {"path": "/x"}}}),
                           ("/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
                            {"metadata": {"namespace": "default"}, "spec": {"user": "u", "resourceAttributes": {"namespace": "default", "verb": "get"}}}),
                           ("/api/v1/namespaces/default/pods/missing/eviction", {"metadata": {"name": "missing"}}),
                           ("/apis/authentication.k8s.io/v1/selfsubjectreviews", {}),
                           ("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "nothing"}})):
            recorder.get(path, method="POST", json=body)
        recorder.group({"resource": "apiextensions.k8s.io/v1/customresourcedefinitions", "namespace": "", "base": DEFINITION}, 0)
        for number, group in enumerate(OTHERS):
            recorder.group(group, number)
        for file in sorted(os.listdir(f"{HERE}/cases")):
            with open(f"{HERE}/cases/{file}") as f:
                groups = [group for group in yaml.load_all(f, Plain) if group]
            for number, group in enumerate(groups):
                recorder.group(group, number)
        with open(f"{OUT}/answers.txt", "w") as out:
            out.write("\n".join(recorder.lines) + "\n")
        print(f"{len(recorder.lines)} pairs")


if __name__ == "__main__":
    main()
