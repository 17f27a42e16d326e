//! URLs as Go reads them. Source: `k8s.io/apiserver/pkg/cel/library/urls.go`, Go's `net/url`.

mod parse;

use std::any::Any;
use std::sync::Arc;

use super::operators::strings;
use super::{Outcome, hosts, no_such_overload};
use crate::error::EvalError;
use crate::types::HostType;
use crate::val::{MapBuilder, Opaque, Val};
use parse::{Part, Url, unescape};

impl Opaque for Url {
    fn host_type(&self) -> HostType {
        hosts::URL
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Self>().is_some_and(|other| other.to_string() == self.to_string())
    }
}

pub(super) fn url<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(text)] = args else { return no_such_overload() };
    match Url::parse(text) {
        Ok(url) => Ok(Val::Opaque(Arc::new(url))),
        Err(why) => Err(EvalError::new(format!("URL parse error during conversion from string: {why}"))),
    }
}

pub(super) fn is_url<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(text)] = args else { return no_such_overload() };
    Ok(Val::Bool(Url::parse(text).is_ok()))
}

/// Why a text is no URL, if it is none.
pub(super) fn problem(text: &str) -> Option<String> {
    Url::parse(text).err()
}

fn one<'v>(args: &'v [Val<'_>]) -> Result<&'v Url, EvalError> {
    args.first().and_then(Val::downcast).ok_or_else(EvalError::no_such_overload)
}

pub(super) fn scheme_of<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    one(args).map(|url| Val::text(&*url.scheme))
}

pub(super) fn host<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    one(args).map(|url| Val::text(&*url.host))
}

pub(super) fn hostname<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    one(args).map(|url| Val::text(url.host_and_port().0))
}

pub(super) fn port<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    one(args).map(|url| Val::text(url.host_and_port().1))
}

pub(super) fn escaped_path<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    one(args).map(|url| Val::text(url.escaped_path()))
}

pub(super) fn query<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let url = one(args)?;
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for pair in url.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let read = |text| unescape(text, Part::QueryComponent);
        let (Ok(key), Ok(value)) = (read(key), read(value)) else { continue };
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => found.push((key, vec![value])),
        }
    }
    let mut builder = MapBuilder::default();
    for (key, values) in found {
        builder.put(Val::text(key), strings(values))?;
    }
    Ok(Val::Map(builder.build()))
}
