//! The macros: calls that are written out while the source is read. Source: cel-go `parser/macro.go`,
//! `ext/comprehensions.go`, `ext/lists.go`, `cel/library.go`.

use super::Parser;
use super::build::call;
use crate::ast::operators::{ADD, AND, CONDITIONAL, EQUALS, MAP_INSERT, NOT, NOT_STRICTLY_FALSE, OR, RESULT};
use crate::ast::{Entry, Expr, Fold, Id, Kind, List, Literal, Select, StructField};

/// The variable that an expression within another shadows and that nothing refers to.
const UNUSED: &str = "#unused";

/// Nodes of a tree that macros may copy parts of: a chain of `optMap` doubles with each.
const MAX_NODES: usize = 100_000;

/// A call that is no macro, given back.
type NotExpanded = (Option<Expr>, Vec<Expr>);

/// What is wrong with the arguments of a macro, and where.
type Wrong = (Id, String);

/// Writes nodes that belong to a macro call.
struct Writer<'p, 's> {
    parser: &'p mut Parser<'s>,
    offset: u32,
}

impl Parser<'_> {
    /// Writes out a macro, or gives back what is an ordinary call.
    pub(super) fn expand(
        &mut self,
        id: Id,
        function: &str,
        target: Option<Expr>,
        args: Vec<Expr>,
    ) -> Result<Expr, NotExpanded> {
        let offset = self.offset(id);
        let mut writer = Writer { parser: self, offset };
        let expanded = match (function, target, args.len()) {
            ("has", None, 1) => writer.has(args),
            ("all" | "exists" | "exists_one", Some(target), 2 | 3) | ("existsOne", Some(target), 3) => {
                writer.quantifier(function, target, args)
            }
            ("map", Some(target), 2 | 3) => writer.map(target, args),
            ("filter", Some(target), 2) => writer.filter(target, args),
            ("optMap" | "optFlatMap", Some(target), 2) => writer.opt_map(function, target, args),
            ("sortBy", Some(target), 2) => writer.sort_by(target, args),
            ("transformList" | "transformMap" | "transformMapEntry", Some(target), 3 | 4) => {
                writer.transform(function, target, args)
            }
            (_, target, _) => return Err((target, args)),
        };
        Ok(expanded.unwrap_or_else(|(at, message)| {
            let offset = self.offset(at);
            self.issues.report(Some(offset), message);
            let id = self.id(offset);
            Expr { id, kind: Kind::Unspecified }
        }))
    }
}

/// The name of a variable, if that is all the expression is.
fn variable(expr: &Expr, message: &str) -> Result<Box<str>, Wrong> {
    match &expr.kind {
        Kind::Ident(name) => Ok(name.clone()),
        _ => Err((expr.id, message.to_owned())),
    }
}

fn not_accumulator(expr: &Expr, name: &str) -> Result<(), Wrong> {
    if name == RESULT || name == "__result__" {
        return Err((expr.id, "iteration variable overwrites accumulator variable".to_owned()));
    }
    Ok(())
}

/// The variables of a macro with one, and the rest of its arguments.
fn one_variable(args: Vec<Expr>, message: &str) -> Result<(Box<str>, Expr, Vec<Expr>), Wrong> {
    let mut args = args.into_iter();
    let Some(first) = args.next() else { return Err((0, message.to_owned())) };
    let name = variable(&first, message)?;
    not_accumulator(&first, &name)?;
    Ok((name, first, args.collect()))
}

/// Two variables of a macro.
type Pair = (Box<str>, Box<str>);

/// The variables of a macro with two, and the rest of its arguments.
fn two_variables(args: Vec<Expr>) -> Result<(Pair, Vec<Expr>), Wrong> {
    const SIMPLE: &str = "argument must be a simple name";
    let mut args = args.into_iter();
    let (Some(first), Some(second)) = (args.next(), args.next()) else { return Err((0, SIMPLE.to_owned())) };
    let (name, name2) = (variable(&first, SIMPLE)?, variable(&second, SIMPLE)?);
    if name == name2 {
        return Err((second.id, format!("duplicate variable name: {name}")));
    }
    not_accumulator(&first, &name)?;
    not_accumulator(&second, &name2)?;
    Ok(((name, name2), args.collect()))
}

/// The last argument, and the one before it if there are two.
fn filter_and_last(args: Vec<Expr>) -> Option<(Option<Expr>, Expr)> {
    let mut args = args.into_iter();
    match (args.next(), args.next()) {
        (Some(filter), Some(last)) => Some((Some(filter), last)),
        (Some(last), None) => Some((None, last)),
        _ => None,
    }
}

