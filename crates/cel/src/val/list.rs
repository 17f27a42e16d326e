//! Lists: of a document, or made by an expression.

use std::sync::Arc;

use pilothouse_value::Value;

use super::{Val, view};
use crate::decl::{DeclType, ListDecl, ListKind};
use crate::error::EvalError;

/// A list. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ListVal<'a>(Repr<'a>);

#[derive(Clone, Debug)]
enum Repr<'a> {
    /// Of a document; without a declaration the items are read as they come.
    View(&'a [Value], Option<&'a ListDecl>),
    /// Made by an expression; the kind is that of the list of a document it was made of.
    Owned(Arc<Vec<Val<'a>>>, Option<&'a ListKind>),
}

impl<'a> ListVal<'a> {
    pub(super) fn dynamic(items: &'a [Value]) -> Self {
        Self(Repr::View(items, None))
    }

    pub(super) fn view(items: &'a [Value], decl: &'a ListDecl) -> Self {
        Self(Repr::View(items, Some(decl)))
    }

    pub(crate) fn owned(items: Vec<Val<'a>>) -> Self {
        Self(Repr::Owned(Arc::new(items), None))
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::View(items, _) => items.len(),
            Repr::Owned(items, _) => items.len(),
        }
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One item.
    ///
    /// # Errors
    /// When the item of the document is not of its declared type.
    pub fn get(&self, at: usize) -> Option<Result<Val<'a>, EvalError>> {
        match &self.0 {
            Repr::View(items, Some(decl)) => items.get(at).map(|item| view::view(item, &decl.items)),
            Repr::View(items, None) => items.get(at).map(|item| Ok(view::dynamic(item))),
            Repr::Owned(items, _) => match items.get(at)? {
                Val::Wrong(why) => Some(Err((**why).clone())),
                item => Some(Ok(item.clone())),
            },
        }
    }

    /// All items in order; an error where an item is not of its declared type.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Result<Val<'a>, EvalError>> + '_ {
        (0..self.len()).map(|at| self.get(at).unwrap_or(Ok(Val::Null)))
    }

    /// Where it is held, if an expression made it.
    pub(super) fn address(&self) -> Option<usize> {
        if let Repr::Owned(items, _) = &self.0 { Some(Arc::as_ptr(items).addr()) } else { None }
    }

    /// All items as they are, also those that are not of their type.
    pub(crate) fn items(&self) -> impl DoubleEndedIterator<Item = Val<'a>> + '_ {
        let item = |at| self.get(at).unwrap_or(Ok(Val::Null)).unwrap_or_else(|why| Val::Wrong(Arc::new(why)));
        (0..self.len()).map(item)
    }

    /// All items as values.
    pub(crate) fn to_vec(&self) -> Result<Vec<Val<'a>>, EvalError> {
        match &self.0 {
            Repr::Owned(items, _) if !items.iter().any(|item| matches!(item, Val::Wrong(_))) => {
                Ok(items.to_vec())
            }
            Repr::Owned(..) | Repr::View(..) => self.iter().collect(),
        }
    }

    /// Whether it is of a document with a declared type.
    pub(crate) const fn is_declared(&self) -> bool {
        matches!(self.0, Repr::View(_, Some(_)))
    }

    /// Whether a value is among the items.
    pub(crate) fn contains(&self, value: &Val<'a>) -> Result<bool, EvalError> {
        let mut error = None;
        for item in self.iter() {
            // Items of a document compare themselves, and say if they cannot; others are just different.
            match item
                .and_then(|item| if self.is_declared() { item.equals(value) } else { value.equals(&item) })
            {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(why) if why.is_final() => return Err(why),
                Err(why) => error = error.or(Some(why)),
            }
        }
        match error {
            Some(why) if self.is_declared() => Err(why),
            _ => Ok(false),
        }
    }

    /// The items of the document, the type of each and what equality means, if it is a list of a document.
    pub(super) fn document(&self) -> Option<(&'a [Value], Option<&'a DeclType>, Option<&'a ListKind>)> {
        match &self.0 {
            Repr::View(items, decl) => {
                Some((items, decl.map(|decl| &decl.items), decl.map(|decl| &decl.kind)))
            }
            Repr::Owned(..) => None,
        }
    }

    /// What equality and `+` mean, if it is or was made of a list of a document that says so.
    pub(super) fn kind(&self) -> Option<&'a ListKind> {
        match &self.0 {
            Repr::View(_, decl) => decl.map(|decl| &decl.kind),
            Repr::Owned(_, kind) => *kind,
        }
    }

    pub(super) fn with_kind(self, kind: &'a ListKind) -> Self {
        match self.0 {
            Repr::Owned(items, _) => Self(Repr::Owned(items, Some(kind))),
            view => Self(view),
        }
    }

    /// Appends without copying when nobody else has the list.
    pub(crate) fn push(self, item: Val<'a>) -> Self {
        let mut items = self.into_owned();
        Arc::make_mut(&mut items).push(item);
        Self(Repr::Owned(items, None))
    }

    /// Appends all items of another list, without copying the first when nobody else has it.
    pub(super) fn extend(self, other: &Self) -> Self {
        let mut items = self.into_owned();
        Arc::make_mut(&mut items).extend(other.items());
        Self(Repr::Owned(items, None))
    }

    fn into_owned(self) -> Arc<Vec<Val<'a>>> {
        match self.0 {
            Repr::Owned(items, _) => items,
            Repr::View(..) => Arc::new(self.items().collect()),
        }
    }
}
