//! Events as people read them.

use std::sync::Arc;

use pilothouse::k8s_openapi::api::core::v1::Event as CoreEvent;
use pilothouse::prelude::*;
use pilothouse_testkit::Cluster;

use crate::fixture::{Widget, widget};

struct Talkative;

impl Reconciler for Talkative {
    type Resource = Widget;

    fn declare(d: &mut Declaration<Widget>) {
        d.name("talkative");
    }

    async fn reconcile(&self, widget: Arc<Widget>, context: &Context) -> Result<Action> {
        if widget.spec.text == "flood" {
            for number in 0..100 {
                context.events().publish(&*widget, Event::normal("Flood", format!("number {number}")));
            }
        }
        context.events().publish(&*widget, Event::normal("Seen", "the widget was seen").action("Look"));
        Ok(Action::AwaitChange)
    }
}

async fn events(cluster: &Cluster, reason: &str) -> Result<Vec<CoreEvent>> {
    let all = cluster.api::<CoreEvent>().list(&Default::default()).await?;
    Ok(all.items.into_iter().filter(|event| event.reason.as_deref() == Some(reason)).collect())
}

#[pilothouse::test]
async fn an_event_names_its_object_and_repetitions_are_counted(cluster: Cluster) -> Result {
    cluster.install::<Widget>().await?;
    let operator = cluster.operate(|manager| manager.reconciler(Talkative)).await?;
    let applied = cluster.apply(widget("a", "x")).await?;
    operator.rests().await?;
    operator.resync();
    operator.rests().await?;
    let [event] = &events(&cluster, "Seen").await?[..] else { panic!("one event is expected") };
    assert_eq!(event.involved_object.uid, applied.metadata.uid);
    assert_eq!(event.involved_object.api_version.as_deref(), Some("test.pilothouse.dev/v1"));
    assert_eq!((event.type_.as_deref(), event.action.as_deref()), (Some("Normal"), Some("Look")));
    assert_eq!(event.reporting_component.as_deref(), Some("talkative"));
    assert_eq!(event.count, Some(2));
    Ok(())
}

#[pilothouse::test]
async fn an_object_that_has_too_much_to_tell_is_cut_short(cluster: Cluster) -> Result {
    cluster.install::<Widget>().await?;
    let operator = cluster.operate(|manager| manager.reconciler(Talkative)).await?;
    cluster.apply(widget("a", "flood")).await?;
    operator.rests().await?;
    assert_eq!(events(&cluster, "Flood").await?.len(), 25);
    Ok(())
}
