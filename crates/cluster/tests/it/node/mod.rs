//! Pods as processes, through the public door: real servers, real processes, the real clock.

mod containers;
mod environment;
mod life;
mod names;
mod place;
mod probes;
mod sessions;
