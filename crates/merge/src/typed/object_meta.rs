//! The schema of what every resource has: `apiVersion`, `kind` and `metadata`. CustomResourceDefinitions leave it out.

use pilothouse_schema::{Additional, ListType, MapType, Schema, Type};
use std::sync::LazyLock;

static TEXT: LazyLock<Schema> = LazyLock::new(|| of(Type::String));
static METADATA: LazyLock<Schema> = LazyLock::new(metadata);

/// The schema of a field that every resource has.
pub(super) fn common_field(name: &str) -> Option<&'static Schema> {
    match name {
        "apiVersion" | "kind" => Some(&TEXT),
        "metadata" => Some(&METADATA),
        _ => None,
    }
}

fn of(kind: Type) -> Schema {
    Schema { kind: Some(kind), ..Default::default() }
}

fn list(list_type: ListType, items: Schema, keys: &[&'static str]) -> Schema {
    Schema {
        list_type: Some(list_type),
        list_map_keys: keys.iter().map(|key| (*key).into()).collect(),
        items: Some(items.into()),
        ..of(Type::Array)
    }
}

fn metadata() -> Schema {
    let words =
        || Schema { additional: Some(Additional::Schema(of(Type::String).into())), ..of(Type::Object) };
    let owner = [
        ("apiVersion", Type::String),
        ("blockOwnerDeletion", Type::Boolean),
        ("controller", Type::Boolean),
        ("kind", Type::String),
        ("name", Type::String),
        ("uid", Type::String),
    ];
    let owner = Schema {
        map_type: Some(MapType::Atomic),
        properties: owner.into_iter().map(|(name, kind)| (name.into(), of(kind).into())).collect(),
        ..of(Type::Object)
    };
    let fields = [
        ("annotations", words()),
        ("creationTimestamp", of(Type::String)),
        ("deletionGracePeriodSeconds", of(Type::Integer)),
        ("deletionTimestamp", of(Type::String)),
        ("finalizers", list(ListType::Set, of(Type::String), &[])),
        ("generateName", of(Type::String)),
        ("generation", of(Type::Integer)),
        ("labels", words()),
        ("managedFields", list(ListType::Atomic, Schema::any().clone(), &[])),
        ("name", of(Type::String)),
        ("namespace", of(Type::String)),
        ("ownerReferences", list(ListType::Map, owner, &["uid"])),
        ("resourceVersion", of(Type::String)),
        ("selfLink", of(Type::String)),
        ("uid", of(Type::String)),
    ];
    Schema {
        properties: fields.into_iter().map(|(name, schema)| (name.into(), schema.into())).collect(),
        ..of(Type::Object)
    }
}
