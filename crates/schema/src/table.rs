//! How kubectl prints objects: the columns and cells of `meta.k8s.io/v1` Tables, for built-in kinds as upstream's
//! printers make them (pkg/printers/internalversion), for custom resources by the `additionalPrinterColumns` of their
//! definition.

mod cells;
mod core;
mod extension;
mod other;
mod pods;
mod workloads;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use pilothouse_value::{Gvk, Map, Timestamp, Value, json, object};

use crate::builtin::{describe, unescape};
use crate::jsonpath::{self, JsonPath};

static COLUMNS: &str = include_str!("tables/columns.txt");

/// What the rows of a table carry of their objects (`?includeObject=`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Include {
    /// `None`: the cells only.
    None,
    /// `Metadata`: a `PartialObjectMetadata`.
    #[default]
    Metadata,
    /// `Object`: the whole object.
    Object,
}

impl Include {
    /// Reads the query parameter; empty is the default.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "None" => Self::None,
            "" | "Metadata" => Self::Metadata,
            "Object" => Self::Object,
            _ => return None,
        })
    }
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The heading, which kubectl writes in capitals.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// `name` for the column that names the object, or empty.
    pub format: String,
    /// What the column shows.
    pub description: String,
    /// 0 to be always shown, more to be shown by `-o wide` only.
    pub priority: i64,
}

type Cells = fn(&Value, Timestamp) -> Vec<Value>;

#[derive(Debug, Clone)]
enum Source {
    Printer(Cells),
    /// A path for each column behind the name; `None` for one that cannot be read, whose cells are empty.
    Paths(Vec<Option<JsonPath>>),
}

/// Prints the objects of one kind. Make it once and keep it: making it looks up descriptions and parses paths.
#[derive(Debug, Clone)]
pub struct Printer {
    columns: Vec<Column>,
    source: Source,
    of_list: OfList,
}

/// What is done with the rows of a list, which one object alone cannot tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OfList {
    AsItIs,
    /// The class that is the default is marked.
    MarksDefault,
    /// Flow schemas stand in the order in which they are matched.
    ByPrecedence,
}

impl Printer {
    /// The printer of a built-in kind; [`Printer::fallback`] for a kind that has none of its own.
    pub fn builtin(gvk: &Gvk) -> Self {
        let group = match gvk.group.split('.').next() {
            None | Some("") => "core",
            Some(group) => group,
        };
        let key = format!("{group}.{}", gvk.kind);
        // Events of both groups are the same objects; the rest of events.k8s.io has no printer.
        let key = if key == "events.Event" { "core.Event" } else { key.as_str() };
        let printer = pods::printer(key)
            .or_else(|| core::printer(key))
            .or_else(|| workloads::printer(key))
            .or_else(|| other::printer(key));
        match (printer, builtin_columns(key)) {
            (Some(printer), Some(columns)) => Self {
                columns,
                source: Source::Printer(printer),
                of_list: match key {
                    "storage.StorageClass" => OfList::MarksDefault,
                    "flowcontrol.FlowSchema" => OfList::ByPrecedence,
                    _ => OfList::AsItIs,
                },
            },
            _ => extension::printer(key).unwrap_or_else(Self::fallback),
        }
    }

    /// Name and time of creation, for kinds without a printer.
    pub fn fallback() -> Self {
        let created = Column {
            name: "Created At".to_owned(),
            kind: "date".to_owned(),
            format: String::new(),
            description: metadata_description("creationTimestamp"),
            priority: 0,
        };
        Self {
            columns: vec![name_column(), created],
            source: Source::Printer(|object, _| {
                let created =
                    object.str_at(&["metadata", "creationTimestamp"]).map_or(Value::Null, Value::from);
                vec![object::name(object).into(), created]
            }),
            of_list: OfList::AsItIs,
        }
    }

