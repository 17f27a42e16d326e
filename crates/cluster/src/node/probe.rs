//! Asking a container how it is: by a command inside it, an HTTP request or a TCP connection; and its life-cycle hooks,
//! which are told in the same ways.

use std::time::Duration;

use pilothouse_value::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::sandbox::{self, Inside, Program};
use super::spec;

/// How much of a probe's answer is kept for messages, in bytes.
const MAX_ANSWER: usize = 10 << 10;
/// How long after its end a command's outputs are waited for.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// When a container is asked, and how many answers it takes to believe one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    pub(super) delay: Duration,
    pub(super) period: Duration,
    timeout: Duration,
    pub(super) successes: i64,
    pub(super) failures: i64,
}

impl Schedule {
    pub(super) fn of(probe: &Value) -> Self {
        let number = |key: &str, default| probe.i64_at(&[key]).unwrap_or(default);
        let seconds =
            |key: &str, default| Duration::from_secs(u64::try_from(number(key, default)).unwrap_or_default());
        Self {
            delay: seconds("initialDelaySeconds", 0),
            period: seconds("periodSeconds", 10).max(Duration::from_secs(1)),
            timeout: seconds("timeoutSeconds", 1).max(Duration::from_secs(1)),
            successes: number("successThreshold", 1).max(1),
            failures: number("failureThreshold", 3).max(1),
        }
    }
}

/// Where a container is asked.
#[derive(Clone)]
pub(super) struct Subject {
    /// The container's document: ports may be given by name.
    pub(super) container: Value,
    pub(super) pod_ip: String,
    pub(super) inside: Inside,
    /// The container's own program: a command runs with its environment, directory and user.
    pub(super) program: Program,
}

impl Subject {
    /// Asks once.
    ///
    /// # Errors
    /// What was wrong, in the kubelet's words.
    pub(super) async fn ask(&self, probe: &Value, schedule: Schedule) -> Result<(), String> {
        match tokio::time::timeout(schedule.timeout, self.handle(probe)).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("probe timed out after {}s", schedule.timeout.as_secs())),
        }
    }

    /// Calls a hook or a probe's handler, without a bound on time.
    ///
    /// # Errors
    /// What was wrong.
    pub(super) async fn handle(&self, handler: &Value) -> Result<(), String> {
        if let Some(exec) = handler.get("exec") {
            return self.exec(spec::strings(exec, &["command"])).await;
        }
        if let Some(get) = handler.get("httpGet") {
            return self.http(get).await;
        }
        if let Some(socket) = handler.get("tcpSocket") {
            return self.connect(socket).await.map(drop);
        }
        if let Some(seconds) = handler.i64_at(&["sleep", "seconds"]) {
            tokio::time::sleep(Duration::from_secs(u64::try_from(seconds).unwrap_or_default())).await;
            return Ok(());
        }
        Err("the process node knows the handlers exec, httpGet, tcpSocket and sleep only".to_owned())
    }

    async fn exec(&self, argv: Vec<String>) -> Result<(), String> {
        let program = Program { argv, tty: false, stdin: false, ..self.program.clone() };
        let started = sandbox::start_inside(self.inside.clone(), program).await;
        let mut process = started.map_err(|error| error.to_string())?;
        let (stdout, stderr) = (process.stdout.take(), process.stderr.take());
        let read = async { tokio::join!(read_some(stdout), read_some(stderr)) };
        tokio::pin!(read);
        let (code, (mut answer, err)) = tokio::select! {
            // A process that it leaves behind may keep the pipes: the end of the program is what counts.
            code = process.wait() => (code, tokio::time::timeout(LAST_WORDS, &mut read).await.unwrap_or_default()),
            answer = &mut read => (process.wait().await, answer),
        };
        answer.extend(err);
        if code == 0 { Ok(()) } else { Err(String::from_utf8_lossy(&answer).trim_end().to_owned()) }
    }

    async fn connect(&self, handler: &Value) -> Result<TcpStream, String> {
        let host = handler.str_at(&["host"]).filter(|host| !host.is_empty()).unwrap_or(&self.pod_ip);
        let port = self.port(handler.get("port"))?;
        TcpStream::connect((host, port)).await.map_err(|error| format!("dial tcp {host}:{port}: {error}"))
    }

    fn port(&self, port: Option<&Value>) -> Result<u16, String> {
        let number = match port {
            Some(Value::Int(number)) => Some(*number),
            Some(value) => {
                let name = value.as_str().unwrap_or_default();
                let ports = self.container.items_at(&["ports"]);
                let named = ports.iter().find(|port| port.str_at(&["name"]) == Some(name));
                named.and_then(|port| port.i64_at(&["containerPort"])).or_else(|| name.parse().ok())
            }
            None => None,
        };
        number
            .and_then(|number| u16::try_from(number).ok())
            .ok_or_else(|| format!("couldn't find port: {}", port.map(Value::to_json).unwrap_or_default()))
    }

    /// A request of our own making: a probe needs a status line and no more.
    async fn http(&self, get: &Value) -> Result<(), String> {
        if get.str_at(&["scheme"]).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https")) {
            return Err("the process node sends probes over plain HTTP only".to_owned());
        }
        let mut stream = self.connect(get).await?;
        let path = get.str_at(&["path"]).filter(|path| !path.is_empty()).unwrap_or("/");
        let mut request = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n");
        let mut host = format!("{}:{}", self.pod_ip, self.port(get.get("port"))?);
        let mut agent = "kube-probe/1.37".to_owned();
        for header in get.items_at(&["httpHeaders"]) {
            let name = header.str_at(&["name"]).unwrap_or_default();
            let value = header.str_at(&["value"]).unwrap_or_default();
            match name.to_ascii_lowercase().as_str() {
                "host" => value.clone_into(&mut host),
                "user-agent" => value.clone_into(&mut agent),
                _ => request.push_str(&format!("{name}: {value}\r\n")),
            }
        }
        request.push_str(&format!("Host: {host}\r\nUser-Agent: {agent}\r\nAccept: */*\r\n\r\n"));
        let failed = |error: std::io::Error| format!("Get \"http://{host}{path}\": {error}");
        stream.write_all(request.as_bytes()).await.map_err(failed)?;
        let mut answer = [0; 64];
        let mut length = 0;
        // "HTTP/1.1 200"
        while length < 12 {
            match stream.read(answer.get_mut(length..).unwrap_or_default()).await.map_err(failed)? {
                0 => break,
                more => length += more,
            }
        }
        let line = String::from_utf8_lossy(answer.get(..length).unwrap_or_default()).into_owned();
        match line.split(' ').nth(1).and_then(|code| code.get(..3)).and_then(|code| code.parse::<u16>().ok())
        {
            Some(200..400) => Ok(()),
            Some(code) => Err(format!("HTTP probe failed with statuscode: {code}")),
            None => Err(format!("Get \"http://{host}{path}\": malformed HTTP response {line:?}")),
        }
    }
}

async fn read_some(stream: Option<impl tokio::io::AsyncRead + Unpin>) -> Vec<u8> {
    let mut out = Vec::new();
    let Some(mut stream) = stream else { return out };
    let mut buffer = vec![0; 4096];
    // What is too much is read over: the program is not to block on a full pipe.
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        let room = MAX_ANSWER.saturating_sub(out.len());
        out.extend(buffer.iter().take(length.min(room)));
    }
    out
}
