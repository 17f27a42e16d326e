//! Where a `clientConfig` points: a URL, or a port and a path of a Service.

use pilothouse_value::Value;

use super::CallError;

/// The port of HTTPS.
const HTTPS: u16 = 443;

/// Where webhooks are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// Host and port as they stand in the URL, for the `Host` header and for messages.
    pub(super) host: String,
    /// The name that the server's certificate must be for.
    pub(super) server_name: String,
    /// The name to connect to, if it is another one.
    pub(super) dialled: Option<String>,
    /// The port to connect to.
    pub(super) port: u16,
    /// The path, beginning with `/` and without a `/` at its end.
    pub(super) path: String,
    /// The namespace and name of the Service, if it is one.
    pub(super) service: Option<(String, String)>,
}

impl Address {
    /// Reads a `clientConfig`.
    ///
    /// # Errors
    /// If it has neither a Service nor a URL that can be read.
    pub(super) fn of(client_config: &Value) -> Result<Address, CallError> {
        if let Some(service) = client_config.get("service") {
            let text = |key: &str| service.str_at(&[key]).unwrap_or_default().to_owned();
            let port = service.i64_at(&["port"]).and_then(|port| u16::try_from(port).ok()).unwrap_or(HTTPS);
            let (namespace, name) = (text("namespace"), text("name"));
            let server_name = format!("{name}.{namespace}.svc");
            return Ok(Address {
                host: format!("{server_name}:{port}"),
                server_name,
                dialled: None,
                port,
                path: escaped(&clean(&text("path"))),
                service: Some((namespace, name)),
            });
        }
        match client_config.str_at(&["url"]).filter(|url| !url.is_empty()) {
            Some(url) => Address::of_url(url),
            None => Err(CallError("webhook configuration must have either service or URL".into())),
        }
    }

    /// Whether it is on this machine. Only there upstream speaks HTTP/2, which would keep all calls on one connection and
    /// so with one of several servers.
    pub(super) fn is_local(&self) -> bool {
        let name = self.server_name.as_str();
        let is_loopback = || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        self.service.is_none() && (name.eq_ignore_ascii_case("localhost") || is_loopback())
    }

    fn of_url(url: &str) -> Result<Address, CallError> {
        let unreadable = |why: &str| CallError(format!("Unparsable URL: parse {url:?}: {why}"));
        let Some(rest) = url.strip_prefix("https://") else {
            return Err(unreadable("first path segment in URL cannot contain colon"));
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (host, path) = (rest.get(..end).unwrap_or_default(), rest.get(end..).unwrap_or_default());
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let (name, port) = split_port(host, HTTPS).ok_or_else(|| unreadable("invalid port after host"))?;
        Ok(Address {
            host: host.to_owned(),
            server_name: name.to_owned(),
            dialled: None,
            port,
            path: escaped(&clean(&unescaped(path).ok_or_else(|| unreadable("invalid URL escape"))?)),
            service: None,
        })
    }
}

/// Splits `host:port`, where the host may be an IPv6 address in brackets, and the port may not be said.
pub(super) fn split_port(host: &str, default: u16) -> Option<(&str, u16)> {
    if let Some(rest) = host.strip_prefix('[') {
        let (address, after) = rest.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(port) => Some((address, port.parse().ok()?)),
            None => after.is_empty().then_some((address, default)),
        };
    }
    match host.rsplit_once(':') {
        Some((name, port)) => Some((name, port.parse().ok()?)),
        None => Some((host, default)),
    }
}

/// A path whose escapes are resolved; `None` if one of them cannot be.
fn unescaped(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = rest.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

/// A path as Go writes it into a URL.
pub(crate) fn escaped(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// A path without its steps `.` and `..`; a `/` at its end stays.
pub(super) fn without_dots(path: &str) -> String {
    let ends_in_folder = ["/", "/.", "/.."].iter().any(|end| path.ends_with(end));
    let clean = clean(path);
    if ends_in_folder && clean.len() > 1 { format!("{clean}/") } else { clean }
}

/// A path as Go's `path.Join("/", path)` leaves it.
fn clean(path: &str) -> String {
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    format!("/{}", steps.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    #[test]
    fn urls_have_hosts_ports_and_clean_paths() {
        let of = |url: &str| Address::of(&json!({"url": url})).unwrap_or_else(|error| panic!("{error}"));
        let address = of("https://[::1]:8443/a//b/");
        assert_eq!((address.host.as_str(), address.server_name.as_str()), ("[::1]:8443", "::1"));
        assert_eq!((address.port, address.path.as_str()), (8443, "/a/b"));
        assert_eq!(of("https://a/b%20c/%2e%2e/%64").path, "/d");
        assert_eq!(of("https://a/b%20c").path, "/b%20c");
        let address = of("https://hooks.example.com");
        assert_eq!((address.port, address.path.as_str()), (443, "/"));
        assert!(Address::of(&json!({"url": "https://a:b"})).is_err());
        assert!(Address::of(&json!({})).is_err());
    }

    #[test]
    fn a_service_is_named_by_its_dns_name() {
        let config = json!({"service": {"namespace": "n", "name": "s", "path": "/p"}});
        let address = Address::of(&config).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(address.host, "s.n.svc:443");
        assert_eq!(address.service, Some(("n".to_owned(), "s".to_owned())));
    }
}
