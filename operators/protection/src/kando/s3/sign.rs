//! AWS Signature Version 4, for S3: <https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html>.

use k8s_openapi::jiff::Timestamp;
use ring::{digest, hmac};

use super::Keys;

/// The bytes in hexadecimal.
pub(super) fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|b| format!("{b:02x}")).collect()
}

/// The hash of a body, as the header and the signature take it.
pub(super) fn hash(body: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, body))
}

/// Percent-encodes all but the unreserved characters, and the slash where it separates.
pub(super) fn encode(text: &str, slash: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            b'/' if slash => out.push('/'),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// What is signed.
pub(super) struct Signed<'a> {
    pub(super) method: &'a str,
    /// The path, encoded.
    pub(super) path: &'a str,
    /// The query, encoded and sorted.
    pub(super) query: &'a str,
    /// The headers in lower case, sorted by name.
    pub(super) headers: &'a [(String, String)],
    /// The hash of the body.
    pub(super) hash: &'a str,
}

/// The time of a request, as its header has it.
pub(super) fn stamp(now: Timestamp) -> String {
    now.strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// The header `authorization`.
pub(super) fn authorization(keys: &Keys, region: &str, stamp: &str, request: &Signed<'_>) -> String {
    let date = stamp.get(..8).unwrap_or(stamp);
    let names = request.headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";");
    let headers: String =
        request.headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
    let canonical = format!(
        "{}\n{}\n{}\n{headers}\n{names}\n{}",
        request.method, request.path, request.query, request.hash
    );
    let scope = format!("{date}/{region}/s3/aws4_request");
    let to_sign = format!("AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{}", hash(canonical.as_bytes()));
    let mut key = format!("AWS4{}", keys.secret).into_bytes();
    for part in [date, region, "s3", "aws4_request"] {
        key = mac(&key, part);
    }
    let signature = hex(mac(&key, &to_sign));
    format!("AWS4-HMAC-SHA256 Credential={}/{scope},SignedHeaders={names},Signature={signature}", keys.id)
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of "Authenticating Requests: Using the Authorization Header" in the S3 API reference.
    #[test]
    fn signs_the_published_examples() {
        let keys = Keys {
            id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            token: None,
        };
        let empty = hash(b"");
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let common = [
            header("host", "examplebucket.s3.amazonaws.com"),
            header("x-amz-content-sha256", &empty),
            header("x-amz-date", "20130524T000000Z"),
        ];
        let mut with_range = common.to_vec();
        with_range.insert(1, header("range", "bytes=0-9"));
        for (path, query, headers, signature) in [
            ("/test.txt", "", with_range, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
            (
                "/",
                "lifecycle=",
                common.to_vec(),
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            ),
            (
                "/",
                "max-keys=2&prefix=J",
                common.to_vec(),
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            ),
        ] {
            let request = Signed { method: "GET", path, query, headers: &headers, hash: &empty };
            let header = authorization(&keys, "us-east-1", "20130524T000000Z", &request);
            assert!(header.ends_with(signature), "{header}");
        }
    }

    #[test]
    fn keys_of_objects_are_encoded_once() {
        assert_eq!(encode("a b/ü:+~", true), "a%20b/%C3%BC%3A%2B~");
        assert_eq!(encode("a/b", false), "a%2Fb");
    }
}
