//! Pods as processes: real servers, real processes, and the real clock.

mod containers;
mod environment;
mod life;
mod names;
mod place;
mod postgres;
mod probes;
mod sessions;
mod whole;
