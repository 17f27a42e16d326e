//! `kando`: the tool that runs inside the pods of a Blueprint.
fn main() {}
