//! Work that takes long enough to hold up other requests: it is done on a thread of its own, while the task of the request
//! waits. What is known to be quick, which is nearly everything, never comes here.

use pilothouse_value::Value;
use pilothouse_value::stack::deeper;

/// What the rules of one object may cost, in CEL's units, before they are moved to a thread of their own: about a
/// millisecond's work.
pub(crate) const BRIEF: u64 = 10_000;

/// How much a document must weigh to be large: about its bytes in JSON.
pub(crate) const LARGE: usize = 64 * 1024;

/// Does something on a thread that may be blocked.
pub(crate) async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            // That goes on as if it had been done here.
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime shuts down, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Whether working through a document may take long. It is looked at no further than that is known.
pub(crate) fn is_large(document: &Value) -> bool {
    let mut left = LARGE;
    !weigh(document, &mut left)
}

/// Takes the weight of a value off what is left; false once nothing is.
fn weigh(value: &Value, left: &mut usize) -> bool {
    let own = match value {
        Value::String(text) => text.len() + 3,
        _ => 3,
    };
    let Some(rest) = left.checked_sub(own) else { return false };
    *left = rest;
    match value {
        Value::Array(items) => deeper(|| items.iter().all(|item| weigh(item, left))),
        Value::Object(fields) => deeper(|| {
            fields.iter().all(|(key, value)| {
                *left = left.saturating_sub(key.len() + 3);
                weigh(value, left)
            })
        }),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    #[test]
    fn a_document_is_large_by_its_texts_or_by_its_number_of_values() {
        assert!(!is_large(&json!({"a": [1, 2, {"b": "c"}]})));
        assert!(is_large(&json!({"a": "x".repeat(LARGE)})));
        assert!(is_large(&Value::Array(vec![Value::Null; LARGE / 3 + 1].into())));
    }

    #[tokio::test]
    async fn work_is_done_elsewhere() {
        let here = std::thread::current().id();
        assert_ne!(run(|| std::thread::current().id()).await, here);
    }
}
