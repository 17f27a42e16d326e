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
    /// Why no program could be made of an expression that is right otherwise.
    instantiation: Option<Box<str>>,
}

/// One problem of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The place in bytes from the start of the expression; `None` if it is about the whole.
    pub offset: Option<u32>,
    /// What is wrong.
    pub message: String,
}

/// Problems that are reported at most, as in cel-go.
const MAX_ISSUES: usize = 100;

/// The place of what stands nowhere: before the first character.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// What the problems of the grammar begin with.
const SYNTAX: &str = "Syntax error: ";

/// Longest line that is shown, in bytes.
const MAX_SNIPPET: usize = 16_384;

impl Issues {
    pub(crate) fn new(source: &str) -> Self {
        Self { source: source.into(), issues: Vec::new(), dropped: 0, instantiation: None }
    }

    pub(crate) fn report(&mut self, offset: Option<u32>, message: impl Into<String>) {
        if self.issues.len() < MAX_ISSUES {
            self.issues.push(Issue { offset, message: message.into() });
        } else {
            self.dropped += 1;
        }
    }

    /// How many problems there are.
    pub(crate) fn len(&self) -> usize {
        self.issues.len()
    }

    /// Of the problems from this one on, keeps those of the grammar alone.
    pub(crate) fn keep_syntax(&mut self, from: usize) {
        let later = self.issues.split_off(from.min(self.issues.len()));
        self.issues.extend(later.into_iter().filter(|issue| issue.message.starts_with(SYNTAX)));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.issues.is_empty()
    }

    /// An expression that is right but cannot be made a program.
    pub(crate) fn not_instantiated(source: &str, message: String) -> Self {
        Self { instantiation: Some(message.into()), ..Self::new(source) }
    }

    /// Whether the expression was understood, and what failed is making it a program: a regular expression that is
    /// wrong, or a constant that cannot be converted. The real server says `program instantiation failed` of these and
    /// `compilation failed` of the others.
    pub fn is_instantiation(&self) -> bool {
        self.instantiation.is_some()
    }

    /// The problems in the order of their places.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// Puts the problems in the order of their places.
    pub(crate) fn sorted(mut self) -> Self {
        self.issues.sort_by_key(|issue| issue.offset.filter(|at| *at != NOWHERE).map_or(-1, i64::from));
        self
    }

    /// Reports what the grammar does not allow.
    pub(crate) fn syntax(&mut self, at: usize, message: String) {
        self.report(Some(u32::try_from(at).unwrap_or(u32::MAX)), format!("{SYNTAX}{message}"));
    }

    /// Line (from 1), column in code points (from 0) and text of the line.
    fn place(&self, offset: u32) -> (usize, usize, &str) {
        let offset = (offset as usize).min(self.source.len());
        let before = self.source.get(..offset).unwrap_or(&self.source);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = self.source.get(start..).and_then(|rest| rest.split('\n').next()).unwrap_or_default();
        let column = before.get(start..).unwrap_or_default().chars().count();
        (before.matches('\n').count() + 1, column, line)
    }
}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(message) = &self.instantiation {
            return f.write_str(message);
        }
        for (at, issue) in self.issues.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            let Some(offset) = issue.offset else {
                write!(f, "ERROR: <input>:-1:0: {}", issue.message)?;
                continue;
            };
            let is_nowhere = offset == NOWHERE;
            let (line, column, text) = self.place(if is_nowhere { 0 } else { offset });
            // Of an empty expression upstream counts one less.
            let shown = if self.source.is_empty() || is_nowhere { 0 } else { column + 1 };
            write!(f, "ERROR: <input>:{line}:{shown}: {}", issue.message)?;
            if self.source.is_empty() || text.len() > MAX_SNIPPET {
                continue;
            }
            let text = text.replace('\t', " ");
            write!(f, "\n | {text}\n | ")?;
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
    /// A list that is to be sorted could not be made. Upstream's cost tracker breaks on that and ends the evaluation.
    #[error("internal error: interface conversion: *types.Err is not traits.Lister: missing method Add")]
    NoListToSort,
    /// A value that Go cannot take as the key of a map. Upstream breaks on that and ends the evaluation.
    #[error("internal error: runtime error: hash of unhashable type {0}")]
    Unhashable(&'static str),
    /// An object is walked through that has properties which expressions do not see. Upstream breaks on that and ends the
    /// evaluation.
    #[error("internal error: runtime error: invalid memory address or nil pointer dereference")]
    NilKey,
    /// A function has nothing to do with these values. Where the call stands, its name is added.
    #[error("no such overload")]
    NoSuchOverload,
    /// The expression cannot be evaluated with these values; the text is that of cel-go.
    #[error("{0}")]
    Failed(Box<str>),
}

impl EvalError {
    pub(crate) fn new(message: impl Into<Box<str>>) -> Self {
        Self::Failed(message.into())
    }

    /// Whether the evaluation ends with it, whatever stands around: no operator makes good for it.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::CostLimitExceeded | Self::NoListToSort | Self::Unhashable(_) | Self::NilKey)
    }

    pub(crate) const fn no_such_overload() -> Self {
        Self::NoSuchOverload
    }

    /// As [`EvalError::NoSuchOverload`], of a part of a value: the function is not named.
    pub(crate) fn unnamed_overload() -> Self {
        Self::new("no such overload")
    }
}
