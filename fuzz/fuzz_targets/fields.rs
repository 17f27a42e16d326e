//! Managed fields: sets of fields as documents, and the bookkeeping of objects that bring entries along. What changes nothing
//! changes nothing: an update to what is there, and the same configuration applied again.
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
        assert_eq!(set.union(&again).to_value(), set.to_value());
        assert_eq!(set.intersection(&again).to_value(), set.to_value());
        let _sets = (set.difference(&again), set.leaves(), set.paths());
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
    let kind = Kind::of(schema);
    if object.as_object().is_some() {
        if let Ok(once) = managed::apply(None, &object, &kind, &manager, false) {
            let twice = managed::apply(Some(&once), &object, &kind, &manager, false);
            assert_eq!(twice.ok().as_ref(), Some(&once), "the same configuration again changes nothing");
        }
        // A server tracks objects of the kind alone that its path is of.
        object.set(&["apiVersion"], "apps/v1");
        object.set(&["kind"], "Deployment");
        let old = object.clone();
        object.set(&["spec", "replicas"], 7);
        managed::track(Some(&old), &mut object, &kind, &manager);
        let before = object.clone();
        managed::track(Some(&before), &mut object, &kind, &manager);
        assert_eq!(before, object, "an update to what is there changes nothing");
        let mut new = old;
        managed::track(None, &mut new, &kind, &manager);
    }
});
