//! `pilothouse measure`: what the embedded API costs.

use std::time::{Duration, Instant};

use pilothouse_apiserver::user::User;
use pilothouse_apiserver::{Gvr, Server};
use serde_json::json;

use crate::args::MeasureArgs;
use crate::error::{Error, Result};
use crate::ui::Ui;

pub(crate) async fn run(args: MeasureArgs) -> Result {
    let mut ui = Ui::new(args.output);
    ui.begin("start", "starting the API and asking for the namespace `default`");
    let before = Memory::now()?;
    let first = start().await?;
    let idle = Memory::now()?.since(&before);
    let mut times = vec![first.1];
    let kept = first.0;
    for _ in 1..args.starts {
        times.push(start().await?.1);
    }
    times.sort();
    let milliseconds =
        |time: Option<&Duration>| time.map_or(0.0, |time| (time.as_secs_f64() * 1e5).round() / 1e2);
    let (least, median, most) =
        (milliseconds(times.first()), milliseconds(times.get(times.len() / 2)), milliseconds(times.last()));
    ui.done(&format!("first answer after {median} ms (median of {}; {least} to {most}), the first one in this process {} ms", times.len(), milliseconds(Some(&first.1))));
    ui.begin("memory", "reading what the process holds");
    let total = Memory::now()?;
    ui.done(&format!(
        "one idle server: {:.1} MiB of its own, {:.1} MiB resident with the parts of the program that it has used; the whole \
         process {:.1} MiB",
        mib(idle.own),
        mib(idle.resident),
        mib(total.resident)
    ));
    drop(kept);
    let result = json!({"starts": times.len(), "first_answer_ms": {"min": least, "median": median, "max": most}, "idle_own_mib": mib(idle.own), "idle_mib": mib(idle.resident), "process_mib": mib(total.resident)});
    ui.end(result, "");
    Ok(())
}

async fn start() -> Result<(Server, Duration)> {
    let since = Instant::now();
    let server =
        Server::builder().start().map_err(|e| Error::machine("starting the API", e, "please report it"))?;
    let namespaces = Gvr::new("", "v1", "namespaces");
    let answer = server.client(User::admin()).get(&namespaces, None, "default").await;
    answer.map_err(|e| Error::machine("asking for the namespace default", e, "please report it"))?;
    Ok((server, since.elapsed()))
}

fn mib(bytes: u64) -> f64 {
    (bytes as f64 / f64::from(1 << 20) * 10.0).round() / 10.0
}

/// What this process holds in memory, in bytes.
struct Memory {
    /// All of it, the pages of the program that were read among them.
    resident: u64,
    /// What it has written itself.
    own: u64,
}

impl Memory {
    fn now() -> Result<Memory> {
        let fail = |why: String| {
            Error::machine("reading the memory of this process", why, "it needs Linux with /proc")
        };
        let status = std::fs::read_to_string("/proc/self/status").map_err(|e| fail(e.to_string()))?;
        let field = |name: &str| {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .ok_or_else(|| fail(format!("no {name}")))?;
            let number = line.trim().trim_end_matches("kB").trim().parse::<u64>();
            number.map(|number| number * 1024).map_err(|e| fail(e.to_string()))
        };
        Ok(Memory { resident: field("VmRSS:")?, own: field("RssAnon:")? })
    }

    fn since(&self, before: &Memory) -> Memory {
        Memory {
            resident: self.resident.saturating_sub(before.resident),
            own: self.own.saturating_sub(before.own),
        }
    }
}
