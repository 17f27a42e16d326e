//! The audit log: who asked for what, and what became of it, one JSON document a line.
//!
//! A policy says of each request how much is written. Without an audit log nothing here runs. Source of behaviour:
//! `pkg/audit` and `pkg/endpoints/filters/audit.go` of k8s.io/apiserver.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// What is noted of a request while it is carried out.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    annotations: Mutex<BTreeMap<String, String>>,
}

impl Notes {
    /// Notes a value; the first one for a key stays.
    pub(crate) fn annotate(&self, key: &str, value: &str) {
        self.annotations.lock().entry(key.to_owned()).or_insert_with(|| value.to_owned());
    }
}
