//! Addresses and networks. Source: `k8s.io/apiserver/pkg/cel/library/{ip,cidr}.go`.

use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;

use super::{Outcome, hosts, no_such_overload};
use pilothouse_value::field::quote;

use crate::error::EvalError;
use crate::types::HostType;
use crate::val::{Opaque, Val};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ip(IpAddr);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cidr {
    address: IpAddr,
    bits: u8,
}

impl Opaque for Ip {
    fn host_type(&self) -> HostType {
        hosts::IP
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref() == Some(self)
    }

    fn size(&self) -> Option<u64> {
        Some(if self.0.is_ipv4() { 4 } else { 16 })
    }
}

impl Opaque for Cidr {
    fn host_type(&self) -> HostType {
        hosts::CIDR
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref() == Some(self)
    }

    fn size(&self) -> Option<u64> {
        Some(u64::from(self.bits.div_ceil(8)))
    }
}

impl Cidr {
    fn masked(self) -> Self {
        let address = match self.address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V4((u32::from(v4) & mask).into())
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V6((u128::from(v6) & mask).into())
            }
        };
        Self { address, bits: self.bits }
    }

    fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && (Self { address, bits: self.bits }).masked().address == self.masked().address
    }
}

fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let address = match text.parse::<IpAddr>() {
        Ok(address) => address,
        Err(_)
            if text
                .split_once('%')
                .is_some_and(|(ip, zone)| !zone.is_empty() && ip.parse::<std::net::Ipv6Addr>().is_ok()) =>
        {
            return Err(format!("IP address {} with zone value is not allowed", quote(text)));
        }
        Err(_) => {
            let why = address_error(text);
            return Err(format!(
                "IP Address {} parse error during conversion from string: {why}",
                quote(text)
            ));
        }
    };
    if is_mapped(address) {
        return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quote(text)));
    }
    Ok(address)
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some())
}

/// What Go says of a text that is no address, if it is none. An address may name a zone.
pub(super) fn address_problem(text: &str) -> Option<String> {
    let address = match text.split_once('%') {
        Some((address, zone)) if !zone.is_empty() && address.contains(':') => address,
        _ => text,
    };
    address.parse::<IpAddr>().is_err().then(|| address_error(text))
}

/// What Go's `netip.ParseAddr` says of a text that is no address.
fn address_error(text: &str) -> String {
    let wrong = |(why, at): (&str, Option<&str>)| match at {
        Some(at) => format!("ParseAddr({}): {why} (at {})", quote(text), quote(at)),
        None => format!("ParseAddr({}): {why}", quote(text)),
    };
    wrong(match text.bytes().find(|b| b".:%".contains(b)) {
        Some(b'.') => ipv4_error(text),
        Some(b':') => ipv6_error(text),
        Some(_) => ("missing IPv6 address", None),
        None => ("unable to parse IP", None),
    })
}

fn ipv4_error(text: &str) -> (&'static str, Option<&str>) {
    let (mut dots, mut digits, mut value) = (0, 0, 0u32);
    for (at, c) in text.char_indices() {
        let here = text.get(at..);
        match c {
            '0'..='9' => {
                if digits == 1 && value == 0 {
                    return ("IPv4 field has octet with leading zero", None);
                }
                value = value * 10 + u32::from(c) - u32::from('0');
                digits += 1;
                if value > 255 {
                    return ("IPv4 field has value >255", None);
                }
            }
            '.' if digits == 0 || at + 1 == text.len() => {
                return ("IPv4 field must have at least one digit", here);
            }
            '.' if dots == 3 => return ("IPv4 address too long", None),
            '.' => (dots, digits, value) = (dots + 1, 0, 0),
            _ => return ("unexpected character", here),
        }
    }
    ("IPv4 address too short", None)
}

fn ipv6_error(text: &str) -> (&'static str, Option<&str>) {
    let (address, zone) = text.split_once('%').map_or((text, None), |(address, zone)| (address, Some(zone)));
    if zone == Some("") {
        return ("zone must be a non-empty string", None);
    }
    let mut has_ellipsis = address.starts_with("::");
    let mut rest = address.strip_prefix("::").unwrap_or(address);
    let mut groups = 0;
    while !rest.is_empty() {
        if groups == 8 {
            return ("trailing garbage after address", Some(rest));
        }
        let length = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if length > 4 {
            return ("each group must have 4 or less digits", Some(rest));
        }
        if length == 0 {
            return ("each colon-separated field must have at least one digit", Some(rest));
        }
        let after = rest.get(length..).unwrap_or_default();
        if after.starts_with('.') {
            if !has_ellipsis && groups != 6 {
                let why = "embedded IPv4 address must replace the final 2 fields of the address";
                return (why, Some(rest));
            }
            if groups > 6 {
                let why = "too many hex fields to fit an embedded IPv4 at the end of the address";
                return (why, Some(rest));
            }
            return ipv4_error(rest);
        }
        groups += 1;
        let Some(next) = after.strip_prefix(':') else {
            if after.is_empty() {
                break;
            }
            return ("unexpected character, want colon", Some(after));
        };
        if next.is_empty() {
            return ("colon must be followed by more characters", Some(after));
        }
        rest = next;
        if let Some(next) = rest.strip_prefix(':') {
            if has_ellipsis {
                return ("multiple :: in address", Some(rest));
            }
            has_ellipsis = true;
            rest = next;
        }
    }
    if groups < 8 && !has_ellipsis {
        return ("address string too short", None);
    }
    ("the :: must expand to at least one field of zeros", None)
}

