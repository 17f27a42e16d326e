//! What a Service gets from the cluster: addresses and node ports, each given to one Service at a time.

mod families;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use std::sync::Arc;

use pilothouse_store::Object;
use pilothouse_value::field::{self, Path};
use pilothouse_value::{Status, Value, object};

use crate::registry::resource::{self, Resource};
use crate::start::presence;
use crate::state::State;

/// How many of the lowest addresses are kept for those who ask for one by name.
const STATIC_BAND: u32 = 256;

/// What is given out.
#[derive(Debug)]
pub(crate) struct Allocations {
    network: Ipv4Addr,
    prefix: u32,
    addresses: BTreeSet<u32>,
    ports: BTreeSet<i64>,
    /// The ports that may be given out.
    node_ports: RangeInclusive<i64>,
    next_address: u32,
    next_port: i64,
}

impl Allocations {
    /// Nothing given out yet, from this range of addresses and these ports.
    pub(crate) fn new(network: Ipv4Addr, prefix: u32, ports: RangeInclusive<u16>) -> Allocations {
        let node_ports = i64::from(*ports.start())..=i64::from(*ports.end());
        Allocations {
            network,
            prefix: prefix.clamp(8, 30),
            addresses: BTreeSet::new(),
            ports: BTreeSet::new(),
            next_address: STATIC_BAND,
            next_port: *node_ports.start(),
            node_ports,
        }
    }

    /// The first address of the range, which the API server's own Service has.
    pub(crate) fn first(&self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.network) + 1)
    }

    fn size(&self) -> u32 {
        1 << (32 - self.prefix)
    }

    fn at(&self, offset: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.network).saturating_add(offset))
    }

    /// The network, as errors and objects show it.
    pub(crate) fn range(&self) -> String {
        format!("{}/{}", self.network, self.prefix)
    }

    fn offset(&self, address: Ipv4Addr) -> Option<u32> {
        let offset = u32::from(address).checked_sub(u32::from(self.network))?;
        (offset > 0 && offset < self.size() - 1).then_some(offset)
    }

    /// An address that nobody has. `is_taken` knows of some that were taken elsewhere.
    fn free_address(&mut self, is_taken: impl Fn(Ipv4Addr) -> bool) -> Option<Ipv4Addr> {
        let last = self.size() - 2;
        for _ in 0..self.size() {
            let at = if (1..=last).contains(&self.next_address) { self.next_address } else { 1 };
            self.next_address = at + 1;
            if !self.addresses.contains(&at) && !is_taken(self.at(at)) {
                self.addresses.insert(at);
                return Some(self.at(at));
            }
        }
        None
    }

    fn free_port(&mut self) -> Option<i64> {
        for _ in self.node_ports.clone() {
            let fits = self.node_ports.contains(&self.next_port);
            let at = if fits { self.next_port } else { *self.node_ports.start() };
            self.next_port = at + 1;
            if self.ports.insert(at) {
                return Some(at);
            }
        }
        None
    }

    /// Takes note of what a stored Service has.
    pub(crate) fn adopt(&mut self, service: &Value) {
        for address in addresses(service) {
            if let Some(offset) = self.offset(address) {
                self.addresses.insert(offset);
            }
        }
        self.ports.extend(ports(service));
    }
}

fn addresses(service: &Value) -> Vec<Ipv4Addr> {
    let listed = service.items_at(&["spec", "clusterIPs"]).iter().filter_map(Value::as_str);
    let mut all: Vec<Ipv4Addr> =
        listed.chain(service.str_at(&["spec", "clusterIP"])).filter_map(|text| text.parse().ok()).collect();
    all.dedup();
    all
}

/// The node ports of a Service, that of its health check too.
fn ports(service: &Value) -> Vec<i64> {
    let listed = service.items_at(&["spec", "ports"]).iter().filter_map(|port| port.i64_at(&["nodePort"]));
    listed
        .chain(service.i64_at(&["spec", "healthCheckNodePort"]).filter(|_| needs_health_check(service)))
        .filter(|port| *port != 0)
        .collect()
}

