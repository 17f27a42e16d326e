//! Documents seen through their types, as server-side apply sees them: which parts are one value and which are made of
//! fields that different managers may own. Behaviour and texts are those of structured-merge-diff's `typed`.
//!
//! The walks are written against [`Type`], because a type can stand in several places: [`Node`] is one that a
//! [`Schema`](pilothouse_schema::Schema) describes.

mod compare;
mod deduced;
mod field_set;
mod go;
mod merge;
mod node;
mod object_meta;
mod reconcile;
mod remove;
mod standing;
mod validate;

pub use compare::{Comparison, compare};
pub use deduced::Deduced;
pub use field_set::field_set;
pub use merge::merge;
pub use node::Node;
pub use reconcile::reconcile;
pub use remove::{extract, extract_with_keys, remove};
pub use validate::validate;

pub(crate) use standing::stands;

use crate::fieldset::PathElement;
use pilothouse_value::Value;
use pilothouse_value::stack::deeper;
use std::fmt;

/// The type of a value.
pub trait Type<'s>: Copy {
    /// What a value of this type can be.
    ///
    /// # Errors
    /// Why there is no such type.
    fn atom(self) -> Result<Atom<'s, Self>, String>;

    /// The type of a declared field, if the type has declared fields and this is one.
    fn field(self, name: &str) -> Option<Self>;

    /// The value that a declared field has where it is left out.
    fn default(self, name: &str) -> Option<&'s Value>;

    /// Whether any field is declared.
    fn has_fields(self) -> bool;

    /// The name of the type, if it has one.
    fn name(self) -> Option<&'s str> {
        None
    }
}

/// What a value can be: one or several of a scalar, a list and a map. A value that fits none of them is treated as the
/// first of map, scalar and list that is there.
#[derive(Clone, Copy)]
pub struct Atom<'s, T> {
    /// The scalars that are allowed.
    pub scalar: Option<Scalar>,
    /// The lists that are allowed.
    pub list: Option<List<'s, T>>,
    /// The maps that are allowed.
    pub map: Option<MapType<T>>,
}

/// A kind of scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// A number.
    Numeric,
    /// A string.
    String,
    /// A boolean.
    Boolean,
    /// Any of these.
    Untyped,
}

/// A list type.
#[derive(Clone, Copy)]
pub struct List<'s, T> {
    /// How the items belong together.
    pub relationship: Relationship,
    /// The fields that tell the items of an associative list apart; none for a set of scalars.
    pub keys: Keys<'s>,
    /// The type of the items.
    pub items: Option<T>,
}

/// How the items of a list belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relationship {
    /// The list is one value.
    Atomic,
    /// The items are told apart by their keys or values.
    Associative,
    /// Neither; there are such types, but they cannot be merged.
    Unknown,
}

/// The names of key fields.
#[derive(Clone, Copy, Debug)]
pub enum Keys<'s> {
    /// Any number of names.
    Many(&'s [pilothouse_schema::Text]),
    /// One name.
    One(&'s str),
}

impl<'s> Keys<'s> {
    /// The names, in their order.
    pub fn iter(self) -> impl Iterator<Item = &'s str> {
        let (many, one): (&[pilothouse_schema::Text], Option<&str>) = match self {
            Keys::Many(many) => (many, None),
            Keys::One(one) => (&[], Some(one)),
        };
        many.iter().map(AsRef::as_ref).chain(one)
    }

    /// Whether there is no name.
    pub fn is_empty(self) -> bool {
        matches!(self, Keys::Many([]))
    }
}

/// A map type. Its declared fields are found through [`Type::field`].
#[derive(Clone, Copy)]
pub struct MapType<T> {
    /// Whether the map is one value.
    pub atomic: bool,
    /// The type of the values of fields that are not declared; none if all must be.
    pub element: Option<T>,
    /// Whether everything about it follows from the value: nothing is declared, and anything may be there.
    pub deduced: bool,
}

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: `.spec.containers[name="a"]`; empty for the whole value.
    pub path: String,
    /// What.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// All that is wrong with a value; at least one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [one] = self.0.as_slice() {
            return one.fmt(f);
        }
        f.write_str("errors:")?;
        self.0.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl std::error::Error for Problems {}

/// What has been found so far.
#[derive(Default)]
struct Found {
    problems: Vec<Problem>,
    /// How many levels down the walk is.
    level: usize,
}

impl Found {
    fn add(&mut self, message: impl Into<String>) {
        self.problems.push(Problem { path: String::new(), message: message.into() });
    }

    /// What `walk` finds, found below `element`.
    fn under<R>(&mut self, element: impl FnOnce() -> String, walk: impl FnOnce(&mut Found) -> R) -> R {
        let before = self.problems.len();
        self.level += 1;
        let result = deeper(|| walk(self));
        self.level -= 1;
        if self.problems.len() > before {
            let prefix = element();
            self.problems.iter_mut().skip(before).for_each(|problem| problem.path.insert_str(0, &prefix));
        }
        result
    }

