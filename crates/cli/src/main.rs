//! The command `pilothouse`: the bridge between the embedded API and the operators, for people at a terminal.

mod args;
mod ui;

fn main() {}
