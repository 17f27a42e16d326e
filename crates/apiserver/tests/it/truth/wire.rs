//! Protobuf without knowing what it is of, as the recorder reads it: what looks like text is text, what can be read as a
//! message is one.

use pilothouse_value::Value;

use super::normal::Names;

/// A body, or the frames of a stream.
pub(super) fn answer(names: &mut Names, mut bytes: &[u8], frames: bool) -> Value {
    if !frames {
        return piece(names, bytes);
    }
    let mut made = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let (frame, rest) = rest.split_at(u32::from_be_bytes(*length).try_into().unwrap());
        made.push(message(names, frame).unwrap_or_default());
        bytes = rest;
    }
    Value::Array(made.into())
}

fn piece(names: &mut Names, bytes: &[u8]) -> Value {
    if let Some(rest) = bytes.strip_prefix(b"k8s\0") {
        let mut fields = vec![Value::from("k8s")];
        if let Some(Value::Array(rest)) = message(names, rest) {
            fields.extend(rest);
        }
        return Value::Array(fields.into());
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && text.chars().all(|c| (c >= ' ' && c != '\x7f') || matches!(c, '\n' | '\t'))
    {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        return if digits { "N".into() } else { names.text(text).into() };
    }
    message(names, bytes).unwrap_or_else(|| hex(bytes))
}

fn hex(bytes: &[u8]) -> Value {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let (mut value, mut shift) = (0_u64, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or_default();
        shift += 7;
        if *byte < 0x80 {
            return Some(value);
        }
    }
}

fn message(names: &mut Names, mut bytes: &[u8]) -> Option<Value> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let value = match key & 7 {
            0 => match varint(&mut bytes)? {
                1_700_000_001..2_000_000_000 => "TIME".into(),
                number => Value::Int(number.cast_signed()),
            },
            1 => {
                let (number, rest) = bytes.split_at_checked(8)?;
                bytes = rest;
                hex(number)
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (inner, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                piece(names, inner)
            }
            _ => return None,
        };
        fields.push(Value::Array(vec![Value::Int((key >> 3).cast_signed()), value].into()));
    }
    Some(Value::Array(fields.into()))
}
