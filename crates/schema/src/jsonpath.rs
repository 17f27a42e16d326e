//! The part of kubectl's JSONPath that printer columns and selectable fields use
//! (k8s.io/client-go `util/jsonpath`): fields, indexes, slices, wildcards, recursive descent, unions and filters.
//! Missing keys lead to no value, as with `AllowMissingKeys`.

use pilothouse_value::Value;
use pilothouse_value::stack::deeper;

/// How many values one path may find; more are left out. Recursive descent must not multiply without end.
const MAX_RESULTS: usize = 10_000;

/// The text is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid JSONPath {path:?} at offset {at}: {why} (hint: write it like `.status.conditions[?(@.type==\"Ready\")].status`)"
)]
pub struct JsonPathError {
    path: String,
    at: usize,
    why: &'static str,
}

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Wildcard,
    Recursive,
    Slice { from: Option<i64>, to: Option<i64>, by: i64 },
    Index(i64),
    Union(Vec<Step>),
    Filter { left: Operand, test: Option<(Compare, Operand)> },
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Path(Vec<Step>),
    Constant(Value),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Compare {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl JsonPath {
    /// Parses a path such as `.spec.replicas`, with or without the braces of a template.
    ///
    /// # Errors
    /// [`JsonPathError`] for anything else.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        let path = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        let mut parser = Parser { text: path, at: 0 };
        let steps =
            parser.steps(&[]).map_err(|why| JsonPathError { path: text.to_owned(), at: parser.at, why })?;
        Ok(Self { steps })
    }

    /// The values that the path leads to, in the order in which they stand.
    pub fn find<'v>(&self, root: &'v Value) -> Vec<&'v Value> {
        walk(&self.steps, vec![root])
    }

    /// The path when it is nothing but field names, such as those of `selectableFields`.
    pub fn plain_fields(&self) -> Option<Vec<&str>> {
        self.steps
            .iter()
            .map(|step| if let Step::Field(name) = step { Some(name.as_str()) } else { None })
            .collect()
    }
}

/// A value as a template prints it: texts as they are, lists and objects as JSON.
pub fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_json(), str::to_owned)
}

fn walk<'v>(steps: &[Step], mut here: Vec<&'v Value>) -> Vec<&'v Value> {
    for step in steps {
        let mut next = Vec::new();
        for value in here {
            take(step, value, &mut next);
            next.truncate(MAX_RESULTS);
        }
        here = next;
    }
    here
}

fn take<'v>(step: &Step, value: &'v Value, out: &mut Vec<&'v Value>) {
    match (step, value) {
        (Step::Field(name), Value::Object(map)) => out.extend(map.get(name)),
        (Step::Wildcard, Value::Object(map)) => out.extend(map.values()),
        (Step::Wildcard, Value::Array(items)) => out.extend(items),
        (Step::Recursive, _) => descend(value, out),
        (Step::Index(at), Value::Array(items)) => {
            let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
            let at = if *at < 0 { at.saturating_add(length) } else { *at };
            out.extend(usize::try_from(at).ok().and_then(|at| items.get(at)));
        }
        (Step::Slice { from, to, by }, Value::Array(items)) => {
            let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
            let clamp = |at: i64| (if at < 0 { at.saturating_add(length) } else { at }).clamp(0, length);
            let (from, to) = (clamp(from.unwrap_or(0)), clamp(to.unwrap_or(length)));
            let (from, to) = (usize::try_from(from).unwrap_or(0), usize::try_from(to).unwrap_or(0));
            let by = usize::try_from(*by).unwrap_or(1).max(1);
            out.extend(items.get(from..to).unwrap_or_default().iter().step_by(by));
        }
        (Step::Union(steps), _) => steps.iter().for_each(|step| take(step, value, out)),
        (Step::Filter { left, test }, Value::Array(items)) => {
            out.extend(items.iter().filter(|item| holds(left, test.as_ref(), item)));
        }
        _ => {}
    }
}

fn descend<'v>(value: &'v Value, out: &mut Vec<&'v Value>) {
    if out.len() >= MAX_RESULTS {
        return;
    }
    out.push(value);
    match value {
        Value::Object(map) => deeper(|| map.values().for_each(|value| descend(value, out))),
        Value::Array(items) => deeper(|| items.iter().for_each(|value| descend(value, out))),
        _ => {}
    }
}

