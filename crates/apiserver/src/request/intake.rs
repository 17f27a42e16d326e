//! From the bytes of a body to a document of the right kind.
//!
//! This stage decodes JSON, YAML and protobuf, checks that the document is what the endpoint is for, removes fields that the
//! schema does not know (and says so, as `fieldValidation` wants), and fills in defaults.

mod kind;

use std::collections::HashSet;

use bytes::Bytes;
use pilothouse_schema::builtin;
use pilothouse_schema::proto::{self, ProtoError};
use pilothouse_value::parse::{self, ParseError};
use pilothouse_value::{Gvk, Map, Status, Value, field, object, octets};

use self::kind::check_version;
pub(crate) use self::kind::{check_kind, internal_package};
use crate::answer::negotiate::Encoding;
use crate::registry::kinds;
use crate::registry::resource::Resource;
use crate::request::options::FieldValidation;
use crate::state::Context;

/// A document as it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Incoming {
    pub(crate) value: Value,
    pub(crate) spelling: Spelling,
}

/// What strict decoding has to say of a text, apart from what it says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spelling {
    /// Paths of keys that came more than once in JSON.
    duplicates: Vec<String>,
    /// What is to be said of keys that came more than once in YAML.
    pub(crate) repeated: Vec<String>,
    /// Whether it is converted from a map of maps, which shows fields that are not known as they are.
    converted: bool,
    /// What is to be said of the operations of a JSON patch.
    of_operations: Vec<String>,
    /// The JSON that was read: the order of complaints.
    text: Bytes,
    /// Whether numbers may be kept as they are spelled.
    spelled: bool,
}

/// What is made of the numbers of a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Nothing is known of what they are read into.
    Read,
    /// They are kept as they are spelled until it is known.
    Spelled,
}

impl Spelling {
    /// The texts of strict decoding for a document of which these fields are not known.
    pub(crate) fn complaints(&self, unknown: Vec<String>) -> Vec<String> {
        complaints(unknown, self.duplicates.clone(), &[])
    }

    /// All that strict decoding has to say, of built-in kinds in the order of the text.
    pub(crate) fn told(
        self,
        unknown: Vec<String>,
        built_in: bool,
        validation: FieldValidation,
    ) -> Vec<String> {
        let text = if built_in { &self.text[..] } else { &[] };
        let repeated = match validation {
            FieldValidation::Strict if !self.repeated.is_empty() => vec![repeated_keys(&self.repeated)],
            _ => self.repeated,
        };
        let complaints = if self.converted {
            let unknown = unknown.iter().map(|path| format!("unknown field \"{path}\""));
            complaints(Vec::new(), self.duplicates, text).into_iter().chain(unknown).collect()
        } else {
            complaints(unknown, self.duplicates, text)
        };
        self.of_operations.into_iter().chain(repeated).chain(complaints).collect()
    }
}

impl Incoming {
    /// What a patch made of another document; what is wrong with the text of the patch stays so. Of a list of operations (and not
    /// of other patches) these fields are not known.
    pub(crate) fn patched(&self, value: Value, of_operations: Option<Vec<String>>) -> Incoming {
        let Spelling { duplicates, spelled, text, .. } = &self.spelling;
        let mut spelling = Spelling { spelled: *spelled, ..Spelling::default() };
        match of_operations {
            Some(unknown) => {
                let found = complaints(unknown, duplicates.clone(), text);
                spelling.of_operations = found.iter().map(|text| format!("json patch {text}")).collect();
            }
            None => spelling.duplicates.clone_from(duplicates),
        }
        Incoming { value, spelling }
    }

    /// The same, converted from a map of maps, as what a strategic merge patch makes.
    pub(crate) fn converted(mut self) -> Incoming {
        self.spelling.converted = true;
        self
    }

    /// Whether numbers may be kept as they are spelled.
    pub(crate) fn is_spelled(&self) -> bool {
        self.spelling.spelled
    }
}

impl From<Value> for Incoming {
    fn from(value: Value) -> Incoming {
        Incoming { value, ..Incoming::default() }
    }
}

