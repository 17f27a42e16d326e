//! The kinds whose servers bring printers of their own: definitions of custom resources (apiextensions-apiserver) and
//! API services (kube-aggregator).

use pilothouse_value::{Timestamp, Value, object};

use super::cells::{age, flag, joined, name, text};
use super::{Cells, Column, OfList, Printer, Source, metadata_description, name_column};

pub(super) fn printer(key: &str) -> Option<Printer> {
    let created = metadata_description("creationTimestamp");
    let (columns, cells): (Vec<Column>, Cells) = match key {
        "apiextensions.CustomResourceDefinition" => (
            vec![
                column("Scope", "string", 0, "Cluster/Namespaced"),
                column("Versions", "string", 0, "Served versions"),
                column("Created At", "date", 0, &created),
                column("Group", "string", 1, "API group"),
                column("Kind", "string", 1, "CustomResource kind"),
                column("ShortNames", "string", 1, "Short names"),
                column("Established", "boolean", 1, "Established status"),
            ],
            definition,
        ),
        "apiregistration.APIService" => (
            vec![
                column("Service", "string", 0, "The reference to the service that hosts this API endpoint."),
                column("Available", "string", 0, "Whether this service is available."),
                column("Age", "string", 0, &created),
            ],
            api_service,
        ),
        _ => return None,
    };
    let columns = std::iter::once(name_column()).chain(columns).collect();
    Some(Printer { columns, source: Source::Printer(cells), of_list: OfList::AsItIs })
}

/// How the scale of a custom resource is shown.
pub(super) fn scale() -> Printer {
    let columns = vec![
        name_column(),
        column("Desired", "integer", 0, "Number of desired replicas"),
        column("Available", "integer", 0, "Number of actual replicas"),
        column("Age", "date", 0, &metadata_description("creationTimestamp")),
    ];
    Printer { columns, source: Source::Printer(scale_cells), of_list: OfList::AsItIs }
}

/// As [`scale`], of a built-in kind: upstream prints the same cells under headings of their own.
pub(super) fn built_in_scale() -> Printer {
    let columns = vec![
        column("Name", "string", 0, &metadata_description("name")),
        column("Desired", "integer", 0, "replicas is the desired number of instances for the scaled object."),
        column(
            "Available",
            "integer",
            0,
            "replicas is the actual number of observed instances of the scaled object.",
        ),
        column("Age", "string", 0, &metadata_description("creationTimestamp")),
    ];
    Printer { columns, source: Source::Printer(scale_cells), of_list: OfList::AsItIs }
}

fn scale_cells(scale: &Value, now: Timestamp) -> Vec<Value> {
    let number = |path: &[&str]| scale.at(path).cloned().unwrap_or_default();
    vec![name(scale), number(&["spec", "replicas"]), number(&["status", "replicas"]), age(scale, now)]
}

fn column(name: &str, kind: &str, priority: i64, description: &str) -> Column {
    Column {
        name: name.to_owned(),
        kind: kind.to_owned(),
        format: String::new(),
        description: description.to_owned(),
        priority,
    }
}

fn definition(object: &Value, _: Timestamp) -> Vec<Value> {
    let versions = object.items_at(&["spec", "versions"]).iter();
    let title = |version: &Value| {
        let mark = if flag(version, &["storage"], false) { "(storage)" } else { "" };
        format!("{}{mark}", text(version, &["name"]))
    };
    let mut versions: Vec<String> =
        versions.filter(|version| flag(version, &["served"], false)).map(title).collect();
    versions.sort();
    let spec = |path: &[&str]| Value::from(object.get("spec").map_or("", |spec| text(spec, path)));
    vec![
        name(object),
        spec(&["scope"]),
        versions.join(",").into(),
        text(object, &["metadata", "creationTimestamp"]).into(),
        spec(&["group"]),
        spec(&["names", "kind"]),
        joined(object, &["spec", "names", "shortNames"]).into(),
        object::condition_is_true(object, "Established").into(),
    ]
}

fn api_service(object: &Value, now: Timestamp) -> Vec<Value> {
    let service = object.at(&["spec", "service"]).filter(|service| !service.is_null());
    let service =
        service.map(|service| format!("{}/{}", text(service, &["namespace"]), text(service, &["name"])));
    let condition = object::condition(object, "Available");
    let part = |field| condition.map_or("", |condition| text(condition, &[field]));
    let available = match (part("status"), part("reason")) {
        ("", _) => "Unknown".to_owned(),
        ("True", _) | (_, "") => part("status").to_owned(),
        (status, reason) => format!("{status} ({reason})"),
    };
    vec![
        name(object),
        service.unwrap_or_else(|| "Local".to_owned()).into(),
        available.into(),
        age(object, now),
    ]
}
