//! The type checker: what names mean, which overloads a call may have, and the type of every node.
//! Source: cel-go `checker/checker.go`, `checker/env.go`.

mod formats;
mod unify;
mod validate;

use std::sync::Arc;

use crate::ast::{Ast, Call, Expr, Fold, Id, Kind, Literal, Select, Struct, operators};
use crate::env::Env;
use crate::error::Issues;
use crate::library::decls::Function;
use crate::library::hosts;
use crate::messages::{self, Descriptor};
use crate::patches;
use crate::types::Type;
use unify::{Bindings, most_general};

/// A tree whose names are resolved, with what was found out about its nodes.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) root: Expr,
    /// By the number of the node.
    pub(crate) types: Vec<Type>,
    /// By the number of the node: what it refers to.
    pub(crate) references: Vec<Option<Reference>>,
}

/// What a node refers to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reference {
    /// A variable, of the environment or of a macro.
    Variable,
    /// A type, by its name at run time.
    Type(Arc<str>),
    /// A value of an enumeration.
    Constant(i64),
    /// The overloads that a call may have.
    Overloads(Vec<&'static str>),
}

impl Checked {
    /// The type of a node.
    pub(crate) fn ty(&self, id: Id) -> &Type {
        self.types.get(id as usize).unwrap_or(&Type::Dyn)
    }

    /// The type of the value of the whole.
    pub(crate) fn output_type(&self) -> &Type {
        self.ty(self.root.id)
    }

    /// Whether a name is used: that of a variable, also of a macro.
    pub(crate) fn uses(&self, name: &str) -> bool {
        uses(&self.root, name)
    }

    /// The overloads that a call may have.
    pub(crate) fn overloads(&self, id: Id) -> &[&'static str] {
        match self.references.get(id as usize) {
            Some(Some(Reference::Overloads(ids))) => ids,
            _ => &[],
        }
    }
}

/// Checks a tree.
pub(crate) fn check(ast: Ast, env: &Env, source: &str) -> Result<Checked, Issues> {
    let count = ast.offsets.len();
    let mut checker = Checker {
        env,
        offsets: ast.offsets,
        issues: Issues::new(source),
        types: vec![None; count],
        references: vec![None; count],
        bindings: Bindings::default(),
        locals: Vec::new(),
    };
    let mut root = ast.root;
    checker.check(&mut root);
    let Checker { bindings, types, references, offsets, mut issues, .. } = checker;
    if !issues.is_empty() {
        return Err(issues.sorted());
    }
    let free = |ty: Option<Type>| ty.map_or(Type::Dyn, |ty| bindings.substitute(&ty, true));
    let checked = Checked { root, types: types.into_iter().map(free).collect(), references };
    validate::validate(&checked, &offsets, &mut issues);
    if issues.is_empty() { Ok(checked) } else { Err(issues.sorted()) }
}

struct Checker<'e> {
    env: &'e Env,
    offsets: Vec<u32>,
    issues: Issues,
    types: Vec<Option<Type>>,
    references: Vec<Option<Reference>>,
    bindings: Bindings,
    /// Variables of the macros that are open, the innermost last.
    locals: Vec<(Box<str>, Type)>,
}

/// What a name stands for.
struct Found {
    name: Box<str>,
    ty: Type,
    reference: Reference,
}

