//! Nodes to a document: anchors and merged mappings are resolved, keys become text, and everything must have a form in JSON.

use std::collections::HashSet;

use crate::map::Builder;
use crate::parse::DEEPEST;
use crate::stack::deeper;
use crate::{Map, Value, go_print};

use super::compose::{Document, Node, Shape};
use super::resolve::{Resolved, resolve};
use super::{Error, Read, go};

/// How many bytes of text anchors may multiply a document by. Upstream counts nodes only, and shares their text.
const MOST_COPIED: usize = 32 << 20;

/// Reads the nodes. The second part of the answer tells of keys that came twice.
pub(super) fn build(document: &Document) -> Result<Read, Error> {
    let Some(root) = document.root else { return Ok(Read::default()) };
    let mut builder = Build {
        document,
        repeated: Vec::new(),
        open: HashSet::new(),
        unsupported: None,
        infinite: false,
        spelled: false,
        steps: 0,
        copied_steps: 0,
        copied_bytes: 0,
        aliases: 0,
    };
    let value = builder.value(root, 0)?;
    if let Some((key, of)) = builder.unsupported {
        return Err(builder.unsupported_key(key, of));
    }
    if builder.infinite
        && let Some(number) = first_infinite(&value)
    {
        return Err(Error::NotJson(format!("json: unsupported value: {}", go_print::float(number))));
    }
    Ok(Read { value, repeated: builder.repeated, spelled: builder.spelled })
}

/// JSON is what a document becomes in the end, and what is nested too deeply for it is found there.
fn check_depth(around: usize, bracket: char) -> Result<(), Error> {
    match around < DEEPEST {
        true => Ok(()),
        false => Err(Error::NotJson(format!("invalid character '{bracket}' exceeded max depth"))),
    }
}

/// The first number that JSON has no form for, in the order of the keys.
fn first_infinite(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) if !number.is_finite() => Some(*number),
        Value::Array(items) => deeper(|| items.iter().find_map(first_infinite)),
        Value::Object(map) => deeper(|| map.values().find_map(first_infinite)),
        _ => None,
    }
}

/// A key as it tells itself apart from others: `1` and `"1"` are two.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Bool(bool),
    Int(i64),
    /// The bits of a number.
    Float(u64),
    Text(String),
}

struct Build<'a> {
    document: &'a Document,
    repeated: Vec<String>,
    /// Aliases that are being read.
    open: HashSet<usize>,
    /// The first key that JSON has no form for, and its value.
    unsupported: Option<(usize, usize)>,
    infinite: bool,
    /// Whether a number may be kept as it is spelled.
    spelled: bool,
    /// How many nodes have been read, and how many of them by an alias.
    steps: usize,
    copied_steps: usize,
    copied_bytes: usize,
    /// How many aliases are around.
    aliases: usize,
}

