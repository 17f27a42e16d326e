//! The metadata that each object carries: which fields it has, and whether that of embedded objects is right.
//! Source: apiextensions `pkg/apiserver/schema/objectmeta`, apimachinery `api/validation/objectmeta.go`.

use std::sync::LazyLock;

use pilothouse_value::field::{self, Path};
use pilothouse_value::stack::deeper;
use pilothouse_value::{GroupVersion, Gvk, Map, Value, names};

use crate::builtin;
use crate::node::{Additional, Child, Properties, Schema, Type};

/// Most bytes that the annotations of an object may have in all.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

static OBJECT_META: LazyLock<Schema> = LazyLock::new(|| {
    let text = || scalar(Type::String);
    let texts = || Schema {
        kind: Some(Type::Object),
        additional: Some(Additional::Schema(text().into())),
        ..Default::default()
    };
    let owner = object([
        ("apiVersion", text()),
        ("blockOwnerDeletion", scalar(Type::Boolean)),
        ("controller", scalar(Type::Boolean)),
        ("kind", text()),
        ("name", text()),
        ("uid", text()),
    ]);
    let manager = object([
        ("apiVersion", text()),
        ("fieldsType", text()),
        ("fieldsV1", Schema { kind: Some(Type::Object), preserve_unknown: true, ..Default::default() }),
        ("manager", text()),
        ("operation", text()),
        ("subresource", text()),
        ("time", text()),
    ]);
    object([
        ("annotations", texts()),
        ("creationTimestamp", text()),
        ("deletionGracePeriodSeconds", scalar(Type::Integer)),
        ("deletionTimestamp", text()),
        ("finalizers", list(text())),
        ("generateName", text()),
        ("generation", scalar(Type::Integer)),
        ("labels", texts()),
        ("managedFields", list(manager)),
        ("name", text()),
        ("namespace", text()),
        ("ownerReferences", list(owner)),
        ("resourceVersion", text()),
        ("selfLink", text()),
        ("uid", text()),
    ])
});

fn scalar(kind: Type) -> Schema {
    Schema { kind: Some(kind), ..Default::default() }
}

fn list(items: Schema) -> Schema {
    Schema { kind: Some(Type::Array), items: Some(items.into()), ..Default::default() }
}

fn object<const N: usize>(fields: [(&'static str, Schema); N]) -> Schema {
    let properties: Properties =
        fields.into_iter().map(|(name, schema)| (name.into(), Child::from(schema))).collect();
    Schema { kind: Some(Type::Object), properties, ..Default::default() }
}

/// Removes from metadata what Go's `ObjectMeta` does not have, recording the paths, and what it would not write back:
/// nulls, empty strings, lists and maps, zeros.
pub(crate) fn normalise(metadata: &mut Value, path: &str, removed: &mut Vec<String>) {
    if metadata.is_null() {
        *metadata = Value::object();
    }
    remove_unknown(&OBJECT_META, metadata, path, removed);
    if let Value::Object(fields) = metadata {
        fields.retain(|key, value| !is_empty(key, value));
    }
}

/// Whether a field says nothing. What is empty and of a wrong type is still wrong, and an empty text is no time.
fn is_empty(key: &str, value: &Value) -> bool {
    let kind = OBJECT_META.property(key).and_then(Schema::kind);
    match (kind, value) {
        (_, Value::Null) => true,
        // A grace period of zero is one.
        (Some(Type::Integer), Value::Int(number)) => *number == 0 && key != "deletionGracePeriodSeconds",
        (Some(Type::String), Value::String(text)) => text.is_empty() && !key.ends_with("Timestamp"),
        (Some(Type::Array), Value::Array(items)) => items.is_empty(),
        (Some(Type::Object), Value::Object(fields)) => fields.is_empty(),
        _ => false,
    }
}

fn remove_unknown(schema: &Schema, value: &mut Value, path: &str, removed: &mut Vec<String>) {
    if schema.preserves_unknown() {
        return;
    }
    match value {
        Value::Object(fields) => fields.retain(|key, value| {
            let path = format!("{path}.{key}");
            match schema.child(key) {
                Some(child) => {
                    remove_unknown(child, value, &path, removed);
                    true
                }
                None => {
                    removed.push(path);
                    false
                }
            }
        }),
        Value::Array(items) => {
            let Some(child) = schema.items() else { return };
            for (index, item) in items.iter_mut().enumerate() {
                remove_unknown(child, item, &format!("{path}[{index}]"), removed);
            }
        }
        _ => {}
    }
}

/// Finds what is wrong with the type and metadata of embedded objects, everywhere below `value`.
pub(crate) fn validate_embedded(schema: &Schema, value: &Value, path: &Path, errors: &mut Vec<field::Error>) {
    match value {
        Value::Object(fields) => {
            if schema.embedded_resource {
                validate_resource(fields, path, errors);
            }
            let additional = schema.additional().and_then(Additional::schema);
            for (key, value) in fields.iter().filter(|(_, value)| is_compound(value)) {
                if let Some(child) = schema.property(key) {
                    deeper(|| validate_embedded(child, value, &path.child(key), errors));
                } else if let Some(child) = additional {
                    deeper(|| validate_embedded(child, value, &path.key(key), errors));
                }
            }
        }
        Value::Array(items) => {
            let Some(child) = schema.items() else { return };
            for (index, item) in items.iter().enumerate().filter(|(_, item)| is_compound(item)) {
                deeper(|| validate_embedded(child, item, &path.index(index), errors));
            }
        }
        _ => {}
    }
}

fn is_compound(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_))
}

