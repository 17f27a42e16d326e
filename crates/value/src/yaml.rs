//! YAML as Kubernetes reads it: the grammar of YAML 1.1 as libyaml has it, the scalars of Go's YAML library, and the words of
//! both for what is wrong. It owns the way from bytes to one document.
//!
//! The stages: [`source`] makes text of bytes, [`scanner`] makes tokens of text (with [`scalar`] and [`tag`]), [`compose`]
//! makes nodes of tokens, [`build`] makes a document of nodes (with [`resolve`]); [`go`] spells what messages quote.

mod build;
mod compose;
mod go;
mod resolve;
mod scalar;
mod scanner;
mod shortcut;
mod source;
mod tag;

#[cfg(test)]
mod tests;

use crate::Value;

/// Why a text is no document. Its `Display` is the message of upstream, without the `yaml: ` in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Error {
    /// A message without a place.
    Plain(String),
    /// A message and the number of its line, counted from one.
    At(usize, &'static str),
    /// What JSON cannot say, with upstream's whole message.
    NotJson(String),
}

impl Error {
    fn plain(text: impl Into<String>) -> Self {
        Self::Plain(text.into())
    }

    /// What a scanner says: its lines count from one, but what is wrong in the first line has no place.
    fn scanning(line: usize, why: &'static str) -> Self {
        if line == 0 { Self::plain(why) } else { Self::At(line + 1, why) }
    }

    /// What a parser says: upstream counts its lines from zero.
    fn parsing(line: usize, why: &'static str) -> Self {
        if line == 0 { Self::plain(why) } else { Self::At(line, why) }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plain(text) => write!(f, "yaml: {text}"),
            Self::At(line, text) => write!(f, "yaml: line {line}: {text}"),
            Self::NotJson(text) => f.write_str(text),
        }
    }
}

/// What a text says.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// The document; numbers that fit in no `i64` may be kept as they are spelled.
    pub(crate) value: Value,
    /// The keys that came twice, such as `line 4: key "a" already set in map`, in the order of the text.
    pub(crate) repeated: Vec<String>,
    /// Whether there may be such numbers.
    pub(crate) spelled: bool,
}

pub(crate) fn read(bytes: &[u8]) -> Result<Read, Error> {
    if let Some(value) = shortcut::plain_json(bytes) {
        return Ok(Read { value, ..Read::default() });
    }
    let source = source::Source::new(bytes);
    let document = compose::compose(&source)?;
    build::build(&document)
}
