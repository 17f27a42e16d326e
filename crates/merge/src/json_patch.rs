//! JSON Patch (RFC 6902) as kube-apiserver applies it: with the habits of evanphx/json-patch 4, on which clients rely.
//!
//! They differ from the RFC in this: a negative index counts from the end of the array; `replace` of a key that is not
//! there adds it; `copy` of a key that is not there copies `null`; a `test` for `null` passes where nothing is; whatever
//! stands before the first `/` of a path is ignored.

use crate::PatchError;
use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};

/// How many operations one patch may have.
pub const MAX_OPERATIONS: usize = 10_000;
/// How many bytes of JSON all `copy` operations of one patch may add together.
pub const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// Applies the operations of `patch` in order to a copy of `doc`: all of them or none.
///
/// # Errors
/// What the patch is not, or does not find.
pub fn apply(doc: &Value, patch: &Value) -> Result<Value, PatchError> {
    run(doc, &decode(patch, true)?)
}

/// As [`apply`], without a look at the patch before it is applied, as for those who want nothing validated: members of a wrong
/// type are found by the operation that needs them.
///
/// # Errors
/// As [`apply`].
pub fn apply_unchecked(doc: &Value, patch: &Value) -> Result<Value, PatchError> {
    run(doc, &decode(patch, false)?)
}

fn run(doc: &Value, operations: &[Operation<'_>]) -> Result<Value, PatchError> {
    let mut doc = doc.clone();
    let (mut copied, mut deepest) = (0, MAX_DEPTH);
    for operation in operations {
        operation.apply(&mut doc, &mut copied)?;
        // Nothing is put deeper than its path leads. The document is looked at only when that may have become much.
        deepest += operation.path.map_or(0, |path| path.split('/').count());
        if deepest > 4 * MAX_DEPTH {
            check_depth(&doc)?;
            deepest = MAX_DEPTH;
        }
    }
    check_depth(&doc)?;
    Ok(doc)
}

fn check_depth(doc: &Value) -> Result<(), PatchError> {
    if is_deeper_than(doc, MAX_DEPTH) {
        return inapplicable(format!("the patched document is nested deeper than {MAX_DEPTH} levels"));
    }
    Ok(())
}

/// What strict decoding finds wrong in a patch that can be applied all the same: the paths of fields that no operation has, such
/// as `[0].why`.
pub fn unknown_fields(patch: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (index, operation) in patch.as_array().into_iter().flatten().enumerate() {
        for (key, _) in operation.as_object().into_iter().flat_map(Map::iter) {
            if !matches!(key, "op" | "path" | "from" | "value") {
                found.push(format!("[{index}].{key}"));
            }
        }
    }
    found
}

/// The name that Go's JSON decoder has for the type of a value.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Float(_) | Value::Spelled(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Stored documents are read back by a parser with this limit; only `move` and `copy` can nest deeper than what they
/// were given.
const MAX_DEPTH: usize = 10_000;

fn is_deeper_than(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return true };
    match value {
        Value::Object(map) => deeper(|| map.values().any(|value| is_deeper_than(value, below))),
        Value::Array(items) => deeper(|| items.iter().any(|value| is_deeper_than(value, below))),
        _ => false,
    }
}

struct Operation<'a> {
    op: &'a str,
    path: Option<&'a str>,
    from: Option<&'a str>,
    /// `None` where the operation has no value; upstream treats that as `null` in most places.
    value: Option<&'a Value>,
}

fn decode(patch: &Value, checked: bool) -> Result<Vec<Operation<'_>>, PatchError> {
    // Upstream reads it twice, into types of its own and into those of the library.
    let (prefix, list, one) = match checked {
        true => ("error decoding patch: ", "[]handlers.jsonPatchOp", "handlers.jsonPatchOp"),
        false => ("", "jsonpatch.Patch", "jsonpatch.Operation"),
    };
    let text = |operation, field| match text(operation, field) {
        Err(_) if !checked => Ok(None),
        read => read,
    };
    let operations = match patch {
        Value::Null => return Ok(Vec::new()),
        Value::Array(operations) => operations,
        other => {
            return Err(PatchError::Malformed(format!(
                "{prefix}json: cannot unmarshal {} into Go value of type {list}",
                json_type(other)
            )));
        }
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    operations
        .iter()
        .map(|operation| {
            if !matches!(operation, Value::Object(_) | Value::Null) {
                return Err(PatchError::Malformed(format!(
                    "{prefix}json: cannot unmarshal {} into Go value of type {one}",
                    json_type(operation)
                )));
            }
            Ok(Operation {
                op: text(operation, "op")?.unwrap_or("unknown"),
                path: text(operation, "path")?,
                from: text(operation, "from")?,
                value: operation.get("value"),
            })
        })
        .collect()
}

