//! Which form the caller wants an answer in, and which form its body has.
//!
//! This stage changes nothing: it reads the `Accept` and `Content-Type` headers as upstream's goautoneg and
//! `endpoints/handlers/negotiation` do.

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
    /// Protobuf, which built-in kinds and the metadata of all kinds have a form in.
    Protobuf,
}

impl Format {
    /// The `Content-Type` of an answer in this format.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Format::Json | Format::PrettyJson => "application/json",
            Format::Yaml => "application/yaml",
            Format::Protobuf => "application/vnd.kubernetes.protobuf",
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
    fn named(version: &str) -> Option<MetaVersion> {
        match version {
            "v1" => Some(MetaVersion::V1),
            "v1beta1" => Some(MetaVersion::V1Beta1),
            _ => None,
        }
    }

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

/// What a clause asks an object to be made into: kind, group and version.
type Target<'a> = Option<(&'a str, &'a str, &'a str)>;

/// What an endpoint can answer with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoint {
    /// Whether its objects can be shown as a table.
    pub(crate) tables: bool,
    /// Whether it could be answered by a stream, which is a form of its own in what is said of the others.
    pub(crate) streams: bool,
    /// Whether its objects are of a defined kind, which has no protobuf form.
    pub(crate) custom: bool,
}

/// One clause of an `Accept` header.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Clause<'a> {
    pub(crate) main: &'a str,
    pub(crate) sub: &'a str,
    quality: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Option<Clause<'a>> {
        let mut parts = text.split(';');
        let name = parts.next().unwrap_or_default();
        let (main, sub) = match name.split_once('/') {
            Some((main, sub)) if !sub.is_empty() => (trim(main), trim(sub)),
            _ if trim(name.trim_end_matches('/')) == "*" => ("*", "*"),
            _ => return None,
        };
        if sub.contains('/') {
            return None;
        }
        let mut clause = Clause { main, sub, quality: 1.0, parameters: Vec::new() };
        // A parameter without a value, or with an equals sign in it, counts for nothing.
        for (key, value) in parts.filter_map(|part| part.split_once('=')) {
            match trim(key) {
                _ if value.is_empty() || value.contains('=') => {}
                "q" => clause.quality = value.parse().unwrap_or_default(),
                key => clause.parameters.push((key, trim(value))),
            }
        }
        Some(clause)
    }

    /// A parameter's value.
    pub(crate) fn parameter(&self, key: &str) -> Option<&'a str> {
        self.parameters.iter().rev().find(|(own, _)| *own == key).map(|(_, value)| *value)
    }

    /// Whether a media type is one that the clause names.
    pub(crate) fn matches(&self, main: &str, sub: &str) -> bool {
        (self.main == "*" && self.sub == "*") || (self.main == main && (self.sub == sub || self.sub == "*"))
    }

    /// Whether this one comes before another, which is no order of the mathematicians: it is upstream's.
    fn is_before(&self, other: &Clause<'_>) -> bool {
        self.quality > other.quality
            || (self.main != "*" && other.main == "*")
            || (self.sub != "*" && other.sub == "*")
    }

    /// What the parameters ask for, if an endpoint with this door for transforms can do it in a format.
    fn accepted(
        &self,
        format: Format,
        allows: impl FnOnce(Format, Target<'_>) -> Option<Transform>,
        own_version: Option<&str>,
    ) -> Option<Accepted> {
        let filled = |key| self.parameter(key).filter(|value| !value.is_empty());
        if filled("stream").is_some_and(|schema| schema != "watch" || format == Format::Yaml)
            || filled("sv").is_some_and(|version| Some(version) != own_version)
        {
            return None;
        }
        let part = |key| self.parameter(key);
        let target = (part("as").is_some() || part("g").is_some() || part("v").is_some()).then(|| {
            (part("as").unwrap_or_default(), part("g").unwrap_or_default(), part("v").unwrap_or_default())
        });
        let transform = allows(format, target)?;
        let format = match format {
            Format::Json if part("pretty") == Some("1") => Format::PrettyJson,
            format => format,
        };
        Some(Accepted { format, transform })
    }
}

