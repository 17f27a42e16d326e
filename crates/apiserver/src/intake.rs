//! From the bytes of a body to a document of the right kind.
//!
//! This stage decodes JSON, YAML and protobuf, checks that the document is what the endpoint is for, removes fields that the
//! schema does not know (and says so, as `fieldValidation` wants), and fills in defaults.

use pilothouse_schema::{builtin, proto};
use pilothouse_value::{Gvk, Status, Value, field, object, parse};

use crate::kinds;
use crate::negotiate::Encoding;
use crate::options::FieldValidation;
use crate::resource::Resource;
use crate::state::Context;

/// A document as it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Incoming {
    pub(crate) value: Value,
    /// Paths of keys that came more than once.
    pub(crate) duplicates: Vec<String>,
}

impl From<Value> for Incoming {
    fn from(value: Value) -> Incoming {
        Incoming { value, duplicates: Vec::new() }
    }
}

/// Decodes a body that is to be an object of this resource.
///
/// # Errors
/// 400 if it is not what the encoding says, or no object.
pub(crate) fn decode_object(
    encoding: Encoding,
    bytes: &[u8],
    resource: &Resource,
) -> Result<Incoming, Status> {
    let kind = resource.kind.as_str();
    match decode(encoding, bytes) {
        Ok(incoming) if incoming.value.as_object().is_some() => {
            // A document of a defined kind says what it is; for built-in ones the path is enough.
            if resource.custom.is_some() && object::kind(&incoming.value).is_empty() {
                return Err(Status::bad_request(format!(
                    "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{}' ({})",
                    resource.kind,
                    String::from_utf8_lossy(bytes),
                    summary(bytes)
                )));
            }
            Ok(incoming)
        }
        Ok(incoming) => {
            // Go's names of JSON's types.
            let found = match incoming.value.kind_name() {
                "boolean" => "bool",
                "integer" => "number",
                other => other,
            };
            let why = format!(
                "json: cannot unmarshal {found} into Go value of type struct {{ APIVersion string \
                 \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
            );
            Err(unreadable(kind, &why, bytes))
        }
        Err(status) if encoding == Encoding::Json => {
            let why =
                if status.message.contains("EOF") { "unexpected end of JSON input" } else { &status.message };
            Err(unreadable(kind, why, bytes))
        }
        Err(status) => Err(status),
    }
}

/// Decodes a body.
///
/// # Errors
/// 400 if the bytes are not what the encoding says.
pub(crate) fn decode(encoding: Encoding, bytes: &[u8]) -> Result<Incoming, Status> {
    match encoding {
        Encoding::Json => {
            let parsed = parse::json(bytes).map_err(|error| Status::bad_request(error.to_string()))?;
            Ok(Incoming { value: parsed.value, duplicates: parsed.duplicates })
        }
        Encoding::Yaml => {
            let text = std::str::from_utf8(bytes)
                .map_err(|error| Status::bad_request(format!("yaml: the body is not UTF-8: {error}")))?;
            let parsed = parse::yaml(text).map_err(|error| Status::bad_request(error.to_string()))?;
            Ok(Incoming { value: parsed.value, duplicates: parsed.duplicates })
        }
        Encoding::Protobuf => {
            let (_, value) = proto::decode(bytes)
                .map_err(|error| Status::bad_request(format!("reading the protobuf body: {error}")))?;
            Ok(value.into())
        }
    }
}

const MANAGED_FIELDS: [&str; 2] = ["metadata", "managedFields"];

/// Makes a decoded document an object of the resource: typed, pruned and defaulted.
///
/// # Errors
/// 400 for another kind or version, a wrong type, or (if strict) unknown or duplicate fields.
pub(crate) fn read(
    context: &Context,
    resource: &Resource,
    incoming: Incoming,
    validation: FieldValidation,
) -> Result<Value, Status> {
    let gvk = resource.gvk();
    let mut value = incoming.value;
    check_kind(&gvk, &mut value)?;
    let clears_managers = value.at(&MANAGED_FIELDS).and_then(Value::as_array).is_some_and(Vec::is_empty);
    let unknown = kinds::prune(resource, &mut value);
    if resource.is_built_in() {
        kinds::read(&gvk, &mut value)?;
    } else {
        read_metadata(&gvk, &mut value)?;
        kinds::check_embedded(resource, &value)?;
    }
    if clears_managers {
        // Elsewhere an empty list is as good as none; here it is what clears the managers.
        value.set(&MANAGED_FIELDS, Value::Array(Vec::new()));
    }
    complain(context, &gvk, unknown, incoming.duplicates, validation)?;
    kinds::default(resource, &mut value);
    Ok(value)
}

