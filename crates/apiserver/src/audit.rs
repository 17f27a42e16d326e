//! The audit log: who asked for what, and what became of it, one JSON document a line.
//!
//! A policy says of each request how much is written. Without an audit log nothing here runs. Source of behaviour:
//! `pkg/audit` and `pkg/endpoints/filters/audit.go` of k8s.io/apiserver.

mod file;
mod legacy;
mod policy;
mod sinks;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response, header};
use parking_lot::Mutex;
use pilothouse_store::Clock;
use pilothouse_value::{Status, Timestamp, Value, json, object, parse};

use crate::authentication::user::User;
use crate::authorization::rbac::Attributes;
use crate::doors::body::Body;
use crate::request;
use policy::{Level, Stage, Wanted};

pub use file::AuditRotation;
pub use policy::{AuditPolicy, AuditPolicyError};
pub use sinks::{AuditFormat, AuditLines, AuditSink, AuditWebhook};

/// The longest name of a program that is written whole.
const LONGEST_AGENT: usize = 1024;

/// The audit log of a server.
#[derive(Clone)]
pub(crate) struct AuditLog {
    policy: Arc<AuditPolicy>,
    sinks: Vec<Arc<dyn AuditSink>>,
    clock: Clock,
}

impl std::fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuditLog").field("sinks", &self.sinks.len()).finish_non_exhaustive()
    }
}

/// What is noted of a request while it is carried out.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    annotations: Mutex<BTreeMap<String, String>>,
    impersonated: Mutex<Option<Value>>,
    sent: Mutex<Sent>,
}

/// What is known of the object that a request sends.
#[derive(Debug, Default)]
enum Sent {
    /// Nothing reads it: it is written as it came.
    #[default]
    AsItCame,
    /// It is being read.
    Unread,
    /// It was read.
    Read(Box<Value>),
}

impl Notes {
    /// Notes a value; the first one for a key stays.
    pub(crate) fn annotate(&self, key: &str, value: &str) {
        self.annotations.lock().entry(key.to_owned()).or_insert_with(|| value.to_owned());
    }

    /// Notes that the object which was sent is about to be read: what cannot be is not written.
    pub(crate) fn reads(&self) {
        *self.sent.lock() = Sent::Unread;
    }

    /// Notes the object that was sent, with its defaults.
    pub(crate) fn has_read(&self, object: &Value) {
        *self.sent.lock() = Sent::Read(Box::new(object.clone()));
    }

    /// Notes whom the request is carried out as.
    pub(crate) fn impersonates(&self, user: &User) {
        *self.impersonated.lock() = Some(user_info(user));
    }
}

/// The head of a request, as far as the log shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a> {
    pub(crate) uri: &'a http::Uri,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) peer: Option<IpAddr>,
    pub(crate) id: &'a str,
}

/// A request that is written of.
pub(crate) struct Record {
    log: AuditLog,
    wanted: Wanted,
    event: Value,
    /// The body as it came.
    raw: Option<Value>,
    lasts: bool,
    pub(crate) notes: Arc<Notes>,
}

impl AuditLog {
    /// A log by this policy; what it says is given to these.
    pub(crate) fn new(policy: AuditPolicy, sinks: Vec<Arc<dyn AuditSink>>, clock: Clock) -> AuditLog {
        AuditLog { policy: Arc::new(policy), sinks, clock }
    }

    /// Writes that a request has come; `None` if nothing is to be written of it. `lasts` says whether its answer goes on for
    /// a while.
    pub(crate) fn open(&self, asked: &Attributes<'_>, head: Head<'_>, lasts: bool) -> Option<Record> {
        let record = self.record(asked, head, lasts)?;
        record.write(Stage::RequestReceived);
        Some(record)
    }

    /// Writes that nobody knows who sent a request.
    pub(crate) fn refuse(&self, asked: &Attributes<'_>, head: Head<'_>) {
        let Some(mut record) = self.record(asked, head, true) else { return };
        record.event.set(&["user"], Value::object());
        record.answered(401, Some(Status::unauthorized().to_value()));
        record.write(Stage::ResponseStarted);
    }