/// Decodes a body that is to be an object of this resource, or what one of its subresources takes.
///
/// # Errors
/// 400 if it is not what the encoding says, or no object.
pub(crate) fn decode_object(
    encoding: Encoding,
    bytes: &Bytes,
    resource: &Resource,
    subresource: Option<&str>,
) -> Result<Incoming, Status> {
    let gvk = resource.gvk_at(subresource);
    let kind = &*gvk.kind;
    if encoding == Encoding::Protobuf {
        return decode_protobuf(bytes, &gvk);
    }
    let numbers = if resource.is_built_in() { Numbers::Spelled } else { Numbers::Read };
    let mut incoming = match decode(encoding, bytes, numbers) {
        Ok(incoming) => incoming,
        // It is well-formed; Go finds that it does not fit when it reads it into a value, once it knows what it is.
        Err(status) if encoding == Encoding::Json && status.message.starts_with("json: ") => {
            let read = decode(encoding, bytes, Numbers::Spelled).unwrap_or_default();
            check_type(resource, kind, &read.value, bytes)?;
            return Err(Status::bad_request(format!(
                "{kind} in version {} cannot be handled as a {kind}: {}",
                field::quote(&gvk.version),
                status.message
            )));
        }
        Err(status) if encoding == Encoding::Json => {
            return Err(unreadable(kind, &json_parse_error(&status.message), bytes));
        }
        Err(status) => return Err(unreadable(kind, &status.message, bytes)),
    };
    if incoming.value.is_null() && resource.is_built_in() {
        // Go reads a null into a struct as nothing said.
        incoming.value = Value::object();
    }
    check_type(resource, kind, &incoming.value, bytes)?;
    if resource.is_built_in() && encoding == Encoding::Json && !incoming.spelling.duplicates.is_empty() {
        let merged = parse::json_merging(bytes).map_err(|error| Status::bad_request(error.to_string()))?;
        incoming.value = merged.value;
        // What came first has been read, too.
        for mut replaced in merged.replaced {
            builtin::decode(&gvk, &mut replaced).map_err(|error| Status::bad_request(error.to_string()))?;
        }
    }
    Ok(incoming)
}

/// Checks that a document says what it is in a way that can be read.
///
/// # Errors
/// 400 otherwise.
fn check_type(resource: &Resource, kind: &str, value: &Value, bytes: &[u8]) -> Result<(), Status> {
    if let Some(why) = wrong_type_meta(value) {
        return Err(unreadable(kind, &json_parse_error(&why), bytes));
    }
    // A document of a defined kind says what it is; for built-in ones the path is enough.
    if resource.custom.is_some() && object::kind(value).is_empty() {
        let why = format!("Object 'Kind' is missing in '{}'", octets::text(bytes));
        return Err(unreadable(kind, &why, bytes));
    }
    let api_version = object::api_version(value);
    if api_version.matches('/').count() > 1 {
        return Err(unreadable(kind, &format!("unexpected GroupVersion string: {api_version}"), bytes));
    }
    Ok(())
}

/// Decodes a protobuf body that is to be of this kind.
///
/// # Errors
/// 400 if it is none.
fn decode_protobuf(bytes: &Bytes, wanted: &Gvk) -> Result<Incoming, Status> {
    let wrong = |gvk: &Gvk, error: &ProtoError| {
        Status::bad_request(format!(
            "{} in version {} cannot be handled as a {}: {error}",
            gvk.kind,
            field::quote(&gvk.version),
            wanted.kind
        ))
    };
    match proto::decode_as(bytes, wanted) {
        Ok((_, value)) => Ok(value.into()),
        Err(error @ ProtoError::Envelope(_)) => Err(unreadable(&wanted.kind, &error.to_string(), bytes)),
        Err(ref error @ (ProtoError::UnknownKind(ref gvk) | ProtoError::Malformed { ref gvk, .. })) => {
            Err(wrong(gvk, error))
        }
    }
}

/// Go's name of a JSON type.
pub(crate) fn go_name(value: &Value) -> &'static str {
    match value.kind_name() {
        "boolean" => "bool",
        "integer" => "number",
        other => other,
    }
}

/// What Go says of a document whose kind or version cannot be read.
pub(crate) fn wrong_type_meta(value: &Value) -> Option<String> {
    if value.as_object().is_none() {
        return Some(format!(
            "json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \
             \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
            go_name(value)
        ));
    }
    ["apiVersion", "kind"].iter().find_map(|key| {
        let wrong = value.get(key).filter(|member| member.as_str().is_none() && !member.is_null())?;
        Some(format!("json: cannot unmarshal {} into Go struct field .{key} of type string", go_name(wrong)))
    })
}

