//! The entries of `metadata.managedFields`: reading, writing, order, and how many there may be.

use super::{MANAGED_FIELDS, Manager};
use crate::fieldset::FieldSet;
use crate::updater::{Managers, Owned};
use pilothouse_value::{Map, Timestamp, Value};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The manager of the entry that old update entries become.
const ANCIENT_CHANGES: &str = "ancient-changes";

/// How a manager came to own fields. The order is that of the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

impl Operation {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

/// What tells the entries of an object apart. The order is the one in which messages name managers: that of the JSON texts
/// by which upstream knows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) manager: String,
    pub(super) operation: Operation,
    /// Empty for those who apply: they are one and the same in all versions.
    pub(super) api_version: String,
    pub(super) subresource: String,
}

impl Identity {
    /// Who does what is being done.
    pub(super) fn of(operation: Operation, manager: &Manager<'_>) -> Self {
        let name = if manager.name.is_empty() { "unknown" } else { manager.name };
        Self {
            manager: name.to_owned(),
            operation,
            api_version: match operation {
                Operation::Apply => String::new(),
                Operation::Update => manager.api_version.to_owned(),
            },
            subresource: manager.subresource.to_owned(),
        }
    }

    /// Nobody who can be in an object: who writes now, until it is settled whose entry that is.
    pub(super) fn current() -> Self {
        Self {
            manager: String::new(),
            operation: Operation::Update,
            api_version: String::new(),
            subresource: String::new(),
        }
    }

    /// The manager as conflict messages print it.
    pub(super) fn describe(&self) -> String {
        let mut text = pilothouse_value::field::quote(&self.manager);
        if !self.subresource.is_empty() {
            text.push_str(" with subresource ");
            text.push_str(&pilothouse_value::field::quote(&self.subresource));
        }
        if self.operation == Operation::Update {
            text.push_str(" using ");
            text.push_str(&self.api_version);
        }
        text
    }
}

impl Ord for Identity {
    fn cmp(&self, other: &Self) -> Ordering {
        // A text ends with a quote, which comes before nearly all that can follow.
        let ended = |a: &str, b: &str| {
            let (a, b) = (a.bytes().chain([b'"']), b.bytes().chain([b'"']));
            a.cmp(b)
        };
        // A subresource that is left out leaves a brace where else a comma is.
        let rank = |identity: &Self| identity.subresource.is_empty();
        ended(&self.manager, &other.manager)
            .then(self.operation.cmp(&other.operation))
            .then_with(|| ended(&self.api_version, &other.api_version))
            .then_with(|| rank(self).cmp(&rank(other)))
            .then_with(|| ended(&self.subresource, &other.subresource))
    }
}

impl PartialOrd for Identity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// All entries of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    pub(super) managers: Managers<Identity>,
    /// When they came to be as they are.
    pub(super) times: BTreeMap<Identity, Option<Timestamp>>,
}

impl Entries {
    /// Reads a list of entries. Nothing and `null` are no entries. Of an identity that comes twice the last one counts.
    pub(super) fn read(list: Option<&Value>) -> Result<Entries, String> {
        let list = match list {
            None | Some(Value::Null) => return Ok(Entries::default()),
            Some(Value::Array(list)) => list,
            Some(other) => return Err(format!("expected a list, got {}", other.kind_name())),
        };
        let mut entries = Entries::default();
        for (index, entry) in list.iter().enumerate() {
            let text = |field: &str| entry.str_at(&[field]).unwrap_or_default().to_owned();
            let operation = match entry.str_at(&["operation"]) {
                Some("Apply") => Operation::Apply,
                Some("Update") => Operation::Update,
                _ => return Err("operation must be `Apply` or `Update`".into()),
            };
            let version = text("apiVersion");
            if version.is_empty() {
                return Err("apiVersion must not be empty".into());
            }
            match text("fieldsType").as_str() {
                "FieldsV1" => {}
                "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
                other => return Err(format!("invalid fieldsType {other:?} in managed fields entry {index}")),
            }
            let fields = match entry.get("fieldsV1") {
                None | Some(Value::Null) => FieldSet::new(),
                Some(fields) => FieldSet::from_value(fields).map_err(|why| {
                    format!("error decoding versioned set from {entry}: error decoding set: {why}")
                })?,
            };
            let identity = Identity {
                manager: text("manager"),
                operation,
                api_version: if operation == Operation::Apply { String::new() } else { version.clone() },
                subresource: text("subresource"),
            };
            let time = entry.str_at(&["time"]).and_then(|time| Timestamp::parse(time).ok());
            entries.times.insert(identity.clone(), time);
            entries
                .managers
                .insert(identity, Owned { fields, version, applied: operation == Operation::Apply });
        }
        Ok(entries)
    }

