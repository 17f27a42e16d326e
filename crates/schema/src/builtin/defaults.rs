//! Defaults of built-in kinds (upstream: pkg/apis/*/v1/defaults.go). The document is walked along the types of the
//! table; a type that has defaults of its own has a rule, found once when the type is parsed, and a field with a
//! constant default has it in the table.

mod core;
mod other;
mod pod;
mod workloads;

use pilothouse_value::stack::deeper;
use pilothouse_value::{Gvk, Map, Value};

use super::autoscalers;
use super::types::{self, Form, TypeDef};

/// Fills the absent fields of a struct.
pub(super) type Rule = fn(&mut Map);

/// Fills the absent fields of an object with what a server fills them with. The object must have been read by
/// [`super::decode`]; a kind that is not built in is left alone.
pub fn default(gvk: &Gvk, object: &mut Value) {
    if let (Some(def), Value::Object(map)) = (types::kind(gvk), &mut *object) {
        walk(def, map);
    }
    if autoscalers::is_first(gvk) {
        // Its defaults depend on its annotations, which are read and written anew.
        let second = autoscalers::convert_autoscaler(object, "autoscaling/v2");
        *object = autoscalers::convert_autoscaler(&second, "autoscaling/v1");
    } else if *gvk == autoscalers::second() {
        autoscalers::drop_carried(object);
    }
}

fn walk(def: &'static TypeDef, map: &mut Map) {
    if let Some(rule) = def.rule {
        rule(map);
    }
    for field in def.defaulted.iter().filter_map(|at| def.fields.get(*at)) {
        let unset = match field.pointer {
            true => map.get(field.name).is_none_or(Value::is_null),
            false => is_unset(map, field.name),
        };
        if let (Some(value), true) = (&field.default, unset) {
            map.insert(field.name, value.clone());
        }
    }
    for (name, value) in map.iter_mut() {
        if let Some(field) = def.field(name) {
            descend(&field.form, value);
        }
    }
}

fn descend(form: &Form, value: &mut Value) {
    match (form, value) {
        (Form::Ref(id), Value::Object(map)) => deeper(|| walk(id.def(), map)),
        (Form::List(item), Value::Array(items)) if is_deep(item) => {
            items.iter_mut().for_each(|value| descend(item, value));
        }
        (Form::Map(item), Value::Object(map)) if is_deep(item) => {
            map.values_mut().for_each(|value| descend(item, value));
        }
        _ => {}
    }
}

fn is_deep(form: &Form) -> bool {
    match form {
        Form::Ref(_) => true,
        Form::List(item) | Form::Map(item) => is_deep(item),
        _ => false,
    }
}

/// The rule of a type, if it has one.
pub(super) fn rule(name: &str) -> Option<Rule> {
    pod::rule(name)
        .or_else(|| core::rule(name))
        .or_else(|| workloads::rule(name))
        .or_else(|| other::rule(name))
}

/// Whether Go would see the zero value: absent, null or an empty string.
fn is_unset(map: &Map, key: &str) -> bool {
    match map.get(key) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    }
}

/// Whether Go would see an empty list or map.
fn is_empty(map: &Map, key: &str) -> bool {
    match map.get(key) {
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(map)) => map.is_empty(),
        _ => is_unset(map, key),
    }
}

/// Sets a field that is a pointer in Go and not set; one that points to an empty word is set.
fn fill_pointer(map: &mut Map, key: &str, value: impl Into<Value>) {
    if map.get(key).is_none_or(Value::is_null) {
        map.insert(key, value);
    }
}

/// Sets a field that is not set.
fn fill(map: &mut Map, key: &str, value: impl Into<Value>) {
    if is_unset(map, key) {
        map.insert(key, value);
    }
}

/// Sets a number that is absent or 0.
fn fill_zero(map: &mut Map, key: &str, value: i64) {
    if is_unset(map, key) || map.get(key).and_then(Value::as_i64) == Some(0) {
        map.insert(key, value);
    }
}

/// The object under a key, made if it is not there.
fn object<'a>(map: &'a mut Map, key: &str) -> &'a mut Map {
    map.or_insert_with(key, Value::object).make_object()
}

