//! One container: started, watched, asked how it is, stopped, and started again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use nix::sys::signal::Signal;
use parking_lot::Mutex;
use pilothouse_apiserver::kubelet::LogSource;
use pilothouse_value::{Timestamp, Value};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::api::Tone;
use super::logs::Log;
use super::pod::PodContext;
use super::probe::Subject;
use super::program;
use super::sandbox::{self, Inside, Process, Program, Terminal};
use super::spec::{self, RestartPolicy};
use super::status::{Ended, Snapshot, State};

/// How much is read from a program at once, in bytes.
const CHUNK: usize = 16 << 10;
/// How many chunks an attached client may be behind before it misses some.
const ATTACH_QUEUE: usize = 256;
/// How long after a program's end its last words are waited for. All that could hold its pipes open is killed by then: a busy
/// machine alone takes time to read what is in them.
const LAST_WORDS: Duration = Duration::from_secs(20);
/// How long to wait before a container that could not be made is tried again.
const CONFIG_RETRY: Duration = Duration::from_secs(2);
/// A container that ran so long is no longer thought to crash in a loop.
const FORGIVEN: Duration = Duration::from_secs(600);
/// The longest termination message, in bytes.
const MAX_MESSAGE: usize = 4096;

/// When to stop: `Some` is how long the program has after SIGTERM.
pub(super) type Stop = watch::Receiver<Option<Duration>>;

/// What others see of a container: its state, and its program while it runs.
pub(super) struct Container {
    pub(super) document: Value,
    state: watch::Sender<Snapshot>,
    live: Mutex<Option<Live>>,
    logs: Mutex<Logs>,
}

#[derive(Default)]
struct Logs {
    /// Which run the current log is of.
    run: i64,
    current: Option<Log>,
    previous: Option<Log>,
}

/// A program that runs.
#[derive(Clone)]
pub(super) struct Live {
    pub(super) inside: Inside,
    /// Environment, directory and user, for commands beside it.
    pub(super) program: Program,
    /// What it writes from now on.
    pub(super) output: broadcast::Sender<(LogSource, Bytes)>,
    pub(super) stdin: Option<mpsc::Sender<Bytes>>,
    pub(super) terminal: Option<Terminal>,
    /// Its exit code once it has ended.
    pub(super) exit: watch::Receiver<Option<i32>>,
}

/// Why a run ended that was not the program's own wish.
enum Verdict {
    Ended(i32),
    /// A probe has failed too often.
    Unhealthy(String),
    Stopped,
}

impl Container {
    pub(super) fn new(document: Value, reason: &str) -> Arc<Self> {
        let snapshot = Snapshot::waiting(&document, reason);
        Arc::new(Self {
            document,
            state: watch::Sender::new(snapshot),
            live: Mutex::default(),
            logs: Mutex::default(),
        })
    }

    pub(super) fn name(&self) -> &str {
        self.document.str_at(&["name"]).unwrap_or_default()
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        self.state.borrow().clone()
    }

    pub(super) fn changes(&self) -> watch::Receiver<Snapshot> {
        self.state.subscribe()
    }

    /// The program, if it runs.
    pub(super) fn live(&self) -> Option<Live> {
        self.live.lock().clone()
    }

    /// The program, if it runs, for a client that attaches. With `stdinOnce` the first who types has the only input: when
    /// that ends, the program's does.
    pub(super) fn live_to_attach(&self, types: bool) -> Option<Live> {
        let mut live = self.live.lock();
        let copy = live.clone();
        if types
            && self.document.get("stdinOnce").and_then(Value::as_bool) == Some(true)
            && let Some(live) = &mut *live
        {
            live.stdin = None;
        }
        copy
    }

    /// The log of this run or the run before.
    pub(super) fn log(&self, previous: bool) -> Option<Log> {
        let logs = self.logs.lock();
        if previous { logs.previous.clone() } else { logs.current.clone() }
    }

    /// The reason for which it waits, for messages.
    pub(super) fn why_waiting(&self) -> String {
        match &self.state.borrow().state {
            State::Waiting { reason, .. } => reason.clone(),
            _ => "ContainerCreating".to_owned(),
        }
    }

