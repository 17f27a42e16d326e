//! What cannot be equal in two conversations, made equal: the rules of `conformance/truth/topic.py`.

use std::collections::HashMap;
use std::sync::LazyLock;

use pilothouse_value::stack::deeper;
use pilothouse_value::{Timestamp, Value};
use regex::{Captures, Regex};

static TIME: LazyLock<Regex> = LazyLock::new(|| regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)"));
/// When a server began to look for old tokens.
static DAY: LazyLock<Regex> = LazyLock::new(|| regex(r"^\d{4}-\d\d-\d\d$"));
static UUID: LazyLock<Regex> =
    LazyLock::new(|| regex(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
static VERSIONS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"((?:resource version|resourceVersion|current)[a-z ]*: ?|does not match the ResourceVersion in record \(|revision=|"resourceVersion":")\d+(?: \(\d+\))?"#,
    )
});
static DUMP: LazyLock<Regex> = LazyLock::new(|| regex(r#"(?s)Invalid value: "\{\\".*\}": "#));
static PORT: LazyLock<Regex> = LazyLock::new(|| regex(r"(127\.0\.0\.1|OUTSIDE):\d{5}"));
static NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(uid|rv)-\d+\b"));
static WRITTEN: LazyLock<Regex> = LazyLock::new(|| regex(r#"(resourceVersion"?: ?")\d+"#));
/// What a page says of its process. Upstream draws what stands between a name and its value by lot.
static PROCESS: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?m)^(Started|Up|Go version|Binary version|Emulation version|Paths)(?:: ?| |=) (.*)$")
});
static AGE: LazyLock<Regex> = LazyLock::new(|| regex(r"^\d+(ms|s|m\d*s?)$"));

fn regex(text: &str) -> Regex {
    Regex::new(text).unwrap()
}

/// The names that uids and resource versions get in the order of their appearance.
#[derive(Default)]
pub(super) struct Names {
    uids: HashMap<String, String>,
    versions: HashMap<String, String>,
    places: Vec<(String, String)>,
}

fn symbol(known: &mut HashMap<String, String>, kind: &str, value: &str) -> String {
    let next = known.len() + 1;
    known.entry(value.to_owned()).or_insert_with(|| format!("{kind}-{next}")).clone()
}

impl Names {
    pub(super) fn normal(&mut self, value: &Value) -> Value {
        self.under(value, "", false)
    }

    /// Calls a text so wherever it stands.
    pub(super) fn place(&mut self, text: String, symbol: String) {
        self.places.push((text, symbol));
    }

    /// The text with places by their names, and nothing else changed.
    pub(super) fn placed(&self, text: &str) -> String {
        self.places.iter().fold(text.to_owned(), |text, (place, symbol)| text.replace(place, symbol))
    }

    pub(super) fn text(&mut self, text: &str) -> String {
        let text = self.placed(text);
        let text = PORT.replace_all(&text, "$1:PORT");
        let text = runs(&text);
        let text = UUID.replace_all(&text, |found: &Captures<'_>| symbol(&mut self.uids, "uid", &found[0]));
        let text = TIME.replace_all(&text, |found: &Captures<'_>| {
            if near_now(&found[0]) { "TIME".to_owned() } else { found[0].to_owned() }
        });
        let text = DUMP.replace_all(&text, "Invalid value: \"{...}\": ");
        // What follows depends on how the server was started.
        let end = text.starts_with("\napiserver flagz\n").then(|| text.find("only.\n")).flatten();
        let text = end.map_or(&*text, |at| &text[..at + 6]);
        let text = PROCESS.replace_all(text, |found: &Captures<'_>| match &found[1] {
            name @ ("Started" | "Up" | "Go version") => format!("{name}: {}", name.to_uppercase()),
            name => format!("{name}: {}", &found[2]),
        });
        VERSIONS.replace_all(&text, "${1}N").into_owned()
    }

    /// An answer whose very letters are compared.
    pub(super) fn written(&mut self, text: &str) -> String {
        let text = self.text(text);
        WRITTEN.replace_all(&text, "${1}N").into_owned()
    }

    fn under(&mut self, value: &Value, key: &str, listed: bool) -> Value {
        match value {
            Value::Object(map) => deeper(|| self.object(value, map, listed)),
            Value::Array(items) => {
                deeper(|| Value::Array(items.iter().map(|item| self.under(item, key, false)).collect()))
            }
            Value::String(text) if key == "cells" && AGE.is_match(text) => "AGE".into(),
            Value::String(text) if key == "since" && DAY.is_match(text) => "DAY".into(),
            Value::String(text) => self.text(text).into(),
            other => other.clone(),
        }
    }

    fn object(&mut self, value: &Value, map: &pilothouse_value::Map, listed: bool) -> Value {
        let kind = value.str_at(&["kind"]).unwrap_or_default().to_owned();
        let generated = value.str_at(&["generateName"]).map(str::to_owned);
        let lists = map.get("items").is_some()
            && value.get("metadata").is_some_and(|meta| meta.as_object().is_some())
            && kind.ends_with("List")
            || kind == "Table";
        // Symbols are named in the order of members on the wire: resource versions and uids of one object do not mix,
        // so the order of members within it does not matter.
        let mut made = Value::object();
        for (key, member) in map.iter() {
            let normal = match (key, member.as_str()) {
                ("resourceVersion", Some(text))
                    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) =>
                {
                    if listed {
                        "RV".into()
                    } else {
                        symbol(&mut self.versions, "rv", text).into()
                    }
                }
                ("continue", Some(text)) if !text.is_empty() => "CONTINUE".into(),
                ("name", Some(text)) => match &generated {
                    Some(base) if text.starts_with(base) => format!("{base}XXXXX").into(),
                    _ => self.text(text).into(),
                },
                ("clusterIP", Some(text)) if text.starts_with(|c: char| c.is_ascii_digit()) => "IP".into(),
                ("clusterIPs", _) => addresses(member),
                ("nodePort" | "healthCheckNodePort", _)
                    if member.as_i64().is_some_and(|port| port >= 30000) =>
                {
                    30000_i64.into()
                }
                ("uptimeSeconds", _) => "UP".into(),
                ("goVersion", _) => "GO".into(),
                ("managedFields", _) => {
                    let mut managers = self.under(member, key, false);
                    if let Some(managers) = managers.as_array_mut() {
                        managers.sort_by_key(python_json);
                    }
                    managers
                }
                _ => self.under(member, key, lists && key == "metadata"),
            };
            made.set(&[key], normal);
        }
        if value.str_at(&["type"]) == Some("BOOKMARK") {
            // How far the store is depends on what else it does.
            made = unversioned(made);
        }
        if kind == "Status" {
            sort_causes(&mut made);
        }
        made
    }
}

