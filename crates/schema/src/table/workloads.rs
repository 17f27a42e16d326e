//! Deployments, sets, jobs, budgets, autoscalers.

use pilothouse_value::{Timestamp, Value, object};

use super::Cells;
use super::cells::{
    age, containers, count, human_duration, int, labels, name, scalar, selector, since, text, text_or,
};

const TEMPLATE: &[&str] = &["spec", "template", "spec", "containers"];

pub(super) fn printer(key: &str) -> Option<Cells> {
    Some(match key {
        "apps.Deployment" => deployment,
        "apps.ReplicaSet" => replica_set,
        "apps.StatefulSet" => stateful_set,
        "apps.DaemonSet" => daemon_set,
        "apps.ControllerRevision" => controller_revision,
        "core.ReplicationController" => replication_controller,
        "batch.Job" => job,
        "batch.CronJob" => cron_job,
        "policy.PodDisruptionBudget" => disruption_budget,
        "autoscaling.HorizontalPodAutoscaler" => |object, now| match object::api_version(object) {
            "autoscaling/v1" => {
                autoscaler(&crate::builtin::convert_autoscaler(object, "autoscaling/v2"), now)
            }
            _ => autoscaler(object, now),
        },
        "autoscaling.Scale" => |object, now| {
            let (spec, status) = (int(object, &["spec", "replicas"]), int(object, &["status", "replicas"]));
            vec![name(object), spec.into(), status.into(), age(object, now)]
        },
        _ => return None,
    })
}

fn ready(object: &Value) -> Value {
    format!("{}/{}", int(object, &["status", "readyReplicas"]), int(object, &["spec", "replicas"])).into()
}

fn deployment(object: &Value, now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(object, TEMPLATE);
    vec![
        name(object),
        ready(object),
        int(object, &["status", "updatedReplicas"]).into(),
        int(object, &["status", "availableReplicas"]).into(),
        age(object, now),
        names,
        images,
        selector(object, &["spec", "selector"], "").into(),
    ]
}

fn replicas(object: &Value, now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(object, TEMPLATE);
    vec![
        name(object),
        int(object, &["spec", "replicas"]).into(),
        int(object, &["status", "replicas"]).into(),
        int(object, &["status", "readyReplicas"]).into(),
        age(object, now),
        names,
        images,
    ]
}

fn replica_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let mut cells = replicas(object, now);
    cells.push(selector(object, &["spec", "selector"], "<none>").into());
    cells
}

fn replication_controller(object: &Value, now: Timestamp) -> Vec<Value> {
    let mut cells = replicas(object, now);
    cells.push(labels(object, &["spec", "selector"]).into());
    cells
}

fn stateful_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(object, TEMPLATE);
    vec![name(object), ready(object), age(object, now), names, images]
}

fn daemon_set(object: &Value, now: Timestamp) -> Vec<Value> {
    let [names, images] = containers(object, TEMPLATE);
    let status = |field| Value::from(int(object, &["status", field]));
    vec![
        name(object),
        status("desiredNumberScheduled"),
        status("currentNumberScheduled"),
        status("numberReady"),
        status("updatedNumberScheduled"),
        status("numberAvailable"),
        labels(object, &["spec", "template", "spec", "nodeSelector"]).into(),
        age(object, now),
        names,
        images,
        selector(object, &["spec", "selector"], "<none>").into(),
    ]
}

fn controller_revision(object: &Value, now: Timestamp) -> Vec<Value> {
    let controller = object::controller_of(object).map(|owner| {
        let kind = text(owner, &["kind"]).to_lowercase();
        match text(owner, &["apiVersion"]).split_once('/') {
            Some((group, _)) => format!("{kind}.{group}/{}", text(owner, &["name"])),
            None => format!("{kind}/{}", text(owner, &["name"])),
        }
    });
    let controller = controller.unwrap_or_else(|| "<none>".to_owned());
    vec![name(object), controller.into(), int(object, &["revision"]).into(), age(object, now)]
}

fn job(object: &Value, now: Timestamp) -> Vec<Value> {
    let succeeded = int(object, &["status", "succeeded"]);
    let completions = match (object.i64_at(&["spec", "completions"]), int(object, &["spec", "parallelism"])) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let time = |field| object.str_at(&["status", field]).and_then(|time| Timestamp::parse(time).ok());
    let duration = time("startTime").map(|start| {
        let end = time("completionTime").unwrap_or(now);
        human_duration(end.unix_seconds() - start.unix_seconds())
    });
    let states = [
        ("Complete", "Complete"),
        ("Failed", "Failed"),
        ("", "Terminating"),
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ];
    let state = states.iter().find(|(condition, _)| match *condition {
        "" => object::deletion_timestamp(object).is_some(),
        condition => object::condition_is_true(object, condition),
    });
    let [names, images] = containers(object, TEMPLATE);
    vec![
        name(object),
        state.map_or("Running", |(_, state)| state).into(),
        completions.into(),
        duration.unwrap_or_default().into(),
        age(object, now),
        names,
        images,
        selector(object, &["spec", "selector"], "<none>").into(),
    ]
}

