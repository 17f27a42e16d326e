//! The wire format of protobuf: tags, varints, lengths; read forwards, written backwards.

use std::borrow::Cow;

/// Why bytes are no message, in upstream's words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Broken {
    End,
    Overflow,
    NegativeLength,
    Tag { tag: i32, wire_type: u64 },
    EndOfGroup,
    WireType(u64),
}

impl Broken {
    /// The text, which may name the type of the message.
    pub(super) fn of(self, name: &str) -> Cow<'static, str> {
        match self {
            Broken::End => "unexpected EOF".into(),
            Broken::Overflow => "proto: integer overflow".into(),
            Broken::NegativeLength => "proto: negative length found during unmarshaling".into(),
            Broken::Tag { tag, wire_type } => {
                format!("proto: {name}: illegal tag {tag} (wire type {wire_type})").into()
            }
            Broken::EndOfGroup => format!("proto: {name}: wiretype end group for non-group").into(),
            Broken::WireType(wire_type) => format!("proto: illegal wireType {wire_type}").into(),
        }
    }
}

/// What a field holds, before its type is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
    /// The beginning of a group, which nothing uses any more.
    Group,
}

/// Iterates over the fields of a message. After an error it ends.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) const fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Broken> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Broken::End)?;
        self.rest = rest;
        Ok(taken)
    }

    fn length(&mut self) -> Result<usize, Broken> {
        let length = varint(&mut self.rest)?.cast_signed();
        usize::try_from(length).map_err(|_| Broken::NegativeLength)
    }

    /// Tag and wire type of the next field, whose payload is read next; `None` at the end of the message.
    ///
    /// # Errors
    /// If the message is broken here.
    pub(super) fn key(&mut self) -> Result<Option<(u32, u64)>, Broken> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = varint(&mut self.rest)?;
        let (tag, wire_type) = ((key >> 3) as i32, key & 7);
        if wire_type == 4 {
            return Err(Broken::EndOfGroup);
        }
        let tag = u32::try_from(tag).ok().filter(|tag| *tag > 0).ok_or(Broken::Tag { tag, wire_type })?;
        Ok(Some((tag, wire_type)))
    }

    /// What a field holds.
    ///
    /// # Errors
    /// If the message is broken here.
    pub(super) fn payload(&mut self, wire_type: u64) -> Result<Payload<'a>, Broken> {
        Ok(match wire_type {
            0 => Payload::Varint(varint(&mut self.rest)?),
            1 => Payload::Fixed64(self.take(8)?.try_into().map(u64::from_le_bytes).unwrap_or_default()),
            2 => {
                let length = self.length()?;
                Payload::Bytes(self.take(length)?)
            }
            3 => Payload::Group,
            5 => Payload::Fixed32(self.take(4)?.try_into().map(u32::from_le_bytes).unwrap_or_default()),
            _ => return Err(Broken::WireType(wire_type)),
        })
    }

    fn field(&mut self) -> Result<Option<(u32, Payload<'a>)>, Broken> {
        let Some((tag, wire_type)) = self.key()? else { return Ok(None) };
        Ok(Some((tag, self.payload(wire_type)?)))
    }

    /// Skips a group that has begun.
    ///
    /// # Errors
    /// If it does not end.
    pub(super) fn skip_group(&mut self) -> Result<(), Broken> {
        let mut depth = 1_usize;
        while depth > 0 {
            let key = varint(&mut self.rest)?;
            match key & 7 {
                0 => drop(varint(&mut self.rest)?),
                1 => drop(self.take(8)?),
                2 => {
                    let length = self.length()?;
                    self.take(length)?;
                }
                3 => depth += 1,
                4 => depth -= 1,
                5 => drop(self.take(4)?),
                wire_type => return Err(Broken::WireType(wire_type)),
            }
        }
        Ok(())
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<(u32, Payload<'a>), Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        let field = self.field().transpose()?;
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// The numbers of a packed list.
pub(super) fn packed(mut bytes: &[u8]) -> impl Iterator<Item = Result<u64, Broken>> {
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

fn varint(rest: &mut &[u8]) -> Result<u64, Broken> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first().ok_or(Broken::End)?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Broken::Overflow)
}

/// Writes a message from its end to its beginning: when the length of a part is written, the part is there.
pub(super) struct Writer {
    /// What is written fills the end of this.
    buffer: Vec<u8>,
    start: usize,
}

/// How much room a writer has at first: enough for most objects.
const ROOM: usize = 2048;

impl Writer {
    pub(super) fn new() -> Self {
        Self { buffer: vec![0; ROOM], start: ROOM }
    }

    /// How many bytes are written.
    pub(super) fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// The message.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.buffer.drain(..self.start);
        self.buffer
    }

    /// Writes bytes before what is there.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        if self.start < bytes.len() {
            let used = self.len();
            let size = self.buffer.len().saturating_mul(2).max(used + bytes.len() + ROOM);
            let mut larger = vec![0; size];
            larger[size - used..].copy_from_slice(&self.buffer[self.start..]);
            self.start = size - used;
            self.buffer = larger;
        }
        let start = self.start - bytes.len();
        self.buffer[start..self.start].copy_from_slice(bytes);
        self.start = start;
    }

    fn varint(&mut self, mut number: u64) {
        let mut digits = [0; 10];
        let mut count = 0;
        for digit in &mut digits {
            count += 1;
            *digit = (number & 0x7f) as u8;
            number >>= 7;
            if number == 0 {
                break;
            }
            *digit |= 0x80;
        }
        self.put(&digits[..count]);
    }

    /// The tag and the wire type of what was written last.
    pub(super) fn key(&mut self, tag: u32, wire_type: u64) {
        self.varint(u64::from(tag) << 3 | wire_type);
    }

    /// The length of all that was written since there were `end` bytes.
    pub(super) fn length_since(&mut self, end: usize) {
        self.varint((self.len() - end) as u64);
    }

    /// A field of bytes.
    pub(super) fn bytes(&mut self, tag: u32, bytes: &[u8]) {
        self.put(bytes);
        self.varint(bytes.len() as u64);
        self.key(tag, 2);
    }

    /// A field of text.
    pub(super) fn text(&mut self, tag: u32, text: &str) {
        self.bytes(tag, text.as_bytes());
    }

    /// A field of a whole number or a boolean.
    pub(super) fn number(&mut self, tag: u32, number: u64) {
        self.varint(number);
        self.key(tag, 0);
    }
}
