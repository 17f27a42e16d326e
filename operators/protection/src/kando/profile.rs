//! Reads the Profile that a Blueprint hands over, as tolerant of case as Go's decoder is.

use std::path::PathBuf;

use serde_json::Value;

use super::Error;
use super::file::FileStore;
use super::s3::{Keys, S3Store};
use crate::api::LocationType;

/// Where data is kept.
pub enum Location {
    /// A folder.
    File(FileStore),
    /// A bucket.
    S3(Box<S3Store>),
}

/// A member by its name in any case.
fn member<'a>(value: &'a Value, name: &str) -> &'a Value {
    let found = value.as_object().and_then(|map| {
        map.get(name).or_else(|| map.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, v)| v))
    });
    found.unwrap_or(&Value::Null)
}

fn text(value: &Value, name: &str) -> String {
    member(value, name).as_str().unwrap_or_default().to_owned()
}

impl Location {
    /// The location of a profile.
    ///
    /// # Errors
    /// [`Error::Profile`]; its text does not quote the profile, which holds keys.
    pub fn parse(profile: &str) -> Result<Self, Error> {
        let bad = |why: String| Error::Profile(why);
        let profile: Value = serde_json::from_str(profile)
            .map_err(|e| bad(format!("it is no JSON at line {}, column {}", e.line(), e.column())))?;
        let location = member(&profile, "Location");
        let kind = text(location, "type");
        let bucket = text(location, "bucket");
        if bucket.is_empty() {
            return Err(bad("location.bucket is empty".to_owned()));
        }
        match LocationType::parse(&kind) {
            Some(LocationType::FileStore) => {
                Ok(Self::File(FileStore { root: PathBuf::from(bucket), prefix: text(location, "prefix") }))
            }
            Some(LocationType::S3Compliant) => Ok(Self::S3(Box::new(S3Store::new(
                &text(location, "endpoint"),
                &text(location, "region"),
                bucket,
                text(location, "prefix"),
                keys(member(&profile, "Credential"))?,
                member(&profile, "SkipSSLVerify").as_bool().unwrap_or(false),
            )?))),
            Some(_) => Err(bad(format!(
                "locations of type {kind} are not built yet\nhint: use s3Compliant or filestore"
            ))),
            None => Err(bad(format!("unknown location type {kind:?}\nhint: use s3Compliant or filestore"))),
        }
    }
}

fn keys(credential: &Value) -> Result<Keys, Error> {
    let pair = member(credential, "KeyPair");
    if !pair.is_null() {
        return Ok(Keys { id: text(pair, "ID"), secret: text(pair, "Secret"), token: None });
    }
    let data = member(member(credential, "Secret"), "data");
    let value = |name: &str| -> Option<String> {
        let encoded = data.get(name)?.as_str()?;
        let bytes = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, encoded).ok()?;
        String::from_utf8(bytes).ok().map(|text| text.trim().to_owned())
    };
    if data.get("role").is_some() {
        return Err(Error::Profile(
            "assuming a role is not built yet\nhint: use keys of the role's own".to_owned(),
        ));
    }
    match (value("aws_access_key_id"), value("aws_secret_access_key")) {
        (Some(id), Some(secret)) => Ok(Keys { id, secret, token: value("aws_session_token") }),
        _ => Err(Error::Profile(
            "there is neither a key pair nor a Secret with aws_access_key_id and aws_secret_access_key"
                .to_owned(),
        )),
    }
}
