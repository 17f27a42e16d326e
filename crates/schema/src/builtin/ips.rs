//! IP addresses and networks as fields of built-in kinds have them: the lenient readings of old releases, what is wrong with a
//! text, what is only warned of, and the one way to write it (upstream: `util/validation/ip.go` of apimachinery).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What the text of an address must be.
pub(super) const IP: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
/// What the text of a network must be.
pub(super) const CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// An address as old releases of Go read it: zeros may lead, and an IPv4 address that is written as IPv6 is IPv4.
pub(super) fn sloppy_ip(text: &str) -> Option<IpAddr> {
    sloppy(text).map(plain)
}

/// As [`sloppy_ip`], but what is written as IPv6 stays IPv6.
fn sloppy(text: &str) -> Option<IpAddr> {
    // Almost all texts are as they should be.
    if let Ok(ip) = text.parse() {
        return Some(ip);
    }
    if !text.contains(':') {
        return sloppy_v4(text).map(IpAddr::V4);
    }
    let (head, tail) = match text.rsplit_once(':') {
        Some((head, tail)) if tail.contains('.') => (head, Some(sloppy_v4(tail)?.to_string())),
        _ => (text, None),
    };
    // A group of more than four digits is read for its zeros, if they lead.
    let group = |group: &str| match group.len() {
        0..=4 => group.to_owned(),
        _ if group.bytes().all(|b| b == b'0') => "0".to_owned(),
        _ => group.trim_start_matches('0').to_owned(),
    };
    let mut groups: Vec<String> = head.split(':').map(group).collect();
    groups.extend(tail);
    groups.join(":").parse::<Ipv6Addr>().ok().map(IpAddr::V6)
}

fn sloppy_v4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next().filter(|part| is_number(part))?;
        *octet = part.parse().ok()?;
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn plain(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(ip, IpAddr::V4),
        IpAddr::V4(_) => ip,
    }
}

fn is_mapped(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some())
}

/// What is wrong with a new address in a field that is older than strict validation.
pub(super) fn legacy_ip(text: &str) -> Option<&'static str> {
    match text.parse::<IpAddr>() {
        Ok(ip) if is_mapped(ip) => Some("must not be an IPv4-mapped IPv6 address"),
        Ok(_) => None,
        Err(_) if sloppy(text).is_some() => Some("must not have leading 0s"),
        Err(_) => Some(IP),
    }
}

/// What is wrong with an address that is to be in canonical form.
pub(super) fn strict_ip(text: &str) -> Option<String> {
    if let Some(wrong) = legacy_ip(text) {
        return Some(wrong.to_owned());
    }
    let canonical = sloppy_ip(text)?.to_string();
    (canonical != text).then(|| format!("must be in canonical form (\"{canonical}\")"))
}

/// What a server warns of an address at `path` that it takes.
pub(super) fn warn_ip(path: &str, text: &str, out: &mut Vec<String>) {
    let Some(ip) = sloppy_ip(text) else { return };
    let canonical = ip.to_string();
    if canonical == text {
        return;
    }
    let shown = pilothouse_value::field::quote(text);
    out.push(match legacy_ip(text) {
        Some(_) => format!("{path}: non-standard IP address {shown} is invalid: use \"{canonical}\""),
        None => {
            format!("{path}: IPv6 address {shown} should be in RFC 5952 canonical format (\"{canonical}\")")
        }
    });
}

/// A network: an address in it and how many bits all of its addresses share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network {
    ip: IpAddr,
    bits: u32,
}

impl Network {
    /// A network as old releases of Go read it: zeros may lead, bits may be set beyond the prefix.
    pub(super) fn sloppy(text: &str) -> Option<Self> {
        let (ip, bits) = text.split_once('/')?;
        let ip = sloppy(ip)?;
        // Rust's reader takes leading zeros too, and a sign, which Go's does not.
        let bits: u32 = Some(bits).filter(|bits| is_number(bits))?.parse().ok()?;
        (bits <= if ip.is_ipv4() { 32 } else { 128 }).then_some(Self { ip, bits })
    }

