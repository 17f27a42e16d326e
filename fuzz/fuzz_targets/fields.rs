//! Managed fields: sets of fields as documents, and the bookkeeping of objects that bring entries along.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pilothouse_merge::fieldset::FieldSet;
use pilothouse_merge::managed::{self, Kind, Manager};
use pilothouse_schema::builtin;
use pilothouse_value::{Gvk, Timestamp, parse};

fuzz_target!(|data: &[u8]| {
    let Ok(parsed) = parse::json(data) else { return };
    let mut object = parsed.value;
    if let Ok(set) = FieldSet::from_value(&object) {
        let again = FieldSet::from_value(&set.to_value()).expect("what was printed can be read");
        assert_eq!(set.to_value(), again.to_value());
        let _sets = (set.union(&again), set.difference(&again), set.intersection(&again), set.leaves(), set.paths());
    }
    let _wrong = managed::check(&object);
    let gvk = Gvk::new("apps", "v1", "Deployment");
    let Some(schema) = builtin::schema(&gvk) else { return };
    let manager = Manager {
        name: "m",
        api_version: "apps/v1",
        subresource: "",
        time: Timestamp::from_unix_seconds(0),
    };
    let old = object.clone();
    if object.as_object().is_some() {
        object.set(&["spec", "replicas"], 7);
        managed::track(Some(&old), &mut object, &Kind::of(schema), &manager);
        let mut new = old;
        managed::track(None, &mut new, &Kind::of(schema), &manager);
    }
});
