//! A resource for the tests of the engine, and controllers that do what a test says.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pilothouse::prelude::*;
use pilothouse::serde_json::json;
use pilothouse_testkit::Cluster;

/// A thing that keeps a ConfigMap with its text.
#[pilothouse::resource(
    group = "test.pilothouse.dev",
    version = "v1",
    kind = "Widget",
    namespaced,
    status = "WidgetStatus"
)]
pub(crate) struct WidgetSpec {
    /// The text to keep.
    pub(crate) text: String,
}

/// What is known of a widget.
#[pilothouse::schema]
#[derive(Default)]
pub(crate) struct WidgetStatus {
    /// How long the text is.
    #[serde(default)]
    pub(crate) length: usize,
    #[serde(flatten)]
    pub(crate) observed: Observed,
}

pub(crate) fn widget(name: &str, text: &str) -> Widget {
    Widget::new(name, WidgetSpec { text: text.to_owned() })
}

pub(crate) fn config_map(name: &str, text: &str) -> ConfigMap {
    pilothouse::serde_json::from_value(json!({"metadata": {"name": name}, "data": {"text": text}})).unwrap()
}

/// A controller of widgets whose declaration and logic are functions.
pub(crate) struct Widgets<F> {
    pub(crate) analyze: F,
    pub(crate) calls: Arc<AtomicUsize>,
}

impl<F> Widgets<F>
where
    F: Fn(&Widget, &Seen<'_>) -> Result<Plan> + Send + Sync + 'static,
{
    pub(crate) fn new(analyze: F) -> Self {
        Self { analyze, calls: Arc::default() }
    }
}

impl<F> Controller for Widgets<F>
where
    F: Fn(&Widget, &Seen<'_>) -> Result<Plan> + Send + Sync + 'static,
{
    type Resource = Widget;

    fn declare(d: &mut Declaration<Widget>) {
        d.owns::<ConfigMap>().owns::<PersistentVolumeClaim>().reads::<Secret>().removal_budget(2);
    }

    async fn analyze(&self, widget: &Widget, seen: &Seen<'_>) -> Result<Plan> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        (self.analyze)(widget, seen)
    }
}

/// The plan that most tests use: one ConfigMap, a status.
pub(crate) fn keep(widget: &Widget, _: &Seen<'_>) -> Result<Plan> {
    Ok(Plan::new()
        .ensure(config_map(&widget.name_any(), &widget.spec.text))
        .status(json!({"length": widget.spec.text.len()}))
        .ready_when(true))
}

/// The reason of the condition `Ready`, once it has one.
pub(crate) async fn ready_reason(
    cluster: &Cluster,
    name: &str,
    reason: &str,
) -> pilothouse_testkit::Result<Widget> {
    cluster
        .eventually::<Widget>(name, |widget| {
            let ready = widget.status.as_ref().and_then(|status| status.observed.condition("Ready"));
            ready.is_some_and(|ready| ready.reason == reason)
        })
        .await
}
