//! What an expression may cost, before it runs: a walk over the checked tree with ranges of sizes.

use std::collections::HashMap;
use std::rc::Rc;

use super::calls::{LIST_COST, MAP_COST, STRING_FACTOR, STRUCT_COST};
use super::functions;
use crate::ast::{Call, Entry, Expr, Fold, Id, Kind, List, Literal, Select, operators};
use crate::check::Checked;
use crate::estimate::{CostEstimate, SizeEstimate, SizeEstimator};
use crate::types::Type;

/// What the expression may cost.
pub(crate) fn estimate(checked: &Checked, sizes: &dyn SizeEstimator) -> CostEstimate {
    let mut coster = Coster {
        checked,
        sizes,
        paths: HashMap::new(),
        computed: HashMap::new(),
        entries: HashMap::new(),
        locals: Vec::new(),
    };
    coster.cost(&checked.root)
}

/// From a variable to a part of it.
pub(super) type Steps<'a> = Rc<[&'a str]>;

/// The sizes of the keys and values of a list or map that is made.
#[derive(Clone, Copy)]
struct Entries {
    is_list: bool,
    key: SizeEstimate,
    value: SizeEstimate,
}

impl Entries {
    fn union(self, other: Self) -> Self {
        Self { is_list: self.is_list, key: self.key.union(other.key), value: self.value.union(other.value) }
    }
}

struct Local<'a> {
    name: &'a str,
    path: Steps<'a>,
    size: Option<SizeEstimate>,
    entries: Option<Entries>,
}

/// A target or an argument of a call, as functions look at it.
pub(super) struct Node<'a> {
    pub(super) path: Steps<'a>,
    pub(super) ty: &'a Type,
    pub(super) expr: Option<&'a Expr>,
    /// What the tree itself says of the size.
    pub(super) computed: Option<SizeEstimate>,
}

impl Node<'_> {
    /// The size, with the help of what is known of the variables.
    pub(super) fn size(&self, sizes: &dyn SizeEstimator) -> SizeEstimate {
        self.computed
            .or_else(|| if self.path.is_empty() { None } else { sizes.estimate_size(&self.path, self.ty) })
            .unwrap_or(SizeEstimate::UNKNOWN)
    }

    /// The whole number that it is, if it is written down. Negative ones are taken for 0.
    pub(super) fn literal(&self) -> Option<u64> {
        match self.expr?.kind {
            Kind::Literal(Literal::Int(number)) => Some(u64::try_from(number).unwrap_or_default()),
            _ => None,
        }
    }
}

struct Coster<'a> {
    checked: &'a Checked,
    sizes: &'a dyn SizeEstimator,
    paths: HashMap<Id, Steps<'a>>,
    /// Sizes of nodes that were found out already.
    computed: HashMap<Id, SizeEstimate>,
    entries: HashMap<Id, Entries>,
    locals: Vec<Local<'a>>,
}

impl<'a> Coster<'a> {
    fn cost(&mut self, expr: &'a Expr) -> CostEstimate {
        match &expr.kind {
            Kind::Unspecified | Kind::Literal(_) => CostEstimate::fixed(0),
            Kind::Ident(name) => {
                let path = match self.local(name) {
                    Some(local) => Rc::clone(&local.path),
                    None => Rc::from([&**name]),
                };
                self.paths.insert(expr.id, path);
                CostEstimate::fixed(1)
            }
            Kind::Select(select) => self.select(expr, select),
            Kind::Call(call) => self.call(expr, call),
            Kind::List(list) => self.list(expr, list),
            Kind::Map(entries) => self.map(expr, entries),
            Kind::Struct(message) => message
                .fields
                .iter()
                .fold(CostEstimate::fixed(0), |sum, field| sum.add(self.cost(&field.value)))
                .add(CostEstimate::fixed(STRUCT_COST)),
            Kind::Fold(fold) if is_bind(fold) => self.bind(expr, fold),
            Kind::Fold(fold) => self.fold(expr, fold),
        }
    }

