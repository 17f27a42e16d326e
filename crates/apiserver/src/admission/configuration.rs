//! The configuration of plugins: a document of the kind `AdmissionConfiguration`, as in `--admission-control-config-file`.
//! What a plugin is told stands under `configuration:`; files are the command line's business.

use std::collections::HashMap;

use parking_lot::Mutex;
use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Value, parse};

use super::events::{Limit, LimitType};
use super::image_policy::ImagePolicy;
use super::node_selectors::Selectors;
use super::security::Standards;
use super::tolerations::Restriction;

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

    fn read(one: &Value) -> Limited {
        let text = |field: &str| one.str_at(&[field]).unwrap_or_default().to_owned();
        let parts = one.items_at(&["matchContains"]).iter().filter_map(Value::as_str);
        Limited {
            group: text("apiGroup"),
            resource: text("resource"),
            match_contains: parts.map(str::to_owned).collect(),
            match_scopes: one.items_at(&["matchScopes"]).to_vec(),
        }
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
    /// What one plugin is told makes no sense.
    #[error("couldn't init admission plugin {plugin:?}: {why}")]
    Plugin {
        /// The plugin.
        plugin: &'static str,
        /// What is wrong.
        why: String,
    },
}

/// What the plugins of one server are told.
#[derive(Debug)]
pub(crate) struct Settings {
    /// What may only be used where a quota covers it.
    pub(crate) limited: Vec<Limited>,
    /// What holds for namespaces without labels, and for whom nothing does.
    pub(super) standards: Standards,
    /// Selectors by namespace.
    pub(super) node_selectors: Selectors,
    /// Tolerations for namespaces without annotations.
    pub(super) tolerations: Restriction,
    /// How many events may come.
    pub(super) events: Vec<Limit>,
    /// Who is asked about images.
    pub(super) images: Option<ImagePolicy>,
}

impl Settings {
    /// Reads what the plugins that run are told.
    ///
    /// # Errors
    /// For what is no YAML, for a document of another kind, for one that points to other files, and for what a plugin does
    /// not understand.
    pub(crate) fn read(
        text: Option<&str>,
        runs: &dyn Fn(&str) -> bool,
    ) -> Result<Settings, ConfigurationError> {
        let told = match text {
            Some(text) => by_plugin(text)?,
            None => HashMap::new(),
        };
        let wrong = |plugin: &'static str| move |why: String| ConfigurationError::Plugin { plugin, why };
        let of = |plugin: &str| told.get(plugin).filter(|_| runs(plugin));
        let mut settings = Settings {
            limited: Vec::new(),
            standards: Standards::read(of("PodSecurity")).map_err(wrong("PodSecurity"))?,
            node_selectors: of("PodNodeSelector").map(selectors).unwrap_or_default(),
            tolerations: Restriction::default(),
            events: Vec::new(),
            images: None,
        };
        if let Some(quota) = of("ResourceQuota") {
            settings.limited = quota.items_at(&["limitedResources"]).iter().map(Limited::read).collect();
        }
        if let Some(tolerations) = of("PodTolerationRestriction") {
            settings.tolerations = Restriction {
                default: tolerations.items_at(&["default"]).to_vec(),
                whitelist: tolerations.items_at(&["whitelist"]).to_vec(),
            };
        }
        if runs("EventRateLimit") {
            let wrong = wrong("EventRateLimit");
            // Upstream's plugin fails where it finds no configuration.
            let told = of("EventRateLimit").ok_or_else(|| wrong("no config file specified".to_owned()))?;
            settings.events = limits(told).map_err(wrong)?;
        }
        if runs("ImagePolicyWebhook") {
            let wrong = wrong("ImagePolicyWebhook");
            let told = of("ImagePolicyWebhook").ok_or_else(|| wrong("no config specified".to_owned()))?;
            settings.images = Some(ImagePolicy::read(told).map_err(wrong)?);
        }
        Ok(settings)
    }
}

/// The configurations by the names of the plugins.
fn by_plugin(text: &str) -> Result<HashMap<String, Value>, ConfigurationError> {
    let parsed = parse::yaml(text).map_err(|error| ConfigurationError::Yaml(error.to_string()))?;
    let document = parsed.value;
    let kind = document.str_at(&["kind"]).unwrap_or_default();
    if kind != "AdmissionConfiguration" {
        return Err(ConfigurationError::Kind(kind.to_owned()));
    }
    let mut told = HashMap::new();
    for plugin in document.items_at(&["plugins"]) {
        let name = plugin.str_at(&["name"]).unwrap_or_default();
        if plugin.str_at(&["path"]).is_some_and(|path| !path.is_empty()) {
            return Err(ConfigurationError::Elsewhere(name.to_owned()));
        }
        if let Some(configuration) = plugin.get("configuration").filter(|told| !told.is_null()) {
            told.insert(name.to_owned(), configuration.clone());
        }
    }
    Ok(told)
}

fn selectors(told: &Value) -> Selectors {
    let map = told.get("podNodeSelectorPluginConfig").and_then(Value::as_object);
    let text = |(key, value): (&str, &Value)| (key.to_owned(), value.as_str().unwrap_or_default().to_owned());
    map.into_iter().flat_map(|map| map.iter()).map(text).collect()
}

/// Buckets that are kept if a limit says nothing.
const BUCKETS: usize = 4096;

fn limits(told: &Value) -> Result<Vec<Limit>, String> {
    let path = Path::new("limits");
    let given = told.items_at(&["limits"]);
    if given.is_empty() {
        return Err(Error::invalid(&path, Value::Null, "must not be empty").to_string());
    }
    let (mut limits, mut errors) = (Vec::new(), Vec::new());
    for (index, limit) in given.iter().enumerate() {
        let path = path.index(index);
        let name = limit.str_at(&["type"]).unwrap_or_default();
        let number = |field: &str| limit.i64_at(&[field]).unwrap_or_default();
        let kind = LimitType::NAMES.iter().find(|(known, _)| *known == name);
        if kind.is_none() {
            let known = LimitType::NAMES.map(|(known, _)| known);
            errors.push(Error::unsupported(&path.child("type"), name, known));
        }
        for field in ["burst", "qps"].into_iter().filter(|field| number(field) <= 0) {
            errors.push(Error::invalid(&path.child(field), number(field), "must be positive"));
        }
        let (size, counts) = (number("cacheSize"), name != "Server");
        if counts && size < 0 {
            errors.push(Error::invalid(&path.child("cacheSize"), size, "must not be negative"));
        }
        if let Some((_, kind)) = kind {
            limits.push(Limit {
                kind: *kind,
                // As large as upstream's 32 bits.
                qps: f64::from(i32::try_from(number("qps")).unwrap_or(i32::MAX)),
                burst: f64::from(i32::try_from(number("burst")).unwrap_or(i32::MAX)),
                buckets: usize::try_from(size).ok().filter(|size| *size > 0).unwrap_or(BUCKETS),
                filled: Mutex::default(),
            });
        }
    }
    match errors.as_slice() {
        [] => Ok(limits),
        [one] => Err(one.to_string()),
        many => {
            let texts: Vec<String> = many.iter().map(ToString::to_string).collect();
            Err(format!("[{}]", texts.join(", ")))
        }
    }
}
