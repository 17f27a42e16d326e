//! Parts of timestamps and durations.

use super::{Outcome, no_such_overload};
use crate::error::EvalError;
use crate::time::Fields;
use crate::val::Val;

fn fields(args: &[Val<'_>]) -> Result<Fields, EvalError> {
    match args {
        [Val::Timestamp(at)] => Ok(at.fields(0)),
        [Val::Timestamp(at), Val::String(zone)] => {
            at.offset_in(zone).map(|offset| at.fields(offset)).map_err(EvalError::new)
        }
        _ => no_such_overload(),
    }
}

fn part<'a>(args: &[Val<'a>], part: fn(&Fields) -> i64) -> Outcome<'a> {
    fields(args).map(|fields| Val::Int(part(&fields)))
}

/// A part of a timestamp, or a whole duration in this unit of nanoseconds.
fn part_or_span<'a>(args: &[Val<'a>], part_of: fn(&Fields) -> i64, unit: i64) -> Outcome<'a> {
    match args {
        [Val::Duration(span)] => Ok(Val::Int(span / unit)),
        args => part(args, part_of),
    }
}

pub(super) fn full_year<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    part(args, |fields| fields.year)
}

pub(super) fn month<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    part(args, |fields| fields.month - 1)
}

pub(super) fn day_of_year<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    part(args, |fields| fields.day_of_year)
}

pub(super) fn day_of_month<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    part(args, |fields| fields.day - 1)
}

pub(super) fn date<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    part(args, |fields| fields.day)
}

pub(super) fn day_of_week<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    part(args, |fields| fields.day_of_week)
}

pub(super) fn hours<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    part_or_span(args, |fields| fields.hour, 3_600_000_000_000)
}

pub(super) fn minutes<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    part_or_span(args, |fields| fields.minute, 60_000_000_000)
}

pub(super) fn seconds<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    part_or_span(args, |fields| fields.second, 1_000_000_000)
}

pub(super) fn milliseconds<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    part_or_span(args, |fields| fields.nanos / 1_000_000, 1_000_000)
}
