//! Real processes: what a program sees in its container, and what is left when it has ended.

use std::path::Path;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use super::*;

struct Place {
    dir: tempfile::TempDir,
    isolation: Isolation,
}

impl Place {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let staging = dir.path().join("root");
        std::fs::create_dir(&staging).unwrap();
        let isolation = Isolation::probe(&staging).await;
        Self { dir, isolation }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings { staging: self.path("root"), hostname: "web-0".to_owned(), ..Surroundings::default() }
    }

    async fn sh(&self, script: &str, surroundings: Surroundings) -> Result<Process, SpawnError> {
        start(self.isolation, shell(script), surroundings).await
    }

    /// Output and exit code of a script.
    async fn run(&self, script: &str, surroundings: Surroundings) -> (String, i32) {
        finish(self.sh(script, surroundings).await.unwrap()).await
    }
}

async fn finish(mut process: Process) -> (String, i32) {
    let (mut out, mut err) = (String::new(), String::new());
    let (mut stdout, mut stderr) = (process.stdout.take().unwrap(), process.stderr.take().unwrap());
    let (_, _) = tokio::join!(stdout.read_to_string(&mut out), stderr.read_to_string(&mut err));
    (out + &err, process.wait().await)
}

fn shell(script: &str) -> Program {
    Program {
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        env: vec![("PATH".to_owned(), DEFAULT_PATH.to_owned())],
        workdir: PathBuf::from("/"),
        identity: None,
        stdin: false,
        tty: false,
    }
}

async fn first_line(process: &mut Process) -> String {
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
    line.trim().to_owned()
}

