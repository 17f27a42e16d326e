//! Documents of built-in kinds are those of a real server, to the byte. What the real server has is recorded by
//! `conformance/openapi/record.py`; where a document departs from it, the digests say in which paths and definitions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pilothouse_schema::openapi::{self, CustomResource, Document};
use pilothouse_value::{Value, parse};
use sha2::{Digest as _, Sha256, Sha512};

use crate::recorded;

fn conformance() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// What is recorded: by name the digest of the second version and that of the third, or of JSON and of protobuf.
fn digests(file: &str) -> BTreeMap<String, (String, String)> {
    let text = std::fs::read_to_string(conformance().join("recorded/openapi").join(file)).unwrap();
    let row = |line: &str| {
        let mut words = line.rsplitn(3, ' ').map(str::to_owned);
        let (last, first) = (words.next()?, words.next()?);
        Some((words.next()?, (first, last)))
    };
    text.lines().filter_map(row).collect()
}

/// Where the documents are written to, for `conformance/openapi/compare.py`.
fn folder() -> Option<PathBuf> {
    std::env::var_os("PILOTHOUSE_OPENAPI").map(PathBuf::from)
}

fn write(name: &str, document: &Document) {
    if let Some(folder) = folder() {
        let name = name.replace('/', "+");
        std::fs::write(folder.join(format!("{name}.json")), document.json()).unwrap();
        std::fs::write(folder.join(format!("{name}.pb")), document.protobuf()).unwrap();
    }
}

/// The paths and definitions whose digests are not the recorded ones.
fn departed(document: &Document, second: bool, recorded: &BTreeMap<String, (String, String)>) -> String {
    let value = parse::json(document.json().as_bytes()).unwrap().value;
    let schemas = if second { value.get("definitions") } else { value.at(&["components", "schemas"]) };
    let parts = [value.get("paths"), schemas].into_iter().flatten().filter_map(Value::as_object);
    let is_other = |(name, part): &(&str, &Value)| {
        let real = recorded.get(*name).map(|(v2, v3)| if second { v2 } else { v3 });
        // The options of requests are told to be of another kind in each document.
        let varies = !second && (name.ends_with(".DeleteOptions") || name.ends_with(".WatchEvent"));
        !varies && real.is_some_and(|real| *real != digest(part.to_json().as_bytes()))
    };
    let names: Vec<&str> =
        parts.flat_map(|part| part.iter()).filter(is_other).map(|(name, _)| name).collect();
    names.join(", ")
}

#[test]
fn built_in_documents_have_the_hashes_of_a_real_server() {
    let recorded = digests("documents.txt");
    let mut others = Vec::new();
    for (path, hash) in openapi::builtin_hashes() {
        let (document, _) = openapi::builtin_document(path).unwrap();
        write(path, document);
        if format!("{:X}", Sha512::digest(document.json())) != hash {
            others.push(format!("{path}: {}", departed(document, false, &recorded)));
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
}

#[test]
fn the_swagger_document_is_that_of_a_real_server() {
    let document = openapi::swagger(&[]);
    write("v2", &document);
    let ours = (digest(document.json().as_bytes()), digest(document.protobuf()));
    let recorded = digests("documents.txt");
    let real = recorded.get("openapi/v2").unwrap();
    assert_eq!(&ours, real, "departs in {}", departed(&document, true, &recorded));
    let value = parse::json(document.json().as_bytes()).unwrap().value;
    let is_told = |name: &str| value.at(&["paths", name]).or(value.at(&["definitions", name])).is_some();
    let missing: Vec<&String> = recorded
        .iter()
        .filter(|(name, (v2, _))| !name.starts_with("openapi/") && v2 != "-" && !is_told(name))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(missing, Vec::<&String>::new());
}

#[test]
fn protobuf_forms_are_those_of_a_real_server() {
    let recorded = digests("documents.txt");
    // One document of each sort; the large ones are made of the same parts.
    for path in ["apis", "apis/apps", "apis/autoscaling/v2", "apis/apiextensions.k8s.io/v1", "version"] {
        let (document, _) = openapi::builtin_document(path).unwrap();
        let real = recorded.get(&format!("openapi/v3/{path}")).map(|(_, protobuf)| protobuf.as_str());
        assert_eq!(Some(digest(document.protobuf()).as_str()), real, "{path}");
    }
}

/// The definitions that `record.py` creates, in its order; of two with the same name the first.
fn definitions() -> Vec<Value> {
    let mut files: Vec<String> = std::fs::read_dir(conformance().join("recorded/crds"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let mut all: Vec<Value> = Vec::new();
    for file in files {
        let project = recorded::corpus().join("crds").join(file.trim_end_matches(".json"));
        let record = recorded::recorded(&file);
        let keys = record.get("crds").and_then(Value::as_object);
        for (key, _) in keys.iter().flat_map(|keys| keys.iter()) {
            let definition = recorded::document(&project, key);
            let name = |one: &Value| one.str_at(&["metadata", "name"]).unwrap().to_owned();
            if !all.iter().any(|other| name(other) == name(&definition)) {
                all.push(definition);
            }
        }
    }
    let zoo = std::fs::read(conformance().join("openapi/zoo.json")).unwrap();
    all.push(parse::json(&zoo).unwrap().value);
    all
}

#[test]
fn documents_of_well_known_definitions_are_those_of_a_real_server() {
    let recorded = digests("crds.txt");
    let definitions = definitions();
    let mut by_path: BTreeMap<String, Vec<CustomResource<'_>>> = BTreeMap::new();
    for definition in &definitions {
        for version in definition.items_at(&["spec", "versions"]) {
            if version.get("served") == Some(&Value::Bool(true)) {
                let group = definition.str_at(&["spec", "group"]).unwrap();
                let path = format!("openapi/v3/apis/{group}/{}", version.str_at(&["name"]).unwrap());
                by_path.entry(path).or_default().push(CustomResource { definition, version });
            }
        }
    }
    let mut others = Vec::new();
    for (path, resources) in &by_path {
        let document = openapi::custom_document(resources);
        let ours = (digest(document.json().as_bytes()), digest(document.protobuf()));
        if recorded.get(path) != Some(&ours) {
            others.push(format!("{path}: {}", departed(&document, false, &recorded)));
        }
    }
    let all: Vec<CustomResource<'_>> = by_path.into_values().flatten().collect();
    let document = openapi::swagger(&all);
    if recorded.get("openapi/v2").map(|(json, _)| json) != Some(&digest(document.json().as_bytes())) {
        others.push(format!("openapi/v2: {}", departed(&document, true, &recorded)));
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
}