impl<'a> Build<'a> {
    fn node(&self, number: usize) -> Result<&'a Node, Error> {
        self.document.nodes.get(number).ok_or_else(|| Error::plain("unknown problem parsing YAML content"))
    }

    fn step(&mut self) -> Result<(), Error> {
        self.steps += 1;
        if self.aliases > 0 {
            self.copied_steps += 1;
        }
        let few = self.copied_steps <= 100 || self.steps <= 1000;
        let ratio = self.copied_steps as f64 / self.steps as f64;
        if (!few && ratio > allowed_ratio(self.steps)) || self.copied_bytes > MOST_COPIED {
            return Err(Error::plain("document contains excessive aliasing"));
        }
        Ok(())
    }

    fn value(&mut self, number: usize, depth: usize) -> Result<Value, Error> {
        self.step()?;
        match &self.node(number)?.shape {
            Shape::Alias(target, name) => {
                self.enter(number, name)?;
                let value = self.value(*target, depth)?;
                self.leave(number);
                Ok(value)
            }
            Shape::Scalar(scalar) => {
                let value = match resolve(scalar)? {
                    Resolved::Null => Value::Null,
                    Resolved::Bool(value) => Value::Bool(value),
                    Resolved::Int(number) => Value::Int(number),
                    Resolved::Uint(number) => {
                        self.spelled = true;
                        Value::spelled(&number.to_string())
                    }
                    Resolved::Float(number) => self.float(number),
                    Resolved::Text(text) => {
                        if self.aliases > 0 {
                            self.copied_bytes += text.len();
                        }
                        Value::String(text)
                    }
                };
                Ok(value)
            }
            Shape::Sequence(items) => deeper(|| {
                check_depth(depth, '[')?;
                let items = items.iter().map(|item| self.value(*item, depth + 1));
                items.collect::<Result<_, _>>().map(Value::Array)
            }),
            Shape::Mapping(pairs) => deeper(|| {
                check_depth(depth, '{')?;
                let mut entries = Entries::default();
                self.entries(pairs, &mut entries, depth)?;
                Ok(Value::Object(entries.finish()))
            }),
        }
    }

    fn enter(&mut self, alias: usize, name: &str) -> Result<(), Error> {
        if !self.open.insert(alias) {
            return Err(Error::plain(format!("anchor '{name}' value contains itself")));
        }
        self.aliases += 1;
        if self.aliases > DEEPEST {
            return Err(Error::plain(format!("exceeded max depth of {DEEPEST}")));
        }
        Ok(())
    }

    fn leave(&mut self, alias: usize) {
        self.open.remove(&alias);
        self.aliases -= 1;
    }

    /// A float on its way through JSON: one without a fraction is a whole number if it is printed as one and fits.
    fn float(&mut self, number: f64) -> Value {
        self.infinite |= !number.is_finite();
        if number.fract() != 0.0 || number.abs() >= 2f64.powi(64) {
            return Value::Float(number);
        }
        // Printed are the fewest digits that say the number, and then zeros.
        number.to_string().parse().map_or(Value::Float(number), Value::Int)
    }

    fn entries(&mut self, pairs: &[usize], into: &mut Entries, depth: usize) -> Result<(), Error> {
        for pair in pairs.chunks_exact(2) {
            let &[key, value] = pair else { continue };
            if self.is_merge(key)? {
                self.merge(value, into, depth)?;
                continue;
            }
            let Some(name) = self.key(key, depth)? else {
                // It is judged after everything else has been read.
                self.value(value, depth + 1)?;
                self.unsupported.get_or_insert((key, value));
                continue;
            };
            let read = self.value(value, depth + 1)?;
            if into.insert(name.clone(), read) {
                let line = self.node(value)?.line + 1;
                let printed = go::scalar(&name.resolved());
                self.repeated.push(format!("line {line}: key {printed} already set in map"));
            }
        }
        Ok(())
    }

    /// The key of a node; none if JSON has no form for it.
    fn key(&mut self, number: usize, depth: usize) -> Result<Option<Key>, Error> {
        self.step()?;
        match &self.node(number)?.shape {
            Shape::Alias(target, name) => {
                self.enter(number, name)?;
                let key = self.key(*target, depth)?;
                self.leave(number);
                Ok(key)
            }
            Shape::Scalar(scalar) => Ok(match resolve(scalar)? {
                Resolved::Null | Resolved::Uint(_) => None,
                Resolved::Bool(value) => Some(Key::Bool(value)),
                Resolved::Int(number) => Some(Key::Int(number)),
                Resolved::Float(number) => Some(Key::Float(number.to_bits())),
                Resolved::Text(text) => Some(Key::Text(text)),
            }),
            _ => {
                self.value(number, depth)?;
                Err(Error::plain(format!("invalid map key: {}", go::node(self.document, number))))
            }
        }
    }

    fn is_merge(&self, number: usize) -> Result<bool, Error> {
        Ok(match &self.node(number)?.shape {
            Shape::Scalar(key) => key.text == "<<" && (key.implicit || key.tag == "tag:yaml.org,2002:merge"),
            _ => false,
        })
    }

    /// Takes the entries of one mapping, or of several, into another.
    fn merge(&mut self, number: usize, into: &mut Entries, depth: usize) -> Result<(), Error> {
        match &self.node(number)?.shape {
            Shape::Sequence(items) => {
                // Those in front have the last word.
                for item in items.iter().rev() {
                    if matches!(self.node(*item)?.shape, Shape::Scalar(_) | Shape::Sequence(_)) {
                        return Err(Error::plain(WANTS_MAPS));
                    }
                    self.merge_one(*item, into, depth)?;
                }
                Ok(())
            }
            Shape::Scalar(_) => Err(Error::plain(WANTS_MAPS)),
            _ => self.merge_one(number, into, depth),
        }
    }

    fn merge_one(&mut self, number: usize, into: &mut Entries, depth: usize) -> Result<(), Error> {
        self.step()?;
        match &self.node(number)?.shape {
            Shape::Mapping(pairs) => deeper(|| self.entries(pairs, into, depth)),
            Shape::Alias(target, name) if matches!(self.node(*target)?.shape, Shape::Mapping(_)) => {
                self.enter(number, name)?;
                self.merge_one(*target, into, depth)?;
                self.leave(number);
                Ok(())
            }
            _ => Err(Error::plain(WANTS_MAPS)),
        }
    }

    fn unsupported_key(&self, key: usize, value: usize) -> Error {
        let mut at = key;
        while let Some(Shape::Alias(target, _)) = self.document.nodes.get(at).map(|node| &node.shape) {
            at = *target;
        }
        let resolved = match self.document.nodes.get(at).map(|node| &node.shape) {
            Some(Shape::Scalar(scalar)) => resolve(scalar).unwrap_or(Resolved::Null),
            _ => Resolved::Null,
        };
        let (kind, key) = match &resolved {
            Resolved::Uint(_) => ("uint64", go::scalar(&resolved)),
            _ => ("%!s(<nil>)", "<nil>".to_owned()),
        };
        let value = match go::node(self.document, value) {
            // Printed by itself, nothing has no type.
            nothing if nothing == go::scalar(&Resolved::Null) => "<nil>".to_owned(),
            value => value,
        };
        Error::NotJson(format!("unsupported map key of type: {kind}, key: {key}, value: {value}"))
    }
}

