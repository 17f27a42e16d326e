//! CustomResourceDefinitions. The input is two documents, a line each: a schema, and an object that is pruned, defaulted
//! and validated by it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pilothouse_schema::{crd, structural};
use pilothouse_value::field::Path;
use pilothouse_value::{json, parse};

fuzz_target!(|data: &[u8]| {
    let mut lines = data.splitn(2, |byte| *byte == b'\n');
    let mut next = || parse::json(lines.next()?).ok();
    let Some(schema) = next() else { return };
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {}}],
        },
    });
    if let Some(version) = definition.at_mut(&["spec", "versions"]).and_then(|v| v.as_array_mut()?.first_mut()) {
        version.set(&["schema", "openAPIV3Schema"], schema.value.clone());
    }
    crd::default(&mut definition);
    let _errors = crd::validate(&definition, None);
    let _warnings = crd::warnings(&definition, None);
    let stored = structural::parse_stored(&schema.value);
    let parsed = structural::parse(&schema.value, &Path::root());
    let Some(object) = next() else { return };
    for schema in parsed.ok().into_iter().chain([stored]) {
        let mut object = object.value.clone();
        pilothouse_schema::prune(&schema, &mut object);
        let pruned = object.clone();
        assert!(pilothouse_schema::prune(&schema, &mut object).is_empty(), "pruning is idempotent");
        assert_eq!(pruned, object);
        pilothouse_schema::default(&schema, &mut object);
        let defaulted = object.clone();
        pilothouse_schema::default(&schema, &mut object);
        assert_eq!(defaulted, object, "defaulting is idempotent");
        let _errors = pilothouse_schema::validate(&schema, &object, None, &Path::root());
        let _errors = pilothouse_schema::validate(&schema, &object, Some(&defaulted), &Path::root());
    }
});
