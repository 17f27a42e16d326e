//! The node's own object: what it is, how much it has, and that it lives.

use std::time::Duration;

use pilothouse_value::{Timestamp, Value, json};

use super::HOST_IP;
use super::api::Api;
use super::sandbox::Isolation;

/// How often the node says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How long others believe it, in seconds.
const LEASE_SECONDS: i64 = 40;
/// How many pods a node takes: as many as it has addresses, less a few.
const PODS: i64 = 240;

/// The node's object.
pub(super) fn node(name: &str, isolation: Isolation, now: Timestamp) -> Value {
    let memory = format!("{}Ki", memory_bytes() / 1024);
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as i64);
    let capacity = json!({"cpu": cpus.to_string(), "memory": memory, "pods": PODS.to_string()});
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let runtime = match isolation {
        Isolation::Root | Isolation::User => concat!("process://", env!("CARGO_PKG_VERSION")),
        Isolation::None => concat!("process-unisolated://", env!("CARGO_PKG_VERSION")),
    };
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": std::env::consts::OS,
                "kubernetes.io/arch": architecture,
                "beta.kubernetes.io/os": std::env::consts::OS,
                "beta.kubernetes.io/arch": architecture,
            },
        },
        "status": {
            "capacity": capacity.clone(),
            "allocatable": capacity,
            "addresses": [{"type": "InternalIP", "address": HOST_IP}, {"type": "Hostname", "address": name}],
            "conditions": conditions(true, now, now),
            "nodeInfo": {
                "architecture": architecture,
                "operatingSystem": std::env::consts::OS,
                "osImage": "the host's own files",
                "kernelVersion": kernel.trim(),
                "machineID": machine.trim(),
                "systemUUID": machine.trim(),
                "bootID": std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim(),
                "containerRuntimeVersion": runtime,
                "kubeletVersion": "v1.37.2",
                "kubeProxyVersion": "",
            },
        },
    })
}

fn conditions(ready: bool, since: Timestamp, now: Timestamp) -> Value {
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": now.to_string(),
            "lastTransitionTime": since.to_string(),
        })
    };
    let (status, reason, message) = if ready {
        ("True", "KubeletReady", "the node runs containers as local processes")
    } else {
        ("False", "KubeletNotReady", "the node is shutting down")
    };
    json!([
        condition(
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available"
        ),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        condition("Ready", status, reason, message),
    ])
}

/// The machine's memory.
pub(super) fn memory_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(1 << 20) * 1024
}

/// Renews the lease until it is dropped. The node's object is left alone at steady state: a lease is cheaper.
pub(super) async fn heartbeat(api: Api) {
    loop {
        if let Err(error) = api.renew_lease(LEASE_SECONDS).await {
            tracing::debug!(error = %error.message, "the node's lease was not renewed");
        }
        tokio::time::sleep(HEARTBEAT).await;
    }
}

/// Tells that the node goes.
pub(super) async fn not_ready(api: &Api) {
    let now = api.now();
    let patch = json!({"status": {"conditions": conditions(false, now, now)}});
    if let Err(error) = api.patch_node(patch).await {
        tracing::debug!(error = %error.message, "the node could not say that it goes");
    }
}
