//! CRDs of well-known projects and objects of them: our answers next to those of a real kube-apiserver 1.37.2, which
//! stand in `conformance/recorded/crds`. The requests are those of the recorder.

use std::path::{Path, PathBuf};

use pilothouse_value::{Value, object, parse};

use crate::support::{Answer, Api};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

pub(crate) fn recorded(project: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/recorded/crds");
    parse::json(&std::fs::read(folder.join(format!("{project}.json"))).unwrap()).unwrap().value
}

pub(crate) fn corpus() -> PathBuf {
    let path = std::env::var_os("PILOTHOUSE_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"), PathBuf::from);
    assert!(
        path.join("crds").is_dir(),
        "no corpus of CRDs at {}\nhint: set PILOTHOUSE_CORPUS to a folder with crds/PROJECT/*.yaml and crs/PROJECT/*.yaml",
        path.display()
    );
    path
}

/// The text of one document of a YAML file; `key` is `FILE#INDEX`, counted as the recorder counts.
pub(crate) fn document(folder: &Path, key: &str) -> String {
    let (file, at) = key.rsplit_once('#').unwrap();
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
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
    parts.into_iter().filter(says_something).nth(at.parse().unwrap()).unwrap()
}

/// The part of an answer that does not change from run to run, in the form of the records.
fn said(answer: &Answer) -> Value {
    let body = answer.json();
    let mut said = Value::object();
    said.set(&["code"], i64::from(answer.code));
    let mut warnings: Vec<Value> = answer
        .headers
        .get_all("warning")
        .iter()
        .filter_map(|header| {
            let text = header.to_str().ok()?.strip_prefix("299 - \"")?.strip_suffix('"')?;
            Some(text.replace("\\\"", "\"").replace("\\\\", "\\").into())
        })
        .collect();
    warnings.sort_by_key(Value::to_json);
    if !warnings.is_empty() {
        said.set(&["warnings"], warnings);
    }
    if body.str_at(&["status"]) == Some("Failure") {
        said.set(&["reason"], body.get("reason").cloned());
        let causes = body.items_at(&["details", "causes"]);
        if causes.len() <= 1 {
            said.set(&["message"], body.get("message").cloned());
        }
        if !causes.is_empty() {
            let fields = |cause: &Value| {
                ["reason", "field", "message"].map(|key| cause.get(key).cloned().unwrap_or_default())
            };
            said.set(&["causes"], sorted(causes.iter().map(|cause| fields(cause).to_vec().into()).collect()));
        }
    } else {
        let mut object = body;
        for key in ["uid", "creationTimestamp", "resourceVersion", "managedFields", "generation"] {
            object.take(&["metadata", key]);
        }
        if object.at(&["metadata", "generateName"]).is_some() {
            object.take(&["metadata", "name"]);
        }
        said.set(&["object"], object);
    }
    said
}

fn sorted(mut values: Vec<Value>) -> Vec<Value> {
    values.sort_by_key(Value::to_json);
    values
}

fn expected(record: &Value) -> Value {
    let mut answer = record.get("plain").or(record.get("answer")).unwrap().clone();
    if let Some(causes) = answer.get_mut("causes").and_then(Value::as_array_mut) {
        causes.sort_by_key(Value::to_json);
    }
    answer
}

#[derive(Default)]
struct Row {
    definitions: usize,
    samples: usize,
    probes: usize,
    agreed: usize,
    by_rules: usize,
    differed: Vec<String>,
}

