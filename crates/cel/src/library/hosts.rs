//! The types that libraries bring.

use crate::types::HostType;

const fn message(name: &'static str) -> HostType {
    HostType { name, is_opaque: false }
}

const fn opaque(name: &'static str) -> HostType {
    HostType { name, is_opaque: true }
}

pub(crate) const URL: HostType = message("kubernetes.URL");
pub(crate) const QUANTITY: HostType = message("kubernetes.Quantity");
pub(crate) const SEMVER: HostType = message("kubernetes.Semver");
pub(crate) const FORMAT: HostType = message("kubernetes.NamedFormat");
pub(crate) const IP: HostType = opaque("net.IP");
pub(crate) const CIDR: HostType = opaque("net.CIDR");
pub(crate) const AUTHORIZER: HostType = message("kubernetes.authorization.Authorizer");
pub(crate) const PATH_CHECK: HostType = message("kubernetes.authorization.PathCheck");
pub(crate) const GROUP_CHECK: HostType = message("kubernetes.authorization.GroupCheck");
pub(crate) const RESOURCE_CHECK: HostType = message("kubernetes.authorization.ResourceCheck");
pub(crate) const DECISION: HostType = message("kubernetes.authorization.Decision");

/// `google.protobuf.Empty`.
pub(crate) const EMPTY: HostType = message("google.protobuf.Empty");
/// An entry of the map that `google.protobuf.Struct` has, which is a message of its own.
pub(crate) const FIELDS_ENTRY: HostType = message("google.protobuf.Struct.FieldsEntry");

pub(crate) const ALL: [HostType; 11] =
    [URL, QUANTITY, SEMVER, FORMAT, IP, CIDR, AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION];
