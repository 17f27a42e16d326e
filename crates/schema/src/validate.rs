//! Validation of a document against a schema, with the errors of a CustomResourceDefinition's validation upstream
//! (kube-openapi `pkg/validation/validate`, apiextensions `pkg/apiserver/validation` and `schema/listtype`).
//!
//! With an old document, errors of parts that did not change are left out (*ratcheting*): whoever tightens a schema
//! must not make the stored objects unchangeable.

mod number;
mod sets;

use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;

use pilothouse_value::field::{self, Path};
use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};

use crate::formats::Format;
use crate::node::{Constraints, Schema, Type};
use crate::object_meta;
use crate::ratchet::{self, Old};

/// All that is wrong with `new` by the schema: first its values, then embedded resources, then the uniqueness in
/// sets and maps. CEL rules are not evaluated. `path` is where the document stands, the root for a whole object.
pub fn validate(schema: &Schema, new: &Value, old: Option<&Value>, path: &Path) -> Vec<field::Error> {
    let mut errors = validate_values(schema, new, old, path);
    object_meta::validate_embedded(schema, new, path, &mut errors);
    let mut duplicates = Vec::new();
    sets::validate(schema, new, path, &mut duplicates);
    if !duplicates.is_empty() {
        let mut before = Vec::new();
        if let Some(old) = old {
            sets::validate(schema, old, path, &mut before);
        }
        // An object that broke these rules already may be changed; it cannot be said which duplicate is new.
        if before.is_empty() {
            errors.append(&mut duplicates);
        }
    }
    errors
}

/// All that is wrong with a write of the status of an object: with its values by their own schema, whose errors do not name
/// the status in their texts, and with the uniqueness in sets and maps of the whole object.
pub fn validate_status(schema: &Schema, new: &Value, old: &Value) -> Vec<field::Error> {
    let mut errors = match (schema.property("status"), new.get("status")) {
        (Some(schema), Some(status)) => {
            validate_values(schema, status, old.get("status"), &Path::new("status"))
        }
        _ => Vec::new(),
    };
    let mut duplicates = Vec::new();
    sets::validate(schema, new, &Path::root(), &mut duplicates);
    if !duplicates.is_empty() {
        let mut before = Vec::new();
        sets::validate(schema, old, &Path::root(), &mut before);
        if before.is_empty() {
            errors.append(&mut duplicates);
        }
    }
    errors
}

/// What is wrong with the values alone.
fn validate_values(schema: &Schema, new: &Value, old: Option<&Value>, path: &Path) -> Vec<field::Error> {
    let mut validator = Validator::new(path, false);
    validator.node(schema, new, old.map(|value| Old { value, schema })).into_errors(path)
}

/// What is wrong with a default. Upstream does not look at its type where a whole number or a text may stand.
pub(crate) fn validate_default(schema: &Schema, value: &Value, path: &Path) -> Vec<field::Error> {
    let mut validator = Validator::new(path, true);
    validator.node(schema, value, None).into_errors(path)
}

/// How much text the errors of one document may take, in bytes. Each may show a name, a pattern or an enumeration that is as large
/// as a definition may be, and there may be one for each item of a long list.
const MOST_TOLD: usize = 8 << 20;

/// What one node had to say. Of alternatives that all fail, the one with the most matches is reported.
#[derive(Default)]
struct Outcome {
    /// Errors with the text that tells them apart.
    errors: Vec<(Rc<str>, field::Error)>,
    /// The texts of all errors.
    texts: HashSet<Rc<str>>,
    /// Whether more is wrong than is told.
    more: bool,
    matches: usize,
}

impl Outcome {
    fn is_valid(&self) -> bool {
        self.errors.is_empty() && !self.more
    }

    fn add(&mut self, text: Rc<str>, error: field::Error) {
        if self.texts.insert(text.clone()) {
            self.errors.push((text, error));
        }
    }

    fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        self.more |= other.more;
        if self.errors.is_empty() {
            (self.errors, self.texts) = (other.errors, other.texts);
            return;
        }
        for (text, error) in other.errors {
            self.add(text, error);
        }
    }

    /// The errors of the document at a path; if nothing could be told of any, that there are some.
    fn into_errors(self, path: &Path) -> Vec<field::Error> {
        if self.more && self.errors.is_empty() {
            return vec![field::Error::invalid(path, "", "more is wrong than can be told")];
        }
        self.errors.into_iter().map(|(_, error)| error).collect()
    }
}

struct Validator<'a> {
    base: &'a Path,
    /// The dotted name of the current value, below `base`.
    name: String,
    /// Whether the value is a default.
    of_default: bool,
    /// How much text was made for errors, in bytes.
    told: Cell<usize>,
}

impl<'a> Validator<'a> {
    fn new(base: &'a Path, of_default: bool) -> Self {
        Self { base, name: String::new(), of_default, told: Cell::new(0) }
    }

