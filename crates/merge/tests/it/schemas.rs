//! Small schemas to test with.

use pilothouse_schema::{Additional, ListType, MapType, Schema, Type};

pub(crate) fn of(kind: Type) -> Schema {
    Schema { kind: Some(kind), ..Default::default() }
}

pub(crate) fn fields(fields: Vec<(&'static str, Schema)>) -> Schema {
    Schema {
        properties: fields.into_iter().map(|(name, schema)| (name.into(), schema.into())).collect(),
        ..of(Type::Object)
    }
}

/// A free map of strings.
pub(crate) fn words() -> Schema {
    Schema { additional: Some(Additional::Schema(of(Type::String).into())), ..of(Type::Object) }
}

pub(crate) fn list(list_type: ListType, items: Schema, keys: &[&'static str]) -> Schema {
    Schema {
        list_type: Some(list_type),
        list_map_keys: keys.iter().map(|key| (*key).into()).collect(),
        items: Some(items.into()),
        ..of(Type::Array)
    }
}

/// A resource with one of everything that server-side apply tells apart.
pub(crate) fn resource() -> Schema {
    let container = fields(vec![
        ("name", of(Type::String)),
        ("image", of(Type::String)),
        ("args", list(ListType::Atomic, of(Type::String), &[])),
    ]);
    let protocol = Schema { default: Some(Box::new("TCP".into())), ..of(Type::String) };
    let port = fields(vec![("port", of(Type::Integer)), ("protocol", protocol), ("name", of(Type::String))]);
    let spec = fields(vec![
        ("replicas", of(Type::Integer)),
        ("paused", of(Type::Boolean)),
        ("selector", Schema { map_type: Some(MapType::Atomic), ..words() }),
        ("data", words()),
        ("tags", list(ListType::Set, of(Type::String), &[])),
        ("containers", list(ListType::Map, container, &["name"])),
        ("ports", list(ListType::Map, port, &["port", "protocol"])),
        ("free", Schema { preserve_unknown: true, ..of(Type::Object) }),
    ]);
    fields(vec![("spec", spec), ("status", fields(vec![("ready", of(Type::Integer))]))])
}
