use super::*;
use crate::authentication::authenticator::{Authenticator, read_token_file};
use pilothouse_store::Clock;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use std::collections::HashMap;
use std::sync::Mutex;

/// Plural, namespace and name.
type Key = (String, String, String);

#[derive(Clone, Default)]
struct Objects(Arc<Mutex<HashMap<Key, Arc<Value>>>>);

impl Objects {
    fn put(&self, plural: &str, namespace: &str, object: Value) {
        let name = object::name(&object).to_owned();
        self.0.lock().unwrap().insert((plural.into(), namespace.into(), name), Arc::new(object));
    }
}

impl Bound for Objects {
    fn object(&self, plural: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.0.lock().unwrap().get(&(plural.into(), namespace.into(), name.into())).cloned()
    }
}

fn objects() -> Objects {
    let objects = Objects::default();
    objects.put("serviceaccounts", "n", json!({"metadata": {"name": "sa", "uid": "sa-uid"}}));
    let pod = json!({
        "metadata": {"name": "p", "uid": "p-uid"},
        "spec": {"serviceAccountName": "sa", "nodeName": "node"},
    });
    objects.put("pods", "n", pod);
    objects
}

fn now() -> Timestamp {
    Timestamp::from_unix_seconds(1_000_000)
}

fn later(seconds: u64) -> Timestamp {
    now().plus(std::time::Duration::from_secs(seconds))
}

fn request(signer: &Signer, objects: &Objects, spec: Value) -> Result<Value, String> {
    token_request(signer, objects, now(), "n", "sa", &json!({"spec": spec}), true)
        .map_err(|status| status.message)
}

fn token(answer: &Value) -> &str {
    answer.str_at(&["status", "token"]).unwrap()
}

#[test]
fn a_requested_token_stands_for_its_service_account_until_it_expires() {
    let (signer, objects) = (Signer::generate().unwrap(), objects());
    let answer = request(&signer, &objects, json!({"expirationSeconds": 600})).unwrap();
    assert_eq!(answer.str_at(&["status", "expirationTimestamp"]), Some(&*later(600).to_string()));
    let verified = signer.verify(token(&answer), &[ISSUER], later(599), &objects).unwrap();
    assert_eq!(verified.user.name, "system:serviceaccount:n:sa");
    assert_eq!(verified.user.uid, "sa-uid");
    assert_eq!(
        verified.user.groups,
        ["system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"]
    );
    let expired = signer.verify(token(&answer), &[ISSUER], later(600), &objects).unwrap_err();
    assert_eq!(expired.to_string(), "[invalid bearer token, service account token has expired]");
}

#[test]
fn the_key_of_an_earlier_life_verifies_its_tokens() {
    let (key, objects) = (Signer::generate_pkcs8().unwrap(), objects());
    let signer = || Signer::new(&TokenOptions::default(), || Ok::<_, KeyError>(key.clone())).unwrap();
    let answer = request(&signer(), &objects, json!({})).unwrap();
    let again = signer();
    assert!(again.verify(token(&answer), &[ISSUER], now(), &objects).is_ok());
    let other = Signer::generate().unwrap();
    assert_eq!(other.verify(token(&answer), &[ISSUER], now(), &objects), Err(TokenError::Invalid));
}

#[test]
fn others_can_verify_a_token_with_the_published_key() {
    let (signer, objects) = (Signer::generate().unwrap(), objects());
    let answer = request(&signer, &objects, json!({})).unwrap();
    let (signed, signature) = token(&answer).rsplit_once('.').unwrap();
    let header = BASE64.decode(signed.split('.').next().unwrap()).unwrap();
    let header = parse::json(&header).unwrap().value;
    let keys = signer.key_set();
    let key = &keys.items_at(&["keys"])[0];
    assert_eq!(key.get("kid"), header.get("kid"));
    let mut point = vec![4];
    for coordinate in ["x", "y"] {
        point.extend(BASE64.decode(key.str_at(&[coordinate]).unwrap()).unwrap());
    }
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
    assert!(key.verify(signed.as_bytes(), &BASE64.decode(signature).unwrap()).is_ok());
}

