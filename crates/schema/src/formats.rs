//! The formats of strings and numbers that a CustomResourceDefinition's schema may name, and what they accept.
//!
//! Source: kube-openapi `pkg/validation/strfmt` and the list of supported formats of apiextensions 1.37. A format
//! that is not in that list, or that belongs to another type, is ignored.

mod codes;
mod mail;
mod net;
mod time;

use std::sync::LazyLock;

use regex::Regex;

use crate::node::{Schema, Type};

/// A format that is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Int32,
    Int64,
    Float,
    Double,
    BsonObjectId,
    Uri,
    Email,
    Hostname,
    Ipv4,
    Ipv6,
    Cidr,
    Mac,
    Uuid(Option<u8>),
    Isbn,
    Isbn10,
    Isbn13,
    CreditCard,
    Ssn,
    HexColor,
    RgbColor,
    Byte,
    Password,
    Date,
    Duration,
    DateTime,
    ShortName,
    LongName,
}

impl Format {
    /// The format that a schema's values are checked for.
    pub(crate) fn of(schema: &Schema) -> Option<Self> {
        let name = schema.format()?;
        match schema.kind.filter(|_| !schema.int_or_string) {
            None | Some(Type::String) => Self::of_strings(name),
            Some(Type::Integer) => match name {
                "int32" => Some(Self::Int32),
                "int64" => Some(Self::Int64),
                _ => None,
            },
            Some(Type::Number) => match name {
                "float" => Some(Self::Float),
                "double" => Some(Self::Double),
                _ => None,
            },
            Some(_) => None,
        }
    }

    fn of_strings(name: &str) -> Option<Self> {
        // Dashes do not count, in any place.
        Some(match name.replace('-', "").as_str() {
            "bsonobjectid" => Self::BsonObjectId,
            "uri" => Self::Uri,
            "email" => Self::Email,
            "hostname" => Self::Hostname,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "cidr" => Self::Cidr,
            "mac" => Self::Mac,
            "uuid" => Self::Uuid(None),
            "uuid3" => Self::Uuid(Some(3)),
            "uuid4" => Self::Uuid(Some(4)),
            "uuid5" => Self::Uuid(Some(5)),
            "isbn" => Self::Isbn,
            "isbn10" => Self::Isbn10,
            "isbn13" => Self::Isbn13,
            "creditcard" => Self::CreditCard,
            "ssn" => Self::Ssn,
            "hexcolor" => Self::HexColor,
            "rgbcolor" => Self::RgbColor,
            "byte" => Self::Byte,
            "password" => Self::Password,
            "date" => Self::Date,
            "duration" => Self::Duration,
            "datetime" => Self::DateTime,
            "k8sshortname" => Self::ShortName,
            "k8slongname" => Self::LongName,
            _ => return None,
        })
    }

    /// Whether this is a format of strings.
    pub(crate) fn is_of_strings(self) -> bool {
        !matches!(self, Self::Int32 | Self::Int64 | Self::Float | Self::Double)
    }

    /// Whether a string has this format.
    pub(crate) fn accepts(self, text: &str) -> bool {
        match self {
            Self::Int32 | Self::Int64 | Self::Float | Self::Double | Self::Password => true,
            Self::BsonObjectId => text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
            Self::Uri => net::is_request_uri(text),
            Self::Email => mail::is_address(text),
            Self::Hostname => net::is_hostname(text),
            Self::Ipv4 => net::is_ipv4(text),
            Self::Ipv6 => net::is_ipv6(text),
            Self::Cidr => net::is_cidr(text),
            Self::Mac => net::is_mac(text),
            Self::Uuid(version) => codes::is_uuid(text, version),
            Self::Isbn => codes::is_isbn10(text) || codes::is_isbn13(text),
            Self::Isbn10 => codes::is_isbn10(text),
            Self::Isbn13 => codes::is_isbn13(text),
            Self::CreditCard => codes::is_credit_card(text),
            Self::Ssn => text.len() == 11 && SSN.as_ref().is_some_and(|regex| regex.is_match(text)),
            Self::HexColor => codes::is_hex_color(text),
            Self::RgbColor => RGB.as_ref().is_some_and(|regex| regex.is_match(text)),
            Self::Byte => codes::is_base64(text),
            Self::Date => time::is_date(text),
            Self::Duration => time::is_duration(text),
            Self::DateTime => time::is_date_time(text),
            Self::ShortName => text.len() <= 63 && codes::is_label(text),
            Self::LongName => text.len() <= 253 && text.split('.').all(codes::is_label),
        }
    }
}

/// Whether the server warns of this format: `unrecognized format "…"`.
pub(crate) fn is_unrecognized(kind: &str, format: &str) -> bool {
    match kind {
        "" | "string" => Format::of_strings(format).is_none(),
        "integer" => !matches!(format, "int32" | "int64"),
        "number" => !matches!(format, "float" | "double"),
        _ => true,
    }
}

static SSN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$").ok());
static RGB: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const SPACE: &str = r"[\t\n\x0C\r ]*";
    const NUMBER: &str = "(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])";
    let three = [NUMBER; 3].join(&format!("{SPACE},{SPACE}"));
    Regex::new(&format!(r"^rgb\({SPACE}{three}{SPACE}\)$")).ok()
});
