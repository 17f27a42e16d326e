//! Texts of errors, recorded from a real server.

use super::parse;

fn errors(source: &str) -> String {
    parse(source).map_or_else(|issues| issues.to_string(), |_| String::new())
}
