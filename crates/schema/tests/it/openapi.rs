//! Documents of built-in kinds are those of a real server, to the byte. What the real server has is recorded by
//! `conformance/openapi/record.py`; where a document departs from it, the digests say in which paths and definitions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pilothouse_schema::openapi::{self, Document};
use pilothouse_value::{Value, parse};
use sha2::{Digest as _, Sha256, Sha512};

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// What is recorded: by name the digest of the second version and that of the third, or of JSON and of protobuf.
fn recorded() -> BTreeMap<String, (String, String)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/recorded/openapi/documents.txt");
    let text = std::fs::read_to_string(file).unwrap();
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

/// The paths and definitions whose digests are not the recorded ones, and those that are missing.
fn departed(document: &Document, second: bool) -> Vec<String> {
    let recorded = recorded();
    let value = parse::json(document.json().as_bytes()).unwrap().value;
    let schemas = if second { value.get("definitions") } else { value.at(&["components", "schemas"]) };
    let parts = [value.get("paths"), schemas].into_iter().flatten().filter_map(Value::as_object);
    let is_other = |(name, part): &(&str, &Value)| {
        let real = recorded.get(*name).map(|(v2, v3)| if second { v2 } else { v3 });
        // The options of requests are told to be of another kind in each document.
        let varies = !second && (name.ends_with(".DeleteOptions") || name.ends_with(".WatchEvent"));
        !varies && real != Some(&digest(part.to_json().as_bytes()))
    };
    parts.flat_map(|part| part.iter()).filter(is_other).map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn built_in_documents_have_the_hashes_of_a_real_server() {
    let mut others = Vec::new();
    for (path, hash) in openapi::builtin_hashes() {
        let (document, _) = openapi::builtin_document(path).unwrap();
        write(path, document);
        if format!("{:X}", Sha512::digest(document.json())) != hash {
            others.push(format!("{path}: {}", departed(document, false).join(", ")));
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
}

#[test]
fn the_swagger_document_is_that_of_a_real_server() {
    let document = openapi::swagger(&[]);
    write("v2", &document);
    let ours = (digest(document.json().as_bytes()), digest(document.protobuf()));
    let recorded = recorded();
    let real = recorded.get("openapi/v2").unwrap();
    assert_eq!(&ours, real, "departs in {}", departed(&document, true).join(", "));
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
    let recorded = recorded();
    // One document of each sort; the large ones are made of the same parts.
    for path in ["apis", "apis/apps", "apis/autoscaling/v2", "apis/apiextensions.k8s.io/v1", "version"] {
        let (document, _) = openapi::builtin_document(path).unwrap();
        let real = recorded.get(&format!("openapi/v3/{path}")).map(|(_, protobuf)| protobuf.as_str());
        assert_eq!(Some(digest(document.protobuf()).as_str()), real, "{path}");
    }
}
