//! Makes schema nodes from the types of the table, each when it is first asked for.

use std::sync::LazyLock;

use super::types::{self, Field, Form, Marks, PropsOr, TypeDef};
use crate::{Additional, Child, ListType, MapType, Patch, Schema, Text, Type};

const PROPS: &str = "apiextensions.v1.JSONSchemaProps";

/// The node of a type; a node that accepts anything for a name that is not in the table.
pub(super) fn resolve(name: &'static str) -> &'static Schema {
    match types::find(name) {
        Some(id) => id.node(struct_node),
        None => Schema::any(),
    }
}

/// A `JSONSchemaProps` where something else may stand too: its fields are known, its type is open.
fn resolve_props(_: &'static str) -> &'static Schema {
    static NODE: LazyLock<Schema> =
        LazyLock::new(|| Schema { kind: None, items: Some(named(PROPS)), ..resolve(PROPS).clone() });
    &NODE
}

fn named(name: &'static str) -> Child {
    Child::Named { name, resolve }
}

fn struct_node(def: &'static TypeDef) -> Schema {
    let required = def.fields.iter().filter(|field| field.required).map(|field| Text::Borrowed(field.name));
    let mut node = Schema {
        kind: Some(Type::Object),
        properties: def.fields.iter().map(|field| (Text::Borrowed(field.name), field_child(field))).collect(),
        required: required.collect(),
        ..Default::default()
    };
    apply(&def.marks, &mut node);
    node
}

fn field_child(field: &'static Field) -> Child {
    let child = form_child(&field.form);
    let marks = &field.marks;
    let marked = marks.list_type.or(marks.map_type).or(marks.merge_key).or(marks.strategies).is_some();
    // What merging asks for is the default of a key, which is a scalar.
    let zero = matches!(field.form, Form::String | Form::Int32 | Form::Int64) && field.is_zero_by_default();
    if !marked && !zero && field.default.is_none() {
        return child;
    }
    let mut node = child.get().clone();
    apply(marks, &mut node);
    node.patch.zero = zero;
    node.default = field.default.clone().map(Box::new);
    node.into()
}

fn apply(marks: &Marks, node: &mut Schema) {
    match marks.list_type {
        Some("map") => node.list_type = Some(ListType::Map),
        Some("set") => node.list_type = Some(ListType::Set),
        Some("atomic") => node.list_type = Some(ListType::Atomic),
        _ => {}
    }
    match marks.map_type {
        Some("atomic") => node.map_type = Some(MapType::Atomic),
        Some("granular") => node.map_type = Some(MapType::Granular),
        _ => {}
    }
    if let Some(keys) = marks.list_keys {
        node.list_map_keys = keys.split(',').map(Text::Borrowed).collect();
    }
    node.patch = Patch {
        merge_key: marks.merge_key,
        scalar: node.patch.scalar,
        zero: node.patch.zero,
        strategies: match marks.strategies {
            Some("merge") => &["merge"],
            Some("retainKeys") => &["retainKeys"],
            Some("merge,retainKeys") => &["merge", "retainKeys"],
            Some("replace") => &["replace"],
            _ => &[],
        },
    };
}

fn form_child(form: &'static Form) -> Child {
    let scalar = |kind, format: Option<&'static str>| Schema {
        kind: Some(kind),
        format: format.map(Text::Borrowed),
        ..Default::default()
    };
    match form {
        Form::Ref(id) => return named(id.name()),
        Form::PropsOr(PropsOr::Bool | PropsOr::Array | PropsOr::Strings) => {
            return Child::Named { name: PROPS, resolve: resolve_props };
        }
        Form::String => scalar(Type::String, None),
        Form::Bool => scalar(Type::Boolean, None),
        Form::Int32 => scalar(Type::Integer, Some("int32")),
        Form::Int64 => scalar(Type::Integer, Some("int64")),
        Form::Double => scalar(Type::Number, Some("double")),
        Form::Bytes => scalar(Type::String, Some("byte")),
        Form::Time | Form::MicroTime => scalar(Type::String, Some("date-time")),
        Form::Duration => scalar(Type::String, None),
        Form::Quantity => Schema {
            int_or_string: true,
            patch: Patch { scalar: true, ..Patch::default() },
            ..Default::default()
        },
        Form::IntOrString => Schema { int_or_string: true, ..Default::default() },
        Form::Fields => Schema { preserve_unknown: true, ..scalar(Type::Object, None) },
        // An object that is only carried is one value.
        Form::Raw => {
            Schema { preserve_unknown: true, map_type: Some(MapType::Atomic), ..scalar(Type::Object, None) }
        }
        Form::Json => Schema::any().clone(),
        Form::List(item) | Form::WrappedList(item) => {
            Schema { items: Some(form_child(item)), ..scalar(Type::Array, None) }
        }
        Form::Map(item) => {
            Schema { additional: Some(Additional::Schema(form_child(item))), ..scalar(Type::Object, None) }
        }
    }
    .into()
}
