//! `--audit-*`: what is written of requests, and where.

use std::sync::Arc;
use std::time::Duration;

use pilothouse_apiserver::{
    AuditFormat, AuditLines, AuditPolicy, AuditRotation, AuditSink, AuditWebhook, Builder, Clock,
};

use crate::flags::{FlagError, Parsed};
use crate::{Error, serving};

const POLICY: &str = "audit-policy-file";
const LOG: &str = "audit-log-path";
const FORMAT: &str = "audit-log-format";
const WEBHOOK: &str = "audit-webhook-config-file";

/// Tells a builder what the flags of the audit log say. Without a policy, or without a place, nothing is written, as
/// upstream has it. It must be called inside the runtime.
///
/// # Errors
/// If the policy makes no sense, or a place cannot be written to.
pub(crate) fn configure(builder: Builder, flags: &Parsed) -> Result<Builder, Error> {
    let given = |flag: &str| flags.last(flag).filter(|text| !text.is_empty());
    let format = match given(FORMAT).unwrap_or("json") {
        "json" => AuditFormat::Json,
        "legacy" => AuditFormat::Legacy,
        other => {
            return Err(FlagError::Conflict(format!(
                "invalid audit log format {other}, allowed formats are \"legacy,json\""
            ))
            .into());
        }
    };
    let mut sinks: Vec<Arc<dyn AuditSink>> = Vec::new();
    if let Some(path) = given(LOG) {
        let lines = AuditLines::open(path, rotation(flags)?, Clock::new()).map_err(|error| Error::File {
            flag: LOG,
            path: path.into(),
            why: error.to_string(),
        })?;
        sinks.push(Arc::new(lines.format(format)));
    }
    if let Some(path) = given(WEBHOOK) {
        let wait = flags.duration("audit-webhook-batch-max-wait")?.unwrap_or(Duration::from_secs(30));
        let started = match given("audit-webhook-mode").unwrap_or("batch") {
            "batch" => AuditWebhook::start(path, wait),
            "blocking" | "blocking-strict" => AuditWebhook::each_alone(path),
            other => {
                return Err(FlagError::Conflict(format!(
                    "invalid audit webhook mode {other}, allowed modes are \"batch,blocking,blocking-strict\""
                ))
                .into());
            }
        };
        let webhook = started.map_err(|why| Error::File { flag: WEBHOOK, path: path.into(), why })?;
        sinks.push(Arc::new(webhook));
    }
    let Some(path) = given(POLICY) else { return Ok(builder) };
    let text = serving::read(POLICY, path.as_ref())?;
    let policy = AuditPolicy::read(&text).map_err(|error| Error::File {
        flag: POLICY,
        path: path.into(),
        why: error.to_string(),
    })?;
    Ok(if sinks.is_empty() { builder } else { builder.audit(policy, sinks) })
}

/// When the file makes room for itself, and what is kept of it.
fn rotation(flags: &Parsed) -> Result<AuditRotation, Error> {
    let usual = AuditRotation::default();
    let number = |flag: &'static str, usual: u32| -> Result<u32, Error> {
        let number = flags.parsed::<i64>(flag)?.unwrap_or_else(|| usual.into());
        u32::try_from(number.min(u32::MAX.into()))
            .map_err(|_| FlagError::Conflict(format!("--{flag} {number} can't be a negative number")).into())
    };
    Ok(AuditRotation {
        age: number("audit-log-maxage", usual.age)?,
        backups: number("audit-log-maxbackup", usual.backups)?,
        size: number("audit-log-maxsize", usual.size)?,
        compress: flags.boolean("audit-log-compress", usual.compress)?,
    })
}
