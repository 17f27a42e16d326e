//! Reads `tables/types.txt` and `tables/kinds.txt`.
//!
//! `types.txt` has one type a line, sorted by name, its parts separated by tabs: first the name of the type and its
//! marks, then each field as words separated by spaces: the name, the form, and any of
//! - `#1.2` the protobuf tag; the numbers before the last are messages that JSON flattens,
//! - `!` the field is required in the published schema,
//! - `*` the field is a pointer in Go, so an explicit zero is kept,
//! - `~` the field has no `omitempty`, so Go always writes it,
//! - `e=A,B` the only values there are, `ee=A,B` those of the elements of a list or map,
//! - `in=A.B` the Go names of the structs, flattened by JSON, that the field stands in,
//! - `z` the published default is the zero of its kind though the field may be left out,
//! - `d=JSON` the default (`%20` for a space, here and in values), `lt=`, `lk=`, `mt=`, `pk=`, `ps=` the list type, list keys, map type,
//!   patch merge key and patch strategies, `un=DISCRIMINATOR:FIELD=NAME,…` a union.
//!
//! A form is a scalar, one of the types with a JSON form of their own, `@NAME` for a type of the table, `[]` or `{}`
//! before the form of the elements, or `items[]` for a list that protobuf wraps in a message.

use std::sync::{LazyLock, OnceLock};

use pilothouse_value::{Gvk, Value};

use super::defaults;
use crate::Schema;

pub(crate) static TYPES: &str = include_str!("../tables/types.txt");
/// The name of the type of schemas in definitions.
pub(crate) const PROPS: &str = "apiextensions.v1.JSONSchemaProps";
static KINDS: &str = include_str!("../tables/kinds.txt");

/// The place of a type in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypeId(u16);

/// What a value looks like in JSON and protobuf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    String,
    Bool,
    Int32,
    Int64,
    Double,
    /// Base64 in JSON.
    Bytes,
    /// `metav1.Time`: RFC 3339 in seconds.
    Time,
    /// `metav1.MicroTime`: RFC 3339 in microseconds.
    MicroTime,
    /// `metav1.Duration`: Go's duration text.
    Duration,
    Quantity,
    IntOrString,
    /// `runtime.RawExtension`: an object of any kind.
    Raw,
    /// `apiextensions.JSON`: any JSON.
    Json,
    /// `metav1.FieldsV1`.
    Fields,
    /// `JSONSchemaPropsOrBool` and its like.
    PropsOr(PropsOr),
    Ref(TypeId),
    List(Box<Form>),
    /// A list that is a message with the field `items` in protobuf.
    WrappedList(Box<Form>),
    Map(Box<Form>),
}

/// What may stand in place of a `JSONSchemaProps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PropsOr {
    Bool,
    Array,
    Strings,
}

/// What a type or a field says about merging.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Marks {
    pub(crate) list_type: Option<&'static str>,
    pub(crate) list_keys: Option<&'static str>,
    pub(crate) map_type: Option<&'static str>,
    pub(crate) merge_key: Option<&'static str>,
    pub(crate) strategies: Option<&'static str>,
    pub(crate) union: Option<&'static str>,
}

/// One field of a type.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// Where the field stands in the Go struct, which is the order of the descriptions.
    pub(crate) position: usize,
    pub(crate) form: Form,
    /// The Go names of the flattened structs that the field stands in, from the outside inwards, with dots between.
    pub(crate) within: Option<&'static str>,
    /// Protobuf tags from the outer message inwards; empty for fields that protobuf does not carry.
    pub(crate) tags: Box<[u32]>,
    pub(crate) required: bool,
    pub(crate) pointer: bool,
    pub(crate) always: bool,
    pub(crate) marks: Marks,
    pub(crate) default: Option<Value>,
    /// The only values there are, separated by commas. They are published; rules check them.
    pub(crate) values: Option<&'static str>,
    /// The same of the elements of a list or map.
    pub(crate) element_values: Option<&'static str>,
    /// Whether the published default is the zero of the form although the field may be left out.
    pub(crate) zero: bool,
}

impl Field {
    /// Whether the zero of the form is published as the default.
    pub(crate) fn is_zero_by_default(&self) -> bool {
        self.zero || (self.always && !self.pointer)
    }
}

/// What stands in a protobuf message: a field of the type, by its place, or under a tag a message of fields that JSON
/// flattens.
#[derive(Debug)]
pub(crate) enum Step {
    Field(usize),
    Message(u32, Box<[Step]>),
}

/// One type.
#[derive(Debug)]
pub(crate) struct TypeDef {
    pub(crate) name: &'static str,
    pub(crate) marks: Marks,
    /// Sorted by name.
    pub(crate) fields: Box<[Field]>,
    /// The fields that Go writes even when they are zero.
    pub(crate) always: Box<[usize]>,
    /// The fields with a constant default.
    pub(crate) defaulted: Box<[usize]>,
    /// The fields in the order of their tags, made on first use.
    wire_order: OnceLock<Box<[Step]>>,
    /// Defaults that depend on other fields.
    pub(super) rule: Option<defaults::Rule>,
}

