//! The client's half of exec and attach over SPDY, as client-go speaks it to a kubelet: one stream each for errors, input, output and
//! the terminal's size.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::connection::{Frames, LINGER, Outgoing, Output, STREAM_QUEUE, WRITE_QUEUE, write_frames};
use super::frame::Incoming;
use super::headers::Headers;
use crate::kubelet::{Streams, TerminalSize};

/// How long the other side may take to accept a stream (`createStreamResponseTimeout`).
const ACCEPTS: Duration = Duration::from_secs(30);
/// How often the other side is asked whether it is still there, so that what is between does not forget the connection.
const PINGS: Duration = Duration::from_secs(5);
/// The longest that is taken as the end of a session, in bytes.
const LONGEST_ERROR: usize = 1 << 20;

/// What goes through the streams: what is connected is what was asked for.
pub(in crate::streaming) struct Remote {
    pub(in crate::streaming) stdin: Option<mpsc::Receiver<Bytes>>,
    pub(in crate::streaming) stdout: Option<mpsc::Sender<Bytes>>,
    pub(in crate::streaming) stderr: Option<mpsc::Sender<Bytes>>,
    pub(in crate::streaming) resize: Option<mpsc::Receiver<TerminalSize>>,
}

/// Speaks with a kubelet that has left HTTP until the session has ended. Gives back what came through the stream of errors.
/// `resizes` says whether the protocol has a stream for sizes. Dropping it breaks the connection off.
///
/// # Errors
/// When the kubelet does not accept the streams, in upstream's words.
pub(in crate::streaming) async fn converse<S>(
    io: S,
    resizes: bool,
    asked: Streams,
    remote: Remote,
) -> Result<Vec<u8>, String>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let resizes = resizes && asked.tty;
    let kinds = [
        ("error", true),
        ("stdin", asked.stdin),
        ("stdout", asked.stdout),
        ("stderr", asked.stderr && !asked.tty),
        ("resize", resizes),
    ];
    let kinds: Vec<&str> = kinds.into_iter().filter(|(_, asked)| *asked).map(|(kind, _)| kind).collect();
    let mut connection = Connection::new(io, kinds.len());
    let mut streams = HashMap::new();
    for kind in kinds {
        streams.insert(kind, connection.open(kind).await?);
    }
    let Some((mut errors, _)) = streams.remove("error") else { return Err("Stream reset".to_owned()) };
    let input = copy_in(streams.remove("stdin"), remote.stdin);
    let sizes = copy_sizes(streams.remove("resize"), remote.resize);
    let output = async {
        let mut stream = |kind| streams.remove(kind).map(|(input, _)| input);
        let (stdout, stderr) = (stream("stdout"), stream("stderr"));
        let last = async {
            let mut last = Vec::new();
            while let Some(part) = errors.recv().await {
                let room = LONGEST_ERROR - last.len();
                last.extend(part.iter().take(room));
            }
            last
        };
        tokio::join!(copy_out(stdout, remote.stdout), copy_out(stderr, remote.stderr), last).2
    };
    let others = async {
        tokio::join!(input, sizes);
        std::future::pending::<()>().await;
    };
    let last = tokio::select! {
        last = output => last,
        () = others => Vec::new(),
    };
    connection.close().await;
    Ok(last)
}

/// A connection; dropping it breaks it off.
struct Connection {
    frames: mpsc::Sender<Outgoing>,
    /// What was said of streams that were opened: which, and whether it was accepted.
    replies: mpsc::Receiver<(u32, bool)>,
    /// What comes through the streams, the last to be opened first.
    inputs: Vec<(u32, mpsc::Receiver<Bytes>)>,
    tasks: [JoinHandle<()>; 3],
}

