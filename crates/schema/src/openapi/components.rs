//! The schemas of a document: the types of the tables that its kinds are made of, and those of custom resources.

use std::collections::BTreeSet;

use pilothouse_value::{GroupVersion, Gvk, Map, Value, json};

use super::CustomResource;
use super::custom::{self, Dialect};
use crate::builtin::types::{self, Field, Form, Marks, PropsOr, TypeDef};
use crate::builtin::{describe, kinds_of_type};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const EXTENSIONS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";

/// The group versions that know the options of requests; a dash behind those that are the server's own affair.
static OPTIONS: &str = include_str!("../tables/options.txt");

/// Whose the options of requests are said to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum OptionsOf<'g> {
    /// The core group's and this one's.
    One(&'g GroupVersion),
    /// Those of all group versions that clients know.
    Clients,
    /// Those of all group versions that there are.
    All,
}

/// Collects schemas; each type brings those it refers to.
#[derive(Debug)]
pub(super) struct Components {
    dialect: Dialect,
    added: BTreeSet<String>,
    schemas: Vec<(String, Value, Option<&'static str>)>,
}

/// The name that a type has in documents: `io.k8s.api.core.v1.Pod`.
pub(super) fn full_name(name: &str) -> String {
    let prefix = match name.split('.').next() {
        Some("meta") => "io.k8s.apimachinery.pkg.apis.",
        Some("version") => "io.k8s.apimachinery.pkg.",
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

/// The name that the tables have for a type that has this one in documents.
fn short_name(name: &str) -> &str {
    const PREFIXES: [&str; 5] = [
        "io.k8s.apimachinery.pkg.apis.",
        "io.k8s.apimachinery.pkg.",
        "io.k8s.apiextensions-apiserver.pkg.apis.",
        "io.k8s.kube-aggregator.pkg.apis.",
        "io.k8s.api.",
    ];
    PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

impl Components {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { dialect, added: BTreeSet::new(), schemas: Vec::new() }
    }

    /// Adds a type of the tables by its name in documents. Custom resources have none there.
    pub(super) fn add(&mut self, name: &str) {
        if name == format!("{META}.Patch") {
            self.add_patch();
        } else if let Some(id) = types::find(short_name(name)) {
            self.add_type(id.def());
        }
    }

    fn reference(&self, name: &str) -> Value {
        json!({"$ref": self.dialect.reference(name)})
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
        let zero = field.is_zero_by_default().then(|| published_zero(&field.form)).flatten();
        // Swagger's clients would take a default for a wish to have it in every body.
        let default = field.default.clone().or(zero).filter(|_| self.dialect == Dialect::V3);
        let marks = &field.marks;
        let bare = description.is_none()
            && default.is_none()
            && marks.map_type.is_none()
            && marks.list_type.is_none();
        // Nothing may stand beside a reference, so it is wrapped.
        if self.dialect == Dialect::V3
            && !bare
            && let Some(target) = schema.remove("$ref")
        {
            schema.insert("allOf", json!([{"$ref": target.as_str().unwrap_or_default()}]));
        }
        if let Some(text) = description {
            schema.insert("description", text.into_owned());
        }
        if let Some(default) = default {
            schema.insert("default", default);
        }
        let words =
            |values: &'static str| values.split(',').map(|word| word.replace("%20", " ")).collect::<Value>();
        if let Some(values) = field.values {
            schema.insert("enum", words(values));
        }
        if let Some(values) = field.element_values {
            let elements = if schema.contains_key("items") { "items" } else { "additionalProperties" };
            if let Some(elements) = schema.get_mut(elements) {
                elements.set(&["enum"], words(values));
            }
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
                self.reference(&full_name(id.name()))
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
        let dialect = self.dialect;
        let one_of = |types: &[&str]| -> Value {
            match dialect {
                Dialect::V2 => json!({"type": "string"}),
                Dialect::V3 => {
                    let types: Value = types.iter().map(|kind| json!({"type": kind})).collect();
                    json!({"oneOf": types})
                }
            }
        };
        let (name, key, schema) = match form {
            Form::Time => (format!("{META}.Time"), "@time", json!({"type": "string", "format": "date-time"})),
            Form::MicroTime => {
                (format!("{META}.MicroTime"), "@micro", json!({"type": "string", "format": "date-time"}))
            }
            Form::Duration => (format!("{META}.Duration"), "@duration", json!({"type": "string"})),
            Form::Fields => (format!("{META}.FieldsV1"), "@fields", json!({"type": "object"})),
            Form::Quantity => {
                let schema = one_of(&["string", "number"]);
                ("io.k8s.apimachinery.pkg.api.resource.Quantity".to_owned(), "@quantity", schema)
            }
            Form::IntOrString => {
                let mut schema = one_of(&["integer", "string"]);
                schema.set(&["format"], "int-or-string");
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
        self.reference(&name)
    }

    /// The body of a patch: any JSON object.
    fn add_patch(&mut self) {
        let name = format!("{META}.Patch");
        if self.added.insert(name.clone()) {
            let description =
                "Patch is provided to give a concrete name and type to the Kubernetes PATCH request body.";
            self.schemas.push((name, json!({"description": description, "type": "object"}), None));
        }
    }

    /// The schema that a definition declares, with what every object has, and its list.
    pub(super) fn add_custom(&mut self, resource: &CustomResource<'_>) {
        for kind in ["ObjectMeta", "ListMeta"] {
            self.add(&format!("{META}.{kind}"));
        }
        let schemas = custom::schemas(resource.definition, resource.version, self.dialect);
        for (name, schema) in schemas.into_iter().flatten() {
            if self.added.insert(name.clone()) {
                self.schemas.push((name, schema, None));
            }
        }
    }

    /// All schemas by name, with the kinds they are of.
    pub(super) fn into_schemas(self, options: OptionsOf<'_>) -> Map {
        let one = |(name, mut schema, of): (String, Value, Option<&'static str>)| {
            let kinds: Vec<Gvk> = match of {
                Some("meta.v1.DeleteOptions") => option_kinds("DeleteOptions", options),
                Some("meta.v1.WatchEvent") => option_kinds("WatchEvent", options),
                Some(of) => kinds_of_type(of),
                None => Vec::new(),
            };
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

fn option_kinds(kind: &str, of: OptionsOf<'_>) -> Vec<Gvk> {
    let rows = OPTIONS.lines().map(|line| line.strip_suffix(" -").map_or((line, true), |line| (line, false)));
    rows.filter_map(|(name, of_clients)| {
        let group_version: GroupVersion = name.parse().ok()?;
        let is_told = match of {
            OptionsOf::One(one) => group_version.group.is_empty() || group_version == *one,
            OptionsOf::Clients => of_clients,
            OptionsOf::All => true,
        };
        is_told.then(|| group_version.kind(kind))
    })
    .collect()
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
    if let Some((discriminator, fields)) = marks.union.and_then(|union| union.split_once(':')) {
        let fields: Map = fields.split(',').filter_map(|field| field.split_once('=')).collect();
        let mut union = json!({"fields-to-discriminateBy": fields});
        if !discriminator.is_empty() {
            union.set(&["discriminator"], discriminator);
        }
        schema.insert("x-kubernetes-unions", vec![union]);
    }
}
