//! Removing fields that a schema does not declare. Source: apiextensions `pkg/apiserver/schema/pruning`, and
//! `schema/objectmeta` for the metadata of objects.

use pilothouse_value::Value;
use pilothouse_value::stack::deeper;

use crate::node::{Additional, Schema};
use crate::object_meta;

/// Removes undeclared fields from an object of a custom resource and answers their paths in the form of strict
/// decoding (`unknown field "spec.x[0].y"`). The `apiVersion`, `kind` and `metadata` of the object itself need not be
/// declared; unknown fields of metadata, also of embedded objects, are removed as well.
pub fn prune(schema: &Schema, value: &mut Value) -> Vec<String> {
    let mut pruner = Pruner { path: String::new(), removed: Vec::new(), recorded: 0 };
    pruner.prune(Some(schema), true, value);
    let mut fields = std::mem::take(&mut pruner.removed);
    fields.sort();
    pruner.metadata(schema, true, value);
    // Told first is what the object's own metadata has, last what that of embedded objects has.
    let (mut removed, embedded): (Vec<_>, Vec<_>) =
        pruner.removed.into_iter().partition(|path| path.starts_with("metadata."));
    removed.extend(fields);
    removed.extend(embedded);
    removed
}

/// As [`prune`] for a value that is no object of its own, and without a look at metadata.
pub(crate) fn prune_value(schema: &Schema, value: &mut Value) {
    let mut pruner = Pruner { path: String::new(), removed: Vec::new(), recorded: 0 };
    pruner.prune(Some(schema), schema.embedded_resource, value);
}

/// How many bytes of paths are recorded: many of them may begin with the same long key.
const MOST_RECORDED: usize = 1 << 20;

struct Pruner {
    path: String,
    removed: Vec<String>,
    /// The bytes of `removed`.
    recorded: usize,
}

impl Pruner {
    fn within(&mut self, key: &str, act: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        deeper(|| act(self));
        self.path.truncate(length);
    }

    fn at(&mut self, index: usize, act: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(&format!("[{index}]"));
        deeper(|| act(self));
        self.path.truncate(length);
    }

    fn record(&mut self, key: &str) {
        let length = self.path.len() + 1 + key.len();
        if self.recorded + length > MOST_RECORDED {
            return;
        }
        self.recorded += length;
        self.within(key, |inner| inner.removed.push(inner.path.clone()));
    }

    /// `is_resource` says that the object carries its own type and metadata.
    fn prune(&mut self, schema: Option<&Schema>, is_resource: bool, value: &mut Value) {
        if let Some(schema) = schema.filter(|schema| schema.preserves_unknown()) {
            self.keep(schema, is_resource, value);
            return;
        }
        match value {
            Value::Object(fields) => {
                let at_root = self.path.is_empty();
                fields.retain(|key, value| {
                    if schema.is_some() && is_resource && is_meta_field(key) {
                        return true;
                    }
                    if let Some(property) = schema.and_then(|schema| schema.property(key)) {
                        self.within(key, |inner| {
                            inner.prune(Some(property), property.embedded_resource, value)
                        });
                        return true;
                    }
                    if let Some(additional) = schema.and_then(Schema::additional) {
                        let child = additional.schema();
                        let is_resource = child.is_some_and(Schema::is_embedded_resource);
                        self.within(key, |inner| inner.prune(child, is_resource, value));
                        return true;
                    }
                    if !at_root || !is_meta_field(key) {
                        self.record(key);
                    }
                    false
                });
            }
            Value::Array(items) => {
                let child = schema.and_then(Schema::items);
                let is_resource = child.is_some_and(Schema::is_embedded_resource);
                for (index, item) in items.iter_mut().enumerate() {
                    self.at(index, |inner| inner.prune(child, is_resource, item));
                }
            }
            _ => {}
        }
    }

    /// Below a node that keeps unknown fields, declared fields are still pruned by their own schemas.
    fn keep(&mut self, schema: &Schema, is_resource: bool, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields.iter_mut() {
                    if is_resource && is_meta_field(key) {
                        continue;
                    }
                    if let Some(property) = schema.property(key) {
                        self.within(key, |inner| {
                            inner.prune(Some(property), property.embedded_resource, value)
                        });
                    } else if let Some(additional) = schema.additional() {
                        let child = additional.schema();
                        let is_resource = child.is_some_and(Schema::is_embedded_resource);
                        self.within(key, |inner| inner.prune(child, is_resource, value));
                    }
                }
            }
            Value::Array(items) => {
                let Some(child) = schema.items() else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    self.at(index, |inner| inner.keep(child, child.embedded_resource, item));
                }
            }
            _ => {}
        }
    }

    /// Removes what no ObjectMeta has, from the object itself and from embedded ones.
    fn metadata(&mut self, schema: &Schema, is_resource: bool, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                if is_resource && let Some(metadata) = fields.get_mut("metadata") {
                    self.within("metadata", |inner| {
                        let prefix = inner.path.clone();
                        object_meta::normalise(metadata, &prefix, &mut inner.removed);
                    });
                }
                for (key, value) in fields.iter_mut() {
                    let child =
                        schema.property(key).or_else(|| schema.additional().and_then(Additional::schema));
                    if let Some(child) = child {
                        self.within(key, |inner| inner.metadata(child, child.embedded_resource, value));
                    }
                }
            }
            Value::Array(items) => {
                let Some(child) = schema.items() else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    self.at(index, |inner| inner.metadata(child, child.embedded_resource, item));
                }
            }
            _ => {}
        }
    }
}

fn is_meta_field(key: &str) -> bool {
    matches!(key, "apiVersion" | "kind" | "metadata")
}
