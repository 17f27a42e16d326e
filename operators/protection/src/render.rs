//! Renders the arguments, the objects and the artifacts of a Blueprint.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::api::{Artifact, ObjectReference};
use crate::template::{self, Missing, Template, TemplateError};

/// A template that was not rendered, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("argument {argument}: {source}")]
pub struct RenderError {
    /// The argument, with the way inside of it: `command[6]`, `objects.pgSecret.name`.
    pub argument: String,
    /// Why.
    #[source]
    pub source: TemplateError,
}

/// Arguments after rendering.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    /// The arguments.
    pub args: Map<String, Value>,
    /// Those into which something went that is not known yet.
    pub unknown: BTreeSet<String>,
}

/// Renders every text of the arguments, the keys of maps included; those in `raw` stay as they are.
///
/// # Errors
/// The first template that cannot be rendered.
pub fn args(
    args: &Map<String, Value>,
    raw: &[&str],
    data: &template::Value,
) -> Result<Rendered, RenderError> {
    let mut rendered = Rendered::default();
    for (name, value) in args {
        let mut known = true;
        let value = if raw.contains(&name.as_str()) {
            references(value, name, data, &mut known)?
        } else {
            walk(value, name, data, &mut known)?
        };
        rendered.args.insert(name.clone(), value);
        if !known {
            rendered.unknown.insert(name.clone());
        }
    }
    Ok(rendered)
}

/// Renders what names an object in an argument that is kept as it is otherwise: the conditions of `Wait`.
fn references(
    value: &Value,
    path: &str,
    data: &template::Value,
    known: &mut bool,
) -> Result<Value, RenderError> {
    let mut out = value.clone();
    let lists = out.as_object_mut().into_iter().flat_map(Map::iter_mut);
    for (list, items) in lists {
        for (i, item) in items.as_array_mut().into_iter().flatten().enumerate() {
            if let Some(reference) = item.get_mut("objectReference") {
                let path = format!("{path}.{list}[{i}].objectReference");
                *reference = walk(reference, &path, data, known)?;
            }
        }
    }
    Ok(out)
}

fn walk(value: &Value, path: &str, data: &template::Value, known: &mut bool) -> Result<Value, RenderError> {
    match value {
        Value::String(source) => text(source, path, data, known).map(Value::String),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(i, item)| walk(item, &format!("{path}[{i}]"), data, known))
            .collect::<Result<_, _>>()
            .map(Value::Array),
        Value::Object(map) => {
            let mut out = Map::new();
            for (key, item) in map {
                let path = format!("{path}.{key}");
                out.insert(text(key, &path, data, known)?, walk(item, &path, data, known)?);
            }
            Ok(Value::Object(out))
        }
        scalar => Ok(scalar.clone()),
    }
}

/// Renders one text; `known` becomes false when something unknown went into it.
///
/// # Errors
/// When the template cannot be rendered.
pub fn text(
    source: &str,
    path: &str,
    data: &template::Value,
    known: &mut bool,
) -> Result<String, RenderError> {
    if !source.contains("{{") {
        return Ok(source.to_owned());
    }
    let (text, whole) = Template::parse(source)
        .and_then(|t| t.render_known(data, Missing::Error))
        .map_err(|source| RenderError { argument: path.to_owned(), source })?;
    *known &= whole;
    Ok(text)
}

/// Renders a reference to an object.
///
/// # Errors
/// When one of its templates cannot be rendered.
pub fn reference(
    reference: &ObjectReference,
    path: &str,
    data: &template::Value,
    known: &mut bool,
) -> Result<ObjectReference, RenderError> {
    let mut one = |field: &str, source: &str| text(source, &format!("{path}.{field}"), data, known);
    Ok(ObjectReference {
        api_version: one("apiVersion", &reference.api_version)?,
        group: one("group", &reference.group)?,
        resource: one("resource", &reference.resource)?,
        kind: one("kind", &reference.kind)?,
        name: one("name", &reference.name)?,
        namespace: one("namespace", &reference.namespace)?,
    })
}

/// Renders the artifacts that an action makes.
///
/// # Errors
/// When one of their templates cannot be rendered.
pub fn artifacts(
    artifacts: &BTreeMap<String, Artifact>,
    data: &template::Value,
) -> Result<BTreeMap<String, Artifact>, RenderError> {
    let mut known = true;
    artifacts
        .iter()
        .map(|(name, artifact)| {
            let path = format!("outputArtifacts.{name}");
            let key_value = artifact
                .key_value
                .iter()
                .map(|(k, v)| Ok((k.clone(), text(v, &format!("{path}.keyValue.{k}"), data, &mut known)?)))
                .collect::<Result<_, RenderError>>()?;
            let kopia_snapshot =
                text(&artifact.kopia_snapshot, &format!("{path}.kopiaSnapshot"), data, &mut known)?;
            Ok((name.clone(), Artifact { key_value, kopia_snapshot }))
        })
        .collect()
}

/// Every text of the arguments with its place, for checks that do not render.
pub fn texts<'a>(value: &'a Value, path: String, visit: &mut impl FnMut(&str, &'a str)) {
    match value {
        Value::String(source) => visit(&path, source),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                texts(item, format!("{path}[{i}]"), visit);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                let path = format!("{path}.{key}");
                visit(&path, key);
                texts(item, path, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
