//! The test kit itself: what it says when a test fails.

use pilothouse::prelude::*;
use pilothouse::serde_json::json;
use pilothouse_testkit::Cluster;

use crate::fixture::{Widget, Widgets, config_map, keep, widget};

#[pilothouse::test]
async fn a_state_that_does_not_come_is_reported_with_what_happened(cluster: Cluster) -> Result {
    cluster.create(config_map("a", "one")).await?;
    let waiting = cluster.becomes::<ConfigMap>("a", json!({"data": {"text": "three"}}));
    let changing = async {
        cluster.advance(Duration::from_secs(1)).await;
        cluster.patch::<ConfigMap>("a", None, json!({"data": {"text": "two"}})).await
    };
    let (waited, changed) = tokio::join!(waiting, changing);
    changed?;
    let text = waited.unwrap_err().to_string();
    for part in [
        "configmaps default/a: the state that the test waits for did not come within 60 s",
        "what is missing:\n  ~ data.text: \"two\" -> \"three\"",
        "~ data.text: \"one\" -> \"two\"",
        "last seen:\napiVersion: v1",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    Ok(())
}

#[pilothouse::test]
async fn an_object_that_is_not_there_is_said_not_to_exist(cluster: Cluster) -> Result {
    let patient = cluster.patience(Duration::from_secs(5));
    let text = patient.eventually::<ConfigMap>("none", |_| true).await.unwrap_err().to_string();
    assert!(text.contains("within 5 s"), "{text}");
    assert!(text.contains("last seen: it does not exist"), "{text}");
    Ok(())
}

#[pilothouse::test]
async fn an_operator_that_keeps_writing_is_found_out(cluster: Cluster) -> Result {
    let controller = Widgets::new(|widget, _| {
        // The time of the day in a text is the classic mistake.
        let now = std::time::SystemTime::now();
        Ok(Plan::new().ensure(config_map(&widget.name_any(), &format!("{now:?}"))))
    });
    let operator = cluster.run(controller).await?;
    cluster.apply(widget("a", "x")).await?;
    let text = operator.is_quiet().await.unwrap_err().to_string();
    assert!(text.starts_with("the operator is not quiet"), "{text}");
    assert!(text.contains("PATCH /api/v1/namespaces/default/configmaps/a"), "{text}");
    Ok(())
}

#[pilothouse::test]
async fn several_operators_can_run_in_one_cluster(cluster: Cluster) -> Result {
    let first = cluster.run(Widgets::new(keep)).await?;
    cluster.apply(widget("a", "x")).await?;
    cluster.eventually::<ConfigMap>("a", |_| true).await?;
    first.stop().await;
    let second = cluster.run(Widgets::new(keep)).await?;
    second.is_quiet().await?;
    assert_eq!(second.written(), 0, "a new one finds everything as it should be");
    cluster.get::<Widget>("a").await?;
    Ok(())
}

#[pilothouse::test(controllers = false)]
async fn without_controllers_nothing_is_collected(cluster: Cluster) -> Result {
    let operator = cluster.run(Widgets::new(keep)).await?;
    cluster.apply(widget("a", "x")).await?;
    cluster.eventually::<ConfigMap>("a", |_| true).await?;
    cluster.delete::<Widget>("a").await?;
    operator.rests().await?;
    cluster.get::<ConfigMap>("a").await?;
    Ok(())
}
