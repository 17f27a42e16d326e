//! The words of the API wing: documents, paths, quantities, selectors, names, group/version/kind, times and the
//! `Status` that every error becomes. It owns what a word *is* and how it is spelled; it must not know of schemas,
//! storage, HTTP or any one kind of object.

pub mod base64;
mod document;
pub mod field;
pub mod go_json;
pub mod go_print;
mod gvk;
mod list;
mod map;
pub mod names;
mod number;
pub mod object;
pub mod octets;
pub mod parse;
mod quantity;
pub mod selector;
mod serde_impl;
pub mod stack;
pub mod status;
mod time;
mod weight;
mod yaml;

pub use document::Value;
pub use gvk::{GroupVersion, Gvk, Gvr, ParseGroupVersionError, compare_versions};
pub use list::List;
pub use map::Map;
pub use quantity::{ParseQuantityError, Quantity};
pub use status::Status;
pub use time::{ParseTimestampError, Timestamp};

#[doc(hidden)]
pub use serde_json as __serde_json;

/// Builds a [`Value`] from JSON-like syntax; any expression that serde can serialise may stand for a value.
///
/// ```
/// use pilothouse_value::json;
/// let v = json!({"kind": "Pod", "spec": {"replicas": 1 + 1}});
/// assert_eq!(v.at(&["spec", "replicas"]).and_then(|v| v.as_i64()), Some(2));
/// ```
#[macro_export]
macro_rules! json {
    ($($tokens:tt)+) => { $crate::Value::from($crate::__serde_json::json!($($tokens)+)) };
}
