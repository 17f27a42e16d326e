//! Addresses and networks that older releases took: they may stay, and are warned of. A server of today has no way to get them.

use pilothouse_schema::builtin::{Policy, status_warnings, validate, validate_subresource, warnings};
use pilothouse_value::{Gvk, Value, json};

fn policy(networks: &[&str]) -> Value {
    let peers: Vec<Value> = networks.iter().map(|cidr| json!({"ipBlock": {"cidr": *cidr}})).collect();
    json!({"metadata": {"name": "x", "namespace": "default"},
           "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": peers}]}})
}

fn said(errors: &[pilothouse_value::field::Error]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn a_network_of_old_may_stay_anywhere_in_its_policy_and_is_warned_of() {
    let kind = Gvk::new("networking.k8s.io", "v1", "NetworkPolicy");
    let (old, new) = (policy(&["10.0.0.1/8"]), policy(&["192.168.0.0/16", "10.0.0.1/8"]));
    assert!(validate(&kind, &new, Some(&old), Policy::default()).is_empty());
    assert_eq!(
        warnings(&kind, &new, Some(&old)),
        [
            "spec.ingress[0].from[1].ipBlock.cidr: CIDR value \"10.0.0.1/8\" is ambiguous in this context (should be \
             \"10.0.0.0/8\" or \"10.0.0.1/32\"?)"
        ]
    );
    assert_eq!(
        said(&validate(&kind, &policy(&["10.0.0.2/8"]), Some(&old), Policy::default())),
        [
            "spec.ingress[0].from[0].ipBlock.cidr: Invalid value: \"10.0.0.2/8\": must not have bits set beyond the prefix \
             length"
        ]
    );
}

#[test]
fn endpoints_of_old_may_stay_as_long_as_none_of_them_changes() {
    let kind = Gvk::new("discovery.k8s.io", "v1", "EndpointSlice");
    let slice = |addresses: &[&str]| {
        let addresses: Vec<Value> = addresses.iter().map(|ip| json!(*ip)).collect();
        json!({"metadata": {"name": "x", "namespace": "default"}, "addressType": "IPv6",
               "endpoints": [{"addresses": addresses}], "ports": []})
    };
    let old = slice(&["2001:DB8::1"]);
    assert!(validate(&kind, &old, Some(&old), Policy::default()).is_empty());
    assert_eq!(
        said(&validate(&kind, &slice(&["2001:DB8::1", "::ffff:1.2.3.4"]), Some(&old), Policy::default())),
        [
            "endpoints[0].addresses[0]: Invalid value: \"2001:DB8::1\": must be in canonical form (\"2001:db8::1\")",
            "endpoints[0].addresses[1]: Invalid value: \"::ffff:1.2.3.4\": must not be an IPv4-mapped IPv6 address",
        ]
    );
}

#[test]
fn an_address_of_a_load_balancer_may_stay_and_is_warned_of() {
    let kind = Gvk::new("networking.k8s.io", "v1", "Ingress");
    let ingress = |ip: &str| json!({"status": {"loadBalancer": {"ingress": [{"ip": ip}]}}});
    let old = ingress("010.0.0.1");
    assert!(validate_subresource(&kind, "status", &old, &old, Policy::default()).is_empty());
    assert_eq!(
        status_warnings(&kind, &old),
        [
            "status.loadBalancer.ingress[0]: non-standard IP address \"010.0.0.1\" is invalid: use \"10.0.0.1\""
        ]
    );
    assert_eq!(
        said(&validate_subresource(&kind, "status", &ingress("010.0.0.2"), &old, Policy::default())),
        ["status.loadBalancer.ingress[0].ip: Invalid value: \"010.0.0.2\": must not have leading 0s"]
    );
}
