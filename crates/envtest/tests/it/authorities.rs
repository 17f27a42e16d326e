//! What a real kube-apiserver 1.37.2 answers, asks others and notes in its audit log under certain flags and files
//! (`conformance/authorities`): the same conversations with ours, started with the same flags.

mod outside;

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http1::SendRequest;
use nix::sys::stat::Mode;
use pilothouse_apiserver::certs::{Authority, CertifiedKey};
use pilothouse_apiserver::{User, Value};
use pilothouse_value::parse;
use regex::Regex;
use tokio::sync::mpsc;

use crate::plane::{Api, Plane, Tool, whole};
use outside::Outside;

/// How long an event or a question may take to come.
const PATIENCE: Duration = Duration::from_secs(120);

/// Names in the place of what differs from run to run.
static NAMES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        ("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
        (r"eyJ[\w-]+\.[\w-]+\.[\w-]+", "<token>"),
        (r#""continue": ?"[\w-]+""#, r#""continue":"<continue>""#),
        ("X509SHA256=[0-9a-f]+", "X509SHA256=<hash>"),
        (r"127\.0\.0\.1:\d{4,5}", "<server>"),
        (r#""(resourceVersion|generation)": ?"?\d+"?"#, r#""$1":"<version>""#),
    ];
    patterns.map(|(pattern, name)| (Regex::new(pattern).unwrap(), name)).into()
});

macro_rules! topics {
    ($($test:ident: $name:literal),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $test() {
                replay($name).await;
            }
        )*

        const TOPICS: &[&str] = &[$($name),*];
    };
}

topics!(
    anonymous: "anonymous",
    anonymous_off: "anonymous-off",
    anonymous_refused: "anonymous-refused",
    anonymous_unsaid: "anonymous-unsaid",
    audit: "audit",
    audit_stages: "audit-stages",
    audit_webhook: "audit-webhook",
    authorizer: "authorizer",
    authorizer_kept: "authorizer-kept",
    authorizer_older: "authorizer-older",
    conditions: "conditions",
    images: "images",
    images_open: "images-open",
    proxies: "proxies",
    structured: "structured",
    tokens: "tokens",
    tokens_older: "tokens-older",
);

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/recorded/authorities")
}

#[test]
fn every_recorded_topic_is_replayed() {
    let mut found: Vec<String> = std::fs::read_dir(recorded())
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    found.sort();
    assert_eq!(found, TOPICS);
}

/// The server of a topic, and what it talks with.
struct Talk {
    plane: Plane,
    api: Api,
    outside: Outside,
    places: HashMap<&'static str, String>,
    certificates: HashMap<&'static str, CertifiedKey>,
    /// The lines of the audit log; it is a pipe, so that they can be waited for.
    audit: mpsc::Receiver<String>,
    /// The connection of those without a certificate.
    open: Option<SendRequest<Full<Bytes>>>,
}

impl Talk {
    async fn start(first: &Value) -> Talk {
        let plane = Plane::start();
        let outside = Outside::start().await;
        let places = HashMap::from([
            ("dir", plane.folder.path().display().to_string()),
            ("good", outside.address.to_string()),
            ("gone", outside.gone.to_string()),
            ("bundle", outside.bundle.clone()),
        ]);
        let mut certificates = HashMap::new();
        for (name, own) in [("clients", ["ann", "client-front"]), ("proxies", ["front", "other"])] {
            let authority = Authority::generate().unwrap();
            std::fs::write(plane.path(&format!("{name}-ca.pem")), &authority.pem().certificate).unwrap();
            for file in own {
                let groups: &[&str] = if file == "ann" { &["dev"] } else { &[] };
                let user = User::new(file.trim_start_matches("client-"), groups.iter().copied());
                certificates.insert(file, authority.issue_client(&user).unwrap());
            }
        }
        for (name, text) in first.at(&["files"]).and_then(Value::as_object).unwrap().iter() {
            std::fs::write(plane.path(name), fill(text.as_str().unwrap(), &places)).unwrap();
        }
        let flags: Vec<String> =
            first.items_at(&["flags"]).iter().map(|flag| fill(flag.as_str().unwrap(), &places)).collect();
        let audit = follow(&plane.path("audit.log"));
        let api = start(&plane, &flags);
        Talk { plane, api, outside, places, certificates, audit, open: None }
    }

