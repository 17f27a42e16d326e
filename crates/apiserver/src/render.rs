//! From an answer to bytes: JSON, YAML or protobuf, the object itself, its metadata, or a table.
//!
//! This stage changes only the form.

use bytes::Bytes;
use futures::StreamExt as _;
use http::{HeaderValue, Response, StatusCode, header};
use pilothouse_schema::proto;
use pilothouse_schema::table::{self, Include, Printer};
use pilothouse_value::{Status, Timestamp, Value};

use crate::body::Body;
use crate::document::Document;
use crate::negotiate::{self, Accepted, Format, MetaVersion, Transform};
use crate::resource::Resource;
use crate::verbs::list::Page;
use crate::verbs::watch::{Seen, Watch, WatchEventKind};

/// How many events go out in one piece.
const EVENTS_AT_ONCE: usize = 64;

/// What is needed to write an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) accepted: Accepted,
    pub(crate) include: Include,
    pub(crate) now: Timestamp,
}

/// An object; with a printer it can be shown as a row.
pub(crate) fn object(
    code: u16,
    printer: Option<&Printer>,
    document: &Document,
    style: Style,
) -> Response<Body> {
    let transformed = printer.and_then(|printer| transform(printer, document, style, true));
    match transformed {
        Some(value) => self::value(code, &value, style.accepted.format),
        None if style.accepted.format == Format::Json => {
            let mut out = Vec::with_capacity(1024);
            document.write(&mut out);
            out.push(b'\n');
            response(code, style.accepted.format.content_type(), Body::full(out))
        }
        None => self::value(code, &document.value(), style.accepted.format),
    }
}

/// A document that is no stored object.
pub(crate) fn value(code: u16, value: &Value, format: Format) -> Response<Body> {
    let text = match format {
        Format::Json => {
            let mut text = value.to_json();
            text.push('\n');
            text
        }
        Format::PrettyJson => value.to_json_pretty(),
        Format::Protobuf => return protobuf(code, proto::encode(value)),
        // A document has nothing that YAML could not say; the empty text stands for a serializer that disagrees.
        Format::Yaml => serde_saphyr::to_string(value).unwrap_or_default(),
    };
    response(code, format.content_type(), Body::full(text))
}

/// A document in protobuf. What has no such form is not negotiated for; that which is all the same is refused in JSON.
fn protobuf(code: u16, bytes: Option<Vec<u8>>) -> Response<Body> {
    match bytes {
        Some(bytes) => response(code, Format::Protobuf.content_type(), Body::full(bytes)),
        None => value(406, &negotiate::not_acceptable().to_value(), Format::PrettyJson),
    }
}

/// A failure.
pub(crate) fn failure(status: &Status, format: Format) -> Response<Body> {
    let mut response = value(status.code, &status.to_value(), format);
    let retry = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if retry > 0 {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry));
    }
    response
}

/// 504: the time of a request is over. As upstream's outermost filter writes it, which knows no media types: text that
/// happens to be a `Status` without a kind.
pub(crate) fn timed_out() -> Response<Body> {
    const TEXT: &str = concat!(
        r#"{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","#,
        r#""reason":"Timeout","details":{},"code":504}"#,
        "\n"
    );
    response(504, "text/plain; charset=utf-8", Body::full(TEXT))
}

/// A list.
pub(crate) fn list(resource: &Resource, page: &Page, style: Style) -> Response<Body> {
    let mut metadata = Value::object();
    metadata.set(&["resourceVersion"], page.version.to_string());
    match &page.next {
        Some(next) => metadata.set(&["continue"], next.as_str()),
        // Lists of defined kinds are written by another serializer upstream, which leaves nothing out.
        None if resource.custom.is_some() && style.accepted.transform == Transform::None => {
            metadata.set(&["continue"], "");
        }
        None => {}
    }
    if let Some(remaining) = page.remaining {
        metadata.set(&["remainingItemCount"], i64::try_from(remaining).unwrap_or(i64::MAX));
    }
    match style.accepted.transform {
        Transform::Table(version) => {
            let values: Vec<_> = page.items.iter().map(Document::value).collect();
            let objects = values.iter().map(|value| &**value);
            let mut table =
                table::build(resource.printer(), objects, metadata, style.now, style.include, true);
            of_version(&mut table, version);
            return value(200, &table, style.accepted.format);
        }
        Transform::Metadata(version) | Transform::MetadataList(version) => {
            let items: Vec<Value> =
                page.items.iter().map(|item| partial(&item.value(), version.api_version())).collect();
            let mut list = Value::object();
            list.set(&["kind"], "PartialObjectMetadataList");
            list.set(&["apiVersion"], version.api_version());
            list.set(&["metadata"], metadata);
            // Upstream never made an empty list of these.
            let items = if items.is_empty() { Value::Null } else { Value::Array(items) };
            list.set(&["items"], items);
            return value(200, &list, style.accepted.format);
        }
        Transform::None => {}
    }
    if style.accepted.format == Format::Protobuf {
        let values: Vec<_> = page.items.iter().map(Document::value).collect();
        let items = values.iter().map(|value| &**value);
        let (api_version, kind) = (resource.api_version(), &resource.list_kind);
        return protobuf(200, proto::encode_list(&api_version, kind, &metadata, items));
    }
    let mut out = Vec::with_capacity(256 + page.items.len() * 1024);
    out.extend_from_slice(b"{\"kind\":");
    Value::from(resource.list_kind.as_str()).write_json(&mut out);
    out.extend_from_slice(b",\"apiVersion\":");
    Value::from(resource.api_version()).write_json(&mut out);
    out.extend_from_slice(b",\"metadata\":");
    metadata.write_json(&mut out);
    out.extend_from_slice(b",\"items\":[");
    for (index, item) in page.items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        if resource.is_built_in() {
            item.write_item(&mut out);
        } else {
            item.write(&mut out);
        }
    }
    out.extend_from_slice(b"]}\n");
    match style.accepted.format {
        Format::Json => response(200, "application/json", Body::full(out)),
        format => {
            let parsed = pilothouse_value::parse::json(&out).map(|parsed| parsed.value).unwrap_or_default();
            value(200, &parsed, format)
        }
    }
}

