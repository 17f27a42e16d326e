//! Addresses and networks. Source: `k8s.io/apiserver/pkg/cel/library/{ip,cidr}.go`.

use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;

use super::{Outcome, hosts, no_such_overload};
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
            return Err(format!("IP address {text:?} with zone value is not allowed"));
        }
        Err(_) => {
            let why = address_error(text);
            return Err(format!("IP Address {text:?} parse error during conversion from string: {why}"));
        }
    };
    if is_mapped(address) {
        return Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"));
    }
    Ok(address)
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some())
}

/// What Go's `netip.ParseAddr` says of a text that is no address.
fn address_error(text: &str) -> String {
    let wrong = |why: &str| format!("ParseAddr({text:?}): {why}");
    match text.find(['.', ':', '%']) {
        Some(at) if text.get(at..).is_some_and(|rest| rest.starts_with('.')) => {
            let fields: Vec<&str> = text.split('.').collect();
            for field in &fields {
                if field.is_empty() {
                    return wrong("IPv4 field must have at least one digit");
                }
                if !field.bytes().all(|b| b.is_ascii_digit()) {
                    return wrong("unexpected character");
                }
                if field.len() > 1 && field.starts_with('0') {
                    return wrong("IPv4 field has octet with leading zero");
                }
                if field.parse::<u8>().is_err() {
                    return wrong("IPv4 field has value >255");
                }
            }
            wrong(if fields.len() < 4 { "IPv4 address too short" } else { "IPv4 address too long" })
        }
        Some(at) if text.get(at..).is_some_and(|rest| rest.starts_with('%')) => wrong("missing IPv6 address"),
        Some(_) => wrong("address string too short"),
        None => wrong("unable to parse IP"),
    }
}

fn parse_cidr(text: &str) -> Result<Cidr, String> {
    let wrong = |why: &str| {
        format!(
            "network address parse error during conversion from string: netip.ParsePrefix({text:?}): {why}"
        )
    };
    let Some((address, bits)) = text.rsplit_once('/') else { return Err(wrong("no '/'")) };
    if address.contains('%') {
        return Err(wrong("IPv6 zones cannot be present in a prefix"));
    }
    let address: IpAddr = address.parse().map_err(|_| wrong(&address_error(address)))?;
    let is_number = !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit());
    if !is_number || (bits.len() > 1 && bits.starts_with('0')) {
        return Err(wrong(&format!("bad bits after slash: {bits:?}")));
    }
    let limit = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.parse::<u8>().ok().filter(|bits| *bits <= limit);
    let bits = bits.ok_or_else(|| wrong("prefix length out of range"))?;
    if is_mapped(address) {
        return Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"));
    }
    Ok(Cidr { address, bits })
}

/// The text of an address or of a network.
pub(super) fn text(value: &Val<'_>) -> Option<String> {
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
