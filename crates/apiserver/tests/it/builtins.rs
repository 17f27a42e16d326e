//! Objects of built-in kinds: our answers next to those of a real kube-apiserver 1.37.2, which stand in
//! `conformance/recorded/builtins`. The requests are those of `conformance/builtins/record.py`.

use std::net::Ipv4Addr;
use std::path::Path;

use pilothouse_apiserver::{Authorization, MASTERS, Server, User};
use pilothouse_value::{Value, parse};

use crate::support::{Answer, Api};

fn recorded(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/recorded/builtins");
    parse::json(&std::fs::read(folder.join(format!("{name}.json"))).unwrap()).unwrap().value
}

/// A copy with fields set; `a.0.b` leads through objects and lists, an index at the end of a list appends.
fn change(document: &Value, changes: &Value) -> Value {
    let mut document = document.clone();
    for (path, value) in changes.as_object().unwrap().iter() {
        let keys: Vec<&str> = path.split('.').collect();
        *place(&mut document, &keys) = value.clone();
    }
    document
}

fn place<'v>(holder: &'v mut Value, keys: &[&str]) -> &'v mut Value {
    let Some((key, rest)) = keys.split_first() else { return holder };
    if let Ok(index) = key.parse::<usize>() {
        if !matches!(holder, Value::Array(_)) {
            *holder = Value::Array(Vec::new().into());
        }
        let items = holder.as_array_mut().unwrap();
        if index == items.len() {
            items.push(Value::Null);
        }
        return place(&mut items[index], rest);
    }
    place(holder.make_object().or_insert_with(key, || Value::Null), rest)
}

/// Sets or removes what a JSON pointer names.
fn point(holder: &mut Value, pointer: &str, value: Option<&Value>) {
    let keys: Vec<String> =
        pointer.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let Some((last, above)) = keys.split_last() else {
        *holder = value.cloned().unwrap_or_default();
        return;
    };
    let above = place(holder, above);
    match (above, value) {
        (Value::Object(map), None) => drop(map.remove(last)),
        (above, Some(value)) => *place(above, &[last]) = value.clone(),
        _ => panic!("{pointer} leads nowhere"),
    }
}

/// Whether the text is a time of today's decade, which no record has in its inputs.
fn is_recent(text: &str) -> bool {
    text.len() >= 20
        && text.ends_with('Z')
        && text.as_bytes()[10] == b'T'
        && text[..4].parse::<u16>().is_ok_and(|year| year >= 2026)
}

/// Values that no two runs share are replaced by one of their form.
fn settle(key: &str, value: &mut Value) {
    match value {
        Value::Object(map) => map.iter_mut().for_each(|(key, value)| settle(key, value)),
        Value::Array(items) => items.iter_mut().for_each(|value| settle("", value)),
        Value::Int(port) if key.contains("odePort") && *port >= 30000 => *port = 30000,
        Value::String(text) => *text = settled(text),
        _ => {}
    }
}

fn settled(text: &str) -> String {
    if is_recent(text) {
        return if text.contains('.') { "MICROTIME".into() } else { "TIME".into() };
    }
    let text = without_random(text);
    let text = text.as_str();
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("10.0.0.") {
        let (before, after) = rest.split_at(at);
        let digits = after[7..].bytes().take_while(u8::is_ascii_digit).count();
        out.push_str(before);
        out.push_str(if digits == 0 { "10.0.0." } else { "10.0.0.X" });
        rest = &after[7 + digits..];
    }
    out.push_str(rest);
    out
}

/// The text with uids, and the names that are generated after `x-`, replaced.
fn without_random(text: &str) -> String {
    let is_hex = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let is_uid = |text: &str| {
        let lengths: Vec<usize> = text.split('-').map(str::len).collect();
        lengths == [8, 4, 4, 4, 12] && text.split('-').all(is_hex)
    };
    let mut out = String::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.get(..36).is_some_and(is_uid) {
            out.push_str("UID");
            at += 36;
        } else if (rest.starts_with("\"x-") || rest.starts_with("\"A_"))
            && rest.get(8..9) == Some("\"")
            && rest[3..8].bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        {
            out.push_str(&rest[..3]);
            out.push_str("RANDOM");
            at += 8;
        } else {
            let c = rest.chars().next().unwrap();
            out.push(c);
            at += c.len_utf8();
        }
    }
    out
}

