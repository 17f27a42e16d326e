//! Whole conversations over a pipe, with a client that speaks as client-go does.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;

use super::frame::{Decoder, Encoder, Incoming};
use super::headers::{Deflater, Headers};
use super::{Dialect, serve_port_forward, serve_session};
use crate::kubelet::{
    Connection, ExecOptions, Exit, Kubelet, KubeletError, LogOptions, Session, Streams, Target, TerminalSize,
};

struct Client {
    io: DuplexStream,
    deflater: Deflater,
    encoder: Encoder,
    decoder: Decoder,
    buffer: BytesMut,
}

impl Client {
    fn new(io: DuplexStream) -> Self {
        let (deflater, encoder) = (Deflater::new().unwrap(), Encoder::new().unwrap());
        Self { io, deflater, encoder, decoder: Decoder::new(), buffer: BytesMut::new() }
    }

    async fn open(&mut self, stream: u32, headers: &[(&str, &str)]) {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let block = self.deflater.write(&Headers(headers)).unwrap();
        let mut frame = BytesMut::new();
        frame.put_slice(&[0x80, 3, 0, 1, 0]);
        frame.put_uint(10 + block.len() as u64, 3);
        frame.put_u32(stream);
        frame.put_slice(&[0; 6]);
        frame.put_slice(&block);
        self.io.write_all(&frame).await.unwrap();
    }

    async fn send(&mut self, stream: u32, data: &[u8], fin: bool) {
        let mut frame = BytesMut::new();
        self.encoder.data(stream, data, fin, &mut frame);
        self.io.write_all(&frame).await.unwrap();
    }

    /// All that is said on some streams until each is ended by the server.
    async fn hear(&mut self, streams: &[u32]) -> Vec<String> {
        let mut said = vec![Vec::new(); streams.len()];
        let mut open = streams.to_vec();
        while !open.is_empty() {
            while let Some(frame) = self.decoder.next(&mut self.buffer).unwrap() {
                if let Incoming::Data { stream, data, fin } = frame {
                    if let Some(place) = streams.iter().position(|one| *one == stream) {
                        said[place].extend_from_slice(&data);
                    }
                    open.retain(|one| !(fin && *one == stream));
                }
            }
            if !open.is_empty() && self.io.read_buf(&mut self.buffer).await.unwrap() == 0 {
                panic!("the server hung up before streams {open:?} ended");
            }
        }
        said.into_iter().map(|bytes| String::from_utf8(bytes).unwrap()).collect()
    }
}

fn dialect(name: &str) -> Dialect {
    Dialect::choose(&[name.to_owned()]).unwrap().1
}

/// A session whose program sends its input back and ends with a code.
fn echo(code: i32) -> (Session, mpsc::Receiver<TerminalSize>) {
    let (stdin, mut typed) = mpsc::channel::<Bytes>(4);
    let (output, stdout) = mpsc::channel(4);
    let (resize, sizes) = mpsc::channel(4);
    let program = tokio::spawn(async move {
        while let Some(data) = typed.recv().await {
            output.send(data).await.unwrap();
        }
    });
    let exit = async move {
        program.await.unwrap();
        Exit::Code(code)
    };
    let session = Session {
        stdin: Some(stdin),
        stdout: Some(stdout),
        stderr: None,
        resize: Some(resize),
        exit: exit.boxed(),
    };
    (session, sizes)
}

