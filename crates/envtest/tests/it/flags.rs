//! What the tools make of their command lines.

use std::process::{Command, Output};

use pilothouse_apiserver::{User, Value};

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

/// What `conformance/flags/effects.py` wrote down of a real kube-apiserver 1.37.2.
fn recorded() -> Vec<Value> {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/recorded/flags.json");
    let text = std::fs::read_to_string(file).unwrap();
    pilothouse_value::parse::json(text.as_bytes()).unwrap().value.as_array().unwrap().to_vec()
}

fn texts(line: &Value, member: &str) -> Vec<String> {
    line.items_at(&[member]).iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn flags_do_what_they_do_with_a_real_server() {
    let plane = Plane::start();
    let admin = plane.client(&User::admin());
    for case in recorded().iter().filter(|line| line.get("case").is_some()) {
        let flags = texts(case, "flags");
        let api = plane.api(&flags.iter().map(String::as_str).collect::<Vec<_>>());
        let port = format!(":{}", api.address.port());
        for step in case.items_at(&["steps"]) {
            let given = step.get("headers").and_then(Value::as_object);
            let headers = given.into_iter().flat_map(|all| all.iter());
            let headers: Vec<(&str, &str)> =
                headers.map(|(name, value)| (name, value.as_str().unwrap())).collect();
            let who = headers.iter().all(|(name, _)| *name != "Authorization").then_some(&admin);
            let body = match step.get("body") {
                Some(Value::String(text)) => text.clone(),
                Some(document) => document.to_json(),
                None => String::new(),
            };
            let (method, path) = (step.str_at(&["method"]).unwrap(), step.str_at(&["path"]).unwrap());
            let answer = api.ask(who, (method, path), &headers, &body).await;
            let (head, body) = answer.into_parts();
            assert_eq!(Some(i64::from(head.status.as_u16())), step.i64_at(&["code"]), "{step}");
            for (name, value) in step.get("shown").and_then(Value::as_object).unwrap().iter() {
                assert_eq!(
                    head.headers.get(name).map(|own| own.to_str().unwrap()),
                    value.as_str(),
                    "{name} {step}"
                );
            }
            let allowed = head.headers.contains_key("access-control-allow-origin");
            assert_eq!(allowed, step.at(&["shown", "access-control-allow-origin"]).is_some(), "{step}");
            if let Some(expected) = step.get("answer") {
                let text = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
                let text = String::from_utf8(text.to_vec()).unwrap().replace(&port, ":<port>");
                assert_eq!(
                    &pilothouse_value::parse::json(text.as_bytes()).unwrap().value,
                    expected,
                    "{step}"
                );
            }
        }
    }
}

#[test]
fn values_that_a_real_server_refuses_are_refused_in_its_words() {
    let folder = tempfile::tempdir().unwrap();
    // Test suites let the system choose the port and keep nothing.
    let ours = ["--secure-port=0", "--etcd-servers="];
    let lines = recorded();
    let mut count = 0;
    for line in lines.iter().filter(|line| line.get("case").is_none()) {
        let flags = texts(line, "flags");
        if flags.iter().any(|flag| ours.contains(&flag.as_str())) {
            continue;
        }
        let mut arguments = flags.clone();
        arguments.splice(0..0, ["--cert-dir=".to_owned(), "--bind-address=127.0.0.1".to_owned()]);
        let (status, said) = Tool::start(folder.path(), "kube-apiserver", &arguments).output();
        let wrong = line.str_at(&["text"]).unwrap();
        // Of a file we say also which flag names it.
        let wrong = if wrong.contains("/none") { "/none" } else { wrong };
        assert!(status.code() == Some(1) && said.contains(wrong), "{flags:?}: {said}\n{wrong}");
        count += 1;
    }
    assert!(count > 60, "{count}");
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