fn normal(document: &Value) -> Value {
    let uid = document.str_at(&["metadata", "uid"]).unwrap_or_default();
    let mut text = document.to_json();
    if !uid.is_empty() {
        text = text.replace(uid, "UID");
    }
    let mut document = parse::json(text.as_bytes()).unwrap().value;
    for key in ["uid", "creationTimestamp", "resourceVersion", "managedFields"] {
        document.take(&["metadata", key]);
    }
    settle("", &mut document);
    document
}

/// Where two documents differ, a line each.
fn differ(real: &Value, ours: &Value, path: String, out: &mut Vec<String>) {
    match (real, ours) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&str> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let path = format!("{path}.{key}");
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => differ(a, b, path, out),
                    (a, b) => out.push(format!(
                        "     {path}\n       real: {}\n       ours: {}",
                        a.map_or("-".into(), Value::to_json),
                        b.map_or("-".into(), Value::to_json)
                    )),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                differ(a, b, format!("{path}[{at}]"), out);
            }
        }
        (a, b) if a != b => {
            out.push(format!("     {path}\n       real: {}\n       ours: {}", a.to_json(), b.to_json()));
        }
        _ => {}
    }
}

/// The answer in the form of the records; an object in full.
fn said(answer: &Answer, uid: &str) -> Value {
    let body = answer.json();
    let mut said = Value::object();
    said.set(&["code"], i64::from(answer.code));
    let warnings: Vec<Value> = answer
        .headers
        .get_all("warning")
        .iter()
        .flat_map(|header| header.to_str().unwrap().split(", 299 - "))
        .map(|text| {
            let text = text.trim_start_matches("299 - ");
            let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
            text.replace("\\\"", "\"").replace("\\\\", "\\").into()
        })
        .collect();
    if !warnings.is_empty() {
        said.set(&["warnings"], warnings);
    }
    if body.str_at(&["status"]) == Some("Failure") {
        let own = |text: &str| {
            let text = if uid.is_empty() { text.to_owned() } else { text.replace(uid, "UID") };
            Value::from(settled(&text))
        };
        said.set(&["reason"], body.get("reason").cloned());
        said.set(&["message"], own(body.str_at(&["message"]).unwrap()));
        let causes = body.items_at(&["details", "causes"]);
        let message = body.str_at(&["message"]).unwrap();
        let told = |cause: &Value| cause.str_at(&["message"]).is_some_and(|text| message.contains(text));
        if causes.len() > 1 || causes.iter().any(|cause| !told(cause)) {
            let fields = |cause: &Value| {
                let part = |key| cause.str_at(&[key]).map_or(Value::Null, own);
                Value::Array(vec![part("reason"), part("field"), part("message")].into())
            };
            said.set(&["causes"], causes.iter().map(fields).collect::<Vec<_>>());
        }
        return said;
    }
    said.set(&["object"], normal(&body));
    said
}

/// The recorded answer with its object in full.
fn expected(record: &Value, since: &Value) -> Value {
    let mut answer = record.clone();
    let changed = answer.take(&["changed"]);
    let removed = answer.take(&["removed"]);
    if answer.get("reason").is_none() && answer.get("object").is_none() && answer.get("code").is_some() {
        let mut object = since.clone();
        for (pointer, value) in changed.as_ref().and_then(Value::as_object).into_iter().flat_map(|m| m.iter())
        {
            point(&mut object, pointer, Some(value));
        }
        for pointer in removed.as_ref().and_then(Value::as_array).into_iter().flatten() {
            point(&mut object, pointer.as_str().unwrap(), None);
        }
        answer.set(&["object"], object);
    }
    answer
}

