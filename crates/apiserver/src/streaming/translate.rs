//! Exec and attach over WebSocket for a kubelet that speaks SPDY alone: what goes through the channels of `v5.channel.k8s.io` goes
//! through the streams of a SPDY connection, and how it ended is told in the words of a real server.
//!
//! Source of behaviour: `apiserver/pkg/util/proxy` (`StreamTranslatorHandler`) and client-go's `tools/remotecommand`.

use http::header::{CONNECTION, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use http::{Request, Response};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use pilothouse_value::{Status, go_json, octets, parse};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::spdy;
use super::upgrade::{Framing, framing, has_token, upgraded, websocket, websocket_head};
use super::websocket::{Channels, Dialect, converse};
use crate::kubelet::Streams;

/// What is translated: the only protocol over WebSocket in which input can be closed alone, as in SPDY.
const TRANSLATED: &str = "v5.channel.k8s.io";
/// How many messages wait in a channel before its sender waits.
const QUEUE: usize = 16;
/// What a client is told of a program that has ended well, with its members in Go's order as all that is told here.
const SUCCESS: &str = r#"{"metadata":{},"status":"Success"}"#;
/// The beginning of everything else.
const FAILURE: &str = r#"{"metadata":{},"status":"Failure","message":"#;

/// A session over WebSocket that is to be translated, and has not begun.
pub(crate) struct Translation {
    on_upgrade: OnUpgrade,
    dialect: Dialect,
    head: Response<()>,
}

impl Translation {
    /// The protocols that a kubelet is offered, the best first.
    pub(crate) const OFFERED: [&str; 5] = [
        "v5.channel.k8s.io",
        "v4.channel.k8s.io",
        "v3.channel.k8s.io",
        "v2.channel.k8s.io",
        "channel.k8s.io",
    ];

    /// `None` for a request that is passed on as it is.
    ///
    /// # Errors
    /// 400 for a handshake without a key.
    pub(crate) fn of<B>(request: &mut Request<B>) -> Result<Option<Self>, Status> {
        let headers = request.headers();
        let is_socket =
            has_token(headers, &CONNECTION, "upgrade") && has_token(headers, &UPGRADE, "websocket");
        if !is_socket || !has_token(headers, &SEC_WEBSOCKET_PROTOCOL, TRANSLATED) {
            return Ok(None);
        }
        let (Framing::WebSocket { accept }, Some(dialect)) = (framing(headers)?, Dialect::named(TRANSLATED))
        else {
            return Ok(None);
        };
        let head = websocket_head(&accept, Some(TRANSLATED))?;
        Ok(Some(Self { on_upgrade: hyper::upgrade::on(request), dialect, head }))
    }

    /// Answers with the switch of protocols; whether the kubelet can be reached is told inside of the WebSocket. `kubelet`
    /// gives its connection and the protocol that it has chosen, or what is told the client.
    pub(crate) fn serve<F>(self, streams: Streams, kubelet: F, shutdown: CancellationToken) -> Response<()>
    where
        F: Future<Output = Result<(Upgraded, String), String>> + Send + 'static,
    {
        let Self { on_upgrade, dialect, head } = self;
        upgraded(on_upgrade, move |io| async move {
            let session = translate(websocket(io).await, dialect, streams, kubelet);
            tokio::select! {
                () = session => {}
                () = shutdown.cancelled() => {}
            }
        });
        head
    }
}

async fn translate<F>(
    socket: tokio_tungstenite::WebSocketStream<super::upgrade::Io>,
    dialect: Dialect,
    streams: Streams,
    kubelet: F,
) where
    F: Future<Output = Result<(Upgraded, String), String>>,
{
    let (channels, remote) = pipes(streams);
    let (said, last) = oneshot::channel();
    let far = async move {
        let ended = match kubelet.await {
            Ok((io, protocol)) => talk(TokioIo::new(io), &protocol, streams, remote).await,
            Err(why) => {
                drop(remote);
                Err(why)
            }
        };
        let word = match ended {
            Ok(word) => word,
            Err(why) => internal(&why),
        };
        let _gone = said.send(word);
        // The client hangs up.
        std::future::pending::<()>().await;
    };
    let near = converse(socket, dialect, channels, streams, async move { last.await.ok() });
    tokio::select! {
        () = near => {}
        () = far => {}
    }
}

/// Both ends of what goes through the channels.
fn pipes(streams: Streams) -> (Channels, spdy::Remote) {
    fn pipe<T>(asked: bool) -> (Option<mpsc::Sender<T>>, Option<mpsc::Receiver<T>>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (asked.then_some(sender), asked.then_some(receiver))
    }
    let (typed, stdin) = pipe(streams.stdin);
    let (written, stdout) = pipe(streams.stdout);
    // A terminal has no separate standard error.
    let (complained, stderr) = pipe(streams.stderr && !streams.tty);
    let (resized, sizes) = pipe(streams.tty);
    (
        Channels { stdin: typed, stdout, stderr, resize: resized },
        spdy::Remote { stdin, stdout: written, stderr: complained, resize: sizes },
    )
}

/// Speaks with the kubelet, and gives back how it ended.
async fn talk<S>(io: S, protocol: &str, streams: Streams, remote: spdy::Remote) -> Result<String, String>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + 'static,
{
    let style = Style::of(protocol)?;
    let word = spdy::converse(io, style.resizes(), streams, remote).await?;
    style.ended(&word)
}

/// How a kubelet tells how a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// A `Status` (v4 and v5).
    Document,
    /// Text (v2; v3 tells sizes, too).
    Text { resizes: bool },
    /// Text, in the words of the oldest protocol.
    OldText,
}