    /// Takes over what an earlier life of the node has left in the status: how often it was started, and that a run
    /// which was not seen to end is lost.
    pub(super) fn resume(&self, old: &Value, now: Timestamp) {
        let restarts = old.i64_at(&["restartCount"]).unwrap_or(0);
        let started = old.str_at(&["state", "running", "startedAt"]);
        self.state.send_modify(|snapshot| {
            snapshot.restarts = restarts;
            if let Some(started) = started {
                snapshot.last = Some(Ended {
                    code: 137,
                    reason: "ContainerStatusUnknown".to_owned(),
                    message: "The container could not be located when the pod was terminated".to_owned(),
                    started: Timestamp::parse(started).ok(),
                    finished: now,
                    id: old.str_at(&["containerID"]).unwrap_or_default().to_owned(),
                });
            }
        });
    }

    /// Changes what others see.
    pub(super) fn set(&self, context: &PodContext, change: impl FnOnce(&mut Snapshot)) {
        self.state.send_modify(change);
        context.changed.notify_one();
    }

    /// Its turn has come.
    pub(super) fn creating(&self, context: &PodContext) {
        self.wait_for(context, "ContainerCreating", "");
    }

    fn wait_for(&self, context: &PodContext, reason: &str, message: &str) {
        let state = State::Waiting { reason: reason.to_owned(), message: message.to_owned() };
        self.set(context, |snapshot| {
            (snapshot.ready, snapshot.started) = (false, false);
            if let State::Terminated(ended) = std::mem::replace(&mut snapshot.state, state) {
                snapshot.last = Some(ended);
            }
        });
    }

    /// Runs the container until it has ended for good or is stopped. Returns the last exit code, if there was a run.
    pub(super) async fn run(
        &self,
        context: &PodContext,
        policy: RestartPolicy,
        mut stop: Stop,
    ) -> Option<i32> {
        let mut crashes = 0u32;
        let mut code = None;
        let unknown = self.snapshot().last;
        if let Some(lost) = unknown {
            // A run that an earlier life of the node did not see end.
            if !policy.restarts(lost.code) {
                self.set(context, |snapshot| {
                    snapshot.last = None;
                    snapshot.state = State::Terminated(lost.clone());
                });
                return Some(lost.code);
            }
            self.set(context, |snapshot| snapshot.restarts += 1);
        }
        loop {
            if stop.borrow().is_some() {
                return code;
            }
            let began = Instant::now();
            match self.run_once(context, &mut stop).await {
                Err(refused) => {
                    // Said once, however often it is tried.
                    let news = match &self.snapshot().state {
                        State::Waiting { message, .. } => *message != refused.message,
                        _ => true,
                    };
                    self.wait_for(context, refused.reason, &refused.message);
                    if news {
                        let message = format!("Error: {}", refused.message);
                        context.event(self.name(), Tone::Warning, "Failed", &message).await;
                    }
                    if paused(CONFIG_RETRY, &mut stop).await {
                        return code;
                    }
                    continue;
                }
                Ok(ended) => code = Some(ended),
            }
            let ended = code.unwrap_or_default();
            if stop.borrow().is_some() || !policy.restarts(ended) {
                return code;
            }
            if began.elapsed() >= FORGIVEN {
                crashes = 0;
            }
            let pause = context.settings.back_off(crashes);
            crashes = crashes.saturating_add(1);
            if !pause.is_zero() {
                let message = format!(
                    "back-off {}s restarting failed container={} pod={}",
                    pause.as_secs(),
                    self.name(),
                    context.label()
                );
                self.wait_for(context, "CrashLoopBackOff", &message);
                let message = format!(
                    "Back-off restarting failed container {} in pod {}",
                    self.name(),
                    context.label()
                );
                context.event(self.name(), Tone::Warning, "BackOff", &message).await;
                if paused(pause, &mut stop).await {
                    // It ends as it last was, not as waiting.
                    self.set(context, |snapshot| {
                        if let Some(last) = snapshot.last.take() {
                            snapshot.state = State::Terminated(last);
                        }
                    });
                    return code;
                }
            }
            self.set(context, |snapshot| snapshot.restarts += 1);
        }
    }

