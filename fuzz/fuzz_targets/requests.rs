//! Whole requests: the first line is a method, a path with a query, and a content type; the rest is the body. No answer may be
//! a 500, which is what a panic in a handler becomes.
#![no_main]

use std::sync::OnceLock;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use libfuzzer_sys::fuzz_target;
use pilothouse_apiserver::{Authorization, Server, User};
use tower::ServiceExt as _;

fn server() -> &'static (tokio::runtime::Runtime, Server) {
    static SERVER: OnceLock<(tokio::runtime::Runtime, Server)> = OnceLock::new();
    SERVER.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let server = runtime.block_on(async {
            Server::builder().authorization(Authorization::AlwaysAllow).start().expect("a server")
        });
        (runtime, server)
    })
}

fuzz_target!(|data: &[u8]| {
    let mut lines = data.splitn(2, |byte| *byte == b'\n');
    let (Some(head), body) = (lines.next(), lines.next().unwrap_or_default()) else { return };
    let Ok(head) = std::str::from_utf8(head) else { return };
    let mut words = head.split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return };
    let kind = words.next().unwrap_or("application/json");
    // What lasts, or waits on purpose, is not for here.
    if path.contains("watch") || path.contains("resourceVersion") {
        return;
    }
    let request = Request::builder().method(method).uri(path).header("content-type", kind);
    let Ok(request) = request.body(Full::new(Bytes::copy_from_slice(body))) else { return };
    let (runtime, server) = server();
    runtime.block_on(async {
        let service = server.service(User::admin());
        let response = service.oneshot(request).await.expect("an answer");
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        let text = String::from_utf8_lossy(&body);
        assert!(!text.contains("caused apiserver to panic"), "{code} {text}");
    });
});
