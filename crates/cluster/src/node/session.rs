//! Sessions with containers: commands beside a program, and views on a program.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use pilothouse_apiserver::kubelet::{
    ExecOptions, Exit, KubeletError, LogSource, SESSION_QUEUE, Session, Streams, TerminalSize,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::container::Live;
use super::sandbox::{self, Process, Program, Terminal};

/// How much is read at once, in bytes.
const CHUNK: usize = 16 << 10;
/// How long a command's outputs may be silent after its end before they are given up: a daemon that it started may
/// hold them open for ever.
const SILENCE: Duration = Duration::from_millis(250);

/// Starts a command beside a program.
pub(super) async fn exec(live: Live, options: ExecOptions) -> Result<Session, KubeletError> {
    let ExecOptions { command, streams } = options;
    let mut program = Program { argv: command, tty: streams.tty, stdin: streams.stdin, ..live.program };
    if streams.tty && !program.env.iter().any(|(name, _)| name == "TERM") {
        program.env.push(("TERM".to_owned(), "xterm".to_owned()));
    }
    let process = match sandbox::start_inside(live.inside, program).await {
        Ok(process) => process,
        Err(error) => return Ok(failed(streams, &error.to_string())),
    };
    Ok(converse(process, streams))
}

/// A session that has ended before it began: the client hears why on the error channel.
fn failed(streams: Streams, text: &str) -> Session {
    let closed = |wanted: bool| wanted.then(|| mpsc::channel(1).1);
    Session {
        stdin: streams.stdin.then(|| mpsc::channel(1).0),
        stdout: closed(streams.stdout),
        stderr: closed(streams.stderr),
        resize: streams.tty.then(|| mpsc::channel(1).0),
        exit: std::future::ready(Exit::Failed(text.to_owned())).boxed(),
    }
}

fn converse(mut process: Process, streams: Streams) -> Session {
    let (ended, has_ended) = watch::channel(false);
    let (mut stdin, mut stdout, mut stderr, mut resize) = (None, None, None, None);
    if let Some(terminal) = process.terminal.take() {
        if streams.stdout {
            let (sender, receiver) = mpsc::channel(SESSION_QUEUE);
            let reader = terminal.clone();
            tokio::spawn(carry_terminal(reader, sender, has_ended.clone()));
            stdout = Some(receiver);
        }
        if streams.stdin {
            stdin = Some(typewriter(terminal.clone()));
        }
        resize = Some(resizer(terminal));
    } else {
        // A stream that the client does not want is still read: the program is not to block on it.
        let carry = |wanted: bool, stream: Option<Box<dyn AsyncRead + Send + Unpin>>| {
            let (sender, receiver) = mpsc::channel(SESSION_QUEUE);
            if let Some(stream) = stream {
                tokio::spawn(carry_pipe(stream, sender, has_ended.clone()));
            }
            wanted.then_some(receiver)
        };
        stdout = carry(streams.stdout, process.stdout.take().map(|stream| Box::new(stream) as _));
        stderr = carry(streams.stderr, process.stderr.take().map(|stream| Box::new(stream) as _));
        if let Some(mut pipe) = process.stdin.take() {
            let (sender, mut receiver) = mpsc::channel::<Bytes>(SESSION_QUEUE);
            tokio::spawn(async move {
                while let Some(data) = receiver.recv().await {
                    if pipe.write_all(&data).await.is_err() {
                        return;
                    }
                }
            });
            stdin = Some(sender);
        }
    }
    let (mut tell, told) = oneshot::channel();
    tokio::spawn(async move {
        tokio::select! {
            code = process.wait() => {
                ended.send_replace(true);
                let _ = tell.send(Exit::Code(code));
            }
            // Nobody waits any more: dropping the process kills it.
            () = tell.closed() => {}
        }
    });
    let exit = async { told.await.unwrap_or_else(|_| Exit::Failed("the command was given up".to_owned())) };
    Session { stdin, stdout, stderr, resize, exit: exit.boxed() }
}

