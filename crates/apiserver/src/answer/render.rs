//! From an answer to bytes: JSON, YAML or protobuf, the object itself, its metadata, or a table.
//!
//! This stage changes only the form.

use std::task::Poll;

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use http::{HeaderValue, Response, StatusCode, header};
use pilothouse_schema::table::{self, Include, Printer};
use pilothouse_schema::{builtin, proto};
use pilothouse_value::{Gvk, Status, Timestamp, Value, go_json, object};

use crate::answer::document::Document;
use crate::answer::negotiate::{self, Accepted, Format, MetaVersion, Transform};
use crate::answer::yaml;
use crate::doors::body::Body;
use crate::registry::resource::Resource;
use crate::verbs::list::Page;
use crate::verbs::watch::{INITIAL_EVENTS_END, Seen, Watch, WatchEventKind};

/// How many bytes of events go out in one piece, unless one event alone has more. Who does not read keeps one piece.
const PIECE: usize = 32 * 1024;

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
        None if style.accepted.format == Format::Protobuf => {
            protobuf(code, proto::encode(&document.binary()))
        }
        None => self::value(code, &document.value(), style.accepted.format),
    }
}

/// A document that is no stored object.
pub(crate) fn value(code: u16, value: &Value, format: Format) -> Response<Body> {
    if format == Format::Protobuf {
        return protobuf(code, proto::encode(value));
    }
    let mut text = Vec::with_capacity(1024);
    match format {
        Format::Yaml => yaml::write(value, &mut text),
        Format::Json | Format::PrettyJson | Format::Protobuf => builtin::write_json(value, &mut text),
    }
    match format {
        Format::PrettyJson => text = go_json::indent(&text),
        Format::Json => text.push(b'\n'),
        Format::Yaml | Format::Protobuf => {}
    }
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
                table::build_list(resource.printer(), objects, metadata, style.now, style.include);
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
            let items = if items.is_empty() { Value::Null } else { Value::Array(items.into()) };
            list.set(&["items"], items);
            return value(200, &list, style.accepted.format);
        }
        Transform::None => {}
    }
    if style.accepted.format == Format::Protobuf {
        let values: Vec<_> = page.items.iter().map(Document::binary).collect();
        let items = values.iter().map(|value| &**value);
        let (api_version, kind) = (resource.api_version(), &resource.list_kind);
        return protobuf(200, proto::encode_list(&api_version, kind, &metadata, items));
    }
    let out = list_json(resource, page, &metadata);
    match style.accepted.format {
        Format::PrettyJson => response(200, "application/json", Body::full(go_json::indent(&out))),
        Format::Yaml => {
            let parsed = pilothouse_value::parse::json(&out).map(|parsed| parsed.value).unwrap_or_default();
            value(200, &parsed, Format::Yaml)
        }
        Format::Json | Format::Protobuf => {
            let mut out = out;
            out.push(b'\n');
            response(200, "application/json", Body::full(out))
        }
    }
}

/// A list as compact JSON: of a built-in kind in the order of Go's structs, of a defined one in that of the names.
fn list_json(resource: &Resource, page: &Page, metadata: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(256 + page.items.len() * 1024);
    let member = |name: &str, out: &mut Vec<u8>| {
        out.push(if out.is_empty() { b'{' } else { b',' });
        go_json::string(name, out);
        out.push(b':');
    };
    let items = |out: &mut Vec<u8>| {
        member("items", out);
        out.push(b'[');
        for (index, item) in page.items.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            if resource.is_built_in() {
                item.write_item(out);
            } else {
                item.write(out);
            }
        }
        out.push(b']');
    };
    let kind = |out: &mut Vec<u8>| {
        member("kind", out);
        go_json::string(&resource.list_kind, out);
    };
    let api_version = |out: &mut Vec<u8>| {
        member("apiVersion", out);
        go_json::string(&resource.api_version(), out);
    };
    if resource.is_built_in() {
        kind(&mut out);
        api_version(&mut out);
        member("metadata", &mut out);
        let names = ["resourceVersion", "continue", "remainingItemCount"];
        for (index, (name, value)) in
            names.iter().filter_map(|name| Some((name, metadata.get(name)?))).enumerate()
        {
            out.push(if index == 0 { b'{' } else { b',' });
            go_json::string(name, &mut out);
            out.push(b':');
            go_json::write(value, &mut out);
        }
        out.push(b'}');
        items(&mut out);
    } else {
        api_version(&mut out);
        items(&mut out);
        kind(&mut out);
        member("metadata", &mut out);
        go_json::write(metadata, &mut out);
    }
    out.push(b'}');
    out
}