    async fn step(&mut self, step: &Value) -> Result<(), String> {
        if let Some(table) = step.get("serve").and_then(Value::as_object) {
            for (path, answer) in table.iter() {
                self.outside.serve(path, answer.clone());
            }
            return Ok(());
        }
        if let Some(expected) = step.get("asked").and_then(Value::as_array) {
            let asked = self.outside.asked(expected.len(), PATIENCE).await;
            return same(&Value::from(expected.clone()), &self.named(&Value::from(asked)));
        }
        if let Some(expected) = step.get("audit").and_then(Value::as_array) {
            let events = self.events(expected.len()).await?;
            return same(&Value::from(expected.clone()), &self.named(&Value::from(events)));
        }
        let (code, answer) = self.ask(step).await;
        if step.i64_at(&["code"]) != Some(code) {
            let real = step.get("answer").map(Value::to_json).unwrap_or_default();
            return Err(format!(
                "    real: {} {real}\n    ours: {code} {}",
                step.i64_at(&["code"]).unwrap(),
                answer.to_json()
            ));
        }
        let kept = step.get("only").filter(|_| code < 300).map(|only| {
            let mut kept = Value::object();
            for name in only.as_array().into_iter().flatten().filter_map(Value::as_str) {
                if let Some(value) = answer.get(name) {
                    kept.set(&[name], value.clone());
                }
            }
            kept
        });
        let answer = if answer.as_object().is_some() { kept.unwrap_or(answer) } else { answer };
        step.get("answer").map_or(Ok(()), |real| same(real, &answer))
    }

    async fn ask(&mut self, step: &Value) -> (i64, Value) {
        let (method, path) = step.str_at(&["ask"]).unwrap().split_once(' ').unwrap();
        let mut headers = vec![
            ("accept".to_owned(), "application/json".to_owned()),
            ("user-agent".to_owned(), "recorder/1".to_owned()),
            ("host".to_owned(), self.api.address.to_string()),
        ];
        if let Some(token) = step.str_at(&["who"]) {
            headers.push(("authorization".to_owned(), format!("Bearer {token}")));
        }
        if step.get("body").is_some() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        for (name, value) in
            step.at(&["headers"]).and_then(Value::as_object).into_iter().flat_map(|all| all.iter())
        {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            headers.push((name.to_owned(), value.as_str().unwrap().to_owned()));
        }
        let body = match step.get("body") {
            None => String::new(),
            Some(Value::String(text)) => text.to_string(),
            Some(body) => body.to_json(),
        };
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let certificate = step.str_at(&["cert"]).map(|name| &self.certificates[name]);
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        let answer = match (certificate, self.open.take()) {
            (Some(_), _) => self.api.exchange(certificate, request).await,
            (None, mut open) => {
                // The last answer may have been the connection's last, which shows only here.
                if let Some(sender) = &mut open
                    && sender.ready().await.is_err()
                {
                    open = None;
                }
                let mut open = match open {
                    Some(open) => open,
                    None => self.api.connect(None).await,
                };
                let answer = open.send_request(request).await.unwrap();
                self.open = Some(open);
                answer
            }
        };
        let is_json = answer
            .headers()
            .get("content-type")
            .is_some_and(|kind| kind.to_str().is_ok_and(|kind| kind.contains("json")));
        let (code, bytes) = whole(answer).await;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if !is_json {
            return (code.into(), self.text(&text).into());
        }
        if path.contains("watch=") {
            return (code.into(), Value::object());
        }
        if text.is_empty() {
            return (code.into(), "".into());
        }
        let mut answer = self.named(&json(&text));
        // They come in the order of a cache.
        for kind in ["resourceRules", "nonResourceRules"] {
            if let Some(rules) = answer.at_mut(&["status", kind]).and_then(Value::as_array_mut) {
                rules.sort_by_key(Value::to_json);
            }
        }
        (code.into(), answer)
    }

