//! What calls may cost, by the sizes of their arguments.

use super::calls::{CHECK_COST, LIST_COST, REGEX_FACTOR, REQUIREMENT_COST, STRING_FACTOR};
use super::estimate::Node;
use crate::ast::{Kind, Literal};
use crate::estimate::{CostEstimate, SizeEstimate, SizeEstimator};
use crate::messages;
use crate::types::Type;

/// A cost, and the size of the result where that is known.
type Estimate = (CostEstimate, Option<SizeEstimate>);

/// Longest regular expression of a named format.
const FORMAT_REGEX: f64 = 128.0;
/// Longest text of a named format.
const FORMAT_SIZE: u64 = 64;
/// Sizes of addresses in bytes.
const ADDRESS: SizeEstimate = SizeEstimate { min: 4, max: 16 };
const ONE: SizeEstimate = SizeEstimate { min: 1, max: 1 };

fn alone(cost: CostEstimate) -> Option<Estimate> {
    Some((cost, None))
}

fn scan(size: SizeEstimate) -> CostEstimate {
    size.by_factor(STRING_FACTOR)
}

/// Functions of Kubernetes' libraries and of the extensions of lists and sets. `None` for all others.
pub(super) fn of_library(
    function: &str,
    overload: &str,
    target: Option<&Node<'_>>,
    args: &[Node<'_>],
    sizes: &dyn SizeEstimator,
) -> Option<Estimate> {
    if let Some(found) = of_extension(overload, target, args, sizes) {
        return Some(found);
    }
    let size = |node: &Node<'_>| node.size(sizes);
    let first = args.first();
    match function {
        "check" => alone(CostEstimate::fixed(CHECK_COST)),
        "serviceAccount"
        | "path"
        | "group"
        | "resource"
        | "subresource"
        | "namespace"
        | "name"
        | "allowed"
        | "reason"
        | "error"
        | "errored"
        | "masked"
        | "prefixLength"
        | "family"
        | "isUnspecified"
        | "isLoopback"
        | "isLinkLocalMulticast"
        | "isLinkLocalUnicast"
        | "isGlobalUnicast"
        | "format.named"
        | "sign"
        | "asInteger"
        | "isInteger"
        | "asApproximateFloat"
        | "isGreaterThan"
        | "isLessThan"
        | "compareTo"
        | "add"
        | "sub"
        | "major"
        | "minor"
        | "patch"
        | "getScheme"
        | "getHostname"
        | "getHost"
        | "getPort"
        | "getEscapedPath"
        | "getQuery" => alone(CostEstimate::fixed(1)),
        "fieldSelector" | "labelSelector" if args.len() == 1 => {
            let length = size(first?);
            let requirements = length.by_factor(0.5).by_factor(REQUIREMENT_COST);
            alone(CostEstimate::fixed(LIST_COST).add(scan(length)).add(requirements))
        }
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" => {
            let target = target?;
            let Some(items) = items(target) else {
                let is_list = function == "includes";
                let length = size(target);
                return alone(if is_list { length.times_cost(CostEstimate::fixed(1)) } else { scan(length) });
            };
            let mut each = CostEstimate::fixed(1);
            if matches!(items.ty, Type::String | Type::Bytes) {
                each = each.add(scan(size(&items)));
            }
            alone(size(target).times_cost(each))
        }
        "url" | "jsonpatch.escapeKey" if args.len() == 1 => {
            let length = size(first?);
            Some((scan(length), Some(length)))
        }
        "lowerAscii" | "upperAscii" | "substring" | "trim" => {
            let length = size(target?);
            Some((scan(length), Some(length)))
        }
        "replace" => {
            let (target, from, to) = (size(target?), size(first?), size(args.get(1)?));
            Some((target.by_factor(2.0 * STRING_FACTOR), Some(replaced(target, from, to))))
        }
        "split" => {
            let length = size(target?);
            // The limit wins, also where it is negative: then there is none, and Go's conversion makes it huge.
            let limit = args.get(1).and_then(|limit| match limit.expr?.kind {
                Kind::Literal(Literal::Int(limit)) => Some(limit.cast_unsigned()),
                _ => None,
            });
            let max = limit.unwrap_or(length.max);
            Some((length.by_factor(2.0 * STRING_FACTOR), Some(SizeEstimate { min: 0, max })))
        }
        "join" => {
            let target = target?;
            let count = size(target);
            let mut length = SizeEstimate::fixed(0);
            if let Some(items) = items(target) {
                length = count.multiply(size(&items));
            }
            if let Some(separator) = first {
                let gaps =
                    SizeEstimate { min: count.min.saturating_sub(1), max: count.max.saturating_sub(1) };
                length = length.add(size(separator).multiply(gaps));
            }
            Some((scan(length), Some(length)))
        }
        "find" | "findAll" => {
            let length = size(target?);
            let cost = scan(length.add(ONE)).multiply(size(first?).by_factor(REGEX_FACTOR));
            Some((cost, Some(SizeEstimate { min: 0, max: length.max })))
        }
        "ip" if overload == "cidr_ip" => alone(CostEstimate::fixed(1)),
        "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            alone(scan(size(first?)))
        }
        "ip.isCanonical" => alone(size(first?).by_factor(2.0 * STRING_FACTOR)),
        "containsIP" => {
            let compared = scan(ADDRESS.add(ADDRESS));
            let is_text = overload == "cidr_contains_ip_string";
            alone(if is_text { compared.add(scan(size(first?))) } else { first.map(|_| compared)? })
        }
        "containsCIDR" => {
            let compared = scan(ADDRESS.add(ADDRESS)).add(scan(ADDRESS)).add(CostEstimate::fixed(1));
            let is_text = overload == "cidr_contains_cidr_string";
            alone(if is_text { compared.add(scan(size(first?))) } else { first.map(|_| compared)? })
        }
        "validate" => alone(scan(size(first?)).by_factor(FORMAT_REGEX * REGEX_FACTOR)),
        "_==_" => equality(first?, args.get(1)?),
        _ => None,
    }
}

