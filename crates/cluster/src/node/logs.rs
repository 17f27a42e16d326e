//! Logs of containers, in files: written line by line with the time, read back by options, followed while they grow.
//!
//! A line is `TIME SOURCE TAG TEXT` as the container runtime interface has it; the tag `P` marks a piece of a line that
//! goes on. A log is at most two files of [`MAX_FILE`] bytes: when the newer is full it takes the older's place.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::stream::{self, BoxStream, StreamExt};
use parking_lot::Mutex;
use pilothouse_apiserver::kubelet::{LogOptions, LogSource};
use pilothouse_value::Timestamp;
use tokio::sync::watch;

/// When a file is full, in bytes.
const MAX_FILE: u64 = 10 << 20;
/// The longest piece of a line, in bytes.
const MAX_LINE: usize = 16 << 10;
/// How much a reader hands on at once, in bytes.
const CHUNK: usize = 32 << 10;

/// The log of one run of a container. Clones are the same log.
#[derive(Clone)]
pub(super) struct Log(Arc<Inner>);

struct Inner {
    path: PathBuf,
    writer: Mutex<Writer>,
    /// What readers who follow wait on.
    progress: watch::Sender<Progress>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Progress {
    written: u64,
    /// How many times the files were turned.
    turns: u64,
    ended: bool,
}

struct Writer {
    file: File,
    length: u64,
    /// What came without its end yet, of stdout and stderr.
    pending: [BytesMut; 2],
}

impl Log {
    /// Begins a log at `path`.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let length = file.metadata()?.len();
        let writer = Mutex::new(Writer { file, length, pending: Default::default() });
        Ok(Self(Arc::new(Inner { path: path.to_owned(), writer, progress: watch::Sender::default() })))
    }

    /// Adds what a program wrote. A disk that is full loses lines, not the program.
    pub(super) fn write(&self, source: LogSource, data: &[u8], now: Timestamp) {
        let mut writer = self.0.writer.lock();
        writer.pending(source).extend_from_slice(data);
        let mut text = Vec::with_capacity(data.len() + 64);
        loop {
            let pending = writer.pending(source);
            let (line, whole) = match pending.iter().take(MAX_LINE).position(|byte| *byte == b'\n') {
                Some(end) => (pending.split_to(end + 1), true),
                None if pending.len() >= MAX_LINE => (pending.split_to(MAX_LINE), false),
                None => break,
            };
            entry(&mut text, source, &line, whole, now);
        }
        self.append(&mut writer, &text);
    }

    /// The program has ended: no more will come.
    pub(super) fn end(&self, now: Timestamp) {
        let mut writer = self.0.writer.lock();
        let mut text = Vec::new();
        for source in [LogSource::Stdout, LogSource::Stderr] {
            let rest = writer.pending(source).split();
            if !rest.is_empty() {
                // The last line had no end; it gets none when it is read.
                entry(&mut text, source, &rest, false, now);
            }
        }
        self.append(&mut writer, &text);
        self.0.progress.send_modify(|progress| progress.ended = true);
    }

    fn append(&self, writer: &mut Writer, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        let mut turned = 0;
        if writer.length >= MAX_FILE
            && std::fs::rename(&self.0.path, older(&self.0.path)).is_ok()
            && let Ok(file) = OpenOptions::new().create(true).append(true).open(&self.0.path)
        {
            (writer.file, writer.length, turned) = (file, 0, 1);
        }
        match writer.file.write_all(text) {
            Ok(()) => writer.length += text.len() as u64,
            Err(error) => tracing::warn!(path = %self.0.path.display(), %error, "a log could not be written"),
        }
        self.0.progress.send_modify(|progress| {
            progress.written += text.len() as u64;
            progress.turns += turned;
        });
    }