    /// So many events of the audit log, which come when they come.
    async fn events(&mut self, count: usize) -> Result<Vec<Value>, String> {
        let mut events = Vec::new();
        while events.len() < count {
            match tokio::time::timeout(PATIENCE, self.audit.recv()).await {
                Ok(Some(line)) => events.push(json(&line)),
                _ => return Err(format!("    {} of {count} events", events.len())),
            }
        }
        while let Ok(line) = self.audit.try_recv() {
            events.push(json(&line));
        }
        Ok(events)
    }

    /// Names in the place of what differs from run to run.
    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (place, name) in
            [("good", "<good>"), ("gone", "<gone>"), ("dir", "<dir>"), ("bundle", "<bundle>")]
        {
            text = text.replace(&self.places[place], name);
        }
        for (pattern, name) in NAMES.iter() {
            text = pattern.replace_all(&text, *name).into_owned();
        }
        text
    }

    fn named(&self, value: &Value) -> Value {
        json(&self.text(&value.to_json()))
    }
}

fn json(text: &str) -> Value {
    parse::json(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}")).value
}

fn fill(text: &str, places: &HashMap<&'static str, String>) -> String {
    let mut text = text.to_owned();
    for (name, place) in places {
        text = text.replace(&format!("${{{name}}}"), place);
    }
    text
}

/// The lines that are written to a file, which becomes a pipe.
fn follow(path: &Path) -> mpsc::Receiver<String> {
    nix::unistd::mkfifo(path, Mode::S_IRWXU).unwrap();
    // Open for writing too, it has no end, and nobody waits to open it.
    let pipe = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let (sender, receiver) = mpsc::channel(1024);
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Starts a kube-apiserver with the flags of the recorder's, as far as a topic does not say otherwise.
fn start(plane: &Plane, flags: &[String]) -> Api {
    let mut arguments = vec![
        "--allow-privileged=true".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--cert-dir={}", plane.path("certs").display()),
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        format!("--etcd-servers={}", plane.etcd_url),
        "--secure-port=0".to_owned(),
        "--service-account-issuer=https://localhost".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
    ];
    let name = |flag: &String| flag.split('=').next().unwrap_or_default().to_owned();
    arguments.retain(|flag| !flags.iter().any(|own| name(own) == name(flag)));
    arguments.extend(flags.iter().filter(|flag| *flag != "--authorization-mode=").cloned());
    let mut tool = Tool::start(plane.folder.path(), "kube-apiserver", &arguments);
    let address = tool.said("Serving securely on ").parse().unwrap();
    let trusted = std::fs::read_to_string(plane.path("certs/apiserver.crt")).unwrap();
    Api { tool, address, trusted }
}

/// The places where two documents differ.
fn same(real: &Value, ours: &Value) -> Result<(), String> {
    let mut differences = Vec::new();
    differ("", Some(real), Some(ours), &mut differences);
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
}

fn differ(path: &str, real: Option<&Value>, ours: Option<&Value>, out: &mut Vec<String>) {
    match (real, ours) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let mut keys: Vec<&str> = a.keys().chain(b.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                differ(&format!("{path}.{key}"), a.get(key), b.get(key), out);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differ(&format!("{path}[{index}]"), Some(a), Some(b), out);
            }
        }
        (a, b) if a == b => {}
        (a, b) => {
            let print = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_json);
            out.push(format!("  {path}\n    real: {}\n    ours: {}", print(a), print(b)));
        }
    }
}

async fn replay(topic: &str) {
    let steps = json(&std::fs::read_to_string(recorded().join(format!("{topic}.json"))).unwrap());
    let (first, steps) = steps.as_array().unwrap().split_first().unwrap();
    let mut talk = Talk::start(first).await;
    let mut differences = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        if let Err(difference) = talk.step(step).await {
            let asked =
                step.str_at(&["ask"]).unwrap_or(if step.get("audit").is_some() { "audit" } else { "asked" });
            differences.push(format!(
                "step {number}: {asked} {}\n{difference}",
                step.str_at(&["who"]).unwrap_or_default()
            ));
        }
    }
    println!("{topic}: {} steps, {} differ", steps.len(), differences.len());
    assert!(
        differences.is_empty(),
        "{} of {} differ\n\n{}",
        differences.len(),
        steps.len(),
        differences.join("\n")
    );
    drop(talk.plane);
}
