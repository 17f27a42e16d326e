//! Who gets which name: the conditions `NamesAccepted` and `Established`, as apiextensions' naming and establishing
//! controllers set them. What these do in two steps is one step here, so nobody sees the reason `Installing`.

use std::collections::BTreeSet;

use pilothouse_schema::crd::has_readable_bundle;
use pilothouse_value::{Value, field, json, object};

/// The names that are taken in a group.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

impl Taken {
    /// Adds the accepted names of a definition.
    pub(crate) fn add(&mut self, definition: &Value) {
        let Some(names) = definition.at(&["status", "acceptedNames"]) else { return };
        let texts = |keys: &[&str]| {
            keys.iter().filter_map(|key| names.str_at(&[key])).map(str::to_owned).collect::<Vec<_>>()
        };
        self.resources.extend(texts(&["plural", "singular"]));
        self.resources
            .extend(names.items_at(&["shortNames"]).iter().filter_map(Value::as_str).map(str::to_owned));
        self.kinds.extend(texts(&["kind", "listKind"]));
    }
}

/// Works out `status.acceptedNames` and the condition `NamesAccepted` of a definition; `taken` are the names of its whole
/// group, with its own, and `now` is the time of a transition. Returns whether anything changed.
pub(crate) fn accept(definition: &mut Value, taken: &Taken, now: &str) -> bool {
    let requested = definition.at(&["spec", "names"]).cloned().unwrap_or_default();
    let mut accepted = definition.at(&["status", "acceptedNames"]).cloned().unwrap_or_else(Value::object);
    if same_names(&requested, &accepted) {
        return false;
    }
    // Of several conflicts the last one is told, as upstream does.
    let mut conflict: Option<(&str, String)> = None;
    let before = accepted.clone();
    let in_use = |name: &str| format!("{} is already in use", field::quote(name));
    let one = |key: &str, reason: &'static str, taken: &BTreeSet<String>, accepted: &mut Value| {
        let name = requested.str_at(&[key]).unwrap_or_default();
        // A name that is held stays held, whoever else claims it.
        if before.str_at(&[key]).unwrap_or_default() != name && taken.contains(name) {
            return Some((reason, in_use(name)));
        }
        if !name.is_empty() {
            accepted.set(&[key], name);
        }
        None
    };
    conflict = one("plural", "PluralConflict", &taken.resources, &mut accepted).or(conflict);
    conflict = one("singular", "SingularConflict", &taken.resources, &mut accepted).or(conflict);
    let held = before.items_at(&["shortNames"]);
    let used: Vec<String> = requested
        .items_at(&["shortNames"])
        .iter()
        .filter(|name| !held.contains(name))
        .filter_map(Value::as_str)
        .filter(|name| taken.resources.contains(*name))
        .map(in_use)
        .collect();
    match used.as_slice() {
        [] => copy(&mut accepted, &requested, "shortNames"),
        [one] => conflict = Some(("ShortNamesConflict", one.clone())),
        many => conflict = Some(("ShortNamesConflict", format!("[{}]", many.join(", ")))),
    }
    conflict = one("kind", "KindConflict", &taken.kinds, &mut accepted).or(conflict);
    conflict = one("listKind", "ListKindConflict", &taken.kinds, &mut accepted).or(conflict);
    copy(&mut accepted, &requested, "categories");

    let before = definition.get("status").cloned().unwrap_or_default();
    definition.set(&["status", "acceptedNames"], accepted);
    let is_new = object::condition(definition, "Established").is_none();
    let names_accepted = match &conflict {
        Some((reason, message)) => condition("NamesAccepted", "False", reason, message, now),
        None => condition("NamesAccepted", "True", "NoConflicts", "no conflicts found", now),
    };
    set_condition(definition, names_accepted);
    if is_new && conflict.is_some() {
        set_condition(
            definition,
            condition("Established", "False", "NotAccepted", "not all names are accepted", now),
        );
    }
    definition.get("status") != Some(&before)
}

/// Establishes a definition whose names are accepted, unless the certificates of its webhook cannot be read. Returns
/// whether anything changed.
pub(crate) fn establish(definition: &mut Value, now: &str) -> bool {
    if object::condition_is_true(definition, "Established")
        || !object::condition_is_true(definition, "NamesAccepted")
    {
        return false;
    }
    let before = object::condition(definition, "Established").cloned();
    let established = if has_readable_bundle(definition) {
        let message = "the initial names have been accepted";
        condition("Established", "True", "InitialNamesAccepted", message, now)
    } else {
        let message = "The conversion webhook CABundle is invalid";
        condition("Established", "False", "InvalidCABundle", message, now)
    };
    set_condition(definition, established);
    before.as_ref() != object::condition(definition, "Established")
}

