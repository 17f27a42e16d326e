//! From a container's document to a program: command, environment, user, mounts.

use std::path::PathBuf;

use nix::unistd::{Uid, User};
use pilothouse_value::Value;

use super::env::{self, Context};
use super::expand::expand;
use super::pod::PodContext;
use super::sandbox::{DEFAULT_PATH, Identity, Isolation, Mount, Program, Surroundings};
use super::{spec, volumes};

/// Why a container cannot be made as it is described; the reason is one of the kubelet's.
#[derive(Debug, thiserror::Error)]
#[error("{reason}: {message}")]
pub(super) struct ConfigError {
    /// Goes into the container's waiting state.
    pub(super) reason: &'static str,
    /// For people.
    pub(super) message: String,
}

/// A program and its surroundings.
pub(super) async fn prepare(
    context: &PodContext,
    container: &Value,
) -> Result<(Program, Surroundings), ConfigError> {
    let pod = context.pod();
    let config = |message: String| ConfigError { reason: "CreateContainerConfigError", message };
    let name = container.str_at(&["name"]).unwrap_or_default();
    let mut command = spec::strings(container, &["command"]);
    if command.is_empty() {
        let image = container.str_at(&["image"]).unwrap_or_default();
        return Err(ConfigError {
            reason: "ErrImagePull",
            message: format!(
                "the process node runs no images, so the container {name:?} needs `command` (its image {image:?} is \
                 ignored; hint: name a program of this machine)"
            ),
        });
    }
    command.extend(spec::strings(container, &["args"]));
    let identity = identity(context, &pod, container).map_err(config)?;
    let home = identity.as_ref().map_or_else(Uid::effective, |identity| Uid::from_raw(identity.uid));
    let home = User::from_uid(home).ok().flatten().map_or_else(|| PathBuf::from("/"), |user| user.dir);
    let mut path: Vec<String> =
        context.settings.path_prefix.iter().map(|prefix| prefix.display().to_string()).collect();
    path.push(DEFAULT_PATH.to_owned());
    let tty = container.get("tty").and_then(Value::as_bool) == Some(true);
    let mut base = vec![
        ("PATH".to_owned(), path.join(":")),
        ("HOSTNAME".to_owned(), spec::hostname(&pod).to_owned()),
        ("HOME".to_owned(), home.display().to_string()),
    ];
    if tty {
        base.push(("TERM".to_owned(), "xterm".to_owned()));
    }
    let env = env::environment(
        container,
        Context {
            api: &context.api,
            directory: &context.directory,
            pod: &pod,
            pod_ip: &context.ip_text,
            host_ip: super::HOST_IP,
            base,
        },
    )
    .await
    .map_err(|missing| config(missing.0))?;
    let lookup = |name: &str| env.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let argv = command.iter().map(|part| expand(part, lookup)).collect();

    let sources = context.sources();
    let mut mounts = volumes::mounts(container, &sources, lookup).map_err(config)?;
    if context.settings.isolation == Isolation::None {
        // The token is what admission adds to every pod: a program that does not want it does not miss it.
        mounts.retain(|mount| !mount.target.starts_with("/var/run/secrets/kubernetes.io"));
        if let Some(mount) = mounts.first() {
            return Err(ConfigError {
                reason: "CreateContainerError",
                message: format!(
                    "cannot mount a volume at {}: this kernel allows the node no namespaces (hint: allow user \
                     namespaces, or run as root)",
                    mount.target.display()
                ),
            });
        }
    } else {
        let hostname = context.dir.join("hostname");
        for (source, target) in [(context.hosts_file(), "/etc/hosts"), (hostname, "/etc/hostname")] {
            mounts.push(Mount { source, target: PathBuf::from(target), read_only: false });
        }
        let target = PathBuf::from(termination_path(container));
        mounts.push(Mount { source: context.termination_file(name), target, read_only: false });
    }
    let workdir = container.str_at(&["workingDir"]).filter(|dir| !dir.is_empty()).unwrap_or("/");
    let program = Program {
        argv,
        env,
        workdir: PathBuf::from(workdir),
        identity,
        stdin: container.get("stdin").and_then(Value::as_bool) == Some(true),
        tty,
    };
    let surroundings = Surroundings {
        staging: context.settings.staging.clone(),
        visible: context.settings.path_prefix.clone(),
        mounts,
        hostname: spec::hostname(&pod).to_owned(),
    };
    Ok((program, surroundings))
}

fn termination_path(container: &Value) -> &str {
    container
        .str_at(&["terminationMessagePath"])
        .filter(|path| path.starts_with('/'))
        .unwrap_or("/dev/termination-log")
}

/// The user that a container asks for. Only root can be someone else, and not in a user namespace, which knows one user;
/// otherwise the program runs as the node does.
fn identity(context: &PodContext, pod: &Value, container: &Value) -> Result<Option<Identity>, String> {
    if !Uid::effective().is_root() || context.settings.isolation == Isolation::User {
        return Ok(None);
    }
    let own = |key: &str| {
        let places = [container.at(&["securityContext", key]), pod.at(&["spec", "securityContext", key])];
        places.into_iter().flatten().next().cloned()
    };
    let number =
        |key: &str| own(key).and_then(|value| value.as_i64()).and_then(|number| u32::try_from(number).ok());
    let uid = number("runAsUser");
    if own("runAsNonRoot").and_then(|value| value.as_bool()) == Some(true) && uid.unwrap_or(0) == 0 {
        return Err("container has runAsNonRoot and image will run as root".to_owned());
    }
    let mut groups: Vec<u32> = pod
        .items_at(&["spec", "securityContext", "supplementalGroups"])
        .iter()
        .filter_map(|group| group.as_i64().and_then(|group| u32::try_from(group).ok()))
        .collect();
    groups.extend(
        pod.i64_at(&["spec", "securityContext", "fsGroup"]).and_then(|group| u32::try_from(group).ok()),
    );
    let gid = number("runAsGroup");
    if uid.is_none() && gid.is_none() && groups.is_empty() {
        return Ok(None);
    }
    let uid = uid.unwrap_or(0);
    // An image's user database gives a user's own group; here it is the machine's.
    let own_group = || User::from_uid(Uid::from_raw(uid)).ok().flatten().map_or(0, |user| user.gid.as_raw());
    let gid = gid.unwrap_or_else(own_group);
    groups.push(gid);
    groups.sort_unstable();
    groups.dedup();
    Ok(Some(Identity { uid, gid, groups }))
}
