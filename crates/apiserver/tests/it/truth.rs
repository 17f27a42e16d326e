//! Conversations recorded with a real kube-apiserver 1.37.2 (`conformance/truth`), held again with ours: the same
//! requests, and the same answers after what cannot be equal twice is normalised on both sides.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use pilothouse_apiserver::{Aggregation, LocalService, Server, Tuning, User};
use pilothouse_value::stack::deeper;
use pilothouse_value::{Value, parse};
use tower::ServiceExt as _;

mod backends;
mod compared;
mod hooks;
mod network;
mod normal;
mod wire;

use backends::Backends;
use compared::{as_text, deep, kept, member, spelled, told};
use hooks::Hooks;
use network::{Network, messages};
use normal::{Names, Pairs};

/// One test for each recorded topic: each has a server of its own, whose clock is held, unless webhooks of the topic are
/// reached through a network.
macro_rules! topics {
    ($($name:ident),*; with webhooks: $($hooked:ident),*; with backends: $($backed:ident),*) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                replay(stringify!($name), None).await;
            }
        )*
        $(
            #[tokio::test]
            async fn $hooked() {
                replay(stringify!($hooked), Some(Hooks::start().await)).await;
            }
        )*

        $(
            #[tokio::test]
            async fn $backed() {
                replay_through_network(stringify!($backed)).await;
            }
        )*

        const TOPICS: &[&str] = &[$(stringify!($name)),*, $(stringify!($hooked)),*, $(stringify!($backed)),*];
    };
}

topics!(
    actions,
    apply,
    bytes,
    changes,
    crd,
    create,
    delete,
    empties,
    evictions,
    encodings,
    fairness,
    faults,
    found,
    graces,
    heads,
    http,
    json,
    kinds,
    list,
    numbers,
    pages,
    pains,
    patch,
    paths,
    policies,
    queries,
    reads,
    removals,
    repeats,
    services,
    shown,
    subresources,
    sifted,
    swept,
    update,
    upgrades,
    versions,
    watch,
    watches,
    yaml;
    with webhooks: aggregation, conversions, converting, deletions, webhooks;
    with backends: kubelets, proxies, translated
);

/// Characters of a text that is compared whatever is kept of the answer.
const LONG: usize = 1000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/recorded/truth")
}

#[test]
fn every_recorded_topic_is_replayed() {
    let mut found: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    found.sort();
    let mut topics = TOPICS.to_vec();
    topics.sort_unstable();
    assert_eq!(found, topics);
}

#[test]
fn every_report_of_a_fault_has_steps_or_a_reason() {
    let reports = std::fs::read(crate::recorded::corpus().join("pains/pains.json")).unwrap();
    let reports = parse::json(&reports).unwrap().value;
    let steps = parse::json(&std::fs::read(folder().join("faults.json")).unwrap()).unwrap().value;
    let list = std::fs::read_to_string(folder().join("../../truth/pains.txt")).unwrap();
    let lines: HashMap<&str, &str> =
        list.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' ')).collect();
    for report in reports.as_array().unwrap() {
        let id = report.str_at(&["id"]).unwrap();
        let line = lines.get(id).unwrap_or_else(|| panic!("{id} is not in pains.txt"));
        let held =
            steps.as_array().unwrap().iter().filter(|step| step.str_at(&["about"]) == Some(id)).count();
        let told = line.split("faults ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or("0");
        assert_eq!(told.parse(), Ok(held), "steps of {id}");
        let is_held = line.starts_with("pains") || held > 0;
        assert!(is_held || line.starts_with("none: "), "{id} has neither steps nor a reason");
    }
    assert_eq!(lines.len(), reports.as_array().unwrap().len());
}

/// Holds the conversation and fails with every step whose answer differs.
async fn replay(topic: &str, hooks: Option<Hooks>) {
    let bytes = std::fs::read(folder().join(format!("{topic}.json"))).unwrap();
    let steps = parse::json(&bytes).unwrap().value;
    let steps = steps.as_array().unwrap();
    // Like the recorded servers, it knows its callers by tokens alone.
    let server = Server::builder().client_authorities("").require_service_accounts(false);
    // However slow the machine is, nobody is asked while the conversation does not say so, and nobody is too late.
    let (interval, patience) = (Duration::from_secs(3600), Duration::from_secs(60));
    let server = server.aggregation(Aggregation { interval, patience, ..Aggregation::default() });
    let server = server.set_verbosity(Arc::new(|_| {})).start().unwrap();
    // The recorder's own user, whom webhooks are told of.
    let user = User { uid: "admin".into(), ..User::new("admin", ["system:masters"]) };
    let mut talk = Talk {
        service: server.service(user),
        saved: HashMap::new(),
        names: Names::default(),
        pairs: Pairs::default(),
        hooks,
        server,
        outside: None,
    };
    talk.name_hooks();
    hold(topic, steps, talk).await;
}

