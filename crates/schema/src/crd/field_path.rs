//! Paths to fields as rules and selectable fields write them: `.spec.a`, `['a.b']`.
//! Source: `ValidFieldPath` of apiextensions `pkg/apiserver/schema/cel`.

use crate::node::Schema;
use crate::structural::props::{AdditionalProps, Props};

/// What a path leads to.
pub(crate) struct Found<'a> {
    /// The schema of the field; none below `additionalProperties: true`.
    pub(crate) schema: Option<Props<'a>>,
    /// The steps, unescaped.
    pub(crate) steps: Vec<String>,
}

/// Follows a path through a schema. The error is upstream's text.
pub(crate) fn find<'a>(schema: Props<'a>, path: &str, allow_brackets: bool) -> Result<Found<'a>, String> {
    let mut schema = Some(schema);
    let mut steps = Vec::new();
    let mut rest = path;
    while let Some(token) = next_token(&mut rest) {
        let name = match token.as_str() {
            "[" if !allow_brackets => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let quoted = next_token(&mut rest).ok_or("unexpected end of JSON path")?;
                let inside = quoted
                    .strip_prefix('\'')
                    .and_then(|inside| inside.strip_suffix('\''))
                    .ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                unescape(inside)?
            }
            "." => next_token(&mut rest).ok_or("unexpected end of JSON path")?,
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        let current = schema.ok_or("does not refer to a valid field")?;
        schema = if current.has_properties() {
            Some(current.property(&name).ok_or("does not refer to a valid field")?)
        } else {
            match current.additional() {
                Some(AdditionalProps::Schema(schema)) => Some(schema),
                Some(AdditionalProps::Bool(_)) => None,
                None => return Err("does not refer to a valid field".to_owned()),
            }
        };
        steps.push(name);
        if token == "[" {
            match next_token(&mut rest) {
                None => return Err("unexpected end of JSON path".to_owned()),
                Some(close) if close != "]" => return Err(format!("expected ] but got {close}")),
                Some(_) => {}
            }
        }
    }
    Ok(Found { schema, steps })
}

/// The path in the form of errors, relative to the node: `spec.a`, `labels[x]`. `None` if it leads to no field.
pub(crate) fn normalize(schema: &Schema, path: &str) -> Option<String> {
    let mut schema = Some(schema);
    let mut out = String::new();
    let mut rest = path;
    while let Some(token) = next_token(&mut rest) {
        let name = match token.as_str() {
            "[" => {
                let quoted = next_token(&mut rest)?;
                let inside = quoted.strip_prefix('\'')?.strip_suffix('\'')?;
                let name = unescape(inside).ok()?;
                next_token(&mut rest).filter(|close| close == "]")?;
                name
            }
            "." => next_token(&mut rest)?,
            _ => return None,
        };
        let current = schema?;
        if current.properties().is_empty() {
            // A map: the steps are its keys.
            schema = current.additional()?.schema();
            out.push_str(&format!("[{name}]"));
        } else {
            schema = Some(current.property(&name)?);
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&name);
        }
    }
    Some(out)
}

/// What stands between single quotes, with its escapes resolved.
fn unescape(inside: &str) -> Result<String, String> {
    let mut out = String::with_capacity(inside.len());
    let mut rest = inside.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match rest.next() {
            Some('a') => out.push('\u{7}'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('v') => out.push('\u{b}'),
            Some(same @ ('\'' | '\\')) => out.push(same),
            Some(other) => return Err(format!("invalid string literal: invalid escape char \\{other}")),
            None => out.push('\\'),
        }
    }
    Ok(out)
}

/// Takes a delimiter, a quoted string, or the text up to the next delimiter.
fn next_token(rest: &mut &str) -> Option<String> {
    let text = *rest;
    let first = text.chars().next()?;
    let length = if first == '\'' {
        let mut previous = '\'';
        let end = text.char_indices().skip(1).find(|(_, c)| {
            let is_end = *c == '\'' && previous != '\\';
            previous = *c;
            is_end
        });
        end.map_or(text.len(), |(at, _)| at + 1)
    } else if matches!(first, '.' | '[' | ']') {
        1
    } else {
        text.find(['.', '[', ']']).unwrap_or(text.len())
    };
    let (token, after) = text.split_at_checked(length).unwrap_or((text, ""));
    *rest = after;
    Some(token.to_owned())
}
