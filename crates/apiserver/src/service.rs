//! The door for HTTP clients in the same process: a `tower::Service`, no socket.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};

use crate::body::Body;
use crate::pipeline::{self, Origin};
use crate::state::State;
use crate::user::User;

/// Serves HTTP requests as one user. Authentication is skipped, authorization is not.
#[derive(Clone, Debug)]
pub struct LocalService {
    state: Arc<State>,
    user: User,
}

impl LocalService {
    pub(crate) fn new(state: Arc<State>, user: User) -> LocalService {
        LocalService { state, user }
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
        let answer = pipeline::handle(self.state.clone(), Origin::Inside(self.user.clone()), request);
        Box::pin(async move { Ok(answer.await) })
    }
}
