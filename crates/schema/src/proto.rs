//! Protobuf, the other encoding of built-in kinds, by table: the field numbers stand beside the field names in the types
//! table. [`decode`] reads the bodies that client-go and kubectl send, [`encode`] writes answers.
//! (k8s.io/apimachinery `runtime/serializer/protobuf`.)

mod decode;
mod encode;
#[cfg(test)]
mod random;
mod special;
mod wire;

pub use decode::{decode, decode_as};
pub use encode::{encode, encode_event, encode_list, is_encodable};

use std::borrow::Cow;

use pilothouse_value::Gvk;

use crate::builtin::types::{self, TypeDef};

/// The first bytes of every protobuf body.
pub const MAGIC: &[u8] = b"k8s\0";

/// A protobuf body that cannot be read. The texts are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtoError {
    /// It is not protobuf, or the envelope cannot be read.
    #[error("{0}")]
    Envelope(Cow<'static, str>),
    /// The kind is not built in; custom resources have no protobuf form.
    #[error("no kind \"{}\" is registered for version \"{}\" in scheme \"pkg/runtime/scheme.go:111\"", .0.kind, .0.api_version())]
    UnknownKind(Gvk),
    /// The bytes are not a message of the kind.
    #[error("{why}")]
    Malformed {
        /// The kind of the body.
        gvk: Gvk,
        /// What is wrong.
        why: Cow<'static, str>,
    },
}

/// The type of the messages of a kind. The kinds that only answers are of, in groups of their own, are found here alone.
pub(crate) fn type_of(api_version: &str, kind: &str) -> Option<&'static TypeDef> {
    let answer = match (api_version, kind) {
        ("meta.k8s.io/v1" | "meta.k8s.io/v1beta1", "PartialObjectMetadata") => {
            "meta.v1.PartialObjectMetadata"
        }
        ("meta.k8s.io/v1" | "meta.k8s.io/v1beta1", "PartialObjectMetadataList") => {
            "meta.v1.PartialObjectMetadataList"
        }
        ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList") => "apidiscovery.v2.APIGroupDiscoveryList",
        // The oldest answer of all says no version.
        ("", "APIVersions") => "meta.v1.APIVersions",
        ("", "APIResourceList") => "meta.v1.APIResourceList",
        _ => return types::kind(&api_version.parse::<pilothouse_value::GroupVersion>().ok()?.kind(kind)),
    };
    types::find(answer).map(types::TypeId::def)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use pilothouse_value::Value;
    use proptest::prelude::*;

    use super::*;

    /// Objects as Go encoded them: protobuf in base64, a tab, JSON. Made by `generate/`.
    static OBJECTS: &str = include_str!("../tests/data/go_objects.txt");

    pub(super) fn objects() -> impl Iterator<Item = (Vec<u8>, Value)> {
        OBJECTS.lines().map(|line| {
            let (proto, json) = line.split_once('\t').unwrap();
            (STANDARD.decode(proto).unwrap(), pilothouse_value::parse::json(json.as_bytes()).unwrap().value)
        })
    }

    #[test]
    fn protobuf_reads_as_the_json_that_go_writes() {
        let mut count = 0;
        for (body, expected) in objects() {
            let (gvk, mut object) = decode(&body).unwrap();
            crate::builtin::decode(&gvk, &mut object).unwrap();
            assert_eq!(object, expected, "{gvk}");
            count += 1;
        }
        assert!(count > 200, "{count} objects");
    }

    #[test]
    fn json_that_go_wrote_stays_as_it_is() {
        for (_, expected) in objects() {
            let mut object = expected.clone();
            crate::builtin::decode(&Gvk::of(&expected).unwrap(), &mut object).unwrap();
            assert_eq!(object, expected);
        }
    }

    #[test]
    fn bodies_that_are_not_protobuf_say_so() {
        let error = |body: &[u8]| decode(body).unwrap_err().to_string();
        assert_eq!(
            error(b"{}"),
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        );
        assert_eq!(error(b""), "empty data");
        let body = b"k8s\0\x0a\x0b\x0a\x04a/v1\x12\x03Web";
        assert_eq!(
            error(body),
            "no kind \"Web\" is registered for version \"a/v1\" in scheme \"pkg/runtime/scheme.go:111\""
        );
        assert_eq!(error(b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x05\x12"), "unexpected EOF");
        let error = error(b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x02\x08\x01");
        assert_eq!(error, "proto: wrong wireType = 0 for field ObjectMeta");
    }

    #[test]
    fn a_message_in_two_parts_is_one() {
        let (_, object) =
            decode(b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x0a\x0a\x03\x0a\x01a\x0a\x03\x1a\x01b")
                .unwrap();
        assert_eq!(object.get("metadata"), Some(&pilothouse_value::json!({"name": "a", "namespace": "b"})));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&[MAGIC, &bytes].concat());
        }

        #[test]
        fn no_damaged_object_panics(pick in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
            let all: Vec<&str> = OBJECTS.lines().collect();
            let mut body = STANDARD.decode(pick.get(&all).split('\t').next().unwrap()).unwrap();
            let at = at.index(body.len());
            body[at] = byte;
            if cut {
                body.truncate(at);
            }
            let _ = decode(&body);
        }
    }
}
