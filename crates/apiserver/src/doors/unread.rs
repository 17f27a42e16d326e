//! What an answer has left of the body of its request. Over HTTP/1 nothing can follow on a connection whose body was not read, and
//! clients that use a connection again would find it closed: what is left is taken in before the answer goes out, as Go's
//! server does, unless it is too much.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use parking_lot::Mutex;

use crate::doors::listen::PATIENCE;

/// The most bytes that are taken in for nobody.
const MOST: usize = 256 * 1024;

/// The body of a request, lent to whoever answers it.
pub(super) enum Lent {
    /// One that nobody asks back.
    Given(Incoming),
    /// One whose rest is asked back.
    Shared(Arc<Mutex<Incoming>>),
}

/// What is asked back of a body.
pub(super) struct Rest(Arc<Mutex<Incoming>>);

/// Lends the body of a request.
pub(super) fn lend(request: Request<Incoming>) -> (Request<Lent>, Option<Rest>) {
    let (head, body) = request.into_parts();
    // Who waits to be told to go on has sent nothing yet.
    let waits = head.headers.contains_key(http::header::EXPECT);
    if body.is_end_stream() || waits || head.version > http::Version::HTTP_11 {
        return (Request::from_parts(head, Lent::Given(body)), None);
    }
    let body = Arc::new(Mutex::new(body));
    (Request::from_parts(head, Lent::Shared(body.clone())), Some(Rest(body)))
}

impl Rest {
    /// Takes in what nobody has read and nobody will. Answers whether something else can follow on the connection.
    pub(super) async fn take_in(self) -> bool {
        let Ok(mut body) = Arc::try_unwrap(self.0).map(Mutex::into_inner) else {
            // Somebody passes it on while the answer is sent already.
            return true;
        };
        let all = async {
            let mut taken = 0;
            while let Some(frame) = body.frame().await {
                taken += frame.ok()?.data_ref().map_or(0, Bytes::len);
                if taken > MOST {
                    return None;
                }
            }
            Some(())
        };
        matches!(tokio::time::timeout(PATIENCE, all).await, Ok(Some(())))
    }
}

impl Body for Lent {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Lent::Given(body) => Pin::new(body).poll_frame(context),
            Lent::Shared(body) => Pin::new(&mut *body.lock()).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Lent::Given(body) => body.is_end_stream(),
            Lent::Shared(body) => body.lock().is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Lent::Given(body) => body.size_hint(),
            Lent::Shared(body) => body.lock().size_hint(),
        }
    }
}
