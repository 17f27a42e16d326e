//! Waits for conditions on objects: `Wait` and `WaitV2`.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};

use super::args::{Condition, Wait};
use super::{Step, StepError, jsonpath};
use crate::controller::journal::request_text;
use crate::controller::observe::{dynamic, resource_of};
use crate::template::{self, Missing, Template};

/// How often the conditions are looked at, at first and in the long run.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

pub(super) async fn run(step: &Step<'_>, wait: &Wait) -> Result<Map<String, Value>, StepError> {
    for condition in wait.any_of.iter().chain(&wait.all_of) {
        // A text that is no template can never hold; Kanister waits for it until the timeout.
        Template::parse(&condition.condition).map_err(|e| {
            StepError::Failed(format!("argument conditions: {e} in {:?}", condition.condition))
        })?;
    }
    // The timeout counts from the first start, also over a restart.
    let spent = Timestamp::now().duration_since(step.started).unsigned_abs();
    let deadline = Instant::now() + wait.timeout.saturating_sub(spent);
    let mut pause = PAUSES.0;
    loop {
        let why = match check(step, wait).await {
            Ok(()) => return Ok(Map::new()),
            Err(why) => why,
        };
        let now = Instant::now();
        if now >= deadline {
            return Err(StepError::Failed(format!(
                "Timed out after {} s while waiting for the conditions: {why}",
                wait.timeout.as_secs()
            )));
        }
        sleep(pause.min(deadline - now)).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Whether one of the first holds, or all of the second; else why not.
async fn check(step: &Step<'_>, wait: &Wait) -> Result<(), String> {
    let mut why = String::new();
    for condition in &wait.any_of {
        match holds(step, condition, wait.v2).await {
            Ok(true) => return Ok(()),
            Ok(false) => why = format!("{:?} is not true", condition.condition.trim()),
            Err(error) => why = error,
        }
    }
    if wait.all_of.is_empty() {
        return Err(why);
    }
    for condition in &wait.all_of {
        if !holds(step, condition, wait.v2).await? {
            return Err(format!("{:?} is not true", condition.condition.trim()));
        }
    }
    Ok(())
}

async fn holds(step: &Step<'_>, condition: &Condition, v2: bool) -> Result<bool, String> {
    let reference = &condition.reference;
    let what = format!("{} {}/{}", reference.resource, reference.namespace, reference.name);
    let object = dynamic(step.client, &resource_of(reference), &reference.namespace)
        .get(&reference.name)
        .await
        .map_err(|e| format!("cannot read {what}: {}", request_text(&e)))?;
    let document = serde_json::to_value(&object).map_err(|e| format!("cannot read {what}: {e}"))?;
    evaluate(&condition.condition, &document, v2).map_err(|e| format!("{what}: {e}"))
}

/// Whether the condition renders to `true` over the object.
fn evaluate(condition: &str, document: &Value, v2: bool) -> Result<bool, String> {
    let (text, missing) = if v2 {
        (condition.to_owned(), Missing::Default)
    } else {
        (jsonpath::substitute(condition, document)?, Missing::Zero)
    };
    let template = Template::parse(&text).map_err(|e| e.to_string())?;
    let data = template::Value::from_json(document);
    template.render(&data, missing).map(|text| text.trim() == "true").map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_of_the_shipped_blueprints() {
        let pod = |ready: &str| {
            serde_json::json!({"status": {"conditions": [
            {"type": "Initialized", "status": "True"}, {"type": "ContainersReady", "status": ready}]}})
        };
        let v2 = "{{ $available := false }}{{ range $condition := $.status.conditions }}{{ if and (eq .type \"ContainersReady\") (eq .status \"True\") }}{{ $available = true }}{{ end }}{{ end }}{{ $available }}";
        assert_eq!(evaluate(v2, &pod("True"), true), Ok(true));
        assert_eq!(evaluate(v2, &pod("False"), true), Ok(false));
        assert_eq!(evaluate(v2, &serde_json::json!({}), true), Ok(false));
        let v1 = "{{ if \"{$.status.finishTime}\" }}\n  {{ if \"{$.status.finished[]}\" }}\n true\n {{ end }}\n{{ else }}\n false\n{{ end }}";
        assert_eq!(
            evaluate(v1, &serde_json::json!({"status": {"finishTime": "t", "finished": ["a"]}}), false),
            Ok(true)
        );
        assert!(evaluate(v1, &serde_json::json!({"status": {}}), false).is_err());
    }
}