impl Writer<'_, '_> {
    fn node(&mut self, kind: Kind) -> Expr {
        let id = self.parser.id(self.offset);
        Expr { id, kind }
    }

    fn literal(&mut self, literal: Literal) -> Expr {
        self.node(Kind::Literal(literal))
    }

    fn ident(&mut self, name: &str) -> Expr {
        self.node(Kind::Ident(name.into()))
    }

    fn result(&mut self) -> Expr {
        self.ident(RESULT)
    }

    fn list(&mut self, elements: Vec<Expr>) -> Expr {
        self.node(Kind::List(Box::new(List { elements, optional: Vec::new() })))
    }

    fn call(&mut self, function: &str, args: Vec<Expr>) -> Expr {
        let id = self.parser.id(self.offset);
        call(id, function, None, args)
    }

    fn member(&mut self, function: &str, target: Expr, args: Vec<Expr>) -> Expr {
        let id = self.parser.id(self.offset);
        call(id, function, Some(target), args)
    }

    fn fold(&mut self, fold: Fold) -> Expr {
        self.node(Kind::Fold(Box::new(fold)))
    }

    /// `filter ? step : @result`, or just the step.
    fn filtered(&mut self, filter: Option<Expr>, step: Expr) -> Expr {
        let Some(filter) = filter else { return step };
        let otherwise = self.result();
        self.call(CONDITIONAL, vec![filter, step, otherwise])
    }

    fn has(&mut self, args: Vec<Expr>) -> Result<Expr, Wrong> {
        match args.into_iter().next().map(|arg| (arg.id, arg.kind)) {
            Some((_, Kind::Select(select))) => {
                Ok(self.node(Kind::Select(Box::new(Select { is_test: true, ..*select }))))
            }
            other => Err((other.map_or(0, |(id, _)| id), "invalid argument to has() macro".to_owned())),
        }
    }

    fn quantifier(&mut self, function: &str, range: Expr, args: Vec<Expr>) -> Result<Expr, Wrong> {
        let (var, var2, rest) = if args.len() == 3 {
            let ((var, var2), rest) = two_variables(args)?;
            (var, Some(var2), rest)
        } else {
            let (var, _, rest) = one_variable(args, "argument must be a simple name")?;
            (var, None, rest)
        };
        let predicate = rest.into_iter().next().unwrap_or(Expr { id: 0, kind: Kind::Unspecified });
        let (init, condition, step, result) = match function {
            "all" => {
                let init = self.literal(Literal::Bool(true));
                let result = self.result();
                let condition = self.call(NOT_STRICTLY_FALSE, vec![result]);
                let result = self.result();
                let step = self.call(AND, vec![result, predicate]);
                (init, condition, step, self.result())
            }
            "exists" => {
                let init = self.literal(Literal::Bool(false));
                let result = self.result();
                let not = self.call(NOT, vec![result]);
                let condition = self.call(NOT_STRICTLY_FALSE, vec![not]);
                let result = self.result();
                let step = self.call(OR, vec![result, predicate]);
                (init, condition, step, self.result())
            }
            _ => {
                let init = self.literal(Literal::Int(0));
                let condition = self.literal(Literal::Bool(true));
                let (result, one) = (self.result(), self.literal(Literal::Int(1)));
                let more = self.call(ADD, vec![result, one]);
                let step = self.filtered(Some(predicate), more);
                let (result, one) = (self.result(), self.literal(Literal::Int(1)));
                (init, condition, step, self.call(EQUALS, vec![result, one]))
            }
        };
        Ok(self.fold(Fold { range, var, var2, accu: RESULT.into(), init, condition, step, result }))
    }

    /// A fold that collects into a list or a map.
    fn collect(
        &mut self,
        range: Expr,
        (var, var2): (Box<str>, Option<Box<str>>),
        init: Expr,
        filter: Option<Expr>,
        step: Expr,
    ) -> Expr {
        let condition = self.literal(Literal::Bool(true));
        let step = self.filtered(filter, step);
        let result = self.result();
        self.fold(Fold { range, var, var2, accu: RESULT.into(), init, condition, step, result })
    }

    fn append(&mut self, element: Expr) -> Expr {
        let result = self.result();
        let list = self.list(vec![element]);
        self.call(ADD, vec![result, list])
    }

    fn map(&mut self, range: Expr, args: Vec<Expr>) -> Result<Expr, Wrong> {
        const IDENTIFIER: &str = "argument is not an identifier";
        let (var, _, rest) = one_variable(args, IDENTIFIER)?;
        let (filter, transform) = filter_and_last(rest).ok_or((0, IDENTIFIER.to_owned()))?;
        let init = self.list(Vec::new());
        let step = self.append(transform);
        Ok(self.collect(range, (var, None), init, filter, step))
    }