impl Row {
    fn compare(&mut self, name: &str, record: &Value, ours: &Value) {
        let expected = expected(record);
        self.by_rules += usize::from(record.get("plain").is_some());
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

async fn ask(api: &Api, definition: &Value, version: &str, body: &str, kind: &str, namespace: &str) -> Value {
    let group = definition.str_at(&["spec", "group"]).unwrap();
    let plural = definition.str_at(&["spec", "names", "plural"]).unwrap();
    let place = match definition.str_at(&["spec", "scope"]) {
        Some("Namespaced") => format!("namespaces/{namespace}/"),
        _ => String::new(),
    };
    let path = format!("/apis/{group}/{version}/{place}{plural}?fieldValidation=Warn&dryRun=All");
    said(&api.send("POST", &path, &[("content-type", kind)], body).await)
}

async fn replay(corpus: &Path, project: &str) -> Row {
    let record = recorded(project);
    let mut row = Row::default();
    let mut api = Api::start();
    let mut definitions: Vec<Value> = Vec::new();
    for (key, made) in record.get("crds").and_then(Value::as_object).unwrap().iter() {
        let text = document(&corpus.join("crds").join(project), key);
        if definitions.iter().any(|one| one.str_at(&["metadata", "name"]) == made.str_at(&["name"])) {
            // The recorder deleted the first of two with one name; nothing else of it is left.
            let name = made.str_at(&["name"]).unwrap();
            definitions.retain(|one| object::name(one) != name);
            api = Api::start();
            for one in &definitions {
                let mut again = one.clone();
                for field in ["uid", "resourceVersion", "managedFields", "creationTimestamp", "generation"] {
                    again.take(&["metadata", field]);
                }
                assert_eq!(api.post(DEFINITIONS, &again).await.code, 201);
            }
        }
        let mut definition = parse::yaml(&text).unwrap().value;
        // What is recorded as plain was answered without the webhook, which is not there.
        definition.take(&["spec", "conversion"]);
        let answer = api.post(DEFINITIONS, &definition).await;
        row.definitions += 1;
        assert_eq!(answer.code, 201, "{key}: {}", answer.text);
        let definition = api.get(&format!("{DEFINITIONS}/{}", object::name(&answer.json()))).await.json();
        assert!(object::condition_is_true(&definition, "Established"), "{key}");
        let names = definition.at(&["spec", "names"]);
        let stored = definition.at(&["status", "storedVersions"]);
        if names == made.get("names") && stored == made.get("storedVersions") {
            row.agreed += 1;
        } else {
            row.differed.push(format!("{key}: {}", definition.get("status").unwrap().to_json()));
        }
        for (name, probe) in record.at(&["probes", key]).and_then(Value::as_object).unwrap().iter() {
            let version = name.split(' ').next().unwrap();
            let body = probe.get("input").unwrap().to_json();
            let ours = ask(&api, &definition, version, &body, "application/json", "default").await;
            row.compare(&format!("{key} {name}"), probe, &ours);
            row.probes += 1;
        }
        definitions.push(definition);
    }
    for (key, sample) in record.get("samples").and_then(Value::as_object).unwrap().iter() {
        let text = document(&corpus.join("crs").join(project), key);
        let document = parse::yaml(&text).unwrap().value;
        let (group, version) = object::api_version(&document).rsplit_once('/').unwrap();
        let definition = definitions.iter().find(|one| {
            one.str_at(&["spec", "group"]) == Some(group)
                && one.str_at(&["spec", "names", "kind"]) == Some(object::kind(&document))
        });
        let namespace = object::namespace(&document).unwrap_or("default");
        api.post("/api/v1/namespaces", &pilothouse_value::json!({"metadata": {"name": namespace}})).await;
        let ours = ask(&api, definition.unwrap(), version, &text, "application/yaml", namespace).await;
        row.compare(key, sample, &ours);
        row.samples += 1;
    }
    row
}

#[tokio::test]
async fn crds_and_samples_of_projects_are_accepted_or_refused_as_by_a_real_server() {
    let corpus = corpus();
    let entries = std::fs::read_dir(corpus.join("crds")).unwrap();
    let mut projects: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    projects.sort();
    println!(
        "{:<22}{:>6}{:>9}{:>9}{:>9}{:>9}{:>12}",
        "project", "CRDs", "samples", "probes", "agreed", "differed", "CEL, webhook"
    );
    let mut differed = Vec::new();
    for project in &projects {
        let row = replay(&corpus, project).await;
        println!(
            "{project:<22}{:>6}{:>9}{:>9}{:>9}{:>9}{:>12}",
            row.definitions,
            row.samples,
            row.probes,
            row.agreed,
            row.differed.len(),
            row.by_rules
        );
        differed.extend(row.differed.into_iter().map(|text| format!("{project}: {text}")));
    }
    println!(
        "CEL rules and conversion webhooks are left out: where they change an answer, the real one without them counts."
    );
    assert!(differed.is_empty(), "{} differ\n{}", differed.len(), differed.join("\n"));
}
