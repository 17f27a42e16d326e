//! The door for HTTP clients in the same process: a `tower::Service`, no socket.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use pilothouse_value::Status;
use pilothouse_value::stack::with_room_for_a_request;

use crate::answer::negotiate::Format;
use crate::answer::render;
use crate::doors::body::Body;
use crate::pipeline::{self, Origin};
use crate::state::State;
use crate::streaming;

/// Serves HTTP requests, as one user or as whom they show to be. Authorization is never skipped.
#[derive(Clone, Debug)]
pub struct LocalService {
    state: Arc<State>,
    origin: Origin,
}

impl LocalService {
    pub(crate) fn new(state: Arc<State>, origin: Origin) -> LocalService {
        LocalService { state, origin }
    }
}

impl<B> tower::Service<Request<B>> for LocalService
where
    B: http_body::Body + Send + 'static,
    B::Data: Into<Bytes> + Send,
    B::Error: std::fmt::Display + Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (state, origin) = (self.state.clone(), self.origin.clone());
        if streaming::wants_upgrade(request.headers()) {
            // The client will wait for a connection after `101`, so it gets a real one, in memory.
            let (head, _) = request.into_parts();
            let serve = move |request| pipeline::handle(state.clone(), origin.clone(), request);
            return Box::pin(async move { Ok(upgraded(streaming::in_process(head, serve).await)) });
        }
        let mut answer = Box::pin(pipeline::handle(state, origin, request));
        Box::pin(std::future::poll_fn(move |context| {
            with_room_for_a_request(|| answer.as_mut().poll(context).map(Ok))
        }))
    }
}

fn upgraded(answer: Result<Response<Incoming>, hyper::Error>) -> Response<Body> {
    match answer {
        Ok(response) => response.map(|body| {
            let parts = body.into_data_stream();
            Body::stream(parts.filter_map(|part| std::future::ready(part.ok())))
        }),
        Err(error) => {
            let status = Status::internal(format!("connecting in the process: {error}"));
            render::failure(&status, Format::Json)
        }
    }
}
