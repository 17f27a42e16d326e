//! The engine and the test kit through their public doors, on the embedded API.
//!
//! The modules are `cfg(test)` so that helpers in them count as tests for the lints.

#[cfg(test)]
mod cache;
#[cfg(test)]
mod controllers;
#[cfg(test)]
mod events;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod reconcilers;
#[cfg(test)]
mod shutdown;
