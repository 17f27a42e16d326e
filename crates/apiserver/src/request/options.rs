//! The options of each verb: what a query or a body of options may say, checked.
//!
//! This stage changes nothing. Texts are those of `metav1/validation` and `internalversion/validation` of apimachinery.

use std::time::Duration;

use pilothouse_schema::table::Include;
use pilothouse_value::field::{self, Path};
use pilothouse_value::selector::{FieldSelector, LabelSelector, ParseSelectorError};
use pilothouse_value::{Status, Value, json, octets};

use crate::answer::negotiate::Transform;
use crate::request::Query;

const META: &str = "meta.k8s.io";
/// The option to delete what cannot be read, at the risk of breaking the cluster.
const IGNORE_UNREADABLE: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// What a list returns, and from when.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Only objects whose labels match, for instance `app=web,tier!=cache`.
    pub label_selector: Option<String>,
    /// Only objects whose fields match, for instance `metadata.name=a`.
    pub field_selector: Option<String>,
    /// At most this many items; the rest is asked for with [`continue_token`](Self::continue_token). 0 means all.
    pub limit: usize,
    /// The token from the previous page.
    pub continue_token: Option<String>,
    /// The version to read at, as [`resource_version_match`](Self::resource_version_match) says.
    pub resource_version: Option<String>,
    /// `Exact` or `NotOlderThan`.
    pub resource_version_match: Option<String>,
    /// Whether `sendInitialEvents` was given; only a watch may have it.
    pub send_initial_events: Option<bool>,
}

/// What a watch follows, and from when.
#[derive(Clone, Debug, Default)]
pub struct WatchOptions {
    /// Only objects whose labels match.
    pub label_selector: Option<String>,
    /// Only objects whose fields match.
    pub field_selector: Option<String>,
    /// Events after this version. None or `0`: an `ADDED` for all that is there, then what follows.
    pub resource_version: Option<String>,
    /// `NotOlderThan` with `send_initial_events`, otherwise none.
    pub resource_version_match: Option<String>,
    /// Begin with an `ADDED` for all that is there and, if bookmarks are allowed, a bookmark that says so.
    pub send_initial_events: Option<bool>,
    /// Send `BOOKMARK` events now and then.
    pub allow_bookmarks: bool,
    /// End the watch after this time. None: half an hour to an hour.
    pub timeout: Option<Duration>,
    /// Whether `continue` was given; only a list may have it.
    pub continues: bool,
}

/// How strictly a document is read: what happens with fields that the schema does not know and with duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// They are dropped in silence.
    Ignore,
    /// They are dropped, and the answer carries a warning.
    #[default]
    Warn,
    /// The request is refused.
    Strict,
}

/// Options of create, update and patch.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Do everything but store the result.
    pub dry_run: bool,
    /// Who is recorded as the owner of the fields that change.
    pub field_manager: Option<String>,
    /// What happens with unknown and duplicate fields.
    pub field_validation: FieldValidation,
    /// Server-side apply only: take fields from other managers.
    pub force: Option<bool>,
}

/// What becomes of the objects that are owned by a deleted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// The owner stays until its dependents are gone.
    Foreground,
    /// The owner goes at once, its dependents later.
    Background,
    /// The dependents stay.
    Orphan,
}

/// Options of delete and deletecollection.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// Seconds until the object may be removed by force; only pods know it.
    pub grace_period_seconds: Option<i64>,
    /// What becomes of dependents. None: the resource's default.
    pub propagation: Option<Propagation>,
    /// Delete only the object that has this uid.
    pub uid: Option<String>,
    /// Delete only if the object has this version.
    pub resource_version: Option<String>,
    /// Delete what cannot be read: refused for everything that can.
    pub ignore_unreadable: bool,
    /// Do everything but store the result.
    pub dry_run: bool,
}

