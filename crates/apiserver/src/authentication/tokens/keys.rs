//! The keys of tokens: ECDSA P-256 (ES256), which a server makes for itself, and RSA (RS256), which clusters are often
//! given. Private keys sign, public keys verify; both have the name that upstream gives them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use pilothouse_value::{Value, json};
use ring::rand::SystemRandom;
use ring::rsa::KeyPair as RsaKeyPair;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, UnparsedPublicKey,
};
use x509_parser::pem::Pem;
use x509_parser::prelude::{FromDer as _, X509Certificate};
use x509_parser::x509::SubjectPublicKeyInfo;

use super::KeyError;

/// `SEQUENCE { SEQUENCE { id-ecPublicKey, prime256v1 }, BIT STRING` in front of a point of 65 bytes.
const P256_INFO: &[u8] =
    b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";
/// `INTEGER 0, SEQUENCE { id-ecPublicKey, prime256v1 }` of PKCS #8.
const P256_PRIVATE: &[u8] =
    b"\x02\x01\x00\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";
/// `SEQUENCE { rsaEncryption, NULL }`.
const RSA_ALGORITHM: &[u8] = b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
/// Tags of DER.
const SEQUENCE: u8 = 0x30;
const OCTET_STRING: u8 = 0x04;
const BIT_STRING: u8 = 0x03;

fn fail(why: impl ToString) -> KeyError {
    KeyError { why: why.to_string() }
}

