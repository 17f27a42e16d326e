//! Command lines as the real tools take them: `--flag value`, `--flag=value`, booleans, `_` for `-`; etcd's also with one
//! dash. What a tool does not know is told, and never refused: a test suite may be older or newer than we are.

mod apiserver;
mod etcd;
mod flagz;
mod values;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use crate::Tool;

pub(crate) use flagz::flagz;

/// The version of Kubernetes that we answer as.
const KUBERNETES: &str = "v1.37.2";
/// The version of etcd that goes with it.
pub(crate) const ETCD: &str = "3.7.0";

/// A flag of a tool.
pub(crate) struct Flag {
    pub(crate) name: &'static str,
    /// What its value is, as `--help` says it; empty for a boolean, which takes a value only after `=`.
    pub(crate) kind: &'static str,
    /// What it does here; empty if it is accepted and has no effect.
    pub(crate) effect: &'static str,
}

/// A command line that cannot be right.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FlagError {
    /// The last flag has no value.
    #[error("flag needs an argument: --{0}")]
    NoValue(String),
    /// The value is none of the flag's kind.
    #[error("invalid argument {value:?} for \"{}{flag}\" flag: {why}", if flag.starts_with('-') { "" } else { "--" })]
    Invalid { flag: &'static str, value: String, why: String },
    /// Flags that do not go together, or a value that only makes no sense beside others.
    #[error("{0}")]
    Conflict(String),
    /// Words that belong to no flag.
    #[error("{tool:?} does not take any arguments, got {words:?}")]
    Words { tool: &'static str, words: Vec<String> },
}

/// What a command line says.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    values: BTreeMap<&'static str, Vec<String>>,
    /// Names of flags that the tool does not have, each once.
    pub(crate) unknown: Vec<String>,
}

impl Parsed {
    /// Whether the flag was given at all.
    pub(crate) fn is_set(&self, flag: &str) -> bool {
        self.values.contains_key(flag)
    }

    /// The value that was given last.
    pub(crate) fn last(&self, flag: &str) -> Option<&str> {
        self.values.get(flag)?.last().map(String::as_str)
    }

    /// All values, in order, as they were given.
    pub(crate) fn all(&self, flag: &str) -> &[String] {
        self.values.get(flag).map_or(&[], Vec::as_slice)
    }

    /// All values of a comma-separated list that may be given several times.
    pub(crate) fn list(&self, flag: &str) -> Vec<&str> {
        let parts = self.all(flag).iter().flat_map(|value| value.split(','));
        parts.map(str::trim).filter(|part| !part.is_empty()).collect()
    }

    /// A boolean, or the default if the flag was not given.
    ///
    /// # Errors
    /// If the value is none that Go takes for a boolean.
    pub(crate) fn boolean(&self, flag: &'static str, default: bool) -> Result<bool, FlagError> {
        match self.last(flag) {
            None => Ok(default),
            Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(true),
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(false),
            Some(value) => {
                let why = format!("strconv.ParseBool: parsing {value:?}: invalid syntax");
                Err(FlagError::Invalid { flag, value: value.to_owned(), why })
            }
        }
    }

    /// A duration as Go writes it, or `None` if the flag was not given or is empty.
    ///
    /// # Errors
    /// If the text is none.
    pub(crate) fn duration(&self, flag: &'static str) -> Result<Option<Duration>, FlagError> {
        let Some(value) = self.last(flag).filter(|value| !value.is_empty()) else { return Ok(None) };
        let parsed = pilothouse_apiserver::parse_duration(value);
        parsed.map(Some).map_err(|why| FlagError::Invalid { flag, value: value.to_owned(), why })
    }

    /// A value of any type that has a text form, or `None` if the flag was not given or is empty.
    ///
    /// # Errors
    /// If the text is not of that form.
    pub(crate) fn parsed<T>(&self, flag: &'static str) -> Result<Option<T>, FlagError>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
    {
        let Some(value) = self.last(flag).filter(|value| !value.is_empty()) else { return Ok(None) };
        let parsed = value.parse::<T>();
        parsed.map(Some).map_err(|why| FlagError::Invalid {
            flag,
            value: value.to_owned(),
            why: why.to_string(),
        })
    }
}

fn table(tool: Tool) -> &'static [Flag] {
    match tool {
        Tool::Etcd => etcd::FLAGS,
        Tool::KubeApiserver => apiserver::FLAGS,
    }
}

