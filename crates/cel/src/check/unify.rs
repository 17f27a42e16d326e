//! Which types agree, and what free types become by it. Source: cel-go `checker/types.go`.

use std::sync::Arc;

use crate::types::{Param, Type};

/// What free types were found to be. Changes can be taken back.
#[derive(Default)]
pub(super) struct Bindings {
    /// By the number of the free type.
    bound: Vec<Option<Type>>,
    /// What was there before each change.
    trail: Vec<(u32, Option<Type>)>,
}

impl Bindings {
    /// A free type that nothing is known of.
    pub(super) fn fresh(&mut self) -> Type {
        let number = u32::try_from(self.bound.len()).unwrap_or(u32::MAX);
        self.bound.push(None);
        Type::Param(Param::Free(number))
    }

    fn find(&self, ty: &Type) -> Option<&Type> {
        match ty {
            Type::Param(Param::Free(number)) => self.bound.get(*number as usize)?.as_ref(),
            _ => None,
        }
    }

    fn bind(&mut self, ty: &Type, to: Type) {
        if let Type::Param(Param::Free(number)) = ty
            && let Some(place) = self.bound.get_mut(*number as usize)
        {
            self.trail.push((*number, place.replace(to)));
        }
    }

    /// Whether all types agree with their counterparts. If they do not, nothing is learned from the attempt.
    pub(super) fn assignable_all(&mut self, from: &[Type], to: &[Type]) -> bool {
        let mark = self.trail.len();
        let agree = from.len() == to.len() && from.iter().zip(to).all(|(from, to)| self.unify(from, to));
        if !agree {
            self.roll_back(mark);
        }
        agree
    }

    pub(super) fn assignable(&mut self, from: &Type, to: &Type) -> bool {
        let mark = self.trail.len();
        let agree = self.unify(from, to);
        if !agree {
            self.roll_back(mark);
        }
        agree
    }

    fn roll_back(&mut self, mark: usize) {
        while self.trail.len() > mark {
            let Some((number, before)) = self.trail.pop() else { return };
            if let Some(place) = self.bound.get_mut(number as usize) {
                *place = before;
            }
        }
    }

    fn unify(&mut self, a: &Type, b: &Type) -> bool {
        if matches!(b, Type::Param(_)) {
            let (is_valid, is_bound) = self.substitutes(a, b);
            if is_valid {
                return true;
            }
            if is_bound {
                return false;
            }
        }
        if matches!(a, Type::Param(_)) {
            return self.substitutes(b, a).0;
        }
        if a.is_dyn_or_error() || b.is_dyn_or_error() {
            return true;
        }
        match (a, b) {
            (Type::Null, other) | (other, Type::Null) => is_nullable(other),
            (Type::Type(_), _) => matches!(b, Type::Type(_)),
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.unify(a, b),
            (Type::Map(a), Type::Map(b)) => self.unify(&a.0, &b.0) && self.unify(&a.1, &b.1),
            (a, b) => a == b,
        }
    }

    /// Whether `ty` can stand for the free type `param`, and whether that one is bound already.
    fn substitutes(&mut self, ty: &Type, param: &Type) -> (bool, bool) {
        if ty == param {
            return (true, true);
        }
        if let Some(known) = self.find(param).cloned() {
            if *ty == known {
                return (true, true);
            }
            if self.unify(ty, &known) {
                let general = most_general(ty, &known).clone();
                if self.is_not_within(param, &general) {
                    self.bind(param, general);
                }
                return (true, true);
            }
            return (false, true);
        }
        if self.is_not_within(param, ty) {
            self.bind(param, ty.clone());
            return (true, false);
        }
        (false, false)
    }

    /// Whether a free type is no part of another type, so that no type contains itself.
    fn is_not_within(&self, param: &Type, within: &Type) -> bool {
        if param == within {
            return false;
        }
        match within {
            Type::Param(_) => self.find(within).is_none_or(|known| self.is_not_within(param, known)),
            Type::List(inner) | Type::Optional(inner) | Type::Type(Some(inner)) => {
                self.is_not_within(param, inner)
            }
            Type::Map(map) => self.is_not_within(param, &map.0) && self.is_not_within(param, &map.1),
            _ => true,
        }
    }

