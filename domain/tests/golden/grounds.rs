//! A question with everything on which people decide.

use domain::base::ids::{IntentId, SuspensionId};
use domain::intent::event::Event;
use domain::log::Hash;
use domain::suspension::grounds::{Content, Decided, EarlierDecision, Explanation, Grounds, Reversibility};
use domain::suspension::{Question, Resolution, ResolutionReason};
use serde_json::json;
use uuid::Uuid;

use super::{question, suspension};

pub(super) fn events() -> Vec<Event> {
    let explanation = Explanation {
        what_happens: Some("€412.00 are paid.".into()),
        why: Some("The parcel is lost.".into()),
        impact: Some("One customer.".into()),
        rollback: Some("Charge the card again.".into()),
        links: vec!["https://orders.example/12345".into()],
        evidence: Some(json!({"parcel": "lost", "days": 21})),
    };
    let earlier = |number: u8, resolution, reason| EarlierDecision {
        suspension_id: SuspensionId(Uuid::from_u128(u128::from(number))),
        intent_id: IntentId(Uuid::from_u128(u128::from(number) + 100)),
        event_hash: Hash([number; 32]),
        resolution,
        reason,
        at: suspension().suspended_at,
        // The content stands in the event that has the hash, and nowhere else.
        content: Content::Read(Decided { value: Some(json!("yes")), label: Some("Yes".into()), by: vec!["ada".into()] }),
    };
    let all = Grounds {
        question_key: Some("refund".into()),
        explanation: Some(explanation),
        reversibility: Some(Reversibility::HardToReverse),
        earlier: vec![
            earlier(1, Resolution::Responded, None),
            earlier(2, Resolution::Cancelled, Some(ResolutionReason::QuorumUnmet)),
        ],
    };
    let some = Grounds { reversibility: Some(Reversibility::Irreversible), ..Grounds::default() };
    let with = |grounds: Grounds| {
        let question = Question { grounds: grounds.boxed(), ..question() };
        Event::Suspended(Box::new(suspension()), Box::new(question))
    };
    vec![with(all), with(some)]
}
