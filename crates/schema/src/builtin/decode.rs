//! What a server does to the JSON of a built-in object by reading it into a Go struct and writing it again: types are
//! checked, unknown fields and zero values vanish, fields without `omitempty` appear, quantities and times become
//! canonical. (k8s.io/apimachinery `runtime/serializer/json`, sigs.k8s.io/json.)

use std::fmt;

use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;
use pilothouse_value::base64::{self, Alphabet};
use pilothouse_value::stack::deeper;
use pilothouse_value::{Gvk, Map, ParseQuantityError, Quantity, Timestamp, Value};

use super::empties;
use super::go_names;
use super::types::{self, Field, Form, PropsOr, TypeDef};

/// A body that cannot be read into its kind's Go struct. Its text is what a server answers with status 400.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    gvk: Gvk,
    failure: Box<Failure>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Why {
    /// A value of the wrong type.
    Type { found: String, wanted: String },
    /// A type with a text form of its own refused the text.
    Text(String),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, version) = (&self.gvk.kind, &self.gvk.version);
        write!(f, "{kind} in version \"{version}\" cannot be handled as a {kind}: {}", self.failure)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::Text(text) => f.write_str(text),
            Why::Type { found, wanted } => match self.holder {
                None => write!(f, "json: cannot unmarshal {found} into Go value of type {wanted}"),
                Some(holder) => {
                    let names = self.path.iter().rev().flat_map(|(name, within)| within.iter().chain([name]));
                    let path = names.copied().collect::<Vec<_>>().join(".");
                    write!(
                        f,
                        "json: cannot unmarshal {found} into Go struct field {holder}.{path} of type {wanted}"
                    )
                }
            },
        }
    }
}

impl std::error::Error for DecodeError {}

