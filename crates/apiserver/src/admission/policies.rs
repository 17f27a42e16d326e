//! Whether the expressions of an admission policy compile. Those of mutations are not looked at: they make objects of types that
//! stand in no schema here. Source: `validation.go` of pkg/apis/admissionregistration, and `compile.go` and `composition.go` of
//! `pkg/admission/plugin/cel` of k8s.io/apiserver.

use std::collections::BTreeSet;

use pilothouse_cel::{DeclType, Env, Type};
use pilothouse_value::Value;
use pilothouse_value::field::{Error, Path};

use super::conditions::declare;
use crate::registry::resource::Resource;

/// Most bytes of the expression of an audit annotation; longer ones are refused without being compiled.
const LONGEST_ANNOTATION: usize = 5 * 1024;

/// What is wrong with the expressions of a policy that is created (`old` is none) or replaced; nothing of other kinds. What is
/// blank is not looked at: that is refused otherwise. Expressions that the policy had before may use what new ones may not.
pub(crate) fn check_policy(resource: &Resource, policy: &Value, old: Option<&Value>) -> Vec<Error> {
    const GROUP: &str = "admissionregistration.k8s.io";
    let validates = resource.is(GROUP, "validatingadmissionpolicies");
    if !validates && !resource.is(GROUP, "mutatingadmissionpolicies") {
        return Vec::new();
    }
    let path = Path::new("spec");
    let has_params = policy.at(&["spec", "paramKind"]).is_some();
    let mut check = Check { has_params, variables: None, errors: Vec::new() };

    let part = |policy: &Value, name: &str| policy.at(&["spec", name]).cloned();
    let is_same = |old: &Value| {
        ["paramKind", "matchConditions"].iter().all(|name| part(old, name) == part(policy, name))
    };
    if !old.is_some_and(is_same) {
        let stored = stored(old, "matchConditions", "expression");
        each(policy, &path, "matchConditions", |condition, at| {
            let text = condition.str_at(&["expression"]).unwrap_or_default().trim();
            let how = How { is_stored: stored.contains(text), ..How::of(&[Type::Bool]) };
            check.expression(&at.child("expression"), text, text, &how);
        });
    }
    let validations = stored(old, "validations", "expression");
    if !policy.items_at(&["spec", "variables"]).is_empty() {
        check.declare_variables(policy, &path, &validations);
    }
    if !validates {
        return check.errors;
    }
    let messages = stored(old, "validations", "messageExpression");
    each(policy, &path, "validations", |validation, at| {
        let text = |field: &str| validation.str_at(&[field]).unwrap_or_default();
        let (field, how) = ("expression", How::of(&[Type::Bool]));
        let how = How { is_stored: validations.contains(text(field)), ..how };
        check.expression(&at.child(field), text(field), text(field), &how);
        let (field, how) = ("messageExpression", How::of(&[Type::String]));
        let how = How { is_stored: messages.contains(text(field)), has_authorizer: false, ..how };
        check.expression(&at.child(field), text(field), text(field), &how);
    });
    let annotations = stored(old, "auditAnnotations", "valueExpression");
    each(policy, &path, "auditAnnotations", |annotation, at| {
        let text = annotation.str_at(&["valueExpression"]).unwrap_or_default();
        let how = How::of(&[Type::String, Type::Null]);
        let how = How { is_stored: annotations.contains(text), ..how };
        if text.trim().len() <= LONGEST_ANNOTATION {
            check.expression(&at.child("valueExpression"), text.trim(), text, &how);
        }
    });
    check.errors
}

/// Calls back with each item of a list of the spec and its path.
fn each<'a>(policy: &'a Value, spec: &Path, list: &str, mut call: impl FnMut(&'a Value, &Path)) {
    let path = spec.child(list);
    for (index, item) in policy.items_at(&["spec", list]).iter().enumerate() {
        call(item, &path.index(index));
    }
}

