//! What ANTLR does when a token does not fit: it drops one, makes one up, or skips to one that can follow.

use super::lexer::{Kind, Token, visible};
use super::{Parser, grammar};

/// A set of kinds of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kinds(u64);

impl Kinds {
    pub(super) const NONE: Self = Self(0);

    pub(super) const fn of(kinds: &[Kind]) -> Self {
        let mut bits = 0;
        let mut at = 0;
        while at < kinds.len() {
            bits |= 1 << kinds[at] as u8;
            at += 1;
        }
        Self(bits)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn has(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// As messages list them.
    fn listed(self) -> String {
        let names: Vec<&str> = Kind::ALL.into_iter().filter(|kind| self.has(*kind)).map(Kind::name).collect();
        match names.as_slice() {
            [one] => (*one).to_owned(),
            many => format!("{{{}}}", many.join(", ")),
        }
    }
}

/// What may follow at some place within a rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Follow {
    pub(super) kinds: Kinds,
    /// Whether the rule may end here.
    pub(super) may_end: bool,
}

impl Follow {
    pub(super) const fn must(kinds: Kinds) -> Self {
        Self { kinds, may_end: false }
    }

    pub(super) const fn may(kinds: Kinds) -> Self {
        Self { kinds, may_end: true }
    }
}

/// Why a rule was left.
pub(super) enum Stop {
    /// The token does not fit; these would.
    Mismatch(Kinds),
    /// No alternative fits what was read from the first token to the second.
    NoViable(usize, usize),
    /// Reading ends altogether, and why.
    Internal(&'static str),
    /// Reading ends altogether; why was reported.
    GiveUp,
}

/// Where recovery stands.
#[derive(Default)]
pub(super) struct Recovery {
    /// What may follow each rule that is open.
    follows: Vec<Follow>,
    /// Set from an error until a token fits again; no errors are reported meanwhile.
    is_active: bool,
    attempts: u32,
    last_at: Option<usize>,
    /// Where rules were left since a token fitted.
    last_places: Vec<Place>,
}

/// A place of the grammar where a rule is left: the rule, what would have fitted (nothing if no alternative did), and which
/// alternative it is of a rule that has several with the same end.
type Place = (usize, Kinds, Option<Kind>);

impl Recovery {
    /// A token fits again.
    pub(super) fn matched(&mut self) {
        self.is_active = false;
        self.last_at = None;
        self.last_places.clear();
    }
}

fn place(rule: usize, first: Kind, stop: &Stop) -> Place {
    let alternative = match (first, stop) {
        _ if rule != grammar::PRIMARY => None,
        (Kind::Minus, _) => Some(Kind::Minus),
        (_, Stop::NoViable(..)) => None,
        (Kind::Dot, _) => Some(Kind::Ident),
        (first, _) => Some(first),
    };
    match stop {
        Stop::Mismatch(kinds) => (rule, *kinds, alternative),
        _ => (rule, Kinds::NONE, alternative),
    }
}

const MAX_ATTEMPTS: u32 = 30;
const MAX_LOOKAHEAD: u32 = 256;

impl Parser<'_> {
    pub(super) fn token(&self, ahead: usize) -> Token {
        let last = self.tokens.len().saturating_sub(1);
        let end = Token { kind: Kind::End, start: 0, end: 0 };
        self.tokens.get((self.at + ahead).min(last)).copied().unwrap_or(end)
    }

    pub(super) fn kind(&self) -> Kind {
        self.token(0).kind
    }

    pub(super) fn consume(&mut self) -> Token {
        let token = self.token(0);
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }

    pub(super) fn text(&self, token: Token) -> &str {
        self.source.get(token.start as usize..token.end as usize).unwrap_or_default()
    }

