//! What a request is about: the path and the query, read as Kubernetes reads them.
//!
//! This stage changes nothing; it only names things. The rules are those of `requestinfo.go` of k8s.io/apiserver.

pub(crate) mod duration;
pub(crate) mod intake;
pub(crate) mod options;
pub(crate) mod place;
pub(crate) mod select;

use std::borrow::Cow;

use http::{HeaderMap, HeaderValue};
use pilothouse_value::octets;

/// The parts of a path and of the method that say what is asked, of which resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestInfo {
    /// The path, decoded.
    pub(crate) path: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`; for a path that names no
    /// resource, the HTTP method in lower case.
    pub(crate) verb: String,
    /// What the path names, if it names a resource.
    pub(crate) resource: Option<ResourcePath>,
}

/// A path below `/api` or `/apis` that names a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    /// The API group; empty for the core group.
    pub(crate) group: String,
    /// The version in the group.
    pub(crate) version: String,
    /// The namespace that the path names. For a namespace itself, its own name.
    pub(crate) namespace: Option<String>,
    /// The plural name of the resource.
    pub(crate) resource: String,
    /// The name of the object.
    pub(crate) name: Option<String>,
    /// What of the object is meant, for instance `status`.
    pub(crate) subresource: Option<String>,
    /// What follows the subresource, for instance the path to proxy.
    pub(crate) rest: Vec<String>,
}

impl RequestInfo {
    /// Reads the method, path and query of a request.
    pub(crate) fn parse(method: &http::Method, path: &str, query: &Query) -> RequestInfo {
        // Escaped slashes separate too: upstream looks at the decoded path. Slashes in a row leave an empty part between them.
        let path = decode(path);
        let parts: Vec<String> = match path.trim_matches('/') {
            "" => Vec::new(),
            trimmed => trimmed.split('/').map(str::to_owned).collect(),
        };
        let mut info = RequestInfo {
            path: path.into_owned(),
            verb: method.as_str().to_ascii_lowercase(),
            resource: None,
        };
        let (group, version, mut parts) = match parts.first().map(String::as_str) {
            Some("api") if parts.len() >= 3 => (String::new(), parts[1].clone(), &parts[2..]),
            Some("apis") if parts.len() >= 4 && !parts[1].is_empty() => {
                (parts[1].clone(), parts[2].clone(), &parts[3..])
            }
            _ => return info,
        };

        let mut verb = match method.as_str() {
            "POST" => "create",
            "GET" | "HEAD" => "get",
            "PUT" => "update",
            "PATCH" => "patch",
            "DELETE" => "delete",
            _ => "",
        };
        // The old prefixes: /api/v1/watch/... and /api/v1/proxy/...
        if let Some(first @ ("watch" | "proxy")) = parts.first().map(String::as_str) {
            if parts.len() < 2 {
                return info;
            }
            verb = if first == "watch" { "watch" } else { "proxy" };
            parts = &parts[1..];
        }

        let mut resource = ResourcePath { group, version, ..ResourcePath::default() };
        if parts.first().is_some_and(|part| part == "namespaces")
            && let Some(namespace) = parts.get(1)
        {
            resource.namespace = Some(namespace.clone());
            // `status` and `finalize` belong to the namespace itself; anything else lives in it.
            if parts.len() > 2 && !matches!(parts[2].as_str(), "status" | "finalize") {
                parts = &parts[2..];
            }
        }
        let mut parts = parts.iter().cloned();
        resource.resource = parts.next().unwrap_or_default();
        resource.name = parts.next();
        resource.subresource = parts.next();
        resource.rest = parts.collect();

        if resource.name.is_none() && verb == "get" {
            verb = if query.flag("watch") { "watch" } else { "list" };
        }
        if resource.name.is_none() && verb == "delete" {
            verb = "deletecollection";
        }
        info.verb = verb.to_owned();
        info.resource = Some(resource);
        info
    }
}

impl RequestInfo {
    /// Whether the path ends with one of the old prefixes, so that it cannot be told what is meant.
    pub(crate) fn is_cut_short(&self) -> bool {
        let mut parts = self.path.split('/').filter(|part| !part.is_empty());
        let below = match parts.next() {
            Some("api") => 1,
            Some("apis") => 2,
            _ => return false,
        };
        self.resource.is_none() && matches!(parts.nth(below), Some("watch" | "proxy"))
    }
}

impl ResourcePath {
    /// The name that authorization looks at: also the one that a field selector pins.
    pub(crate) fn authorized_name(&self, verb: &str, query: &Query) -> Option<String> {
        if self.name.is_some() || !matches!(verb, "list" | "watch") {
            return self.name.clone();
        }
        let selector = query.get("fieldSelector")?;
        selector.split(',').find_map(|term| {
            let value = term.strip_prefix("metadata.name=")?;
            let value = value.strip_prefix('=').unwrap_or(value);
            (!value.is_empty()).then(|| value.to_owned())
        })
    }
}

/// The parameters behind the `?`, decoded, in the order they came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Splits a query string. As in Go, a pair is passed over that has a semicolon or an escape that is none.
    pub(crate) fn parse(query: Option<&str>) -> Query {
        let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        Query(
            pairs
                .filter(|pair| !pair.contains(';') && is_well_escaped(pair))
                .map(|pair| {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (form_decode(key), form_decode(value))
                })
                .collect(),
        )
    }

    /// The first value of a parameter; `None` if it is not there.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == key).map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter, if it is there and not empty.
    pub(crate) fn filled(&self, key: &str) -> Option<&str> {
        self.get(key).filter(|value| !value.is_empty())
    }

    /// Every value of a parameter, in order.
    pub(crate) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(own, _)| own == key).map(|(_, value)| value.as_str())
    }

    /// A boolean as Kubernetes converts it from a query: there, and neither `false` nor `0`.
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "false" | "0"))
    }
}

/// Makes text of all headers: bytes that are none are replaced by what stands for them.
pub(crate) fn make_text(headers: &mut HeaderMap) {
    for value in headers.values_mut().filter(|value| !value.as_bytes().is_ascii()) {
        if let Cow::Owned(text) = octets::text(value.as_bytes())
            && let Ok(text) = HeaderValue::from_bytes(text.as_bytes())
        {
            *value = text;
        }
    }
}

/// The text of a header, after [`make_text`].
pub(crate) fn header_text(value: &HeaderValue) -> Option<&str> {
    std::str::from_utf8(value.as_bytes()).ok()
}

/// The byte that two digits behind a percent sign stand for.
fn escaped(digits: Option<&[u8]>) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let &[high, low] = digits? else { return None };
    Some((digit(high)? << 4) | digit(low)?)
}

fn is_well_escaped(text: &str) -> bool {
    let signs = text.bytes().enumerate().filter(|(_, byte)| *byte == b'%');
    signs.into_iter().all(|(at, _)| escaped(text.as_bytes().get(at + 1..at + 3)).is_some())
}

fn form_decode(text: &str) -> String {
    if text.contains('+') { decode(&text.replace('+', " ")).into_owned() } else { decode(text).into_owned() }
}

/// Decodes `%41`; what is not a valid escape stays as it is.
pub(crate) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let meant = if byte == b'%' { escaped(bytes.get(at + 1..at + 3)) } else { None };
        match meant {
            Some(meant) => {
                out.push(meant);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    Cow::Owned(octets::text(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(method: &str, uri: &str) -> RequestInfo {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let method = http::Method::from_bytes(method.as_bytes()).unwrap();
        RequestInfo::parse(&method, path, &Query::parse(Some(query)))
    }

    #[test]
    fn names_verb_namespace_resource_and_subresource() {
        let table = [
            ("GET", "/api/v1/pods", "list", None, "pods", None, None),
            ("GET", "/api/v1/pods?watch=true", "watch", None, "pods", None, None),
            ("GET", "/api/v1/pods?watch=0", "list", None, "pods", None, None),
            ("GET", "/api/v1/watch/namespaces/a/pods", "watch", Some("a"), "pods", None, None),
            ("GET", "/api/v1/namespaces/a", "get", Some("a"), "namespaces", Some("a"), None),
            (
                "PUT",
                "/api/v1/namespaces/a/finalize",
                "update",
                Some("a"),
                "namespaces",
                Some("a"),
                Some("finalize"),
            ),
            ("POST", "/api/v1/namespaces/a/pods", "create", Some("a"), "pods", None, None),
            (
                "DELETE",
                "/apis/apps/v1/namespaces/a/deployments",
                "deletecollection",
                Some("a"),
                "deployments",
                None,
                None,
            ),
            (
                "PATCH",
                "/apis/apps/v1/namespaces/a/deployments/d/scale",
                "patch",
                Some("a"),
                "deployments",
                Some("d"),
                Some("scale"),
            ),
            (
                "GET",
                "/apis/demo.io/v1/namespaces/status/caches",
                "list",
                Some("status"),
                "caches",
                None,
                None,
            ),
        ];
        for (method, uri, verb, namespace, resource, name, subresource) in table {
            let info = info(method, uri);
            assert_eq!(info.verb, verb, "{uri}");
            let path = info.resource.unwrap();
            assert_eq!(path.namespace.as_deref(), namespace, "{uri}");
            assert_eq!(path.resource, resource, "{uri}");
            assert_eq!(path.name.as_deref(), name, "{uri}");
            assert_eq!(path.subresource.as_deref(), subresource, "{uri}");
        }
    }

    #[test]
    fn paths_without_a_resource_keep_their_method() {
        for uri in ["/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/healthz", "/"] {
            let info = info("GET", uri);
            assert_eq!((info.verb.as_str(), info.resource), ("get", None), "{uri}");
        }
    }

    #[test]
    fn query_values_are_decoded() {
        let query = Query::parse(Some("labelSelector=a%3Db%2Cc&x=1+2&x=&flag"));
        assert_eq!(query.get("labelSelector"), Some("a=b,c"));
        assert_eq!(query.all("x").collect::<Vec<_>>(), ["1 2", ""]);
        assert!(query.flag("flag") && !query.flag("other"));
    }

    #[test]
    fn a_field_selector_on_the_name_gives_the_authorized_name() {
        let query = Query::parse(Some("fieldSelector=metadata.name%3Da"));
        let path = ResourcePath::default();
        assert_eq!(path.authorized_name("list", &query).as_deref(), Some("a"));
        assert_eq!(path.authorized_name("create", &query), None);
    }
}
