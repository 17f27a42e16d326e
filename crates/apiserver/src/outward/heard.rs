//! A connection whose first bytes are remembered: what somebody said who did not speak HTTP, or not TLS, is told to the client, as
//! Go does.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use pilothouse_value::field::quote;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// As many bytes are remembered.
const LONGEST: usize = 512;

/// What came first through a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beginning(Arc<Mutex<Vec<u8>>>);

impl Beginning {
    fn add(&self, bytes: &[u8]) {
        let mut heard = self.0.lock();
        let room = LONGEST - heard.len();
        heard.extend(bytes.iter().take(room));
    }

    /// What Go says of an answer that ended too early; `prefix` comes before what is said of its form.
    pub(crate) fn cut_off(&self, end: &str, prefix: &str) -> String {
        let text = self.text();
        match (text.is_empty(), malformed(&text)) {
            (true, _) => end.to_owned(),
            (false, Some(why)) => format!("{prefix}{why}"),
            (false, None) => match text.rsplit('\n').next().unwrap_or_default() {
                "" => "unexpected EOF".to_owned(),
                line if line.contains(':') => "unexpected EOF".to_owned(),
                line => format!("{prefix}malformed MIME header: missing colon: {}", quote(line)),
            },
        }
    }

    /// What Go says of an answer that is none.
    pub(crate) fn not_http(&self, prefix: &str) -> String {
        let why = malformed(&self.text()).unwrap_or_else(|| "malformed MIME header line".to_owned());
        format!("{prefix}{why}")
    }

    /// The bytes themselves.
    pub(crate) fn first(&self) -> Vec<u8> {
        self.0.lock().clone()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }
}

/// What is wrong with the first line of an answer.
fn malformed(text: &str) -> Option<String> {
    let line = text.lines().next().unwrap_or_default();
    let Some((protocol, status)) = line.split_once(' ') else {
        return Some(format!("malformed HTTP response {}", quote(line)));
    };
    let code = status.trim_start().split(' ').next().unwrap_or_default();
    if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(format!("malformed HTTP status code {}", quote(code)));
    }
    let known = matches!(protocol, "HTTP/1.0" | "HTTP/1.1");
    (!known).then(|| format!("malformed HTTP version {}", quote(protocol)))
}

/// The connection.
#[derive(Debug)]
pub(crate) struct Heard<S> {
    stream: S,
    beginning: Beginning,
    is_full: bool,
}

impl<S> Heard<S> {
    /// Remembers from here on.
    pub(crate) fn new(stream: S) -> (Heard<S>, Beginning) {
        let beginning = Beginning::default();
        (Heard { stream, beginning: beginning.clone(), is_full: false }, beginning)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Heard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if !self.is_full {
            let new = buffer.filled().get(before..).unwrap_or_default();
            self.beginning.add(new);
            let heard = self.beginning.0.lock().len();
            self.is_full = heard == LONGEST;
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Heard<S> {
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
