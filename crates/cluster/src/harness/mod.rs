pub(crate) mod plan;
pub(crate) mod queue;
