//! How large an object may be where upstream stores it: the limits of etcd's requests, and what is said beyond them.

use pilothouse_value::{Status, Value};

use crate::answer::document;
use crate::heavy;
use crate::state::Target;

/// Most bytes of a request that etcd takes, unless it is told otherwise.
const REQUEST: usize = 1536 * 1024;
/// Most bytes of a message that its client sends.
const MESSAGE: usize = 2 * 1024 * 1024;
/// What a request has beside the object and three times its key.
const FRAME: usize = 51;

/// Checks that an object is not larger than could be stored upstream.
///
/// # Errors
/// 500 with the text of etcd, or of its client.
pub(super) fn check(target: &Target, value: &Value) -> Result<(), Status> {
    // What is small is not written twice.
    if !heavy::is_large(value) {
        return Ok(());
    }
    let size = document::encode(value).len() + 3 * key_length(target) + FRAME;
    if size > MESSAGE {
        let why = format!("trying to send message larger than max ({size} vs. {MESSAGE})");
        return Err(Status::new(500, "", format!("rpc error: code = ResourceExhausted desc = {why}")));
    }
    if size > REQUEST {
        return Err(Status::new(500, "", "etcdserver: request is too large"));
    }
    Ok(())
}

/// The length of the key that upstream stores an object at.
fn key_length(target: &Target) -> usize {
    let resource = &target.resource;
    let group = if resource.is_built_in() { 0 } else { resource.group.len() + 1 };
    let namespace = if target.namespace.is_empty() { 0 } else { target.namespace.len() + 1 };
    "/registry/".len() + group + resource.plural.len() + 1 + namespace + target.name.len()
}
