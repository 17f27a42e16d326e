//! Programs can be shared between threads and know what they use.

use pilothouse_cel::{DeclType, Env, Issues, Program, Type, Val};

#[test]
fn environments_and_programs_are_shared_between_threads() {
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<Env>();
    is_shared::<Program>();
    is_shared::<Issues>();
}

#[test]
fn a_program_knows_its_type_and_its_variables() {
    let env = Env::kubernetes()
        .variable("self", DeclType::string(None))
        .variable("oldSelf", DeclType::optional(DeclType::string(None)))
        .build();
    let program = env.compile("[1].all(self, self > 0) ? oldSelf.orValue('') : ''").unwrap();
    assert_eq!(*program.output_type(), Type::String);
    assert!(program.references("oldSelf"));
    assert!(program.references("self"), "as upstream, a variable of a macro is not told apart");
    let variables = [("oldSelf", Val::some(Val::text("before")))];
    assert_eq!(program.eval(&variables, None).value.unwrap().as_str(), Some("before"));
    let missing = program.eval(&[], None).value.unwrap_err();
    assert_eq!(missing.to_string(), "no such attribute(s): oldSelf");
}

#[test]
fn functions_of_this_release_are_only_for_expressions_that_are_stored() {
    let source = "[1, 2].includes(1)";
    assert!(Env::kubernetes_stored().build().compile(source).is_ok());
    let issues = Env::kubernetes().build().compile(source).unwrap_err().to_string();
    assert!(issues.contains("undeclared reference to 'includes' (in container '')"), "{issues}");
}

#[test]
fn what_is_right_but_cannot_be_run_is_told_apart() {
    let env = Env::kubernetes().variable("self", DeclType::string(None)).build();
    for (source, text) in [
        ("self.find(')') == ''", "error parsing regexp: unexpected ): `)`"),
        ("int('x') == 1", "type conversion error from 'string' to 'int'"),
    ] {
        let issues = env.compile(source).unwrap_err();
        assert!(issues.is_instantiation(), "{source}");
        assert_eq!(issues.to_string(), text);
    }
    assert!(!env.compile("self +").unwrap_err().is_instantiation());
}