    /// Adds an error, unless so much was told that nobody reads any more. It is not even made then: that would take the time.
    fn tell(&self, out: &mut Outcome, make: impl FnOnce() -> (String, field::Error)) {
        if self.told.get() > MOST_TOLD {
            out.more = true;
            return;
        }
        let (text, error) = make();
        // The path is in it, too.
        let size = text.len() + error.detail.len() + error.path.as_str().len();
        self.told.set(self.told.get().saturating_add(size));
        out.add(text.into(), error);
    }

    fn has_type(&self, schema: &Schema) -> bool {
        if schema.int_or_string { !self.of_default } else { schema.kind.is_some() }
    }

    fn path(&self) -> Path {
        match self.name.trim_start_matches('.') {
            "" => self.base.clone(),
            name => self.base.child(name),
        }
    }

    fn invalid(&self, out: &mut Outcome, value: Value, text: &str) {
        self.tell(out, || {
            let text = format!("{} in body {text}", self.name);
            (text.clone(), field::Error::invalid(&self.path(), value, text))
        });
    }

    fn wrong_type(&self, out: &mut Outcome, expected: &str, found: &str) {
        self.tell(out, || {
            let text = format!("{} in body must be of type {expected}: {}", self.name, field::quote(found));
            (text.clone(), field::Error::type_invalid(&self.path(), found, text))
        });
    }

    /// An error of a whole node, which upstream reports without a path.
    fn composite(&self, out: &mut Outcome, text: &str) {
        self.tell(out, || {
            let text = format!("{} {text}", field::quote(&self.name));
            (text.clone(), field::Error::invalid(self.base, "", text))
        });
    }

    /// Runs `check` for a child whose name has `suffix`.
    fn within<T>(&mut self, suffix: std::fmt::Arguments<'_>, check: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.name.len();
        self.name.push_str(&suffix.to_string());
        let result = check(self);
        self.name.truncate(length);
        result
    }

    /// A value of its own: what did not change is not reported.
    fn node(&mut self, schema: &Schema, value: &Value, old: Option<Old<'_>>) -> Outcome {
        let mut out = deeper(|| self.check(schema, value, old));
        if !out.is_valid() && old.is_some_and(|old| ratchet::same(old.schema, value, old.value)) {
            out = Outcome { matches: out.matches, ..Outcome::default() };
        }
        out
    }

    fn check(&mut self, schema: &Schema, value: &Value, old: Option<Old<'_>>) -> Outcome {
        let constraints = schema.constraints();
        let format = Format::of(schema);
        let mut out = Outcome::default();
        if value.is_null() {
            self.check_null(schema, &mut out);
            self.check_enumeration(constraints, value, &mut out);
            return out;
        }
        if self.has_type(schema) || format.is_some_and(|_| !schema.int_or_string) {
            self.check_type(schema, format, value, &mut out);
            out.matches += 1;
        }
        let junctors = self.check_junctors(constraints, value);
        out.merge(junctors);
        out.matches += 1;
        match value {
            Value::String(text) => {
                self.check_string(constraints, text, &mut out);
                out.matches += 1;
                if let Some(format) = format.filter(|format| format.is_of_strings()) {
                    if !format.accepts(text) {
                        self.wrong_type(&mut out, schema.format().unwrap_or_default(), text);
                    }
                    out.matches += 1;
                }
            }
            Value::Int(_) | Value::Float(_) => {
                self.check_number(schema, format, value, &mut out);
                out.matches += 2;
            }
            Value::Array(items) => {
                let found = self.check_array(schema, items, old);
                out.merge(found);
                out.matches += 2;
            }
            _ => {}
        }
        self.check_enumeration(constraints, value, &mut out);
        out.matches += 1;
        if let Value::Object(fields) = value {
            let found = self.check_object(schema, fields, old);
            out.merge(found);
            out.matches += 1;
        }
        out.matches += 1;
        out
    }

    fn check_null(&self, schema: &Schema, out: &mut Outcome) {
        if self.has_type(schema) && !schema.nullable {
            self.wrong_type(out, &type_names(schema), "null");
        } else {
            out.matches += 1;
        }
    }

