//! The SDK's calls for failures against the real server.

use std::time::Duration;

use harness::on_each_store;
use placet::{AgentRetryPolicy, Failure, RetryStrategy, Streamed};

fn policy() -> AgentRetryPolicy {
    AgentRetryPolicy {
        strategy: RetryStrategy::Linear,
        max_retries: Some(2),
        base_delay_ms: Some(5_000),
        max_delay_ms: None,
        fallback_agent_id: None,
        failure_threshold: None,
    }
}

on_each_store! {
    /// The agent reports a failure, and is told on its stream to try again when the time has come.
    async fn a_program_reports_a_failure_and_tries_again(app: &mut TestApp) {
        let client = app.client();
        let intent = client.create_intent("Refund order 12345").active().send().await.unwrap();
        assert!(intent.retry_policy().await.unwrap().is_none());
        let set = intent.set_retry_policy(&policy()).await.unwrap();
        assert_eq!((set.max_retries, set.max_delay_ms, set.enforced), (2, 60_000, true));
        assert_eq!(intent.retry_policy().await.unwrap().unwrap(), set);
        let mut stream = client.subscribe("test-agent", None).await.unwrap();
        let failure = Failure { error_message: Some("the bank does not answer".to_owned()), ..Failure::default() };
        let recorded = intent.record_failure(&failure).await.unwrap();
        assert!(recorded.retry_scheduled_at.is_some() && recorded.recoverable.is_none());
        app.advance(5).await;
        let told = tokio::time::timeout(Duration::from_secs(30), stream.next()).await.unwrap().unwrap();
        let Streamed::Event(told) = told else { panic!("{told:?}") };
        assert_eq!((told.name.as_str(), told.data["retry_attempt"].as_u64(), &told.data["last_error"]), ("AGENT_ASSIGNED", Some(1), &"the bank does not answer".into()));
        assert_eq!(intent.failures().await.unwrap(), [recorded]);
    }

    async fn a_program_without_a_runtime_reports_failures_too(app: &mut TestApp) {
        let (base, key) = (app.base.clone(), app.agent().key().to_owned());
        let reported = tokio::task::spawn_blocking(move || {
            let client = placet::blocking::Client::new(base, key).unwrap();
            let intent = client.create_intent("Refund order 12345").active().send().unwrap();
            assert!(intent.retry_policy().unwrap().is_none());
            intent.set_retry_policy(&policy()).unwrap();
            let recorded = intent.record_failure(&Failure::default()).unwrap();
            assert_eq!(intent.failures().unwrap(), [recorded]);
            intent.retry_policy().unwrap().unwrap()
        });
        assert_eq!(reported.await.unwrap().strategy, RetryStrategy::Linear);
    }
}
