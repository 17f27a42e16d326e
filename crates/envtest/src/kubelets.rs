//! How kubelets are reached: the flags `--kubelet-*`.

use std::path::Path;

use pilothouse_apiserver::{Builder, KubeletClient};

use crate::flags::{FlagError, Parsed};
use crate::{Error, serving};

const AUTHORITY: &str = "kubelet-certificate-authority";
const CERTIFICATE: &str = "kubelet-client-certificate";
const KEY: &str = "kubelet-client-key";

/// Tells a builder how kubelets are reached.
///
/// # Errors
/// If a file cannot be read or makes no sense, or a certificate is given without its key.
pub(crate) fn configure(builder: Builder, flags: &Parsed) -> Result<Builder, Error> {
    let path = |flag| flags.last(flag).filter(|path| !path.is_empty());
    let mut client = KubeletClient::default();
    if let Some(path) = path(AUTHORITY) {
        let pem = serving::read(AUTHORITY, Path::new(path))?;
        client = client.authority(&pem).map_err(|error| file_error(AUTHORITY, path, error))?;
    }
    match (path(CERTIFICATE), path(KEY)) {
        (Some(certificate), Some(key)) => {
            let chain = serving::read(CERTIFICATE, Path::new(certificate))?;
            let key = serving::read(KEY, Path::new(key))?;
            client = client
                .certificate(&chain, &key)
                .map_err(|error| file_error(CERTIFICATE, certificate, error))?;
        }
        (None, None) => {}
        _ => {
            let text = "--kubelet-client-certificate and --kubelet-client-key must be given together";
            return Err(FlagError::Conflict(text.to_owned()).into());
        }
    }
    let types = flags.list("kubelet-preferred-address-types");
    if !types.is_empty() {
        client = client.address_types(types);
    }
    Ok(builder.kubelet_client(client))
}

fn file_error(flag: &'static str, path: &str, why: impl ToString) -> Error {
    Error::File { flag, path: path.into(), why: why.to_string() }
}