    /// The columns of the scale subresource of custom resources.
    pub fn custom_scale() -> &'static Self {
        static SCALE: std::sync::LazyLock<Printer> = std::sync::LazyLock::new(extension::scale);
        &SCALE
    }

    /// The printer of the scale of a built-in kind.
    pub fn built_in_scale() -> &'static Self {
        static SCALE: std::sync::LazyLock<Printer> = std::sync::LazyLock::new(extension::built_in_scale);
        &SCALE
    }

    /// The printer of one version of a custom resource, given as it stands in `spec.versions` of its definition.
    pub fn custom(version: &Value) -> Self {
        let text = |column: &Value, key: &str| column.str_at(&[key]).unwrap_or_default().to_owned();
        let declared = version.items_at(&["additionalPrinterColumns"]);
        let age = json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
            "description": metadata_description("creationTimestamp")});
        let declared = if declared.is_empty() { std::slice::from_ref(&age) } else { declared };
        let column = |column: &Value| Column {
            name: text(column, "name"),
            kind: text(column, "type"),
            format: text(column, "format"),
            description: match text(column, "description") {
                description if !description.is_empty() => description,
                _ => format!(
                    "Custom resource definition column (in JSONPath format): {}",
                    text(column, "jsonPath")
                ),
            },
            priority: column.i64_at(&["priority"]).unwrap_or_default(),
        };
        Self {
            columns: std::iter::once(name_column()).chain(declared.iter().map(column)).collect(),
            source: Source::Paths(
                declared.iter().map(|c| JsonPath::parse(&text(c, "jsonPath")).ok()).collect(),
            ),
            of_list: OfList::AsItIs,
        }
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The cells of one object, one for each column. Ages are counted up to `now`.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match &self.source {
            Source::Printer(printer) => printer(object, now),
            Source::Paths(paths) => {
                let kinds = self.columns.iter().skip(1).map(|column| column.kind.as_str());
                let cells = paths.iter().zip(kinds).map(|(path, kind)| match path {
                    Some(path) => custom_cell(&path.find(object), kind, now),
                    None => Value::Null,
                });
                std::iter::once(object::name(object).into()).chain(cells).collect()
            }
        }
    }

    /// The row of one object.
    pub fn row(&self, object: &Value, now: Timestamp, include: Include) -> Value {
        let mut row = Map::new();
        row.insert("cells", Value::Array(self.cells(object, now).into()));
        if let Some(conditions) = pods::row_conditions(object) {
            row.insert("conditions", conditions);
        }
        let included = match include {
            // Go writes the empty raw object of a row as null.
            Include::None => Value::Null,
            Include::Object => object.clone(),
            Include::Metadata => json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                "metadata": object.get("metadata").cloned().unwrap_or_else(Value::object),
            }),
        };
        row.insert("object", included);
        Value::Object(row)
    }
}

/// The Table of a list, where the default class of a kind of classes is marked, as it is nowhere else.
pub fn build_list<'v>(
    printer: &Printer,
    objects: impl IntoIterator<Item = &'v Value>,
    metadata: Value,
    now: Timestamp,
    include: Include,
) -> Value {
    let mut objects: Vec<&Value> = objects.into_iter().collect();
    if printer.of_list == OfList::ByPrecedence {
        objects.sort_by_key(|object| {
            (object.i64_at(&["spec", "matchingPrecedence"]).unwrap_or_default(), object::name(object))
        });
    }
    let mut table = build(printer, objects.iter().copied(), metadata, now, include, true);
    if let (true, Some(at)) = (printer.of_list == OfList::MarksDefault, other::default_class(&objects)) {
        let row = table.get_mut("rows").and_then(|rows| rows.as_array_mut()?.get_mut(at));
        let name = row.and_then(|row| row.get_mut("cells")?.as_array_mut()?.first_mut());
        if let Some(Value::String(name)) = name {
            name.push_str(" (default)");
        }
    }
    table
}

/// The Table of some objects. `metadata` is that of the list (its resource version, `continue`), or of the one object.
/// Watches send the definitions of the columns with their first event only.
pub fn build<'v>(
    printer: &Printer,
    objects: impl IntoIterator<Item = &'v Value>,
    metadata: Value,
    now: Timestamp,
    include: Include,
    with_columns: bool,
) -> Value {
    let rows = objects.into_iter().map(|object| printer.row(object, now, include)).collect();
    let definition = |column: &Column| {
        json!({"name": column.name, "type": column.kind, "format": column.format,
            "description": column.description, "priority": column.priority})
    };
    let definitions = match with_columns {
        true => Value::Array(printer.columns.iter().map(definition).collect()),
        false => Value::Null,
    };
    Value::Object(Map::from_iter([
        ("kind", "Table".into()),
        ("apiVersion", "meta.k8s.io/v1".into()),
        ("metadata", metadata),
        ("columnDefinitions", definitions),
        ("rows", Value::Array(rows)),
    ]))
}

fn name_column() -> Column {
    Column {
        name: "Name".to_owned(),
        kind: "string".to_owned(),
        format: "name".to_owned(),
        description: metadata_description("name"),
        priority: 0,
    }
}

fn metadata_description(field: &str) -> String {
    describe("meta.v1.ObjectMeta", Some(field)).unwrap_or_default().into_owned()
}