impl Checker<'_> {
    fn report(&mut self, id: Id, message: String) {
        let offset = self.offsets.get(id as usize).copied();
        self.issues.report(offset, message);
    }

    fn ty(&self, id: Id) -> Type {
        self.types.get(id as usize).cloned().flatten().unwrap_or(Type::Error)
    }

    fn set(&mut self, id: Id, ty: Type) {
        if let Some(place) = self.types.get_mut(id as usize) {
            *place = Some(ty);
        }
    }

    fn refer(&mut self, id: Id, reference: Reference) {
        if let Some(place) = self.references.get_mut(id as usize) {
            *place = Some(reference);
        }
    }

    fn undeclared(&mut self, id: Id, name: &str) {
        self.report(id, format!("undeclared reference to '{name}' (in container '')"));
        self.set(id, Type::Error);
    }

    fn mismatch(&mut self, id: Id, expected: &Type, found: &Type) {
        self.report(id, format!("expected type '{expected}' but found '{found}'"));
    }

    fn check(&mut self, expr: &mut Expr) {
        let id = expr.id;
        match &mut expr.kind {
            Kind::Unspecified => self.report(id, "unexpected unspecified type: <nil>".to_owned()),
            Kind::Literal(literal) => {
                let ty = match literal {
                    Literal::Null => Type::Null,
                    Literal::Bool(_) => Type::Bool,
                    Literal::Int(_) => Type::Int,
                    Literal::Uint(_) => Type::Uint,
                    Literal::Double(_) => Type::Double,
                    Literal::String(_) => Type::String,
                    Literal::Bytes(_) => Type::Bytes,
                };
                self.set(id, ty);
            }
            Kind::Ident(_) => self.ident(expr),
            Kind::Select(_) => self.select(expr),
            Kind::Call(_) => self.call(expr),
            Kind::List(list) => {
                let mut items = None;
                for (at, element) in list.elements.iter_mut().enumerate() {
                    self.check(element);
                    let mut ty = self.ty(element.id);
                    if list.optional.contains(&at) {
                        ty = self.unwrap_optional(element.id, ty);
                    }
                    items = Some(self.join(items, ty));
                }
                let items = items.filter(is_specified).unwrap_or_else(|| self.bindings.fresh());
                self.set(id, Type::list(items));
            }
            Kind::Map(entries) => {
                let (mut keys, mut values) = (None, None);
                for entry in entries {
                    self.check(&mut entry.key);
                    let key = self.ty(entry.key.id);
                    keys = Some(self.join(keys, key));
                    self.check(&mut entry.value);
                    let mut value = self.ty(entry.value.id);
                    if entry.is_optional {
                        value = self.unwrap_optional(entry.value.id, value);
                    }
                    values = Some(self.join(values, value));
                }
                let (keys, values) = match (keys.filter(is_specified), values) {
                    (Some(keys), Some(values)) => (keys, values),
                    _ => (self.bindings.fresh(), self.bindings.fresh()),
                };
                self.set(id, Type::map(keys, values));
            }
            Kind::Struct(message) => self.message(id, message),
            Kind::Fold(fold) => self.fold(id, fold),
        }
    }

    /// The type within an optional one; anything else is reported unless it is dynamic.
    fn unwrap_optional(&mut self, id: Id, ty: Type) -> Type {
        match ty {
            Type::Optional(inner) => (*inner).clone(),
            ty if ty.is_dyn() => ty,
            ty => {
                self.mismatch(id, &Type::optional(ty.clone()), &ty);
                ty
            }
        }
    }

    /// The type that elements of a list have in common.
    fn join(&mut self, previous: Option<Type>, current: Type) -> Type {
        let Some(previous) = previous.filter(is_specified) else { return current };
        if self.bindings.assignable(&previous, &current) {
            return most_general(&previous, &current).clone();
        }
        // What may not be mixed is said afterwards: it may in the arguments of `format`.
        Type::Dyn
    }

    fn ident(&mut self, expr: &mut Expr) {
        let Kind::Ident(name) = &expr.kind else { return };
        match self.resolve(name) {
            Some(found) => self.found(expr, found),
            None => {
                let name = name.clone();
                self.undeclared(expr.id, &name);
            }
        }
    }

    fn found(&mut self, expr: &mut Expr, found: Found) {
        self.set(expr.id, found.ty);
        self.refer(expr.id, found.reference);
        expr.kind = Kind::Ident(found.name);
    }

    fn local(&self, name: &str) -> Option<&Type> {
        self.locals.iter().rev().find(|(known, _)| **known == *name).map(|(_, ty)| ty)
    }

    fn resolve(&self, name: &str) -> Option<Found> {
        // With a dot it is none of a macro, whatever the macro calls it.
        if let Some(ty) = self.local(name).filter(|_| !name.starts_with('.')) {
            return Some(Found { name: name.into(), ty: ty.clone(), reference: Reference::Variable });
        }
        let is_shadowed = name.strip_prefix('.').is_some_and(|name| self.local(name).is_some());
        self.resolve_global(name.trim_start_matches('.'), is_shadowed)
    }

    fn resolve_global(&self, name: &str, is_shadowed: bool) -> Option<Found> {
        if let Some(decl) = self.env.variable(name) {
            let name = if is_shadowed { format!(".{name}").into() } else { name.into() };
            return Some(Found { name, ty: decl.ty().clone(), reference: Reference::Variable });
        }
        let Some(ty) = self.env.type_named(name) else {
            let reference = Reference::Constant(messages::constant(name)?);
            return Some(Found { name: name.into(), ty: Type::Int, reference });
        };
        let reference = Reference::Type(ty.name().into());
        Some(Found { name: name.into(), ty: Type::Type(Some(Arc::new(ty))), reference })
    }

    /// `a.b.c` as one name, unless it is a test of presence.
    fn qualified(expr: &Expr) -> Option<String> {
        match &expr.kind {
            Kind::Ident(name) => Some(name.to_string()),
            Kind::Select(select) if !select.is_test => {
                let mut name = Self::qualified(&select.operand)?;
                name.push('.');
                name.push_str(&select.field);
                Some(name)
            }
            _ => None,
        }
    }

    fn select(&mut self, expr: &mut Expr) {
        // A name with dots may be that of a variable or of a type; most environments have none that is.
        if self.env.has_qualified_names()
            && let Some(name) = Self::qualified(expr)
            && let Some((first, _)) = name.split_once('.')
            && (first.is_empty() || self.local(first).is_none())
            && let Some(found) = self.resolve_global(name.strip_prefix('.').unwrap_or(&name), false)
        {
            return self.found(expr, found);
        }
        let id = expr.id;
        let Kind::Select(select) = &mut expr.kind else { return };
        let Select { operand, field, is_test } = &mut **select;
        let result = self.field_of(id, operand, field, false);
        let result = if *is_test { Type::Bool } else { self.bindings.substitute(&result, false) };
        self.set(id, result);
    }

    fn field_of(&mut self, id: Id, operand: &mut Expr, field: &str, is_optional: bool) -> Type {
        self.check(operand);
        let operand = self.bindings.substitute(&self.ty(operand.id), false);
        let (target, was_optional) = match operand {
            Type::Optional(inner) => ((*inner).clone(), true),
            ty => (ty, false),
        };
        let result = match &target {
            Type::Map(map) => map.1.clone(),
            Type::Object(object) => match object.field(field) {
                Some(found) => found.ty().ty().clone(),
                None => {
                    self.report(id, format!("undefined field '{field}'"));
                    Type::Error
                }
            },
            Type::Host(host) if !host.is_opaque => match messages::named(host.name) {
                Some(message) => message.field_type(field).unwrap_or_else(|| {
                    self.report(id, format!("undefined field '{field}'"));
                    Type::Error
                }),
                None => {
                    self.report(id, format!("unexpected failed resolution of '{}'", host.name));
                    Type::Error
                }
            },
            Type::Patch(name) => patches::field_type(name, field),
            Type::Param(_) => {
                self.bindings.assignable(&Type::Dyn, &target);
                Type::Dyn
            }
            ty => {
                if !ty.is_dyn_or_error() {
                    self.report(id, format!("type '{ty}' does not support field selection"));
                }
                Type::Dyn
            }
        };
        if was_optional || is_optional { Type::optional(result) } else { result }
    }

    fn call(&mut self, expr: &mut Expr) {
        let id = expr.id;
        let Kind::Call(call) = &mut expr.kind else { return };
        if &*call.function == operators::OPT_SELECT {
            return self.opt_select(id, call);
        }
        call.args.iter_mut().for_each(|arg| self.check(arg));
        let Some(target) = &mut call.target else {
            let name = call.function.trim_start_matches('.');
            return match self.env.function(name) {
                Some(found) => {
                    call.function = found.name.into();
                    self.overload(id, found, call);
                }
                None => {
                    let name = call.function.clone();
                    self.undeclared(id, &name);
                }
            };
        };
        // The target may be the first part of the function's name.
        if let Some(prefix) = Self::qualified(target) {
            let name = format!("{prefix}.{}", call.function);
            if let Some(found) = self.env.function(name.trim_start_matches('.')) {
                call.function = found.name.into();
                call.target = None;
                return self.overload(id, found, call);
            }
        }
        self.check(target);
        match self.env.function(&call.function) {
            Some(found) => self.overload(id, found, call),
            None => {
                let name = call.function.clone();
                self.undeclared(id, &name);
            }
        }
    }

    fn opt_select(&mut self, id: Id, call: &mut Call) {
        let [operand, field] = call.args.as_mut_slice() else { return };
        let Kind::Literal(Literal::String(name)) = &field.kind else { return };
        let name = name.clone();
        self.set(field.id, Type::String);
        let result = self.field_of(id, operand, &name, true);
        let result = self.bindings.substitute(&result, false);
        self.set(id, result);
        self.refer(id, Reference::Overloads(vec!["select_optional_field"]));
    }

    fn overload(&mut self, id: Id, function: &Function, call: &Call) {
        let types: Vec<Type> = call.target.iter().chain(&call.args).map(|arg| self.ty(arg.id)).collect();
        if matches!(function.name, operators::AND | operators::OR) {
            return self.logic(id, function, call, &types);
        }
        let mut found: Vec<&'static str> = Vec::new();
        let mut result: Option<Type> = None;
        for overload in &function.overloads {
            if overload.is_member != call.target.is_some() || overload.args.len() != types.len() {
                continue;
            }
            let (args, returned) = if overload.is_generic {
                let mut signature = overload.args.clone();
                signature.push(overload.result.clone());
                let mut signature = self.bindings.instantiate(&signature);
                let returned = signature.pop().unwrap_or(Type::Dyn);
                (signature, returned)
            } else {
                (overload.args.clone(), overload.result.clone())
            };
            if !self.bindings.assignable_all(&types, &args) {
                continue;
            }
            found.push(overload.id);
            let returned = self.bindings.substitute(&returned, false);
            result = Some(match result.filter(is_specified) {
                None => returned,
                Some(known) if known.is_dyn() || known == returned => known,
                Some(_) => Type::Dyn,
            });
        }
        // As upstream, whose result without a type is none.
        let Some(result) = result.filter(is_specified) else {
            let name = function.name;
            let types: Vec<Type> = types.iter().map(|ty| self.bindings.substitute(ty, true)).collect();
            let signature = signature(&types, call.target.is_some());
            self.report(id, format!("found no matching overload for '{name}' applied to '{signature}'"));
            return self.set(id, Type::Error);
        };
        self.set(id, result);
        self.refer(id, Reference::Overloads(found));
    }

    fn logic(&mut self, id: Id, function: &Function, call: &Call, types: &[Type]) {
        let mut is_wrong = false;
        for (arg, ty) in call.args.iter().zip(types) {
            if !self.bindings.assignable(ty, &Type::Bool) {
                self.mismatch(arg.id, &Type::Bool, ty);
                is_wrong = true;
            }
        }
        if is_wrong {
            return self.set(id, Type::Error);
        }
        self.set(id, Type::Bool);
        self.refer(id, Reference::Overloads(function.overloads.iter().map(|overload| overload.id).collect()));
    }

    fn message(&mut self, id: Id, message: &mut Struct) {
        let name = message.name.trim_start_matches('.');
        let Some(ty) = self.env.type_named(name) else {
            let name = message.name.clone();
            return self.undeclared(id, &name);
        };
        message.name = name.into();
        // The name may be another one for the same message.
        let fields_of = match &ty {
            Type::Object(object) => Some(object.name().to_owned()),
            Type::Patch(name) => Some(name.to_string()),
            ty => messages::of_type(ty).map(str::to_owned),
        };
        let is_message = fields_of.is_some();
        if !is_message {
            // Lists and maps are named without what they hold.
            let name = if let Type::Wrapper(_) = ty { ty.to_string() } else { ty.name().to_owned() };
            self.report(id, format!("'{name}' is not a message type"));
        }
        let fields_of = fields_of.unwrap_or_else(|| message.name.to_string());
        self.refer(id, Reference::Type(ty.name().into()));
        self.set(id, if is_message { ty.clone() } else { Type::Error });
        for field in &mut message.fields {
            self.check(&mut field.value);
            let mut value = self.ty(field.value.id);
            let declared = self.message_field(field.id, &ty, &fields_of, &field.name);
            if field.is_optional {
                value = self.unwrap_optional(field.value.id, value);
            }
            if !self.bindings.assignable(&declared, &value) {
                let name = &field.name;
                let message =
                    format!("expected type of field '{name}' is '{declared}' but provided type is '{value}'");
                self.report(field.id, message);
            }
        }
    }

    /// The type of a field of a message that is made.
    fn message_field(&mut self, id: Id, ty: &Type, message: &str, name: &str) -> Type {
        let found = match (ty, messages::named(message)) {
            (Type::Object(object), _) => object.field(name).map(|field| field.ty().ty().clone()),
            (Type::Patch(of), _) => return patches::field_type(of, name),
            (_, Some(descriptor)) => descriptor.field_type(name),
            // Scalars have a type, but no fields.
            (Type::Null | Type::Host(_), None) => {
                self.report(id, format!("unexpected failed resolution of '{message}'"));
                return Type::Error;
            }
            (_, None) => None,
        };
        found.unwrap_or_else(|| {
            self.report(id, format!("undefined field '{name}'"));
            Type::Error
        })
    }

    fn fold(&mut self, id: Id, fold: &mut Fold) {
        self.check(&mut fold.range);
        self.check(&mut fold.init);
        let range = self.bindings.substitute(&self.ty(fold.range.id), false);
        let accu = self.ty(fold.init.id);
        let outer = self.locals.len();
        self.locals.push((fold.accu.clone(), accu.clone()));
        let has_two = fold.var2.is_some();
        let (var, var2) = match &range {
            Type::List(items) if has_two => (Type::Int, (**items).clone()),
            Type::List(items) => ((**items).clone(), Type::Dyn),
            Type::Map(map) => (map.0.clone(), map.1.clone()),
            Type::Dyn | Type::Error | Type::Param(_) => {
                self.bindings.assignable(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.report(fold.range.id, message);
                (Type::Error, Type::Error)
            }
        };
        let inner = self.locals.len();
        self.locals.push((fold.var.clone(), var));
        if let Some(name) = &fold.var2 {
            self.locals.push((name.clone(), var2));
        }
        self.check(&mut fold.condition);
        self.expect(fold.condition.id, &Type::Bool);
        self.check(&mut fold.step);
        self.expect(fold.step.id, &accu);
        self.locals.truncate(inner);
        self.check(&mut fold.result);
        self.locals.truncate(outer);
        let result = self.bindings.substitute(&self.ty(fold.result.id), false);
        self.set(id, result);
    }

    fn expect(&mut self, id: Id, ty: &Type) {
        let found = self.ty(id);
        if !self.bindings.assignable(ty, &found) {
            self.mismatch(id, ty, &found);
        }
    }
}

