//! Label selectors: `app=web,tier in (a,b),!canary`.

use std::fmt;

use super::ParseSelectorError;
use crate::field::quote;
use crate::{Map, Value, names};

/// How a requirement compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `key=value` or `key in (…)`.
    In,
    /// `key!=value` or `key notin (…)`; an absent key matches.
    NotIn,
    /// `key`.
    Exists,
    /// `!key`.
    DoesNotExist,
    /// `key>n`.
    GreaterThan,
    /// `key<n`.
    LessThan,
}

/// One term of a selector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// The label.
    pub key: String,
    /// How it is compared.
    pub operator: Operator,
    /// With what; sorted, each once.
    pub values: Vec<String>,
    /// Whether it was said as a set (`key in (a)`, an expression of an object), and is shown so, though it may hold one value.
    pub is_set: bool,
}

/// A conjunction of requirements; the empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector {
    /// All must match.
    pub requirements: Vec<Requirement>,
    /// Selects nothing at all, which no list of requirements can say: the nil selector of `metav1`.
    nothing: bool,
}

impl LabelSelector {
    /// The selector that matches everything.
    pub fn everything() -> Self {
        Self::default()
    }

    /// The selector that matches nothing: what a missing `metav1.LabelSelector` means.
    pub fn nothing() -> Self {
        Self { requirements: Vec::new(), nothing: true }
    }

    /// Whether it selects everything.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty() && !self.nothing
    }

    /// Reads the form of the query parameter.
    ///
    /// # Errors
    /// With upstream's text, which starts `unable to parse requirement:` for most.
    pub fn parse(text: &str) -> Result<Self, ParseSelectorError> {
        let mut requirements = Parser::new(text).selector()?;
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { requirements, nothing: false })
    }

    /// Reads a `metav1.LabelSelector` object; null selects nothing, `{}` everything.
    ///
    /// # Errors
    /// When an expression has an unknown operator or the wrong number of values.
    pub fn from_object(selector: &Value) -> Result<Self, ParseSelectorError> {
        if selector.is_null() {
            return Ok(Self::nothing());
        }
        let mut requirements = Vec::new();
        for (key, value) in
            selector.get("matchLabels").and_then(Value::as_object).into_iter().flat_map(Map::iter)
        {
            let values = vec![value.as_str().unwrap_or_default().to_owned()];
            requirements.push(Requirement::new(key, Operator::In, values)?);
        }
        for expression in selector.items_at(&["matchExpressions"]) {
            let operator = match expression.str_at(&["operator"]).unwrap_or_default() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => {
                    return Err(ParseSelectorError(format!(
                        "\"{other}\" is not a valid label selector operator"
                    )));
                }
            };
            let values = expression
                .items_at(&["values"])
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            let key = expression.str_at(&["key"]).unwrap_or_default();
            requirements.push(Requirement::new(key, operator, values)?.into_set());
        }
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { requirements, nothing: false })
    }

    /// Whether an object with these labels (`None`: no labels) is selected.
    pub fn matches(&self, labels: Option<&Map>) -> bool {
        !self.nothing && self.requirements.iter().all(|r| r.matches(labels))
    }
}

