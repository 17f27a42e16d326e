//! The schema room through its public doors.

mod properties;
mod recorded;
mod schemas;
