//! Field selectors: `metadata.name=a,status.phase!=Running`.

use std::fmt;

use super::ParseSelectorError;

/// One term: a field must, or must not, have a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldRequirement {
    /// The field, such as `metadata.name`.
    pub field: String,
    /// Its value.
    pub value: String,
    /// Whether the value must differ.
    pub negated: bool,
}

/// A conjunction of field requirements; the empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldSelector {
    /// All must match.
    pub requirements: Vec<FieldRequirement>,
}

impl FieldSelector {
    /// Reads the form of the query parameter; `\` escapes `,`, `=` and itself in values.
    ///
    /// # Errors
    /// When a term has neither `=`, `==` nor `!=`, or an escape is unknown.
    pub fn parse(text: &str) -> Result<Self, ParseSelectorError> {
        let mut requirements = Vec::new();
        for term in split_unescaped(text) {
            if term.is_empty() {
                continue;
            }
            let (field, value, negated) = split_operator(term).ok_or_else(|| {
                ParseSelectorError(format!("invalid selector: '{term}'; can't understand '{term}'"))
            })?;
            let value = unescape(value)?;
            // A lone `=` says nothing, and upstream takes it.
            if field.is_empty() && value.is_empty() {
                continue;
            }
            requirements.push(FieldRequirement { field: field.to_owned(), value, negated });
        }
        Ok(Self { requirements })
    }

    /// Whether it selects everything.
    pub const fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The value that `field` must have, if the selector pins it.
    pub fn exact(&self, field: &str) -> Option<&str> {
        self.requirements.iter().find(|r| r.field == field && !r.negated).map(|r| r.value.as_str())
    }

    /// Whether an object is selected; `value_of` gives the text of a field, empty where it is absent.
    pub fn matches<'a>(&self, value_of: impl Fn(&str) -> std::borrow::Cow<'a, str>) -> bool {
        self.requirements.iter().all(|r| (value_of(&r.field) == r.value) != r.negated)
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, r) in self.requirements.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let operator = if r.negated { "!=" } else { "=" };
            let value = r.value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
            write!(f, "{comma}{}{operator}{value}", r.field)?;
        }
        Ok(())
    }
}

fn split_unescaped(text: &str) -> Vec<&str> {
    let (mut terms, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn split_operator(term: &str) -> Option<(&str, &str, bool)> {
    let at = term.find(['=', '!'])?;
    let (field, rest) = term.split_at(at);
    if let Some(value) = rest.strip_prefix("!=") {
        return Some((field, value, true));
    }
    let value = rest.strip_prefix("==").or_else(|| rest.strip_prefix('='))?;
    Some((field, value, false))
}

fn unescape(value: &str) -> Result<String, ParseSelectorError> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                Some(c) => {
                    return Err(ParseSelectorError(format!(
                        "invalid field selector: invalid escape sequence: \\{c}"
                    )));
                }
                None => {
                    return Err(ParseSelectorError(
                        "invalid field selector: invalid escape sequence: \\".into(),
                    ));
                }
            },
            '=' => {
                // Upstream prints the character as a number.
                return Err(ParseSelectorError(
                    "invalid field selector: unescaped character in value: 61".into(),
                ));
            }
            c => out.push(c),
        }
    }
    Ok(out)
}
