//! Our answers next to those of a real kube-apiserver 1.37.2, which stand in `conformance/recorded/crds`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pilothouse_schema::cel::{self, Findings, Rules};
use pilothouse_schema::{Schema, check_embedded, crd, default, prune, structural, validate};
use pilothouse_value::field::Path;
use pilothouse_value::{Status, Value, json, object, parse};

pub(crate) fn recorded(name: &str) -> Value {
    let path = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/recorded/crds").join(name);
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("reading {}: {error}", path.display()));
    parse::json(&text).unwrap().value
}

pub(crate) fn corpus() -> PathBuf {
    let path = std::env::var_os("PILOTHOUSE_CORPUS").map_or_else(
        || FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
        PathBuf::from,
    );
    assert!(
        path.join("crds").is_dir(),
        "no corpus of CRDs at {}\nhint: set PILOTHOUSE_CORPUS to a folder with crds/PROJECT/*.yaml and crs/PROJECT/*.yaml",
        path.display()
    );
    path
}

/// The documents of a YAML file, counted as the recorder counts them.
fn documents(path: &FilePath) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut parts = vec![String::new()];
    for line in text.lines() {
        if line.starts_with("---") {
            parts.push(String::new());
        } else {
            let part = parts.last_mut().unwrap();
            part.push_str(line);
            part.push('\n');
        }
    }
    let says_something = |part: &String| {
        part.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
    };
    parts.iter().filter(|part| says_something(part)).map(|part| parse::yaml(part).unwrap().value).collect()
}

/// What a server answers, in the form of the records.
fn answer(
    errors: &[pilothouse_value::field::Error],
    group: &str,
    kind: &str,
    accepted: &Value,
    warnings: Vec<String>,
) -> Value {
    let mut said = Value::object();
    if !warnings.is_empty() {
        said.set(&["warnings"], warnings.into_iter().map(Value::from).collect::<Vec<_>>());
    }
    if errors.is_empty() {
        said.set(&["code"], 201);
        said.set(&["object"], accepted.clone());
        return said;
    }
    let status = Status::invalid(group, kind, object::name(accepted), errors).to_value();
    said.set(&["code"], status.at(&["code"]).cloned());
    said.set(&["reason"], status.at(&["reason"]).cloned());
    let causes = status.items_at(&["details", "causes"]);
    if causes.len() <= 1 {
        said.set(&["message"], status.at(&["message"]).cloned());
    }
    let mut causes: Vec<Value> = causes
        .iter()
        .map(|cause| {
            ["reason", "field", "message"]
                .map(|key| cause.get(key).cloned().unwrap_or_default())
                .to_vec()
                .into()
        })
        .collect();
    causes.sort_by_key(Value::to_json);
    said.set(&["causes"], causes);
    said
}

/// A record in the order of ours, without what this room does not decide.
fn comparable(mut record: Value) -> Value {
    if let Some(causes) = record.get_mut("causes").and_then(Value::as_array_mut) {
        causes.sort_by_key(Value::to_json);
    }
    record
}

/// A definition with the schemas of its versions.
struct Definition {
    document: Value,
    schemas: BTreeMap<String, Arc<Schema>>,
    rules: BTreeMap<String, Option<Rules>>,
}

impl Definition {
    fn new(document: Value) -> Self {
        let names =
            document.items_at(&["spec", "versions"]).iter().map(|version| version.str_at(&["name"]).unwrap());
        let schemas: BTreeMap<String, Arc<Schema>> =
            names.map(|name| (name.to_owned(), crd::schema(&document, name).unwrap())).collect();
        let rules = schemas.iter().map(|(name, schema)| (name.clone(), Rules::compile(schema))).collect();
        Self { document, schemas, rules }
    }

    fn text(&self, path: &[&str]) -> &str {
        self.document.str_at(path).unwrap()
    }

    /// What our schemas make of an object that is created.
    fn create(&self, version: &str, mut object: Value) -> Value {
        let schema = &self.schemas[version];
        let embedded = check_embedded(schema, &object);
        let mut warnings: Vec<String> =
            prune(schema, &mut object).into_iter().map(|path| format!("unknown field \"{path}\"")).collect();
        warnings.extend(crd::deprecation_warning(&self.document, version));
        warnings.sort();
        if let Err(error) = embedded {
            let kind = object::kind(&object);
            let text = format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {error}");
            return json!({"code": 400, "reason": "BadRequest", "message": text});
        }
        default(schema, &mut object);
        let versions = self.document.items_at(&["spec", "versions"]);
        let document = versions.iter().find(|one| one.str_at(&["name"]) == Some(version)).unwrap();
        // With a status subresource, what a client says of the status is not even looked at.
        if document.at(&["subresources", "status"]).is_some() {
            object.take(&["status"]);
        }
        let mut errors = validate(schema, &object, None, &Path::root());
        if let Some(scale) = document.at(&["subresources", "scale"]) {
            errors.extend(crd::validate_scale(scale, &object, false));
        }
        let errors = judged(schema, self.rules[version].as_ref(), &object, None, errors).errors;
        // It is stored in another version perhaps, and what is read from storage is pruned and defaulted again: the
        // status may have defaults.
        let storage = crd::storage_version(&self.document).unwrap_or(version);
        for version in [storage, version] {
            prune(&self.schemas[version], &mut object);
            default(&self.schemas[version], &mut object);
        }
        if self.document.str_at(&["spec", "scope"]) == Some("Namespaced")
            && object::namespace(&object).is_none()
        {
            object.set(&["metadata", "namespace"], "default");
        }
        let (group, kind) = (self.text(&["spec", "group"]), self.text(&["spec", "names", "kind"]));
        answer(&errors, group, kind, &normalised(object), warnings)
    }
}

