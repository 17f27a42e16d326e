//! Parts of a document: what the client has of it already, and which bytes it asks for. The conditions and their order are those
//! of `ServeContent` in Go's net/http (RFC 9110, sections 13 and 14), which serves the documents upstream.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};

use crate::answer::render;
use crate::doors::body::Body;
use crate::request;

/// The head of a request for a document.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a Method,
    pub(crate) headers: &'a HeaderMap,
}

impl<'a> Asked<'a> {
    /// The first value of a header; `None` also if it is empty.
    fn text(self, name: HeaderName) -> Option<&'a str> {
        self.headers.get(name).and_then(request::header_text).filter(|text| !text.is_empty())
    }

    fn reads(self) -> bool {
        matches!(*self.method, Method::GET | Method::HEAD)
    }
}

/// Makes a bare answer one with a document, or with what of it was asked for. The answer has its type already, and the tag of
/// the document if there is one; `whole` gives the bytes, which not every answer needs.
pub(crate) fn serve(
    mut response: Response<Body>,
    asked: Asked<'_>,
    since: SystemTime,
    whole: impl FnOnce() -> Bytes,
) -> Response<Body> {
    let tag = response.headers().get(header::ETAG).and_then(request::header_text).unwrap_or_default();
    let refused = refusal(asked, tag, since);
    let wanted = asked.text(header::RANGE).filter(|_| may_be_part(asked, tag, since));
    let has_tag = !tag.is_empty();
    if let Some(refused) = refused {
        *response.status_mut() = refused;
        if refused == StatusCode::NOT_MODIFIED {
            response.headers_mut().remove(header::CONTENT_TYPE);
        }
        if refused != StatusCode::NOT_MODIFIED || !has_tag {
            modified(&mut response, since);
        }
        return response;
    }
    modified(&mut response, since);
    let whole = whole();
    let ranges = match wanted.map_or(Ok(Vec::new()), |wanted| parse(wanted, whole.len())) {
        Ok(ranges) => ranges,
        Err(_) if whole.is_empty() => Vec::new(),
        Err(fault) => return unsatisfiable(response, fault, whole.len()),
    };
    response.headers_mut().insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    // Whoever asks for more than there is gets it once.
    let sum = ranges.iter().fold(0usize, |sum, range| sum.saturating_add(range.length));
    let ranges = if sum > whole.len() { Vec::new() } else { ranges };
    *response.body_mut() = match ranges.as_slice() {
        [] => Body::full(whole),
        [range] => {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            insert(&mut response, header::CONTENT_RANGE, &range.of(whole.len()));
            Body::full(range.cut(&whole))
        }
        many => {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            let kind = response.headers().get(header::CONTENT_TYPE).cloned();
            let kind = kind.as_ref().and_then(request::header_text).unwrap_or_default();
            let boundary = uuid::Uuid::new_v4().simple().to_string();
            insert(
                &mut response,
                header::CONTENT_TYPE,
                &format!("multipart/byteranges; boundary={boundary}"),
            );
            Body::full(parts(many, &whole, kind, &boundary))
        }
    };
    response
}

fn insert(response: &mut Response<Body>, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        response.headers_mut().insert(name, value);
    }
}

fn modified(response: &mut Response<Body>, since: SystemTime) {
    insert(response, header::LAST_MODIFIED, &httpdate::fmt_http_date(since));
}

/// The status for a document that the client has, or does not want as it is.
fn refusal(asked: Asked<'_>, tag: &str, since: SystemTime) -> Option<StatusCode> {
    let date = |name| asked.text(name).and_then(|text| httpdate::parse_http_date(text).ok());
    // Headers tell whole seconds.
    let is_older = |date: SystemTime| since < date + Duration::from_secs(1);
    let fits = match asked.text(header::IF_MATCH) {
        Some(list) => any_tag(list, |own| own == tag && !own.starts_with("W/")),
        None => date(header::IF_UNMODIFIED_SINCE).is_none_or(is_older),
    };
    if !fits {
        return Some(StatusCode::PRECONDITION_FAILED);
    }
    let known = match asked.text(header::IF_NONE_MATCH) {
        Some(list) => any_tag(list, |own| own.strip_prefix("W/").unwrap_or(own) == tag),
        None => asked.reads() && date(header::IF_MODIFIED_SINCE).is_some_and(is_older),
    };
    known.then_some(if asked.reads() { StatusCode::NOT_MODIFIED } else { StatusCode::PRECONDITION_FAILED })
}

/// Whether a client that asks for parts has other parts of this same document.
fn may_be_part(asked: Asked<'_>, tag: &str, since: SystemTime) -> bool {
    let Some(text) = asked.text(header::IF_RANGE).filter(|_| asked.reads()) else { return true };
    if let Some((own, _)) = scan_tag(text) {
        return own == tag && !own.starts_with("W/");
    }
    let seconds =
        |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).map(|age| age.as_secs()).ok();
    httpdate::parse_http_date(text).is_ok_and(|date| seconds(date) == seconds(since))
}

/// Whether one of the tags of a list is meant, which ends where it cannot be read; `*` means any.
fn any_tag(list: &str, is_meant: impl Fn(&str) -> bool) -> bool {
    let mut rest = list;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.starts_with('*') {
            return true;
        }
        let Some((tag, behind)) = scan_tag(rest) else { return false };
        if is_meant(tag) {
            return true;
        }
        rest = behind;
    }
}

