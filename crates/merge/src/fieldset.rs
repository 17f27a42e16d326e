//! Sets of fields, in the tree form of `FieldsV1` that `metadata.managedFields` carries.
//!
//! A path element is kept as the text that stands in the document: `f:NAME` for a field, `k:{…}` for the item of a list
//! with keys, `v:…` for the item of a set, `i:N` for the item at a position. See structured-merge-diff, `fieldpath`.

use pilothouse_schema::Schema;
use pilothouse_value::{Map, Value};
use std::collections::BTreeMap;

use crate::typed::Node as SchemaNode;

/// A set of fields of one document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    nodes: BTreeMap<Box<str>, Node>,
}

/// Invariant: `owned` or something `below`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    owned: bool,
    below: FieldSet,
}

/// Text that is not `FieldsV1`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("reading fieldsV1: {0}")]
pub struct FieldsError(String);

impl FieldSet {
    /// The set without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads `fieldsV1`.
    ///
    /// # Errors
    /// When something in it is not an object, or a key is no path element.
    pub fn from_value(fields: &Value) -> Result<Self, FieldsError> {
        let map = fields
            .as_object()
            .ok_or_else(|| FieldsError(format!("expected an object, got {}", fields.kind_name())))?;
        let mut set = Self::default();
        for (key, below) in map.iter().filter(|(key, _)| *key != ".") {
            let owned = below.as_object().is_some_and(|below| below.is_empty() || below.contains_key("."));
            set.insert(canonical(key)?, owned, Self::from_value(below)?);
        }
        Ok(set)
    }

    /// Writes `fieldsV1`.
    pub fn to_value(&self) -> Value {
        Value::Object(self.to_map(false))
    }

    fn to_map(&self, owned: bool) -> Map {
        let mut map = Map::new();
        if owned && !self.is_empty() {
            map.insert(".", Value::object());
        }
        for (key, node) in &self.nodes {
            map.insert(key.clone(), Value::Object(node.below.to_map(node.owned)));
        }
        map
    }

    /// Whether no field is in the set.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds what is under `element`; adds nothing when there is nothing.
    pub(crate) fn insert(&mut self, element: impl Into<Box<str>>, owned: bool, below: FieldSet) {
        if owned || !below.is_empty() {
            let node = self.nodes.entry(element.into()).or_default();
            node.owned |= owned;
            node.below.extend(below);
        }
    }

