//! Owns a request's way through the API server: what is asked, who asks, whether they may, what the document says, what it
//! becomes, and the answer; and with it everything that is served: built-in resources, CustomResourceDefinitions,
//! discovery. It must not know of controllers, of how pods are run, or of any client library: it works on documents, with
//! the schemas of `pilothouse_schema`, the merges of `pilothouse_merge`, and the revisions of `pilothouse_store`.
//!
//! A request passes fixed steps, each a module that says what it may change: `pipeline` leads through them.

mod admission;
mod aggregation;
mod answer;
mod audit;
mod authentication;
pub mod authorization;
mod connect;
mod crd;
mod doors;
mod fairness;
mod heavy;
pub mod kubelet;
mod objects;
mod outward;
mod pages;
mod pipeline;
pub mod quota;
mod registry;
mod request;
mod server;
mod start;
mod state;
pub mod streaming;
mod tuning;
mod verbs;
mod webhook;

pub use admission::{PluginError, plugin_names};
pub use aggregation::Aggregation;
pub use audit::{
    AuditFormat, AuditLines, AuditPolicy, AuditPolicyError, AuditRotation, AuditSink, AuditWebhook,
};
pub use authentication::identity::IdentityError;
pub use authentication::user::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User};
pub use authentication::{authenticator, bootstrap_tokens, certs, impersonation, tokens, user};
pub use authorization::{bootstrap_rbac, rbac};
pub use doors::body::Body;
pub use doors::client::{Client, List, Patch, WatchEvent, WatchStream};
pub use doors::listen::{ListenError, Listening};
pub use doors::network::Network;
pub use doors::service::LocalService;
pub use objects::elsewhere::ObjectsElsewhere;
pub use outward::{KubeletClient, KubeletClientError};
pub use pages::process::SetVerbosity;
pub use pilothouse_cel::Pattern;
pub use pilothouse_schema::builtin::Policy;
pub use pilothouse_store::{Clock, Store};
pub use pilothouse_value::{Gvr, Status, Value};
pub use registry::resource::{Resource, Subresource};
pub use registry::{LeftOut, served};
pub use request::duration::parse as parse_duration;
pub use request::options::{
    DeleteOptions, FieldValidation, ListOptions, Propagation, WatchOptions, WriteOptions,
};
pub use server::{Builder, Server, StartError};
pub use start::presence::Presence;
pub use state::Authorization;
pub use tuning::Tuning;
pub use verbs::watch::WatchEventKind;
pub use webhook::{CredentialsError, ServiceResolver};
