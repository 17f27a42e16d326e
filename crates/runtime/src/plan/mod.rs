//! Plans: what a controller wants to be true, checked by guards before anything is done.

mod guard;

pub use self::guard::Refusal;
pub(crate) use self::guard::is_protected;
