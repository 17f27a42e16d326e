//! Runs the operator against the cluster that KUBECONFIG names or that it runs in.

use pilothouse::prelude::*;
use pilothouse_example_cache::CacheController;

#[tokio::main]
async fn main() -> Result {
    Manager::from_env().await?.controller(CacheController).probes(([127, 0, 0, 1], 8080).into()).run().await
}