/// What does not say of which kind it is.
pub(crate) fn json_parse_error(why: &str) -> String {
    format!("couldn't get version/kind; json parse error: {why}")
}

/// Reads an answer as Kubernetes' clients do: what begins with `{` is JSON, and everything else YAML.
///
/// # Errors
/// The client's text for what is no document of a kind.
pub(crate) fn read_answer(bytes: &[u8]) -> Result<Value, String> {
    let is_json = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let value = if is_json {
        let why = |error| match error {
            ParseError::Json(why) => json_parse_error(&why),
            other => json_parse_error(&other.to_string()),
        };
        parse::json(bytes).map_err(why)?.value
    } else {
        let text = std::str::from_utf8(bytes).map_err(|_| "yaml: invalid leading UTF-8 octet".to_owned())?;
        parse::yaml(text).map_err(|error| error.to_string())?.value
    };
    match wrong_type_meta(&value) {
        Some(why) if !value.is_null() => Err(json_parse_error(&why)),
        _ => Ok(value),
    }
}

/// Decodes a body.
///
/// # Errors
/// 400 if the bytes are not what the encoding says; the text is that of Go's parser.
pub(crate) fn decode(encoding: Encoding, bytes: &Bytes, numbers: Numbers) -> Result<Incoming, Status> {
    match encoding {
        Encoding::Json => {
            let read = match numbers {
                Numbers::Read => parse::json(bytes),
                Numbers::Spelled => parse::json_spelled(bytes),
            };
            let parsed = read.map_err(|error| {
                Status::bad_request(match error {
                    ParseError::Json(why) => why,
                    other => other.to_string(),
                })
            })?;
            let (text, duplicates, spelled) = (bytes.clone(), parsed.duplicates, parsed.spelled);
            let spelling = Spelling { duplicates, text, spelled, ..Spelling::default() };
            Ok(Incoming { value: parsed.value, spelling })
        }
        Encoding::Yaml => {
            let read = match numbers {
                Numbers::Read => parse::yaml(bytes),
                Numbers::Spelled => parse::yaml_spelled(bytes),
            };
            let parsed = read.map_err(|error| Status::bad_request(error.to_string()))?;
            let (repeated, spelled) = (parsed.repeated, parsed.spelled);
            let spelling = Spelling { repeated, spelled, ..Spelling::default() };
            Ok(Incoming { value: parsed.value, spelling })
        }
        Encoding::Protobuf => {
            // The options of a deletion: nothing else is read without a resource.
            let (_, value) = proto::decode_as(bytes, &Gvk::new("", "v1", OPTIONS))
                .map_err(|error| Status::bad_request(error.to_string()))?;
            Ok(value.into())
        }
    }
}

/// Decodes the options of a deletion.
///
/// # Errors
/// 400 if they are no `DeleteOptions`.
pub(crate) fn decode_options(encoding: Encoding, bytes: &Bytes) -> Result<Value, Status> {
    let json = encoding == Encoding::Json;
    let mut value = decode(encoding, bytes, Numbers::Spelled)
        .map_err(|status| {
            let text = if json { json_parse_error(&status.message) } else { status.message };
            Status::bad_request(text)
        })?
        .value;
    if let Some(why) = wrong_type_meta(&value) {
        return Err(Status::bad_request(json_parse_error(&why)));
    }
    let kind = object::kind(&value);
    if !kind.is_empty() && kind != OPTIONS {
        let version = match object::api_version(&value) {
            "" => "meta.k8s.io/v1",
            version => version,
        };
        return Err(Status::bad_request(format!(
            "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
            field::quote(kind),
            field::quote(version),
        )));
    }
    builtin::decode(&Gvk::new("", "v1", OPTIONS), &mut value).map_err(|error| {
        let text = error.to_string();
        let why = text.split_once(": ").map_or(text.as_str(), |(_, why)| why);
        // The one field of these options whose type has a name of its own.
        let policy = "DeleteOptions.propagationPolicy of type";
        let why = why.replace(&format!("{policy} string"), &format!("{policy} v1.DeletionPropagation"));
        Status::bad_request(why)
    })?;
    Ok(value)
}

