//! The schemas of a document: the types of the tables that its kinds are made of, and those of custom resources.

use std::collections::BTreeSet;

use pilothouse_value::{GroupVersion, Gvk, Map, Value, json};

use super::custom;
use crate::builtin::types::{self, Field, Form, Marks, PropsOr, TypeDef};
use crate::builtin::{describe, kinds_of_type};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const EXTENSIONS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";

/// Collects schemas; each type brings those it refers to.
#[derive(Debug, Default)]
pub(super) struct Components {
    added: BTreeSet<String>,
    schemas: Vec<(String, Value, Option<&'static str>)>,
}

/// The name that a type has in documents: `io.k8s.api.core.v1.Pod`.
pub(super) fn full_name(name: &str) -> String {
    let prefix = match name.split('.').next() {
        Some("meta") => "io.k8s.apimachinery.pkg.apis.",
        Some("apiextensions") => "io.k8s.apiextensions-apiserver.pkg.apis.",
        Some("apiregistration") => "io.k8s.kube-aggregator.pkg.apis.",
        _ => "io.k8s.api.",
    };
    format!("{prefix}{name}")
}

/// The name that the kind of a custom resource has in documents: `dev.demo.v1.Web`.
pub(super) fn custom_name(gvk: &Gvk) -> String {
    let group: Vec<&str> = gvk.group.rsplit('.').collect();
    format!("{}.{}.{}", group.join("."), gvk.version, gvk.kind)
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

impl Components {
    pub(super) fn add_kind(&mut self, gvk: &Gvk) {
        if let Some(def) = types::kind(gvk) {
            self.add_type(def);
        }
    }

    fn add_type(&mut self, def: &'static TypeDef) {
        let name = full_name(def.name);
        if !self.added.insert(name.clone()) {
            return;
        }
        let mut schema = Map::new();
        if let Some(text) = describe(def.name, None) {
            schema.insert("description", text.into_owned());
        }
        schema.insert("type", "object");
        let properties: Map = def.fields.iter().map(|field| (field.name, self.field(def, field))).collect();
        if !properties.is_empty() {
            schema.insert("properties", properties);
        }
        let mut required: Vec<&Field> = def.fields.iter().filter(|field| field.required).collect();
        required.sort_by_key(|field| field.position);
        if !required.is_empty() {
            schema.insert("required", required.iter().map(|field| field.name).collect::<Value>());
        }
        write_marks(&def.marks, &mut schema);
        self.schemas.push((name, Value::Object(schema), Some(def.name)));
    }

    fn field(&mut self, def: &'static TypeDef, field: &'static Field) -> Value {
        let mut schema = self.form(&field.form);
        let description = describe(def.name, Some(field.name));
        let zero = field.always.then(|| published_zero(&field.form)).flatten().filter(|_| !field.pointer);
        let default = field.default.clone().or(zero);
        let marks = &field.marks;
        let bare = description.is_none()
            && default.is_none()
            && marks.map_type.is_none()
            && marks.list_type.is_none();
        // Nothing may stand beside a reference, so it is wrapped.
        if !bare && let Some(target) = schema.remove("$ref") {
            schema.insert("allOf", json!([{"$ref": target.as_str().unwrap_or_default()}]));
        }
        if let Some(text) = description {
            schema.insert("description", text.into_owned());
        }
        if let Some(default) = default {
            schema.insert("default", default);
        }
        if let Some(values) = field.values {
            schema.insert("enum", values.split(',').collect::<Value>());
        }
        write_marks(marks, &mut schema);
        Value::Object(schema)
    }

    fn form(&mut self, form: &Form) -> Map {
        let schema = match form {
            Form::String => json!({"type": "string"}),
            Form::Bool => json!({"type": "boolean"}),
            Form::Int32 => json!({"type": "integer", "format": "int32"}),
            Form::Int64 => json!({"type": "integer", "format": "int64"}),
            Form::Double => json!({"type": "number", "format": "double"}),
            Form::Bytes => json!({"type": "string", "format": "byte"}),
            Form::List(item) | Form::WrappedList(item) => Value::Object(Map::from_iter([
                ("type", "array".into()),
                ("items", Value::Object(self.form(item))),
            ])),
            Form::Map(item) => Value::Object(Map::from_iter([
                ("type", "object".into()),
                ("additionalProperties", Value::Object(self.form(item))),
            ])),
            Form::Ref(id) => {
                self.add_type(id.def());
                reference(&full_name(id.name()))
            }
            special => self.special(special),
        };
        match schema {
            Value::Object(schema) => schema,
            _ => Map::new(),
        }
    }

    /// The types whose JSON form is not that of a struct.
    fn special(&mut self, form: &Form) -> Value {
        let one_of = |types: &[&str]| -> Value { types.iter().map(|kind| json!({"type": kind})).collect() };
        let (name, key, schema) = match form {
            Form::Time => (format!("{META}.Time"), "@time", json!({"type": "string", "format": "date-time"})),
            Form::MicroTime => {
                (format!("{META}.MicroTime"), "@micro", json!({"type": "string", "format": "date-time"}))
            }
            Form::Duration => (format!("{META}.Duration"), "@duration", json!({"type": "string"})),
            Form::Fields => (format!("{META}.FieldsV1"), "@fields", json!({"type": "object"})),
            Form::Quantity => {
                let schema = json!({"oneOf": one_of(&["string", "number"])});
                ("io.k8s.apimachinery.pkg.api.resource.Quantity".to_owned(), "@quantity", schema)
            }
            Form::IntOrString => {
                let schema = json!({"oneOf": one_of(&["integer", "string"]), "format": "int-or-string"});
                ("io.k8s.apimachinery.pkg.util.intstr.IntOrString".to_owned(), "@intstr", schema)
            }
            Form::Raw => {
                ("io.k8s.apimachinery.pkg.runtime.RawExtension".to_owned(), "@raw", json!({"type": "object"}))
            }
            Form::Json => (format!("{EXTENSIONS}.JSON"), "@json", json!({})),
            Form::PropsOr(of) => {
                if let Some(props) = types::find("apiextensions.v1.JSONSchemaProps") {
                    self.add_type(props.def());
                }
                let (name, key) = match of {
                    PropsOr::Bool => ("JSONSchemaPropsOrBool", "@props-or-bool"),
                    PropsOr::Array => ("JSONSchemaPropsOrArray", "@props-or-array"),
                    PropsOr::Strings => ("JSONSchemaPropsOrStringArray", "@props-or-strings"),
                };
                (format!("{EXTENSIONS}.{name}"), key, json!({}))
            }
            _ => return json!({}),
        };
        if self.added.insert(name.clone()) {
            let mut schema = schema;
            if let Some(text) = describe(key, None) {
                schema.set(&["description"], text.into_owned());
            }
            self.schemas.push((name.clone(), schema, None));
        }
        reference(&name)
    }

    /// The body of a patch: any JSON object.
    pub(super) fn add_patch(&mut self) {
        let description =
            "Patch is provided to give a concrete name and type to the Kubernetes PATCH request body.";
        self.schemas.push((
            format!("{META}.Patch"),
            json!({"description": description, "type": "object"}),
            None,
        ));
    }

    /// The schema that a definition declares, with what every object has, and its list.
    pub(super) fn add_custom(&mut self, definition: &Value, version: &Value) {
        for kind in ["ObjectMeta", "ListMeta"] {
            if let Some(id) = types::find(&format!("meta.v1.{kind}")) {
                self.add_type(id.def());
            }
        }
        let schemas = custom::schemas(definition, version, custom::Dialect::V3).into_iter().flatten();
        self.schemas.extend(schemas.map(|(name, schema)| (name, schema, None)));
    }

    /// All schemas by name, with the kinds they are of.
    pub(super) fn into_schemas(self, group_version: &GroupVersion) -> Map {
        let one = |(name, mut schema, of): (String, Value, Option<&'static str>)| {
            let kinds: Vec<Gvk> = of.map(|of| kinds_of_type(of, group_version)).unwrap_or_default();
            if !kinds.is_empty() {
                let kinds: Value = kinds
                    .iter()
                    .map(|gvk| json!({"group": gvk.group, "kind": gvk.kind, "version": gvk.version}))
                    .collect();
                schema.set(&["x-kubernetes-group-version-kind"], kinds);
            }
            (name, schema)
        };
        self.schemas.into_iter().map(one).collect()
    }
}

/// What a field that is always written is published to be by default.
fn published_zero(form: &Form) -> Option<Value> {
    Some(match form {
        Form::String => "".into(),
        Form::Bool => false.into(),
        Form::Int32 | Form::Int64 | Form::Double => Value::Int(0),
        Form::Ref(_) => Value::object(),
        _ => return None,
    })
}

fn write_marks(marks: &Marks, schema: &mut Map) {
    let words = |text: &'static str| text.split(',').collect::<Vec<_>>();
    if let Some(kind) = marks.list_type {
        schema.insert("x-kubernetes-list-type", kind);
    }
    if let Some(keys) = marks.list_keys {
        schema.insert("x-kubernetes-list-map-keys", words(keys));
    }
    if let Some(kind) = marks.map_type {
        schema.insert("x-kubernetes-map-type", kind);
    }
    if let Some(key) = marks.merge_key {
        schema.insert("x-kubernetes-patch-merge-key", key);
    }
    if let Some(strategies) = marks.strategies {
        schema.insert("x-kubernetes-patch-strategy", strategies);
    }
}
