//! Whether the expressions of an admission policy compile. Source: `compile.go` and `composition.go` of
//! `pkg/admission/plugin/cel` of k8s.io/apiserver.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use pilothouse_cel::{DeclType, Env, Type};
use pilothouse_schema::builtin::{self, ConditionProblem, PolicyExpression, PolicyRole};
use pilothouse_value::Value;
use pilothouse_value::field::Error;

use super::conditions::declare;
use crate::registry::resource::Resource;

const GROUP: &str = "admissionregistration.k8s.io";
const MUTATING: &str = "mutatingadmissionpolicies";

/// Whether objects of the resource are policies, whose expressions [`check_policy`] compiles.
pub(crate) fn is_policy(resource: &Resource) -> bool {
    resource.is(GROUP, "validatingadmissionpolicies") || resource.is(GROUP, MUTATING)
}

/// What is wrong with a policy that is created (`old` is none) or replaced, its expressions included. `given` is the document
/// before it was read, if errors are to show values as they were given.
pub(crate) fn check_policy(
    resource: &Resource,
    policy: &Value,
    old: Option<&Value>,
    given: Option<&Value>,
) -> Vec<Error> {
    let mut variables = BTreeMap::new();
    let mut compile = |expression: &PolicyExpression<'_>| {
        let compiled = compile(expression, &variables);
        if let PolicyRole::Variable(name) = expression.role {
            // One that is wrong is known all the same, so that what uses it is not wrong too.
            let ty = compiled.as_ref().map_or(Type::Dyn, declared);
            variables.insert(name.to_owned(), ty);
        }
        compiled.err()
    };
    builtin::validate_policy(policy, resource.is(GROUP, MUTATING), old, given, &mut compile)
}

/// What an expression evaluates to, if it compiles.
fn compile(
    expression: &PolicyExpression<'_>,
    variables: &BTreeMap<String, Type>,
) -> Result<Type, ConditionProblem> {
    let PolicyExpression { text, role, .. } = *expression;
    let builder = if expression.is_stored { Env::kubernetes_stored() } else { Env::kubernetes() };
    let mut builder = declare(builder, role != PolicyRole::Message);
    if expression.has_params {
        builder = builder.variable("params", DeclType::dynamic());
    }
    if expression.has_variables && role != PolicyRole::Condition {
        builder = builder.variable("variables", type_of_variables(text, variables));
    }
    if matches!(role, PolicyRole::Configuration | PolicyRole::Patch) {
        builder = builder.patches();
    }
    let checked = builder
        .build()
        .check(text)
        .map_err(|issues| ConditionProblem::Invalid(format!("compilation failed: {issues}")))?;
    let ty = checked.output_type().clone();
    let types = types(role);
    if !types.is_empty() && !types.contains(&ty) {
        let names: Vec<String> = types.iter().map(Type::declared).collect();
        let wanted = match &*names {
            [name] => name.clone(),
            names => format!("one of [{}]", names.join(" ")),
        };
        let why = format!("must evaluate to {wanted} but got {}", ty.declared());
        return Err(ConditionProblem::Invalid(why));
    }
    if checked.has_unspecified() {
        let why = "unexpected compilation error: missing type conversion to proto: ";
        return Err(ConditionProblem::Internal(why.to_owned()));
    }
    let program = checked.program();
    program
        .map_err(|issues| ConditionProblem::Internal(format!("program instantiation failed: {issues}")))?;
    Ok(ty)
}

/// What an expression may evaluate to; anything if there is none.
fn types(role: PolicyRole<'_>) -> &'static [Type] {
    static MADE: OnceLock<[Type; 2]> = OnceLock::new();
    let [object, patches] =
        MADE.get_or_init(|| [Type::Patch("Object".into()), Type::list(Type::Patch("JSONPatch".into()))]);
    match role {
        PolicyRole::Variable(_) => &[],
        PolicyRole::Condition | PolicyRole::Validation => &[Type::Bool],
        PolicyRole::Message => &[Type::String],
        PolicyRole::Annotation => &[Type::String, Type::Null],
        PolicyRole::Configuration => std::slice::from_ref(object),
        PolicyRole::Patch => std::slice::from_ref(patches),
    }
}

/// The type of `variables` in an expression. Of all that a policy has, an expression needs those whose names stand in it: so
/// that of a thousand not each has a thousand fields.
fn type_of_variables(text: &str, known: &BTreeMap<String, Type>) -> DeclType {
    let is_inside = |c: char| c == '_' || c.is_alphanumeric();
    let words = text.split(|c: char| !is_inside(c)).filter(|word| !word.is_empty());
    let used: BTreeMap<&str, &Type> = words.filter_map(|word| Some((word, known.get(word)?))).collect();
    used.into_iter()
        .fold(DeclType::object("kubernetes.variables"), |object, (name, ty)| {
            object.plain_field(name, DeclType::of_type(ty.clone()))
        })
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
