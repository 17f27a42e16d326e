//! Source to tree. The grammar is that of cel-go; a parser that descends through it and recovers from errors the way
//! ANTLR's does, so that messages are the same.

mod build;
mod errors;
mod grammar;
mod lexer;
mod literals;
mod macros;
mod unescape;

use crate::ast::{Ast, Expr, Id};
use crate::error::Issues;
use errors::{Recovery, Stop};
use lexer::{Token, Tokens};

/// Longest expression, in code points.
const MAX_CODE_POINTS: usize = 100_000;
/// Deepest nesting of one rule of the grammar, and of nodes.
const MAX_DEPTH: u32 = 250;

/// Reads an expression and expands its macros.
pub(crate) fn parse(source: &str) -> Result<Ast, Issues> {
    let mut issues = Issues::new(source);
    if source.len() > MAX_CODE_POINTS {
        let size = source.chars().count();
        if size > MAX_CODE_POINTS {
            issues.report(
                None,
                format!("expression code point size exceeds limit: size: {size}, limit {MAX_CODE_POINTS}"),
            );
            return Err(issues);
        }
    }
    let Tokens { tokens, hidden } = lexer::tokens(source, &mut issues);
    let mut parser = Parser {
        source,
        tokens,
        hidden,
        at: 0,
        issues,
        offsets: Vec::new(),
        depths: [0; grammar::RULES],
        recovery: Recovery::default(),
        partial: None,
    };
    let root = parser.start();
    let Parser { issues, offsets, .. } = parser;
    match root {
        Some(parsed) if issues.is_empty() => Ok(Ast { root: parsed, offsets }),
        _ => Err(issues.sorted()),
    }
}

/// A tree and how deep upstream's visitor has to go for it.
struct Parsed {
    expr: Expr,
    depth: u32,
}

struct Parser<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    hidden: Vec<(u32, u32)>,
    at: usize,
    issues: Issues,
    offsets: Vec<u32>,
    /// How many rules of each kind are open.
    depths: [u32; grammar::RULES],
    recovery: Recovery,
    /// What was read of a rule that failed, if that is of use.
    partial: Option<Parsed>,
}

impl Parser<'_> {
    fn start(&mut self) -> Option<Expr> {
        let parsed = self.start_rule();
        match parsed {
            Ok(parsed) => Some(parsed.expr),
            Err(Stop::Internal(message)) => {
                self.issues.report(None, message);
                None
            }
            Err(_) => None,
        }
    }

    /// A new node that starts at this byte.
    fn id(&mut self, offset: u32) -> Id {
        self.offsets.push(offset);
        // Bounded by the length of the source.
        Id::try_from(self.offsets.len() - 1).unwrap_or(Id::MAX)
    }

    fn offset(&self, id: Id) -> u32 {
        self.offsets.get(id as usize).copied().unwrap_or_default()
    }
}
