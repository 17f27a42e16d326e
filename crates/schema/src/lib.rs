//! Owns what a value of a kind may look like: schema nodes, the structural schemas of CustomResourceDefinitions
//! (parsing, validation, defaulting, pruning), the tables of the built-in types, and what is derived from them
//! (protobuf decoding, OpenAPI documents, columns). It must not know of requests, storage or users: everything here
//! is a function of documents.

pub mod builtin;
pub mod cel;
pub mod crd;
mod default;
mod enumeration;
mod formats;
pub mod jsonpath;
pub mod node;
mod object_meta;
pub mod openapi;
pub mod proto;
mod prune;
mod ratchet;
pub mod structural;
pub mod table;
mod validate;

pub use default::{default, drop_nulls, fill_defaults};
pub use enumeration::Enumeration;
pub use object_meta::{check_embedded, read as read_metadata};
pub use prune::prune;
pub use validate::{validate, validate_status};

pub use node::{
    Additional, Child, Constraints, ListType, MapType, Patch, Properties, Rule, Schema, Text, Type,
};