    fn into_result<R>(self, result: R) -> Result<R, Problems> {
        if self.problems.is_empty() { Ok(result) } else { Err(Problems(self.problems)) }
    }
}

/// What a type makes of a value.
enum Shape<'s, T> {
    Map(MapType<T>),
    Scalar(Scalar),
    List(List<'s, T>),
}

impl<'s, T: Type<'s>> Atom<'s, T> {
    /// What fits the value, if something does; else all there is. An absent value and null fit anything.
    fn deduce(self, value: Option<&Value>) -> Self {
        let nothing = Atom { scalar: None, list: None, map: None };
        match value {
            Some(Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::String(_))
                if self.scalar.is_some() =>
            {
                Atom { scalar: self.scalar, ..nothing }
            }
            Some(Value::Array(_)) if self.list.is_some() => Atom { list: self.list, ..nothing },
            Some(Value::Object(_)) if self.map.is_some() => Atom { map: self.map, ..nothing },
            _ => self,
        }
    }

    /// Whether both are the same part of one atom.
    fn is_like(&self, other: &Self) -> bool {
        let parts = |atom: &Self| (atom.scalar.is_some(), atom.list.is_some(), atom.map.is_some());
        parts(self) == parts(other)
    }

    fn shape(self) -> Option<Shape<'s, T>> {
        match self {
            Atom { map: Some(map), .. } => Some(Shape::Map(map)),
            Atom { scalar: Some(scalar), .. } => Some(Shape::Scalar(scalar)),
            Atom { list: Some(list), .. } => Some(Shape::List(list)),
            _ => None,
        }
    }
}

/// The atom of a type; reports a type that is not there.
fn resolve<'s, T: Type<'s>>(ty: Option<T>, found: &mut Found) -> Option<Atom<'s, T>> {
    match ty.map(Type::atom) {
        Some(Ok(atom)) => Some(atom),
        Some(Err(why)) => {
            found.add(why);
            None
        }
        None => {
            found.add("schema error: invalid atom: inlined");
            None
        }
    }
}

/// The shape of an atom; reports an atom that has none.
fn shape<'s, T: Type<'s>>(ty: Option<T>, atom: Atom<'s, T>, found: &mut Found) -> Option<Shape<'s, T>> {
    let shape = atom.shape();
    if shape.is_none() {
        let name = match ty.and_then(Type::name) {
            Some(name) => format!("named type: {name}"),
            None => "inlined".to_owned(),
        };
        found.add(format!("schema error: invalid atom: {name}"));
    }
    shape
}

/// The shape that a type gives to one value.
fn shape_of<'s, T: Type<'s>>(ty: Option<T>, value: &Value, found: &mut Found) -> Option<Shape<'s, T>> {
    let atom = resolve(ty, found)?.deduce(Some(value));
    shape(ty, atom, found)
}

/// The type of the values under a key of a map.
fn member<'s, T: Type<'s>>(ty: Option<T>, map: &MapType<T>, key: &str) -> Option<T> {
    ty.and_then(|ty| ty.field(key)).or(map.element)
}

impl<'s, T: Type<'s>> List<'s, T> {
    /// What tells an item apart from the others in this list.
    fn element(&self, item: &Value) -> Result<PathElement, String> {
        if self.relationship != Relationship::Associative {
            return Err("invalid indexing of non-associative list".into());
        }
        if self.keys.is_empty() {
            let problem = match item {
                Value::Object(_) => "associative list without keys has an element that's a map type",
                Value::Array(_) => "not supported: associative list with lists as elements",
                Value::Null => "associative list without keys has an element that's an explicit null",
                scalar => return Ok(PathElement::Value(scalar.clone())),
            };
            return Err(problem.to_owned());
        }
        let item = match item {
            Value::Object(item) => item,
            Value::Null => return Err("associative list with keys may not have a null element".into()),
            _ => return Err("associative list with keys may not have non-map elements".into()),
        };
        let mut keys = Vec::new();
        for name in self.keys.iter() {
            let value = match item.get(name) {
                Some(value) => Some(value),
                None => self
                    .default(name)
                    .map_err(|why| format!("couldn't find default value for {name}: {why}"))?,
            };
            if let Some(value) = value {
                keys.push((name.into(), value.clone()));
            }
        }
        if keys.is_empty() {
            let names: Vec<_> = self.keys.iter().map(pilothouse_value::field::quote).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
                 values for any key fields)",
                names.join(" ")
            ));
        }
        Ok(PathElement::key(keys))
    }

    fn default(&self, key: &str) -> Result<Option<&'s Value>, &'static str> {
        // A type that is left out is one without anything, and so without maps.
        let Some(items) = self.items else { return Err("associative list may not have non-map types") };
        match items.atom() {
            Err(_) => Err("invalid elementType for list"),
            Ok(Atom { map: None, .. }) => Err("associative list may not have non-map types"),
            Ok(_) => Ok(items.default(key)),
        }
    }
}

fn items(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
