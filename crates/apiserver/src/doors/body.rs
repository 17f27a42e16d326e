//! Bodies: what is read from a request, within a limit, and what is sent back, at once or as a stream.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures::Stream;
use http_body::Frame;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use pilothouse_value::Status;

/// The largest request body, in bytes: what the real server allows.
pub(crate) const LIMIT: usize = 3 * 1024 * 1024;

/// Larger answers are sent in parts of so many bytes, so that what goes along with them lasts nearly until they are sent.
const PART: usize = 256 * 1024;

/// The body of a response.
#[derive(Debug)]
pub struct Body(Kind);

enum Kind {
    Full(Bytes),
    /// Known whole, and so large that it is sent in parts.
    Parts(Bytes, Box<dyn Send>),
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
    Relayed(UnsyncBoxBody<Bytes, io::Error>),
}

/// Marks a response that somebody else has made, which nothing is added to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Untouched;

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::Full(bytes) | Kind::Parts(bytes, _) => write!(f, "Full({} bytes)", bytes.len()),
            Kind::Stream(_) => f.write_str("Stream"),
            Kind::Relayed(_) => f.write_str("Relayed"),
        }
    }
}

impl Body {
    /// A body that is known whole.
    pub fn full(bytes: impl Into<Bytes>) -> Body {
        Body(Kind::Full(bytes.into()))
    }

    /// The bytes of a body that is known whole.
    pub(crate) fn whole(&self) -> Option<&Bytes> {
        match &self.0 {
            Kind::Full(bytes) | Kind::Parts(bytes, _) => Some(bytes),
            Kind::Stream(_) | Kind::Relayed(_) => None,
        }
    }

    /// The same body; what is given along is dropped when its last part has been taken, or nobody takes any more.
    pub(crate) fn keeping(self, along: impl Send + 'static) -> Body {
        match self.0 {
            // What is small is sent as soon as it is taken.
            Kind::Full(bytes) if bytes.len() <= PART => Body(Kind::Full(bytes)),
            Kind::Full(bytes) => Body(Kind::Parts(bytes, Box::new(along))),
            Kind::Parts(bytes, others) => Body(Kind::Parts(bytes, Box::new((others, along)))),
            Kind::Stream(stream) => {
                let parts = futures::StreamExt::map(stream, move |part| {
                    let _kept = &along;
                    part
                });
                Body(Kind::Stream(Box::pin(parts)))
            }
            Kind::Relayed(body) => Body(Kind::Relayed(
                body.map_frame(move |frame| {
                    let _kept = &along;
                    frame
                })
                .boxed_unsync(),
            )),
        }
    }

    /// A body that somebody else sends, with the headers behind it. If it breaks off, so does the answer.
    pub(crate) fn relayed(body: UnsyncBoxBody<Bytes, io::Error>) -> Body {
        Body(Kind::Relayed(body))
    }

    /// A body whose parts come over time; each part is sent as soon as it is there.
    pub fn stream(stream: impl Stream<Item = Bytes> + Send + 'static) -> Body {
        Body(Kind::Stream(Box::pin(stream)))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match &mut self.0 {
            Kind::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Kind::Parts(bytes, _) if bytes.is_empty() => Poll::Ready(None),
            Kind::Parts(bytes, _) => {
                let part = bytes.split_to(bytes.len().min(PART));
                Poll::Ready(Some(Ok(Frame::data(part))))
            }
            Kind::Stream(stream) => {
                stream.as_mut().poll_next(context).map(|part| part.map(|bytes| Ok(Frame::data(bytes))))
            }
            Kind::Relayed(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Full(bytes) | Kind::Parts(bytes, _) => bytes.is_empty(),
            Kind::Stream(_) => false,
            Kind::Relayed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match &self.0 {
            Kind::Full(bytes) | Kind::Parts(bytes, _) => http_body::SizeHint::with_exact(bytes.len() as u64),
            Kind::Stream(_) => http_body::SizeHint::default(),
            Kind::Relayed(body) => body.size_hint(),
        }
    }
}

/// Reads a request's body.
///
/// # Errors
/// 413 above [`LIMIT`]; 400 when the sender breaks off.
pub(crate) async fn read<B>(body: B) -> Result<Bytes, Status>
where
    B: http_body::Body,
    B::Data: Into<Bytes> + Send,
    B::Error: std::fmt::Display,
{
    let mut body = std::pin::pin!(body);
    let mut first: Option<Bytes> = None;
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Status::bad_request(format!("reading the request body: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        let data: Bytes = data.into();
        if whole.len() + first.as_ref().map_or(0, Bytes::len) + data.len() > LIMIT {
            return Err(Status::too_large(LIMIT));
        }
        // Most bodies come in one piece, which is then not copied.
        if first.is_none() && whole.is_empty() {
            first = Some(data);
            continue;
        }
        if let Some(first) = first.take() {
            whole.extend_from_slice(&first);
        }
        whole.extend_from_slice(&data);
    }
    Ok(first.unwrap_or_else(|| whole.freeze()))
}
