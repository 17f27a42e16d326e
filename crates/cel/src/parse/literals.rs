//! The rules of what is made in place: literals, lists, maps and messages.

use super::errors::{Follow, Kinds, Stop};
use super::grammar::{
    COLON, COMMA, EXPRS, FIELD, FIELDS, IDENTS, LIST_INIT, MAP_INIT, OPT_EXPR, QUESTION, Rule,
};
use super::lexer::Kind;
use super::{Parsed, Parser, unescape};
use crate::ast::{self, Entry, Expr, Kind as Node, List, Literal, StructField};

impl Parser<'_> {
    pub(super) fn message(&mut self, parts: usize) -> Rule {
        const CLOSE: Kinds = Kinds::of(&[Kind::RBrace]);
        const INSIDE: Kinds = IDENTS.and(QUESTION).and(COMMA).and(CLOSE);
        let mut name = String::new();
        for _ in 0..parts {
            let token = self.consume();
            name.push_str(self.text(token));
        }
        let open = self.expect(Kind::LBrace, Follow::must(INSIDE))?;
        let id = self.id(open.start);
        if let Err(stop) = self.sync(Follow::must(INSIDE)) {
            let message = ast::Struct { name: name.into(), fields: Vec::new() };
            let expr = Expr { id, kind: Node::Struct(Box::new(message)) };
            return self.keep(Err(stop), |_| Parsed { expr, depth: 0 });
        }
        let (fields, depth) = if IDENTS.and(QUESTION).has(self.kind()) {
            self.within(FIELDS, Follow::must(COMMA.and(CLOSE)), Self::fields, |_, _| (Vec::new(), 0))?
        } else {
            (Vec::new(), 0)
        };
        let end = self.trailing_comma(Kind::RBrace);
        let message = ast::Struct { name: name.into(), fields };
        self.or_keep(end, Parsed { expr: Expr { id, kind: Node::Struct(Box::new(message)) }, depth })
    }

    /// A last comma, and the bracket that closes.
    fn trailing_comma(&mut self, close: Kind) -> Result<(), Stop> {
        let closing = Kinds::of(&[close]);
        self.sync(Follow::must(COMMA.and(closing)))?;
        if self.kind() == Kind::Comma {
            self.expect(Kind::Comma, Follow::must(closing))?;
        }
        self.expect(close, Follow::may(Kinds::NONE))?;
        Ok(())
    }

    fn fields(&mut self) -> Result<(Vec<StructField>, u32), Stop> {
        let (mut fields, mut depth) = (Vec::new(), 0);
        let start = self.token(0).start;
        loop {
            let body = |parser: &mut Self| {
                let is_optional = parser.question(IDENTS)?;
                Ok(parser.escape_ident(Follow::must(COLON))?.map(|(name, _)| (name, is_optional)))
            };
            let field = self.within(FIELD, Follow::must(COLON), body, |_, _| None)?;
            let colon = self.expect(Kind::Colon, Follow::must(EXPRS))?;
            let id = self.id(colon.start);
            let before = self.issues.len();
            let value = self.expr(Follow::may(COMMA))?;
            depth = depth.max(value.depth);
            match field {
                Some((name, is_optional)) => {
                    fields.push(StructField { id, name, value: value.expr, is_optional });
                }
                // Upstream does not look at a value without a name.
                None => {
                    self.issues.keep_syntax(before);
                    self.issues.report(Some(start), "unsupported ident kind");
                }
            }
            let goes_on = IDENTS.and(QUESTION).has(self.token(1).kind);
            if self.kind() != Kind::Comma || !goes_on {
                return Ok((fields, depth));
            }
            self.expect(Kind::Comma, Follow::must(IDENTS.and(QUESTION)))?;
        }
    }

    /// An expression with or without `?`.
    fn opt_expr(&mut self, follow: Follow) -> Result<(Parsed, bool), Stop> {
        let body = |parser: &mut Self| {
            let is_optional = parser.question(EXPRS)?;
            Ok((parser.expr(Follow::may(Kinds::NONE))?, is_optional))
        };
        self.within(OPT_EXPR, follow, body, |parser, start| (parser.unspecified(start), false))
    }

    pub(super) fn list(&mut self) -> Rule {
        const CLOSE: Kinds = Kinds::of(&[Kind::RBracket]);
        const INSIDE: Kinds = EXPRS.and(QUESTION).and(COMMA).and(CLOSE);
        self.recovery_match();
        let open = self.expect(Kind::LBracket, Follow::must(INSIDE))?;
        let id = self.id(open.start);
        if let Err(stop) = self.sync(Follow::must(INSIDE)) {
            let list = List { elements: Vec::new(), optional: Vec::new() };
            let expr = Expr { id, kind: Node::List(Box::new(list)) };
            return self.keep(Err(stop), |_| Parsed { expr, depth: 0 });
        }
        let (list, depth) = if EXPRS.and(QUESTION).has(self.kind()) {
            let instead = |_: &mut Self, _| (List { elements: Vec::new(), optional: Vec::new() }, 0);
            self.within(LIST_INIT, Follow::must(COMMA.and(CLOSE)), Self::list_init, instead)?
        } else {
            (List { elements: Vec::new(), optional: Vec::new() }, 0)
        };
        let end = self.trailing_comma(Kind::RBracket);
        self.or_keep(end, Parsed { expr: Expr { id, kind: Node::List(Box::new(list)) }, depth })
    }

    fn list_init(&mut self) -> Result<(List, u32), Stop> {
        let (mut list, mut depth) = (List { elements: Vec::new(), optional: Vec::new() }, 0);
        loop {
            let (element, is_optional) = self.opt_expr(Follow::may(COMMA))?;
            depth = depth.max(element.depth);
            if is_optional {
                list.optional.push(list.elements.len());
            }
            list.elements.push(element.expr);
            let goes_on = EXPRS.and(QUESTION).has(self.token(1).kind);
            if self.kind() != Kind::Comma || !goes_on {
                return Ok((list, depth));
            }
            self.expect(Kind::Comma, Follow::must(EXPRS.and(QUESTION)))?;
        }
    }

    pub(super) fn map(&mut self) -> Rule {
        const CLOSE: Kinds = Kinds::of(&[Kind::RBrace]);
        const INSIDE: Kinds = EXPRS.and(QUESTION).and(COMMA).and(CLOSE);
        self.recovery_match();
        let open = self.expect(Kind::LBrace, Follow::must(INSIDE))?;
        let id = self.id(open.start);
        if let Err(stop) = self.sync(Follow::must(INSIDE)) {
            let expr = Expr { id, kind: Node::Map(Vec::new()) };
            return self.keep(Err(stop), |_| Parsed { expr, depth: 0 });
        }
        let (entries, depth) = if EXPRS.and(QUESTION).has(self.kind()) {
            self.within(MAP_INIT, Follow::must(COMMA.and(CLOSE)), Self::map_init, |_, _| (Vec::new(), 0))?
        } else {
            (Vec::new(), 0)
        };
        let end = self.trailing_comma(Kind::RBrace);
        self.or_keep(end, Parsed { expr: Expr { id, kind: Node::Map(entries) }, depth })
    }

    fn map_init(&mut self) -> Result<(Vec<Entry>, u32), Stop> {
        let (mut entries, mut depth) = (Vec::new(), 0);
        loop {
            let before = self.issues.len();
            let (key, is_optional) = self.opt_expr(Follow::must(COLON))?;
            if let Err(stop) = self.expect(Kind::Colon, Follow::must(EXPRS)) {
                // Upstream does not look at a key without a value.
                self.issues.keep_syntax(before);
                return Err(stop);
            }
            let value = self.expr(Follow::may(COMMA))?;
            depth = depth.max(key.depth).max(value.depth);
            entries.push(Entry { key: key.expr, value: value.expr, is_optional });
            let goes_on = EXPRS.and(QUESTION).has(self.token(1).kind);
            if self.kind() != Kind::Comma || !goes_on {
                return Ok((entries, depth));
            }
            self.expect(Kind::Comma, Follow::must(EXPRS.and(QUESTION)))?;
        }
    }

    pub(super) fn literal(&mut self) -> Rule {
        let is_signed = self.kind() == Kind::Minus;
        if is_signed && !matches!(self.token(1).kind, Kind::Int | Kind::Float) {
            return Err(Stop::NoViable(self.at, self.at + 1));
        }
        self.recovery_match();
        let first = self.consume();
        let token = if first.kind == Kind::Minus { self.consume() } else { first };
        let sign = if first.kind == Kind::Minus { "-" } else { "" };
        let text = self.text(token);
        let read = match token.kind {
            Kind::True => Ok(Literal::Bool(true)),
            Kind::False => Ok(Literal::Bool(false)),
            Kind::Null => Ok(Literal::Null),
            Kind::Int => int(sign, text).map(Literal::Int).ok_or("invalid int literal"),
            Kind::Uint => uint(text).map(Literal::Uint).ok_or("invalid uint literal"),
            Kind::Float => {
                let value = format!("{sign}{text}").parse::<f64>().ok().filter(|value| value.is_finite());
                value.map(Literal::Double).ok_or("invalid double literal")
            }
            Kind::String => unescape::string(text).map(|text| Literal::String(text.into())),
            Kind::Bytes => {
                unescape::bytes(text.get(1..).unwrap_or_default()).map(|bytes| Literal::Bytes(bytes.into()))
            }
            _ => return Err(Stop::NoViable(self.at, self.at)),
        };
        match read {
            Ok(literal) => {
                let id = self.id(first.start);
                Ok(Parsed { expr: Expr { id, kind: Node::Literal(literal) }, depth: 0 })
            }
            Err(message) => {
                self.issues.report(Some(first.start), message);
                Ok(self.unspecified(first.start))
            }
        }
    }
}

fn int(sign: &str, text: &str) -> Option<i64> {
    let (digits, base) = text.strip_prefix("0x").map_or((text, 10), |hex| (hex, 16));
    i64::from_str_radix(&format!("{sign}{digits}"), base).ok()
}

fn uint(text: &str) -> Option<u64> {
    let text = text.trim_end_matches(['u', 'U']);
    let (digits, base) = text.strip_prefix("0x").map_or((text, 10), |hex| (hex, 16));
    u64::from_str_radix(digits, base).ok()
}