fn text<'a>(operation: &'a Value, field: &str) -> Result<Option<&'a str>, PatchError> {
    match operation.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(PatchError::Malformed(format!(
            "error decoding patch: json: cannot unmarshal {} into Go struct field jsonPatchOp.{field} of type string",
            json_type(other)
        ))),
    }
}

fn inapplicable<T>(text: String) -> Result<T, PatchError> {
    Err(PatchError::Inapplicable(text))
}

impl Operation<'_> {
    fn apply(&self, doc: &mut Value, copied: &mut usize) -> Result<(), PatchError> {
        match self.op {
            "add" => self.add(doc),
            "remove" => self.remove(doc),
            "replace" => self.replace(doc),
            "move" => self.relocate(doc),
            "test" => self.test(doc),
            "copy" => self.copy(doc, copied),
            other => inapplicable(format!("Unexpected kind: {other}")),
        }
    }

    fn path(&self) -> Result<&str, PatchError> {
        let why = match self.op {
            "add" | "remove" | "copy" => "missing value",
            _ => "operation missing path field: missing value",
        };
        self.path
            .map_or_else(|| inapplicable(format!("{} operation failed to decode path: {why}", self.op)), Ok)
    }

    fn from(&self) -> Result<&str, PatchError> {
        self.from.map_or_else(
            || {
                inapplicable(format!(
                    "{} operation failed to decode from: operation, missing from field: missing value",
                    self.op
                ))
            },
            Ok,
        )
    }

    fn value(&self) -> Value {
        self.value.cloned().unwrap_or(Value::Null)
    }

    fn add(&self, doc: &mut Value) -> Result<(), PatchError> {
        let path = self.path()?;
        let Some(mut place) = Place::find(doc, path) else {
            return inapplicable(format!(
                "add operation does not apply: doc is missing path: \"{path}\": missing value"
            ));
        };
        place.add(self.value()).or_else(|why| inapplicable(format!("error in add for path: '{path}': {why}")))
    }

    fn remove(&self, doc: &mut Value) -> Result<(), PatchError> {
        let path = self.path()?;
        let Some(mut place) = Place::find(doc, path) else {
            return inapplicable(format!(
                "remove operation does not apply: doc is missing path: \"{path}\": missing value"
            ));
        };
        match place.remove() {
            Ok(_) => Ok(()),
            Err(why) => inapplicable(format!("error in remove for path: '{path}': {why}")),
        }
    }

    fn replace(&self, doc: &mut Value) -> Result<(), PatchError> {
        let path = self.path()?;
        if path.is_empty() {
            return match self.value {
                Some(value @ (Value::Object(_) | Value::Array(_))) => {
                    *doc = value.clone();
                    Ok(())
                }
                // As upstream prints an error that is none.
                _ => inapplicable("replace operation value must be object or array: %!w(<nil>)".into()),
            };
        }
        let Some(mut place) = Place::find(doc, path) else {
            return inapplicable(format!(
                "replace operation does not apply: doc is missing path: {path}: missing value"
            ));
        };
        if place.get().is_err() {
            return inapplicable(format!(
                "replace operation does not apply: doc is missing key: {path}: missing value"
            ));
        }
        place
            .set(self.value())
            .or_else(|why| inapplicable(format!("error in remove for path: '{path}': {why}")))
    }

    fn relocate(&self, doc: &mut Value) -> Result<(), PatchError> {
        let from = self.from()?;
        let Some(mut place) = Place::find(doc, from) else {
            return inapplicable(format!(
                "move operation does not apply: doc is missing from path: {from}: missing value"
            ));
        };
        let value = match place.remove() {
            Ok(value) => value,
            Err(why) => return inapplicable(format!("error in move for path: '{}': {why}", place.key)),
        };
        let path = self.path()?;
        let Some(mut place) = Place::find(doc, path) else {
            return inapplicable(format!(
                "move operation does not apply: doc is missing destination path: {path}: missing value"
            ));
        };
        place.add(value).or_else(|why| inapplicable(format!("error in move for path: '{path}': {why}")))
    }

    fn test(&self, doc: &mut Value) -> Result<(), PatchError> {
        let path = self.path()?;
        let holds = if path.is_empty() {
            Some(&*doc) == self.value
        } else {
            let Some(place) = Place::find(doc, path) else {
                return inapplicable(format!(
                    "test operation does not apply: is missing path: {path}: missing value"
                ));
            };
            match place.get() {
                Ok(found) => found.unwrap_or(&Value::Null) == self.value.unwrap_or(&Value::Null),
                Err(why) => return inapplicable(format!("error in test for path: '{path}': {why}")),
            }
        };
        if holds { Ok(()) } else { inapplicable(format!("testing value {path} failed: test failed")) }
    }

    fn copy(&self, doc: &mut Value, copied: &mut usize) -> Result<(), PatchError> {
        let from = self.from()?;
        let Some(place) = Place::find(doc, from) else {
            return inapplicable(format!(
                "copy operation does not apply: doc is missing from path: {from}: missing value"
            ));
        };
        let value = match place.get() {
            Ok(found) => found.cloned().unwrap_or(Value::Null),
            Err(why) => return inapplicable(format!("error in copy for from: '{from}': {why}")),
        };
        let path = self.path()?;
        if Place::find(doc, path).is_none() {
            return inapplicable(format!(
                "copy operation does not apply: doc is missing destination path: {path}: missing value"
            ));
        }
        *copied += value.to_json().len();
        if *copied > MAX_COPIED_BYTES {
            return inapplicable(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit \
                 {MAX_COPIED_BYTES}"
            ));
        }
        let Some(mut place) = Place::find(doc, path) else {
            return inapplicable(format!(
                "copy operation does not apply: doc is missing destination path: {path}: missing value"
            ));
        };
        place.add(value).or_else(|why| inapplicable(format!("error while adding value during copy: {why}")))
    }
}

