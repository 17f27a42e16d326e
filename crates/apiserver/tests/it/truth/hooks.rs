//! The webhooks of a recorded conversation: servers on loopback that answer as the recorded table says. They are those of
//! `conformance/truth/hook.py`, and write HTTP/1.1 by hand: some of the answers are not what a library would send.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use pilothouse_value::{Value, json, parse};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket};
use tokio_rustls::TlsAcceptor;

/// The servers that show a certificate: what it is for, whether the bundle's authority signed it, and the year of its end.
const SERVERS: [(&str, &[&str], bool, i32); 5] = [
    ("good", &["127.0.0.1", "localhost", "hook.default.svc"], true, 2100),
    ("other", &["other.example.com"], true, 2100),
    ("bare", &[], true, 2100),
    ("expired", &["127.0.0.1"], true, 2020),
    ("stranger", &["127.0.0.1"], false, 2100),
];

#[derive(Default)]
struct Shared {
    table: Value,
    asked: Vec<Value>,
    /// `${good}` and the address that it stands for.
    places: Vec<(String, String)>,
}

/// All of the servers; they end with the test's runtime.
pub(super) struct Hooks {
    shared: Arc<Mutex<Shared>>,
    bundle: String,
    _gone: TcpSocket,
}

impl Hooks {
    pub(super) async fn start() -> Hooks {
        let shared = Arc::new(Mutex::new(Shared { table: Value::object(), ..Shared::default() }));
        let (trusted, stranger) = (authority("authority"), authority("stranger"));
        for (name, alternatives, is_trusted, year) in SERVERS {
            let issuer = if is_trusted { &trusted.0 } else { &stranger.0 };
            let acceptor = acceptor(issuer, alternatives, year);
            serve(&shared, name, Some(acceptor)).await;
        }
        serve(&shared, "plain", None).await;
        let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
        place(&shared, "mute", mute.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = mute.accept().await {
                // What was said is heard before the line goes dead.
                let _heard = stream.read(&mut [0; 4096]).await;
            }
        });
        // Nobody else gets the port, and nobody listens there.
        let gone = TcpSocket::new_v4().unwrap();
        gone.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        place(&shared, "gone", gone.local_addr().unwrap());
        Hooks { shared, bundle: STANDARD.encode(trusted.1), _gone: gone }
    }

    /// What names in steps stand for, and what they are called in answers.
    pub(super) fn places(&self) -> Vec<(String, String, String)> {
        let shared = self.shared.lock();
        let place =
            |(name, address): &(String, String)| (name.clone(), address.clone(), format!("HOOK-{name}"));
        let mut places: Vec<_> = shared.places.iter().map(place).collect();
        let ports: Vec<_> = shared
            .places
            .iter()
            .map(|(name, address)| {
                let port = address.rsplit(':').next().unwrap_or_default().to_owned();
                // A port alone is no text that is looked for in answers.
                (format!("port_{name}"), port, String::new())
            })
            .collect();
        places.extend(ports);
        places.push(("bundle".into(), self.bundle.clone(), "BUNDLE".into()));
        places
    }

    /// Answers so at these paths, too.
    pub(super) fn table(&self, more: &Value) {
        let mut shared = self.shared.lock();
        for (path, answer) in more.as_object().unwrap().iter() {
            shared.table.set(&[path], answer.clone());
        }
    }

    /// What was asked since the last time.
    pub(super) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut self.shared.lock().asked)
    }
}

fn place(shared: &Mutex<Shared>, name: &str, address: SocketAddr) {
    shared.lock().places.push((name.to_owned(), address.to_string()));
}

fn authority(name: &str) -> (Issuer<'static, KeyPair>, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = params(name, &[], 2100);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = params.self_signed(&key).unwrap().pem();
    (Issuer::new(params, key), pem)
}

fn params(name: &str, alternatives: &[&str], year: i32) -> CertificateParams {
    let alternatives: Vec<String> = alternatives.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(alternatives).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(2001, 1, 1);
    params.not_after = date_time_ymd(year, 1, 1);
    params
}