/// The tag at the start of a text, with its quotes, and what stands behind it.
fn scan_tag(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches([' ', '\t']);
    let opened = text.strip_prefix("W/").unwrap_or(text).strip_prefix('"')?;
    let length = opened.find('"')?;
    let inner = opened.get(..length)?;
    if inner.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return None;
    }
    text.split_at_checked(text.len() - opened.len() + length + 1)
}

/// Bytes of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    start: usize,
    length: usize,
}

impl Range {
    fn cut(self, whole: &Bytes) -> Bytes {
        // What is parsed lies inside.
        whole.slice(self.start..self.start + self.length)
    }

    /// Where it lies in a document of this size, as `Content-Range` says it.
    fn of(self, size: usize) -> String {
        // The last byte of an empty suffix lies before its first, as upstream has it.
        let last = i128::try_from(self.start + self.length).unwrap_or_default() - 1;
        format!("bytes {}-{last}/{size}", self.start)
    }
}

/// Why nothing can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Invalid,
    NoOverlap,
}

/// Reads the ranges of a header that lie in a document of this size.
fn parse(text: &str, size: usize) -> Result<Vec<Range>, Fault> {
    let number = |text: &str| text.parse::<i64>().ok().and_then(|number| usize::try_from(number).ok());
    let list = text.strip_prefix("bytes=").ok_or(Fault::Invalid)?;
    let mut ranges = Vec::new();
    let mut misses = false;
    for one in list.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        let (start, end) = one.split_once('-').ok_or(Fault::Invalid)?;
        let (start, end) = (start.trim(), end.trim());
        if start.is_empty() {
            if end.starts_with('-') {
                return Err(Fault::Invalid);
            }
            let length = number(end).ok_or(Fault::Invalid)?.min(size);
            ranges.push(Range { start: size - length, length });
            continue;
        }
        let start = number(start).ok_or(Fault::Invalid)?;
        if start >= size {
            misses = true;
            continue;
        }
        let last = if end.is_empty() { size - 1 } else { number(end).ok_or(Fault::Invalid)? };
        if last < start {
            return Err(Fault::Invalid);
        }
        ranges.push(Range { start, length: last.min(size - 1) - start + 1 });
    }
    if misses && ranges.is_empty() { Err(Fault::NoOverlap) } else { Ok(ranges) }
}

fn unsatisfiable(mut response: Response<Body>, fault: Fault, size: usize) -> Response<Body> {
    let why = match fault {
        Fault::Invalid => "invalid range\n",
        Fault::NoOverlap => "invalid range: failed to overlap\n",
    };
    let vary = response.headers_mut().remove(header::VARY);
    let mut refused = render::plain(StatusCode::RANGE_NOT_SATISFIABLE.as_u16(), why);
    // An error is not kept like the document would be.
    refused.headers_mut().remove(header::CACHE_CONTROL);
    if let Some(vary) = vary {
        refused.headers_mut().insert(header::VARY, vary);
    }
    if fault == Fault::NoOverlap {
        insert(&mut refused, header::CONTENT_RANGE, &format!("bytes */{size}"));
    }
    refused
}

/// Several ranges as one body.
fn parts(ranges: &[Range], whole: &Bytes, kind: &str, boundary: &str) -> Vec<u8> {
    let mut body = Vec::new();
    for (index, range) in ranges.iter().enumerate() {
        let line = if index == 0 { "" } else { "\r\n" };
        let place = range.of(whole.len());
        let head = format!("{line}--{boundary}\r\nContent-Range: {place}\r\nContent-Type: {kind}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(&range.cut(whole));
    }
    body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_go_reads_them() {
        let range = |start, length| Range { start, length };
        let table = [
            ("bytes=0-4", Ok(vec![range(0, 5)])),
            ("bytes=2-", Ok(vec![range(2, 8)])),
            ("bytes=-3", Ok(vec![range(7, 3)])),
            ("bytes=-30", Ok(vec![range(0, 10)])),
            ("bytes=-0", Ok(vec![range(10, 0)])),
            ("bytes= 0 - 0 ,, 9-99", Ok(vec![range(0, 1), range(9, 1)])),
            ("bytes=10-", Err(Fault::NoOverlap)),
            ("bytes=10-,1-1", Ok(vec![range(1, 1)])),
            ("bytes=", Ok(vec![])),
            ("bytes=5", Err(Fault::Invalid)),
            ("bytes=-", Err(Fault::Invalid)),
            ("bytes=--1", Err(Fault::Invalid)),
            ("bytes=4-2", Err(Fault::Invalid)),
            ("lines=0-4", Err(Fault::Invalid)),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text, 10), expected, "{text}");
        }
        assert_eq!(parse("bytes=-5", 0), Ok(vec![range(0, 0)]));
    }

    #[test]
    fn tags_of_a_list_are_read_up_to_what_is_none() {
        let has = |list: &str| any_tag(list, |own| own == "\"a\"");
        assert!(has("\"a\"") && has(" \"b\", W/\"c\",\"a\"") && has("*"));
        assert!(!has("\"b\"") && !has("a, \"a\"") && !has("\"b c\", \"a\"") && !has(""));
    }
}
