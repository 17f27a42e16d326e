//! Priority and fairness: which flow schema a request matches, and which priority level that leads to. The heads of answers
//! name both, and requests of a level that is exempt never wait for their turn.
//!
//! Of the levels' shares and queues nothing is made: [`in_flight`](crate::doors::in_flight) has one queue.

mod objects;
mod rules;

use std::sync::{Arc, LazyLock};

use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use pilothouse_store::{ResourceKey, Snapshot};
use pilothouse_value::{Value, json, object};

use crate::authorization::rbac::Attributes;
use crate::registry::resource;
use crate::start::seeds::Seed;
use crate::state::State;
use rules::Rules;

pub(crate) use objects::CONSUMER;

/// The group of flow schemas and priority levels.
pub(crate) const GROUP: &str = "flowcontrol.apiserver.k8s.io";
const API_VERSION: &str = "flowcontrol.apiserver.k8s.io/v1";
pub(crate) const SCHEMAS: &str = "flowschemas";
pub(crate) const LEVELS: &str = "prioritylevelconfigurations";
/// The schemas, and levels, that always count: where their objects are missing, they are imagined.
const EXEMPT: &str = "exempt";
const CATCH_ALL: &str = "catch-all";

/// Whether a level is there whatever happens to its object.
pub(crate) fn is_mandatory(level: &str) -> bool {
    matches!(level, EXEMPT | CATCH_ALL)
}

/// The condition that says whether the level of a flow schema is there, as of a time.
pub(crate) fn dangling(level: &str, found: bool, now: &str) -> Value {
    let (status, reason, what) = if found {
        ("False", "Found", "and it exists")
    } else {
        ("True", "NotFound", "but there is no such object")
    };
    json!({
        "type": "Dangling", "status": status, "reason": reason, "lastTransitionTime": now,
        "message": format!(
            "This FlowSchema references the PriorityLevelConfiguration object named \"{level}\" {what}"
        ),
    })
}

/// The place of a request: the uids of the flow schema that it matches and of the priority level that this leads to.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    schema: HeaderValue,
    level: HeaderValue,
    exempt: bool,
}

impl Flow {
    /// Whether requests of the level never wait.
    pub(crate) fn is_exempt(&self) -> bool {
        self.exempt
    }

    /// Names schema and level in the head of an answer.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        headers.insert(HeaderName::from_static("x-kubernetes-pf-flowschema-uid"), self.schema.clone());
        headers.insert(HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid"), self.level.clone());
    }
}

/// All flow schemas in the order in which they are tried.
type Schemas = Vec<(Arc<Rules>, Flow)>;

/// The flow schemas of a server, in the form in which requests are matched.
#[derive(Debug)]
pub(crate) struct Fairness {
    enabled: bool,
    keys: [ResourceKey; 2],
    /// The last state of the store that was looked at, and what it holds; none before the first look.
    seen: Mutex<Option<(Snapshot, Arc<Schemas>)>>,
}

/// What every cluster starts with: a seed of each object, and of schemas the rules as well.
struct Start {
    levels: Vec<(String, Seed)>,
    schemas: Vec<(StartingSchema, Seed)>,
}

struct StartingSchema {
    name: String,
    level: String,
    rules: Arc<Rules>,
}

static START: LazyLock<Start> = LazyLock::new(|| start(true));
/// Where requests are not told apart, nobody writes the state of schemas.
static UNFAIR: LazyLock<Start> = LazyLock::new(|| start(false));

fn start(fair: bool) -> Start {
    let mut start = Start { levels: Vec::new(), schemas: Vec::new() };
    for (plural, document) in objects::all(fair) {
        let name = object::name(&document).to_owned();
        if plural == LEVELS {
            start.levels.push((name, Seed::of(GROUP, plural, document)));
        } else {
            let level = document.str_at(&["spec", "priorityLevelConfiguration", "name"]).unwrap_or_default();
            let schema =
                StartingSchema { name, level: level.to_owned(), rules: Arc::new(Rules::read(&document)) };
            start.schemas.push((schema, Seed::of(GROUP, plural, document)));
        }
    }
    start
}

