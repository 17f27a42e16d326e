//! The wire format of protobuf: tags, varints, lengths.

/// What a field holds, before its type is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// Iterates over the fields of a message. After an error it ends.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) const fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], &'static str> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or("unexpected end of the message")?;
        self.rest = rest;
        Ok(taken)
    }

    fn field(&mut self) -> Result<(u32, Payload<'a>), &'static str> {
        let key = varint(&mut self.rest)?;
        let tag = u32::try_from(key >> 3).map_err(|_| "a field has an illegal tag")?;
        if tag == 0 {
            return Err("a field has an illegal tag");
        }
        let payload = match key & 7 {
            0 => Payload::Varint(varint(&mut self.rest)?),
            1 => Payload::Fixed64(self.take(8)?.try_into().map(u64::from_le_bytes).unwrap_or_default()),
            2 => {
                let length = usize::try_from(varint(&mut self.rest)?).map_err(|_| "a field is too long")?;
                Payload::Bytes(self.take(length)?)
            }
            5 => Payload::Fixed32(self.take(4)?.try_into().map(u32::from_le_bytes).unwrap_or_default()),
            _ => return Err("a field has a wire type that is not used"),
        };
        Ok((tag, payload))
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<(u32, Payload<'a>), &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// The numbers of a packed list.
pub(super) fn packed(mut bytes: &[u8]) -> impl Iterator<Item = Result<u64, &'static str>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let number = varint(&mut bytes);
        if number.is_err() {
            bytes = &[];
        }
        Some(number)
    })
}

fn varint(rest: &mut &[u8]) -> Result<u64, &'static str> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first().ok_or("unexpected end of the message")?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number is too long")
}