fn text<'a>(map: &'a Map, key: &str) -> &'a str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The objects in a list.
fn objects<'a>(map: &'a mut Map, key: &str) -> impl Iterator<Item = &'a mut Map> {
    let items = map.get_mut(key).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use pilothouse_value::json;

    use super::*;

    /// What the server makes of an object: read, then defaulted.
    fn defaulted(mut object: Value) -> Value {
        let gvk = Gvk::of(&object).unwrap();
        super::super::decode(&gvk, &mut object).unwrap();
        default(&gvk, &mut object);
        object
    }

    #[test]
    fn a_deployment_and_the_pods_of_its_template() {
        let deployment = defaulted(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {
                    "containers": [
                        {"name": "a", "image": "nginx", "ports": [{"containerPort": 80}], "readinessProbe": {"httpGet": {"port": 80}},
                            "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]},
                        {"name": "b", "image": "host:5000/nginx:1.25@sha256:00"},
                    ],
                    "volumes": [{"name": "e"}, {"name": "s", "secret": {"secretName": "s"}}, {"name": "h", "hostPath": {"path": "/"}}],
                    "serviceAccountName": "web",
                }},
            },
        }));
        let expected = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "status": {},
            "spec": {
                "replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {
                    "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
                    "terminationGracePeriodSeconds": 30, "securityContext": {},
                    "serviceAccountName": "web", "serviceAccount": "web",
                    "containers": [
                        {"name": "a", "image": "nginx", "imagePullPolicy": "Always", "resources": {},
                            "ports": [{"containerPort": 80, "protocol": "TCP"}],
                            "readinessProbe": {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
                                "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
                            "env": [{"name": "IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}}],
                            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"},
                        {"name": "b", "image": "host:5000/nginx:1.25@sha256:00", "imagePullPolicy": "IfNotPresent", "resources": {},
                            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"},
                    ],
                    "volumes": [{"name": "e", "emptyDir": {}}, {"name": "s", "secret": {"secretName": "s", "defaultMode": 420}},
                        {"name": "h", "hostPath": {"path": "/", "type": ""}}],
                }},
            },
        });
        assert_eq!(deployment, expected);
        assert_eq!(defaulted(expected.clone()), expected, "defaulting again changes nothing");
    }

    #[test]
    fn a_pod_gets_more_than_a_template() {
        let pod = defaulted(json!({
            "apiVersion": "v1", "kind": "Pod",
            "spec": {"hostNetwork": true, "terminationGracePeriodSeconds": -1, "containers": [
                {"name": "a", "image": "a:1", "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": 1}}}]},
        }));
        let spec = pod.get("spec").unwrap();
        assert_eq!(spec.get("enableServiceLinks"), Some(&Value::Bool(true)));
        assert_eq!(spec.i64_at(&["terminationGracePeriodSeconds"]), Some(1));
        let container = &spec.items_at(&["containers"])[0];
        assert_eq!(container.str_at(&["resources", "requests", "cpu"]), Some("1"));
        assert_eq!(
            container.items_at(&["ports"])[0],
            json!({"containerPort": 80, "hostPort": 80, "protocol": "TCP"})
        );
    }

    #[test]
    fn services_secrets_claims_and_namespaces() {
        let service =
            defaulted(json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}}));
        assert_eq!(
            *service.get("spec").unwrap(),
            json!({"ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}], "type": "ClusterIP",
                "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"})
        );
        let secret = defaulted(
            json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "YQ=="}, "stringData": {"b": "b"}}),
        );
        assert_eq!(*secret.get("data").unwrap(), json!({"a": "YQ==", "b": "Yg=="}));
        assert_eq!((secret.str_at(&["type"]), secret.get("stringData")), (Some("Opaque"), None));
        let claim = defaulted(
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {"accessModes": ["ReadWriteOnce"]}}),
        );
        assert_eq!(claim.str_at(&["spec", "volumeMode"]), Some("Filesystem"));
        assert_eq!(claim.str_at(&["status", "phase"]), Some("Pending"));
        let namespace =
            defaulted(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}));
        assert_eq!(namespace.str_at(&["metadata", "labels", "kubernetes.io/metadata.name"]), Some("a"));
    }

    #[test]
    fn jobs_and_stateful_sets() {
        let job = defaulted(
            json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}),
        );
        assert_eq!(job.at(&["metadata", "labels"]), Some(&json!({"a": "b"})));
        for (field, value) in [
            ("completions", json!(1)),
            ("parallelism", json!(1)),
            ("backoffLimit", json!(6)),
            ("suspend", json!(false)),
            ("completionMode", json!("NonIndexed")),
            ("podReplacementPolicy", json!("TerminatingOrFailed")),
            ("manualSelector", json!(false)),
        ] {
            assert_eq!(job.at(&["spec", field]), Some(&value), "{field}");
        }
        let set = defaulted(json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {}}));
        assert_eq!(
            set.at(&["spec", "updateStrategy"]),
            Some(&json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": 1}}))
        );
        assert_eq!(set.str_at(&["spec", "podManagementPolicy"]), Some("OrderedReady"));
    }
}
