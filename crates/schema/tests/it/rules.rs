//! What validation rules say, next to what the real library of Kubernetes 1.37.2 says: `conformance/recorded/cel`.

use std::path::Path as FilePath;
use std::sync::Arc;

use pilothouse_cel::Env;
use pilothouse_schema::cel::{self, Findings, Rules};
use pilothouse_schema::{Schema, crd, structural};
use pilothouse_value::field::{self, Path};
use pilothouse_value::{Value, json, parse};

/// A definition with a schema, as the recorder makes it.
fn definition(schema: &Value) -> Value {
    let mut definition = json!({
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Cluster", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
        "status": {"storedVersions": ["v1"]},
    });
    crd::default(&mut definition);
    definition
}

fn list(errors: &[field::Error]) -> Value {
    let one = |error: &field::Error| -> Value {
        vec![error.kind.reason().into(), error.path.to_string().into(), Value::from(error.body())].into()
    };
    sorted(errors.iter().map(one).collect())
}

/// Upstream looks at the fields of an object in no order.
fn sorted(mut items: Vec<Value>) -> Value {
    items.sort_by_key(Value::to_json);
    items.into()
}

fn answer(question: &Value) -> Value {
    let mut said = Value::object();
    let mut put = |key: &str, value: Value| {
        if value.as_array().is_none_or(|items| !items.is_empty()) {
            said.set(&[key], value);
        }
    };
    if let Some(new) = question.get("crd") {
        let [new, old] = [Some(new), question.get("oldCrd")].map(|one| {
            let mut one = one.cloned()?;
            crd::default(&mut one);
            Some(one)
        });
        put("definition", list(&crd::validate(&new.unwrap_or_default(), old.as_ref())));
        put("spent", 0.into());
        return said;
    }
    let document = question.get("schema").cloned().unwrap_or_default();
    put("definition", list(&crd::validate(&definition(&document), None)));
    let schema = structural::parse_stored(&document);
    put("costs", costs(&schema));
    let mut findings = Findings::default();
    if let Some(object) = question.get("object").filter(|object| !object.is_null())
        && let Some(rules) = Rules::compile(&schema)
    {
        let old = question.get("old").filter(|old| !old.is_null());
        cel::evaluate(&schema, &rules, object, old, &mut findings);
    }
    put("errors", list(&findings.errors));
    put("warnings", sorted(findings.warnings.into_iter().map(Value::from).collect()));
    put("spent", i64::try_from(findings.cost).unwrap().into());
    said
}

/// What each rule of the root may cost, and the expression of its message.
fn costs(schema: &Schema) -> Value {
    let declared = cel::declare(schema, true).assign_names("root");
    let max =
        |number: u64| -> Value { i64::try_from(number).map_or_else(|_| (number as f64).into(), Value::from) };
    let of = |expression: &str, is_optional: bool| {
        let old = declared.clone();
        let env = Env::kubernetes_stored()
            .variable("self", declared.clone())
            .variable("oldSelf", if is_optional { pilothouse_cel::DeclType::optional(old) } else { old })
            .build();
        env.compile(expression).ok()
    };
    let rules = schema.constraints().rules.iter();
    let costs = rules.map(|rule| -> Value {
        let is_optional = rule.optional_old_self.unwrap_or_default();
        let program =
            of(&rule.rule, is_optional).filter(|program| program.output_type().to_string() == "bool");
        let Some(program) = program else { return vec![0_i64, 0].into() };
        let message = rule.message_expression.as_deref().and_then(|message| of(message, is_optional));
        let message = message.filter(|message| message.output_type().to_string() == "string");
        let of = |program: &pilothouse_cel::Program| max(program.estimate_cost(&declared).max);
        vec![of(&program), message.as_ref().map_or(0.into(), of)].into()
    });
    costs.collect::<Vec<_>>().into()
}

/// The parts of two answers that are not the same.
fn difference(real: &Value, ours: &Value) -> String {
    let keys = ["definition", "costs", "errors", "warnings", "spent"];
    let part = |side: &Value, key: &str| side.get(key).map(Value::to_json).unwrap_or_default();
    keys.iter()
        .filter(|key| real.get(key) != ours.get(key))
        .map(|key| format!("\n   {key}\n      real: {}\n      ours: {}", part(real, key), part(ours, key)))
        .collect()
}

/// The questions of a file with the real answers: one object and many rules, or many questions.
fn recorded(cases: &Value) -> Vec<(String, Value, Value)> {
    if let Some(rules) = cases.get("rules").and_then(Value::as_object) {
        let question = |rule: &str| {
            let mut schema = cases.get("schema").cloned().unwrap();
            schema.set(&["x-kubernetes-validations"], json!([{"rule": rule}]));
            json!({"schema": schema, "object": cases.get("object").unwrap()})
        };
        return rules.iter().map(|(rule, real)| (rule.to_owned(), question(rule), real.clone())).collect();
    }
    let one = |(name, record): (&str, &Value)| {
        (name.to_owned(), record.get("question").cloned().unwrap(), record.get("answer").cloned().unwrap())
    };
    cases.as_object().unwrap().iter().map(one).collect()
}