fn trim(text: &str) -> &str {
    text.trim_matches(' ')
}

/// The clauses of an `Accept` header, the most wanted first.
pub(crate) fn clauses(accept: &str) -> Vec<Clause<'_>> {
    let mut sorted: Vec<Clause<'_>> = Vec::new();
    for clause in accept.split(',').filter_map(|part| Clause::parse(trim(part))) {
        let mut at = sorted.len();
        while at > 0 && sorted.get(at - 1).is_some_and(|before| clause.is_before(before)) {
            at -= 1;
        }
        sorted.insert(at, clause);
    }
    sorted
}

/// The formats of answers, by their media types, the default first.
const FORMATS: [(&str, &str, Format); 3] = [
    ("application", "json", Format::Json),
    ("application", "yaml", Format::Yaml),
    ("application", "vnd.kubernetes.protobuf", Format::Protobuf),
];
/// The media types of answers.
pub(crate) const MEDIA_TYPES: [&str; 3] =
    ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/// The most wanted format that an endpoint with this door for transforms serves.
fn choose(
    header: &str,
    allows: impl Fn(Format, Target<'_>) -> Option<Transform>,
    own_version: Option<&str>,
) -> Option<Accepted> {
    if header.is_empty() {
        return Some(Accepted::default());
    }
    clauses(header).iter().find_map(|clause| {
        let matching = FORMATS.iter().filter(|(main, sub, _)| clause.matches(main, sub));
        matching.into_iter().find_map(|(_, _, format)| clause.accepted(*format, &allows, own_version))
    })
}

/// 406 of the router, which looks at nothing but the names of media types, if a header names none that is produced.
///
/// # Errors
/// 406 that names what is.
pub(crate) fn route(header: &str, produced: &[&str], more: &[&str]) -> Result<(), Status> {
    let name = |clause: &str| trim(clause.split(';').next().unwrap_or_default()).to_owned();
    let known = |name: String| name == "*/*" || produced.contains(&name.as_str());
    if header.is_empty() || header.split(',').map(name).any(known) {
        return Ok(());
    }
    let all = [produced, more].concat().join(", ");
    let message = format!("406: Not Acceptable\n\nAvailable representations: {all}");
    Err(Status::new(406, "NotAcceptable", message).with_details(Details::default()))
}

/// Chooses the form of an answer of a resource.
///
/// # Errors
/// 406 if the header names only what is not served.
pub(crate) fn accept(header: Option<&str>, endpoint: Endpoint) -> Result<Accepted, Status> {
    let header = header.unwrap_or_default();
    if header.is_empty() || header == "*/*" || header == "application/json" {
        return Ok(Accepted::default());
    }
    // Paths of defined kinds have no router before them.
    if !endpoint.custom {
        let streams = STREAMS.get(..if endpoint.streams { 2 } else { 0 }).unwrap_or_default();
        route(header, &MEDIA_TYPES, streams)?;
    }
    let allows = |format: Format, target: Target<'_>| match target {
        None => (!endpoint.custom || format != Format::Protobuf).then_some(Transform::None),
        Some((kind, "meta.k8s.io", version)) => {
            let version = MetaVersion::named(version)?;
            match kind {
                // A table has no protobuf form.
                "Table" => {
                    (endpoint.tables && format != Format::Protobuf).then_some(Transform::Table(version))
                }
                "PartialObjectMetadata" => Some(Transform::Metadata(version)),
                "PartialObjectMetadataList" => Some(Transform::MetadataList(version)),
                _ => None,
            }
        }
        Some(_) => None,
    };
    choose(header, allows, Some("v1")).ok_or_else(not_acceptable)
}

