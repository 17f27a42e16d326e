//! Sets of fields: what `metadata.managedFields` records of a manager. They print as `FieldsV1`, and behave as
//! structured-merge-diff's `fieldpath.Set` does.

mod element;
mod filter;
pub(crate) mod written;

pub use element::{ElementError, PathElement, compare};
pub use filter::{Filter, Pattern};

pub(crate) use element::same;

use crate::typed::Type;
use pilothouse_value::stack::{self, deeper};
use pilothouse_value::{Map, Value};
use std::fmt;

/// A set of paths of one document. That a path is in the set says nothing of its parent or of what is below it.
#[derive(Default)]
pub struct FieldSet {
    /// In the order of the elements, each once. Sets are made in order and have a handful of elements at each place.
    nodes: Vec<(PathElement, Node)>,
}

impl Drop for FieldSet {
    fn drop(&mut self) {
        if !self.nodes.is_empty() && stack::is_low() {
            let mut pending = std::mem::take(&mut self.nodes);
            while let Some((_, mut node)) = pending.pop() {
                pending.append(&mut node.below.nodes);
            }
        }
    }
}

impl Clone for FieldSet {
    fn clone(&self) -> Self {
        deeper(|| Self { nodes: self.nodes.clone() })
    }
}

impl PartialEq for FieldSet {
    fn eq(&self, other: &Self) -> bool {
        deeper(|| self.nodes == other.nodes)
    }
}

impl Eq for FieldSet {}

impl fmt::Debug for FieldSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        deeper(|| f.debug_map().entries(self.nodes.iter().map(|(element, node)| (element, node))).finish())
    }
}

/// Invariant: `owned` or something `below`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    /// Whether the path that ends here is in the set.
    owned: bool,
    below: FieldSet,
}

/// Up to this many elements are added to a set one by one; more are merged, which never takes quadratic time.
const FEW: usize = 8;

/// Text that is not `FieldsV1`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("reading fieldsV1: {0}")]
pub struct FieldsError(String);

impl FieldSet {
    /// The set without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads `fieldsV1`. Elements of a kind that is not known are left out.
    ///
    /// # Errors
    /// When something in it is not an object, or a key is no path element.
    pub fn from_value(fields: &Value) -> Result<Self, FieldsError> {
        let nothing = Map::new();
        let map = match fields {
            Value::Object(map) => map,
            Value::Null => &nothing,
            other => return Err(FieldsError(format!("expected an object, got {}", other.kind_name()))),
        };
        let mut set = Self { nodes: Vec::with_capacity(map.len()) };
        for (key, below) in map.iter().filter(|(key, _)| *key != ".") {
            let element = match PathElement::parse(key) {
                Ok(element) => element,
                Err(ElementError::Unknown) => continue,
                Err(ElementError::Malformed(why)) => {
                    return Err(FieldsError(format!("path element {key:?}: {why}")));
                }
            };
            let inner = deeper(|| Self::from_value(below))?;
            let owned = inner.is_empty() || below.get(".").is_some();
            match set.find(&element) {
                Err(at) => set.nodes.insert(at, (element, Node { owned, below: inner })),
                Ok(at) => {
                    let Some((_, node)) = set.nodes.get_mut(at) else { continue };
                    node.owned |= owned;
                    // Of one element in two spellings the later one says what is below.
                    if !inner.is_empty() {
                        node.below = inner;
                    }
                }
            }
        }
        Ok(set)
    }

    /// Where an element is, or where it would be.
    fn find(&self, element: &PathElement) -> Result<usize, usize> {
        match self.nodes.last() {
            // Sets are made in order.
            Some((last, _)) if last < element => Err(self.nodes.len()),
            _ => self.nodes.binary_search_by(|(known, _)| known.cmp(element)),
        }
    }

    fn node(&self, element: &PathElement) -> Option<&Node> {
        self.find(element).ok().and_then(|at| self.nodes.get(at)).map(|(_, node)| node)
    }

    /// What is at an element, which is in no set until something is owned there or below.
    fn node_mut(&mut self, element: PathElement) -> &mut Node {
        let at = match self.find(&element) {
            Ok(at) => at,
            Err(at) => {
                self.nodes.insert(at, (element, Node::default()));
                at
            }
        };
        &mut self.nodes[at].1
    }