    /// Reads by options. With `follow`, until the program has ended.
    ///
    /// # Errors
    /// When the log's files cannot be opened.
    pub(super) fn read(
        &self,
        options: LogOptions,
        now: Timestamp,
    ) -> io::Result<BoxStream<'static, io::Result<Bytes>>> {
        let mut progress = self.0.progress.subscribe();
        let seen = *progress.borrow_and_update();
        let mut selection = Selection::new(&options, now);
        let mut old = VecDeque::new();
        let mut take = |file: File| -> io::Result<u64> {
            let mut reader = BufReader::new(file);
            let end = selection.read(&mut reader, &mut |text| {
                old.push_back(text);
                if options.tail_lines.is_some_and(|lines| old.len() > lines) {
                    old.pop_front();
                }
            })?;
            Ok(end)
        };
        match File::open(older(&self.0.path)) {
            Ok(file) => drop(take(file)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let position = take(File::open(&self.0.path)?)?;
        let state = Reading {
            path: self.0.path.clone(),
            progress,
            turns: seen.turns,
            position,
            ready: old,
            selection,
            follow: options.follow,
            left: options.limit_bytes.unwrap_or(u64::MAX),
        };
        Ok(stream::unfold(state, Reading::next).boxed())
    }
}

impl Writer {
    fn pending(&mut self, source: LogSource) -> &mut BytesMut {
        let [stdout, stderr] = &mut self.pending;
        match source {
            LogSource::Stdout => stdout,
            LogSource::Stderr => stderr,
        }
    }
}

fn older(path: &Path) -> PathBuf {
    path.with_extension("older")
}

fn entry(text: &mut Vec<u8>, source: LogSource, line: &[u8], whole: bool, now: Timestamp) {
    let source = match source {
        LogSource::Stdout => "stdout",
        LogSource::Stderr => "stderr",
    };
    let tag = if whole { 'F' } else { 'P' };
    text.extend_from_slice(format!("{} {source} {tag} ", now.nano()).as_bytes());
    text.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
    text.push(b'\n');
}

/// Which lines, and how they are written.
struct Selection {
    timestamps: bool,
    stream: Option<LogSource>,
    since: Option<Timestamp>,
    /// Whether the next piece begins a line.
    fresh: bool,
}

impl Selection {
    fn new(options: &LogOptions, now: Timestamp) -> Self {
        let since = match (options.since_seconds, &options.since_time) {
            (Some(seconds), _) => {
                Some(Timestamp::from_unix_seconds(now.unix_seconds().saturating_sub(seconds)))
            }
            (None, Some(time)) => Timestamp::parse(time).ok(),
            (None, None) => None,
        };
        Self { timestamps: options.timestamps, stream: options.stream, since, fresh: true }
    }

    /// Hands on what is selected of the whole lines that are there; returns where the next reading begins.
    fn read(&mut self, reader: &mut BufReader<File>, take: &mut dyn FnMut(Bytes)) -> io::Result<u64> {
        let mut position = reader.stream_position()?;
        let mut line = Vec::new();
        loop {
            line.clear();
            let length = reader.read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                return Ok(position);
            }
            position += length as u64;
            if let Some(text) = self.select(&line) {
                take(text);
            }
        }
    }

    fn select(&mut self, entry: &[u8]) -> Option<Bytes> {
        let mut parts = entry.splitn(4, |byte| *byte == b' ');
        let (time, source, tag, text) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let wanted = match self.stream {
            None => true,
            Some(LogSource::Stdout) => source == b"stdout",
            Some(LogSource::Stderr) => source == b"stderr",
        };
        let recent = self.since.is_none_or(|since| {
            std::str::from_utf8(time)
                .ok()
                .and_then(|time| Timestamp::parse(time).ok())
                .is_some_and(|time| time >= since)
        });
        if !(wanted && recent) {
            return None;
        }
        let whole = tag == b"F";
        let mut out = BytesMut::with_capacity(entry.len());
        if self.timestamps && self.fresh {
            out.extend_from_slice(time);
            out.extend_from_slice(b" ");
        }
        self.fresh = whole;
        out.extend_from_slice(if whole { text } else { text.strip_suffix(b"\n").unwrap_or(text) });
        Some(out.freeze())
    }
}

struct Reading {
    path: PathBuf,
    progress: watch::Receiver<Progress>,
    turns: u64,
    position: u64,
    ready: VecDeque<Bytes>,
    selection: Selection,
    follow: bool,
    /// How many bytes may still be sent.
    left: u64,
}

