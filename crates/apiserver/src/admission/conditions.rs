//! Match conditions: expressions over a request that say whether a webhook is asked about it.
//!
//! Expressions see `object`, `oldObject`, `namespaceObject` (always null for webhooks), `request`, `authorizer` and
//! `authorizer.requestResource`. Source: `pkg/admission/plugin/cel` and `webhook/matchconditions` of k8s.io/apiserver.

use std::sync::{Arc, OnceLock};

use pilothouse_cel::{
    Activation, Authorizer, Decision, DeclType, Env, EnvBuilder, EvalError, ListKind,
    MATCH_CONDITIONS_COST_BUDGET, PER_CALL_LIMIT, Program, Question, ResourceSubject, Subject, Type, Val,
};
use pilothouse_schema::builtin::ConditionProblem;
use pilothouse_value::Value;

use super::Attributes;
use super::webhook::request;
use crate::authentication::user::User;
use crate::authorization::rbac;
use crate::registry::resource::Resource;
use crate::state::State;

/// The conditions of one webhook, compiled.
#[derive(Debug, Default)]
pub(super) struct Conditions(Vec<Condition>);

#[derive(Debug)]
struct Condition {
    expression: String,
    program: Result<Program, ConditionProblem>,
}

/// What conditions say of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All are true.
    Met,
    /// One is false.
    NotMet,
    /// None is false, and at least one could not be evaluated.
    Failed(String),
}

impl Conditions {
    /// Compiles the `matchConditions` of a webhook.
    pub(super) fn compile(conditions: &[Value]) -> Conditions {
        let compiled = conditions.iter().map(|condition| {
            let expression = condition.str_at(&["expression"]).unwrap_or_default().trim().to_owned();
            let program = compile(&expression, true);
            Condition { expression, program }
        });
        Conditions(compiled.collect())
    }

    /// What they say of a request, shown in a version of its resource.
    pub(super) fn evaluate(
        &self,
        attributes: &Attributes<'_>,
        resource: &Resource,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Verdict {
        if self.0.is_empty() {
            return Verdict::Met;
        }
        let mut request = request(attributes, resource);
        request.set(&["dryRun"], attributes.dry_run());
        if let Some(options) = attributes.options_document() {
            request.set(&["options"], options);
        }
        let request = match Val::view(&request, request_type()) {
            Ok(request) => request,
            Err(error) => return Verdict::Failed(error.to_string()),
        };
        let variables = Variables { attributes, object, old, request };
        let mut budget = MATCH_CONDITIONS_COST_BUDGET;
        let mut errors: Vec<String> = Vec::new();
        for condition in &self.0 {
            let program = match &condition.program {
                Ok(program) => program,
                Err(ConditionProblem::Invalid(why) | ConditionProblem::Internal(why)) => {
                    errors.push(format!("compilation error: {why}"));
                    continue;
                }
            };
            let evaluation = program.eval(&variables, Some(PER_CALL_LIMIT));
            let Some(left) = budget.checked_sub(evaluation.cost) else {
                return Verdict::Failed(
                    "validation failed due to running out of cost budget, no further validation rules will be run"
                        .into(),
                );
            };
            budget = left;
            match evaluation.value {
                Ok(value) if value.as_bool() == Some(false) => return Verdict::NotMet,
                Ok(_) => {}
                Err(error) => {
                    errors.push(format!("expression '{}' resulted in error: {error}", condition.expression))
                }
            }
        }
        let mut seen: Vec<String> = Vec::new();
        for error in errors {
            if !seen.contains(&error) {
                seen.push(error);
            }
        }
        match seen.as_slice() {
            [] => Verdict::Met,
            [one] => Verdict::Failed(one.clone()),
            many => Verdict::Failed(format!("[{}]", many.join(", "))),
        }
    }
}

/// The variables of conditions.
struct Variables<'v> {
    attributes: &'v Attributes<'v>,
    object: Option<&'v Value>,
    old: Option<&'v Value>,
    request: Val<'v>,
}

impl<'v> Activation<'v> for Variables<'v> {
    fn resolve(&self, name: &str) -> Option<Result<Val<'v>, EvalError>> {
        let authorizer = || -> Arc<dyn Authorizer> {
            Arc::new(Asker { state: self.attributes.state().clone(), user: self.attributes.user().clone() })
        };
        Some(Ok(match name {
            "object" => self.object.map_or(Val::Null, Val::dynamic),
            "oldObject" => self.old.map_or(Val::Null, Val::dynamic),
            "namespaceObject" => Val::Null,
            "request" => self.request.clone(),
            "authorizer" => Val::authorizer(authorizer()),
            "authorizer.requestResource" => {
                let (attributes, resource) = (self.attributes, self.attributes.resource());
                let subject = ResourceSubject {
                    group: resource.group.clone(),
                    resource: resource.plural.clone(),
                    subresource: attributes.subresource().to_owned(),
                    namespace: attributes.namespace().to_owned(),
                    name: attributes.name.clone(),
                    ..ResourceSubject::default()
                };
                Val::request_resource(authorizer(), subject)
            }
            _ => return None,
        }))
    }
}

/// Asks the server's own authorizer, for the user of the request.
struct Asker {
    state: Arc<State>,
    user: User,
}