/// As [`replay`], with somebody behind nodes, pods and Services, and over a socket: connections may leave HTTP.
async fn replay_through_network(topic: &str) {
    let bytes = std::fs::read(folder().join(format!("{topic}.json"))).unwrap();
    let steps = parse::json(&bytes).unwrap().value;
    let user = User { uid: "admin".into(), ..User::new("admin", ["system:masters"]) };
    let tuning = Tuning { routes: Some(backends::route), ..Tuning::default() };
    let server = Server::builder().tokens([("recorder".to_owned(), user.clone())].into()).tuning(tuning);
    let server = server.start().unwrap();
    let network = Network::listen(&server).await;
    let backends = Backends::start().await;
    let (saved, symbols) = backends.places();
    let mut names = Names::default();
    for (place, symbol) in symbols {
        names.place(place, symbol);
    }
    names.place(network.host(), "SERVER".into());
    names.place(backends::OUTSIDE.into(), "OUTSIDE".into());
    let talk = Talk {
        service: server.service(user),
        saved: saved.into_iter().collect(),
        names,
        pairs: Pairs::default(),
        hooks: None,
        server,
        outside: Some((network, backends)),
    };
    hold(topic, steps.as_array().unwrap(), talk).await;
}

async fn hold(topic: &str, steps: &[Value], mut talk: Talk) {
    let known = known_differences(topic);
    let (mut differences, mut cured) = (Vec::new(), Vec::new());
    for (number, step) in steps.iter().enumerate() {
        match (talk.step(step).await, known.contains(&number)) {
            (Err(difference), false) => {
                let headers = step.get("headers").map(Value::to_json).unwrap_or_default();
                let asked = step.str_at(&["do"]).unwrap_or("what webhooks were asked");
                differences.push(format!("step {number}: {asked} {headers}\n{difference}"));
            }
            (Ok(()), true) => cured.push(number),
            _ => {}
        }
    }
    let agreed = steps.len() - differences.len() - known.len() + cured.len();
    println!("{topic}: {} pairs, {agreed} agree", steps.len());
    assert!(
        differences.is_empty(),
        "{} of {} differ\n\n{}",
        differences.len(),
        steps.len(),
        differences.join("\n")
    );
    assert!(cured.is_empty(), "steps {cured:?} of {topic} agree now: delete their lines in differences.txt");
}

/// The steps that `conformance/truth/differences.txt` says we answer otherwise, and why.
fn known_differences(topic: &str) -> Vec<usize> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/truth/differences.txt");
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut steps = Vec::new();
    for line in lines {
        let mut words = line.splitn(3, ' ');
        let (name, step, why) = (words.next().unwrap(), words.next().unwrap(), words.next());
        assert!(why.is_some(), "a difference without a reason: {line}");
        if name == topic {
            steps.push(step.parse().unwrap());
        }
    }
    steps
}

/// Tells those whom the server asks what to answer.
type Serve<'a> = &'a dyn Fn(&Value);
/// What they were asked.
type Take<'a> = &'a dyn Fn() -> Vec<Value>;

/// What a conversation remembers.
struct Talk {
    service: LocalService,
    saved: HashMap<String, String>,
    names: Names,
    pairs: Pairs,
    hooks: Option<Hooks>,
    server: Server,
    outside: Option<(Network, Backends)>,
}

impl Talk {
    fn name_hooks(&mut self) {
        for (name, place, symbol) in self.hooks.iter().flat_map(Hooks::places) {
            self.saved.insert(name, place.clone());
            if !symbol.is_empty() {
                self.names.place(place, symbol);
            }
        }
    }