/// Selectors are read with the other parameters, before these are looked at together.
fn check_selectors(labels: Option<&str>, fields: Option<&str>) -> Result<(), Status> {
    let refused = |error: ParseSelectorError| Status::bad_request(error.to_string());
    if let Some(labels) = labels {
        LabelSelector::parse(labels).map_err(refused)?;
    }
    if let Some(fields) = fields {
        FieldSelector::parse(fields).map_err(refused)?;
    }
    Ok(())
}

impl ListOptions {
    /// Reads the parameters of a list.
    ///
    /// # Errors
    /// 400 for a limit that is no number; 422 for combinations that Kubernetes forbids.
    pub(crate) fn parse(query: &Query) -> Result<ListOptions, Status> {
        integer(query, "timeoutSeconds")?;
        let options = ListOptions {
            label_selector: query.filled("labelSelector").map(str::to_owned),
            field_selector: query.filled("fieldSelector").map(str::to_owned),
            limit: integer(query, "limit")?.unwrap_or(0).max(0) as usize,
            continue_token: query.filled("continue").map(str::to_owned),
            resource_version: query.filled("resourceVersion").map(str::to_owned),
            resource_version_match: query.filled("resourceVersionMatch").map(str::to_owned),
            send_initial_events: query.get("sendInitialEvents").map(|_| query.flag("sendInitialEvents")),
        };
        options.check()?;
        Ok(options)
    }