    /// Writes `fieldsV1`.
    pub fn to_value(&self) -> Value {
        Value::Object(self.to_map(false))
    }

    fn to_map(&self, owned: bool) -> Map {
        let mut fields: Vec<(String, Value)> = Vec::with_capacity(self.nodes.len() + 1);
        if owned && !self.is_empty() {
            fields.push((".".to_owned(), Value::object()));
        }
        for (element, node) in &self.nodes {
            fields.push((element.to_text(), Value::Object(deeper(|| node.below.to_map(node.owned)))));
        }
        // Keys and numbers have another order as texts; in order, adding to a map is cheap.
        if self.nodes.iter().any(|(element, _)| !matches!(element, PathElement::Field(_))) {
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
        fields.into_iter().collect()
    }

    /// Whether no field is in the set.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many paths are in the set.
    pub fn len(&self) -> usize {
        deeper(|| self.nodes.iter().map(|(_, node)| usize::from(node.owned) + node.below.len()).sum())
    }

    /// Adds a path. The path of no element, which is the whole document, is never in a set.
    pub fn insert_path(&mut self, path: &[PathElement]) {
        let mut set = self;
        let mut path = path;
        while let Some((first, rest)) = path.split_first() {
            let node = set.node_mut(first.clone());
            node.owned |= rest.is_empty();
            (set, path) = (&mut node.below, rest);
        }
    }

    /// Whether the set holds a path.
    pub fn has(&self, path: &[PathElement]) -> bool {
        let Some((last, parents)) = path.split_last() else { return false };
        let mut parents = parents.iter();
        let set = parents.try_fold(self, |set, element| set.node(element).map(|node| &node.below));
        set.is_some_and(|set| set.owns(last))
    }

    /// Adds what is under `element`; adds nothing when there is nothing.
    pub(crate) fn insert(&mut self, element: PathElement, owned: bool, below: FieldSet) {
        if owned || !below.is_empty() {
            let node = self.node_mut(element);
            node.owned |= owned;
            node.below.extend(below);
        }
    }

    /// A set of plain fields, each given by the names that lead to it.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<PathElement> = path.iter().map(|name| PathElement::field(*name)).collect();
            set.insert_path(&path);
        }
        set
    }

    /// What the set holds below one path element.
    pub(crate) fn below(&self, element: &PathElement) -> Option<&FieldSet> {
        self.node(element).map(|node| &node.below).filter(|below| !below.is_empty())
    }

    /// Whether the set holds the path of this one element.
    pub(crate) fn owns(&self, element: &PathElement) -> bool {
        self.node(element).is_some_and(|node| node.owned)
    }

    /// The first elements of all paths, with whether they are paths themselves and what is below them.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&PathElement, bool, &FieldSet)> {
        self.nodes.iter().map(|(element, node)| (element, node.owned, &node.below))
    }

    /// Adds all paths of another set.
    pub(crate) fn extend(&mut self, mut other: FieldSet) {
        let nodes = std::mem::take(&mut other.nodes);
        match (self.nodes.last(), nodes.first()) {
            (None, _) => self.nodes = nodes,
            (_, None) => {}
            (Some((last, _)), Some((first, _))) if last < first => self.nodes.extend(nodes),
            _ if nodes.len() <= FEW => deeper(|| {
                for (element, node) in nodes {
                    self.insert(element, node.owned, node.below);
                }
            }),
            _ => deeper(|| self.merge(nodes)),
        }
    }

    fn merge(&mut self, other: Vec<(PathElement, Node)>) {
        let mut merged = Vec::with_capacity(self.nodes.len() + other.len());
        let mut theirs = other.into_iter().peekable();
        for (element, mut node) in std::mem::take(&mut self.nodes) {
            merged.extend(std::iter::from_fn(|| theirs.next_if(|(their, _)| *their < element)));
            if let Some((_, their)) = theirs.next_if(|(their, _)| *their == element) {
                node.owned |= their.owned;
                node.below.extend(their.below);
            }
            merged.push((element, node));
        }
        merged.extend(theirs);
        self.nodes = merged;
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
        let mut add = |(element, ours): &(PathElement, Node), theirs: &Node| {
            let owned = ours.owned && theirs.owned;
            let below = deeper(|| ours.below.intersection(&theirs.below));
            if owned || !below.is_empty() {
                both.nodes.push((element.clone(), Node { owned, below }));
            }
        };
        if self.nodes.len() <= other.nodes.len() {
            for ours in &self.nodes {
                if let Some(theirs) = other.node(&ours.0) {
                    add(ours, theirs);
                }
            }
        } else {
            for (element, theirs) in &other.nodes {
                if let Some(ours) = self.find(element).ok().and_then(|at| self.nodes.get(at)) {
                    add(ours, theirs);
                }
            }
        }
        both
    }

    /// The fields that `other` does not hold. A field stays when only its parent is in `other`.
    #[must_use]
    pub fn difference(&self, other: &FieldSet) -> FieldSet {
        let mut rest = self.clone();
        rest.remove(other, false);
        rest
    }

    /// The fields that `other` holds neither themselves nor through one of their parents.
    #[must_use]
    pub fn recursive_difference(&self, other: &FieldSet) -> FieldSet {
        let mut rest = self.clone();
        rest.remove(other, true);
        rest
    }

    /// Takes out the fields that `other` holds; with `recursive` also what is below them.
    pub(crate) fn remove(&mut self, other: &FieldSet, recursive: bool) {
        let mut emptied = false;
        for (element, theirs) in &other.nodes {
            let Some((_, node)) = self.find(element).ok().and_then(|at| self.nodes.get_mut(at)) else {
                continue;
            };
            if recursive && theirs.owned {
                *node = Node::default();
            } else {
                node.owned &= !theirs.owned;
                deeper(|| node.below.remove(&theirs.below, recursive));
            }
            emptied |= node.is_empty();
        }
        if emptied {
            self.nodes.retain(|(_, node)| !node.is_empty());
        }
    }

    /// The paths below which no other path is.
    #[must_use]
    pub fn leaves(&self) -> FieldSet {
        let mut leaves = Self::default();
        for (element, node) in &self.nodes {
            let below = deeper(|| node.below.leaves());
            leaves.nodes.push((element.clone(), Node { owned: node.below.is_empty(), below }));
        }
        leaves
    }

    /// The set with every declared field that leads to one of its fields. Keys of free-form maps are not declared.
    #[must_use]
    pub fn with_named_parents<'s, T: Type<'s>>(&self, ty: Option<T>) -> FieldSet {
        let atom = ty.and_then(|ty| ty.atom().ok());
        let mut full = Self::default();
        for (element, node) in &self.nodes {
            let map = atom.as_ref().and_then(|atom| atom.map.as_ref());
            let list = atom.as_ref().and_then(|atom| atom.list.as_ref());
            let (child, declared) = match (element, map, list) {
                (PathElement::Field(name), Some(map), _) => match ty.and_then(|ty| ty.field(name)) {
                    Some(field) => (Some(field), true),
                    None => (map.element, false),
                },
                (PathElement::Key(_), _, Some(list)) => (list.items, false),
                _ => (None, false),
            };
            let owned = node.owned || (declared && !node.below.is_empty());
            let below = deeper(|| node.below.with_named_parents(child));
            full.nodes.push((element.clone(), Node { owned, below }));
        }
        full
    }

    /// All paths: those of one object before what is below any of them.
    pub fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, prefix: &mut Vec<PathElement>, paths: &mut Vec<Vec<PathElement>>) {
        for (element, node) in &self.nodes {
            if node.owned {
                let mut path = prefix.clone();
                path.push(element.clone());
                paths.push(path);
            }
        }
        for (element, node) in self.nodes.iter().filter(|(_, node)| !node.below.is_empty()) {
            prefix.push(element.clone());
            deeper(|| node.below.collect(prefix, paths));
            prefix.pop();
        }
    }
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.owned && self.below.is_empty()
    }
}

/// A path as Kubernetes prints it: `.spec.containers[name="a"].image`.
pub fn print_path(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}