/// Finds the first embedded object whose type or metadata cannot be read at all. A server refuses the whole document for
/// it with 400: `KIND in version "v1" cannot be handled as a KIND: ` and the error.
///
/// # Errors
/// The field and the text of Go's decoder.
pub fn check_embedded(schema: &Schema, value: &Value) -> Result<(), field::Error> {
    readable(schema, value, &Path::root())
}

fn readable(schema: &Schema, value: &Value, path: &Path) -> Result<(), field::Error> {
    match value {
        Value::Object(fields) => {
            if schema.embedded_resource {
                for key in ["apiVersion", "kind"] {
                    if let Some(other) = fields.get(key).filter(|value| value.as_str().is_none()) {
                        return Err(field::Error::invalid(
                            &path.child(key),
                            other.clone(),
                            "must be a string",
                        ));
                    }
                }
                if let Some(metadata) = fields.get("metadata")
                    && let Err(detail) = read(metadata.clone())
                {
                    return Err(field::Error::invalid(&path.child("metadata"), metadata.clone(), detail));
                }
            }
            let additional = schema.additional().and_then(Additional::schema);
            for (key, value) in fields.iter().filter(|(_, value)| is_compound(value)) {
                if let Some(child) = schema.property(key) {
                    deeper(|| readable(child, value, &path.child(key)))?;
                } else if let Some(child) = additional {
                    deeper(|| readable(child, value, &path.key(key)))?;
                }
            }
            Ok(())
        }
        Value::Array(items) => {
            let Some(child) = schema.items() else { return Ok(()) };
            let readable = |(index, item)| deeper(|| readable(child, item, &path.index(index)));
            items.iter().enumerate().try_for_each(readable)
        }
        _ => Ok(()),
    }
}

/// Reads metadata as Go's decoder does, whatever it is the metadata of.
///
/// # Errors
/// The decoder's text for the first value that cannot be read.
pub fn read(metadata: Value) -> Result<Value, String> {
    // Any built-in kind reads metadata; this one has nothing that it must have.
    let any = Gvk::new("", "v1", "ConfigMap");
    let mut holder = Value::object();
    holder.set(&["metadata"], metadata);
    builtin::decode(&any, &mut holder).map_err(|error| {
        let text = error.to_string();
        let why = text.split_once(": ").map_or(text.as_str(), |(_, why)| why);
        // Upstream reads metadata by itself, so its messages do not begin at the object.
        why.replacen(".metadata.", ".", 1)
            .replace("Go struct field ConfigMap.metadata of type", "Go value of type")
    })?;
    Ok(holder.take(&["metadata"]).unwrap_or_default())
}

/// Finds what is wrong with the type and metadata of one object.
pub(crate) fn validate_resource(fields: &Map, path: &Path, errors: &mut Vec<field::Error>) {
    let at = path.child("apiVersion");
    match fields.get("apiVersion") {
        None => errors.push(field::Error::required(&at, "")),
        Some(Value::String(text)) if text.is_empty() => {
            errors.push(field::Error::invalid(&at, "", "must not be empty"));
        }
        Some(Value::String(text)) => {
            if text.parse::<GroupVersion>().is_err() {
                let detail = format!("unexpected GroupVersion string: {text}");
                errors.push(field::Error::invalid(&at, text.as_str(), detail));
            }
        }
        Some(other) => errors.push(field::Error::invalid(&at, other.clone(), "must be a string")),
    }
    let at = path.child("kind");
    match fields.get("kind") {
        None => errors.push(field::Error::required(&at, "")),
        Some(Value::String(text)) if text.is_empty() => {
            errors.push(field::Error::invalid(&at, "", "must not be empty"));
        }
        Some(Value::String(text)) => {
            let problems = names::dns1035_label(&text.to_lowercase());
            if !problems.is_empty() {
                let detail =
                    format!("may have mixed case, but should otherwise match: {}", problems.join(","));
                errors.push(field::Error::invalid(&at, text.as_str(), detail));
            }
        }
        Some(other) => errors.push(field::Error::invalid(&at, other.clone(), "must be a string")),
    }
    if let Some(metadata) = fields.get("metadata").and_then(Value::as_object) {
        validate_metadata(metadata, &path.child("metadata"), errors);
    }
}

fn validate_metadata(metadata: &Map, path: &Path, errors: &mut Vec<field::Error>) {
    let text = |key: &str| metadata.get(key).and_then(Value::as_str).unwrap_or_default();
    for key in ["generateName", "name"] {
        let name = text(key);
        if !name.is_empty() {
            let problems = names::path_segment(name);
            errors.extend(
                problems.into_iter().map(|detail| field::Error::invalid(&path.child(key), name, detail)),
            );
        }
    }
    let namespace = text("namespace");
    if !namespace.is_empty() {
        let problems = names::dns1123_label(namespace);
        errors.extend(
            problems
                .into_iter()
                .map(|detail| field::Error::invalid(&path.child("namespace"), namespace, detail)),
        );
    }
    let empty = Map::new();
    let map = |key: &str| metadata.get(key).and_then(Value::as_object).unwrap_or(&empty);
    let at = path.child("labels");
    for (key, value) in map("labels").iter() {
        errors.extend(
            names::qualified_name(key).into_iter().map(|detail| field::Error::invalid(&at, key, detail)),
        );
        let value = value.as_str().unwrap_or_default();
        errors.extend(
            names::label_value(value).into_iter().map(|detail| field::Error::invalid(&at, value, detail)),
        );
    }
    let at = path.child("annotations");
    let mut size = 0;
    for (key, value) in map("annotations").iter() {
        let problems = names::qualified_name(&key.to_lowercase());
        errors.extend(problems.into_iter().map(|detail| field::Error::invalid(&at, key, detail)));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_LIMIT {
        errors.push(field::Error::too_long(&at, ANNOTATIONS_LIMIT));
    }
}
