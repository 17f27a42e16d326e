//! Tries Blueprints out without a cluster: loads a folder of them, checks them, and renders every action against samples.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::{Value, json};

use crate::api::{ActionSet, ActionSpec, Artifact, Blueprint, BlueprintAction, Location};
use crate::check;
use crate::params::{CredentialParams, Params, Pinned, ProfileParams, Subject, Workload, WorkloadPod};
use crate::plan::{self, Lookup};

/// Why a folder cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// There is no such folder, or it cannot be read.
    #[error(
        "cannot read {path}: {source}\nhint: set PILOTHOUSE_CORPUS to the folder that holds `blueprints/`"
    )]
    Folder {
        /// The folder or the file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A file is no Blueprint and no ActionSet.
    #[error("cannot load {path}: {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
}

/// What came of one action.
#[derive(Clone, Debug)]
pub struct ActionReport {
    /// The file.
    pub file: String,
    /// `Blueprint` or `ActionSet`.
    pub kind: &'static str,
    /// The action.
    pub action: String,
    /// How many phases it has, the deferred one included.
    pub phases: usize,
    /// How many of them were rendered.
    pub rendered: usize,
    /// The functions that this operator cannot run yet. An ActionSet that needs one is refused before anything runs.
    pub not_built: Vec<&'static str>,
    /// What is wrong with the action; empty when it is well made.
    pub problems: Vec<String>,
}

impl fmt::Display for ActionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = match (self.problems.as_slice(), self.not_built.as_slice()) {
            ([], []) => "runs".to_owned(),
            ([], functions) => format!("refused when run: {} not built", functions.join(", ")),
            (problems, _) => format!("refused: {}", problems.join("; ").replace('\n', " ")),
        };
        write!(
            f,
            "{:<58} {:<9} {:<8} {:>6} {:>8}  {outcome}",
            self.file, self.kind, self.action, self.phases, self.rendered
        )
    }
}

/// The heading of a table of [`ActionReport`]s.
pub fn heading() -> String {
    format!("{:<58} {:<9} {:<8} {:>6} {:>8}  {}", "file", "kind", "action", "phases", "rendered", "outcome")
}