const WANTS_MAPS: &str = "map merge requires map or sequence of maps as the value";

/// The share of nodes that may be read by aliases: nearly all of a small document, a tenth of a large one.
fn allowed_ratio(steps: usize) -> f64 {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    let over = ((steps as f64 - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
    0.99 - 0.89 * over
}

impl Key {
    fn resolved(&self) -> Resolved {
        match self {
            Self::Bool(value) => Resolved::Bool(*value),
            Self::Int(number) => Resolved::Int(*number),
            Self::Float(bits) => Resolved::Float(f64::from_bits(*bits)),
            Self::Text(text) => Resolved::Text(text.clone()),
        }
    }

    /// The key in JSON.
    fn text(&self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Int(number) => number.to_string(),
            Self::Float(bits) => match go_print::short_float(f64::from_bits(*bits)).as_str() {
                "+Inf" => ".inf".to_owned(),
                "-Inf" => "-.inf".to_owned(),
                "NaN" => ".nan".to_owned(),
                number => number.to_owned(),
            },
            Self::Text(text) => text.clone(),
        }
    }
}

/// The entries of a mapping. Nearly always all keys are text, and then the map itself knows which came twice.
#[derive(Default)]
struct Entries {
    map: Builder,
    /// All keys, once there is one that is no text.
    seen: Option<HashSet<Key>>,
}

impl Entries {
    /// Says whether the key was there.
    fn insert(&mut self, key: Key, value: Value) -> bool {
        let text = match (&key, &self.seen) {
            (Key::Text(text), None) => return self.map.insert(text.as_str().into(), value).is_some(),
            _ => key.text(),
        };
        let map = &self.map;
        let seen = self.seen.get_or_insert_with(|| map.keys().map(|key| Key::Text(key.to_owned())).collect());
        // Not a number is not itself.
        let nan = matches!(key, Key::Float(bits) if f64::from_bits(bits).is_nan());
        let repeated = !seen.insert(key) && !nan;
        self.map.insert(text.into(), value);
        repeated
    }

    fn finish(self) -> Map {
        self.map.finish()
    }
}
