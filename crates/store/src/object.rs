//! What is stored: bytes, written once, and the document they say, decoded when somebody asks.

use std::borrow::Borrow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use pilothouse_value::{Value, parse};

/// Under which resource a document is kept: `GROUP/PLURAL`, cheap to clone. All versions of a resource share one.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceKey(Arc<str>);

impl ResourceKey {
    /// The key of a resource of a group (empty for core).
    pub fn new(group: &str, plural: &str) -> Self {
        Self(format!("{group}/{plural}").into())
    }

    /// The text `GROUP/PLURAL`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn from_text(text: &str) -> Self {
        Self(text.into())
    }
}

impl Borrow<str> for ResourceKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A stored document at one revision. It never changes.
pub struct Object {
    revision: u64,
    bytes: Bytes,
    value: OnceLock<Arc<Value>>,
}

impl Object {
    pub(crate) const fn new(revision: u64, bytes: Bytes) -> Self {
        Self { revision, bytes, value: OnceLock::new() }
    }

    /// The revision of the write that made it.
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// The canonical JSON text.
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The document; decoded at the first call and kept.
    pub fn value(&self) -> &Arc<Value> {
        self.value.get_or_init(|| {
            // The bytes were written from a document, so they parse; null stands for a damaged durable copy.
            Arc::new(parse::json(&self.bytes).map(|parsed| parsed.value).unwrap_or_default())
        })
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object(revision {}, {} bytes)", self.revision, self.bytes.len())
    }
}