impl Requirement {
    /// A requirement whose key and values are checked.
    ///
    /// # Errors
    /// When key, operator and values do not fit together.
    pub fn new(key: &str, operator: Operator, mut values: Vec<String>) -> Result<Self, ParseSelectorError> {
        let mut wrong: Vec<String> = check_key(key, "key").err().map(|error| error.0).into_iter().collect();
        match operator {
            Operator::In | Operator::NotIn if values.is_empty() => wrong.push(
                "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty".into(),
            ),
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => wrong
                .push("values: Invalid value: values set must be empty for exists and does not exist".into()),
            Operator::GreaterThan | Operator::LessThan => {
                for (at, value) in
                    values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err())
                {
                    wrong.push(format!(
                        "values[{at}]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must be an integer",
                        quote(value)
                    ));
                }
            }
            _ => {}
        }
        for (at, value) in values.iter().enumerate() {
            let complaints = names::label_value(value);
            if !complaints.is_empty() {
                let why = complaints.join("; ");
                wrong.push(format!("values[{at}][{key}]: Invalid value: {}: {why}", quote(value)));
            }
        }
        match wrong.as_slice() {
            [] => {}
            [one] => return Err(ParseSelectorError(one.clone())),
            many => return Err(ParseSelectorError(format!("[{}]", many.join(", ")))),
        }
        values.sort();
        values.dedup();
        Ok(Self { key: key.to_owned(), operator, values, is_set: false })
    }

    /// The same, shown as a set.
    fn into_set(self) -> Self {
        Self { is_set: true, ..self }
    }

    fn matches(&self, labels: Option<&Map>) -> bool {
        let value = labels.and_then(|l| l.get(&self.key)).and_then(Value::as_str);
        let listed = |v: &str| self.values.iter().any(|known| known == v);
        let number = |v: &str| v.parse::<i64>().ok();
        let bound = || self.values.first().and_then(|v| number(v));
        match (self.operator, value) {
            (Operator::In, value) => value.is_some_and(listed),
            (Operator::NotIn, value) => !value.is_some_and(listed),
            (Operator::Exists, value) => value.is_some(),
            (Operator::DoesNotExist, value) => value.is_none(),
            (Operator::GreaterThan, value) => value.and_then(number).zip(bound()).is_some_and(|(v, b)| v > b),
            (Operator::LessThan, value) => value.and_then(number).zip(bound()).is_some_and(|(v, b)| v < b),
        }
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, r) in self.requirements.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            match (r.operator, r.values.as_slice()) {
                (Operator::In, [one]) if !r.is_set => write!(f, "{}={one}", r.key)?,
                (Operator::NotIn, [one]) if !r.is_set => write!(f, "{}!={one}", r.key)?,
                (Operator::In, many) => write!(f, "{} in ({})", r.key, many.join(","))?,
                (Operator::NotIn, many) => write!(f, "{} notin ({})", r.key, many.join(","))?,
                (Operator::Exists, _) => f.write_str(&r.key)?,
                (Operator::DoesNotExist, _) => write!(f, "!{}", r.key)?,
                (Operator::GreaterThan, values) => write!(f, "{}>{}", r.key, values.join(","))?,
                (Operator::LessThan, values) => write!(f, "{}<{}", r.key, values.join(","))?,
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    End,
    Comma,
    Not,
    Open,
    Close,
    Equals,
    DoubleEquals,
    NotEquals,
    Greater,
    Less,
    /// A key or a value; the words `in` and `notin` are operators only where one may stand.
    Word,
}

/// What upstream's lexer reads at the end of a text, and so takes for it: it ends a token, and is gone with it.
const NOTHING: char = '\0';

