//! The story of PostgreSQL: a real server with rows to count, the upstream Blueprint as published, a bucket.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};

use super::actions::{Action, OPERATOR_NAMESPACE, run};
use super::kubernetes::{apply, apply_all, exec, until_ready};
use super::s3::{Bucket, random};
use crate::error::{Error, Result};
use crate::ui::Ui;

const NAMESPACE: &str = "demo";
const POD: (&str, &str, &str) = (NAMESPACE, "postgres-0", "postgres");
const STATEFUL_SET: (&str, &str, &str) = ("StatefulSet", NAMESPACE, "postgres");
const BOUND: Duration = Duration::from_secs(300);

/// The PostgreSQL server of this machine.
pub(crate) struct Server {
    /// The folder that holds `initdb` and `postgres`.
    bin: PathBuf,
    /// The user to run it as: PostgreSQL refuses to run as root.
    user: u32,
}

impl Server {
    /// Finds the newest server that the machine has.
    pub(crate) fn find() -> Result<Self> {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
        let mut folders: Vec<PathBuf> = versions.map(|entry| entry.path()).collect();
        folders.sort_by_key(|path| number(path).unwrap_or_default());
        let debian = folders.into_iter().rev().map(|path| path.join("bin"));
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let found = debian
            .chain(std::env::split_paths(&paths))
            .find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists());
        let hint =
            "on Debian and Ubuntu: apt-get install postgresql. Elsewhere put the folder of `initdb` on PATH.";
        let bin = found.ok_or_else(|| {
            Error::machine("looking for a PostgreSQL server", "none is on this machine", hint)
        })?;
        let me = nix::unistd::geteuid();
        let user = if me.is_root() {
            let known = nix::unistd::User::from_name("postgres").ok().flatten();
            let hint =
                "PostgreSQL does not run as root: run the demo as another user, or add the user `postgres`.";
            known.ok_or_else(|| Error::machine("looking for the user `postgres`", "there is none", hint))?.uid
        } else {
            me
        };
        Ok(Self { bin, user: user.as_raw() })
    }
}

/// Plays it on a cluster whose node runs programs of this machine, and where the operator runs.
pub(crate) async fn play(
    client: &Client,
    ui: &mut Ui,
    server: &Server,
    bucket: &Bucket,
    rows: u32,
) -> Result<Value> {
    deploy(client, ui, server, rows).await?;
    let before = digest(client).await?;
    let artifacts = back_up(client, ui, bucket).await?;
    strike(client, ui).await?;
    restore(client, ui, artifacts.clone()).await?;
    prove(client, ui, &before, rows).await?;
    clean(client, ui, bucket, artifacts).await?;
    Ok(json!({"application": "postgres", "rows": rows, "restored": rows, "digest": before}))
}

async fn deploy(client: &Client, ui: &mut Ui, server: &Server, rows: u32) -> Result {
    ui.begin("application", "starting PostgreSQL as a StatefulSet");
    apply(client, &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})).await?;
    apply(
        client,
        &json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "postgres-postgresql", "namespace": NAMESPACE},
            "stringData": {"postgres-password": random()},
        }),
    )
    .await?;
    let manifests = include_str!("postgres.yaml")
        .replace("$UID", &server.user.to_string())
        .replace("$BIN", &server.bin.display().to_string());
    apply_all(client, &manifests, "postgres").await?;
    until_ready(client, NAMESPACE, "postgres", BOUND).await?;
    ui.progress(&format!("filling a table with {rows} rows"));
    sql(
        client,
        &format!(
            "create table ledger (id bigint primary key, amount bigint not null, note text not null);
             insert into ledger select i, (i::bigint * 7919) % 100003, md5(i::text) from generate_series(1, {rows}) i;"
        ),
    )
    .await?;
    let version = sql(client, "show server_version").await?;
    ui.done(&format!("PostgreSQL {version} holds {rows} rows"));
    Ok(())
}