fn collection(group: &Value) -> String {
    let (version, plural) = group.str_at(&["resource"]).unwrap().rsplit_once('/').unwrap();
    let root = if version.contains('/') { "apis" } else { "api" };
    match group.str_at(&["namespace"]).unwrap_or("default") {
        "" => format!("/{root}/{version}/{plural}"),
        namespace => format!("/{root}/{version}/namespaces/{namespace}/{plural}"),
    }
}

#[derive(Default)]
struct Score {
    agreed: usize,
    differed: Vec<String>,
}

impl Score {
    fn compare(&mut self, name: &str, real: &Value, ours: &Value) {
        if real == ours {
            self.agreed += 1;
            return;
        }
        let mut lines = Vec::new();
        if real.get("code") == ours.get("code") {
            differ(real, ours, String::new(), &mut lines);
        } else {
            // A refusal next to an object: the text says enough.
            let short =
                |said: &Value| said.get("message").or(said.get("code")).map_or("-".into(), Value::to_json);
            lines.push(format!("       real: {}\n       ours: {}", short(real), short(ours)));
        }
        self.differed.push(format!("  {name}\n{}", lines.join("\n")));
    }
}

const QUERY: &str = "fieldManager=recorder";
const DRY: &str = "dryRun=All&fieldManager=recorder";

async fn replay_group(api: &Api, group: &Value, score: &mut Score) {
    let path = collection(group);
    let resource = group.str_at(&["resource"]).unwrap();
    let base = group.get("base").unwrap();
    let name = base.str_at(&["metadata", "name"]).unwrap();
    for needed in group.items_at(&["needs"]) {
        api.post(&collection(needed), needed.get("base").unwrap()).await;
    }
    let created = api.post(&format!("{path}?{QUERY}"), base).await;
    let real = group.get("answer").unwrap();
    score.compare(&format!("{resource} {name}"), real, &said(&created, ""));
    let since = real.get("object").unwrap();
    let mut after = since.clone();
    for step in group.items_at(&["before"]) {
        let live = api.get(&format!("{path}/{name}")).await;
        if step.get("wait").is_some() {
            // What a real server's own controllers write meanwhile, ours has written with the object.
            let real = expected(step.get("answer").unwrap(), since);
            score.compare(&format!("{resource} {name} later"), &real, &said(&live, ""));
            after = real.get("object").unwrap().clone();
            continue;
        }
        let live = live.json();
        let sub = step.str_at(&["subresource"]).map(|sub| format!("/{sub}")).unwrap_or_default();
        let body = change(&live, step.get("set").unwrap());
        let done = api.put(&format!("{path}/{name}{sub}?{QUERY}"), &body).await;
        let real = expected(step.get("answer").unwrap(), since);
        score.compare(&format!("{resource} {name} before"), &real, &said(&done, ""));
        after = real.get("object").unwrap().clone();
    }
    let live = api.get(&format!("{path}/{name}")).await.json();
    let uid = live.str_at(&["metadata", "uid"]).unwrap_or_default().to_owned();
    for case in group.items_at(&["cases"]) {
        let on = case.str_at(&["on"]).unwrap();
        let set = case.get("set").map(Value::to_json).unwrap_or_default();
        let mut label = format!("{resource} {name} {on} {set}");
        let record = case.get("answer").unwrap();
        match on {
            "create" => {
                let set = case.get("set").unwrap();
                let mut body = base.clone();
                if set.get("metadata.name").is_none() && set.get("metadata.generateName").is_none() {
                    let fresh = group.str_at(&["fresh"]).map_or_else(|| format!("{name}-new"), str::to_owned);
                    body.set(&["metadata", "name"], fresh);
                }
                let body = change(&body, set);
                let ours = said(&api.post(&format!("{path}?{DRY}"), &body).await, "");
                score.compare(&label, &expected(record, since), &ours);
            }
            "binding" | "eviction" | "token" => {
                let body = case.get("body").unwrap();
                label.push_str(&body.to_json());
                let ours = said(&api.post(&format!("{path}/{name}/{on}?{DRY}"), body).await, "");
                score.compare(&label, record, &ours);
            }
            "list" => {
                let selector = case.str_at(&["selector"]).unwrap();
                label.push_str(selector);
                let escaped = selector.replace(' ', "%20");
                let ours = api.get(&format!("{path}?fieldSelector={escaped}")).await;
                let ours = if ours.code == 200 {
                    let list = ours.json();
                    let found = list
                        .items_at(&["items"])
                        .iter()
                        .any(|item| item.str_at(&["metadata", "name"]) == Some(name));
                    pilothouse_value::json!({"found": found})
                } else {
                    said(&ours, "")
                };
                score.compare(&label, record, &ours);
            }
            "table" => {
                let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
                let table = api.send("GET", &format!("{path}/{name}"), &accept, "").await.json();
                score.compare(&label, record, &table_said(&table));
            }
            _ => {
                let sub = if on == "update" { String::new() } else { format!("/{on}") };
                let place = format!("{path}/{name}{sub}");
                let (subject, against) = if on == "scale" {
                    let scale = api.get(&place).await.json();
                    (scale.clone(), normal(&scale))
                } else {
                    (live.clone(), after.clone())
                };
                let body = change(&subject, case.get("set").unwrap());
                let ours = said(&api.put(&format!("{place}?{DRY}"), &body).await, &uid);
                score.compare(&label, &expected(record, &against), &ours);
            }
        }
    }
    api.patch(
        "application/merge-patch+json",
        &format!("{path}/{name}"),
        &pilothouse_value::json!({"metadata": {"finalizers": null}}),
    )
    .await;
    api.send("DELETE", &format!("{path}/{name}?gracePeriodSeconds=0"), &[], "").await;
}

