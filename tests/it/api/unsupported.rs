//! Routes of the OpenIntent client that this server does not have.

use domain::people::principal::Role;
use harness::on_each_store;
use serde_json::json;

/// Every route that the OpenIntent client 0.17.0 calls and this server refuses as not implemented.
const REFUSED: [&str; 34] = [
    "delete channels/1",
    "delete grants/1",
    "delete memory/1",
    "delete triggers/1",
    "get agents",
    "get agents/1/grants",
    "get agents/1/identity",
    "get agents/1/memory",
    "get agents/1/record",
    "get channels/1",
    "get channels/1/messages",
    "get channels/1/messages/1",
    "get credentials/1",
    "get federation/agents",
    "get federation/status",
    "get grants/1",
    "get grants/1/invocations",
    "get intents/{}/channels",
    "get memory/1",
    "get triggers",
    "get triggers/1",
    "get vaults/1",
    "patch agents/1/status",
    "patch channels/1/messages/1",
    "patch memory/1",
    "patch triggers/1",
    "post agents/register",
    "post agents/1/heartbeat",
    "post agents/1/identity/verify",
    "post invocations",
    "post memory",
    "post tools/invoke",
    "post vaults",
    "post federation/dispatch",
];

on_each_store! {
    /// The client takes a 404 on some routes for an empty result or for success, so routes that are not implemented answer 501.
    async fn each_route_that_is_not_here_says_so(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let before = agent.everything(intent).await;
        for route in REFUSED {
            let (method, path) = route.split_once(' ').unwrap();
            let path = format!("api/v1/{}", path.replace("{}", &intent.to_string()));
            let request = |api: &harness::api::Api| api.request(&method.to_uppercase(), &path).json(&json!({"status": "active"}));
            assert_eq!(agent.send(request(&agent)).await.problem(), (501, "not_implemented"), "{route}");
            let operator = app.api(Role::Operator);
            assert_eq!(operator.send(request(&operator)).await.problem(), (501, "not_implemented"), "{route}");
            assert_eq!(app.anonymous().send(request(&app.anonymous())).await.status, 401, "{route}");
        }
        assert_eq!(agent.everything(intent).await, before);
        // A 501 is not counted among the 5xx of the metrics, so it raises no alert.
        let metrics = app.api(Role::Admin).get("metrics").await;
        assert!(metrics.status == 200 && !metrics.text.contains("status=\"5xx\""), "{}", metrics.text);
        // A 404 here tells the client that there is no federation.
        assert_eq!(app.anonymous().get(".well-known/openintent-federation.json").await.status, 404);
    }
}
