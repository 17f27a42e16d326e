//! The flags as `/flagz` shows them: those that were given as Go prints their values, the others with kube-apiserver's defaults.
//! None of them is a secret: keys, tokens and certificates are in files, of which the names are shown.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Flag, Parsed, apiserver};

/// What a real kube-apiserver says of flags that are not given, a line each (`conformance/flags/values.py`).
const VALUES: &str = include_str!("values.txt");

/// Every flag of kube-apiserver with its value.
pub(crate) fn flagz(parsed: &Parsed) -> BTreeMap<String, String> {
    let defaults =
        VALUES.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='));
    let mut shown: BTreeMap<String, String> =
        defaults.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    for flag in apiserver::FLAGS {
        if let Some(value) = value(flag, parsed) {
            shown.insert(flag.name.to_owned(), value);
        }
    }
    // Upstream fills these in from the folder that the pair is kept in.
    let folder = parsed.last("cert-dir").unwrap_or("/var/run/kubernetes");
    if !folder.is_empty() && !parsed.is_set("tls-cert-file") {
        shown.insert("tls-cert-file".to_owned(), format!("{folder}/apiserver.crt"));
        shown.insert("tls-private-key-file".to_owned(), format!("{folder}/apiserver.key"));
    }
    shown
}

/// The value of a flag that was given.
fn value(flag: &Flag, parsed: &Parsed) -> Option<String> {
    let last = parsed.last(flag.name)?;
    let all = || parsed.all(flag.name).iter().flat_map(|value| value.split(','));
    let joined = |parts: Vec<&str>| parts.join(",");
    Some(match flag.kind {
        "" => parsed.boolean(flag.name, false).map_or_else(|_| last.to_owned(), |value| value.to_string()),
        "stringArray" => format!("[{}]", parsed.all(flag.name).join(",")),
        "strings" | "int32Slice" if flag.name == "watch-cache-sizes" => {
            // Upstream keeps no events in its cache. What it adds for that stands in the order of a Go map, and there here.
            let own = ["events#0", "events.events.k8s.io#0"];
            let given = |own: &str| all().any(|size| size.split('#').next() == own.split('#').next());
            let missing: Vec<&str> = own.into_iter().filter(|own| !given(own)).collect();
            format!("[{}]", joined(all().chain(missing).collect()))
        }
        "strings" | "int32Slice" => format!("[{}]", joined(all().collect())),
        "mapStringString" => {
            let mut pairs: Vec<&str> = all().collect();
            pairs.sort_unstable();
            joined(pairs)
        }
        "colonSeparatedMultimapStringString" => {
            let with_component = |pair: &str| {
                let has_one = pair.split('=').next().is_some_and(|name| name.contains(':'));
                if has_one { pair.to_owned() } else { format!(":{pair}") }
            };
            let mut pairs: Vec<String> = all().map(with_component).collect();
            pairs.sort_by(|a, b| a.split(':').next().cmp(&b.split(':').next()));
            pairs.join(",")
        }
        "duration" => duration(parsed.duration(flag.name).ok().flatten()?),
        "int" => last.parse::<i64>().map_or_else(|_| last.to_owned(), |value| value.to_string()),
        "float" | "float32" => {
            last.parse::<f64>().map_or_else(|_| last.to_owned(), |value| value.to_string())
        }
        _ => last.to_owned(),
    })
}

/// A duration as Go prints it: `1h30m0s`, `1.5s`, `500ms`, `0s`.
fn duration(time: Duration) -> String {
    let (seconds, nanos) = (time.as_secs(), time.subsec_nanos());
    let fraction = |whole: u64, rest: u64, digits: usize| {
        let rest = format!("{rest:0digits$}");
        match rest.trim_end_matches('0') {
            "" => whole.to_string(),
            rest => format!("{whole}.{rest}"),
        }
    };
    let nanos = u64::from(nanos);
    match seconds {
        0 if nanos == 0 => "0s".to_owned(),
        0 if nanos < 1_000 => format!("{nanos}ns"),
        0 if nanos < 1_000_000 => format!("{}µs", fraction(nanos / 1_000, nanos % 1_000, 3)),
        0 => format!("{}ms", fraction(nanos / 1_000_000, nanos % 1_000_000, 6)),
        _ => {
            let text = format!("{}s", fraction(seconds % 60, nanos, 9));
            match (seconds / 3600, seconds / 60 % 60) {
                (0, 0) => text,
                (0, minutes) => format!("{minutes}m{text}"),
                (hours, minutes) => format!("{hours}h{minutes}m{text}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use pilothouse_apiserver::Value;

    use super::*;
    use crate::Tool;
    use crate::flags::parse;

    #[test]
    fn flags_are_shown_as_a_real_server_shows_them() {
        let recorded = include_str!("../../../../conformance/recorded/flagz.json");
        let recorded = pilothouse_value::parse::json(recorded.as_bytes()).unwrap().value;
        for run in recorded.as_array().unwrap() {
            let given: Vec<OsString> =
                run.items_at(&["given"]).iter().map(|flag| flag.as_str().unwrap().into()).collect();
            let shown = flagz(&parse(Tool::KubeApiserver, &given).unwrap());
            for (name, value) in run.at(&["shown"]).and_then(Value::as_object).unwrap().iter() {
                assert_eq!(shown.get(name).map(String::as_str), value.as_str(), "--{name}");
            }
        }
    }

    #[test]
    fn every_flag_has_a_value() {
        let shown = flagz(&Parsed::default());
        for flag in apiserver::FLAGS {
            assert!(shown.contains_key(flag.name), "--{}", flag.name);
        }
        assert_eq!(shown["cert-dir"], "/var/run/kubernetes");
        assert_eq!(shown["tls-cert-file"], "/var/run/kubernetes/apiserver.crt");
    }
}
