//! Semantic versions, and the comparisons that they share with quantities.
//! Source: `k8s.io/apiserver/pkg/cel/library/semverlib.go`, `github.com/blang/semver/v4`.

use std::any::Any;
use std::cmp::Ordering;
use std::sync::Arc;

use super::quantity::Quantity;
use super::{Outcome, hosts, no_such_overload};
use pilothouse_value::field::quote;

use crate::error::EvalError;
use crate::types::HostType;
use crate::val::{Opaque, Val};

#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    numbers: [u64; 3],
    pre: Vec<Part>,
    build: Vec<String>,
}

/// A part of what comes after the `-`: numbers come before words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Word(String),
}

impl Version {
    fn compare(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            // A release comes after what leads to it.
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.pre.cmp(&other.pre),
        })
    }
}

impl Opaque for Version {
    fn host_type(&self) -> HostType {
        hosts::SEMVER
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Self>().is_some_and(|other| self.compare(other).is_eq())
    }
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    let lower = name.to_lowercase();
    if text.is_empty() {
        return Err("strconv.ParseUint: parsing \"\": invalid syntax".to_owned());
    }
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("Invalid character(s) found in {lower} number {}", quote(text)));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("{name} number must not contain leading zeroes {}", quote(text)));
    }
    text.parse().map_err(|_| format!("strconv.ParseUint: parsing {}: value out of range", quote(text)))
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn parse(text: &str) -> Result<Version, String> {
    if text.is_empty() {
        return Err("Version string empty".to_owned());
    }
    let mut parts = text.splitn(3, '.');
    let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return Err("No Major.Minor.Patch elements found".to_owned());
    };
    let (rest, build) = rest.split_once('+').map_or((rest, None), |(rest, build)| (rest, Some(build)));
    let (patch, pre) = rest.split_once('-').map_or((rest, None), |(patch, pre)| (patch, Some(pre)));
    let numbers = [number("Major", major)?, number("Minor", minor)?, number("Patch", patch)?];
    let mut version = Version { numbers, pre: Vec::new(), build: Vec::new() };
    for part in pre.into_iter().flat_map(|pre| pre.split('.')) {
        if part.is_empty() {
            return Err("Prerelease is empty".to_owned());
        }
        version.pre.push(if part.bytes().all(|b| b.is_ascii_digit()) {
            if part.len() > 1 && part.starts_with('0') {
                return Err(format!(
                    "Numeric PreRelease version must not contain leading zeroes {}",
                    quote(part)
                ));
            }
            Part::Number(
                part.parse()
                    .map_err(|_| format!("strconv.ParseUint: parsing {}: value out of range", quote(part)))?,
            )
        } else if is_word(part) {
            Part::Word(part.to_owned())
        } else {
            return Err(format!("Invalid character(s) found in prerelease {}", quote(part)));
        });
    }
    for part in build.into_iter().flat_map(|build| build.split('.')) {
        if part.is_empty() {
            return Err("Build meta data is empty".to_owned());
        }
        if !is_word(part) {
            return Err(format!("Invalid character(s) found in build meta data {}", quote(part)));
        }
        version.build.push(part.to_owned());
    }
    Ok(version)
}

/// Reads `v1.2` as `1.2.0`, and numbers with leading zeros.
fn parse_loose(text: &str) -> Result<Version, String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(str::to_owned).collect();
    for part in parts.iter_mut().filter(|part| part.len() > 1) {
        let trimmed = part.trim_start_matches('0');
        *part = if trimmed.starts_with(|c: char| c.is_ascii_digit()) {
            trimmed.to_owned()
        } else {
            format!("0{trimmed}")
        };
    }
    if parts.len() < 3 {
        if parts.last().is_some_and(|part| part.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".to_owned());
        }
        parts.resize(3, "0".to_owned());
    }
    parse(&parts.join("."))
}

fn read(args: &[Val<'_>]) -> Result<Result<Version, String>, EvalError> {
    match args {
        [Val::String(text)] | [Val::String(text), Val::Bool(false)] => Ok(parse(text)),
        [Val::String(text), Val::Bool(true)] => Ok(parse_loose(text)),
        _ => no_such_overload(),
    }
}

pub(super) fn semver<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let version = read(args)?.map_err(EvalError::new)?;
    Ok(Val::Opaque(Arc::new(version)))
}

pub(super) fn is_semver<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    read(args).map(|version| Val::Bool(version.is_ok()))
}

fn part<'a>(args: &[Val<'a>], at: usize) -> Outcome<'a> {
    let [value] = args else { return no_such_overload() };
    let version = value.downcast::<Version>().ok_or_else(EvalError::no_such_overload)?;
    let number = version.numbers.get(at).copied().unwrap_or_default();
    // Upstream's conversion wraps too.
    Ok(Val::Int(number as i64))
}

pub(super) fn major<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    part(args, 0)
}

pub(super) fn minor<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    part(args, 1)
}

pub(super) fn patch<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    part(args, 2)
}

fn compare(args: &[Val<'_>]) -> Result<Ordering, EvalError> {
    let [a, b] = args else { return no_such_overload() };
    if let (Some(a), Some(b)) = (a.downcast::<Quantity>(), b.downcast::<Quantity>()) {
        return Ok(a.compare(*b));
    }
    match (a.downcast::<Version>(), b.downcast::<Version>()) {
        (Some(a), Some(b)) => Ok(a.compare(b)),
        _ => no_such_overload(),
    }
}

pub(super) fn is_greater<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    compare(args).map(|order| Val::Bool(order.is_gt()))
}

pub(super) fn is_less<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    compare(args).map(|order| Val::Bool(order.is_lt()))
}

pub(super) fn compare_to<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    compare(args).map(|order| Val::Int(order as i64))
}
