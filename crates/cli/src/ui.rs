//! What people and machines see: one line a step, with a spinner on a terminal, plain lines elsewhere, one JSON
//! document a line with `--output json`.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

/// How a command talks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line: `{"step", "status", "detail", "seconds"}`, and `{"result"}` last.
    Json,
}

/// Shows the steps of a command as they happen.
pub(crate) struct Ui {
    output: Output,
    bar: Option<ProgressBar>,
    step: Option<(String, Instant)>,
    started: Instant,
}

/// How wide the names of steps are on a terminal.
const NAME_WIDTH: usize = 11;

impl Ui {
    pub(crate) fn new(output: Output) -> Self {
        let bar = (output == Output::Text && std::io::stdout().is_terminal()).then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner:.cyan} {prefix:.bold} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(80));
            bar
        });
        Self { output, bar, step: None, started: Instant::now() }
    }

    /// Begins a step; `name` is one word, `doing` says what is going on.
    pub(crate) fn begin(&mut self, name: &str, doing: &str) {
        self.step = Some((name.to_owned(), Instant::now()));
        match &self.bar {
            Some(bar) => {
                bar.set_prefix(format!("{name:<NAME_WIDTH$}"));
                bar.set_message(doing.to_owned());
            }
            None if self.output == Output::Json => self.emit("started", doing),
            None => {}
        }
    }

    /// Says how far the step is. On a terminal it replaces the last message; elsewhere it is a line of its own.
    pub(crate) fn progress(&self, detail: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(detail.to_owned()),
            None if self.output == Output::Json => self.emit("running", detail),
            None => self.line(&format!("  {:<NAME_WIDTH$} {detail}", self.name())),
        }
    }

    /// Ends the step well.
    pub(crate) fn done(&mut self, detail: &str) {
        if self.output == Output::Json {
            self.emit("done", detail);
        } else {
            self.line(&format!("✓ {:<NAME_WIDTH$} {detail} ({})", self.name(), seconds(self.elapsed())));
        }
        self.step = None;
    }

    /// Ends the step badly; `error` says what was seen and what to try.
    pub(crate) fn failed(&mut self, error: &str) {
        if self.output == Output::Json {
            self.emit("failed", error);
        } else {
            let name = self.name();
            self.line(&format!(
                "✗ {name:<NAME_WIDTH$} {}",
                error.replace('\n', &format!("\n  {:NAME_WIDTH$} ", ""))
            ));
        }
        self.step = None;
    }

    /// Ends the command: `result` for machines, `text` for people.
    pub(crate) fn end(&mut self, mut result: Value, text: &str) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        if self.output == Output::Json {
            if let Some(map) = result.as_object_mut() {
                map.insert("seconds".into(), round(self.started.elapsed()));
            }
            self.line(&json!({"result": result}).to_string());
        } else {
            self.line(text);
        }
    }

    /// Time since the command began.
    pub(crate) fn total(&self) -> Duration {
        self.started.elapsed()
    }

    /// A line between steps.
    pub(crate) fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => {
                // A reader that has gone away is no reason to stop half-way through a restore.
                let _closed = writeln!(std::io::stdout().lock(), "{text}");
            }
        }
    }

    fn emit(&self, status: &str, detail: &str) {
        let line = json!({"step": self.name(), "status": status, "detail": detail, "seconds": round(self.elapsed())});
        self.line(&line.to_string());
    }

    fn name(&self) -> &str {
        self.step.as_ref().map_or("", |(name, _)| name)
    }

    fn elapsed(&self) -> Duration {
        self.step.as_ref().map_or(Duration::ZERO, |(_, since)| since.elapsed())
    }
}

fn round(duration: Duration) -> Value {
    json!((duration.as_secs_f64() * 1000.0).round() / 1000.0)
}

/// `0.42 s`.
pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

/// Tells the person at the terminal why the command failed.
pub(crate) fn error(text: &str) {
    // Nobody is left to tell when standard error is closed.
    let _closed = writeln!(std::io::stderr().lock(), "error: {text}");
}