fn kind(service: &Value) -> &str {
    service.str_at(&["spec", "type"]).unwrap_or("ClusterIP")
}

fn is_external_name(service: &Value) -> bool {
    kind(service) == "ExternalName"
}

fn is_headless(service: &Value) -> bool {
    service.items_at(&["spec", "clusterIPs"]).first().and_then(Value::as_str) == Some("None")
}

fn needs_health_check(service: &Value) -> bool {
    kind(service) == "LoadBalancer" && service.str_at(&["spec", "externalTrafficPolicy"]) == Some("Local")
}

/// Whether the ports of a Service get node ports of their own accord.
fn wants_node_ports(service: &Value) -> bool {
    match kind(service) {
        "NodePort" => true,
        "LoadBalancer" => {
            service.at(&["spec", "allocateLoadBalancerNodePorts"]).and_then(Value::as_bool) != Some(false)
        }
        _ => false,
    }
}

/// What a request has taken; given back when it is dropped, unless it is kept.
pub(crate) struct Reserved {
    state: Option<Arc<State>>,
    taken_addresses: Vec<u32>,
    taken_ports: Vec<i64>,
    /// What the write gives up once it has succeeded.
    given_up: Option<Value>,
    /// Nothing is taken in earnest: upstream then tells values that could be, and looks less closely.
    dry_run: bool,
}

impl Reserved {
    fn of(state: Option<Arc<State>>, dry_run: bool) -> Reserved {
        Reserved { state, taken_addresses: Vec::new(), taken_ports: Vec::new(), given_up: None, dry_run }
    }

    /// The write succeeded: what was taken stays taken, what is no longer used is free.
    pub(crate) fn keep(mut self, stored: &Object) {
        let taken = std::mem::take(&mut self.taken_addresses);
        self.taken_ports.clear();
        let Some(state) = &self.state else { return };
        for address in taken {
            let address = state.allocations.lock().at(address).to_string();
            presence::address_taken(state, &address, stored.value());
        }
        if let Some(old) = &self.given_up {
            give_back(state, old);
        }
    }

    /// Whether an object says that an address is taken, whoever made it.
    fn is_taken_elsewhere(&self, address: &str) -> bool {
        self.state.as_ref().is_some_and(|state| presence::is_address_taken(state, address))
    }

    /// Takes a port that was asked for.
    fn take_port(&mut self, allocations: &mut Allocations, port: i64) -> Result<(), String> {
        const TAKEN: &str = "provided port is already allocated";
        if self.dry_run {
            if allocations.ports.contains(&port) || self.taken_ports.contains(&port) {
                return Err(TAKEN.to_owned());
            }
        } else if !allocations.node_ports.contains(&port) {
            let (first, last) = (allocations.node_ports.start(), allocations.node_ports.end());
            return Err(format!(
                "provided port is not in the valid range. The range of valid ports is {first}-{last}"
            ));
        } else if !allocations.ports.insert(port) {
            return Err(TAKEN.to_owned());
        }
        self.taken_ports.push(port);
        Ok(())
    }

    /// Takes a free port; `None` if there is none.
    fn free_port(&mut self, allocations: &mut Allocations) -> Option<i64> {
        let port = match self.dry_run {
            true => self.taken_ports.iter().max().map_or(allocations.node_ports.end() + 1, |last| *last) + 1,
            false => allocations.free_port()?,
        };
        self.taken_ports.push(port);
        Some(port)
    }