    /// One run. The exit code, once it has ended.
    async fn run_once(&self, context: &PodContext, stop: &mut Stop) -> Result<i32, program::ConfigError> {
        let name = self.name().to_owned();
        let broken = |what: &str, error: &dyn std::fmt::Display| program::ConfigError {
            reason: "CreateContainerError",
            message: format!("{what}: {error}"),
        };
        let run = self.snapshot().restarts;
        let id = format!("process://{}-{name}-{run}", context.uid);
        let log = self.open_log(context, run).map_err(|error| broken("opening the log", &error))?;
        std::fs::write(context.termination_file(&name), "")
            .map_err(|error| broken("making the termination log", &error))?;
        let (program, surroundings) = program::prepare(context, &self.document).await?;
        context.event(&name, Tone::Normal, "Created", "Container created").await;
        let mut process =
            match sandbox::start(context.settings.isolation, program.clone(), surroundings).await {
                Ok(process) => process,
                Err(error) => {
                    let now = context.api.now();
                    log.end(now);
                    let message = error.to_string();
                    context.event(&name, Tone::Warning, "Failed", &format!("Error: {message}")).await;
                    let reason = "StartError".to_owned();
                    let ended = Ended { code: 128, reason, message, started: None, finished: now, id };
                    self.set(context, |snapshot| {
                        (snapshot.ready, snapshot.started) = (false, false);
                        snapshot.state = State::Terminated(ended);
                    });
                    return Ok(128);
                }
            };
        let started = context.api.now();
        let (output, _) = broadcast::channel(ATTACH_QUEUE);
        let (exit, exited) = watch::channel(None);
        let mut pumps = JoinSet::new();
        let stdin = connect(context, &mut process, &program, &log, &output, &mut pumps);
        let live = Live {
            inside: process.inside(),
            program: program.clone(),
            output,
            stdin,
            terminal: process.terminal.clone(),
            exit: exited,
        };
        let subject = Subject {
            container: self.document.clone(),
            pod_ip: context.ip_text.clone(),
            inside: live.inside.clone(),
            program,
        };
        *self.live.lock() = Some(live);
        let has = |probe: &str| self.document.get(probe).is_some();
        let (startup, readiness) = (has("startupProbe"), has("readinessProbe"));
        self.set(context, |snapshot| {
            if let State::Terminated(ended) =
                std::mem::replace(&mut snapshot.state, State::Running { since: started })
            {
                snapshot.last = Some(ended);
            }
            snapshot.id.clone_from(&id);
            snapshot.started = !startup;
            snapshot.ready = !startup && !readiness;
        });
        context.event(&name, Tone::Normal, "Started", "Container started").await;

        let verdict = tokio::select! {
            code = process.wait() => Verdict::Ended(code),
            _ = stop.wait_for(Option::is_some) => Verdict::Stopped,
            why = self.look_after(context, &subject) => Verdict::Unhealthy(why),
        };
        let code = match verdict {
            Verdict::Ended(code) => code,
            Verdict::Stopped => {
                context.event(&name, Tone::Normal, "Killing", &format!("Stopping container {name}")).await;
                self.end(context, &process, &subject, stop.clone()).await
            }
            Verdict::Unhealthy(why) => {
                let message = format!("Container {name} {why}, will be restarted");
                context.event(&name, Tone::Normal, "Killing", &message).await;
                let (_keep, grace) = watch::channel(Some(spec::grace_period(&context.pod())));
                self.end(context, &process, &subject, grace).await
            }
        };
        // Killed first: what the program left behind holds the pipes open.
        drop(process);
        let finished = async { while pumps.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_WORDS, finished).await;
        let now = context.api.now();
        log.end(now);
        *self.live.lock() = None;
        let _ = exit.send(Some(code));
        let reason = if code == 0 { "Completed" } else { "Error" }.to_owned();
        let message = self.last_message(context, code, &log).await;
        self.set(context, |snapshot| {
            (snapshot.ready, snapshot.started) = (false, false);
            snapshot.state =
                State::Terminated(Ended { code, reason, message, started: Some(started), finished: now, id });
        });
        Ok(code)
    }

    /// The log of the run before becomes the previous one; older ones go. Trying again to start a run is no new run.
    fn open_log(&self, context: &PodContext, run: i64) -> std::io::Result<Log> {
        let mut logs = self.logs.lock();
        if let (Some(log), true) = (&logs.current, logs.run == run) {
            return Ok(log.clone());
        }
        let dir = context.dir.join("logs").join(self.name());
        std::fs::create_dir_all(&dir)?;
        let log = Log::create(&dir.join(format!("{run}.log")))?;
        for end in ["log", "older"] {
            let _ = std::fs::remove_file(dir.join(format!("{}.{end}", run - 2)));
        }
        logs.previous = logs.current.replace(log.clone());
        logs.run = run;
        Ok(log)
    }

