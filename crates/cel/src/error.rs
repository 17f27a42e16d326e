//! What is wrong with an expression, before and while it runs, in the words of cel-go.

use std::fmt;

/// Problems that were found when an expression was compiled. Its `Display` is that of cel-go: each problem with its
/// place, the line, and a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issues {
    source: Box<str>,
    issues: Vec<Issue>,
    /// Problems that were not kept, since there were too many.
    dropped: usize,
}

/// One problem of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The place in code points from the start of the expression; `None` if it is about the whole.
    pub offset: Option<u32>,
    /// What is wrong.
    pub message: String,
}

/// Problems that are reported at most, as in cel-go.
const MAX_ISSUES: usize = 100;

impl Issues {
    pub(crate) fn new(source: &str) -> Self {
        Self { source: source.into(), issues: Vec::new(), dropped: 0 }
    }

    pub(crate) fn report(&mut self, offset: Option<u32>, message: impl Into<String>) {
        if self.issues.len() < MAX_ISSUES {
            self.issues.push(Issue { offset, message: message.into() });
        } else {
            self.dropped += 1;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.issues.is_empty()
    }

    /// The problems in the order of their places.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// Puts the problems in the order of their places.
    pub(crate) fn sorted(mut self) -> Self {
        self.issues.sort_by_key(|issue| issue.offset.map_or(-1, i64::from));
        self
    }

    /// Line (from 1), column (from 0) and text of the line.
    fn place(&self, offset: u32) -> (usize, usize, &str) {
        let mut left = offset as usize;
        let mut last = (1, 0, "");
        for (number, line) in self.source.split('\n').enumerate() {
            let length = line.chars().count();
            last = (number + 1, left.min(length), line);
            if left <= length {
                return last;
            }
            left -= length + 1;
        }
        last
    }
}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, issue) in self.issues.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            let Some(offset) = issue.offset else {
                write!(f, "ERROR: <input>:-1:0: {}", issue.message)?;
                continue;
            };
            let (line, column, text) = self.place(offset);
            writeln!(f, "ERROR: <input>:{line}:{}: {}", column + 1, issue.message)?;
            let text = text.replace('\t', " ");
            write!(f, " | {text}\n | ")?;
            for c in text.chars().take(column) {
                // Wide characters are underlined by wide dots.
                f.write_str(if c.len_utf8() > 1 { "．" } else { "." })?;
            }
            let is_wide = text.chars().nth(column).is_some_and(|c| c.len_utf8() > 1);
            f.write_str(if is_wide { "＾" } else { "^" })?;
        }
        if self.dropped > 0 {
            write!(f, "\n{} more errors were truncated", self.dropped)?;
        }
        Ok(())
    }
}

impl std::error::Error for Issues {}

/// Why an evaluation has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// The cost limit was reached.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostLimitExceeded,
    /// The expression cannot be evaluated with these values; the text is that of cel-go.
    #[error("{0}")]
    Failed(Box<str>),
}

impl EvalError {
    pub(crate) fn new(message: impl Into<Box<str>>) -> Self {
        Self::Failed(message.into())
    }

    pub(crate) fn no_such_overload() -> Self {
        Self::new("no such overload")
    }
}
