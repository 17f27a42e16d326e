//! What is served, and how much of it: `--runtime-config`, `--feature-gates`, ranges, times and numbers.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::time::Duration;

use pilothouse_apiserver::{Builder, LeftOut, Policy, Tuning};

use crate::Error;
use crate::flags::{FlagError, Parsed};

/// The feature gates, a line each: the name, `on` or `off`, and `!` if it is locked.
const GATES: &str = include_str!("flags/gates.txt");

/// Tells a builder what these flags say.
///
/// # Errors
/// If a value makes no sense.
pub(crate) fn configure(builder: Builder, flags: &Parsed) -> Result<Builder, Error> {
    let gates = gates(flags)?;
    let on = |gate: &str| gates.get(gate).copied().unwrap_or_default();
    let defaults = Tuning::default();
    let seconds = |flag| flags.parsed::<i64>(flag);
    let tuning = Tuning {
        request_timeout: flags.duration("request-timeout")?.unwrap_or(defaults.request_timeout),
        shortest_watch: flags
            .parsed::<u64>("min-request-timeout")?
            .map_or(defaults.shortest_watch, Duration::from_secs),
        event_lifetime: flags
            .duration("event-ttl")?
            .filter(|time| !time.is_zero())
            .unwrap_or(defaults.event_lifetime),
        not_ready_seconds: seconds("default-not-ready-toleration-seconds")?.unwrap_or(300),
        unreachable_seconds: seconds("default-unreachable-toleration-seconds")?.unwrap_or(300),
        longest_token_seconds: flags
            .duration("service-account-max-token-expiration")?
            .filter(|time| !time.is_zero())
            .and_then(|time| i64::try_from(time.as_secs()).ok()),
        extended_tokens: flags.boolean("service-account-extend-token-expiration", true)?,
        pods: Policy { privileged: flags.boolean("allow-privileged", false)? },
        constrained_impersonation: on("ConstrainedImpersonation"),
        any_kubelet_certificate: on("AllowInsecureKubeletCertificateSigningRequests"),
        node_audiences: on("ServiceAccountNodeAudienceRestriction"),
        ..defaults
    };
    let mut builder = builder.tuning(tuning).leave_out(left_out(flags)?);
    if let Some(ports) = node_ports(flags)? {
        builder = builder.node_ports(ports);
    }
    if let Some(requests) = requests(flags)? {
        builder = builder.max_requests_in_flight(requests);
    }
    Ok(builder)
}

fn conflict<T>(text: String) -> Result<T, FlagError> {
    Err(FlagError::Conflict(text))
}

/// A boolean as Go's `strconv.ParseBool` reads it.
fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!("strconv.ParseBool: parsing {text:?}: invalid syntax")),
    }
}

/// All gates, as the flag leaves them.
pub(crate) fn gates(flags: &Parsed) -> Result<BTreeMap<&'static str, bool>, FlagError> {
    let mut gates = BTreeMap::new();
    let mut locked = Vec::new();
    for line in GATES.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        if let (Some(name), Some(default)) = (words.next(), words.next()) {
            gates.insert(name, default == "on");
            locked.extend(words.next().map(|_| name));
        }
    }
    for pair in flags.list("feature-gates") {
        // Gates of this component may be named with it.
        let pair = pair.strip_prefix("kube:").unwrap_or(pair);
        let Some((name, value)) = pair.split_once('=') else {
            return conflict(format!("missing bool value for {pair}"));
        };
        let value = match boolean(value) {
            Ok(value) => value,
            Err(why) => return conflict(format!("invalid value of {name}={value}, err: {why}")),
        };
        let Some(gate) = gates.get_mut(name) else {
            return conflict(format!("unrecognized feature gate: {name}"));
        };
        if locked.contains(&name) && *gate != value {
            return conflict(format!(
                "cannot set feature gate {name} to {value}, feature is locked to {gate}"
            ));
        }
        *gate = value;
    }
    Ok(gates)
}

/// Whether `--runtime-config` turns a version of a group off by its own name.
pub(crate) fn is_off(flags: &Parsed, version: &str) -> bool {
    let said = |pair: &&str| pair.split_once('=').is_some_and(|(key, _)| key == version);
    let last = flags.list("runtime-config").into_iter().rfind(|pair| said(pair));
    last.and_then(|pair| pair.split_once('=')).is_some_and(|(_, value)| boolean(value) == Ok(false))
}