    /// Opens a rule after which this may follow, and closes it again. An error of the rule is reported and mended
    /// within it.
    pub(super) fn within<T>(
        &mut self,
        rule: usize,
        follow: Follow,
        body: impl FnOnce(&mut Self) -> Result<T, Stop>,
        instead: impl FnOnce(&mut Self, u32) -> T,
    ) -> Result<T, Stop> {
        let depth = self.enter(rule)?;
        self.recovery.follows.push(follow);
        let Token { start, kind, .. } = self.token(0);
        let result = match body(self) {
            Err(stop @ (Stop::Mismatch(_) | Stop::NoViable(..))) => {
                let place = place(rule, kind, &stop);
                let recovered = self.report(&stop).and_then(|()| self.recover(place));
                recovered.map(|()| instead(self, start))
            }
            other => other,
        };
        self.recovery.follows.pop();
        self.leave(rule, depth);
        result
    }

    /// Counts one more open rule of this kind; returns how many there were.
    pub(super) fn enter(&mut self, rule: usize) -> Result<u32, Stop> {
        let Some(depth) = self.depths.get_mut(rule) else { return Ok(0) };
        let before = *depth;
        *depth += 1;
        if *depth > super::MAX_DEPTH {
            return Err(Stop::Internal("expression recursion limit exceeded: 250"));
        }
        Ok(before)
    }

    /// Goes back to a count that [`Self::enter`] returned.
    pub(super) fn leave(&mut self, rule: usize, before: u32) {
        if let Some(depth) = self.depths.get_mut(rule) {
            *depth = before;
        }
    }

    fn syntax_error(&mut self, at: u32, message: String) {
        self.issues.syntax(at as usize, message);
    }

    fn report(&mut self, stop: &Stop) -> Result<(), Stop> {
        if self.recovery.is_active {
            return Ok(());
        }
        self.recovery.is_active = true;
        let here = self.token(0);
        match stop {
            Stop::Mismatch(kinds) => {
                let message = format!("mismatched input {} expecting {}", self.shown(here), kinds.listed());
                self.syntax_error(here.start, message);
            }
            Stop::NoViable(from, to) => {
                let (text, at) = self.read_between(*from, *to);
                // cel-go rewords what happens to fields named by a word of the language, and to whatever else looks like that.
                let text = visible(&text);
                let mut after_first = text.chars();
                after_first.next();
                let message = match after_first.as_str() {
                    word @ ("true" | "false" | "null") => {
                        format!("mismatched input '{word}' expecting IDENTIFIER")
                    }
                    _ => format!("no viable alternative at input '{text}'"),
                };
                self.syntax_error(at, message);
            }
            Stop::Internal(_) | Stop::GiveUp => {}
        }
        Ok(())
    }

    /// The text from one token to another, without what is no token, and where the last one starts.
    fn read_between(&self, from: usize, to: usize) -> (String, u32) {
        let tokens = self.tokens.get(from..=to).unwrap_or_default();
        let mut text = String::new();
        let mut end = tokens.first().map_or(0, |first| first.start);
        for token in tokens {
            let gap = self.hidden.partition_point(|(start, _)| *start < end);
            let hidden = self.hidden.iter().skip(gap).take_while(|(start, _)| *start < token.start);
            for (start, end) in hidden {
                text.push_str(self.source.get(*start as usize..*end as usize).unwrap_or_default());
            }
            if token.kind == Kind::End {
                break;
            }
            text.push_str(self.text(*token));
            end = token.end;
        }
        if tokens.first().is_some_and(|first| first.kind == Kind::End) {
            text.push_str("<EOF>");
        }
        (text, tokens.last().map_or(0, |last| last.start))
    }

    fn shown(&self, token: Token) -> String {
        let text = if token.kind == Kind::End { "<EOF>" } else { self.text(token) };
        format!("'{}'", visible(text))
    }

    /// All that can follow the rules that are open.
    fn recovery_set(&self) -> Kinds {
        self.recovery.follows.iter().fold(Kinds::NONE, |all, follow| all.and(follow.kinds))
    }