/// A key that signs.
pub(super) enum PrivateKey {
    P256(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl PrivateKey {
    /// A P-256 key in PKCS #8.
    pub(super) fn from_pkcs8(der: &[u8]) -> Result<Self, KeyError> {
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &SystemRandom::new());
        key.map(PrivateKey::P256).map_err(fail)
    }

    /// The first private key in a PEM text: PKCS #8, SEC 1 or PKCS #1.
    pub(super) fn from_pem(text: &str) -> Result<Self, KeyError> {
        for pem in Pem::iter_from_buffer(text.as_bytes()) {
            let pem = pem.map_err(fail)?;
            if let Some(key) = Self::from_section(&pem.label, &pem.contents) {
                return key;
            }
        }
        Err(fail("there is no private key in it"))
    }

    /// `None` for a section that is no private key.
    fn from_section(label: &str, der: &[u8]) -> Option<Result<Self, KeyError>> {
        Some(match label {
            "EC PRIVATE KEY" => {
                let body = [P256_PRIVATE, &tagged(OCTET_STRING, der)].concat();
                Self::from_pkcs8(&tagged(SEQUENCE, &body))
            }
            "RSA PRIVATE KEY" => RsaKeyPair::from_der(der).map(PrivateKey::Rsa).map_err(fail),
            "PRIVATE KEY" => Self::from_pkcs8(der)
                .or_else(|_| RsaKeyPair::from_pkcs8(der).map(PrivateKey::Rsa).map_err(fail)),
            _ => return None,
        })
    }

    pub(super) fn public(&self) -> PublicKey {
        match self {
            PrivateKey::P256(key) => PublicKey::p256(key.public_key().as_ref()),
            PrivateKey::Rsa(key) => PublicKey::rsa(key.public_key().as_ref()),
        }
    }

    /// The signature of a text.
    pub(super) fn sign(&self, text: &[u8]) -> Result<Vec<u8>, KeyError> {
        let random = SystemRandom::new();
        let failed = |_| fail("no random numbers");
        match self {
            PrivateKey::P256(key) => Ok(key.sign(&random, text).map_err(failed)?.as_ref().to_vec()),
            PrivateKey::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, text, &mut signature).map_err(failed)?;
                Ok(signature)
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Es256,
    Rs256,
}

/// A key that verifies.
pub(super) struct PublicKey {
    algorithm: Algorithm,
    /// An uncompressed point, or the modulus and exponent in PKCS #1.
    bytes: Vec<u8>,
    /// The name of the key: a hash of it.
    pub(super) id: String,
}

impl PublicKey {
    fn p256(point: &[u8]) -> Self {
        Self::new(Algorithm::Es256, point, &[P256_INFO, point].concat())
    }

    fn rsa(pkcs1: &[u8]) -> Self {
        let bits = tagged(BIT_STRING, &[&[0], pkcs1].concat());
        Self::new(Algorithm::Rs256, pkcs1, &tagged(SEQUENCE, &[RSA_ALGORITHM, &bits].concat()))
    }

    /// `info` is the key as certificates have it, which its name is a hash of.
    fn new(algorithm: Algorithm, bytes: &[u8], info: &[u8]) -> Self {
        let id = BASE64.encode(ring::digest::digest(&ring::digest::SHA256, info));
        Self { algorithm, bytes: bytes.to_vec(), id }
    }

    /// All keys in a PEM text: public ones, those of certificates, and those that belong to private ones.
    ///
    /// # Errors
    /// If there is none, or one of another kind.
    pub(super) fn all_from_pem(text: &str) -> Result<Vec<Self>, KeyError> {
        let mut keys = Vec::new();
        for pem in Pem::iter_from_buffer(text.as_bytes()) {
            let pem = pem.map_err(fail)?;
            match pem.label.as_str() {
                "PUBLIC KEY" => {
                    let (_, info) = SubjectPublicKeyInfo::from_der(&pem.contents).map_err(fail)?;
                    keys.push(Self::from_info(&info)?);
                }
                "CERTIFICATE" => {
                    let (_, certificate) = X509Certificate::from_der(&pem.contents).map_err(fail)?;
                    keys.push(Self::from_info(certificate.public_key())?);
                }
                "RSA PUBLIC KEY" => keys.push(Self::rsa(&pem.contents)),
                label => {
                    if let Some(private) = PrivateKey::from_section(label, &pem.contents) {
                        keys.push(private?.public());
                    }
                }
            }
        }
        if keys.is_empty() { Err(fail("there is no public key in it")) } else { Ok(keys) }
    }

    fn from_info(info: &SubjectPublicKeyInfo<'_>) -> Result<Self, KeyError> {
        let bytes = &*info.subject_public_key.data;
        if info.raw.starts_with(P256_INFO) {
            return Ok(Self::p256(bytes));
        }
        match info.parsed().map_err(fail)? {
            x509_parser::public_key::PublicKey::RSA(_) => Ok(Self::rsa(bytes)),
            _ => Err(fail("a key is of another kind")),
        }
    }

    pub(super) const fn algorithm(&self) -> &'static str {
        match self.algorithm {
            Algorithm::Es256 => "ES256",
            Algorithm::Rs256 => "RS256",
        }
    }

    /// Whether the signature is this key's.
    pub(super) fn verifies(&self, text: &[u8], signature: &[u8]) -> bool {
        match self.algorithm {
            Algorithm::Es256 => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &self.bytes).verify(text, signature).is_ok()
            }
            Algorithm::Rs256 => UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &self.bytes)
                .verify(text, signature)
                .is_ok(),
        }
    }

    /// The key as a JSON web key.
    pub(super) fn web_key(&self) -> Value {
        match self.algorithm {
            Algorithm::Es256 => {
                // A byte that says that the point is not compressed, and the two coordinates.
                let coordinates = self.bytes.get(1..).unwrap_or_default();
                let (x, y) = coordinates.split_at(coordinates.len() / 2);
                json!({
                    "use": "sig", "kty": "EC", "kid": self.id.as_str(), "crv": "P-256", "alg": "ES256",
                    "x": BASE64.encode(x), "y": BASE64.encode(y),
                })
            }
            Algorithm::Rs256 => {
                let (n, e) = numbers(&self.bytes).unwrap_or_default();
                json!({
                    "use": "sig", "kty": "RSA", "kid": self.id.as_str(), "alg": "RS256",
                    "n": BASE64.encode(n), "e": BASE64.encode(e),
                })
            }
        }
    }
}

/// Modulus and exponent of an RSA key in PKCS #1.
fn numbers(pkcs1: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let (_, key) = x509_parser::public_key::RSAPublicKey::from_der(pkcs1).ok()?;
    let bare = |number: &[u8]| number.iter().copied().skip_while(|byte| *byte == 0).collect();
    Some((bare(key.modulus), bare(key.exponent)))
}

/// A value of DER with its tag and length.
fn tagged(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut value = vec![tag];
    let length = body.len().to_be_bytes();
    let length: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
    match length.as_slice() {
        [short @ 0..=0x7f] => value.push(*short),
        [] => value.push(0),
        long => {
            value.push(0x80 | u8::try_from(long.len()).unwrap_or(0x7f));
            value.extend_from_slice(long);
        }
    }
    value.extend_from_slice(body);
    value
}
