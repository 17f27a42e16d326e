//! Messages of protobuf that expressions may make: the well-known ones, which every environment of cel-go has. Most of
//! them are just another way to write a value. Source: cel-go `common/types/provider.go` (`NewValue`),
//! `common/types/pb/type.go` (`unwrap`), `common/types/pb/checked.go`; `google/protobuf/*.proto`.

mod make;
mod native;
mod wire;

use crate::library::hosts;
use crate::types::Type;

pub(crate) use make::{Message, make};

/// A message: its name and its fields.
#[derive(Debug)]
pub(crate) struct Descriptor {
    /// With the package.
    pub(crate) name: &'static str,
    kind: Kind,
    fields: &'static [Field],
}

/// A field of a message.
#[derive(Debug)]
pub(crate) struct Field {
    name: &'static str,
    /// As the wire has it.
    number: u64,
    kind: FieldKind,
}

/// What the message stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The value of its one field.
    Wrapper,
    Any,
    Duration,
    Timestamp,
    Struct,
    Value,
    ListValue,
    /// Itself.
    Plain,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldKind {
    Bool,
    Bytes,
    Double,
    Float,
    Int32,
    Int64,
    Uint32,
    Uint64,
    String,
    /// `google.protobuf.NullValue`.
    Null,
    Struct,
    List,
    Value,
    /// `repeated google.protobuf.Value`.
    Values,
    /// `map<string, google.protobuf.Value>`.
    Fields,
}

impl FieldKind {
    /// The type that the checker expects.
    fn ty(self) -> Type {
        match self {
            Self::Bool => Type::Bool,
            Self::Bytes => Type::Bytes,
            Self::Double | Self::Float => Type::Double,
            Self::Int32 | Self::Int64 | Self::Null => Type::Int,
            Self::Uint32 | Self::Uint64 => Type::Uint,
            Self::String => Type::String,
            Self::Struct | Self::Fields => Type::map(Type::String, Type::Dyn),
            Self::List | Self::Values => Type::list(Type::Dyn),
            Self::Value => Type::Dyn,
        }
    }

    /// Go's name of its type, as messages have it.
    const fn go_type(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Bytes => "[]uint8",
            Self::Double => "float64",
            Self::Float => "float32",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::String => "string",
            Self::Null => "protoreflect.EnumNumber",
            Self::Struct => "*structpb.Struct",
            Self::List => "*structpb.ListValue",
            Self::Value | Self::Values | Self::Fields => "*structpb.Value",
        }
    }
}

impl Descriptor {
    fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The type of a field.
    pub(crate) fn field_type(&self, name: &str) -> Option<Type> {
        self.field(name).map(|field| field.kind.ty())
    }

    /// The type of an expression that makes the message.
    pub(crate) fn ty(&self) -> Type {
        let value = self.fields.first().map_or(Type::Dyn, |field| field.kind.ty());
        match self.kind {
            Kind::Wrapper => Type::Wrapper(value.into()),
            Kind::Any => Type::Any,
            Kind::Duration => Type::Duration,
            Kind::Timestamp => Type::Timestamp,
            Kind::Struct | Kind::ListValue => value,
            Kind::Value => Type::Dyn,
            Kind::Plain if self.fields.is_empty() => Type::Host(hosts::EMPTY),
            Kind::Plain => Type::Host(hosts::FIELDS_ENTRY),
        }
    }
}

/// The message of this name.
pub(crate) fn named(name: &str) -> Option<&'static Descriptor> {
    let name = name.strip_prefix(PACKAGE)?;
    ALL.iter().find(|message| message.name.strip_prefix(PACKAGE) == Some(name))
}

