//! `/openapi/v2` and `/openapi/v3`: what every kind looks like. A document is built when it is first asked for, and kept until
//! a definition that it has changes. Source of the headers: kube-openapi `pkg/handler`, `pkg/handler3`, and the aggregator.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, Method, Request, Response, header};
use parking_lot::Mutex;
use pilothouse_schema::openapi::{self, CustomResource, Document};
use pilothouse_value::Value;
use sha2::{Digest as _, Sha512};

use crate::aggregation::Aggregator;
use crate::answer::negotiate::{self, Clause};
use crate::answer::ranges::{self, Asked};
use crate::answer::{compress, render};
use crate::doors::body::Body;
use crate::registry::Table;
use crate::request::{self, Query};
use crate::state::State;

const JSON: &str = "application/json";
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The two versions of OpenAPI, as their media types spell them.
#[derive(Clone, Copy)]
struct Version {
    /// The media type of the protobuf form.
    protobuf: &'static str,
    /// Its subtype, and the older spelling that is still accepted.
    subtypes: [&'static str; 2],
}

const V2: Version = Version {
    protobuf: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    subtypes: [
        "com.github.proto-openapi.spec.v2.v1.0+protobuf",
        "com.github.proto-openapi.spec.v2@v1.0+protobuf",
    ],
};
const V3: Version = Version {
    protobuf: "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
    subtypes: [
        "com.github.proto-openapi.spec.v3.v1.0+protobuf",
        "com.github.proto-openapi.spec.v3@v1.0+protobuf",
    ],
};

/// A form of a document.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Json,
    Protobuf,
}

/// What a state of the registry is told as, as far as it was asked for.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// The documents of group versions with custom resources, by their paths.
    custom: Mutex<BTreeMap<String, Arc<Kept>>>,
    swagger: OnceLock<Arc<Kept>>,
}

impl Clone for Cache {
    /// The Swagger document is about everything, so the next state starts without.
    fn clone(&self) -> Self {
        Self { custom: Mutex::new(self.custom.lock().clone()), swagger: OnceLock::new() }
    }
}

impl Cache {
    /// Forgets the documents of the group versions of these resources, which are told as `GROUP/VERSION/PLURAL`.
    pub(crate) fn forget<'p>(&self, resources: impl IntoIterator<Item = &'p String>) {
        let mut custom = self.custom.lock();
        for resource in resources {
            if let Some((group_version, _)) = resource.rsplit_once('/') {
                custom.remove(&format!("apis/{group_version}"));
            }
        }
    }
}

/// A document with its hash, and what was made of it.
#[derive(Debug)]
pub(crate) struct Kept {
    hash: String,
    since: SystemTime,
    document: OnceLock<Document>,
    /// The compressed forms, JSON first.
    small: [OnceLock<Bytes>; 2],
}

impl Kept {
    /// A document by its hash, which may be made later.
    pub(crate) fn new(hash: String, document: OnceLock<Document>) -> Arc<Kept> {
        Arc::new(Kept { hash, since: SystemTime::now(), document, small: Default::default() })
    }
}

/// The bytes of a document that is kept.
struct Held(Arc<Kept>, Form);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.0.document.get().map_or(&[], |document| bytes_of(document, self.1))
    }
}

fn bytes_of(document: &Document, form: Form) -> &[u8] {
    match form {
        Form::Json => document.json().as_bytes(),
        Form::Protobuf => document.protobuf(),
    }
}

/// Whether a path is served here, by every method.
pub(crate) fn is_openapi(path: &str) -> bool {
    path == "/openapi/v2" || path == "/openapi/v3" || path.starts_with("/openapi/v3/")
}

/// Serves such a path.
pub(crate) fn serve<B>(state: &State, request: &Request<B>, query: &Query) -> Response<Body> {
    let table = &*state.registry.table();
    let others = &state.aggregator;
    let path = request.uri().path();
    let asked = Asked { method: request.method(), headers: request.headers() };
    match path.strip_prefix("/openapi/v3") {
        None => serve_v2(table, others, asked),
        Some("") => index(table, others, asked),
        Some(rest) => {
            serve_v3((table, others), rest.trim_start_matches('/'), asked, query, rest.ends_with('/'))
        }
    }
}

fn serve_v2(table: &Table, others: &Aggregator, asked: Asked<'_>) -> Response<Body> {
    let mut response = match negotiated(&clauses(asked.headers), V2) {
        None => render::bare(406),
        Some(form) => {
            let kept = swagger(table, others);
            let mut response = render::bare(200);
            describe(&mut response, &kept.hash, form, V2);
            let large = || Bytes::from_owner(Held(kept.clone(), form));
            let mut response = ranges::serve(response, asked, kept.since, large);
            let is_whole = response.status() == http::StatusCode::OK;
            if is_whole && compress::wanted(asked.headers) && *asked.method != Method::HEAD {
                let gzip = HeaderValue::from_static("gzip");
                response.headers_mut().insert(header::CONTENT_ENCODING, gzip);
                *response.body_mut() = Body::full(compressed(&kept, form));
            }
            response
        }
    };
    for vary in ["Accept-Encoding", "Accept"] {
        response.headers_mut().append(header::VARY, HeaderValue::from_static(vary));
    }
    response
}