impl Style {
    fn of(protocol: &str) -> Result<Style, String> {
        Ok(match protocol {
            "v5.channel.k8s.io" | "v4.channel.k8s.io" => Style::Document,
            "v3.channel.k8s.io" => Style::Text { resizes: true },
            "v2.channel.k8s.io" => Style::Text { resizes: false },
            "channel.k8s.io" | "" => Style::OldText,
            other => {
                return Err(format!("the kubelet has chosen a protocol that was not offered: {other:?}"));
            }
        })
    }

    fn resizes(self) -> bool {
        matches!(self, Style::Document | Style::Text { resizes: true })
    }

    /// What the client is told of an end.
    ///
    /// # Errors
    /// What is told as an internal error.
    fn ended(self, word: &[u8]) -> Result<String, String> {
        if word.is_empty() {
            return Ok(SUCCESS.to_owned());
        }
        let text = octets::text(word);
        match self {
            Style::Document => of_document(word, &text),
            Style::Text { .. } => Err(format!("error executing remote command: {text}")),
            Style::OldText => Err(format!("Error executing remote command: {text}")),
        }
    }
}

fn of_document(word: &[u8], text: &str) -> Result<String, String> {
    const WRONG: &str = "error stream protocol error";
    let status = parse::json(word).map_err(|error| format!("{WRONG}: {error} in {text:?}"))?.value;
    match status.str_at(&["status"]) {
        Some("Success") => return Ok(SUCCESS.to_owned()),
        Some("Failure") => {}
        _ => return Err(format!("{WRONG}: unknown error")),
    }
    if status.str_at(&["reason"]) != Some("NonZeroExitCode") {
        return Err(status.str_at(&["message"]).unwrap_or_default().to_owned());
    }
    if status.at(&["details"]).is_none() {
        return Err(format!("{WRONG}: details must be set"));
    }
    let causes = status.items_at(&["details", "causes"]);
    let cause = causes.iter().find(|cause| cause.str_at(&["reason"]) == Some("ExitCode"));
    let cause = cause.ok_or_else(|| format!("{WRONG}: no ExitCode cause given"))?;
    let code = cause.str_at(&["message"]).unwrap_or_default();
    let code: u8 = code.parse().map_err(|_| format!("{WRONG}: invalid exit code value {code:?}"))?;
    Ok(format!(
        "{FAILURE}\"command terminated with non-zero exit code: command terminated with exit code {code}\",\
         \"reason\":\"NonZeroExitCode\",\"details\":{{\"causes\":[{{\"reason\":\"ExitCode\",\"message\":\"{code}\"}}]}}}}"
    ))
}

