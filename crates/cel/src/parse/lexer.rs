//! Characters to tokens. What is no token is reported and passed over, as cel-go's lexer does.

use crate::error::Issues;

/// Kinds of tokens, in the order in which messages list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Kind {
    End,
    Equals,
    NotEquals,
    In,
    Less,
    LessEquals,
    GreaterEquals,
    Greater,
    And,
    Or,
    LBracket,
    RBracket,
    LBrace,
    RBrace,
    LParen,
    RParen,
    Dot,
    Comma,
    Minus,
    Exclam,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    Float,
    Int,
    Uint,
    String,
    Bytes,
    Ident,
    EscapedIdent,
}

impl Kind {
    /// As messages name it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::End => "<EOF>",
            Self::Equals => "'=='",
            Self::NotEquals => "'!='",
            Self::In => "'in'",
            Self::Less => "'<'",
            Self::LessEquals => "'<='",
            Self::GreaterEquals => "'>='",
            Self::Greater => "'>'",
            Self::And => "'&&'",
            Self::Or => "'||'",
            Self::LBracket => "'['",
            Self::RBracket => "']'",
            Self::LBrace => "'{'",
            Self::RBrace => "'}'",
            Self::LParen => "'('",
            Self::RParen => "')'",
            Self::Dot => "'.'",
            Self::Comma => "','",
            Self::Minus => "'-'",
            Self::Exclam => "'!'",
            Self::Question => "'?'",
            Self::Colon => "':'",
            Self::Plus => "'+'",
            Self::Star => "'*'",
            Self::Slash => "'/'",
            Self::Percent => "'%'",
            Self::True => "'true'",
            Self::False => "'false'",
            Self::Null => "'null'",
            Self::Float => "NUM_FLOAT",
            Self::Int => "NUM_INT",
            Self::Uint => "NUM_UINT",
            Self::String => "STRING",
            Self::Bytes => "BYTES",
            Self::Ident => "IDENTIFIER",
            Self::EscapedIdent => "ESC_IDENTIFIER",
        }
    }

    pub(super) const ALL: [Self; 36] = [
        Self::End,
        Self::Equals,
        Self::NotEquals,
        Self::In,
        Self::Less,
        Self::LessEquals,
        Self::GreaterEquals,
        Self::Greater,
        Self::And,
        Self::Or,
        Self::LBracket,
        Self::RBracket,
        Self::LBrace,
        Self::RBrace,
        Self::LParen,
        Self::RParen,
        Self::Dot,
        Self::Comma,
        Self::Minus,
        Self::Exclam,
        Self::Question,
        Self::Colon,
        Self::Plus,
        Self::Star,
        Self::Slash,
        Self::Percent,
        Self::True,
        Self::False,
        Self::Null,
        Self::Float,
        Self::Int,
        Self::Uint,
        Self::String,
        Self::Bytes,
        Self::Ident,
        Self::EscapedIdent,
    ];
}

/// A token: its kind and the bytes it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// What a source consists of.
pub(super) struct Tokens {
    /// The last one is [`Kind::End`].
    pub(super) tokens: Vec<Token>,
    /// White space and comments, by the bytes they take.
    pub(super) hidden: Vec<(u32, u32)>,
}

/// Reads all tokens.
pub(super) fn tokens(source: &str, issues: &mut Issues) -> Tokens {
    let mut tokens = Vec::with_capacity(source.len() / 3 + 1);
    let mut hidden = Vec::new();
    let mut at = 0;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        match lex(rest) {
            Lexed::Skip(length) => {
                hidden.push((position(at), position(at + length)));
                at += length;
            }
            Lexed::Token(kind, length) => {
                tokens.push(Token { kind, start: position(at), end: position(at + length) });
                at += length;
            }
            Lexed::Wrong(length) => {
                // The character at which reading failed belongs to the message and is passed over too.
                let failed =
                    rest.get(length..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
                let text = rest.get(..length + failed).unwrap_or(rest);
                issues.syntax(at, format!("token recognition error at: '{text}'"));
                at += (length + failed).max(1);
                while at < source.len() && !source.is_char_boundary(at) {
                    at += 1;
                }
            }
        }
    }
    tokens.push(Token { kind: Kind::End, start: position(source.len()), end: position(source.len()) });
    Tokens { tokens, hidden }
}

