//! Who owns which fields: what the bookkeeping of `metadata.managedFields` has to know of a resource, and when it runs.
//!
//! It runs on what a request sends, before admission and before the strategy of the kind: whoever tries to set a field that
//! is reset afterwards does not come to own it, because it is among the fields that the strategy names.

use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use pilothouse_merge::fieldset::{FieldSet, Filter};
use pilothouse_merge::managed::{self, Kind, Manager, Reset, Versions};
use pilothouse_schema::{Schema, builtin};
use pilothouse_value::{Gvk, Status, Value, object};

use crate::answer::present;
use crate::crd::{Custom, convert};
use crate::registry::resource::Resource;
use crate::request::options::WriteOptions;
use crate::state::{Context, State, Target};
use crate::verbs::Writer;

/// How many objects may have to be converted by a webhook to settle who owns the fields of one.
const MAX_CONVERSIONS: usize = 64;

/// What is said of a conversion whose webhook has yet to be asked. No client is told.
const PENDING: &str = "the conversion webhook has not answered yet";

const MANAGED_FIELDS: [&str; 2] = ["metadata", "managedFields"];

static STATUS: LazyLock<Filter> = LazyLock::new(|| exclude(&[&["status"]]));
static SPEC: LazyLock<Filter> = LazyLock::new(|| exclude(&[&["spec"]]));
static METADATA_AND_SPEC: LazyLock<Filter> = LazyLock::new(|| exclude(&[&["metadata"], &["spec"]]));
static LABELS_AND_SPEC: LazyLock<Filter> = LazyLock::new(|| exclude(&[&["metadata", "labels"], &["spec"]]));
static POD_STATUS: LazyLock<Filter> = LazyLock::new(|| {
    exclude(&[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]])
});
static REQUEST: LazyLock<Filter> = LazyLock::new(|| exclude(&[&["spec"], &["status"]]));
static REQUEST_STATUS: LazyLock<Filter> = LazyLock::new(|| exclude(&[&["spec"], &["status", "conditions"]]));
static REQUEST_APPROVAL: LazyLock<Filter> =
    LazyLock::new(|| exclude(&[&["spec"], &["status", "certificate"]]));

fn exclude(paths: &[&[&str]]) -> Filter {
    Filter::Exclude(FieldSet::of_fields(paths))
}

/// The fields that the strategy of a resource resets (`GetResetFields`), in writes of the object or of a subresource.
fn reset<'a>(resource: &'a Resource, subresource: Option<&str>) -> Option<Reset<'a>> {
    let everywhere = |filter| Some(Reset { filter, only_in: None });
    if let Some(custom) = &resource.custom {
        let version = custom.served().map(|version| version.api_version.as_str());
        return match subresource {
            None if resource.rules.status => Some(Reset { filter: &STATUS, only_in: version }),
            Some("status") => everywhere(&METADATA_AND_SPEC),
            _ => None,
        };
    }
    match (resource.group.as_str(), resource.plural.as_str(), subresource) {
        ("certificates.k8s.io", "certificatesigningrequests", None) => everywhere(&REQUEST),
        ("certificates.k8s.io", "certificatesigningrequests", Some("status")) => everywhere(&REQUEST_STATUS),
        ("certificates.k8s.io", "certificatesigningrequests", Some("approval")) => {
            everywhere(&REQUEST_APPROVAL)
        }
        (_, _, None) if resource.rules.status => everywhere(&STATUS),
        ("", "namespaces", Some("finalize")) => everywhere(&STATUS),
        ("", "pods", Some("status")) => everywhere(&POD_STATUS),
        // Pods have such strategies for `ephemeralcontainers` and `resize` too, which upstream's storage does not ask.
        ("apps", "deployments", Some("status")) => everywhere(&LABELS_AND_SPEC),
        ("" | "apps" | "autoscaling" | "batch" | "policy", _, Some("status"))
        | ("networking.k8s.io", "ingresses", Some("status")) => everywhere(&SPEC),
        (_, _, Some("status")) => everywhere(&METADATA_AND_SPEC),
        _ => None,
    }
}

/// A resource, or one of its subresources, as the bookkeeping sees it.
pub(crate) fn kind<'a>(
    resource: &'a Resource,
    subresource: Option<&str>,
    versions: &'a dyn Versions,
) -> Kind<'a> {
    Kind::of(resource.schema()).resetting(reset(resource, subresource)).with_versions(versions)
}