    fn check_type(&self, schema: &Schema, format: Option<Format>, value: &Value, out: &mut Outcome) {
        let (found, found_format) = match value {
            Value::Null => return,
            Value::Bool(_) => (Type::Boolean, ""),
            Value::Int(_) => (Type::Integer, "int64"),
            Value::Float(_) | Value::Spelled(_) => (Type::Number, "float64"),
            Value::String(_) => (Type::String, ""),
            Value::Array(_) => (Type::Array, ""),
            Value::Object(_) => (Type::Object, ""),
        };
        let fits = allows_type(schema, found)
            || matches!(value, Value::Float(f) if allows_type(schema, Type::Integer) && number::is_whole(*f))
            || (found == Type::Integer && allows_type(schema, Type::Number));
        let is_text_or_list = matches!(value, Value::String(_) | Value::Array(_));
        let is_numeric = allows_type(schema, Type::Number) || allows_type(schema, Type::Integer);
        match format {
            Some(_) if !is_text_or_list && !fits => {
                self.wrong_type(out, schema.format().unwrap_or_default(), found_format);
            }
            // Upstream leaves strings with a format to the format, and lists with them.
            Some(_) if is_text_or_list && !is_numeric => out.matches += 1,
            _ if fits => out.matches += 1,
            _ => self.wrong_type(out, &type_names(schema), found.as_str()),
        }
    }

    fn check_enumeration(&self, constraints: &Constraints, value: &Value, out: &mut Outcome) {
        let allowed = &constraints.enumeration;
        if allowed.is_empty() || allowed.contains(value) {
            return;
        }
        self.tell(out, || {
            let names: Vec<String> = allowed
                .iter()
                .map(|one| match one {
                    Value::String(text) => text.clone(),
                    other => other.to_json(),
                })
                .collect();
            let error =
                field::Error::unsupported(&self.path(), value.clone(), names.iter().map(String::as_str));
            (format!("{} in body should be one of", self.name), error)
        });
    }

