//! The schema room through its public doors.

// Marked, so that lints know the helpers in these for tests.
#[cfg(test)]
mod addresses;
#[cfg(test)]
mod large;
#[cfg(test)]
mod openapi;
mod properties;
#[cfg(test)]
mod protobuf;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod schemas;
