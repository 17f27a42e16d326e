//! The protection operator: backs up and restores stateful applications with Kanister's API (`cr.kanister.io/v1alpha1`).
//!
//! This crate owns the three kinds, the template engine of Blueprints, the functions that phases call, the journal that
//! lets an ActionSet go on after a crash, and the tool `kando` that runs inside of task pods. It talks to Kubernetes
//! through `kube::Client` and must not know what is behind it.
//!
//! From an ActionSet to its end: [`check`] (is the Blueprint well made) → [`plan`] (render everything before anything
//! runs) → the phases in order, each journaled before it is relied on → artifacts → `complete`, or the deferred phase
//! and `failed` with a reason.

pub mod api;
pub mod check;
pub mod controller;
pub mod duration;
pub mod functions;
pub mod kando;
mod mask;
pub mod params;
pub mod plan;
pub mod render;
pub mod report;
pub mod template;

pub use controller::{Options, manager, manager_with, run, start};
