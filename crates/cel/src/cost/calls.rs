//! The cost of a call while an expression runs.

use crate::estimate::by_factor;
use crate::library::hosts;
use crate::val::{ListVal, Val};

/// Of walking through a string once, for each code point.
pub(crate) const STRING_FACTOR: f64 = 0.1;
/// Of applying a regular expression to one unit of text, for each code point of the expression.
pub(crate) const REGEX_FACTOR: f64 = 0.25;
/// Of making a list.
pub(crate) const LIST_COST: u64 = 10;
/// Of making a map.
pub(crate) const MAP_COST: u64 = 30;
/// Of making a message.
pub(crate) const STRUCT_COST: u64 = 40;
/// Of one question to the authorizer: two fit in one expression.
pub(crate) const CHECK_COST: u64 = 350_000;
/// Of a requirement of a selector.
pub(crate) const REQUIREMENT_COST: f64 = 50.0;

/// How a call is charged. Found once for a call of a program, used each time it is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CallCost {
    /// Always the same.
    Fixed(u64),
    /// The size of the argument at this place, times the factor.
    Scan(usize, f64),
    /// The size of the result, times the factor.
    ScanResult(f64),
    /// The number of items of the second argument.
    InList,
    /// All of the first argument, with everything in it.
    Traverse,
    /// The smaller of two arguments, of `==`.
    Equal,
    /// The smaller of two arguments.
    Compare,
    /// Both arguments.
    Concat,
    /// The text times the regular expression.
    Matches,
    /// The text times what is looked for.
    Contains,
    /// A selector that is parsed.
    Selector,
    /// A prefix compared with an address; whether that is parsed first.
    ContainsIp(bool),
    /// A prefix compared with a prefix; whether that is parsed first.
    ContainsCidr(bool),
    /// The text times the size of a format's regular expression.
    Validate,
    /// A list as long as the result.
    NewList,
    /// The first argument, as deep as the second says.
    Flatten,
    /// Each item of the argument at this place with each other.
    SelfCompare(usize),
    /// Each item of one argument with each of the other, so many times.
    Sets(f64),
}

impl CallCost {
    /// How a call of `function` is charged. `overload` is the one that the checker found, empty if there are several.
    pub(crate) fn of(function: &str, overload: &str) -> Self {
        if let Some(found) = Self::of_extension(overload) {
            return found;
        }
        match function {
            "check" => Self::Fixed(CHECK_COST),
            "fieldSelector" | "labelSelector" => Self::Selector,
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" => Self::Traverse,
            "url"
            | "lowerAscii"
            | "upperAscii"
            | "substring"
            | "trim"
            | "jsonpatch.escapeKey"
            | "cidr"
            | "isIP"
            | "isCIDR"
            | "quantity"
            | "isQuantity"
            | "semver"
            | "isSemver" => Self::Scan(0, STRING_FACTOR),
            "replace" | "split" | "ip.isCanonical" => Self::Scan(0, 2.0 * STRING_FACTOR),
            "join" => Self::ScanResult(2.0 * STRING_FACTOR),
            "find" | "findAll" => Self::Matches,
            "ip" if overload == "cidr_ip" => Self::Fixed(1),
            "ip" => Self::Scan(0, STRING_FACTOR),
            "containsIP" => Self::ContainsIp(overload == "cidr_contains_ip_string"),
            "containsCIDR" => Self::ContainsCidr(overload == "cidr_contains_cidr_string"),
            "validate" => Self::Validate,
            _ => Self::of_overload(overload),
        }
    }

    fn of_extension(overload: &str) -> Option<Self> {
        Some(match overload {
            "list_slice" | "lists_range" | "list_reverse" => Self::NewList,
            "list_flatten" | "list_flatten_int" => Self::Flatten,
            "list_distinct" => Self::SelfCompare(0),
            "list_sets_contains_list" | "list_sets_intersects_list" => Self::Sets(1.0),
            "list_sets_equivalent_list" => Self::Sets(2.0),
            _ if overload.starts_with("list_") && overload.ends_with("_sort") => Self::SelfCompare(0),
            _ if overload.starts_with("list_") && overload.ends_with("_sortByAssociatedKeys") => {
                Self::SelfCompare(1)
            }
            _ => return None,
        })
    }

    fn of_overload(overload: &str) -> Self {
        match overload {
            "starts_with_string" | "ends_with_string" => Self::Scan(1, STRING_FACTOR),
            "string_to_bytes" | "bytes_to_string" | "strings_quote" | "string_format" => {
                Self::Scan(0, STRING_FACTOR)
            }
            "in_list" => Self::InList,
            "equals" => Self::Equal,
            "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes"
            | "not_equals" => Self::Compare,
            "add_string" | "add_bytes" => Self::Concat,
            "matches" | "matches_string" => Self::Matches,
            "contains_string" => Self::Contains,
            _ => Self::Fixed(1),
        }
    }

    /// Where the list stands that is compared with itself, if the cost is that of sorting one.
    pub(crate) fn list_to_sort(self) -> Option<usize> {
        if let Self::SelfCompare(at) = self { Some(at) } else { None }
    }