fn position(at: usize) -> u32 {
    // Longer sources are refused before they are read.
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// White space in messages of the grammar.
pub(super) fn visible(text: &str) -> String {
    text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
}

enum Lexed {
    Skip(usize),
    Token(Kind, usize),
    /// No token; so many bytes were read before that was clear.
    Wrong(usize),
}

fn lex(rest: &str) -> Lexed {
    let bytes = rest.as_bytes();
    let second = bytes.get(1).copied().unwrap_or(0);
    let one = |kind| Lexed::Token(kind, 1);
    let two = |kind| Lexed::Token(kind, 2);
    match bytes.first().copied().unwrap_or(0) {
        b' ' | b'\t' | b'\r' | b'\n' | 0x0C => {
            let is_space = |b: &&u8| matches!(b, b' ' | b'\t' | b'\r' | b'\n' | 0x0C);
            Lexed::Skip(bytes.iter().take_while(is_space).count())
        }
        b'/' if second == b'/' => Lexed::Skip(rest.find('\n').unwrap_or(rest.len())),
        b'=' if second == b'=' => two(Kind::Equals),
        b'!' if second == b'=' => two(Kind::NotEquals),
        b'<' if second == b'=' => two(Kind::LessEquals),
        b'>' if second == b'=' => two(Kind::GreaterEquals),
        b'&' if second == b'&' => two(Kind::And),
        b'|' if second == b'|' => two(Kind::Or),
        b'=' | b'&' | b'|' => Lexed::Wrong(1),
        b'!' => one(Kind::Exclam),
        b'<' => one(Kind::Less),
        b'>' => one(Kind::Greater),
        b'[' => one(Kind::LBracket),
        b']' => one(Kind::RBracket),
        b'{' => one(Kind::LBrace),
        b'}' => one(Kind::RBrace),
        b'(' => one(Kind::LParen),
        b')' => one(Kind::RParen),
        b'.' if !second.is_ascii_digit() => one(Kind::Dot),
        b',' => one(Kind::Comma),
        b'-' => one(Kind::Minus),
        b'?' => one(Kind::Question),
        b':' => one(Kind::Colon),
        b'+' => one(Kind::Plus),
        b'*' => one(Kind::Star),
        b'/' => one(Kind::Slash),
        b'%' => one(Kind::Percent),
        b'.' | b'0'..=b'9' => number(bytes),
        b'"' | b'\'' => match string(rest) {
            Ok(length) => Lexed::Token(Kind::String, length),
            Err(length) => Lexed::Wrong(length),
        },
        b'`' => {
            let allowed = |b: &&u8| b.is_ascii_alphanumeric() || b"_.-/ ".contains(b);
            let length = bytes.iter().skip(1).take_while(allowed).count();
            match bytes.get(length + 1) {
                Some(b'`') if length > 0 => Lexed::Token(Kind::EscapedIdent, length + 2),
                _ => Lexed::Wrong(length + 1),
            }
        }
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => word(rest),
        _ => Lexed::Wrong(0),
    }
}

fn word(rest: &str) -> Lexed {
    let length = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    // A prefix makes a string only when the quote follows at once.
    let prefix = rest.get(..length).unwrap_or_default();
    let after = rest.get(length..).unwrap_or_default();
    if after.starts_with(['"', '\'']) {
        let (is_bytes, is_raw) = match prefix {
            "r" | "R" => (false, true),
            "b" | "B" => (true, false),
            "br" | "bR" | "Br" | "BR" => (true, true),
            _ => return Lexed::Token(keyword(prefix), length),
        };
        let read = if is_raw { raw_string(after) } else { string(after) };
        let kind = if is_bytes { Kind::Bytes } else { Kind::String };
        return match read {
            Ok(quoted) => Lexed::Token(kind, length + quoted),
            // Without its end it is an identifier, and the quote is read on its own.
            Err(_) => Lexed::Token(keyword(prefix), length),
        };
    }
    Lexed::Token(keyword(prefix), length)
}

fn keyword(word: &str) -> Kind {
    match word {
        "in" => Kind::In,
        "true" => Kind::True,
        "false" => Kind::False,
        "null" => Kind::Null,
        _ => Kind::Ident,
    }
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|b| b.is_ascii_digit()).count()
}

