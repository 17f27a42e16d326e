//! Renders a tree against data.

use std::collections::BTreeMap;

use super::parse::{Command, Expr, Node, Pipeline, parse};
use super::{TemplateError, calls};
use super::{Value, Zero};

/// How many nodes one rendering may visit.
const MAX_STEPS: usize = 1_000_000;
/// How large the rendered text may become, in bytes.
const MAX_OUTPUT: usize = 8 << 20;
/// How deep actions may nest while they run, over all templates that call each other.
const MAX_DEPTH: usize = 100;

/// What a key that a map does not have means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// An error, as in Kanister's arguments (`missingkey=error`). Printing a value that is not there is an error too.
    Error,
    /// The zero value of the map's elements (`missingkey=zero`), as in the conditions of `Wait`.
    Zero,
    /// `<no value>`, as in kubectl's go-template and so in the conditions of `WaitV2`.
    Default,
}

/// A template, parsed.
pub struct Template {
    body: Vec<Node>,
    defined: BTreeMap<String, Vec<Node>>,
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// [`TemplateError::Parse`] where the text is not a template, or calls a function that does not exist here.
    pub fn parse(source: &str) -> Result<Self, TemplateError> {
        let tree = parse(source)?;
        Ok(Self { body: tree.body, defined: tree.defined })
    }

    /// Renders the template: `.` and `$` are the data.
    ///
    /// # Errors
    /// Where the data does not have what the template asks for, or a bound is reached.
    pub fn render(&self, data: &Value, missing: Missing) -> Result<String, TemplateError> {
        self.render_known(data, missing).map(|(text, _)| text)
    }

    /// As [`Template::render`]; tells also whether the whole text is known, that is, nothing unknown went into it.
    ///
    /// # Errors
    /// As [`Template::render`].
    pub fn render_known(&self, data: &Value, missing: Missing) -> Result<(String, bool), TemplateError> {
        let mut run = Run {
            template: self,
            missing,
            out: String::new(),
            variables: vec![("$".to_owned(), data.clone())],
            steps: 0,
            depth: 0,
            known: true,
        };
        run.nodes(&self.body, data)?;
        Ok((run.out, run.known))
    }
}

enum Flow {
    Next,
    Break,
    Continue,
}

struct Run<'t> {
    template: &'t Template,
    missing: Missing,
    out: String,
    variables: Vec<(String, Value)>,
    steps: usize,
    depth: usize,
    known: bool,
}

impl<'t> Run<'t> {
    fn nodes(&mut self, nodes: &'t [Node], dot: &Value) -> Result<Flow, TemplateError> {
        if self.depth >= MAX_DEPTH {
            return Err(TemplateError::Limit("100 nested actions"));
        }
        self.depth += 1;
        let flow = self.nodes_here(nodes, dot);
        self.depth -= 1;
        flow
    }

    fn nodes_here(&mut self, nodes: &'t [Node], dot: &Value) -> Result<Flow, TemplateError> {
        for node in nodes {
            self.step()?;
            match node {
                Node::Text(text) => self.write(text)?,
                Node::Action(pipe) => {
                    let value = self.pipeline(pipe, dot)?;
                    if pipe.variables.is_empty() {
                        self.print(&value, pipe)?;
                    }
                }
                Node::If { condition, then, otherwise } => {
                    let scope = self.variables.len();
                    let value = self.pipeline(condition, dot)?;
                    let flow = self.branch(&value, dot, then, otherwise)?;
                    self.variables.truncate(scope);
                    if !matches!(flow, Flow::Next) {
                        return Ok(flow);
                    }
                }
                Node::With { value, then, otherwise } => {
                    let scope = self.variables.len();
                    let value = self.pipeline(value, dot)?;
                    let flow = if value.is_true() || matches!(value, Value::Unknown(_)) {
                        self.nodes(then, &value)?
                    } else {
                        self.nodes(otherwise, dot)?
                    };
                    self.variables.truncate(scope);
                    if !matches!(flow, Flow::Next) {
                        return Ok(flow);
                    }
                }
                Node::Range { over, body, otherwise } => {
                    let scope = self.variables.len();
                    self.range(over, body, otherwise, dot)?;
                    self.variables.truncate(scope);
                }
                Node::Template { name, argument } => self.call(name, argument.as_ref(), dot)?,
                Node::Break => return Ok(Flow::Break),
                Node::Continue => return Ok(Flow::Continue),
            }
        }
        Ok(Flow::Next)
    }

