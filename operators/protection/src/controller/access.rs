//! Whether the operator may do what an action needs, asked before anything runs.

use std::collections::BTreeSet;

use futures::{FutureExt as _, StreamExt as _, stream};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, PostParams};

use crate::functions::args::{self, Call, KubeOps};
use crate::params::Subject;
use crate::plan::{ActionPlan, PhasePlan};

/// A request that an action will make.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Need {
    /// The verb.
    pub(super) verb: &'static str,
    /// The API group.
    pub(super) group: String,
    /// The plural name of the resource.
    pub(super) resource: String,
    /// The subresource; empty for none.
    pub(super) subresource: &'static str,
    /// The namespace; empty for the cluster.
    pub(super) namespace: String,
}

impl std::fmt::Display for Need {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.subresource.is_empty() {
            write!(f, "/{}", self.subresource)?;
        }
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if !self.namespace.is_empty() {
            write!(f, " in namespace {:?}", self.namespace)?;
        }
        Ok(())
    }
}

/// What the phases of an action need, as far as it is known before they run.
pub(super) fn needs(plan: &ActionPlan, default_namespace: &str, subject: &Subject) -> BTreeSet<Need> {
    plan.phases.iter().flat_map(|phase| phase_needs(phase, default_namespace, subject)).collect()
}

fn phase_needs(phase: &PhasePlan, default_namespace: &str, subject: &Subject) -> Vec<Need> {
    let Ok(call) = args::read(&phase.func, &phase.args) else { return Vec::new() };
    if phase.unknown.contains("namespace") {
        return Vec::new();
    }
    let need = |verb, group: &str, resource: &str, subresource, namespace: &str| Need {
        verb,
        group: group.to_owned(),
        resource: resource.to_owned(),
        subresource,
        namespace: namespace.to_owned(),
    };
    match call {
        Call::KubeTask(task) | Call::PrepareData(task) => {
            let namespace = if task.namespace.is_empty() { default_namespace } else { &task.namespace };
            vec![
                need("create", "", "pods", "", namespace),
                need("get", "", "pods", "", namespace),
                need("delete", "", "pods", "", namespace),
                need("get", "", "pods", "log", namespace),
            ]
        }
        Call::Exec(exec) => vec![need("create", "", "pods", "exec", &exec.namespace)],
        Call::Scale(scale) => {
            let (kind, namespace) = match subject {
                _ if !scale.kind.is_empty() => (scale.kind.as_str(), scale.namespace.as_str()),
                Subject::StatefulSet(w) => ("statefulset", w.namespace.as_str()),
                Subject::Deployment(w) => ("deployment", w.namespace.as_str()),
                _ => return Vec::new(),
            };
            let resource = format!("{kind}s");
            vec![
                need("get", "apps", &resource, "", namespace),
                need("patch", "apps", &resource, "", namespace),
            ]
        }
        Call::KubeOps(KubeOps::Delete { reference }) if !phase.unknown.contains("objectReference") => {
            vec![need("delete", &reference.group, &reference.resource, "", &reference.namespace)]
        }
        Call::KubeOps(KubeOps::Patch { reference, .. }) if !phase.unknown.contains("objectReference") => {
            vec![need("patch", &reference.group, &reference.resource, "", &reference.namespace)]
        }
        Call::KubeOps(_) | Call::Wait(_) => Vec::new(),
    }
}

/// Those of the needs that the operator may not do. A server that cannot tell is taken at its silence: the request itself
/// will be refused then.
pub(super) async fn denied(client: &Client, needs: BTreeSet<Need>) -> Vec<Need> {
    let asked: Vec<_> = needs
        .into_iter()
        .map(|need| {
            let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
            async move {
                let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
                let review = SelfSubjectAccessReview {
                    spec: SelfSubjectAccessReviewSpec {
                        resource_attributes: Some(ResourceAttributes {
                            verb: some(need.verb),
                            group: some(&need.group),
                            resource: some(&need.resource),
                            subresource: some(need.subresource),
                            namespace: some(&need.namespace),
                            ..ResourceAttributes::default()
                        }),
                        ..SelfSubjectAccessReviewSpec::default()
                    },
                    ..SelfSubjectAccessReview::default()
                };
                match api.create(&PostParams::default(), &review).await {
                    Ok(answer) => answer.status.is_some_and(|s| !s.allowed).then_some(need),
                    Err(error) => {
                        tracing::debug!(%error, %need, "cannot ask for permission");
                        None
                    }
                }
            }
            .boxed()
        })
        .collect();
    let answers: Vec<Option<Need>> = stream::iter(asked).buffered(4).collect().await;
    answers.into_iter().flatten().collect()
}