    /// Whether it is one of IPv4, however it is written.
    pub(super) fn is_ipv4(self) -> bool {
        plain(self.ip).is_ipv4()
    }

    /// Whether another network is a smaller part of it.
    pub(super) fn has_part(self, other: Self) -> bool {
        let (outer, inner) = (self.plain(), other.plain());
        outer.ip.is_ipv4() == inner.ip.is_ipv4()
            && left_bits(inner.ip) & mask(outer.bits) == left_bits(outer.ip) & mask(outer.bits)
            && inner.bits > outer.bits
    }

    /// The same as IPv4 if it is one.
    fn plain(self) -> Self {
        match (plain(self.ip), self.bits.checked_sub(96)) {
            (ip @ IpAddr::V4(_), Some(bits)) if self.ip.is_ipv6() => Self { ip, bits },
            _ => self,
        }
    }

    /// The first address of the network.
    fn first(self) -> IpAddr {
        match self.ip {
            IpAddr::V4(ip) => {
                IpAddr::V4(Ipv4Addr::from(u32::from(ip) & u32::MAX.checked_shl(32 - self.bits).unwrap_or(0)))
            }
            IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from(u128::from(ip) & mask(self.bits))),
        }
    }

    /// The one way to write it.
    fn canonical(self) -> String {
        let network = Self { ip: self.first(), bits: self.bits }.plain();
        format!("{}/{}", network.ip, network.bits)
    }

    /// Whether the text that it was read from has no zeros too many.
    fn is_standard(text: &str) -> bool {
        text.split_once('/').is_some_and(|(ip, bits)| {
            ip.parse::<IpAddr>().is_ok() && (bits.len() == 1 || !bits.starts_with('0'))
        })
    }
}

/// The bits of an address, left-aligned.
fn left_bits(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u128::from(u32::from(ip)) << 96,
        IpAddr::V6(ip) => u128::from(ip),
    }
}

/// The mask of a number of bits, left-aligned.
fn mask(bits: u32) -> u128 {
    u128::MAX.checked_shl(128 - bits).unwrap_or(0)
}

/// What is wrong with a new network in a field that is older than strict validation.
pub(super) fn legacy_cidr(text: &str) -> Option<&'static str> {
    let Some(network) = Network::sloppy(text) else { return Some(CIDR) };
    if !Network::is_standard(text) {
        return Some("must not have leading 0s in IP or prefix length");
    }
    if is_mapped(network.ip) {
        return Some("must not have an IPv4-mapped IPv6 address");
    }
    (network.ip != network.first()).then_some("must not have bits set beyond the prefix length")
}

/// What is wrong with a network that is to be in canonical form.
pub(super) fn strict_cidr(text: &str) -> Option<String> {
    if let Some(wrong) = legacy_cidr(text) {
        return Some(wrong.to_owned());
    }
    let canonical = Network::sloppy(text)?.canonical();
    (canonical != text).then(|| format!("must be in canonical form (\"{canonical}\")"))
}

