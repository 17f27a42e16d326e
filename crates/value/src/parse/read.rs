//! The reader of JSON. It goes through a text once and needs no stack for what is nested; what is wrong with a text that it does
//! not read, [`super::syntax`] tells.

use std::hash::{DefaultHasher, Hasher};

use crate::map::Builder;
use crate::stack::deeper;
use crate::{Map, Value};

use super::syntax::DEEPEST;
use super::{ParseError, Parsed};

/// How many duplicate keys are remembered; a body made of nothing else must not grow the report without bound.
const MAX_DUPLICATES: usize = 100;
/// How long their paths may be together: each may begin with the same long key.
const MAX_DUPLICATE_BYTES: usize = 1 << 20;

/// What is made of numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// They are read as where nothing is known of them.
    Read,
    /// Those that could be spelled in another way are kept as they are spelled.
    Spelled,
}

/// Reads a text, and remembers which keys came twice.
pub(super) struct Reader<'a, 's> {
    text: &'a str,
    at: usize,
    /// What is open, from the outside to the inside.
    open: Vec<Frame>,
    numbers: Numbers,
    /// Whether there is a number that is kept as it is spelled.
    spelled: bool,
    /// The first number that no float can hold.
    too_large: Option<&'a str>,
    /// Whether an object whose key comes again is filled from both.
    merges: bool,
    /// Is shown the paths of all keys as they come.
    show: Option<&'s mut dyn FnMut(&str)>,
    /// Where the reader is, if somebody is shown that.
    path: String,
    duplicates: Duplicates,
    /// What values of keys that came again replaced, each where it was; only if objects are filled from both.
    replaced: Vec<Value>,
}

/// A list or an object that is open.
struct Frame {
    made: Made,
    /// The hash of the path that leads here, once it is known.
    hash: Option<u64>,
    /// How long the path is that leads here, if somebody is shown it.
    path: usize,
}

enum Made {
    Array(Vec<Value>),
    Object { map: Builder, key: Box<str> },
}

/// Paths of keys that came more than once.
#[derive(Default)]
struct Duplicates {
    paths: Vec<String>,
    /// Their hashes: a path may be long, and come often.
    seen: Vec<u64>,
    bytes: usize,
    is_full: bool,
}

impl<'a, 's> Reader<'a, 's> {
    pub(super) fn new(text: &'a str, numbers: Numbers) -> Self {
        Self {
            text,
            at: 0,
            open: Vec::new(),
            numbers,
            spelled: false,
            too_large: None,
            merges: false,
            show: None,
            path: String::new(),
            duplicates: Duplicates::default(),
            replaced: Vec::new(),
        }
    }

    pub(super) fn merging(text: &'a str) -> Self {
        Self { merges: true, ..Self::new(text, Numbers::Spelled) }
    }

    /// Shows the paths of all keys up to where the text breaks.
    pub(super) fn keys(text: &'a str, show: &'s mut dyn FnMut(&str)) {
        let _broken = Self { show: Some(show), ..Self::new(text, Numbers::Spelled) }.document();
    }

    /// Reads the document. `None` if the text is not exactly one document, or has escapes that are no characters.
    pub(super) fn document(mut self) -> Option<Result<Parsed, ParseError>> {
        loop {
            // A value begins here.
            self.space();
            let mut value = match self.next()? {
                b'{' => {
                    self.enter(Made::Object { map: Builder::default(), key: Box::default() })?;
                    self.space();
                    if self.peek()? == b'}' {
                        self.at += 1;
                        self.leave()?
                    } else {
                        self.key()?;
                        continue;
                    }
                }
                b'[' => {
                    self.enter(Made::Array(Vec::new()))?;
                    self.space();
                    if self.peek()? == b']' {
                        self.at += 1;
                        self.leave()?
                    } else {
                        self.item(0);
                        continue;
                    }
                }
                b'"' => Value::String(self.string()?),
                b't' => self.word("rue", Value::Bool(true))?,
                b'f' => self.word("alse", Value::Bool(false))?,
                b'n' => self.word("ull", Value::Null)?,
                b'-' | b'0'..=b'9' => self.number()?,
                _ => return None,
            };
            // A value has ended: what is around it takes it, and may end with it.
            loop {
                self.space();
                let Some(frame) = self.open.last_mut() else {
                    return (self.at == self.text.len()).then(|| match self.too_large {
                        Some(literal) => Err(ParseError::Number(literal.to_owned())),
                        None => {
                            let (duplicates, replaced) = (self.duplicates.paths, self.replaced);
                            Ok(Parsed { value, duplicates, spelled: self.spelled, replaced })
                        }
                    });
                };
                match &mut frame.made {
                    Made::Array(items) => {
                        items.push(value);
                        let length = items.len();
                        match self.next()? {
                            b',' => {
                                self.item(length);
                                break;
                            }
                            b']' => value = self.leave()?,
                            _ => return None,
                        }
                    }
                    Made::Object { map, key } => {
                        let mut replaced = Vec::new();
                        if self.merges {
                            value = merged(map.get_mut(key), value, &mut replaced);
                        }
                        if self.show.is_some() {
                            self.path.truncate(frame.path);
                        }
                        // The key is needed for its path only if it was there.
                        match map.put(std::mem::take(key), value) {
                            None => {}
                            Some((again, earlier)) => {
                                *key = again;
                                self.note_duplicate();
                                if self.merges {
                                    replaced.push(earlier);
                                    self.note_replaced(replaced);
                                }
                            }
                        }
                        match self.next()? {
                            b',' => {
                                self.space();
                                self.key()?;
                                break;
                            }
                            b'}' => value = self.leave()?,
                            _ => return None,
                        }
                    }
                }
            }
        }
    }

