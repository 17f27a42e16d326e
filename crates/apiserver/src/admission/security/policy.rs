//! The labels of a namespace that say which standards its pods keep.

use std::fmt;

use pilothouse_value::Map;
use pilothouse_value::field::{Error, Path};

/// How strict a standard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Privileged,
    Baseline,
    Restricted,
}

/// The minor version whose rules count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Latest,
    Minor(u32),
}

/// A level in the form that it had in a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standard {
    pub(super) level: Level,
    pub(super) version: Version,
}

/// What a namespace asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) enforce: Standard,
    pub(super) audit: Standard,
    pub(super) warn: Standard,
}

/// Everything is allowed.
pub(super) const OPEN: Policy = Policy { enforce: NOTHING, audit: NOTHING, warn: NOTHING };
const NOTHING: Standard = Standard { level: Level::Privileged, version: Version::Latest };

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        };
        match self.version {
            Version::Latest => write!(f, "{level}:latest"),
            Version::Minor(minor) => write!(f, "{level}:v1.{minor}"),
        }
    }
}

pub(super) const PREFIX: &str = "pod-security.kubernetes.io/";

impl Policy {
    /// Reads the labels; what they do not say is as in `defaults`. What cannot be read counts as the strictest to enforce
    /// and as nothing to warn of.
    pub(super) fn read(labels: Option<&Map>, defaults: Policy) -> (Policy, Vec<Error>) {
        let mut policy = defaults;
        let mut errors = Vec::new();
        let Some(labels) = labels.filter(|labels| labels.keys().any(|key| key.starts_with(PREFIX))) else {
            return (policy, errors);
        };
        let text = |name: &str| labels.get(&format!("{PREFIX}{name}"))?.as_str();
        let mut good = [false; 3];
        let modes = [
            ("enforce", Level::Restricted, &mut policy.enforce),
            ("audit", Level::Privileged, &mut policy.audit),
            ("warn", Level::Privileged, &mut policy.warn),
        ];
        for ((name, otherwise, standard), good) in modes.into_iter().zip(&mut good) {
            if let Some(given) = text(name) {
                let level = read_level(given);
                *good = level.is_some();
                standard.level = level.unwrap_or(otherwise);
                if level.is_none() {
                    errors.push(wrong(name, given, LEVELS));
                }
            }
            let name = format!("{name}-version");
            if let Some(given) = text(&name) {
                let version = read_version(given);
                standard.version = version.unwrap_or(Version::Latest);
                if version.is_none() {
                    errors.push(wrong(&name, given, VERSIONS));
                }
            }
        }
        // What is enforced is warned of too: templates are only warned of.
        if text("warn").is_none() && good[0] && policy.enforce.level > policy.warn.level {
            policy.warn.level = policy.enforce.level;
            if text("warn-version").is_none() {
                policy.warn.version = policy.enforce.version;
            }
        }
        (policy, errors)
    }

    /// Whether another policy asks for the same.
    pub(super) fn equals(&self, other: &Policy) -> bool {
        let same = |one: Standard, other: Standard| {
            one == other || (one.level == Level::Privileged && other.level == Level::Privileged)
        };
        same(self.enforce, other.enforce) && same(self.audit, other.audit) && same(self.warn, other.warn)
    }

    /// Whether there is nothing to check.
    pub(super) fn allows_all(&self) -> bool {
        [self.enforce, self.audit, self.warn].iter().all(|one| one.level == Level::Privileged)
    }
}

pub(super) const LEVELS: &str = "must be one of privileged, baseline, restricted";
pub(super) const VERSIONS: &str = "must be \"latest\" or \"v1.x\"";

fn wrong(name: &str, text: &str, why: &str) -> Error {
    let path = Path::new("metadata").child("labels").key(&format!("{PREFIX}{name}"));
    Error::invalid(&path, text, why)
}

pub(super) fn read_level(text: &str) -> Option<Level> {
    Some(match text {
        "privileged" => Level::Privileged,
        "baseline" => Level::Baseline,
        "restricted" => Level::Restricted,
        _ => return None,
    })
}

pub(super) fn read_version(text: &str) -> Option<Version> {
    if text == "latest" {
        return Some(Version::Latest);
    }
    let digits = text.strip_prefix("v1.")?;
    let canonical = digits == "0" || !digits.starts_with('0');
    (canonical && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| digits.parse().ok().map(Version::Minor))?
}
