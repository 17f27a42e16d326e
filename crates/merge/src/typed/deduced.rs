//! The types of values that nothing is known about.

use super::{Atom, Keys, List, MapType, Relationship, Scalar, Type};
use pilothouse_value::Value;

/// A type that follows from the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deduced {
    /// The fields of maps are values of their own; a list is one value.
    Separable,
    /// Maps and lists are one value.
    Atomic,
}

impl Deduced {
    /// What a value of this type can be, where `wrap` makes a type of what it is made of.
    pub(super) fn atom_of<'s, T>(self, wrap: impl Fn(Deduced) -> T) -> Atom<'s, T> {
        Atom {
            scalar: Some(Scalar::Untyped),
            list: Some(List {
                relationship: Relationship::Atomic,
                keys: Keys::Many(&[]),
                items: Some(wrap(Deduced::Atomic)),
            }),
            map: Some(MapType {
                atomic: self == Deduced::Atomic,
                element: Some(wrap(self)),
                deduced: self == Deduced::Separable,
            }),
        }
    }
}

impl<'s> Type<'s> for Deduced {
    fn atom(self) -> Result<Atom<'s, Self>, String> {
        Ok(self.atom_of(|deduced| deduced))
    }

    fn field(self, _: &str) -> Option<Self> {
        None
    }

    fn default(self, _: &str) -> Option<&'s Value> {
        None
    }

    fn has_fields(self) -> bool {
        false
    }

    fn name(self) -> Option<&'s str> {
        Some(match self {
            Deduced::Separable => "__untyped_deduced_",
            Deduced::Atomic => "__untyped_atomic_",
        })
    }
}
