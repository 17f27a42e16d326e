//! Documents as gnostic's protobuf messages, from the JSON that they are told as. Members are written in the order of their
//! tags, as Go's library does.

use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};

use super::message::{self, Form, Member, Message, Target};
use super::yaml;

/// The message of a document.
pub(super) fn encode(value: &Value, message: &'static Message) -> Vec<u8> {
    value.as_object().map(|object| object_of(object, message)).unwrap_or_default()
}

fn object_of(object: &Map, message: &'static Message) -> Vec<u8> {
    deeper(|| object_here(object, message))
}

fn object_here(object: &Map, message: &'static Message) -> Vec<u8> {
    let mut out = Vec::new();
    let mut members: Vec<&Member> = message.members.iter().filter(|member| member.tag > 0).collect();
    members.sort_by_key(|member| member.tag);
    let (before, after): (Vec<&Member>, Vec<&Member>) =
        members.into_iter().partition(|member| member.tag < message.extensions);
    let write = |member: &Member, out: &mut Vec<u8>| {
        if let Some(value) = object.get(member.name) {
            write_member(member, value, out);
        }
    };
    before.into_iter().for_each(|member| write(member, &mut out));
    if message.extensions > 0 {
        for (key, value) in object.iter().filter(|(key, _)| key.starts_with("x-")) {
            let order = message.extension(key).map_or(&[][..], |form| form.order(value));
            named(message.extensions, key, &ordered(value, order), &mut out);
        }
    }
    after.into_iter().for_each(|member| write(member, &mut out));
    out
}

fn write_member(member: &Member, value: &Value, out: &mut Vec<u8>) {
    let tag = member.tag;
    match (&member.form, value) {
        (Form::Text, Value::String(text)) => text_of(tag, text, out),
        (Form::Flag, Value::Bool(true)) => flag(tag, out),
        (Form::Integer, value) => {
            if let Some(whole) = value.as_i64().filter(|whole| *whole != 0) {
                key(tag, 0, out);
                varint(u64::from_ne_bytes(whole.to_ne_bytes()), out);
            }
        }
        (Form::Number, value) => {
            if let Some(number) = value.as_f64().filter(|number| *number != 0.0) {
                double(tag, number, out);
            }
        }
        (Form::Texts, Value::Array(items)) => {
            items.iter().filter_map(Value::as_str).for_each(|text| bytes(tag, text.as_bytes(), out));
        }
        (Form::Any, value) => bytes(tag, &any(value), out),
        (Form::Anys, Value::Array(items)) => items.iter().for_each(|item| bytes(tag, &any(item), out)),
        (Form::One(target), value) => bytes(tag, &wrapped(value, *target), out),
        (Form::Many(target), Value::Array(items)) => {
            items.iter().for_each(|item| bytes(tag, &wrapped(item, *target), out));
        }
        (Form::Named(entry, target), Value::Object(all)) => {
            let mut inner = Vec::new();
            for (name, value) in all.iter() {
                named(*entry, name, &wrapped(value, *target), &mut inner);
            }
            bytes(tag, &inner, out);
        }
        (Form::Items(target), value) => {
            let mut inner = Vec::new();
            let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            items.iter().for_each(|item| bytes(1, &wrapped(item, *target), &mut inner));
            bytes(tag, &inner, out);
        }
        (Form::SchemaOrFlag(target), value) => {
            let mut inner = Vec::new();
            match value {
                Value::Bool(allowed) => {
                    // One of two is chosen, so a `false` is written too.
                    key(2, 0, &mut inner);
                    inner.push(u8::from(*allowed));
                }
                schema => bytes(1, &wrapped(schema, *target), &mut inner),
            }
            bytes(tag, &inner, out);
        }
        (Form::Types, value) => {
            let mut inner = Vec::new();
            let types = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            types.iter().filter_map(Value::as_str).for_each(|kind| bytes(1, kind.as_bytes(), &mut inner));
            bytes(tag, &inner, out);
        }
        (Form::Scalar, value) => bytes(tag, &scalar(value), out),
        (Form::Requirements, Value::Array(items)) => {
            for item in items.iter().filter_map(Value::as_object) {
                let mut inner = Vec::new();
                item.keys().for_each(|name| named(1, name, &[], &mut inner));
                bytes(tag, &inner, out);
            }
        }
        _ => {}
    }
}

/// An object in the message that its place wants.
fn wrapped(value: &Value, target: Target) -> Vec<u8> {
    let Some(object) = value.as_object() else { return Vec::new() };
    let under = |tag: u32, inner: Vec<u8>| {
        let mut out = Vec::with_capacity(inner.len() + 4);
        bytes(tag, &inner, &mut out);
        out
    };
    let is_reference = object.contains_key("$ref");
    match target {
        Target::Plain(message) => object_of(object, message),
        Target::Wrapped(tag, message) => under(tag, object_of(object, message)),
        Target::OrReference(_) | Target::ParameterOrReference if is_reference => {
            under(2, object_of(object, &message::REFERENCE))
        }
        Target::OrReference(message) => under(1, object_of(object, message)),
        Target::ParameterOrReference => under(1, parameter(object)),
        Target::Parameter => parameter(object),
    }
}

fn parameter(object: &Map) -> Vec<u8> {
    let mut out = Vec::new();
    match object.get("in").and_then(Value::as_str) {
        Some("body") => bytes(1, &object_of(object, &message::V2_BODY), &mut out),
        place => {
            let (tag, message) = match place {
                Some("query") => (3, &message::V2_QUERY),
                _ => (4, &message::V2_PARAMETER),
            };
            let mut inner = Vec::new();
            bytes(tag, &object_of(object, message), &mut inner);
            bytes(2, &inner, &mut out);
        }
    }
    out
}

/// A default: one of a number, a truth or a text. Others are not carried.
fn scalar(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    match value {
        Value::Int(_) | Value::Float(_) => double(1, value.as_f64().unwrap_or_default(), &mut out),
        Value::Bool(truth) => {
            key(2, 0, &mut out);
            out.push(u8::from(*truth));
        }
        Value::String(text) => bytes(3, text.as_bytes(), &mut out),
        _ => {}
    }
    out
}

fn any(value: &Value) -> Vec<u8> {
    ordered(value, &[])
}

fn ordered(value: &Value, order: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    bytes(2, yaml::write(value, order).as_bytes(), &mut out);
    out
}

fn named(tag: u32, name: &str, value: &[u8], out: &mut Vec<u8>) {
    let mut inner = Vec::with_capacity(name.len() + value.len() + 8);
    text_of(1, name, &mut inner);
    bytes(2, value, &mut inner);
    bytes(tag, &inner, out);
}

fn text_of(tag: u32, text: &str, out: &mut Vec<u8>) {
    if !text.is_empty() {
        bytes(tag, text.as_bytes(), out);
    }
}

fn flag(tag: u32, out: &mut Vec<u8>) {
    key(tag, 0, out);
    out.push(1);
}

fn double(tag: u32, number: f64, out: &mut Vec<u8>) {
    key(tag, 1, out);
    out.extend_from_slice(&number.to_le_bytes());
}

fn bytes(tag: u32, content: &[u8], out: &mut Vec<u8>) {
    key(tag, 2, out);
    varint(content.len() as u64, out);
    out.extend_from_slice(content);
}

fn key(tag: u32, wire_type: u32, out: &mut Vec<u8>) {
    varint(u64::from(tag << 3 | wire_type), out);
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        // The lowest seven bits.
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push((number & 0x7f) as u8);
}
