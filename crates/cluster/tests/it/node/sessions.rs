//! Logs, exec, attach and port-forward through the server: over WebSocket in the process, and with a real `kubectl` and
//! a client of SPDY where they are at hand.

use futures::{SinkExt, StreamExt};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use pilothouse_apiserver::User;
use pilothouse_value::{Value, json, parse};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;
use tower::Service;

use super::place::{PATIENCE, Place, container, long_sleep, runs, until_none_runs};

type Socket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

/// Everything that a session says.
#[derive(Debug, Default)]
struct Said {
    stdout: String,
    stderr: String,
    status: Value,
}

async fn connect(place: &Place, path: &str, protocol: &str) -> Result<Socket, String> {
    let request = http::Request::get(path)
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-protocol", protocol)
        .body(Empty::<bytes::Bytes>::new())
        .unwrap();
    let response = place.server.service(User::admin()).call(request).await.unwrap();
    if response.status() != 101 {
        let text = response.into_body().collect().await.unwrap().to_bytes();
        return Err(String::from_utf8_lossy(&text).into_owned());
    }
    assert_eq!(response.headers()["sec-websocket-protocol"], protocol);
    assert_eq!(response.headers()["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    let io = hyper::upgrade::on(response).await.unwrap();
    Ok(WebSocketStream::from_raw_socket(TokioIo::new(io), Role::Client, None).await)
}

async fn exec(place: &Place, pod: &str, query: &str, protocol: &str) -> Socket {
    connect(place, &format!("/api/v1/namespaces/default/pods/{pod}/exec?{query}"), protocol).await.unwrap()
}

async fn send(socket: &mut Socket, channel: u8, data: &[u8]) {
    let message = [&[channel], data].concat();
    socket.send(Message::binary(message)).await.unwrap();
}

async fn hear(socket: &mut Socket) -> Said {
    let mut said = Said::default();
    let listen = async {
        while let Some(Ok(message)) = socket.next().await {
            let Message::Binary(data) = message else { continue };
            let text = String::from_utf8_lossy(&data[1..]).into_owned();
            match data[0] {
                1 => said.stdout += &text,
                2 => said.stderr += &text,
                3 if !text.is_empty() => said.status = parse::json(text.as_bytes()).unwrap().value,
                _ => {}
            }
        }
    };
    tokio::time::timeout(PATIENCE, listen).await.expect("the session did not end");
    said
}

/// What a command in a pod writes to its standard output.
pub(crate) async fn output(place: &Place, pod: &str, query: &str) -> String {
    hear(&mut exec(place, pod, query, "v5.channel.k8s.io").await).await.stdout
}

/// A pod that waits, ready for sessions.
async fn waiting(name: &str) -> Place {
    let place = Place::new().await;
    place.script(name, "echo up; while :; do sleep 0.1; done").await;
    place.until_ready(name).await;
    place
}

const SUCCESS: &str = r#"{"metadata":{},"status":"Success"}"#;

#[tokio::test]
async fn exec_carries_outputs_and_success() {
    let place = waiting("p").await;
    let query = "command=sh&command=-c&command=echo+out;echo+err+1%3E%262&stdout=1&stderr=1";
    let said = hear(&mut exec(&place, "p", query, "v5.channel.k8s.io").await).await;
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!(said.status.to_json(), SUCCESS);
}

#[tokio::test]
async fn exec_carries_input_until_it_is_closed_and_the_exit_code() {
    let place = waiting("p").await;
    let query = "command=sh&command=-c&command=cat;exit+3&stdin=1&stdout=1";
    let mut socket = exec(&place, "p", query, "v5.channel.k8s.io").await;
    send(&mut socket, 0, b"hi\n").await;
    send(&mut socket, 255, &[0]).await;
    let said = hear(&mut socket).await;
    assert_eq!(said.stdout, "hi\n");
    assert_eq!(said.status.str_at(&["reason"]), Some("NonZeroExitCode"));
    let causes = said.status.items_at(&["details", "causes"]);
    assert_eq!(causes[0].to_json(), r#"{"message":"3","reason":"ExitCode"}"#);
}

#[tokio::test]
async fn exec_carries_more_than_any_buffer_holds() {
    let place = waiting("p").await;
    let query = "command=cat&stdin=1&stdout=1";
    let socket = exec(&place, "p", query, "v5.channel.k8s.io").await;
    let (mut sink, mut source) = socket.split();
    let block = [&[0u8][..], &[b'x'; 32 * 1024][..]].concat();
    let write = async {
        for _ in 0..64 {
            sink.send(Message::binary(block.clone())).await.unwrap();
        }
        sink.send(Message::binary(vec![255, 0])).await.unwrap();
    };
    let read = async {
        let mut length = 0;
        while let Some(Ok(message)) = source.next().await {
            match message {
                Message::Binary(data) if data[0] == 1 => length += data.len() - 1,
                Message::Binary(data) if data[0] == 3 => return (length, data.slice(1..)),
                _ => {}
            }
        }
        panic!("no status came");
    };
    let ((), (length, status)) = tokio::join!(write, read);
    assert_eq!(length, 64 * 32 * 1024);
    assert_eq!(status, SUCCESS);
}

#[tokio::test]
async fn exec_of_what_does_not_exist_is_told_on_the_error_channel() {
    let place = waiting("p").await;
    let said =
        hear(&mut exec(&place, "p", "command=no-such-program&stdout=1", "v4.channel.k8s.io").await).await;
    assert_eq!(said.status.str_at(&["status"]), Some("Failure"));
    let message = said.status.str_at(&["message"]).unwrap();
    assert!(message.contains("no-such-program"), "{message}");
}

#[tokio::test]
async fn exec_with_a_terminal_follows_its_size() {
    let place = waiting("p").await;
    let query = "command=sh&command=-c&command=read+x;stty+size&stdin=1&stdout=1&tty=1";
    let mut socket = exec(&place, "p", query, "v5.channel.k8s.io").await;
    send(&mut socket, 4, br#"{"Width":91,"Height":17}"#).await;
    send(&mut socket, 0, b"\n").await;
    let said = hear(&mut socket).await;
    assert!(said.stdout.contains("17 91"), "{said:?}");
}

#[tokio::test]
async fn a_command_whose_client_has_gone_is_killed() {
    let place = waiting("p").await;
    let sleep = long_sleep(9753);
    let query = format!("command=sh&command=-c&command=echo+up;{}&stdout=1", sleep.replace(' ', "+"));
    let mut socket = exec(&place, "p", &query, "v5.channel.k8s.io").await;
    while !matches!(socket.next().await, Some(Ok(Message::Binary(data))) if data.ends_with(b"up\n")) {}
    assert!(runs(&sleep));
    drop(socket);
    until_none_runs(&sleep).await;
}

#[tokio::test]
async fn exec_in_a_container_that_does_not_run_is_refused() {
    let place = Place::new().await;
    place.script("done", "exit 0").await;
    place.until_phase("done", "Succeeded").await;
    let path = "/api/v1/namespaces/default/pods/done/exec?command=true&stdout=1";
    let error = connect(&place, path, "v5.channel.k8s.io").await.err().unwrap();
    assert!(error.contains("container not found (\\\"main\\\")"), "{error}");
}

#[tokio::test]
async fn attach_sees_what_comes_and_can_type() {
    let place = Place::new().await;
    let mut main = container("main", "while read line; do echo got $line; test $line = end && exit 4; done");
    main.set(&["stdin"], true);
    place.pod("talk", json!({"restartPolicy": "Never", "containers": [main]})).await;
    place.until_ready("talk").await;
    let path = "/api/v1/namespaces/default/pods/talk/attach?stdin=1&stdout=1";
    let mut socket = connect(&place, path, "v5.channel.k8s.io").await.unwrap();
    send(&mut socket, 0, b"one\nend\n").await;
    let said = hear(&mut socket).await;
    assert_eq!(said.stdout, "got one\ngot end\n");
    assert_eq!(said.status.items_at(&["details", "causes"])[0].str_at(&["message"]), Some("4"));
}

#[tokio::test]
async fn input_that_is_given_once_ends_with_the_client_that_gives_it() {
    let place = Place::new().await;
    let mut main = container("main", "cat; echo end");
    main.set(&["stdin"], true);
    main.set(&["stdinOnce"], true);
    place.pod("once", json!({"restartPolicy": "Never", "containers": [main]})).await;
    place.until_ready("once").await;
    let path = "/api/v1/namespaces/default/pods/once/attach?stdin=1&stdout=1";
    let mut socket = connect(&place, path, "v5.channel.k8s.io").await.unwrap();
    send(&mut socket, 0, b"typed\n").await;
    send(&mut socket, 255, &[0]).await;
    assert_eq!(hear(&mut socket).await.stdout, "typed\nend\n");
}

#[tokio::test]
async fn logs_are_followed_to_the_end() {
    let place = Place::new().await;
    let go = place.flag("go");
    place.script("talk", &format!("echo one; until test -e {go}; do sleep 0.02; done; echo two")).await;
    place.until_ready("talk").await;
    let follow = place.logs("talk", "follow=true");
    let touch = format!("command=touch&command={go}&stdout=1");
    let go = exec(&place, "talk", &touch, "v5.channel.k8s.io");
    let (log, mut socket) = tokio::join!(follow, async {
        let mut socket = go.await;
        hear(&mut socket).await;
        socket
    });
    assert_eq!(log, "one\ntwo\n");
    let _ = socket.close(None).await;
}

mod judges {
    //! Clients that others wrote. Each test passes over what is not on this machine.

    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::process::Command;

    /// `kubectl` with a KUBECONFIG for a server that listens. `None` when there is no kubectl.
    async fn kubectl(place: &Place) -> Option<(tempfile::TempDir, impl Fn(&[&str]) -> Command + use<>)> {
        let program = std::env::var_os("KUBECTL").unwrap_or_else(|| "kubectl".into());
        let found = Command::new(&program).args(["version", "--client"]).output().await;
        if !found.is_ok_and(|output| output.status.success()) {
            return None;
        }
        let listening = place.server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("config");
        std::fs::write(&config, listening.kubeconfig().unwrap()).unwrap();
        // It listens as long as the server lives.
        std::mem::forget(listening);
        let home = dir.path().to_owned();
        let command = move |args: &[&str]| {
            let mut command = Command::new(&program);
            command.args(args).env("KUBECONFIG", &config).env("HOME", &home).kill_on_drop(true);
            command.stdin(std::process::Stdio::null());
            command
        };
        Some((dir, command))
    }

    #[tokio::test]
    async fn kubectl_runs_commands_over_websocket_and_spdy() {
        let place = waiting("p").await;
        let Some((_dir, kubectl)) = kubectl(&place).await else { return };
        for websockets in ["true", "false"] {
            let mut command = kubectl(&["exec", "-i", "p", "--", "sh", "-c", "cat; echo err >&2; exit 3"]);
            command.env("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", websockets);
            command.stdin(std::process::Stdio::piped());
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(b"hello\n").await.unwrap();
            drop(stdin);
            let output = child.wait_with_output().await.unwrap();
            let text = format!("websockets {websockets}: {output:?}");
            assert_eq!(output.status.code(), Some(3), "{text}");
            assert_eq!(output.stdout, b"hello\n", "{text}");
            assert!(output.stderr.starts_with(b"err\n"), "{text}");
        }
    }

    #[tokio::test]
    async fn kubectl_copies_files_in_and_out() {
        let place = waiting("p").await;
        let Some((dir, kubectl)) = kubectl(&place).await else { return };
        let (from, back) = (dir.path().join("from"), dir.path().join("back"));
        let content = "0123456789abcdef".repeat(1 << 16);
        std::fs::write(&from, &content).unwrap();
        let out = kubectl(&["cp", from.to_str().unwrap(), "p:/tmp/there"]).output().await.unwrap();
        assert!(out.status.success(), "{out:?}");
        let out = kubectl(&["cp", "p:/tmp/there", back.to_str().unwrap()]).output().await.unwrap();
        assert!(out.status.success(), "{out:?}");
        assert_eq!(std::fs::read_to_string(back).unwrap(), content);
    }

    #[tokio::test]
    async fn kubectl_forwards_ports_over_websocket_and_spdy() {
        let place = Place::new().await;
        if Command::new("python3").arg("--version").output().await.is_err() {
            return;
        }
        let echo = "import os,socket\n\
                    s=socket.create_server((os.environ['IP'],7000))\n\
                    while True:\n\
                    \x20 c,_=s.accept(); d=c.recv(100); c.sendall(b'echo '+d); c.close()";
        let main = json!({
            "name": "main", "image": "none", "command": ["python3", "-c", echo],
            "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
            "readinessProbe": {"tcpSocket": {"port": 7000}, "periodSeconds": 1},
        });
        place.pod("echo", json!({"containers": [main]})).await;
        place.until_ready("echo").await;
        let Some((_dir, kubectl)) = kubectl(&place).await else { return };
        for websockets in ["true", "false"] {
            let mut command = kubectl(&["port-forward", "pod/echo", ":7000"]);
            command.env("KUBECTL_PORT_FORWARD_WEBSOCKETS", websockets).stdout(std::process::Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut line = String::new();
            let mut stdout = tokio::io::BufReader::new(child.stdout.take().unwrap());
            tokio::io::AsyncBufReadExt::read_line(&mut stdout, &mut line).await.unwrap();
            let port = line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split(' ').next()).expect(&line);
            for _ in 0..3 {
                let mut stream = tokio::net::TcpStream::connect(format!("127.0.0.1:{port}")).await.unwrap();
                stream.write_all(b"hi").await.unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).await.unwrap();
                assert_eq!(answer, "echo hi", "websockets {websockets}");
            }
            child.kill().await.unwrap();
        }
    }

    #[tokio::test]
    async fn kubectl_follows_logs_and_attaches() {
        let place = Place::new().await;
        place.script("talk", "for i in 1 2 3; do echo line $i; sleep 0.1; done").await;
        let Some((_dir, kubectl)) = kubectl(&place).await else { return };
        place.until("talk", |pod| pod.str_at(&["status", "phase"]) != Some("Pending")).await;
        let out = kubectl(&["logs", "-f", "talk"]).output().await.unwrap();
        assert_eq!(String::from_utf8_lossy(&out.stdout), "line 1\nline 2\nline 3\n", "{out:?}");
        let out = kubectl(&["logs", "--tail=1", "talk", "-c", "main"]).output().await.unwrap();
        assert_eq!(String::from_utf8_lossy(&out.stdout), "line 3\n", "{out:?}");
    }
}
