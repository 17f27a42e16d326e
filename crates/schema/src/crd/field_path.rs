//! Paths to fields as rules and selectable fields write them: `.spec.a`, `['a.b']`.
//! Source: `ValidFieldPath` of apiextensions `pkg/apiserver/schema/cel`.

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
                inside.replace("\\'", "'").replace("\\\\", "\\")
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
