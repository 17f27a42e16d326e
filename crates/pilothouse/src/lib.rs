//! The face of the toolkit: the one crate that an operator depends on. It owns nothing but names: it gathers the
//! runtime, the macros, and the versions of `kube`, `k8s_openapi`, `schemars` and `serde` that fit together. It must
//! not know what an API server is made of, nor any operator.
//!
//! An operator starts with `use pilothouse::prelude::*;`.

pub use pilothouse_macros::{resource, schema, test};
pub use pilothouse_runtime as runtime;
pub use {k8s_openapi, kube, schemars, serde, serde_json};

pub use pilothouse_runtime::{BoxError, Error, Result};

/// What the code of an operator needs nearly always.
pub mod prelude {
    pub use std::sync::Arc;
    pub use std::time::Duration;

    pub use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
    pub use k8s_openapi::api::batch::v1::Job;
    pub use k8s_openapi::api::core::v1::{ConfigMap, Namespace, PersistentVolumeClaim, Pod, Secret, Service};
    pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    pub use kube::{Client, CustomResource, CustomResourceExt, KubeSchema, Resource, ResourceExt};
    pub use pilothouse_runtime::{
        Action, Available, Cleanup, ConditionStatus, Context, Controller, Declaration, Error, Event, Key,
        Manager, Object, Observed, Plan, Reconciler, Result, Running, Seen,
    };
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
}

/// The operator of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
