//! Values as errors of a real server show them: not as documents, but as Go's own structs, with the names of their
//! fields and with every field that is not set. Reads `tables/structs.txt`.
//!
//! One struct a line, its parts separated by tabs: the name, then its fields in the order of the struct: the name that
//! is shown, the form, `o` if it is left out when it is not set, and `=NAME` if documents call it by another word. `+ @NAME` is a struct whose fields are shown as if
//! they were this struct's own. A form is a scalar, `@NAME`, or `*`, `[]`, `{}` before another form.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use pilothouse_value::Value;

static TABLE: &str = include_str!("../tables/structs.txt");

static STRUCTS: LazyLock<HashMap<&'static str, &'static str>> =
    LazyLock::new(|| TABLE.lines().map(|line| line.split_once('\t').unwrap_or((line, ""))).collect());

/// The struct `name` (`core.PodSpec`) with the contents of a document, in one line.
pub(crate) fn show(name: &str, value: &Value) -> String {
    show_form(&format!("@{name}"), value)
}

/// A value of any form (`[]@core.PodIP`), in one line.
pub(crate) fn show_form(form: &str, value: &Value) -> String {
    let mut out = Writer { text: String::new(), pretty: false };
    out.form(form, Some(value).filter(|value| !value.is_null()), 0);
    out.text
}

/// The struct in many lines, as errors compare them.
pub(crate) fn show_pretty(name: &str, value: &Value) -> String {
    show_form_pretty(&format!("@{name}"), value)
}

/// A value of any form in many lines.
pub(crate) fn show_form_pretty(form: &str, value: &Value) -> String {
    let mut out = Writer { text: String::new(), pretty: true };
    out.form(form, Some(value), 0);
    out.text
}

struct Writer {
    text: String,
    pretty: bool,
}

/// Deeper than any struct of the table; documents with more (custom JSON in extensions) are cut there.
const DEPTH: usize = 64;

impl Writer {
    fn line(&mut self, depth: usize) {
        if self.pretty {
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n(' ', depth));
        }
    }

    fn key(&mut self, key: &str, first: &mut bool, depth: usize) {
        if !*first {
            self.text.push(',');
        }
        *first = false;
        self.line(depth);
        self.text.push_str(&Value::from(key).to_json());
        self.text.push_str(if self.pretty { ": " } else { ":" });
    }

    fn form(&mut self, form: &str, value: Option<&Value>, depth: usize) {
        if depth > DEPTH {
            return self.text.push_str("null");
        }
        if let Some(inner) = form.strip_prefix('*') {
            return match value {
                Some(_) => self.form(inner, value, depth),
                None => self.text.push_str("null"),
            };
        }
        if let Some(inner) = form.strip_prefix("[]") {
            return match value.and_then(Value::as_array) {
                Some(items) => self.list(inner, items, depth),
                None => self.text.push_str("null"),
            };
        }
        if let Some(inner) = form.strip_prefix("{}") {
            return match value.and_then(Value::as_object) {
                Some(map) => {
                    self.text.push('{');
                    let mut first = true;
                    for (key, value) in map.iter() {
                        self.key(key, &mut first, depth + 1);
                        self.form(inner, Some(value), depth + 1);
                    }
                    if !first {
                        self.line(depth);
                    }
                    self.text.push('}');
                }
                None => self.text.push_str("null"),
            };
        }
        if let Some(name) = form.strip_prefix('@') {
            self.text.push('{');
            let mut first = true;
            self.fields(name, value.unwrap_or(&Value::Null), &mut first, depth + 1);
            if !first {
                self.line(depth);
            }
            return self.text.push('}');
        }
        match (form, value) {
            (_, Some(value)) => self.text.push_str(&escape_html(&value.to_json())),
            ("string", None) => self.text.push_str("\"\""),
            ("bool", None) => self.text.push_str("false"),
            ("int", None) => self.text.push('0'),
            (_, None) => self.text.push_str("null"),
        }
    }

    fn list(&mut self, form: &str, items: &[Value], depth: usize) {
        self.text.push('[');
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.text.push(',');
            }
            self.line(depth + 1);
            self.form(form, Some(item), depth + 1);
        }
        if !items.is_empty() {
            self.line(depth);
        }
        self.text.push(']');
    }

    fn fields(&mut self, name: &str, value: &Value, first: &mut bool, depth: usize) {
        if depth > DEPTH {
            return;
        }
        for field in
            STRUCTS.get(name).copied().unwrap_or_default().split('\t').filter(|field| !field.is_empty())
        {
            let mut words = field.split(' ');
            let (shown, form) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let (mut omit, mut spelled) = (None, shown);
            for word in words {
                match word.strip_prefix('=') {
                    Some(name) => spelled = name,
                    None => omit = Some(word),
                }
            }
            if shown == "+" {
                let inner = form.trim_start_matches('@');
                let of = if inner == "v1.ObjectMeta" {
                    value.get("metadata").unwrap_or(&Value::Null)
                } else {
                    value
                };
                self.fields(inner, of, first, depth);
                continue;
            }
            let found = lookup(value, spelled);
            let is_unset = if form.starts_with('*') { found.is_none() } else { found.is_none_or(is_empty) };
            if omit.is_some() && is_unset {
                continue;
            }
            self.key(shown, first, depth);
            self.form(form, found, depth);
        }
    }
}

