//! What a container finds: variables, volumes, users, addresses.

use pilothouse_value::{Gvr, json};

use super::place::{Place, container};

#[tokio::test]
async fn variables_come_from_everywhere() {
    let place = Place::new().await;
    place.make("configmaps", json!({"metadata": {"name": "cm"}, "data": {"a": "1", "b": "2"}})).await;
    place.make("secrets", json!({"metadata": {"name": "s"}, "data": {"key": "c2VjcmV0"}})).await;
    let mut main = container("main", "echo $PLAIN $POD $IP $KEY $p_a $p_b $CPU; echo \"$0\"");
    main.set(&["args"], json!(["$(PLAIN)-$(NOTHING)"]));
    main.set(&["envFrom"], json!([{"prefix": "p_", "configMapRef": {"name": "cm"}}, {"secretRef": {"name": "no", "optional": true}}]));
    main.set(&["resources"], json!({"limits": {"cpu": "1500m"}}));
    main.set(
        &["env"],
        json!([
            {"name": "FIRST", "value": "one"},
            {"name": "PLAIN", "value": "$(FIRST)+$$(FIRST)"},
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "key"}}},
            {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        ]),
    );
    place.pod("env", json!({"restartPolicy": "Never", "containers": [main]})).await;
    let pod = place.until_phase("env", "Succeeded").await;
    let ip = pod.str_at(&["status", "podIP"]).unwrap();
    let expected = format!("one+$(FIRST) env {ip} secret 1 2 2\none+$(FIRST)-$(NOTHING)\n");
    assert_eq!(place.logs("env", "").await, expected);
}

#[tokio::test]
async fn volumes_are_at_their_mount_paths() {
    let place = Place::new().await;
    if !place.mounts() {
        return;
    }
    place.make("configmaps", json!({"metadata": {"name": "cm"}, "data": {"a.conf": "x=1\n"}})).await;
    place.make("secrets", json!({"metadata": {"name": "s"}, "stringData": {"key": "secret\n"}})).await;
    let script = "cat /etc/app/a.conf /run/secrets/app/renamed /info/name /all/cm/a.conf; \
                  touch /etc/app/b 2>/dev/null || echo read-only; echo data > /var/lib/app/sub/file; hostname";
    let mut main = container("main", script);
    main.set(
        &["volumeMounts"],
        json!([
            {"name": "config", "mountPath": "/etc/app"},
            {"name": "secret", "mountPath": "/run/secrets/app"},
            {"name": "info", "mountPath": "/info"},
            {"name": "all", "mountPath": "/all"},
            {"name": "data", "mountPath": "/var/lib/app/sub", "subPath": "deep/er"},
        ]),
    );
    let data = place.path("data");
    let spec = json!({
        "restartPolicy": "Never",
        "containers": [main],
        "volumes": [
            {"name": "config", "configMap": {"name": "cm"}},
            {"name": "secret", "secret": {"secretName": "s", "items": [{"key": "key", "path": "renamed"}]}},
            {"name": "info", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {"name": "all", "projected": {"sources": [
                {"configMap": {"name": "cm", "items": [{"key": "a.conf", "path": "cm/a.conf"}]}}]}},
            {"name": "data", "hostPath": {"path": data.as_str(), "type": "DirectoryOrCreate"}},
        ],
    });
    place.pod("volumes", spec).await;
    place.until_phase("volumes", "Succeeded").await;
    let log = place.logs("volumes", "").await;
    assert_eq!(log, "x=1\nsecret\nvolumesx=1\nread-only\nvolumes\n");
    assert_eq!(std::fs::read_to_string(format!("{data}/deep/er/file")).unwrap(), "data\n");
}

#[tokio::test]
async fn a_claim_is_waited_for_and_leads_to_its_folder() {
    let place = Place::new().await;
    if !place.mounts() {
        return;
    }
    let claims = Gvr::new("", "v1", "persistentvolumeclaims");
    let size = json!({"requests": {"storage": "1Gi"}});
    let claim =
        json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": size}});
    place.make("persistentvolumeclaims", claim).await;
    let mut main = container("main", "echo kept > /data/file");
    main.set(&["volumeMounts"], json!([{"name": "data", "mountPath": "/data"}]));
    let spec = json!({
        "restartPolicy": "Never",
        "containers": [main],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    });
    place.pod("claim", spec).await;
    let folder = place.path("pv");
    std::fs::create_dir(&folder).unwrap();
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": folder.as_str()}},
    });
    place.client.create(&Gvr::new("", "v1", "persistentvolumes"), None, volume).await.unwrap();
    let merge = |patch| pilothouse_apiserver::Patch::Merge(patch);
    let bind = merge(json!({"spec": {"volumeName": "pv"}}));
    place.client.patch(&claims, Some("default"), "data", bind, None).await.unwrap();
    let bound = merge(json!({"status": {"phase": "Bound"}}));
    place.client.patch(&claims, Some("default"), "data", bound, Some("status")).await.unwrap();
    place.until_phase("claim", "Succeeded").await;
    assert_eq!(std::fs::read_to_string(format!("{folder}/file")).unwrap(), "kept\n");
}

#[tokio::test]
async fn a_service_accounts_token_is_in_the_pod() {
    let place = Place::new().await;
    if !place.mounts() {
        return;
    }
    place.make("serviceaccounts", json!({"metadata": {"name": "robot"}})).await;
    let mut main = container(
        "main",
        "cut -d. -f1 /var/run/secrets/tokens/token | wc -l; cat /var/run/secrets/tokens/ns",
    );
    main.set(&["volumeMounts"], json!([{"name": "t", "mountPath": "/var/run/secrets/tokens"}]));
    let spec = json!({
        "restartPolicy": "Never",
        "serviceAccountName": "robot",
        "automountServiceAccountToken": false,
        "containers": [main],
        "volumes": [{"name": "t", "projected": {"sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
            {"downwardAPI": {"items": [{"path": "ns", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
        ]}}],
    });
    place.pod("token", spec).await;
    place.until_phase("token", "Succeeded").await;
    assert_eq!(place.logs("token", "").await, "1\ndefault");
}

#[tokio::test]
async fn a_user_is_honoured_when_the_node_is_root() {
    let place = Place::new().await;
    if !nix::unistd::Uid::effective().is_root() {
        return;
    }
    let spec = json!({
        "restartPolicy": "Never",
        "securityContext": {"runAsUser": 1234, "runAsGroup": 2345, "fsGroup": 77},
        "containers": [container("main", "id -u; id -g; id -G")],
    });
    place.pod("user", spec).await;
    place.until_phase("user", "Succeeded").await;
    assert_eq!(place.logs("user", "").await, "1234\n2345\n2345 77\n");
}