fn cron_job(object: &Value, now: Timestamp) -> Vec<Value> {
    let last = object.str_at(&["status", "lastScheduleTime"]);
    let last = last.map_or_else(|| "<none>".to_owned(), |last| since(Some(last), now));
    let suspend = match object.at(&["spec", "suspend"]).and_then(Value::as_bool) {
        None => "<unset>",
        Some(true) => "True",
        Some(false) => "False",
    };
    let [names, images] =
        containers(object, &["spec", "jobTemplate", "spec", "template", "spec", "containers"]);
    vec![
        name(object),
        text(object, &["spec", "schedule"]).into(),
        text_or(object, &["spec", "timeZone"], "<none>").into(),
        suspend.into(),
        count(object, &["status", "active"]).into(),
        last.into(),
        age(object, now),
        names,
        images,
        selector(object, &["spec", "jobTemplate", "spec", "selector"], "<none>").into(),
    ]
}

fn disruption_budget(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        scalar(object.at(&["spec", "minAvailable"]), "N/A").into(),
        scalar(object.at(&["spec", "maxUnavailable"]), "N/A").into(),
        int(object, &["status", "disruptionsAllowed"]).into(),
        age(object, now),
    ]
}

fn autoscaler(object: &Value, now: Timestamp) -> Vec<Value> {
    let reference = |part| text(object, &["spec", "scaleTargetRef", part]);
    vec![
        name(object),
        format!("{}/{}", reference("kind"), reference("name")).into(),
        metrics(object).into(),
        scalar(object.at(&["spec", "minReplicas"]), "<unset>").into(),
        int(object, &["spec", "maxReplicas"]).into(),
        int(object, &["status", "currentReplicas"]).into(),
        age(object, now),
    ]
}

fn metrics(object: &Value) -> String {
    let percent =
        |value: Option<i64>, none: &str| value.map_or_else(|| none.to_owned(), |value| format!("{value}%"));
    let specs = object.items_at(&["spec", "metrics"]);
    // autoscaling/v1 knows one metric, and keeps it in fields of its own.
    if let Some(target) = object.i64_at(&["spec", "targetCPUUtilizationPercentage"]) {
        let current = percent(object.i64_at(&["status", "currentCPUUtilizationPercentage"]), "<unknown>");
        return format!("cpu: {current}/{target}%");
    }
    let statuses = object.items_at(&["status", "currentMetrics"]);
    let one = |(at, spec): (usize, &Value)| {
        let kind = text(spec, &["type"]);
        let mut source = kind.to_owned();
        if let Some(first) = source.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        let target = |field: &str| spec.at(&[&source, "target", field]);
        let current = |field: &str| {
            scalar(statuses.get(at).and_then(|s| s.at(&[&source, "current", field])), "<unknown>")
        };
        match kind {
            "External" | "Object" => match target("averageValue") {
                Some(value) => format!("{}/{} (avg)", current("averageValue"), crate::jsonpath::text(value)),
                None => format!("{}/{}", current("value"), scalar(target("value"), "<unknown>")),
            },
            "Pods" => format!("{}/{}", current("averageValue"), scalar(target("averageValue"), "<unknown>")),
            "Resource" | "ContainerResource" => {
                let resource = text(spec, &[&source, "name"]);
                match target("averageValue") {
                    Some(value) => {
                        format!("{resource}: {}/{}", current("averageValue"), crate::jsonpath::text(value))
                    }
                    None => {
                        let status = statuses
                            .get(at)
                            .and_then(|s| s.i64_at(&[&source, "current", "averageUtilization"]));
                        let wanted = target("averageUtilization").and_then(Value::as_i64);
                        format!("{resource}: {}/{}", percent(status, "<unknown>"), percent(wanted, "<auto>"))
                    }
                }
            }
            _ => "<unknown type>".to_owned(),
        }
    };
    let all: Vec<String> = specs.iter().enumerate().map(one).collect();
    match all.len() {
        0 => "<none>".to_owned(),
        1 | 2 => all.join(", "),
        more => format!("{} + {} more...", all.get(..2).unwrap_or_default().join(", "), more - 2),
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_value::json;

    use super::*;

    #[test]
    fn an_autoscaler_shows_two_metrics_and_counts_the_rest() {
        let resource = |name: &str| json!({"type": "Resource", "resource": {"name": name, "target": {"type": "Utilization", "averageUtilization": 80}}});
        let mut object = json!({"spec": {"metrics": [resource("cpu"), resource("memory"), resource("other")]},
            "status": {"currentMetrics": [{"resource": {"name": "cpu", "current": {"averageUtilization": 5}}}]}});
        assert_eq!(metrics(&object), "cpu: 5%/80%, memory: <unknown>/80% + 1 more...");
        object = json!({"spec": {"targetCPUUtilizationPercentage": 50}});
        assert_eq!(metrics(&object), "cpu: <unknown>/50%");
    }
}
