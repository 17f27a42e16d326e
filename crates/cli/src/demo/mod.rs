//! The demo: an application with state is backed up, destroyed and restored, on an embedded cluster or on the one that
//! KUBECONFIG names. The stories talk to the cluster as any user would, and do not know which one it is.

mod actions;
mod journal;
mod kubernetes;
pub(crate) mod operator;
mod postgres;
mod s3;

use kube::Client;
use pilothouse_runtime::connect;
use serde_json::{Value, json};

use crate::args::{Application, DemoArgs, PostgresArgs};
use crate::cluster::{Embedded, Setup};
use crate::error::{Doing, Error, Result};
use crate::ui::{Ui, seconds};

/// Kanister's PostgreSQL example as published: see `upstream/README.md`.
const POSTGRES_BLUEPRINT: &str = include_str!("upstream/postgres-blueprint.yaml");

/// Plays the demo; what it started is gone when this returns, however it ends.
pub(crate) async fn run(args: DemoArgs) -> Result {
    let mut ui = Ui::new(args.output);
    let mut stage = Stage::default();
    let played = tokio::select! {
        played = play(&args, &mut ui, &mut stage) => played,
        () = crate::interrupted() => Err(Error::Interrupted),
    };
    if let Err(error) = &played {
        ui.failed(&error.to_string());
    }
    // A failure is what one wants to look into, so it is kept as well.
    let keep = args.keep && !matches!(played, Err(Error::Interrupted));
    let kept = if keep { stage.keep(&mut ui).await } else { Ok(()) };
    let cleaned = stage.strike_set(&ui).await;
    let outcome =
        played.as_ref().map(Value::clone).unwrap_or_else(|error| json!({"error": error.to_string()}));
    let total = seconds(ui.total());
    let left = match (&cleaned, args.existing) {
        (Err(error), _) => format!("Something is left behind: {error}"),
        (Ok(()), true) => "Nothing but the CRDs is left behind.".to_owned(),
        (Ok(()), false) => "Nothing is left behind.".to_owned(),
    };
    let text = match &played {
        Ok(_) => format!("\nIt took {total}. {left} `--keep` leaves it running to look around with kubectl."),
        Err(_) => format!("\nThe demo has failed after {total}. {left}"),
    };
    ui.end(outcome, &text);
    match played {
        Ok(_) => kept.and(cleaned),
        Err(Error::Interrupted) => Err(Error::Interrupted),
        // The step has told it.
        Err(_) => Err(Error::Shown),
    }
}

/// What has been started, in the order in which it is taken down.
#[derive(Default)]
struct Stage {
    operator: Option<operator::Operator>,
    bucket: Option<s3::Bucket>,
    embedded: Option<Embedded>,
    /// The cluster is somebody else's: objects are deleted one by one.
    existing: Option<Client>,
    kubeconfig: String,
}

async fn play(args: &DemoArgs, ui: &mut Ui, stage: &mut Stage) -> Result<Value> {
    // What a machine may lack is looked for before anything is started.
    let postgres = match args.application {
        Some(Application::Postgres(PostgresArgs { rows })) if args.existing => {
            let why = format!("it would need {rows} rows in a server that runs on this machine");
            return Err(Error::wrong(
                "demo postgres --existing",
                why,
                "play `demo --existing`, or `demo postgres` on its own",
            ));
        }
        Some(Application::Postgres(PostgresArgs { rows })) => Some((postgres::Server::find()?, rows)),
        Some(Application::Journal) | None => None,
    };
    let config = open(args, ui, stage).await?;
    let admin = connect(config.clone()).doing("connecting to the cluster")?;
    if args.existing {
        stage.existing = Some(admin.clone());
    }
    ui.begin("operator", "installing CRDs, RBAC and a service account");
    let operator = operator::start(&admin, config).await?;
    ui.done(&format!("the protection operator runs as {}", operator.user));
    stage.operator = Some(operator);
    match postgres {
        Some((server, rows)) => {
            let folder = stage.embedded.as_ref().map(|embedded| embedded.folder().join("s3"));
            let folder = folder
                .ok_or_else(|| Error::wrong("finding the demo's folder", "none", "please report it"))?;
            let bucket = stage.bucket.insert(s3::Bucket::serve(&folder).await?);
            postgres::play(&admin, ui, &server, bucket, rows).await
        }
        None => journal::play(&admin, ui, &args.image).await,
    }
}

/// Starts the embedded cluster, or connects to the one that KUBECONFIG names.
async fn open(args: &DemoArgs, ui: &mut Ui, stage: &mut Stage) -> Result<kube::Config> {
    if args.existing {
        ui.begin("cluster", "connecting to the cluster of KUBECONFIG");
        let hint = "set KUBECONFIG, or leave out --existing";
        let config =
            kube::Config::infer().await.map_err(|e| Error::machine("reading KUBECONFIG", e, hint))?;
        ui.done(&format!("using {}", config.cluster_url));
        return Ok(config);
    }
    ui.begin("cluster", "starting the embedded Kubernetes API");
    let setup = Setup { data: None, listen: ([127, 0, 0, 1], 0).into(), controllers: true, node: true };
    let embedded = stage.embedded.insert(Embedded::start(setup).await?);
    let first = embedded.first_answer();
    stage.kubeconfig = embedded.write_kubeconfig(None)?.display().to_string();
    let config = embedded.config().await?;
    ui.done(&format!(
        "Kubernetes API at {} answered after {:.1} ms; one node runs processes",
        config.cluster_url,
        first.as_secs_f64() * 1e3
    ));
    Ok(config)
}

impl Stage {
    /// Waits to be interrupted, and says how to look around meanwhile.
    async fn keep(&self, ui: &mut Ui) -> Result {
        let line = if self.kubeconfig.is_empty() {
            "It stays as it is.".to_owned()
        } else {
            format!("export KUBECONFIG={}", self.kubeconfig)
        };
        ui.line(&format!("\nLook around from another shell; Ctrl-C ends it:\n\n  {line}\n  kubectl -n {} get actionsets,blueprints,profiles\n  kubectl -n demo get pods,pvc\n", actions::OPERATOR_NAMESPACE));
        crate::interrupted().await;
        Ok(())
    }

    /// Takes everything down, within a bound.
    async fn strike_set(self, ui: &Ui) -> Result {
        if let Some(client) = &self.existing {
            operator::remove(client).await?;
            ui.line("  The CRDs of cr.kanister.io stay: deleting them would delete everybody's backups.");
        }
        if let Some(operator) = self.operator {
            operator.stop().await;
        }
        drop(self.bucket);
        match self.embedded {
            Some(embedded) => embedded.stop().await,
            None => Ok(()),
        }
    }
}
