//! The wire format of protobuf: tags, varints, lengths; read forwards, written backwards.

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
