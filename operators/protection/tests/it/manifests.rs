//! What is committed for `kubectl apply` is what the code declares.

use pilothouse::prelude::*;
use pilothouse_protection::api::crds;
use pilothouse_protection::controller::Protection;
use pilothouse_testkit::{Manifest, assert_manifests, cluster_role};

#[test]
fn manifests_are_current() {
    let crds = crds().unwrap();
    let mut declaration = Declaration::new();
    Protection::declare(&mut declaration);
    let role = cluster_role("pilothouse-protection", &declaration.rules());
    let mut objects: Vec<&dyn Manifest> = crds.iter().map(|crd| crd as &dyn Manifest).collect();
    objects.push(&role);
    assert_manifests("deploy/protection.yaml", &objects);
}