const OPTIONS: &str = "DeleteOptions";
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
    if resource.is_built_in() {
        check_kind(&gvk, &mut value)?;
    } else {
        check_version(&gvk, &value)?;
    }
    read_kind(context, resource, value, incoming.spelling, validation)
}

/// Makes the outcome of a patch an object of the resource. One of a defined kind may say that it is of another: that is
/// found when it is validated.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_patched(
    context: &Context,
    resource: &Resource,
    incoming: Incoming,
    validation: FieldValidation,
) -> Result<Value, Status> {
    let wrong = wrong_type_meta(&incoming.value).map(|why| json_parse_error(&why));
    if resource.is_built_in() && wrong.is_none() {
        return read(context, resource, incoming, validation);
    }
    let (kind, mut value) = (&resource.kind, incoming.value);
    let numbers = if incoming.spelling.spelled { value.read_numbers() } else { Ok(()) };
    let why = match wrong {
        Some(why) => Some(why),
        None if object::kind(&value).is_empty() => {
            Some(format!("Object 'Kind' is missing in '{}'", value.to_json()))
        }
        None => numbers.err().map(|literal| ParseError::Number(literal).to_string()),
    };
    if let Some(why) = why {
        return Err(Status::bad_request(format!(
            "{kind} in version {} cannot be handled as a {kind}: {why}",
            field::quote(&resource.version),
        )));
    }
    if object::api_version(&value).is_empty() {
        return Err(Status::internal("Object 'apiVersion' is missing in 'object has no apiVersion field'"));
    }
    read_kind(context, resource, value, incoming.spelling, validation)
}

fn read_kind(
    context: &Context,
    resource: &Resource,
    mut value: Value,
    spelling: Spelling,
    validation: FieldValidation,
) -> Result<Value, Status> {
    let gvk = resource.gvk();
    // The metadata of a defined kind loses an empty list when it is read.
    let clears_managers = resource.is_built_in()
        && value.at(&MANAGED_FIELDS).and_then(Value::as_array).is_some_and(Vec::is_empty);
    // What says that it is something else altogether is not touched: it will not be stored.
    let given = Gvk::of(&value).unwrap_or_default();
    let is_own = resource.is_built_in() || (given.kind == gvk.kind && given.group == gvk.group);
    // What cannot be read is shown as it came.
    let embedded = if resource.is_built_in() { Ok(()) } else { kinds::check_embedded(resource, &value) };
    let mut unknown = match is_own {
        true if given.version == gvk.version || resource.is_built_in() => kinds::prune(resource, &mut value),
        true => kinds::prune_as_it_says(resource, &mut value),
        false => Vec::new(),
    };
    if !resource.is_built_in() {
        // The metadata of embedded objects is read after all the rest.
        unknown.sort_by_key(|path| path.contains(".metadata."));
    }
    if resource.is_built_in() {
        context.note_given(&value);
        builtin::decode(&gvk, &mut value).map_err(|error| Status::bad_request(error.to_string()))?;
    } else {
        read_metadata(&gvk, &mut value)?;
        embedded?;
    }
    if clears_managers {
        // Elsewhere an empty list is as good as none; here it is what clears the managers.
        value.set(&MANAGED_FIELDS, Value::Array(Vec::new().into()));
    }
    let complaints = spelling.told(unknown, resource.is_built_in(), validation);
    complain(context, &gvk, complaints, validation)?;
    if is_own {
        let bare = resource.is("batch", "jobs") && object::labels(&value).is_none_or(Map::is_empty);
        kinds::default(resource, &mut value);
        context.note_shared_labels(bare && object::labels(&value).is_some());
    }
    Ok(value)
}

