//! The bytes of a portfolio's own log, pinned like those of an intent's log in `golden/main.rs`: an event of every kind, in one
//! chain.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use domain::base::ids::{KeyId, PortfolioId};
use domain::base::json::canonical;
use domain::base::time::from_micros;
use domain::log::{Entry, Envelope, Sealed, verify_chain};
use domain::people::principal::Credential;
use domain::portfolio::event::{Created, PortfolioEvent, StatusChanged, Updated};
use domain::portfolio::{PortfolioPolicy, PortfolioStatus};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// The served events, one to a line.
const GOLDEN: &str = include_str!("golden_portfolio.jsonl");

fn events() -> Vec<PortfolioEvent> {
    let credential = Some(Credential::ApiKey(KeyId(Uuid::from_u128(3))));
    let bare = Created {
        name: "Refunds \"November\"".into(),
        description: None,
        metadata: Map::new(),
        governance_policy: PortfolioPolicy::default(),
        claimed_created_by: None,
        credential: None,
    };
    let whole = Created {
        description: Some("all of them".into()),
        metadata: Map::from_iter([("team".to_owned(), json!({"é": 1.5}))]),
        governance_policy: PortfolioPolicy { require_all_completed: Some(true), deadline: None },
        claimed_created_by: Some("agent-1".into()),
        credential,
        ..bare.clone()
    };
    let changed =
        |old_status, new_status, credential| PortfolioEvent::StatusChanged(StatusChanged { old_status, new_status, credential });
    vec![
        PortfolioEvent::Created(Box::new(bare)),
        PortfolioEvent::Created(Box::new(whole)),
        changed(PortfolioStatus::Active, PortfolioStatus::Completed, credential),
        changed(PortfolioStatus::Active, PortfolioStatus::Abandoned, None),
        PortfolioEvent::Updated(Box::new(Updated { description: Some(None), credential, ..Updated::default() })),
        PortfolioEvent::Updated(Box::new(Updated {
            name: Some("Refunds of December".into()),
            description: Some(Some("some of them".into())),
            metadata: Some(Map::new()),
            governance_policy: Some(PortfolioPolicy {
                require_all_completed: None,
                deadline: Some(from_micros(1_795_507_200_000_042)),
            }),
            credential: None,
        })),
    ]
}

fn chain() -> Vec<Sealed> {
    let mut previous = None;
    (1..)
        .zip(&events())
        .map(|(sequence, event)| {
            let (id, created_at) = (Uuid::from_u128(1_000 + u128::from(sequence)), from_micros(1_795_507_200_000_042));
            let salt = [u8::try_from(sequence).unwrap(); 32];
            let envelope = Envelope { id, sequence, actor: "bot", created_at, previous, salt };
            let sealed = envelope.seal(Entry::Portfolio(PortfolioId(Uuid::from_u128(13)), event)).unwrap();
            previous = Some(sealed.hash);
            sealed
        })
        .collect()
}

#[test]
fn the_bytes_of_every_event_of_a_portfolio_are_as_they_were() {
    let now: Vec<String> = chain().iter().map(Sealed::served).collect();
    assert_eq!(GOLDEN.lines().collect::<Vec<_>>(), now, "all of them now:\n{}", now.join("\n"));
    let read: Vec<Sealed> = GOLDEN.lines().map(|line| Sealed::from_served_bytes(line.as_bytes()).unwrap()).collect();
    assert_eq!(verify_chain(&read), Ok(read.len() as u64));
}

#[test]
fn every_payload_of_a_portfolio_is_read_and_written_back() {
    fn again<T: Serialize + DeserializeOwned>(payload: &Value) -> Vec<u8> {
        canonical(&serde_json::from_value::<T>(payload.clone()).unwrap()).unwrap()
    }
    for line in GOLDEN.lines() {
        let served: Value = serde_json::from_str(line).unwrap();
        let payload = &served["payload"];
        let written = match served["event_type"].as_str().unwrap() {
            "portfolio_created" => again::<Created>(payload),
            "portfolio_updated" => again::<Updated>(payload),
            "portfolio_status_changed" => again::<StatusChanged>(payload),
            other => panic!("{other} is not read back here"),
        };
        assert_eq!(written, canonical(payload).unwrap(), "{line}");
        assert_eq!((served.get("portfolio_id").is_some(), served.get("intent_id")), (true, None));
    }
}