fn uid_value(uid: &str) -> HeaderValue {
    // The text of a uid is a header's value; that of an object that is imagined is empty.
    HeaderValue::from_str(uid).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Whether every cluster starts with the flow schema or priority level of this name.
pub(crate) fn is_of_the_start(plural: &str, name: &str) -> bool {
    match plural {
        SCHEMAS => START.schemas.iter().any(|(schema, _)| schema.name == name),
        LEVELS => START.levels.iter().any(|(level, _)| *level == name),
        _ => false,
    }
}

impl Fairness {
    /// Nothing looked at yet. `enabled` says whether requests are told apart at all.
    pub(crate) fn new(enabled: bool) -> Fairness {
        Fairness {
            enabled,
            keys: [resource::key(GROUP, LEVELS), resource::key(GROUP, SCHEMAS)],
            seen: Mutex::new(None),
        }
    }

    /// Whether requests are told apart.
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Makes the objects that every cluster starts with, as far as they are missing.
    pub(crate) fn begin(&self, state: &State, now: &str) {
        let mut levels: Vec<(&str, HeaderValue)> = Vec::with_capacity(START.levels.len());
        let mut schemas: Schemas = Vec::with_capacity(START.schemas.len());
        let mut new = true;
        if !state.registry.is_whole() && state.registry.get(GROUP, "v1", SCHEMAS).is_none() {
            return;
        }
        let start = if self.enabled { &START } else { &UNFAIR };
        for (name, seed) in &start.levels {
            match seed.write(state, now) {
                Some(uid) => levels.push((name, uid_value(&uid))),
                None => new = false,
            }
        }
        for (schema, seed) in &start.schemas {
            let uid = seed.write(state, now);
            let level = levels.iter().find(|(name, _)| *name == schema.level);
            match (uid, level) {
                (Some(uid), Some((name, level))) => schemas.push((
                    schema.rules.clone(),
                    Flow { schema: uid_value(&uid), level: level.clone(), exempt: *name == EXEMPT },
                )),
                _ => new = false,
            }
        }
        if new {
            // Of a new cluster everything is known without a look.
            *self.seen.lock() = Some((state.store.snapshot(), Arc::new(schemas)));
        }
    }

    /// The place of a request; none if requests are not told apart.
    pub(crate) fn flow(&self, state: &State, asked: &Attributes<'_>) -> Option<Flow> {
        if !self.enabled {
            return None;
        }
        let schemas = self.schemas(state);
        let found = schemas.iter().find(|(rules, _)| rules.are_for(asked)).or_else(|| schemas.last());
        found.map(|(_, flow)| flow.clone())
    }

    fn schemas(&self, state: &State) -> Arc<Schemas> {
        let mut seen = self.seen.lock();
        if let Some((snapshot, schemas)) = seen.as_mut() {
            if state.store.revision() == snapshot.revision() {
                return schemas.clone();
            }
            let now = state.store.snapshot();
            // Most writes are about something else.
            if self.keys.iter().all(|key| now.shares(snapshot, key)) {
                *snapshot = now;
                return schemas.clone();
            }
        }
        let now = state.store.snapshot();
        let schemas = Arc::new(self.read(&now));
        *seen = Some((now, schemas.clone()));
        schemas
    }

    fn read(&self, snapshot: &Snapshot) -> Schemas {
        let [levels, schemas] = &self.keys;
        let level = |name: &str| match snapshot.get(levels, "", name) {
            Some(level) => {
                let exempt = level.value().str_at(&["spec", "type"]) == Some("Exempt");
                Some((uid_value(object::uid(level.value())), exempt))
            }
            None => is_mandatory(name).then(|| (uid_value(""), name == EXEMPT)),
        };
        let mut read: Vec<(i64, String, Arc<Rules>, Flow)> = Vec::new();
        for entry in snapshot.list(schemas, None, None) {
            let schema = entry.object.value();
            let name = schema.str_at(&["spec", "priorityLevelConfiguration", "name"]).unwrap_or_default();
            // One that leads nowhere does not count.
            let Some((level, exempt)) = level(name) else { continue };
            let precedence = schema.i64_at(&["spec", "matchingPrecedence"]).unwrap_or_default();
            let flow = Flow { schema: uid_value(object::uid(schema)), level, exempt };
            read.push((precedence, object::name(schema).to_owned(), Arc::new(Rules::read(schema)), flow));
        }
        read.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let has = |wanted: &str| read.iter().any(|(_, name, ..)| name == wanted);
        let imagined = |wanted: &str| {
            let (schema, _) = START.schemas.iter().find(|(schema, _)| schema.name == wanted)?;
            let (level, exempt) = level(wanted)?;
            Some((schema.rules.clone(), Flow { schema: uid_value(""), level, exempt }))
        };
        let first = if has(EXEMPT) { None } else { imagined(EXEMPT) };
        let last = if has(CATCH_ALL) { None } else { imagined(CATCH_ALL) };
        first
            .into_iter()
            .chain(read.into_iter().map(|(_, _, rules, flow)| (rules, flow)))
            .chain(last)
            .collect()
    }
}
