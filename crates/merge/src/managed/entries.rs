//! The entries of `metadata.managedFields`: reading, writing, order, and how many there may be.

use super::Manager;
use crate::fieldset::FieldSet;
use pilothouse_value::{Map, Timestamp, Value};

/// How many update entries an object keeps; older ones become one.
const MAX_UPDATE_MANAGERS: usize = 10;
/// The manager of the entry that old update entries become.
const ANCIENT_CHANGES: &str = "ancient-changes";

/// How a manager came to own fields. The order is that of the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) manager: String,
    pub(super) operation: Operation,
    pub(super) api_version: String,
    pub(super) subresource: String,
    pub(super) time: Option<Timestamp>,
    pub(super) fields: FieldSet,
}

impl Entry {
    /// The manager as conflict messages print it.
    pub(super) fn describe(&self) -> String {
        let mut text = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.operation == Operation::Update {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }
}

/// All entries of an object; each identity is there once, and none is without fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entries(Vec<Entry>);

impl Entries {
    /// Reads a list of entries. Nothing and `null` are no entries.
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
            let api_version = text("apiVersion");
            if api_version.is_empty() {
                return Err("apiVersion must not be empty".into());
            }
            match text("fieldsType").as_str() {
                "FieldsV1" => {}
                "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
                other => return Err(format!("invalid fieldsType {other:?} in managed fields entry {index}")),
            }
            let fields = match entry.get("fieldsV1") {
                None | Some(Value::Null) => FieldSet::new(),
                Some(fields) => FieldSet::from_value(fields).map_err(|why| why.to_string())?,
            };
            let entry = Entry {
                manager: text("manager"),
                operation,
                api_version,
                subresource: text("subresource"),
                time: entry.str_at(&["time"]).and_then(|time| Timestamp::parse(time).ok()),
                fields,
            };
            // Of an identity that comes twice the last one counts.
            entries.0.retain(|known| {
                known.manager != entry.manager
                    || known.operation != entry.operation
                    || known.subresource != entry.subresource
                    || (entry.operation == Operation::Update && known.api_version != entry.api_version)
            });
            entries.0.push(entry);
        }
        Ok(entries)
    }

    /// Writes the entries into an object, in their order. No entries leave no field.
    pub(super) fn write(mut self, object: &mut Value) {
        if self.0.is_empty() {
            object.take(&["metadata", "managedFields"]);
            return;
        }
        let seconds = |entry: &Entry| entry.time.map_or(0, Timestamp::unix_seconds);
        self.0.sort_by(|a, b| {
            let rest = |entry: &'_ Entry| {
                (entry.manager.clone(), entry.api_version.clone(), entry.subresource.clone())
            };
            (a.operation, seconds(a)).cmp(&(b.operation, seconds(b))).then_with(|| rest(a).cmp(&rest(b)))
        });
        let list: Vec<Value> = self.0.into_iter().map(|entry| Value::Object(entry.into_map())).collect();
        object.set(&["metadata", "managedFields"], Value::Array(list));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter()
    }

    /// Changes the fields of all entries, and drops those that are left without.
    pub(super) fn retain_owned(&mut self, fields: impl Fn(&Entry) -> FieldSet) {
        for entry in &mut self.0 {
            entry.fields = fields(entry);
        }
        self.0.retain(|entry| !entry.fields.is_empty());
    }

    /// The entry of a manager, made where there is none. It must be given fields.
    pub(super) fn of(&mut self, operation: Operation, manager: &Manager<'_>) -> &mut Entry {
        let at = self.0.iter().position(|entry| entry.is_of(operation, manager)).unwrap_or_else(|| {
            self.0.push(Entry {
                manager: manager.name().to_owned(),
                operation,
                api_version: manager.api_version.to_owned(),
                subresource: manager.subresource.to_owned(),
                time: None,
                fields: FieldSet::new(),
            });
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// Takes out the entry of a manager.
    pub(super) fn take(&mut self, operation: Operation, manager: &Manager<'_>) -> Option<Entry> {
        let at = self.0.iter().position(|entry| entry.is_of(operation, manager))?;
        Some(self.0.remove(at))
    }

    /// Puts in an entry that [`Entries::take`] took out, unless it has no fields.
    pub(super) fn put(&mut self, entry: Entry) {
        if !entry.fields.is_empty() {
            self.0.push(entry);
        }
    }

    /// Merges the oldest update entries of a version into one as long as there are too many.
    pub(super) fn cap(&mut self) {
        let mut updates: Vec<Entry> = Vec::new();
        self.0.retain(|entry| {
            let is_update = entry.operation == Operation::Update;
            if is_update {
                updates.push(entry.clone());
            }
            !is_update
        });
        updates.sort_by_key(|entry| (entry.time.map_or(0, Timestamp::unix_seconds), entry.manager.clone()));
        let mut surplus = updates.len().saturating_sub(MAX_UPDATE_MANAGERS);
        let mut kept: Vec<Entry> = Vec::with_capacity(updates.len());
        for entry in updates {
            let older = kept.iter_mut().find(|older| surplus > 0 && older.api_version == entry.api_version);
            match older {
                Some(older) => {
                    older.manager = ANCIENT_CHANGES.to_owned();
                    older.subresource = String::new();
                    older.fields = older.fields.union(&entry.fields);
                    older.time = entry.time;
                    surplus -= 1;
                }
                None => kept.push(entry),
            }
        }
        self.0.extend(kept);
    }
}

impl Entry {
    fn into_map(self) -> Map {
        let operation = match self.operation {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        };
        let mut map = Map::new();
        map.insert("apiVersion", self.api_version);
        map.insert("fieldsType", "FieldsV1");
        map.insert("fieldsV1", self.fields.to_value());
        if !self.manager.is_empty() {
            map.insert("manager", self.manager);
        }
        map.insert("operation", operation);
        if !self.subresource.is_empty() {
            map.insert("subresource", self.subresource);
        }
        if let Some(time) = self.time {
            map.insert("time", time);
        }
        map
    }
}
