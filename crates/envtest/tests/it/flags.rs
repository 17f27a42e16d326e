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
fn every_flag_of_a_real_server_is_known() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/recorded/flags.txt");
    let help = run("kube-apiserver", &["--help"]).stdout;
    for flag in std::fs::read_to_string(file).unwrap().lines() {
        assert!(lists(&help, flag), "{flag}");
    }
}

#[test]
fn an_unknown_flag_is_told_and_ignored() {
    let plane = Plane::start();
    let flags = [
        "--insecure-port=0",
        "--no-such-flag",
        "value",
        "--v=0",
        "--feature_gates=WatchList=true,AllAlpha=false",
    ];
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
        (&["--feature-gates=Nothing=true"], "unrecognized feature gate: Nothing"),
        (&["--feature-gates=WatchList"], "missing bool value for WatchList"),
        (
            &["--feature-gates=NodeDeclaredFeatures=false"],
            "cannot set feature gate NodeDeclaredFeatures to false, feature is locked to true",
        ),
        (&["--authorization-mode=ABAC"], "authorization-mode ABAC's authorization policy file not passed"),
        (
            &["--authorization-mode=RBAC,RBAC"],
            r#"authorization-mode ["RBAC" "RBAC"] has mode specified more than once"#,
        ),
        (
            &["--authorization-mode=RBAC", "--authorization-policy-file=/x"],
            "cannot specify --authorization-policy-file without mode ABAC",
        ),
        (&["--runtime-config=foo/v1=true"], "unknown api groups foo/v1"),
        (&["--runtime-config=apps/v9=true"], "group version apps/v9 that has not been registered"),
        (&["--runtime-config=api/all=false"], "invalid runtime-config with only api/all=false"),
        (
            &["--service-node-port-range=30000-20000"],
            r#"invalid argument "30000-20000" for "--service-node-port-range" flag: end port cannot be less than start port"#,
        ),
        (&["--max-requests-inflight=-1"], "--max-requests-inflight can not be negative value"),
        (&["--audit-log-format=x"], r#"invalid audit log format x, allowed formats are "legacy,json""#),
        (&["--enable-admission-plugins=Foo"], r#"enable-admission-plugins plugin "Foo" is unknown"#),
        (&["--client-ca-file=/no/such/file"], "reading /no/such/file (--client-ca-file)"),
        (&["--cert-dir=", "word"], r#""kube-apiserver" does not take any arguments, got ["word"]"#),
    ] {
        let mut arguments: Vec<String> = arguments.iter().map(|&flag| flag.to_owned()).collect();
        arguments.insert(0, "--cert-dir=".into());
        let (status, said) = Tool::start(folder.path(), "kube-apiserver", &arguments).output();
        assert!(status.code() == Some(1) && said.starts_with("Error: ") && said.contains(wrong), "{said}");
    }
}
