//! Questions to the authorizer that the host provides.

use std::sync::Arc;

use pilothouse_cel::{Authorizer, Decision, DeclType, Env, Question, ResourceSubject, Subject, Val};

/// Allows what mentions `good` and tells the question as its reason.
struct Mock;

impl Authorizer for Mock {
    fn authorize(&self, question: &Question) -> Decision {
        let reason = match &question.subject {
            Subject::Path(path) => format!("{} {path}", question.verb),
            Subject::Resource(r) => format!(
                "{} {}/{}/{} {}/{} [{}] [{}] {:?}",
                question.verb,
                r.group,
                r.resource,
                r.subresource,
                r.namespace,
                r.name,
                r.field_selector,
                r.label_selector,
                question.service_account
            ),
        };
        Decision {
            allowed: reason.contains("good"),
            error: reason.contains("bad").then(|| "no".to_owned()),
            reason,
        }
    }
}

fn ask(expression: &str) -> Result<String, String> {
    let env = Env::kubernetes()
        .variable("authorizer", DeclType::authorizer())
        .variable("authorizer.requestResource", DeclType::request_resource())
        .build();
    let program = env.compile(expression).map_err(|issues| issues.to_string())?;
    let authorizer: Arc<dyn Authorizer> = Arc::new(Mock);
    let request = ResourceSubject {
        resource: "widgets".to_owned(),
        name: "good".to_owned(),
        ..ResourceSubject::default()
    };
    let variables = [
        ("authorizer", Val::authorizer(Arc::clone(&authorizer))),
        ("authorizer.requestResource", Val::request_resource(authorizer, request)),
    ];
    program.eval(&variables, None).value.map(|value| value.to_string()).map_err(|why| why.to_string())
}

#[test]
fn questions_reach_the_host() {
    for (expression, expected) in [
        ("authorizer.path('/good').check('get').allowed()", "true"),
        ("authorizer.path('/x').check('get').reason()", "get /x"),
        ("authorizer.requestResource.check('update').allowed()", "true"),
        (
            "authorizer.serviceAccount('ns', 'sa').group('apps').resource('deployments').subresource('scale')\
             .namespace('n').name('x').fieldSelector('a=b').labelSelector('c').check('get').reason()",
            "get apps/deployments/scale n/x [a=b] [c] Some((\"ns\", \"sa\"))",
        ),
        ("authorizer.group('').resource('bad').check('get').errored()", "true"),
        ("authorizer.group('').resource('bad').check('get').error()", "no"),
    ] {
        assert_eq!(ask(expression).as_deref(), Ok(expected), "{expression}");
    }
}

#[test]
fn questions_about_nothing_are_errors() {
    for (expression, expected) in [
        ("authorizer.path(' ').check('get').allowed()", "path must not be empty"),
        ("authorizer.group('').resource('').check('get').allowed()", "resource must not be empty"),
        (
            "authorizer.serviceAccount('ns', '_').path('/').check('get').allowed()",
            "Invalid service account name",
        ),
    ] {
        assert_eq!(ask(expression), Err(expected.to_owned()), "{expression}");
    }
}