/// Reads `object` as Go would read it into the struct of `gvk`, and leaves it as Go would write it. Fields that the
/// kind does not have are removed: prune by the schema first if they are to be told. A kind that is not built in is
/// left alone.
///
/// # Errors
/// [`DecodeError`] for the first value of the wrong type; `object` is then partly changed.
pub fn decode(gvk: &Gvk, object: &mut Value) -> Result<(), DecodeError> {
    let Some(def) = types::kind(gvk) else { return Ok(()) };
    let fail = |failure| DecodeError { gvk: gvk.clone(), failure: Box::new(failure) };
    match object {
        Value::Object(map) => read_struct(def, map, empties::tells_empty(gvk)).map_err(fail),
        other => Err(fail(Failure::type_(other, go_struct(def.name)))),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Failure {
    why: Why,
    /// Whether reading ends here: a type that reads itself has refused. After any other failure Go reads on, and forgets it for one
    /// of these.
    ends: bool,
    /// Names of the fields from the inside outwards, and the struct that holds the innermost.
    /// Before a name Go tells the structs that JSON flattens.
    path: Vec<(&'static str, Option<&'static str>)>,
    holder: Option<&'static str>,
    /// Whether whoever tells it does not know where it is.
    bare: bool,
}

impl Failure {
    fn new(why: Why) -> Self {
        Self { why, ends: false, path: Vec::new(), holder: None, bare: false }
    }

    /// The same, told by somebody who does not know where it is.
    fn bare(self) -> Self {
        Self { bare: true, ..self }
    }

    fn type_(found: &Value, wanted: String) -> Self {
        let found = match (found, found.literal()) {
            (Value::Bool(_), _) => "bool".to_owned(),
            // A number of the wrong range is shown, a number in place of something else is not.
            (_, Some(literal)) if is_number(&wanted) => format!("number {literal}"),
            (_, Some(_)) => "number".to_owned(),
            (other, None) => other.kind_name().to_owned(),
        };
        Self::new(Why::Type { found, wanted })
    }

    fn text(text: impl fmt::Display) -> Self {
        Self::new(Why::Text(text.to_string()))
    }

    /// The same, of a type that reads itself.
    fn ending(self) -> Self {
        Self { ends: true, ..self }
    }

    /// The failure that is told after this one came.
    fn after(self, before: Option<Self>) -> Self {
        match before {
            Some(before) if !self.ends => before,
            _ => self,
        }
    }

    fn inside(mut self, def: &'static TypeDef, field: &'static Field) -> Self {
        if self.bare {
            return self;
        }
        let of_every_kind = field.tags.is_empty() && matches!(field.name, "apiVersion" | "kind");
        self.path.push((field.name, field.within.or(of_every_kind.then_some("TypeMeta"))));
        if self.holder.is_none()
            && let Why::Type { wanted, .. } = &mut self.why
            && let Some(name) = go_names::refine(wanted, def.name, field.name, &field.form)
        {
            *wanted = name;
        }
        self.holder.get_or_insert(def.go_name());
        self
    }
}

/// `tells` says whether what is empty is another value than what is not there, and stays.
fn read_struct(def: &'static TypeDef, map: &mut Map, tells: bool) -> Result<(), Failure> {
    let mut failure = None;
    map.retain(|name, value| {
        let Some(field) = def.field(name) else { return false };
        if value.is_null() || failure.as_ref().is_some_and(|failure: &Failure| failure.ends) {
            return false;
        }
        let is_kept_exactly = def.name == "node.v1.Overhead";
        let result = match value {
            Value::Object(amounts) if is_kept_exactly => {
                each(amounts.values_mut(), |amount| read_or_zero(&Form::Quantity, amount, tells))
            }
            _ => read(&field.form, value, tells),
        };
        if let Err(error) = result {
            failure = Some(error.inside(def, field).after(failure.take()));
        }
        // Rules of scaling without policies are not those that nobody gave.
        let matters = def.name == "autoscaling.v2.HPAScalingRules" && value.as_array().is_some();
        matters || !is_omitted(field, value) || (tells && empties::is_empty(&field.form, value))
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    for field in def.always.iter().filter_map(|at| def.fields.get(*at)) {
        if !map.contains_key(field.name) {
            map.insert(field.name, if field.pointer { Value::Null } else { zero(&field.form) });
        }
    }
    Ok(())
}

/// Whether `omitempty` keeps this value out of the text.
pub(crate) fn is_omitted(field: &Field, value: &Value) -> bool {
    if field.always {
        return false;
    }
    match value {
        Value::Null => true,
        _ if field.pointer => false,
        Value::Bool(b) => !b,
        Value::Int(i) => *i == 0 && field.form != Form::IntOrString,
        Value::Float(f) => *f == 0.0,
        Value::Spelled(_) => false,
        Value::String(s) => s.is_empty(),
        Value::Array(a) => a.is_empty(),
        Value::Object(m) => m.is_empty(),
    }
}

/// What Go writes for a value that was never set.
pub(crate) fn zero(form: &Form) -> Value {
    match form {
        Form::String => Value::String(String::new()),
        Form::Bool => Value::Bool(false),
        Form::Int32 | Form::Int64 | Form::IntOrString => Value::Int(0),
        Form::Double => Value::Int(0),
        Form::Quantity => "0".into(),
        Form::Duration => "0s".into(),
        Form::Ref(id) => {
            let def = id.def();
            let fields = def.always.iter().filter_map(|at| def.fields.get(*at));
            let value = |field: &Field| if field.pointer { Value::Null } else { zero(&field.form) };
            Value::Object(fields.map(|field| (field.name, value(field))).collect())
        }
        Form::Bytes
        | Form::Time
        | Form::MicroTime
        | Form::Raw
        | Form::Json
        | Form::Fields
        | Form::PropsOr(_)
        | Form::List(_)
        | Form::WrappedList(_)
        | Form::Map(_) => Value::Null,
    }
}

/// An object of a kind in which nothing is set, as a server writes it; `None` for a kind that is not built in.
pub fn zero_object(gvk: &Gvk) -> Option<Value> {
    let def = types::kind(gvk)?;
    let mut object = Map::new();
    for field in def.always.iter().filter_map(|at| def.fields.get(*at)) {
        object.insert(field.name, if field.pointer { Value::Null } else { zero(&field.form) });
    }
    let mut object = Value::Object(object);
    object.set(&["kind"], gvk.kind.as_str());
    object.set(&["apiVersion"], gvk.api_version());
    // What is a number inside the server becomes a pointer to zero outside.
    if matches!(gvk.kind.as_str(), "Deployment" | "ReplicaSet" | "StatefulSet") {
        object.set(&["spec", "replicas"], 0);
    }
    if gvk.kind == "DaemonSet" {
        object.set(&["metadata", "annotations", super::prepare::TEMPLATE_GENERATION], "0");
    }
    Some(object)
}

fn read(form: &Form, value: &mut Value, tells: bool) -> Result<(), Failure> {
    match (form, &mut *value) {
        (Form::String, Value::String(_)) | (Form::Bool, Value::Bool(_)) | (Form::Int64, Value::Int(_)) => {
            Ok(())
        }
        (Form::Double, Value::Float(_)) => Ok(()),
        (Form::Double, Value::Int(whole)) => {
            if whole.unsigned_abs() > 1 << 53 {
                #[expect(clippy::cast_precision_loss, reason = "Go reads a float")]
                let number = *whole as f64;
                *value = Value::Float(number);
            }
            Ok(())
        }
        (Form::Int32 | Form::Int64 | Form::IntOrString, number @ (Value::Spelled(_) | Value::Float(_)))
            if whole(number).is_some() =>
        {
            *number = whole(number).map_or(Value::Null, Value::Int);
            read(form, value, tells)
        }
        (Form::Double, Value::Spelled(literal)) => {
            *value = Value::number(literal).ok_or_else(|| Failure::type_(value, go_type(form)))?;
            Ok(())
        }
        (Form::Json, _) => value.read_numbers().map_err(|literal| {
            Failure::type_(&Value::Spelled(literal.into()), "float64".to_owned()).bare().ending()
        }),
        (Form::Int32, Value::Int(n)) if i32::try_from(*n).is_ok() => Ok(()),
        (Form::IntOrString, Value::String(_)) => Ok(()),
        (Form::IntOrString, Value::Int(n)) if i32::try_from(*n).is_ok() => Ok(()),
        (Form::Raw | Form::Fields, _) => Ok(()),
        (Form::Ref(id), Value::Object(map)) => deeper(|| read_struct(id.def(), map, tells)),
        (Form::List(item) | Form::WrappedList(item), Value::Array(items)) => {
            each(items.iter_mut(), |value| read_or_zero(item, value, tells))
        }
        (Form::Map(item), Value::Object(map)) => {
            each(map.values_mut(), |value| {
                // Go reads null into the zero value, which for these is a text.
                if value.is_null() && matches!(**item, Form::String | Form::Bytes) {
                    *value = "".into();
                }
                read_or_zero(item, value, tells)?;
                // Amounts of resources are kept in thousandths.
                if let (Form::Quantity, Value::String(text)) = (&**item, &mut *value)
                    && let Ok(quantity) = text.parse::<Quantity>()
                    && quantity.nano() % 1_000_000 != 0
                {
                    *text = quantity.round_up_milli().to_string();
                }
                Ok(())
            })
        }
        (Form::Bytes, Value::String(text)) => {
            let bytes = base64::decode(Alphabet::Standard, text.as_bytes()).map_err(Failure::text)?;
            *text = STANDARD.encode(bytes);
            Ok(())
        }
        // Go fills bytes from a list of numbers, too.
        (Form::Bytes, Value::Array(items)) => {
            let byte = |item: &Value| match item {
                Value::Int(number) => {
                    u8::try_from(*number).map_err(|_| Failure::type_(item, "uint8".to_owned()))
                }
                Value::Null => Ok(0),
                other => Err(Failure::type_(other, "uint8".to_owned())),
            };
            let bytes: Vec<u8> = items.iter().map(byte).collect::<Result<_, _>>()?;
            *value = STANDARD.encode(bytes).into();
            Ok(())
        }
        (Form::Time, Value::String(text)) => time(text, false).map(|time| *text = time.to_string()),
        (Form::MicroTime, Value::String(text)) => time(text, true).map(|time| *text = time.micro()),
        (Form::Duration, Value::String(_)) => Ok(()),
        // What is neither text nor number is read as its text.
        (Form::Quantity, Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            Err(Failure::text(ParseQuantityError::Format).ending())
        }
        (Form::Quantity, Value::String(_) | Value::Int(_) | Value::Float(_) | Value::Spelled(_)) => {
            let text = match &*value {
                Value::String(text) => text.trim().to_owned(),
                other => other.to_json(),
            };
            *value = Quantity::canonical(&text).map_err(|why| Failure::text(why).ending())?.into();
            Ok(())
        }
        (Form::PropsOr(PropsOr::Bool), Value::Bool(_)) => Ok(()),
        (Form::PropsOr(PropsOr::Array), Value::Array(items)) => each(items.iter_mut(), read_props),
        (Form::PropsOr(PropsOr::Strings), Value::Array(_)) => Ok(()),
        (Form::PropsOr(_), Value::Object(_)) => read_props(value),
        (Form::PropsOr(PropsOr::Bool), _) => Err(Failure::text("boolean or JSON schema expected").ending()),
        (form, found) => {
            let failure = Failure::type_(found, go_type(form));
            let reads_itself = matches!(
                form,
                Form::Time | Form::MicroTime | Form::Duration | Form::IntOrString | Form::PropsOr(_)
            );
            Err(if reads_itself { failure.ending() } else { failure })
        }
    }
}

/// The whole number that a literal of JSON says to Go, which looks at the digits: `-0` says one, and `1.0` does not.
fn whole(value: &Value) -> Option<i64> {
    value.literal()?.parse().ok()
}

/// Reads values one after the other, on after a failure that does not end it.
fn each<'a>(
    values: impl Iterator<Item = &'a mut Value>,
    mut read: impl FnMut(&mut Value) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut failure = None;
    for value in values {
        if let Err(error) = read(value) {
            let error = error.after(failure.take());
            if error.ends {
                return Err(error);
            }
            failure = Some(error);
        }
    }
    failure.map_or(Ok(()), Err)
}

/// Reads a value of a type that has a JSON form of its own, by itself.
///
/// # Errors
/// Go's words for what it is not.
pub(super) fn read_alone(form: &Form, value: &mut Value) -> Result<(), String> {
    read(form, value, false).map_err(|failure| failure.to_string())
}

fn read_or_zero(form: &Form, value: &mut Value, tells: bool) -> Result<(), Failure> {
    if value.is_null() {
        *value = zero(form);
        return Ok(());
    }
    read(form, value, tells)
}

fn read_props(value: &mut Value) -> Result<(), Failure> {
    match (types::find(types::PROPS), &mut *value) {
        (Some(id), Value::Object(map)) => deeper(|| read_struct(id.def(), map, false)),
        (_, found) => Err(Failure::type_(found, go_struct(types::PROPS))),
    }
}

fn time(text: &str, micro: bool) -> Result<Timestamp, Failure> {
    let read = if micro { Timestamp::parse_micro(text) } else { Timestamp::parse(text) };
    read.map_err(|why| Failure::text(why).ending())
}

/// Whether a Go type is one of whole numbers.
fn is_number(name: &str) -> bool {
    name.starts_with("int") || name.starts_with("uint") || name.starts_with("float")
}

/// The Go name of a struct with its package: `v1.PodSpec`.
fn go_struct(name: &str) -> String {
    name.split_once('.').map_or(name, |(_, rest)| rest).to_owned()
}

pub(super) fn go_type(form: &Form) -> String {
    match form {
        Form::String | Form::Duration | Form::Time | Form::MicroTime => "string".to_owned(),
        Form::Bool => "bool".to_owned(),
        Form::Int32 | Form::IntOrString => "int32".to_owned(),
        Form::Int64 => "int64".to_owned(),
        Form::Double => "float64".to_owned(),
        Form::Bytes => "[]uint8".to_owned(),
        Form::Quantity => "resource.Quantity".to_owned(),
        Form::Raw => "runtime.RawExtension".to_owned(),
        Form::Json => "v1.JSON".to_owned(),
        Form::Fields => "v1.FieldsV1".to_owned(),
        Form::PropsOr(_) => "v1.JSONSchemaProps".to_owned(),
        Form::Ref(id) => go_struct(id.name()),
        Form::List(item) | Form::WrappedList(item) => format!("[]{}", go_type(item)),
        Form::Map(item) => match &**item {
            // What reads itself as a text is named here all the same.
            Form::Time => "map[string]v1.Time".to_owned(),
            item => format!("map[string]{}", go_type(item)),
        },
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_value::json;

    use super::*;

    fn decoded(api_version: &str, kind: &str, mut object: Value) -> Result<Value, String> {
        let gvk = api_version.parse::<pilothouse_value::GroupVersion>().unwrap().kind(kind);
        decode(&gvk, &mut object).map_err(|error| error.to_string())?;
        Ok(object)
    }

    #[test]
    fn zero_values_vanish_and_fields_that_go_always_writes_appear() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "unknown": 1,
            "metadata": {"name": "a", "creationTimestamp": null, "labels": {}, "annotations": {"n": null}},
            "spec": {"containers": [{"name": "c", "env": [], "stdin": false, "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}, "requests": {"cpu": 2}}}],
                "terminationGracePeriodSeconds": 0},
        });
        let expected = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "a", "annotations": {"n": ""}},
            "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "2"}}}],
                "terminationGracePeriodSeconds": 0},
            "status": {},
        });
        assert_eq!(decoded("v1", "Pod", pod).unwrap(), expected);
    }

    #[test]
    fn a_value_of_the_wrong_type_is_told_as_go_tells_it() {
        let cases = [
            (
                json!({"spec": {"replicas": "three"}}),
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                json!({"spec": {"template": {"spec": {"containers": {"name": "c"}}}}}),
                "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
            ),
            (
                json!({"metadata": {"labels": {"a": 1}}}),
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
            ),
            (
                json!({"spec": {"template": {"spec": {"restartPolicy": 1}}}}),
                "json: cannot unmarshal number into Go struct field PodSpec.spec.template.spec.restartPolicy of type v1.RestartPolicy",
            ),
            (
                json!({"spec": {"template": {"spec": {"containers": [{"resources": {"limits": []}}]}}}}),
                "json: cannot unmarshal array into Go struct field ResourceRequirements.spec.template.spec.containers.resources.limits of type v1.ResourceList",
            ),
        ];
        for (object, text) in cases {
            let error = decoded("apps/v1", "Deployment", object).unwrap_err();
            assert_eq!(
                error,
                format!("Deployment in version \"v1\" cannot be handled as a Deployment: {text}")
            );
        }
        let error = decoded("v1", "Secret", json!({"data": {"a": "not base64!"}})).unwrap_err();
        assert!(error.ends_with("illegal base64 data at input byte 3"), "{error}");
    }

    #[test]
    fn schemas_inside_crds_are_read_too() {
        let crd = json!({"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {
            "properties": {"a": {"items": {"type": "string", "nonsense": 1}, "additionalProperties": true}}}}}]}});
        let crd = decoded("apiextensions.k8s.io/v1", "CustomResourceDefinition", crd).unwrap();
        let version = &crd.items_at(&["spec", "versions"])[0];
        let field = version.at(&["schema", "openAPIV3Schema", "properties", "a"]).unwrap();
        assert_eq!(*field, json!({"items": {"type": "string"}, "additionalProperties": true}));
        assert_eq!(*version.get("served").unwrap(), json!(false));
    }
}
