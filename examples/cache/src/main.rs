//! Room to be opened.

fn main() {}
