//! Enough stack for documents that nest deeply. Kubernetes takes JSON of up to 10,000 levels, and a thread's stack is soon used
//! up by as many calls. Whatever goes down into a document level by level does so through [`deeper`].

use crate::{Map, Value};

/// How much stack must be left for the work on one level: whatever does not go down itself fits into this, in debug builds too.
const LEAST: usize = 256 << 10;
/// How much more stack there is once less than that is left. Only what is touched takes memory.
const MORE: usize = 32 << 20;

/// Does the work on one level of a document, on a stack that is large enough for it. Costs next to nothing unless the stack has to
/// grow.
#[inline]
pub fn deeper<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(LEAST, MORE, work)
}

/// How much stack must be left for work that goes down by itself, to a depth that has a limit of its own: that of an expression, say.
const ROOM: usize = 1 << 20;

/// Does work that goes down by itself, to a depth of hundreds of calls at most.
#[inline]
pub fn with_room<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(ROOM, MORE, work)
}

/// How much stack must be left for a request's way through a server, which an unoptimised build takes far more for.
const WHOLE_REQUEST: usize = if cfg!(debug_assertions) { 3 << 19 } else { LEAST };

/// Does a step of a request that is served on its asker's own stack, however deep in its own work the asker is.
#[inline]
pub fn with_room_for_a_request<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(WHOLE_REQUEST, MORE, work)
}

/// Whether the stack is too low for more levels. Who drops what is nested should take it apart then: dropping is the compiler's own
/// work, which cannot be sent through [`deeper`].
#[inline]
pub fn is_low() -> bool {
    stacker::remaining_stack().is_none_or(|left| left < LEAST)
}

/// Drops the items of a list or the entries of an object: once the stack is low, all that is below is taken apart first.
#[inline]
pub(crate) fn drop_within<T>(items: &mut Vec<T>, value: impl Fn(T) -> Value) {
    if !items.is_empty() && is_low() {
        take_apart(items.drain(..).map(value).filter(is_container).collect());
    }
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_))
}

#[cold]
fn take_apart(mut pending: Vec<Value>) {
    while let Some(mut value) = pending.pop() {
        match &mut value {
            Value::Array(list) => pending.extend(list.drain(..).filter(is_container)),
            Value::Object(map) => {
                pending.extend(
                    std::mem::replace(map, Map::new())
                        .into_iter()
                        .map(|(_, value)| value)
                        .filter(is_container),
                );
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::List;

    #[test]
    fn a_document_of_any_depth_is_made_compared_copied_written_and_dropped() {
        for odd in [false, true] {
            let nested = (0..20_000).fold(Value::Null, |value, level| match odd && level % 2 == 1 {
                true => Value::from(Map::from_iter([("a", value)])),
                false => Value::Array(List::from(vec![Value::from(level), value])),
            });
            let again = nested.clone();
            assert!(again == nested);
            assert_eq!(nested.to_json().len(), again.to_json().len());
            assert!(format!("{again:?}").len() > 20_000);
        }
    }
}