impl TypeDef {
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by(|field| field.name.cmp(name)).ok()?;
        self.fields.get(at)
    }

    /// The fields that protobuf carries, in the order in which they are written.
    pub(crate) fn wire_order(&self) -> &[Step] {
        self.wire_order.get_or_init(|| {
            let tags = |at: &usize| self.fields.get(*at).map_or(&[][..], |field| &field.tags);
            let mut places: Vec<usize> = (0..self.fields.len()).filter(|at| !tags(at).is_empty()).collect();
            places.sort_by(|a, b| tags(a).cmp(tags(b)));
            self.steps(&places, 0)
        })
    }

    /// The steps of a message whose fields, sorted by their tags, have `depth` tags before their own.
    fn steps(&self, places: &[usize], depth: usize) -> Box<[Step]> {
        let tag = |at: &usize| self.fields.get(*at).and_then(|field| field.tags.get(depth).copied());
        let is_last = |at: &usize| self.fields.get(*at).is_some_and(|field| field.tags.len() == depth + 1);
        let groups = places.chunk_by(|a, b| tag(a) == tag(b));
        let step = |group: &[usize]| match group {
            [at] if is_last(at) => Some(Step::Field(*at)),
            [first, ..] => Some(Step::Message(tag(first)?, self.steps(group, depth + 1))),
            [] => None,
        };
        groups.filter_map(step).collect()
    }

    /// The Go name of the type: `Deployment`.
    pub(crate) fn go_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }
}

struct Entry {
    name: &'static str,
    line: &'static str,
    // Most types are never asked for: what is not there takes a word.
    def: OnceLock<Box<TypeDef>>,
    node: OnceLock<Box<Schema>>,
}

static TABLE: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let entry = |line: &'static str| {
        let end = line.find(['\t', ' ']).unwrap_or(line.len());
        Entry {
            name: &line[..end],
            line: line[end..].trim_end(),
            def: OnceLock::new(),
            node: OnceLock::new(),
        }
    };
    TYPES.lines().map(entry).collect()
});

/// The place of a type with this name.
pub(crate) fn find(name: &str) -> Option<TypeId> {
    let at = TABLE.binary_search_by(|entry| entry.name.cmp(name)).ok()?;
    u16::try_from(at).ok().map(TypeId)
}

#[cfg(test)]
/// All types, in the order of their names.
pub(crate) fn all() -> impl Iterator<Item = TypeId> {
    (0..TABLE.len()).filter_map(|at| u16::try_from(at).ok()).map(TypeId)
}

impl TypeId {
    fn entry(self) -> &'static Entry {
        // A `TypeId` is only made from a place in the table.
        &TABLE[usize::from(self.0)]
    }

    /// The name, without parsing the type.
    pub(crate) fn name(self) -> &'static str {
        self.entry().name
    }

    /// The type, parsed on first use.
    pub(crate) fn def(self) -> &'static TypeDef {
        let entry = self.entry();
        entry.def.get_or_init(|| Box::new(parse(entry.name, entry.line)))
    }

    /// The schema node of the type, made on first use.
    pub(crate) fn node(self, make: impl FnOnce(&'static TypeDef) -> Schema) -> &'static Schema {
        self.entry().node.get_or_init(|| Box::new(make(self.def())))
    }
}

/// The kinds with their types.
fn by_kind() -> &'static [(&'static str, &'static str, &'static str)] {
    static BY_KIND: LazyLock<Vec<(&str, &str, &str)>> = LazyLock::new(|| {
        let row = |line: &'static str| {
            let mut words = line.split(' ');
            Some((words.next()?, words.next()?, words.next()?))
        };
        let mut rows: Vec<_> = KINDS.lines().filter_map(row).collect();
        rows.sort_unstable();
        rows
    });
    &BY_KIND
}

#[cfg(test)]
/// All kinds.
pub(crate) fn kinds() -> impl Iterator<Item = Gvk> {
    by_kind().iter().filter_map(|(version, kind, _)| {
        Some(version.parse::<pilothouse_value::GroupVersion>().ok()?.kind(*kind))
    })
}

/// The kinds that a type is of, as documents tell them.
pub(crate) fn kinds_of_type(name: &str) -> Vec<Gvk> {
    let rows = by_kind().iter().filter(|(_, _, of)| *of == name);
    rows.filter_map(|(version, kind, _)| {
        Some(version.parse::<pilothouse_value::GroupVersion>().ok()?.kind(*kind))
    })
    .collect()
}

