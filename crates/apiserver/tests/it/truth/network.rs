//! The server of a recorded conversation over a socket, as the recorder talks to the real one.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use pilothouse_apiserver::{Listening, Server};
use rustls::RootCertStore;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The longest that a conversation waits for what does not come.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Network {
    /// The connection that the last request has left open.
    open: Mutex<Option<SendRequest<Full<Bytes>>>>,
    listening: Listening,
    connector: TlsConnector,
}

impl Network {
    pub(super) async fn listen(server: &Server) -> Network {
        let listening = server.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(listening.authority_pem().as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Network { open: Mutex::new(None), listening, connector: TlsConnector::from(Arc::new(config)) }
    }

    pub(super) fn host(&self) -> String {
        self.listening.address().to_string()
    }

    async fn connect(&self) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(self.listening.address()).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        self.connector.connect(name, stream).await.unwrap()
    }

    /// Sends a request and reads the whole answer.
    pub(super) async fn send(
        &self,
        mut request: http::Request<Full<Bytes>>,
    ) -> (http::response::Parts, Bytes) {
        let mut open = self.open.lock().take();
        // The last answer may have been the connection's last, which shows only here.
        if let Some(sender) = &mut open
            && sender.ready().await.is_err()
        {
            open = None;
        }
        let mut sender = match open {
            Some(open) => open,
            None => {
                let (sender, connection) =
                    http1::handshake(TokioIo::new(self.connect().await)).await.unwrap();
                tokio::spawn(connection);
                sender
            }
        };
        sender.ready().await.unwrap();
        let headers = request.headers_mut();
        if !headers.contains_key("host") {
            headers.insert("host", self.host().parse().unwrap());
        }
        headers.insert("authorization", "Bearer recorder".parse().unwrap());
        let (parts, body) = sender.send_request(request).await.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        *self.open.lock() = Some(sender);
        (parts, bytes)
    }

    /// Sends a request that leaves HTTP, and then some bytes; gives back the head of the answer, and what came behind it until what
    /// was sent has come back, or the end, or `until`. Where nothing is sent and nothing is waited for, nothing is given back.
    pub(super) async fn talk(
        &self,
        asked: http::request::Parts,
        say: &str,
        until: Option<&str>,
    ) -> (http::response::Parts, String) {
        let mut stream = self.connect().await;
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer recorder\r\n",
            asked.method,
            asked.uri,
            self.host()
        );
        for (name, value) in &asked.headers {
            if !matches!(name.as_str(), "accept" | "user-agent") {
                head.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap()));
            }
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
        let mut came = Vec::new();
        let end = loop {
            if let Some(end) = came.windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            assert!(read(&mut stream, &mut came).await, "no answer: {}", String::from_utf8_lossy(&came));
        };
        let text = String::from_utf8(came[..end].to_vec()).unwrap();
        let mut rest = came.split_off(end + 4);
        let mut lines = text.lines();
        let code = lines.next().unwrap().split(' ').nth(1).unwrap();
        let mut response = http::Response::builder().status(code.parse::<u16>().unwrap());
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            response = response.header(name, value);
        }
        let (parts, ()) = response.body(()).unwrap().into_parts();
        let bytes =
            |text: &str| -> Vec<u8> { text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect() };
        let say = bytes(say);
        let until = until.map(bytes).unwrap_or_else(|| say.clone());
        let length = match parts.status.as_u16() {
            204 => Some(0),
            _ => parts.headers.get("content-length").and_then(|length| length.to_str().ok()?.parse().ok()),
        };
        if parts.status == 101 {
            stream.write_all(&say).await.unwrap();
            if until.is_empty() {
                // Whether something came together with the head is a matter of time.
                rest.clear();
            }
            while !rest.ends_with(&until) && read(&mut stream, &mut rest).await {}
        } else {
            while rest.len() < length.unwrap_or(usize::MAX) && read(&mut stream, &mut rest).await {}
        }
        (parts, rest.iter().map(|byte| char::from(*byte)).collect())
    }
}

/// Whether more came.
async fn read(stream: &mut TlsStream<TcpStream>, into: &mut Vec<u8>) -> bool {
    matches!(tokio::time::timeout(PATIENCE, stream.read_buf(into)).await, Ok(Ok(1..)))
}

/// The messages that came through a WebSocket, a character for each byte: the number of each one's kind, and what it says.
pub(super) fn messages(came: &str) -> Vec<String> {
    let mut rest: Vec<char> = came.chars().collect();
    let mut out = Vec::new();
    while let [kind, size, ..] = rest[..] {
        let at = match size as usize & 127 {
            126 => 4,
            127 => 10,
            _ => 2,
        };
        let long = rest[2..at].iter().fold(0, |size, byte| size << 8 | *byte as usize);
        let size = if at == 2 { size as usize & 127 } else { long };
        out.push(format!("{} {}", kind as u32 & 15, rest[at..at + size].iter().collect::<String>()));
        rest.drain(..at + size);
    }
    out
}
