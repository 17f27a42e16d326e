//! The drop-in for envtest alone: a small program that is built in seconds. `pilothouse envtest` is the same.

use std::process::ExitCode;

fn main() -> ExitCode {
    pilothouse_envtest::run(std::env::args_os())
}
