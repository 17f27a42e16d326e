//! What the server knows of objects whatever they are for: their metadata and owners, and what it gives to them itself.

pub(crate) mod allocate;
pub(crate) mod elsewhere;
pub(crate) mod expiry;
pub(crate) mod metadata;
pub(crate) mod names;
pub(crate) mod own_status;
pub(crate) mod ownership;
pub(crate) mod resources;
