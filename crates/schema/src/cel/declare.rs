//! From a schema to the type that CEL sees. Source: `SchemaDeclType` of apiserver's `pkg/cel/common` and
//! `WithTypeAndObjectMeta` of apiextensions `pkg/apiserver/schema/cel/model`.

use std::borrow::Cow;

use pilothouse_cel::{DeclType, ListKind};
use pilothouse_value::Value;
use pilothouse_value::stack::deeper;

use crate::node::{Additional, ListType, Schema, Type};

/// Longest `metadata.name`, in characters. What is generated adds one at least.
const NAME_LENGTH: i64 = 253;

/// The declared type of a schema. `is_resource` for the root of a custom resource and of an embedded one: type and
/// metadata are there whether they are declared or not. Of what has no type, expressions see nothing.
pub fn declare(schema: &Schema, is_resource: bool) -> DeclType {
    deeper(|| kind_of(schema, is_resource)).nullable(schema.nullable())
}

fn kind_of(schema: &Schema, is_resource: bool) -> DeclType {
    let constraints = schema.constraints();
    let max_bytes = constraints.max_length.map(bytes);
    if schema.is_int_or_string() {
        return DeclType::int_or_string(max_bytes);
    }
    match schema.kind() {
        None => DeclType::preserved(),
        Some(Type::Boolean) => DeclType::bool(),
        Some(Type::Integer) => DeclType::int(),
        Some(Type::Number) => DeclType::double(),
        Some(Type::String) => match schema.format() {
            Some("byte") => DeclType::bytes(constraints.max_length.map(|max| max.max(0))),
            Some("duration") => DeclType::duration(),
            Some("date") => DeclType::date(),
            Some("date-time") => DeclType::date_time(),
            _ => DeclType::string(max_bytes.or_else(|| longest(&constraints.enumeration))),
        },
        Some(Type::Array) => {
            let Some(items) = schema.items() else { return DeclType::preserved() };
            let items = declare(items, items.is_embedded_resource());
            DeclType::list(items, constraints.max_items.map(|max| max.max(0)), list_kind(schema))
        }
        Some(Type::Object) => object(schema, is_resource),
    }
}

fn object(schema: &Schema, is_resource: bool) -> DeclType {
    if let Some(Additional::Schema(values)) = schema.additional() {
        let values = values.get();
        let max = schema.constraints().max_properties.map(|max| max.max(0));
        return DeclType::map(declare(values, values.is_embedded_resource()), max);
    }
    let implied = if is_resource && !declares_resource(schema) { implied(schema) } else { Vec::new() };
    let mut builder = DeclType::object("object");
    for (name, child) in schema.properties().iter() {
        if implied.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let child = child.get();
        let is_required = schema.required().iter().any(|one| one == name);
        let declared = declare(child, child.is_embedded_resource());
        builder = match child.default() {
            Some(_) => builder.defaulted_field(name, declared, is_required),
            None => builder.field(name, declared, is_required),
        };
    }
    for (name, declared) in implied {
        let is_required = schema.required().iter().any(|one| one == name);
        builder = builder.field(name, declared, is_required);
    }
    builder.build()
}

/// Whether the schema declares all that is implied of a resource.
fn declares_resource(schema: &Schema) -> bool {
    let has = |schema: &Schema, name: &str, kind: Type| {
        schema.property(name).is_some_and(|property| property.kind() == Some(kind))
    };
    has(schema, "kind", Type::String)
        && has(schema, "apiVersion", Type::String)
        && has(schema, "metadata", Type::Object)
        && schema.property("metadata").is_some_and(|metadata| {
            has(metadata, "name", Type::String) && has(metadata, "generateName", Type::String)
        })
}

/// The type and the part of the metadata that rules see of every resource.
fn implied(schema: &Schema) -> Vec<(&'static str, DeclType)> {
    let metadata = schema.property("metadata");
    let capped = |name: &str, max: i64| {
        let own = metadata
            .and_then(|metadata| metadata.property(name))
            .and_then(|property| property.constraints().max_length);
        DeclType::string(Some(bytes(own.map_or(max, |own| own.min(max)))))
    };
    let metadata = DeclType::object("object")
        .field("name", capped("name", NAME_LENGTH), false)
        .field("generateName", capped("generateName", NAME_LENGTH - 1), false)
        .build();
    vec![("kind", DeclType::string(None)), ("apiVersion", DeclType::string(None)), ("metadata", metadata)]
}

/// A character takes four bytes at most. Go's product overflows; what comes out negative is without a bound there.
fn bytes(max_length: i64) -> i64 {
    let bytes = max_length.max(0).wrapping_mul(4);
    if bytes < 0 { i64::MAX } else { bytes }
}

/// The longest text of an enumeration.
fn longest(enumeration: &[Value]) -> Option<i64> {
    if enumeration.is_empty() {
        return None;
    }
    let longest = enumeration.iter().filter_map(Value::as_str).map(str::len).max().unwrap_or_default();
    Some(i64::try_from(longest).unwrap_or(i64::MAX))
}

fn list_kind(schema: &Schema) -> ListKind {
    match schema.list_type() {
        ListType::Atomic => ListKind::Atomic,
        ListType::Set => ListKind::Set,
        ListType::Map => ListKind::Map(
            schema.list_map_keys().iter().map(|key| Box::from(Cow::as_ref(key))).collect::<Vec<_>>().into(),
        ),
    }
}
