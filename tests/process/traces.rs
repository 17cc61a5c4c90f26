//! A collector that is gone, or that never answers, must not disturb the server.

use std::net::TcpListener;
use std::time::Duration;

use harness::process::Site;

/// Shorter than the 5 seconds for which a send waits for a collector, so that a call that waits for one is too late.
const CALL: Duration = Duration::from_secs(4);
/// A server that stops gives the collector 2 seconds; the rest is for a slow machine.
const STOP: Duration = Duration::from_secs(30);

/// Fails if `call` takes as long as one that waits for the collector.
async fn at_once<T>(call: impl Future<Output = T>) -> T {
    tokio::time::timeout(CALL, call).await.expect("a call was held up")
}

#[tokio::test]
async fn a_collector_that_is_gone_or_silent_slows_nothing_down() {
    // Bound but never accepted from: the system takes connections, and no program answers on them.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for collector in [silent.local_addr().unwrap(), gone] {
        let site = Site::development();
        let (agent, operator) = (site.api("agent", "bot").await, site.api("operator", "alice").await);
        let mut command = site.command(["serve"]);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{collector}"));
        let mut server = site.start(command);
        server.line_with("Placet listens on ").await;
        for _ in 0..20 {
            let intent = at_once(agent.active_intent()).await;
            let id = at_once(agent.asked(intent)).await;
            at_once(operator.respond(intent, &id, "approve")).await.ok();
        }
        server.signal("TERM").await;
        tokio::time::timeout(STOP, server.finish()).await.expect("the server waits for the collector").succeeded();
    }
}
