//! List: a snapshot of the store, filtered, page by page.

use ::base64::Engine as _;
use ::base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pilothouse_store::{Entry, Snapshot};
use pilothouse_value::base64::{self, Alphabet};
use pilothouse_value::{Status, Value, parse};

use crate::answer::document::Document;
use crate::answer::present;
use crate::request::intake;
use crate::request::options::ListOptions;
use crate::request::select::Selection;
use crate::state::{Context, Target};
use crate::verbs::read;

/// How many objects are looked at, and converted, together.
const AT_ONCE: usize = 512;

/// One page of a list.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) items: Vec<Document>,
    /// The version of the store that the page shows.
    pub(crate) version: u64,
    /// What to ask the next page with.
    pub(crate) next: Option<String>,
    /// How many objects follow; unknown if a selector is in the way.
    pub(crate) remaining: Option<usize>,
}

/// Lists the objects of a target.
///
/// # Errors
/// 400 for selectors and tokens that cannot be read, 410 for versions that have left the history.
pub(crate) async fn list(context: &Context, target: &Target, options: &ListOptions) -> Result<Page, Status> {
    options.check()?;
    let resource = &target.resource;
    let selection =
        Selection::parse(resource, options.label_selector.as_deref(), options.field_selector.as_deref())?;
    let start = Start::of(context, options, target).await?;
    let namespace =
        (resource.namespaced && !target.namespace.is_empty()).then_some(target.namespace.as_str());

    // Any cached state will do for version 0, and a cache gives all of it at once.
    let any = options.resource_version.as_deref() == Some("0") && resource.has_cache();
    let limit = if any { 0 } else { options.limit };
    let after = start.after.as_ref().map(|(namespace, name)| (namespace.as_str(), name.as_str()));
    let snapshot = start.snapshot;
    let version = start.version;
    let mut items = Vec::new();
    if let (Some(name), Some(namespace), true) = (selection.name(), namespace_of(target), after.is_none()) {
        if let Some(stored) = snapshot.get(&resource.key, namespace, name) {
            let document = present::present_shared(&context.state, resource, &stored).await?;
            if selection.matches(&document.value()) {
                items.push(document);
            }
        }
        return Ok(Page { items, version, next: None, remaining: None });
    }
    let first = after.filter(|_| start.includes).and_then(|(namespace, name)| {
        let object = snapshot.get(&resource.key, namespace, name)?;
        Some(Entry { namespace: namespace.into(), name: name.into(), object })
    });
    let mut entries = first.into_iter().chain(snapshot.list(&resource.key, namespace, after));
    let everything = selection.is_everything();
    let at_once = if everything && limit > 0 { limit } else { AT_ONCE };
    let mut last: Option<(String, String)> = None;
    let mut remaining = 0;
    loop {
        let chunk: Vec<_> = entries.by_ref().take(at_once).collect();
        let objects: Vec<_> = chunk.iter().map(|entry| entry.object.clone()).collect();
        let documents = present::present_all(&context.state, resource, &objects).await?;
        for (entry, document) in chunk.iter().zip(documents) {
            if !everything && !selection.matches(&document.value()) {
                continue;
            }
            if last.is_some() {
                // With a selector only whether there is one more is worth knowing.
                remaining = 1;
                break;
            }
            items.push(document);
            if limit > 0 && items.len() == limit {
                last = Some((entry.namespace.to_string(), entry.name.to_string()));
            }
        }
        if chunk.len() < at_once || remaining > 0 || (everything && last.is_some()) {
            break;
        }
    }
    let Some((last_namespace, last_name)) = last else {
        return Ok(Page { items, version, next: None, remaining: None });
    };
    if everything {
        remaining = entries.count();
    }
    if remaining == 0 {
        return Ok(Page { items, version, next: None, remaining: None });
    }
    let key = if !resource.namespaced || !target.namespace.is_empty() {
        last_name
    } else {
        format!("{last_namespace}/{last_name}")
    };
    Ok(Page {
        items,
        version,
        next: Some(token(i64::try_from(version).unwrap_or(-1), &key)),
        remaining: selection.is_everything().then_some(remaining),
    })
}

/// The namespace to look in when the name is known: none for resources of the whole cluster.
fn namespace_of(target: &Target) -> Option<&str> {
    if !target.resource.namespaced {
        return Some("");
    }
    (!target.namespace.is_empty()).then_some(target.namespace.as_str())
}

/// Where a list begins.
struct Start {
    snapshot: Snapshot,
    version: u64,
    after: Option<(String, String)>,
    /// Whether the object `after` is one of them itself, as for a start key without the mark at its end.
    includes: bool,
}