    /// The cost of the call itself, without that of its arguments. `result` is `None` if it failed.
    pub(crate) fn charge(self, arguments: &[Val<'_>], result: Option<&Val<'_>>) -> u64 {
        let size = |at: usize| arguments.get(at).map_or(1, size);
        let result_size = || result.map_or(1, self::size);
        let scan = |size: u64| by_factor(size, STRING_FACTOR);
        match self {
            Self::Fixed(cost) => cost,
            Self::Scan(at, factor) => by_factor(size(at), factor),
            Self::ScanResult(factor) => by_factor(result_size(), factor),
            Self::InList => size(1),
            Self::Traverse => arguments.first().map_or(0, |value| traverse(value, MAX_DEPTH)),
            // Values of libraries are as quickly compared as numbers, if it is asked whether they are equal.
            Self::Equal if matches!(arguments.first(), Some(Val::Opaque(_))) => 1,
            Self::Equal | Self::Compare => {
                scan(unwrapped_size(arguments.first()).min(unwrapped_size(arguments.get(1))))
            }
            Self::Concat => scan(size(0).saturating_add(size(1))),
            Self::Matches => matches(size(0), size(1)),
            Self::Contains => scan(size(0)).saturating_mul(scan(size(1))),
            Self::Selector => {
                let requirements = by_factor(by_factor(size(1), 0.5), REQUIREMENT_COST);
                LIST_COST.saturating_add(scan(size(1))).saturating_add(requirements)
            }
            Self::ContainsIp(is_parsed) => {
                scan(size(0).saturating_mul(2)).saturating_add(if is_parsed { scan(size(1)) } else { 0 })
            }
            Self::ContainsCidr(is_parsed) => scan(size(0).saturating_mul(2))
                .saturating_add(scan(size(0)))
                .saturating_add(1)
                .saturating_add(if is_parsed { scan(size(1)) } else { 0 }),
            // The size of a format is that of its expression. What is no format costs as little as any call.
            Self::Validate => match arguments.first() {
                Some(Val::Opaque(_)) => matches(size(1), size(0)),
                _ => 1,
            },
            Self::NewList => new_list(1.0, result_size()),
            Self::Flatten => {
                let depth = match arguments.get(1) {
                    Some(Val::Int(depth)) => *depth as f64,
                    _ => 1.0,
                };
                new_list(depth, size(0))
            }
            Self::SelfCompare(at) => {
                let factor = match arguments.get(at) {
                    Some(Val::List(list)) if is_of_text(list) => 2.0 + STRING_FACTOR,
                    _ => 2.0,
                };
                new_list(factor, size(at).saturating_mul(size(at)))
            }
            Self::Sets(factor) => {
                ((size(0).saturating_mul(size(1)) as f64 * factor) as u64).saturating_add(1)
            }
        }
    }
}

/// Documents are no deeper.
const MAX_DEPTH: usize = 256;

/// The size of a value, 1 of what has none.
pub(crate) fn size(value: &Val<'_>) -> u64 {
    match value {
        Val::String(text) => text.chars().count() as u64,
        Val::Bytes(bytes) => bytes.len() as u64,
        Val::List(list) => list.len() as u64,
        Val::Map(map) => map.len() as u64,
        Val::Opaque(value) => value.size().unwrap_or(1),
        _ => 1,
    }
}

/// The size of a value, or of the value of an optional one.
fn unwrapped_size(value: Option<&Val<'_>>) -> u64 {
    let mut value = value;
    while let Some(Val::Optional(Some(inner))) = value {
        value = Some(inner);
    }
    match value {
        // What the size of a format stands for is no size of its own.
        Some(Val::Opaque(value)) if value.host_type() == hosts::FORMAT => 1,
        value => value.map_or(1, size),
    }
}

/// One is added to the text, so that an expensive expression costs something for an empty one too.
fn matches(text: u64, regex: u64) -> u64 {
    by_factor(text.saturating_add(1), STRING_FACTOR).saturating_mul(by_factor(regex, REGEX_FACTOR))
}

fn new_list(factor: f64, size: u64) -> u64 {
    let factor = if factor < 0.0 { 1.0 } else { factor };
    ((size as f64 * factor) as u64).saturating_add(1 + LIST_COST)
}

fn is_of_text(list: &ListVal<'_>) -> bool {
    matches!(list.get(0), Some(Ok(Val::String(_) | Val::Bytes(_))))
}

/// What it costs to look at a value and at everything in it.
fn traverse(value: &Val<'_>, depth: usize) -> u64 {
    let Some(depth) = depth.checked_sub(1) else { return 1 };
    match value {
        // Not rounded up, unlike everything else.
        Val::String(text) => (text.len() as f64 * STRING_FACTOR) as u64,
        Val::Bytes(bytes) => (bytes.len() as f64 * STRING_FACTOR) as u64,
        Val::List(list) => list.iter().fold(0, |sum: u64, item| {
            sum.saturating_add(item.as_ref().map_or(1, |item| traverse(item, depth)))
        }),
        Val::Map(map) => {
            let keys = map.keys();
            // Of properties that expressions do not see, neither name nor value are looked at.
            let hidden = 2 * map.len().saturating_sub(keys.len()) as u64;
            keys.iter().fold(hidden, |sum: u64, key| {
                let value = match map.find(key) {
                    Some(Ok(value)) => traverse(&value, depth),
                    _ => 1,
                };
                sum.saturating_add(traverse(key, depth)).saturating_add(value)
            })
        }
        _ => 1,
    }
}
