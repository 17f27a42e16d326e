//! One connection: a task that reads frames and hands out streams, and a task that writes frames; and what of it is the same
//! where we are the client.

use std::collections::HashMap;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::frame::{Decoder, Encoder, Incoming};
use super::headers::Headers;

/// How many streams a connection may hold at once. A port-forward has two for each TCP connection.
const MAX_STREAMS: usize = 512;
/// How many chunks wait in a stream before the connection is no longer read.
pub(super) const STREAM_QUEUE: usize = 16;
/// How many frames wait to be written before their senders wait.
pub(super) const WRITE_QUEUE: usize = 32;
/// How much is read at once, in bytes.
const READ: usize = 32 * 1024;
/// How long the other side may take to hang up after we have said goodbye.
pub(super) const LINGER: Duration = Duration::from_secs(5);

/// A stream that the client opened.
pub(super) struct Stream {
    /// As the client sent them.
    pub(super) headers: Headers,
    /// What the client sends; closed by the client's last frame.
    pub(super) input: mpsc::Receiver<Bytes>,
    /// Where answers go.
    pub(super) output: Output,
}

/// The sending side of a stream.
pub(super) struct Output {
    stream: u32,
    frames: mpsc::Sender<Outgoing>,
}

impl Output {
    /// Of a stream of a connection whose frames are written from this queue.
    pub(super) fn new(stream: u32, frames: mpsc::Sender<Outgoing>) -> Output {
        Output { stream, frames }
    }

    /// Sends a chunk. `false` when the connection is gone.
    pub(super) async fn send(&self, data: Bytes) -> bool {
        self.frames.send(Outgoing::Data { stream: self.stream, data, fin: false }).await.is_ok()
    }

    /// Ends our side of the stream.
    pub(super) async fn finish(self) {
        let _ = self.frames.send(Outgoing::Data { stream: self.stream, data: Bytes::new(), fin: true }).await;
    }
}

/// What is to be written.
pub(super) enum Outgoing {
    Open { stream: u32, headers: Headers },
    Reply { stream: u32 },
    Refuse { stream: u32 },
    Data { stream: u32, data: Bytes, fin: bool },
    Ping { id: u32 },
    GoAway,
}

/// A connection. Dropping it without [`Connection::close`] breaks it off.
pub(super) struct Connection {
    streams: mpsc::Receiver<Stream>,
    frames: mpsc::Sender<Outgoing>,
    reader: JoinHandle<()>,
    writer: JoinHandle<()>,
}

impl Connection {
    pub(super) fn new<S>(io: S) -> Self
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let (read, write) = tokio::io::split(io);
        let (frames, outgoing) = mpsc::channel(WRITE_QUEUE);
        let (opened, streams) = mpsc::channel(STREAM_QUEUE);
        let reader = tokio::spawn(read_frames(read, opened, frames.clone()));
        let writer = tokio::spawn(write_frames(write, outgoing));
        Self { streams, frames, reader, writer }
    }

    /// The next stream; `None` when the client has gone.
    pub(super) async fn accept(&mut self) -> Option<Stream> {
        self.streams.recv().await
    }

    /// Resolves when the client has gone. Streams that come meanwhile are dropped.
    pub(super) async fn gone(&mut self) {
        while self.streams.recv().await.is_some() {}
    }

    /// Sends what is queued, says goodbye, and waits (not for long) until the client has hung up: closing while it
    /// still sends would reset the connection, and it could lose our last words.
    pub(super) async fn close(mut self) {
        let _ = self.frames.send(Outgoing::GoAway).await;
        let goodbye = async {
            let _ = (&mut self.writer).await;
            while self.streams.recv().await.is_some() {}
        };
        let _ = tokio::time::timeout(LINGER, goodbye).await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.reader.abort();
        self.writer.abort();
    }
}

/// The frames that come through a connection.
pub(super) struct Frames<S> {
    io: ReadHalf<S>,
    decoder: Decoder,
    buffer: BytesMut,
}