    /// Checks what may not be said together.
    ///
    /// # Errors
    /// 422 with every violation.
    pub(crate) fn check(&self) -> Result<(), Status> {
        check_selectors(self.label_selector.as_deref(), self.field_selector.as_deref())?;
        let mut errors = Vec::new();
        let match_path = Path::new("resourceVersionMatch");
        if let Some(rule) = self.resource_version_match.as_deref() {
            if self.resource_version.is_none() {
                errors.push(field::Error::forbidden(
                    &match_path,
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            }
            if self.continue_token.is_some() {
                errors.push(field::Error::forbidden(
                    &match_path,
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            }
            if !matches!(rule, "Exact" | "NotOlderThan") {
                errors.push(field::Error::unsupported(&match_path, rule, ["Exact", "NotOlderThan", ""]));
            }
            if rule == "Exact" && self.resource_version.as_deref() == Some("0") {
                errors.push(field::Error::forbidden(
                    &match_path,
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                ));
            }
        }
        if self.send_initial_events.is_some() {
            errors.push(field::Error::forbidden(
                &Path::new("sendInitialEvents"),
                "sendInitialEvents is forbidden for list",
            ));
        }
        invalid_unless_empty("ListOptions", errors)
    }
}

impl WatchOptions {
    /// Reads the parameters of a watch.
    ///
    /// # Errors
    /// 400 for a timeout that is no number; 422 for combinations that Kubernetes forbids.
    pub(crate) fn parse(query: &Query) -> Result<WatchOptions, Status> {
        integer(query, "limit")?;
        let options = WatchOptions {
            label_selector: query.filled("labelSelector").map(str::to_owned),
            field_selector: query.filled("fieldSelector").map(str::to_owned),
            resource_version: query.filled("resourceVersion").map(str::to_owned),
            resource_version_match: query.filled("resourceVersionMatch").map(str::to_owned),
            send_initial_events: query.get("sendInitialEvents").map(|_| query.flag("sendInitialEvents")),
            allow_bookmarks: query.flag("allowWatchBookmarks"),
            timeout: integer(query, "timeoutSeconds")?
                .filter(|seconds| *seconds > 0)
                .map(|seconds| Duration::from_secs(seconds as u64)),
            continues: query.filled("continue").is_some(),
        };
        options.check()?;
        Ok(options)
    }

    /// Checks what may not be said together.
    ///
    /// # Errors
    /// 422 with every violation.
    pub(crate) fn check(&self) -> Result<(), Status> {
        check_selectors(self.label_selector.as_deref(), self.field_selector.as_deref())?;
        let mut errors = Vec::new();
        let path = Path::new("resourceVersionMatch");
        // Who asks for all that there is gets it as if it were asked for with these options.
        let is_filled_in = self.send_initial_events.is_none()
            && self.resource_version.as_deref().is_none_or(|version| version == "0");
        match (self.send_initial_events, self.resource_version_match.as_deref()) {
            (Some(_), None) => errors.push(field::Error::forbidden(
                &path,
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )),
            (Some(_), Some(rule)) if rule != "NotOlderThan" => errors.push(field::Error::forbidden(
                &path,
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )),
            (None, Some(_)) => errors.push(field::Error::forbidden(
                &path,
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            )),
            _ => {}
        }
        if let Some(rule) = self.resource_version_match.as_deref().filter(|rule| *rule != "NotOlderThan") {
            errors.push(field::Error::unsupported(&path, rule, ["NotOlderThan"]));
        }
        if self.continues && (self.resource_version_match.is_some() || is_filled_in) {
            errors.push(field::Error::forbidden(
                &path,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
        invalid_unless_empty("ListOptions", errors)
    }
}

impl WriteOptions {
    /// Reads the parameters of a create, update or patch. `kind` is the name of the options in errors, and `apply` says whether
    /// the request is a server-side apply.
    ///
    /// # Errors
    /// 422 with every violation.
    pub(crate) fn parse(query: &Query, kind: &str, apply: bool) -> Result<WriteOptions, Status> {
        let mut errors = Vec::new();
        let dry_run = dry_run(query.all("dryRun"), &mut errors);
        let field_manager = query.filled("fieldManager").map(str::to_owned);
        if let Some(manager) = &field_manager {
            check_manager(manager, &mut errors);
        } else if apply {
            errors.push(field::Error::required(&Path::new("fieldManager"), "is required for apply patch"));
        }
        let field_validation = match query.get("fieldValidation").unwrap_or_default() {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let values = ["", "Ignore", "Strict", "Warn"];
                let error = field::Error::unsupported(&Path::new("fieldValidation"), other, values);
                errors.push(error.showing(field::quote(other)));
                FieldValidation::Warn
            }
        };
        let force = query.get("force").map(|_| query.flag("force"));
        if force.is_some() && kind == "PatchOptions" && !apply {
            errors.push(field::Error::forbidden(
                &Path::new("force"),
                "may not be specified for non-apply patch",
            ));
        }
        invalid_unless_empty(kind, errors)?;
        Ok(WriteOptions { dry_run, field_manager, field_validation, force })
    }

    /// The options as the document that admission is shown; `kind` is `CreateOptions` or `UpdateOptions`.
    pub(crate) fn document(&self, kind: &str) -> Value {
        let mut document = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
        if self.dry_run {
            document.set(&["dryRun"], vec!["All"]);
        }
        if let Some(manager) = &self.field_manager {
            document.set(&["fieldManager"], manager.as_str());
        }
        match self.field_validation {
            // The default: nobody asked for it.
            FieldValidation::Warn => {}
            FieldValidation::Ignore => document.set(&["fieldValidation"], "Ignore"),
            FieldValidation::Strict => document.set(&["fieldValidation"], "Strict"),
        }
        document
    }
}

impl DeleteOptions {
    /// Reads the options from the query and from the body, which wins.
    ///
    /// # Errors
    /// 422 with every violation.
    pub(crate) fn parse(query: &Query, body: Option<&Value>) -> Result<DeleteOptions, Status> {
        let mut errors = Vec::new();
        let (grace, policy, orphan, dry, uid, version) = match body {
            Some(body) => (
                body.get("gracePeriodSeconds").and_then(Value::as_i64),
                body.str_at(&["propagationPolicy"]).map(str::to_owned),
                body.get("orphanDependents").and_then(Value::as_bool),
                dry_run(
                    body.get("dryRun")
                        .and_then(Value::as_array)
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_str),
                    &mut errors,
                ),
                body.str_at(&["preconditions", "uid"]).map(str::to_owned),
                body.str_at(&["preconditions", "resourceVersion"]).map(str::to_owned),
            ),
            None => (
                integer(query, "gracePeriodSeconds")?,
                query.get("propagationPolicy").map(str::to_owned),
                query.get("orphanDependents").map(|_| query.flag("orphanDependents")),
                dry_run(query.all("dryRun"), &mut errors),
                // A query has no members of members: those of the preconditions stand beside the others.
                query.get("uid").map(str::to_owned),
                query.get("resourceVersion").map(str::to_owned),
            ),
        };
        let ignores = match body {
            Some(body) => body.get(IGNORE_UNREADABLE).and_then(Value::as_bool),
            None => query.get(IGNORE_UNREADABLE).map(|_| query.flag(IGNORE_UNREADABLE)),
        };
        let path = Path::new("propagationPolicy");
        if orphan.is_some() && policy.is_some() {
            errors.push(field::Error::invalid(
                &path,
                policy.clone().unwrap_or_default(),
                "orphanDependents and deletionPropagation cannot be both set",
            ));
        }
        let propagation = match policy.as_deref() {
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Background") => Some(Propagation::Background),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                errors.push(field::Error::unsupported(
                    &path,
                    other,
                    ["Foreground", "Background", "Orphan", "nil"],
                ));
                None
            }
            None => orphan.map(|orphan| if orphan { Propagation::Orphan } else { Propagation::Background }),
        };
        let ignore_unreadable = ignores == Some(true);
        if ignore_unreadable {
            let preconditions = match body {
                Some(body) => body.get("preconditions").is_some_and(|given| !given.is_null()),
                None => uid.is_some() || version.is_some(),
            };
            let others = [
                (policy.is_some(), "propagationPolicy"),
                (orphan.is_some(), "orphanDependents"),
                (grace.is_some(), "gracePeriodSeconds"),
                (preconditions, "preconditions"),
            ];
            errors.extend(others.into_iter().filter(|(given, _)| *given).map(|(_, name)| {
                let why = format!("cannot be set together with .{name}");
                field::Error::invalid(&Path::new(IGNORE_UNREADABLE), true, why)
            }));
        }
        invalid_unless_empty("DeleteOptions", errors)?;
        Ok(DeleteOptions {
            ignore_unreadable,
            // A negative grace period means "at once, as good as it goes": one second.
            grace_period_seconds: grace.map(|seconds| if seconds < 0 { 1 } else { seconds }),
            propagation,
            uid,
            resource_version: version,
            dry_run: dry,
        })
    }

    /// Checks what is not for many objects at once.
    ///
    /// # Errors
    /// 422 for what is only for one object.
    pub(crate) fn check_collection(&self) -> Result<(), Status> {
        let mut errors = Vec::new();
        if self.ignore_unreadable {
            let why = "is not allowed with DELETECOLLECTION, try again after removing the option";
            errors.push(field::Error::invalid(&Path::new(IGNORE_UNREADABLE), true, why));
        }
        invalid_unless_empty("DeleteOptions", errors)
    }

    /// The options as the document that admission is shown.
    pub(crate) fn document(&self) -> Value {
        let mut document = json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"});
        if let Some(seconds) = self.grace_period_seconds {
            document.set(&["gracePeriodSeconds"], seconds);
        }
        if let Some(uid) = &self.uid {
            document.set(&["preconditions", "uid"], uid.as_str());
        }
        if let Some(version) = &self.resource_version {
            document.set(&["preconditions", "resourceVersion"], version.as_str());
        }
        if let Some(propagation) = self.propagation {
            let text = match propagation {
                Propagation::Foreground => "Foreground",
                Propagation::Background => "Background",
                Propagation::Orphan => "Orphan",
            };
            document.set(&["propagationPolicy"], text);
        }
        if self.dry_run {
            document.set(&["dryRun"], vec!["All"]);
        }
        document
    }
}

/// The manager that a write is recorded under: the option, or what stands before the first `/` of the User-Agent.
pub(crate) fn manager(option: Option<&str>, user_agent: Option<&str>) -> String {
    if let Some(manager) = option {
        return manager.to_owned();
    }
    let agent = user_agent.unwrap_or_default();
    let name = agent.split('/').next().unwrap_or_default();
    let printable: String = name.chars().filter(|c| field::is_printable(*c)).take(128).collect();
    if printable.is_empty() { "unknown".to_owned() } else { printable }
}

/// The time that the caller gives the request, within what the server allows.
///
/// # Errors
/// 400 for what is no duration.
pub(crate) fn timeout(query: &Query, longest: Duration) -> Result<Duration, Status> {
    let Some(text) = query.filled("timeout") else { return Ok(longest) };
    let duration = crate::request::duration::parse(text).map_err(|why| {
        Status::bad_request(format!("invalid timeout specified in the request URL - {why}"))
    })?;
    Ok(if duration.is_zero() { longest } else { duration.min(longest) })
}

/// How much of the object goes into the row of a table.
///
/// # Errors
/// 400 for a table with something else.
pub(crate) fn include(query: &Query, transform: Transform) -> Result<Include, Status> {
    if !matches!(transform, Transform::Table(_)) {
        return Ok(Include::default());
    }
    let given = query.get("includeObject").unwrap_or_default();
    Include::parse(given).ok_or_else(|| {
        let path = Path::new("includeObject");
        let error = field::Error::invalid(&path, given, "must be 'Metadata', 'Object', 'None', or empty");
        Status::bad_request(format!("Unable to convert to Table as requested: {error}"))
    })
}

fn dry_run<'a>(values: impl Iterator<Item = &'a str>, errors: &mut Vec<field::Error>) -> bool {
    let values: Vec<&str> = values.collect();
    if values.iter().any(|value| *value != "All") {
        errors.push(field::Error::unsupported(&Path::new("dryRun"), values.clone(), ["All"]));
    }
    !values.is_empty()
}

fn check_manager(manager: &str, errors: &mut Vec<field::Error>) {
    let path = Path::new("fieldManager");
    let bytes = octets::bytes(manager);
    if bytes.len() > 128 {
        errors.push(field::Error::too_long(&path, 128));
    }
    // What is no character counts as the one that stands for such, which can be printed.
    let mut start = 0;
    for chunk in bytes.utf8_chunks() {
        for (at, c) in chunk.valid().char_indices().filter(|(_, c)| !field::is_printable(*c)) {
            let why = format!("invalid character U+{:04X} (at position {})", c as u32, start + at);
            errors.push(field::Error::invalid(&path, manager, why));
        }
        start += chunk.valid().len() + chunk.invalid().len();
    }
}

/// A whole number of the query, if it is there.
///
/// # Errors
/// 400 in the words of Go for what is none.
pub(crate) fn integer(query: &Query, key: &str) -> Result<Option<i64>, Status> {
    let Some(text) = query.get(key) else { return Ok(None) };
    text.parse().map(Some).map_err(|_| Status::bad_request(no_number("ParseInt", text)))
}

/// What a function of Go's `strconv` says of a text that it cannot read as a number.
pub(crate) fn no_number(function: &str, text: &str) -> String {
    let digits = if function == "ParseInt" { text.strip_prefix(['+', '-']).unwrap_or(text) } else { text };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let why = if is_number { "value out of range" } else { "invalid syntax" };
    format!("strconv.{function}: parsing {}: {why}", field::quote(text))
}

fn invalid_unless_empty(kind: &str, errors: Vec<field::Error>) -> Result<(), Status> {
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid(META, kind, "", &errors)) }
}
