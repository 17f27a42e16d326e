//! Named formats. Source: `k8s.io/apiserver/pkg/cel/library/format.go`.

use std::any::Any;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pilothouse_value::names;

use super::operators::strings;
use super::{Outcome, hosts, no_such_overload, url};
use crate::error::EvalError;
use crate::time;
use crate::types::HostType;
use crate::val::{Opaque, Val};

/// A format that strings can be checked against.
#[derive(Debug, Clone, Copy)]
struct Format {
    /// As expressions call it.
    name: &'static str,
    /// Code points of the regular expression that checking costs as much as.
    size: u64,
    problems: fn(&str) -> Vec<String>,
}

impl Opaque for Format {
    fn host_type(&self) -> HostType {
        hosts::FORMAT
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Self>().is_some_and(|other| other.name == self.name)
    }

    fn size(&self) -> Option<u64> {
        Some(self.size)
    }
}

const FORMATS: [Format; 13] = [
    Format { name: "dns1123Label", size: 30, problems: names::dns1123_label },
    Format { name: "dns1123Subdomain", size: 60, problems: names::dns1123_subdomain },
    Format { name: "dns1035Label", size: 30, problems: names::dns1035_label },
    Format { name: "qualifiedName", size: 60, problems: names::qualified_name },
    Format { name: "dns1123LabelPrefix", size: 30, problems: |text| names::dns1123_label(&whole(text)) },
    Format {
        name: "dns1123SubdomainPrefix",
        size: 60,
        problems: |text| names::dns1123_subdomain(&whole(text)),
    },
    Format { name: "dns1035LabelPrefix", size: 30, problems: |text| names::dns1035_label(&whole(text)) },
    Format { name: "labelValue", size: 40, problems: names::label_value },
    Format { name: "uri", size: 1103, problems: |text| url::problem(text).into_iter().collect() },
    Format {
        name: "uuid",
        size: 70,
        problems: |text| unless(is_uuid(text), "does not match the UUID format"),
    },
    Format { name: "byte", size: 84, problems: |text| unless(is_base64(text), "invalid base64") },
    Format {
        name: "date",
        size: 71,
        problems: |text| unless(time::parse_date(text).is_ok(), "invalid date"),
    },
    Format { name: "datetime", size: 71, problems: |text| unless(is_date_time(text), "invalid datetime") },
];

/// A name that is a prefix may end in a dash: something follows it.
fn whole(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(rest) => format!("{rest}a"),
        None => prefix.to_owned(),
    }
}

fn unless(is_right: bool, problem: &str) -> Vec<String> {
    if is_right { Vec::new() } else { vec![problem.to_owned()] }
}

fn is_base64(text: &str) -> bool {
    !text.is_empty() && STANDARD.decode(text).is_ok()
}

/// 32 hexadecimal digits, with or without dashes between the groups.
fn is_uuid(text: &str) -> bool {
    let mut rest = text;
    for (at, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        match rest.split_at_checked(length) {
            Some((group, after)) if group.bytes().all(|b| b.is_ascii_hexdigit()) => rest = after,
            _ => return false,
        }
    }
    rest.is_empty()
}

fn is_date_time(text: &str) -> bool {
    // Unlike when a document is read, a zone is required and an empty text is wrong.
    matches!(time::parse_rfc3339(&text.to_uppercase()), Ok(Some(_)))
}

/// The format at a place of the table.
pub(super) fn constant<'a, const AT: usize>(_args: &[Val<'a>]) -> Outcome<'a> {
    FORMATS.get(AT).map(|format| Val::Opaque(Arc::new(*format))).ok_or_else(EvalError::no_such_overload)
}

pub(super) fn named<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(name)] = args else { return no_such_overload() };
    let format = FORMATS.iter().find(|format| format.name == &**name);
    Ok(format.map_or(Val::none(), |format| Val::some(Val::Opaque(Arc::new(*format)))))
}

pub(super) fn validate<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [format, Val::String(text)] = args else { return no_such_overload() };
    let format = format.downcast::<Format>().ok_or_else(EvalError::no_such_overload)?;
    let problems = (format.problems)(text);
    Ok(if problems.is_empty() { Val::none() } else { Val::some(strings(problems)) })
}
