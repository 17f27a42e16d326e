//! The cache: how it fills, and what it does when the server or the connection misbehaves.

use pilothouse::prelude::*;
use pilothouse::runtime::Health;
use pilothouse_testkit::{Cluster, Fault};

use crate::fixture::{Widget, Widgets, keep, widget};

fn get() -> http::Method {
    http::Method::GET
}

#[pilothouse::test]
async fn a_server_without_streaming_lists_is_asked_for_pages(cluster: Cluster) -> Result {
    cluster.apply(secret("before")).await?;
    cluster.inject(Fault::on(get(), "sendInitialEvents=true").answer(422, "Invalid").times(100));
    let operator = cluster.run(Widgets::new(keep)).await?;
    cluster.apply(widget("a", "hello")).await?;
    cluster.eventually::<ConfigMap>("a", |_| true).await?;
    operator.is_quiet().await?;
    Ok(())
}

#[pilothouse::test]
async fn a_failing_watch_is_named_with_kind_verb_and_reason(cluster: Cluster) -> Result {
    cluster.install::<Widget>().await?;
    cluster.inject(Fault::on(get(), "/secrets").answer(403, "Forbidden").times(1000));
    let limit = Duration::from_secs(20);
    let refused = cluster.operate(|manager| manager.controller(Widgets::new(keep)).sync_timeout(limit)).await;
    let text = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(text.starts_with("the caches are not ready after 20 s:"), "{text}");
    assert!(text.contains("[-]watch secrets in all namespaces: watch failed"), "{text}");
    assert!(text.contains("Forbidden"), "{text}");
    assert_eq!(text.lines().count(), 2, "the others are ready: {text}");
    Ok(())
}

#[pilothouse::test]
async fn a_watch_comes_back_after_the_server_has_failed(cluster: Cluster) -> Result {
    let operator = cluster.run(Widgets::new(keep)).await?;
    // The running streams end after 290 s by themselves, and then the server fails for a while.
    cluster.inject(Fault::on(get(), "/widgets").times(5));
    cluster.advance(Duration::from_secs(293)).await;
    let failing: Vec<_> = operator.watches().into_iter().filter(|watch| !watch.is_ready()).collect();
    assert_eq!(failing.len(), 1, "{failing:?}");
    assert!(
        matches!(&failing[0].health, Health::Failing { verb: "watch", reason, .. } if reason == "InternalError")
    );
    cluster.advance(Duration::from_secs(60)).await;
    assert!(operator.watches().iter().all(|watch| watch.is_ready()));
    cluster.apply(widget("a", "hello")).await?;
    cluster.eventually::<ConfigMap>("a", |_| true).await?;
    Ok(())
}

#[pilothouse::test]
async fn a_position_that_the_server_has_forgotten_starts_over(cluster: Cluster) -> Result {
    let operator = cluster.run(Widgets::new(keep)).await?;
    cluster.apply(widget("kept", "x")).await?;
    cluster.apply(widget("deleted", "x")).await?;
    cluster.eventually::<ConfigMap>("deleted", |_| true).await?;
    operator.rests().await?;
    // The next watches are told that they are too old; meanwhile one widget goes and one comes.
    cluster.inject(Fault::on(get(), "/widgets").answer(500, "InternalError").times(3));
    cluster.advance(Duration::from_secs(291)).await;
    cluster.delete::<Widget>("deleted").await?;
    cluster.apply(widget("new", "x")).await?;
    cluster.inject(Fault::on(get(), "/widgets").answer(410, "Expired"));
    cluster.eventually::<ConfigMap>("new", |_| true).await?;
    cluster.gone::<ConfigMap>("deleted").await?;
    operator.is_quiet().await?;
    let text = operator.metrics().encode();
    assert!(
        text.contains("pilothouse_cached_objects{resource=\"widgets.test.pilothouse.dev\",namespace=\"\"} 2"),
        "{text}"
    );
    Ok(())
}

fn secret(name: &str) -> Secret {
    let mut secret = Secret::default();
    secret.metadata.name = Some(name.to_owned());
    secret
}
