//! Text to tokens: indentation, indicators and the keys that are only known to be keys when their colon comes.

use std::collections::VecDeque;

use super::Error;
use super::source::Source;

/// How deep flow collections, and how deep block collections may nest.
const DEEPEST: usize = 10_000;
/// How many characters a key without a question mark may have.
const LONGEST_KEY: usize = 1024;

/// A place in the text; everything counts characters from zero.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    pub(super) index: usize,
    pub(super) line: usize,
    pub(super) column: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    StreamEnd,
    Version { major: u8, minor: u8 },
    TagDirective { handle: Vec<u8>, prefix: Vec<u8> },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    Tag { handle: Vec<u8>, suffix: Vec<u8> },
    Scalar { text: String, plain: bool },
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// The line in which it starts.
    pub(super) line: usize,
}

/// A place where a key may have begun.
#[derive(Clone, Copy, Debug, Default)]
struct SimpleKey {
    possible: bool,
    /// Whether the text is wrong if it turns out to be none.
    required: bool,
    /// The token that would be its first.
    token: usize,
    mark: Mark,
}

pub(super) struct Scanner<'a> {
    text: &'a [u8],
    broken: Option<(usize, &'static str)>,
    at: usize,
    pub(super) mark: Mark,
    tokens: VecDeque<Token>,
    /// How many tokens have been taken.
    taken: usize,
    /// Whether the first token is known to be what it looks like.
    ready: bool,
    pub(super) flow_level: usize,
    /// The column of the innermost block collection, -1 outside of all.
    pub(super) indent: isize,
    indents: Vec<isize>,
    pub(super) key_allowed: bool,
    /// One for each level of flow collections and one for what is around them.
    keys: Vec<SimpleKey>,
    /// Tokens at which a key may begin, in order, and the levels they belong to.
    key_tokens: Vec<(usize, usize)>,
    started: bool,
    ended: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(source: &'a Source<'_>) -> Self {
        Self {
            text: source.text.as_bytes(),
            broken: source.broken,
            at: 0,
            mark: Mark::default(),
            tokens: VecDeque::new(),
            taken: 0,
            ready: false,
            flow_level: 0,
            indent: -1,
            indents: Vec::new(),
            key_allowed: true,
            keys: vec![SimpleKey::default()],
            key_tokens: Vec::new(),
            started: false,
            ended: false,
        }
    }

    /// The next token; the last one is followed by itself.
    pub(super) fn peek(&mut self) -> Result<&Token, Error> {
        static END: Token = Token { kind: Kind::StreamEnd, line: 0 };
        if !self.ready {
            self.fetch_enough()?;
        }
        Ok(self.tokens.front().unwrap_or(&END))
    }

    /// Takes the token that was looked at.
    pub(super) fn take(&mut self) -> Result<Token, Error> {
        let line = self.peek()?.line;
        self.ready = false;
        self.taken += 1;
        Ok(self.tokens.pop_front().unwrap_or(Token { kind: Kind::StreamEnd, line }))
    }

    // --- characters

    /// The byte `ahead` of here, zero behind the end.
    pub(super) fn byte(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or_default()
    }

    /// Whether `count` more characters can be read; fails if the text is broken before.
    pub(super) fn need(&self, count: usize) -> Result<(), Error> {
        let Some((end, why)) = self.broken else { return Ok(()) };
        let left = self.text.get(self.at..end).unwrap_or_default();
        // Continuations of a character are none.
        let characters = left.iter().take(4 * count).filter(|byte| **byte & 0xc0 != 0x80).count();
        if characters < count { Err(Error::plain(why)) } else { Ok(()) }
    }

    fn width(&self) -> usize {
        match self.byte(0) {
            0..0x80 => 1,
            0x80..0xe0 => 2,
            0xe0..0xf0 => 3,
            _ => 4,
        }
    }

    /// Steps over a character that is no line break.
    pub(super) fn skip(&mut self) -> Result<(), Error> {
        self.at += self.width();
        self.mark.index += 1;
        self.mark.column += 1;
        self.need(1)
    }

    /// Copies a character that is no line break.
    pub(super) fn copy(&mut self, into: &mut Vec<u8>) -> Result<(), Error> {
        let end = self.at + self.width();
        into.extend_from_slice(self.text.get(self.at..end).unwrap_or_default());
        self.skip()
    }

    /// Copies a line break, if there is one here: all but two of its forms become a line feed.
    pub(super) fn copy_break(&mut self, into: &mut Vec<u8>) -> Result<(), Error> {
        self.need(2)?;
        let (width, characters, kept): (usize, usize, &[u8]) =
            match (self.byte(0), self.byte(1), self.byte(2)) {
                (b'\r', b'\n', _) => (2, 2, b"\n"),
                (b'\r' | b'\n', ..) => (1, 1, b"\n"),
                (0xc2, 0x85, _) => (2, 1, b"\n"),
                (0xe2, 0x80, 0xa8) => (3, 1, b"\xe2\x80\xa8"),
                (0xe2, 0x80, 0xa9) => (3, 1, b"\xe2\x80\xa9"),
                _ => return Ok(()),
            };
        into.extend_from_slice(kept);
        self.at += width;
        self.mark = Mark { index: self.mark.index + characters, line: self.mark.line + 1, column: 0 };
        self.need(1)
    }

    /// Steps over a line break, if there is one here.
    pub(super) fn skip_break(&mut self) -> Result<(), Error> {
        self.copy_break(&mut Vec::new())
    }

    pub(super) fn is_break(&self, ahead: usize) -> bool {
        match self.byte(ahead) {
            b'\r' | b'\n' => true,
            0xc2 => self.byte(ahead + 1) == 0x85,
            0xe2 => self.byte(ahead + 1) == 0x80 && matches!(self.byte(ahead + 2), 0xa8 | 0xa9),
            _ => false,
        }
    }

    pub(super) fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t')
    }

    pub(super) fn at_end(&self) -> bool {
        self.byte(0) == 0
    }

    pub(super) fn is_break_or_end(&self, ahead: usize) -> bool {
        self.byte(ahead) == 0 || self.is_break(ahead)
    }

    /// Whether a word ends here.
    pub(super) fn is_word_end(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.is_break_or_end(ahead)
    }

    /// Whether a line is here that begins or ends a document.
    pub(super) fn is_document_line(&self) -> bool {
        let mark = [self.byte(0), self.byte(1), self.byte(2)];
        self.mark.column == 0 && (mark == *b"---" || mark == *b"...") && self.is_word_end(3)
    }

    pub(super) fn wrong<T>(&self, why: &'static str) -> Result<T, Error> {
        Err(Error::scanning(self.mark.line, why))
    }

    /// Steps over blanks and a comment.
    pub(super) fn skip_to_break(&mut self) -> Result<(), Error> {
        while self.is_blank(0) {
            self.skip()?;
        }
        self.skip_comment()
    }

    fn skip_comment(&mut self) -> Result<(), Error> {
        if self.byte(0) == b'#' {
            while !self.is_break_or_end(0) {
                self.skip()?;
            }
        }
        Ok(())
    }

    // --- tokens

    fn push(&mut self, kind: Kind, line: usize) {
        self.tokens.push_back(Token { kind, line });
    }

    /// Puts a token before the one with this number. If that one has been taken already, upstream appends, and so do we.
    fn insert(&mut self, number: usize, kind: Kind, line: usize) {
        let token = Token { kind, line };
        match number.checked_sub(self.taken).filter(|at| *at <= self.tokens.len()) {
            Some(at) => self.tokens.insert(at, token),
            None => self.tokens.push_back(token),
        }
    }

    /// Scans on until the first token cannot turn out to be a key.
    fn fetch_enough(&mut self) -> Result<(), Error> {
        loop {
            if !self.tokens.is_empty() {
                let level = self.key_tokens.binary_search_by_key(&self.taken, |(token, _)| *token);
                let Ok(found) = level else { break };
                let level = self.key_tokens.get(found).map_or(0, |(_, level)| *level);
                if !self.key_is_valid(level)? {
                    break;
                }
            }
            if self.ended {
                break;
            }
            self.fetch()?;
        }
        self.ready = true;
        Ok(())
    }

    fn fetch(&mut self) -> Result<(), Error> {
        if !self.started {
            self.started = true;
            self.need(1)?;
        }
        self.skip_to_token()?;
        self.unroll(self.mark.column as isize);
        self.need(4)?;
        let word_end = self.is_word_end(1);
        let (flow, line) = (self.flow_level > 0, self.mark.line);
        match self.byte(0) {
            0 => self.fetch_end(),
            b'%' if self.mark.column == 0 => {
                self.unroll(-1);
                self.forget_key()?;
                self.key_allowed = false;
                let kind = self.scan_directive()?;
                self.push(kind, line);
                Ok(())
            }
            b'-' | b'.' if self.is_document_line() => self.fetch_document_line(),
            b'[' => self.fetch_flow_start(Kind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(Kind::FlowMappingStart),
            b']' => self.fetch_flow_end(Kind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(Kind::FlowMappingEnd),
            b',' => {
                self.forget_key()?;
                self.key_allowed = true;
                self.indicator(Kind::FlowEntry)
            }
            b'-' if word_end => self.fetch_block_entry(),
            b'?' if flow || word_end => self.fetch_key(),
            b':' if flow || word_end => self.fetch_value(),
            b'*' | b'&' => {
                self.save_key()?;
                self.key_allowed = false;
                let kind = self.scan_anchor()?;
                self.push(kind, line);
                Ok(())
            }
            b'!' => {
                self.save_key()?;
                self.key_allowed = false;
                let kind = self.scan_tag()?;
                self.push(kind, line);
                Ok(())
            }
            b'|' | b'>' if !flow => {
                self.forget_key()?;
                self.key_allowed = true;
                let text = self.scan_block_scalar()?;
                self.push(Kind::Scalar { text, plain: false }, line);
                Ok(())
            }
            b'\'' | b'"' => {
                self.save_key()?;
                self.key_allowed = false;
                let text = self.scan_quoted()?;
                self.push(Kind::Scalar { text, plain: false }, line);
                Ok(())
            }
            first => {
                let never =
                    matches!(first, b'\t' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`') || self.is_break(0);
                let starts = match first {
                    b'-' => !self.is_blank(1),
                    b'?' | b':' => !word_end,
                    _ => !never,
                };
                if !starts {
                    return self.wrong("found character that cannot start any token");
                }
                self.save_key()?;
                self.key_allowed = false;
                let text = self.scan_plain()?;
                self.push(Kind::Scalar { text, plain: true }, line);
                Ok(())
            }
        }
    }

    /// Steps over a character that is a token by itself.
    fn indicator(&mut self, kind: Kind) -> Result<(), Error> {
        let line = self.mark.line;
        self.skip()?;
        self.push(kind, line);
        Ok(())
    }

    /// Steps over blanks, comments and line breaks. Tabs do not count where indentation does.
    fn skip_to_token(&mut self) -> Result<(), Error> {
        loop {
            if self.mark.index == 0 && self.text.starts_with(b"\xef\xbb\xbf") {
                self.skip()?;
            }
            while self.byte(0) == b' '
                || (self.byte(0) == b'\t' && (self.flow_level > 0 || !self.key_allowed))
            {
                self.skip()?;
            }
            self.skip_comment()?;
            if !self.is_break(0) {
                return Ok(());
            }
            self.skip_break()?;
            if self.flow_level == 0 {
                self.key_allowed = true;
            }
        }
    }

    // --- keys

    fn key_is_valid(&mut self, level: usize) -> Result<bool, Error> {
        let mark = self.mark;
        let Some(key) = self.keys.get_mut(level) else { return Ok(false) };
        if !key.possible {
            return Ok(false);
        }
        if key.mark.line < mark.line || key.mark.index + LONGEST_KEY < mark.index {
            if key.required {
                return self.wrong(NO_COLON);
            }
            key.possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    /// Notes that a key may begin here.
    fn save_key(&mut self) -> Result<(), Error> {
        if !self.key_allowed {
            return Ok(());
        }
        self.forget_key()?;
        let key = SimpleKey {
            possible: true,
            required: self.flow_level == 0 && self.indent == self.mark.column as isize,
            token: self.taken + self.tokens.len(),
            mark: self.mark,
        };
        let level = self.keys.len().saturating_sub(1);
        if let Some(last) = self.keys.last_mut() {
            *last = key;
        }
        self.key_tokens.push((key.token, level));
        Ok(())
    }

    /// What may have begun a key at this level is none.
    fn forget_key(&mut self) -> Result<(), Error> {
        let Some(key) = self.keys.last_mut().filter(|key| key.possible) else { return Ok(()) };
        if key.required {
            return self.wrong(NO_COLON);
        }
        key.possible = false;
        let token = key.token;
        self.forget_token(token);
        Ok(())
    }

    fn forget_token(&mut self, token: usize) {
        if let Ok(at) = self.key_tokens.binary_search_by_key(&token, |(token, _)| *token) {
            self.key_tokens.remove(at);
        }
    }

    // --- indentation

    /// Opens a block collection if this column is deeper than the innermost one. `before` is the token it begins at.
    fn roll(&mut self, column: usize, before: Option<usize>, kind: Kind, line: usize) -> Result<(), Error> {
        if self.flow_level > 0 || self.indent >= column as isize {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column as isize;
        if self.indents.len() > DEEPEST {
            return self.wrong(TOO_DEEP);
        }
        match before {
            Some(number) => self.insert(number, kind, line),
            None => self.push(kind, line),
        }
        Ok(())
    }

    /// Closes the block collections that are deeper than this column.
    fn unroll(&mut self, column: isize) {
        while self.flow_level == 0 && self.indent > column {
            self.push(Kind::BlockEnd, self.mark.line);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    // --- single tokens

    fn fetch_end(&mut self) -> Result<(), Error> {
        if self.mark.column != 0 {
            self.mark = Mark { line: self.mark.line + 1, column: 0, ..self.mark };
        }
        self.unroll(-1);
        self.forget_key()?;
        self.key_allowed = false;
        self.ended = true;
        self.push(Kind::StreamEnd, self.mark.line);
        Ok(())
    }

    fn fetch_document_line(&mut self) -> Result<(), Error> {
        self.unroll(-1);
        self.forget_key()?;
        self.key_allowed = false;
        let kind = if self.byte(0) == b'-' { Kind::DocumentStart } else { Kind::DocumentEnd };
        self.skip()?;
        self.skip()?;
        self.indicator(kind)
    }

    fn fetch_flow_start(&mut self, kind: Kind) -> Result<(), Error> {
        self.save_key()?;
        self.keys.push(SimpleKey { token: self.taken + self.tokens.len(), ..SimpleKey::default() });
        self.flow_level += 1;
        if self.flow_level > DEEPEST {
            return self.wrong(TOO_DEEP);
        }
        self.key_allowed = true;
        self.indicator(kind)
    }

    fn fetch_flow_end(&mut self, kind: Kind) -> Result<(), Error> {
        self.forget_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            // An empty collection takes with it that a key may have begun at its bracket. So upstream.
            if let Some(key) = self.keys.pop() {
                self.forget_token(key.token);
            }
        }
        self.key_allowed = false;
        self.indicator(kind)
    }

    fn fetch_block_entry(&mut self) -> Result<(), Error> {
        if self.flow_level == 0 {
            if !self.key_allowed {
                return self.wrong("block sequence entries are not allowed in this context");
            }
            self.roll(self.mark.column, None, Kind::BlockSequenceStart, self.mark.line)?;
        }
        self.forget_key()?;
        self.key_allowed = true;
        self.indicator(Kind::BlockEntry)
    }

    fn fetch_key(&mut self) -> Result<(), Error> {
        if self.flow_level == 0 {
            if !self.key_allowed {
                return self.wrong("mapping keys are not allowed in this context");
            }
            self.roll(self.mark.column, None, Kind::BlockMappingStart, self.mark.line)?;
        }
        self.forget_key()?;
        self.key_allowed = self.flow_level == 0;
        self.indicator(Kind::Key)
    }

    fn fetch_value(&mut self) -> Result<(), Error> {
        let level = self.keys.len().saturating_sub(1);
        if self.key_is_valid(level)? {
            let key = self.keys.last().copied().unwrap_or_default();
            self.insert(key.token, Kind::Key, key.mark.line);
            self.roll(key.mark.column, Some(key.token), Kind::BlockMappingStart, key.mark.line)?;
            if let Some(key) = self.keys.last_mut() {
                key.possible = false;
            }
            self.forget_token(key.token);
            // A key cannot follow a key.
            self.key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.key_allowed {
                    return self.wrong("mapping values are not allowed in this context");
                }
                self.roll(self.mark.column, None, Kind::BlockMappingStart, self.mark.line)?;
            }
            self.key_allowed = self.flow_level == 0;
        }
        self.indicator(Kind::Value)
    }
}

const NO_COLON: &str = "could not find expected ':'";
const TOO_DEEP: &str = "exceeded max depth of 10000";