impl Authorizer for Asker {
    fn authorize(&self, question: &Question) -> Decision {
        let other;
        let user = match &question.service_account {
            Some((namespace, name)) => {
                other = User::service_account(namespace, name, "");
                &other
            }
            None => &self.user,
        };
        let verb = question.verb.as_str();
        let asked = match &question.subject {
            Subject::Path(path) => rbac::Attributes::of_path(user, verb, path),
            Subject::Resource(subject) => rbac::Attributes {
                subresource: &subject.subresource,
                namespace: &subject.namespace,
                name: &subject.name,
                ..rbac::Attributes::of_resource(user, verb, &subject.group, &subject.resource)
            },
        };
        let decision = self.state.authorizer.authorize(&asked);
        Decision { allowed: decision.allowed, reason: decision.reason.to_string(), error: None }
    }
}

/// What is wrong with the expression of a match condition, in upstream's words. One that is stored already may use what a new
/// one may not.
pub(crate) fn check_condition(expression: &str, is_stored: bool) -> Option<ConditionProblem> {
    compile(expression, is_stored).err()
}

fn compile(expression: &str, is_stored: bool) -> Result<Program, ConditionProblem> {
    static NEW: OnceLock<Env> = OnceLock::new();
    static STORED: OnceLock<Env> = OnceLock::new();
    let env = if is_stored {
        STORED.get_or_init(|| declare(Env::kubernetes_stored(), true).build())
    } else {
        NEW.get_or_init(|| declare(Env::kubernetes(), true).build())
    };
    let checked = env
        .check(expression)
        .map_err(|issues| ConditionProblem::Invalid(format!("compilation failed: {issues}")))?;
    let ty = checked.output_type();
    if *ty != Type::Bool {
        return Err(ConditionProblem::Invalid(format!("must evaluate to bool but got {}", ty.declared())));
    }
    checked
        .program()
        .map_err(|issues| ConditionProblem::Internal(format!("program instantiation failed: {issues}")))
}

/// Declares what expressions over a request see; not all of them may ask the authorizer.
pub(super) fn declare(builder: EnvBuilder, has_authorizer: bool) -> EnvBuilder {
    let builder = builder
        .variable("object", DeclType::dynamic())
        .variable("oldObject", DeclType::dynamic())
        .variable("namespaceObject", namespace_type().clone())
        .variable("request", request_type().clone());
    if !has_authorizer {
        return builder;
    }
    builder
        .variable("authorizer", DeclType::authorizer())
        .variable("authorizer.requestResource", DeclType::request_resource())
}

fn strings() -> DeclType {
    DeclType::list(DeclType::string(None), None, ListKind::Atomic)
}

/// The type of `request`: an `AdmissionRequest` without its documents.
fn request_type() -> &'static DeclType {
    static TYPE: OnceLock<DeclType> = OnceLock::new();
    TYPE.get_or_init(|| {
        let text = || DeclType::string(None);
        let kind = DeclType::object("kubernetes.GroupVersionKind")
            .field("group", text(), true)
            .field("version", text(), true)
            .field("kind", text(), true)
            .build();
        let resource = DeclType::object("kubernetes.GroupVersionResource")
            .field("group", text(), true)
            .field("version", text(), true)
            .field("resource", text(), true)
            .build();
        let user = DeclType::object("kubernetes.UserInfo")
            .field("username", text(), false)
            .field("uid", text(), false)
            .field("groups", strings(), false)
            .field("extra", DeclType::map(strings(), None), false)
            .build();
        DeclType::object("kubernetes.AdmissionRequest")
            .field("kind", kind.clone(), true)
            .field("resource", resource.clone(), true)
            .field("subResource", text(), false)
            .field("requestKind", kind, true)
            .field("requestResource", resource, true)
            .field("requestSubResource", text(), false)
            .field("name", text(), true)
            .field("namespace", text(), false)
            .field("operation", text(), true)
            .field("userInfo", user, true)
            .field("dryRun", DeclType::bool(), false)
            .field("options", DeclType::dynamic(), false)
            .build()
    })
}

/// The type of `namespaceObject`.
fn namespace_type() -> &'static DeclType {
    static TYPE: OnceLock<DeclType> = OnceLock::new();
    TYPE.get_or_init(make_namespace_type)
}

fn make_namespace_type() -> DeclType {
    let text = || DeclType::string(None);
    let texts = || DeclType::map(text(), None);
    let condition = DeclType::object("kubernetes.NamespaceCondition")
        .field("status", text(), true)
        .field("type", text(), true)
        .field("lastTransitionTime", DeclType::date_time(), true)
        .field("message", text(), true)
        .field("reason", text(), true)
        .build();
    let metadata = DeclType::object("kubernetes.NamespaceMetadata")
        .field("name", text(), true)
        .field("generateName", text(), true)
        .field("namespace", text(), true)
        .field("labels", texts(), true)
        .field("annotations", texts(), true)
        .field("UID", text(), true)
        .field("creationTimestamp", DeclType::date_time(), true)
        .field("deletionGracePeriodSeconds", DeclType::int(), true)
        .field("deletionTimestamp", DeclType::date_time(), true)
        .field("generation", DeclType::int(), true)
        .field("resourceVersion", text(), true)
        .field("finalizers", strings(), true)
        .build();
    let spec = DeclType::object("kubernetes.NamespaceSpec").field("finalizers", strings(), true).build();
    let status = DeclType::object("kubernetes.NamespaceStatus")
        .field("conditions", DeclType::list(condition, None, ListKind::Atomic), true)
        .field("phase", text(), true)
        .build();
    DeclType::object("kubernetes.Namespace")
        .field("metadata", metadata, true)
        .field("spec", spec, true)
        .field("status", status, true)
        .build()
}
