//! The objects that are there before the first request, as a real kube-apiserver makes them under the same flags:
//! recorded by `conformance/boot/record.py`.

use std::collections::BTreeMap;
use std::path::Path;

use pilothouse_apiserver::certs::Authority;
use pilothouse_value::{Value, object, parse};

use crate::plane::{Api, Plane};

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/recorded/boot");
const TOKEN: &str = "recorder";

fn recorded(name: &str) -> Value {
    let text = std::fs::read(Path::new(RECORDED).join(format!("{name}.json"))).unwrap();
    parse::json(&text).unwrap().value
}

/// Objects by the path of the list and the place in it.
type Objects = BTreeMap<String, Value>;

fn by_place(path: &str, items: &[Value], port: i64, into: &mut Objects) {
    for item in items {
        let item = normal(item, "", port);
        let place =
            format!("{path} {}/{}", object::namespace(&item).unwrap_or_default(), object::name(&item));
        into.insert(place, item);
    }
}

async fn get(api: &Api, path: &str) -> Value {
    api.with_token(TOKEN, path).await
}

/// Every object of every resource that can be listed.
async fn listed(api: &Api, port: i64) -> Objects {
    let mut versions = vec!["/api/v1".to_owned()];
    for group in get(api, "/apis").await.items_at(&["groups"]) {
        let of_group = group.items_at(&["versions"]).iter().filter_map(|one| one.str_at(&["groupVersion"]));
        versions.extend(of_group.map(|version| format!("/apis/{version}")));
    }
    let mut found = Objects::new();
    for version in versions {
        for resource in get(api, &version).await.items_at(&["resources"]) {
            let name = resource.str_at(&["name"]).unwrap_or_default();
            let lists = resource.items_at(&["verbs"]).iter().any(|verb| verb.as_str() == Some("list"));
            if !lists || name == "events" {
                continue;
            }
            let path = format!("{version}/{name}");
            by_place(&path, get(api, &path).await.items_at(&["items"]), port, &mut found);
        }
    }
    found
}

/// What cannot be equal twice, made equal: the rules of `record.py`.
fn normal(value: &Value, key: &str, port: i64) -> Value {
    match value {
        Value::Object(map) => {
            let mut made = Value::object();
            for (key, member) in map.iter() {
                let mut member = normal(member, key, port);
                if let ("managedFields", Value::Array(managers)) = (key, &mut member) {
                    managers.sort_by_key(Value::to_json);
                }
                made.set(&[key], member);
            }
            made
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| normal(item, key, port)).collect()),
        Value::Int(number) if *number == port => Value::Int(6443),
        Value::String(text) => plain(text, key, port).into(),
        other => other.clone(),
    }
}

fn plain(text: &str, key: &str, port: i64) -> String {
    let identity = |text: &str| match text.strip_prefix("apiserver-") {
        Some(rest) if rest.len() >= 26 => Some(format!("apiserver-ID{}", &rest[26..])),
        _ => None,
    };
    let is_time = text.len() >= 20 && text.ends_with('Z') && text.get(10..11) == Some("T");
    match key {
        "kubernetes.io/hostname" => "HOST".to_owned(),
        "resourceVersion" => "RV".to_owned(),
        "uid" => "UID".to_owned(),
        "since" => "DAY".to_owned(),
        "holderIdentity" => {
            let own = identity(text).unwrap_or_else(|| text.to_owned());
            own.split_once('_').map_or_else(|| own.clone(), |(name, _)| format!("{name}_UID"))
        }
        _ if is_time => "TIME".to_owned(),
        _ if text.contains("BEGIN CERTIFICATE") => "CERTIFICATE\n".to_owned(),
        _ => identity(text).unwrap_or_else(|| text.replace(&port.to_string(), "6443")),
    }
}

fn start(plane: &Plane, flags: &[String]) -> Api {
    std::fs::write(plane.path("tokens"), format!("{TOKEN},admin,admin,\"system:masters\"\n")).unwrap();
    std::fs::write(plane.path("ca.crt"), &Authority::generate().unwrap().pem().certificate).unwrap();
    let ca = plane.path("ca.crt").display().to_string();
    let mut all: Vec<String> = flags.iter().map(|flag| flag.replace("{ca}", &ca)).collect();
    for flag in [
        "--authorization-mode=RBAC".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--cert-dir={}", plane.path("certs").display()),
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        format!("--etcd-servers={}", plane.etcd_url),
        "--secure-port=0".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        format!("--token-auth-file={}", plane.path("tokens").display()),
    ] {
        let name = flag.split('=').next().unwrap_or_default();
        if !flags.iter().any(|given| given.split('=').next() == Some(name)) {
            all.push(flag);
        }
    }
    plane.api_of(&all)
}

/// A server with the flags of a recording. Until it is up the whole test waits.
fn booted(name: &str) -> (Plane, Api) {
    let flags = recorded(name);
    let flags: Vec<String> =
        flags.items_at(&["flags"]).iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let plane = Plane::start();
    let api = start(&plane, &flags);
    (plane, api)
}

/// Says which objects differ.
async fn differences(name: &str, api: &Api) -> Vec<String> {
    let recording = recorded(name);
    let usual = recorded("default");
    let mut wanted = Objects::new();
    let (own, lists) = (recording.get("objects").unwrap(), usual.get("objects").unwrap());
    let paths: std::collections::BTreeSet<&str> = [own, lists]
        .into_iter()
        .flat_map(|lists| lists.as_object().unwrap().iter().map(|(path, _)| path))
        .collect();
    for path in paths {
        let items = own.get(path).or_else(|| lists.get(path)).and_then(Value::as_array).unwrap();
        by_place(path, items, 6443, &mut wanted);
    }
    let port = i64::from(api.address.port());
    let mut found = listed(api, port).await;
    let mut said = Vec::new();
    for (place, theirs) in &wanted {
        match found.remove(place) {
            None => said.push(format!("{name}: {place} is missing")),
            Some(ours) if ours != *theirs => {
                said.push(format!("{name}: {place}\n  real {}\n  ours {}", theirs.to_json(), ours.to_json()));
            }
            Some(_) => {}
        }
    }
    said.extend(found.keys().map(|place| format!("{name}: {place} is not there upstream")));
    said
}

#[tokio::test]
async fn a_server_starts_with_the_objects_that_a_real_one_makes() {
    let mut names: Vec<String> = std::fs::read_dir(RECORDED)
        .unwrap()
        .filter_map(|entry| {
            entry.unwrap().file_name().into_string().ok()?.strip_suffix(".json").map(str::to_owned)
        })
        .collect();
    names.sort();
    // All of them before the first connection: a server does not wait for ever for who has begun to speak.
    let servers: Vec<(Plane, Api)> = names.iter().map(|name| booted(name)).collect();
    let asked = names.iter().zip(&servers).map(|(name, (_, api))| differences(name, api));
    let said: Vec<Vec<String>> = futures::future::join_all(asked).await;
    let said: Vec<String> = said.into_iter().flatten().collect();
    assert!(names.len() >= 10 && said.is_empty(), "{} differ:\n{}", said.len(), said.join("\n"));
}
