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
    walker.walk(Some(ty), Some(set), false);
    let changed = !wholes.is_empty();
    let set = changed.then(|| set.recursive_difference(&wholes).union(&wholes));
    found.into_result(set)
}

struct Walker<'w> {
    path: Vec<PathElement>,
    /// What is to be owned as a whole.
    wholes: &'w mut FieldSet,
    found: &'w mut Found,
}

impl Walker<'_> {
    /// `is_whole`: whether the set holds this path, and nothing below it.
    fn walk<'s, T: Type<'s>>(&mut self, ty: Option<T>, set: Option<&FieldSet>, is_whole: bool) {
        let Some(atom) = resolve(ty, self.found) else { return };
        match shape(ty, atom, self.found) {
            Some(Shape::List(list)) => self.list(&list, set, is_whole),
            Some(Shape::Map(map)) => self.map(ty, &map, set, is_whole),
            Some(Shape::Scalar(_)) | None => {}
        }
    }

    fn list<'s, T: Type<'s>>(&mut self, list: &List<'s, T>, set: Option<&FieldSet>, is_whole: bool) {
        if !is_whole && list.relationship == Relationship::Atomic {
            self.wholes.insert_path(&self.path);
            return;
        }
        for (element, owned, below) in set.into_iter().flat_map(FieldSet::nodes) {
            self.descend(list.items, element, owned, below);
        }
    }

    fn map<'s, T: Type<'s>>(
        &mut self,
        ty: Option<T>,
        map: &MapType<T>,
        set: Option<&FieldSet>,
        is_whole: bool,
    ) {
        if map.deduced {
            return;
        }
        if !is_whole && map.atomic {
            if set.is_some_and(|set| !set.is_empty()) {
                self.wholes.insert_path(&self.path);
            }
            return;
        }
        for (element, owned, below) in set.into_iter().flat_map(FieldSet::nodes) {
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
        element: &PathElement,
        owned: bool,
        below: &FieldSet,
    ) {
        let has_children = !below.is_empty();
        self.path.push(element.clone());
        self.walk(ty, has_children.then_some(below), owned && !has_children);
        self.path.pop();
    }
}