fn number(bytes: &[u8]) -> Lexed {
    let after = |at: usize| bytes.get(at..).unwrap_or_default();
    if bytes.starts_with(b"0x") {
        let hex = after(2).iter().take_while(|b| b.is_ascii_hexdigit()).count();
        if hex > 0 {
            let is_unsigned = matches!(after(2 + hex).first(), Some(b'u' | b'U'));
            return if is_unsigned {
                Lexed::Token(Kind::Uint, hex + 3)
            } else {
                Lexed::Token(Kind::Int, hex + 2)
            };
        }
    }
    let whole = digits(bytes);
    let mut length = whole;
    let mut is_float = false;
    if after(length).first() == Some(&b'.') {
        let fraction = digits(after(length + 1));
        if fraction > 0 {
            is_float = true;
            length += 1 + fraction;
        }
    }
    if matches!(after(length).first(), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(after(length + 1).first(), Some(b'+' | b'-')));
        let exponent = digits(after(length + 1 + sign));
        if exponent > 0 {
            is_float = true;
            length += 1 + sign + exponent;
        }
    }
    if is_float {
        return Lexed::Token(Kind::Float, length);
    }
    if matches!(after(length).first(), Some(b'u' | b'U')) {
        return Lexed::Token(Kind::Uint, length + 1);
    }
    Lexed::Token(Kind::Int, length)
}

/// The length of a quoted string with escapes, or how much was read before it failed.
fn string(rest: &str) -> Result<usize, usize> {
    let quote = rest.get(..1).unwrap_or_default();
    let triple = rest.get(..3).filter(|three| *three == quote.repeat(3));
    if let Some(triple) = triple {
        let mut at = 3;
        loop {
            let here = rest.get(at..).unwrap_or_default();
            if here.starts_with(triple) {
                return Ok(at + 3);
            }
            match here.chars().next() {
                // Two quotes are an empty string, whatever the third one starts.
                None => return Ok(2),
                Some('\\') => match escape(here) {
                    Ok(length) => at += length,
                    Err(_) => return Ok(2),
                },
                Some(c) => at += c.len_utf8(),
            }
        }
    }
    let mut at = 1;
    loop {
        let here = rest.get(at..).unwrap_or_default();
        if here.starts_with(quote) {
            return Ok(at + 1);
        }
        match here.chars().next() {
            None | Some('\n' | '\r') => return Err(at),
            Some('\\') => match escape(here) {
                Ok(length) => at += length,
                Err(read) => return Err(at + read),
            },
            Some(c) => at += c.len_utf8(),
        }
    }
}

fn raw_string(rest: &str) -> Result<usize, usize> {
    let quote = rest.get(..1).unwrap_or_default();
    let triple = quote.repeat(3);
    if rest.starts_with(&triple) {
        let body = rest.get(3..).unwrap_or_default();
        return Ok(body.find(&triple).map_or(2, |end| end + 6));
    }
    let body = rest.get(1..).unwrap_or_default();
    match body.find(|c: char| quote.starts_with(c) || c == '\n' || c == '\r') {
        Some(end) if body.get(end..).is_some_and(|end| end.starts_with(quote)) => Ok(end + 2),
        Some(end) => Err(end + 1),
        None => Err(rest.len()),
    }
}

/// The length of an escape, or how much of it was read before it failed.
fn escape(rest: &str) -> Result<usize, usize> {
    let bytes = rest.as_bytes();
    let run = |count: usize, is_valid: fn(&u8) -> bool| {
        let read = bytes.iter().skip(2).take(count).take_while(|b| is_valid(b)).count();
        if read == count { Ok(count + 2) } else { Err(read + 2) }
    };
    match bytes.get(1) {
        Some(b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`') => Ok(2),
        Some(b'0'..=b'3') => run(2, |b| (b'0'..=b'7').contains(b)),
        Some(b'x' | b'X') => run(2, u8::is_ascii_hexdigit),
        Some(b'u') => run(4, u8::is_ascii_hexdigit),
        Some(b'U') => run(8, u8::is_ascii_hexdigit),
        _ => Err(1),
    }
}
