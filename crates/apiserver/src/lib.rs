//! Owns a request's way through the API server: what is asked, who asks, whether they may, what the document says, what it
//! becomes, and the answer; and with it everything that is served: built-in resources, CustomResourceDefinitions,
//! discovery. It must not know of controllers, of how pods are run, or of any client library: it works on documents, with
//! the schemas of `pilothouse_schema`, the merges of `pilothouse_merge`, and the revisions of `pilothouse_store`.
//!
//! A request passes fixed steps, each a module that says what it may change: `pipeline` leads through them.

mod admission;
mod aggregation;
mod allocate;
mod audit;

pub mod authenticator;
mod authn;
pub mod authorization;
mod authz;
mod body;
mod bootstrap;
pub mod bootstrap_rbac;
pub mod bootstrap_tokens;
pub mod certs;
mod client;
mod components;
mod compress;
mod connect;
mod crd;
mod discovery;
mod document;
mod duration;
mod elsewhere;
mod expiry;
mod health;
mod heavy;
mod identity;
pub mod impersonation;
mod in_flight;
mod intake;
mod kinds;
pub mod kubelet;
mod listen;
mod metadata;
mod metrics;
mod names;
mod negotiate;
mod openapi;
mod options;
mod own_status;
mod ownership;
mod paths;
mod pipeline;
mod place;
mod present;
pub mod quota;
mod ranges;
pub mod rbac;
mod references;
mod registry;
mod render;
mod request;
mod resource;
mod resources;
mod seeds;
mod select;
mod server;
mod service;
mod state;
mod strategy;
pub mod streaming;
mod subresources;
pub mod tokens;
mod tuning;
pub mod user;
mod verbs;
mod warning;
mod webhook;
mod yaml;

pub use admission::{PluginError, plugin_names};
pub use audit::{AuditLines, AuditPolicy, AuditPolicyError, AuditSink, AuditWebhook};
pub use body::Body;
pub use client::{Client, List, Patch, WatchEvent, WatchStream};
pub use duration::parse as parse_duration;
pub use elsewhere::ObjectsElsewhere;
pub use identity::IdentityError;
pub use listen::{ListenError, Listening};
pub use options::{DeleteOptions, FieldValidation, ListOptions, Propagation, WatchOptions, WriteOptions};
pub use pilothouse_store::{Clock, Store};
pub use pilothouse_value::{Gvr, Status, Value};
pub use registry::{LeftOut, served};
pub use resource::{Resource, Subresource};
pub use server::{Builder, Server, StartError};
pub use service::LocalService;
pub use state::Authorization;
pub use tuning::Tuning;
pub use user::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User};
pub use verbs::watch::WatchEventKind;
pub use webhook::{CredentialsError, ServiceResolver};