/// TLS with a certificate that nobody has signed.
pub(super) fn self_signed(name: &str) -> TlsAcceptor {
    acceptor(&authority(name).0, &["127.0.0.1"], 2100)
}

fn acceptor(issuer: &Issuer<'static, KeyPair>, alternatives: &[&str], year: i32) -> TlsAcceptor {
    let key = KeyPair::generate().unwrap();
    let certificate = params("hook", alternatives, year).signed_by(&key, issuer).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

async fn serve(shared: &Arc<Mutex<Shared>>, name: &str, acceptor: Option<TlsAcceptor>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    place(shared, name, listener.local_addr().unwrap());
    let shared = shared.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (shared, acceptor) = (shared.clone(), acceptor.clone());
            tokio::spawn(async move {
                match acceptor {
                    // Who does not trust the certificate hangs up.
                    Some(acceptor) => match acceptor.accept(stream).await {
                        Ok(stream) => talk(stream, &shared).await,
                        Err(_) => None,
                    },
                    None => talk(stream, &shared).await,
                }
            });
        }
    });
}

/// Answers what comes on a connection, until it is closed.
async fn talk(mut stream: impl AsyncRead + AsyncWrite + Unpin, shared: &Mutex<Shared>) -> Option<()> {
    let mut read = Vec::new();
    loop {
        let end = loop {
            if let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            if stream.read_buf(&mut read).await.ok()? == 0 {
                return None;
            }
            if read.first() == Some(&0x16) {
                // Somebody speaks TLS to a server that does not.
                stream.write_all(b"<!DOCTYPE HTML>\r\n").await.ok()?;
                return None;
            }
        };
        let head = String::from_utf8_lossy(read.get(..end)?).into_owned();
        let header = |name: &str| {
            head.lines().find_map(|line| {
                let (key, value) = line.split_once(": ")?;
                key.eq_ignore_ascii_case(name).then(|| value.to_owned())
            })
        };
        let length: usize = header("content-length").map_or(0, |length| length.parse().unwrap());
        while read.len() < end + length {
            if stream.read_buf(&mut read).await.ok()? == 0 {
                return None;
            }
        }
        let body: Vec<u8> = read.drain(..end + length).skip(end).collect();
        let (method, rest) = head.split_once(' ')?;
        let target = rest.split(' ').next()?;
        let review = parse::json(&body).map(|parsed| parsed.value).unwrap_or_default();
        let mut asked = json!({"do": format!("{method} {target}"), "headers": {}});
        for name in ["Content-Type", "Accept", "User-Agent", "Referer", "Authorization"] {
            if let Some(value) = header(name) {
                asked.set(&["headers", name], value);
            }
        }
        // Those of a proxy, which come several times.
        for line in head.lines().skip(1) {
            let Some((name, value)) = line.split_once(": ") else { continue };
            let name = name.to_lowercase();
            if name.starts_with("x-remote-") || name.starts_with("x-forwarded-") {
                match asked.entry(&["headers", &name]) {
                    Value::Array(values) => values.push(value.into()),
                    other => *other = vec![Value::from(value)].into(),
                }
            }
        }
        if !body.is_empty() {
            asked.set(&["body"], review.clone());
        }
        let (answer, places) = {
            let mut shared = shared.lock();
            shared.asked.push(asked);
            let path = target.split('?').next()?;
            (shared.table.get(path).cloned(), shared.places.clone())
        };
        let answer = answer.unwrap_or_else(
            || json!({"code": 404, "headers": {"Content-Type": "text/plain"}, "body": "no such path"}),
        );
        // A conversion, by the version that is wanted.
        let answer = match answer.get("to") {
            Some(to) => {
                let desired = review.str_at(&["request", "desiredAPIVersion"]).unwrap_or_default();
                to.get(desired).cloned().unwrap_or_else(|| json!({"convert": {}}))
            }
            None => answer,
        };
        match answer.str_at(&["then"]) {
            Some("hang") => {
                let _closed = stream.read_buf(&mut read).await;
                return None;
            }
            Some(_) => return None,
            None => {}
        }
        let is_short = answer.i64_at(&["short"]).unwrap_or_default();
        let bytes = response(&answer, &review, &places, is_short);
        stream.write_all(&bytes).await.ok()?;
        if is_short > 0 {
            stream.shutdown().await.ok()?;
            return None;
        }
    }
}

