//! Go's `text/template` with sprig's functions, as Kanister's Blueprints are written in it.
//!
//! The engine is pure: it reads no environment, no clock, no network and no file, and the same input gives the same
//! text. It never panics and it is bounded: the depth of nesting, the number of steps and the size of the output.
//!
//! Two things differ from Go, both on purpose. With [`Missing::Error`], *printing* a value that is not there is an error
//! as well, so that `<no value>` never reaches a shell. And a value may be [`Value::Unknown`]: what is made from it is
//! unknown too, so that a phase can be rendered before the phases whose output it uses have run.

mod builtins;
mod calls;
mod exec;
mod lex;
mod parse;
mod printf;
mod sprig;
pub mod time;
mod value;

pub use exec::{Missing, Template};
pub use value::{Field, Map, Struct, Value, Zero};

/// Why a template was not rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The text is not a template.
    #[error("template line {line}: {message}")]
    Parse {
        /// The line in the text, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// A map has no such key.
    #[error("Failed to render template: \"{key}\" not found (in {path})")]
    MissingKey {
        /// The key that is not there.
        key: String,
        /// The expression that asked for it.
        path: String,
    },
    /// Rendering failed in another way.
    #[error("Failed to render template: {message} (in {path})")]
    Exec {
        /// The expression that failed.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// A bound of the engine was reached.
    #[error("Failed to render template: more than {0}")]
    Limit(&'static str),
}

#[cfg(test)]
mod tests;
