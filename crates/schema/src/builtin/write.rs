//! Objects of built-in kinds as JSON, their members in the order of Go's structs, as a real server writes them.

use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value, go_json, object};

use super::types;
use super::types::{Form, PROPS, PropsOr, TypeDef};
use crate::proto::type_of;

/// The most fields of a struct that are brought into order; no type has as many.
const FIELDS: usize = 64;

/// Appends a document as compact JSON. The members of what is not of a built-in kind have the order of their names.
pub fn write_json(value: &Value, out: &mut Vec<u8>) {
    let def = value.as_object().and_then(|_| own_type(value));
    match (def, value) {
        (Some(def), Value::Object(map)) => in_struct(def, map, false, out),
        (None, Value::Object(map)) if object::kind(value) == "Table" => table(map, out),
        _ => go_json::write(value, out),
    }
}

/// The type of a document. A kind that is named like one of those that every group has is still its own.
fn own_type(value: &Value) -> Option<&'static TypeDef> {
    let api_version = object::api_version(value);
    let def = type_of(api_version, object::kind(value))?;
    let of_all = def.name.starts_with("meta.")
        && !matches!(api_version, "" | "v1")
        && !api_version.starts_with("meta.k8s.io/");
    (!of_all).then_some(def)
}

/// Appends an object of the kind without saying what it is, as an item of a list.
pub fn write_item_json(value: &Value, out: &mut Vec<u8>) {
    match (own_type(value), value) {
        (Some(def), Value::Object(map)) => in_struct(def, map, true, out),
        _ => go_json::write(value, out),
    }
}

/// A value of a type of the table as JSON.
pub(super) fn struct_json(name: &str, value: &Value) -> String {
    let mut out = Vec::new();
    match (types::find(name), value) {
        (Some(id), Value::Object(map)) => in_struct(id.def(), map, false, &mut out),
        _ => go_json::write(value, &mut out),
    }
    String::from_utf8(out).unwrap_or_default()
}

/// The metadata of an object as compact JSON, as upstream shows it where it should not be.
pub fn metadata_json(metadata: &Value) -> String {
    struct_json("meta.v1.ObjectMeta", metadata)
}

fn in_struct(def: &'static TypeDef, map: &Map, untyped: bool, out: &mut Vec<u8>) {
    let mut places: [Option<(&str, &Value, Option<&'static Form>)>; FIELDS] = [None; FIELDS];
    let mut fields = def.fields.iter().peekable();
    let mut others = Vec::new();
    // Both are sorted by name.
    for (name, value) in map.iter() {
        while fields.next_if(|field| field.name < name).is_some() {}
        match fields.next_if(|field| field.name == name) {
            Some(field) => match places.get_mut(field.position) {
                Some(place) => *place = Some((name, value, Some(&field.form))),
                None => others.push((name, value, Some(&field.form))),
            },
            None => others.push((name, value, None)),
        }
    }
    out.push(b'{');
    let mut first = true;
    for (name, value, form) in places.into_iter().flatten().chain(others) {
        if untyped && matches!(name, "kind" | "apiVersion") {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        go_json::string(name, out);
        out.push(b':');
        match form {
            Some(form) => of_form(form, value, out),
            None => go_json::write(value, out),
        }
    }
    out.push(b'}');
}

fn of_form(form: &'static Form, value: &Value, out: &mut Vec<u8>) {
    match (form, value) {
        (Form::Ref(id), Value::Object(map)) => deeper(|| in_struct(id.def(), map, false, out)),
        (Form::List(item) | Form::WrappedList(item), Value::Array(items)) => {
            go_json::list(items, out, |value, out| of_form(item, value, out));
        }
        (Form::Map(item), Value::Object(map)) => {
            out.push(b'{');
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                go_json::string(key, out);
                out.push(b':');
                of_form(item, value, out);
            }
            out.push(b'}');
        }
        (Form::PropsOr(_), Value::Object(map)) => props(map, out),
        (Form::PropsOr(PropsOr::Array), Value::Array(items)) => {
            go_json::list(items, out, |value, out| match value {
                Value::Object(map) => props(map, out),
                other => go_json::write(other, out),
            });
        }
        _ => go_json::write(value, out),
    }
}

fn props(map: &Map, out: &mut Vec<u8>) {
    if let Some(id) = types::find(PROPS) {
        deeper(|| in_struct(id.def(), map, false, out));
    }
}

/// `metav1.Table`, whose cells may be anything, which no table of types says.
fn table(map: &Map, out: &mut Vec<u8>) {
    ordered(
        map,
        &["kind", "apiVersion", "metadata", "columnDefinitions", "rows"],
        out,
        |name, value, out| match (name, value) {
            ("metadata", Value::Object(map)) => {
                let names = ["selfLink", "resourceVersion", "continue", "remainingItemCount"];
                ordered(map, &names, out, |_, value, out| go_json::write(value, out));
            }
            ("columnDefinitions", Value::Array(columns)) => go_json::list(columns, out, |column, out| {
                let names = ["name", "type", "format", "description", "priority"];
                match column {
                    Value::Object(map) => {
                        ordered(map, &names, out, |_, value, out| go_json::write(value, out))
                    }
                    other => go_json::write(other, out),
                }
            }),
            ("rows", Value::Array(rows)) => go_json::list(rows, out, |row, out| match row {
                Value::Object(map) => {
                    ordered(map, &["cells", "conditions", "object"], out, |name, value, out| match name {
                        "object" => write_json(value, out),
                        _ => go_json::write(value, out),
                    });
                }
                other => go_json::write(other, out),
            }),
            _ => go_json::write(value, out),
        },
    );
}

/// Appends an object with these members in this order.
fn ordered(
    map: &Map,
    names: &[&'static str],
    out: &mut Vec<u8>,
    mut member: impl FnMut(&'static str, &Value, &mut Vec<u8>),
) {
    out.push(b'{');
    let found = names.iter().filter_map(|name| Some((*name, map.get(name)?)));
    for (at, (name, value)) in found.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        go_json::string(name, out);
        out.push(b':');
        member(name, value, out);
    }
    out.push(b'}');
}
