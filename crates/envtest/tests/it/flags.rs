//! What the tools make of their command lines.

use std::process::{Command, Output};

use crate::plane::{PROGRAM, Plane, Tool};

fn run(name: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join(name);
    std::os::unix::fs::symlink(PROGRAM, &link).unwrap();
    Command::new(link).args(arguments).output().unwrap()
}

/// As envtest looks for a flag: `^\s*--NAME\b` in a line of the help.
fn lists(help: &[u8], flag: &str) -> bool {
    String::from_utf8_lossy(help).lines().any(|line| {
        let rest = line.trim_start().strip_prefix("--").and_then(|line| line.strip_prefix(flag));
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
    })
}

#[test]
fn help_lists_the_flags_that_envtest_looks_for() {
    let api = run("kube-apiserver", &["--help"]);
    assert!(api.status.success() && lists(&api.stdout, "secure-port") && lists(&api.stdout, "etcd-servers"));
    assert!(!lists(&api.stdout, "insecure-port"), "it is gone since 1.24");
    let etcd = run("etcd", &["--help"]);
    assert!(etcd.status.success() && lists(&etcd.stdout, "unsafe-no-fsync"));
    assert_eq!(run("kube-apiserver", &["--version"]).stdout, b"Kubernetes v1.37.2\n");
    assert!(run("etcd", &["-version"]).stdout.starts_with(b"etcd Version: 3."));
}

#[test]
fn an_unknown_flag_is_told_and_ignored() {
    let plane = Plane::start();
    let flags = ["--insecure-port=0", "--no-such-flag", "value", "--v=0", "--feature_gates=A=true,B=false"];
    let mut api = plane.api(&flags);
    api.tool.end(nix::sys::signal::Signal::SIGTERM);
    let said = &api.tool.said;
    assert!(said.contains("unknown flag --insecure-port") && said.contains("unknown flag --no-such-flag"));
    assert_eq!(said.matches("unknown flag").count(), 2, "{said}");
}

#[test]
fn a_command_line_that_cannot_be_right_is_refused_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, wrong) in [
        (&["--secure-port"][..], "flag needs an argument: --secure-port"),
        (&["--secure-port=x"], r#"invalid argument "x" for "--secure-port" flag"#),
        (&["--anonymous-auth=perhaps"], r#"invalid argument "perhaps" for "--anonymous-auth" flag"#),
        (&["--authorization-mode=Magic"], r#"authorization-mode "Magic" is not a valid mode"#),
        (&["--client-ca-file=/no/such/file"], "reading /no/such/file (--client-ca-file)"),
        (&["--cert-dir=", "word"], r#""kube-apiserver" does not take any arguments, got ["word"]"#),
    ] {
        let mut arguments: Vec<String> = arguments.iter().map(|&flag| flag.to_owned()).collect();
        arguments.insert(0, "--cert-dir=".into());
        let (status, said) = Tool::start(folder.path(), "kube-apiserver", &arguments).output();
        assert!(status.code() == Some(1) && said.starts_with("Error: ") && said.contains(wrong), "{said}");
    }
}
