//! The flags of admission: which plugins run, what they are told, and what webhooks are shown that want to know who calls.

use std::path::Path;

use pilothouse_apiserver::{Builder, Value, plugin_names};
use pilothouse_value::parse;

use crate::flags::{FlagError, Parsed};
use crate::{Error, serving};

const FLAG: &str = "admission-control-config-file";
const WEBHOOKS: [&str; 2] = ["MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"];

/// Tells a builder what the flags of admission say.
///
/// # Errors
/// If a file cannot be read.
pub(crate) fn configure(builder: Builder, flags: &Parsed) -> Result<Builder, Error> {
    // The flag that was there first says all that runs.
    let only = flags.list("admission-control");
    let (enabled, mut disabled) = match only.is_empty() {
        true => (flags.list("enable-admission-plugins"), flags.list("disable-admission-plugins")),
        false => (only.clone(), Vec::new()),
    };
    if let Some(unknown) = only.iter().find(|name| !plugin_names().any(|own| own == **name)) {
        let text = format!("admission-control plugin {unknown:?} is unknown");
        return Err(FlagError::Conflict(text).into());
    }
    for name in plugin_names().filter(|_| !only.is_empty()) {
        if !only.contains(&name) {
            disabled.push(name);
        }
    }
    let mut builder = builder.enable_admission_plugins(enabled).disable_admission_plugins(disabled);
    let Some(path) = flags.last(FLAG).filter(|path| !path.is_empty()) else { return Ok(builder) };
    let mut document = read(path.as_ref())?;
    let folder = Path::new(path).parent().unwrap_or(Path::new("")).to_owned();
    let mut kubeconfig = None;
    for plugin in document.at_mut(&["plugins"]).and_then(Value::as_array_mut).into_iter().flatten() {
        // A plugin's own file is what would otherwise stand here.
        if let Some(own) =
            plugin.take(&["path"]).filter(|own| own.as_str().is_some_and(|own| !own.is_empty()))
        {
            let own = read(&folder.join(own.as_str().unwrap_or_default()))?;
            plugin.set(&["configuration"], own);
        }
        // One kubeconfig is enough for both plugins of webhooks: ours take the first.
        let webhooks = WEBHOOKS.contains(&plugin.str_at(&["name"]).unwrap_or_default());
        let named = plugin.str_at(&["configuration", "kubeConfigFile"]).filter(|path| !path.is_empty());
        if let (true, Some(path), None) = (webhooks, named, &kubeconfig) {
            kubeconfig = Some(read(&folder.join(path))?);
        }
    }
    builder = builder.admission_configuration(document.to_json());
    Ok(match kubeconfig {
        Some(kubeconfig) => builder.webhook_kubeconfig(kubeconfig),
        None => builder,
    })
}

fn read(path: &Path) -> Result<Value, Error> {
    let text = serving::read(FLAG, path)?;
    parse::yaml(&text).map(|parsed| parsed.value).map_err(|error| Error::File {
        flag: FLAG,
        path: path.to_owned(),
        why: error.to_string(),
    })
}