/// Checks that a document is of this kind; one that does not say is taken to be.
///
/// # Errors
/// 400 otherwise.
pub(crate) fn check_kind(gvk: &Gvk, value: &mut Value) -> Result<(), Status> {
    if value.as_object().is_none() {
        return Err(Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: \
             json: cannot unmarshal into Go value of type struct {{ APIVersion string; Kind string }}",
            gvk.kind
        )));
    }
    let (kind, api_version) = (object::kind(value).to_owned(), object::api_version(value).to_owned());
    if kind.is_empty() {
        value.set(&["kind"], gvk.kind.as_str());
    }
    if api_version.is_empty() {
        value.set(&["apiVersion"], gvk.api_version());
    }
    let expected = gvk.api_version();
    let given = Gvk::of(value).unwrap_or_default();
    let built_in = builtin::type_name(gvk).is_some();
    if built_in && (api_version != expected || kind != gvk.kind) && builtin::type_name(&given).is_none() {
        return Err(Status::bad_request(format!(
            "{} in version {} cannot be handled as a {}: no kind {} is registered for version {} in scheme \
             \"pkg/runtime/scheme.go:111\"",
            given.kind,
            field::quote(&given.version),
            gvk.kind,
            field::quote(&given.kind),
            field::quote(&given.api_version()),
        )));
    }
    if !api_version.is_empty() && api_version != expected {
        return Err(Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({expected})"
        )));
    }
    if !kind.is_empty() && kind != gvk.kind && !built_in {
        let why = format!("must be {}", gvk.kind);
        let error = field::Error::invalid(&field::Path::new("kind"), kind.as_str(), why);
        return Err(Status::invalid(&given.group, &kind, object::name(value), &[error]));
    }
    if !kind.is_empty() && kind != gvk.kind {
        return Err(Status::bad_request(format!(
            "{kind} in version {} cannot be handled as a {}: converting ({}.{kind}) to ({}.{}): unknown conversion",
            field::quote(&gvk.version),
            gvk.kind,
            gvk.version,
            internal_package(&gvk.group),
            gvk.kind
        )));
    }
    Ok(())
}

/// The name of the Go package that messages name a group by.
fn internal_package(group: &str) -> &str {
    group.split('.').next().filter(|name| !name.is_empty()).unwrap_or("core")
}

/// 400 for a body that is no document at all.
fn unreadable(kind: &str, why: &str, bytes: &[u8]) -> Status {
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse error: \
         {why} ({})",
        summary(bytes)
    ))
}

/// A piece of a body for an error: text if it looks like JSON, else hexadecimal.
fn summary(bytes: &[u8]) -> String {
    const LONGEST: usize = 30;
    let cut = bytes.get(..bytes.len().min(LONGEST)).unwrap_or_default();
    let more = if bytes.len() > LONGEST { " ..." } else { "" };
    match bytes.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(cut)),
        Some(_) => {
            let digits: String = cut.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{digits}{more}")
        }
    }
}

/// Metadata is the same for all kinds, whatever a definition says of it.
fn read_metadata(gvk: &Gvk, value: &mut Value) -> Result<(), Status> {
    let Some(metadata) = value.take(&["metadata"]) else { return Ok(()) };
    // Any built-in kind reads metadata; this one has nothing that it must have.
    let any = Gvk::new("", "v1", "ConfigMap");
    let mut holder = Value::object();
    holder.set(&["metadata"], metadata);
    builtin::decode(&any, &mut holder).map_err(|error| {
        let text = error.to_string();
        let why = text.split_once(": ").map_or(text.as_str(), |(_, why)| why);
        // Upstream reads metadata by itself, so its messages do not begin at the object.
        let why = why.replace("ObjectMeta.metadata.", "ObjectMeta.");
        Status::bad_request(format!(
            "{} in version {} cannot be handled as a {}: {why}",
            gvk.kind,
            field::quote(&gvk.version),
            gvk.kind
        ))
    })?;
    if let Some(metadata) = holder.take(&["metadata"]) {
        value.set(&["metadata"], metadata);
    }
    Ok(())
}

/// Tells of unknown and duplicate fields as the caller wants it.
///
/// # Errors
/// 400 if the caller is strict.
pub(crate) fn complain(
    context: &Context,
    gvk: &Gvk,
    unknown: Vec<String>,
    duplicates: Vec<String>,
    validation: FieldValidation,
) -> Result<(), Status> {
    let complaints: Vec<String> = complaints(unknown, duplicates);
    if complaints.is_empty() {
        return Ok(());
    }
    match validation {
        FieldValidation::Ignore => Ok(()),
        FieldValidation::Warn => {
            complaints.into_iter().for_each(|complaint| context.warn(complaint));
            Ok(())
        }
        FieldValidation::Strict => Err(Status::bad_request(format!(
            "{} in version {} cannot be handled as a {}: strict decoding error: {}",
            gvk.kind,
            field::quote(&gvk.version),
            gvk.kind,
            complaints.join(", ")
        ))),
    }
}

/// The texts of strict decoding.
pub(crate) fn complaints(unknown: Vec<String>, duplicates: Vec<String>) -> Vec<String> {
    let duplicates = duplicates.into_iter().map(|path| format!("duplicate field {}", field::quote(&path)));
    let unknown = unknown.into_iter().map(|path| format!("unknown field {}", field::quote(&path)));
    duplicates.chain(unknown).collect()
}
