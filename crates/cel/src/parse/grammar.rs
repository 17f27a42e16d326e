//! The rules of the grammar. Source: cel-go `parser/gen/CEL.g4`.

use super::errors::{Follow, Kinds, Stop};
use super::lexer::{Kind, Token};
use super::{MAX_DEPTH, Parsed, Parser};
use crate::ast::{self, Expr, Kind as Node, Literal, operators};
use crate::error::NOWHERE;
use crate::escape::RESERVED;

/// Rules whose nesting is counted.
pub(super) const RULES: usize = 16;
const EXPR: usize = 0;
const OR: usize = 1;
const AND: usize = 2;
const RELATION: usize = 3;
const CALC: usize = 4;
const UNARY: usize = 5;
const MEMBER: usize = 6;
pub(super) const PRIMARY: usize = 7;
const EXPR_LIST: usize = 8;
pub(super) const LIST_INIT: usize = 9;
pub(super) const FIELDS: usize = 10;
pub(super) const FIELD: usize = 11;
pub(super) const MAP_INIT: usize = 12;
const ESCAPE_IDENT: usize = 13;
pub(super) const OPT_EXPR: usize = 14;
const START: usize = 15;

/// What a primary expression, and so a member of one, can start with.
const PRIMARIES: Kinds = Kinds::of(&[
    Kind::LBracket,
    Kind::LBrace,
    Kind::LParen,
    Kind::Dot,
    Kind::Minus,
    Kind::True,
    Kind::False,
    Kind::Null,
    Kind::Float,
    Kind::Int,
    Kind::Uint,
    Kind::String,
    Kind::Bytes,
    Kind::Ident,
]);
/// What an expression can start with.
pub(super) const EXPRS: Kinds = PRIMARIES.and(Kinds::of(&[Kind::Exclam]));
pub(super) const IDENTS: Kinds = Kinds::of(&[Kind::Ident, Kind::EscapedIdent]);
pub(super) const QUESTION: Kinds = Kinds::of(&[Kind::Question]);
pub(super) const COMMA: Kinds = Kinds::of(&[Kind::Comma]);
pub(super) const COLON: Kinds = Kinds::of(&[Kind::Colon]);
const AND_OP: Kinds = Kinds::of(&[Kind::And]);
const OR_OP: Kinds = Kinds::of(&[Kind::Or]);
const RELATIONS: Kinds = Kinds::of(&[
    Kind::Equals,
    Kind::NotEquals,
    Kind::In,
    Kind::Less,
    Kind::LessEquals,
    Kind::GreaterEquals,
    Kind::Greater,
]);
const PRODUCTS: Kinds = Kinds::of(&[Kind::Star, Kind::Slash, Kind::Percent]);
const SUMS: Kinds = Kinds::of(&[Kind::Plus, Kind::Minus]);
const MEMBERS: Kinds = Kinds::of(&[Kind::Dot, Kind::LBracket]);

pub(super) type Rule = Result<Parsed, Stop>;

/// The number of a call, its arguments, their depth, and how the closing parenthesis was read.
type Arguments = (ast::Id, Vec<Expr>, u32, Result<Token, Stop>);

/// One level more than this.
fn deeper(depth: u32) -> Result<u32, Stop> {
    if depth >= MAX_DEPTH { Err(Stop::Internal("max recursion depth exceeded")) } else { Ok(depth + 1) }
}