/// `NewInternalError`, which does not say what kind of object it is.
fn internal(why: &str) -> String {
    let quoted = |text: &str| {
        let mut out = Vec::new();
        go_json::string(text, &mut out);
        octets::text(&out).into_owned()
    };
    let (message, cause) = (quoted(&format!("Internal error occurred: {why}")), quoted(why));
    format!(
        "{FAILURE}{message},\"reason\":\"InternalError\",\"details\":{{\"causes\":[{{\"message\":{cause}}}]}},\"code\":500}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubelet::{Exit, Session, TerminalSize};
    use crate::streaming::spdy::{Dialect, serve_session};
    use bytes::Bytes;
    use futures::FutureExt as _;

    /// A kubelet whose program sends its input back and ends so.
    async fn held(protocol: &str, exit: Exit) -> (Result<String, String>, String, Option<TerminalSize>) {
        let (ours, theirs) = tokio::io::duplex(1024);
        let (stdin, mut typed) = mpsc::channel::<Bytes>(4);
        let (output, stdout) = mpsc::channel(4);
        let (resize, mut sizes) = mpsc::channel(4);
        let program = async move {
            while let Some(data) = typed.recv().await {
                output.send(data).await.unwrap();
            }
        };
        let program = tokio::spawn(program);
        let exit = async move {
            program.await.unwrap();
            exit
        };
        let session = Session {
            stdin: Some(stdin),
            stdout: Some(stdout),
            stderr: None,
            resize: Some(resize),
            exit: exit.boxed(),
        };
        let streams = Streams { stdin: true, stdout: true, stderr: false, tty: true };
        let dialect = Dialect::choose(&[protocol.to_owned()]).unwrap().1;
        tokio::spawn(serve_session(theirs, dialect, session, streams));
        let (channels, remote) = pipes(streams);
        let client = async move {
            let Channels { stdin, stdout, resize, .. } = channels;
            let size = TerminalSize { width: 80, height: 24 };
            resize.unwrap().send(size).await.unwrap();
            let stdin = stdin.unwrap();
            for part in ["hello ", "world"] {
                stdin.send(part.into()).await.unwrap();
            }
            let size = if protocol == "v2.channel.k8s.io" { None } else { sizes.recv().await };
            drop(stdin);
            let (mut stdout, mut said) = (stdout.unwrap(), Vec::new());
            while let Some(part) = stdout.recv().await {
                said.extend_from_slice(&part);
            }
            (String::from_utf8(said).unwrap(), size)
        };
        let (ended, (said, size)) = tokio::join!(talk(ours, protocol, streams, remote), client);
        (ended, said, size)
    }

    #[tokio::test]
    async fn a_session_is_carried_to_a_kubelet_with_its_sizes_and_its_exit_code() {
        let (ended, said, size) = held("v4.channel.k8s.io", Exit::Code(7)).await;
        assert_eq!((said.as_str(), size), ("hello world", Some(TerminalSize { width: 80, height: 24 })));
        let text = concat!(
            r#"{"metadata":{},"status":"Failure","#,
            r#""message":"command terminated with non-zero exit code: command terminated with exit code 7","#,
            r#""reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}"#,
        );
        assert_eq!(ended.unwrap(), text);
    }

    #[tokio::test]
    async fn success_is_told_whatever_the_protocol() {
        for protocol in ["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io"] {
            let (ended, said, _) = held(protocol, Exit::Code(0)).await;
            assert_eq!(said, "hello world");
            assert_eq!(ended.unwrap(), r#"{"metadata":{},"status":"Success"}"#);
        }
    }

    #[test]
    fn what_an_elder_kubelet_says_is_an_error() {
        let told = |style: &str| Style::of(style).unwrap().ended(b"no such file").unwrap_err();
        assert_eq!(told("v2.channel.k8s.io"), "error executing remote command: no such file");
        assert_eq!(told(""), "Error executing remote command: no such file");
        assert!(told("v4.channel.k8s.io").starts_with("error stream protocol error: "));
    }

    #[tokio::test(start_paused = true)]
    async fn a_kubelet_that_accepts_no_stream_is_given_up() {
        let (ours, theirs) = tokio::io::duplex(1024);
        let streams = Streams { stdout: true, ..Streams::default() };
        let ended = talk(ours, "v4.channel.k8s.io", streams, pipes(streams).1).await;
        assert_eq!(ended.unwrap_err(), "Timeout occurred");
        drop(theirs);
    }
}
