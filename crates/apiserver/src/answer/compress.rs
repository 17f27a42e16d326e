//! Large answers are compressed for those who ask for it and are far enough away for it to pay.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, Response, header};

use crate::doors::body::Body;
use crate::request;

/// Smaller answers are sent as they are.
const THRESHOLD: usize = 128 * 1024;

/// Whether a client takes gzip.
pub(crate) fn wanted(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(request::header_text);
    values.flat_map(|value| value.split(',')).any(|clause| {
        let mut parts = clause.split(';').map(str::trim);
        let is_gzip = parts.next() == Some("gzip");
        is_gzip && !parts.any(|part| matches!(part.strip_prefix("q="), Some("0" | "0.0" | "0.00" | "0.000")))
    })
}

/// Compresses an answer that is large, successful and known as a whole.
pub(crate) fn compress(mut response: Response<Body>) -> Response<Body> {
    let Some(bytes) = response.body().whole().filter(|bytes| bytes.len() > THRESHOLD) else {
        return response;
    };
    if !response.status().is_success() || response.headers().contains_key(header::CONTENT_ENCODING) {
        return response;
    }
    // The fastest level, as upstream: most of what there is to gain.
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 8), Compression::fast());
    let Ok(small) = encoder.write_all(bytes).and_then(|()| encoder.finish()) else { return response };
    *response.body_mut() = Body::full(small);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    headers.remove(header::CONTENT_LENGTH);
    response
}
