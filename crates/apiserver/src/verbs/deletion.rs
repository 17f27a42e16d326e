//! What a deletion makes of an object: a pure function of the object, of the options and of the time. Only pods have a grace;
//! namespaces and definitions are marked in ways of their own, and everything else is marked if finalizers hold it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use pilothouse_value::{Timestamp, Value, object};

use crate::crd;
use crate::registry::resource::Resource;
use crate::request::options::{DeleteOptions, Propagation};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
const GRACE: &[&str] = &["metadata", "deletionGracePeriodSeconds"];

/// What becomes of an object.
#[derive(Debug)]
pub(crate) enum Step {
    /// It is being deleted already, and this deletion asks for nothing more. Admission is not asked.
    Nothing,
    /// It stays, marked, until those who hold it let it go.
    Mark(Value),
    /// Nobody has to end this pod: watchers see it marked, and then gone.
    MarkAndRemove(Value),
    /// It goes as it is. `examined` says whether upstream looks whether it has to be marked first: it then asks admission twice.
    Remove {
        /// See there.
        examined: bool,
    },
}

impl Step {
    /// What a deletion with these options makes of the object now.
    pub(crate) fn of(resource: &Resource, options: &DeleteOptions, current: &Value, now: Timestamp) -> Step {
        let marked = object::deletion_timestamp(current).is_some();
        if resource.is("", "namespaces") {
            if !marked {
                return Step::Mark(marked_namespace(options, current, now));
            }
            if !current.items_at(&["spec", "finalizers"]).is_empty() {
                return Step::Nothing;
            }
        }
        if resource.is(crd::GROUP, crd::PLURAL) && !marked {
            let mut new = current.clone();
            new.set(&["metadata", "deletionTimestamp"], now.to_string());
            crd::lifecycle::prepare_delete(&mut new, &now.to_string());
            return Step::Mark(new);
        }
        let held = finalizers(resource, options, current);
        let graceful = if resource.is("", "pods") { grace(options, current, now) } else { Grace::None };
        match graceful {
            Grace::Pending => Step::Nothing,
            Grace::Until(until, seconds) => {
                let mut new = current.clone();
                set_finalizers(&mut new, &held);
                mark(&mut new, until, seconds);
                if seconds > 0 || !held.is_empty() { Step::Mark(new) } else { Step::MarkAndRemove(new) }
            }
            Grace::None if held.is_empty() => {
                Step::Remove { examined: object::finalizers(current).next().is_some() }
            }
            Grace::None => {
                let mut new = current.clone();
                set_finalizers(&mut new, &held);
                let until = time(current).filter(|until| *until <= now).unwrap_or(now);
                mark(&mut new, until, 0);
                Step::Mark(new)
            }
        }
    }
}

/// The options as admission is shown them: upstream fills in what it finds out on the way.
pub(crate) fn shown<'a>(
    resource: &Resource,
    options: &'a DeleteOptions,
    current: &Value,
) -> Cow<'a, DeleteOptions> {
    let mut options = Cow::Borrowed(options);
    if resource.is("", "pods") && object::deletion_timestamp(current).is_none() {
        options.to_mut().grace_period_seconds = Some(period(&options, current));
    }
    if resource.is("", "namespaces") && options.uid.is_none() {
        options.to_mut().uid = Some(object::uid(current).to_owned());
    }
    options
}

/// What a pod's own grace makes of its deletion.
enum Grace {
    /// None is left: what holds it are finalizers alone.
    None,
    /// It has one, which ends no later than this deletion asks for.
    Pending,
    /// It gets one that ends then, of so many seconds.
    Until(Timestamp, i64),
}

fn grace(options: &DeleteOptions, pod: &Value, now: Timestamp) -> Grace {
    let Some(until) = time(pod) else {
        let seconds = period(options, pod);
        return Grace::Until(now.plus(Duration::from_secs(seconds.unsigned_abs())), seconds);
    };
    match (pod.i64_at(GRACE).unwrap_or_default(), options.grace_period_seconds) {
        (0, _) => Grace::None,
        (present, Some(seconds)) if seconds < present => {
            let sooner = until.unix_seconds().saturating_sub(present.saturating_sub(seconds));
            let sooner = Timestamp::from_unix_seconds(sooner);
            if sooner.unix_seconds() >= now.unix_seconds() {
                Grace::Until(sooner, seconds)
            } else {
                // What is over is over; who asked for a grace still sees one.
                Grace::Until(now, seconds.min(1))
            }
        }
        _ => Grace::Pending,
    }
}