/// What was found in an object, with what the rules say of it.
fn judged(
    schema: &Schema,
    rules: Option<&Rules>,
    new: &Value,
    old: Option<&Value>,
    errors: Vec<pilothouse_value::field::Error>,
) -> Findings {
    let mut findings = Findings { errors, ..Findings::default() };
    if let Some(rules) = rules {
        cel::evaluate(schema, rules, new, old, &mut findings);
    }
    findings
}

fn normalised(mut object: Value) -> Value {
    for key in ["uid", "creationTimestamp", "resourceVersion", "managedFields", "generation"] {
        object.take(&["metadata", key]);
    }
    object
}

#[derive(Default)]
struct Tally {
    agreed: usize,
    differed: Vec<String>,
    by_webhook: usize,
}

impl Tally {
    fn compare(&mut self, name: &str, record: &Value, ours: &Value) {
        // Where a webhook is asked, that is not there: what is said without it.
        let plain = record.get("plain");
        self.by_webhook += usize::from(plain.is_some());
        let expected = comparable(plain.or_else(|| record.get("answer")).unwrap().clone());
        if expected == *ours {
            self.agreed += 1;
        } else {
            self.differed.push(format!(
                "{name}\n   real: {}\n   ours: {}",
                expected.to_json(),
                ours.to_json()
            ));
        }
    }
}

#[test]
fn values_are_judged_as_by_a_real_server() {
    let record = recorded("values.json");
    let properties: BTreeMap<_, _> = record
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, case)| (name.to_owned(), case.get("schema").cloned()))
        .collect();
    let properties = Value::Object(properties.into_iter().collect());
    let definition = Definition::new(json!({"spec": {
        "group": "test.example.com", "names": {"kind": "Value"},
        "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}}],
    }}));
    let mut tally = Tally::default();
    for (name, case) in record.as_object().unwrap().iter() {
        for one in case.items_at(&["answers"]) {
            let value = one.get("value").unwrap();
            let mut object =
                json!({"apiVersion": "test.example.com/v1", "kind": "Value", "metadata": {"name": "v"}});
            // As it was read: a number stays as it was written.
            object.set(&[name], value.clone());
            let mut ours = definition.create("v1", object);
            if let Some(Value::Object(fields)) = ours.get_mut("object") {
                fields.retain(|key, _| key == name);
            }
            // As on the wire: 1.0 is written as 1.
            let ours = parse::json(ours.to_json().as_bytes()).unwrap().value;
            tally.compare(&format!("{name} {}", value.to_json()), one, &ours);
        }
    }
    assert_agreed("values", &tally);
}

#[test]
fn crds_are_judged_as_by_a_real_server() {
    let mut tally = Tally::default();
    for (name, case) in recorded("rules.json").as_object().unwrap().iter() {
        let mut definition = case.get("input").unwrap().clone();
        crd::default(&mut definition);
        let errors = crd::validate(&definition, None);
        let mut object = Value::object();
        object.set(&["metadata", "name"], object::name(&definition));
        let mut ours =
            answer(&errors, "apiextensions.k8s.io", "CustomResourceDefinition", &object, Vec::new());
        let mut real = case.clone();
        // Unknown fields of the CRD itself are found by whoever decodes it.
        let warnings = real.get_mut("answer").unwrap().take(&["warnings"]).unwrap_or_default();
        let mut formats: Vec<_> = warnings
            .as_array()
            .into_iter()
            .flatten()
            .filter(|one| !one.as_str().unwrap().starts_with("unknown field"))
            .cloned()
            .collect();
        formats.sort_by_key(Value::to_json);
        let mut found: Vec<Value> = if errors.is_empty() {
            crd::warnings(&definition, None).into_iter().map(Value::from).collect()
        } else {
            Vec::new()
        };
        found.sort_by_key(Value::to_json);
        assert_eq!(found, formats, "warnings of {name}");
        if ours.get("object").is_some() {
            let mut spec = definition.get("spec").unwrap().clone();
            spec.take(&["versions"]);
            let stored = definition.at(&["status", "storedVersions"]).cloned();
            ours.set(&["object"], json!({"spec": spec, "status": {"storedVersions": stored}}));
            if let Some(status) =
                real.get_mut("answer").unwrap().at_mut(&["object", "status"]).and_then(Value::as_object_mut)
            {
                status.retain(|key, _| key == "storedVersions");
            }
        }
        // Upstream prints its internal form of whole versions and schemas as the value; ours prints the document.
        for side in [real.get_mut("answer").unwrap(), &mut ours] {
            cut_values(side);
        }
        tally.compare(name, &real, &ours);
    }
    assert_agreed("CRDs", &tally);
}

