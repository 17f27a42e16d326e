//! Behaviour of the language through its public door.

mod contract;
