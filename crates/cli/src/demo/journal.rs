//! The story of the journal: write records, back them up, lose them, get every one of them back.

use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::actions::{Action, run};
use super::kubernetes::{apply, apply_all, exec, until_ready};
use crate::error::{Error, Result};
use crate::ui::Ui;

const NAMESPACE: &str = "demo";
const POD: (&str, &str, &str) = (NAMESPACE, "journal-0", "journal");
const STATEFUL_SET: (&str, &str, &str) = ("StatefulSet", NAMESPACE, "journal");
/// Records that must be there before the backup starts.
const RECORDS: usize = 25;
const BOUND: Duration = Duration::from_secs(60);

/// Plays it on a cluster where the operator runs.
pub(crate) async fn play(client: &Client, ui: &mut Ui, image: &str) -> Result<Value> {
    deploy(client, ui, image).await?;
    let (artifacts, saved) = back_up(client, ui, image).await?;
    strike(client, ui).await?;
    restore(client, ui, artifacts).await?;
    let written = prove(client, ui, &saved).await?;
    Ok(
        json!({"application": "journal", "records": saved.len(), "restored": saved.len(), "written_since": written}),
    )
}

async fn deploy(client: &Client, ui: &mut Ui, image: &str) -> Result {
    ui.begin("application", "deploying a StatefulSet with a claim");
    apply(client, &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})).await?;
    apply_all(client, include_str!("journal.yaml"), image).await?;
    until_ready(client, NAMESPACE, "journal", BOUND).await?;
    let records = wait_records(client, RECORDS).await?;
    ui.done(&format!(
        "StatefulSet {NAMESPACE}/journal writes records to its claim: {} so far",
        records.len()
    ));
    Ok(())
}

async fn back_up(client: &Client, ui: &mut Ui, image: &str) -> Result<(Value, Vec<String>)> {
    ui.begin("backup", "applying a Blueprint and a Profile");
    apply_all(client, include_str!("blueprint.yaml"), image).await?;
    let action = Action {
        name: "backup",
        blueprint: "journal",
        profile: "demo",
        object: STATEFUL_SET,
        artifacts: None,
    };
    let artifacts = run(client, ui, action, BOUND).await?;
    let text = |key: &str| artifacts["journal"]["keyValue"][key].as_str().unwrap_or_default().to_owned();
    let count: usize = text("records").parse().unwrap_or_default();
    let mut saved = read_records(client).await?;
    if count < RECORDS || saved.len() < count {
        let seen = format!("{count} in the artifact, {} in the claim", saved.len());
        return Err(Error::wrong(
            "counting the records of the backup",
            seen,
            "look at the artifact with kubectl (--keep)",
        ));
    }
    saved.truncate(count);
    ui.done(&format!("{count} records are safe at {}", text("path")));
    Ok((artifacts, saved))
}

async fn strike(client: &Client, ui: &mut Ui) -> Result {
    ui.begin("disaster", "deleting the data of the claim");
    let before = read_records(client).await?.len();
    // The writer goes on, so the file comes back with what it writes next: record 1 is what must be gone.
    exec(client, POD, "rm -rf /data/*", BOUND).await?;
    let left = exec(client, POD, "grep -c '^1 ' /data/journal || true", BOUND).await?;
    if !matches!(left.trim(), "" | "0") {
        return Err(Error::wrong(
            "deleting the data",
            "record 1 is still there",
            "look into /data with kubectl exec",
        ));
    }
    ui.done(&format!("rm -rf /data/*: {before} records are gone"));
    Ok(())
}

async fn restore(client: &Client, ui: &mut Ui, artifacts: Value) -> Result {
    ui.begin("restore", "creating the ActionSet from the artifacts of the backup");
    let action = Action {
        name: "restore",
        blueprint: "journal",
        profile: "demo",
        object: STATEFUL_SET,
        artifacts: Some(artifacts),
    };
    run(client, ui, action, BOUND).await?;
    until_ready(client, NAMESPACE, "journal", BOUND).await?;
    ui.done("the claim is filled again, the application runs");
    Ok(())
}

/// Compares record by record, and checks that the writer went on where the backup ended. Returns the number of
/// records written since.
async fn prove(client: &Client, ui: &mut Ui, saved: &[String]) -> Result<usize> {
    ui.begin("proof", "comparing record by record");
    let now = wait_records(client, saved.len() + 1).await?;
    for (at, record) in now.iter().enumerate() {
        check(at + 1, record)?;
        if saved.get(at).is_some_and(|before| before != record) {
            let seen = format!("record {} was {:?} and is {record:?}", at + 1, saved[at]);
            return Err(Error::wrong(
                "comparing the records",
                seen,
                "the backup is not what was written: please report it",
            ));
        }
    }
    let since = now.len() - saved.len();
    ui.done(&format!(
        "{0} of {0} records are back, each with its checksum; {since} written since",
        saved.len()
    ));
    Ok(since)
}

/// A record is `NUMBER SECONDS CHECKSUM`, without a gap between the numbers.
fn check(number: usize, record: &str) -> Result {
    let good = record.rsplit_once(' ').is_some_and(|(text, sum)| {
        let digest = Sha256::digest(text.as_bytes());
        let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        hex == sum && text.split(' ').next() == Some(number.to_string().as_str())
    });
    if good {
        return Ok(());
    }
    Err(Error::wrong(
        format!("checking record {number}"),
        format!("{record:?}"),
        "its number or its checksum is wrong",
    ))
}

async fn read_records(client: &Client) -> Result<Vec<String>> {
    let text = exec(client, POD, "cat /data/journal 2>/dev/null || true", BOUND).await?;
    // The writer may be in the middle of a line.
    let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
    Ok(whole.lines().map(str::to_owned).collect())
}

/// Waits inside the container until there are as many records, and reads them.
async fn wait_records(client: &Client, count: usize) -> Result<Vec<String>> {
    let script =
        format!("until [ \"$(wc -l < /data/journal)\" -ge {count} ] 2>/dev/null; do sleep 0.02; done");
    exec(client, POD, &script, BOUND).await?;
    read_records(client).await
}
