//! What a webhook answers, as client-go reads it.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use pilothouse_value::{Value, field, parse};

use super::{CallError, media};

/// An answer that was read to its end.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Answer {
    fn header(&self, name: header::HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// How long the server wants to be left alone before it is asked again, if it does.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let busy = self.status == StatusCode::TOO_MANY_REQUESTS || self.status.is_server_error();
        let seconds = self.header(header::RETRY_AFTER).parse().ok()?;
        busy.then(|| Duration::from_secs(seconds))
    }

    /// The body, if the server did what it was asked for.
    ///
    /// # Errors
    /// For a status that is no success, with what the server says of it; for an empty body.
    pub(super) fn into_body(self) -> Result<Bytes, CallError> {
        let code = self.status.as_u16();
        let content_type = self.header(header::CONTENT_TYPE);
        if !content_type.is_empty() {
            media::check(content_type).map_err(|why| CallError(format!("Internal error occurred: {why}")))?;
        }
        if !(200..=206).contains(&code) {
            return Err(CallError(self.complaint()));
        }
        if self.body.is_empty() {
            let content_type = self.header(header::CONTENT_TYPE);
            return Err(CallError(format!(
                "0-length response with status code: {code} and content type: {content_type}"
            )));
        }
        Ok(self.body)
    }

    /// What client-go says of an answer that is no success.
    fn complaint(&self) -> String {
        let content_type = self.header(header::CONTENT_TYPE);
        let is_text = content_type.is_empty() || content_type.starts_with("text/");
        let told = if is_text { String::from_utf8_lossy(&self.body) } else { "unknown".into() };
        let told = told.trim();
        let code = self.status.as_u16();
        let text = match code {
            409 => "the server reported a conflict",
            404 => "the server could not find the requested resource",
            400 => "the server rejected our request for an unknown reason",
            401 => "the server has asked for the client to provide credentials",
            403 | 415 => told,
            406 if told.is_empty() || told == "unknown" => {
                "the server was unable to respond with a content type that the client supports"
            }
            406 => told,
            405 => "the server does not allow this method on the requested resource",
            422 => "the server rejected our request due to an error in our request",
            503 => "the server is currently unable to handle the request",
            504 => {
                "the server was unable to return a response in the time allotted, but may still be processing the request"
            }
            429 => "the server has received too many requests and has asked us to try again later",
            500.. => {
                let text = format!(
                    "an error on the server ({}) has prevented the request from succeeding",
                    field::quote(told)
                );
                return self.status_text().unwrap_or(text);
            }
            _ => {
                let text = format!(
                    "the server responded with the status code {code} but did not return more information"
                );
                return self.status_text().unwrap_or(text);
            }
        };
        self.status_text().unwrap_or_else(|| text.to_owned())
    }

    /// The message, if the body is a `Status` of a failure.
    fn status_text(&self) -> Option<String> {
        let body = parse::json(&self.body).ok()?.value;
        let is_failure =
            body.str_at(&["kind"]) == Some("Status") && body.str_at(&["status"]) == Some("Failure");
        is_failure.then(|| body.get("message").and_then(Value::as_str).unwrap_or_default().to_owned())
    }
}
