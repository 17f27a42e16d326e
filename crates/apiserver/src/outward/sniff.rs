//! What an answer is that does not say it: Go's servers look at its first bytes.

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;

use super::Flow;

/// As many bytes are looked at.
const LOOKED_AT: usize = 512;

/// The type of a body, as its first part looks, and the body; none if it is empty.
pub(super) async fn sniffed(mut body: Flow) -> (Option<&'static str>, Flow) {
    let first = match body.frame().await {
        None => return (None, body),
        Some(Ok(frame)) => frame,
        Some(Err(error)) => {
            let broken = stream::iter([Err(error)]);
            return (None, BodyExt::boxed_unsync(StreamBody::new(broken)));
        }
    };
    let kind = first.data_ref().filter(|data| !data.is_empty()).map(kind_of);
    let rest = stream::unfold(body, |mut body| async move { Some((body.frame().await?, body)) });
    let whole = stream::iter([Ok::<Frame<Bytes>, std::io::Error>(first)]).chain(rest);
    (kind, BodyExt::boxed_unsync(StreamBody::new(whole)))
}

/// How pages begin, in capitals.
const PAGES: [&str; 17] = [
    "<!DOCTYPE HTML",
    "<HTML",
    "<HEAD",
    "<SCRIPT",
    "<IFRAME",
    "<H1",
    "<DIV",
    "<FONT",
    "<TABLE",
    "<A",
    "<STYLE",
    "<TITLE",
    "<B",
    "<BODY",
    "<BR",
    "<P",
    "<!--",
];

/// How other things begin.
const OTHERS: [(&[u8], &str); 14] = [
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\xFE\xFF", "text/plain; charset=utf-16be"),
    (b"\xFF\xFE", "text/plain; charset=utf-16le"),
    (b"\xEF\xBB\xBF", "text/plain; charset=utf-8"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"BM", "image/bmp"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x89PNG\x0D\x0A\x1A\x0A", "image/png"),
    (b"\xFF\xD8\xFF", "image/jpeg"),
    (b"\x1F\x8B\x08", "application/x-gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x00asm", "application/wasm"),
];

/// Go's `http.DetectContentType`, without its sounds, films and fonts: those are bytes.
fn kind_of(data: &Bytes) -> &'static str {
    let data = data.get(..LOOKED_AT).unwrap_or(data);
    let blank = |byte: &u8| matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ');
    let text = data.get(data.iter().take_while(|byte| blank(byte)).count()..).unwrap_or_default();
    let is_page = |begins: &&str| {
        let head = text.get(..begins.len()).is_some_and(|head| head.eq_ignore_ascii_case(begins.as_bytes()));
        head && (begins.ends_with('-') || matches!(text.get(begins.len()), Some(b' ' | b'>')))
    };
    if PAGES.iter().any(is_page) {
        return "text/html; charset=utf-8";
    }
    if text.starts_with(b"<?xml") {
        return "text/xml; charset=utf-8";
    }
    if let Some((_, kind)) = OTHERS.iter().find(|(begins, _)| data.starts_with(begins)) {
        return kind;
    }
    let binary = |byte: &u8| matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    if text.iter().any(binary) { "application/octet-stream" } else { "text/plain; charset=utf-8" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_say_what_it_is() {
        let table: [(&[u8], &str); 7] = [
            (b" \n<html>", "text/html; charset=utf-8"),
            (b"<htmlx>", "text/plain; charset=utf-8"),
            (b"<?xml ?>", "text/xml; charset=utf-8"),
            (b"{}", "text/plain; charset=utf-8"),
            (b"\x00\x01", "application/octet-stream"),
            (b"%PDF-1", "application/pdf"),
            (b"\x1b[0m", "text/plain; charset=utf-8"),
        ];
        for (data, kind) in table {
            assert_eq!(kind_of(&Bytes::from_static(data)), kind);
        }
    }
}
