//! Values while an expression runs. What comes from a document is borrowed and read when it is looked at.

mod equal;
mod list;
mod map;
mod view;

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use pilothouse_value::Value;

use crate::decl::DeclType;
use crate::error::EvalError;
use crate::library::authz::{self, Authorizer, ResourceSubject};
use crate::time::{Timestamp, go_duration};
use crate::types::{HostType, Type};

pub(crate) use equal::add_lists;
pub use list::ListVal;
pub use map::MapVal;
pub(crate) use map::{Key, MapBuilder};

/// A value of an expression.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Val<'a> {
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number with a sign.
    Int(i64),
    /// A whole number without a sign.
    Uint(u64),
    /// A floating point number.
    Double(f64),
    /// Text.
    String(Text<'a>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A point in time between the years 1 and 9999.
    Timestamp(Timestamp),
    /// A span of time in nanoseconds.
    Duration(i64),
    /// A list.
    List(ListVal<'a>),
    /// A map or an object.
    Map(MapVal<'a>),
    /// The type of a value.
    Type(TypeVal),
    /// A value that may be missing.
    Optional(Option<Arc<Val<'a>>>),
    /// A value of a library or of the host.
    Opaque(Arc<dyn Opaque>),
    /// Data without a schema; only to be compared.
    Preserved(&'a Value),
    /// What stands in a list that was made of a document where an item is not of its declared type. Whoever takes it out of
    /// the list gets the error.
    Wrong(Arc<EvalError>),
}

/// Text that is borrowed or shared.
#[derive(Clone)]
pub enum Text<'a> {
    /// Of a document.
    Borrowed(&'a str),
    /// Of an expression, or made by it.
    Shared(Arc<str>),
}

/// A type as a value: compared by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeVal(pub(crate) Arc<str>);

impl TypeVal {
    /// The name: `int`, `list`, `google.protobuf.Timestamp`.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// A value that only the functions of a library can look into.
pub trait Opaque: Any + fmt::Debug + Send + Sync {
    /// Its type.
    fn host_type(&self) -> HostType;
    /// Whether both are the same value; the other one may be of another type.
    fn equals(&self, other: &dyn Opaque) -> bool;
    /// The size that counts for what functions cost: bytes of an address or of the prefix of a network, characters of
    /// the regular expression of a named format. `None` of what has no size.
    fn size(&self) -> Option<u64> {
        None
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<'a> Val<'a> {
    /// A document read with its declared type. The parts are read when they are looked at, so that an error inside of
    /// the document is found only then.
    ///
    /// # Errors
    /// When the outermost shape is not that of the type: `invalid data, expected …`.
    pub fn view(document: &'a Value, decl: &'a DeclType) -> Result<Self, EvalError> {
        view::view(document, decl)
    }

    /// A document without a schema: integers, doubles, strings, lists and maps as they come.
    pub fn dynamic(document: &'a Value) -> Self {
        view::dynamic(document)
    }

    /// The value of the variable `authorizer`.
    pub fn authorizer(authorizer: Arc<dyn Authorizer>) -> Self {
        authz::authorizer(authorizer)
    }

    /// The value of the variable `authorizer.requestResource`.
    pub fn request_resource(authorizer: Arc<dyn Authorizer>, resource: ResourceSubject) -> Self {
        authz::request_resource(authorizer, resource)
    }

    /// An optional value that is there.
    pub fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// An optional value that is missing.
    pub const fn none() -> Self {
        Self::Optional(None)
    }

    /// Text that is made at run time.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::String(Text::Shared(text.into()))
    }

    /// A list of values.
    pub fn list(items: Vec<Self>) -> Self {
        Self::List(ListVal::owned(items))
    }

    /// The boolean.
    pub const fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// The text.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The value as `T`, if it is opaque and is one.
    pub fn downcast<T: Opaque>(&self) -> Option<&T> {
        let Self::Opaque(value) = self else { return None };
        let any: &dyn Any = &**value;
        any.downcast_ref()
    }

    /// The name of its type at run time.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Opaque(value) => value.host_type().name,
            Self::Preserved(_) => "unknown",
            Self::Wrong(_) => "error",
        }
    }
}

impl From<&Type> for TypeVal {
    fn from(ty: &Type) -> Self {
        Self(ty.name().into())
    }
}

/// As messages show it.
impl fmt::Display for Val<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Uint(value) => write!(f, "{value}"),
            Self::Double(value) => f.write_str(&pilothouse_value::go_print::float(*value)),
            Self::String(text) => f.write_str(text),
            Self::Bytes(bytes) => write!(f, "{bytes:?}"),
            Self::Timestamp(at) => f.write_str(&at.go_string()),
            Self::Duration(nanos) => f.write_str(&go_duration(*nanos)),
            Self::Type(ty) => f.write_str(ty.name()),
            Self::Optional(Some(value)) => write!(f, "optional({value})"),
            Self::Optional(None) => f.write_str("optional.none()"),
            // What they hold may be large or private.
            Self::List(_) | Self::Map(_) | Self::Opaque(_) | Self::Preserved(_) | Self::Wrong(_) => {
                f.write_str(self.type_name())
            }
        }
    }
}
