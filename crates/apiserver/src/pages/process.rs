//! What the server says of its own process, beside the API: since when it runs (`/statusz`), with which flags (`/flagz`), and
//! how much it logs, which can be changed (`/debug/flags/v`). Upstream's are in `apiserver/pkg/server/{statusz,flagz,routes}`.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, WARNING};
use http::{HeaderValue, Method, Request, Response, header};
use pilothouse_value::field::quote;
use pilothouse_value::{Status, Timestamp, go_json};

use crate::answer::negotiate::{self, Format};
use crate::answer::{render, yaml};
use crate::doors::body::{self, Body};
use crate::request::Query;
use crate::state::State;

/// How upstream calls this server on its pages.
const COMPONENT: &str = "apiserver";
/// What the pages are made of that are for people.
const NOTE: &str = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and \
                    is for debugging purposes only.";
/// The first parts of the paths that are served beside the API.
const PAGES: [&str; 7] = ["/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version"];
/// The page that lists the flags which can be changed while the server runs.
const FLAGS: &str = "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\nflags:<br>\n<table>\n\
                     <tr>v<br>\n</table>\n<br>\nfull flags configurable<br>\n</body>\n</html>\n";

/// Does what a new level of logging says: 0 for warnings, more for more.
pub type SetVerbosity = Arc<dyn Fn(u32) + Send + Sync>;

/// What a server knows of its process.
#[derive(Clone, Default)]
pub(crate) struct Process {
    /// The flags that it was started with, and the values of those that were not given.
    pub(crate) flags: BTreeMap<String, String>,
    pub(crate) set_verbosity: Option<SetVerbosity>,
}

/// One of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    Statusz,
    Flagz,
    /// The list of flags that can be changed.
    DebugFlags,
    /// The level of logging.
    Verbosity,
}

impl Page {
    /// The page at a path that is decoded already.
    pub(crate) fn at(path: &str) -> Option<Page> {
        match path {
            "/statusz" => Some(Page::Statusz),
            "/flagz" => Some(Page::Flagz),
            "/debug/flags/v" => Some(Page::Verbosity),
            "/debug/flags" => Some(Page::DebugFlags),
            _ => path.starts_with("/debug/flags/").then_some(Page::DebugFlags),
        }
    }

    fn kind(self) -> &'static str {
        if self == Page::Statusz { "Statusz" } else { "Flagz" }
    }
}