    /// Writes the entries into an object, in their order. No entries leave no field.
    pub(super) fn write(self, object: &mut Value) {
        match self.into_value() {
            Some(list) => object.set(&MANAGED_FIELDS, list),
            None => {
                object.take(&MANAGED_FIELDS);
            }
        }
    }

    /// The list of entries, in their order; `None` if there are none.
    pub(super) fn into_value(mut self) -> Option<Value> {
        if self.managers.is_empty() {
            return None;
        }
        let mut list: Vec<(i64, Identity, Option<Timestamp>, Owned)> =
            Vec::with_capacity(self.managers.len());
        for (identity, owned) in self.managers {
            let time = self.times.remove(&identity).flatten();
            list.push((time.map_or(0, Timestamp::unix_seconds), identity, time, owned));
        }
        list.sort_by(|(a_time, a, _, a_owned), (b_time, b, _, b_owned)| {
            let order = (a.operation, a_time, &a.manager).cmp(&(b.operation, b_time, &b.manager));
            order
                .then_with(|| a_owned.version.cmp(&b_owned.version))
                .then_with(|| a.subresource.cmp(&b.subresource))
        });
        let entries = list.into_iter().map(|(_, identity, time, owned)| entry(identity, time, owned));
        Some(Value::Array(entries.collect()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.managers.is_empty()
    }

    /// Merges the oldest update entries of a version into one as long as there are more than `max`.
    pub(super) fn cap(&mut self, max: usize) {
        let mut updates: Vec<Identity> = self
            .managers
            .iter()
            .filter(|(_, owned)| !owned.applied)
            .map(|(identity, _)| identity.clone())
            .collect();
        if updates.len() <= max {
            return;
        }
        let seconds = |identity: &Identity| {
            self.times.get(identity).copied().flatten().map_or(0, Timestamp::unix_seconds)
        };
        updates.sort_by_cached_key(|identity| (seconds(identity), identity.clone()));
        let mut left = updates.len();
        let mut firsts: BTreeMap<String, Identity> = BTreeMap::new();
        for identity in updates {
            if left <= max {
                break;
            }
            let Some(version) = self.managers.get(&identity).map(|owned| owned.version.clone()) else {
                continue;
            };
            let Some(first) = firsts.get(&version) else {
                firsts.insert(version, identity);
                continue;
            };
            let bucket = Identity {
                manager: ANCIENT_CHANGES.to_owned(),
                operation: Operation::Update,
                api_version: version,
                subresource: String::new(),
            };
            if !self.managers.contains_key(&bucket)
                && let Some(owned) = self.managers.remove(first)
            {
                self.managers.insert(bucket.clone(), owned);
            }
            if let Some(owned) = self.managers.get(&identity).cloned()
                && let Some(ancient) = self.managers.get_mut(&bucket)
            {
                ancient.fields.extend(owned.fields);
            }
            self.managers.remove(&identity);
            left -= 1;
            // The changes that are added are the more recent ones.
            let time = self.times.get(&identity).copied().flatten();
            self.times.insert(bucket, time);
        }
    }
}

/// An entry as it is written.
pub(super) fn entry(identity: Identity, time: Option<Timestamp>, owned: Owned) -> Value {
    let operation = if owned.applied { Operation::Apply } else { identity.operation };
    let mut map = Map::new();
    map.insert("apiVersion", owned.version);
    map.insert("fieldsType", "FieldsV1");
    map.insert("fieldsV1", owned.fields.to_value());
    if !identity.manager.is_empty() {
        map.insert("manager", identity.manager);
    }
    map.insert("operation", operation.as_str());
    if !identity.subresource.is_empty() {
        map.insert("subresource", identity.subresource);
    }
    if let Some(time) = time {
        map.insert("time", time);
    }
    Value::Object(map)
}
