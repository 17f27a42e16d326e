//! The attributes of the toolkit: tests that own a cluster, and types that are Kubernetes resources. It owns the syntax
//! and the messages for wrong uses; what the expansion calls lives in the runtime and the testkit. It must not know
//! either of them by more than the names that it writes.
//!
//! Use them through the crate `pilothouse`.

mod resource;
mod test;

use proc_macro::TokenStream;

/// Makes an `async fn` with one `Cluster` a test that owns a cluster in its process.
///
/// The test runs on one thread with tokio's clock paused: when nothing is left to do, time jumps to the next timer, so
/// that backoffs and requeues pass at once. The function may return a `Result`. The crate `pilothouse-testkit` must be
/// among the dev-dependencies.
///
/// ```text
/// #[pilothouse::test]
/// async fn keeps_the_replicas(cluster: Cluster) -> Result {
///     let operator = cluster.run(CacheController).await?;
///     cluster.apply(cache("a", 3)).await?;
///     cluster.eventually::<Deployment>("a", |d| d.spec.replicas == Some(3)).await?;
///     operator.is_quiet().await
/// }
/// ```
///
/// Options: `#[pilothouse::test(clock = "real")]` for tests with processes or sockets, whose work a jumping clock would
/// overtake; `#[pilothouse::test(controllers = false)]` for an API server without the controllers of a cluster.
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    test::expand(options.into(), item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Makes a struct the spec of a custom resource: `#[derive(kube::CustomResource)]` with the derives and paths that belong
/// to it, so that an operator needs no dependency but `pilothouse`. It takes the arguments of kube's `#[kube(...)]`.
///
/// ```text
/// /// A cache that keeps the given number of replicas.
/// #[pilothouse::resource(group = "demo.pilothouse.dev", version = "v1", kind = "Cache", namespaced, status = "CacheStatus")]
/// pub struct CacheSpec {
///     /// How many.
///     pub replicas: i32,
/// }
/// ```
#[proc_macro_attribute]
pub fn resource(options: TokenStream, item: TokenStream) -> TokenStream {
    resource::expand(options.into(), item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Makes a struct or an enum a part of a custom resource's schema: a status, or something within a spec. Its fields have
/// camelCase names in JSON.
#[proc_macro_attribute]
pub fn schema(options: TokenStream, item: TokenStream) -> TokenStream {
    resource::expand_part(options.into(), item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}
