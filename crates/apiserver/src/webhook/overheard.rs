//! A connection whose first bytes are remembered: they tell what somebody speaks who does not speak TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// As many bytes as the head of a TLS record has.
const HEAD: usize = 5;

/// A connection, and the first bytes that came through it.
#[derive(Debug)]
pub(crate) struct Overheard<S> {
    stream: S,
    first: [u8; HEAD],
    heard: usize,
}

impl<S> Overheard<S> {
    pub(super) fn new(stream: S) -> Overheard<S> {
        Overheard { stream, first: [0; HEAD], heard: 0 }
    }

    /// The first bytes, as many as have come.
    pub(super) fn beginning(&self) -> &[u8] {
        self.first.get(..self.heard).unwrap_or_default()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Overheard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if self.heard < HEAD {
            let this = &mut *self;
            let new = buffer.filled().get(before..).unwrap_or_default();
            let places = this.first.iter_mut().skip(this.heard);
            this.heard += places.zip(new).map(|(place, byte)| *place = *byte).count();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Overheard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
