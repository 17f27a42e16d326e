//! The functions that expressions may call: names, overloads and their types, in the order in which upstream declares
//! them, which decides what an ambiguous call returns. Source: cel-go `common/stdlib/standard.go`, `ext/*.go`,
//! `cel/library.go`; `k8s.io/apiserver/pkg/cel/library/*.go`.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::hosts;
use crate::types::{Param, Type};

/// A function with all its overloads.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) overloads: Vec<Overload>,
}

/// One signature of a function.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    pub(crate) is_member: bool,
    /// The target of a member comes first.
    pub(crate) args: Vec<Type>,
    pub(crate) result: Type,
    /// Whether the signature has type parameters.
    pub(crate) is_generic: bool,
}

/// The function of this name, whether an environment has it or not.
pub(crate) fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.get(name)
}

static FUNCTIONS: LazyLock<HashMap<&'static str, Function>> = LazyLock::new(|| {
    let mut functions: HashMap<&'static str, Function> = HashMap::new();
    for (name, signatures) in TABLE {
        let function = functions.entry(name).or_insert_with(|| Function { name, overloads: Vec::new() });
        function.overloads.extend(signatures.lines().filter_map(overload));
    }
    functions
});

/// Reads `id (args) result`, or `id target.(args) result` of a member.
fn overload(line: &'static str) -> Option<Overload> {
    let (id, rest) = line.trim().split_once(' ')?;
    let open = rest.find(".(").or_else(|| rest.starts_with('(').then_some(0))?;
    let is_member = open > 0;
    let (target, rest) = rest.split_at_checked(open)?;
    let rest = rest.trim_start_matches('.').strip_prefix('(')?;
    let (args, result) = rest.rsplit_once(") ")?;
    let mut types: Vec<Type> = Vec::new();
    if is_member {
        types.push(parse_type(target)?);
    }
    for arg in args.split("; ").filter(|arg| !arg.is_empty()) {
        types.push(parse_type(arg)?);
    }
    let result = parse_type(result)?;
    let is_generic = types.iter().chain([&result]).any(has_params);
    Some(Overload { id, is_member, args: types, result, is_generic })
}

fn has_params(ty: &Type) -> bool {
    match ty {
        Type::Param(_) => true,
        Type::List(inner) | Type::Optional(inner) | Type::Type(Some(inner)) => has_params(inner),
        Type::Map(map) => has_params(&map.0) || has_params(&map.1),
        _ => false,
    }
}

fn parse_type(text: &'static str) -> Option<Type> {
    if let Some((outer, inner)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        return Some(match outer {
            "list" => Type::list(parse_type(inner)?),
            "optional" => Type::optional(parse_type(inner)?),
            "type" => Type::Type(Some(parse_type(inner)?.into())),
            "map" => {
                let (key, value) = inner.split_once(", ")?;
                Type::map(parse_type(key)?, parse_type(value)?)
            }
            _ => return None,
        });
    }
    Some(match text {
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "dyn" => Type::Dyn,
        "A" | "B" | "K" | "V" | "T" => Type::Param(Param::Declared(text)),
        host => Type::Host(hosts::ALL.into_iter().find(|known| known.name == host)?),
    })
}

/// Comparisons: of each type with itself and of numbers with each other.
macro_rules! comparison {
    ($name:literal) => {
        concat!(
            $name,
            "_bool (bool; bool) bool\n",
            $name,
            "_int64 (int; int) bool\n",
            $name,
            "_int64_double (int; double) bool\n",
            $name,
            "_int64_uint64 (int; uint) bool\n",
            $name,
            "_uint64 (uint; uint) bool\n",
            $name,
            "_uint64_double (uint; double) bool\n",
            $name,
            "_uint64_int64 (uint; int) bool\n",
            $name,
            "_double (double; double) bool\n",
            $name,
            "_double_int64 (double; int) bool\n",
            $name,
            "_double_uint64 (double; uint) bool\n",
            $name,
            "_string (string; string) bool\n",
            $name,
            "_bytes (bytes; bytes) bool\n",
            $name,
            "_timestamp (timestamp; timestamp) bool\n",
            $name,
            "_duration (duration; duration) bool"
        )
    };
}