    /// Takes an address: the one that is asked for, or a free one for `""`.
    fn take_address(
        &mut self,
        allocations: &mut Allocations,
        service: &Value,
        asked: &str,
    ) -> Result<String, Status> {
        if asked.is_empty() {
            if self.dry_run {
                return Ok(allocations.network.to_string());
            }
            let free = allocations
                .free_address(|address| self.is_taken_elsewhere(&address.to_string()))
                .ok_or_else(|| {
                    let name = field::quote(object::name(service));
                    Status::internal(format!(
                        "failed to allocate a serviceIP for Service {name}: range is full"
                    ))
                })?;
            self.taken_addresses.extend(allocations.offset(free));
            return Ok(free.to_string());
        }
        let address = asked.parse::<IpAddr>().ok();
        let offset = match address {
            Some(IpAddr::V4(address)) => allocations.offset(address),
            _ => None,
        };
        let why = match offset {
            Some(_) if self.dry_run => return Ok(asked.to_owned()),
            None if self.dry_run => format!(
                "the provided IP ({asked}) is not in the valid range. The range of valid IPs is {}",
                allocations.range()
            ),
            None => "the provided network does not match the current range".to_owned(),
            Some(offset) if !self.is_taken_elsewhere(asked) && allocations.addresses.insert(offset) => {
                self.taken_addresses.push(offset);
                return Ok(asked.to_owned());
            }
            Some(_) => "provided IP is already allocated".to_owned(),
        };
        let path = Path::new("spec").child("clusterIPs");
        let shown = service.at(&["spec", "clusterIPs"]).cloned().unwrap_or_default();
        let error = field::Error::invalid(&path, shown, format!("failed to allocate IP {asked}: {why}"));
        Err(invalid(service, &[error]))
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let Some(state) = self.state.as_ref().filter(|_| !self.dry_run) else { return };
        let mut allocations = state.allocations.lock();
        for address in &self.taken_addresses {
            allocations.addresses.remove(address);
        }
        for port in &self.taken_ports {
            allocations.ports.remove(port);
        }
    }
}

fn invalid(service: &Value, errors: &[field::Error]) -> Status {
    Status::invalid("", "Service", object::name(service), errors)
}

fn give_back(state: &State, what: &Value) {
    let mut allocations = state.allocations.lock();
    for address in addresses(what) {
        if let Some(offset) = allocations.offset(address) {
            allocations.addresses.remove(&offset);
            presence::address_free(state, &address.to_string());
        }
    }
    for port in ports(what) {
        allocations.ports.remove(&port);
    }
}

/// Frees what a deleted Service had.
pub(crate) fn release(state: &State, resource: &Resource, last: &Value) {
    if resource.is("", "services") {
        give_back(state, last);
    }
}

/// Gives a Service the addresses and ports that it needs.
///
/// # Errors
/// 422 if one that it asks for is taken or its families and addresses do not fit each other; 500 if there are none left.
pub(crate) fn reserve(
    state: &Arc<State>,
    resource: &Resource,
    value: &mut Value,
    old: Option<&Value>,
    dry_run: bool,
) -> Result<Reserved, Status> {
    if !resource.is("", "services") {
        return Ok(Reserved::of(None, dry_run));
    }
    let mut reserved = Reserved::of(Some(state.clone()), dry_run);
    if let Some(old) = old {
        carry_over(value, old);
    }
    families::align_addresses(value, old);
    families::choose(value, old)?;
    let mut allocations = state.allocations.lock();
    let result = cluster_ip(&mut allocations, value, old, &mut reserved)
        .and_then(|()| node_ports(&mut allocations, value, old, &mut reserved))
        .and_then(|()| health_check(&mut allocations, value, old, &mut reserved));
    drop(allocations);
    result?;
    if let Some(old) = old {
        reserved.given_up = given_up(value, old);
    }
    Ok(reserved)
}