fn compressed(kept: &Arc<Kept>, form: Form) -> Bytes {
    let [json, protobuf] = &kept.small;
    let small = if form == Form::Json { json } else { protobuf };
    let make = || {
        let large = Held(kept.clone(), form);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        // Writing to a vector cannot fail.
        let _infallible = encoder.write_all(large.as_ref());
        encoder.finish().unwrap_or_default().into()
    };
    small.get_or_init(make).clone()
}

/// Where each document is.
fn index(table: &Table, others: &Aggregator, asked: Asked<'_>) -> Response<Body> {
    let mut response = render::bare(200);
    // The aggregator names no type, and Go finds that it is text.
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    let changed = table.changed.max(others.published());
    let tells_nothing = changed.is_some_and(|changed| may_be_from_before(changed, asked.headers));
    let without_date = tells_nothing.then(|| {
        let mut headers = asked.headers.clone();
        headers.remove(header::IF_MODIFIED_SINCE);
        headers
    });
    let asked = Asked { headers: without_date.as_ref().unwrap_or(asked.headers), ..asked };
    ranges::serve(response, asked, SystemTime::now(), || {
        let mut custom = custom(table);
        custom.extend(others.upgraded());
        let mut entries: Vec<(&str, &str)> = openapi::builtin_hashes().collect();
        entries.extend(custom.iter().map(|(path, kept)| (path.as_str(), kept.hash.as_str())));
        openapi::index(entries, others.index()).into()
    })
}

/// Whether what the client has can be older than a change. Dates tell whole seconds, so the date of the second of the change, or
/// of the next (while the change was on its way), tells nothing. Upstream has no such care, and shows definitions so late that
/// clients do not notice; here they would take an index without a new definition for the newest.
fn may_be_from_before(changed: SystemTime, headers: &HeaderMap) -> bool {
    let date = headers.get(header::IF_MODIFIED_SINCE).and_then(request::header_text);
    let date = date.and_then(|text| httpdate::parse_http_date(text).ok());
    date.is_some_and(|date| date <= changed + Duration::from_secs(1))
}

fn serve_v3(
    (table, others): (&Table, &Aggregator),
    path: &str,
    asked: Asked<'_>,
    query: &Query,
    is_folder: bool,
) -> Response<Body> {
    let built_in = openapi::builtin_hashes().find(|(own, _)| *own == path);
    let of_others = || others.upgraded().into_iter().find(|(own, _)| own == path).map(|(_, kept)| kept);
    let wanted = built_in.is_none() && !is_folder;
    let kept = if wanted { custom(table).remove(path).or_else(of_others) } else { None };
    let hash = match (built_in, &kept) {
        (Some((_, hash)), _) if !is_folder => hash,
        (_, Some(kept)) => kept.hash.as_str(),
        _ => return render::bare(404),
    };
    let clauses = clauses(asked.headers);
    let form = negotiated(&clauses, V3);
    if clauses.is_empty() {
        // Upstream answers a header that it cannot read with nothing at all.
        return render::bare(200);
    }
    let mut response = render::bare(if form.is_some() { 200 } else { 406 });
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
    let Some(form) = form else { return response };
    describe(&mut response, hash, form, V3);
    let pinned = query.filled("hash");
    if pinned.is_some_and(|pinned| pinned != hash) {
        *response.status_mut() = http::StatusCode::MOVED_PERMANENTLY;
        if let Ok(location) = HeaderValue::from_str(&format!("/openapi/v3/{path}?hash={hash}")) {
            response.headers_mut().insert(header::LOCATION, location);
        }
        return response;
    }
    let since = kept.as_ref().map_or_else(started, |kept| kept.since);
    if pinned.is_some() {
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
        let expires = httpdate::fmt_http_date(SystemTime::now() + YEAR).replace("GMT", "UTC");
        if let Ok(expires) = HeaderValue::from_str(&expires) {
            headers.insert(header::EXPIRES, expires);
        }
    }
    ranges::serve(response, asked, since, || match kept {
        Some(kept) => {
            kept.document.get_or_init(|| custom_document(table, path));
            Bytes::from_owner(Held(kept, form))
        }
        None => {
            let document = openapi::builtin_document(path).map(|(document, _)| document);
            Bytes::from_static(document.map_or(&[], |document| bytes_of(document, form)))
        }
    })
}