    /// A condition that is not known yet takes its first branch, but what goes wrong there is not told: it may never be taken.
    fn branch(
        &mut self,
        condition: &Value,
        dot: &Value,
        then: &'t [Node],
        otherwise: &'t [Node],
    ) -> Result<Flow, TemplateError> {
        if !matches!(condition, Value::Unknown(_)) {
            return self.nodes(if condition.is_true() { then } else { otherwise }, dot);
        }
        self.known = false;
        let (written, scope) = (self.out.len(), self.variables.len());
        match self.nodes(then, dot) {
            Err(limit @ TemplateError::Limit(_)) => Err(limit),
            Err(_) => {
                self.out.truncate(written);
                self.variables.truncate(scope);
                Ok(Flow::Next)
            }
            Ok(_) => Ok(Flow::Next),
        }
    }

    fn step(&mut self) -> Result<(), TemplateError> {
        self.steps += 1;
        if self.steps > MAX_STEPS { Err(TemplateError::Limit("1000000 steps")) } else { Ok(()) }
    }

    fn write(&mut self, text: &str) -> Result<(), TemplateError> {
        if self.out.len() + text.len() > MAX_OUTPUT {
            return Err(TemplateError::Limit("8 MiB of output"));
        }
        self.out.push_str(text);
        Ok(())
    }

    fn print(&mut self, value: &Value, pipe: &Pipeline) -> Result<(), TemplateError> {
        match value {
            Value::Nil if self.missing == Missing::Error => Err(TemplateError::Exec {
                path: describe_pipeline(pipe),
                message: "the value is not there, and \"<no value>\" would be passed in its place".to_owned(),
            }),
            Value::Nil => self.write("<no value>"),
            Value::Unknown(label) => {
                self.known = false;
                self.write(label)
            }
            value => self.write(&value.print()),
        }
    }

    fn range(
        &mut self,
        over: &'t Pipeline,
        body: &'t [Node],
        otherwise: &'t [Node],
        dot: &Value,
    ) -> Result<(), TemplateError> {
        let value = self.evaluate(over, dot)?;
        let first = self.variables.len();
        if !over.assigns {
            self.variables.extend(over.variables.iter().map(|name| (name.clone(), Value::Nil)));
        }
        let items: Vec<(Value, Value)> = match &value {
            Value::List(list) => (0..).map(Value::Int).zip(list.iter().cloned()).collect(),
            Value::Bytes(bytes) => {
                (0..).map(Value::Int).zip(bytes.iter().map(|b| Value::Int(i64::from(*b)))).collect()
            }
            Value::Map(map) => map.entries.iter().map(|(k, v)| (k.into(), v.clone())).collect(),
            Value::Int(n) if *n > MAX_STEPS as i64 => return Err(TemplateError::Limit("1000000 steps")),
            Value::Int(n) => (0..(*n).max(0)).map(|i| (Value::Int(i), Value::Int(i))).collect(),
            Value::Unknown(label) => {
                self.known = false;
                vec![(
                    Value::Unknown(format!("{label}.key").into()),
                    Value::Unknown(format!("{label}.item").into()),
                )]
            }
            Value::Nil | Value::NilPointer(_) => Vec::new(),
            other => {
                return Err(self.exec_error(over, format!("range can't iterate over {}", other.type_name())));
            }
        };
        if items.is_empty() {
            self.variables.truncate(first);
            self.nodes(otherwise, dot)?;
            return Ok(());
        }
        let inner = self.variables.len();
        for (key, item) in items {
            match over.variables.as_slice() {
                [one] => self.set(one, item.clone()),
                [one, two] => {
                    self.set(one, key);
                    self.set(two, item.clone());
                }
                _ => {}
            }
            let flow = self.nodes(body, &item)?;
            self.variables.truncate(inner);
            if matches!(flow, Flow::Break) {
                break;
            }
        }
        Ok(())
    }