/// The message whose fields a literal of this type may have; it may have been named otherwise, as `list` or `timestamp`.
/// `None` if a literal cannot have the type.
pub(crate) fn of_type(ty: &Type) -> Option<&'static str> {
    Some(match ty {
        Type::Null => "google.protobuf.NullValue",
        Type::Timestamp => "google.protobuf.Timestamp",
        Type::Duration => "google.protobuf.Duration",
        Type::Any => "google.protobuf.Any",
        Type::Dyn => "google.protobuf.Value",
        Type::List(items) if matches!(**items, Type::Dyn) => "google.protobuf.ListValue",
        Type::Map(map) if matches!(**map, (Type::String, Type::Dyn)) => "google.protobuf.Struct",
        Type::Wrapper(inner) => match **inner {
            Type::Bool => "google.protobuf.BoolValue",
            Type::Bytes => "google.protobuf.BytesValue",
            Type::Double => "google.protobuf.DoubleValue",
            Type::Int => "google.protobuf.Int64Value",
            Type::Uint => "google.protobuf.UInt64Value",
            _ => "google.protobuf.StringValue",
        },
        Type::Host(host) if !host.is_opaque => host.name,
        _ => return None,
    })
}

/// The number of a value of an enumeration; there is one, `google.protobuf.NullValue.NULL_VALUE`.
pub(crate) fn constant(name: &str) -> Option<i64> {
    (name == "google.protobuf.NullValue.NULL_VALUE").then_some(0)
}

const PACKAGE: &str = "google.protobuf.";

const fn field(name: &'static str, number: u64, kind: FieldKind) -> Field {
    Field { name, number, kind }
}

const fn wrapper(name: &'static str, fields: &'static [Field]) -> Descriptor {
    Descriptor { name, kind: Kind::Wrapper, fields }
}

const ALL: &[Descriptor] = &[
    wrapper("google.protobuf.BoolValue", &[field("value", 1, FieldKind::Bool)]),
    wrapper("google.protobuf.BytesValue", &[field("value", 1, FieldKind::Bytes)]),
    wrapper("google.protobuf.DoubleValue", &[field("value", 1, FieldKind::Double)]),
    wrapper("google.protobuf.FloatValue", &[field("value", 1, FieldKind::Float)]),
    wrapper("google.protobuf.Int32Value", &[field("value", 1, FieldKind::Int32)]),
    wrapper("google.protobuf.Int64Value", &[field("value", 1, FieldKind::Int64)]),
    wrapper("google.protobuf.StringValue", &[field("value", 1, FieldKind::String)]),
    wrapper("google.protobuf.UInt32Value", &[field("value", 1, FieldKind::Uint32)]),
    wrapper("google.protobuf.UInt64Value", &[field("value", 1, FieldKind::Uint64)]),
    Descriptor {
        name: "google.protobuf.Any",
        kind: Kind::Any,
        fields: &[field("type_url", 1, FieldKind::String), field("value", 2, FieldKind::Bytes)],
    },
    Descriptor {
        name: "google.protobuf.Duration",
        kind: Kind::Duration,
        fields: &[field("seconds", 1, FieldKind::Int64), field("nanos", 2, FieldKind::Int32)],
    },
    Descriptor {
        name: "google.protobuf.Timestamp",
        kind: Kind::Timestamp,
        fields: &[field("seconds", 1, FieldKind::Int64), field("nanos", 2, FieldKind::Int32)],
    },
    Descriptor {
        name: "google.protobuf.Struct",
        kind: Kind::Struct,
        fields: &[field("fields", 1, FieldKind::Fields)],
    },
    Descriptor {
        name: "google.protobuf.Value",
        kind: Kind::Value,
        fields: &[
            field("null_value", 1, FieldKind::Null),
            field("number_value", 2, FieldKind::Double),
            field("string_value", 3, FieldKind::String),
            field("bool_value", 4, FieldKind::Bool),
            field("struct_value", 5, FieldKind::Struct),
            field("list_value", 6, FieldKind::List),
        ],
    },
    Descriptor {
        name: "google.protobuf.ListValue",
        kind: Kind::ListValue,
        fields: &[field("values", 1, FieldKind::Values)],
    },
    Descriptor { name: hosts::EMPTY.name, kind: Kind::Plain, fields: &[] },
    Descriptor {
        name: hosts::FIELDS_ENTRY.name,
        kind: Kind::Plain,
        fields: &[field("key", 1, FieldKind::String), field("value", 2, FieldKind::Value)],
    },
];