    fn record(&self, asked: &Attributes<'_>, head: Head<'_>, lasts: bool) -> Option<Record> {
        let wanted = self.policy.of(asked);
        if wanted.level == Level::None {
            return None;
        }
        let mut event = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": wanted.level.name(), "auditID": head.id,
            "stage": "", "verb": asked.verb,
        });
        event.set(&["requestURI"], head.uri.path_and_query().map_or("", |part| part.as_str()));
        event.set(&["user"], user_info(asked.user));
        let addresses = addresses(head.headers, head.peer);
        if !addresses.is_empty() {
            event.set(&["sourceIPs"], addresses);
        }
        let agent = head.headers.get(header::USER_AGENT).and_then(request::header_text);
        if let Some(agent) = agent.filter(|agent| !agent.is_empty()) {
            let agent = match agent.get(..LONGEST_AGENT) {
                Some(start) if start.len() < agent.len() => format!("{start}...TRUNCATED"),
                _ => agent.to_owned(),
            };
            event.set(&["userAgent"], agent);
        }
        if asked.is_resource {
            for (field, text) in [
                ("resource", asked.resource),
                ("namespace", asked.namespace),
                ("name", asked.name),
                ("apiGroup", asked.group),
                ("apiVersion", asked.version),
                ("subresource", asked.subresource),
            ] {
                if !text.is_empty() {
                    event.set(&["objectRef", field], text);
                }
            }
        }
        event.set(&["requestReceivedTimestamp"], micro(self.clock.now()));
        Some(Record { log: self.clone(), wanted, event, raw: None, lasts, notes: Arc::default() })
    }
}

impl Record {
    fn write(&self, stage: Stage) {
        if self.wanted.omitted.contains(&stage) {
            return;
        }
        let mut event = self.event.clone();
        event.set(&["stage"], stage.name());
        event.set(&["stageTimestamp"], micro(self.log.clock.now()));
        if let Some(user) = self.notes.impersonated.lock().clone() {
            event.set(&["impersonatedUser"], user);
        }
        let annotations = self.notes.annotations.lock();
        for (key, value) in annotations.iter() {
            event.set(&["annotations", key], value.as_str());
        }
        drop(annotations);
        for sink in &self.log.sinks {
            sink.take(event.clone());
        }
    }

    /// Keeps what was sent: an object, or a patch.
    pub(crate) fn sent(&mut self, body: &Bytes) {
        if body.is_empty() {
            return;
        }
        let text = || {
            let text = std::str::from_utf8(body).ok()?;
            parse::yaml(text).ok().map(|parsed| parsed.value)
        };
        let json = parse::json(body).ok().map(|parsed| parsed.value);
        let Some(mut sent) = json.or_else(text) else { return };
        let verb = self.event.str_at(&["verb"]).unwrap_or_default();
        if verb.starts_with("delete") {
            // Upstream writes the options as it has them inside.
            sent.set(&["apiVersion"], "meta.k8s.io/__internal");
            sent.set(&["kind"], "DeleteOptions");
        }
        self.raw = Some(sent);
    }

    /// Writes what was sent into the events from here on.
    fn show_sent(&mut self) {
        let raw = self.raw.take();
        let read = std::mem::take(&mut *self.notes.sent.lock());
        let sent = match read {
            Sent::AsItCame => raw,
            Sent::Unread => None,
            // As it is written to clients.
            Sent::Read(object) => {
                parse::json(&crate::answer::document::encode(&object)).ok().map(|parsed| parsed.value)
            }
        };
        let Some(mut sent) = sent else { return };
        // A patch names no object; the path has.
        if self.event.str_at(&["verb"]) != Some("patch") {
            for (field, place) in [
                ("namespace", "namespace"),
                ("name", "name"),
                ("uid", "uid"),
                ("resourceVersion", "resourceVersion"),
            ] {
                let own = sent.str_at(&["metadata", place]).filter(|text| !text.is_empty());
                if let (Some(own), None) = (own, self.event.at(&["objectRef", field])) {
                    self.event.set(&["objectRef", field], own);
                }
            }
        }
        if self.wanted.level >= Level::Request {
            self.without_managers(&mut sent);
            self.event.set(&["requestObject"], sent);
        }
    }

