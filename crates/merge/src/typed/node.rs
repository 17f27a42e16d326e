//! Types that a schema describes, by the rules with which kube-openapi's `schemaconv` makes types of published schemas.

use super::{Atom, Deduced, Keys, List, MapType, Relationship, Scalar, Type, object_meta};
use pilothouse_schema::{Additional, ListType, MapType as SchemaMapType, Schema, Type as Kind};
use pilothouse_value::Value;

/// A schema in its place.
#[derive(Clone, Copy)]
pub struct Node<'s>(What<'s>);

#[derive(Clone, Copy)]
enum What<'s> {
    Deduced(Deduced),
    Schema {
        schema: &'s Schema,
        /// An object that is a Kubernetes resource has `apiVersion`, `kind` and `metadata` even if its schema does not
        /// say so.
        is_resource: bool,
        /// Whether the schema, or one that it is a part of, keeps fields that it does not declare.
        preserves: bool,
    },
}

impl<'s> Node<'s> {
    /// The schema of a whole resource.
    pub fn root(schema: &'s Schema) -> Self {
        Self::new(schema, true, false)
    }

    fn new(schema: &'s Schema, is_resource: bool, preserves: bool) -> Self {
        let preserves = preserves || schema.preserves_unknown();
        let is_resource = is_resource || schema.is_embedded_resource();
        Self(What::Schema { schema, is_resource, preserves })
    }

    fn deduced(deduced: Deduced) -> Self {
        Self(What::Deduced(deduced))
    }
}

impl<'s> Type<'s> for Node<'s> {
    fn atom(self) -> Result<Atom<'s, Self>, String> {
        let (schema, is_resource, preserves) = match self.0 {
            What::Deduced(deduced) => return Ok(deduced.atom_of(Node::deduced)),
            What::Schema { schema, is_resource, preserves } => (schema, is_resource, preserves),
        };
        let nothing = Atom { scalar: None, list: None, map: None };
        Ok(match schema.kind() {
            Some(Kind::Object) => Atom { map: Some(map(schema, is_resource, preserves)), ..nothing },
            Some(Kind::Array) => Atom { list: Some(list(schema, preserves)), ..nothing },
            Some(kind) => Atom { scalar: Some(scalar(kind, schema)), ..nothing },
            None if schema.is_any_scalar() => Atom { scalar: Some(Scalar::Untyped), ..nothing },
            None if is_json_schema(schema) => Deduced::Separable.atom_of(Node::deduced),
            None => Atom {
                scalar: Some(Scalar::Untyped),
                list: Some(list(schema, preserves)),
                map: Some(map(schema, is_resource, preserves)),
            },
        })
    }

    fn field(self, name: &str) -> Option<Self> {
        let What::Schema { schema, is_resource, preserves } = self.0 else { return None };
        if is_resource && let Some(common) = object_meta::common_field(name) {
            return Some(Node::new(common, false, false));
        }
        if is_json_schema(schema) {
            return None;
        }
        schema.property(name).map(|property| Node::new(property, false, preserves))
    }

    fn default(self, name: &str) -> Option<&'s Value> {
        match self.0 {
            What::Schema { schema, .. } => {
                let property = schema.property(name)?;
                property.default().or_else(|| property.is_zero_by_default().then(|| zero(property)).flatten())
            }
            What::Deduced(_) => None,
        }
    }

    fn has_fields(self) -> bool {
        match self.0 {
            What::Schema { schema, is_resource, .. } => is_resource || !schema.properties().is_empty(),
            What::Deduced(_) => false,
        }
    }
}

/// The zero value of a scalar.
fn zero(schema: &Schema) -> Option<&'static Value> {
    static TEXT: Value = Value::String(String::new());
    static NUMBER: Value = Value::Int(0);
    match schema.kind()? {
        Kind::String => Some(&TEXT),
        Kind::Integer => Some(&NUMBER),
        _ => None,
    }
}

/// Where a CustomResourceDefinition may have a schema or something else, its published schema says nothing at all.
fn is_json_schema(schema: &Schema) -> bool {
    schema.kind.is_none()
        && schema.items.as_ref().and_then(pilothouse_schema::Child::name)
            == Some("apiextensions.v1.JSONSchemaProps")
}

fn scalar(kind: Kind, schema: &Schema) -> Scalar {
    match kind {
        Kind::Integer | Kind::Number => Scalar::Numeric,
        Kind::Boolean => Scalar::Boolean,
        Kind::String if matches!(schema.format(), None | Some("" | "byte")) => Scalar::String,
        _ => Scalar::Untyped,
    }
}

fn list(schema: &Schema, preserves: bool) -> List<'_, Node<'_>> {
    let merges = schema.list_type.is_none() && schema.patch_strategies().contains(&"merge");
    let (relationship, keys) = match schema.list_type() {
        ListType::Map => (Relationship::Associative, Keys::Many(schema.list_map_keys())),
        ListType::Set => (Relationship::Associative, Keys::Many(&[])),
        // What says nothing of itself is as it is to strategic merge patches.
        ListType::Atomic if merges => {
            (Relationship::Associative, schema.patch_merge_key().map_or(Keys::Many(&[]), Keys::One))
        }
        ListType::Atomic => (Relationship::Atomic, Keys::Many(&[])),
    };
    let items = match &schema.items {
        Some(items) => Node::new(items.get(), false, preserves),
        None => Node::deduced(Deduced::Atomic),
    };
    List { relationship, keys, items: Some(items) }
}

fn map(schema: &Schema, is_resource: bool, preserves: bool) -> MapType<Node<'_>> {
    let declares = is_resource || !schema.properties().is_empty();
    let element = match schema.additional() {
        Some(Additional::Schema(child)) => Some(Node::new(child.get(), false, preserves)),
        Some(Additional::Bool(true)) => Some(Node::deduced(Deduced::Separable)),
        Some(Additional::Bool(false)) => None,
        None if preserves || !declares => Some(Node::deduced(Deduced::Separable)),
        None => None,
    };
    let deduced = !declares && element.is_some_and(Node::is_untyped);
    MapType { atomic: schema.map_type() == SchemaMapType::Atomic, element, deduced }
}

impl Node<'_> {
    fn is_untyped(self) -> bool {
        match self.0 {
            What::Deduced(deduced) => deduced == Deduced::Separable,
            What::Schema { schema, .. } => match schema.kind() {
                None => true,
                Some(kind) => {
                    !matches!(kind, Kind::Object | Kind::Array) && scalar(kind, schema) == Scalar::Untyped
                }
            },
        }
    }
}
