//! The doors between rooms open as `ARCHITECTURE.md` says. A room that is not listed here fails, so that a new one is
//! placed before it is used.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Each room, and the rooms it may look into.
const DOORS: &[(&str, &[&str])] = &[
    ("pilothouse-value", &[]),
    ("pilothouse-cel", &["pilothouse-value"]),
    ("pilothouse-schema", &["pilothouse-value", "pilothouse-cel"]),
    ("pilothouse-merge", &["pilothouse-value", "pilothouse-schema"]),
    ("pilothouse-store", &["pilothouse-value"]),
    (
        "pilothouse-apiserver",
        &["pilothouse-value", "pilothouse-cel", "pilothouse-schema", "pilothouse-merge", "pilothouse-store"],
    ),
    (
        "pilothouse-cluster",
        &["pilothouse-value", "pilothouse-schema", "pilothouse-store", "pilothouse-apiserver"],
    ),
    ("pilothouse-envtest", &["pilothouse-value", "pilothouse-store", "pilothouse-apiserver"]),
    ("pilothouse-macros", &[]),
    ("pilothouse-runtime", &[]),
    ("pilothouse", &["pilothouse-runtime", "pilothouse-macros"]),
    ("pilothouse-protection", &["pilothouse"]),
    ("pilothouse-example-cache", &["pilothouse"]),
    // The bridge sees both wings.
    ("pilothouse-testkit", &["*"]),
    ("pilothouse-cli", &["*"]),
];

/// What the API wing must not know, whatever it is used for.
const OPERATOR_CRATES: &[&str] = &["kube", "k8s-openapi", "schemars", "kube-runtime"];
const API_WING: &[&str] = &[
    "pilothouse-value",
    "pilothouse-cel",
    "pilothouse-schema",
    "pilothouse-merge",
    "pilothouse-store",
    "pilothouse-apiserver",
    "pilothouse-cluster",
    "pilothouse-envtest",
];

/// The `[dependencies]` of every package of the workspace.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = BTreeMap::new();
    for wing in ["crates", "operators", "examples"] {
        for room in std::fs::read_dir(root.join(wing)).unwrap() {
            let manifest = room.unwrap().path().join("Cargo.toml");
            let Ok(text) = std::fs::read_to_string(&manifest) else { continue };
            let manifest: toml::Table = text.parse().unwrap();
            let name = manifest["package"]["name"].as_str().unwrap().to_owned();
            let keys = manifest.get("dependencies").and_then(toml::Value::as_table);
            found.insert(name, keys.into_iter().flat_map(|t| t.keys().cloned()).collect());
        }
    }
    found
}

#[test]
fn no_room_opens_a_door_that_the_plan_forbids() {
    let mut wrong = Vec::new();
    for (room, uses) in dependencies() {
        let Some((_, allowed)) = DOORS.iter().find(|(name, _)| *name == room) else {
            wrong.push(format!("{room} is not in the plan: add it to DOORS and to ARCHITECTURE.md"));
            continue;
        };
        for used in uses.iter().filter(|used| used.starts_with("pilothouse")) {
            if !allowed.contains(&"*") && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{room} must not use {used}"));
            }
        }
        if API_WING.contains(&room.as_str()) {
            wrong.extend(
                OPERATOR_CRATES
                    .iter()
                    .filter(|c| uses.contains(**c))
                    .map(|c| format!("{room} must not use {c}")),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