/// An update that leaves out what was given keeps it.
fn carry_over(value: &mut Value, old: &Value) {
    if !is_external_name(value) && !is_external_name(old) {
        if value.str_at(&["spec", "clusterIP"]).unwrap_or_default().is_empty()
            && let Some(kept) = old.at(&["spec", "clusterIP"])
        {
            value.set(&["spec", "clusterIP"], kept.clone());
        }
        let kept = old.items_at(&["spec", "clusterIPs"]);
        if value.items_at(&["spec", "clusterIPs"]).is_empty() && !kept.is_empty() {
            value.set(&["spec", "clusterIPs"], kept.to_vec());
        }
    }
    if wants_node_ports(value) && wants_node_ports(old) {
        carry_node_ports(value, old);
    }
    if needs_health_check(value)
        && needs_health_check(old)
        && value.i64_at(&["spec", "healthCheckNodePort"]).unwrap_or_default() == 0
        && let Some(kept) = old.at(&["spec", "healthCheckNodePort"])
    {
        value.set(&["spec", "healthCheckNodePort"], kept.clone());
    }
}

/// A port without a node port has that of the old port of its name, unless another has it now.
fn carry_node_ports(value: &mut Value, old: &Value) {
    let node_port = |port: &Value| port.i64_at(&["nodePort"]).filter(|port| *port != 0);
    let named = |port: &Value| port.str_at(&["name"]).unwrap_or_default().to_owned();
    let before = old.items_at(&["spec", "ports"]);
    let now: BTreeSet<i64> = value.items_at(&["spec", "ports"]).iter().filter_map(node_port).collect();
    for port in value.at_mut(&["spec", "ports"]).and_then(Value::as_array_mut).into_iter().flatten() {
        let name = named(port);
        let kept = before.iter().rfind(|old| named(old) == name).and_then(node_port);
        if let Some(kept) = kept.filter(|kept| node_port(port).is_none() && !now.contains(kept)) {
            port.set(&["nodePort"], kept);
        }
    }
}

fn cluster_ip(
    allocations: &mut Allocations,
    service: &mut Value,
    old: Option<&Value>,
    reserved: &mut Reserved,
) -> Result<(), Status> {
    if is_external_name(service) || is_headless(service) {
        return Ok(());
    }
    // What a Service has it keeps; one that led elsewhere has none yet.
    if old.is_some_and(|old| !is_external_name(old)) {
        return Ok(());
    }
    let asked = service.items_at(&["spec", "clusterIPs"]).first().and_then(Value::as_str);
    let asked = asked.unwrap_or_default().to_owned();
    let address = reserved.take_address(allocations, service, &asked)?;
    service.set(&["spec", "clusterIP"], address.as_str());
    service.set(&["spec", "clusterIPs"], vec![address]);
    Ok(())
}

fn node_ports(
    allocations: &mut Allocations,
    service: &mut Value,
    old: Option<&Value>,
    reserved: &mut Reserved,
) -> Result<(), Status> {
    if !matches!(kind(service), "NodePort" | "LoadBalancer") {
        return Ok(());
    }
    let wanted = wants_node_ports(service);
    let count = service.items_at(&["spec", "ports"]).len();
    let mut given: Vec<(String, i64)> = Vec::new();
    for index in 0..count {
        let Some(port) = service.items_at(&["spec", "ports"]).get(index) else { break };
        let number = |port: &Value, key: &str| port.i64_at(&[key]).unwrap_or_default();
        let mut asked = number(port, "nodePort");
        if asked == 0 && !wanted {
            continue;
        }
        let protocol = port.str_at(&["protocol"]).unwrap_or_default().to_owned();
        let had = match old {
            // Two protocols on one port share its node port, whichever of them names it.
            None => {
                let own = number(port, "port");
                let before = service.items_at(&["spec", "ports"]).iter().take(index);
                let shared = before.rev().find(|other| number(other, "port") == own);
                let shared = shared.map(|other| number(other, "nodePort")).filter(|shared| *shared != 0);
                if asked == 0 {
                    let mut all = service.items_at(&["spec", "ports"]).iter();
                    let named =
                        all.find(|other| number(other, "port") == own && number(other, "nodePort") != 0);
                    asked = named.map_or(0, |other| number(other, "nodePort"));
                }
                shared == Some(asked) && asked != 0
            }
            Some(old) => {
                let before = old.items_at(&["spec", "ports"]);
                before.iter().any(|port| number(port, "nodePort") == asked)
                    || given.iter().any(|(_, port)| *port == asked)
            }
        };
        if asked != 0 && !had {
            reserved.take_port(allocations, asked).map_err(|why| {
                let path = Path::new("spec").child("ports").index(index).child("nodePort");
                invalid(service, &[field::Error::invalid(&path, asked, why)])
            })?;
        }
        if asked == 0 {
            asked = reserved
                .free_port(allocations)
                .ok_or_else(|| Status::internal("failed to allocate a nodePort: range is full"))?;
        }
        if old.is_some() && given.contains(&(protocol.clone(), asked)) {
            return Err(Status::new(500, "", format!("duplicate nodePort: {{{protocol} {asked}}}")));
        }
        given.push((protocol, asked));
        let ports = service.at_mut(&["spec", "ports"]).and_then(Value::as_array_mut);
        if let Some(port) = ports.and_then(|ports| ports.get_mut(index)) {
            port.set(&["nodePort"], asked);
        }
    }
    Ok(())
}

