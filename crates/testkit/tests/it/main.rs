//! The engine and the test kit through their public doors, on the embedded API.

mod cache;
mod controllers;
mod events;
mod fixture;
mod kit;
mod plans;
mod reconcilers;
mod shutdown;