async fn carry_pipe(
    mut stream: impl AsyncRead + Unpin,
    to: mpsc::Sender<Bytes>,
    ended: watch::Receiver<bool>,
) {
    let mut buffer = vec![0; CHUNK];
    while let Some(Ok(length @ 1..)) = unless_silent(stream.read(&mut buffer), &ended).await {
        // Sent into the void when the client does not want it.
        let _ = to.send(Bytes::copy_from_slice(buffer.get(..length).unwrap_or_default())).await;
    }
}

async fn carry_terminal(terminal: Terminal, to: mpsc::Sender<Bytes>, ended: watch::Receiver<bool>) {
    while let Some(Some(data)) = unless_silent(terminal.read(), &ended).await {
        let _ = to.send(data).await;
    }
}

/// What is read next; `None` when the program has ended and nothing has come for a while.
async fn unless_silent<F: Future>(read: F, ended: &watch::Receiver<bool>) -> Option<F::Output> {
    let mut ended = ended.clone();
    let silence = async {
        if ended.wait_for(|ended| *ended).await.is_err() {
            // The session is over.
        }
        tokio::time::sleep(SILENCE).await;
    };
    tokio::select! {
        biased;
        read = read => Some(read),
        () = silence => None,
    }
}

fn typewriter(terminal: Terminal) -> mpsc::Sender<Bytes> {
    let (sender, mut receiver) = mpsc::channel::<Bytes>(SESSION_QUEUE);
    tokio::spawn(async move {
        while let Some(data) = receiver.recv().await {
            if terminal.write(&data).await.is_err() {
                return;
            }
        }
        // What ends input on a terminal is a character.
        let _ = terminal.write(&[4]).await;
    });
    sender
}

fn resizer(terminal: Terminal) -> mpsc::Sender<TerminalSize> {
    let (sender, mut receiver) = mpsc::channel::<TerminalSize>(SESSION_QUEUE);
    tokio::spawn(async move {
        while let Some(size) = receiver.recv().await {
            terminal.resize(size.width, size.height);
        }
    });
    sender
}

/// Connects to the streams of a program, from now on. A client that is far behind misses some.
pub(super) fn attach(live: Live, streams: Streams) -> Session {
    let Live { output, stdin, terminal, exit, .. } = live;
    let (sender, stdout) = mpsc::channel(SESSION_QUEUE);
    let (error_sender, stderr) = mpsc::channel(SESSION_QUEUE);
    let view = watch_output(output.subscribe(), sender, error_sender, exit.clone());
    tokio::spawn(view);
    let mut exit = exit;
    let ended = async move {
        match exit.wait_for(Option::is_some).await.map(|code| *code) {
            Ok(Some(code)) => Exit::Code(code),
            _ => Exit::Failed("the container is gone".to_owned()),
        }
    };
    Session {
        stdin: stdin.filter(|_| streams.stdin),
        stdout: streams.stdout.then_some(stdout),
        stderr: streams.stderr.then_some(stderr),
        resize: terminal.filter(|_| streams.tty).map(resizer),
        exit: ended.boxed(),
    }
}

async fn watch_output(
    mut output: broadcast::Receiver<(LogSource, Bytes)>,
    stdout: mpsc::Sender<Bytes>,
    stderr: mpsc::Sender<Bytes>,
    mut exit: watch::Receiver<Option<i32>>,
) {
    loop {
        let next = tokio::select! {
            biased;
            next = output.recv() => next,
            _ = exit.wait_for(Option::is_some) => return,
        };
        match next {
            Ok((LogSource::Stdout, data)) => drop(stdout.send(data).await),
            Ok((LogSource::Stderr, data)) => drop(stderr.send(data).await),
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return,
        }
        if stdout.is_closed() && stderr.is_closed() {
            return;
        }
    }
}
