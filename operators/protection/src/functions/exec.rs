//! Runs commands in containers that run already: `KubeExec` and `KubeExecAll`.
//!
//! What a command did cannot be found out after the connection to it is lost, and running it twice may do harm. So a
//! step that another life of the operator had started fails, with a text that says so.

use std::collections::VecDeque;

use futures::{FutureExt as _, StreamExt as _, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, AttachParams};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::args::Exec;
use super::output::{OutputError, OutputParser};
use super::{Step, StepError};

/// How many commands run at a time.
const PARALLEL: usize = 16;
/// How much of the end of the error stream is shown.
const TAIL: usize = 2048;

pub(super) async fn run(step: &Step<'_>, exec: &Exec) -> Result<Map<String, Value>, StepError> {
    if step.resumed {
        return Err(StepError::Failed(
            "the operator was restarted while the command ran in the container; whether it came to its end is not known\n\
             hint: look at the application, then run the action again"
                .to_owned(),
        ));
    }
    let first = [String::new()];
    let containers = if exec.containers.is_empty() { &first[..] } else { &exec.containers };
    let targets: Vec<_> =
        exec.pods.iter().flat_map(|pod| containers.iter().map(move |container| (pod, container))).collect();
    let api: Api<Pod> = Api::namespaced(step.client.clone(), &exec.namespace);
    let runs: Vec<_> = targets
        .into_iter()
        .map(|(pod, container)| one(&api, pod, container, &exec.command).boxed())
        .collect();
    let results: Vec<Result<Map<String, Value>, String>> =
        stream::iter(runs).buffered(PARALLEL).collect().await;
    let mut output = Map::new();
    let mut errors = Vec::new();
    for result in results {
        match result {
            Ok(part) => output.extend(part),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(output) } else { Err(StepError::Failed(errors.join("\n"))) }
}

async fn one(
    api: &Api<Pod>,
    pod: &str,
    container: &str,
    command: &[String],
) -> Result<Map<String, Value>, String> {
    let place =
        if container.is_empty() { format!("pod {pod}") } else { format!("pod {pod}, container {container}") };
    let mut parameters = AttachParams::default().stdin(false).stdout(true).stderr(true);
    if !container.is_empty() {
        parameters = parameters.container(container);
    }
    let mut process = api.exec(pod, command, &parameters).await.map_err(|e| {
        format!("cannot run the command in {place}: {}", crate::controller::journal::request_text(&e))
    })?;
    let (stdout, stderr) = (process.stdout(), process.stderr());
    let status = process.take_status();
    let (output, errors) = tokio::join!(read_output(stdout), read_tail(stderr));
    let status = match status {
        Some(status) => status.await,
        None => None,
    };
    drop(process);
    let Some(status) = status else {
        return Err(format!(
            "the connection to the command in {place} was lost; whether it came to its end is not known"
        ));
    };
    let (output, tail) = output.map_err(|e| format!("{place}: {e}"))?;
    if status.status.as_deref() == Some("Success") {
        return Ok(output);
    }
    let mut text = format!("the command in {place} failed: {}", status.message.unwrap_or_default());
    for (what, lines) in [("stdout", tail.join("\n")), ("stderr", errors)] {
        if !lines.trim().is_empty() {
            text.push_str(&format!("\n{what}: {}", lines.trim_end()));
        }
    }
    Err(text)
}

type Parsed = Result<(Map<String, Value>, Vec<String>), OutputError>;

async fn read_output(stream: Option<impl AsyncRead + Unpin>) -> Parsed {
    let mut parser = OutputParser::default();
    let mut broken = None;
    if let Some(mut stream) = stream {
        let mut buffer = vec![0; 32 << 10];
        while let Ok(n) = stream.read(&mut buffer).await
            && n > 0
        {
            // The stream is read to its end in any case, so that the command does not block on it.
            if broken.is_none()
                && let Err(error) = parser.feed(buffer.get(..n).unwrap_or_default())
            {
                broken = Some(error);
            }
        }
    }
    match broken {
        Some(error) => Err(error),
        None => parser.finish(),
    }
}

async fn read_tail(stream: Option<impl AsyncRead + Unpin>) -> String {
    let mut tail = VecDeque::with_capacity(TAIL);
    if let Some(mut stream) = stream {
        let mut buffer = vec![0; 8 << 10];
        while let Ok(n) = stream.read(&mut buffer).await
            && n > 0
        {
            tail.extend(buffer.get(..n).unwrap_or_default());
            let extra = tail.len().saturating_sub(TAIL);
            tail.drain(..extra);
        }
    }
    String::from_utf8_lossy(tail.make_contiguous()).into_owned()
}
