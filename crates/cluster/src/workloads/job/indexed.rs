//! Jobs whose pods have a number each (`completionMode: Indexed`).

use std::collections::BTreeSet;

use pilothouse_value::{Value, json, object};

use crate::workloads::pods;

const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// Whether the Job numbers its pods.
pub(super) fn applies(job: &Value) -> bool {
    job.str_at(&["spec", "completionMode"]) == Some("Indexed")
}

fn index(pod: &Value) -> Option<i64> {
    object::annotation(pod, INDEX)?.parse().ok()
}

/// The numbers that are done: those that the status tells of, and those of pods that have succeeded.
pub(super) fn completed(job: &Value, pods: &[&Value]) -> BTreeSet<i64> {
    let told = job.str_at(&["status", "completedIndexes"]).unwrap_or_default();
    let mut all: BTreeSet<i64> = told
        .split(',')
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(first.parse::<i64>().ok()?..=last.parse::<i64>().ok()?)
        })
        .flatten()
        .collect();
    all.extend(pods.iter().filter(|pod| pods::phase(pod) == "Succeeded").filter_map(|pod| index(pod)));
    all
}

/// The numbers that have neither succeeded nor a pod, lowest first.
pub(super) fn next(job: &Value, pods: &[&Value], completions: i64) -> Vec<i64> {
    let mut taken = completed(job, pods);
    taken.extend(pods.iter().filter(|pod| pods::is_active(pod)).filter_map(|pod| index(pod)));
    (0..completions).filter(|index| !taken.contains(index)).collect()
}

/// Numbers as the status spells them: `0-2,5`.
pub(super) fn spell(indexes: &BTreeSet<i64>) -> String {
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for index in indexes {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => ranges.push((*index, *index)),
        }
    }
    let spelled: Vec<String> = ranges
        .iter()
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first},{last}"),
            _ => format!("{first}-{last}"),
        })
        .collect();
    spelled.join(",")
}

/// The pod with this number: it learns it from a label, an annotation, its host name and its environment.
pub(super) fn pod(job: &Value, template: &Value, index: i64) -> Value {
    let mut pod = template.clone();
    let (name, index) = (object::name(job), index.to_string());
    pod.set(&["metadata", "generateName"], format!("{name}-{index}-"));
    pod.set(&["metadata", "annotations", INDEX], &index);
    pod.set(&["metadata", "labels", INDEX], &index);
    pod.set(&["spec", "hostname"], format!("{name}-{index}"));
    for field in ["initContainers", "containers"] {
        for container in pod.at_mut(&["spec", field]).and_then(Value::as_array_mut).into_iter().flatten() {
            let mut env = container.items_at(&["env"]).to_vec();
            if env.iter().any(|e| e.str_at(&["name"]) == Some("JOB_COMPLETION_INDEX")) {
                continue;
            }
            let path = format!("metadata.labels['{INDEX}']");
            env.push(json!({"name": "JOB_COMPLETION_INDEX",
                "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}));
            container.set(&["env"], env);
        }
    }
    pod
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_spelled_as_ranges() {
        for (indexes, text) in
            [(vec![], ""), (vec![3], "3"), (vec![0, 1], "0,1"), (vec![0, 1, 2, 5, 7, 8, 9], "0-2,5,7-9")]
        {
            let set: BTreeSet<i64> = indexes.into_iter().collect();
            assert_eq!(spell(&set), text);
            let job = json!({"status": {"completedIndexes": text}});
            assert_eq!(completed(&job, &[]), set);
        }
    }
}