/// A cell of a service's ports: the node ports are the server's choice.
fn without_node_ports(text: &str) -> String {
    let port = |part: &str| match part.split_once('/') {
        Some((port, rest)) if port.len() == 5 && port.starts_with('3') => format!("30000/{rest}"),
        _ => part.to_owned(),
    };
    let mut parts = text.split(':');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| format!("{text}:{}", port(part)))
}

fn table_said(table: &Value) -> Value {
    let columns: Vec<Value> = table
        .items_at(&["columnDefinitions"])
        .iter()
        .map(|column| {
            let part = |key| column.get(key).cloned().unwrap_or_default();
            Value::Array(["name", "type", "format", "priority", "description"].map(part).to_vec().into())
        })
        .collect();
    let mut cells = table.items_at(&["rows"]).first().map(|row| row.items_at(&["cells"]).to_vec());
    for cell in cells.iter_mut().flatten() {
        if let Value::String(text) = cell {
            let seconds = text
                .strip_suffix('s')
                .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
            *text = if seconds { "AGE".into() } else { without_node_ports(&settled(text)) };
        }
    }
    pilothouse_value::json!({"columns": columns, "cells": cells.map(Value::from)})
}

/// Replays one file: every answer is that of a real server.
async fn replay(name: &str) {
    let record = recorded(name);
    let builder = Server::builder().authorization(Authorization::AlwaysAllow);
    let server = builder.service_network(Ipv4Addr::new(10, 0, 0, 0), 24).start().unwrap();
    let mut recorder = User::new("admin", [MASTERS]);
    recorder.uid = "admin".into();
    let api = Api::with(server).acting_as(recorder);
    let mut score = Score::default();
    for group in record.items_at(&["groups"]) {
        replay_group(&api, group, &mut score).await;
    }
    let differed = score.differed.len();
    println!("{name}: {} of {} agree", score.agreed, score.agreed + differed);
    assert!(differed == 0, "{differed} answers differ:\n{}", score.differed.join("\n"));
}