fn cut_values(side: &mut Value) {
    side.take(&["message"]);
    let Some(causes) = side.get_mut("causes").and_then(Value::as_array_mut) else { return };
    for cause in causes {
        let Some(Value::String(text)) = cause.as_array_mut().and_then(|cause| cause.last_mut()) else {
            continue;
        };
        for intro in ["Invalid value: [{", "Invalid value: {\""] {
            if text.starts_with(intro) && !text.starts_with("Invalid value: {\"b\"") {
                *text = text.rsplit_once("]: ").or_else(|| text.rsplit_once("}: ")).unwrap().1.to_owned();
            }
        }
    }
}

fn assert_agreed(what: &str, tally: &Tally) {
    println!("{what}: {} agreed, {} differed", tally.agreed, tally.differed.len());
    assert!(tally.differed.is_empty(), "{}", tally.differed.join("\n"));
}

#[test]
fn updates_are_judged_as_by_a_real_server() {
    let record = recorded("updates.json");
    // All cases are fields of one definition: where it has rules, it has them for all.
    let fields =
        record.as_object().unwrap().iter().filter_map(|(_, case)| {
            Some((case.str_at(&["field"])?.to_owned(), case.get("schema").cloned()?))
        });
    let fields = Value::Object(fields.collect());
    let schema = structural::parse(&json!({"type": "object", "properties": fields}), &Path::root()).unwrap();
    let rules = Rules::compile(&schema);
    let mut tally = Tally::default();
    for (name, case) in record.as_object().unwrap().iter() {
        let ours = if case.get("patch").is_some() {
            updated_crd(case)
        } else {
            updated_object(case, &schema, rules.as_ref())
        };
        tally.compare(name, case, &ours);
    }
    assert_agreed("updates", &tally);
}

fn updated_object(case: &Value, schema: &Schema, rules: Option<&Rules>) -> Value {
    let field = case.str_at(&["field"]).unwrap();
    let [old, new] = ["old", "new"].map(|side| {
        let mut object = json!({
            "apiVersion": "test.example.com/v1", "kind": "Update", "metadata": {"name": field}, field: case.get(side).unwrap(),
        });
        prune(schema, &mut object);
        default(schema, &mut object);
        object
    });
    let errors = validate(schema, &new, Some(&old), &Path::root());
    let mut found = judged(schema, rules, &new, Some(&old), errors);
    found.warnings.sort();
    let errors = found.errors;
    let mut ours = answer(&errors, "test.example.com", "Update", &new, found.warnings);
    if errors.is_empty() {
        ours.set(&["code"], 200);
        ours.set(&["object"], new.get(field).cloned());
    }
    ours
}

fn updated_crd(case: &Value) -> Value {
    let mut old = json!({
        "metadata": {"name": "updates.test.example.com"},
        "spec": {
            "group": "test.example.com", "scope": "Cluster", "names": {"plural": "updates", "kind": "Update"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    });
    crd::default(&mut old);
    let mut new = old.clone();
    change(&mut new, case.get("patch").unwrap());
    crd::default(&mut new);
    crd::add_stored_version(&mut new);
    let errors = crd::validate(&new, Some(&old));
    let mut ours = answer(&errors, "apiextensions.k8s.io", "CustomResourceDefinition", &new, Vec::new());
    if errors.is_empty() {
        ours.set(&["code"], 200);
        ours.set(&["object"], json!({"storedVersions": new.at(&["status", "storedVersions"]).unwrap()}));
    }
    ours
}

fn change(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (key, value) in patch.iter() {
                change(target.or_insert_with(key, Value::object), value);
            }
        }
        (target, patch) => *target = patch.clone(),
    }
}

