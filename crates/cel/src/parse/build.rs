//! Nodes from what the grammar has read.

use super::Parser;
use crate::ast::{Call, Expr, Id, Kind, Select};

impl Parser<'_> {
    /// A token fits: errors are reported again.
    pub(super) fn recovery_match(&mut self) {
        self.recovery.matched();
    }

    pub(super) fn select(&mut self, id: Id, operand: Expr, field: Box<str>) -> Expr {
        Expr { id, kind: Kind::Select(Box::new(Select { operand, field, is_test: false })) }
    }

    pub(super) fn global_call(&mut self, id: Id, function: &str, args: Vec<Expr>) -> Expr {
        match self.expand(id, function, None, args) {
            Ok(expanded) => expanded,
            Err((_, args)) => call(id, function, None, args),
        }
    }

    pub(super) fn member_call(&mut self, id: Id, function: &str, target: Expr, args: Vec<Expr>) -> Expr {
        match self.expand(id, function, Some(target), args) {
            Ok(expanded) => expanded,
            Err((target, args)) => call(id, function, target, args),
        }
    }

    /// Puts terms between operators into a tree as flat as possible; upstream does the same, which decides what is
    /// evaluated first.
    pub(super) fn balanced(
        &mut self,
        function: &'static str,
        terms: &mut [Option<Expr>],
        ids: &[Id],
        low: usize,
    ) -> Expr {
        let middle = ids.len() / 2;
        let (left_ids, rest) = ids.split_at(middle);
        let (id, right_ids) = rest.split_first().map_or((0, rest), |(id, rest)| (*id, rest));
        let left = self.side(function, terms, left_ids, low);
        let right = self.side(function, terms, right_ids, low + middle + 1);
        call(id, function, None, vec![left, right])
    }

    fn side(&mut self, function: &'static str, terms: &mut [Option<Expr>], ids: &[Id], low: usize) -> Expr {
        if ids.is_empty() {
            let taken = terms.get_mut(low).and_then(Option::take);
            return taken.unwrap_or(Expr { id: 0, kind: Kind::Unspecified });
        }
        self.balanced(function, terms, ids, low)
    }
}

pub(super) fn call(id: Id, function: &str, target: Option<Expr>, args: Vec<Expr>) -> Expr {
    Expr { id, kind: Kind::Call(Box::new(Call { function: function.into(), target, args })) }
}
