//! What stands behind nodes, pods and Services in a recorded conversation: servers on loopback that answer, letter by letter, as
//! the recorded table says. They are those of `conformance/truth/backend.py`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use pilothouse_value::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::hooks;

/// The servers, and whether they speak TLS.
const SERVERS: [(&str, bool); 3] = [("plain", false), ("kubelet", true), ("near", true)];

/// An address that is nobody's; [`route`] leads from there to the servers.
pub(super) const OUTSIDE: &str = "192.0.2.7";

/// Where connections to [`OUTSIDE`] go.
pub(super) fn route(wanted: SocketAddr) -> SocketAddr {
    match wanted.ip().to_string() == OUTSIDE {
        true => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), wanted.port()),
        false => wanted,
    }
}

#[derive(Default)]
struct Shared {
    table: Value,
    asked: Vec<Value>,
    ports: Vec<(&'static str, u16)>,
}

/// Names with what stands for them.
type Pairs = Vec<(String, String)>;

/// All of the servers; they end with the test's runtime.
pub(super) struct Backends {
    shared: Arc<Mutex<Shared>>,
    _gone: TcpSocket,
}

impl Backends {
    pub(super) async fn start() -> Backends {
        let shared = Arc::new(Mutex::new(Shared { table: Value::object(), ..Shared::default() }));
        for (name, secure) in SERVERS {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            shared.lock().ports.push((name, listener.local_addr().unwrap().port()));
            let acceptor = secure.then(|| hooks::self_signed("kubelet"));
            let shared = shared.clone();
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(shared.clone(), stream, acceptor.clone()));
                }
            });
        }
        // Nobody else gets the port, and nobody listens there.
        let gone = TcpSocket::new_v4().unwrap();
        gone.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        shared.lock().ports.push(("gone", gone.local_addr().unwrap().port()));
        Backends { shared, _gone: gone }
    }

    /// What names in steps stand for, and what they are called in answers.
    pub(super) fn places(&self) -> (Pairs, Pairs) {
        let mut names = vec![("outside".to_owned(), OUTSIDE.to_owned())];
        let mut symbols = Vec::new();
        for (name, port) in &self.shared.lock().ports {
            names.push(((*name).to_owned(), port.to_string()));
            symbols.push((format!("{OUTSIDE}:{port}"), format!("OUTSIDE:{name}")));
            symbols.push((format!("127.0.0.1:{port}"), format!("NEAR:{name}")));
            symbols.push((format!(":{port}"), format!(":{name}")));
        }
        (names, symbols)
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

/// Whoever speaks TLS where none is spoken, or none where it is, is told in plain words.
async fn serve(
    shared: Arc<Mutex<Shared>>,
    mut stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
) -> Option<()> {
    let mut first = [0];
    stream.peek(&mut first).await.ok()?;
    match (acceptor, first == [0x16]) {
        (None, false) => talk(&shared, stream).await,
        (Some(acceptor), true) => talk(&shared, acceptor.accept(stream).await.ok()?).await,
        (acceptor, _) => {
            if stream.read(&mut [0; 65536]).await.ok()? == 0 {
                return None;
            }
            let said: &[u8] = match acceptor {
                None => b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                Some(_) => {
                    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
                }
            };
            stream.write_all(said).await.ok()?;
            stream.shutdown().await.ok()
        }
    }
}

async fn talk<S>(shared: &Mutex<Shared>, stream: S) -> Option<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut stream = BufReader::new(stream);
    loop {
        let line = line(&mut stream).await?;
        let mut words = line.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = Value::object();
        loop {
            let header = self::line(&mut stream).await.unwrap_or_default();
            let Some((name, value)) = header.split_once(':') else { break };
            let (name, value) = (name.to_ascii_lowercase(), value.trim());
            let known = headers.str_at(&[&name]).map(|known| format!("{known}, {value}"));
            headers.set(&[&name], known.unwrap_or_else(|| value.to_owned()));
        }
        let length = headers.str_at(&["content-length"]).and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;
        while headers.str_at(&["transfer-encoding"]) == Some("chunked") {
            let length = usize::from_str_radix(&self::line(&mut stream).await?, 16).ok()?;
            let mut part = vec![0; length];
            stream.read_exact(&mut part).await.ok()?;
            self::line(&mut stream).await;
            body.extend(part);
            if length == 0 {
                break;
            }
        }
        let path = target.split('?').next().unwrap_or_default();
        let said = {
            let mut shared = shared.lock();
            let mut asked = json!({"do": format!("{method} {target}"), "headers": headers});
            if !body.is_empty() {
                asked.set(&["body"], String::from_utf8(body).unwrap());
            }
            shared.asked.push(asked);
            shared.table.get(path).cloned().unwrap_or_else(|| {
                json!({"raw": "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nno such path\n"})
            })
        };
        let bytes = fill(&shared.lock().ports, &said);
        stream.write_all(&bytes).await.ok()?;
        stream.flush().await.ok()?;
        match said.str_at(&["then"]) {
            None => {}
            Some("echo") => loop {
                let mut part = [0; 4096];
                let length = stream.read(&mut part).await.ok()?;
                if length == 0 {
                    return Some(());
                }
                stream.write_all(&part[..length]).await.ok()?;
                stream.flush().await.ok()?;
            },
            Some(_) => return stream.shutdown().await.ok(),
        }
    }
}

async fn line<S: AsyncRead + Unpin>(stream: &mut BufReader<S>) -> Option<String> {
    let mut line = Vec::new();
    stream.read_until(b'\n', &mut line).await.ok()?;
    let line = String::from_utf8_lossy(&line).trim().to_owned();
    (!line.is_empty()).then_some(line)
}

fn fill(ports: &[(&'static str, u16)], said: &Value) -> Vec<u8> {
    let raw = said.str_at(&["raw"]).unwrap();
    let (head, text) = raw.split_once("\r\n\r\n").unwrap_or((raw, ""));
    let named = |text: &str| {
        let text = text.replace("${outside}", OUTSIDE);
        ports.iter().fold(text, |text, (name, port)| text.replace(&format!("${{{name}}}"), &port.to_string()))
    };
    let data = match said.str_at(&["base64"]) {
        Some(data) => STANDARD.decode(data).unwrap(),
        None => named(text).into_bytes(),
    };
    let head = named(head).replace("Content-Length: *", &format!("Content-Length: {}", data.len()));
    let mut bytes: Vec<u8> = head.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    if raw.contains("\r\n\r\n") {
        bytes.extend(b"\r\n\r\n");
    }
    bytes.extend(data);
    bytes
}
