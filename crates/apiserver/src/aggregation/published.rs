//! What the servers of others say of their kinds: their OpenAPI documents. Those of the third version are named in the index and
//! asked for when somebody wants them; that of the second becomes part of this server's own.
//!
//! Source of behaviour: kube-aggregator `pkg/controllers/openapi` and `openapiv3`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use http::header;
use pilothouse_schema::openapi::{self, merged};
use pilothouse_value::{Value, parse};
use tokio::time::Instant;

use super::{Aggregator, Remote, proxy};
use crate::authentication::user::User;
use crate::pages::openapi::{Kept, hash};
use crate::state::State;

/// What somebody publishes, as far as it is known; what was known last if nobody answers any more.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// Where the documents of the third version are, by their paths.
    index: BTreeMap<String, String>,
    /// The document of the third version of who has only the second.
    upgraded: Option<Arc<Kept>>,
    /// The paths of its group and version, of the second version.
    swagger: Option<Swagger>,
    /// When they were asked for last.
    asked: Option<Instant>,
}

/// A document of the second version.
#[derive(Clone, Debug)]
struct Swagger {
    /// What it is known by.
    tag: String,
    document: Arc<Value>,
}

impl Published {
    /// Asks again as soon as there is somebody to ask: it may be somebody else now.
    pub(super) fn forget_when(&mut self) {
        self.asked = None;
    }
}

/// The documents of the second version that others add to this server's.
pub(crate) struct Added {
    documents: Vec<Swagger>,
}

impl Added {
    /// Whether others add nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// What the documents are known by, together.
    pub(crate) fn tag(&self) -> String {
        self.documents.iter().map(|one| one.tag.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// The documents, those first that are wanted before others.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Value> {
        self.documents.iter().map(|one| &*one.document)
    }
}

/// Asks for what somebody publishes, unless that was done lately.
pub(super) async fn refresh(state: &Arc<State>, remote: &Remote) {
    let options = &state.aggregator.options;
    if remote.published.lock().asked.is_some_and(|asked| asked.elapsed() < options.interval * 2) {
        return;
    }
    // What does not come in time is not known, and asked for again.
    let _late = tokio::time::timeout(options.patience, learn(state, remote)).await;
    remote.published.lock().asked = Some(Instant::now());
}

async fn learn(state: &Arc<State>, remote: &Remote) {
    let index = ask(state, remote, "/openapi/v3", &[]).await;
    let swagger = swagger(state, remote).await;
    let mut changes = false;
    let lacks_index = matches!(&index, Some(answer) if answer.status == 404);
    if let Some(paths) = index.filter(|answer| answer.status == 200).and_then(|answer| paths(&answer.body)) {
        let mut published = remote.published.lock();
        changes |= published.index != paths || published.upgraded.is_some();
        (published.index, published.upgraded) = (paths, None);
    }
    if let Some((tag, document)) = swagger {
        let upgraded = lacks_index.then(|| {
            let document = openapi::upgraded(&document);
            Kept::new(hash(document.json().as_bytes()), document.into())
        });
        let own = merged::of_paths(document, &format!("{}/", remote.path()));
        let mut published = remote.published.lock();
        if upgraded.is_some() {
            published.upgraded = upgraded;
        }
        published.swagger = Some(Swagger { tag, document: own.into() });
        changes = true;
    }
    if changes {
        *state.aggregator.published.lock() = Some(SystemTime::now());
    }
}

async fn ask(
    state: &Arc<State>,
    remote: &Remote,
    path: &str,
    headers: &[(header::HeaderName, &str)],
) -> Option<proxy::Answer> {
    let user = User::new("system:aggregator", [""; 0]);
    let user = User { groups: Vec::new(), ..user };
    proxy::ask(state, remote, path, headers, &user).await.ok()
}

/// The Swagger document, unless it is what it was, and what it is known by.
async fn swagger(state: &Arc<State>, remote: &Remote) -> Option<(String, Value)> {
    let known = remote.published.lock().swagger.as_ref().map(|known| known.tag.clone()).unwrap_or_default();
    let mut headers = vec![(header::ACCEPT, "application/json")];
    // One of this server's own making tells others nothing.
    if known.starts_with('"') || known.starts_with("W/") {
        headers.push((header::IF_NONE_MATCH, known.as_str()));
    }
    let answer = ask(state, remote, "/openapi/v2", &headers).await.filter(|answer| answer.status == 200)?;
    let told =
        answer.headers.get(header::ETAG).and_then(|tag| tag.to_str().ok()).filter(|tag| !tag.is_empty());
    let tag = told.map_or_else(|| hash(&answer.body), str::to_owned);
    if tag == known {
        return None;
    }
    let document = parse::json(&answer.body).ok()?.value;
    document.as_object().is_some().then_some((tag, document))
}

/// The paths of an index, with the URLs of their documents.
fn paths(body: &[u8]) -> Option<BTreeMap<String, String>> {
    let index = parse::json(body).ok()?.value;
    let paths = index.as_object()?.get("paths").and_then(Value::as_object);
    let place = |(path, told): (&str, &Value)| {
        (path.to_owned(), told.str_at(&["serverRelativeURL"]).unwrap_or_default().to_owned())
    };
    Some(paths.into_iter().flat_map(|paths| paths.iter()).map(place).collect())
}

impl Aggregator {
    /// When what others publish has changed last; `None` as long as nobody has published anything.
    pub(crate) fn published(&self) -> Option<SystemTime> {
        *self.published.lock()
    }

    /// Where the documents of the third version of others are, by their paths.
    pub(crate) fn index(&self) -> BTreeMap<String, String> {
        let mut index = BTreeMap::new();
        for remote in self.all() {
            index.extend(remote.published.lock().index.clone());
        }
        index
    }

    /// The documents of the third version that this server tells for others, by their paths.
    pub(crate) fn upgraded(&self) -> Vec<(String, Arc<Kept>)> {
        let one = |remote: Arc<Remote>| {
            let document = remote.published.lock().upgraded.clone()?;
            Some((format!("apis/{}/{}", remote.claim.group, remote.claim.version), document))
        };
        self.all().into_iter().filter_map(one).collect()
    }

    /// Who says that it has the document of the third version at a path, if this server has none.
    pub(super) fn documented(&self, path: &str) -> Option<Arc<Remote>> {
        if openapi::builtin_hashes().any(|(own, _)| own == path) {
            return None;
        }
        self.all().into_iter().find(|remote| remote.published.lock().index.contains_key(path))
    }

    /// The documents of the second version of others.
    pub(crate) fn swagger(&self) -> Added {
        let remotes = self.all();
        let priority = |group: &str| {
            let own = remotes.iter().map(|remote| &remote.claim).filter(|claim| claim.group == group);
            own.map(|claim| claim.group_priority).max()
        };
        let mut ordered: Vec<&Arc<Remote>> = remotes.iter().collect();
        // Versions of one group come by name, other than elsewhere.
        ordered.sort_by_cached_key(|remote| (Reverse(priority(&remote.claim.group)), remote.name.clone()));
        Added {
            documents: ordered.iter().filter_map(|remote| remote.published.lock().swagger.clone()).collect(),
        }
    }
}
