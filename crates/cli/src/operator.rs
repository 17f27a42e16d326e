//! `pilothouse run protection`: the operator alone, against whatever cluster the environment names.

use pilothouse_protection::Options;
use pilothouse_runtime::connect;

use crate::args::ProtectionArgs;
use crate::error::{Doing, Error, Result};

/// Runs until it is asked to end, then lets running steps come to a safe point.
pub(crate) async fn protection(args: ProtectionArgs) -> Result {
    let hint = "set KUBECONFIG, or run it in a pod with a service account";
    let config = kube::Config::infer().await.map_err(|e| Error::machine("finding the cluster", e, hint))?;
    let client = connect(config).doing("connecting to the cluster")?;
    if args.install_crds {
        crate::demo::operator::install_crds(&client).await?;
    }
    let options = Options { probes: args.metrics, ..Options::default() };
    let ended = pilothouse_protection::run(client, options).await;
    ended.map_err(|e| Error::machine("running the protection operator", e, "the log says more: --log info"))
}
