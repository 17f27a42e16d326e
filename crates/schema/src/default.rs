//! Filling in defaults. Source: apiextensions `pkg/apiserver/schema/defaulting`.

use pilothouse_value::Value;
use pilothouse_value::stack::deeper;

use crate::node::{Additional, Schema};

/// How much defaults may add to one document, in bytes of JSON, roughly. It is twice what can be stored, so that a document in
/// which they would be more is refused when it is. A large default of the items of a long list would else fill the memory.
const MOST_FILLED: usize = 4 << 20;

/// Fills in the defaults of `schema`, and removes each null that is no value there.
///
/// A null where null is not a value is replaced by the default, or removed with its field if there is none; in lists it
/// stays. A default is only looked for inside of parents that exist (or that are defaults themselves).
pub fn default(schema: &Schema, value: &mut Value) {
    remove_nulls(Some(schema), value);
    fill_defaults(schema, value);
}

/// Fills in the defaults of `schema`. A null that is no value stays where there is no default.
pub fn fill_defaults(schema: &Schema, value: &mut Value) {
    fill(schema, value, &mut MOST_FILLED.clone());
}

/// Removes each null that is no value where it stands and that no default would replace.
pub fn drop_nulls(schema: &Schema, value: &mut Value) {
    remove_nulls(Some(schema), value);
}

fn remove_nulls(schema: Option<&Schema>, value: &mut Value) {
    match value {
        Value::Object(fields) => deeper(|| {
            fields.retain(|key, value| {
                let child = schema.and_then(|schema| schema.child(key));
                let is_none = child.is_some_and(|child| !child.nullable() && child.default().is_none());
                if value.is_null() && is_none {
                    return false;
                }
                remove_nulls(child, value);
                true
            });
        }),
        Value::Array(items) => deeper(|| {
            let child = schema.and_then(Schema::items);
            items.iter_mut().for_each(|item| remove_nulls(child, item));
        }),
        _ => {}
    }
}

fn fill(schema: &Schema, value: &mut Value, left: &mut usize) {
    match value {
        Value::Object(fields) => {
            for (name, child) in schema.properties().iter() {
                let child = child.get();
                let Some(default) = child.default() else { continue };
                match fields.get(name) {
                    None => {}
                    Some(Value::Null) if !child.nullable() => {}
                    Some(_) => continue,
                }
                let Some(fresh) = fresh(child, default, left) else { return };
                fields.insert(name, fresh);
            }
            let additional = schema.additional().and_then(Additional::schema);
            for (key, value) in fields.iter_mut() {
                if let Some(child) = schema.property(key) {
                    deeper(|| fill(child, value, left));
                } else if let Some(child) = additional {
                    replace_null(child, value, left);
                    deeper(|| fill(child, value, left));
                }
            }
        }
        Value::Array(items) => {
            let Some(child) = schema.items() else { return };
            for item in items {
                replace_null(child, item, left);
                deeper(|| fill(child, item, left));
            }
        }
        _ => {}
    }
}

fn replace_null(schema: &Schema, value: &mut Value, left: &mut usize) {
    if value.is_null()
        && !schema.nullable()
        && let Some(default) = schema.default()
        && let Some(fresh) = fresh(schema, default, left)
    {
        *value = fresh;
    }
}

/// A copy of a default without the nulls that no client could write there either; `None` if it is larger than what is left.
fn fresh(schema: &Schema, default: &Value, left: &mut usize) -> Option<Value> {
    if !default.fits_into(left) {
        *left = 0;
        return None;
    }
    let mut value = default.clone();
    remove_nulls(Some(schema), &mut value);
    Some(value)
}
