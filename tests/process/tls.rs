//! An endpoint that cannot prove its identity gets nothing, and the people concerned learn why.

use std::time::{Duration, Instant};

use harness::api::Api;
use harness::process::Site;
use harness::smtp::SmtpSink;
use harness::tls::{Authority, Identity, TlsEndpoint};
use serde_json::{Value, json};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// How long a try may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);
const PAUSE: Duration = Duration::from_millis(50);

/// The only message about a question, once it was tried.
async fn tried(api: &Api, id: &str) -> Value {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let listed = api.get(&format!("api/v1/suspensions/{id}/deliveries")).await.ok();
        let message = listed["deliveries"][0].clone();
        if message["state"] != "sending" && message["tries"].as_u64().unwrap() > 0 {
            return message;
        }
        assert!(Instant::now() < give_up, "{message}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// The link that answers a question stands in the message: an attacker between us and an endpoint must not get it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_with_a_wrong_certificate_is_sent_nothing() {
    let authority = Authority::new();
    let endpoints = [
        ("right", TlsEndpoint::start(authority.certificate("127.0.0.1")).await, ""),
        ("self-signed", TlsEndpoint::start(Identity::self_signed("127.0.0.1")).await, "UnknownIssuer"),
        ("wrong-host", TlsEndpoint::start(authority.certificate("pager.example.com")).await, "not valid for name"),
        ("expired", TlsEndpoint::start(authority.expired_certificate("127.0.0.1")).await, "expired"),
    ];
    let smtp = SmtpSink::start().await;
    let site = Site::production(smtp.url());
    let section = |name: &str, url: &str| {
        format!(
            "[[channels.webhook]]\nname = '{name}'\nurl = '{url}'\nsecret = '{SECRET}'\nallow_subnets = ['127.0.0.0/8']\nlinks = true\n"
        )
    };
    let settings = endpoints.iter().map(|(name, endpoint, _)| section(name, &endpoint.url())).collect::<Vec<_>>().concat();
    let (config, trusted) = (site.folder().join("placet.toml"), site.folder().join("trusted.pem"));
    std::fs::write(&config, settings).unwrap();
    std::fs::write(&trusted, authority.pem()).unwrap();
    let (agent, operator) = (site.api("agent", "bot").await, site.api("operator", "alice").await);
    let mut serve = site.command(["serve"]);
    serve.env("PLACET_CONFIG", &config).env("SSL_CERT_FILE", &trusted).env_remove("SSL_CERT_DIR");
    let mut server = site.start(serve);
    server.line_with("Placet listens on ").await;

    for (name, endpoint, why) in &endpoints {
        let intent = agent.active_intent().await;
        let asked = agent.suspend(intent, json!({"channel_hint": name})).await.ok();
        let id = asked["id"].as_str().unwrap();
        let (seen, message) = (tried(&agent, id).await, tried(&operator, id).await);
        assert_eq!(endpoint.connections(), 1, "{name}: {seen}");
        if why.is_empty() {
            assert_eq!((&seen["state"], &seen["detail"], endpoint.requests()), (&json!("sent"), &json!("status 204"), 1));
            continue;
        }
        assert_eq!(endpoint.requests(), 0, "{name} was told something");
        let detail = message["detail"].as_str().unwrap();
        assert!(detail.starts_with("the connection cannot be encrypted: ") && detail.contains(why), "{name}: {detail}");
        assert_eq!((&message["state"], &message["tries"], &seen["detail"]), (&json!("queued"), &json!(1), &message["detail"]));
        assert_eq!(agent.suspension(id).await["reached"], json!(false));
        let log = server.errors();
        assert!(log.contains("was not handed over") && log.contains(name) && log.contains(why), "{log}");
        for secret in ["s3cr3t", SECRET] {
            assert!(!log.contains(secret) && !message.to_string().contains(secret), "{name}: {secret} is told");
        }
    }
    assert!(smtp.received().is_empty());
    server.signal("TERM").await;
    server.finish().await.succeeded();
}