/// Loads, checks and renders every Blueprint and ActionSet of a folder. Blueprints come before the ActionSets that use them.
///
/// # Errors
/// When the folder or a file in it cannot be read as such.
pub fn folder(folder: &Path) -> Result<Vec<ActionReport>, ReportError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| ReportError::Folder { path, source }
    };
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable(folder))? {
        files.push(entry.map_err(unreadable(folder))?.path());
    }
    files.retain(|f| f.extension().is_some_and(|e| e == "yaml" || e == "yml"));
    files.sort();
    let (mut blueprints, mut sets) = (Vec::new(), Vec::new());
    for path in files {
        let text = std::fs::read_to_string(&path).map_err(unreadable(&path))?;
        let failed = |why: String| ReportError::File { path: path.clone(), why };
        let document: Value = serde_saphyr::from_str(&text).map_err(|e| failed(e.to_string()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match document.get("kind").and_then(Value::as_str) {
            Some("Blueprint") => {
                let blueprint: Blueprint =
                    serde_json::from_value(document).map_err(|e| failed(e.to_string()))?;
                blueprints.push((name, blueprint));
            }
            Some("ActionSet") => {
                let set: ActionSet = serde_json::from_value(document).map_err(|e| failed(e.to_string()))?;
                sets.push((name, set));
            }
            other => return Err(failed(format!("kind {other:?} is neither Blueprint nor ActionSet"))),
        }
    }
    let mut reports = Vec::new();
    for (file, blueprint) in &blueprints {
        for (key, action) in &blueprint.actions {
            let spec = sample_spec(blueprint, key, action);
            reports.push(one(file, "Blueprint", blueprint, action, &spec));
        }
    }
    for (file, set) in &sets {
        for spec in set.spec.iter().flat_map(|s| &s.actions) {
            let found = blueprints.iter().find(|(_, b)| b.metadata.name.as_ref() == Some(&spec.blueprint));
            let action = found.and_then(|(_, b)| b.actions.get(&spec.name));
            match (found, action) {
                (Some((_, blueprint)), Some(action)) => {
                    // The artifacts of a published ActionSet are placeholders.
                    let mut spec = spec.clone();
                    spec.artifacts = sample_spec(blueprint, &spec.name.clone(), action).artifacts;
                    reports.push(one(file, "ActionSet", blueprint, action, &spec));
                }
                _ => reports.push(ActionReport {
                    file: file.clone(),
                    kind: "ActionSet",
                    action: spec.name.clone(),
                    phases: 0,
                    rendered: 0,
                    not_built: Vec::new(),
                    problems: vec![format!("Blueprint {:?} is not in the folder", spec.blueprint)],
                }),
            }
        }
    }
    Ok(reports)
}

fn one(
    file: &str,
    kind: &'static str,
    blueprint: &Blueprint,
    action: &BlueprintAction,
    spec: &ActionSpec,
) -> ActionReport {
    let mut not_built: Vec<_> = check::not_built(action).into_iter().map(|(_, f)| f.name).collect();
    not_built.sort_unstable();
    not_built.dedup();
    let mut report = ActionReport {
        file: file.to_owned(),
        kind,
        action: spec.name.clone(),
        phases: action.phases.len() + usize::from(action.defer_phase.is_some()),
        rendered: 0,
        not_built,
        problems: Vec::new(),
    };
    match plan::render_action(blueprint, spec, &sample_params(action, spec), &Lookup::default()) {
        Ok(plan) => report.rendered = plan.phases.len(),
        Err(problems) => report.problems = problems.iter().map(|p| p.message.clone()).collect(),
    }
    report
}

/// An ActionSet's action that gives everything that the Blueprint says it needs, or makes itself.
fn sample_spec(blueprint: &Blueprint, key: &str, action: &BlueprintAction) -> ActionSpec {
    let made = blueprint.actions.values().flat_map(|a| &a.output_artifacts);
    let mut artifacts: BTreeMap<String, Artifact> = made
        .map(|(name, artifact)| {
            // Counts are read as numbers.
            let value =
                |key: &str| if key.ends_with("Count") { "2".to_owned() } else { format!("sample-{key}") };
            let key_value = artifact.key_value.keys().map(|k| (k.clone(), value(k))).collect();
            (name.clone(), Artifact { key_value, kopia_snapshot: "sample".to_owned() })
        })
        .collect();
    for name in &action.input_artifact_names {
        artifacts.entry(name.clone()).or_default();
    }
    let references = |names: &[String]| names.iter().map(|n| (n.clone(), Default::default())).collect();
    ActionSpec {
        name: key.to_owned(),
        blueprint: blueprint.metadata.name.clone().unwrap_or_default(),
        artifacts,
        config_maps: references(&action.config_map_names),
        secrets: references(&action.secret_names),
        ..ActionSpec::default()
    }
}

/// Objects such as the published Blueprints are made for.
fn sample_params(action: &BlueprintAction, spec: &ActionSpec) -> Params {
    let text = serde_json::to_string(action).unwrap_or_default();
    let workload = || Workload {
        name: "my-release".to_owned(),
        namespace: "app".to_owned(),
        pods: (0..2)
            .map(|i| WorkloadPod {
                name: format!("my-release-{i}"),
                containers: vec!["main".to_owned()],
                claims: [(format!("data-my-release-{i}"), "/data".to_owned())].into(),
            })
            .collect(),
    };
    let subject = if text.contains(".StatefulSet") {
        Subject::StatefulSet(workload())
    } else if text.contains(".DeploymentConfig") {
        Subject::DeploymentConfig(workload())
    } else if text.contains(".Deployment") {
        Subject::Deployment(workload())
    } else if text.contains(".Namespace.") {
        Subject::Namespace("app".to_owned())
    } else {
        Subject::Other
    };
    let bytes = |keys: &[&str]| {
        let entries = keys.iter().map(|k| ((*k).to_owned(), ByteString(format!("sample-{k}").into_bytes())));
        Some(entries.collect())
    };
    let keys = ["aws_access_key_id", "aws_secret_access_key", "password", "password_superuser", "username"];
    let secret = Secret { data: bytes(&keys), ..Secret::default() };
    let map =
        ConfigMap { data: Some([("bucket".to_owned(), "sample".to_owned())].into()), ..ConfigMap::default() };
    Params {
        pinned: Pinned { time: "2026-01-02T03:04:05.678Z".to_owned(), object: sample_object(), subject },
        artifacts_in: spec.artifacts.clone(),
        config_maps: spec.config_maps.keys().map(|k| (k.clone(), map.clone())).collect(),
        secrets: spec.secrets.keys().map(|k| (k.clone(), secret.clone())).collect(),
        profile: Some(ProfileParams {
            location: Location {
                kind: "s3Compliant".to_owned(),
                bucket: "bucket".to_owned(),
                region: "us-east-1".to_owned(),
                ..Location::default()
            },
            credential: CredentialParams::KeyPair { id: "id".to_owned(), secret: "secret".to_owned() },
            skip_ssl_verify: false,
        }),
        options: spec.options.clone(),
        ..Params::default()
    }
}

fn sample_object() -> Value {
    json!({
        "metadata": {
            "name": "my-release", "namespace": "app",
            "labels": {"app": "my-release", "app.kubernetes.io/instance": "my-release", "app.kubernetes.io/component": "master"},
        },
        "spec": {
            "clusterName": "cluster", "serviceName": "my-release",
            "template": {"spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}},
        },
        "data": {
            "postgres.instanceid": "instance", "adobe-s3-sink.properties": "a=b", "adobe-s3-source.properties": "a=b",
            "adobe-kafkaConfiguration.properties": "a=b", "timeinSeconds": "1", "kafkaUser": "u", "topics": "t",
        },
    })
}