    fn check_string(&self, constraints: &Constraints, text: &str, out: &mut Outcome) {
        // As upstream, only the first of these is reported.
        let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        if let Some(max) = constraints.max_length.filter(|max| length() > *max) {
            self.tell(out, || {
                let message = format!("{} in body should be at most {max} chars long", self.name);
                let max = usize::try_from(max).unwrap_or_default();
                (message, field::Error::too_long(&self.path(), max))
            });
        } else if let Some(min) = constraints.min_length.filter(|min| length() < *min) {
            self.invalid(out, text.into(), &format!("should be at least {min} chars long"));
        } else if let Some(pattern) = constraints.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
            // The pattern may be as long as a definition.
            self.tell(out, || {
                let why = format!("{} in body should match '{}'", self.name, pattern.as_str());
                (why.clone(), field::Error::invalid(&self.path(), text, why))
            });
        }
    }

    fn check_number(&self, schema: &Schema, format: Option<Format>, value: &Value, out: &mut Outcome) {
        for problem in number::problems(schema, format, value, &self.name) {
            match problem {
                number::Problem::Limit(text) => self.invalid(out, value.clone(), &text),
                number::Problem::Factor(factor) => {
                    self.tell(out, || {
                        let text = format!(
                            "factor MultipleOf declared for {} must be positive: {}",
                            self.name,
                            pilothouse_value::go_print::float(factor)
                        );
                        (text.clone(), field::Error::invalid(&self.path(), number::shortest(factor), text))
                    });
                }
                number::Problem::Range(text) => {
                    self.tell(out, || (text.clone(), field::Error::invalid(self.base, "", text)));
                }
            }
        }
    }

    fn check_array(&mut self, schema: &Schema, items: &[Value], old: Option<Old<'_>>) -> Outcome {
        let constraints = schema.constraints();
        let mut out = Outcome::default();
        if let Some(item_schema) = schema.items() {
            let correlation = old.and_then(Old::elements);
            for (index, item) in items.iter().enumerate() {
                let old = correlation.as_ref().and_then(|old| old.find(item));
                let found =
                    self.within(format_args!("[{index}]"), |inner| inner.node(item_schema, item, old));
                out.merge(found);
            }
        }
        let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
        if let Some(min) = constraints.min_items.filter(|min| count < *min) {
            self.invalid(&mut out, count.into(), &format!("should have at least {min} items"));
        }
        if let Some(max) = constraints.max_items.filter(|max| count > *max) {
            self.tell(&mut out, || {
                let message = format!("{} in body should have at most {max} items", self.name);
                let max = usize::try_from(max).unwrap_or_default();
                (message, field::Error::too_many(&self.path(), items.len(), max))
            });
        }
        if constraints.unique_items
            && items.iter().enumerate().any(|(at, item)| items.iter().take(at).any(|one| one == item))
        {
            self.invalid(&mut out, "".into(), "shouldn't contain duplicates");
        }
        out
    }

    fn check_object(&mut self, schema: &Schema, fields: &Map, old: Option<Old<'_>>) -> Outcome {
        let constraints = schema.constraints();
        let mut out = Outcome::default();
        let count = i64::try_from(fields.len()).unwrap_or(i64::MAX);
        if let Some(min) = constraints.min_properties.filter(|min| count < *min) {
            self.invalid(&mut out, count.into(), &format!("should have at least {min} properties"));
        }
        if let Some(max) = constraints.max_properties.filter(|max| count > *max) {
            self.tell(&mut out, || {
                let message = format!("{} in body should have at most {max} properties", self.name);
                let max = usize::try_from(max).unwrap_or_default();
                (message, field::Error::too_many(&self.path(), fields.len(), max))
            });
        }
        if let Some(additional) = schema.additional() {
            for (key, value) in fields.iter().filter(|(key, _)| schema.property(key).is_none()) {
                if !additional.allows() {
                    self.tell(&mut out, || {
                        let text = format!("{}.{key} in body is a forbidden property", self.name);
                        (text.clone(), field::Error::invalid(&self.path(), key, text))
                    });
                } else if let Some(value_schema) = additional.schema() {
                    let old = self.old_field(old, key);
                    let found =
                        self.within(format_args!(".{key}"), |inner| inner.node(value_schema, value, old));
                    out.merge(found);
                }
            }
        }
        for (key, value) in fields.iter() {
            let Some(property) = schema.property(key) else { continue };
            let old = self.old_field(old, key);
            let dot = if self.name.is_empty() { "" } else { "." };
            let found = self.within(format_args!("{dot}{key}"), |inner| inner.node(property, value, old));
            out.merge(found);
        }
        for key in schema.required().iter().filter(|key| !fields.contains_key(key)) {
            self.within(format_args!(".{key}"), |inner| {
                inner.tell(&mut out, || {
                    let text = format!("{} in body is required", inner.name);
                    (text, field::Error::required(&inner.path(), ""))
                });
            });
        }
        out
    }

    fn old_field<'o>(&self, old: Option<Old<'o>>, key: &str) -> Option<Old<'o>> {
        // Versions of one object differ in these without a change that anyone made.
        if self.name.is_empty() && matches!(key, "apiVersion" | "kind") {
            return None;
        }
        old.and_then(|old| old.field(key))
    }

    /// Alternatives and conjunctions. What they say of parts that did not change is reported, as upstream.
    fn check_junctors(&mut self, constraints: &Constraints, value: &Value) -> Outcome {
        let mut out = Outcome { matches: 1, ..Outcome::default() };
        if !constraints.any_of.is_empty() {
            let mut best: Option<Outcome> = None;
            let mut success = None;
            for alternative in &constraints.any_of {
                let found = deeper(|| self.check(alternative, value, None));
                if found.is_valid() {
                    success = Some(found);
                    break;
                }
                keep_better(&mut best, found);
            }
            if success.is_none() {
                self.composite(&mut out, "must validate at least one schema (anyOf)");
            }
            if let Some(found) = success.or(best) {
                out.merge(found);
            }
        }
        if !constraints.one_of.is_empty() {
            let mut best: Option<Outcome> = None;
            let mut success = None;
            let mut valid = 0_usize;
            for alternative in &constraints.one_of {
                let found = deeper(|| self.check(alternative, value, None));
                if found.is_valid() {
                    valid += 1;
                    success.get_or_insert(found);
                } else if valid == 0 {
                    keep_better(&mut best, found);
                }
            }
            match (valid, success, best) {
                (1, Some(found), _) => out.merge(found),
                (0, _, best) => {
                    self.composite(
                        &mut out,
                        "must validate one and only one schema (oneOf). Found none valid",
                    );
                    if let Some(found) = best {
                        out.merge(found);
                    }
                }
                _ => self.composite(
                    &mut out,
                    &format!(
                        "must validate one and only one schema (oneOf). Found {valid} valid alternatives"
                    ),
                ),
            }
        }
        if !constraints.all_of.is_empty() {
            let mut valid = 0_usize;
            for one in &constraints.all_of {
                let found = deeper(|| self.check(one, value, None));
                valid += usize::from(found.is_valid());
                out.merge(found);
            }
            if valid != constraints.all_of.len() {
                let none = if valid == 0 { ". None validated" } else { "" };
                self.composite(&mut out, &format!("must validate all the schemas (allOf){none}"));
            }
        }
        if let Some(not) = &constraints.not
            && deeper(|| self.check(not, value, None)).is_valid()
        {
            self.composite(&mut out, "must not validate the schema (not)");
        }
        out
    }
}

fn keep_better(best: &mut Option<Outcome>, found: Outcome) {
    if best.as_ref().is_none_or(|best| found.matches > best.matches) {
        *best = Some(found);
    }
}

fn allows_type(schema: &Schema, kind: Type) -> bool {
    if schema.int_or_string {
        matches!(kind, Type::Integer | Type::String)
    } else {
        schema.kind == Some(kind)
    }
}

fn type_names(schema: &Schema) -> String {
    if schema.int_or_string {
        return "integer,string".to_owned();
    }
    schema.kind.map(|kind| kind.as_str().to_owned()).unwrap_or_default()
}