/// What `--runtime-config` turns off. What is in alpha or beta upstream is not there, so that turning it on changes nothing.
fn left_out(flags: &Parsed) -> Result<LeftOut, FlagError> {
    let mut said: BTreeMap<&str, &str> = BTreeMap::new();
    for pair in flags.list("runtime-config") {
        let (key, value) = pair.split_once('=').unwrap_or((pair, "true"));
        said.insert(key, if value.is_empty() { "true" } else { value });
    }
    let served: Vec<(String, &str)> = pilothouse_apiserver::served()
        .map(|(group, version, plural)| {
            let place =
                if group.is_empty() { format!("api/{version}") } else { format!("{group}/{version}") };
            (place, plural)
        })
        .collect();
    let group = |place: &str| place.split('/').next().unwrap_or_default().to_owned();
    let known_group = |key: &str| served.iter().any(|(place, _)| group(place) == group(key));
    let special = ["api/all", "api/ga", "api/beta", "api/alpha", "api/legacy"];
    let unknown: Vec<&str> = said
        .keys()
        .copied()
        .filter(|key| {
            !special.contains(key) && !matches!(*key, "v1") && !known_group(key) && !is_upstreams(key)
        })
        .collect();
    if !unknown.is_empty() {
        return conflict(format!("unknown api groups {}", unknown.join(",")));
    }
    let read = |(key, value)| match boolean(value) {
        Ok(on) => Ok((key, on)),
        Err(why) => conflict(format!("invalid value of {key}: {value}, err: {why}")),
    };
    let said: BTreeMap<&str, bool> = said.into_iter().map(read).collect::<Result<_, _>>()?;
    if said.len() == 1 && said.get("api/all") == Some(&false) {
        return conflict("invalid runtime-config with only api/all=false".to_owned());
    }
    let mut left_out = LeftOut::default();
    let everything = said.get("api/ga").or(said.get("api/all")).copied().unwrap_or(true);
    for (place, plural) in &served {
        let own = place.strip_prefix("api/").unwrap_or(place);
        let version = said.get(place.as_str()).or(said.get(own)).copied().unwrap_or(everything);
        let resource = said.get(format!("{own}/{plural}").as_str()).copied();
        if !resource.unwrap_or(version) {
            left_out.resources.insert(format!("{own}/{plural}"));
        }
    }
    for key in said.keys().filter(|key| !special.contains(key) && known_group(key)) {
        let version = key.splitn(3, '/').take(2).collect::<Vec<_>>().join("/");
        let stable = |text: &str| text.split_once("/v").is_some_and(|(_, text)| text.parse::<u32>().is_ok());
        if !served.iter().any(|(place, _)| *place == version) {
            if stable(&version) {
                return conflict(format!("group version {version} that has not been registered"));
            }
            tracing::warn!(version, "--runtime-config names a version that is not there");
        }
    }
    Ok(left_out)
}

/// Whether this is a group that upstream has, and only in versions that are off by default.
fn is_upstreams(key: &str) -> bool {
    const GROUPS: [&str; 2] = ["internal.apiserver.k8s.io", "storagemigration.k8s.io"];
    GROUPS.iter().any(|group| key.starts_with(group))
}

/// The ports of Services: `30000-32767`, `30000+100`, or one port; `None` for the default.
fn node_ports(flags: &Parsed) -> Result<Option<RangeInclusive<u16>>, FlagError> {
    const FLAG: &str = "service-node-port-range";
    let Some(text) = flags.last(FLAG).filter(|text| !text.is_empty()) else { return Ok(None) };
    let invalid = |why: String| FlagError::Invalid { flag: FLAG, value: text.to_owned(), why };
    let port = |part: &str| {
        let quoted = format!("strconv.Atoi: parsing {part:?}: invalid syntax");
        let number = part.trim().parse::<i64>().map_err(|_| invalid(quoted))?;
        u16::try_from(number)
            .map_err(|_| invalid(format!("the port range cannot be greater than 65535: {}", text.trim())))
    };
    let (first, last) = match (text.split_once('-'), text.split_once('+')) {
        (Some((first, last)), _) => (port(first)?, port(last)?),
        (None, Some((first, more))) => (port(first)?, port(first)?.saturating_add(port(more)?)),
        (None, None) => (port(text)?, port(text)?),
    };
    if last < first {
        return Err(invalid(format!("end port cannot be less than start port: {text}")));
    }
    // Upstream takes 0 for what is not said.
    Ok((last > 0).then_some(first..=last))
}

/// How many requests are answered at once; `None` for the default.
fn requests(flags: &Parsed) -> Result<Option<usize>, FlagError> {
    let mut sum = 0;
    for (flag, default) in [("max-requests-inflight", 400), ("max-mutating-requests-inflight", 200)] {
        let given = flags.parsed::<i64>(flag)?.unwrap_or(default);
        let Ok(given) = usize::try_from(given) else {
            return conflict(format!("--{flag} can not be negative value"));
        };
        sum += given;
    }
    let said = flags.is_set("max-requests-inflight") || flags.is_set("max-mutating-requests-inflight");
    Ok(said.then_some(sum))
}

/// The network that Services get addresses from. Of two, the first is taken that is IPv4.
///
/// # Errors
/// If there is none.
pub(crate) fn service_network(flags: &Parsed) -> Result<(Ipv4Addr, u32), FlagError> {
    let given = flags.list("service-cluster-ip-range");
    if given.is_empty() {
        return Ok((Ipv4Addr::new(10, 0, 0, 0), 24));
    }
    let is_network = |text: &str| {
        let (address, prefix) = text.split_once('/')?;
        let most = if address.parse::<std::net::IpAddr>().ok()?.is_ipv4() { 32 } else { 128 };
        prefix.parse::<u32>().ok().filter(|prefix| *prefix <= most)
    };
    if let Some(at) = given.iter().position(|text| is_network(text).is_none()) {
        return conflict(format!("service-cluster-ip-range[{at}] is not a valid cidr"));
    }
    let mut networks = given.iter().filter_map(|text| {
        let (address, prefix) = text.split_once('/')?;
        let (address, prefix) = (address.parse::<Ipv4Addr>().ok()?, prefix.parse::<u32>().ok()?);
        let mask = u32::MAX.checked_shl(32_u32.checked_sub(prefix)?).unwrap_or(0);
        Some((Ipv4Addr::from(u32::from(address) & mask), prefix))
    });
    networks.next().ok_or_else(|| FlagError::Invalid {
        flag: "service-cluster-ip-range",
        value: given.join(","),
        why: "no IPv4 network in CIDR notation, such as 10.0.0.0/24, is in it".to_owned(),
    })
}
