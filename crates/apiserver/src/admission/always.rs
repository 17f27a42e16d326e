//! Plugins that say the same of everything, or of one field: AlwaysAdmit, AlwaysDeny, DenyServiceExternalIPs.

use pilothouse_value::Status;

use super::{Attributes, Operation, Plugin};

/// AlwaysAdmit: everything is fine.
pub(super) struct AlwaysAdmit;

impl Plugin for AlwaysAdmit {
    fn handles(&self, _operation: Operation) -> bool {
        false
    }
}

/// AlwaysDeny: nothing is.
pub(super) struct AlwaysDeny;

impl Plugin for AlwaysDeny {
    fn handles(&self, _operation: Operation) -> bool {
        true
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        self.validate(attributes)
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        Err(attributes.forbidden("admission control is denying all modifications"))
    }
}

/// DenyServiceExternalIPs: nobody claims addresses that are not the cluster's.
pub(super) struct DenyServiceExternalIPs;

impl Plugin for DenyServiceExternalIPs {
    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        const FIELD: &[&str] = &["spec", "externalIPs"];
        let Some(service) = attributes.object.as_ref().filter(|_| attributes.is("", "services")) else {
            return Ok(());
        };
        let had = attributes.old.as_ref().map(|old| old.items_at(FIELD)).unwrap_or_default();
        if service.items_at(FIELD).iter().all(|address| had.contains(address)) {
            return Ok(());
        }
        Err(attributes.forbidden("Use of external IPs is denied by admission control"))
    }
}