    fn without_managers(&self, object: &mut Value) {
        if !self.wanted.without_managers {
            return;
        }
        object.take(&["metadata", "managedFields"]);
        for item in object.at_mut(&["items"]).and_then(Value::as_array_mut).into_iter().flatten() {
            item.take(&["metadata", "managedFields"]);
        }
    }

    /// Writes what became of the request. Of an answer that goes on, the end is written when it comes.
    pub(crate) fn close(mut self, outcome: Result<Response<Body>, Status>) -> Result<Response<Body>, Status> {
        self.show_sent();
        match &outcome {
            Err(status) => self.answered(status.code, Some(status.to_value())),
            Ok(response) => {
                let code = response.status().as_u16();
                let parsed = response.body().whole().filter(|_| code >= 300 || self.wants_answer(response));
                let parsed = parsed.and_then(|bytes| parse::json(bytes).ok()).map(|parsed| parsed.value);
                self.answered(code, parsed);
            }
        }
        if self.lasts {
            self.write(Stage::ResponseStarted);
        }
        match outcome {
            Ok(response) if self.lasts && response.body().whole().is_none() => {
                let end = End(self);
                Ok(response.map(|body| body.keeping(end)))
            }
            outcome => {
                self.write(Stage::ResponseComplete);
                outcome
            }
        }
    }

    fn wants_answer(&self, response: &Response<Body>) -> bool {
        let kind = response.headers().get(header::CONTENT_TYPE);
        self.wanted.level == Level::RequestResponse
            && kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
    }

    fn answered(&mut self, code: u16, answer: Option<Value>) {
        let mut status = json!({"metadata": {}});
        let is_status = answer
            .as_ref()
            .is_some_and(|answer| (object::kind(answer), object::api_version(answer)) == ("Status", "v1"));
        if let Some(answer) = answer.as_ref().filter(|_| is_status) {
            for field in ["status", "message", "reason", "details"] {
                if let Some(value) = answer.get(field) {
                    status.set(&[field], value.clone());
                }
            }
        }
        status.set(&["code"], i64::from(code));
        self.event.set(&["responseStatus"], status);
        if let Some(mut answer) = answer.filter(|_| self.wanted.level == Level::RequestResponse) {
            self.without_managers(&mut answer);
            self.event.set(&["responseObject"], answer);
        }
    }

    /// Writes that a handler panicked.
    pub(crate) fn panicked(mut self, why: &str) {
        let message = format!("APIServer panic'd: {why}");
        let status = json!({
            "metadata": {}, "status": "Failure", "message": message, "reason": "InternalError", "code": 500,
        });
        self.event.set(&["responseStatus"], status);
        self.write(Stage::Panic);
    }
}

/// The end of an answer that goes on: it is written when this is dropped.
struct End(Record);

impl Drop for End {
    fn drop(&mut self) {
        self.0.write(Stage::ResponseComplete);
    }
}

fn micro(time: Timestamp) -> String {
    time.micro()
}

fn user_info(user: &User) -> Value {
    let mut info = Value::object();
    if !user.name.is_empty() {
        info.set(&["username"], user.name.as_str());
    }
    if !user.uid.is_empty() {
        info.set(&["uid"], user.uid.as_str());
    }
    if !user.groups.is_empty() {
        info.set(&["groups"], user.groups.clone());
    }
    if !user.extra.is_empty() {
        info.set(&["extra"], crate::authentication::tokens::extra(user));
    }
    info
}

/// The addresses that a request came by: what proxies say, and who opened the connection.
fn addresses(headers: &HeaderMap, peer: Option<IpAddr>) -> Vec<String> {
    let text = |name: &str| headers.get(name).and_then(request::header_text).unwrap_or_default();
    let mut addresses: Vec<IpAddr> =
        text("x-forwarded-for").split(',').filter_map(|part| part.trim().parse().ok()).collect();
    if let Ok(real) = text("x-real-ip").trim().parse::<IpAddr>()
        && !addresses.contains(&real)
    {
        addresses.push(real);
    }
    if let Some(peer) = peer.filter(|peer| addresses.last() != Some(peer)) {
        addresses.push(peer);
    }
    addresses.iter().map(ToString::to_string).collect()
}