/// A place in a document that a path names: what holds it, and its key there. It need not exist yet.
struct Place<'a> {
    holder: Holder<'a>,
    key: String,
}

enum Holder<'a> {
    Object(&'a mut Map),
    Array(&'a mut Vec<Value>),
}

impl<'a> Place<'a> {
    fn find(doc: &'a mut Value, path: &str) -> Option<Place<'a>> {
        let mut steps = path.split('/').skip(1).map(decode_step);
        let mut key = steps.next()?;
        let mut current = doc;
        for next in steps {
            current = match current {
                Value::Object(map) => map.get_mut(key.as_str())?,
                Value::Array(items) => {
                    let index = existing(&key, items.len()).ok()?;
                    items.get_mut(index)?
                }
                _ => return None,
            };
            key = next;
        }
        let holder = match current {
            Value::Object(map) => Holder::Object(map),
            Value::Array(items) => Holder::Array(items),
            _ => return None,
        };
        Some(Place { holder, key })
    }

    /// `Ok(None)` where an object lacks the key.
    fn get(&self) -> Result<Option<&Value>, String> {
        match &self.holder {
            Holder::Object(map) => Ok(map.get(self.key.as_str())),
            Holder::Array(items) => Ok(items.get(existing(&self.key, items.len())?)),
        }
    }

    fn set(&mut self, value: Value) -> Result<(), String> {
        match &mut self.holder {
            Holder::Object(map) => {
                map.insert(std::mem::take(&mut self.key), value);
            }
            Holder::Array(items) => {
                let index = existing(&self.key, items.len())?;
                if let Some(slot) = items.get_mut(index) {
                    *slot = value;
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, value: Value) -> Result<(), String> {
        match &mut self.holder {
            Holder::Object(map) => {
                map.insert(std::mem::take(&mut self.key), value);
            }
            Holder::Array(items) if self.key == "-" => items.push(value),
            Holder::Array(items) => {
                let index = atoi(&self.key)
                    .map_err(|why| format!("value was not a proper array index: '{}': {why}", self.key))?;
                // One more than there are items: adding may also mean appending, and -1 means exactly that.
                items.insert(resolve(index, items.len() + 1)?, value);
            }
        }
        Ok(())
    }

    fn remove(&mut self) -> Result<Value, String> {
        match &mut self.holder {
            Holder::Object(map) => map
                .remove(self.key.as_str())
                .ok_or_else(|| format!("Unable to remove nonexistent key: {}: missing value", self.key)),
            Holder::Array(items) => Ok(items.remove(existing(&self.key, items.len())?)),
        }
    }
}

fn decode_step(step: &str) -> String {
    // One pass from left to right, so that `~01` means `~1`.
    let mut decoded = String::with_capacity(step.len());
    let mut rest = step;
    while let Some(at) = rest.find('~') {
        decoded.push_str(&rest[..at]);
        let (character, length) = match rest.as_bytes().get(at + 1) {
            Some(b'0') => ('~', 2),
            Some(b'1') => ('/', 2),
            _ => ('~', 1),
        };
        decoded.push(character);
        rest = &rest[at + length..];
    }
    decoded.push_str(rest);
    decoded
}

/// The position that `key` names among `length` items.
fn existing(key: &str, length: usize) -> Result<usize, String> {
    resolve(atoi(key)?, length)
}

fn resolve(index: i64, length: usize) -> Result<usize, String> {
    let position = if index < 0 { index.checked_add_unsigned(length as u64) } else { Some(index) };
    match position.and_then(|position| usize::try_from(position).ok()) {
        Some(position) if position < length => Ok(position),
        _ => Err(format!("Unable to access invalid index: {index}: invalid index referenced")),
    }
}

fn atoi(text: &str) -> Result<i64, String> {
    text.parse().map_err(|why: std::num::ParseIntError| {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        let why = if matches!(why.kind(), PosOverflow | NegOverflow) {
            "value out of range"
        } else {
            "invalid syntax"
        };
        format!("strconv.Atoi: parsing {text:?}: {why}")
    })
}
