//! The well-known messages as bytes, for those within `google.protobuf.Any`.

use super::make::finish;
use super::native::made;
use super::{Descriptor, FieldKind, named};
use crate::val::Val;

/// Deepest nesting that is read.
const MAX_DEPTH: usize = 100;

/// What an `Any` holds; `None` if its type is not one of these, or the bytes are not of the type.
pub(super) fn unpack(url: &str, bytes: &[u8]) -> Option<Val<'static>> {
    let name = url.rsplit('/').next()?;
    message(named(name)?, bytes, MAX_DEPTH)
}

fn message(descriptor: &'static Descriptor, mut bytes: &[u8], depth: usize) -> Option<Val<'static>> {
    let depth = depth.checked_sub(1)?;
    let mut fields: Vec<(&'static str, Val<'static>)> = Vec::new();
    let (mut values, mut entries) = (Vec::new(), Vec::new());
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let raw = Raw::read(key & 7, &mut bytes)?;
        let Some(field) = descriptor.fields.iter().find(|field| field.number == key >> 3) else { continue };
        match field.kind {
            FieldKind::Values => values.push(nested("google.protobuf.Value", raw, depth)?),
            FieldKind::Fields => entries.push(entry(raw, depth)?),
            kind => {
                let value = raw.value(kind, depth)?;
                fields.retain(|(name, _)| *name != field.name);
                fields.push((field.name, value));
            }
        }
    }
    for field in descriptor.fields {
        match field.kind {
            FieldKind::Values => fields.push((field.name, Val::list(std::mem::take(&mut values)))),
            FieldKind::Fields => fields.push((field.name, made(std::mem::take(&mut entries)))),
            _ => {}
        }
    }
    finish(descriptor, fields).ok()
}

fn nested(name: &str, raw: Raw<'_>, depth: usize) -> Option<Val<'static>> {
    let Raw::Bytes(bytes) = raw else { return None };
    message(named(name)?, bytes, depth)
}

/// A key and a value of a map.
fn entry(raw: Raw<'_>, depth: usize) -> Option<(Val<'static>, Val<'static>)> {
    let Raw::Bytes(mut bytes) = raw else { return None };
    let (mut key, mut value) = (Val::text(""), Val::Null);
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let raw = Raw::read(tag & 7, &mut bytes)?;
        match tag >> 3 {
            1 => key = raw.value(FieldKind::String, depth)?,
            2 => value = raw.value(FieldKind::Value, depth)?,
            _ => {}
        }
    }
    Some((key, value))
}

/// The value of a field before it is known what it means.
#[derive(Clone, Copy)]
enum Raw<'b> {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    Bytes(&'b [u8]),
}

impl<'b> Raw<'b> {
    fn read(wire_type: u64, bytes: &mut &'b [u8]) -> Option<Self> {
        Some(match wire_type {
            0 => Self::Varint(varint(bytes)?),
            1 => Self::Fixed64(take(bytes, 8)?.try_into().ok()?),
            2 => {
                let length = usize::try_from(varint(bytes)?).ok()?;
                Self::Bytes(take(bytes, length)?)
            }
            5 => Self::Fixed32(take(bytes, 4)?.try_into().ok()?),
            // Groups are none of these messages'.
            _ => return None,
        })
    }

    fn value(self, kind: FieldKind, depth: usize) -> Option<Val<'static>> {
        Some(match (kind, self) {
            (FieldKind::Bool, Self::Varint(number)) => Val::Bool(number != 0),
            (FieldKind::Int64, Self::Varint(number)) => Val::Int(number.cast_signed()),
            // The lower half counts.
            (FieldKind::Int32 | FieldKind::Null, Self::Varint(number)) => {
                Val::Int(i64::from((number as u32).cast_signed()))
            }
            (FieldKind::Uint64, Self::Varint(number)) => Val::Uint(number),
            (FieldKind::Uint32, Self::Varint(number)) => Val::Uint(u64::from(number as u32)),
            (FieldKind::Double, Self::Fixed64(bytes)) => Val::Double(f64::from_le_bytes(bytes)),
            (FieldKind::Float, Self::Fixed32(bytes)) => Val::Double(f64::from(f32::from_le_bytes(bytes))),
            (FieldKind::String, Self::Bytes(bytes)) => Val::text(std::str::from_utf8(bytes).ok()?),
            (FieldKind::Bytes, Self::Bytes(bytes)) => Val::Bytes(bytes.into()),
            (FieldKind::Struct, raw) => nested("google.protobuf.Struct", raw, depth)?,
            (FieldKind::List, raw) => nested("google.protobuf.ListValue", raw, depth)?,
            (FieldKind::Value, raw) => nested("google.protobuf.Value", raw, depth)?,
            _ => return None,
        })
    }
}

fn take<'b>(bytes: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for at in 0..10_u32 {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        // The tenth byte has one bit.
        if at == 9 && *first > 1 {
            return None;
        }
        number |= u64::from(first & 0x7f) << (7 * at);
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