    /// The type with all that is known filled in; what is not known becomes dynamic if so asked.
    pub(super) fn substitute(&self, ty: &Type, free_to_dyn: bool) -> Type {
        if let Some(known) = self.find(ty) {
            return self.substitute(known, free_to_dyn);
        }
        match ty {
            Type::Param(_) if free_to_dyn => Type::Dyn,
            Type::List(inner) => Type::List(self.substituted(inner, free_to_dyn)),
            Type::Optional(inner) => Type::Optional(self.substituted(inner, free_to_dyn)),
            Type::Type(Some(inner)) => Type::Type(Some(self.substituted(inner, free_to_dyn))),
            Type::Map(map) if !is_closed(&map.0) || !is_closed(&map.1) => {
                Type::map(self.substitute(&map.0, free_to_dyn), self.substitute(&map.1, free_to_dyn))
            }
            ty => ty.clone(),
        }
    }

    fn substituted(&self, inner: &Arc<Type>, free_to_dyn: bool) -> Arc<Type> {
        if is_closed(inner) { Arc::clone(inner) } else { Arc::new(self.substitute(inner, free_to_dyn)) }
    }

    /// A signature with its parameters replaced by free types.
    pub(super) fn instantiate(&mut self, types: &[Type]) -> Vec<Type> {
        let mut params: Vec<(&'static str, Type)> = Vec::new();
        types.iter().map(|ty| self.instantiated(ty, &mut params)).collect()
    }

    fn instantiated(&mut self, ty: &Type, params: &mut Vec<(&'static str, Type)>) -> Type {
        match ty {
            Type::Param(Param::Declared(name)) => {
                if let Some((_, known)) = params.iter().find(|(known, _)| known == name) {
                    return known.clone();
                }
                let fresh = self.fresh();
                params.push((name, fresh.clone()));
                fresh
            }
            Type::List(inner) => Type::list(self.instantiated(inner, params)),
            Type::Optional(inner) => Type::optional(self.instantiated(inner, params)),
            Type::Type(Some(inner)) => Type::Type(Some(Arc::new(self.instantiated(inner, params)))),
            Type::Map(map) => Type::map(self.instantiated(&map.0, params), self.instantiated(&map.1, params)),
            ty => ty.clone(),
        }
    }
}

/// Whether a type has no free types in it.
fn is_closed(ty: &Type) -> bool {
    match ty {
        Type::Param(_) => false,
        Type::List(inner) | Type::Optional(inner) | Type::Type(Some(inner)) => is_closed(inner),
        Type::Map(map) => is_closed(&map.0) && is_closed(&map.1),
        _ => true,
    }
}

fn is_nullable(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Null
            | Type::Wrapper(_)
            | Type::Optional(_)
            | Type::Host(_)
            | Type::Object(_)
            | Type::Patch(_)
            | Type::Duration
            | Type::Timestamp
            | Type::Any
            | Type::Dyn
    )
}

/// Of two types that agree, the one that says less.
pub(super) fn most_general<'t>(a: &'t Type, b: &'t Type) -> &'t Type {
    if says_no_more(a, b) { a } else { b }
}

fn says_no_more(a: &Type, b: &Type) -> bool {
    if a.is_dyn() || matches!(a, Type::Param(_)) {
        return true;
    }
    if b.is_dyn() || matches!(b, Type::Param(_)) {
        return false;
    }
    match (a, b) {
        (Type::Type(_), Type::Type(_)) => true,
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => says_no_more(a, b),
        (Type::Map(a), Type::Map(b)) => says_no_more(&a.0, &b.0) && says_no_more(&a.1, &b.1),
        (a, b) => a == b,
    }
}