/// Reads a command line without the name of the program.
///
/// # Errors
/// If the last flag lacks its value, or words belong to no flag.
pub(crate) fn parse(tool: Tool, arguments: &[OsString]) -> Result<Parsed, FlagError> {
    let flags = table(tool);
    let mut parsed = Parsed::default();
    let mut words = Vec::new();
    let mut rest = arguments.iter().map(|argument| argument.to_string_lossy()).peekable();
    while let Some(argument) = rest.next() {
        let Some((name, given)) = split(tool, &argument) else {
            if argument == "--" {
                words.extend(rest.by_ref().map(|word| word.into_owned()));
            } else {
                words.push(argument.into_owned());
            }
            continue;
        };
        let known = flags.iter().find(|flag| flag.name == name);
        let value = match (given, known) {
            (Some(value), _) => value,
            (None, Some(flag)) if flag.kind.is_empty() => "true".to_owned(),
            (None, Some(flag)) => {
                rest.next().ok_or_else(|| FlagError::NoValue(flag.name.to_owned()))?.into_owned()
            }
            // What follows an unknown flag is most likely its value.
            (None, None) => {
                let value = rest.next_if(|next| !next.starts_with('-'));
                value.map_or_else(|| "true".to_owned(), |value| value.into_owned())
            }
        };
        match known {
            Some(flag) => {
                if tool == Tool::KubeApiserver
                    && let Err(why) = values::check(flag.kind, &value)
                {
                    return Err(FlagError::Invalid { flag: shown(flag.name), value, why });
                }
                parsed.values.entry(flag.name).or_default().push(value);
            }
            None if parsed.unknown.contains(&name) => {}
            None => parsed.unknown.push(name),
        }
    }
    if words.is_empty() { Ok(parsed) } else { Err(FlagError::Words { tool: tool.name(), words }) }
}

/// How a complaint names a flag: one has a short form.
fn shown(name: &'static str) -> &'static str {
    if name == "v" { "-v, --v" } else { name }
}

/// The name of a flag, and the value that stands behind `=`; `None` for a word that is no flag.
fn split(tool: Tool, argument: &str) -> Option<(String, Option<String>)> {
    let body = match (argument.strip_prefix("--"), argument.strip_prefix('-')) {
        (Some(body), _) => body,
        (None, Some(body)) if tool == Tool::Etcd => body,
        (None, Some("h")) => "help",
        // The one flag of kube-apiserver with a short form that has a value: -v2, -v=2, -v 2.
        (None, Some(body)) if body.starts_with('v') => {
            let level = body.get(1..).filter(|level| !level.is_empty());
            return Some(("v".to_owned(), level.map(|level| level.trim_start_matches('=').to_owned())));
        }
        (None, Some(body)) => body,
        (None, None) => return None,
    };
    let (name, value) = match body.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (body, None),
    };
    if name.is_empty() {
        return None;
    }
    let name = if tool == Tool::Etcd && name == "h" { "help".to_owned() } else { name.replace('_', "-") };
    Some((name, value))
}

/// What `--help` prints: every flag on a line of its own, which is where test suites look for one.
pub(crate) fn help(tool: Tool) -> String {
    let (what, version) = match tool {
        Tool::Etcd => ("Keeps the objects of kube-apiserver, for test suites.", ETCD),
        Tool::KubeApiserver => ("Serves the Kubernetes API, for test suites.", KUBERNETES),
    };
    let name = tool.name();
    let mut text =
        format!("{what} It takes the flags of {name} {version}.\n\nUsage:\n  {name} [flags]\n\nFlags:\n");
    for flag in table(tool) {
        let head = format!("--{} {}", flag.name, flag.kind);
        let effect = if flag.effect.is_empty() { "(accepted, without effect)" } else { flag.effect };
        text.push_str(&format!("      {:<55} {effect}\n", head.trim_end()));
    }
    text
}

/// What `--version` prints.
pub(crate) fn version(tool: Tool) -> String {
    match tool {
        Tool::Etcd => format!("etcd Version: {ETCD}"),
        Tool::KubeApiserver => format!("Kubernetes {KUBERNETES}"),
    }
}