    fn call(&mut self, name: &str, argument: Option<&'t Pipeline>, dot: &Value) -> Result<(), TemplateError> {
        let failed =
            |message: String| TemplateError::Exec { path: format!("{{{{template {name:?}}}}}"), message };
        let data = match argument {
            Some(pipe) => self.pipeline(pipe, dot)?,
            None => Value::Nil,
        };
        let template = self.template;
        let body =
            template.defined.get(name).ok_or_else(|| failed(format!("template {name:?} not defined")))?;
        let outer = std::mem::replace(&mut self.variables, vec![("$".to_owned(), data.clone())]);
        let result = self.nodes(body, &data);
        self.variables = outer;
        result.map(|_| ())
    }

    fn set(&mut self, name: &str, value: Value) {
        if let Some(slot) = self.variables.iter_mut().rev().find(|(n, _)| n == name) {
            slot.1 = value;
        }
    }

    /// The value of a pipeline, given to its variables.
    fn pipeline(&mut self, pipe: &'t Pipeline, dot: &Value) -> Result<Value, TemplateError> {
        let value = self.evaluate(pipe, dot)?;
        for name in &pipe.variables {
            if pipe.assigns {
                self.set(name, value.clone());
            } else {
                self.variables.push((name.clone(), value.clone()));
            }
        }
        Ok(value)
    }

    fn evaluate(&mut self, pipe: &'t Pipeline, dot: &Value) -> Result<Value, TemplateError> {
        let mut last = None;
        for command in &pipe.commands {
            last = Some(self.command(command, last, dot)?);
        }
        Ok(last.unwrap_or(Value::Nil))
    }

    fn command(
        &mut self,
        command: &'t Command,
        piped: Option<Value>,
        dot: &Value,
    ) -> Result<Value, TemplateError> {
        self.step()?;
        let Expr::Function(name) = &command.first else {
            if command.arguments.is_empty() && piped.is_none() {
                return self.operand(&command.first, dot);
            }
            return Err(TemplateError::Exec {
                path: describe(&command.first),
                message: "has arguments but cannot be invoked as function".to_owned(),
            });
        };
        let failed = |message: String| TemplateError::Exec { path: describe_command(command), message };
        if matches!(name.as_str(), "and" | "or") {
            return self
                .and_or(name == "and", command, piped, dot)?
                .ok_or_else(|| failed(format!("wrong number of args for {name}: want at least 1 got 0")));
        }
        let mut arguments = Vec::with_capacity(command.arguments.len() + 1);
        for argument in &command.arguments {
            arguments.push(self.operand(argument, dot)?);
        }
        arguments.extend(piped);
        calls::call(name, &arguments).map_err(|message| failed(format!("error calling {name}: {message}")))
    }

    /// `and` and `or` stop at the argument that decides.
    fn and_or(
        &mut self,
        and: bool,
        command: &'t Command,
        piped: Option<Value>,
        dot: &Value,
    ) -> Result<Option<Value>, TemplateError> {
        let mut last = None;
        for argument in &command.arguments {
            let value = self.operand(argument, dot)?;
            if matches!(value, Value::Unknown(_)) || value.is_true() != and {
                return Ok(Some(value));
            }
            last = Some(value);
        }
        Ok(piped.or(last))
    }