impl Connection {
    /// A connection for as many streams.
    fn new<S>(io: S, streams: usize) -> Connection
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let (read, write) = tokio::io::split(io);
        let (frames, outgoing) = mpsc::channel(WRITE_QUEUE);
        let (replied, replies) = mpsc::channel(streams.max(1));
        let mut senders = HashMap::new();
        let mut inputs = Vec::new();
        // Those of the client have odd numbers.
        for stream in (1u32..).step_by(2).take(streams) {
            let (sender, input) = mpsc::channel(STREAM_QUEUE);
            senders.insert(stream, sender);
            inputs.push((stream, input));
        }
        inputs.reverse();
        let tasks = [
            tokio::spawn(read_frames(read, senders, replied, frames.clone())),
            tokio::spawn(write_frames(write, outgoing)),
            tokio::spawn(ping(frames.clone())),
        ];
        Connection { frames, replies, inputs, tasks }
    }

    /// Opens the next stream, and waits until it is accepted.
    async fn open(&mut self, kind: &str) -> Result<(mpsc::Receiver<Bytes>, Output), String> {
        let (stream, input) = self.inputs.pop().ok_or("Unable to get new stream id")?;
        let headers = Headers(vec![("streamtype".to_owned(), kind.to_owned())]);
        let reply = async {
            self.frames.send(Outgoing::Open { stream, headers }).await.ok()?;
            loop {
                match self.replies.recv().await? {
                    (other, _) if other != stream => {}
                    (_, accepted) => return Some(accepted),
                }
            }
        };
        match tokio::time::timeout(ACCEPTS, reply).await {
            Ok(Some(true)) => Ok((input, Output::new(stream, self.frames.clone()))),
            Ok(_) => Err("Stream reset".to_owned()),
            Err(_elapsed) => Err("Timeout occurred".to_owned()),
        }
    }

    /// Says goodbye, and waits (not for long) until the other side has hung up.
    async fn close(mut self) {
        let goodbye = async {
            let _gone = self.frames.send(Outgoing::GoAway).await;
            let [reader, writer, _pings] = &mut self.tasks;
            let _ended = writer.await;
            let _ended = reader.await;
        };
        let _late = tokio::time::timeout(LINGER, goodbye).await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn read_frames<S>(
    io: ReadHalf<S>,
    mut inputs: HashMap<u32, mpsc::Sender<Bytes>>,
    replied: mpsc::Sender<(u32, bool)>,
    frames: mpsc::Sender<Outgoing>,
) where
    S: AsyncRead + AsyncWrite,
{
    let mut incoming = Frames::new(io);
    while let Some(frame) = incoming.next().await {
        match frame {
            Incoming::Data { stream, data, fin } => {
                if let Some(input) = inputs.get(&stream)
                    && !data.is_empty()
                {
                    let _unread = input.send(data).await;
                }
                if fin {
                    inputs.remove(&stream);
                }
            }
            Incoming::Reply { stream, fin } => {
                // Nobody waits for more replies than there are streams.
                let _unasked = replied.try_send((stream, true));
                if fin {
                    inputs.remove(&stream);
                }
            }
            Incoming::Reset { stream } => {
                inputs.remove(&stream);
                let _unasked = replied.try_send((stream, false));
            }
            // Those with odd numbers answer our own.
            Incoming::Ping { id } if id.is_multiple_of(2) => {
                let _gone = frames.send(Outgoing::Ping { id }).await;
            }
            Incoming::Open { stream, .. } => {
                let _gone = frames.send(Outgoing::Refuse { stream }).await;
            }
            Incoming::Ping { .. } | Incoming::GoAway | Incoming::Other => {}
        }
    }
}

async fn ping(frames: mpsc::Sender<Outgoing>) {
    let mut id = 1u32;
    loop {
        tokio::time::sleep(PINGS).await;
        if frames.send(Outgoing::Ping { id }).await.is_err() {
            return;
        }
        id = id.wrapping_add(2);
    }
}

type Stream = (mpsc::Receiver<Bytes>, Output);

/// What the client types. A kubelet that ends its side of the stream reads no more.
async fn copy_in(to: Option<Stream>, from: Option<mpsc::Receiver<Bytes>>) {
    let (Some((mut ended, to)), Some(mut from)) = (to, from) else { return };
    let copy = async {
        while let Some(part) = from.recv().await {
            if !to.send(part).await {
                return;
            }
        }
    };
    tokio::select! {
        () = copy => {}
        () = async { while ended.recv().await.is_some() {} } => {}
    }
    to.finish().await;
}

/// Sizes of the terminal, as Go writes JSON.
async fn copy_sizes(to: Option<Stream>, from: Option<mpsc::Receiver<TerminalSize>>) {
    // What the kubelet would say here is of no interest: without a receiver it is read over.
    let (Some((_, to)), Some(mut from)) = (to, from) else { return };
    while let Some(TerminalSize { width, height }) = from.recv().await {
        if !to.send(format!("{{\"Width\":{width},\"Height\":{height}}}\n").into()).await {
            return;
        }
    }
}

/// What the program says. What nobody wants to have is read over.
async fn copy_out(from: Option<mpsc::Receiver<Bytes>>, to: Option<mpsc::Sender<Bytes>>) {
    let Some(mut from) = from else { return };
    let mut to = to;
    while let Some(part) = from.recv().await {
        if let Some(sender) = &to
            && sender.send(part).await.is_err()
        {
            to = None;
        }
    }
}