#[tokio::test]
async fn a_session_carries_input_output_sizes_and_the_exit_code() {
    let (ours, theirs) = tokio::io::duplex(1024);
    let (session, mut sizes) = echo(7);
    let streams = Streams { stdin: true, stdout: true, tty: true, stderr: false };
    let server = tokio::spawn(serve_session(theirs, dialect("v4.channel.k8s.io"), session, streams));
    let mut client = Client::new(ours);
    for (stream, kind) in [(1, "error"), (3, "stdin"), (5, "stdout"), (7, "resize")] {
        client.open(stream, &[("streamtype", kind)]).await;
    }
    client.send(7, br#"{"Width":80,"Hei"#, false).await;
    client.send(7, br#"ght":24}"#, false).await;
    client.send(3, b"hello ", false).await;
    client.send(3, b"world", true).await;
    let said = client.hear(&[1, 5]).await;
    assert_eq!(said[1], "hello world");
    assert!(said[0].contains(r#""causes":[{"message":"7","reason":"ExitCode"}]"#), "{}", said[0]);
    assert_eq!(sizes.recv().await, Some(TerminalSize { width: 80, height: 24 }));
    drop(client);
    server.await.unwrap();
}

#[tokio::test]
async fn old_protocols_have_text_for_errors_and_nothing_for_success() {
    for (code, expected) in [(0, ""), (2, "command terminated with non-zero exit code: exit status 2")] {
        let (ours, theirs) = tokio::io::duplex(1024);
        let streams = Streams { stdin: true, stdout: true, ..Streams::default() };
        let server = tokio::spawn(serve_session(theirs, dialect("v2.channel.k8s.io"), echo(code).0, streams));
        let mut client = Client::new(ours);
        for (stream, kind) in [(1, "error"), (3, "stdin"), (5, "stdout")] {
            client.open(stream, &[("streamtype", kind)]).await;
        }
        client.send(3, b"", true).await;
        assert_eq!(client.hear(&[1, 5]).await[0], expected);
        drop(client);
        server.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_opens_too_few_streams_is_given_up() {
    let (ours, theirs) = tokio::io::duplex(1024);
    let streams = Streams { stdout: true, ..Streams::default() };
    let server = tokio::spawn(serve_session(theirs, dialect("v4.channel.k8s.io"), echo(0).0, streams));
    let mut client = Client::new(ours);
    client.open(1, &[("streamtype", "error")]).await;
    server.await.unwrap();
}

/// A node on which one port echoes and all others refuse.
struct Ports;

impl Kubelet for Ports {
    fn logs(
        &self,
        _: Target,
        _: LogOptions,
    ) -> BoxFuture<'static, Result<BoxStream<'static, io::Result<Bytes>>, KubeletError>> {
        unreachable!("no log is asked for")
    }

    fn exec(&self, _: Target, _: ExecOptions) -> BoxFuture<'static, Result<Session, KubeletError>> {
        unreachable!("no command is run")
    }

    fn attach(&self, _: Target, _: Streams) -> BoxFuture<'static, Result<Session, KubeletError>> {
        unreachable!("nobody attaches")
    }

    fn port_forward(
        &self,
        _: Target,
        port: u16,
    ) -> BoxFuture<'static, Result<Pin<Box<dyn Connection>>, KubeletError>> {
        async move {
            if port != 80 {
                return Err(KubeletError::NotFound("connection refused".to_owned()));
            }
            let (near, far) = tokio::io::duplex(64);
            tokio::spawn(async move {
                let (mut reader, mut writer) = tokio::io::split(far);
                tokio::io::copy(&mut reader, &mut writer).await.unwrap();
                writer.shutdown().await.unwrap();
            });
            Ok(Box::pin(near) as Pin<Box<dyn Connection>>)
        }
        .boxed()
    }
}

#[tokio::test]
async fn connections_of_a_port_forward_are_apart_from_each_other() {
    let (ours, theirs) = tokio::io::duplex(4096);
    let target =
        Target { namespace: "ns".into(), pod: "p".into(), uid: "u".into(), container: String::new() };
    let server = tokio::spawn(serve_port_forward(theirs, Arc::new(Ports), target));
    let mut client = Client::new(ours);
    for (first, id, port) in [(1, "0", "80"), (5, "1", "80"), (9, "2", "81")] {
        let headers = |kind| [("streamtype", kind), ("port", port), ("requestid", id)];
        client.open(first, &headers("error")).await;
        client.send(first, b"", true).await;
        client.open(first + 2, &headers("data")).await;
    }
    client.send(3, b"one", true).await;
    client.send(7, b"two", true).await;
    let said = client.hear(&[1, 3, 5, 7, 9, 11]).await;
    let refusal = "error forwarding port 81 to pod p, uid u: connection refused";
    assert_eq!(said, ["", "one", "", "two", refusal, ""]);
    drop(client);
    server.await.unwrap();
}
