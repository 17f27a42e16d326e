//! The configuration of plugins: a document of the kind `AdmissionConfiguration`, as in `--admission-control-config-file`.

use pilothouse_value::{Value, parse};

/// A resource that may only be used where a quota covers it.
#[derive(Clone, Debug)]
pub(crate) struct Limited {
    /// The API group of the objects.
    pub(crate) group: String,
    /// Their plural name.
    pub(crate) resource: String,
    /// Parts of names of what they use.
    pub(crate) match_contains: Vec<String>,
    /// Scopes, as in a quota's selector.
    pub(crate) match_scopes: Vec<Value>,
}

impl Limited {
    /// A scope as upstream's messages print it.
    pub(super) fn scope_text(&self, scope: &Value) -> String {
        let text = |field: &str| scope.str_at(&[field]).unwrap_or_default();
        let values: Vec<&str> = scope.items_at(&["values"]).iter().filter_map(Value::as_str).collect();
        format!("{{{} {} [{}]}}", text("scopeName"), text("operator"), values.join(" "))
    }
}

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationError {
    /// It is no YAML.
    #[error("reading the admission configuration: {0}")]
    Yaml(String),
    /// It is something else.
    #[error(
        "reading the admission configuration: the kind is {0:?}; hint: kind: AdmissionConfiguration, apiVersion: \
         apiserver.config.k8s.io/v1"
    )]
    Kind(String),
    /// The configuration of a plugin is in a file of its own.
    #[error(
        "reading the admission configuration of {0}: files that it points to are not read; hint: put the content under \
         `configuration:`"
    )]
    Elsewhere(String),
}

/// Reads what is configured of ResourceQuota. What other plugins are told is not heeded yet.
///
/// # Errors
/// For what is no YAML, for a document of another kind, and for one that points to other files.
pub(crate) fn limited_resources(text: &str) -> Result<Vec<Limited>, ConfigurationError> {
    let parsed = parse::yaml(text).map_err(|error| ConfigurationError::Yaml(error.to_string()))?;
    let document = parsed.value;
    let kind = document.str_at(&["kind"]).unwrap_or_default();
    if kind != "AdmissionConfiguration" {
        return Err(ConfigurationError::Kind(kind.to_owned()));
    }
    let mut limited = Vec::new();
    for plugin in document.items_at(&["plugins"]) {
        let name = plugin.str_at(&["name"]).unwrap_or_default();
        if plugin.str_at(&["path"]).is_some_and(|path| !path.is_empty()) {
            return Err(ConfigurationError::Elsewhere(name.to_owned()));
        }
        if name != "ResourceQuota" {
            continue;
        }
        for one in plugin.items_at(&["configuration", "limitedResources"]) {
            let text = |field: &str| one.str_at(&[field]).unwrap_or_default().to_owned();
            let parts = one.items_at(&["matchContains"]).iter().filter_map(Value::as_str);
            limited.push(Limited {
                group: text("apiGroup"),
                resource: text("resource"),
                match_contains: parts.map(str::to_owned).collect(),
                match_scopes: one.items_at(&["matchScopes"]).to_vec(),
            });
        }
    }
    Ok(limited)
}
