//! Who gets which name: the conditions `NamesAccepted` and `Established`, as apiextensions' naming and establishing
//! controllers set them.

use std::collections::BTreeSet;

use pilothouse_value::{Value, field, json, object};

/// The names that are taken in a group, by definitions other than the one that is looked at.
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

/// Works out `status.acceptedNames` and the naming conditions of a definition; `now` is the time of a transition.
/// Returns whether anything changed.
pub(crate) fn accept(definition: &mut Value, taken: &Taken, now: &str) -> bool {
    let requested = definition.at(&["spec", "names"]).cloned().unwrap_or_default();
    let mut accepted = definition.at(&["status", "acceptedNames"]).cloned().unwrap_or_else(Value::object);
    let mut conflict: Option<(&str, String)> = None;
    // Of several conflicts the last one is told, as upstream does.
    let in_use = |name: &str| format!("{} is already in use", field::quote(name));
    let one = |key: &str, reason: &'static str, taken: &BTreeSet<String>, accepted: &mut Value| {
        let name = requested.str_at(&[key]).unwrap_or_default();
        if taken.contains(name) {
            return Some((reason, in_use(name)));
        }
        if !name.is_empty() {
            accepted.set(&[key], name);
        }
        None
    };
    conflict = one("plural", "PluralConflict", &taken.resources, &mut accepted).or(conflict);
    conflict = one("singular", "SingularConflict", &taken.resources, &mut accepted).or(conflict);
    let short: Vec<&str> = requested.items_at(&["shortNames"]).iter().filter_map(Value::as_str).collect();
    let used: Vec<&str> = short.iter().copied().filter(|name| taken.resources.contains(*name)).collect();
    if used.is_empty() {
        copy(&mut accepted, &requested, "shortNames");
    }
    if !used.is_empty() {
        let texts: Vec<String> = used.iter().map(|name| in_use(name)).collect();
        let text = if texts.len() == 1 { texts.concat() } else { format!("[{}]", texts.join(", ")) };
        conflict = Some(("ShortNamesConflict", text));
    }
    conflict = one("kind", "KindConflict", &taken.kinds, &mut accepted).or(conflict);
    conflict = one("listKind", "ListKindConflict", &taken.kinds, &mut accepted).or(conflict);
    copy(&mut accepted, &requested, "categories");

    let before = definition.get("status").cloned().unwrap_or_default();
    definition.set(&["status", "acceptedNames"], accepted);
    let names_accepted = match &conflict {
        Some((reason, message)) => condition("NamesAccepted", "False", reason, message, now),
        None => condition("NamesAccepted", "True", "NoConflicts", "no conflicts found", now),
    };
    set_condition(definition, names_accepted);
    if !object::condition_is_true(definition, "Established") {
        let established = match conflict {
            Some(_) => condition("Established", "False", "NotAccepted", "not all names are accepted", now),
            None => {
                let message = "the initial names have been accepted";
                condition("Established", "True", "InitialNamesAccepted", message, now)
            }
        };
        set_condition(definition, established);
    }
    definition.get("status") != Some(&before)
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
        *conditions = Value::Array(Vec::new());
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    match conditions.iter_mut().find(|own| own.str_at(&["type"]) == Some(&kind)) {
        Some(own) => *own = condition,
        None => conditions.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(plural: &str, kind: &str) -> Value {
        json!({"spec": {"names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")}}})
    }

    #[test]
    fn free_names_are_accepted() {
        let mut crd = definition("caches", "Cache");
        assert!(accept(&mut crd, &Taken::default(), "t"));
        assert!(object::condition_is_true(&crd, "NamesAccepted"));
        assert!(object::condition_is_true(&crd, "Established"));
        assert_eq!(crd.str_at(&["status", "acceptedNames", "kind"]), Some("Cache"));
        assert!(!accept(&mut crd, &Taken::default(), "later"), "nothing changes the second time");
    }

    #[test]
    fn a_kind_in_use_is_a_conflict() {
        let mut first = definition("caches", "Cache");
        accept(&mut first, &Taken::default(), "t");
        let mut taken = Taken::default();
        taken.add(&first);
        let mut second = definition("others", "Cache");
        accept(&mut second, &taken, "t");
        let condition = object::condition(&second, "NamesAccepted").unwrap();
        assert_eq!(condition.str_at(&["reason"]), Some("ListKindConflict"));
        assert!(!object::condition_is_true(&second, "Established"));
    }
}
