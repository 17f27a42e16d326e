//! Paths that name no resource: discovery, version, health, OpenAPI.

use std::sync::Arc;

use http::{Method, Request, Response, header};
use pilothouse_value::status::Details;
use pilothouse_value::{Status, Value, json};

use crate::body::Body;
use crate::discovery;
use crate::health;
use crate::metrics;
use crate::negotiate::{self, Format};
use crate::openapi;
use crate::render;
use crate::request::Query;
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
        return Ok(openapi::serve(&state.registry.table(), request, query));
    }
    let health_page = ["/healthz", "/livez", "/readyz"].iter().any(|page| path.starts_with(page));
    if !matches!(*request.method(), Method::GET | Method::HEAD) && !health_page {
        let message = "the server does not allow this method on the requested resource";
        return Err(Status::new(405, "MethodNotAllowed", message).with_details(Details::default()));
    }
    let header = |name| request.headers().get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
    let pretty = negotiate::wants_pretty(query.get("pretty"), header(header::USER_AGENT));
    let format = if pretty { Format::PrettyJson } else { Format::Json };
    let accept = header(header::ACCEPT);
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        [] => Ok(render::value(200, &root(state), Format::PrettyJson)),
        [page @ ("healthz" | "livez" | "readyz"), ..] => {
            let check = path.strip_prefix('/').and_then(|path| path.strip_prefix(page)?.strip_prefix('/'));
            Ok(health::serve(page, check, query))
        }
        ["metrics"] => Ok(metrics::serve(state)),
        ["version"] => {
            negotiate::route(accept.unwrap_or_default(), &["application/json"], &[])?;
            Ok(render::value(200, &version(), Format::PrettyJson))
        }
        ["api"] | ["apis"] | ["api", _] | ["apis", _] | ["apis", _, _] => {
            discovery::serve(state, &parts, accept, header(header::IF_NONE_MATCH), format)
        }
        ["openid", "v1", "jwks"] => Ok(render::value(200, &state.identity.signer.key_set(), format)),
        [".well-known", "openid-configuration"] => {
            let host = request.uri().authority().map(|authority| authority.to_string());
            let host = state.address.get().map(ToString::to_string).or(host);
            let host = host.or_else(|| header(header::HOST).map(str::to_owned)).unwrap_or_default();
            let server = format!("https://{host}");
            Ok(render::value(200, &state.identity.signer.openid_configuration(&server), format))
        }
        _ => Ok(render::no_such_page()),
    }
}

/// What is served, for people who look at `/`.
fn root(state: &State) -> Value {
    let mut paths: Vec<String> = [
        "/.well-known/openid-configuration",
        "/api",
        "/api/v1",
        "/apis",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/openid/v1/jwks",
        "/readyz",
        "/version",
    ]
    .map(str::to_owned)
    .to_vec();
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

/// What `/version` says.
pub(crate) fn version() -> Value {
    json!({
        "major": "1",
        "minor": "37",
        "emulationMajor": "1",
        "emulationMinor": "37",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "36",
        "gitVersion": "v1.37.2",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": concat_platform(),
    })
}

fn concat_platform() -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}/{architecture}", std::env::consts::OS)
}
