//! `--admission-control-config-file`: what webhooks are shown that want to know who calls.

use pilothouse_apiserver::Value;
use pilothouse_value::parse;

use crate::flags::Parsed;
use crate::{Error, serving};

const FLAG: &str = "admission-control-config-file";

/// The kubeconfig that the configuration of the webhook plugins names, if it names one. One is enough for both plugins: ours
/// take the first.
///
/// # Errors
/// If a file cannot be read.
pub(crate) fn webhook_kubeconfig(flags: &Parsed) -> Result<Option<Value>, Error> {
    let Some(path) = flags.last(FLAG).filter(|path| !path.is_empty()) else { return Ok(None) };
    let document = read(path)?;
    for plugin in document.items_at(&["plugins"]) {
        let name = plugin.str_at(&["name"]).unwrap_or_default();
        if !matches!(name, "MutatingAdmissionWebhook" | "ValidatingAdmissionWebhook") {
            continue;
        }
        let elsewhere = match plugin.str_at(&["path"]).filter(|path| !path.is_empty()) {
            Some(path) => Some(read(path)?),
            None => None,
        };
        let configuration = elsewhere.as_ref().or_else(|| plugin.get("configuration"));
        let kubeconfig = configuration.and_then(|configuration| configuration.str_at(&["kubeConfigFile"]));
        if let Some(path) = kubeconfig.filter(|path| !path.is_empty()) {
            return read(path).map(Some);
        }
    }
    Ok(None)
}

fn read(path: &str) -> Result<Value, Error> {
    let text = serving::read(FLAG, path.as_ref())?;
    parse::yaml(&text).map(|parsed| parsed.value).map_err(|error| Error::File {
        flag: FLAG,
        path: path.into(),
        why: error.to_string(),
    })
}