/// The port at which a load balancer asks whether a node has pods of the Service.
fn health_check(
    allocations: &mut Allocations,
    service: &mut Value,
    old: Option<&Value>,
    reserved: &mut Reserved,
) -> Result<(), Status> {
    if !needs_health_check(service) || old.is_some_and(needs_health_check) {
        return Ok(());
    }
    match service.i64_at(&["spec", "healthCheckNodePort"]).unwrap_or_default() {
        0 => {
            let free = reserved.free_port(allocations).ok_or_else(|| {
                Status::internal("failed to allocate a HealthCheck NodePort 0: range is full")
            })?;
            service.set(&["spec", "healthCheckNodePort"], free);
        }
        asked => reserved.take_port(allocations, asked).map_err(|why| {
            Status::internal(format!("failed to allocate requested HealthCheck NodePort {asked}: {why}"))
        })?,
    }
    Ok(())
}

/// The part of the old Service's addresses and ports that the new one does not have any more.
fn given_up(new: &Value, old: &Value) -> Option<Value> {
    let (kept_addresses, kept_ports) = (addresses(new), ports(new));
    let lost_addresses: Vec<String> =
        addresses(old).iter().filter(|own| !kept_addresses.contains(own)).map(ToString::to_string).collect();
    let lost_ports: Vec<Value> = ports(old)
        .into_iter()
        .filter(|own| !kept_ports.contains(own))
        .map(|port| pilothouse_value::json!({"nodePort": port}))
        .collect();
    if lost_addresses.is_empty() && lost_ports.is_empty() {
        return None;
    }
    let mut lost = Value::object();
    lost.set(&["spec", "clusterIPs"], lost_addresses);
    lost.set(&["spec", "ports"], lost_ports);
    Some(lost)
}

/// Takes note of every stored Service: what they have is not given out again.
pub(crate) fn adopt_all(state: &State) {
    let snapshot = state.store.snapshot();
    let mut allocations = state.allocations.lock();
    for entry in snapshot.list(&resource::key("", "services"), None, None) {
        let service = entry.object.value();
        allocations.adopt(service);
        for address in addresses(service).into_iter().filter(|address| allocations.offset(*address).is_some())
        {
            presence::address_taken(state, &address.to_string(), service);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_given_once() {
        let mut allocations = Allocations::new(Ipv4Addr::new(10, 0, 0, 0), 29, 30000..=32767);
        let given: BTreeSet<Ipv4Addr> = (0..6).filter_map(|_| allocations.free_address(|_| false)).collect();
        assert_eq!(given.len(), 6, "all but the network's own and the last address");
        assert_eq!(allocations.free_address(|_| false), None);
    }
}