/// Values of libraries are compared quickly.
fn equality(left: &Node<'_>, right: &Node<'_>) -> Option<Estimate> {
    let (Type::Host(host), true) = (left.ty, left.ty == right.ty) else { return None };
    match host.name {
        // A message is compared as anything else.
        name if messages::named(name).is_some() => None,
        "kubernetes.NamedFormat" => alone(scan(SizeEstimate { min: 1, max: FORMAT_SIZE })),
        "kubernetes.URL" => {
            let max = right.computed.map_or(1, |size| size.max);
            alone(scan(SizeEstimate { min: 1, max }))
        }
        _ => alone(CostEstimate::fixed(1)),
    }
}

/// The items of a list, to ask for their size; of a map its keys.
fn items<'a>(list: &Node<'a>) -> Option<Node<'a>> {
    let ty = match list.ty {
        Type::List(items) => &**items,
        Type::Map(map) => &map.0,
        Type::Optional(inner) => &**inner,
        Type::Type(Some(inner)) => &**inner,
        _ => return None,
    };
    let path = if list.path.is_empty() {
        list.path.clone()
    } else {
        list.path.iter().copied().chain(["@items"]).collect()
    };
    Some(Node { path, ty, expr: None, computed: None })
}

/// The length of a text in which every `from` became `to`.
fn replaced(text: SizeEstimate, from: SizeEstimate, to: SizeEstimate) -> SizeEstimate {
    let (mut count, mut kept) = (SizeEstimate::fixed(0), SizeEstimate::fixed(0));
    if from.min == 0 {
        // An empty text stands between all characters.
        count.max = text.max.saturating_add(1);
        kept.max = text.max;
    } else if to.max <= from.min {
        kept.max = text.max;
    } else {
        count.max = ratio(text.max, from.min);
    }
    if from.max == 0 {
        count.min = text.min.saturating_add(1);
        kept.min = text.min;
    } else if from.max <= to.min {
        kept.min = text.min;
    } else {
        count.min = ratio(text.min, from.max);
    }
    count.multiply(to).add(kept)
}

fn ratio(a: u64, b: u64) -> u64 {
    (a as f64 / b as f64).ceil() as u64
}