    fn select(&mut self, expr: &'a Expr, select: &'a Select) -> CostEstimate {
        let mut sum = self.cost(&select.operand);
        if select.is_test {
            return sum;
        }
        let ty = self.checked.ty(select.operand.id);
        let has_fields = match ty {
            Type::Map(_) | Type::Object(_) | Type::Patch(_) | Type::Param(_) => true,
            Type::Host(host) => !host.is_opaque,
            _ => false,
        };
        if has_fields {
            sum = sum.add(CostEstimate::fixed(1));
        }
        let path = self.path_then(&select.operand, &select.field);
        self.paths.insert(expr.id, path);
        sum
    }

    fn call(&mut self, expr: &'a Expr, call: &'a Call) -> CostEstimate {
        // Only switches the checker off.
        if &*call.function == "dyn"
            && let Some(arg) = call.args.first()
        {
            let cost = self.cost(arg);
            self.copy_sizes(expr, arg);
            return cost.add(CostEstimate::fixed(1));
        }
        let mut costs = Vec::with_capacity(call.args.len());
        let mut args = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            costs.push(self.cost(arg));
            args.push(self.node(arg));
        }
        let overloads = self.checked.overloads(expr.id);
        if overloads.is_empty() {
            return CostEstimate::fixed(0);
        }
        let mut sum = CostEstimate::fixed(0);
        let mut target = None;
        if let Some(operand) = &call.target {
            sum = self.cost(operand);
            target = Some(self.node(operand));
        }
        let mut total = CostEstimate { min: u64::MAX, max: 0 };
        let mut size: Option<SizeEstimate> = None;
        for overload in overloads.iter().copied() {
            let (cost, result) = self.overload(expr, call, overload, target.as_ref(), &args, &costs);
            total = total.union(cost);
            size = match (size, result) {
                (Some(size), Some(result)) => Some(size.union(result)),
                (size, result) => size.or(result),
            };
            let part = match overload {
                "index_list" => Some("@items"),
                "index_map" => Some("@values"),
                _ => None,
            };
            if let Some((part, operand)) = part.zip(call.args.first()) {
                size = self.entries_of(operand).map(|entries| entries.value);
                let path = self.path_then(operand, part);
                self.paths.insert(expr.id, path);
            }
            if size.is_none() {
                size = self.size(expr);
            }
        }
        self.set_size(expr, size);
        sum.add(total)
    }

    /// The cost of a call with that of its arguments, and the size of its result.
    fn overload(
        &mut self,
        expr: &'a Expr,
        call: &'a Call,
        overload: &str,
        target: Option<&Node<'a>>,
        args: &[Node<'a>],
        costs: &[CostEstimate],
    ) -> (CostEstimate, Option<SizeEstimate>) {
        let all = costs.iter().fold(CostEstimate::fixed(0), |sum, cost| sum.add(*cost));
        if let Some((cost, size)) = functions::of_library(&call.function, overload, target, args, self.sizes)
        {
            return (cost.add(all), size);
        }
        // As upstream, what is known of variables has been asked for when the node was looked at.
        let known = |node: &Node<'_>| node.computed.unwrap_or(SizeEstimate::UNKNOWN);
        match (overload, call.args.as_slice(), args) {
            ("logical_and" | "logical_or", _, _) => {
                let (Some(left), Some(right)) = (costs.first(), costs.get(1)) else { return (all, None) };
                (CostEstimate { min: left.min, max: left.add(*right).max }, None)
            }
            ("conditional", [_, yes, no], [_, yes_node, no_node]) => {
                let size = known(yes_node).union(known(no_node));
                if let Some((yes, no)) = self.entries_of(yes).zip(self.entries_of(no)) {
                    self.entries.insert(expr.id, yes.union(no));
                }
                let branches = costs.iter().skip(1).copied().reduce(CostEstimate::union);
                let condition = costs.first().copied().unwrap_or(CostEstimate::fixed(0));
                (condition.add(branches.unwrap_or(CostEstimate::fixed(0))), Some(size))
            }
            ("add_string" | "add_bytes" | "add_list", [left, right], [left_node, right_node]) => {
                let size = known(left_node).add(known(right_node));
                if let Some((left, right)) = self.entries_of(left).zip(self.entries_of(right)) {
                    self.entries.insert(expr.id, left.union(right));
                }
                let cost = if overload == "add_list" {
                    CostEstimate::fixed(1)
                } else {
                    size.by_factor(STRING_FACTOR)
                };
                (cost.add(all), Some(size))
            }
            _ => {
                let (cost, size) = functions::of_language(overload, target, args, known);
                (cost.add(all), size)
            }
        }
    }

    fn list(&mut self, expr: &'a Expr, list: &'a List) -> CostEstimate {
        let mut sum = CostEstimate::fixed(LIST_COST);
        let mut value = None;
        for item in &list.elements {
            sum = sum.add(self.cost(item));
            value = widen(value, self.size_or_unknown(item));
        }
        let value = value.unwrap_or(SizeEstimate::fixed(0));
        self.entries.insert(expr.id, Entries { is_list: true, key: SizeEstimate::fixed(1), value });
        sum
    }

    fn map(&mut self, expr: &'a Expr, entries: &'a [Entry]) -> CostEstimate {
        let mut sum = CostEstimate::fixed(MAP_COST);
        let (mut key, mut value) = (None, None);
        for entry in entries {
            sum = sum.add(self.cost(&entry.key)).add(self.cost(&entry.value));
            key = widen(key, self.size_or_unknown(&entry.key));
            value = widen(value, self.size_or_unknown(&entry.value));
        }
        let none = SizeEstimate::fixed(0);
        let entries = Entries { is_list: false, key: key.unwrap_or(none), value: value.unwrap_or(none) };
        self.entries.insert(expr.id, entries);
        sum
    }

    fn fold(&mut self, expr: &'a Expr, fold: &'a Fold) -> CostEstimate {
        let mut sum = self.cost(&fold.range).add(self.cost(&fold.init));
        self.push_local(&fold.accu, &fold.init);
        let pushed = match &fold.var2 {
            Some(value) => {
                self.push_entry(&fold.var, &fold.range, true, true);
                self.push_entry(value, &fold.range, false, true);
                2
            }
            None => {
                // The one variable stands for the items of a list and for the keys of a map.
                let is_key = !self.is_list(&fold.range);
                self.push_entry(&fold.var, &fold.range, is_key, false);
                1
            }
        };
        let each = self.cost(&fold.condition);
        let each = self.cost(&fold.step).add(each);
        self.locals.truncate(self.locals.len().saturating_sub(pushed));
        sum = sum.add(self.cost(&fold.result));
        self.locals.pop();
        let count = self.size_or_unknown(&fold.range);
        sum = sum.add(count.times_cost(each));
        match fold.init.kind {
            Kind::Literal(_) => {
                let size = self.size(&fold.init);
                self.set_size(expr, size);
            }
            Kind::List(_) | Kind::Map(_) => {
                self.set_size(expr, Some(count));
                if let Some(entries) = self.entries_of(&fold.step) {
                    self.entries.insert(expr.id, entries);
                }
            }
            _ => {}
        }
        sum
    }

    fn bind(&mut self, expr: &'a Expr, fold: &'a Fold) -> CostEstimate {
        let sum = self.cost(&fold.range).add(self.cost(&fold.init));
        self.push_local(&fold.accu, &fold.init);
        let sum = sum.add(self.cost(&fold.result));
        self.locals.pop();
        self.copy_sizes(expr, &fold.result);
        sum
    }

    fn push_local(&mut self, name: &'a str, init: &'a Expr) {
        let path = self.path(init);
        let entries = self.entries_of(init);
        let size = self.size(init);
        self.locals.push(Local { name, path, size, entries });
    }

    fn push_entry(&mut self, name: &'a str, range: &'a Expr, is_key: bool, has_two: bool) {
        let entries = self.entries_of(range);
        // Upstream writes the last step of both paths to the same place, unless there is no room behind the steps before: a
        // slice of Go has room for as many as a power of two. What is known of the values is then taken for the keys.
        let steps = self.path(range).len();
        let is_overwritten = has_two && steps > 0 && !steps.is_power_of_two();
        let part = match (self.is_list(range), is_key && !is_overwritten) {
            (true, true) => "@indices",
            (true, false) => "@items",
            (false, true) => "@keys",
            (false, false) => "@values",
        };
        let path = self.path_then(range, part);
        let size = entries.map(|entries| if is_key { entries.key } else { entries.value });
        self.locals.push(Local { name, path, size, entries: None });
    }

    fn is_list(&self, range: &Expr) -> bool {
        match self.entries_of(range) {
            Some(entries) => entries.is_list,
            None => matches!(self.checked.ty(range.id), Type::List(_)),
        }
    }

    fn local(&self, name: &str) -> Option<&Local<'a>> {
        self.locals.iter().rfind(|local| local.name == name)
    }

    fn path(&self, expr: &Expr) -> Steps<'a> {
        if let Kind::Ident(name) = &expr.kind
            && let Some(local) = self.local(name)
        {
            return Rc::clone(&local.path);
        }
        self.paths.get(&expr.id).map_or_else(|| Rc::from([]), Rc::clone)
    }

    fn path_then(&self, expr: &Expr, step: &'a str) -> Steps<'a> {
        self.path(expr).iter().copied().chain([step]).collect()
    }

    fn node(&mut self, expr: &'a Expr) -> Node<'a> {
        let mut path = self.path(expr);
        if path.first() == Some(&operators::RESULT) {
            path = Rc::from([]);
        }
        Node { path, ty: self.checked.ty(expr.id), expr: Some(expr), computed: self.size(expr) }
    }

    fn set_size(&mut self, expr: &Expr, size: Option<SizeEstimate>) {
        if let Some(size) = size {
            self.computed.insert(expr.id, size);
        }
    }

    fn copy_sizes(&mut self, to: &Expr, from: &Expr) {
        let size = self.size(from);
        self.set_size(to, size);
        if let Some(entries) = self.entries_of(from) {
            self.entries.insert(to.id, entries);
        }
    }

    fn size_or_unknown(&mut self, expr: &Expr) -> SizeEstimate {
        self.size(expr).unwrap_or(SizeEstimate::UNKNOWN)
    }

    fn size(&mut self, expr: &Expr) -> Option<SizeEstimate> {
        if let Some(size) = self.computed.get(&expr.id) {
            return Some(*size);
        }
        if let Some(size) = written_size(expr) {
            return Some(SizeEstimate::fixed(size));
        }
        let ty = self.checked.ty(expr.id);
        let path = self.path(expr);
        if !path.is_empty()
            && let Some(size) = self.sizes.estimate_size(&path, ty)
        {
            self.computed.insert(expr.id, size);
            return Some(size);
        }
        if is_scalar(ty) {
            return Some(SizeEstimate::fixed(1));
        }
        if let Kind::Ident(name) = &expr.kind {
            return self.local(name).and_then(|local| local.size);
        }
        None
    }

    fn entries_of(&self, expr: &Expr) -> Option<Entries> {
        if let Some(entries) = self.entries.get(&expr.id) {
            return Some(*entries);
        }
        match &expr.kind {
            Kind::Ident(name) => self.local(name).and_then(|local| local.entries),
            _ => None,
        }
    }
}

/// Whether the comprehension only gives a value a name.
fn is_bind(fold: &Fold) -> bool {
    matches!(&fold.range.kind, Kind::List(list) if list.elements.is_empty())
        && fold.condition.kind == Kind::Literal(Literal::Bool(false))
}

fn widen(known: Option<SizeEstimate>, size: SizeEstimate) -> Option<SizeEstimate> {
    Some(known.map_or(size, |known| known.union(size)))
}

/// The size of what is written down.
fn written_size(expr: &Expr) -> Option<u64> {
    Some(match &expr.kind {
        Kind::Literal(Literal::String(text)) => text.chars().count() as u64,
        Kind::Literal(Literal::Bytes(bytes)) => bytes.len() as u64,
        Kind::Literal(_) => 1,
        Kind::List(list) => list.elements.len() as u64,
        Kind::Map(entries) => entries.len() as u64,
        _ => return None,
    })
}

fn is_scalar(ty: &Type) -> bool {
    match ty.unwrapped() {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        Type::Optional(inner) => is_scalar(inner),
        _ => false,
    }
}
