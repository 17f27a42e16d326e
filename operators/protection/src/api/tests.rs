//! The kinds on the wire.

use super::*;

#[test]
fn what_kanctl_writes_is_read() {
    let set: ActionSet = serde_json::from_value(serde_json::json!({
        "apiVersion": API_VERSION, "kind": "ActionSet", "metadata": {"generateName": "b-", "creationTimestamp": null},
        "spec": {"actions": [{
            "name": "backup", "blueprint": "bp",
            "object": {"apiVersion": "v1", "group": "apps/", "resource": "statefulsets", "kind": "", "name": "a", "namespace": "b"},
            "podLabels": null, "podAnnotations": null, "artifacts": null, "options": null, "configMaps": null,
            "secrets": null, "profile": null, "podOverride": null, "preferredVersion": "",
        }]},
    }))
    .unwrap();
    let action = &set.spec.unwrap().actions[0];
    assert_eq!(action.object.group, "apps/");
    assert!(action.options.is_empty() && action.profile.is_none());
}

#[test]
fn states_are_the_words_of_kanister() {
    let status = ActionSetStatus {
        state: State::Running,
        actions: vec![ActionStatus {
            defer_phase: Phase { state: State::None, ..Phase::default() },
            ..ActionStatus::default()
        }],
        ..ActionSetStatus::default()
    };
    let json = serde_json::to_value(&status).unwrap();
    assert_eq!(json["state"], "running");
    assert_eq!(json["actions"][0]["deferPhase"]["state"], "");
    assert_eq!(json["error"]["message"], "");
    assert_eq!(serde_json::from_value::<ActionSetStatus>(json).unwrap(), status);
}

#[test]
fn a_profile_keeps_the_name_of_its_switch() {
    let profile = Profile { skip_ssl_verify: true, ..Profile::default() };
    assert_eq!(serde_json::to_value(&profile).unwrap()["skipSSLVerify"], true);
}

#[test]
fn the_definitions_are_well_formed() {
    let crds = crds().unwrap();
    let names: Vec<_> = crds.iter().filter_map(|c| c.metadata.name.clone()).collect();
    assert_eq!(names, ["actionsets.cr.kanister.io", "blueprints.cr.kanister.io", "profiles.cr.kanister.io"]);
    assert!(crds.iter().all(|c| c.spec.versions.iter().all(|v| v.subresources.is_none())));
}