async fn back_up(client: &Client, ui: &mut Ui, bucket: &Bucket) -> Result<Value> {
    ui.begin("backup", "applying the upstream Blueprint and a Profile for the bucket");
    let (access, secret) = bucket.keys();
    let keys = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "bucket", "namespace": OPERATOR_NAMESPACE},
        "stringData": {"access": access, "secret": secret},
    });
    let profile = json!({
        "apiVersion": "cr.kanister.io/v1alpha1", "kind": "Profile",
        "metadata": {"name": "bucket", "namespace": OPERATOR_NAMESPACE},
        "location": {"type": "s3Compliant", "bucket": bucket.name(), "endpoint": bucket.endpoint(), "prefix": "", "region": "us-east-1"},
        "credential": {
            "type": "keyPair",
            "keyPair": {
                "idField": "access", "secretField": "secret",
                "secret": {"apiVersion": "v1", "kind": "Secret", "name": "bucket", "namespace": OPERATOR_NAMESPACE},
            },
        },
        "skipSSLVerify": true,
    });
    let mut blueprint = super::kubernetes::documents(super::POSTGRES_BLUEPRINT, "")?;
    for document in &mut blueprint {
        // The namespace is where it is applied, not part of the Blueprint.
        document["metadata"]["namespace"] = json!(OPERATOR_NAMESPACE);
    }
    for document in [keys, profile].iter().chain(&blueprint) {
        apply(client, document).await?;
    }
    let action = Action {
        name: "backup",
        blueprint: "postgres-bp",
        profile: "bucket",
        object: STATEFUL_SET,
        artifacts: None,
    };
    let artifacts = run(client, ui, action, BOUND).await?;
    let (objects, bytes) = bucket.objects()?;
    if objects.is_empty() || bytes == 0 {
        return Err(Error::wrong(
            "looking into the bucket",
            "it is empty",
            "the backup said it was complete: please report it",
        ));
    }
    ui.done(&format!("pg_dumpall | gzip | kando: {:.1} MB in the bucket", bytes as f64 / 1e6));
    Ok(artifacts)
}

async fn strike(client: &Client, ui: &mut Ui) -> Result {
    ui.begin("disaster", "dropping the table");
    sql(client, "drop table ledger").await?;
    let left = sql(client, "select count(*) from pg_tables where tablename = 'ledger'").await?;
    if left != "0" {
        return Err(Error::wrong(
            "dropping the table",
            "it is still there",
            "look at it with kubectl exec (--keep)",
        ));
    }
    ui.done("DROP TABLE ledger: every row is gone");
    Ok(())
}

async fn restore(client: &Client, ui: &mut Ui, artifacts: Value) -> Result {
    ui.begin("restore", "creating the ActionSet from the artifacts of the backup");
    let action = Action {
        name: "restore",
        blueprint: "postgres-bp",
        profile: "bucket",
        object: STATEFUL_SET,
        artifacts: Some(artifacts),
    };
    run(client, ui, action, BOUND).await?;
    ui.done("kando | gunzip | psql");
    Ok(())
}

async fn prove(client: &Client, ui: &mut Ui, before: &str, rows: u32) -> Result {
    ui.begin("proof", "counting and comparing every row");
    let after = digest(client).await?;
    if after != before || !after.starts_with(&format!("{rows} ")) {
        let seen = format!("before: {before}; after: {after}");
        return Err(Error::wrong(
            "comparing the rows",
            seen,
            "the backup is not what was stored: please report it",
        ));
    }
    ui.done(&format!("{rows} of {rows} rows are back, count and checksum agree ({after})"));
    Ok(())
}

async fn clean(client: &Client, ui: &mut Ui, bucket: &Bucket, artifacts: Value) -> Result {
    ui.begin("delete", "deleting the backup");
    let object = ("Namespace", "", NAMESPACE);
    let action = Action {
        name: "delete",
        blueprint: "postgres-bp",
        profile: "bucket",
        object,
        artifacts: Some(artifacts),
    };
    run(client, ui, action, BOUND).await?;
    let (objects, _) = bucket.objects()?;
    if !objects.is_empty() {
        return Err(Error::wrong(
            "looking into the bucket",
            objects.join(", "),
            "the delete action left it: please report it",
        ));
    }
    ui.done("the bucket is empty");
    Ok(())
}

/// The number of rows, the sum of the amounts, and a checksum over all notes in order.
async fn digest(client: &Client) -> Result<String> {
    sql(client, "select count(*) || ' ' || coalesce(sum(amount), 0) || ' ' || md5(string_agg(note, '' order by id)) from ledger").await
}

async fn sql(client: &Client, statement: &str) -> Result<String> {
    // Statements are ours and hold no quote that the shell would see.
    let script = format!("psql -qAt -v ON_ERROR_STOP=1 <<'SQL'\n{statement};\nSQL");
    Ok(exec(client, POD, &script, BOUND).await?.trim().to_owned())
}
