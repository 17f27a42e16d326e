//! `kando`: the tool that runs inside the pods of a Blueprint.

fn main() -> std::process::ExitCode {
    pilothouse_protection::kando::main(std::env::args_os())
}