impl<S: AsyncRead + AsyncWrite> Frames<S> {
    pub(super) fn new(io: ReadHalf<S>) -> Frames<S> {
        Frames { io, decoder: Decoder::new(), buffer: BytesMut::with_capacity(READ) }
    }

    /// The next one; `None` when the other side has gone, or does not speak SPDY.
    pub(super) async fn next(&mut self) -> Option<Incoming> {
        loop {
            match self.decoder.next(&mut self.buffer) {
                Ok(Some(frame)) => return Some(frame),
                Ok(None) => self.buffer.reserve(READ),
                Err(error) => {
                    tracing::debug!(%error, "a SPDY connection is broken off");
                    return None;
                }
            }
            if !matches!(self.io.read_buf(&mut self.buffer).await, Ok(1..)) {
                return None;
            }
        }
    }
}

async fn read_frames<S>(io: ReadHalf<S>, opened: mpsc::Sender<Stream>, frames: mpsc::Sender<Outgoing>)
where
    S: AsyncRead + AsyncWrite,
{
    let mut incoming = Frames::new(io);
    let mut inputs: HashMap<u32, mpsc::Sender<Bytes>> = HashMap::new();
    while let Some(frame) = incoming.next().await {
        match frame {
            Incoming::Open { stream, headers, fin } => {
                inputs.retain(|_, input| !input.is_closed());
                if inputs.len() >= MAX_STREAMS || inputs.contains_key(&stream) {
                    let _ = frames.send(Outgoing::Refuse { stream }).await;
                    continue;
                }
                let (sender, input) = mpsc::channel(STREAM_QUEUE);
                if !fin {
                    inputs.insert(stream, sender);
                }
                // The reply goes first: nothing may be sent on a stream that is not accepted.
                let _ = frames.send(Outgoing::Reply { stream }).await;
                let output = Output { stream, frames: frames.clone() };
                // Nobody takes streams any more: the session is over, and what comes is read over.
                let _ = opened.send(Stream { headers, input, output }).await;
            }
            Incoming::Data { stream, data, fin } => {
                if let Some(input) = inputs.get(&stream)
                    && !data.is_empty()
                {
                    let _ = input.send(data).await;
                }
                if fin {
                    inputs.remove(&stream);
                }
            }
            Incoming::Reset { stream } => {
                inputs.remove(&stream);
            }
            Incoming::Ping { id } => {
                let _ = frames.send(Outgoing::Ping { id }).await;
            }
            Incoming::Reply { .. } | Incoming::GoAway | Incoming::Other => {}
        }
    }
}

/// Writes what is queued, until there is nobody who could queue more, or the other side has gone.
pub(super) async fn write_frames<S>(mut io: WriteHalf<S>, mut frames: mpsc::Receiver<Outgoing>)
where
    S: AsyncRead + AsyncWrite,
{
    let Ok(mut encoder) = Encoder::new() else { return };
    let mut buffer = BytesMut::new();
    let mut last_stream = 0;
    while let Some(frame) = frames.recv().await {
        let mut over = false;
        match frame {
            Outgoing::Open { stream, headers } => {
                if encoder.open(stream, &headers, &mut buffer).is_err() {
                    return;
                }
            }
            Outgoing::Reply { stream } => {
                last_stream = last_stream.max(stream);
                if encoder.reply(stream, &mut buffer).is_err() {
                    return;
                }
            }
            Outgoing::Refuse { stream } => encoder.reset(stream, &mut buffer),
            Outgoing::Data { stream, data, fin } => encoder.data(stream, &data, fin, &mut buffer),
            Outgoing::Ping { id } => encoder.ping(id, &mut buffer),
            Outgoing::GoAway => {
                encoder.go_away(last_stream, &mut buffer);
                over = true;
            }
        }
        if io.write_all_buf(&mut buffer).await.is_err() || io.flush().await.is_err() {
            return;
        }
        if over {
            let _ = io.shutdown().await;
            return;
        }
    }
}