/// When the built-in documents came to be: when one of them was first asked for.
fn started() -> SystemTime {
    static STARTED: OnceLock<SystemTime> = OnceLock::new();
    *STARTED.get_or_init(SystemTime::now)
}

/// Writes the type of a document, and by which hash it is known.
fn describe(response: &mut Response<Body>, hash: &str, form: Form, version: Version) {
    let kind = if form == Form::Json { JSON } else { version.protobuf };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{hash}\"")) {
        headers.insert(header::ETAG, tag);
    }
}

fn clauses(headers: &HeaderMap) -> Vec<Clause<'_>> {
    let accept = headers.get(header::ACCEPT).and_then(request::header_text).unwrap_or_default();
    negotiate::clauses(if accept.is_empty() { "*/*" } else { accept })
}

/// The form that the first of the clauses asks for that can be served.
fn negotiated(clauses: &[Clause<'_>], version: Version) -> Option<Form> {
    clauses.iter().filter(|clause| matches!(clause.main, "application" | "*")).find_map(|clause| match clause
        .sub
    {
        "json" | "*" => Some(Form::Json),
        sub => version.subtypes.contains(&sub).then_some(Form::Protobuf),
    })
}

/// The Swagger document of all, with what others serve.
fn swagger(table: &Table, others: &Aggregator) -> Arc<Kept> {
    let (own, added) = (own_swagger(table), others.swagger());
    if added.is_empty() {
        return own;
    }
    let made_of = format!("{} {}", own.hash, added.tag());
    let mut kept = others.swagger.lock();
    match &*kept {
        Some((of, document)) if *of == made_of => document.clone(),
        _ => {
            let definitions = definitions(table, None);
            let document = openapi::swagger_with(&resources(&definitions), added.iter());
            let made = Kept::new(hash(document.json().as_bytes()), document.into());
            *kept = Some((made_of, made.clone()));
            made
        }
    }
}

/// The Swagger document of what this server serves; that of a server without custom resources is the same for all.
fn own_swagger(table: &Table) -> Arc<Kept> {
    static BUILT_IN: OnceLock<Arc<Kept>> = OnceLock::new();
    let make = || {
        let definitions = definitions(table, None);
        let document = openapi::swagger(&resources(&definitions));
        Kept::new(hash(document.json().as_bytes()), OnceLock::from(document))
    };
    let has_custom = table.iter().any(|resource| !resource.is_built_in());
    let place = if has_custom { &table.openapi().swagger } else { &BUILT_IN };
    place.get_or_init(make).clone()
}

/// The documents of group versions with custom resources, by their paths; they are built later.
fn custom(table: &Table) -> BTreeMap<String, Arc<Kept>> {
    let mut paths: Vec<String> =
        table.iter().filter(|resource| !resource.is_built_in()).map(|resource| path(resource)).collect();
    paths.dedup();
    paths.retain(|path| openapi::builtin_hashes().all(|(own, _)| own != path));
    let mut kept = table.openapi().custom.lock();
    let one = |path: String| {
        let make = || {
            let definitions = definitions(table, Some(&path));
            Kept::new(hash(&openapi::custom_identity(&resources(&definitions))), OnceLock::new())
        };
        let document = kept.entry(path.clone()).or_insert_with(make).clone();
        (path, document)
    };
    paths.into_iter().map(one).collect()
}

fn custom_document(table: &Table, path: &str) -> Document {
    let definitions = definitions(table, Some(path));
    openapi::custom_document(&resources(&definitions))
}

fn path(resource: &crate::registry::resource::Resource) -> String {
    format!("apis/{}/{}", resource.group, resource.version)
}

/// The definitions of all custom resources, or of one path, each with the name of a version.
fn definitions(table: &Table, of: Option<&str>) -> Vec<(Arc<Value>, String)> {
    table
        .iter()
        .filter(|resource| of.is_none_or(|of| path(resource) == of))
        .filter_map(|resource| Some((resource.custom.as_ref()?.definition(), resource.version.to_string())))
        .collect()
}

fn resources(definitions: &[(Arc<Value>, String)]) -> Vec<CustomResource<'_>> {
    definitions
        .iter()
        .filter_map(|(definition, name)| {
            let is_this = |version: &&Value| version.str_at(&["name"]) == Some(name);
            let version = definition.items_at(&["spec", "versions"]).iter().find(is_this)?;
            Some(CustomResource { definition, version })
        })
        .collect()
}

/// SHA-512 in upper case, as upstream names documents.
pub(crate) fn hash(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(128);
    for byte in Sha512::digest(bytes) {
        // Writing to a string cannot fail.
        let _infallible = write!(text, "{byte:02X}");
    }
    text
}
