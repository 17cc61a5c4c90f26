//! A collector that is gone, or that never answers, is nobody's problem.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use harness::process::Site;

/// Longer than anything here should take, and far shorter than waiting for the collector on every call would.
const SOON: Duration = Duration::from_secs(12);

#[tokio::test]
async fn a_collector_that_is_gone_or_silent_slows_nothing_down() {
    // Bound and never accepted from: the system takes connections, and nobody answers on them.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for collector in [silent.local_addr().unwrap(), gone] {
        let site = Site::development();
        let (agent, operator) = (site.api("agent", "bot").await, site.api("operator", "alice").await);
        let mut command = site.command(["serve"]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{collector}"));
        let mut server = site.start(command);
        server.line_with("Placet listens on ").await;
        let started = Instant::now();
        for _ in 0..20 {
            let intent = agent.active_intent().await;
            let id = agent.asked(intent).await;
            operator.respond(intent, &id, "approve").await.ok();
        }
        server.signal("TERM").await;
        let ended = server.finish().await;
        ended.succeeded();
        assert!(started.elapsed() < SOON, "{:?}\n{}", started.elapsed(), ended.stderr);
    }
}