/// What a server warns of a network at `path` that it takes.
pub(super) fn warn_cidr(path: &str, text: &str, out: &mut Vec<String>) {
    let Some(network) = Network::sloppy(text) else { return };
    let canonical = network.canonical();
    if canonical == text {
        return;
    }
    let shown = pilothouse_value::field::quote(text);
    let ambiguous = network.ip != network.first();
    if ambiguous {
        let most = if network.ip.is_ipv4() { 32 } else { 128 };
        let one = format!("{}/{most}", plain(network.ip));
        out.push(format!(
            "{path}: CIDR value {shown} is ambiguous in this context (should be \"{canonical}\" or \"{one}\"?)"
        ));
    }
    if !Network::is_standard(text) || is_mapped(network.ip) {
        out.push(format!("{path}: non-standard CIDR value {shown} is invalid: use \"{canonical}\""));
    } else if !ambiguous {
        out.push(format!(
            "{path}: IPv6 CIDR value {shown} should be in RFC 5952 canonical format (\"{canonical}\")"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warned(warn: fn(&str, &str, &mut Vec<String>), text: &str) -> Vec<String> {
        let mut out = Vec::new();
        warn("at", text, &mut out);
        out
    }

    #[test]
    fn addresses_are_read_with_leading_zeros_and_as_mapped_ones() {
        for (text, read) in [
            ("10.0.0.1", Some("10.0.0.1")),
            ("010.000.0.01", Some("10.0.0.1")),
            ("::ffff:10.0.0.1", Some("10.0.0.1")),
            ("::FFFF:010.0.0.1", Some("10.0.0.1")),
            ("::1.2.3.4", Some("::102:304")),
            ("02001:0db8::00001", Some("2001:db8::1")),
            ("00000::1", Some("::1")),
            ("0:0::", Some("::")),
            ("10.0.0.256", None),
            ("10.0.0", None),
            ("10.0.0.1.", None),
            ("1:2:3:4:5:6:7::8", None),
            (":::", None),
            (":1", None),
            ("12345::", None),
            ("fe80::1%eth0", None),
            ("", None),
        ] {
            assert_eq!(sloppy_ip(text).map(|ip| ip.to_string()).as_deref(), read, "{text}");
        }
    }

    #[test]
    fn new_addresses_have_no_leading_zeros_and_are_not_mapped() {
        assert_eq!(legacy_ip("2001:DB8::1"), None);
        assert_eq!(legacy_ip("10.0.0.01"), Some("must not have leading 0s"));
        assert_eq!(legacy_ip("::ffff:a00:1"), Some("must not be an IPv4-mapped IPv6 address"));
        assert_eq!(legacy_ip("a"), Some(IP));
        assert_eq!(strict_ip("2001:DB8::1").as_deref(), Some("must be in canonical form (\"2001:db8::1\")"));
        assert_eq!(strict_ip("::1"), None);
        let invalid = "at: non-standard IP address \"010.0.0.1\" is invalid: use \"10.0.0.1\"";
        assert_eq!(warned(warn_ip, "010.0.0.1"), [invalid]);
        assert!(warned(warn_ip, "10.0.0.1").is_empty());
    }

    #[test]
    fn new_networks_have_no_bits_beyond_their_prefix() {
        assert_eq!(legacy_cidr("10.0.0.0/8"), None);
        assert_eq!(legacy_cidr("0.0.0.0/0"), None);
        assert_eq!(legacy_cidr("10.0.0.0/33"), Some(CIDR));
        assert_eq!(legacy_cidr("10.0.0.0/"), Some(CIDR));
        assert_eq!(legacy_cidr("10.0.0.0/+8"), Some(CIDR));
        assert_eq!(legacy_cidr("1.2.3.4/0"), Some("must not have bits set beyond the prefix length"));
        assert_eq!(legacy_cidr("10.0.0.0/08"), Some("must not have leading 0s in IP or prefix length"));
        assert_eq!(legacy_cidr("::ffff:10.0.0.0/104"), Some("must not have an IPv4-mapped IPv6 address"));
        assert_eq!(
            strict_cidr("2001:DB8::/32").as_deref(),
            Some("must be in canonical form (\"2001:db8::/32\")")
        );
    }

    #[test]
    fn networks_are_warned_of_as_what_they_may_mean() {
        assert_eq!(
            warned(warn_cidr, "010.0.0.1/8"),
            [
                "at: CIDR value \"010.0.0.1/8\" is ambiguous in this context (should be \"10.0.0.0/8\" or \"10.0.0.1/32\"?)",
                "at: non-standard CIDR value \"010.0.0.1/8\" is invalid: use \"10.0.0.0/8\"",
            ]
        );
        assert_eq!(
            warned(warn_cidr, "::ffff:10.0.0.0/104"),
            ["at: non-standard CIDR value \"::ffff:10.0.0.0/104\" is invalid: use \"10.0.0.0/8\""]
        );
        assert_eq!(
            warned(warn_cidr, "2001:DB8::/32"),
            [
                "at: IPv6 CIDR value \"2001:DB8::/32\" should be in RFC 5952 canonical format (\"2001:db8::/32\")"
            ]
        );
        assert!(warned(warn_cidr, "2001:db8::/32").is_empty());
    }
}
