//! Sets of fields that were written when the type was another: what is one value now is owned as a whole.
//!
//! The other way round nothing is done: who owned a whole owns it still, and what is in it belongs to nobody.

use super::{Found, List, MapType, Problems, Relationship, Shape, Type, resolve, shape};
use crate::fieldset::{FieldSet, PathElement};
use pilothouse_value::stack::deeper;

/// The set as the type has it now; `None` if it is so already.
///
/// # Errors
/// A type that cannot be found.
pub fn reconcile<'s, T: Type<'s>>(ty: T, set: &FieldSet) -> Result<Option<FieldSet>, Problems> {
    let mut found = Found::default();
    let mut walker = Walker { found: &mut found };
    let wholes = walker.walk(Some(ty), set).below;
    let changed = !wholes.is_empty();
    let set = changed.then(|| set.recursive_difference(&wholes).union(&wholes));
    found.into_result(set)
}

struct Walker<'f> {
    found: &'f mut Found,
}

/// What is to be owned as a whole.
#[derive(Default)]
struct Wholes {
    /// Whether this place is.
    here: bool,
    /// What is below it.
    below: FieldSet,
}

impl Walker<'_> {
    fn walk<'s, T: Type<'s>>(&mut self, ty: Option<T>, set: &FieldSet) -> Wholes {
        let Some(atom) = resolve(ty, self.found) else { return Wholes::default() };
        match shape(ty, atom, self.found) {
            Some(Shape::List(list)) => self.list(&list, set),
            Some(Shape::Map(map)) => self.map(ty, &map, set),
            Some(Shape::Scalar(_)) | None => Wholes::default(),
        }
    }

    fn list<'s, T: Type<'s>>(&mut self, list: &List<'s, T>, set: &FieldSet) -> Wholes {
        let mut wholes = Wholes { here: list.relationship == Relationship::Atomic, ..Wholes::default() };
        if !wholes.here {
            for (element, owned, below) in set.nodes() {
                self.descend(list.items, element, owned, below, &mut wholes.below);
            }
        }
        wholes
    }

    fn map<'s, T: Type<'s>>(&mut self, ty: Option<T>, map: &MapType<T>, set: &FieldSet) -> Wholes {
        let mut wholes = Wholes { here: map.atomic && !map.deduced && !set.is_empty(), ..Wholes::default() };
        if map.deduced || map.atomic {
            return wholes;
        }
        for (element, owned, below) in set.nodes() {
            let declared = match element {
                PathElement::Field(name) => ty.and_then(|ty| ty.field(name)),
                _ => None,
            };
            // Fields that the type does not have any more are left alone.
            if let Some(member) = declared.or(map.element) {
                self.descend(Some(member), element, owned, below, &mut wholes.below);
            }
        }
        wholes
    }

    fn descend<'s, T: Type<'s>>(
        &mut self,
        ty: Option<T>,
        element: &PathElement,
        owned: bool,
        below: &FieldSet,
        into: &mut FieldSet,
    ) {
        // What has nothing below it is owned as a whole already.
        if !owned || !below.is_empty() {
            let wholes = deeper(|| self.walk(ty, below));
            into.insert(element.clone(), wholes.here, wholes.below);
        }
    }
}
