//! How much there is of a document, as far as somebody wants to know.

use crate::Value;
use crate::stack::deeper;

impl Value {
    /// Takes the weight of the document, about its bytes in JSON, off what is `left`. False once there is too little: then it is not
    /// looked at any further.
    ///
    /// ```
    /// use pilothouse_value::json;
    /// let mut left = 20;
    /// assert!(json!({"a": "b"}).fits_into(&mut left));
    /// assert!(!json!(["c", "d", "e", "f"]).fits_into(&mut left));
    /// ```
    pub fn fits_into(&self, left: &mut usize) -> bool {
        let own = match self {
            Value::String(text) => text.len() + 3,
            _ => 3,
        };
        let Some(rest) = left.checked_sub(own) else { return false };
        *left = rest;
        match self {
            Value::Array(items) => deeper(|| items.iter().all(|item| item.fits_into(left))),
            Value::Object(fields) => deeper(|| {
                fields.iter().all(|(key, value)| {
                    *left = left.saturating_sub(key.len() + 3);
                    value.fits_into(left)
                })
            }),
            _ => true,
        }
    }
}
