//! Status and conditions: one write, and only when something differs.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::{Timestamp, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

// The comments are what users of the resource read. For authors: put it into a status with `#[serde(flatten)]`, or use it
// as the whole status; the engine fills it in.
/// What the controller has observed of the object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Observed {
    /// The generation of the object that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("nullable" = false))]
    pub observed_generation: Option<i64>,
    /// What is true of the object; `Ready` sums up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

impl Observed {
    /// The condition of this type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.type_ == kind)
    }

    /// True when the condition of this type is `True`.
    pub fn is_true(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(|condition| condition.status == "True")
    }
}

/// Whether a condition is met, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionStatus {
    status: &'static str,
    reason: String,
    message: String,
}

impl ConditionStatus {
    /// The condition is `True`. `reason` is a CamelCase word, `message` is for people.
    pub fn met(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status: "True", reason: reason.into(), message: message.into() }
    }

    /// The condition is `False`.
    pub fn unmet(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status: "False", reason: reason.into(), message: message.into() }
    }

    /// The condition is `Unknown`.
    pub fn unknown(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status: "Unknown", reason: reason.into(), message: message.into() }
    }

    /// True when the condition is met.
    pub fn is_met(&self) -> bool {
        self.status == "True"
    }

    /// The CamelCase word.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Both must be met: the first that is not tells why.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        if self.is_met() { other } else { self }
    }
}

impl From<bool> for ConditionStatus {
    fn from(met: bool) -> Self {
        if met { Self::met("AsExpected", "") } else { Self::unmet("NotAsExpected", "") }
    }
}

impl fmt::Display for ConditionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}) {}", self.status, self.reason, self.message)
    }
}

/// The status that is wanted: what was planned (or what is there), with the conditions and the observed generation.
pub(crate) fn wanted(
    live: &Value,
    planned: Option<&Value>,
    conditions: &[(String, ConditionStatus)],
    generation: Option<i64>,
    now: Timestamp,
) -> Value {
    let mut status = planned.unwrap_or(live).as_object().cloned().unwrap_or_default();
    let mut list = [planned, Some(live)]
        .into_iter()
        .flatten()
        .filter_map(|status| status["conditions"].as_array())
        .find(|list| !list.is_empty())
        .cloned()
        .unwrap_or_default();
    for (kind, condition) in conditions {
        let place = list.iter().position(|known| known["type"] == **kind);
        let since = match place.map(|place| &list[place]) {
            Some(known) if known["status"] == condition.status => known["lastTransitionTime"].clone(),
            _ => json!(now.round(Unit::Second).unwrap_or(now)),
        };
        let mut wanted = json!({
            "type": kind, "status": condition.status, "reason": condition.reason, "message": condition.message,
            "lastTransitionTime": since,
        });
        if let Some(generation) = generation {
            wanted["observedGeneration"] = generation.into();
        }
        match place {
            Some(place) => list[place] = wanted,
            None => list.push(wanted),
        }
    }
    if !list.is_empty() {
        status.insert("conditions".to_owned(), list.into());
    }
    if let Some(generation) = generation {
        status.insert("observedGeneration".to_owned(), generation.into());
    }
    status.into()
}

/// The merge patch (RFC 7386) that makes `from` into `to`; `None` when they are equal.
pub(crate) fn merge_patch(from: &Value, to: &Value) -> Option<Value> {
    if from == to {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (from, to) else { return Some(to.clone()) };
    let mut patch = Map::new();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, new) in new {
        match old.get(name) {
            None => {
                patch.insert(name.clone(), new.clone());
            }
            Some(old) => {
                if let Some(change) = merge_patch(old, new) {
                    patch.insert(name.clone(), change);
                }
            }
        }
    }
    Some(patch.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_transition_time_changes_only_with_the_status() {
        let ready = |met: bool| [("Ready".to_owned(), ConditionStatus::from(met))];
        let first = wanted(&Value::Null, None, &ready(false), Some(1), time(0));
        assert_eq!(first["conditions"][0]["lastTransitionTime"], "1970-01-01T00:00:00Z");
        let same = wanted(&first, None, &ready(false), Some(1), time(60));
        assert_eq!(merge_patch(&first, &same), None, "nothing to write");
        let other = wanted(&first, None, &ready(true), Some(1), time(60));
        assert_eq!(other["conditions"][0]["lastTransitionTime"], "1970-01-01T00:01:00Z");
    }

    #[test]
    fn conditions_of_others_are_kept() {
        let live = json!({"conditions": [{"type": "Other", "status": "True"}], "phase": "x"});
        let planned = json!({"replicas": 3});
        let status = wanted(&live, Some(&planned), &[("Ready".to_owned(), true.into())], Some(2), time(0));
        assert_eq!(status["conditions"][0]["type"], "Other");
        assert_eq!(status["conditions"][1]["type"], "Ready");
        assert_eq!(status["observedGeneration"], 2);
        let patch = merge_patch(&live, &status).unwrap();
        assert_eq!(patch["phase"], Value::Null, "a field that is no longer wanted is removed");
        assert_eq!(patch["replicas"], 3);
    }
}