/// The type of a kind.
pub(crate) fn kind(gvk: &Gvk) -> Option<&'static TypeDef> {
    let look = |api_version: &str| {
        let at =
            by_kind().binary_search_by(|(v, k, _)| (*v, *k).cmp(&(api_version, gvk.kind.as_str()))).ok()?;
        by_kind().get(at).and_then(|(_, _, name)| find(name))
    };
    let found = look(&gvk.api_version()).or_else(|| {
        // Every group has the options of requests and the status; they are one type each.
        look("v1").filter(|id| id.name().starts_with("meta."))
    });
    found.map(TypeId::def)
}

fn parse(name: &'static str, line: &'static str) -> TypeDef {
    let mut parts = line.split('\t');
    let marks = marks(parts.next().unwrap_or_default().split(' '));
    let mut fields: Vec<Field> =
        parts.enumerate().filter_map(|(position, text)| parse_field(position, text)).collect();
    fields.sort_by_key(|field| field.name);
    let always = (0..fields.len()).filter(|at| fields[*at].always).collect();
    let defaulted = (0..fields.len()).filter(|at| fields[*at].default.is_some()).collect();
    TypeDef {
        name,
        marks,
        fields: fields.into_boxed_slice(),
        always,
        defaulted,
        wire_order: OnceLock::new(),
        rule: defaults::rule(name),
    }
}

fn parse_field(position: usize, text: &'static str) -> Option<Field> {
    let mut words = text.split(' ');
    let name = words.next()?;
    let form = parse_form(words.next()?)?;
    let rest = words.clone();
    let tags = rest.clone().find_map(|word| word.strip_prefix('#'));
    let default = rest.clone().find_map(|word| word.strip_prefix("d="));
    let within = rest.clone().find_map(|word| word.strip_prefix("in="));
    Some(Field {
        name,
        position,
        form,
        within,
        tags: tags
            .map(|tags| tags.split('.').filter_map(|tag| tag.parse().ok()).collect())
            .unwrap_or_default(),
        required: rest.clone().any(|word| word == "!"),
        pointer: rest.clone().any(|word| word == "*"),
        always: rest.clone().any(|word| word == "~"),
        values: rest.clone().find_map(|word| word.strip_prefix("e=")),
        element_values: rest.clone().find_map(|word| word.strip_prefix("ee=")),
        zero: rest.clone().any(|word| word == "z"),
        marks: marks(rest),
        default: default
            .and_then(|text| pilothouse_value::parse::json(text.replace("%20", " ").as_bytes()).ok())
            .map(|parsed| parsed.value),
    })
}

fn marks(words: std::str::Split<'static, char>) -> Marks {
    let mut marks = Marks::default();
    for (mark, value) in words.filter_map(|word| word.split_once('=')) {
        match mark {
            "lt" => marks.list_type = Some(value),
            "lk" => marks.list_keys = Some(value),
            "mt" => marks.map_type = Some(value),
            "pk" => marks.merge_key = Some(value),
            "ps" => marks.strategies = Some(value),
            "un" => marks.union = Some(value),
            _ => {}
        }
    }
    marks
}

fn parse_form(text: &str) -> Option<Form> {
    if let Some(item) = text.strip_prefix("[]") {
        return parse_form(item).map(|form| Form::List(Box::new(form)));
    }
    if let Some(item) = text.strip_prefix("{}") {
        return parse_form(item).map(|form| Form::Map(Box::new(form)));
    }
    if let Some(item) = text.strip_prefix("items[]") {
        return parse_form(item).map(|form| Form::WrappedList(Box::new(form)));
    }
    if let Some(name) = text.strip_prefix('@') {
        return find(name).map(Form::Ref);
    }
    Some(match text {
        "string" => Form::String,
        "bool" => Form::Bool,
        "int32" => Form::Int32,
        "int64" => Form::Int64,
        "double" => Form::Double,
        "bytes" => Form::Bytes,
        "time" => Form::Time,
        "micro" => Form::MicroTime,
        "duration" => Form::Duration,
        "quantity" => Form::Quantity,
        "intstr" => Form::IntOrString,
        "raw" => Form::Raw,
        "json" => Form::Json,
        "fields" => Form::Fields,
        "props-or-bool" => Form::PropsOr(PropsOr::Bool),
        "props-or-array" => Form::PropsOr(PropsOr::Array),
        "props-or-strings" => Form::PropsOr(PropsOr::Strings),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_tables_is_understood() {
        let mut before = "";
        for (id, line) in all().zip(TYPES.lines()) {
            assert!(before < id.name(), "{} is out of order", id.name());
            before = id.name();
            assert_eq!(id.def().fields.len(), line.split('\t').count() - 1, "fields of {}", id.name());
        }
        for line in KINDS.lines() {
            let mut words = line.split(' ');
            let (version, kind, name) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            let version: pilothouse_value::GroupVersion = version.parse().unwrap();
            assert_eq!(super::kind(&version.kind(kind)).unwrap().name, name);
        }
    }
}