/// Tokens and their texts, looked at one ahead.
struct Parser<'a> {
    rest: &'a str,
    token: Token,
    text: &'a str,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut parser = Parser { rest: text, token: Token::End, text: "" };
        parser.advance();
        parser
    }

    fn advance(&mut self) {
        const SPECIAL: [(&str, Token); 9] = [
            ("==", Token::DoubleEquals),
            ("!=", Token::NotEquals),
            ("=", Token::Equals),
            ("!", Token::Not),
            ("(", Token::Open),
            (")", Token::Close),
            (",", Token::Comma),
            (">", Token::Greater),
            ("<", Token::Less),
        ];
        let blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
        self.rest = self.rest.trim_start_matches(blank);
        let special = SPECIAL.iter().find(|(text, _)| self.rest.starts_with(text));
        let (token, length) = match special {
            Some((text, token)) => (*token, text.len()),
            None if self.rest.is_empty() || self.rest.starts_with(NOTHING) => (Token::End, 0),
            None => {
                let end = self.rest.find(|c: char| blank(c) || c == NOTHING || "=!(),<>".contains(c));
                (Token::Word, end.unwrap_or(self.rest.len()))
            }
        };
        (self.text, self.rest) = self.rest.split_at(length);
        self.token = token;
        self.rest = self.rest.strip_prefix(NOTHING).unwrap_or(self.rest);
    }

    /// The current token, which is left behind.
    fn consume(&mut self) -> (Token, &'a str) {
        let current = (self.token, self.text);
        self.advance();
        current
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, ParseSelectorError> {
        let mut requirements = Vec::new();
        loop {
            match self.token {
                Token::Word | Token::Not => {}
                Token::End => return Ok(requirements),
                _ => return Err(found(self.text, ", expected: !, identifier, or 'end of string'")),
            }
            let requirement = self
                .requirement()
                .map_err(|error| ParseSelectorError(format!("unable to parse requirement: {error}")))?;
            requirements.push(requirement);
            match self.consume() {
                (Token::End, _) => return Ok(requirements),
                (Token::Comma, _) if matches!(self.token, Token::Word | Token::Not) => {}
                (Token::Comma, _) => return Err(found(self.text, ", expected: identifier after ','")),
                (_, text) => return Err(found(text, ", expected: ',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, ParseSelectorError> {
        let mut next = self.consume();
        let absent = next.0 == Token::Not;
        if absent {
            next = self.consume();
        }
        let (Token::Word, key) = next else { return Err(found(next.1, ", expected: identifier")) };
        check_key(key, "<nil>")?;
        if absent {
            return Requirement::new(key, Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.token, Token::End | Token::Comma) {
            return Requirement::new(key, Operator::Exists, Vec::new());
        }
        match self.consume() {
            (Token::Equals | Token::DoubleEquals, _) => self.compared(key, Operator::In),
            (Token::NotEquals, _) => self.compared(key, Operator::NotIn),
            (Token::Greater, _) => self.compared(key, Operator::GreaterThan),
            (Token::Less, _) => self.compared(key, Operator::LessThan),
            (Token::Word, "in") => Ok(Requirement::new(key, Operator::In, self.values()?)?.into_set()),
            (Token::Word, "notin") => Ok(Requirement::new(key, Operator::NotIn, self.values()?)?.into_set()),
            (_, text) => Err(found(text, ", expected: in, notin, =, ==, !=, gt, lt")),
        }
    }

    fn compared(&mut self, key: &str, operator: Operator) -> Result<Requirement, ParseSelectorError> {
        if matches!(self.token, Token::End | Token::Comma) {
            return Requirement::new(key, operator, vec![String::new()]);
        }
        match self.consume() {
            (Token::Word, value) => Requirement::new(key, operator, vec![value.to_owned()]),
            (_, text) => Err(found(text, ", expected: identifier")),
        }
    }

    fn values(&mut self) -> Result<Vec<String>, ParseSelectorError> {
        let (token, text) = self.consume();
        if token != Token::Open {
            return Err(found(text, " expected: '('"));
        }
        match self.token {
            Token::Close => {
                self.advance();
                return Ok(vec![String::new()]);
            }
            Token::Word | Token::Comma => {}
            _ => return Err(found(self.text, ", expected: ',', ')' or identifier")),
        }
        let mut values = Vec::new();
        loop {
            match self.consume() {
                (Token::Word, value) => {
                    values.push(value.to_owned());
                    match self.token {
                        Token::Comma => {}
                        Token::Close => break,
                        _ => return Err(found(self.text, ", expected: ',' or ')'")),
                    }
                }
                (Token::Comma, _) => {
                    // `(,a)`, `(a,,b)` and `(a,)` hold an empty value.
                    if values.is_empty() || matches!(self.token, Token::Close | Token::Comma) {
                        values.push(String::new());
                    }
                    if self.token == Token::Close {
                        break;
                    }
                }
                (_, text) => return Err(found(text, ", expected: ',', or identifier")),
            }
        }
        self.advance();
        values.sort();
        values.dedup();
        Ok(values)
    }
}

fn found(text: &str, expected: &str) -> ParseSelectorError {
    let text: String = text.chars().take(256).collect();
    ParseSelectorError(format!("found '{text}'{expected}"))
}

/// Checks a key; `path` is what the complaint calls it.
fn check_key(key: &str, path: &str) -> Result<(), ParseSelectorError> {
    let complaints = names::qualified_name(key);
    if complaints.is_empty() {
        return Ok(());
    }
    Err(ParseSelectorError(format!("{path}: Invalid value: {}: {}", quote(key), complaints.join("; "))))
}