    fn operand(&mut self, expr: &'t Expr, dot: &Value) -> Result<Value, TemplateError> {
        match expr {
            Expr::Dot => Ok(dot.clone()),
            Expr::Nil => Ok(Value::Nil),
            Expr::Literal(value) => Ok(value.clone()),
            Expr::Field(path) => self.walk(dot.clone(), path, expr),
            Expr::Variable(name, path) => {
                let value = self.variables.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v.clone());
                self.walk(value.unwrap_or(Value::Nil), path, expr)
            }
            Expr::Chain(base, path) => {
                let value = self.operand(base, dot)?;
                self.walk(value, path, expr)
            }
            Expr::Pipe(pipe) => self.pipeline(pipe, dot),
            Expr::Function(name) => calls::call(name, &[]).map_err(|message| TemplateError::Exec {
                path: name.clone(),
                message: format!("error calling {name}: {message}"),
            }),
        }
    }

    fn walk(&self, mut value: Value, path: &[String], expr: &Expr) -> Result<Value, TemplateError> {
        for name in path {
            value = self.field(&value, name, expr)?;
        }
        Ok(value)
    }

    fn field(&self, value: &Value, name: &str, expr: &Expr) -> Result<Value, TemplateError> {
        let failed = |message: String| TemplateError::Exec { path: describe(expr), message };
        match value {
            Value::Map(map) => match map.entries.get(name) {
                Some(value) => Ok(value.clone()),
                None => match (self.missing, map.zero) {
                    (_, Zero::Unknown) => Ok(Value::Unknown(format!("<{name}>").into())),
                    (Missing::Error, _) => {
                        Err(TemplateError::MissingKey { key: name.to_owned(), path: describe(expr) })
                    }
                    (Missing::Zero, Zero::String) => Ok("".into()),
                    (Missing::Zero | Missing::Default, _) => Ok(Value::Nil),
                },
            },
            Value::Struct(s) => s
                .fields
                .iter()
                .find(|f| f.name == name)
                .map(|f| f.value.clone())
                .ok_or_else(|| failed(format!("can't evaluate field {name} in type {}", s.type_name))),
            Value::Unknown(label) => Ok(Value::Unknown(
                match label.strip_suffix('>') {
                    Some(inside) => format!("{inside}.{name}>"),
                    None => format!("{label}.{name}"),
                }
                .into(),
            )),
            Value::NilPointer(of) => Err(failed(format!("nil pointer evaluating {of}.{name}"))),
            Value::Nil if self.missing == Missing::Error => {
                Err(failed(format!("nil data; no entry for key {name:?}")))
            }
            Value::Nil => Ok(Value::Nil),
            other => Err(failed(format!("can't evaluate field {name} in type {}", other.type_name()))),
        }
    }

    fn exec_error(&self, pipe: &Pipeline, message: String) -> TemplateError {
        TemplateError::Exec { path: describe_pipeline(pipe), message }
    }
}

fn describe_pipeline(pipe: &Pipeline) -> String {
    pipe.commands.iter().map(describe_command).collect::<Vec<_>>().join(" | ")
}

fn describe_command(command: &Command) -> String {
    let mut text = describe(&command.first);
    for argument in &command.arguments {
        text.push(' ');
        text.push_str(&describe(argument));
    }
    text
}

fn describe(expr: &Expr) -> String {
    match expr {
        Expr::Dot => ".".to_owned(),
        Expr::Nil => "nil".to_owned(),
        Expr::Literal(Value::String(text)) => format!("{text:?}"),
        Expr::Literal(value) => value.print(),
        Expr::Field(path) => format!(".{}", path.join(".")),
        Expr::Variable(name, path) if path.is_empty() => name.clone(),
        Expr::Variable(name, path) => format!("{name}.{}", path.join(".")),
        Expr::Function(name) => name.clone(),
        Expr::Chain(base, path) => format!("{}.{}", describe(base), path.join(".")),
        Expr::Pipe(pipe) => format!("({})", describe_pipeline(pipe)),
    }
}