macro_rules! replays {
    ($($test:ident $name:literal;)*) => {
        $(#[tokio::test]
        async fn $test() {
            replay($name).await;
        })*
    };
}

replays! {
    core_kinds_answer_as_a_real_server "core";
    jobs_answer_as_a_real_server "jobs";
    other_kinds_answer_as_a_real_server "others";
    pods_answer_as_a_real_server "pod";
    policies_answer_as_a_real_server "policy";
    rbac_answers_as_a_real_server "rbac";
    services_answer_as_a_real_server "service";
    storage_answers_as_a_real_server "storage";
    tables_are_those_of_a_real_server "tables";
    workloads_answer_as_a_real_server "workloads";
    every_member_of_core_kinds_is_checked_as_a_real_server_does "swept_core";
    every_member_of_network_kinds_is_checked_as_a_real_server_does "swept_network";
    every_member_of_pods_is_checked_as_a_real_server_does "swept_pods";
    every_member_of_policies_is_checked_as_a_real_server_does "swept_policy";
    every_member_of_storage_kinds_is_checked_as_a_real_server_does "swept_storage";
    every_member_of_workloads_is_checked_as_a_real_server_does "swept_workloads";
}

/// Lists whose order means nothing are compared in that of their names.
fn ordered(document: &Value) -> Value {
    let mut document = document.clone();
    for list in ["groups", "items", "resources"] {
        if let Some(items) = document.at_mut(&[list]).and_then(Value::as_array_mut) {
            items.sort_by_key(|item| {
                item.str_at(&["name"]).or(item.str_at(&["metadata", "name"])).map(str::to_owned)
            });
            for version in items.iter_mut().filter_map(|item| item.at_mut(&["versions"])) {
                for version in version.as_array_mut().into_iter().flatten() {
                    version.take(&["freshness"]);
                    if let Some(resources) = version.at_mut(&["resources"]).and_then(Value::as_array_mut) {
                        resources.sort_by_key(|item| item.str_at(&["resource"]).map(str::to_owned));
                        for subs in resources.iter_mut().filter_map(|item| item.at_mut(&["subresources"])) {
                            if let Some(subs) = subs.as_array_mut() {
                                subs.sort_by_key(|sub| sub.str_at(&["subresource"]).map(str::to_owned));
                            }
                        }
                    }
                }
            }
        }
    }
    document
}

/// The documents of `conformance/builtins/discovery.py`, each whole.
#[tokio::test]
async fn discovery_is_that_of_a_real_server() {
    let api = Api::start();
    let mut score = Score::default();
    for record in recorded("discovery").as_array().unwrap() {
        let path = record.str_at(&["path"]).unwrap();
        let accept = record.str_at(&["accept"]).unwrap();
        let answer = api.send("GET", path, &[("accept", accept)], "").await;
        let mut ours = Value::object();
        for name in ["Content-Type", "Vary", "Cache-Control"] {
            let value = answer.header(name);
            if !value.is_empty() {
                ours.set(&["headers", name], value);
            }
        }
        let mut body =
            parse::json(answer.text.as_bytes()).map_or(answer.text.as_str().into(), |parsed| parsed.value);
        for group in body.at_mut(&["items"]).and_then(Value::as_array_mut).into_iter().flatten() {
            group.take(&["metadata", "creationTimestamp"]);
        }
        body.take(&["serverAddressByClientCIDRs"]);
        ours.set(&["body"], ordered(&body));
        ours.set(&["code"], i64::from(answer.code));
        let mut real = record.clone();
        real.take(&["path"]);
        real.take(&["accept"]);
        let body = ordered(record.get("body").unwrap());
        real.set(&["body"], body);
        score.compare(&format!("{path} {accept}"), &real, &ours);
    }
    println!("discovery: {} of {} agree", score.agreed, score.agreed + score.differed.len());
    assert!(score.differed.is_empty(), "{}", score.differed.join("\n"));
}
