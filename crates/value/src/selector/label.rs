//! Label selectors: `app=web,tier in (a,b),!canary`.

use std::fmt;

use super::ParseSelectorError;
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
        let mut requirements = Parser { rest: text }.selector()?;
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
            requirements.push(Requirement::new(
                expression.str_at(&["key"]).unwrap_or_default(),
                operator,
                values,
            )?);
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
        let bad = |text: String| Err(ParseSelectorError(text));
        if let Some(why) = names::qualified_name(key).into_iter().next() {
            return bad(format!("key: Invalid value: \"{key}\": {why}"));
        }
        match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                return bad(
                    "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"
                        .into(),
                );
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                return bad(
                    "values: Invalid value: values set must be empty for exists and does not exist".into()
                );
            }
            Operator::GreaterThan | Operator::LessThan
                if values.len() != 1 || values.iter().any(|v| v.parse::<i64>().is_err()) =>
            {
                return bad(
                    "values[0]: Invalid value: for 'Gt', 'Lt' operators, the value must be an integer".into(),
                );
            }
            _ => {}
        }
        for (at, value) in values.iter().enumerate() {
            if let Some(why) = names::label_value(value).into_iter().next() {
                return bad(format!("values[{at}][{key}]: Invalid value: \"{value}\": {why}"));
            }
        }
        values.sort();
        values.dedup();
        Ok(Self { key: key.to_owned(), operator, values })
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
                (Operator::In, [one]) => write!(f, "{}={one}", r.key)?,
                (Operator::NotIn, [one]) => write!(f, "{}!={one}", r.key)?,
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

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn selector(&mut self) -> Result<Vec<Requirement>, ParseSelectorError> {
        let mut requirements = Vec::new();
        self.skip_space();
        while !self.rest.is_empty() {
            requirements.push(
                self.requirement()
                    .map_err(|e| ParseSelectorError(format!("unable to parse requirement: {}", e.0)))?,
            );
            self.skip_space();
            if self.eat(",") {
                self.skip_space();
                if self.rest.is_empty() {
                    return Err(self.unexpected("identifier after ','"));
                }
            } else if !self.rest.is_empty() {
                return Err(self.unexpected("',' or 'end of string'"));
            }
        }
        Ok(requirements)
    }

    fn requirement(&mut self) -> Result<Requirement, ParseSelectorError> {
        if self.eat("!") {
            let key = self.word();
            return Requirement::new(key, Operator::DoesNotExist, Vec::new());
        }
        let key = self.word();
        if key.is_empty() {
            return Err(self.unexpected("!, identifier, or 'end of string'"));
        }
        self.skip_space();
        if self.rest.is_empty() || self.rest.starts_with(',') {
            return Requirement::new(key, Operator::Exists, Vec::new());
        }
        let one = |operator: Operator, parser: &mut Self| {
            let value = parser.word().to_owned();
            Requirement::new(key, operator, vec![value])
        };
        if self.eat("==") || self.eat("=") {
            return one(Operator::In, self);
        }
        if self.eat("!=") {
            return one(Operator::NotIn, self);
        }
        if self.eat(">") {
            return one(Operator::GreaterThan, self);
        }
        if self.eat("<") {
            return one(Operator::LessThan, self);
        }
        match self.word() {
            "in" => Requirement::new(key, Operator::In, self.values()?),
            "notin" => Requirement::new(key, Operator::NotIn, self.values()?),
            other => {
                Err(ParseSelectorError(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")))
            }
        }
    }

    fn values(&mut self) -> Result<Vec<String>, ParseSelectorError> {
        self.skip_space();
        if !self.eat("(") {
            return Err(self.unexpected("'('"));
        }
        let mut values = Vec::new();
        loop {
            values.push(self.word().to_owned());
            self.skip_space();
            if self.eat(")") {
                return Ok(values);
            }
            if !self.eat(",") {
                return Err(self.unexpected("',' or ')'"));
            }
        }
    }

    fn unexpected(&self, expected: &str) -> ParseSelectorError {
        let found: String = self.rest.chars().take(32).collect();
        ParseSelectorError(format!("found '{found}', expected: {expected}"))
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let Some(rest) = self.rest.strip_prefix(token) else { return false };
        self.rest = rest;
        true
    }

    fn word(&mut self) -> &'a str {
        self.skip_space();
        let end =
            self.rest.find(|c: char| c.is_whitespace() || "=!(),<>".contains(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }
}
