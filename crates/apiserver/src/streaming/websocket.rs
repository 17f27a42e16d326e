//! Sessions over WebSocket: the `channel.k8s.io` protocols.
//!
//! Each message begins with the number of its channel: 0 stdin, 1 stdout, 2 stderr, 3 error, 4 resize; in v5 also
//! 255, "close the channel whose number follows". The base64 dialects send text messages in which the number is an
//! ASCII digit and the rest is base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, Bytes, BytesMut};
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use pilothouse_value::{Value, parse};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::outcome::{ErrorStyle, last_word};
use crate::kubelet::{Session, Streams, TerminalSize};

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const RESIZE: u8 = 4;
const CLOSE: u8 = 255;

/// The most that is tunnelled in one message, in bytes.
const TUNNEL_CHUNK: usize = 32 * 1024;

/// One of the `channel.k8s.io` protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    base64: bool,
    errors: ErrorStyle,
    /// Input can be closed alone.
    closes: bool,
}

/// All names, in the order in which a server prefers them.
pub(super) const NAMES: &[&str] = &[
    "v5.channel.k8s.io",
    "v4.channel.k8s.io",
    "v4.base64.channel.k8s.io",
    "channel.k8s.io",
    "base64.channel.k8s.io",
];

impl Dialect {
    /// What a client speaks that offers no protocol at all.
    pub(super) const OLDEST: Self = Self { base64: false, errors: ErrorStyle::Text, closes: false };

    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "v5.channel.k8s.io" => Self { base64: false, errors: ErrorStyle::Document, closes: true },
            "v4.channel.k8s.io" => Self { base64: false, errors: ErrorStyle::Document, closes: false },
            "v4.base64.channel.k8s.io" => Self { base64: true, errors: ErrorStyle::Document, closes: false },
            "channel.k8s.io" => Self::OLDEST,
            "base64.channel.k8s.io" => Self { base64: true, errors: ErrorStyle::Text, closes: false },
            _ => return None,
        })
    }

    fn encode(self, channel: u8, data: &[u8]) -> Message {
        if self.base64 {
            let mut text = String::with_capacity(1 + data.len().div_ceil(3) * 4);
            text.push(char::from(b'0' + channel));
            STANDARD.encode_string(data, &mut text);
            return Message::text(text);
        }
        let mut frame = BytesMut::with_capacity(1 + data.len());
        frame.put_u8(channel);
        frame.put_slice(data);
        Message::Binary(frame.freeze())
    }

    /// Channel and content of a message; `None` for one that carries nothing for us.
    fn decode(self, message: &Message) -> Option<(u8, Bytes)> {
        let data = match message {
            Message::Binary(data) => data.clone(),
            Message::Text(text) => Bytes::copy_from_slice(text.as_bytes()),
            _ => return None,
        };
        let (&first, rest) = data.split_first()?;
        if self.base64 {
            let channel = first.checked_sub(b'0')?;
            return Some((channel, STANDARD.decode(rest).ok()?.into()));
        }
        Some((first, data.slice(1..)))
    }
}

/// Speaks for a session until it has ended or the client has gone.
pub(super) async fn serve<S>(socket: WebSocketStream<S>, dialect: Dialect, session: Session, streams: Streams)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Session { stdin, stdout, stderr, resize, exit } = session;
    let last = async move { last_word(&exit.await, dialect.errors) };
    converse(socket, dialect, Channels { stdin, stdout, stderr, resize }, streams, last).await;
}

/// What goes through the channels of a session.
pub(super) struct Channels {
    pub(super) stdin: Option<mpsc::Sender<Bytes>>,
    pub(super) stdout: Option<mpsc::Receiver<Bytes>>,
    pub(super) stderr: Option<mpsc::Receiver<Bytes>>,
    pub(super) resize: Option<mpsc::Sender<TerminalSize>>,
}