impl Parser<'_> {
    pub(super) fn unspecified(&mut self, offset: u32) -> Parsed {
        if let Some(partial) = self.partial.take() {
            return partial;
        }
        let id = self.id(offset);
        Parsed { expr: Expr { id, kind: Node::Unspecified }, depth: 0 }
    }

    /// What is read of a rule although its end is missing; its macros have something to say all the same.
    pub(super) fn keep<T>(
        &mut self,
        end: Result<T, Stop>,
        partial: impl FnOnce(&mut Self) -> Parsed,
    ) -> Result<T, Stop> {
        if matches!(end, Err(Stop::Mismatch(_) | Stop::NoViable(..))) {
            let partial = partial(self);
            self.partial = Some(partial);
        }
        end
    }

    pub(super) fn start_rule(&mut self) -> Rule {
        let end = Follow::must(Kinds::of(&[Kind::End]));
        let body = |parser: &mut Self| {
            let parsed = parser.expr(end)?;
            parser.expect(Kind::End, Follow::must(Kinds::NONE))?;
            Ok(parsed)
        };
        self.within(START, Follow::must(Kinds::NONE), body, Self::unspecified)
    }

    pub(super) fn expr(&mut self, follow: Follow) -> Rule {
        self.within(EXPR, follow, Self::expr_body, Self::unspecified)
    }

    fn expr_body(&mut self) -> Rule {
        let condition = self.or(Follow::may(QUESTION))?;
        self.sync(Follow::may(QUESTION))?;
        if self.kind() != Kind::Question {
            return Ok(condition);
        }
        let op = self.expect(Kind::Question, Follow::must(EXPRS))?;
        let id = self.id(op.start);
        let truthy = self.or(Follow::must(COLON))?;
        if let Err(stop) = self.expect(Kind::Colon, Follow::must(EXPRS)) {
            return self.keep(Err(stop), |parser| {
                let falsy = parser.unspecified(op.start).expr;
                let args = vec![condition.expr, truthy.expr, falsy];
                Parsed { expr: parser.global_call(id, operators::CONDITIONAL, args), depth: 0 }
            });
        }
        let falsy = self.expr(Follow::may(Kinds::NONE))?;
        let depth = deeper(condition.depth.max(truthy.depth).max(falsy.depth))?;
        let args = vec![condition.expr, truthy.expr, falsy.expr];
        Ok(Parsed { expr: self.global_call(id, operators::CONDITIONAL, args), depth })
    }

    fn or(&mut self, follow: Follow) -> Rule {
        let body = |parser: &mut Self| parser.logic(OR_OP, Kind::Or, operators::OR, Self::and);
        self.within(OR, follow, body, Self::unspecified)
    }

    fn and(&mut self) -> Rule {
        let body = |parser: &mut Self| {
            let operand = |parser: &mut Self| parser.relation(Follow::may(AND_OP));
            parser.logic(AND_OP, Kind::And, operators::AND, operand)
        };
        self.within(AND, Follow::may(OR_OP), body, Self::unspecified)
    }

    /// Terms between `&&` or `||`, put into a tree that is as flat as it can be.
    fn logic(
        &mut self,
        ops: Kinds,
        op: Kind,
        function: &'static str,
        operand: impl Fn(&mut Self) -> Rule,
    ) -> Rule {
        let first = operand(self)?;
        let mut depth = first.depth;
        if self.kind() != op {
            return Ok(first);
        }
        let mut terms = vec![Some(first.expr)];
        let mut ids = Vec::new();
        self.sync(Follow::may(ops))?;
        while self.kind() == op {
            let token = self.expect(op, Follow::must(EXPRS))?;
            let term = operand(self)?;
            depth = depth.max(term.depth);
            terms.push(Some(term.expr));
            ids.push(self.id(token.start));
            self.sync_loop(Follow::may(ops))?;
        }
        Ok(Parsed { expr: self.balanced(function, &mut terms, &ids, 0), depth })
    }

    fn relation(&mut self, follow: Follow) -> Rule {
        self.within(RELATION, follow, Self::relation_body, Self::unspecified)
    }

    fn relation_body(&mut self) -> Rule {
        let mut left = self.calc(Follow::may(RELATIONS), true)?;
        while RELATIONS.has(self.kind()) {
            self.recovery_match();
            let op = self.consume();
            let id = self.id(op.start);
            let operand = |parser: &mut Self| parser.calc(Follow::may(RELATIONS), true);
            let right = self.within(RELATION, Follow::may(RELATIONS), operand, Self::unspecified)?;
            left = self.binary(id, op.kind, left, right)?;
        }
        Ok(left)
    }

    /// Sums of products, or just one product.
    fn calc(&mut self, follow: Follow, with_sums: bool) -> Rule {
        let body = |parser: &mut Self| parser.calc_body(with_sums);
        self.within(CALC, follow, body, Self::unspecified)
    }

    fn calc_body(&mut self, with_sums: bool) -> Rule {
        const OPS: Kinds = PRODUCTS.and(SUMS);
        let mut left = self.unary(Follow::may(OPS))?;
        loop {
            let is_product = PRODUCTS.has(self.kind());
            let is_sum = with_sums && SUMS.has(self.kind());
            if !is_product && !is_sum {
                return Ok(left);
            }
            self.recovery_match();
            let op = self.consume();
            let id = self.id(op.start);
            let right = if is_product {
                let operand = |parser: &mut Self| parser.unary(Follow::may(OPS));
                self.within(CALC, Follow::may(OPS), operand, Self::unspecified)?
            } else {
                self.calc(Follow::may(OPS), false)?
            };
            left = self.binary(id, op.kind, left, right)?;
        }
    }

    fn binary(&mut self, id: ast::Id, op: Kind, left: Parsed, right: Parsed) -> Rule {
        let function = match op {
            Kind::Equals => operators::EQUALS,
            Kind::NotEquals => operators::NOT_EQUALS,
            Kind::In => operators::IN,
            Kind::Less => "_<_",
            Kind::LessEquals => "_<=_",
            Kind::GreaterEquals => "_>=_",
            Kind::Greater => "_>_",
            Kind::Plus => operators::ADD,
            Kind::Minus => "_-_",
            Kind::Star => "_*_",
            Kind::Slash => "_/_",
            _ => "_%_",
        };
        let depth = deeper(left.depth.max(right.depth))?;
        Ok(Parsed { expr: self.global_call(id, function, vec![left.expr, right.expr]), depth })
    }

    fn unary(&mut self, follow: Follow) -> Rule {
        self.within(UNARY, follow, Self::unary_body, Self::unspecified)
    }

    fn unary_body(&mut self) -> Rule {
        self.sync(Follow::must(EXPRS))?;
        let (op, function) = match self.kind() {
            Kind::Exclam => (Kind::Exclam, operators::NOT),
            Kind::Minus if !matches!(self.token(1).kind, Kind::Int | Kind::Float) => {
                if self.token(1).kind != Kind::Minus && !PRIMARIES.has(self.token(1).kind) {
                    return Err(Stop::NoViable(self.at, self.at + 1));
                }
                (Kind::Minus, operators::NEGATE)
            }
            _ => return self.member(),
        };
        let first = self.token(0);
        let mut count = 0;
        let again = PRIMARIES.and(Kinds::of(&[op]));
        while self.kind() == op {
            let next = self.token(1).kind;
            let is_number = matches!(next, Kind::Int | Kind::Float);
            if count > 0 && op == Kind::Minus && !is_number && next != op && !PRIMARIES.has(next) {
                // Another sign, or that of a number: neither goes on.
                return Err(Stop::NoViable(self.at, self.at + 1));
            }
            self.expect(op, Follow::must(again))?;
            count += 1;
            self.sync_loop(Follow::must(again))?;
        }
        let mut operand = self.member()?;
        if count % 2 == 1 {
            let id = self.id(first.start);
            operand.expr = self.global_call(id, function, vec![operand.expr]);
        }
        Ok(operand)
    }

    fn member(&mut self) -> Rule {
        self.within(MEMBER, Follow::may(Kinds::NONE), Self::member_body, Self::unspecified)
    }

    fn member_body(&mut self) -> Rule {
        // What is nothing at all stands nowhere, which upstream shows as the start.
        let nothing = |parser: &mut Self, _| parser.unspecified(NOWHERE);
        let mut operand = self.within(PRIMARY, Follow::may(MEMBERS), Self::primary, nothing)?;
        while MEMBERS.has(self.kind()) {
            let depth = deeper(operand.depth)?;
            operand = match self.kind() {
                Kind::LBracket => self.index(operand)?,
                _ => self.select_or_call(operand)?,
            };
            operand.depth = operand.depth.max(depth);
        }
        Ok(operand)
    }

    fn index(&mut self, operand: Parsed) -> Rule {
        let op = self.expect(Kind::LBracket, Follow::must(EXPRS.and(QUESTION)))?;
        let id = self.id(op.start);
        let is_optional = match self.question(EXPRS) {
            Err(stop) => {
                return self.keep(Err(stop), |parser| {
                    let index = parser.unspecified(op.start).expr;
                    let expr = parser.global_call(id, operators::INDEX, vec![operand.expr, index]);
                    Parsed { expr, depth: 0 }
                });
            }
            Ok(is_optional) => is_optional,
        };
        let index = self.expr(Follow::must(Kinds::of(&[Kind::RBracket])))?;
        let end = self.expect(Kind::RBracket, Follow::may(MEMBERS));
        let function = if is_optional { operators::OPT_INDEX } else { operators::INDEX };
        let expr = self.global_call(id, function, vec![operand.expr, index.expr]);
        let parsed = Parsed { expr, depth: deeper(index.depth)? };
        self.or_keep(end, parsed)
    }

    /// `?` if there is one; after it one of these follows.
    pub(super) fn question(&mut self, then: Kinds) -> Result<bool, Stop> {
        self.sync(Follow::must(then.and(QUESTION)))?;
        if self.kind() != Kind::Question {
            return Ok(false);
        }
        self.expect(Kind::Question, Follow::must(then))?;
        Ok(true)
    }

    fn select_or_call(&mut self, operand: Parsed) -> Rule {
        let next = self.token(1).kind;
        if !matches!(next, Kind::Question | Kind::Ident | Kind::EscapedIdent) {
            let stop = Err(Stop::NoViable(self.at, self.at + 1));
            return self.keep(stop, |_| operand);
        }
        let dot = self.consume();
        self.recovery_match();
        if next == Kind::Ident && self.token(1).kind == Kind::LParen {
            let name = self.consume();
            let name: Box<str> = self.text(name).into();
            let (id, args, depth, end) = self.arguments()?;
            let expr = self.member_call(id, &name, operand.expr, args);
            let parsed = Parsed { expr, depth: deeper(depth)? };
            return self.or_keep(end, parsed);
        }
        let is_optional = self.question(IDENTS)?;
        let start = self.token(0);
        let (field, at) = match self.escape_ident(Follow::may(MEMBERS))? {
            Some(field) => field,
            None => {
                self.issues.report(Some(start.start), "unsupported ident kind");
                (Box::default(), start)
            }
        };
        let expr = if is_optional {
            let field_id = self.id(at.start);
            let field = Expr { id: field_id, kind: Node::Literal(Literal::String(field)) };
            let id = self.id(dot.start);
            self.global_call(id, operators::OPT_SELECT, vec![operand.expr, field])
        } else {
            let id = self.id(dot.start);
            self.select(id, operand.expr, field)
        };
        Ok(Parsed { expr, depth: 0 })
    }

    /// The name of a field, plain or between back quotes; `None` where there is none.
    pub(super) fn escape_ident(&mut self, follow: Follow) -> Result<Option<(Box<str>, Token)>, Stop> {
        let body = |parser: &mut Self| {
            parser.sync(Follow::must(IDENTS))?;
            if !IDENTS.has(parser.kind()) {
                return Err(Stop::NoViable(parser.at, parser.at));
            }
            parser.recovery_match();
            let token = parser.consume();
            Ok(Some((parser.text(token).trim_matches('`').into(), token)))
        };
        self.within(ESCAPE_IDENT, follow, body, |_, _| None)
    }

    /// What was read, or what is wrong with its end.
    pub(super) fn or_keep<T>(&mut self, end: Result<T, Stop>, parsed: Parsed) -> Rule {
        match end {
            Ok(_) => Ok(parsed),
            Err(stop) => self.keep(Err(stop), |_| parsed),
        }
    }

    /// `(args)`: the number of the call, the arguments, their depth, and whether the end is there.
    fn arguments(&mut self) -> Result<Arguments, Stop> {
        const CLOSE: Kinds = Kinds::of(&[Kind::RParen]);
        let open = self.expect(Kind::LParen, Follow::must(EXPRS.and(CLOSE)))?;
        let id = self.id(open.start);
        if let Err(stop) = self.sync(Follow::must(EXPRS.and(CLOSE))) {
            return Ok((id, Vec::new(), 0, Err(stop)));
        }
        let (args, depth) = if EXPRS.has(self.kind()) {
            self.within(EXPR_LIST, Follow::must(CLOSE), Self::expr_list, |_, _| (Vec::new(), 0))?
        } else {
            (Vec::new(), 0)
        };
        let end = self.expect(Kind::RParen, Follow::may(MEMBERS));
        Ok((id, args, depth, end))
    }

    fn expr_list(&mut self) -> Result<(Vec<Expr>, u32), Stop> {
        let first = self.expr(Follow::may(COMMA))?;
        let (mut args, mut depth) = (vec![first.expr], first.depth);
        self.sync(Follow::may(COMMA))?;
        while self.kind() == Kind::Comma {
            self.expect(Kind::Comma, Follow::must(EXPRS))?;
            let next = self.expr(Follow::may(COMMA))?;
            depth = depth.max(next.depth);
            args.push(next.expr);
            self.sync_loop(Follow::may(COMMA))?;
        }
        Ok((args, depth))
    }

    fn primary(&mut self) -> Rule {
        self.sync(Follow::must(PRIMARIES))?;
        let here = self.token(0);
        match here.kind {
            Kind::Dot | Kind::Ident => self.name(),
            Kind::LParen => {
                self.recovery_match();
                self.consume();
                let inner = self.expr(Follow::must(Kinds::of(&[Kind::RParen])))?;
                let end = self.expect(Kind::RParen, Follow::may(Kinds::NONE));
                self.or_keep(end, inner)
            }
            Kind::LBracket => self.list(),
            Kind::LBrace => self.map(),
            Kind::Minus
            | Kind::True
            | Kind::False
            | Kind::Null
            | Kind::Float
            | Kind::Int
            | Kind::Uint
            | Kind::String
            | Kind::Bytes => self.literal(),
            _ => Err(Stop::NoViable(self.at, self.at)),
        }
    }

    /// An identifier, a call of a function, or a message: what follows tells.
    fn name(&mut self) -> Rule {
        let start = self.token(0);
        let leading = usize::from(start.kind == Kind::Dot);
        let name = self.token(leading);
        if name.kind != Kind::Ident {
            return Err(Stop::NoViable(self.at, self.at + leading));
        }
        let mut parts = leading + 1;
        while self.token(parts).kind == Kind::Dot && self.token(parts + 1).kind == Kind::Ident {
            parts += 2;
        }
        self.recovery_match();
        if self.token(parts).kind == Kind::LBrace {
            return self.message(parts);
        }
        for _ in 0..=leading {
            self.consume();
        }
        let text = self.text(name);
        let dot = if leading == 1 { "." } else { "" };
        let full: Box<str> = format!("{dot}{text}").into();
        if RESERVED.contains(&text) {
            let message = format!("reserved identifier: {text}");
            self.issues.report(Some(start.start), message);
            let before = self.issues.len();
            let end = if self.kind() == Kind::LParen { self.arguments()?.3.map(|_| ()) } else { Ok(()) };
            self.issues.keep_syntax(before);
            let parsed = self.unspecified(start.start);
            return self.or_keep(end, parsed);
        }
        if self.kind() == Kind::LParen {
            let (id, args, depth, end) = self.arguments()?;
            let parsed = Parsed { expr: self.global_call(id, &full, args), depth };
            return self.or_keep(end, parsed);
        }
        let id = self.id(name.start);
        Ok(Parsed { expr: Expr { id, kind: Node::Ident(full) }, depth: 0 })
    }
}