    /// A set of plain fields, each given by the names that lead to it.
    pub(crate) fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let mut below = Self::default();
            let mut owned = true;
            for name in path.iter().rev() {
                let mut parent = Self::default();
                parent.insert(format!("f:{name}"), owned, std::mem::take(&mut below));
                below = parent;
                owned = false;
            }
            set.extend(below);
        }
        set
    }

    /// What the set holds below one path element.
    pub(crate) fn below(&self, element: &str) -> Option<&FieldSet> {
        self.nodes.get(element).map(|node| &node.below).filter(|below| !below.is_empty())
    }

    /// Whether the set holds the path of this one element.
    pub(crate) fn owns(&self, element: &str) -> bool {
        self.nodes.get(element).is_some_and(|node| node.owned)
    }

    fn extend(&mut self, other: FieldSet) {
        if self.nodes.is_empty() {
            self.nodes = other.nodes;
            return;
        }
        for (element, node) in other.nodes {
            self.insert(element, node.owned, node.below);
        }
    }

    /// The fields of either set.
    #[must_use]
    pub fn union(&self, other: &FieldSet) -> FieldSet {
        let mut union = self.clone();
        union.extend(other.clone());
        union
    }

    /// The fields of both sets.
    #[must_use]
    pub fn intersection(&self, other: &FieldSet) -> FieldSet {
        let mut both = Self::default();
        for (element, node) in &self.nodes {
            if let Some(theirs) = other.nodes.get(element) {
                both.insert(
                    element.clone(),
                    node.owned && theirs.owned,
                    node.below.intersection(&theirs.below),
                );
            }
        }
        both
    }

    /// The fields that `other` does not hold. A field stays when only its parent is in `other`.
    #[must_use]
    pub fn difference(&self, other: &FieldSet) -> FieldSet {
        let mut rest = Self::default();
        for (element, node) in &self.nodes {
            match other.nodes.get(element) {
                None => rest.insert(element.clone(), node.owned, node.below.clone()),
                Some(theirs) => {
                    let owned = node.owned && !theirs.owned;
                    rest.insert(element.clone(), owned, node.below.difference(&theirs.below));
                }
            }
        }
        rest
    }

    /// Only what is below `status` for that subresource, and all but that for the object itself.
    pub(crate) fn of_endpoint(&self, subresource: &str) -> FieldSet {
        let is_status = |element: &str| element == "f:status";
        let is_set = |element: &str| match subresource {
            "" => !is_status(element),
            "status" => is_status(element),
            _ => true,
        };
        let nodes = self.nodes.iter().filter(|(element, _)| is_set(element));
        Self { nodes: nodes.map(|(element, node)| (element.clone(), node.clone())).collect() }
    }

    /// The set with every declared field that leads to one of its fields. Keys of free-form maps are not declared.
    pub(crate) fn with_named_parents(&self, schema: SchemaNode<'_>) -> FieldSet {
        let mut full = Self::default();
        for (element, node) in &self.nodes {
            let (child, named) = match element.strip_prefix("f:") {
                Some(name) => (schema.child(name), schema.declares(name)),
                None => (Some(schema.items()), false),
            };
            let child = child.unwrap_or_else(|| SchemaNode::inner(Schema::any()));
            full.insert(element.clone(), node.owned || named, node.below.with_named_parents(child));
        }
        full
    }

    /// The paths of all fields as Kubernetes prints them (`.spec.containers[name="a"].image`): a field before what is
    /// below it, and all fields of one object before what is below any of them.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect_paths("", &mut paths);
        paths
    }

    fn collect_paths(&self, prefix: &str, paths: &mut Vec<String>) {
        for (element, _) in self.nodes.iter().filter(|(_, node)| node.owned) {
            paths.push(format!("{prefix}{}", print(element)));
        }
        for (element, node) in self.nodes.iter().filter(|(_, node)| !node.below.is_empty()) {
            node.below.collect_paths(&format!("{prefix}{}", print(element)), paths);
        }
    }
}

/// The path element of a field.
pub(crate) fn field(name: &str) -> String {
    format!("f:{name}")
}

/// One spelling for each path element, whatever the client wrote.
fn canonical(element: &str) -> Result<String, FieldsError> {
    let unknown = || FieldsError(format!("{element:?} is no path element"));
    let parsed = |text: &str| {
        pilothouse_value::parse::json(text.as_bytes())
            .map(|parsed| parsed.value)
            .map_err(|why| FieldsError(format!("path element {element:?}: {why}")))
    };
    match element.split_at_checked(2) {
        Some(("f:", _)) => Ok(element.to_owned()),
        Some(("i:", index)) => {
            let index: i64 = index.parse().map_err(|_| unknown())?;
            Ok(format!("i:{index}"))
        }
        Some(("v:", value)) => Ok(format!("v:{}", parsed(value)?.to_json())),
        Some(("k:", keys)) => match parsed(keys)? {
            keys @ Value::Object(_) => Ok(format!("k:{}", keys.to_json())),
            _ => Err(unknown()),
        },
        _ => Err(unknown()),
    }
}

/// A path element as it stands in a printed path.
pub(crate) fn print(element: &str) -> String {
    match element.split_at_checked(2) {
        Some(("f:", name)) => format!(".{name}"),
        Some(("v:", value)) => format!("[={value}]"),
        Some(("k:", keys)) => match pilothouse_value::parse::json(keys.as_bytes()).map(|parsed| parsed.value)
        {
            Ok(Value::Object(keys)) => {
                let keys: Vec<_> =
                    keys.iter().map(|(name, value)| format!("{name}={}", value.to_json())).collect();
                format!("[{}]", keys.join(","))
            }
            _ => format!("[{keys}]"),
        },
        Some((_, index)) => format!("[{index}]"),
        None => String::new(),
    }
}
