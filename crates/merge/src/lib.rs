//! Owns the ways in which one document changes another: JSON Patch, JSON merge patch, strategic merge patch, and
//! server-side apply with its bookkeeping of who manages which field. Everything here is a pure function of documents
//! and schemas. It must not know of requests, of storage, or of which resources are served: whoever calls decides which
//! patch is allowed where and what becomes of the result.

mod error;
pub mod fieldset;
pub mod json_patch;
pub mod managed;
pub mod merge_patch;
pub mod strategic;
pub mod typed;
pub mod updater;

pub use error::PatchError;