    fn filter(&mut self, range: Expr, args: Vec<Expr>) -> Result<Expr, Wrong> {
        let (var, element, rest) = one_variable(args, "argument is not an identifier")?;
        let init = self.list(Vec::new());
        let step = self.append(element);
        Ok(self.collect(range, (var, None), init, rest.into_iter().next(), step))
    }

    fn transform(&mut self, function: &str, range: Expr, args: Vec<Expr>) -> Result<Expr, Wrong> {
        let ((var, var2), rest) = two_variables(args)?;
        let (filter, transform) = filter_and_last(rest).ok_or((0, String::new()))?;
        let (init, step) = match function {
            "transformList" => {
                let init = self.list(Vec::new());
                (init, self.append(transform))
            }
            "transformMap" => {
                let init = self.node(Kind::Map(Vec::new()));
                let (result, key) = (self.result(), self.ident(&var));
                (init, self.call(MAP_INSERT, vec![result, key, transform]))
            }
            _ => {
                let init = self.node(Kind::Map(Vec::new()));
                let result = self.result();
                (init, self.call(MAP_INSERT, vec![result, transform]))
            }
        };
        Ok(self.collect(range, (var, Some(var2)), init, filter, step))
    }

    /// Binds a variable to a value in an expression.
    fn bind(&mut self, name: &str, value: Expr, within: Expr) -> Expr {
        let range = self.list(Vec::new());
        let condition = self.literal(Literal::Bool(false));
        let step = self.ident(name);
        self.fold(Fold {
            range,
            var: UNUSED.into(),
            var2: None,
            accu: name.into(),
            init: value,
            condition,
            step,
            result: within,
        })
    }

    fn opt_map(&mut self, function: &str, target: Expr, args: Vec<Expr>) -> Result<Expr, Wrong> {
        let message = format!("{function}() variable name must be a simple identifier");
        let mut args = args.into_iter();
        let (Some(name), Some(transform)) = (args.next(), args.next()) else { return Err((0, message)) };
        let name = variable(&name, &message)?;
        if self.parser.offsets.len() > MAX_NODES {
            return Err((target.id, "expression is too large".to_owned()));
        }
        let copy = self.copy(&target);
        let has_value = self.member("hasValue", target, Vec::new());
        let value = self.member("value", copy, Vec::new());
        let bound = self.bind(&name, value, transform);
        let some = if function == "optMap" { self.call("optional.of", vec![bound]) } else { bound };
        let none = self.call("optional.none", Vec::new());
        Ok(self.call(CONDITIONAL, vec![has_value, some, none]))
    }

    /// Sorts by what an expression makes of each element: the keys are made first, then both are sorted together.
    fn sort_by(&mut self, target: Expr, args: Vec<Expr>) -> Result<Expr, Wrong> {
        const INPUT: &str = "@__sortBy_input__";
        if matches!(target.kind, Kind::Literal(_) | Kind::Map(_) | Kind::Struct(_) | Kind::Unspecified) {
            let message =
                "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            return Err((target.id, message.to_owned()));
        }
        let range = self.ident(INPUT);
        let keys = self.map(range, args)?;
        let input = self.ident(INPUT);
        let call = self.member("@sortByAssociatedKeys", input, vec![keys]);
        Ok(self.bind(INPUT, target, call))
    }

    /// The same expression with new numbers, at the same places.
    fn copy(&mut self, expr: &Expr) -> Expr {
        let mut copied = expr.clone();
        self.renumber(&mut copied);
        copied
    }

    fn renumber(&mut self, expr: &mut Expr) {
        let offset = self.parser.offset(expr.id);
        expr.id = self.parser.id(offset);
        match &mut expr.kind {
            Kind::Unspecified | Kind::Literal(_) | Kind::Ident(_) => {}
            Kind::Select(select) => self.renumber(&mut select.operand),
            Kind::Call(call) => {
                call.target.iter_mut().chain(&mut call.args).for_each(|expr| self.renumber(expr));
            }
            Kind::List(list) => list.elements.iter_mut().for_each(|expr| self.renumber(expr)),
            Kind::Map(entries) => {
                for Entry { key, value, .. } in entries {
                    self.renumber(key);
                    self.renumber(value);
                }
            }
            Kind::Struct(message) => {
                for StructField { id, value, .. } in &mut message.fields {
                    let offset = self.parser.offset(*id);
                    *id = self.parser.id(offset);
                    self.renumber(value);
                }
            }
            Kind::Fold(fold) => {
                let Fold { range, init, condition, step, result, .. } = &mut **fold;
                [range, init, condition, step, result].into_iter().for_each(|expr| self.renumber(expr));
            }
        }
    }
}
