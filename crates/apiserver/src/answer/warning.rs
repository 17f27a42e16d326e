//! The `Warning` headers of an answer.

use http::{HeaderMap, HeaderName, HeaderValue};

/// Most characters of all warnings together; beyond it each is cut.
const TOTAL: usize = 4096;
/// Most characters of one warning once they are cut.
const EACH: usize = 256;

/// Writes warnings as headers: `299 - "text"`. As upstream, one that has a line break or the like in it is left out.
pub(crate) fn write(headers: &mut HeaderMap, warnings: &[String]) {
    let total: usize = warnings.iter().map(|warning| warning.chars().count()).sum();
    for warning in warnings {
        let text: String = if total > TOTAL { warning.chars().take(EACH).collect() } else { warning.clone() };
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        if text.is_empty() || text.chars().any(char::is_control) {
            continue;
        }
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()) {
            headers.append(HeaderName::from_static("warning"), value);
        }
    }
}
