//! Paths that name no resource: discovery, version, health, OpenAPI.

pub(crate) mod discovery;
pub(crate) mod health;
pub(crate) mod metrics;
pub(crate) mod openapi;
pub(crate) mod process;

use std::sync::Arc;

use http::{HeaderValue, Method, Request, Response, header};
use pilothouse_value::status::Details;
use pilothouse_value::{Status, Value};

use crate::answer::negotiate::{self, Format};
use crate::answer::render;
use crate::doors::body::Body;
use crate::request::{self, Query};
use crate::state::State;

/// Serves such a path.
///
/// # Errors
/// 404 for a path that is not served, 405 for another method than GET.
pub(crate) fn serve<B>(
    state: &Arc<State>,
    request: &Request<B>,
    query: &Query,
) -> Result<Response<Body>, Status> {
    let path = request.uri().path();
    if openapi::is_openapi(path) {
        return Ok(openapi::serve(state, request, query));
    }
    let header = |name| request.headers().get(name).and_then(request::header_text);
    let pretty = negotiate::wants_pretty(query.get("pretty"), header(header::USER_AGENT));
    let format = if pretty { Format::PrettyJson } else { Format::Json };
    let accept = header(header::ACCEPT);
    let path = &*request::decode(path);
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if *request.method() != Method::GET && takes_get_alone(state, &parts) {
        let message = "the server does not allow this method on the requested resource";
        return Err(Status::new(405, "MethodNotAllowed", message).with_details(Details::default()));
    }
    match parts.as_slice() {
        [] | ["index.html"] => Ok(render::value(200, &root(state), Format::PrettyJson)),
        [page @ ("healthz" | "livez" | "readyz"), ..] => {
            let check = path.strip_prefix('/').and_then(|path| path.strip_prefix(page)?.strip_prefix('/'));
            Ok(health::serve(page, check, query))
        }
        ["metrics"] if path.ends_with('/') => Ok(render::no_such_page()),
        ["metrics"] if *request.method() == Method::DELETE => Ok(metrics::reset()),
        ["metrics"] => Ok(metrics::serve(state)),
        ["version", _, ..] => Err(Status::no_such_path()),
        ["version"] => {
            negotiate::route(accept.unwrap_or_default(), &["application/json"], &[])?;
            Ok(render::response(200, "application/json", Body::full(version())))
        }
        ["api"] | ["apis"] | ["api", _] | ["apis", _] | ["apis", _, _] => {
            discovery::serve(state, &parts, accept, header(header::IF_NONE_MATCH), format)
        }
        ["openid", "v1", "jwks"] => {
            negotiate::route(accept.unwrap_or_default(), &["application/jwk-set+json"], &[])?;
            let mut response = render::value(200, &state.identity.signer.key_set(), format);
            let kind = HeaderValue::from_static("application/jwk-set+json");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            Ok(for_an_hour(response))
        }
        [".well-known", "openid-configuration"] => {
            negotiate::route(accept.unwrap_or_default(), &["application/json"], &[])?;
            let host = request.uri().authority().map(|authority| authority.to_string());
            let host = state.address.get().map(ToString::to_string).or(host);
            let host = host.or_else(|| header(header::HOST).map(str::to_owned)).unwrap_or_default();
            let server = format!("https://{host}");
            Ok(for_an_hour(render::value(200, &state.identity.signer.openid_configuration(&server), format)))
        }
        _ => Ok(render::no_such_page()),
    }
}

/// Whether a path answers to GET and no other method. The others do not look at the method, nor does the page that says that
/// there is none.
fn takes_get_alone(state: &State, parts: &[&str]) -> bool {
    match parts {
        ["api"] | ["api", _] | ["version"] => true,
        ["openid", "v1", "jwks"] | [".well-known", "openid-configuration"] => true,
        ["apis", group, version] => {
            let table = state.registry.table();
            table.iter().any(|own| own.is_built_in() && own.group == *group && own.version == *version)
        }
        _ => false,
    }
}

/// An answer that may be kept for an hour by whoever wants.
fn for_an_hour(mut response: Response<Body>) -> Response<Body> {
    let value = HeaderValue::from_static("public, max-age=3600");
    response.headers_mut().insert(header::CACHE_CONTROL, value);
    response
}

/// What is served, for people who look at `/`.
fn root(state: &State) -> Value {
    let mut paths: Vec<String> = [
        "/.well-known/openid-configuration",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/",
        "/flagz",
        "/metrics",
        "/metrics/slis",
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/",
        "/openid/v1/jwks",
        "/statusz",
        "/version",
    ]
    .map(str::to_owned)
    .to_vec();
    for page in ["healthz", "livez", "readyz"] {
        paths.push(format!("/{page}"));
        paths.extend(health::checks(page).map(|check| format!("/{page}/{check}")));
    }
    for resource in state.registry.table().iter() {
        if !resource.group.is_empty() {
            paths.push(format!("/apis/{}", resource.group));
            paths.push(format!("/apis/{}/{}", resource.group, resource.version));
        }
    }
    paths.sort();
    paths.dedup();
    let mut root = Value::object();
    root.set(&["paths"], paths);
    root
}

/// What `/version` says, in upstream's order.
fn version() -> String {
    let platform = concat_platform();
    let members = [
        ("major", "1"),
        ("minor", "37"),
        ("emulationMajor", "1"),
        ("emulationMinor", "37"),
        ("minCompatibilityMajor", "1"),
        ("minCompatibilityMinor", "36"),
        ("gitVersion", "v1.37.2"),
        ("gitCommit", ""),
        ("gitTreeState", "clean"),
        ("buildDate", "1970-01-01T00:00:00Z"),
        ("goVersion", ""),
        ("compiler", "rustc"),
        ("platform", platform.as_str()),
    ];
    let lines = members.map(|(name, value)| format!("  \"{name}\": \"{value}\""));
    format!("{{\n{}\n}}", lines.join(",\n"))
}

fn concat_platform() -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}/{architecture}", std::env::consts::OS)
}
