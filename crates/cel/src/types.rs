//! Types of expressions as the checker knows them, and how they are written in messages.
//! Source: cel-go `common/types/types.go` and `checker/format.go`.

use std::fmt;
use std::sync::Arc;

use crate::decl::ObjectType;

/// The type of an expression.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Type {
    /// Of `null`.
    Null,
    /// `true` and `false`.
    Bool,
    /// 64 bits with a sign.
    Int,
    /// 64 bits without a sign.
    Uint,
    /// IEEE 754, 64 bits.
    Double,
    /// Unicode text.
    String,
    /// Raw bytes.
    Bytes,
    /// A point in time.
    Timestamp,
    /// A span of time.
    Duration,
    /// Checked when it is evaluated.
    Dyn,
    /// Like [`Type::Dyn`], spelled `any`.
    Any,
    /// What an expression has that was refused; agrees with everything.
    Error,
    /// A list of this type.
    List(Arc<Type>),
    /// A map from the first type to the second.
    Map(Arc<(Type, Type)>),
    /// Something with fields.
    Object(Arc<ObjectType>),
    /// Something that a library provides and that only its functions can look into: `kubernetes.Quantity`, `net.IP`.
    Host(HostType),
    /// A scalar that came as a message, or null: `google.protobuf.Int64Value`.
    Wrapper(Arc<Type>),
    /// A value of this type, or none.
    Optional(Arc<Type>),
    /// The type of a type; of which one, if it is known.
    Type(Option<Arc<Type>>),
    /// What a mutation of an admission policy makes, by its name: `JSONPatch`, `Object`, `Object.spec`.
    Patch(Arc<str>),
    /// Of what a `JSONPatch` has no field for. Agrees with what is dynamic alone, and is written as nothing.
    Unspecified,
    /// A variable of a generic function, or one that is still to be inferred.
    Param(Param),
}

/// A type that a library provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostType {
    /// As it is written in messages.
    pub name: &'static str,
    /// Whether the type is declared as an opaque one (`net.IP`) rather than as a message (`kubernetes.Quantity`).
    pub is_opaque: bool,
}

/// A type that stands for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Param {
    /// Of a declaration: `A`.
    Declared(&'static str),
    /// Made by the checker: `_var7`.
    Free(u32),
}

impl Type {
    /// A list of `items`.
    pub fn list(items: Type) -> Self {
        Self::List(Arc::new(items))
    }

    /// A map from `keys` to `values`.
    pub fn map(keys: Type, values: Type) -> Self {
        Self::Map(Arc::new((keys, values)))
    }

    /// An optional `inner`.
    pub fn optional(inner: Type) -> Self {
        Self::Optional(Arc::new(inner))
    }

    /// Whether this is dynamic: checked when it is evaluated.
    pub fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn | Self::Any)
    }

    /// The type by the names that types have at run time, with what is in it: `google.protobuf.Timestamp`,
    /// `map(string, dyn)`, `wrapper(int)`.
    pub fn declared(&self) -> String {
        match self {
            Self::List(inner) | Self::Optional(inner) | Self::Type(Some(inner)) => {
                format!("{}({})", self.name(), inner.declared())
            }
            Self::Map(map) => format!("map({}, {})", map.0.declared(), map.1.declared()),
            Self::Wrapper(inner) => format!("wrapper({})", inner.declared()),
            Self::Param(param) => format!("<{param}>"),
            ty => ty.name().to_owned(),
        }
    }

    /// The scalar of a wrapper; any other type is itself.
    pub(crate) fn unwrapped(&self) -> &Self {
        if let Self::Wrapper(inner) = self { inner } else { self }
    }

    /// Whether there is a [`Type::Unspecified`] in it.
    pub(crate) fn has_unspecified(&self) -> bool {
        match self {
            Self::Unspecified => true,
            Self::List(inner) | Self::Optional(inner) | Self::Type(Some(inner)) => inner.has_unspecified(),
            Self::Map(map) => map.0.has_unspecified() || map.1.has_unspecified(),
            _ => false,
        }
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Any | Self::Error)
    }

    /// The name that `type(x)` has at run time: `int`, `list`, `google.protobuf.Timestamp`.
    pub fn name(&self) -> &str {
        match self {
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Duration => "google.protobuf.Duration",
            Self::Dyn => "dyn",
            Self::Any => "google.protobuf.Any",
            Self::Error => "error",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Object(object) => object.name(),
            Self::Host(host) => host.name,
            Self::Patch(name) => name,
            Self::Unspecified => "",
            Self::Wrapper(inner) => inner.name(),
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Param(Param::Declared(name)) => name,
            Self::Param(Param::Free(_)) => "_var",
        }
    }
}

/// Types are the same when they are written the same; objects are known by their names, and a wrapper is its scalar. What is
/// not specified is like nothing, not even itself.
impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => Arc::ptr_eq(a, b) || a.name() == b.name(),
            (Self::Host(a), Self::Host(b)) => a == b,
            (Self::Patch(a), Self::Patch(b)) => a == b,
            (Self::Unspecified, Self::Unspecified) => false,
            (Self::Type(a), Self::Type(b)) => a == b,
            (Self::Wrapper(inner), other) | (other, Self::Wrapper(inner)) => **inner == *other.unwrapped(),
            (Self::Param(a), Self::Param(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Declared(name) => f.write_str(name),
            Self::Free(number) => write!(f, "_var{number}"),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Null => f.write_str("null"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Duration => f.write_str("duration"),
            Self::Error => f.write_str("!error!"),
            Self::List(items) => write!(f, "list({items})"),
            Self::Map(map) => write!(f, "map({}, {})", map.0, map.1),
            Self::Optional(inner) => write!(f, "optional_type({inner})"),
            Self::Type(Some(of)) => write!(f, "type({of})"),
            Self::Param(param) => write!(f, "{param}"),
            Self::Wrapper(inner) => write!(f, "wrapper({inner})"),
            _ => f.write_str(self.name()),
        }
    }
}
