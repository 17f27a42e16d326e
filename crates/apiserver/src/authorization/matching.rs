//! Match conditions of authorization webhooks: expressions over a `SubjectAccessReview`'s spec, in the variable `request`,
//! that say whether the webhook is asked.

use std::sync::OnceLock;

use pilothouse_cel::{
    Activation, DeclType, Env, EvalError, ListKind, MATCH_CONDITIONS_COST_BUDGET, Program, Type, Val,
};
use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Value, json};

/// Conditions of one webhook, compiled.
#[derive(Debug, Default)]
pub(super) struct Conditions(Vec<(String, Program)>);

/// The most that a webhook may have.
const MOST: usize = 64;

impl Conditions {
    /// Compiles `matchConditions`.
    ///
    /// # Errors
    /// With what is wrong with each that cannot be used.
    pub(super) fn compile(conditions: &[Value], path: &Path) -> Result<Conditions, Vec<Error>> {
        let path = path.child("matchConditions");
        if conditions.len() > MOST {
            return Err(vec![Error::too_many(&path, conditions.len(), MOST)]);
        }
        let (mut compiled, mut errors): (Vec<(String, Program)>, _) = (Vec::new(), Vec::new());
        let mut seen: Vec<&str> = Vec::new();
        for (index, condition) in conditions.iter().enumerate() {
            let path = path.index(index).child("expression");
            let expression = condition.str_at(&["expression"]).unwrap_or_default();
            if expression.trim().is_empty() {
                errors.push(Error::required(&path, ""));
                continue;
            }
            if seen.contains(&expression) {
                errors.push(Error::duplicate(&path, expression));
                continue;
            }
            seen.push(expression);
            match env().compile(expression) {
                Ok(program) if matches!(program.output_type(), Type::Bool) => {
                    compiled.push((expression.to_owned(), program));
                }
                Ok(program) => {
                    let why = format!("must evaluate to bool but got {}", program.output_type().declared());
                    errors.push(Error::invalid(&path, expression, why));
                }
                Err(issues) if issues.is_instantiation() => {
                    let why = format!("program instantiation failed: {issues}");
                    errors.push(Error::invalid(&path, expression, why));
                }
                Err(issues) => {
                    errors.push(Error::invalid(&path, expression, format!("compilation failed: {issues}")));
                }
            }
        }
        if errors.is_empty() { Ok(Conditions(compiled)) } else { Err(errors) }
    }

    /// Whether the webhook is to be asked about the spec of a review.
    ///
    /// # Errors
    /// If none is false, and one cannot be evaluated.
    pub(super) fn matches(&self, spec: &Value) -> Result<bool, String> {
        if self.0.is_empty() {
            return Ok(true);
        }
        let spec = &with_empty_fields(spec);
        let request = Val::view(spec, spec_type()).map_err(|error| error.to_string())?;
        let mut errors: Vec<String> = Vec::new();
        for (expression, program) in &self.0 {
            match program.eval(&Variables(request.clone()), Some(MATCH_CONDITIONS_COST_BUDGET)).value {
                Ok(value) if value.as_bool() == Some(false) => return Ok(false),
                Ok(_) => {}
                Err(error) => errors.push(format!(
                    "cel evaluation error: expression '{expression}' resulted in error: {error}"
                )),
            }
        }
        match errors.as_slice() {
            [] => Ok(true),
            [one] => Err(one.clone()),
            many => Err(format!("[{}]", many.join(", "))),
        }
    }
}

/// The spec with every text and list that conditions may look at, also those that say nothing.
fn with_empty_fields(spec: &Value) -> Value {
    const ATTRIBUTES: [&str; 7] =
        ["namespace", "verb", "group", "version", "resource", "subresource", "name"];
    let mut spec = spec.clone();
    let empty = [
        ("user", Value::from("")),
        ("uid", Value::from("")),
        ("groups", json!([])),
        ("extra", Value::object()),
    ];
    for (field, value) in empty {
        if spec.get(field).is_none() {
            spec.set(&[field], value);
        }
    }
    let attributes = spec.get("resourceAttributes").is_some().then_some(ATTRIBUTES);
    for field in attributes.into_iter().flatten() {
        if spec.at(&["resourceAttributes", field]).is_none() {
            spec.set(&["resourceAttributes", field], "");
        }
    }
    spec
}

struct Variables<'a>(Val<'a>);

impl<'a> Activation<'a> for Variables<'a> {
    fn resolve(&self, name: &str) -> Option<Result<Val<'a>, EvalError>> {
        (name == "request").then(|| Ok(self.0.clone()))
    }
}

fn env() -> &'static Env {
    static ENV: OnceLock<Env> = OnceLock::new();
    ENV.get_or_init(|| Env::kubernetes().variable("request", spec_type().clone()).build())
}

/// The type of `request`.
fn spec_type() -> &'static DeclType {
    static TYPE: OnceLock<DeclType> = OnceLock::new();
    TYPE.get_or_init(|| {
        let text = || DeclType::string(None);
        let texts = || DeclType::list(text(), None, ListKind::Atomic);
        let selector = |name: &str| {
            let requirement = DeclType::object(&format!("kubernetes.{name}Requirement"))
                .field("key", text(), false)
                .field("operator", text(), false)
                .field("values", texts(), false)
                .build();
            DeclType::object(&format!("kubernetes.{name}Attributes"))
                .field("rawSelector", text(), false)
                .field("requirements", DeclType::list(requirement, None, ListKind::Atomic), false)
                .build()
        };
        let mut resource = DeclType::object("kubernetes.ResourceAttributes");
        for field in ["namespace", "verb", "group", "version", "resource", "subresource", "name"] {
            resource = resource.field(field, text(), false);
        }
        let resource = resource
            .field("fieldSelector", selector("FieldSelector"), false)
            .field("labelSelector", selector("LabelSelector"), false)
            .build();
        let path = DeclType::object("kubernetes.NonResourceAttributes")
            .field("path", text(), false)
            .field("verb", text(), false)
            .build();
        DeclType::object("kubernetes.SubjectAccessReviewSpec")
            .field("resourceAttributes", resource, false)
            .field("nonResourceAttributes", path, false)
            .field("user", text(), false)
            .field("groups", texts(), false)
            .field("extra", DeclType::map(texts(), None), false)
            .field("uid", text(), false)
            .build()
    })
}