fn parse_cidr(text: &str) -> Result<Cidr, String> {
    let wrong = |why: &str| {
        format!(
            "network address parse error during conversion from string: netip.ParsePrefix({}): {why}",
            quote(text)
        )
    };
    let Some((address, bits)) = text.rsplit_once('/') else { return Err(wrong("no '/'")) };
    if address.contains('%') {
        return Err(wrong("IPv6 zones cannot be present in a prefix"));
    }
    let address: IpAddr = address.parse().map_err(|_| wrong(&address_error(address)))?;
    let is_number = bits.bytes().all(|b| b.is_ascii_digit()) && (bits.len() == 1 || !bits.starts_with('0'));
    // Nor is more than a whole number of Go holds.
    let number = bits.parse::<i64>().ok().filter(|_| is_number);
    let number = number.ok_or_else(|| wrong(&format!("bad bits after slash: {}", quote(bits))))?;
    let limit = if address.is_ipv4() { 32 } else { 128 };
    let bits = u8::try_from(number).ok().filter(|bits| *bits <= limit);
    let bits = bits.ok_or_else(|| wrong("prefix length out of range"))?;
    if is_mapped(address) {
        return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quote(text)));
    }
    Ok(Cidr { address, bits })
}

/// The text of an address or of a network.
pub(crate) fn text(value: &Val<'_>) -> Option<String> {
    if let Some(ip) = value.downcast::<Ip>() {
        return Some(ip.0.to_string());
    }
    value.downcast::<Cidr>().map(|cidr| format!("{}/{}", cidr.address, cidr.bits))
}

fn made<'a>(value: impl Opaque) -> Val<'a> {
    Val::Opaque(Arc::new(value))
}

/// An address from a string, or the address of a network.
pub(super) fn ip<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::String(text)] => parse_ip(text).map(|ip| made(Ip(ip))).map_err(EvalError::new),
        [value] => match value.downcast::<Cidr>() {
            Some(cidr) => Ok(made(Ip(cidr.address))),
            None => no_such_overload(),
        },
        _ => no_such_overload(),
    }
}

pub(super) fn is_ip<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(text)] = args else { return no_such_overload() };
    Ok(Val::Bool(parse_ip(text).is_ok()))
}

pub(super) fn is_canonical<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(text)] = args else { return no_such_overload() };
    let address = parse_ip(text).map_err(EvalError::new)?;
    Ok(Val::Bool(address.to_string() == **text))
}

fn address(args: &[Val<'_>]) -> Result<IpAddr, EvalError> {
    match args {
        [value] => value.downcast::<Ip>().map(|ip| ip.0).ok_or_else(EvalError::no_such_overload),
        _ => no_such_overload(),
    }
}

pub(super) fn family<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    address(args).map(|address| Val::Int(if address.is_ipv4() { 4 } else { 6 }))
}

pub(super) fn is_unspecified<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    address(args).map(|address| Val::Bool(address.is_unspecified()))
}

pub(super) fn is_loopback<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    address(args).map(|address| Val::Bool(address.is_loopback()))
}

pub(super) fn is_link_local_multicast<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    address(args).map(|address| {
        Val::Bool(match address {
            IpAddr::V4(v4) => v4.octets().starts_with(&[224, 0, 0]),
            IpAddr::V6(v6) => v6.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
        })
    })
}

fn link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.segments().first().is_some_and(|first| first & 0xffc0 == 0xfe80),
    }
}

pub(super) fn is_link_local_unicast<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    address(args).map(|address| Val::Bool(link_local(address)))
}

pub(super) fn is_global_unicast<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    address(args).map(|address| {
        let is_broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
        Val::Bool(
            !is_broadcast
                && !address.is_unspecified()
                && !address.is_loopback()
                && !address.is_multicast()
                && !link_local(address),
        )
    })
}

pub(super) fn cidr<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(text)] = args else { return no_such_overload() };
    parse_cidr(text).map(made).map_err(|why| {
        EvalError::new(format!("network address parse error during conversion from string: {why}"))
    })
}

pub(super) fn is_cidr<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(text)] = args else { return no_such_overload() };
    Ok(Val::Bool(parse_cidr(text).is_ok()))
}

fn network(value: Option<&Val<'_>>) -> Result<Cidr, EvalError> {
    value.and_then(Val::downcast).copied().ok_or_else(EvalError::no_such_overload)
}

pub(super) fn contains_ip<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [this, other] = args else { return no_such_overload() };
    let network = network(Some(this))?;
    let address = match other {
        // Upstream does not tell what is wrong with the text.
        Val::String(text) => parse_ip(text).map_err(|_| EvalError::no_such_overload())?,
        other => other.downcast::<Ip>().ok_or_else(EvalError::no_such_overload)?.0,
    };
    Ok(Val::Bool(network.contains(address)))
}

pub(super) fn contains_cidr<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [this, other] = args else { return no_such_overload() };
    let this = network(Some(this))?;
    let other = match other {
        Val::String(_) => network(Some(&cidr(std::slice::from_ref(other))?))?,
        other => network(Some(other))?,
    };
    Ok(Val::Bool(this.bits <= other.bits && this.contains(other.address)))
}

pub(super) fn prefix_length<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    network(args.first()).map(|network| Val::Int(i64::from(network.bits)))
}

pub(super) fn masked<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    network(args.first()).map(|network| made(network.masked()))
}