/// An answer in an order that does not depend on that of fields, and numbers that fit.
fn comparable(mut answer: Value) -> Value {
    for key in ["definition", "errors"] {
        for error in answer.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(Value::String(text)) = error.as_array_mut().and_then(|error| error.last_mut()) {
                *text = unnumbered(text);
            }
        }
    }
    for key in ["definition", "errors", "warnings"] {
        if let Some(items) = answer.get_mut(key).and_then(Value::as_array_mut) {
            items.sort_by_key(Value::to_json);
        }
    }
    answer
}

/// Without the numbers of types, which are of the clock.
fn unnumbered(text: &str) -> String {
    let mut parts = text.split("selfType");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("selfType");
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    out
}

#[test]
fn rules_are_judged_as_by_the_real_library() {
    let folder = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/recorded/cel");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut agreed, mut differed) = (0, Vec::new());
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let cases = parse::json(&std::fs::read(&file).unwrap()).unwrap().value;
        for (case, question, real) in recorded(&cases) {
            let (real, ours) = (comparable(real), comparable(answer(&question)));
            if real == ours {
                agreed += 1;
            } else {
                differed.push(format!("{name}, {case}{}", difference(&real, &ours)));
            }
        }
    }
    println!("rules: {agreed} agreed, {} differed", differed.len());
    assert!(differed.is_empty(), "{}", differed.join("\n"));
}

/// Answers questions like the recorder, for comparisons of many that are not kept: see `conformance/cel/README.md`.
#[test]
fn questions_are_answered_for_comparison() {
    let Some(questions) = std::env::var_os("PILOTHOUSE_CEL_QUESTIONS") else { return };
    let mut answers = String::new();
    for line in std::fs::read_to_string(&questions).unwrap().lines() {
        let question = parse::json(line.as_bytes()).unwrap().value;
        answers.push_str(&answer(&question).to_json());
        answers.push('\n');
    }
    std::fs::write(FilePath::new(&questions).with_extension("answers"), answers).unwrap();
}

#[derive(Default)]
struct Corpus {
    agreed: usize,
    differed: Vec<String>,
}

/// The rules that upstream's own tests have, in a corpus that is not part of the project.
#[test]
fn rules_of_upstreams_tests_are_accepted_and_refused_as_there() {
    let folder = std::env::var_os("PILOTHOUSE_CORPUS").map_or_else(
        || FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
        std::path::PathBuf::from,
    );
    let file = folder.join("cel/rules.jsonl");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!("no corpus of rules at {}: {error}\nhint: set PILOTHOUSE_CORPUS", file.display())
    });
    let mut corpus = Corpus::default();
    for line in text.lines() {
        let case = parse::json(line.as_bytes()).unwrap().value;
        let expected = case.str_at(&["err"]).unwrap();
        let found = judge(&case);
        let is_as_expected = match expected {
            "" => found.is_empty(),
            _ => found.iter().any(|text| text.contains(expected.trim_start_matches("compile error: "))),
        };
        if is_as_expected {
            corpus.agreed += 1;
        } else {
            let rule = case.str_at(&["rule"]).unwrap();
            let name = case.str_at(&["name"]).unwrap();
            corpus.differed.push(format!("{name}: {rule}\n   expected: {expected:?}\n   found: {found:?}"));
        }
    }
    println!("corpus: {} of {}", corpus.agreed, corpus.agreed + corpus.differed.len());
    assert!(corpus.differed.is_empty(), "{}\n{} differ", corpus.differed.join("\n"), corpus.differed.len());
}

fn judge(case: &Value) -> Vec<String> {
    let mut schema = case.get("schema").cloned().unwrap();
    schema.set(&["x-kubernetes-validations"], json!([{"rule": case.get("rule").unwrap()}]));
    let mut object = case.get("obj").cloned().unwrap();
    let mut old = case.get("oldObj").cloned().filter(|old| !old.is_null());
    narrow(&schema, &mut object);
    if case.at(&["isRoot"]).and_then(Value::as_bool) != Some(true) {
        // Not a whole resource: a part of one.
        let around = |part: Value| json!({"part": part});
        schema = json!({"type": "object", "properties": {"part": schema}});
        object = around(object);
        old = old.map(around);
    }
    let schema: Arc<Schema> = structural::parse_stored(&schema);
    let rules = Rules::compile(&schema).unwrap();
    let mut findings = Findings::default();
    cel::evaluate(&schema, &rules, &object, old.as_ref(), &mut findings);
    findings.errors.iter().map(ToString::to_string).collect()
}

/// Upstream's cases have 32-bit numbers where the format says `float`; their text in JSON is another 64-bit number.
fn narrow(schema: &Value, value: &mut Value) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (name, property) in properties.iter() {
            if let Some(inner) = value.get_mut(name) {
                narrow(property, inner);
            }
        }
    }
    if schema.str_at(&["format"]) == Some("float")
        && let Value::Float(number) = value
    {
        *number = f64::from(*number as f32);
    }
}

/// A schema is checked by the rules of definitions when it is read on its own too.
#[test]
fn a_rule_that_does_not_compile_is_refused_with_its_place() {
    let schema = json!({
        "type": "object",
        "properties": {"replicas": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 'a'"}]}},
    });
    let errors = structural::parse(&schema, &Path::new("schema")).unwrap_err();
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(
        texts[0].starts_with("schema.properties[replicas].x-kubernetes-validations[0].rule: Invalid value: ")
    );
    assert!(
        texts[0].contains("compilation failed: ERROR: <input>:1:6: found no matching overload for '_>_'"),
        "{texts:?}"
    );
}