impl Start {
    async fn of(context: &Context, options: &ListOptions, target: &Target) -> Result<Start, Status> {
        let (state, resource) = (&context.state, &target.resource);
        if let Some(text) = &options.continue_token {
            let (version, key, includes) = read_token(text)?;
            if options.resource_version.as_deref().is_some_and(|version| version != "0") {
                return Err(Status::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            let after = match key.split_once('/') {
                Some((namespace, name)) if resource.namespaced && target.namespace.is_empty() => {
                    (namespace.to_owned(), name.to_owned())
                }
                _ => (target.namespace.clone(), key.clone()),
            };
            let snapshot = match u64::try_from(version) {
                Ok(version) if version > state.store.revision() => {
                    read::reach(state, resource, version).await?;
                    state.store.snapshot_at(version).map_err(|_| expired_page(&key))?
                }
                Ok(version) => state.store.snapshot_at(version).map_err(|_| expired_page(&key))?,
                // A negative version continues with what is there now.
                Err(_) => state.store.snapshot(),
            };
            let version = u64::try_from(version).unwrap_or_else(|_| snapshot.revision());
            return Ok(Start { snapshot, version, after: Some(after), includes });
        }
        let wanted = read::parse(options.resource_version.as_deref())?;
        let exact = options.resource_version_match.as_deref() == Some("Exact")
            || (options.resource_version_match.is_none() && options.limit > 0);
        let snapshot = match wanted {
            Some(version) if exact => {
                let snapshot = read::exactly(state, resource, version).await?;
                return Ok(Start { snapshot, version, after: None, includes: false });
            }
            Some(version) => {
                read::reach(state, resource, version).await?;
                state.store.snapshot()
            }
            None => state.store.snapshot(),
        };
        Ok(Start { version: snapshot.revision(), snapshot, after: None, includes: false })
    }
}

/// The token of the next page, as the real server writes it.
fn token(version: i64, key: &str) -> String {
    let start = Value::from(format!("{key}\u{0}")).to_json();
    URL_SAFE_NO_PAD.encode(format!("{{\"v\":\"meta.k8s.io/v1\",\"rv\":{version},\"start\":{start}}}"))
}

/// The version and the key of a token, and whether the list starts with that key and not behind it.
fn read_token(text: &str) -> Result<(i64, String, bool), Status> {
    let invalid =
        |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
    let bytes =
        base64::decode(Alphabet::RawUrl, text.as_bytes()).map_err(|error| invalid(&error.to_string()))?;
    let document = parse::json(&bytes)
        .map_err(|error| invalid(&parse::json_syntax_error(&bytes).unwrap_or_else(|| error.to_string())))?
        .value;
    if let Some(found) = Some(intake::go_name(&document)).filter(|found| !matches!(*found, "object" | "null"))
    {
        let why = format!("json: cannot unmarshal {found} into Go value of type storage.continueToken");
        return Err(invalid(&why));
    }
    for (member, wanted, expected) in
        [("v", "string", "string"), ("rv", "number", "int64"), ("start", "string", "string")]
    {
        let found = document.get(member).map_or("null", intake::go_name);
        if found != wanted && found != "null" {
            let field = format!("continueToken.{member} of type {expected}");
            return Err(invalid(&format!("json: cannot unmarshal {found} into Go struct field {field}")));
        }
    }
    let encoding = document.str_at(&["v"]).unwrap_or_default();
    if encoding != "meta.k8s.io/v1" {
        return Err(invalid(&format!("server does not recognize this encoded version {encoding}")));
    }
    let version = document.get("rv").and_then(Value::as_i64).unwrap_or_default();
    if version == 0 {
        return Err(invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
    }
    let start = document.str_at(&["start"]).unwrap_or_default();
    if start.is_empty() {
        return Err(invalid("encoded start key empty (version meta.k8s.io/v1)"));
    }
    // Nobody climbs out of the resource by a key.
    let mut parts = start.strip_prefix('/').unwrap_or(start).split('/');
    if parts.any(|part| matches!(part, "" | "." | "..")) {
        return Err(invalid(start));
    }
    let key = start.trim_end_matches('\u{0}');
    Ok((version, key.trim_start_matches('/').to_owned(), key == start))
}

/// 410 with a token that goes on with what is there now.
fn expired_page(key: &str) -> Status {
    let mut status = Status::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
         results. Continuing with the provided token results in an inconsistent list - objects that were created, \
         modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    );
    status.continue_token = Some(token(-1, key).into());
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_back() {
        let text = token(42, "default/web");
        assert_eq!(read_token(&text).unwrap(), (42, "default/web".to_owned(), false));
        assert_eq!(read_token("%%%").unwrap_err().code, 400);
    }
}