/// A watch: one line of JSON for each event, or one frame of protobuf.
pub(crate) fn watch(watch: Watch, resource: std::sync::Arc<Resource>, style: Style) -> Response<Body> {
    let mut frames = Frames { resource, style, first: true };
    let mut events = Some(Box::pin(watch.stream()));
    let stream = futures::stream::poll_fn(move |context| {
        let mut out = Vec::new();
        while let Some(stream) = &mut events {
            match stream.as_mut().poll_next(context) {
                Poll::Ready(Some(event)) => frames.write(&event, &mut out),
                Poll::Ready(None) => events = None,
                Poll::Pending if out.is_empty() => return Poll::Pending,
                Poll::Pending => break,
            }
            if out.len() >= PIECE {
                break;
            }
        }
        Poll::Ready((!out.is_empty()).then(|| Bytes::from(out)))
    });
    let content_type = match style.accepted.format {
        Format::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        _ => "application/json",
    };
    response(200, content_type, Body::stream(stream))
}

/// A watch as messages, one for each event: a line of JSON, or protobuf without the length that a frame begins with.
pub(crate) fn messages(
    watch: Watch,
    resource: std::sync::Arc<Resource>,
    style: Style,
) -> impl Stream<Item = Bytes> + Send {
    let mut frames = Frames { resource, style, first: true };
    watch.stream().map(move |event| {
        let mut out = Vec::with_capacity(1024);
        frames.write(&event, &mut out);
        let start = if style.accepted.format == Format::Protobuf { 4.min(out.len()) } else { 0 };
        Bytes::from(out).slice(start..)
    })
}

/// Writes the events of one watch.
struct Frames {
    resource: std::sync::Arc<Resource>,
    style: Style,
    /// Whether the next event is the first, which tells of the columns of a table.
    first: bool,
}

impl Frames {
    fn write(&mut self, event: &Seen, out: &mut Vec<u8>) {
        // An event is one object and no list: upstream cannot show it so, and shows nothing.
        if !matches!(self.style.accepted.transform, Transform::MetadataList(_)) {
            frame(&self.resource, event, self.style, std::mem::take(&mut self.first), out);
        }
    }
}

fn frame(resource: &Resource, event: &Seen, style: Style, first: bool, out: &mut Vec<u8>) {
    let transformed = match event.kind {
        WatchEventKind::Error => None,
        _ => transform(resource.printer(), &event.document, style, first),
    };
    if style.accepted.format == Format::Protobuf {
        let frame = match transformed {
            Some(value) => proto::encode_event(event.kind.as_str(), &value),
            None => proto::encode_event(event.kind.as_str(), &event.document.binary()),
        };
        out.extend(frame.unwrap_or_default());
        return;
    }
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(event.kind.as_str().as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    match transformed {
        Some(value) => builtin::write_json(&value, out),
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
            // What ends the first events of a watch can be told only by its annotations.
            let include = match style.include {
                Include::None if object::annotation(&value, INITIAL_EVENTS_END).is_some() => {
                    Include::Metadata
                }
                include => include,
            };
            let mut table = table::build(printer, objects, metadata, style.now, include, columns);
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
    if object::kind(value) == "DaemonSet" && object::api_version(value) == "apps/v1" {
        builtin::hide_template_generation(&Gvk::new("apps", "v1", "DaemonSet"), &mut partial);
    }
    partial
}

/// An answer of no form, whose body is yet to come if it has one.
pub(crate) fn bare(code: u16) -> Response<Body> {
    let mut response = response(code, "", Body::full(""));
    response.headers_mut().remove(header::CONTENT_TYPE);
    response
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
