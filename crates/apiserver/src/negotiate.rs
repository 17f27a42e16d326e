//! Which form the caller wants an answer in, and which form its body has.
//!
//! This stage changes nothing: it reads the `Accept` and `Content-Type` headers. Bodies may be protobuf, answers never are:
//! every client that sends protobuf also accepts JSON.

use pilothouse_value::Status;
use pilothouse_value::status::Details;

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Format {
    /// Compact JSON.
    #[default]
    Json,
    /// Indented JSON, for people.
    PrettyJson,
    /// YAML.
    Yaml,
}

impl Format {
    /// The `Content-Type` of an answer in this format.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Format::Json | Format::PrettyJson => "application/json",
            Format::Yaml => "application/yaml",
        }
    }
}

/// Into what an object is made before it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Transform {
    /// As it is.
    #[default]
    None,
    /// `meta.k8s.io` `Table` of this version: columns and cells for people.
    Table(MetaVersion),
    /// `meta.k8s.io` `PartialObjectMetadata` of this version: only the metadata.
    Metadata(MetaVersion),
    /// `meta.k8s.io` `PartialObjectMetadataList` of this version.
    MetadataList(MetaVersion),
}

/// A version of the group `meta.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetaVersion {
    V1,
    V1Beta1,
}

impl MetaVersion {
    /// The `apiVersion` of a document of this version.
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            MetaVersion::V1 => "meta.k8s.io/v1",
            MetaVersion::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// What the caller accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) format: Format,
    pub(crate) transform: Transform,
}

/// One clause of an `Accept` header, or a `Content-Type`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MediaType {
    /// `type/subtype`, in lower case.
    pub(crate) name: String,
    parameters: Vec<(String, String)>,
}

impl MediaType {
    /// Reads one media type with its parameters.
    pub(crate) fn parse(text: &str) -> MediaType {
        let mut parts = text.split(';');
        let name = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let parameters = parts
            .filter_map(|part| {
                let (key, value) = part.split_once('=')?;
                Some((key.trim().to_ascii_lowercase(), value.trim().trim_matches('"').to_owned()))
            })
            .collect();
        MediaType { name, parameters }
    }

    /// A parameter's value.
    pub(crate) fn parameter(&self, key: &str) -> Option<&str> {
        self.parameters.iter().find(|(own, _)| own == key).map(|(_, value)| value.as_str())
    }

    fn quality(&self) -> f32 {
        self.parameter("q").and_then(|q| q.parse().ok()).unwrap_or(1.0)
    }
}

/// The clauses of an `Accept` header, the most wanted first.
pub(crate) fn clauses(accept: &str) -> Vec<MediaType> {
    let mut clauses: Vec<MediaType> =
        accept.split(',').map(MediaType::parse).filter(|clause| !clause.name.is_empty()).collect();
    clauses.sort_by(|a, b| b.quality().total_cmp(&a.quality()));
    clauses
}

/// Chooses the form of the answer. `tables` says whether the resource can be shown as a table, `streams` whether the request
/// could be answered by a stream, which is a form of its own in what is said of the others.
///
/// # Errors
/// 406 if the header names only what is not served.
pub(crate) fn accept(header: Option<&str>, tables: bool, streams: bool) -> Result<Accepted, Status> {
    let header = header.unwrap_or_default();
    if header.trim().is_empty() || header == "*/*" || header == "application/json" {
        return Ok(Accepted::default());
    }
    let mut known = false;
    for clause in clauses(header) {
        let format = match clause.name.as_str() {
            "application/json" | "*/*" => Format::Json,
            "application/yaml" => Format::Yaml,
            _ => continue,
        };
        known = true;
        let Some(transform) = transform(&clause, tables) else { continue };
        return Ok(Accepted { format, transform });
    }
    // Upstream also writes protobuf and says so; those who ask for nothing else are told the same.
    if known {
        let accepted = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
        return Err(Status::not_acceptable(&accepted));
    }
    let more = if streams {
        ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
    } else {
        ""
    };
    let message = format!(
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
         application/vnd.kubernetes.protobuf{more}"
    );
    Err(Status::new(406, "NotAcceptable", message).with_details(Details::default()))
}

/// 406 for a watch in a form that cannot be a stream.
pub(crate) fn no_stream() -> Status {
    Status::not_acceptable(&[
        "application/json;stream=watch",
        "application/vnd.kubernetes.protobuf;stream=watch",
    ])
}

/// The transform that a clause asks for; `None` if it is one that is not served.
fn transform(clause: &MediaType, tables: bool) -> Option<Transform> {
    let Some(target) = clause.parameter("as") else { return Some(Transform::None) };
    if clause.parameter("g") != Some("meta.k8s.io") {
        return None;
    }
    let version = match clause.parameter("v") {
        Some("v1") => MetaVersion::V1,
        Some("v1beta1") => MetaVersion::V1Beta1,
        _ => return None,
    };
    match target {
        "Table" if tables => Some(Transform::Table(version)),
        "PartialObjectMetadata" => Some(Transform::Metadata(version)),
        "PartialObjectMetadataList" => Some(Transform::MetadataList(version)),
        _ => None,
    }
}

/// Whether a caller wants indented JSON: it says so, or it is a program that people read.
pub(crate) fn wants_pretty(query: Option<&str>, user_agent: Option<&str>) -> bool {
    if let Some(pretty) = query {
        return !matches!(pretty, "false" | "0");
    }
    user_agent.is_some_and(|agent| ["curl", "Wget", "Mozilla/5.0"].iter().any(|name| agent.starts_with(name)))
}

/// How a request body is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Yaml,
    Protobuf,
}

/// Reads the `Content-Type` of a body that is an object.
///
/// # Errors
/// 415 for what is not read.
pub(crate) fn content_type(header: Option<&str>) -> Result<Encoding, Status> {
    let Some(header) = header.filter(|header| !header.trim().is_empty()) else { return Ok(Encoding::Json) };
    match MediaType::parse(header).name.as_str() {
        "application/json" => Ok(Encoding::Json),
        "application/yaml" => Ok(Encoding::Yaml),
        "application/vnd.kubernetes.protobuf" => Ok(Encoding::Protobuf),
        _ => Err(Status::unsupported_media_type(&[
            "application/json",
            "application/yaml",
            "application/vnd.kubernetes.protobuf",
        ])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_clause_that_is_served_wins() {
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(accept(Some(kubectl), true, false).unwrap().transform, Transform::Table(MetaVersion::V1));
        assert_eq!(accept(Some(kubectl), false, false).unwrap().transform, Transform::None);
        let client_go = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(accept(Some(client_go), true, false).unwrap(), Accepted::default());
        assert_eq!(accept(Some("application/yaml"), true, false).unwrap().format, Format::Yaml);
        let quality = "application/yaml;q=0.5, application/json;q=0.9";
        assert_eq!(accept(Some(quality), true, false).unwrap().format, Format::Json);
    }

    #[test]
    fn what_cannot_be_written_is_not_acceptable() {
        let status = accept(Some("application/vnd.kubernetes.protobuf"), true, false).unwrap_err();
        assert_eq!(status.code, 406);
    }

    #[test]
    fn unknown_content_types_are_refused() {
        assert_eq!(content_type(Some("application/json; charset=utf-8")).unwrap(), Encoding::Json);
        assert_eq!(content_type(None).unwrap(), Encoding::Json);
        assert_eq!(content_type(Some("text/plain")).unwrap_err().code, 415);
    }
}
