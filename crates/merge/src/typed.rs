//! Documents seen through their schema, as server-side apply sees them: which parts are one value and which are made
//! of fields that different managers may own. See structured-merge-diff, `typed`.

mod compare;
mod merge;
mod object_meta;
mod remove;
mod validate;

pub(crate) use compare::compare;
pub(crate) use merge::merge;
pub(crate) use remove::remove;
pub(crate) use validate::validate;

use crate::fieldset::{FieldSet, field};
use pilothouse_schema::{ListType, MapType, Schema, Type};
use pilothouse_value::{Map, Value};
use std::collections::BTreeMap;

/// A schema in its place. An object that is a Kubernetes resource has `apiVersion`, `kind` and `metadata` even if its
/// schema does not say so.
#[derive(Clone, Copy)]
pub(crate) struct Node<'s> {
    schema: &'s Schema,
    is_resource: bool,
}

/// What a value is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// One value: a scalar, an atomic list or an atomic map.
    Whole,
    /// An object whose fields are owned one by one.
    Fields,
    /// A list of scalars, each of which is owned.
    Set,
    /// A list of objects that are told apart by keys.
    Keyed,
}

impl<'s> Node<'s> {
    /// The schema of a whole resource.
    pub(crate) fn root(schema: &'s Schema) -> Self {
        Self { schema, is_resource: true }
    }

    /// The schema of a part.
    pub(crate) fn inner(schema: &'s Schema) -> Self {
        Self { schema, is_resource: schema.is_embedded_resource() }
    }

    /// The schema of a field; `None` where such a field may not be.
    pub(crate) fn child(self, key: &str) -> Option<Node<'s>> {
        if self.is_resource
            && let Some(common) = object_meta::common_field(key)
            && self.schema.property(key).is_none_or(|own| own.properties().is_empty())
        {
            return Some(Node::inner(common));
        }
        match self.schema.child(key) {
            Some(child) => Some(Node::inner(child)),
            None if self.is_open() => Some(Node::inner(Schema::any())),
            None => None,
        }
    }

    /// Whether fields are allowed that the schema says nothing about.
    fn is_open(self) -> bool {
        let is_undescribed = self.schema.kind().is_none() && self.schema.properties().is_empty();
        self.schema.preserves_unknown()
            || is_undescribed
            || self.schema.additional().is_some_and(|additional| additional.allows())
    }

    /// Whether the schema names this field, as opposed to allowing any key.
    pub(crate) fn declares(self, key: &str) -> bool {
        self.schema.property(key).is_some() || (self.is_resource && object_meta::common_field(key).is_some())
    }

    /// The schema of the items of a list.
    pub(crate) fn items(self) -> Node<'s> {
        Node::inner(self.schema.items().unwrap_or_else(|| Schema::any()))
    }

    fn shape(self, value: &Value) -> Shape {
        let list = || match self.schema.list_type() {
            ListType::Atomic => Shape::Whole,
            ListType::Set => Shape::Set,
            ListType::Map => Shape::Keyed,
        };
        let map = || match self.schema.map_type() {
            MapType::Atomic => Shape::Whole,
            MapType::Granular => Shape::Fields,
        };
        match (value, self.schema.kind()) {
            (Value::Object(_), _) | (Value::Null, Some(Type::Object)) => map(),
            (Value::Array(_), _) | (Value::Null, Some(Type::Array)) => list(),
            _ => Shape::Whole,
        }
    }

    /// The path element of an item of this list, which must be a set or a keyed list.
    fn element(self, item: &Value) -> Result<String, String> {
        if self.schema.list_type() == ListType::Set {
            let kind = match item {
                Value::Object(_) => "associative list without keys has an element that's a map type",
                Value::Array(_) => "not supported: associative list with lists as elements",
                Value::Null => "associative list without keys has an element that's an explicit null",
                scalar => return Ok(format!("v:{}", scalar.to_json())),
            };
            return Err(kind.to_owned());
        }
        let names = self.schema.list_map_keys();
        let item = match item {
            Value::Object(item) => item,
            Value::Null => return Err("associative list with keys may not have a null element".into()),
            _ => return Err("associative list with keys may not have non-map elements".into()),
        };
        let keys: Map = names
            .iter()
            .filter_map(|name| {
                let default = || self.schema.items()?.property(name)?.default();
                let value = item.get(name).or_else(default)?;
                Some((&**name, value.clone()))
            })
            .collect();
        if keys.is_empty() && !names.is_empty() {
            let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
                 values for any key fields)",
                names.join(" ")
            ));
        }
        Ok(format!("k:{}", Value::Object(keys).to_json()))
    }

    /// The items of a list by their path elements. Items that have none are left out.
    fn index(self, list: Option<&Value>) -> BTreeMap<String, Vec<&Value>> {
        let mut index: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        for item in items(list) {
            if let Ok(element) = self.element(item) {
                index.entry(element).or_default().push(item);
            }
        }
        index
    }
}

fn items(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether a container has nothing in it; `null` has nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// All fields of a document: what someone owns who applies it.
pub(crate) fn field_set(schema: Node<'_>, value: &Value) -> FieldSet {
    let mut set = FieldSet::new();
    match schema.shape(value) {
        Shape::Whole => {}
        Shape::Fields => {
            for (key, child) in value.as_object().into_iter().flat_map(Map::iter) {
                let node = schema.child(key).unwrap_or_else(|| Node::inner(Schema::any()));
                let is_empty_object = child.as_object().is_some_and(Map::is_empty);
                let owned = node.shape(child) == Shape::Whole
                    || child.is_null()
                    || is_empty_object
                    || !schema.declares(key);
                set.insert(field(key), owned, field_set(node, child));
            }
        }
        Shape::Set | Shape::Keyed => {
            for (element, items) in schema.index(Some(value)) {
                // Items that cannot be told apart are owned together and not looked into.
                let below = match items.as_slice() {
                    [item] => field_set(schema.items(), item),
                    _ => FieldSet::new(),
                };
                set.insert(element, true, below);
            }
        }
    }
    set
}