/// The extensions of lists and sets, which are known by their overloads.
fn of_extension(
    overload: &str,
    target: Option<&Node<'_>>,
    args: &[Node<'_>],
    sizes: &dyn SizeEstimator,
) -> Option<Estimate> {
    let size = |node: &Node<'_>| node.size(sizes);
    let squared = |node: &Node<'_>| size(node).multiply(size(node));
    match (overload, target, args) {
        ("list_slice", Some(list), [start, end]) => {
            let end = end.literal().unwrap_or(size(list).max);
            new_list(1.0, SizeEstimate::fixed(end.wrapping_sub(start.literal().unwrap_or_default())))
        }
        ("lists_range", None, [count]) => {
            new_list(1.0, SizeEstimate::fixed(count.literal().unwrap_or(u64::MAX)))
        }
        ("list_reverse", Some(list), []) => new_list(1.0, size(list)),
        ("list_flatten" | "list_flatten_int", Some(list), [] | [_]) => {
            let depth = args.first().map_or(1, |depth| depth.literal().unwrap_or(u64::MAX));
            new_list(depth as f64, size(list))
        }
        ("list_distinct", Some(list), []) => new_list(2.0, squared(list)),
        ("list_sets_contains_list" | "list_sets_intersects_list", _, [a, b]) => sets(1.0, size(a), size(b)),
        ("list_sets_equivalent_list", _, [a, b]) => sets(2.0, size(a), size(b)),
        (_, Some(list), []) => new_list(sort_factor(overload.strip_suffix("_sort")?)?, squared(list)),
        (_, Some(_), [keys]) => {
            let items = overload.strip_suffix("_sortByAssociatedKeys")?;
            new_list(sort_factor(items)?, squared(keys))
        }
        _ => None,
    }
}

/// By the type of what is compared, as the overload names it.
fn sort_factor(items: &str) -> Option<f64> {
    Some(match items.strip_prefix("list_")? {
        "string" | "bytes" => 2.0 + STRING_FACTOR,
        _ => 2.0,
    })
}

fn new_list(factor: f64, size: SizeEstimate) -> Option<Estimate> {
    Some((size.by_factor(factor).add(CostEstimate::fixed(1 + LIST_COST)), Some(size)))
}

fn sets(factor: f64, a: SizeEstimate, b: SizeEstimate) -> Option<Estimate> {
    alone(a.multiply(b).by_factor(factor).add(CostEstimate::fixed(1)))
}

/// Functions of the language itself; 1 for each that takes the same time whatever it is called with.
pub(super) fn of_language(
    overload: &str,
    target: Option<&Node<'_>>,
    args: &[Node<'_>],
    size: impl Fn(&Node<'_>) -> SizeEstimate,
) -> Estimate {
    let found = match (overload, target, args) {
        // The size of the result has no bound that could be told.
        ("string_format", Some(target), _) => alone(scan(size(target))),
        ("string_to_bytes", _, [text]) => {
            let length = size(text);
            let max = length.max.wrapping_mul(4);
            Some((scan(length), Some(SizeEstimate { min: length.min, max })))
        }
        ("bytes_to_string", _, [bytes]) => {
            let length = size(bytes);
            Some((scan(length), Some(SizeEstimate { min: length.min / 4, max: length.max })))
        }
        ("strings_quote", _, [text]) => {
            let length = size(text);
            let quoted = SizeEstimate {
                min: length.min.wrapping_add(2),
                max: length.max.wrapping_mul(2).wrapping_add(2),
            };
            Some((scan(length), Some(quoted)))
        }
        ("starts_with_string" | "ends_with_string", _, [part]) => alone(scan(size(part))),
        ("in_list", _, [_, list]) => alone(size(list).by_factor(1.0)),
        ("matches_string", Some(text), [regex]) | ("matches", None, [text, regex]) => {
            alone(scan(size(text).add(ONE)).multiply(size(regex).by_factor(REGEX_FACTOR)))
        }
        ("contains_string", Some(text), [part]) => alone(scan(size(text)).multiply(scan(size(part)))),
        (
            "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes"
            | "equals"
            | "not_equals",
            _,
            [left, right],
        ) => {
            let max = size(left).max.min(size(right).max);
            alone(scan(SizeEstimate { min: u64::from(max > 0), max }))
        }
        _ => None,
    };
    found.unwrap_or((CostEstimate::fixed(1), None))
}
