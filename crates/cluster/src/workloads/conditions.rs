//! Conditions in a status: found by type, replaced in place, their transition time kept while the status stays.

use pilothouse_value::{Timestamp, Value, json};

/// The conditions of an object, to be changed and written back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions(Vec<Value>);

impl Conditions {
    /// Those that the object has.
    pub(crate) fn of(object: &Value) -> Self {
        Self(object.items_at(&["status", "conditions"]).to_vec())
    }

    /// The condition of this type.
    pub(crate) fn get(&self, kind: &str) -> Option<&Value> {
        self.0.iter().find(|c| c.str_at(&["type"]) == Some(kind))
    }

    /// Sets a condition that has a transition time only. Says whether it differs from before.
    pub(crate) fn set(
        &mut self,
        kind: &str,
        status: &str,
        reason: &str,
        message: &str,
        now: Timestamp,
    ) -> bool {
        self.put(kind, status, reason, message, now, None)
    }

    /// Sets a condition that carries a second time, `field`, of when it was last looked at or changed in any way.
    pub(crate) fn set_with(
        &mut self,
        kind: &str,
        status: &str,
        reason: &str,
        message: &str,
        now: Timestamp,
        field: &str,
    ) -> bool {
        self.put(kind, status, reason, message, now, Some(field))
    }

    fn put(
        &mut self,
        kind: &str,
        status: &str,
        reason: &str,
        message: &str,
        now: Timestamp,
        field: Option<&str>,
    ) -> bool {
        let mut new = json!({"type": kind, "status": status});
        for (key, text) in [("reason", reason), ("message", message)] {
            if !text.is_empty() {
                new.set(&[key], text);
            }
        }
        new.set(&["lastTransitionTime"], now.to_string());
        if let Some(field) = field {
            new.set(&[field], now.to_string());
        }
        let Some(old) = self.0.iter_mut().find(|c| c.str_at(&["type"]) == Some(kind)) else {
            self.0.push(new);
            return true;
        };
        let same =
            |key: &str| old.str_at(&[key]).unwrap_or_default() == new.str_at(&[key]).unwrap_or_default();
        if same("status") && same("reason") && same("message") {
            return false;
        }
        if same("status")
            && let Some(time) = old.get("lastTransitionTime")
        {
            new.set(&["lastTransitionTime"], time.clone());
        }
        *old = new;
        true
    }

    /// Sets when a condition changed its status.
    pub(crate) fn date(&mut self, kind: &str, since: &Value) {
        if let Some(condition) = self.0.iter_mut().find(|c| c.str_at(&["type"]) == Some(kind)) {
            condition.set(&["lastTransitionTime"], since.clone());
        }
    }

    /// Removes a condition.
    pub(crate) fn remove(&mut self, kind: &str) {
        self.0.retain(|c| c.str_at(&["type"]) != Some(kind));
    }

    /// Writes them into a status, which has none if there are none.
    pub(crate) fn write(self, status: &mut Value) {
        if !self.0.is_empty() {
            status.set(&["conditions"], self.0);
        }
    }
}