impl Reading {
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        while self.left > 0 {
            if !self.ready.is_empty() {
                let chunk = self.chunk();
                return Some((Ok(chunk), self));
            }
            if !self.follow {
                return None;
            }
            let progress = *self.progress.borrow_and_update();
            match self.read_on(progress) {
                Ok(()) => {}
                Err(error) => {
                    self.left = 0;
                    return Some((Err(error), self));
                }
            }
            // An end without its log: the pod is gone.
            if self.ready.is_empty() && (progress.ended || self.progress.changed().await.is_err()) {
                return None;
            }
        }
        None
    }

    fn read_on(&mut self, progress: Progress) -> io::Result<()> {
        let Self { ready, selection, .. } = self;
        let mut read = |path: &Path, position: u64| -> io::Result<u64> {
            let mut reader = BufReader::new(File::open(path)?);
            reader.seek(SeekFrom::Start(position))?;
            selection.read(&mut reader, &mut |text| ready.push_back(text))
        };
        if progress.turns > self.turns {
            // What is left of the file that we were reading. Who is two turns behind has lost the rest.
            if progress.turns == self.turns + 1 {
                read(&older(&self.path), self.position)?;
            }
            (self.turns, self.position) = (progress.turns, 0);
        }
        self.position = read(&self.path, self.position)?;
        Ok(())
    }

    /// Some of what is ready, within the limit.
    fn chunk(&mut self) -> Bytes {
        let mut out = BytesMut::new();
        while out.len() < CHUNK {
            let Some(text) = self.ready.pop_front() else { break };
            out.extend_from_slice(&text);
        }
        out.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= out.len() as u64;
        out.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_seconds(1_700_000_000 + seconds)
    }

    async fn text(log: &Log, options: LogOptions) -> String {
        let chunks: Vec<_> = log.read(options, at(10)).unwrap().collect().await;
        String::from_utf8(chunks.into_iter().flat_map(|chunk| chunk.unwrap()).collect()).unwrap()
    }

    fn log(dir: &tempfile::TempDir) -> Log {
        let log = Log::create(&dir.path().join("0.log")).unwrap();
        log.write(LogSource::Stdout, b"one\ntw", at(0));
        log.write(LogSource::Stderr, b"oops\n", at(1));
        log.write(LogSource::Stdout, b"o\nthree", at(5));
        log
    }

    #[tokio::test]
    async fn lines_are_kept_whole_and_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(&dir);
        assert_eq!(text(&log, LogOptions::default()).await, "one\noops\ntwo\n");
        log.end(at(6));
        assert_eq!(text(&log, LogOptions::default()).await, "one\noops\ntwo\nthree");
    }

    #[tokio::test]
    async fn options_select() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(&dir);
        let tail = LogOptions { tail_lines: Some(1), ..LogOptions::default() };
        assert_eq!(text(&log, tail).await, "two\n");
        let none = LogOptions { tail_lines: Some(0), ..LogOptions::default() };
        assert_eq!(text(&log, none).await, "");
        let since = LogOptions { since_seconds: Some(6), ..LogOptions::default() };
        assert_eq!(text(&log, since).await, "two\n");
        let errors = LogOptions { stream: Some(LogSource::Stderr), ..LogOptions::default() };
        assert_eq!(text(&log, errors).await, "oops\n");
        let limit = LogOptions { limit_bytes: Some(5), ..LogOptions::default() };
        assert_eq!(text(&log, limit).await, "one\no");
        let times = LogOptions { timestamps: true, tail_lines: Some(1), ..LogOptions::default() };
        assert_eq!(text(&log, times).await, format!("{} two\n", at(5).nano()));
    }

    #[tokio::test]
    async fn a_follower_sees_what_comes_and_then_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let log = log(&dir);
        let options = LogOptions { follow: true, tail_lines: Some(0), ..LogOptions::default() };
        let mut following = log.read(options, at(10)).unwrap();
        let write = async {
            log.write(LogSource::Stdout, b"\nfour\n", at(11));
            log.end(at(12));
        };
        let (first, ()) = tokio::join!(following.next(), write);
        assert_eq!(first.unwrap().unwrap(), "three\nfour\n");
        assert!(following.next().await.is_none());
    }

    #[tokio::test]
    async fn a_log_is_bounded_and_a_follower_crosses_the_turn() {
        let dir = tempfile::tempdir().unwrap();
        let log = Log::create(&dir.path().join("0.log")).unwrap();
        let mut following = log.read(LogOptions { follow: true, ..LogOptions::default() }, at(0)).unwrap();
        let line = [b'x'; 1023].into_iter().chain([b'\n']).collect::<Vec<u8>>();
        let block = line.repeat(1024);
        let mut read = 0;
        for _ in 0..25 {
            log.write(LogSource::Stdout, &block, at(0));
            while read < log.0.progress.borrow().written.saturating_sub(1) as usize {
                // Times and tags are in the file and not in what is read, so this counts lines.
                match futures::FutureExt::now_or_never(following.next()) {
                    Some(Some(chunk)) => read += chunk.unwrap().len(),
                    _ => break,
                }
            }
        }
        assert_eq!(read, 25 * block.len());
        let size = |path: PathBuf| std::fs::metadata(path).unwrap().len();
        assert!(size(log.0.path.clone()) + size(older(&log.0.path)) < 2 * MAX_FILE + 4 * block.len() as u64);
    }
}