/// Records who owns what after a write of a request that is not an apply.
pub(crate) async fn track(
    context: &Context,
    target: &Target,
    options: &WriteOptions,
    old: Option<&Value>,
    new: &mut Value,
) {
    let writer = Writer::of(context, target, options);
    let others = Others::of(&context.state, &target.resource);
    let given = others.can_be_asked().then(|| new.at(&MANAGED_FIELDS).cloned());
    loop {
        {
            let kind = kind(&target.resource, target.subresource.as_deref(), &others);
            managed::track(old, new, &kind, &writer.manager());
        }
        // What had to be asked elsewhere was not known; now it is.
        if !others.ask().await {
            return;
        }
        put(new, given.clone().flatten());
    }
}

/// Whether something failed because a webhook has yet to be asked.
pub(crate) fn is_pending(status: &Status) -> bool {
    status.message.ends_with(PENDING)
}

/// Puts entries into an object, or takes them away.
fn put(value: &mut Value, entries: Option<Value>) {
    match entries {
        Some(entries) => value.set(&MANAGED_FIELDS, entries),
        None => {
            value.take(&MANAGED_FIELDS);
        }
    }
}

/// Applies a document to an object, or to none.
///
/// # Errors
/// What the document breaks; 409 for what others own.
pub(crate) fn apply(
    target: &Target,
    others: &Others<'_>,
    live: Option<&Value>,
    applied: &Value,
    manager: &Manager<'_>,
    force: bool,
) -> Result<Value, Status> {
    let kind = kind(&target.resource, target.subresource.as_deref(), others);
    managed::apply(live, applied, &kind, manager, force).map_err(|error| error.status())
}

/// The other versions of a resource, for managers who use them. What a webhook converts is not known at once: it is noted
/// down, and whoever has asked asks again after [`Others::ask`].
pub(crate) struct Others<'a> {
    state: &'a Arc<State>,
    resource: &'a Resource,
    known: Mutex<Vec<Known>>,
    wanted: Mutex<Option<(Value, String)>>,
}

/// An object that was converted.
struct Known {
    from: Value,
    version: String,
    to: Result<Value, String>,
}

impl<'a> Others<'a> {
    /// The other versions of a resource.
    pub(crate) fn of(state: &'a Arc<State>, resource: &'a Resource) -> Self {
        Self { state, resource, known: Mutex::default(), wanted: Mutex::default() }
    }

    /// Whether somebody else converts.
    fn can_be_asked(&self) -> bool {
        self.resource.custom.as_ref().is_some_and(|custom| custom.definition.webhook)
    }

    /// Has converted what was asked for in vain. Whether there was something.
    pub(crate) async fn ask(&self) -> bool {
        let Some((from, version)) = self.wanted.lock().take() else { return false };
        let Some(custom) = &self.resource.custom else { return false };
        if self.known.lock().len() >= MAX_CONVERSIONS {
            return false;
        }
        let Some(to) = custom.definition.version_of(&version) else { return false };
        let converted = convert::convert(self.state, &custom.definition, from.clone(), to).await;
        let to = converted.map_err(|status| status.message);
        self.known.lock().push(Known { from, version, to });
        true
    }

    fn convert_custom(&self, custom: &Custom, object: &Value, version: &str) -> Result<Value, String> {
        for version in [version, object::api_version(object)] {
            if custom.definition.version_of(version).is_none() {
                let way = if version == object::api_version(object) { "from" } else { "to" };
                return Err(format!("request to convert CR {way} an invalid group/version: {version}"));
            }
        }
        if !custom.definition.webhook {
            let mut value = object.clone();
            value.set(&["apiVersion"], version);
            return Ok(value);
        }
        if let Some(known) =
            self.known.lock().iter().find(|known| known.version == version && known.from == *object)
        {
            return known.to.clone();
        }
        *self.wanted.lock() = Some((object.clone(), version.to_owned()));
        Err(PENDING.into())
    }
}

impl Versions for Others<'_> {
    fn convert(&self, object: &Value, api_version: &str) -> Result<Option<Value>, String> {
        if let Some(custom) = &self.resource.custom {
            return self.convert_custom(custom, object, api_version).map(Some);
        }
        Ok(self.schema(api_version).map(|_| present::between(object, api_version)))
    }

    fn schema(&self, api_version: &str) -> Option<&Schema> {
        match &self.resource.custom {
            Some(custom) => Some(custom.definition.schema(custom.definition.version_of(api_version)?)),
            None => {
                let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
                if group != self.resource.group {
                    // The managers of an event's other face are none of this one.
                    return None;
                }
                builtin::schema(&Gvk::new(group, version, self.resource.kind.as_str()))
            }
        }
    }
}