fn is_specified(ty: &Type) -> bool {
    !matches!(ty, Type::Unspecified)
}

/// Whether a name is used below this node. As upstream, it may be that of a variable of a macro.
fn uses(expr: &Expr, name: &str) -> bool {
    match &expr.kind {
        Kind::Unspecified | Kind::Literal(_) => false,
        Kind::Ident(known) => known.strip_prefix('.').unwrap_or(known) == name,
        Kind::Select(select) => uses(&select.operand, name),
        Kind::Call(call) => call.target.iter().chain(&call.args).any(|expr| uses(expr, name)),
        Kind::List(list) => list.elements.iter().any(|expr| uses(expr, name)),
        Kind::Map(entries) => entries.iter().any(|entry| uses(&entry.key, name) || uses(&entry.value, name)),
        Kind::Struct(message) => message.fields.iter().any(|field| uses(&field.value, name)),
        Kind::Fold(fold) => [&fold.range, &fold.init, &fold.condition, &fold.step, &fold.result]
            .into_iter()
            .any(|expr| uses(expr, name)),
    }
}

/// `target.(args)` as messages write it.
fn signature(types: &[Type], is_member: bool) -> String {
    let (target, args) = match types.split_first() {
        Some((target, args)) if is_member => (format!("{target}."), args),
        _ => (String::new(), types),
    };
    let args: Vec<String> = args.iter().map(ToString::to_string).collect();
    format!("{target}({})", args.join(", "))
}

/// A type that is always known by this name.
pub(crate) fn known_type(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "string" => Type::String,
        "null_type" => Type::Null,
        "type" => Type::Type(None),
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "optional_type" => Type::optional(Type::Dyn),
        "net.IP" => Type::Host(hosts::IP),
        "net.CIDR" => Type::Host(hosts::CIDR),
        _ => return messages::named(name).map(Descriptor::ty),
    })
}