fn response(answer: &Value, review: &Value, places: &[(String, String)], short: i64) -> Vec<u8> {
    let body = match answer.get("convert") {
        Some(_) if review.is_null() => "{}".to_owned(),
        Some(change) => converted(review, change).to_json(),
        None => match answer.get("body") {
            Some(Value::String(text)) => text.to_string(),
            Some(body) => body.to_json(),
            None => String::new(),
        },
    };
    let body = match review.get("request") {
        Some(request) => body.replace("$UID", request.str_at(&["uid"]).unwrap_or_default()),
        None => body,
    };
    let code = answer.i64_at(&["code"]).unwrap_or(200);
    let length = i64::try_from(body.len()).unwrap() + short;
    let mut text = format!("HTTP/1.1 {code} told\r\nContent-Length: {length}\r\n");
    let usual = json!({"Content-Type": "application/json"});
    for (name, value) in answer.get("headers").unwrap_or(&usual).as_object().unwrap().iter() {
        let mut value = value.as_str().unwrap().to_owned();
        for (place, address) in places {
            value = value.replace(&format!("${{{place}}}"), address);
        }
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    format!("{text}\r\n{body}").into_bytes()
}

/// The answer to a `ConversionReview`: the objects in the desired version, each with a merge patch and one more for those of
/// a name; some of them, or backwards, or more than they were.
fn converted(review: &Value, change: &Value) -> Value {
    let desired = review.str_at(&["request", "desiredAPIVersion"]).unwrap_or_default();
    let none = json!({});
    let merge = pilothouse_merge::merge_patch::apply;
    let mut objects: Vec<Value> = review.items_at(&["request", "objects"]).to_vec();
    for object in &mut objects {
        object.set(&["apiVersion"], desired);
        merge(object, change.get("merge").unwrap_or(&none));
        let name = object.str_at(&["metadata", "name"]).unwrap_or_default();
        let named = change.at(&["named", name]).cloned();
        merge(object, named.as_ref().unwrap_or(&none));
        if let Some(letters) = count(change, "big") {
            object.set(&["spec", "big"], "x".repeat(letters));
        }
    }
    if let Some(kept) = count(change, "keep") {
        objects.truncate(kept);
    }
    if change.get("reverse").is_some() {
        objects.reverse();
    }
    objects.extend_from_slice(change.items_at(&["more"]));
    let mut answer = json!({
        "apiVersion": review.str_at(&["apiVersion"]), "kind": review.str_at(&["kind"]),
        "response": {"uid": review.str_at(&["request", "uid"]), "result": {"status": "Success"}},
    });
    answer.set(&["response", "convertedObjects"], objects);
    merge(&mut answer, change.get("answer").unwrap_or(&none));
    answer
}

fn count(change: &Value, key: &str) -> Option<usize> {
    change.i64_at(&[key]).and_then(|count| usize::try_from(count).ok())
}

/// What a conversion webhook was asked, one object at a time and each once, as the recorder writes it down.
pub(super) fn conversions(asked: &[Value]) -> Vec<Value> {
    let mut made = std::collections::BTreeMap::new();
    for one in asked {
        for object in one.items_at(&["body", "request", "objects"]) {
            let mut object = object.clone();
            for key in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionTimestamp"] {
                if object.at(&["metadata", key]).is_some() {
                    object.set(&["metadata", key], "SET");
                }
            }
            let mut one = one.clone();
            one.set(&["body", "request", "uid"], "UID");
            one.set(&["body", "request", "objects"], vec![object]);
            made.insert(super::normal::python_json(&sorted(&one)), one);
        }
    }
    made.into_values().collect()
}

/// The same document with its members in the order of the alphabet.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(map) => {
            let members: std::collections::BTreeMap<_, _> =
                map.iter().map(|(key, value)| (key.to_owned(), sorted(value))).collect();
            Value::Object(members.into_iter().collect())
        }
        other => other.clone(),
    }
}