    /// What webhooks answer from here on, or what they were asked.
    fn hook_step(&mut self, step: &Value) -> Option<Result<(), String>> {
        let (serve, take): (Serve<'_>, Take<'_>) = match (&self.hooks, &self.outside) {
            (Some(hooks), _) => (&|table| hooks.table(table), &|| hooks.take()),
            (None, Some((_, backends))) => (&|table| backends.table(table), &|| backends.take()),
            (None, None) => return None,
        };
        if let Some(table) = step.get("serve") {
            serve(table);
            return Some(Ok(()));
        }
        let is_lost = step.get("unstable").is_some() && step.get("do").is_none();
        if is_lost || step.get("forget").is_some() {
            take();
            return Some(Ok(()));
        }
        let (expected, asked) = match step.get("converted") {
            Some(expected) => {
                // How often a webhook is asked, and whether, is a matter of caches; what it is asked is not.
                let asked = hooks::conversions(&take());
                let known = expected.as_array()?;
                let other: Vec<Value> =
                    asked.iter().filter(|asked| !known.contains(asked)).cloned().collect();
                let told = || format!("  real: {expected}\n  ours: {}", Value::from(other.clone()));
                return Some(if other.is_empty() { Ok(()) } else { Err(told()) });
            }
            None => {
                let expected = step.get("asked")?;
                let kind = step.str_at(&["kind"]);
                let mut asked = take();
                asked.retain(|asked| kind.is_none() || asked.str_at(&["body", "kind"]) == kind);
                let mut asked: Vec<Value> = asked.iter().map(|asked| self.names.normal(asked)).collect();
                asked.sort_by_key(|asked| asked.str_at(&["do"]).map(str::to_owned));
                (expected, asked)
            }
        };
        let mut differences = Vec::new();
        self.differ("asked", Some(expected), Some(&Value::Array(asked.into())), &mut differences);
        Some(if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) })
    }

    /// Asks for a document that nothing is written down of.
    async fn document(&self, path: &str, accept: Option<&str>) -> (u16, Value) {
        let request =
            Request::builder().uri(self.fill(path)).header("accept", accept.unwrap_or("application/json"));
        let response =
            self.service.clone().oneshot(request.body(Full::new(Bytes::new())).unwrap()).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, parse::json(&bytes).map(|parsed| parsed.value).unwrap_or_default())
    }

    /// Waits as the recorder did, or looks at one part of a document.
    async fn look(&mut self, step: &Value) -> Option<Result<(), String>> {
        let text = |key: &str| step.str_at(&[key]);
        let accept = text("accept");
        if let Some(path) = text("until") {
            let what = step.get("what").map(spelled)?;
            // What is waited for goes on behind the API, and partly in other tasks of this test.
            let mut again = tokio::time::interval(Duration::from_millis(10));
            for _ in 0..12_000 {
                let (code, document) = self.document(path, accept).await;
                let found = match text("where") {
                    Some("code") => vec![Value::Int(code.into())],
                    found => deep(&document, found.unwrap_or_default()),
                };
                if found.iter().any(|one| spelled(one).contains(&what)) {
                    return Some(Ok(()));
                }
                again.tick().await;
            }
            return Some(Err(format!("{path} never says {what}")));
        }
        let path = text("members").or_else(|| text("picked"))?;
        let (_, document) = self.document(path, accept).await;
        let found: Vec<Value> = if text("members").is_some() {
            step.items_at(&["of"]).iter().map(|keys| member(&document, keys).unwrap_or_default()).collect()
        } else {
            let what = text("what").unwrap_or_default();
            let is_it = |one: &&Value| {
                deep(one, text("where").unwrap_or_default()).iter().any(|inner| inner.as_str() == Some(what))
            };
            document.items_at(&[text("among").unwrap_or_default()]).iter().filter(is_it).cloned().collect()
        };
        let ours = self.names.normal(&found.into());
        let mut differences = Vec::new();
        self.differ("answer", step.get("answer"), Some(&ours), &mut differences);
        Some(if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) })
    }

    async fn step(&mut self, step: &Value) -> Result<(), String> {
        if let Some(outcome) = self.look(step).await {
            return outcome;
        }
        if self.hooks.is_some() {
            self.server.settled().await;
        }
        if let Some(outcome) = self.hook_step(step) {
            return outcome;
        }
        // The held clock moves on when nothing else is left to do: what goes on behind the API is over before the next
        // request, as it was when the recorder had waited.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let (method, path) = step.str_at(&["do"]).unwrap().split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(self.fill(path));
        let mut headers =
            vec![("Accept", b"application/json".to_vec()), ("User-Agent", b"recorder/1".to_vec())];
        let body = step.get("body").map(|body| self.body(body));
        if body.is_some() {
            headers.push(("Content-Type", b"application/json".to_vec()));
        }
        for (name, value) in
            step.get("headers").and_then(Value::as_object).into_iter().flat_map(|map| map.iter())
        {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            if let Some(latin) = value.str_at(&["latin-1"]) {
                headers.push((name, latin.chars().map(|c| u8::try_from(c).unwrap()).collect()));
                continue;
            }
            for value in value.as_str().unwrap().split(if name == "Impersonate-Group" { ',' } else { '\n' }) {
                headers.push((name, value.as_bytes().to_vec()));
            }
        }
        for (name, value) in headers {
            request = request.header(name, &value[..]);
        }
        let request = request.body(Full::new(body.unwrap_or_default())).unwrap();
        if let (Some(said), Some((network, _))) = (step.str_at(&["talk"]), &self.outside) {
            let until = step.str_at(&["until"]);
            let said = network.talk(request.into_parts().0, said, until).await;
            return self.compare_talk(step, said);
        }
        let (parts, bytes) = match &self.outside {
            Some((network, _)) => network.send(request).await,
            None => {
                let (parts, body) = self.service.clone().oneshot(request).await.unwrap().into_parts();
                (parts, body.collect().await.unwrap().to_bytes())
            }
        };

        let mut said = Value::object();
        said.set(&["code"], i64::from(parts.status.as_u16()));
        let kind = parts.headers.get("content-type").map_or("", |kind| kind.to_str().unwrap());
        if kind != "application/json" {
            said.set(&["type"], kind);
        }
        let warnings = self.warnings(&parts.headers);
        if !warnings.is_empty() {
            said.set(&["warnings"], warnings);
        }
        if step.get("heads").is_some() {
            let mut heads = told(&parts.headers, step, &self.names);
            for name in ["x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid"] {
                // Some topics tell which ones they are.
                let known = step.str_at(&["heads", name]).is_some_and(|known| known != "ID");
                let uid = parts.headers.get(name).and_then(|uid| uid.to_str().ok()).filter(|_| known);
                if let Some(uid) = uid {
                    heads.set(&[name], self.names.text(uid));
                }
            }
            said.set(&["heads"], heads);
        }
        let text = String::from_utf8_lossy(&bytes);
        let mut raw = Value::Null;
        if method == "HEAD" {
            // A server on a wire sends no body here.
        } else if kind.contains("protobuf") {
            said.set(&["answer"], wire::answer(&mut self.names, &bytes, kind.contains("stream=watch")));
        } else if step.get("raw").is_some() {
            said.set(&["answer"], self.names.written(&text));
        } else if kind.contains("yaml") {
            raw = parse::yaml(&bytes).map_err(|error| format!("  not YAML: {error}: {text}"))?.value;
            said.set(&["answer"], kept(as_text(self.names.normal(&raw)), step));
        } else if kind.contains("json") {
            let answer = match parse::json(text.as_bytes()) {
                Ok(parsed) => {
                    raw = parsed.value;
                    self.names.normal(&raw)
                }
                Err(_) => {
                    let lines = text.lines().filter(|line| !line.trim().is_empty());
                    let events = lines.map(|line| {
                        parse::json(line.as_bytes()).map(|parsed| self.names.normal(&parsed.value))
                    });
                    Value::Array(
                        events
                            .collect::<Result<_, _>>()
                            .map_err(|error| format!("  not JSON: {error}: {text}"))?,
                    )
                }
            };
            said.set(&["answer"], kept(answer, step));
        } else if !text.is_empty() && (step.get("keep").is_none() || text.len() <= LONG) {
            said.set(&["answer"], self.names.text(&text));
        }
        for (name, place) in
            step.get("save").and_then(Value::as_object).into_iter().flat_map(|map| map.iter())
        {
            let mut found = &raw;
            for part in place.as_str().unwrap().split('.') {
                let next = match part.parse::<usize>() {
                    Ok(index) => found.as_array().and_then(|items| items.get(index)),
                    Err(_) => found.get(part),
                };
                found = next.ok_or_else(|| format!("  nothing at {part} of {place} to remember: {raw}"))?;
            }
            self.saved.insert(name.to_owned(), found.as_str().map_or_else(|| found.to_json(), str::to_owned));
        }
        self.compare(step, &said)
    }

    /// What was said after HTTP was left, or instead.
    fn compare_talk(
        &mut self,
        step: &Value,
        (parts, rest): (http::response::Parts, String),
    ) -> Result<(), String> {
        let mut said = Value::object();
        said.set(&["code"], i64::from(parts.status.as_u16()));
        let mut heads = Value::object();
        for (name, value) in &parts.headers {
            let name = name.as_str();
            let value = match name {
                "date" => continue,
                "audit-id" => "ID".to_owned(),
                _ => self.names.text(value.to_str().unwrap()),
            };
            let known = heads.str_at(&[name]).map(|known| format!("{known}, {value}"));
            heads.set(&[name], known.unwrap_or(value));
        }
        said.set(&["heads"], heads);
        if step.get("until").is_some() && parts.status == 101 {
            let told: Value = messages(&rest).iter().map(|one| self.names.text(one)).collect();
            said.set(&["answer"], told);
        } else {
            said.set(&["answer"], self.names.text(&rest));
        }
        self.compare(step, &said)
    }

    fn compare(&mut self, step: &Value, said: &Value) -> Result<(), String> {
        if step.get("unstable").is_some() {
            let same = step.get("code") == said.get("code");
            return if same {
                Ok(())
            } else {
                Err(format!("  code: {:?}, not {:?}", said.get("code"), step.get("code")))
            };
        }
        let mut differences = Vec::new();
        if step.get("code") != said.get("code") {
            let brief = |answer: &Value| {
                let text = answer.str_at(&["answer", "message"]).unwrap_or_default();
                format!("{} {text}", answer.get("code").and_then(Value::as_i64).unwrap_or_default())
            };
            return Err(format!("  real: {}\n  ours: {}", brief(step), brief(said)));
        }
        for member in ["type", "heads", "warnings"] {
            self.differ(member, step.get(member), said.get(member), &mut differences);
        }
        // Some YAML was recorded whole although not all of it is compared.
        let yaml =
            step.str_at(&["type"]).is_some_and(|kind| kind.contains("yaml")) && step.get("raw").is_none();
        let expected =
            step.get("answer").map(|answer| if yaml { kept(answer.clone(), step) } else { answer.clone() });
        self.differ("answer", expected.as_ref(), said.get("answer"), &mut differences);
        if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
    }

    /// The places where two documents differ, in the order of their paths.
    fn differ(&mut self, path: &str, expected: Option<&Value>, found: Option<&Value>, out: &mut Vec<String>) {
        match (expected, found) {
            (Some(Value::Object(a)), Some(Value::Object(b))) => {
                let mut keys: Vec<&str> = a.keys().chain(b.keys()).collect();
                keys.sort_unstable();
                keys.dedup();
                for key in keys {
                    deeper(|| self.differ(&format!("{path}.{key}"), a.get(key), b.get(key), out));
                }
            }
            (Some(Value::Array(a)), Some(Value::Array(b))) if a.len() == b.len() => {
                for (index, (a, b)) in a.iter().zip(b).enumerate() {
                    deeper(|| self.differ(&format!("{path}[{index}]"), Some(a), Some(b), out));
                }
            }
            (Some(Value::String(a)), Some(Value::String(b))) if self.pairs.same(a, b) => {}
            (a, b) if a == b => {}
            (a, b) => {
                let print = |v: Option<&Value>| v.map_or_else(|| "nothing".to_owned(), Value::to_json);
                out.push(format!("  {path}\n    real: {}\n    ours: {}", print(a), print(b)));
            }
        }
    }

    fn warnings(&mut self, headers: &http::HeaderMap) -> Vec<Value> {
        let texts = headers.get_all("warning").iter().filter_map(|header| {
            let text =
                std::str::from_utf8(header.as_bytes()).ok()?.strip_prefix("299 - \"")?.strip_suffix('"')?;
            Some(text.replace("\\\"", "\"").replace("\\\\", "\\"))
        });
        texts.map(|text| Value::from(self.names.text(&text))).collect()
    }

    fn body(&self, body: &Value) -> bytes::Bytes {
        if let Some(encoded) = body.str_at(&["base64"]) {
            return STANDARD.decode(encoded).unwrap().into();
        }
        if let Some(file) = body.str_at(&["file"]) {
            return std::fs::read(crate::recorded::corpus().join(file)).unwrap().into();
        }
        self.fill(&body.as_str().map_or_else(|| body.to_json(), str::to_owned)).into()
    }

    /// Puts what was saved in the place of `${name}`, and nine of x in the place of `${x*9}`.
    fn fill(&self, text: &str) -> String {
        let mut parts = text.split("${");
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            // A brace that is repeated does not end what is said of it.
            let end = part.char_indices().skip(1).find(|(_, c)| *c == '}').map(|(at, _)| at).unwrap();
            let (name, rest) = (&part[..end], &part[end + 1..]);
            match name.split_once('*') {
                Some((run, times)) => filled.push_str(&run.repeat(times.parse().unwrap())),
                None => filled.push_str(self.saved.get(name).map_or("nothing saved", String::as_str)),
            }
            filled.push_str(rest);
        }
        filled
    }
}