/// Looks whether the caller takes a log, which is text, or would be told in a known form why there is none.
///
/// # Errors
/// 406 if not. Text alone is not enough: there may be no log.
pub(crate) fn accept_log(header: Option<&str>) -> Result<(), Status> {
    let header = header.unwrap_or_default();
    let [json, yaml, protobuf] = MEDIA_TYPES;
    route(header, &["text/plain", json, yaml, protobuf], &[])?;
    let allows = |_: Format, target: Target<'_>| target.is_none().then_some(Transform::None);
    match header.is_empty() || choose(header, allows, Some("v1")).is_some() {
        true => Ok(()),
        false => Err(not_acceptable()),
    }
}

/// Chooses the format of an answer that is never shown as anything else: of discovery, and of failures.
pub(crate) fn plain(header: &str) -> Option<Format> {
    let allows = |_: Format, target: Target<'_>| target.is_none().then_some(Transform::None);
    choose(header, allows, None).map(|accepted| accepted.format)
}

/// The format of a failure. Who accepts nothing that it could be told in gets JSON to read.
pub(crate) fn of_failure(header: Option<&str>, pretty: bool) -> Format {
    match plain(header.unwrap_or_default()) {
        Some(Format::Json) if pretty => Format::PrettyJson,
        Some(format) => format,
        None => Format::PrettyJson,
    }
}

const STREAMS: [&str; 2] =
    ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];

/// 406 for what is served in no form that is accepted.
pub(crate) fn not_acceptable() -> Status {
    Status::not_acceptable(&MEDIA_TYPES)
}

/// The format in which the discovery document that has everything is asked for, if it is.
pub(crate) fn aggregated(header: &str) -> Option<Format> {
    let allows = |_: Format, target: Target<'_>| {
        (target == Some(("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2"))).then_some(Transform::None)
    };
    if header.is_empty() { None } else { choose(header, allows, None).map(|accepted| accepted.format) }
}

/// 406 for a watch in a form that cannot be a stream.
pub(crate) fn no_stream() -> Status {
    Status::not_acceptable(&STREAMS)
}

