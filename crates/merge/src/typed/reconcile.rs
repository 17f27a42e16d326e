//! Sets of fields that were written when the type was another: what is one value now is owned as a whole.
//!
//! The other way round nothing is done: who owned a whole owns it still, and what is in it belongs to nobody.

use super::{Found, List, MapType, Problems, Relationship, Shape, Type, resolve, shape};
use crate::fieldset::{FieldSet, PathElement};

/// The set as the type has it now; `None` if it is so already.
///
/// # Errors
/// A type that cannot be found.
pub fn reconcile<'s, T: Type<'s>>(ty: T, set: &FieldSet) -> Result<Option<FieldSet>, Problems> {
    let mut found = Found::default();
    let mut wholes = FieldSet::new();
    let mut walker = Walker { path: Vec::new(), wholes: &mut wholes, found: &mut found };
    walker.walk(Some(ty), set);
    let changed = !wholes.is_empty();
    let set = changed.then(|| set.recursive_difference(&wholes).union(&wholes));
    found.into_result(set)
}

struct Walker<'w> {
    path: Vec<&'w PathElement>,
    /// What is to be owned as a whole.
    wholes: &'w mut FieldSet,
    found: &'w mut Found,
}

impl<'w> Walker<'w> {
    fn walk<'s, T: Type<'s>>(&mut self, ty: Option<T>, set: &'w FieldSet) {
        let Some(atom) = resolve(ty, self.found) else { return };
        match shape(ty, atom, self.found) {
            Some(Shape::List(list)) => self.list(&list, set),
            Some(Shape::Map(map)) => self.map(ty, &map, set),
            Some(Shape::Scalar(_)) | None => {}
        }
    }

    fn list<'s, T: Type<'s>>(&mut self, list: &List<'s, T>, set: &'w FieldSet) {
        if list.relationship == Relationship::Atomic {
            self.own_whole();
            return;
        }
        for (element, owned, below) in set.nodes() {
            self.descend(list.items, element, owned, below);
        }
    }

    fn map<'s, T: Type<'s>>(&mut self, ty: Option<T>, map: &MapType<T>, set: &'w FieldSet) {
        if map.deduced {
            return;
        }
        if map.atomic {
            if !set.is_empty() {
                self.own_whole();
            }
            return;
        }
        for (element, owned, below) in set.nodes() {
            let declared = match element {
                PathElement::Field(name) => ty.and_then(|ty| ty.field(name)),
                _ => None,
            };
            // Fields that the type does not have any more are left alone.
            if let Some(member) = declared.or(map.element) {
                self.descend(Some(member), element, owned, below);
            }
        }
    }

    fn descend<'s, T: Type<'s>>(
        &mut self,
        ty: Option<T>,
        element: &'w PathElement,
        owned: bool,
        below: &'w FieldSet,
    ) {
        if owned && below.is_empty() {
            // It is owned as a whole already.
            return;
        }
        self.path.push(element);
        self.walk(ty, below);
        self.path.pop();
    }

    fn own_whole(&mut self) {
        let path: Vec<PathElement> = self.path.iter().map(|element| (*element).clone()).collect();
        self.wholes.insert_path(&path);
    }
}
