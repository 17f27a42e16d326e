//! From tokens to a tree.

use std::collections::BTreeMap;

use super::TemplateError;
use super::lex::{Lexeme, Token, lex};
use super::{calls, value::Value};

/// How deep actions and parentheses may nest.
const MAX_DEPTH: usize = 32;

#[derive(Clone, Debug)]
pub(super) enum Node {
    Text(String),
    Action(Pipeline),
    If { condition: Pipeline, then: Vec<Node>, otherwise: Vec<Node> },
    With { value: Pipeline, then: Vec<Node>, otherwise: Vec<Node> },
    Range { over: Pipeline, body: Vec<Node>, otherwise: Vec<Node> },
    Template { name: String, argument: Option<Pipeline> },
    Break,
    Continue,
}

#[derive(Clone, Debug)]
pub(super) struct Pipeline {
    /// The variables that take the value: one, or two in `range`.
    pub(super) variables: Vec<String>,
    /// Whether the variables exist already (`=`) or are new (`:=`).
    pub(super) assigns: bool,
    pub(super) commands: Vec<Command>,
}

#[derive(Clone, Debug)]
pub(super) struct Command {
    /// The operand or function, and its arguments. Never empty.
    pub(super) first: Expr,
    pub(super) arguments: Vec<Expr>,
}

#[derive(Clone, Debug)]
pub(super) enum Expr {
    Dot,
    Nil,
    Literal(Value),
    Field(Vec<String>),
    Variable(String, Vec<String>),
    Function(String),
    Chain(Box<Expr>, Vec<String>),
    Pipe(Box<Pipeline>),
}

pub(super) struct Tree {
    pub(super) body: Vec<Node>,
    pub(super) defined: BTreeMap<String, Vec<Node>>,
}

pub(super) fn parse(source: &str) -> Result<Tree, TemplateError> {
    let mut parser = Parser {
        tokens: lex(source)?,
        at: 0,
        variables: vec!["$".to_owned()],
        loops: 0,
        depth: 0,
        defined: BTreeMap::new(),
    };
    let (body, end) = parser.list()?;
    match end {
        End::Eof => Ok(Tree { body, defined: parser.defined }),
        End::Closed | End::Else => Err(parser.error(format!("unexpected {{{{{}}}}}", end.word()))),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Eof,
    Closed,
    Else,
}

impl End {
    fn word(self) -> &'static str {
        match self {
            Self::Eof => "end of the template",
            Self::Closed => "end",
            Self::Else => "else",
        }
    }
}

struct Parser {
    tokens: Vec<Lexeme>,
    at: usize,
    variables: Vec<String>,
    loops: usize,
    depth: usize,
    defined: BTreeMap<String, Vec<Node>>,
}