/// Whether a caller wants indented JSON: it says so, or it is a program that people read.
pub(crate) fn wants_pretty(query: Option<&str>, user_agent: Option<&str>) -> bool {
    if let Some(pretty) = query.filter(|pretty| !pretty.is_empty()) {
        return matches!(pretty, "1" | "t" | "T" | "TRUE" | "true" | "True");
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
    let Some(header) = header.filter(|header| !header.is_empty()) else { return Ok(Encoding::Json) };
    match media_type(header).as_deref() {
        Some("application/json") => Ok(Encoding::Json),
        Some("application/yaml") => Ok(Encoding::Yaml),
        Some("application/vnd.kubernetes.protobuf") => Ok(Encoding::Protobuf),
        _ => Err(Status::unsupported_media_type(&MEDIA_TYPES)),
    }
}

/// The name of a `Content-Type`, in lower case and without its parameters; `None` if the header cannot be read, as by
/// Go's `mime.ParseMediaType`.
fn media_type(header: &str) -> Option<String> {
    let mut parts = header.split(';');
    let name = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    // Whether parameters can be read matters more than what they say.
    let mut rest = header.split_once(';').map_or("", |(_, rest)| rest);
    let mut seen: Vec<String> = Vec::new();
    loop {
        rest = rest.trim_start();
        let Some(after) = rest.strip_prefix(';').map(str::trim_start).or((seen.is_empty()).then_some(rest))
        else {
            return rest.is_empty().then_some(name);
        };
        if after.is_empty() {
            return Some(name);
        }
        let (key, value) = after.split_once('=')?;
        let key = key.trim_end().to_ascii_lowercase();
        if key.is_empty() || !key.bytes().all(is_token) || seen.contains(&key) {
            return None;
        }
        seen.push(key);
        let value = value.trim_start();
        rest = match value.strip_prefix('"') {
            Some(quoted) => quoted_end(quoted)?,
            None => {
                let end = value.find(|c: char| !c.is_ascii() || !is_token(c as u8)).unwrap_or(value.len());
                if end == 0 {
                    return None;
                }
                value.get(end..)?
            }
        };
    }
}

/// What follows a quoted text.
fn quoted_end(text: &str) -> Option<&str> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return text.get(at + 1..),
            _ => {}
        }
    }
    None
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILT_IN: Endpoint = Endpoint { tables: true, streams: false, custom: false };
    const CUSTOM: Endpoint = Endpoint { custom: true, ..BUILT_IN };

    fn formats(header: &str) -> [Option<Format>; 2] {
        [BUILT_IN, CUSTOM].map(|endpoint| accept(Some(header), endpoint).ok().map(|accepted| accepted.format))
    }

    #[test]
    fn the_first_clause_that_is_served_wins() {
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(accept(Some(kubectl), BUILT_IN).unwrap().transform, Transform::Table(MetaVersion::V1));
        let no_tables = Endpoint { tables: false, ..BUILT_IN };
        assert_eq!(accept(Some(kubectl), no_tables).unwrap().transform, Transform::None);
        let (json, yaml, protobuf) = (Some(Format::Json), Some(Format::Yaml), Some(Format::Protobuf));
        assert_eq!(formats("application/vnd.kubernetes.protobuf,application/json"), [protobuf, json]);
        assert_eq!(formats("application/vnd.kubernetes.protobuf;q=0.5,application/json"), [json, json]);
        assert_eq!(formats("application/vnd.kubernetes.protobuf"), [protobuf, None]);
        assert_eq!(formats("application/yaml"), [yaml, yaml]);
        assert_eq!(formats("application/yaml;q=0.5, application/json;q=0.9"), [json, json]);
        // The router before built-in kinds knows no half of a media type.
        assert_eq!(formats("application/*"), [None, json]);
        assert_eq!(formats("*/*;q=0.1,application/yaml"), [yaml, yaml]);
        assert_eq!(formats("application/json;stream=nothing"), [None, None]);
        assert_eq!(formats("application/json;pretty=1"), [Some(Format::PrettyJson); 2]);
    }

    #[test]
    fn metadata_of_every_kind_has_a_protobuf_form_and_tables_have_none() {
        let of = |kind| format!("application/vnd.kubernetes.protobuf;as={kind};g=meta.k8s.io;v=v1");
        let metadata = Accepted { format: Format::Protobuf, transform: Transform::Metadata(MetaVersion::V1) };
        assert_eq!(accept(Some(&of("PartialObjectMetadata")), CUSTOM), Ok(metadata));
        assert_eq!(accept(Some(&of("Table")), BUILT_IN).unwrap_err().code, 406);
    }

    #[test]
    fn a_failure_is_told_in_what_is_accepted_or_in_json_to_read() {
        assert_eq!(of_failure(None, false), Format::Json);
        assert_eq!(of_failure(Some("application/vnd.kubernetes.protobuf"), false), Format::Protobuf);
        assert_eq!(of_failure(Some("text/plain"), false), Format::PrettyJson);
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        assert_eq!(of_failure(Some(table), false), Format::PrettyJson);
        assert_eq!(of_failure(Some(&format!("{table},application/json")), false), Format::Json);
    }

    #[test]
    fn unknown_content_types_are_refused() {
        assert_eq!(content_type(Some("application/json; charset=utf-8")).unwrap(), Encoding::Json);
        assert_eq!(content_type(None).unwrap(), Encoding::Json);
        assert_eq!(content_type(Some("Application/JSON; x=\"a;b\";")).unwrap(), Encoding::Json);
        for unreadable in
            ["text/plain", "application/json;charset", "application/json;x=1;x=2", "application/json;x=\"a"]
        {
            assert_eq!(content_type(Some(unreadable)).unwrap_err().code, 415, "{unreadable}");
        }
    }
}