/// Parts of a timestamp, in UTC or in a named zone.
macro_rules! part {
    ($name:literal) => {
        part!($name, $name)
    };
    ($name:literal, $zoned:literal) => {
        concat!(
            "timestamp_to_",
            $name,
            " timestamp.() int\n",
            "timestamp_to_",
            $zoned,
            "_tz timestamp.(string) int"
        )
    };
}

const TABLE: &[(&str, &str)] = &[
    ("_?_:_", "conditional (bool; A; A) A"),
    ("_&&_", "logical_and (bool; bool) bool"),
    ("_||_", "logical_or (bool; bool) bool"),
    ("!_", "logical_not (bool) bool"),
    ("@not_strictly_false", "not_strictly_false (bool) bool"),
    ("_==_", "equals (A; A) bool"),
    ("_!=_", "not_equals (A; A) bool"),
    (
        "_+_",
        "add_bytes (bytes; bytes) bytes
         add_double (double; double) double
         add_duration_duration (duration; duration) duration
         add_duration_timestamp (duration; timestamp) timestamp
         add_timestamp_duration (timestamp; duration) timestamp
         add_int64 (int; int) int
         add_list (list(A); list(A)) list(A)
         add_string (string; string) string
         add_uint64 (uint; uint) uint",
    ),
    (
        "_/_",
        "divide_double (double; double) double
         divide_int64 (int; int) int
         divide_uint64 (uint; uint) uint",
    ),
    ("_%_", "modulo_int64 (int; int) int\nmodulo_uint64 (uint; uint) uint"),
    (
        "_*_",
        "multiply_double (double; double) double
         multiply_int64 (int; int) int
         multiply_uint64 (uint; uint) uint",
    ),
    ("-_", "negate_double (double) double\nnegate_int64 (int) int"),
    (
        "_-_",
        "subtract_double (double; double) double
         subtract_duration_duration (duration; duration) duration
         subtract_int64 (int; int) int
         subtract_timestamp_duration (timestamp; duration) timestamp
         subtract_timestamp_timestamp (timestamp; timestamp) duration
         subtract_uint64 (uint; uint) uint",
    ),
    ("_<_", comparison!("less")),
    ("_<=_", comparison!("less_equals")),
    ("_>_", comparison!("greater")),
    ("_>=_", comparison!("greater_equals")),
    (
        "_[_]",
        "index_list (list(A); int) A
         index_map (map(A, B); A) B
         optional_list_index_int (optional(list(V)); int) optional(V)
         optional_map_index_value (optional(map(K, V)); K) optional(V)",
    ),
    ("@in", "in_list (A; list(A)) bool\nin_map (A; map(A, B)) bool"),
    (
        "size",
        "size_bytes (bytes) int
         bytes_size bytes.() int
         size_list (list(A)) int
         list_size list(A).() int
         size_map (map(A, B)) int
         map_size map(A, B).() int
         size_string (string) int
         string_size string.() int",
    ),
    ("type", "type (A) type(A)"),
    ("bool", "bool_to_bool (bool) bool\nstring_to_bool (string) bool"),
    ("bytes", "bytes_to_bytes (bytes) bytes\nstring_to_bytes (string) bytes"),
    (
        "double",
        "double_to_double (double) double
         int64_to_double (int) double
         string_to_double (string) double
         uint64_to_double (uint) double",
    ),
    ("duration", "duration_to_duration (duration) duration\nstring_to_duration (string) duration"),
    ("dyn", "to_dyn (A) dyn"),
    (
        "int",
        "int64_to_int64 (int) int
         double_to_int64 (double) int
         duration_to_int64 (duration) int
         string_to_int64 (string) int
         timestamp_to_int64 (timestamp) int
         uint64_to_int64 (uint) int",
    ),
    (
        "string",
        "string_to_string (string) string
         bool_to_string (bool) string
         bytes_to_string (bytes) string
         double_to_string (double) string
         duration_to_string (duration) string
         int64_to_string (int) string
         timestamp_to_string (timestamp) string
         uint64_to_string (uint) string
         ip_to_string (net.IP) string
         cidr_to_string (net.CIDR) string",
    ),
    (
        "timestamp",
        "timestamp_to_timestamp (timestamp) timestamp
         int64_to_timestamp (int) timestamp
         string_to_timestamp (string) timestamp",
    ),
    (
        "uint",
        "uint64_to_uint64 (uint) uint
         double_to_uint64 (double) uint
         int64_to_uint64 (int) uint
         string_to_uint64 (string) uint",
    ),
    ("contains", "contains_string string.(string) bool"),
    ("endsWith", "ends_with_string string.(string) bool"),
    ("startsWith", "starts_with_string string.(string) bool"),
    ("matches", "matches (string; string) bool\nmatches_string string.(string) bool"),
    ("getFullYear", part!("year", "year_with")),
    ("getMonth", part!("month", "month_with")),
    ("getDayOfYear", part!("day_of_year", "day_of_year_with")),
    ("getDayOfMonth", part!("day_of_month", "day_of_month_with")),
    ("getDate", part!("day_of_month_1_based", "day_of_month_1_based_with")),
    ("getDayOfWeek", part!("day_of_week", "day_of_week_with")),
    ("getHours", part!("hours", "hours_with")),
    ("getHours", "duration_to_hours duration.() int"),
    ("getMinutes", part!("minutes", "minutes_with")),
    ("getMinutes", "duration_to_minutes duration.() int"),
    ("getSeconds", part!("seconds")),
    ("getSeconds", "duration_to_seconds duration.() int"),
    ("getMilliseconds", part!("milliseconds", "milliseconds_with")),
    ("getMilliseconds", "duration_to_milliseconds duration.() int"),
    // kubernetes.urls
    ("url", "string_to_url (string) kubernetes.URL"),
    ("getScheme", "url_get_scheme kubernetes.URL.() string"),
    ("getHost", "url_get_host kubernetes.URL.() string"),
    ("getHostname", "url_get_hostname kubernetes.URL.() string"),
    ("getPort", "url_get_port kubernetes.URL.() string"),
    ("getEscapedPath", "url_get_escaped_path kubernetes.URL.() string"),
    ("getQuery", "url_get_query kubernetes.URL.() map(string, list(string))"),
    ("isURL", "is_url_string (string) bool"),
    // kubernetes.jsonpatch
    ("jsonpatch.escapeKey", "string_jsonpatch_escapeKey_string (string) string"),
    // kubernetes.regex
    ("find", "string_find_string string.(string) string"),
    (
        "findAll",
        "string_find_all_string string.(string) list(string)
         string_find_all_string_int string.(string; int) list(string)",
    ),
    // kubernetes.authz
    (
        "path",
        "authorizer_path kubernetes.authorization.Authorizer.(string) kubernetes.authorization.PathCheck",
    ),
    (
        "group",
        "authorizer_group kubernetes.authorization.Authorizer.(string) kubernetes.authorization.GroupCheck",
    ),
    (
        "serviceAccount",
        "authorizer_serviceaccount kubernetes.authorization.Authorizer.(string; string) kubernetes.authorization.Authorizer",
    ),
    (
        "resource",
        "groupcheck_resource kubernetes.authorization.GroupCheck.(string) kubernetes.authorization.ResourceCheck",
    ),
    (
        "subresource",
        "resourcecheck_subresource kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck",
    ),
    (
        "namespace",
        "resourcecheck_namespace kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck",
    ),
    (
        "name",
        "resourcecheck_name kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck",
    ),
    (
        "check",
        "pathcheck_check kubernetes.authorization.PathCheck.(string) kubernetes.authorization.Decision
         resourcecheck_check kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.Decision",
    ),
    ("errored", "decision_errored kubernetes.authorization.Decision.() bool"),
    ("error", "decision_error kubernetes.authorization.Decision.() string"),
    ("allowed", "decision_allowed kubernetes.authorization.Decision.() bool"),
    ("reason", "decision_reason kubernetes.authorization.Decision.() string"),
    (
        "fieldSelector",
        "authorizer_fieldselector kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck",
    ),
    (
        "labelSelector",
        "authorizer_labelselector kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck",
    ),
    // cel.lib.optional
    ("optional.of", "optional_of (V) optional(V)"),
    ("optional.ofNonZeroValue", "optional_ofNonZeroValue (V) optional(V)"),
    ("optional.none", "optional_none () optional(V)"),
    ("value", "optional_value optional(V).() V"),
    ("hasValue", "optional_hasValue optional(V).() bool"),
    ("or", "optional_or_optional optional(V).(optional(V)) optional(V)"),
    ("orValue", "optional_orValue_value optional(V).(V) V"),
    ("_?._", "select_optional_field (dyn; string) optional(V)"),
    (
        "_[?_]",
        "list_optindex_optional_int (list(V); int) optional(V)
         optional_list_optindex_optional_int (optional(list(V)); int) optional(V)
         map_optindex_optional_value (map(K, V); K) optional(V)
         optional_map_optindex_optional_value (optional(map(K, V)); K) optional(V)",
    ),
    ("last", "list_last list(V).() optional(V)"),
    ("first", "list_first list(V).() optional(V)"),
    ("optional.unwrap", "optional_unwrap (list(optional(V))) list(V)"),
    ("unwrapOpt", "optional_unwrapOpt list(optional(V)).() list(V)"),
    // kubernetes.quantity
    ("quantity", "string_to_quantity (string) kubernetes.Quantity"),
    ("isQuantity", "is_quantity_string (string) bool"),
    ("sign", "quantity_sign (kubernetes.Quantity) int"),
    ("isGreaterThan", "quantity_is_greater_than kubernetes.Quantity.(kubernetes.Quantity) bool"),
    ("isLessThan", "quantity_is_less_than kubernetes.Quantity.(kubernetes.Quantity) bool"),
    ("compareTo", "quantity_compare_to kubernetes.Quantity.(kubernetes.Quantity) int"),
    ("asApproximateFloat", "quantity_get_float kubernetes.Quantity.() double"),
    ("asInteger", "quantity_get_int kubernetes.Quantity.() int"),
    ("isInteger", "quantity_is_integer kubernetes.Quantity.() bool"),
    (
        "add",
        "quantity_add kubernetes.Quantity.(kubernetes.Quantity) kubernetes.Quantity
         quantity_add_int kubernetes.Quantity.(int) kubernetes.Quantity",
    ),
    (
        "sub",
        "quantity_sub kubernetes.Quantity.(kubernetes.Quantity) kubernetes.Quantity
         quantity_sub_int kubernetes.Quantity.(int) kubernetes.Quantity",
    ),
    // cel.lib.ext.strings, version 2
    ("charAt", "string_char_at_int string.(int) string"),
    (
        "indexOf",
        "string_index_of_string string.(string) int
         string_index_of_string_int string.(string; int) int
         list_a_index_of_int list(A).(A) int",
    ),
    (
        "lastIndexOf",
        "string_last_index_of_string string.(string) int
         string_last_index_of_string_int string.(string; int) int
         list_a_last_index_of_int list(A).(A) int",
    ),
    ("lowerAscii", "string_lower_ascii string.() string"),
    (
        "replace",
        "string_replace_string_string string.(string; string) string
         string_replace_string_string_int string.(string; string; int) string",
    ),
    (
        "split",
        "string_split_string string.(string) list(string)
         string_split_string_int string.(string; int) list(string)",
    ),
    (
        "substring",
        "string_substring_int string.(int) string
         string_substring_int_int string.(int; int) string",
    ),
    ("trim", "string_trim string.() string"),
    ("upperAscii", "string_upper_ascii string.() string"),
    ("format", "string_format string.(list(dyn)) string"),
    ("strings.quote", "strings_quote (string) string"),
    ("join", "list_join list(string).() string\nlist_join_string list(string).(string) string"),
    // cel.lib.ext.sets
    ("sets.contains", "list_sets_contains_list (list(T); list(T)) bool"),
    ("sets.equivalent", "list_sets_equivalent_list (list(T); list(T)) bool"),
    ("sets.intersects", "list_sets_intersects_list (list(T); list(T)) bool"),
    // net.ip, net.cidr
    ("ip", "string_to_ip (string) net.IP\ncidr_ip net.CIDR.() net.IP"),
    ("family", "ip_family net.IP.() int"),
    ("ip.isCanonical", "ip_is_canonical (string) bool"),
    ("isUnspecified", "ip_is_unspecified net.IP.() bool"),
    ("isLoopback", "ip_is_loopback net.IP.() bool"),
    ("isLinkLocalMulticast", "ip_is_link_local_multicast net.IP.() bool"),
    ("isLinkLocalUnicast", "ip_is_link_local_unicast net.IP.() bool"),
    ("isGlobalUnicast", "ip_is_global_unicast net.IP.() bool"),
    ("isIP", "is_ip (string) bool"),
    ("cidr", "string_to_cidr (string) net.CIDR"),
    (
        "containsIP",
        "cidr_contains_ip_string net.CIDR.(string) bool
         cidr_contains_ip_ip net.CIDR.(net.IP) bool",
    ),
    (
        "containsCIDR",
        "cidr_contains_cidr_string net.CIDR.(string) bool
         cidr_contains_cidr net.CIDR.(net.CIDR) bool",
    ),
    ("prefixLength", "cidr_prefix_length net.CIDR.() int"),
    ("masked", "cidr_masked net.CIDR.() net.CIDR"),
    ("isCIDR", "is_cidr (string) bool"),
    // format
    ("format.named", "format-named (string) optional(kubernetes.NamedFormat)"),
    ("validate", "format-validate kubernetes.NamedFormat.(string) optional(list(string))"),
    ("format.dns1123Label", "format.dns1123Label () kubernetes.NamedFormat"),
    ("format.dns1123Subdomain", "format.dns1123Subdomain () kubernetes.NamedFormat"),
    ("format.dns1035Label", "format.dns1035Label () kubernetes.NamedFormat"),
    ("format.qualifiedName", "format.qualifiedName () kubernetes.NamedFormat"),
    ("format.dns1123LabelPrefix", "format.dns1123LabelPrefix () kubernetes.NamedFormat"),
    ("format.dns1123SubdomainPrefix", "format.dns1123SubdomainPrefix () kubernetes.NamedFormat"),
    ("format.dns1035LabelPrefix", "format.dns1035LabelPrefix () kubernetes.NamedFormat"),
    ("format.labelValue", "format.labelValue () kubernetes.NamedFormat"),
    ("format.uri", "format.uri () kubernetes.NamedFormat"),
    ("format.uuid", "format.uuid () kubernetes.NamedFormat"),
    ("format.byte", "format.byte () kubernetes.NamedFormat"),
    ("format.date", "format.date () kubernetes.NamedFormat"),
    ("format.datetime", "format.datetime () kubernetes.NamedFormat"),
    // cel.lib.ext.comprev2
    (
        "cel.@mapInsert",
        "@mapInsert_map_key_value (map(K, V); K; V) map(K, V)
         @mapInsert_map_map (map(K, V); map(K, V)) map(K, V)",
    ),
    // kubernetes.semver
    (
        "semver",
        "string_to_semver (string) kubernetes.Semver
         string_bool_to_semver (string; bool) kubernetes.Semver",
    ),
    ("isSemver", "is_semver_string (string) bool\nis_semver_string_bool (string; bool) bool"),
    ("isGreaterThan", "semver_is_greater_than kubernetes.Semver.(kubernetes.Semver) bool"),
    ("isLessThan", "semver_is_less_than kubernetes.Semver.(kubernetes.Semver) bool"),
    ("compareTo", "semver_compare_to kubernetes.Semver.(kubernetes.Semver) int"),
    ("major", "semver_major kubernetes.Semver.() int"),
    ("minor", "semver_minor kubernetes.Semver.() int"),
    ("patch", "semver_patch kubernetes.Semver.() int"),
    // cel.lib.ext.lists, version 3
    ("slice", "list_slice list(T).(int; int) list(T)"),
    (
        "flatten",
        "list_flatten list(list(T)).() list(T)
         list_flatten_int list(dyn).(int) list(dyn)",
    ),
    (
        "sort",
        "list_int_sort list(int).() list(int)
         list_uint_sort list(uint).() list(uint)
         list_double_sort list(double).() list(double)
         list_bool_sort list(bool).() list(bool)
         list_google.protobuf.Duration_sort list(duration).() list(duration)
         list_google.protobuf.Timestamp_sort list(timestamp).() list(timestamp)
         list_string_sort list(string).() list(string)
         list_bytes_sort list(bytes).() list(bytes)",
    ),
    (
        "@sortByAssociatedKeys",
        "list_int_sortByAssociatedKeys list(T).(list(int)) list(T)
         list_uint_sortByAssociatedKeys list(T).(list(uint)) list(T)
         list_double_sortByAssociatedKeys list(T).(list(double)) list(T)
         list_bool_sortByAssociatedKeys list(T).(list(bool)) list(T)
         list_google.protobuf.Duration_sortByAssociatedKeys list(T).(list(duration)) list(T)
         list_google.protobuf.Timestamp_sortByAssociatedKeys list(T).(list(timestamp)) list(T)
         list_string_sortByAssociatedKeys list(T).(list(string)) list(T)
         list_bytes_sortByAssociatedKeys list(T).(list(bytes)) list(T)",
    ),
    ("lists.range", "lists_range (int) list(int)"),
    ("reverse", "list_reverse list(T).() list(T)"),
    ("distinct", "list_distinct list(T).() list(T)"),
    // kubernetes.lists
    (
        "isSorted",
        "list_int_is_sorted_bool list(int).() bool
         list_uint_is_sorted_bool list(uint).() bool
         list_double_is_sorted_bool list(double).() bool
         list_bool_is_sorted_bool list(bool).() bool
         list_duration_is_sorted_bool list(duration).() bool
         list_timestamp_is_sorted_bool list(timestamp).() bool
         list_string_is_sorted_bool list(string).() bool
         list_bytes_is_sorted_bool list(bytes).() bool",
    ),
    (
        "sum",
        "list_int_sum_int list(int).() int
         list_uint_sum_uint list(uint).() uint
         list_double_sum_double list(double).() double
         list_duration_sum_duration list(duration).() duration",
    ),
    (
        "max",
        "list_int_max_int list(int).() int
         list_uint_max_uint list(uint).() uint
         list_double_max_double list(double).() double
         list_bool_max_bool list(bool).() bool
         list_duration_max_duration list(duration).() duration
         list_timestamp_max_timestamp list(timestamp).() timestamp
         list_string_max_string list(string).() string
         list_bytes_max_bytes list(bytes).() bytes",
    ),
    (
        "min",
        "list_int_min_int list(int).() int
         list_uint_min_uint list(uint).() uint
         list_double_min_double list(double).() double
         list_bool_min_bool list(bool).() bool
         list_duration_min_duration list(duration).() duration
         list_timestamp_min_timestamp list(timestamp).() timestamp
         list_string_min_string list(string).() string
         list_bytes_min_bytes list(bytes).() bytes",
    ),
    ("includes", "list_includes_dyn_dyn dyn.(dyn) bool"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_signature() {
        for (name, signatures) in TABLE {
            for line in signatures.lines() {
                assert!(overload(line).is_some(), "{name}: {line}");
            }
        }
    }
}
