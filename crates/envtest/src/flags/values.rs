//! What a value of a flag must look like, by the kind that `--help` names; the complaints are those of Go's packages
//! strconv, time and net, as pflag shows them.

/// What is wrong with a value of this kind.
///
/// # Errors
/// With the complaint.
pub(super) fn check(kind: &str, value: &str) -> Result<(), String> {
    match kind {
        "" => boolean(value),
        "int" => integer(value),
        "int32Slice" => value.split(',').try_for_each(integer),
        "Level" => match value.parse::<u32>() {
            Ok(_) => Ok(()),
            Err(_) => Err(syntax("ParseUint", value)),
        },
        "float" | "float32" => match value.parse::<f64>() {
            Ok(_) => Ok(()),
            Err(_) => Err(syntax("ParseFloat", value)),
        },
        "duration" => pilothouse_apiserver::parse_duration(value).map(drop),
        "ip" => match value.trim() {
            "" => Ok(()),
            text if text.parse::<std::net::IpAddr>().is_ok() => Ok(()),
            text => Err(format!("failed to parse IP: {text:?}")),
        },
        "namedCertKey" => {
            // Behind a colon are the names that the pair is for.
            let files = value.split(':').next().unwrap_or_default();
            let is_pair = files.split(',').filter(|file| !file.trim().is_empty()).count() == 2;
            let whole = files.split(',').count() == 2 && is_pair;
            if whole { Ok(()) } else { Err("expected comma separated certificate and key file paths".into()) }
        }
        "pattern=N,..." => {
            let mut parts = value.split(',').filter(|part| !part.is_empty());
            match parts.find(|part| part.split_once('=').is_none_or(|(_, level)| level.is_empty())) {
                Some(odd) => Err(format!("{odd:?} does not have the pattern=N format")),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn syntax(function: &str, value: &str) -> String {
    format!("strconv.{function}: parsing {value:?}: invalid syntax")
}

fn boolean(value: &str) -> Result<(), String> {
    match value {
        "1" | "t" | "T" | "true" | "TRUE" | "True" | "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(()),
        _ => Err(syntax("ParseBool", value)),
    }
}

fn integer(value: &str) -> Result<(), String> {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    match value.parse::<i64>() {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.kind(), PosOverflow | NegOverflow) => {
            Err(format!("strconv.ParseInt: parsing {value:?}: value out of range"))
        }
        Err(_) => Err(syntax("ParseInt", value)),
    }
}
