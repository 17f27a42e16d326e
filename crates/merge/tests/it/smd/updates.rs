//! Updates and applies, where versions are converted as the recorded converter did.

use super::types::{self, Ref};
use super::{Answer, Schemas, patterns, same_problems, set};
use pilothouse_merge::fieldset::{FieldSet, Filter, print_path};
use pilothouse_merge::typed;
use pilothouse_merge::updater::{ConvertError, Converter, Filters, Managers, Owned, Refusal, Typed, Updater};
use pilothouse_value::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

struct Recorded<'c> {
    calls: &'c [Value],
    schemas: &'c Schemas,
}

impl Converter<'static> for Recorded<'_> {
    type Type = Ref<'static>;

    fn convert<'a>(
        &self,
        document: &'a Typed<'_, Ref<'static>>,
        version: &str,
    ) -> Result<Typed<'a, Ref<'static>>, ConvertError> {
        let call = self.calls.iter().find(|call| {
            call.str_at(&["version"]) == Some(version)
                && call.at(&["from", "value"]).unwrap_or(&Value::Null) == &*document.value
        });
        let Some(call) = call else { return Ok(document.borrowed()) };
        if call.get("missing").is_some() {
            return Err(ConvertError::NoSuchVersion);
        }
        if let Some(error) = call.str_at(&["error"]) {
            return Err(ConvertError::Failed(error.to_owned()));
        }
        let to = call.get("to").unwrap();
        let value = to.get("value").cloned().unwrap_or_default();
        Ok(Typed { value: Cow::Owned(value), ty: self.schemas.ty(to) })
    }
}

struct ByVersion(BTreeMap<String, Filter>);

impl Filters for ByVersion {
    fn of(&self, version: &str) -> Option<&Filter> {
        self.0.get(version)
    }
}

fn document<'c>(call: &'c Value, name: &str, schemas: &Schemas) -> Typed<'c, Ref<'static>> {
    let document = call.get(name).unwrap();
    Typed { value: Cow::Borrowed(document.get("value").unwrap_or(&Value::Null)), ty: schemas.ty(document) }
}

fn managers(value: Option<&Value>) -> Managers<String> {
    let owned = |value: &Value| Owned {
        fields: set(value.get("fields")),
        version: value.str_at(&["version"]).unwrap().to_owned(),
        applied: value.get("applied").and_then(Value::as_bool).unwrap(),
    };
    types::fields(value).map(|(name, value)| (name.to_owned(), owned(value))).collect()
}

fn managers_value(managers: &Managers<String>) -> Value {
    let mut out = Value::object();
    for (name, owned) in managers {
        out.set(&[name, "applied"], owned.applied);
        out.set(&[name, "fields"], owned.fields.to_value());
        out.set(&[name, "version"], owned.version.as_str());
    }
    out
}

fn conflicts(conflicts: &[(String, FieldSet)]) -> Value {
    let one = |(manager, fields): &(String, FieldSet)| {
        let manager = manager.clone();
        fields
            .paths()
            .into_iter()
            .map(move |path| format!("{manager} {}", print_path(&path)))
            .collect::<Vec<_>>()
    };
    let mut list: Vec<String> = conflicts.iter().flat_map(one).collect();
    list.sort();
    let mut out = Value::object();
    out.set(&["conflicts"], Value::from(list));
    out
}

/// What the call comes to, or what it was recorded to: both in one form.
pub(super) fn make(call: &Value, schemas: &Schemas) -> Answer {
    let ours = run(call, schemas);
    let theirs = call.get("out").unwrap();
    // Conflicts were written down in no order.
    if let Some(Value::Array(list)) = theirs.get("conflicts") {
        let mut texts: Vec<String> = list
            .iter()
            .map(|one| {
                let text = |name| one.str_at(&[name]).unwrap();
                format!("{} {}", text("manager"), text("path"))
            })
            .collect();
        texts.sort();
        let mut theirs = Value::object();
        theirs.set(&["conflicts"], Value::from(texts));
        // The caller compares with the record itself.
        return if ours == theirs { Ok(call.get("out").cloned().unwrap()) } else { Ok(ours) };
    }
    if let (Some(why), Some(said)) = (ours.str_at(&["error"]), theirs.str_at(&["error"]))
        && same_problems(why, said)
    {
        return Ok(theirs.clone());
    }
    Ok(ours)
}

fn run(call: &Value, schemas: &Schemas) -> Value {
    let text = |name: &str| call.str_at(&[name]).unwrap();
    let flag = |name: &str| call.get(name).and_then(Value::as_bool).unwrap();
    let filter = |value: &Value| match value.get("include") {
        Some(include) => patterns(include),
        None => Filter::Exclude(set(value.get("exclude"))),
    };
    let filters = types::fields(call.get("filters"))
        .map(|(version, value)| (version.to_owned(), filter(value)))
        .collect();
    let converter = Recorded { calls: call.items_at(&["conversions"]), schemas };
    let filters = ByVersion(filters);
    let updater = Updater { converter: &converter, filters: &filters, returns_unchanged: flag("always") };
    let (live, other) = (document(call, "live", schemas), document(call, "other", schemas));
    let (before, manager) = (managers(call.get("managers")), text("manager").to_owned());
    let mut out = Value::object();
    let failed = |why: String| {
        let mut out = Value::object();
        out.set(&["error"], why);
        out
    };
    if text("op") == "update" {
        match updater.update(&live, &other, text("version"), before, &manager) {
            Ok(after) => out.set(&["managers"], managers_value(&after)),
            Err(why) => return failed(why),
        }
        out.set(&["object"], other.value.into_owned());
        return out;
    }
    // The library refuses two documents that are not of one type.
    if typed::validate(other.ty, &other.value, true).is_err() {
        return failed("the document does not fit".into());
    }
    match updater.apply(&live, &other, text("version"), before, &manager, flag("force")) {
        Ok((object, after)) => {
            out.set(&["managers"], managers_value(&after));
            if let Some(object) = object {
                out.set(&["object"], object.value.into_owned());
            }
            out
        }
        Err(Refusal::Conflicts(list)) => conflicts(&list),
        Err(Refusal::Failed(why)) => failed(why),
    }
}
