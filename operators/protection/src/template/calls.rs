//! Which functions there are, and how they are called.

use super::Value;
use super::{builtins, sprig};

/// A function: its name, the fewest and the most arguments, and what it does.
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) min: usize,
    pub(super) max: usize,
    pub(super) run: fn(&[Value]) -> Result<Value, String>,
}

/// Any number of arguments.
pub(super) const ANY: usize = usize::MAX;

/// Functions of sprig that Kanister has and that are refused here, with the reason.
const REFUSED: &[(&[&str], &str)] = &[
    (&["env", "expandenv"], "it would read the environment of the operator"),
    (&["getHostByName"], "it would ask the network of the operator"),
    (&["now", "ago"], "it gives another text each time; use .Time, which is one time for the whole action"),
    (
        &["uuidv4", "randAlpha", "randAlphaNum", "randNumeric", "randAscii", "shuffle"],
        "it gives another text each time, and a phase that is resumed must read the same as before",
    ),
    (
        &[
            "genPrivateKey",
            "genCA",
            "genSelfSignedCert",
            "genSignedCert",
            "buildCustomCert",
            "encryptAES",
            "decryptAES",
        ],
        "keys and certificates are not made inside templates; use a Secret",
    ),
    (&["bcrypt", "derivePassword", "htpasswd"], "Kanister blocks it as well"),
    (&["call"], "there are no function values"),
];

fn find(name: &str) -> Option<&'static Function> {
    builtins::TABLE.iter().chain(sprig::TABLES.iter().copied().flatten()).find(|f| f.name == name)
}

/// Whether a template may name the function.
pub(super) fn known(name: &str) -> Result<(), String> {
    if matches!(name, "and" | "or") || find(name).is_some() {
        return Ok(());
    }
    match REFUSED.iter().find(|(names, _)| names.contains(&name)) {
        Some((_, why)) => Err(format!("function {name:?} is not available in a Blueprint: {why}")),
        None => Err(format!("function {name:?} not defined")),
    }
}

/// Calls a function. What is made from something unknown is unknown.
pub(super) fn call(name: &str, arguments: &[Value]) -> Result<Value, String> {
    let function = find(name).ok_or_else(|| "there is no such function".to_owned())?;
    let got = arguments.len();
    if got < function.min || got > function.max {
        let want = match (function.min, function.max) {
            (min, ANY) => format!("at least {min}"),
            (min, max) if min == max => min.to_string(),
            (min, max) => format!("{min} to {max}"),
        };
        return Err(format!("wrong number of args for {name}: want {want} got {got}"));
    }
    if let Some(unknown) = arguments.iter().find(|a| matches!(a, Value::Unknown(_)))
        && !matches!(name, "default" | "coalesce" | "list" | "dict")
    {
        return Ok(unknown.clone());
    }
    (function.run)(arguments)
}

/// The argument at the place; the count has been checked.
pub(super) fn arg(arguments: &[Value], index: usize) -> &Value {
    arguments.get(index).unwrap_or(&Value::Nil)
}

/// The text of a string argument.
pub(super) fn text(arguments: &[Value], index: usize) -> Result<&str, String> {
    match arg(arguments, index) {
        Value::String(text) => Ok(text),
        other => Err(format!("wrong type for value; expected string; got {}", other.type_name())),
    }
}

/// A whole number, made from whatever sprig makes one from.
pub(super) fn int(arguments: &[Value], index: usize) -> i64 {
    to_int(arg(arguments, index))
}

pub(super) fn to_int(value: &Value) -> i64 {
    match value {
        Value::Int(n) => *n,
        Value::Float(n) => *n as i64,
        Value::Bool(b) => i64::from(*b),
        Value::String(text) => text.parse().unwrap_or(0),
        _ => 0,
    }
}
