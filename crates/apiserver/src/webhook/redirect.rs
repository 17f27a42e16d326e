//! One request of a call, and where the server sends it on to. The rules are those of Go's HTTP client, which upstream uses
//! as it is: ten requests at most, and a `GET` where the server does not ask for the same request again.

use bytes::Bytes;
use http::{Method, StatusCode, header};
use pilothouse_value::field;

use super::answer::Answer;
use super::connection::Trouble;
use super::url::{self, Address};

/// Most requests of one call.
const MOST: usize = 10;

/// A request as it is sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) method: Method,
    /// Whether it goes through TLS.
    pub(super) secure: bool,
    /// Host and port as they stand in the URL.
    pub(super) host: String,
    /// Path and query.
    pub(super) target: String,
    /// None: it has been left behind on the way.
    pub(super) body: Option<Bytes>,
    pub(super) referer: Option<String>,
    /// How many requests came before it.
    earlier: usize,
}

impl Sent {
    /// The first request of a call.
    pub(super) fn first(host: &str, target: String, body: Bytes) -> Sent {
        let host = host.to_owned();
        Sent { method: Method::POST, secure: true, host, target, body: Some(body), referer: None, earlier: 0 }
    }

    /// Its URL.
    pub(super) fn url(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{}{}", self.host, self.target)
    }

    /// The request that the server wants instead, if it wants another.
    ///
    /// # Errors
    /// If it names a place that cannot be read, or has sent the call on too often.
    pub(super) fn next(&self, answer: &Answer) -> Result<Option<Sent>, Trouble> {
        let same_again = match answer.status {
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => false,
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
            _ => return Ok(None),
        };
        let location = answer.headers.get(header::LOCATION).and_then(|location| location.to_str().ok());
        let Some(location) = location.filter(|location| !location.is_empty()) else { return Ok(None) };
        let mut next = self.towards(location).map_err(|why| {
            let (quoted, location) = (field::quote(location), field::quote(location));
            Trouble::Text(format!("failed to parse Location header {quoted}: parse {location}: {why}"))
        })?;
        if self.earlier + 1 >= MOST {
            // Go names the place as the server did.
            return Err(Trouble::At(location.to_owned(), format!("stopped after {MOST} redirects")));
        }
        if !same_again {
            if next.method != Method::HEAD {
                next.method = Method::GET;
            }
            next.body = None;
        }
        next.earlier = self.earlier + 1;
        // What was asked for in secret is told to nobody in the open.
        next.referer = (next.secure || !self.secure).then(|| self.url());
        Ok(Some(next))
    }

    /// This request at another place, which may be said relative to it.
    fn towards(&self, location: &str) -> Result<Sent, String> {
        if let Some(wrong) = wrong_escape(location) {
            return Err(format!("invalid URL escape {}", field::quote(wrong)));
        }
        let location = location.split('#').next().unwrap_or_default();
        let mut next = self.clone();
        let rest = if let Some(rest) = location.strip_prefix("https://") {
            next.secure = true;
            Some(rest)
        } else if let Some(rest) = location.strip_prefix("http://") {
            next.secure = false;
            Some(rest)
        } else {
            location.strip_prefix("//")
        };
        if let Some(rest) = rest {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let (host, target) = rest.split_at(end);
            next.host = host.to_owned();
            next.target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
            return Ok(next);
        }
        let (path, query) = match location.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (location, String::new()),
        };
        let own = self.target.split('?').next().unwrap_or_default();
        let path = match path {
            "" => own.to_owned(),
            path if path.starts_with('/') => url::without_dots(path),
            path => {
                let folder = own.rsplit_once('/').map_or("", |(folder, _)| folder);
                url::without_dots(&format!("{folder}/{path}"))
            }
        };
        next.target = format!("{path}{query}");
        Ok(next)
    }

    /// Where it goes, if that is not where the call went at first. The names of a configuration hold for all of the way.
    pub(super) fn elsewhere(&self, first: &Address) -> Result<Option<Address>, Trouble> {
        if self.secure && self.host == first.host {
            return Ok(None);
        }
        let default = if self.secure { 443 } else { 80 };
        let (name, port) = url::split_port(&self.host, default)
            .ok_or_else(|| Trouble::Text(format!("invalid host {}", field::quote(&self.host))))?;
        Ok(Some(Address {
            host: self.host.clone(),
            server_name: name.to_owned(),
            dialled: None,
            port,
            path: String::new(),
            service: None,
        }))
    }
}

/// The first `%` that is followed by something else than two hexadecimal digits, with what follows.
fn wrong_escape(text: &str) -> Option<&str> {
    text.match_indices('%').find_map(|(at, _)| {
        let escape = text.get(at..).unwrap_or_default();
        let digits = escape.as_bytes().get(1..3).unwrap_or_default();
        let is_right = digits.len() == 2 && digits.iter().all(u8::is_ascii_hexdigit);
        (!is_right).then(|| escape.get(..3).unwrap_or(escape))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderMap;

    fn sent(target: &str) -> Sent {
        Sent::first("a.example.com", target.to_owned(), Bytes::from_static(b"{}"))
    }

    fn answer(code: u16, location: &str) -> Answer {
        let mut headers = HeaderMap::new();
        headers.insert(header::LOCATION, location.parse().unwrap());
        Answer { status: StatusCode::from_u16(code).unwrap(), headers, body: Bytes::new() }
    }

    fn led(from: &str, code: u16, location: &str) -> (Method, String, bool) {
        let next = sent(from).next(&answer(code, location)).unwrap().unwrap();
        (next.method.clone(), next.url(), next.body.is_some())
    }

    #[test]
    fn places_are_read_relative_to_the_request() {
        let url = |from: &str, location: &str| led(from, 307, location).1;
        assert_eq!(url("/x/y?timeout=1s", "z?a=b"), "https://a.example.com/x/z?a=b");
        assert_eq!(url("/x/y", "/z/../w#f"), "https://a.example.com/w");
        assert_eq!(url("/x/y", "//b:8443?q"), "https://b:8443/?q");
        assert_eq!(url("/x/y", "http://b/c"), "http://b/c");
    }

    #[test]
    fn only_some_codes_ask_for_the_same_request_again() {
        assert_eq!(led("/x", 302, "/y"), (Method::GET, "https://a.example.com/y".to_owned(), false));
        assert_eq!(led("/x", 308, "/y"), (Method::POST, "https://a.example.com/y".to_owned(), true));
        assert!(sent("/x").next(&answer(304, "/y")).unwrap().is_none());
    }

    #[test]
    fn it_ends_after_ten_requests() {
        let mut request = sent("/x");
        for _ in 0..9 {
            request = request.next(&answer(307, "/x")).unwrap().unwrap();
        }
        assert!(
            matches!(request.next(&answer(307, "/x")), Err(Trouble::At(_, text)) if text == "stopped after 10 redirects")
        );
    }
}
