//! Any sequence of writes gives what a plain map would.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn watching_replays_any_sequence_of_writes(steps in prop::collection::vec((0..3u8, 0..4u8, any::<bool>()), 0..40)) {
        let store = Store::memory(Config::default());
        let mut watcher = store.watch(&pods(), store.revision()).unwrap();
        let mut model = BTreeMap::new();
        for (namespace, name, remove) in steps {
            let key = (format!("n{namespace}"), format!("o{name}"));
            let expected = model.get(&key).copied();
            if remove {
                if delete(&store, &key.0, &key.1, expected).is_ok() {
                    model.remove(&key);
                }
            } else {
                let revision = put(&store, &key.0, &key.1, expected).unwrap().revision();
                model.insert(key, revision);
            }
        }
        let mut seen = BTreeMap::new();
        while let Some(event) = watcher.try_next().unwrap() {
            let key = (event.namespace.to_string(), event.name.to_string());
            match event.kind {
                EventKind::Deleted => seen.remove(&key),
                _ => seen.insert(key, event.revision),
            };
        }
        let listed: BTreeMap<_, _> = store.snapshot().list(&pods(), None, None)
            .map(|e| ((e.namespace.to_string(), e.name.to_string()), e.object.revision())).collect();
        prop_assert_eq!(&seen, &model);
        prop_assert_eq!(&listed, &model);
    }
}
