//! From text to tokens.

use super::TemplateError;

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// Text outside of actions, trimmed already.
    Text(String),
    /// `{{`
    Open,
    /// `}}`
    Close,
    /// White space inside an action; it separates arguments, and it decides whether `.x` continues an operand.
    Space,
    /// A name: keyword, function, `true`, `nil`.
    Ident(String),
    /// `.name`
    Field(String),
    /// `$` or `$name`
    Variable(String),
    /// `.`
    Dot,
    /// A number, not read yet.
    Number(String),
    /// A string or a character constant, unquoted.
    Str(String),
    /// A character constant.
    Char(char),
    Pipe,
    LeftParen,
    RightParen,
    Declare,
    Assign,
    Comma,
}

/// A token and the line it stands in.
#[derive(Clone, Debug)]
pub(super) struct Lexeme {
    pub(super) token: Token,
    pub(super) line: usize,
}

pub(super) fn lex(source: &str) -> Result<Vec<Lexeme>, TemplateError> {
    let mut out = Vec::new();
    let (mut rest, mut line, mut trim_next) = (source, 1, false);
    loop {
        let (text, after) = match rest.find("{{") {
            Some(at) => (&rest[..at], Some(&rest[at + 2..])),
            None => (rest, None),
        };
        let lines = text.matches('\n').count();
        let trims = after.is_some_and(|a| a.starts_with('-') && a[1..].starts_with([' ', '\t', '\r', '\n']));
        let mut shown = text;
        if trim_next {
            shown = shown.trim_start_matches(SPACES);
        }
        if trims {
            shown = shown.trim_end_matches(SPACES);
        }
        if !shown.is_empty() {
            out.push(Lexeme { token: Token::Text(shown.to_owned()), line });
        }
        line += lines;
        let Some(after) = after else { return Ok(out) };
        let inside = if trims { &after[1..] } else { after };
        (rest, trim_next) = match inside.trim_start_matches(SPACES).strip_prefix("/*") {
            Some(comment) => skip_comment(comment, &mut line)?,
            None => action(inside, &mut line, &mut out)?,
        };
    }
}

const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

fn error(line: usize, message: impl Into<String>) -> TemplateError {
    TemplateError::Parse { line, message: message.into() }
}

fn skip_comment<'a>(comment: &'a str, line: &mut usize) -> Result<(&'a str, bool), TemplateError> {
    let end = comment.find("*/").ok_or_else(|| error(*line, "unclosed comment"))?;
    *line += comment[..end].matches('\n').count();
    let after = &comment[end + 2..];
    if let Some(rest) = after.strip_prefix("}}") {
        return Ok((rest, false));
    }
    after
        .trim_start_matches(SPACES)
        .strip_prefix("-}}")
        .map(|rest| (rest, true))
        .ok_or_else(|| error(*line, "comment ends before closing delimiter"))
}

/// Reads one action up to and with its closing delimiter; gives what follows and whether the text there is trimmed.
fn action<'a>(
    mut rest: &'a str,
    line: &mut usize,
    out: &mut Vec<Lexeme>,
) -> Result<(&'a str, bool), TemplateError> {
    let mut push = |token, line: usize| out.push(Lexeme { token, line });
    push(Token::Open, *line);
    let mut parens = 0_usize;
    loop {
        if let Some(after) = rest.strip_prefix("}}") {
            if parens > 0 {
                return Err(error(*line, "unclosed left paren"));
            }
            push(Token::Close, *line);
            return Ok((after, false));
        }
        let Some(c) = rest.chars().next() else { return Err(error(*line, "unclosed action")) };
        if SPACES.contains(&c) {
            let after = rest.trim_start_matches(SPACES);
            *line += rest[..rest.len() - after.len()].matches('\n').count();
            if let Some(after) = after.strip_prefix("-}}") {
                if parens > 0 {
                    return Err(error(*line, "unclosed left paren"));
                }
                push(Token::Close, *line);
                return Ok((after, true));
            }
            push(Token::Space, *line);
            rest = after;
            continue;
        }
        let (token, length) = match c {
            '|' => (Token::Pipe, 1),
            ',' => (Token::Comma, 1),
            '(' => {
                parens += 1;
                (Token::LeftParen, 1)
            }
            ')' => {
                parens = parens.checked_sub(1).ok_or_else(|| error(*line, "unexpected right paren"))?;
                (Token::RightParen, 1)
            }
            ':' if rest.starts_with(":=") => (Token::Declare, 2),
            '=' => (Token::Assign, 1),
            '"' => quoted(rest, *line)?,
            '`' => {
                let end =
                    rest[1..].find('`').ok_or_else(|| error(*line, "unterminated raw quoted string"))?;
                let text = &rest[1..=end];
                let token = Token::Str(text.replace('\r', ""));
                push(token, *line);
                *line += text.matches('\n').count();
                rest = &rest[end + 2..];
                continue;
            }
            '\'' => character(rest, *line)?,
            '$' => {
                let length = 1 + word(&rest[1..]);
                (Token::Variable(rest[..length].to_owned()), length)
            }
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => number(rest),
            '.' => match word(&rest[1..]) {
                0 => (Token::Dot, 1),
                length => (Token::Field(rest[1..=length].to_owned()), length + 1),
            },
            '+' | '-' | '0'..='9' => number(rest),
            c if c == '_' || c.is_alphabetic() => {
                let length = word(rest);
                (Token::Ident(rest[..length].to_owned()), length)
            }
            c => return Err(error(*line, format!("unexpected {c:?} in an action"))),
        };
        let after = &rest[length..];
        let is_word =
            matches!(token, Token::Ident(_) | Token::Field(_) | Token::Variable(_) | Token::Number(_));
        if is_word
            && !after.is_empty()
            && !after.starts_with([' ', '\t', '\r', '\n', '.', ',', '|', ':', ')', '(', '}', '='])
        {
            let bad = after.chars().next().unwrap_or_default();
            return Err(error(*line, format!("bad character {bad:?} after {:?}", &rest[..length])));
        }
        push(token, *line);
        rest = after;
    }
}

