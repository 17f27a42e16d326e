//! What every controller here is made of: informers that know what there is, a queue of keys, a plan of writes, and the
//! API that carries it out. Nothing polls and nothing sleeps: work begins with an event, or when a time that the API
//! defines (a deadline, a back-off) has come.

pub(crate) mod api;
pub(crate) mod controller;
pub(crate) mod events;
pub(crate) mod informer;
pub(crate) mod plan;
pub(crate) mod queue;
