//! Shutdown in good order, and what probes and metrics say.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pilothouse::prelude::*;
use pilothouse_testkit::Cluster;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::fixture::{Widget, Widgets, keep, widget};

struct Long {
    seconds: u64,
    started: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
}

impl Reconciler for Long {
    type Resource = Widget;

    fn declare(d: &mut Declaration<Widget>) {
        d.name("long");
    }

    async fn reconcile(&self, _: Arc<Widget>, _: &Context) -> Result<Action> {
        self.started.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(self.seconds)).await;
        self.ended.fetch_add(1, Ordering::SeqCst);
        Ok(Action::AwaitChange)
    }
}

async fn stop_during_a_reconcile_of(seconds: u64, cluster: &Cluster) -> Result<(u64, usize)> {
    cluster.install::<Widget>().await?;
    let (started, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let long = Long { seconds, started: started.clone(), ended: ended.clone() };
    let operator = cluster.operate(|manager| manager.reconciler(long).grace(Duration::from_secs(30))).await?;
    cluster.apply(widget("a", "x")).await?;
    cluster.advance(Duration::from_millis(1)).await;
    assert_eq!(started.load(Ordering::SeqCst), 1);
    let start = Instant::now();
    operator.stop().await;
    Ok((start.elapsed().as_secs(), ended.load(Ordering::SeqCst)))
}

#[pilothouse::test]
async fn a_running_reconcile_may_end(cluster: Cluster) -> Result {
    let (seconds, ended) = stop_during_a_reconcile_of(20, &cluster).await?;
    assert_eq!((seconds, ended), (19, 1));
    Ok(())
}

#[pilothouse::test]
async fn a_reconcile_that_outlives_the_grace_period_is_stopped(cluster: Cluster) -> Result {
    let (seconds, ended) = stop_during_a_reconcile_of(200, &cluster).await?;
    assert_eq!((seconds, ended), (30, 0));
    Ok(())
}

async fn page(address: std::net::SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[pilothouse::test(clock = "real")]
async fn probes_and_metrics_are_served(cluster: Cluster) -> Result {
    cluster.install::<Widget>().await?;
    let any = ([127, 0, 0, 1], 0).into();
    let operator = cluster.operate(|manager| manager.controller(Widgets::new(keep)).probes(any)).await?;
    cluster.apply(widget("a", "x")).await?;
    cluster.eventually::<ConfigMap>("a", |_| true).await?;
    let address = operator.probes().unwrap();
    assert!(page(address, "/healthz").await.starts_with("HTTP/1.1 200 OK"));
    let ready = page(address, "/readyz").await;
    assert!(ready.starts_with("HTTP/1.1 200 OK"), "{ready}");
    assert!(ready.contains("[+]watch widgets.test.pilothouse.dev in all namespaces ok"), "{ready}");
    let metrics = page(address, "/metrics").await;
    assert!(
        metrics.contains("controller_runtime_reconcile_total{controller=\"widget\",result=\"success\"}"),
        "{metrics}"
    );
    assert!(
        metrics.contains("pilothouse_cached_objects{resource=\"widgets.test.pilothouse.dev\""),
        "{metrics}"
    );
    assert!(page(address, "/nothing").await.starts_with("HTTP/1.1 404"));
    Ok(())
}

#[pilothouse::test(clock = "real")]
async fn an_address_that_is_taken_is_named(cluster: Cluster) -> Result {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    cluster.install::<Widget>().await?;
    let refused = cluster.operate(|manager| manager.controller(Widgets::new(keep)).probes(address)).await;
    let text = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(text.starts_with(&format!("cannot serve metrics and probes on {address}")), "{text}");
    Ok(())
}
