//! Probes and hooks of containers.

use super::{At, Errors, port, port_number};

const HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];

pub(super) fn all(spec: &At<'_>, at: &At<'_>, errors: &mut Errors) {
    let lifecycle = at.child("lifecycle");
    let grace = spec.int("terminationGracePeriodSeconds").unwrap_or_default();
    for hook in ["postStart", "preStop"].iter().filter_map(|field| lifecycle.find(field)) {
        handler(&hook, &["exec", "httpGet", "tcpSocket", "sleep"], Some(grace), errors);
    }
    if let Some(signal) = lifecycle.find("stopSignal")
        && spec.child("os").text("name").is_empty()
    {
        errors.forbidden(&signal.path, "may not be set when os.name is empty");
    }
    for field in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = at.find(field) else { continue };
        handler(&probe, &HANDLERS, None, errors);
        errors.not_negative(
            &probe,
            &[
                "initialDelaySeconds",
                "timeoutSeconds",
                "periodSeconds",
                "successThreshold",
                "failureThreshold",
            ],
        );
        let path = probe.path.child("terminationGracePeriodSeconds");
        if let Some(seconds) = probe.int("terminationGracePeriodSeconds") {
            if seconds <= 0 {
                errors.invalid(&path, seconds, "must be greater than 0");
            }
            if field == "readinessProbe" {
                errors.invalid(&path, seconds, "must not be set for readinessProbes");
            }
        }
        if let (true, Some(threshold)) =
            (field != "readinessProbe", probe.int("successThreshold").filter(|n| *n != 1))
        {
            errors.invalid(&probe.path.child("successThreshold"), threshold, "must be 1");
        }
    }
}

/// What is done to a container; `grace` is the time that is left for a hook, `None` for probes.
fn handler(at: &At<'_>, kinds: &[&str], grace: Option<i64>, errors: &mut Errors) {
    let mut given = 0;
    for (kind, handler) in kinds.iter().filter_map(|kind| at.find(kind).map(|at| (*kind, at))) {
        given += 1;
        if given > 1 {
            errors.forbidden(&handler.path, "may not specify more than 1 handler type");
            continue;
        }
        match kind {
            "exec" => {
                if handler.items("command").is_empty() {
                    errors.required(&handler.path.child("command"), "");
                }
            }
            "httpGet" => {
                if handler.text("path").is_empty() {
                    errors.required(&handler.path.child("path"), "");
                }
                port(&handler.path.child("port"), handler.child("port").value, errors);
                errors.one_of_all(&handler, "scheme", &["HTTP", "HTTPS"]);
                for header in handler.items("httpHeaders") {
                    http_header(&handler, header.text("name"), errors);
                }
            }
            "tcpSocket" => port(&handler.path.child("port"), handler.child("port").value, errors),
            "grpc" => {
                port_number(&handler.path.child("port"), handler.int("port").unwrap_or_default(), errors);
            }
            _ => sleep(&handler, grace.unwrap_or_default(), errors),
        }
    }
    if given == 0 {
        errors.required(&at.path, "must specify a handler type");
    }
}

fn http_header(at: &At<'_>, name: &str, errors: &mut Errors) {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if name.is_empty() || !name.chars().all(good) {
        let detail = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for \
                      validation is '[-A-Za-z0-9]+')";
        errors.invalid(&at.path.child("httpHeaders"), name, detail);
    }
}

fn sleep(at: &At<'_>, grace: i64, errors: &mut Errors) {
    let seconds = at.int("seconds").unwrap_or_default();
    if !(0..=grace).contains(&seconds) {
        let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        errors.invalid(&at.path, seconds, detail);
    }
}
