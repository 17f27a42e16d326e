//! What a Service gets from the cluster: addresses and node ports, each given to one Service at a time.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;

use pilothouse_value::field::{self, Path};
use pilothouse_value::{Status, Value, object};

use crate::resource::{self, Resource};
use crate::state::State;

/// The range of node ports, as upstream's default.
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;
/// How many of the lowest addresses are kept for those who ask for one by name.
const STATIC_BAND: u32 = 256;

/// What is given out.
#[derive(Debug)]
pub(crate) struct Allocations {
    network: Ipv4Addr,
    prefix: u32,
    addresses: BTreeSet<u32>,
    ports: BTreeSet<i64>,
    next_address: u32,
    next_port: i64,
}

impl Allocations {
    /// Nothing given out yet, from this range of addresses.
    pub(crate) fn new(network: Ipv4Addr, prefix: u32) -> Allocations {
        Allocations {
            network,
            prefix: prefix.clamp(8, 30),
            addresses: BTreeSet::new(),
            ports: BTreeSet::new(),
            next_address: STATIC_BAND,
            next_port: *NODE_PORTS.start(),
        }
    }

    /// The first address of the range, which the API server's own Service has.
    pub(crate) fn first(&self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.network) + 1)
    }

    fn size(&self) -> u32 {
        1 << (32 - self.prefix)
    }

    fn offset(&self, address: Ipv4Addr) -> Option<u32> {
        let offset = u32::from(address).checked_sub(u32::from(self.network))?;
        (offset > 0 && offset < self.size() - 1).then_some(offset)
    }

    fn free_address(&mut self) -> Option<Ipv4Addr> {
        let last = self.size() - 2;
        for _ in 0..self.size() {
            let at = if (1..=last).contains(&self.next_address) { self.next_address } else { 1 };
            self.next_address = at + 1;
            if self.addresses.insert(at) {
                return Some(Ipv4Addr::from(u32::from(self.network) + at));
            }
        }
        None
    }

    fn free_port(&mut self) -> Option<i64> {
        for _ in NODE_PORTS {
            let at = if NODE_PORTS.contains(&self.next_port) { self.next_port } else { *NODE_PORTS.start() };
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

fn ports(service: &Value) -> Vec<i64> {
    service
        .items_at(&["spec", "ports"])
        .iter()
        .filter_map(|port| port.i64_at(&["nodePort"]))
        .filter(|port| *port != 0)
        .collect()
}

/// What a request has taken; given back when it is dropped, unless it is kept.
pub(crate) struct Reserved {
    state: Option<Arc<State>>,
    taken_addresses: Vec<u32>,
    taken_ports: Vec<i64>,
    /// What the write gives up once it has succeeded.
    given_up: Option<Value>,
}

impl Reserved {
    fn of(state: Option<Arc<State>>) -> Reserved {
        Reserved { state, taken_addresses: Vec::new(), taken_ports: Vec::new(), given_up: None }
    }

    /// The write succeeded: what was taken stays taken, what is no longer used is free.
    pub(crate) fn keep(mut self) {
        self.taken_addresses.clear();
        self.taken_ports.clear();
        if let (Some(state), Some(old)) = (&self.state, &self.given_up) {
            give_back(state, old);
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let Some(state) = &self.state else { return };
        let mut allocations = state.allocations.lock();
        for address in &self.taken_addresses {
            allocations.addresses.remove(address);
        }
        for port in &self.taken_ports {
            allocations.ports.remove(port);
        }
    }
}

fn give_back(state: &State, what: &Value) {
    let mut allocations = state.allocations.lock();
    for address in addresses(what) {
        if let Some(offset) = allocations.offset(address) {
            allocations.addresses.remove(&offset);
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
/// 422 if one that it asks for is taken; 500 if there are none left.
pub(crate) fn reserve(
    state: &Arc<State>,
    resource: &Resource,
    value: &mut Value,
    old: Option<&Value>,
) -> Result<Reserved, Status> {
    if !resource.is("", "services") {
        return Ok(Reserved::of(None));
    }
    let kind = value.str_at(&["spec", "type"]).unwrap_or("ClusterIP").to_owned();
    let mut reserved = Reserved::of(Some(state.clone()));
    if let Some(old) = old {
        carry_over(value, old, &kind);
    }
    let mut allocations = state.allocations.lock();
    let result = cluster_ip(&mut allocations, value, old, &kind, &mut reserved)
        .and_then(|()| node_ports(&mut allocations, value, old, &kind, &mut reserved));
    drop(allocations);
    result?;
    if let Some(old) = old {
        reserved.given_up = given_up(value, old);
    }
    Ok(reserved)
}

/// An update that leaves out what was given keeps it.
fn carry_over(value: &mut Value, old: &Value, kind: &str) {
    let old_kind = old.str_at(&["spec", "type"]).unwrap_or("ClusterIP");
    if kind != "ExternalName" && old_kind != "ExternalName" {
        // Who changes one of the two fields means both.
        let address = value.str_at(&["spec", "clusterIP"]).unwrap_or_default().to_owned();
        let changed = !address.is_empty() && old.str_at(&["spec", "clusterIP"]) != Some(address.as_str());
        if changed && value.at(&["spec", "clusterIPs"]) == old.at(&["spec", "clusterIPs"]) {
            value.set(&["spec", "clusterIPs"], vec![address]);
        }
        if value.str_at(&["spec", "clusterIP"]).unwrap_or_default().is_empty() {
            for key in ["clusterIP", "clusterIPs"] {
                if let Some(kept) = old.at(&["spec", key]) {
                    value.set(&["spec", key], kept.clone());
                }
            }
        }
        for key in ["ipFamilies", "ipFamilyPolicy"] {
            if value.at(&["spec", key]).is_none()
                && let Some(kept) = old.at(&["spec", key])
            {
                value.set(&["spec", key], kept.clone());
            }
        }
    }
    let exposed = |kind: &str| matches!(kind, "NodePort" | "LoadBalancer");
    if !exposed(kind) || !exposed(old_kind) {
        return;
    }
    let old_ports = old.items_at(&["spec", "ports"]).to_vec();
    let Some(ports) = value.at_mut(&["spec", "ports"]).and_then(Value::as_array_mut) else { return };
    for port in ports {
        if port.i64_at(&["nodePort"]).unwrap_or_default() != 0 {
            continue;
        }
        let same = old_ports
            .iter()
            .find(|old| old.get("port") == port.get("port") && old.get("protocol") == port.get("protocol"));
        if let Some(kept) = same.and_then(|old| old.get("nodePort")) {
            port.set(&["nodePort"], kept.clone());
        }
    }
}

fn cluster_ip(
    allocations: &mut Allocations,
    service: &mut Value,
    old: Option<&Value>,
    kind: &str,
    reserved: &mut Reserved,
) -> Result<(), Status> {
    if kind == "ExternalName" {
        return Ok(());
    }
    let wanted = service.str_at(&["spec", "clusterIP"]).unwrap_or_default().to_owned();
    let wanted = match wanted.as_str() {
        "" => service
            .items_at(&["spec", "clusterIPs"])
            .first()
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        _ => wanted,
    };
    let address = match wanted.as_str() {
        "None" => "None".to_owned(),
        "" => {
            let address = allocations
                .free_address()
                .ok_or_else(|| Status::internal("failed to allocate a serviceIP: range is full"))?;
            reserved.taken_addresses.extend(allocations.offset(address));
            address.to_string()
        }
        text => {
            let had = old.is_some_and(|old| old.str_at(&["spec", "clusterIP"]) == Some(text));
            if !had && let Ok(address) = text.parse::<Ipv4Addr>() {
                take(allocations, service, address, reserved)?;
            }
            text.to_owned()
        }
    };
    service.set(&["spec", "clusterIP"], address.as_str());
    if service.items_at(&["spec", "clusterIPs"]).is_empty() {
        service.set(&["spec", "clusterIPs"], vec![address]);
    }
    if service.at(&["spec", "ipFamilies"]).is_none() {
        service.set(&["spec", "ipFamilies"], vec!["IPv4"]);
    }
    if service.at(&["spec", "ipFamilyPolicy"]).is_none() {
        service.set(&["spec", "ipFamilyPolicy"], "SingleStack");
    }
    Ok(())
}

fn take(
    allocations: &mut Allocations,
    service: &Value,
    address: Ipv4Addr,
    reserved: &mut Reserved,
) -> Result<(), Status> {
    let why = match allocations.offset(address) {
        None => {
            format!("failed to allocate IP {address}: the provided network does not match the current range")
        }
        Some(offset) if allocations.addresses.insert(offset) => {
            reserved.taken_addresses.push(offset);
            return Ok(());
        }
        Some(_) => format!("failed to allocate IP {address}: provided IP is already allocated"),
    };
    let path = Path::new("spec").child("clusterIPs");
    let error = field::Error::invalid(&path, vec![address.to_string()], why);
    Err(Status::invalid("", "Service", object::name(service), &[error]))
}

fn node_ports(
    allocations: &mut Allocations,
    service: &mut Value,
    old: Option<&Value>,
    kind: &str,
    reserved: &mut Reserved,
) -> Result<(), Status> {
    let name = object::name(service).to_owned();
    let wanted = match kind {
        "NodePort" => true,
        "LoadBalancer" => {
            service.at(&["spec", "allocateLoadBalancerNodePorts"]).and_then(Value::as_bool) != Some(false)
        }
        _ => return Ok(()),
    };
    let had = old.map(ports).unwrap_or_default();
    let Some(list) = service.at_mut(&["spec", "ports"]).and_then(Value::as_array_mut) else { return Ok(()) };
    for (index, port) in list.iter_mut().enumerate() {
        match port.i64_at(&["nodePort"]).unwrap_or_default() {
            0 if wanted => {
                let free = allocations
                    .free_port()
                    .ok_or_else(|| Status::internal("failed to allocate a nodePort: range is full"))?;
                reserved.taken_ports.push(free);
                port.set(&["nodePort"], free);
            }
            0 => {}
            asked if had.contains(&asked) || reserved.taken_ports.contains(&asked) => {}
            asked => {
                let path = Path::new("spec").child("ports").index(index).child("nodePort");
                let why = if !NODE_PORTS.contains(&asked) {
                    "provided port is not in the valid range. The range of valid ports is 30000-32767"
                } else if allocations.ports.insert(asked) {
                    reserved.taken_ports.push(asked);
                    continue;
                } else {
                    "provided port is already allocated"
                };
                return Err(Status::invalid(
                    "",
                    "Service",
                    &name,
                    &[field::Error::invalid(&path, asked, why)],
                ));
            }
        }
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
        allocations.adopt(entry.object.value());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_given_once() {
        let mut allocations = Allocations::new(Ipv4Addr::new(10, 0, 0, 0), 29);
        let given: BTreeSet<Ipv4Addr> = (0..6).filter_map(|_| allocations.free_address()).collect();
        assert_eq!(given.len(), 6, "all but the network's own and the last address");
        assert_eq!(allocations.free_address(), None);
    }
}