/// The length of the name at the start.
fn word(text: &str) -> usize {
    text.chars().take_while(|c| *c == '_' || c.is_alphanumeric()).map(char::len_utf8).sum()
}

fn number(text: &str) -> (Token, usize) {
    let mut length = 0;
    let mut previous = ' ';
    for c in text.chars() {
        let sign = matches!(c, '+' | '-') && (length == 0 || matches!(previous, 'e' | 'E' | 'p' | 'P'));
        if !(sign || c.is_ascii_alphanumeric() || matches!(c, '.' | '_')) {
            break;
        }
        length += c.len_utf8();
        previous = c;
    }
    (Token::Number(text[..length].to_owned()), length)
}

fn quoted(text: &str, line: usize) -> Result<(Token, usize), TemplateError> {
    let mut out = String::new();
    let mut at = 1;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '"' => return Ok((Token::Str(out), at + 1)),
            '\n' => break,
            '\\' => {
                let (c, length) =
                    escape(&text[at + 1..]).ok_or_else(|| error(line, "invalid escape in a string"))?;
                out.push(c);
                at += 1 + length;
            }
            c => {
                out.push(c);
                at += c.len_utf8();
            }
        }
    }
    Err(error(line, "unterminated quoted string"))
}

fn character(text: &str, line: usize) -> Result<(Token, usize), TemplateError> {
    let malformed = || error(line, "malformed character constant");
    let inner = &text[1..];
    let (c, length) = match inner.strip_prefix('\\') {
        Some(after) => escape(after).map(|(c, n)| (c, n + 1)).ok_or_else(malformed)?,
        None => inner.chars().next().map(|c| (c, c.len_utf8())).ok_or_else(malformed)?,
    };
    if inner[length..].starts_with('\'') { Ok((Token::Char(c), length + 2)) } else { Err(malformed()) }
}

/// The character of an escape, without its backslash, and how long it is in the text.
fn escape(text: &str) -> Option<(char, usize)> {
    let radix = |digits: usize, skip: usize| {
        let code = u32::from_str_radix(text.get(skip..skip + digits)?, 16).ok()?;
        Some((char::from_u32(code)?, skip + digits))
    };
    match text.chars().next()? {
        'n' => Some(('\n', 1)),
        't' => Some(('\t', 1)),
        'r' => Some(('\r', 1)),
        'a' => Some(('\u{7}', 1)),
        'b' => Some(('\u{8}', 1)),
        'f' => Some(('\u{c}', 1)),
        'v' => Some(('\u{b}', 1)),
        c @ ('\\' | '"' | '\'') => Some((c, 1)),
        'x' => radix(2, 1),
        'u' => radix(4, 1),
        'U' => radix(8, 1),
        '0'..='7' => {
            let code = u32::from_str_radix(text.get(..3)?, 8).ok()?;
            Some((char::from_u32(code)?, 3))
        }
        _ => None,
    }
}
