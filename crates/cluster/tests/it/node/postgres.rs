//! A program that asks much of its surroundings: PostgreSQL refuses to be root, needs shared memory, forks, and wants its
//! directory for itself.

use pilothouse_value::json;

use super::place::{Place, container};

/// Where Debian has it, or the search path.
fn binaries() -> Option<std::path::PathBuf> {
    let mut versions: Vec<_> =
        std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|e| e.path().join("bin")).collect();
    versions.sort();
    versions.into_iter().rfind(|dir| dir.join("initdb").exists())
}

#[tokio::test]
async fn postgres_serves_another_pod_by_the_services_name_and_keeps_its_data() {
    let place = Place::new().await;
    let (Some(bin), Ok(Some(user))) = (binaries(), nix::unistd::User::from_name("postgres")) else { return };
    if !place.mounts() || !nix::unistd::Uid::effective().is_root() {
        return;
    }
    let script = "set -e; export PATH=$BIN:$PATH; \
                  test -s $PGDATA/PG_VERSION || initdb -D $PGDATA -U postgres -A trust --no-sync >/dev/null; \
                  grep -q all.all $PGDATA/pg_hba.conf || echo 'host all all all trust' >> $PGDATA/pg_hba.conf; \
                  exec postgres -D $PGDATA -k /tmp -h $IP -F";
    let mut main = container("main", script);
    main.set(
        &["env"],
        json!([
            {"name": "BIN", "value": bin.display().to_string()},
            {"name": "PGDATA", "value": "/var/lib/postgresql/data/pgdata"},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ]),
    );
    main.set(&["volumeMounts"], json!([{"name": "data", "mountPath": "/var/lib/postgresql/data"}]));
    let ready = json!({"exec": {"command": [bin.join("pg_isready").display().to_string(), "-h", "/tmp"]}, "periodSeconds": 1});
    main.set(&["readinessProbe"], ready);
    let spec = json!({
        "securityContext": {"runAsUser": i64::from(user.uid.as_raw()), "fsGroup": i64::from(user.gid.as_raw())},
        "containers": [main],
        "volumes": [{"name": "data", "emptyDir": {}}],
    });
    let pod = place.pod("db-0", spec).await;
    assert_eq!(pod.str_at(&["spec", "nodeName"]), Some("n"));
    let pod = place.until_ready("db-0").await;
    place.make("services", json!({"metadata": {"name": "db"}, "spec": {"ports": [{"port": 5432}]}})).await;
    let ip = pod.str_at(&["status", "podIP"]).unwrap();
    let endpoints = json!({"metadata": {"name": "db"}, "subsets": [{"addresses": [{"ip": ip}]}]});
    place.make("endpoints", endpoints).await;
    let psql = bin.join("psql").display().to_string();
    let client = format!(
        "until getent hosts db >/dev/null; do sleep 0.05; done; {psql} -h db -U postgres -qAt \
         -c 'create table t as select generate_series(1,1000) n' -c 'select sum(n) from t'"
    );
    place.script("client", &client).await;
    place.until_phase("client", "Succeeded").await;
    assert_eq!(place.logs("client", "").await, "500500\n");
    place.delete("db-0", Some(5)).await;
    place.until_gone("db-0").await;
}