/// In which form a page is asked for.
enum Form {
    Text,
    /// A document of this version of `config.k8s.io`.
    Document(Format, &'static str),
}

/// Serves a page.
///
/// # Errors
/// 406 for a form that the page does not have; what reading the body says.
pub(crate) async fn serve<B>(
    state: &State,
    page: Page,
    request: Request<B>,
    query: &Query,
) -> Result<Response<Body>, Status>
where
    B: http_body::Body + Send,
    B::Data: Into<Bytes> + Send,
    B::Error: std::fmt::Display,
{
    match page {
        Page::DebugFlags => {
            return Ok(render::response(200, "text/html; charset=utf-8", Body::full(FLAGS)));
        }
        Page::Verbosity if *request.method() == Method::PUT => {
            return Ok(set_verbosity(state, &body::read(request.into_body()).await?));
        }
        Page::Verbosity => return Ok(line(406, "unsupported http method")),
        Page::Statusz | Page::Flagz => {}
    }
    let header = |name| request.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let pretty = negotiate::wants_pretty(query.get("pretty"), header(header::USER_AGENT));
    let accept = header(header::ACCEPT).unwrap_or_default().trim();
    let form = match form(page, accept, pretty) {
        Ok(form) => form,
        Err(status) => {
            // These pages have no protobuf form, nor have their failures.
            let format = match negotiate::of_failure(Some(accept), pretty) {
                Format::Protobuf => Format::PrettyJson,
                format => format,
            };
            return Ok(render::failure(&status, format));
        }
    };
    let (format, version) = match form {
        Form::Text => {
            let text = if page == Page::Statusz { status_text(state) } else { flags_text(state) };
            return Ok(render::response(200, "text/plain; charset=utf-8", Body::full(text)));
        }
        Form::Document(format, version) => (format, version),
    };
    let head = format!(
        "{{\"kind\":{:?},\"apiVersion\":\"config.k8s.io/{version}\",\"metadata\":{{\"name\":{COMPONENT:?}}}",
        page.kind()
    );
    let json = head + &if page == Page::Statusz { status_members(state) } else { flags_members(state) };
    let mut response = render::response(200, format.content_type(), Body::full(write(json, format)?));
    let kind = format!("{};g=config.k8s.io;v={version};as={}", format.content_type(), page.kind());
    if let Ok(kind) = HeaderValue::from_str(&kind) {
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    if version == "v1alpha1" {
        let name = page.kind().to_lowercase();
        let told = format!(
            "299 - \"This version of the {name} endpoint is deprecated. Please use a newer version.\""
        );
        if let Ok(told) = HeaderValue::from_str(&told) {
            response.headers_mut().insert(WARNING, told);
        }
    }
    Ok(response)
}

/// Chooses the form. Who says nothing gets text; a document has to be asked for by its kind.
fn form(page: Page, accept: &str, pretty: bool) -> Result<Form, Status> {
    if accept.is_empty() {
        return Ok(Form::Text);
    }
    let formats = [
        ("application", "json", Some(Format::Json)),
        ("application", "yaml", Some(Format::Yaml)),
        ("text", "plain", None),
    ];
    for clause in negotiate::clauses(accept) {
        let filled = |key| clause.parameter(key).is_some_and(|value| !value.is_empty());
        if filled("stream") || filled("sv") {
            continue;
        }
        let part = |key| clause.parameter(key);
        let asks = ["as", "g", "v"].into_iter().any(|key| part(key).is_some());
        for (_, _, format) in formats.iter().filter(|(main, sub, _)| clause.matches(main, sub)) {
            let version = match part("v") {
                Some("v1alpha1") => "v1alpha1",
                Some("v1beta1") => "v1beta1",
                _ => "",
            };
            let known = part("as") == Some(page.kind()) && part("g") == Some("config.k8s.io");
            match format {
                None if !asks => return Ok(Form::Text),
                Some(Format::Json) if known && !version.is_empty() => {
                    let pretty = pretty || part("pretty") == Some("1");
                    return Ok(Form::Document(
                        if pretty { Format::PrettyJson } else { Format::Json },
                        version,
                    ));
                }
                Some(format) if known && !version.is_empty() => return Ok(Form::Document(*format, version)),
                _ => {}
            }
        }
    }
    Err(Status::not_acceptable(&["application/json", "application/yaml", "text/plain"]))
}

fn write(json: String, format: Format) -> Result<Vec<u8>, Status> {
    match format {
        Format::PrettyJson => Ok(go_json::indent(json.as_bytes())),
        Format::Yaml => {
            let read = pilothouse_value::parse::json(json.as_bytes());
            let value = read.map_err(|error| Status::internal(error.to_string()))?.value;
            let mut text = Vec::with_capacity(json.len());
            yaml::write(&value, &mut text);
            Ok(text)
        }
        Format::Json | Format::Protobuf => Ok((json + "\n").into_bytes()),
    }
}

fn status_members(state: &State) -> String {
    let up = state.clock.now().since(state.started).as_secs();
    let pages = PAGES.map(|page| format!("{page:?}")).join(",");
    format!(
        ",\"startTime\":\"{}\",\"uptimeSeconds\":{up},\"goVersion\":\"\",\"binaryVersion\":\"1.37.2\",\
         \"emulationVersion\":\"1.37\",\"paths\":[{pages}]}}",
        Timestamp::from_unix_seconds(state.started.unix_seconds())
    )
}

fn flags_members(state: &State) -> String {
    let text = |text: &str| pilothouse_value::Value::from(text).to_json();
    let flags = state.process.flags.iter().map(|(name, value)| format!("{}:{}", text(name), text(value)));
    match flags.collect::<Vec<_>>().join(",") {
        flags if flags.is_empty() => "}".to_owned(),
        flags => format!(",\"flags\":{{{flags}}}}}"),
    }
}

fn status_text(state: &State) -> String {
    let up = state.clock.now().since(state.started).as_secs();
    format!(
        "\n{COMPONENT} statusz\n{NOTE}\n\nStarted: {}\nUp: {} hr {:02} min {:02} sec\nGo version: \nBinary version: 1.37.2\n\
         Emulation version: 1.37\nPaths: {}\n",
        unix_date(state.started),
        up / 3600,
        up / 60 % 60,
        up % 60,
        PAGES.join(" ")
    )
}

/// A time as `date` prints it.
fn unix_date(time: Timestamp) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let seconds = time.unix_seconds();
    let weekday = usize::try_from(seconds.div_euclid(86_400).rem_euclid(7)).unwrap_or_default();
    let text = Timestamp::from_unix_seconds(seconds).to_string();
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
    let month = part(5..7).parse::<usize>().unwrap_or(1).saturating_sub(1);
    let (weekday, month) = (DAYS.get(weekday).unwrap_or(&""), MONTHS.get(month).unwrap_or(&""));
    let day = part(8..10).trim_start_matches('0');
    format!("{weekday} {month} {day:>2} {} UTC {}", part(11..19), part(0..4))
}

fn flags_text(state: &State) -> String {
    let mut text = format!("\n{COMPONENT} flagz\n{NOTE}\n");
    for (name, value) in &state.process.flags {
        text.push_str(&format!("{name}={value}\n"));
    }
    text
}

/// Changes how much is logged.
fn set_verbosity(state: &State, given: &[u8]) -> Response<Body> {
    let Some(set) = &state.process.set_verbosity else {
        return line(501, "the program that this server is part of says itself how much it logs");
    };
    let given = String::from_utf8_lossy(given);
    let digits = !given.is_empty() && given.bytes().all(|byte| byte.is_ascii_digit());
    match given.parse::<i32>().ok().and_then(|level| u32::try_from(level).ok()) {
        Some(level) if digits => {
            set(level);
            line(200, &format!("successfully set klog.logging.verbosity to {given}"))
        }
        _ => {
            let why = if digits { "value out of range" } else { "invalid syntax" };
            line(400, &format!("strconv.ParseUint: parsing {}: {why}", quote(&given)))
        }
    }
}

/// A line of text of which nobody shall guess the form.
fn line(code: u16, text: &str) -> Response<Body> {
    render::unsniffed(render::response(code, "text/plain", Body::full(format!("{text}\n"))))
}
