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

/// What a namespace asks for. What is to be audited is not told to anybody, as there is no audit log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    pub(super) enforce: Standard,
    pub(super) warn: Standard,
}

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

const PREFIX: &str = "pod-security.kubernetes.io/";

impl Policy {
    /// Reads the labels. What cannot be read counts as the strictest to enforce and as nothing to warn of.
    pub(super) fn read(labels: Option<&Map>) -> (Policy, Vec<Error>) {
        let open = Standard { level: Level::Privileged, version: Version::Latest };
        let mut policy = Policy { enforce: open, warn: open };
        let mut errors = Vec::new();
        let Some(labels) = labels.filter(|labels| labels.keys().any(|key| key.starts_with(PREFIX))) else {
            return (policy, errors);
        };
        let text = |name: &str| labels.get(&format!("{PREFIX}{name}"))?.as_str();
        let mut level = |name: &str, otherwise: Level| {
            let text = text(name)?;
            Some(
                read_level(text)
                    .ok_or_else(|| errors.push(wrong(name, text, LEVELS)))
                    .map_err(|()| otherwise),
            )
        };
        let enforce = level("enforce", Level::Restricted);
        let _audit = level("audit", Level::Privileged);
        let warn = level("warn", Level::Privileged);
        let mut version = |name: &str| {
            let text = text(name)?;
            Some(read_version(text).unwrap_or_else(|| {
                errors.push(wrong(name, text, VERSIONS));
                Version::Latest
            }))
        };
        let enforce_version = version("enforce-version");
        let _audit_version = version("audit-version");
        let warn_version = version("warn-version");
        errors.sort_by_key(|error| {
            let order =
                ["enforce]", "enforce-version]", "audit]", "audit-version]", "warn]", "warn-version]"];
            order.iter().position(|end| error.path.as_str().ends_with(end))
        });
        if let Some(Ok(level) | Err(level)) = enforce {
            policy.enforce.level = level;
        }
        if let Some(Ok(level) | Err(level)) = warn {
            policy.warn.level = level;
        }
        policy.enforce.version = enforce_version.unwrap_or(Version::Latest);
        policy.warn.version = warn_version.unwrap_or(Version::Latest);
        // What is enforced is warned of too: templates are only warned of.
        if warn.is_none() && matches!(enforce, Some(Ok(level)) if level > policy.warn.level) {
            policy.warn.level = policy.enforce.level;
            if warn_version.is_none() {
                policy.warn.version = policy.enforce.version;
            }
        }
        (policy, errors)
    }

    /// Whether there is nothing to check.
    pub(super) fn allows_all(&self) -> bool {
        self.enforce.level == Level::Privileged && self.warn.level == Level::Privileged
    }
}

const LEVELS: &str = "must be one of privileged, baseline, restricted";
const VERSIONS: &str = "must be \"latest\" or \"v1.x\"";

fn wrong(name: &str, text: &str, why: &str) -> Error {
    let path = Path::new("metadata").child("labels").key(&format!("{PREFIX}{name}"));
    Error::invalid(&path, text, why)
}

fn read_level(text: &str) -> Option<Level> {
    Some(match text {
        "privileged" => Level::Privileged,
        "baseline" => Level::Baseline,
        "restricted" => Level::Restricted,
        _ => return None,
    })
}

fn read_version(text: &str) -> Option<Version> {
    if text == "latest" {
        return Some(Version::Latest);
    }
    let digits = text.strip_prefix("v1.")?;
    let canonical = digits == "0" || !digits.starts_with('0');
    (canonical && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| digits.parse().ok().map(Version::Minor))?
}