/// Carries what goes through the channels, and says at the end what `last` says; ends before that when the client goes.
pub(super) async fn converse<S>(
    socket: WebSocketStream<S>,
    dialect: Dialect,
    channels: Channels,
    streams: Streams,
    last: impl Future<Output = Option<String>>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sink, source) = socket.split();
    let Channels { stdin, stdout, stderr, resize } = channels;
    let input = receive(source, dialect, stdin, resize);
    let output = async {
        let mut sink = sink;
        let sent = send(&mut sink, dialect, stdout, stderr, streams).await;
        if sent.is_ok() {
            if let Some(text) = last.await {
                let _ = sink.send(dialect.encode(ERROR, text.as_bytes())).await;
            }
            let frame = CloseFrame { code: CloseCode::Normal, reason: "".into() };
            let _ = sink.send(Message::Close(Some(frame))).await;
        }
    };
    tokio::pin!(input, output);
    // A client that goes ends the session; one that only stops sending (v5) is still read, for its close.
    tokio::select! {
        () = &mut output => {}
        () = &mut input => return,
    }
    // The close handshake: without it a client may lose the last message to a reset.
    let _ = tokio::time::timeout(std::time::Duration::from_secs(5), input).await;
}

async fn receive<S>(
    mut source: SplitStream<WebSocketStream<S>>,
    dialect: Dialect,
    mut stdin: Option<mpsc::Sender<Bytes>>,
    resize: Option<mpsc::Sender<TerminalSize>>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = source.next().await {
        match dialect.decode(&message) {
            Some((STDIN, data)) if !data.is_empty() => {
                if let Some(sender) = &stdin
                    && sender.send(data).await.is_err()
                {
                    // The program no longer reads.
                    stdin = None;
                }
            }
            Some((RESIZE, data)) => {
                if let (Some(sender), Some(size)) = (&resize, terminal_size(&data)) {
                    let _ = sender.send(size).await;
                }
            }
            Some((CLOSE, data)) if dialect.closes && data.first() == Some(&STDIN) => stdin = None,
            _ => {}
        }
    }
}

type Sink<S> = SplitSink<WebSocketStream<S>, Message>;
type SendResult = Result<(), tokio_tungstenite::tungstenite::Error>;

async fn send<S>(
    sink: &mut Sink<S>,
    dialect: Dialect,
    mut stdout: Option<mpsc::Receiver<Bytes>>,
    mut stderr: Option<mpsc::Receiver<Bytes>>,
    streams: Streams,
) -> SendResult
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    // Tells the client that the session stands, on the lowest channel that it can read, as upstream does.
    let first = match streams {
        Streams { stdout: true, .. } => STDOUT,
        Streams { stderr: true, .. } => STDERR,
        _ => ERROR,
    };
    sink.send(dialect.encode(first, &[])).await?;
    while stdout.is_some() || stderr.is_some() {
        tokio::select! {
            chunk = next(&mut stdout) => match chunk {
                Some(data) => sink.send(dialect.encode(STDOUT, &data)).await?,
                None => stdout = None,
            },
            chunk = next(&mut stderr) => match chunk {
                Some(data) => sink.send(dialect.encode(STDERR, &data)).await?,
                None => stderr = None,
            },
        }
    }
    Ok(())
}

/// The next chunk; never, when the stream is not connected or has ended.
async fn next(receiver: &mut Option<mpsc::Receiver<Bytes>>) -> Option<Bytes> {
    match receiver {
        Some(receiver) => receiver.recv().await,
        None => std::future::pending().await,
    }
}

/// `{"Width":80,"Height":24}`, as every client writes it.
pub(super) fn terminal_size(text: &[u8]) -> Option<TerminalSize> {
    let value = parse::json(text).ok()?.value;
    let side = |key: &str| value.get(key).and_then(Value::as_i64).and_then(|n| u16::try_from(n).ok());
    Some(TerminalSize { width: side("Width")?, height: side("Height")? })
}

/// A byte stream whose bytes travel in binary messages.
pub(super) fn tunnel<S>(socket: WebSocketStream<S>) -> DuplexStream
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (ours, theirs) = tokio::io::duplex(2 * TUNNEL_CHUNK);
    let (mut reader, mut writer) = tokio::io::split(theirs);
    let (mut sink, mut source) = socket.split();
    tokio::spawn(async move {
        while let Some(Ok(message)) = source.next().await {
            if let Message::Binary(data) = message
                && writer.write_all(&data).await.is_err()
            {
                return;
            }
        }
        let _ = writer.shutdown().await;
    });
    tokio::spawn(async move {
        let mut buffer = BytesMut::with_capacity(TUNNEL_CHUNK);
        while let Ok(1..) = reader.read_buf(&mut buffer).await {
            if sink.send(Message::Binary(buffer.split().freeze())).await.is_err() {
                return;
            }
            buffer.reserve(TUNNEL_CHUNK);
        }
        let _ = sink.close().await;
    });
    ours
}