fn alive(pid: &str) -> bool {
    // A zombie is dead: init may not have reaped it yet.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn exit_codes_are_the_programs_own_or_128_and_the_signal() {
    let place = Place::new().await;
    assert_eq!(place.run("exit 7", place.surroundings()).await.1, 7);
    assert_eq!(place.run("kill -TERM $$; sleep 10", place.surroundings()).await.1, 143);
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_named() {
    let place = Place::new().await;
    let program = Program { argv: vec!["no-such-program".to_owned()], ..shell("") };
    let error = start(place.isolation, program, place.surroundings()).await.err().unwrap();
    assert_eq!(error.source.kind(), io::ErrorKind::NotFound);
    assert!(error.stage.contains("no-such-program"), "{error}");
}

#[tokio::test]
async fn a_program_sees_volumes_at_paths_that_the_host_does_not_have() {
    let place = Place::new().await;
    if place.isolation == Isolation::None {
        return;
    }
    std::fs::create_dir(place.path("data")).unwrap();
    std::fs::write(place.path("hosts"), "127.9.9.9 db\n").unwrap();
    let mount = |source: &str, target: &str, read_only| Mount {
        source: place.path(source),
        target: PathBuf::from(target),
        read_only,
    };
    let mounts = vec![
        mount("data", "/var/lib/nowhere/data", false),
        mount("data", "/srv/again", true),
        mount("hosts", "/etc/hosts", false),
        // `/var/run` is a link to `/run`: the mount must not leave the container.
        mount("data", "/var/run/secrets/x", false),
    ];
    let surroundings = Surroundings { mounts, ..place.surroundings() };
    let script = "echo hi > /var/lib/nowhere/data/a && cat /srv/again/a /run/secrets/x/a /etc/hosts; hostname; \
                  touch /srv/again/b 2>/dev/null || echo refused";
    let (out, code) = place.run(script, surroundings).await;
    assert_eq!((out.as_str(), code), ("hi\nhi\n127.9.9.9 db\nweb-0\nrefused\n", 0));
    assert_eq!(std::fs::read_to_string(place.path("data/a")).unwrap(), "hi\n");
    assert!(!Path::new("/var/lib/nowhere").exists());
    assert!(!Path::new("/run/secrets/x").exists());
}

#[tokio::test]
async fn what_a_program_writes_outside_volumes_stays_in_its_container() {
    let place = Place::new().await;
    if place.isolation == Isolation::None {
        return;
    }
    let script = "touch /etc/pilothouse-test /tmp/pilothouse-test /usr/pilothouse-test && ls -d /tmp/*";
    let (out, code) = place.run(script, place.surroundings()).await;
    assert_eq!((out.as_str(), code), ("/tmp/pilothouse-test\n", 0));
    for path in ["/etc", "/tmp", "/usr"] {
        assert!(!Path::new(path).join("pilothouse-test").exists(), "{path}");
    }
}

#[tokio::test]
async fn a_file_bound_into_a_container_follows_what_is_written_in_place() {
    let place = Place::new().await;
    if place.isolation == Isolation::None {
        return;
    }
    std::fs::write(place.path("hosts"), "old\n").unwrap();
    let mounts =
        vec![Mount { source: place.path("hosts"), target: PathBuf::from("/etc/hosts"), read_only: false }];
    let script = "read line; cat /etc/hosts";
    let program = Program { stdin: true, ..shell(script) };
    let mut process =
        start(place.isolation, program, Surroundings { mounts, ..place.surroundings() }).await.unwrap();
    std::fs::write(place.path("hosts"), "new\n").unwrap();
    tokio::io::AsyncWriteExt::write_all(process.stdin.as_mut().unwrap(), b"go\n").await.unwrap();
    assert_eq!(finish(process).await, ("new\n".to_owned(), 0));
}

#[tokio::test]
async fn sigterm_reaches_the_program_and_what_it_left_behind_dies() {
    let place = Place::new().await;
    let mut process = place.sh("sleep 1000 & echo $$; wait", place.surroundings()).await.unwrap();
    first_line(&mut process).await;
    let keeper = process.keeper;
    let family = descendants(keeper);
    assert!(family.len() >= 2, "{family:?}");
    process.signal(Signal::SIGTERM);
    assert_eq!(process.wait().await, 143);
    assert_eq!(family.iter().filter(|pid| alive(pid)).count(), 0);
}

#[tokio::test]
async fn sigkill_ends_a_program_that_ignores_sigterm() {
    let place = Place::new().await;
    let script = "trap '' TERM; sleep 1000 & echo ready; while :; do wait; done";
    let mut process = place.sh(script, place.surroundings()).await.unwrap();
    first_line(&mut process).await;
    let family = descendants(process.keeper);
    process.signal(Signal::SIGTERM);
    process.signal(Signal::SIGKILL);
    assert_eq!(process.wait().await, 137);
    assert_eq!(family.iter().filter(|pid| alive(pid)).count(), 0);
}

#[tokio::test]
async fn a_program_dies_with_the_hand_that_holds_it() {
    let place = Place::new().await;
    // A daemon, as it would be written: away from its parent and its session.
    let script = "(setsid sleep 1000 &) ; echo ready; sleep 1000";
    let mut process = place.sh(script, place.surroundings()).await.unwrap();
    first_line(&mut process).await;
    let family = descendants(process.keeper);
    // What the kernel does to the pipe when the node is killed.
    let mut exit = process.exit.clone();
    drop(process);
    exit.wait_for(Option::is_some).await.unwrap();
    assert_eq!(family.iter().filter(|pid| alive(pid)).count(), 0, "{family:?}");
}

#[tokio::test]
async fn a_command_inside_sees_the_containers_files_and_processes() {
    let place = Place::new().await;
    if place.isolation == Isolation::None {
        return;
    }
    let mut process =
        place.sh("echo mine > /tmp/x; echo ready; exec sleep 1000", place.surroundings()).await.unwrap();
    first_line(&mut process).await;
    // The shell says that it is ready a moment before it becomes `sleep`.
    let script = "until grep -q '^sleep' /proc/2/cmdline; do sleep 0.01; done; \
                  cat /tmp/x; tr '\\0' ' ' < /proc/2/cmdline; hostname; kill -TERM 2; exit 4";
    let inside = start_inside(process.inside(), shell(script)).await.unwrap();
    let (out, code) = finish(inside).await;
    assert_eq!((out.as_str(), code), ("mine\nsleep 1000 web-0\n", 4));
    assert_eq!(process.wait().await, 143);
}

#[tokio::test]
async fn a_daemon_that_a_command_starts_outlives_the_command_but_not_the_container() {
    let place = Place::new().await;
    if place.isolation == Isolation::None {
        return;
    }
    let mut process = place.sh("echo ready; exec sleep 1000", place.surroundings()).await.unwrap();
    first_line(&mut process).await;
    let script = "setsid sleep 1000 >/dev/null 2>&1 & echo started";
    let (out, _) = finish(start_inside(process.inside(), shell(script)).await.unwrap()).await;
    assert_eq!(out, "started\n");
    // The shell counts on its own: whatever it started for that might be counted, or not yet.
    let count = "set -- /proc/[0-9]*; echo $#";
    let (out, _) = finish(start_inside(process.inside(), shell(count)).await.unwrap()).await;
    // init, the program, the daemon, and sh.
    assert_eq!(out, "4\n");
    let family = descendants(process.keeper);
    process.signal(Signal::SIGKILL);
    process.wait().await;
    assert_eq!(family.iter().filter(|pid| alive(pid)).count(), 0);
}

#[tokio::test]
async fn a_program_can_have_a_terminal() {
    let place = Place::new().await;
    let program = Program { tty: true, ..shell("test -t 0 && stty size; read line; echo got $line; exit 3") };
    let mut process = start(place.isolation, program, place.surroundings()).await.unwrap();
    let terminal = process.terminal.take().unwrap();
    terminal.resize(132, 50);
    terminal.write(b"hello\n").await.unwrap();
    let mut out = Vec::new();
    while let Some(data) = terminal.read().await {
        out.extend_from_slice(&data);
    }
    let out = String::from_utf8(out).unwrap();
    assert!(out.contains("got hello"), "{out:?}");
    assert_eq!(process.wait().await, 3);
}

#[tokio::test]
async fn root_can_run_a_program_as_another_user() {
    let place = Place::new().await;
    if place.isolation != Isolation::Root {
        return;
    }
    let identity = Some(Identity { uid: 1234, gid: 2345, groups: vec![2345, 77] });
    let program = Program { identity, ..shell("id -u; id -g; id -G; echo to-stdout > /dev/stdout") };
    let process = start(place.isolation, program, place.surroundings()).await.unwrap();
    assert_eq!(finish(process).await, ("1234\n2345\n2345 77\nto-stdout\n".to_owned(), 0));
}

/// All processes below one, over `/proc`.
fn descendants(of: u32) -> Vec<String> {
    let mut found = vec![of.to_string()];
    let mut next = 0;
    while let Some(pid) = found.get(next).cloned() {
        next += 1;
        let children =
            std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        found.extend(children.split_whitespace().map(str::to_owned));
    }
    found
}
