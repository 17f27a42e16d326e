use pilothouse_value::json;

use crate::house::*;

#[tokio::test(start_paused = true)]
async fn every_namespace_has_an_account_and_the_certificates() {
    let house = House::without_node().await;
    house.create(&NAMESPACES, json!({"metadata": {"name": "made"}})).await;
    for namespace in ["default", "kube-system", "made"] {
        house
            .until(&SERVICE_ACCOUNTS, |all| {
                all.iter().any(|o| o.str_at(&["metadata", "namespace"]) == Some(namespace)).then_some(())
            })
            .await;
        house
            .until(&CONFIG_MAPS, |all| {
                let here = all.iter().find(|o| o.str_at(&["metadata", "namespace"]) == Some(namespace))?;
                (here.str_at(&["data", "ca.crt"]) == Some(house.server.authority_pem())).then_some(())
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_account_that_was_deleted_comes_back() {
    let house = House::without_node().await;
    let before = house.until_one(&SERVICE_ACCOUNTS, "default", |_| true).await;
    house.delete(&SERVICE_ACCOUNTS, "default", None).await;
    let other =
        |o: &pilothouse_value::Value| o.str_at(&["metadata", "uid"]) != before.str_at(&["metadata", "uid"]);
    house
        .until(&SERVICE_ACCOUNTS, |all| {
            let here = all.iter().filter(|o| o.str_at(&["metadata", "namespace"]) == Some("default"));
            here.into_iter().any(|o| other(o)).then_some(())
        })
        .await;
}