/// Makes the values of what an apply has made of an object such as its built-in kind can hold.
///
/// # Errors
/// 500 for a value that it cannot.
pub(crate) fn convert_applied(
    resource: &Resource,
    mut made: Value,
    applied: &Value,
) -> Result<Value, Status> {
    if !resource.is_built_in() {
        return Ok(made);
    }
    let gvk = resource.gvk();
    let told = |why: String| {
        // Upstream tells the place that the applied document says.
        let place = format!("{}/{}", object::namespace(applied).unwrap_or_default(), object::name(applied));
        let gvk = format!("{}/{}, Kind={}", gvk.group, gvk.version, gvk.kind);
        let text = format!(
            "failed to convert new object ({place}; {gvk}) to proper version: unable to convert unstructured object to {gvk}: \
             {why}"
        );
        Status::new(500, "", text)
    };
    if let Some(entries) = applied.at(&MANAGED_FIELDS).filter(|entries| !entries.is_null()) {
        // No apply keeps them, but upstream finds that they cannot be read.
        let mut given = Value::object();
        given.set(&MANAGED_FIELDS, entries.clone());
        builtin::convert(&gvk, &mut given).map_err(told)?;
    }
    builtin::convert(&gvk, &mut made).map_err(told)?;
    Ok(made)
}

/// Makes the outcome of an apply an object of the resource. A defined kind gets its defaults and nothing else: a null that
/// apply has left where something was is judged as it is.
///
/// # Errors
/// 400 for a wrong type in the metadata of a defined kind.
pub(crate) fn read_applied(
    context: &Context,
    resource: &Resource,
    mut value: Value,
) -> Result<Value, Status> {
    if resource.is_built_in() {
        return read(context, resource, value.into(), FieldValidation::Ignore);
    }
    read_metadata(&resource.gvk(), &mut value)?;
    pilothouse_schema::fill_defaults(resource.schema(), &mut value);
    Ok(value)
}

/// 400 for a body that is no document of a kind.
fn unreadable(kind: &str, why: &str, bytes: &[u8]) -> Status {
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({})",
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
        Some(b'{') => format!("{}{more}", octets::text(cut)),
        Some(_) => {
            let digits: String = cut.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{digits}{more}")
        }
    }
}

/// Metadata is the same for all kinds, whatever a definition says of it.
fn read_metadata(gvk: &Gvk, value: &mut Value) -> Result<(), Status> {
    let Some(metadata) = value.take(&["metadata"]) else { return Ok(()) };
    let metadata = pilothouse_schema::read_metadata(metadata).map_err(|why| {
        Status::bad_request(format!(
            "{} in version {} cannot be handled as a {}: {why}",
            gvk.kind,
            field::quote(&gvk.version),
            gvk.kind
        ))
    })?;
    if !metadata.is_null() {
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
    complaints: Vec<String>,
    validation: FieldValidation,
) -> Result<(), Status> {
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

/// The one error that upstream's YAML reader makes of all keys that came twice.
pub(crate) fn repeated_keys(repeated: &[String]) -> String {
    format!("yaml: unmarshal errors:\n  {}", repeated.join("\n  "))
}

/// The texts of strict decoding, in the order of the JSON text if there is one.
fn complaints(unknown: Vec<String>, duplicates: Vec<String>, text: &[u8]) -> Vec<String> {
    let duplicate = |path: &str| format!("duplicate field {}", field::quote(path));
    let not_known = |path: &str| format!("unknown field {}", field::quote(path));
    if unknown.len() + duplicates.len() < 2 || text.is_empty() {
        let duplicates = duplicates.iter().map(|path| duplicate(path));
        return duplicates.chain(unknown.iter().map(|path| not_known(path))).collect();
    }
    let unknown: HashSet<&str> = unknown.iter().map(String::as_str).collect();
    let duplicates: HashSet<&str> =
        duplicates.iter().map(String::as_str).filter(|path| !unknown.contains(path)).collect();
    // A path may be long, and many may begin with it: those that cannot be meant are passed over by their length.
    let lengths: HashSet<usize> = unknown.iter().chain(&duplicates).map(|path| path.len()).collect();
    let (mut once, mut told, mut made) = (HashSet::new(), HashSet::new(), Vec::new());
    parse::json_keys(text, |path| {
        if !lengths.contains(&path.len()) {
            return;
        }
        let (unknown, duplicate_here) = (unknown.get(path), duplicates.get(path));
        if let Some(path) = unknown.filter(|path| told.insert(**path)) {
            made.push(not_known(path));
        }
        if let Some(path) = duplicate_here.filter(|path| !once.insert(**path) && told.insert(**path)) {
            made.push(duplicate(path));
        }
    });
    made
}