fn holds(left: &Operand, test: Option<&(Compare, Operand)>, item: &Value) -> bool {
    let value = |operand: &Operand| match operand {
        Operand::Constant(value) => Some(value.clone()),
        Operand::Path(steps) => walk(steps, vec![item]).first().map(|value| (*value).clone()),
    };
    let (Some(left), Some((compare, right))) = (value(left), test) else {
        return test.is_none() && value(left).is_some();
    };
    let Some(right) = value(right) else { return false };
    let order = match (&left, &right) {
        (Value::String(a), Value::String(b)) => a.partial_cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.partial_cmp(b),
        _ => left.as_f64().and_then(|a| right.as_f64().and_then(|b| a.partial_cmp(&b))),
    };
    match compare {
        Compare::Equal => order.is_some_and(|order| order.is_eq()),
        Compare::NotEqual => order.is_none_or(|order| order.is_ne()),
        Compare::Less => order.is_some_and(|order| order.is_lt()),
        Compare::LessOrEqual => order.is_some_and(|order| order.is_le()),
        Compare::Greater => order.is_some_and(|order| order.is_gt()),
        Compare::GreaterOrEqual => order.is_some_and(|order| order.is_ge()),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

type Why = &'static str;

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        let eaten = self.rest().starts_with(text);
        if eaten {
            self.at += text.len();
        }
        eaten
    }

    fn spaces(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.next();
        }
    }

    /// Steps up to the end of the text or one of the characters in `end`.
    fn steps(&mut self, end: &[char]) -> Result<Vec<Step>, Why> {
        let mut steps = Vec::new();
        loop {
            match self.peek() {
                None => return Ok(steps),
                Some(c) if end.contains(&c) || (!end.is_empty() && c.is_whitespace()) => return Ok(steps),
                Some('$' | '@') if steps.is_empty() => {
                    self.next();
                }
                Some('.') => {
                    self.next();
                    if self.eat(".") {
                        steps.push(Step::Recursive);
                    }
                    match self.peek() {
                        Some('*') => {
                            self.next();
                            steps.push(Step::Wildcard);
                        }
                        // `.['key']` and a lone `.` are allowed.
                        Some('[') | None => {}
                        Some(_) => steps.push(self.field()?),
                    }
                }
                Some('[') => {
                    self.next();
                    steps.push(self.bracket()?);
                }
                Some(_) if steps.is_empty() => steps.push(self.field()?),
                Some(_) => return Err("unexpected character"),
            }
        }
    }

    fn field(&mut self) -> Result<Step, Why> {
        let mut name = String::new();
        while let Some(c) = self.peek() {
            match c {
                '\\' => {
                    self.next();
                    name.push(self.next().ok_or("nothing after the backslash")?);
                }
                '.' | '[' | ']' | '(' | ')' | '=' | '!' | '<' | '>' | ',' | '\'' | '"' | '{' | '}' => break,
                c if c.is_whitespace() => break,
                c => {
                    self.next();
                    name.push(c);
                }
            }
        }
        if name.is_empty() { Err("a field name is missing") } else { Ok(Step::Field(name)) }
    }

    /// What stands in brackets, behind the opening one.
    fn bracket(&mut self) -> Result<Step, Why> {
        if self.eat("?(") {
            let filter = self.filter()?;
            return if self.eat(")]") { Ok(filter) } else { Err("unterminated filter") };
        }
        let mut steps = Vec::new();
        loop {
            self.spaces();
            steps.push(self.element()?);
            self.spaces();
            match self.next() {
                Some(',') => {}
                Some(']') => break,
                _ => return Err("unterminated array"),
            }
        }
        match (steps.pop(), steps.is_empty()) {
            (Some(step), true) => Ok(step),
            (step, _) => Ok(Step::Union(steps.into_iter().chain(step).collect())),
        }
    }

    fn element(&mut self) -> Result<Step, Why> {
        match self.peek() {
            Some('*') => {
                self.next();
                Ok(Step::Wildcard)
            }
            Some(quote @ ('\'' | '"')) => {
                self.next();
                Ok(Step::Field(self.quoted(quote)?))
            }
            _ => {
                let first = self.number()?;
                if !self.eat(":") {
                    return first.map(Step::Index).ok_or("an index is missing");
                }
                let to = self.number()?;
                let by = if self.eat(":") { self.number()? } else { None };
                match by {
                    Some(by) if by < 1 => Err("the step of a slice must be positive"),
                    by => Ok(Step::Slice { from: first, to, by: by.unwrap_or(1) }),
                }
            }
        }
    }

    fn number(&mut self) -> Result<Option<i64>, Why> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
        if end == 0 {
            return Ok(None);
        }
        let number = rest[..end].parse().map_err(|_| "an index is not a number")?;
        self.at += end;
        Ok(Some(number))
    }

    fn quoted(&mut self, quote: char) -> Result<String, Why> {
        let mut text = String::new();
        loop {
            match self.next().ok_or("unterminated quoted string")? {
                c if c == quote => return Ok(text),
                '\\' => text.push(self.next().ok_or("unterminated quoted string")?),
                c => text.push(c),
            }
        }
    }

    fn filter(&mut self) -> Result<Step, Why> {
        let left = self.operand()?;
        self.spaces();
        let compare = if self.eat("==") {
            Compare::Equal
        } else if self.eat("!=") {
            Compare::NotEqual
        } else if self.eat("<=") {
            Compare::LessOrEqual
        } else if self.eat(">=") {
            Compare::GreaterOrEqual
        } else if self.eat("<") {
            Compare::Less
        } else if self.eat(">") {
            Compare::Greater
        } else {
            return Ok(Step::Filter { left, test: None });
        };
        let right = self.operand()?;
        self.spaces();
        Ok(Step::Filter { left, test: Some((compare, right)) })
    }

    fn operand(&mut self) -> Result<Operand, Why> {
        self.spaces();
        match self.peek() {
            Some(quote @ ('\'' | '"')) => {
                self.next();
                self.quoted(quote).map(|text| Operand::Constant(Value::String(text)))
            }
            Some('@' | '.' | '$') => self.steps(&[')', '=', '!', '<', '>']).map(Operand::Path),
            _ => {
                let rest = self.rest();
                let end = rest.find([')', '=', '!', '<', '>', ' ']).unwrap_or(rest.len());
                let constant = match &rest[..end] {
                    "true" => Value::Bool(true),
                    "false" => Value::Bool(false),
                    word => match (word.parse::<i64>(), word.parse::<f64>()) {
                        (Ok(number), _) => Value::Int(number),
                        (_, Ok(number)) => Value::Float(number),
                        _ => return Err("a filter compares with a path, a string, a number or a boolean"),
                    },
                };
                self.at += end;
                Ok(Operand::Constant(constant))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_value::json;

    use super::*;

    #[test]
    fn paths_find_what_kubectl_finds() {
        let object = json!({
            "metadata": {"annotations": {"a.b/c": "yes"}},
            "spec": {"list": [{"name": "a", "n": 1}, {"name": "b", "n": 2}, {"name": "c", "n": 3}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]},
        });
        let cases = [
            (".spec.list[0].name", json!(["a"])),
            ("{.spec.list[-1].name}", json!(["c"])),
            (".spec.list[*].name", json!(["a", "b", "c"])),
            (".spec.list[0:2].name", json!(["a", "b"])),
            (".spec.list[::2].n", json!([1, 3])),
            (".spec.list[0,2].n", json!([1, 3])),
            (".spec.list[?(@.n>1)].name", json!(["b", "c"])),
            (".status.conditions[?(@.type=='Ready')].status", json!(["True"])),
            (".status.conditions[?(@.type == \"Ready\")].status", json!(["True"])),
            (r".metadata.annotations.a\.b/c", json!(["yes"])),
            (".metadata.annotations['a.b/c']", json!(["yes"])),
            ("..type", json!(["Ready", "Other"])),
            ("$.spec.list[1]['name','n']", json!(["b", 2])),
            (".spec.missing.field", json!([])),
            (".spec.list.name", json!([])),
        ];
        for (path, expected) in cases {
            let found: Value = JsonPath::parse(path).unwrap().find(&object).into_iter().cloned().collect();
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for path in [".a[", ".a[?(@.b==)]", ".a['b", ".a[x]", ".a b", ".a..", ".a[0:2:0]"] {
            let parsed = JsonPath::parse(path);
            assert!(parsed.is_err() || path == ".a..", "{path} {parsed:?}");
        }
        assert_eq!(JsonPath::parse(".spec.a").unwrap().plain_fields(), Some(vec!["spec", "a"]));
        assert_eq!(JsonPath::parse(".spec[0]").unwrap().plain_fields(), None);
    }
}