/// The expressions that a policy has in a field of the items of a list.
fn stored<'a>(old: Option<&'a Value>, list: &str, field: &str) -> BTreeSet<&'a str> {
    let items = old.map(|old| old.items_at(&["spec", list])).unwrap_or_default();
    items.iter().filter_map(|item| item.str_at(&[field])).collect()
}

/// How one expression is compiled.
struct How<'a> {
    /// What it may evaluate to; anything if there is none.
    types: &'a [Type],
    is_stored: bool,
    has_authorizer: bool,
}

impl<'a> How<'a> {
    fn of(types: &'a [Type]) -> How<'a> {
        How { types, is_stored: false, has_authorizer: true }
    }
}

/// The expressions of one policy.
struct Check {
    has_params: bool,
    /// The type of `variables`, as far as they have been compiled; none before there are any.
    variables: Option<DeclType>,
    errors: Vec<Error>,
}

impl Check {
    /// Compiles an expression and takes note of what is wrong with it, under what it is `shown` as. What it evaluates to, if
    /// it does.
    fn expression(&mut self, path: &Path, text: &str, shown: &str, how: &How<'_>) -> Option<Type> {
        if text.trim().is_empty() {
            return None;
        }
        let builder = if how.is_stored { Env::kubernetes_stored() } else { Env::kubernetes() };
        let mut builder = declare(builder, how.has_authorizer);
        if self.has_params {
            builder = builder.variable("params", DeclType::dynamic());
        }
        if let Some(variables) = &self.variables {
            builder = builder.variable("variables", variables.clone());
        }
        let checked = match builder.build().check(text) {
            Ok(checked) => checked,
            Err(issues) => {
                self.errors.push(Error::invalid(path, shown, format!("compilation failed: {issues}")));
                return None;
            }
        };
        let ty = checked.output_type().clone();
        if !how.types.is_empty() && !how.types.contains(&ty) {
            let names: Vec<String> = how.types.iter().map(Type::declared).collect();
            let wanted = match &*names {
                [name] => name.clone(),
                names => format!("one of [{}]", names.join(" ")),
            };
            let why = format!("must evaluate to {wanted} but got {}", ty.declared());
            self.errors.push(Error::invalid(path, shown, why));
            return None;
        }
        if let Err(issues) = checked.program() {
            self.errors.push(Error::internal(path, format!("program instantiation failed: {issues}")));
            return None;
        }
        Some(ty)
    }

    /// Compiles the variables, each of which sees those before it.
    fn declare_variables(&mut self, policy: &Value, spec: &Path, stored: &BTreeSet<&str>) {
        let mut known: Vec<(&str, Type)> = Vec::new();
        self.variables = Some(type_of_variables(&known));
        each(policy, spec, "variables", |variable, at| {
            let text = variable.str_at(&["expression"]).unwrap_or_default();
            let how = How { is_stored: stored.contains(text), ..How::of(&[]) };
            let ty = self.expression(&at.child("expression"), text, text, &how);
            // One that is wrong is known all the same, so that what uses it is not wrong too.
            let ty = ty.map_or(Type::Dyn, |ty| declared(&ty));
            known.push((variable.str_at(&["name"]).unwrap_or_default(), ty));
            self.variables = Some(type_of_variables(&known));
        });
    }
}

fn type_of_variables(known: &[(&str, Type)]) -> DeclType {
    let object = DeclType::object("kubernetes.variables");
    known
        .iter()
        .fold(object, |object, (name, ty)| object.plain_field(name, DeclType::of_type(ty.clone())))
        .build()
}

/// The type of a variable as those see it that use it. What is neither simple nor made of what is simple is dynamic.
fn declared(ty: &Type) -> Type {
    match ty {
        Type::Bool
        | Type::Int
        | Type::Uint
        | Type::Double
        | Type::String
        | Type::Bytes
        | Type::Null
        | Type::Timestamp
        | Type::Duration => ty.clone(),
        Type::List(items) => Type::list(declared(items)),
        Type::Map(map) => Type::map(declared(&map.0), declared(&map.1)),
        _ => Type::Dyn,
    }
}
