//! One question to a real etcd, over gRPC: the value of a key. Some test suites write objects into etcd behind the back of
//! kube-apiserver, in versions that it no longer takes from clients, and expect it to serve them.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{Request, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use pilothouse_apiserver::ObjectsElsewhere;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// How long etcd may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer that is read: more than etcd lets anyone write.
const LONGEST: usize = 4 << 20;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The objects that others have written into an etcd.
#[derive(Debug)]
pub(crate) struct Etcd {
    url: String,
    prefix: String,
}

impl Etcd {
    /// The etcd at this URL, under this prefix.
    pub(crate) fn new(url: &str, prefix: &str) -> Etcd {
        Etcd { url: url.to_owned(), prefix: format!("/{}", prefix.trim_matches('/')) }
    }
}

impl ObjectsElsewhere for Etcd {
    fn find<'a>(&'a self, path: &'a str) -> Pin<Box<dyn Future<Output = Option<Bytes>> + Send + 'a>> {
        Box::pin(async move {
            let key = format!("{}/{path}", self.prefix);
            match tokio::time::timeout(PATIENCE, get(&self.url, key.as_bytes())).await {
                Ok(Ok(found)) => found,
                Ok(Err(error)) => {
                    tracing::warn!(url = %self.url, %error, "asking etcd");
                    None
                }
                Err(_late) => {
                    tracing::warn!(url = %self.url, "etcd does not answer");
                    None
                }
            }
        })
    }
}

async fn get(url: &str, key: &[u8]) -> Result<Option<Bytes>, Failure> {
    if let Some(path) = url.strip_prefix("unix://") {
        return ask(UnixStream::connect(path).await?, "localhost", key).await;
    }
    let authority = url.strip_prefix("http://").unwrap_or(url).trim_end_matches('/');
    ask(TcpStream::connect(authority).await?, authority, key).await
}

async fn ask(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    authority: &str,
    key: &[u8],
) -> Result<Option<Bytes>, Failure> {
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = Request::post(format!("http://{authority}/etcdserverpb.KV/Range"))
        .header(header::CONTENT_TYPE, "application/grpc")
        .header(header::TE, "trailers")
        .body(Full::new(message(key)))?;
    let response = sender.send_request(request).await?;
    let body = Limited::new(response.into_body(), LONGEST).collect().await?;
    let refused = body.trailers().and_then(|trailers| trailers.get("grpc-status"));
    let refused = refused.and_then(|code| code.to_str().ok()).filter(|code| *code != "0");
    connection.abort();
    if let Some(code) = refused {
        return Err(format!("gRPC status {code}").into());
    }
    let answer = body.to_bytes();
    // A frame: whether it is compressed, its length, the message.
    let answer = answer.get(5..).ok_or("an answer without a message")?;
    let Some(found) = field(answer, 2) else { return Ok(None) };
    Ok(Some(Bytes::copy_from_slice(field(found, 5).unwrap_or_default())))
}

/// A frame with a `RangeRequest` for one key.
fn message(key: &[u8]) -> Bytes {
    let mut request = BytesMut::with_capacity(key.len() + 16);
    request.put_u8(1 << 3 | 2);
    let mut length = key.len();
    while length >= 0x80 {
        request.put_u8(u8::try_from(length & 0x7f).unwrap_or_default() | 0x80);
        length >>= 7;
    }
    request.put_u8(u8::try_from(length).unwrap_or_default());
    request.put_slice(key);
    let mut frame = BytesMut::with_capacity(request.len() + 5);
    frame.put_u8(0);
    frame.put_u32(u32::try_from(request.len()).unwrap_or_default());
    frame.put_slice(&request);
    frame.freeze()
}

/// The first field of this number in a protobuf message, if it is bytes, text or a message.
fn field(mut message: &[u8], number: u64) -> Option<&[u8]> {
    while !message.is_empty() {
        let tag = varint(&mut message)?;
        match tag & 7 {
            0 => {
                varint(&mut message)?;
            }
            1 => message = message.get(8..)?,
            2 => {
                let length = usize::try_from(varint(&mut message)?).ok()?;
                let (value, rest) = message.split_at_checked(length)?;
                if tag >> 3 == number {
                    return Some(value);
                }
                message = rest;
            }
            5 => message = message.get(4..)?,
            _ => return None,
        }
    }
    None
}

fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first()?;
        *message = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_in_an_answer() {
        // A header (field 1), then one pair (field 2) with a key (1), a revision (2) and a value (5).
        let pair = [&[0x0a, 1, b'k', 0x10, 0x96, 0x01, 0x2a, 2][..], b"ok"].concat();
        let mut answer = vec![0x0a, 2, 0x08, 1, 0x12, u8::try_from(pair.len()).unwrap_or_default()];
        answer.extend(&pair);
        let found = field(&answer, 2).and_then(|pair| field(pair, 5));
        assert_eq!(found, Some(&b"ok"[..]));
        assert_eq!(field(&answer[..4], 2), None);
        assert_eq!(field(&[0x12, 200], 2), None, "cut off");
    }

    #[test]
    fn a_long_key_has_a_long_length() {
        let frame = message(&[b'x'; 300]);
        assert_eq!(frame.get(..8), Some(&[0, 0, 0, 1, 47, 0x0a, 0xac, 0x02][..]));
    }
}