/// The field of a document that a field of a struct is read from.
fn lookup<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let map = value.as_object()?;
    map.iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
        .filter(|value| !value.is_null())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Int(number) => *number == 0,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Float(_) | Value::Spelled(_) => false,
    }
}

/// Go escapes what HTML would read.
fn escape_html(json: &str) -> String {
    if !json.contains(['<', '>', '&']) {
        return json.to_owned();
    }
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Checks that a text is JSON.
///
/// # Errors
/// Go's words for the first fault.
pub(crate) fn check_json(text: &str) -> Result<(), String> {
    super::go_json::check(text)
}

/// Checks that a text is a JSON object.
///
/// # Errors
/// Go's words for the first fault.
pub(crate) fn check_json_object(text: &str) -> Result<(), String> {
    super::go_json::check_object(text)
}

/// How many unchanged lines are shown around a change.
const CONTEXT: usize = 3;

/// The difference of two texts in the unified form, without the names of files (difflib's algorithm, so that the same
/// lines are found to be the same).
pub(crate) fn unified_diff(old: &str, new: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let mut out = String::new();
    for group in grouped(&opcodes(&a, &b)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let _ = writeln!(out, "@@ -{} +{} @@", range(first.a.0, last.a.1), range(first.b.0, last.b.1));
        for op in &group {
            let lines = |side: &[&str], (from, to): (usize, usize), mark: char, out: &mut String| {
                for line in side.get(from..to).unwrap_or_default() {
                    let _ = writeln!(out, "{mark}{line}");
                }
            };
            if op.equal {
                lines(&a, op.a, ' ', &mut out);
            } else {
                lines(&a, op.a, '-', &mut out);
                lines(&b, op.b, '+', &mut out);
            }
        }
    }
    out
}

fn range(from: usize, to: usize) -> String {
    match to - from {
        1 => (from + 1).to_string(),
        0 => format!("{from},0"),
        length => format!("{},{length}", from + 1),
    }
}

#[derive(Debug, Clone, Copy)]
struct Op {
    equal: bool,
    a: (usize, usize),
    b: (usize, usize),
}

fn opcodes(a: &[&str], b: &[&str]) -> Vec<Op> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in b.iter().enumerate() {
        places.entry(line).or_default().push(at);
    }
    // In long texts, lines that are everywhere say nothing.
    if b.len() >= 200 {
        let limit = b.len() / 100 + 1;
        places.retain(|_, at| at.len() <= limit);
    }
    let mut blocks = Vec::new();
    let mut queue = vec![(0, a.len(), 0, b.len())];
    while let Some((a_from, a_to, b_from, b_to)) = queue.pop() {
        let (i, j, size) = longest_match(a, b, &places, (a_from, a_to), (b_from, b_to));
        if size > 0 {
            blocks.push((i, j, size));
            queue.push((a_from, i, b_from, j));
            queue.push((i + size, a_to, j + size, b_to));
        }
    }
    blocks.sort_unstable();
    blocks.push((a.len(), b.len(), 0));
    let mut ops: Vec<Op> = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (a_at, b_at, size) in blocks {
        if i < a_at || j < b_at {
            ops.push(Op { equal: false, a: (i, a_at), b: (j, b_at) });
        }
        if size > 0 {
            match ops.last_mut() {
                Some(last) if last.equal && last.a.1 == a_at && last.b.1 == b_at => {
                    last.a.1 += size;
                    last.b.1 += size;
                }
                _ => ops.push(Op { equal: true, a: (a_at, a_at + size), b: (b_at, b_at + size) }),
            }
        }
        (i, j) = (a_at + size, b_at + size);
    }
    ops
}

