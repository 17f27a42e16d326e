//! How Go prints what a message quotes: floats, and values in the syntax of Go.

use super::compose::{Document, Shape};
use super::resolve::{Resolved, resolve};
use crate::go_print;

/// A scalar as `%#v` prints it.
pub(super) fn scalar(resolved: &Resolved) -> String {
    match resolved {
        Resolved::Null => "interface {}(nil)".to_owned(),
        Resolved::Bool(value) => value.to_string(),
        Resolved::Int(number) => number.to_string(),
        Resolved::Uint(number) => format!("{number:#x}"),
        Resolved::Float(number) => go_print::float(*number),
        Resolved::Text(text) => crate::field::quote(text),
    }
}

/// How much of a value is printed; upstream has no limit.
const LONGEST: usize = 64 << 10;
const DEEPEST: usize = 100;

/// A node as `%#v` prints what is read of it.
pub(super) fn node(document: &Document, number: usize) -> String {
    let mut printer = Printer { document, left: LONGEST };
    printer.print(number, 0)
}

struct Printer<'a> {
    document: &'a Document,
    left: usize,
}

impl Printer<'_> {
    fn print(&mut self, number: usize, depth: usize) -> String {
        let Some(node) = self.document.nodes.get(number).filter(|_| depth < DEEPEST && self.left > 0) else {
            return "...".to_owned();
        };
        match &node.shape {
            Shape::Alias(target, _) => self.print(*target, depth + 1),
            Shape::Scalar(text) => {
                let printed = resolve(text).map(|resolved| scalar(&resolved)).unwrap_or_default();
                self.left = self.left.saturating_sub(printed.len());
                printed
            }
            Shape::Sequence(items) => {
                let items: Vec<String> = items.iter().map(|item| self.print(*item, depth + 1)).collect();
                format!("[]interface {{}}{{{}}}", items.join(", "))
            }
            Shape::Mapping(pairs) => {
                let mut entries: Vec<(String, String)> = Vec::new();
                for pair in pairs.chunks_exact(2) {
                    let &[key, value] = pair else { continue };
                    entries.push((self.print(key, depth + 1), self.print(value, depth + 1)));
                }
                // Of a key that came twice the last value is there, and keys are printed in order.
                entries.reverse();
                entries.sort_by(|(a, _), (b, _)| a.cmp(b));
                entries.dedup_by(|(a, _), (b, _)| a == b);
                let entries: Vec<String> =
                    entries.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
                format!("map[interface {{}}]interface {{}}{{{}}}", entries.join(", "))
            }
        }
    }
}