    /// All that can come at a place where this follows.
    fn expected(&self, follow: Follow) -> Kinds {
        let mut kinds = follow.kinds;
        let mut may_end = follow.may_end;
        for outer in self.recovery.follows.iter().rev() {
            if !may_end {
                break;
            }
            kinds = kinds.and(outer.kinds);
            may_end = outer.may_end;
        }
        kinds
    }

    fn attempt(&mut self) -> Result<(), Stop> {
        if self.recovery.attempts == MAX_ATTEMPTS {
            let here = self.token(0).start;
            self.syntax_error(here, format!("error recovery attempt limit exceeded: {MAX_ATTEMPTS}"));
            return Err(Stop::GiveUp);
        }
        self.recovery.attempts += 1;
        Ok(())
    }

    fn skip_until(&mut self, kinds: Kinds, is_limited: bool) -> Result<(), Stop> {
        let mut skipped = 0;
        while self.kind() != Kind::End && !kinds.has(self.kind()) {
            if is_limited && skipped >= MAX_LOOKAHEAD {
                return Err(Stop::Internal("error recovery token lookahead limit exceeded: 256"));
            }
            skipped += 1;
            self.consume();
        }
        Ok(())
    }

    fn recover(&mut self, place: Place) -> Result<(), Stop> {
        self.attempt()?;
        let is_known = self.recovery.last_places.contains(&place);
        if self.recovery.last_at == Some(self.at) && is_known {
            // The same place twice: one token must go, or this would never end.
            self.consume();
        }
        self.recovery.last_at = Some(self.at);
        if !is_known {
            self.recovery.last_places.push(place);
        }
        self.skip_until(self.recovery_set(), true)
    }

    /// Reads a token of this kind, after which `then` may follow.
    pub(super) fn expect(&mut self, kind: Kind, then: Follow) -> Result<Token, Stop> {
        if self.kind() == kind {
            self.recovery.matched();
            return Ok(self.consume());
        }
        self.attempt()?;
        let wanted = Kinds::of(&[kind]);
        if self.drop_one(wanted) {
            return Ok(self.consume());
        }
        let here = self.token(0);
        if self.expected(then).has(here.kind) {
            if !self.recovery.is_active {
                self.recovery.is_active = true;
                let message = format!("missing {} at {}", kind.name(), self.shown(here));
                self.syntax_error(here.start, message);
            }
            return Ok(Token { kind, start: here.start, end: here.start });
        }
        Err(Stop::Mismatch(wanted))
    }

    /// Drops one token if the next one is expected.
    fn drop_one(&mut self, expected: Kinds) -> bool {
        if !expected.has(self.token(1).kind) {
            return false;
        }
        self.report_unwanted(expected);
        self.consume();
        self.recovery.matched();
        true
    }

    fn report_unwanted(&mut self, expected: Kinds) {
        if self.recovery.is_active {
            return;
        }
        self.recovery.is_active = true;
        let here = self.token(0);
        let message = format!("extraneous input {} expecting {}", self.shown(here), expected.listed());
        self.syntax_error(here.start, message);
    }

    /// Before a choice: what comes must be one of these, unless the rule may end here.
    pub(super) fn sync(&mut self, follow: Follow) -> Result<(), Stop> {
        if self.recovery.is_active || follow.may_end || follow.kinds.has(self.kind()) {
            return Ok(());
        }
        let expected = self.expected(follow);
        if self.drop_one(expected) { Ok(()) } else { Err(Stop::Mismatch(expected)) }
    }

    /// Before a loop is gone through once more: what does not fit is skipped.
    pub(super) fn sync_loop(&mut self, follow: Follow) -> Result<(), Stop> {
        if self.recovery.is_active || follow.may_end || follow.kinds.has(self.kind()) {
            return Ok(());
        }
        let expected = self.expected(follow);
        self.report_unwanted(expected);
        self.skip_until(expected.and(self.recovery_set()), false)
    }
}