impl Parser {
    fn error(&self, message: impl Into<String>) -> TemplateError {
        let line = self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |t| t.line);
        TemplateError::Parse { line, message: message.into() }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|l| &l.token)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).map(|l| l.token.clone());
        self.at += 1;
        token
    }

    fn eat(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        if found {
            self.at += 1;
        }
        found
    }

    fn skip_space(&mut self) {
        while self.eat(&Token::Space) {}
    }

    fn deeper<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, TemplateError>,
    ) -> Result<T, TemplateError> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(format!("nested more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }

    /// Nodes up to `end`, `else` or the end of the text. After `else`, the rest of its action is still to be read.
    fn list(&mut self) -> Result<(Vec<Node>, End), TemplateError> {
        let mut nodes = Vec::new();
        loop {
            match self.next() {
                None => return Ok((nodes, End::Eof)),
                Some(Token::Text(text)) => nodes.push(Node::Text(text)),
                Some(Token::Open) => {
                    self.skip_space();
                    let keyword = match self.peek() {
                        Some(Token::Ident(word)) => word.clone(),
                        _ => String::new(),
                    };
                    match keyword.as_str() {
                        "end" => {
                            self.at += 1;
                            self.close("end")?;
                            return Ok((nodes, End::Closed));
                        }
                        "else" => {
                            self.at += 1;
                            return Ok((nodes, End::Else));
                        }
                        "if" | "with" | "range" => {
                            self.at += 1;
                            nodes.push(self.deeper(|p| p.control(&keyword))?);
                        }
                        "break" | "continue" => {
                            self.at += 1;
                            self.close(&keyword)?;
                            if self.loops == 0 {
                                return Err(self.error(format!("{{{{{keyword}}}}} outside {{{{range}}}}")));
                            }
                            nodes.push(if keyword == "break" { Node::Break } else { Node::Continue });
                        }
                        "template" => {
                            self.at += 1;
                            nodes.push(self.template()?);
                        }
                        "define" | "block" => {
                            self.at += 1;
                            if let Some(node) = self.deeper(|p| p.define(keyword == "block"))? {
                                nodes.push(node);
                            }
                        }
                        _ => nodes.push(Node::Action(self.pipeline("command", &Token::Close)?)),
                    }
                }
                Some(_) => return Err(self.error("unexpected token outside an action")),
            }
        }
    }

    fn close(&mut self, context: &str) -> Result<(), TemplateError> {
        self.skip_space();
        if self.eat(&Token::Close) {
            return Ok(());
        }
        Err(self.error(format!("unexpected {} in {context}", describe(self.peek()))))
    }

    fn control(&mut self, keyword: &str) -> Result<Node, TemplateError> {
        let scope = self.variables.len();
        let pipe = self.pipeline(keyword, &Token::Close)?;
        if keyword == "range" {
            self.loops += 1;
        }
        let (then, mut end) = self.list()?;
        if keyword == "range" {
            self.loops -= 1;
        }
        let mut otherwise = Vec::new();
        if end == End::Else {
            self.skip_space();
            match self.peek() {
                Some(Token::Ident(word)) if word == keyword && keyword != "range" => {
                    self.at += 1;
                    // `else if` opens a nested `if` that shares the `end` of the outer one.
                    otherwise.push(self.deeper(|p| p.control(keyword))?);
                    end = End::Closed;
                }
                _ => {
                    self.close("else")?;
                    (otherwise, end) = self.list()?;
                }
            }
        }
        if end != End::Closed {
            return Err(self.error(format!("unexpected {} in {keyword}: {{{{end}}}} expected", end.word())));
        }
        self.variables.truncate(scope);
        Ok(match keyword {
            "if" => Node::If { condition: pipe, then, otherwise },
            "with" => Node::With { value: pipe, then, otherwise },
            _ => Node::Range { over: pipe, body: then, otherwise },
        })
    }

    fn name(&mut self, context: &str) -> Result<String, TemplateError> {
        self.skip_space();
        match self.next() {
            Some(Token::Str(name)) => Ok(name),
            other => Err(self.error(format!(
                "unexpected {} in {context}: a quoted name expected",
                describe(other.as_ref())
            ))),
        }
    }

    fn template(&mut self) -> Result<Node, TemplateError> {
        let name = self.name("template clause")?;
        self.skip_space();
        let argument = if self.eat(&Token::Close) {
            None
        } else {
            Some(self.pipeline("template clause", &Token::Close)?)
        };
        Ok(Node::Template { name, argument })
    }

    fn define(&mut self, block: bool) -> Result<Option<Node>, TemplateError> {
        let context = if block { "block clause" } else { "define clause" };
        let name = self.name(context)?;
        let argument = if block {
            Some(self.pipeline(context, &Token::Close)?)
        } else {
            self.close(context)?;
            None
        };
        let outer = std::mem::replace(&mut self.variables, vec!["$".to_owned()]);
        let loops = std::mem::take(&mut self.loops);
        let (body, end) = self.list()?;
        if end != End::Closed {
            return Err(self.error(format!("unexpected {} in {context}", end.word())));
        }
        self.variables = outer;
        self.loops = loops;
        self.defined.insert(name.clone(), body);
        Ok(block.then_some(Node::Template { name, argument }))
    }

    fn pipeline(&mut self, context: &str, close: &Token) -> Result<Pipeline, TemplateError> {
        self.skip_space();
        let (variables, assigns) = self.declaration(context)?;
        let mut commands = Vec::new();
        loop {
            self.skip_space();
            let command = self.command(context, close)?;
            if !commands.is_empty() && !matches!(command.first, Expr::Function(_)) {
                let what = match &command.first {
                    Expr::Literal(_) | Expr::Nil | Expr::Dot => "non executable command in pipeline",
                    _ => "a field or a variable cannot take the value of a pipeline",
                };
                return Err(self.error(what));
            }
            commands.push(command);
            self.skip_space();
            match self.next() {
                Some(Token::Pipe) => {}
                Some(token) if token == *close => break,
                other => {
                    return Err(self.error(format!("unexpected {} in {context}", describe(other.as_ref()))));
                }
            }
        }
        // A variable is known from behind its own pipeline on.
        if !assigns {
            self.variables.extend(variables.iter().cloned());
        }
        Ok(Pipeline { variables, assigns, commands })
    }

    /// `$x :=`, `$x =`, and in a range `$i, $x :=`.
    fn declaration(&mut self, context: &str) -> Result<(Vec<String>, bool), TemplateError> {
        let start = self.at;
        let mut variables = Vec::new();
        while let Some(Token::Variable(name)) = self.peek().cloned() {
            self.at += 1;
            variables.push(name);
            self.skip_space();
            let assigns = self.peek() == Some(&Token::Assign);
            if assigns || self.peek() == Some(&Token::Declare) {
                self.at += 1;
                if assigns && let Some(unknown) = variables.iter().find(|v| !self.variables.contains(v)) {
                    return Err(self.error(format!("undefined variable {unknown:?}")));
                }
                return Ok((variables, assigns));
            }
            if context == "range" && variables.len() < 2 && self.eat(&Token::Comma) {
                self.skip_space();
                continue;
            }
            break;
        }
        self.at = start;
        Ok((Vec::new(), false))
    }

    fn command(&mut self, context: &str, close: &Token) -> Result<Command, TemplateError> {
        let mut parts = Vec::new();
        loop {
            self.skip_space();
            match self.peek() {
                Some(Token::Pipe) => break,
                Some(token) if token == close => break,
                _ => {}
            }
            parts.push(self.operand(context)?);
            match self.peek() {
                Some(Token::Space | Token::Pipe) => {}
                Some(token) if token == close => {}
                other => return Err(self.error(format!("unexpected {} in operand", describe(other)))),
            }
        }
        let mut parts = parts.into_iter();
        let Some(first) = parts.next() else {
            return Err(self.error(format!("missing value for {context}")));
        };
        Ok(Command { first, arguments: parts.collect() })
    }

    fn operand(&mut self, context: &str) -> Result<Expr, TemplateError> {
        let base = match self.next() {
            Some(Token::Dot) => Expr::Dot,
            Some(Token::Field(name)) => {
                let mut path = vec![name];
                path.extend(self.fields());
                return Ok(Expr::Field(path));
            }
            Some(Token::Variable(name)) => {
                if !self.variables.contains(&name) {
                    return Err(self.error(format!("undefined variable {name:?}")));
                }
                let path = self.fields();
                return Ok(Expr::Variable(name, path));
            }
            Some(Token::Ident(word)) => match word.as_str() {
                "true" => Expr::Literal(true.into()),
                "false" => Expr::Literal(false.into()),
                "nil" => Expr::Nil,
                _ => {
                    calls::known(&word).map_err(|message| self.error(message))?;
                    Expr::Function(word)
                }
            },
            Some(Token::Str(text)) => Expr::Literal(text.into()),
            Some(Token::Char(c)) => Expr::Literal(Value::Int(i64::from(u32::from(c)))),
            Some(Token::Number(text)) => Expr::Literal(
                number(&text).ok_or_else(|| self.error(format!("bad number syntax: {text:?}")))?,
            ),
            Some(Token::LeftParen) => {
                let pipe = self.deeper(|p| p.pipeline("parenthesized pipeline", &Token::RightParen))?;
                Expr::Pipe(Box::new(pipe))
            }
            other => return Err(self.error(format!("unexpected {} in {context}", describe(other.as_ref())))),
        };
        let path = self.fields();
        if path.is_empty() {
            return Ok(base);
        }
        match base {
            Expr::Literal(_) | Expr::Nil | Expr::Dot => {
                Err(self.error(format!("unexpected <.{}> after a term", path.join("."))))
            }
            base => Ok(Expr::Chain(Box::new(base), path)),
        }
    }

    fn fields(&mut self) -> Vec<String> {
        let mut path = Vec::new();
        while let Some(Token::Field(name)) = self.peek() {
            path.push(name.clone());
            self.at += 1;
        }
        path
    }
}

fn number(text: &str) -> Option<Value> {
    let plain = text.replace('_', "");
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    let lower = digits.to_ascii_lowercase();
    for (prefix, radix) in [("0x", 16), ("0b", 2), ("0o", 8)] {
        if let Some(rest) = lower.strip_prefix(prefix) {
            return i64::from_str_radix(rest, radix).ok().map(|n| Value::Int(sign * n));
        }
    }
    if lower.len() > 1 && lower.starts_with('0') && lower.bytes().all(|b| b.is_ascii_digit()) {
        return i64::from_str_radix(&lower, 8).ok().map(|n| Value::Int(sign * n));
    }
    if let Ok(n) = plain.parse::<i64>() {
        return Some(Value::Int(n));
    }
    if !lower.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let n = plain.parse::<f64>().ok()?;
    // Go takes a float without a fraction for an integer wherever one is wanted; there is no telling here, so `1e3` is one.
    Some(if lower.contains('e') && n.fract() == 0.0 && n.abs() < 1e15 {
        Value::Int(n as i64)
    } else {
        Value::Float(n)
    })
}

fn describe(token: Option<&Token>) -> String {
    match token {
        None => "end of the template".to_owned(),
        Some(Token::Text(_)) => "text".to_owned(),
        Some(Token::Open) => "\"{{\"".to_owned(),
        Some(Token::Close) => "\"}}\"".to_owned(),
        Some(Token::Space) => "space".to_owned(),
        Some(Token::Ident(word)) => format!("<{word}>"),
        Some(Token::Field(name)) => format!("<.{name}>"),
        Some(Token::Variable(name)) => format!("{name:?} in a place without operands"),
        Some(Token::Dot) => "<.>".to_owned(),
        Some(Token::Number(text)) => format!("{text:?}"),
        Some(Token::Str(text)) => format!("{text:?}"),
        Some(Token::Char(c)) => format!("{c:?}"),
        Some(Token::Pipe) => "\"|\"".to_owned(),
        Some(Token::LeftParen) => "\"(\"".to_owned(),
        Some(Token::RightParen) => "\")\"".to_owned(),
        Some(Token::Declare) => "\":=\"".to_owned(),
        Some(Token::Assign) => "\"=\"".to_owned(),
        Some(Token::Comma) => "\",\"".to_owned(),
    }
}