#[test]
fn a_token_that_was_changed_is_none() {
    let (signer, objects) = (Signer::generate().unwrap(), objects());
    let answer = request(&signer, &objects, json!({})).unwrap();
    let parts: Vec<&str> = token(&answer).split('.').collect();
    let payload = String::from_utf8(BASE64.decode(parts[1]).unwrap()).unwrap().replace(":n:", ":m:");
    let payload = BASE64.encode(payload);
    let none = BASE64.encode("{\"alg\":\"none\"}");
    for forged in [
        format!("{}.{payload}.{}", parts[0], parts[2]),
        format!("{none}.{}.{}", parts[1], parts[2]),
        format!("{none}.{}.", parts[1]),
        format!("{}.{}", parts[0], parts[1]),
        "..".to_owned(),
        String::new(),
    ] {
        assert_eq!(signer.verify(&forged, &[ISSUER], now(), &objects), Err(TokenError::Invalid), "{forged}");
    }
}

#[test]
fn a_token_dies_with_what_it_is_bound_to() {
    let (signer, objects) = (Signer::generate().unwrap(), objects());
    let bound = json!({"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p"}});
    let answer = request(&signer, &objects, bound).unwrap();
    let verified = signer.verify(token(&answer), &[ISSUER], now(), &objects).unwrap();
    let extra = |key: &str| {
        verified.user.extra.get(&format!("authentication.kubernetes.io/{key}")).unwrap()[0].clone()
    };
    assert_eq!(
        (extra("pod-name"), extra("pod-uid"), extra("node-name")),
        ("p".into(), "p-uid".into(), "node".into())
    );
    objects.put("pods", "n", json!({"metadata": {"name": "p", "uid": "another"}}));
    assert!(signer.verify(token(&answer), &[ISSUER], now(), &objects).is_err());

    let answer = request(&signer, &objects, json!({})).unwrap();
    objects.put("serviceaccounts", "n", json!({"metadata": {"name": "sa", "uid": "another"}}));
    let refused = signer.verify(token(&answer), &[ISSUER], now(), &objects).unwrap_err();
    assert!(refused.to_string().contains("service account UID (another) does not match claim (sa-uid)"));
}

#[test]
fn a_token_for_another_audience_is_not_for_the_api_server() {
    let (signer, objects) = (Signer::generate().unwrap(), objects());
    let answer = request(&signer, &objects, json!({"audiences": ["vault"]})).unwrap();
    assert!(signer.verify(token(&answer), &[ISSUER], now(), &objects).is_err());
    assert_eq!(signer.verify(token(&answer), &["vault", "x"], now(), &objects).unwrap().audiences, ["vault"]);
}

