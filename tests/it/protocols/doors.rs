//! The card by which agents find the server, and the door that can be shut.

use harness::on_each_store;
use serde_json::json;

on_each_store! {
    /// The card names the address of the server and promises nothing that is refused.
    async fn the_card_promises_what_works(app: &mut TestApp) {
        let (anonymous, api) = (app.anonymous(), app.agent());
        let reply = anonymous.get(".well-known/agent-card.json").await;
        let headers = reply.headers.clone();
        let card = reply.ok();
        for interface in card["supportedInterfaces"].as_array().unwrap() {
            assert_eq!((interface["url"].as_str().unwrap(), &interface["protocolVersion"]), (&*format!("{}a2a", app.base), &json!("1.0")));
        }
        let capabilities = json!({"streaming": true, "pushNotifications": false, "extendedAgentCard": true});
        for (name, promised) in capabilities.as_object().unwrap() {
            assert_eq!(&card["capabilities"][name], promised, "{name}");
        }
        assert!(card["capabilities"]["supportsPause"].is_null(), "{card}");
        assert_eq!(card["skills"][0]["id"], "ask");
        assert!(headers["cache-control"].to_str().unwrap().contains("max-age="));
        assert!(headers.contains_key("last-modified"));
        let known = anonymous.request("GET", ".well-known/agent-card.json").header("if-none-match", &headers["etag"]);
        assert_eq!(anonymous.send(known).await.status, 304);
        let extended = api.send(api.request("GET", "a2a/extendedAgentCard").header("a2a-version", "1.0")).await.ok();
        assert_eq!(extended, card);
        let surfaces = anonymous.get(".well-known/openintent.json").await.ok()["surfaces"].clone();
        assert_eq!(surfaces["a2a"]["card"], format!("{}.well-known/agent-card.json", app.base));
    }

    /// A door that is shut is not there: no route, no card, no word about it.
    async fn a_door_that_is_shut_is_not_there(app: &mut TestApp) {
        app.restart_with(|config| config.a2a.enabled = false).await;
        let (anonymous, api) = (app.anonymous(), app.agent());
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}});
        assert_eq!(api.send(api.request("POST", "a2a").header("a2a-version", "1.0").json(&call)).await.status, 404);
        for path in [".well-known/agent-card.json", "a2a/tasks"] {
            assert_eq!(api.send(api.request("GET", path).header("a2a-version", "1.0")).await.status, 404, "{path}");
        }
        assert_eq!(anonymous.get(".well-known/openintent.json").await.ok()["surfaces"], json!({}));
    }
}
