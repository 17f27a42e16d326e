//! Who may do what, and as whom: our answers next to those of a real kube-apiserver 1.37.2, which stand in
//! `conformance/recorded/auth`. Each file is one conversation; `conformance/auth` says how it was recorded.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use pilothouse_apiserver::authenticator::read_token_file;
use pilothouse_apiserver::authorization::{Mode, Policies};
use pilothouse_apiserver::{LocalService, Server};
use pilothouse_value::{Value, parse};
use regex::{Captures, Regex};
use tower::ServiceExt as _;

/// The users of the recorder: the token is the name.
const USERS: &str = "recorder,admin,admin,\"system:masters\"\nann,ann,ann-uid,\"dev,ops\"\nbob,bob,bob-uid\n\
                     carl,carl,carl-uid\ndora,dora,dora-uid,\"dev\"\neve,eve,eve-uid\n\
                     n1,system:node:n1,n1-uid,\"system:nodes\"\nn2,system:node:n2,n2-uid,\"system:nodes\"\n\
                     nameless,system:node:,x,\"system:nodes\"\nfake,system:node:n1,fake-uid\n";

/// A server with the flags that the real one was started with for a topic.
fn server(topic: &str) -> Server {
    let file = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/auth/files");
        std::fs::read_to_string(folder.join(name)).unwrap()
    };
    let policies = || Mode::Abac(Arc::new(Policies::read(&file("abac.jsonl")).unwrap()));
    let server = Server::builder().tokens(read_token_file(USERS).unwrap());
    let without_accounts = server.clone().disable_admission_plugins(["ServiceAccount"]);
    let server = match topic {
        "accounts" => server.require_service_accounts(true),
        "exempt" => without_accounts.admission_configuration(file("exempt.json")),
        "owners" => without_accounts.enable_admission_plugins(["OwnerReferencesPermissionEnforcement"]),
        "off" => without_accounts.admission_configuration(file("off.json")).enable_admission_plugins([
            "NamespaceAutoProvision",
            "LimitPodHardAntiAffinityTopology",
            "AlwaysPullImages",
            "PodNodeSelector",
            "PodTolerationRestriction",
            "EventRateLimit",
            "ExtendedResourceToleration",
            "DenyServiceExternalIPs",
            "NamespaceExists",
        ]),
        "nodes" => without_accounts
            .authorization_modes([Mode::Node, Mode::Rbac])
            .enable_admission_plugins(["NodeRestriction"]),
        "abac" => without_accounts.authorization_modes([policies()]),
        "modes" => {
            without_accounts.authorization_modes([Mode::AlwaysDeny, Mode::Node, policies(), Mode::Rbac])
        }
        "always-deny" => without_accounts.authorization_modes([Mode::AlwaysDeny]),
        _ => without_accounts,
    };
    server.start().unwrap()
}