/// The seconds that a pod gets which is not being deleted yet.
fn period(options: &DeleteOptions, pod: &Value) -> i64 {
    let unscheduled = pod.str_at(&["spec", "nodeName"]).unwrap_or_default().is_empty();
    let ended = matches!(pod.str_at(&["status", "phase"]), Some("Succeeded" | "Failed"));
    // Nobody runs it, so nobody has to end it.
    if unscheduled || ended {
        return 0;
    }
    let own = || pod.i64_at(&["spec", "terminationGracePeriodSeconds"]);
    match options.grace_period_seconds.or_else(own).unwrap_or_default() {
        seconds if seconds < 0 => 1,
        seconds => seconds,
    }
}

fn time(current: &Value) -> Option<Timestamp> {
    object::deletion_timestamp(current).and_then(|text| Timestamp::parse(text).ok())
}

fn mark(new: &mut Value, until: Timestamp, seconds: i64) {
    if object::deletion_timestamp(new).is_none() && object::generation(new) > 0 {
        new.set(&["metadata", "generation"], object::generation(new) + 1);
    }
    new.set(&["metadata", "deletionTimestamp"], until.to_string());
    new.set(GRACE, seconds);
}

fn marked_namespace(options: &DeleteOptions, current: &Value, now: Timestamp) -> Value {
    let mut new = current.clone();
    if options.propagation.is_some() {
        set_finalizers(&mut new, &held(options.propagation, current));
    }
    new.set(&["metadata", "deletionTimestamp"], now.to_string());
    new.set(&["status", "phase"], "Terminating");
    new
}

/// The finalizers that hold the object from now on.
fn finalizers(resource: &Resource, options: &DeleteOptions, current: &Value) -> Vec<Arc<str>> {
    let given = || object::finalizers(current).any(|name| name == ORPHAN || name == FOREGROUND);
    let propagation = match options.propagation {
        // Nobody depends on an event, whatever the options say.
        _ if resource.is("", "events") || resource.is("events.k8s.io", "events") => {
            Some(Propagation::Background)
        }
        None if given() => None,
        None if resource.is("", "replicationcontrollers") || resource.is("batch", "jobs") => {
            Some(Propagation::Orphan)
        }
        other => other,
    };
    held(propagation, current)
}

/// The finalizers of an object and those that a propagation policy stands for, which are one at most.
fn held(propagation: Option<Propagation>, current: &Value) -> Vec<Arc<str>> {
    let stands = |name: &str| name == ORPHAN || name == FOREGROUND;
    let first = || object::finalizers(current).find(|name| stands(name)).map(Arc::from);
    let own = match propagation {
        Some(Propagation::Orphan) => Some(Arc::from(ORPHAN)),
        Some(Propagation::Foreground) => Some(Arc::from(FOREGROUND)),
        Some(Propagation::Background) => None,
        None => first(),
    };
    let others = object::finalizers(current).filter(|name| !stands(name)).map(Arc::from);
    others.chain(own).collect()
}

/// Writes finalizers down, unless they are the same in another order.
fn set_finalizers(value: &mut Value, held: &[Arc<str>]) {
    let mut before: Vec<&str> = object::finalizers(value).collect();
    let mut after: Vec<&str> = held.iter().map(|name| &**name).collect();
    before.sort_unstable();
    before.dedup();
    after.sort_unstable();
    after.dedup();
    if before == after {
        return;
    }
    if held.is_empty() {
        value.take(&["metadata", "finalizers"]);
    } else {
        let names: Vec<String> = held.iter().map(|name| name.to_string()).collect();
        value.set(&["metadata", "finalizers"], names);
    }
}