/// A watch: one line of JSON for each event, or one frame of protobuf.
pub(crate) fn watch(watch: Watch, resource: std::sync::Arc<Resource>, style: Style) -> Response<Body> {
    let mut first = true;
    let stream = Box::pin(watch.stream()).ready_chunks(EVENTS_AT_ONCE).map(move |events| {
        let mut out = Vec::with_capacity(events.len() * 1024);
        // An event is one object and no list: upstream cannot show it so, and shows nothing.
        let events =
            if matches!(style.accepted.transform, Transform::MetadataList(_)) { Vec::new() } else { events };
        for event in events {
            frame(&resource, &event, style, first, &mut out);
            first = false;
        }
        Bytes::from(out)
    });
    let content_type = match style.accepted.format {
        Format::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        _ => "application/json",
    };
    response(200, content_type, Body::stream(stream))
}

fn frame(resource: &Resource, event: &Seen, style: Style, first: bool, out: &mut Vec<u8>) {
    let transformed = match event.kind {
        WatchEventKind::Error => None,
        _ => transform(resource.printer(), &event.document, style, first),
    };
    if style.accepted.format == Format::Protobuf {
        let frame = match transformed {
            Some(value) => proto::encode_event(event.kind.as_str(), &value),
            None => proto::encode_event(event.kind.as_str(), &event.document.value()),
        };
        out.extend(frame.unwrap_or_default());
        return;
    }
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(event.kind.as_str().as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    match transformed {
        Some(value) => value.write_json(out),
        None => event.document.write(out),
    }
    out.extend_from_slice(b"}\n");
}

fn transform(printer: &Printer, document: &Document, style: Style, columns: bool) -> Option<Value> {
    match style.accepted.transform {
        Transform::None => None,
        Transform::Metadata(version) | Transform::MetadataList(version) => {
            Some(partial(&document.value(), version.api_version()))
        }
        Transform::Table(version) => {
            let value = document.value();
            let mut metadata = Value::object();
            if let Some(own) = value.at(&["metadata", "resourceVersion"]) {
                metadata.set(&["resourceVersion"], own.clone());
            }
            let objects = std::iter::once(&*value);
            let mut table = table::build(printer, objects, metadata, style.now, style.include, columns);
            of_version(&mut table, version);
            Some(table)
        }
    }
}

/// Makes a table one of this version, and the metadata in its rows too.
fn of_version(table: &mut Value, version: MetaVersion) {
    table.set(&["apiVersion"], version.api_version());
    if version == MetaVersion::V1 {
        return;
    }
    for row in table.get_mut("rows").and_then(Value::as_array_mut).into_iter().flatten() {
        if row.str_at(&["object", "kind"]) == Some("PartialObjectMetadata") {
            row.set(&["object", "apiVersion"], version.api_version());
        }
    }
}

/// 404 for a path that nobody knows.
pub(crate) fn no_such_page() -> Response<Body> {
    plain(404, "404 page not found\n")
}

/// What is said of a path that is not served here: that nobody knows it, or that whoever serves it cannot be reached.
pub(crate) fn no_page(elsewhere: bool) -> Response<Body> {
    if elsewhere { plain(503, "service unavailable\n") } else { no_such_page() }
}

/// Plain text, which nobody shall take for something else.
pub(crate) fn plain(code: u16, text: impl Into<Bytes>) -> Response<Body> {
    unsniffed(response(code, "text/plain; charset=utf-8", Body::full(text.into())))
}

/// An answer of which nobody shall guess the form.
pub(crate) fn unsniffed(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// 500 for a path that stops after `watch` or `proxy`: upstream's filters give up on it before any handler sees it.
pub(crate) fn unreadable_path(path: &str) -> Response<Body> {
    let quoted = pilothouse_value::field::quote(path);
    let why =
        format!("failed to create RequestInfo: unable to determine kind and namespace from url, {path}");
    let mut response = plain(500, format!("Internal Server Error: {quoted}: {why}\n"));
    response.headers_mut().remove(header::CACHE_CONTROL);
    response
}

/// What is said of a request that nobody could decide on. Browsers may show the text.
pub(crate) fn failed_page(uri: &http::Uri, why: &str) -> Response<Body> {
    let text = format!("Internal Server Error: {:?}: {why}\n", uri.to_string());
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    response(500, "text/plain; charset=utf-8", Body::full(text))
}

/// An object's metadata alone.
fn partial(value: &Value, api_version: &str) -> Value {
    let mut partial = Value::object();
    partial.set(&["kind"], "PartialObjectMetadata");
    partial.set(&["apiVersion"], api_version);
    partial.set(&["metadata"], value.get("metadata").cloned().unwrap_or_else(Value::object));
    partial
}

/// A response with the headers that every answer has.
pub(crate) fn response(code: u16, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}