fn longest_match(
    a: &[&str],
    b: &[&str],
    places: &HashMap<&str, Vec<usize>>,
    (a_from, a_to): (usize, usize),
    (b_from, b_to): (usize, usize),
) -> (usize, usize, usize) {
    let (mut i, mut j, mut size) = (a_from, b_from, 0);
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for (at, line) in a.iter().enumerate().take(a_to).skip(a_from) {
        let mut next = HashMap::new();
        for &other in places.get(line).map_or(&[][..], Vec::as_slice) {
            if other < b_from {
                continue;
            }
            if other >= b_to {
                break;
            }
            let length =
                other.checked_sub(1).and_then(|before| lengths.get(&before)).copied().unwrap_or(0) + 1;
            next.insert(other, length);
            if length > size {
                (i, j, size) = (at + 1 - length, other + 1 - length, length);
            }
        }
        lengths = next;
    }
    // Lines that were left out above still make a match longer.
    while i > a_from && j > b_from && a.get(i - 1) == b.get(j - 1) {
        (i, j, size) = (i - 1, j - 1, size + 1);
    }
    while i + size < a_to && j + size < b_to && a.get(i + size) == b.get(j + size) {
        size += 1;
    }
    (i, j, size)
}

/// Changes with their surroundings; those that are near each other together.
fn grouped(ops: &[Op]) -> Vec<Vec<Op>> {
    let mut ops = ops.to_vec();
    if let Some(first) = ops.first_mut().filter(|op| op.equal) {
        first.a.0 = first.a.0.max(first.a.1.saturating_sub(CONTEXT));
        first.b.0 = first.b.0.max(first.b.1.saturating_sub(CONTEXT));
    }
    if let Some(last) = ops.last_mut().filter(|op| op.equal) {
        last.a.1 = last.a.1.min(last.a.0 + CONTEXT);
        last.b.1 = last.b.1.min(last.b.0 + CONTEXT);
    }
    let (mut groups, mut group): (Vec<Vec<Op>>, Vec<Op>) = (Vec::new(), Vec::new());
    for mut op in ops {
        if op.equal && op.a.1 - op.a.0 > 2 * CONTEXT {
            group.push(Op {
                equal: true,
                a: (op.a.0, op.a.1.min(op.a.0 + CONTEXT)),
                b: (op.b.0, op.b.1.min(op.b.0 + CONTEXT)),
            });
            groups.push(std::mem::take(&mut group));
            op.a.0 = op.a.0.max(op.a.1.saturating_sub(CONTEXT));
            op.b.0 = op.b.0.max(op.b.1.saturating_sub(CONTEXT));
        }
        group.push(op);
    }
    if !(group.len() == 1 && group.first().is_some_and(|op| op.equal)) {
        groups.push(group);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

#[cfg(test)]
mod tests {
    use pilothouse_value::json;

    use super::*;

    #[test]
    fn structs_are_shown_with_every_field() {
        let strategy = json!({"type": "Foo"});
        assert_eq!(show("apps.DeploymentStrategy", &strategy), r#"{"Type":"Foo","RollingUpdate":null}"#);
        let volume = json!({"name": "v", "emptyDir": {}});
        let shown = show("core.Volume", &volume);
        assert!(
            shown.starts_with(
                r#"{"Name":"v","HostPath":null,"EmptyDir":{"Medium":"","SizeLimit":null,"Mode":null}"#
            ),
            "{shown}"
        );
    }

    #[test]
    fn differences_are_those_of_difflib() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm";
        let new = "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nM\nn";
        assert_eq!(
            unified_diff(old, new),
            "@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n@@ -10,4 +10,5 @@\n j\n k\n l\n-m\n+M\n+n\n"
        );
        assert_eq!(unified_diff("a", "a"), "");
    }

    #[test]
    fn every_struct_that_is_named_is_in_the_table() {
        for field in TABLE.lines().flat_map(|line| line.split('\t').skip(1)) {
            if let Some((_, name)) = field.split_once('@') {
                let name = name.split(' ').next().unwrap_or_default();
                assert!(STRUCTS.contains_key(name), "{name}");
            }
        }
    }
}