    fn enter(&mut self, made: Made) -> Option<()> {
        self.open.push(Frame { made, hash: None, path: self.path.len() });
        (self.open.len() <= DEEPEST).then_some(())
    }

    fn leave(&mut self) -> Option<Value> {
        let frame = self.open.pop()?;
        if self.show.is_some() {
            self.path.truncate(frame.path);
        }
        Some(match frame.made {
            Made::Array(items) => Value::Array(items.into()),
            Made::Object { map, .. } => Value::Object(map.finish()),
        })
    }

    /// An item of a list begins.
    fn item(&mut self, index: usize) {
        if self.show.is_some()
            && let Some(frame) = self.open.last()
        {
            self.path.truncate(frame.path);
            self.path.push_str(&format!("[{index}]"));
        }
    }

    /// A key of an object, up to its colon.
    fn key(&mut self) -> Option<()> {
        if self.next()? != b'"' {
            return None;
        }
        let read = self.string()?;
        if let Some(show) = &mut self.show {
            if !self.path.is_empty() {
                self.path.push('.');
            }
            self.path.push_str(&read);
            show(&self.path);
        }
        if let Some(Frame { made: Made::Object { key, .. }, .. }) = self.open.last_mut() {
            *key = read.into();
        }
        self.space();
        (self.next()? == b':').then_some(())
    }

    /// Remembers what was replaced where the reader is.
    fn note_replaced(&mut self, replaced: Vec<Value>) {
        for mut value in replaced {
            // What has been filled from both is empty.
            let is_filled = value.as_object().is_some_and(Map::is_empty);
            if is_filled || self.replaced.len() == MAX_DUPLICATES {
                continue;
            }
            for frame in self.open.iter().rev() {
                value = match &frame.made {
                    Made::Array(_) => Value::from_iter([value]),
                    Made::Object { key, .. } => Value::Object(Map::from_iter([(key.clone(), value)])),
                };
            }
            self.replaced.push(value);
        }
    }

