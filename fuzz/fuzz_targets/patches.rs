//! JSON patch, merge patch and strategic merge patch. The input is two documents, a line each: the object and the patch.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pilothouse_merge::{json_patch, merge_patch, strategic};
use pilothouse_schema::builtin;
use pilothouse_value::{Gvk, parse};

fuzz_target!(|data: &[u8]| {
    let mut lines = data.splitn(2, |byte| *byte == b'\n');
    let mut next = || parse::json(lines.next()?).ok();
    let (Some(object), Some(patch)) = (next(), next()) else { return };
    let (object, patch) = (object.value, patch.value);
    let _unknown = json_patch::unknown_fields(&patch);
    if let Ok(patched) = json_patch::apply(&object, &patch) {
        assert_eq!(json_patch::apply(&object, &patch).ok(), Some(patched), "a patch has one outcome");
    }
    if merge_patch::check(&patch).is_ok() {
        let mut merged = object.clone();
        merge_patch::apply(&mut merged, &patch);
        let once = merged.clone();
        merge_patch::apply(&mut merged, &patch);
        assert_eq!(once, merged, "a merge patch applied twice changes nothing");
    }
    let nothing = pilothouse_value::json!({});
    for gvk in [Gvk::new("", "v1", "Pod"), Gvk::new("apps", "v1", "Deployment"), Gvk::new("", "v1", "Service")] {
        if let Some(schema) = builtin::schema(&gvk) {
            let _patched = strategic::apply(&object, &patch, schema);
            if object.as_object().is_some() {
                let same = strategic::apply(&object, &nothing, schema).ok();
                assert_eq!(same.as_ref(), Some(&object), "an empty patch changes nothing");
            }
        }
    }
});
