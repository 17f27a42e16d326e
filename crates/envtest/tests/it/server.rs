//! etcd and kube-apiserver under the flags that envtest gives them.

use hyper_util::rt::TokioIo;
use nix::sys::signal::Signal;
use pilothouse_apiserver::{MASTERS, User};
use tokio::net::{TcpStream, UnixStream};

use crate::plane::{Plane, Tool, request, whole};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn config_map(name: &str) -> String {
    format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}}}}"#)
}

#[tokio::test]
async fn etcd_is_healthy_on_tcp_and_on_a_unix_socket_and_removes_the_socket() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("etcd.sock");
    let arguments = [
        "-log-level".to_owned(),
        "warn".to_owned(),
        format!("--data-dir={}", folder.path().join("data").display()),
        "--listen-peer-urls=http://127.0.0.1:0".to_owned(),
        format!("--listen-client-urls=unix://{},http://127.0.0.1:0", socket.display()),
    ];
    let mut etcd = Tool::start(folder.path(), "etcd", &arguments);
    let url = etcd.said("Listening on ");
    let tcp = TcpStream::connect(url.strip_prefix("http://").unwrap()).await.unwrap();
    let (status, text) = request(TokioIo::new(tcp), "/health").await;
    assert_eq!((status, &*text), (200, &br#"{"health":"true","reason":""}"#[..]));
    let unix = UnixStream::connect(&socket).await.unwrap();
    let (status, text) = request(TokioIo::new(unix), "/version").await;
    assert!(status == 200 && text.starts_with(br#"{"etcdserver":"3."#), "{text:?}");
    assert!(etcd.end(Signal::SIGTERM).success());
    assert!(!socket.exists() && !folder.path().join("data").exists(), "nothing is left behind");
}

#[tokio::test]
async fn a_client_certificate_of_the_given_authority_says_who_asks() {
    let plane = Plane::start();
    let mut api = plane.api(&[]);
    assert_eq!(api.text(None, "GET", "/healthz", "").await.1, "ok");
    let (status, refused) = api.call(None, "GET", CONFIG_MAPS, "").await;
    let message = refused.str_at(&["message"]).unwrap_or_default().to_owned();
    assert!(status == 403 && message.contains(r#"User "system:anonymous" cannot list"#), "{message}");
    let (status, _) = api.call(Some(&plane.client(&User::admin())), "GET", CONFIG_MAPS, "").await;
    assert_eq!(status, 200);
    let (status, _) = api.call(Some(&plane.client(&User::new("ann", ["dev"]))), "GET", CONFIG_MAPS, "").await;
    assert_eq!(status, 403);
    let stranger = pilothouse_apiserver::certs::Authority::generate().unwrap();
    let stranger = stranger.issue_client(&User::admin()).unwrap();
    assert_eq!(api.call(Some(&stranger), "GET", CONFIG_MAPS, "").await.0, 401);
    let (status, services) =
        api.call(Some(&plane.client(&User::admin())), "GET", "/api/v1/namespaces/default/services", "").await;
    assert_eq!(status, 200);
    let own = services.items_at(&["items"]).first().cloned().unwrap_or_default();
    assert_eq!(own.str_at(&["spec", "clusterIP"]), Some("10.0.0.1"));
    assert!(api.tool.end(Signal::SIGTERM).success());
}

#[tokio::test]
async fn the_pair_of_the_certificate_folder_is_shown_and_kept() {
    let plane = Plane::start();
    let first = plane.api(&[]);
    let kept = first.trusted.clone();
    drop(first);
    let second = plane.api(&[]);
    assert_eq!(second.trusted, kept);
    assert_eq!(second.text(None, "GET", "/livez", "").await.0, 200);
}

#[tokio::test]
async fn a_killed_server_that_is_started_again_has_its_objects() {
    let plane = Plane::start();
    let admin = plane.client(&User::admin());
    let mut api = plane.api(&[]);
    let (status, made) = api.call(Some(&admin), "POST", CONFIG_MAPS, &config_map("kept")).await;
    assert_eq!(status, 201);
    api.tool.end(Signal::SIGKILL);
    let api = plane.api(&[]);
    let (status, found) = api.call(Some(&admin), "GET", &format!("{CONFIG_MAPS}/kept"), "").await;
    assert_eq!((status, &found), (200, &made), "uid, resource version and all");
}

#[tokio::test]
async fn prefixes_and_etcds_separate_what_is_kept() {
    let plane = Plane::start();
    let admin = plane.client(&User::admin());
    let one = plane.api(&["--etcd-prefix=/one"]);
    let two = plane.api(&["--etcd-prefix", "two"]);
    assert_eq!(one.call(Some(&admin), "POST", CONFIG_MAPS, &config_map("x")).await.0, 201);
    assert_eq!(two.call(Some(&admin), "GET", &format!("{CONFIG_MAPS}/x"), "").await.0, 404);
    drop(one);
    let again = plane.api(&["--etcd-prefix=one/"]);
    assert_eq!(again.call(Some(&admin), "GET", &format!("{CONFIG_MAPS}/x"), "").await.0, 200);
    let other = Plane::start();
    let elsewhere = other.api(&["--etcd-prefix=/one"]);
    let admin = other.client(&User::admin());
    assert_eq!(elsewhere.call(Some(&admin), "GET", &format!("{CONFIG_MAPS}/x"), "").await.0, 404);
}

#[tokio::test]
async fn both_end_on_a_signal_while_somebody_watches() {
    let mut plane = Plane::start();
    let admin = plane.client(&User::admin());
    let mut api = plane.api(&[]);
    let watch = api.open(Some(&admin), "GET", &format!("{CONFIG_MAPS}?watch=true"), "").await;
    assert!(api.tool.end(Signal::SIGTERM).success());
    // The answer is complete: the server did not just go away.
    assert_eq!(whole(watch).await.0, 200);
    assert!(plane.etcd.end(Signal::SIGINT).success());
}

#[tokio::test]
async fn a_token_of_the_given_key_and_issuer_is_good_after_a_restart() {
    let plane = Plane::start();
    let admin = plane.client(&User::admin());
    let key = plane.path("sa.key");
    // A certificate's key is as good as any: envtest verifies with the certificate, and signs with its key.
    let pair = plane.client(&User::new("signer", ["none"]));
    std::fs::write(&key, &pair.key).unwrap();
    std::fs::write(plane.path("sa.crt"), &pair.certificate).unwrap();
    let flags = [
        format!("--service-account-signing-key-file={}", key.display()),
        format!("--service-account-key-file={}", plane.path("sa.crt").display()),
        "--service-account-issuer=https://127.0.0.1:1/".to_owned(),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let api = plane.api(&flags);
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let account = r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"robot"}}"#;
    assert_eq!(api.call(Some(&admin), "POST", accounts, account).await.0, 201);
    let request =
        r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":[]}}"#;
    let (status, answer) = api.call(Some(&admin), "POST", &format!("{accounts}/robot/token"), request).await;
    assert_eq!(status, 201);
    let audiences = answer.items_at(&["spec", "audiences"]);
    assert_eq!(audiences[0].as_str(), Some("https://127.0.0.1:1/"));
    let token = answer.str_at(&["status", "token"]).unwrap().to_owned();
    drop(api);
    let api = plane.api(&flags);
    let review = format!(
        r#"{{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{{"token":"{token}"}}}}"#
    );
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let (_, answer) = api.call(Some(&admin), "POST", reviews, &review).await;
    let name = answer.str_at(&["status", "user", "username"]);
    assert_eq!(name, Some("system:serviceaccount:default:robot"));
}

#[tokio::test]
async fn flags_say_what_is_served_who_may_what_and_what_is_written_of_it() {
    let plane = Plane::start();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let policies = r#"{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"ann","resource":"*","namespace":"*","apiGroup":"*"}}"#;
    let selectors =
        file("selectors.yaml", "podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: disk=ssd}");
    let log = folder.path().join("log/audit.jsonl");
    let flags = [
        "--authorization-mode=ABAC".to_owned(),
        format!("--authorization-policy-file={}", file("policies", policies)),
        "--runtime-config=batch/v1=false,apps/v1/daemonsets=false".to_owned(),
        "--service-node-port-range=31000-31010".to_owned(),
        "--default-not-ready-toleration-seconds=7".to_owned(),
        "--enable-admission-plugins=PodNodeSelector".to_owned(),
        format!(
            "--admission-control-config-file={}",
            file(
                "admission.yaml",
                &format!(
                    "{{apiVersion: apiserver.config.k8s.io/v1, kind: AdmissionConfiguration, plugins: [{{name: \
                     PodNodeSelector, path: {selectors}}}]}}"
                )
            )
        ),
        format!("--audit-log-path={}", log.display()),
        format!(
            "--audit-policy-file={}",
            file(
                "audit.yaml",
                "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata, users: [ann]}]}"
            )
        ),
    ];
    let mut api = plane.api(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    let ann = plane.client(&User::new("ann", ["dev"]));
    assert_eq!(api.call(Some(&ann), "POST", CONFIG_MAPS, &config_map("a")).await.0, 201);
    assert_eq!(api.call(Some(&ann), "GET", "/apis/batch/v1/jobs", "").await.0, 404);
    assert_eq!(api.call(Some(&ann), "GET", "/apis/apps/v1/daemonsets", "").await.0, 404);
    assert_eq!(api.call(Some(&ann), "GET", "/apis/apps/v1/deployments", "").await.0, 200);
    let service = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[{"port":80}]}}"#;
    let (code, made) = api.call(Some(&ann), "POST", "/api/v1/namespaces/default/services", service).await;
    assert_eq!(code, 201, "{made}");
    assert_eq!(made.items_at(&["spec", "ports"])[0].i64_at(&["nodePort"]), Some(31000));
    let pod = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}"#;
    let (_, made) = api.call(Some(&ann), "POST", "/api/v1/namespaces/default/pods", pod).await;
    assert_eq!(made.str_at(&["spec", "nodeSelector", "disk"]), Some("ssd"), "{made}");
    assert_eq!(made.items_at(&["spec", "tolerations"])[0].i64_at(&["tolerationSeconds"]), Some(7));
    let bob = plane.client(&User::new("bob", ["dev"]));
    let (code, refused) = api.call(Some(&bob), "GET", CONFIG_MAPS, "").await;
    let message = refused.str_at(&["message"]).unwrap_or_default();
    assert!(code == 403 && message.ends_with(": abac: No policy matched."), "{message}");
    assert!(api.tool.end(Signal::SIGTERM).success());
    let written = std::fs::read_to_string(log).unwrap();
    assert_eq!(written.lines().filter(|line| line.contains(r#""stage":"ResponseComplete""#)).count(), 6);
    assert!(written.lines().all(|line| line.contains(r#""username":"ann""#)), "{written}");
}

#[tokio::test]
async fn a_server_shows_its_flags_and_logs_as_much_as_it_is_told() {
    let plane = Plane::start();
    let mut api = plane.api(&["--event-ttl=90m", "--profiling=false"]);
    let ann = plane.client(&User::new("ann", [MASTERS]));
    let (code, page) = api.text(Some(&ann), "GET", "/flagz", "").await;
    let page = String::from_utf8(page.to_vec()).unwrap();
    let certs = plane.path("certs");
    let certs = certs.display();
    for line in [
        "event-ttl=1h30m0s".to_owned(),
        "profiling=false".to_owned(),
        "authorization-mode=[RBAC]".to_owned(),
        format!("tls-private-key-file={certs}/apiserver.key"),
        "watch-cache=true".to_owned(),
    ] {
        assert!(code == 200 && page.lines().any(|own| own == line), "{line}: {page}");
    }
    let bob = plane.client(&User::new("bob", ["dev"]));
    assert_eq!(api.text(Some(&bob), "GET", "/flagz", "").await.0, 403);
    let (code, _) = api.text(Some(&ann), "GET", "/version?before", "").await;
    assert_eq!(code, 200);
    assert_eq!(api.text(Some(&ann), "PUT", "/debug/flags/v", "4").await.0, 200);
    assert_eq!(api.text(Some(&ann), "GET", "/version?after", "").await.0, 200);
    api.tool.end(Signal::SIGTERM);
    let (_, said) = api.tool.output();
    assert!(!said.contains("/version?before") && said.contains("/version?after"), "{said}");
}