    fn note_duplicate(&mut self) {
        if self.duplicates.is_full {
            return;
        }
        let known = self.open.iter().rposition(|frame| frame.hash.is_some()).unwrap_or_default();
        let mut hash = 0;
        for frame in self.open.iter_mut().skip(known) {
            hash = *frame.hash.get_or_insert(hash);
            let mut hasher = DefaultHasher::new();
            hasher.write_u64(hash);
            match &frame.made {
                Made::Array(items) => hasher.write_usize(items.len()),
                Made::Object { key, .. } => hasher.write(key.as_bytes()),
            }
            hash = hasher.finish();
        }
        if self.duplicates.seen.contains(&hash) {
            return;
        }
        let length = |frame: &Frame| if let Made::Object { key, .. } = &frame.made { key.len() } else { 0 };
        let length: usize = self.open.iter().map(length).sum();
        self.duplicates.bytes += length;
        if self.duplicates.bytes > MAX_DUPLICATE_BYTES {
            self.duplicates.is_full = true;
            return;
        }
        let mut path = String::with_capacity(length + 2 * self.open.len());
        for frame in &self.open {
            match &frame.made {
                Made::Array(items) => path.push_str(&format!("[{}]", items.len())),
                Made::Object { key, .. } => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(key);
                }
            }
        }
        self.duplicates.seen.push(hash);
        self.duplicates.paths.push(path);
        self.duplicates.is_full = self.duplicates.paths.len() == MAX_DUPLICATES;
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn word(&mut self, rest: &str, value: Value) -> Option<Value> {
        self.text.get(self.at..)?.starts_with(rest).then(|| {
            self.at += rest.len();
            value
        })
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    /// A number of which the first byte has been taken.
    fn number(&mut self) -> Option<Value> {
        let start = self.at - 1;
        let first = match self.text.as_bytes().get(start)? {
            b'-' => self.next()?,
            first => *first,
        };
        match first {
            b'0' => {}
            b'1'..=b'9' => {
                let _none = self.digits();
            }
            _ => return None,
        }
        let mut whole = true;
        if self.peek() == Some(b'.') {
            whole = false;
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            whole = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let literal = self.text.get(start..self.at)?;
        // Of these there is one spelling.
        if whole
            && literal != "-0"
            && let Ok(number) = literal.parse()
        {
            return Some(Value::Int(number));
        }
        Some(match self.numbers {
            Numbers::Spelled => {
                let number = Value::spelled(literal);
                self.spelled |= matches!(number, Value::Spelled(_));
                number
            }
            Numbers::Read => Value::number(literal).unwrap_or_else(|| {
                self.too_large.get_or_insert(literal);
                Value::Null
            }),
        })
    }

    /// A string of which the first quote has been taken.
    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.at += plain(self.text.as_bytes().get(start..)?);
        let piece = self.text.get(start..self.at)?;
        match self.next()? {
            b'"' => Some(piece.to_owned()),
            b'\\' => self.string_with_escapes(piece.to_owned()),
            _ => None,
        }
    }

    /// The rest of a string after a backslash.
    fn string_with_escapes(&mut self, mut text: String) -> Option<String> {
        loop {
            text.push(match self.next()? {
                b'"' => '"',
                b'\\' => '\\',
                b'/' => '/',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'u' => self.escaped()?,
                _ => return None,
            });
            let start = self.at;
            self.at += plain(self.text.as_bytes().get(start..)?);
            text.push_str(self.text.get(start..self.at)?);
            match self.next()? {
                b'"' => return Some(text),
                b'\\' => {}
                _ => return None,
            }
        }
    }

    /// The character of four digits, or of twice four.
    fn escaped(&mut self) -> Option<char> {
        let high = self.unit()?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high);
        }
        let both = self.next()? == b'\\' && self.next()? == b'u';
        let low = if both { self.unit()? } else { return None };
        let low = low.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
        char::from_u32(0x10000 + ((high - 0xd800) << 10) + low)
    }

    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.bytes().try_fold(0, |unit, digit| Some(unit << 4 | (digit as char).to_digit(16)?))
    }
}

/// How many bytes of a text come before a quote, a backslash or a control character; eight are looked at together.
fn plain(text: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    // Where a byte is zero its highest bit is set, and maybe that of others behind it.
    let zeros = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes;
    let (chunks, rest) = text.as_chunks::<8>();
    for (number, chunk) in chunks.iter().enumerate() {
        let bytes = u64::from_le_bytes(*chunk);
        let control = bytes.wrapping_sub(ONES * 0x20) & !bytes;
        let quote = zeros(bytes ^ (ONES * u64::from(b'"')));
        let backslash = zeros(bytes ^ (ONES * u64::from(b'\\')));
        let found = (control | quote | backslash) & HIGHS;
        if found != 0 {
            return number * 8 + (found.trailing_zeros() / 8) as usize;
        }
    }
    let in_rest = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count();
    text.len() - rest.len() + in_rest
}

/// A value of a key that came before: of two objects both are kept.
fn merged(earlier: Option<&mut Value>, later: Value, replaced: &mut Vec<Value>) -> Value {
    match (earlier, later) {
        (Some(Value::Object(earlier)), Value::Object(later)) => {
            let mut both = std::mem::take(earlier);
            merge(&mut both, later, replaced);
            Value::Object(both)
        }
        (_, later) => later,
    }
}

/// Puts the members of an object into an earlier one, and tells what they replace.
fn merge(into: &mut Map, from: Map, replaced: &mut Vec<Value>) {
    deeper(|| {
        for (key, value) in from {
            let since = replaced.len();
            match (into.get_mut(&key), value) {
                (Some(Value::Object(earlier)), Value::Object(later)) => merge(earlier, later, replaced),
                (_, value) => {
                    let earlier = into.insert(key.clone(), value);
                    replaced.extend(earlier.filter(|_| since < MAX_DUPLICATES));
                }
            }
            for replaced in replaced.iter_mut().skip(since) {
                *replaced = Value::Object(Map::from_iter([(key.clone(), std::mem::take(replaced))]));
            }
        }
    });
}