#[test]
fn crds_and_samples_of_projects_are_judged_as_by_a_real_server() {
    let corpus = corpus();
    let mut projects: Vec<_> =
        std::fs::read_dir(corpus.join("crds")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    projects.sort();
    let mut table = format!(
        "{:<22}{:>6}{:>9}{:>9}{:>9}{:>9}{:>11}{:>9}\n",
        "project", "CRDs", "samples", "probes", "agreed", "differed", "CEL rules", "webhook"
    );
    let mut sums = [0_usize; 7];
    let mut differed = Vec::new();
    // Reading the corpus is most of the work, so projects share the cores.
    let next = AtomicUsize::new(0);
    let work = || {
        let mut mine = Vec::new();
        while let Some(project) = projects.get(next.fetch_add(1, Ordering::Relaxed)) {
            let project = project.to_str().unwrap();
            mine.push((project, replay(&corpus, project)));
        }
        mine
    };
    let mut all: Vec<_> = std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    all.sort_by_key(|(project, _)| *project);
    for (project, replayed) in all {
        let row = [
            replayed.crds,
            replayed.samples,
            replayed.probes,
            replayed.tally.agreed,
            replayed.tally.differed.len(),
            replayed.rules,
            replayed.tally.by_webhook,
        ];
        write_row(&mut table, project, row);
        sums.iter_mut().zip(row).for_each(|(sum, one)| *sum += one);
        differed.extend(replayed.tally.differed.into_iter().map(|text| format!("{project}: {text}")));
    }
    write_row(&mut table, "all", sums);
    println!(
        "{table}\n`webhook` answers are those of the same server to the same CRD without its conversion webhook."
    );
    assert!(differed.is_empty(), "{} differ\n{}", differed.len(), differed.join("\n"));
}

fn write_row(table: &mut String, name: &str, row: [usize; 7]) {
    let [crds, samples, probes, agreed, differed, rules, by_webhook] = row;
    writeln!(
        table,
        "{name:<22}{crds:>6}{samples:>9}{probes:>9}{agreed:>9}{differed:>9}{rules:>11}{by_webhook:>9}"
    )
    .unwrap();
}

struct Replayed {
    crds: usize,
    samples: usize,
    probes: usize,
    rules: usize,
    tally: Tally,
}

fn replay(corpus: &FilePath, project: &str) -> Replayed {
    let record = recorded(&format!("{project}.json"));
    let mut replayed = Replayed { crds: 0, samples: 0, probes: 0, rules: 0, tally: Tally::default() };
    let mut definitions: Vec<Definition> = Vec::new();
    for (key, said) in record.get("crds").and_then(Value::as_object).unwrap().iter() {
        let mut definition = document(&corpus.join("crds").join(project), key);
        let ours = created_crd(&mut definition);
        let mut real = json!({"answer": said});
        for key in ["conditions", "rules", "warnings"] {
            real.take(&["answer", key]);
        }
        replayed.tally.compare(key, &real, &ours);
        replayed.crds += 1;
        replayed.rules += crd::count_rules(&definition);
        let definition = Definition::new(definition);
        for (name, probe) in record.at(&["probes", key]).and_then(Value::as_object).unwrap().iter() {
            let version = name.split(' ').next().unwrap();
            let ours = definition.create(version, probe.get("input").unwrap().clone());
            replayed.tally.compare(&format!("{key} {name}"), probe, &ours);
            replayed.probes += 1;
        }
        definitions.push(definition);
    }
    for (key, said) in record.get("samples").and_then(Value::as_object).unwrap().iter() {
        let sample = document(&corpus.join("crs").join(project), key);
        let (group, version) = object::api_version(&sample).rsplit_once('/').unwrap();
        // Of two definitions with one name the later one stands.
        let definition = definitions.iter().rfind(|one| {
            one.text(&["spec", "group"]) == group
                && one.text(&["spec", "names", "kind"]) == object::kind(&sample)
        });
        let definition = definition.unwrap();
        let version = version.to_owned();
        replayed.tally.compare(key, said, &definition.create(&version, sample));
        replayed.samples += 1;
    }
    replayed
}

pub(crate) fn document(folder: &FilePath, key: &str) -> Value {
    let (file, at) = key.rsplit_once('#').unwrap();
    documents(&folder.join(file)).swap_remove(at.parse::<usize>().unwrap())
}

fn created_crd(definition: &mut Value) -> Value {
    definition.take(&["status"]);
    crd::default(definition);
    let errors = crd::validate(definition, None);
    let mut ours =
        answer(&errors, "apiextensions.k8s.io", "CustomResourceDefinition", definition, Vec::new());
    if ours.take(&["object"]).is_some() {
        ours.set(&["name"], object::name(definition));
        ours.set(&["names"], definition.at(&["spec", "names"]).cloned());
        ours.set(&["conversion"], definition.at(&["spec", "conversion"]).cloned());
        ours.set(&["storedVersions"], definition.at(&["status", "storedVersions"]).cloned());
        let versions =
            definition.items_at(&["spec", "versions"]).iter().map(|version| version.get("name").cloned());
        ours.set(&["versions"], versions.map(Option::unwrap_or_default).collect::<Vec<_>>());
    }
    ours
}