/// Reads `columns.txt`: the kind, then `NAME|TYPE|FORMAT|PRIORITY|DESCRIPTION` for each column. A description
/// `@TYPE FIELD` stands in the table of descriptions.
fn builtin_columns(key: &str) -> Option<Vec<Column>> {
    static LINES: LazyLock<BTreeMap<&str, &str>> =
        LazyLock::new(|| COLUMNS.lines().filter_map(|line| line.split_once('\t')).collect());
    let column = |text: &str| {
        let mut parts = text.splitn(5, '|');
        let mut part = || parts.next().unwrap_or_default();
        let (name, kind, format, priority, description) = (part(), part(), part(), part(), part());
        Column {
            name: name.to_owned(),
            kind: kind.to_owned(),
            format: format.to_owned(),
            priority: priority.parse().unwrap_or_default(),
            description: match description.strip_prefix('@').and_then(|text| text.split_once(' ')) {
                None => unescape(description).into_owned(),
                Some((of, field)) => {
                    let found = describe(of, Some(field));
                    // What documents add for tools is not in the texts of the types.
                    let text = found.unwrap_or_default();
                    let end = text.find("\n\nPossible enum values:").unwrap_or(text.len());
                    text.get(..end).unwrap_or_default().to_owned()
                }
            },
        }
    };
    LINES.get(key).map(|line| line.split('\t').map(column).collect())
}

/// A cell of a custom resource (apiextensions-apiserver `tableconvertor.go`).
fn custom_cell(found: &[&Value], kind: &str, now: Timestamp) -> Value {
    let Some(first) = found.first().filter(|value| !value.is_null()) else { return Value::Null };
    match kind {
        "string" => {
            let texts: Vec<String> = found.iter().map(|value| jsonpath::text(value)).collect();
            texts.join(" ").into()
        }
        "integer" => first
            .as_i64()
            .or_else(|| first.as_f64().map(|number| number as i64))
            .map_or(Value::Null, Value::from),
        "number" if first.as_f64().is_some() => (*first).clone(),
        "boolean" if first.as_bool().is_some() => (*first).clone(),
        "date" => match first.as_str().map(Timestamp::parse) {
            Some(Ok(time)) => cells::human_duration(now.unix_seconds() - time.unix_seconds()).into(),
            Some(Err(_)) => "<invalid>".into(),
            None => Value::Null,
        },
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn custom_columns_follow_their_paths_and_types() {
        let version = json!({"additionalPrinterColumns": [
            {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
            {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status", "priority": 1},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
            {"name": "Gone", "type": "string", "jsonPath": ".status.gone", "description": "never there"},
        ]});
        let object = json!({"metadata": {"name": "a", "creationTimestamp": "2026-11-30T08:00:00Z", "labels": {"x": "y"}},
            "apiVersion": "demo/v1", "kind": "Web", "spec": {"replicas": 3}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let now = Timestamp::parse("2026-11-30T08:03:00Z").unwrap();
        let printer = Printer::custom(&version);
        let table = build(&printer, [&object], json!({"resourceVersion": "7"}), now, Include::Metadata, true);
        assert_eq!(table.items_at(&["rows"])[0].get("cells"), Some(&json!(["a", 3, "True", "3m", null])));
        let partial = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object.get("metadata").unwrap()});
        assert_eq!(table.items_at(&["rows"])[0].get("object"), Some(&partial));
        let titles: Vec<&str> =
            table.items_at(&["columnDefinitions"]).iter().filter_map(|c| c.str_at(&["name"])).collect();
        assert_eq!(titles, ["Name", "Replicas", "Ready", "Age", "Gone"]);
        assert_eq!(Printer::custom(&json!({})).cells(&object, now), [Value::from("a"), Value::from("3m")]);
    }

    #[test]
    fn a_list_of_storage_classes_marks_the_default() {
        let class = |name: &str, created: &str| {
            json!({"metadata": {"name": name, "creationTimestamp": created,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}})
        };
        let (old, new) = (class("old", "2026-11-30T08:00:00Z"), class("new", "2026-11-30T09:00:00Z"));
        let printer = Printer::builtin(&Gvk::new("storage.k8s.io", "v1", "StorageClass"));
        let now = Timestamp::from_unix_seconds(0);
        let table = build_list(&printer, [&old, &new], json!({}), now, Include::None);
        let names: Vec<&Value> =
            table.items_at(&["rows"]).iter().map(|row| &row.items_at(&["cells"])[0]).collect();
        assert_eq!(names, [&Value::from("old"), &Value::from("new (default)")]);
    }
}