/// Whether all names that are requested are accepted; what is empty is as good as absent.
fn same_names(requested: &Value, accepted: &Value) -> bool {
    let texts = |names: &Value, key: &str| names.str_at(&[key]).unwrap_or_default().to_owned();
    ["plural", "singular", "kind", "listKind"].iter().all(|key| texts(requested, key) == texts(accepted, key))
        && ["shortNames", "categories"]
            .iter()
            .all(|key| requested.items_at(&[key]) == accepted.items_at(&[key]))
}

fn copy(to: &mut Value, from: &Value, key: &str) {
    match from.get(key) {
        Some(value) => to.set(&[key], value.clone()),
        None => {
            to.take(&[key]);
        }
    }
}

/// A condition of a definition.
pub(crate) fn condition(kind: &str, status: &str, reason: &str, message: &str, now: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": now})
}

/// Puts a condition into `status.conditions`. The time of the last transition stays unless the status changes.
pub(crate) fn set_condition(definition: &mut Value, mut condition: Value) {
    let kind = condition.str_at(&["type"]).unwrap_or_default().to_owned();
    if let Some(old) = object::condition(definition, &kind)
        && old.get("status") == condition.get("status")
        && let Some(time) = old.get("lastTransitionTime")
    {
        condition.set(&["lastTransitionTime"], time.clone());
    }
    let conditions = definition.entry(&["status", "conditions"]);
    if conditions.as_array().is_none() {
        *conditions = Value::Array(Vec::new().into());
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    match conditions.iter_mut().find(|own| own.str_at(&["type"]) == Some(&kind)) {
        // What others have put into the condition stays.
        Some(own) => {
            condition.as_object().into_iter().flat_map(|fields| fields.iter()).for_each(|(key, value)| {
                own.set(&[key], value.clone());
            })
        }
        None => conditions.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(plural: &str, kind: &str) -> Value {
        json!({"spec": {"names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")}}})
    }

    fn settle(crd: &mut Value, taken: &Taken) -> bool {
        let accepted = accept(crd, taken, "t");
        establish(crd, "t") || accepted
    }

    fn reason<'a>(crd: &'a Value, kind: &str) -> &'a str {
        object::condition(crd, kind).unwrap().str_at(&["reason"]).unwrap()
    }

    #[test]
    fn free_names_are_accepted() {
        let mut crd = definition("caches", "Cache");
        assert!(settle(&mut crd, &Taken::default()));
        assert!(object::condition_is_true(&crd, "NamesAccepted"));
        assert!(object::condition_is_true(&crd, "Established"));
        assert_eq!(crd.str_at(&["status", "acceptedNames", "kind"]), Some("Cache"));
        assert!(!settle(&mut crd, &Taken::default()), "nothing changes the second time");
    }

    #[test]
    fn a_kind_in_use_is_a_conflict_until_it_is_free() {
        let mut first = definition("caches", "Cache");
        settle(&mut first, &Taken::default());
        let mut taken = Taken::default();
        taken.add(&first);
        let mut second = definition("others", "Cache");
        settle(&mut second, &taken);
        assert_eq!(reason(&second, "NamesAccepted"), "ListKindConflict");
        assert_eq!(reason(&second, "Established"), "NotAccepted");
        settle(&mut second, &Taken::default());
        assert!(object::condition_is_true(&second, "Established"));
    }

    #[test]
    fn a_name_that_is_held_stays_held() {
        let mut crd = definition("caches", "Cache");
        settle(&mut crd, &Taken::default());
        let mut taken = Taken::default();
        taken.add(&crd);
        taken.resources.insert("c".into());
        crd.set(&["spec", "names", "shortNames"], json!(["c", "caches", "d"]));
        settle(&mut crd, &taken);
        let message = object::condition(&crd, "NamesAccepted").unwrap().str_at(&["message"]);
        assert_eq!(message, Some("[\"c\" is already in use, \"caches\" is already in use]"));
        assert!(object::condition_is_true(&crd, "Established"), "what is served stays served");
        assert!(crd.items_at(&["status", "acceptedNames", "shortNames"]).is_empty());
    }

    #[test]
    fn unreadable_certificates_keep_a_definition_from_being_established() {
        let mut crd = definition("caches", "Cache");
        crd.set(&["spec", "conversion", "webhook", "clientConfig", "caBundle"], "Cg==");
        settle(&mut crd, &Taken::default());
        assert_eq!(reason(&crd, "Established"), "InvalidCABundle");
    }
}
