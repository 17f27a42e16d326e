//! A bucket of S3, or of anything that speaks its protocol, as a location.
//!
//! Signing and the five requests that are needed stand here, on the HTTP client that `kube` brings along: the S3 crates
//! at hand bring a second cryptography library (through reqwest) or the whole of ICU (through url). Memory is bounded by
//! one part.

mod http;
mod sign;
mod xml;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use self::http::{Http, Request};
use super::{Error, key};

/// The size of the first parts of an upload; S3 takes none below 5 MiB but the last.
const PART: usize = 8 << 20;
/// After so many parts, they double in size: 10,000 parts at most make 480 GiB then.
const SAME_SIZE: usize = 2000;
/// The most parts of an upload.
const PARTS: usize = 10_000;
/// How often a broken download is taken up again.
const RESUMES: usize = 5;

/// The keys to a bucket. They have no `Debug`.
pub(super) struct Keys {
    pub(super) id: String,
    pub(super) secret: String,
    pub(super) token: Option<String>,
}

/// A bucket, and the prefix in it.
pub struct S3Store {
    http: Http,
    bucket: String,
    prefix: String,
}

impl S3Store {
    pub(super) fn new(
        endpoint: &str,
        region: &str,
        bucket: String,
        prefix: String,
        keys: Keys,
        skip_verify: bool,
    ) -> Result<Self, Error> {
        if bucket.contains('/') {
            return Err(Error::Profile(format!(
                "the bucket {bucket:?} has a / in it\nhint: a folder goes into prefix"
            )));
        }
        let region = if region.is_empty() { "us-east-1" } else { region };
        let endpoint = if endpoint.is_empty() {
            format!("https://s3.{region}.amazonaws.com")
        } else {
            endpoint.to_owned()
        };
        Ok(Self { http: Http::new(&endpoint, region, keys, skip_verify)?, bucket, prefix })
    }

    fn object(&self, path: &str) -> Result<String, Error> {
        Ok(format!("{}/{}", self.bucket, key(&self.prefix, path)?))
    }

    pub(super) async fn push(
        &self,
        path: &str,
        source: &mut (dyn AsyncRead + Unpin + Send),
    ) -> Result<(), Error> {
        let object = self.object(path)?;
        let first = read_part(source, PART).await?;
        if first.len() < PART {
            self.http.send(Request::put(&object).body(first), "write").await?;
            return Ok(());
        }
        let started =
            self.http.send(Request::post(&object).query("uploads", ""), "start the upload of").await?;
        let upload = xml::text(&started.body, "UploadId").ok_or_else(|| Error::Service {
            action: "start the upload of",
            what: self.http.shown(&object),
            why: "the answer has no UploadId".to_owned(),
        })?;
        let result = self.parts(&object, &upload, first, source).await;
        if result.is_err() {
            // Parts that belong to nothing cost money for ever.
            let abort = Request::delete(&object).query("uploadId", &upload);
            let _ = self.http.send(abort, "give up the upload of").await;
        }
        result
    }

    async fn parts(
        &self,
        object: &str,
        upload: &str,
        first: Bytes,
        source: &mut (dyn AsyncRead + Unpin + Send),
    ) -> Result<(), Error> {
        let mut tags = Vec::new();
        let mut part = first;
        loop {
            let number = tags.len() + 1;
            let request = Request::put(object)
                .query("partNumber", &number.to_string())
                .query("uploadId", upload)
                .body(part);
            let answer = self.http.send(request, "write a part of").await?;
            tags.push(answer.header("etag").unwrap_or_default());
            let size = PART << ((tags.len() / SAME_SIZE).min(4));
            part = read_part(source, size).await?;
            if part.is_empty() {
                break;
            }
            if tags.len() == PARTS {
                return Err(Error::Service {
                    action: "write",
                    what: self.http.shown(object),
                    why: format!("it has more than {PARTS} parts"),
                });
            }
        }
        let request = Request::post(object).query("uploadId", upload).body(xml::complete(&tags).into());
        let answer = self.http.send(request, "complete the upload of").await?;
        // This one answers 200 before it knows how it ends.
        match xml::text(&answer.body, "Code") {
            None => Ok(()),
            Some(code) => Err(Error::Service {
                action: "complete the upload of",
                what: self.http.shown(object),
                why: format!("{code}: {}", xml::text(&answer.body, "Message").unwrap_or_default()),
            }),
        }
    }

    pub(super) async fn pull(
        &self,
        path: &str,
        target: &mut (dyn AsyncWrite + Unpin + Send),
    ) -> Result<(), Error> {
        let object = self.object(path)?;
        let mut done = 0_u64;
        let mut tag: Option<String> = None;
        let mut resumes = 0;
        loop {
            let mut request = Request::get(&object);
            if let Some(tag) = tag.as_deref().filter(|_| done > 0) {
                // Only what was begun is gone on with; another object has another tag.
                request = request.header("range", &format!("bytes={done}-")).header("if-match", tag);
            }
            let answer = self.http.stream(request, "read").await?;
            if tag.is_none() {
                tag = answer.headers().get("etag").and_then(|t| t.to_str().ok()).map(str::to_owned);
            }
            let mut body = answer.into_body();
            let broken = loop {
                let frame = match tokio::time::timeout(http::IDLE, body.frame()).await {
                    Ok(None) => return Ok(()),
                    Ok(Some(Ok(frame))) => frame,
                    Ok(Some(Err(error))) => break error.to_string(),
                    Err(_) => break "nothing came for a while".to_owned(),
                };
                if let Ok(data) = frame.into_data() {
                    target.write_all(&data).await.map_err(Error::io("write to", "the target"))?;
                    done += data.len() as u64;
                }
            };
            resumes += 1;
            if resumes > RESUMES || tag.is_none() {
                return Err(Error::Service {
                    action: "read",
                    what: self.http.shown(&object),
                    why: format!("the connection broke after {done} bytes: {broken}"),
                });
            }
        }
    }

    pub(super) async fn delete(&self, path: &str, recursive: bool) -> Result<(), Error> {
        let key = key(&self.prefix, path)?;
        if !recursive {
            return self.delete_key(&key).await;
        }
        // The first of all keys that begin so is the key itself, if it is there.
        if self.list(&key, "1").await?.contains(&key) {
            self.delete_key(&key).await?;
        }
        let below = format!("{key}/");
        loop {
            // What is deleted is not listed again, so the first page is always the next.
            let keys = self.list(&below, "1000").await?;
            if keys.is_empty() {
                return Ok(());
            }
            for key in keys {
                self.delete_key(&key).await?;
            }
        }
    }

    async fn list(&self, prefix: &str, most: &str) -> Result<Vec<String>, Error> {
        let list = Request::get(&self.bucket)
            .query("list-type", "2")
            .query("prefix", prefix)
            .query("max-keys", most);
        let answer = self.http.send(list, "list").await?;
        Ok(xml::texts(&answer.body, "Key"))
    }

    /// Nothing being there is no error.
    async fn delete_key(&self, key: &str) -> Result<(), Error> {
        match self.http.send(Request::delete(&format!("{}/{key}", self.bucket)), "delete").await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Reads a whole part, unless the stream ends before.
async fn read_part(source: &mut (dyn AsyncRead + Unpin + Send), size: usize) -> Result<Bytes, Error> {
    let mut part = Vec::new();
    let limit = u64::try_from(size).unwrap_or(u64::MAX);
    source.take(limit).read_to_end(&mut part).await.map_err(Error::io("read", "the source"))?;
    Ok(part.into())
}
