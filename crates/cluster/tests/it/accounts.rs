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
                let here = all.iter().find(|o| {
                    o.str_at(&["metadata", "namespace"]) == Some(namespace)
                        && o.str_at(&["metadata", "name"]) == Some("kube-root-ca.crt")
                })?;
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

#[tokio::test(start_paused = true)]
async fn a_secret_for_a_token_is_filled_and_goes_with_its_account() {
    let house = House::without_node().await;
    house.create(&SERVICE_ACCOUNTS, json!({"metadata": {"name": "robot"}})).await;
    let secret = json!({"type": "kubernetes.io/service-account-token", "metadata": {"name": "robot-token",
        "annotations": {"kubernetes.io/service-account.name": "robot"}}});
    house.create(&SECRETS, secret).await;
    let filled = house.until_one(&SECRETS, "robot-token", |o| o.at(&["data", "token"]).is_some()).await;
    let token = filled.str_at(&["data", "token"]).unwrap();
    let token = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, token).unwrap();
    let review = json!({"spec": {"token": String::from_utf8(token).unwrap()}});
    let reviews = pilothouse_apiserver::Gvr::new("authentication.k8s.io", "v1", "tokenreviews");
    let said = house.client.create(&reviews, None, review).await.unwrap();
    let user = said.str_at(&["status", "user", "username"]);
    assert_eq!(user, Some("system:serviceaccount:default:robot"), "{said}");
    house.delete(&SERVICE_ACCOUNTS, "robot", None).await;
    house.until(&SECRETS, |all| all.is_empty().then_some(())).await;
}