    async fn last_message(&self, context: &PodContext, code: i32, log: &Log) -> String {
        let text = std::fs::read(context.termination_file(self.name())).unwrap_or_default();
        let text = String::from_utf8_lossy(text.get(..MAX_MESSAGE).unwrap_or(&text)).into_owned();
        let fallback = self.document.str_at(&["terminationMessagePolicy"]) == Some("FallbackToLogsOnError");
        if !text.is_empty() || !fallback || code == 0 {
            return text;
        }
        let options = pilothouse_apiserver::kubelet::LogOptions {
            tail_lines: Some(80),
            ..pilothouse_apiserver::kubelet::LogOptions::default()
        };
        let Ok(chunks) = log.read(options, context.api.now()) else { return String::new() };
        let chunks: Vec<_> = futures::StreamExt::collect(chunks).await;
        let whole: Vec<u8> = chunks.into_iter().flatten().flatten().collect();
        let start = whole.len().saturating_sub(2048);
        String::from_utf8_lossy(whole.get(start..).unwrap_or_default()).into_owned()
    }

    /// Hook, SIGTERM, SIGKILL: all within the grace period, which may be shortened meanwhile.
    async fn end(&self, context: &PodContext, process: &Process, subject: &Subject, mut grace: Stop) -> i32 {
        let began = Instant::now();
        let hook = self.document.at(&["lifecycle", "preStop"]).cloned();
        let orderly = async {
            if let Some(hook) = hook
                && let Err(why) = subject.handle(&hook).await
            {
                let message = format!("PreStopHook failed: {why}");
                context.event(self.name(), Tone::Warning, "FailedPreStopHook", &message).await;
            }
            process.signal(Signal::SIGTERM);
            std::future::pending::<()>().await;
        };
        let deadline = async {
            loop {
                let left = grace.borrow_and_update().unwrap_or_default();
                tokio::select! {
                    () = tokio::time::sleep_until(began + left) => return,
                    changed = grace.changed() => if changed.is_err() {
                        tokio::time::sleep_until(began + left).await;
                        return;
                    },
                }
            }
        };
        tokio::select! {
            code = process.wait() => return code,
            () = deadline => {}
            () = orderly => {}
        }
        process.signal(Signal::SIGKILL);
        process.wait().await
    }
}

/// Waits; `true` when it was told to stop meanwhile.
async fn paused(pause: Duration, stop: &mut Stop) -> bool {
    tokio::time::timeout(pause, stop.wait_for(Option::is_some)).await.is_ok()
}

/// Leads a program's streams to its log and to whoever is attached. Returns where its input goes.
fn connect(
    context: &PodContext,
    process: &mut Process,
    program: &Program,
    log: &Log,
    output: &broadcast::Sender<(LogSource, Bytes)>,
    pumps: &mut JoinSet<()>,
) -> Option<mpsc::Sender<Bytes>> {
    let sink = |source| {
        let (log, output, api) = (log.clone(), output.clone(), context.api.clone());
        move |data: Bytes| {
            log.write(source, &data, api.now());
            // Nobody attached is no error.
            let _ = output.send((source, data));
        }
    };
    if let Some(terminal) = process.terminal.clone() {
        let write = sink(LogSource::Stdout);
        let reader = terminal.clone();
        pumps.spawn(async move {
            while let Some(data) = reader.read().await {
                write(data);
            }
        });
        let (sender, mut typed) = mpsc::channel::<Bytes>(16);
        tokio::spawn(async move {
            while let Some(data) = typed.recv().await {
                if terminal.write(&data).await.is_err() {
                    return;
                }
            }
        });
        return Some(sender);
    }
    if let Some(stream) = process.stdout.take() {
        pumps.spawn(pump(stream, sink(LogSource::Stdout)));
    }
    if let Some(stream) = process.stderr.take() {
        pumps.spawn(pump(stream, sink(LogSource::Stderr)));
    }
    let mut stdin = process.stdin.take().filter(|_| program.stdin)?;
    let (sender, mut typed) = mpsc::channel::<Bytes>(16);
    tokio::spawn(async move {
        while let Some(data) = typed.recv().await {
            if stdin.write_all(&data).await.is_err() {
                return;
            }
        }
    });
    Some(sender)
}

async fn pump(mut stream: impl AsyncRead + Unpin, write: impl Fn(Bytes)) {
    let mut buffer = vec![0; CHUNK];
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        write(Bytes::copy_from_slice(buffer.get(..length).unwrap_or_default()));
    }
}

/// A pod's containers by name.
pub(super) type Containers = HashMap<String, Arc<Container>>;