/// Puts names in the place of what differs from run to run.
struct Names {
    rules: Vec<(Regex, &'static str)>,
    uid: Regex,
    uids: BTreeMap<String, usize>,
}

impl Names {
    fn new() -> Names {
        let rule = |pattern, name| (Regex::new(pattern).unwrap(), name);
        Names {
            rules: vec![
                rule(r"eyJ[\w-]+\.[\w-]+\.[\w-]+", "<token>"),
                rule(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
                rule(r"X509SHA256=[0-9a-f]+", "X509SHA256=<hash>"),
                rule(r"\d+\.\d+\.\d+\.\d+:\d{4,5}", "<server>"),
                rule(r#""(kid|x|y)": ?"[\w-]{43}""#, r#""$1":"<key>""#),
                rule(r"x{1000,}", "<fill>"),
                rule(r"\[{1000,}\]*", "<deep>"),
                rule(r#""(resourceVersion|generation)": ?"?\d+"?"#, r#""$1":"<version>""#),
            ],
            uid: Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap(),
            uids: BTreeMap::new(),
        }
    }

    fn put(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (pattern, name) in &self.rules {
            text = pattern.replace_all(&text, *name).into_owned();
        }
        let uids = &mut self.uids;
        let named = self.uid.replace_all(&text, |found: &Captures<'_>| {
            let next = uids.len() + 1;
            format!("<uid {}>", uids.entry(found[0].to_owned()).or_insert(next))
        });
        named.into_owned()
    }
}

fn fill(text: &str, found: &BTreeMap<String, String>) -> String {
    let mut text = text.to_owned();
    for (name, value) in found {
        text = text.replace(&format!("${{{name}}}"), value);
    }
    text
}

/// What an earlier answer says at a path such as `status.token`.
fn pick(answer: &Value, path: &str) -> String {
    let mut value = answer;
    for part in path.split('.') {
        value = match part.parse::<usize>() {
            Ok(index) => &value.as_array().unwrap()[index],
            Err(_) => value.get(part).unwrap(),
        };
    }
    value.as_str().unwrap().to_owned()
}

/// What an answer says at these paths.
fn only(answer: &Value, paths: &Value) -> Value {
    let mut said = Value::object();
    for path in paths.as_array().unwrap().iter().map(|path| path.as_str().unwrap()) {
        let mut found = Some(answer);
        for part in path.split('.') {
            let item = part.parse::<usize>().ok();
            found = found.and_then(|value| match (item, value.as_array()) {
                (Some(item), Some(items)) => items.get(item),
                _ => value.get(part),
            });
        }
        if let Some(found) = found.filter(|found| !found.is_null()) {
            said.set(&[path], found.clone());
        }
    }
    said
}

fn count(step: &Value, field: &str) -> usize {
    step.i64_at(&[field]).map_or(0, |count| usize::try_from(count).unwrap())
}

async fn ask(
    service: &LocalService,
    step: &Value,
    found: &BTreeMap<String, String>,
) -> (u16, http::HeaderMap, String) {
    let text = |key: &str| fill(step.str_at(&[key]).unwrap(), found);
    let mut request = Request::builder().method(&*text("method")).uri(text("path"));
    let mut given: BTreeMap<String, String> = BTreeMap::from([
        ("accept".into(), "application/json".into()),
        ("user-agent".into(), "recorder".into()),
    ]);
    match step.get("as") {
        None => {
            given.insert("authorization".into(), "Bearer recorder".into());
        }
        Some(Value::Null) => {}
        Some(user) => {
            given.insert("authorization".into(), format!("Bearer {}", fill(user.as_str().unwrap(), found)));
        }
    }
    let body = match step.get("body") {
        None => String::new(),
        Some(body) => {
            given.insert("content-type".into(), "application/json".into());
            match body.as_str() {
                Some(text) => text.to_owned(),
                None => fill(&body.to_json(), found),
            }
        }
    };
    for (name, value) in step.get("headers").and_then(Value::as_object).into_iter().flat_map(|map| map.iter())
    {
        given.insert(name.to_lowercase(), fill(value.as_str().unwrap(), found));
    }
    let body = body.replace("<fill>", &"x".repeat(count(step, "fill")));
    let deep = count(step, "deep");
    let body = body.replace("<deep>", &["[".repeat(deep), "]".repeat(deep)].concat());
    for (name, value) in given {
        request = request.header(name, value);
    }
    let response =
        service.clone().oneshot(request.body(Full::new(Bytes::from(body))).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let mut body = body.collect().await.unwrap().to_bytes();
    if parts.headers.get("content-encoding").is_some_and(|encoding| encoding == "gzip") {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&*body).read_to_end(&mut plain).unwrap();
        body = plain.into();
    }
    (parts.status.as_u16(), parts.headers, String::from_utf8_lossy(&body).into_owned())
}

/// Replays a file; gives back how many answers agree, and what the others are.
async fn replay(file: &Path) -> (usize, Vec<String>) {
    let steps = parse::json(&std::fs::read(file).unwrap()).unwrap().value;
    let server = server(&file.file_stem().unwrap().to_string_lossy());
    server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let service = server.authenticating_service();
    let (mut names, mut found) = (Names::new(), BTreeMap::new());
    let (mut agreed, mut differed) = (0, Vec::new());
    for step in steps.as_array().unwrap() {
        let (code, headers, text) = ask(&service, step, &found).await;
        let answer = parse::json(text.as_bytes()).map(|parsed| parsed.value);
        for (name, path) in step.get("keep").and_then(Value::as_object).into_iter().flat_map(|map| map.iter())
        {
            found.insert(name.to_owned(), pick(answer.as_ref().unwrap(), path.as_str().unwrap()));
        }
        let mut said = Value::object();
        said.set(&["code"], i64::from(code));
        for name in step.items_at(&["show"]).iter().filter_map(Value::as_str) {
            let values: Vec<&str> =
                headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect();
            if !values.is_empty() {
                said.set(&["answerHeaders", name], names.put(&values.join(", ")));
            }
        }
        match &answer {
            Ok(answer) if headers["content-type"] == "application/json" => {
                let some = step.get("only").filter(|_| code < 300);
                let answer = some.map_or_else(|| answer.clone(), |paths| only(answer, paths));
                let named = names.put(&answer.to_json());
                let mut answer = parse::json(named.as_bytes()).unwrap().value;
                // The recorder lists them in this order; a cache has none.
                for kind in ["resourceRules", "nonResourceRules"] {
                    if let Some(rules) = answer.at_mut(&["status", kind]).and_then(Value::as_array_mut) {
                        rules.sort_by_key(Value::to_json);
                    }
                }
                said.set(&["answer"], answer);
            }
            _ => said.set(&["text"], names.put(&text)),
        }
        let mut real = step.clone();
        for key in ["as", "body", "deep", "fill", "headers", "keep", "method", "only", "path", "show"] {
            real.take(&[key]);
        }
        if said == real {
            agreed += 1;
        } else {
            let asked = format!("{} {}", step.str_at(&["method"]).unwrap(), step.str_at(&["path"]).unwrap());
            let body = step.get("body").map(Value::to_json).unwrap_or_default();
            differed.push(format!(
                "{} {asked} {body}\n   real: {}\n   ours: {}",
                file.file_stem().unwrap().display(),
                real.to_json(),
                said.to_json()
            ));
        }
    }
    (agreed, differed)
}

#[tokio::test(start_paused = true)]
async fn everyone_is_let_in_and_refused_as_by_a_real_server() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/recorded/auth");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut all, mut differed) = (0, Vec::new());
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "json")) {
        let (agreed, others) = replay(file).await;
        println!("{:<16}{:>4} agree{:>4} differ", file.file_stem().unwrap().display(), agreed, others.len());
        all += agreed;
        differed.extend(others);
    }
    println!("{all} agree");
    assert!(differed.is_empty(), "{} differ\n{}", differed.len(), differed.join("\n"));
}
