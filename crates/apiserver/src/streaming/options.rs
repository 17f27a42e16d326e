//! What a request asks for: container, streams, command, log options, from the query string and the pod.
//!
//! Texts are those of `pkg/registry/core/pod/strategy.go` and `ValidatePodLogOptions`.

use pilothouse_value::field::{self, Path};
use pilothouse_value::octets;
use pilothouse_value::{Status, Timestamp, Value};

use crate::kubelet::{ExecOptions, LogOptions, Streams, Target};
use crate::outward::LogQuery;
use crate::request::options::no_number;

/// A query string, decoded. Keys may repeat; order is kept.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn parse(raw: &str) -> Self {
        let pairs = raw.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (percent_decode(key), percent_decode(value))
        });
        Self(pairs.collect())
    }

    /// The first value of a key that is not empty.
    pub(super) fn first(&self, key: &str) -> Option<&str> {
        self.all(key).find(|value| !value.is_empty())
    }

    fn all<'a>(&'a self, key: &str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Query parameters are booleans as apimachinery reads them: absent, `0` and `false` are false.
    fn flag(&self, key: &str) -> bool {
        self.all(key)
            .next()
            .is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "0" | "false"))
    }

    /// A time as it was written; `None` if there is none.
    fn time(&self, key: &str) -> Result<Option<String>, Status> {
        let Some(text) = self.all(key).next() else { return Ok(None) };
        if !text.is_empty() {
            Timestamp::parse(text).map_err(|error| Status::bad_request(error.to_string()))?;
        }
        Ok(Some(text.to_owned()))
    }

    fn number(&self, key: &str) -> Result<Option<i64>, Status> {
        let Some(text) = self.all(key).next() else { return Ok(None) };
        text.parse().map(Some).map_err(|_| Status::bad_request(no_number("ParseInt", text)))
    }
}

fn percent_decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        out.push(match byte {
            b'+' => b' ',
            b'%' => match tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok()) {
                Some(hex) if hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
                    rest = &tail[2..];
                    u8::from_str_radix(hex, 16).unwrap_or(b'%')
                }
                _ => b'%',
            },
            other => other,
        });
    }
    octets::text(&out).into_owned()
}

/// The pod as a target without a container.
pub(super) fn pod_target(pod: &Value) -> Result<Target, Status> {
    let text = |path: &[&str]| pod.str_at(path).unwrap_or_default().to_owned();
    let name = text(&["metadata", "name"]);
    if pod.str_at(&["spec", "nodeName"]).unwrap_or_default().is_empty() {
        return Err(Status::bad_request(format!("pod {name} does not have a host assigned")));
    }
    Ok(Target {
        namespace: text(&["metadata", "namespace"]),
        pod: name,
        uid: text(&["metadata", "uid"]),
        container: String::new(),
    })
}

/// The container that is meant: the one named, or the only one; and that the pod is on a node.
pub(super) fn container_target(pod: &Value, asked: Option<&str>) -> Result<Target, Status> {
    let container = chosen_container(pod, asked)?;
    Ok(Target { container, ..pod_target(pod)? })
}

/// The container that is meant: the one named, or the only one.
///
/// # Errors
/// 400 if there is none, or several.
pub(crate) fn chosen_container(pod: &Value, asked: Option<&str>) -> Result<String, Status> {
    let pod_name = pod.str_at(&["metadata", "name"]).unwrap_or_default();
    let main = names(pod, "containers");
    let container = match (asked, main.as_slice()) {
        (Some(asked), _) => {
            let known = ["initContainers", "containers", "ephemeralContainers"];
            if !known.iter().any(|list| names(pod, list).contains(&asked)) {
                let text = format!("container {asked} is not valid for pod {pod_name}");
                return Err(Status::bad_request(text));
            }
            asked
        }
        (None, [only]) => only,
        (None, []) => {
            let text = format!("a container name must be specified for pod {pod_name}");
            return Err(Status::bad_request(text));
        }
        (None, _) => {
            let mut all = names(pod, "initContainers");
            all.extend(&main);
            all.extend(names(pod, "ephemeralContainers"));
            let text = format!(
                "a container name must be specified for pod {pod_name}, choose one of: [{}]",
                all.join(" ")
            );
            return Err(Status::bad_request(text));
        }
    };
    Ok(container.to_owned())
}

fn names<'a>(pod: &'a Value, list: &str) -> Vec<&'a str> {
    let containers = pod.at(&["spec", list]).and_then(Value::as_array);
    containers.into_iter().flatten().filter_map(|container| container.str_at(&["name"])).collect()
}

/// Which streams are asked for. A terminal has no separate standard error.
pub(super) fn streams(query: &Query) -> Result<Streams, Status> {
    let tty = query.flag("tty");
    let streams = Streams {
        stdin: query.flag("stdin"),
        stdout: query.flag("stdout"),
        stderr: query.flag("stderr") && !tty,
        tty,
    };
    if !(streams.stdin || streams.stdout || streams.stderr) {
        return Err(Status::bad_request("you must specify at least 1 of stdin, stdout, stderr"));
    }
    Ok(streams)
}

pub(super) fn exec_options(query: &Query) -> Result<ExecOptions, Status> {
    let command: Vec<String> = query.all("command").map(str::to_owned).collect();
    if command.is_empty() {
        return Err(Status::bad_request(
            "you must specify a command to run: the parameter `command` is missing",
        ));
    }
    Ok(ExecOptions { command, streams: streams(query)? })
}

