//! Names of services inside pods.

use pilothouse_value::{Gvr, json};

use super::place::{Place, container};

#[tokio::test]
async fn a_services_name_leads_to_its_pod_also_when_it_comes_later() {
    let place = Place::new().await;
    if !place.mounts() {
        return;
    }
    let script = "until getent hosts db.default.svc.cluster.local >/dev/null && getent hosts db >/dev/null; do sleep 0.05; done; \
                  getent hosts db.default.svc.cluster.local | cut -d' ' -f1";
    place.script("client", script).await;
    place.until_ready("client").await;
    place.make("services", json!({"metadata": {"name": "db"}, "spec": {"ports": [{"port": 5432}]}})).await;
    let endpoints = json!({
        "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "db"},
        "subsets": [{"addresses": [{"ip": "127.200.1.2"}], "ports": [{"port": 5432}]}],
    });
    let made = place.client.create(&Gvr::new("", "v1", "endpoints"), Some("default"), endpoints).await;
    made.unwrap();
    place.until_phase("client", "Succeeded").await;
    assert_eq!(place.logs("client", "").await, "127.200.1.2\n");
}

#[tokio::test]
async fn a_pod_knows_its_own_name() {
    let place = Place::new().await;
    if !place.mounts() {
        return;
    }
    let spec = json!({
        "restartPolicy": "Never",
        "hostname": "web-0",
        "subdomain": "web",
        "hostAliases": [{"ip": "127.0.0.9", "hostnames": ["friend"]}],
        "containers": [container("main", "hostname; getent hosts web-0.web.default.svc.cluster.local friend | cut -d' ' -f1")],
    });
    place.pod("own", spec).await;
    let pod = place.until_phase("own", "Succeeded").await;
    let ip = pod.str_at(&["status", "podIP"]).unwrap();
    assert_eq!(place.logs("own", "").await, format!("web-0\n{ip}\n127.0.0.9\n"));
}