#[test]
fn what_cannot_be_asked_for_is_refused_with_upstreams_text() {
    let (signer, objects) = (Signer::generate().unwrap(), objects());
    let refused = request(&signer, &objects, json!({"expirationSeconds": 599})).unwrap_err();
    assert_eq!(
        refused,
        "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify \
         a duration less than 10 minutes"
    );
    let other = json!({"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "gone"}});
    assert_eq!(request(&signer, &objects, other).unwrap_err(), "pods \"gone\" not found");
    let gone = token_request(&signer, &objects, now(), "n", "gone", &json!({}), true).unwrap_err();
    assert_eq!(gone.message, "serviceaccounts \"gone\" not found");
}

fn authenticator(signer: Signer, objects: Objects) -> Authenticator {
    Authenticator {
        bootstrap: None,
        certificates: None,
        static_tokens: read_token_file("secret,ann,7,\"dev,ops\"\n").unwrap(),
        signer: Arc::new(signer),
        objects: Box::new(objects),
        clock: Clock::starting_at(now()),
        anonymous: Default::default(),
        request_header: None,
        webhook: None,
    }
}

#[tokio::test]
async fn a_token_review_says_whom_a_token_stands_for() {
    let (signer, objects) = (Signer::generate().unwrap(), objects());
    let answer = request(&signer, &objects, json!({})).unwrap();
    let authenticator = authenticator(signer, objects);
    let review =
        async |token: &str| token_review(&authenticator, &json!({"spec": {"token": token}})).await.unwrap();
    let good = review(token(&answer)).await;
    assert_eq!(good.at(&["status", "authenticated"]), Some(&json!(true)));
    assert_eq!(good.str_at(&["status", "user", "username"]), Some("system:serviceaccount:n:sa"));
    let ann = review("secret").await;
    assert_eq!(ann.at(&["status", "user", "groups"]), Some(&json!(["dev", "ops", "system:authenticated"])));
    let bad = review("nonsense").await;
    assert_eq!(bad.get("status"), Some(&json!({"user": {}, "error": "invalid bearer token"})));
}

#[tokio::test]
async fn requests_are_authenticated_by_token_and_a_bad_one_is_not_anonymous() {
    let mut authenticator = authenticator(Signer::generate().unwrap(), objects());
    let user = async |authenticator: &Authenticator, authorization: Option<&str>| {
        let mut headers = http::HeaderMap::new();
        if let Some(value) = authorization {
            headers.insert(http::header::AUTHORIZATION, value.parse().unwrap());
        }
        let found = authenticator.authenticate(&headers, None, "/").await;
        found.map(|user| user.name).map_err(|status| status.code)
    };
    assert_eq!(user(&authenticator, Some("Bearer secret")).await, Ok("ann".to_owned()));
    assert_eq!(user(&authenticator, Some("bearer secret ")).await, Ok("ann".to_owned()));
    let nothing = user(&authenticator, Some("Bearer  secret")).await;
    assert_eq!(nothing, Ok("system:anonymous".to_owned()), "as upstream splits it");
    assert_eq!(user(&authenticator, Some("Bearer wrong")).await, Err(401));
    assert_eq!(user(&authenticator, None).await, Ok("system:anonymous".to_owned()));
    authenticator.anonymous = crate::authentication::authenticator::Anonymous::Refused;
    assert_eq!(user(&authenticator, None).await, Err(401));
}

#[test]
fn a_token_file_with_a_short_line_is_refused() {
    assert_eq!(
        read_token_file("a,b,c\n\nd,e\n").unwrap_err().to_string().split(';').next(),
        Some("reading the token file: line 3 has no token, user and uid")
    );
}

/// Keys that stand for nothing but these tests.
const RSA: &str = include_str!("testdata/rsa.pem");
const SEC1: &str = include_str!("testdata/sec1.pem");
const SEC1_PUBLIC: &str = include_str!("testdata/sec1.pub");

fn given(options: TokenOptions) -> Result<Signer, KeyError> {
    Signer::new(&options, Signer::generate_pkcs8)
}

fn signing_with(key: &str) -> TokenOptions {
    TokenOptions { signing_key: Some(key.to_owned()), ..TokenOptions::default() }
}

#[test]
fn keys_that_were_given_sign_and_others_verify() {
    let objects = objects();
    for (key, verifying, algorithm) in [(RSA, RSA, "RS256"), (SEC1, SEC1_PUBLIC, "ES256")] {
        let signer = given(signing_with(key)).unwrap();
        let answer = request(&signer, &objects, json!({})).unwrap();
        let verifier =
            given(TokenOptions { verifying_keys: vec![verifying.to_owned()], ..TokenOptions::default() })
                .unwrap();
        let verified = verifier.verify(token(&answer), &[ISSUER], now(), &objects).unwrap();
        assert_eq!(verified.user.name, "system:serviceaccount:n:sa");
        let other = Signer::generate().unwrap();
        assert_eq!(other.verify(token(&answer), &[ISSUER], now(), &objects), Err(TokenError::Invalid));
        let keys = signer.key_set();
        assert_eq!(keys.items_at(&["keys"])[0].str_at(&["alg"]), Some(algorithm));
        assert!(verifier.key_set().items_at(&["keys"]).contains(&keys.items_at(&["keys"])[0]));
    }
}

#[test]
fn issuers_and_audiences_are_those_of_the_options() {
    let objects = objects();
    let issuers = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let options = TokenOptions { issuers: issuers(&["https://new", "https://old"]), ..signing_with(SEC1) };
    let signer = given(options).unwrap();
    assert_eq!(signer.audiences(), ["https://new", "https://old"]);
    assert_eq!(signer.openid_configuration("https://x").str_at(&["issuer"]), Some("https://new"));
    let before = given(TokenOptions { issuers: issuers(&["https://old"]), ..signing_with(SEC1) }).unwrap();
    let answer = request(&before, &objects, json!({})).unwrap();
    assert!(signer.verify(token(&answer), &signer.audiences(), now(), &objects).is_ok());
    let answer = request(&signer, &objects, json!({})).unwrap();
    assert_eq!(answer.items_at(&["spec", "audiences"]).len(), 2);
    assert_eq!(before.verify(token(&answer), &["https://new"], now(), &objects), Err(TokenError::Invalid));
}

#[test]
fn what_is_no_key_is_refused_with_a_hint() {
    for text in ["", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", SEC1_PUBLIC] {
        let why = given(signing_with(text)).err().unwrap().to_string();
        assert!(why.contains("hint: they must be ECDSA P-256 or RSA keys"), "{why}");
    }
    let none = TokenOptions { verifying_keys: vec!["nothing".to_owned()], ..TokenOptions::default() };
    assert!(given(none).is_err());
}