/// Reads what is asked of a log; `pod` is whose.
///
/// # Errors
/// 400 for what is no number or no time, 422 for what makes no sense.
pub(super) fn log_options(query: &Query, pod: &str) -> Result<LogOptions, Status> {
    let tail = query.number("tailLines")?;
    let limit = query.number("limitBytes")?;
    let since = query.number("sinceSeconds")?;
    let since_time = query.time("sinceTime")?;
    let mut errors = Vec::new();
    if let Some(lines) = tail.filter(|lines| *lines < 0) {
        let text = "must be greater than or equal to 0";
        errors.push(field::Error::invalid(&Path::new("tailLines"), lines, text));
    }
    if let Some(bytes) = limit.filter(|bytes| *bytes < 1) {
        errors.push(field::Error::invalid(&Path::new("limitBytes"), bytes, "must be greater than 0"));
    }
    if since.is_some() && since_time.is_some() {
        let text = "at most one of `sinceTime` or `sinceSeconds` may be specified";
        errors.push(field::Error::forbidden(&Path::new("[]"), text));
    } else if let Some(seconds) = since.filter(|seconds| *seconds < 1) {
        errors.push(field::Error::invalid(&Path::new("sinceSeconds"), seconds, "must be greater than 0"));
    }
    // The feature that splits the streams (`PodLogsQuerySplitStreams`) is off in 1.37.
    if query.all("stream").next().is_some() {
        errors.push(field::Error::forbidden(&Path::new("stream"), "may not be specified"));
    }
    if !errors.is_empty() {
        return Err(Status::invalid("", "PodLogOptions", pod, &errors));
    }
    Ok(LogOptions {
        follow: query.flag("follow"),
        previous: query.flag("previous"),
        timestamps: query.flag("timestamps"),
        since_seconds: since,
        since_time,
        tail_lines: tail.and_then(|lines| usize::try_from(lines).ok()),
        limit_bytes: limit.and_then(|bytes| u64::try_from(bytes).ok()),
        stream: None,
    })
}

/// What is asked of a log, read, and in the words that a kubelet is asked in.
///
/// # Errors
/// 400 for what is no number or no time, 422 for what makes no sense.
pub(crate) fn log_parameters(query: &str, pod: &str) -> Result<LogQuery, Status> {
    let query = Query::parse(query);
    let options = log_options(&query, pod)?;
    let mut parameters = Vec::new();
    for (name, flag) in
        [("follow", options.follow), ("previous", options.previous), ("timestamps", options.timestamps)]
    {
        if flag {
            parameters.push((name, "true".to_owned()));
        }
    }
    let numbers = [
        ("sinceSeconds", options.since_seconds),
        ("tailLines", options.tail_lines.and_then(|lines| i64::try_from(lines).ok())),
        ("limitBytes", options.limit_bytes.and_then(|bytes| i64::try_from(bytes).ok())),
    ];
    parameters.extend(numbers.into_iter().filter_map(|(name, number)| Some((name, number?.to_string()))));
    if let Some(time) = options.since_time {
        // In universal time, to the second; an empty one is Go's first moment.
        let time =
            Timestamp::parse(&time).map(|time| Timestamp::from_unix_seconds(time.unix_seconds()).to_string());
        parameters.push(("sinceTime", time.unwrap_or_else(|_| "0001-01-01T00:00:00Z".to_owned())));
    }
    Ok(LogQuery {
        container: query.first("container").map(str::to_owned),
        parameters,
        trusting: query.flag("insecureSkipTLSVerifyBackend"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    fn pod(containers: &[&str]) -> Value {
        let list: Vec<Value> = containers.iter().map(|name| json!({"name": *name})).collect();
        json!({"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {"nodeName": "n", "containers": list}})
    }

    #[test]
    fn the_only_container_is_meant_when_none_is_named() {
        assert_eq!(container_target(&pod(&["a"]), None).unwrap().container, "a");
    }

    #[test]
    fn several_containers_need_a_name() {
        let error = container_target(&pod(&["a", "b"]), None).unwrap_err();
        assert_eq!(error.code, 400);
        assert_eq!(error.message, "a container name must be specified for pod p, choose one of: [a b]");
    }

    #[test]
    fn an_unknown_container_is_refused() {
        let error = container_target(&pod(&["a"]), Some("x")).unwrap_err();
        assert_eq!(error.message, "container x is not valid for pod p");
    }

    #[test]
    fn a_pod_without_a_node_is_refused() {
        let mut pending = pod(&["a"]);
        pending.set(&["spec", "nodeName"], "");
        let error = container_target(&pending, None).unwrap_err();
        assert_eq!(error.message, "pod p does not have a host assigned");
    }

    #[test]
    fn the_command_keeps_order_spaces_and_escapes() {
        let query = Query::parse("command=sh&command=-c&command=echo+%22a%26b%22%0a&stdout=true&stderr=0");
        let options = exec_options(&query).unwrap();
        assert_eq!(options.command, ["sh", "-c", "echo \"a&b\"\n"]);
        assert_eq!(options.streams, Streams { stdout: true, ..Streams::default() });
    }

    #[test]
    fn a_broken_escape_is_kept_as_it_is() {
        assert_eq!(percent_decode("100%"), "100%");
        assert_eq!(percent_decode("%zz%4"), "%zz%4");
    }

    #[test]
    fn a_terminal_has_no_standard_error() {
        let query = Query::parse("stdout=1&stderr=1&tty=1");
        assert!(!streams(&query).unwrap().stderr);
    }

    #[test]
    fn log_options_that_contradict_each_other_are_invalid() {
        let query = Query::parse("sinceSeconds=3&sinceTime=2026-01-01T00:00:00Z&tailLines=-1");
        let error = log_options(&query, "p").unwrap_err();
        assert_eq!(error.code, 422);
    }
}