/// The text by which the recorder sorts: as Python writes JSON, with a space after `:` and `,`.
pub(super) fn python_json(value: &Value) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Array(items) => format!("[{}]", list(items.iter().map(python_json).collect())),
        Value::Object(map) => {
            let member = |(key, value): (&str, &Value)| {
                format!("{}: {}", Value::from(key).to_json(), python_json(value))
            };
            format!("{{{}}}", list(map.iter().map(member).collect()))
        }
        other => other.to_json(),
    }
}

fn unversioned(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let member = |(key, value): (Box<str>, Value)| match &*key {
                "resourceVersion" => (key, "RV".into()),
                _ => (key, unversioned(value)),
            };
            Value::Object(map.into_iter().map(member).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(unversioned).collect()),
        other => other,
    }
}

/// Several causes come in the order of a Go map; the message of an invalid object lists them in that order too.
fn sort_causes(status: &mut Value) {
    let invalid = status.str_at(&["reason"]) == Some("Invalid");
    let Some(causes) = status.at_mut(&["details", "causes"]).and_then(Value::as_array_mut) else { return };
    if causes.len() < 2 {
        return;
    }
    causes.sort_by_key(python_json);
    if invalid {
        status.take(&["message"]);
    }
}

fn addresses(value: &Value) -> Value {
    let Some(items) = value.as_array() else { return value.clone() };
    let mark = |item: &Value| match item.as_str() {
        Some(text) if text.starts_with(|c: char| c.is_ascii_digit()) => "IP".into(),
        _ => item.clone(),
    };
    Value::Array(items.iter().map(mark).collect())
}

/// `${x*N}` for a run of N equal characters, a thousand or more.
fn runs(text: &str) -> String {
    let mut made = String::with_capacity(text.len().min(4096));
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let mut times = 1;
        while rest.peek() == Some(&c) {
            rest.next();
            times += 1;
        }
        if times >= 1000 && c != '\n' {
            made.push_str(&format!("${{{c}*{times}}}"));
        } else {
            made.extend(std::iter::repeat_n(c, times));
        }
    }
    made
}

/// Which name of ours stands for which recorded name. One that appears once too often is a difference once, and does not
/// make everything after it differ.
#[derive(Default)]
pub(super) struct Pairs {
    ours: HashMap<String, String>,
    theirs: HashMap<String, String>,
}

impl Pairs {
    /// Whether two texts say the same, names for names.
    pub(super) fn same(&mut self, theirs: &str, ours: &str) -> bool {
        let (a, b): (Vec<_>, Vec<_>) = (NAME.find_iter(theirs).collect(), NAME.find_iter(ours).collect());
        if a.len() != b.len() || NAME.replace_all(theirs, "$1") != NAME.replace_all(ours, "$1") {
            return false;
        }
        let mut same = true;
        for (a, b) in a.iter().zip(&b) {
            let (a, b) = (a.as_str().to_owned(), b.as_str().to_owned());
            same &= self.ours.get(&a).is_none_or(|known| *known == b);
            same &= self.theirs.get(&b).is_none_or(|known| *known == a);
            self.ours.insert(a.clone(), b.clone());
            self.theirs.insert(b, a);
        }
        same
    }
}

fn near_now(text: &str) -> bool {
    let day = 24 * 60 * 60;
    let now = Timestamp::of_machine().unix_seconds();
    Timestamp::parse(text).is_ok_and(|when| (when.unix_seconds() - now).abs() < 2 * day)
}
