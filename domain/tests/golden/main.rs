//! The bytes of the log, pinned: an event of every kind, in one chain, as it is hashed and served.
//!
//! A log that was written by an earlier version must verify for ever, so these bytes never change. A new member of an event is
//! written only where it has a value, and gets an event of its own here: `golden.jsonl` gets a line more, and all earlier lines
//! stay.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

mod access;
mod assigned;
mod containers;
mod coordinators;
mod demands;
mod errands;
mod forms;
mod governed;
mod grounds;
mod hands;
mod quorums;
mod receipts;
mod retries;
mod stops;
mod tasks;
mod three_calls;

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use domain::base::ids::{DeliveryId, EventId, IntentId, KeyId, LeaseId, SuspensionId};
use domain::base::json::canonical;
use domain::base::name::Owner;
use domain::base::passkey::{Assertion, Octets};
use domain::base::time::from_micros;
use domain::intent::body::{IntentBody, Patch, PatchOp};
use domain::intent::event::{
    ClientEvent, Event, Expired, ExpiryReason, Extended, ExtensionCause, RefusedAnswer, Reminded, Renotified, Resumed,
};
use domain::intent::record::{Attachment, AttachmentRemoved, Cost, Decision, Failure, Record, RetryPolicy, RetryStrategy};
use domain::intent::status::Status;
use domain::intent::vocabulary::{client_may_append, is_a_type};
use domain::log::payload::Payload;
use domain::log::{Entry, Envelope, Hash, Sealed, verify_chain};
use domain::people::principal::{Assurance, Credential, Role};
use domain::suspension::channel::Way;
use domain::suspension::delivery::{Delivery, Failover};
use domain::suspension::evidence::Evidence;
use domain::suspension::hands::Hands;
use domain::suspension::lease::{Lease, LeaseStatus};
use domain::suspension::requested::Requested;
use domain::suspension::{
    Asker, Ending, FallbackPolicy, Kind, Question, RequiredAssurance, Resolution, ResolutionReason, ResponseType, Style,
    Suspension, SuspensionChoice,
};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// The served events, one to a line.
const GOLDEN: &str = include_str!("../golden.jsonl");

fn at(seconds: i64) -> DateTime<Utc> {
    from_micros(1_795_507_200_000_000 + seconds * 1_000_000 + 42)
}

fn intent() -> IntentId {
    IntentId(Uuid::from_u128(1))
}

fn asked_id() -> SuspensionId {
    SuspensionId(Uuid::from_u128(2))
}

fn key() -> Credential {
    Credential::ApiKey(KeyId(Uuid::from_u128(3)))
}

fn object(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

fn created() -> Vec<Event> {
    let bare = IntentBody {
        title: "Refund order 12345".into(),
        description: String::new(),
        created_by: "bot".into(),
        parent_intent_id: None,
        depends_on: Vec::new(),
        constraints: json!({}),
        state: Map::new(),
        governance_policy: None,
        confidence: 0.0,
    };
    let whole = IntentBody {
        description: "Größe, \u{1F600} and a \"quote\"\n".into(),
        parent_intent_id: Some(IntentId(Uuid::from_u128(9))),
        depends_on: vec![IntentId(Uuid::from_u128(8))],
        constraints: json!(["no weekend", {"limit": 1e21}]),
        state: object(json!({"z": 1, "a": {"deep": [null, -0.0, 0.1]}})),
        governance_policy: Some(json!({"require_approval": true})),
        confidence: 87.5,
        ..bare.clone()
    };
    let patch = |op, path: &str, value| Patch { op, path: path.into(), value };
    let patches = vec![
        patch(PatchOp::Set, "/a/b", json!(1)),
        patch(PatchOp::Append, "list", json!("x")),
        patch(PatchOp::Remove, "gone", Value::Null),
    ];
    let status = |old, new, reason: Option<&str>| Event::StatusChanged {
        old,
        new,
        reason: reason.map(str::to_owned),
        blocked_reason: None,
        overrides: Vec::new(),
    };
    vec![
        Event::IntentCreated(Box::new(bare), Status::Draft),
        Event::IntentCreated(Box::new(whole), Status::Active),
        Event::StatePatched(patches),
        status(Status::Draft, Status::Active, None),
        status(Status::Active, Status::Abandoned, Some("nobody answered")),
    ]
}

fn suspension() -> Suspension {
    Suspension {
        id: asked_id(),
        intent_id: intent(),
        kind: Kind::AwaitingInput,
        version: 1,
        attempt: 1,
        response_type: ResponseType::Confirm,
        choices: SuspensionChoice::yes_no(),
        suspended_at: at(0),
        expires_at: None,
        fallback_policy: FallbackPolicy::Fail,
        fallback_value: None,
        reached: false,
        requires_delivery: true,
        fixed_deadline: false,
        refusals: 0,
        reminded_at: None,
        asked_by: Asker { name: "bot".into(), owner: Owner("team-a".into()) },
        quorum: None,
        schema: None,
        counted: Vec::new(),
        hands: Hands::default(),
        ending: None,
        portfolio_deadline: None,
    }
}

fn question() -> Question {
    Question {
        question: "Refund order 12345?".into(),
        context: Map::new(),
        channel_hint: None,
        timeout_seconds: None,
        retry_policy: None,
        confidence_at_suspension: None,
        decision_record: None,
        recipients: vec!["ops@example.com".into()],
        asked_before: None,
        requested: None,
        client_id: None,
        required_assurance: None,
        assignees: None,
        risk: None,
        separation: None,
        comment_on_refusal: None,
        proposal: None,
        grounds: None,
        errand: None,
    }
}

fn suspended() -> Vec<Event> {
    let choice = SuspensionChoice {
        value: "approve".into(),
        label: "Approve".into(),
        description: Some("The whole amount goes back.".into()),
        style: Style::Primary,
        metadata: Some(object(json!({"amount": 412}))),
    };
    let plain =
        SuspensionChoice { value: "deny".into(), label: "Deny".into(), description: None, style: Style::Danger, metadata: None };
    let policy = json!({
        "max_attempts": 3, "interval_seconds": 600, "final_fallback_policy": "complete_with_fallback",
        "escalation_ladder": [{"attempt": 2, "notify_to": "lead@example.com", "channel_hint": "pager"}, {"attempt": 3, "notify_to": ["a@example.com", "b@example.com"]}],
    });
    let whole = Suspension {
        response_type: ResponseType::Choice,
        choices: vec![choice, plain],
        expires_at: Some(at(1_800)),
        fallback_policy: FallbackPolicy::CompleteWithFallback,
        fallback_value: Some(json!("deny")),
        requires_delivery: false,
        ..suspension()
    };
    let asked = Question {
        context: object(json!({"Amount": 412, "list": [1, "two"], "nested": {"é": true}})),
        channel_hint: Some("email".into()),
        timeout_seconds: Some(1_800),
        retry_policy: Some(serde_json::from_value(policy).unwrap()),
        confidence_at_suspension: Some(0.25),
        decision_record: Some(object(json!({"mode": "request_input", "risk": 0.5}))),
        asked_before: Some(
            serde_json::from_value(json!({"times": 1, "superseded": true, "expires_at": "2026-11-24T09:00:00.000000Z"})).unwrap(),
        ),
        ..question()
    };
    let words = Suspension { response_type: ResponseType::Text, choices: Vec::new(), ..suspension() };
    vec![
        Event::Suspended(Box::new(suspension()), Box::new(question())),
        Event::Suspended(Box::new(whole), Box::new(asked)),
        Event::Suspended(Box::new(words), Box::new(question())),
    ]
}

fn answered() -> Vec<Event> {
    let ending = Ending {
        resolution: Resolution::Responded,
        reason: None,
        at: at(60),
        response: Some(json!("approve")),
        by: Some("alice@example.com".into()),
        metadata: Some(object(json!({"comment": "go ahead"}))),
    };
    let by_link = Resumed {
        suspension_id: asked_id(),
        kind: Kind::AwaitingInput,
        ending: ending.clone(),
        choice_label: Some("Approve".into()),
        choice_description: Some("The whole amount goes back.".into()),
        role: Role::Operator,
        assurance: Assurance::EmailLink,
        credential: Some(Credential::EmailLink(DeliveryId(Uuid::from_u128(4)))),
        claimed_responded_by: None,
        evidence: None,
        assertion: None,
        agreed: Vec::new(),
        in_place_of: None,
        via: None,
        action: None,
    };
    let by_key = Resumed {
        ending: Ending { response: Some(json!({"cap": 5})), metadata: None, ..ending },
        choice_label: None,
        choice_description: None,
        role: Role::Channel,
        assurance: Assurance::ApiKey,
        credential: Some(key()),
        claimed_responded_by: Some("Bob Example".into()),
        ..by_link.clone()
    };
    let before_credentials = Resumed { credential: None, ..by_link.clone() };
    let refused = |code, value, credential| RefusedAnswer {
        suspension_id: asked_id(),
        code,
        value,
        responded_by: "bob".into(),
        credential,
        via: None,
    };
    vec![
        Event::Resumed(Box::new(by_link)),
        Event::Resumed(Box::new(by_key)),
        Event::Resumed(Box::new(before_credentials)),
        Event::LateAnswer(refused("expired", Some(json!("deny")), Some(key()))),
        Event::ResponseRejected(refused("already_resolved", None, None)),
    ]
}

fn with_evidence() -> Event {
    let Some(Event::Resumed(mut resumed)) = answered().into_iter().next() else { panic!("the first answer is no answer") };
    resumed.evidence = Some(Evidence { action_digest: Hash([7; 32]), proposed_digest: None, presented_hash: Hash([8; 32]) });
    Event::Resumed(resumed)
}

fn signed() -> Vec<Event> {
    let Event::Resumed(mut resumed) = with_evidence() else { panic!("the first answer is no answer") };
    let part = |byte| Octets(vec![byte; 40]);
    resumed.assurance = Assurance::Passkey;
    resumed.assertion = Some(Box::new(Assertion {
        credential_id: part(1),
        authenticator_data: part(2),
        client_data_json: part(3),
        signature: part(4),
    }));
    let demanding = Question { required_assurance: Some(RequiredAssurance::Passkey), ..question() };
    vec![Event::Suspended(Box::new(suspension()), Box::new(demanding)), Event::Resumed(resumed)]
}

fn ended() -> Vec<Event> {
    let suspension_id = asked_id();
    let expired = |reason, fallback_policy, fallback_value, reached| {
        Event::SuspensionExpired(Box::new(Expired {
            suspension_id,
            reason,
            attempts: 3,
            fallback_policy,
            fallback_value,
            reached,
            portfolio: None,
        }))
    };
    let cancelled = |reason, note: Option<&str>, credential| Event::SuspensionCancelled {
        suspension_id,
        reason,
        note: note.map(str::to_owned),
        cancelled_by: "bot".into(),
        credential,
    };
    vec![
        expired(ExpiryReason::Timeout, FallbackPolicy::UseDefaultAndContinue, Some(json!("deny")), true),
        expired(ExpiryReason::Undeliverable, FallbackPolicy::Fail, None, false),
        Event::SuspensionUndeliverable { suspension_id },
        cancelled(ResolutionReason::Withdrawn, Some("not needed"), Some(key())),
        cancelled(ResolutionReason::Superseded, None, None),
    ]
}

fn told() -> Vec<Event> {
    let renotified = Renotified {
        suspension_id: asked_id(),
        attempt: 2,
        max_attempts: 3,
        channel_hint: Some("pager".into()),
        notify_to: vec!["lead@example.com".into()],
        next_attempt_at: Some(at(1_200)),
        skipped: false,
        makes_up_from: 2,
    };
    let skipped = Renotified { channel_hint: None, next_attempt_at: None, skipped: true, ..renotified.clone() };
    let reminded = Reminded {
        suspension_id: asked_id(),
        attempt: 1,
        notify_to: vec!["ops@example.com".into()],
        ways: vec![Way { channel: "email".into(), recipient: "ops@example.com".into() }],
        reminded_by: "alice".into(),
        credential: Some(key()),
    };
    let extended = |cause, reason: Option<&str>, credential| {
        Event::SuspensionExtended(Box::new(Extended {
            suspension_id: asked_id(),
            cause,
            old_expires_at: at(1_800),
            new_expires_at: at(3_600),
            reason: reason.map(str::to_owned),
            extended_by: "alice".into(),
            credential,
        }))
    };
    vec![
        Event::SuspensionRenotified(Box::new(renotified)),
        Event::SuspensionRenotified(Box::new(skipped)),
        Event::SuspensionEscalated {
            suspension_id: asked_id(),
            attempt: 2,
            escalated_to: vec!["lead@example.com".into()],
            channel_hint: None,
        },
        Event::SuspensionReminded(Box::new(reminded)),
        extended(ExtensionCause::Request, Some("they are at lunch"), Some(key())),
        extended(ExtensionCause::Outage, None, None),
    ]
}

fn delivered() -> Vec<Event> {
    let delivery = Delivery {
        suspension_id: asked_id(),
        delivery_id: DeliveryId(Uuid::from_u128(4)),
        attempt: 1,
        sequence: 1,
        channel: "email".into(),
        recipient: "ops@example.com".into(),
        detail: "250 2.0.0 kept".into(),
        tries: 1,
    };
    let failover = Failover {
        suspension_id: asked_id(),
        attempt: 1,
        rung_attempt: 2,
        channel_hint: Some("pager".into()),
        notify_to: vec!["lead@example.com".into()],
        unreachable: vec!["ops@example.com".into()],
        reason: "550 5.1.1 no mailbox".into(),
    };
    vec![
        Event::DeliverySent { delivery: delivery.clone(), reached: true },
        Event::DeliveryFailed(delivery.clone()),
        Event::DeliveryBounced { delivery: delivery.clone(), reached: false },
        Event::DeliveryFailover(Box::new(failover)),
        Event::DeliveryRedriven { delivery, redriven_by: "boss".into(), credential: Some(key()) },
    ]
}

fn held() -> Vec<Event> {
    let lease = Lease {
        id: LeaseId(Uuid::from_u128(5)),
        intent_id: intent(),
        agent_id: "bot/1".into(),
        scope: "state".into(),
        status: LeaseStatus::Active,
        acquired_at: at(0),
        created_at: at(0),
        expires_at: at(300),
        duration_seconds: 300,
        released_at: None,
    };
    let released = Lease { status: LeaseStatus::Released, released_at: Some(at(60)), ..lease.clone() };
    vec![
        Event::LeaseAcquired(Box::new(lease.clone())),
        Event::LeaseRenewed(Box::new(lease)),
        Event::LeaseReleased(Box::new(released)),
    ]
}

fn appended() -> Vec<Event> {
    let comment = ClientEvent {
        event_type: "comment".into(),
        payload: object(json!({"text": "by hand", "z": [1.0, 1e-7, "\u{7}\u{2028}"]})),
        claimed_actor: None,
        trace_id: None,
        parent_event_id: None,
    };
    let traced = ClientEvent {
        event_type: "x.own".into(),
        claimed_actor: Some("someone".into()),
        trace_id: Some("4bf92f3577b34da6a3ce929d0e0e4736".into()),
        parent_event_id: Some("00f067aa0ba902b7".into()),
        ..comment.clone()
    };
    vec![Event::Appended(comment), Event::Appended(traced)]
}

fn recorded() -> Vec<Event> {
    let metadata = object(json!({"z": 1, "ä": [0.5]}));
    let failure = Failure {
        agent_id: "bot/1".into(),
        claimed_agent_id: None,
        attempt_number: None,
        error_code: None,
        error_type: None,
        error_message: None,
        recoverable: None,
        retry_scheduled_at: None,
        metadata: Map::new(),
    };
    let whole = Failure {
        claimed_agent_id: Some("other".into()),
        attempt_number: Some(2),
        error_code: Some("E1".into()),
        error_type: Some("timeout".into()),
        error_message: Some("it took too long".into()),
        recoverable: Some(true),
        retry_scheduled_at: Some(at(90)),
        metadata: metadata.clone(),
        ..failure.clone()
    };
    let cost = Cost {
        agent_id: "bot/1".into(),
        claimed_agent_id: None,
        cost_type: "tokens".into(),
        amount: 1_500.into(),
        unit: "tokens".into(),
        provider: None,
        metadata: Map::new(),
    };
    let named = Cost {
        claimed_agent_id: Some("other".into()),
        amount: serde_json::Number::from_f64(0.25).unwrap(),
        provider: Some("acme".into()),
        metadata: metadata.clone(),
        ..cost.clone()
    };
    let attachment = Attachment {
        filename: "invoice.pdf".into(),
        mime_type: "application/pdf".into(),
        size: 9_007_199_254_740_991,
        storage_url: "s3://bucket/invoice.pdf".into(),
        metadata,
    };
    let policy = RetryPolicy {
        strategy: RetryStrategy::Exponential,
        max_retries: 3,
        base_delay_ms: 1_000,
        max_delay_ms: 60_000,
        fallback_agent_id: Some("bot/2".into()),
        failure_threshold: 3,
        enforced: false,
    };
    let decision =
        Decision { decision_type: "approach".into(), outcome: "refund".into(), reasoning: "the order was late".into() };
    let records = [
        Record::Decision(decision),
        Record::Attachment(attachment),
        Record::AttachmentRemoved(AttachmentRemoved { attachment_id: EventId(Uuid::from_u128(1_036)) }),
        Record::Cost(cost),
        Record::Cost(named),
        Record::Failure(failure),
        Record::Failure(whole),
        Record::RetryPolicy(policy),
    ];
    records.into_iter().map(|record| Event::Recorded(Box::new(record))).collect()
}

/// Requests to people that do not suspend the intent, and the answers to them.
fn requested() -> Vec<Event> {
    let request = |kind, requested: Requested| {
        let suspension = Suspension { kind, response_type: ResponseType::Text, choices: vec![], ..suspension() };
        Event::Suspended(Box::new(suspension), Box::new(Question { requested: Some(Box::new(requested)), ..question() }))
    };
    let answer = |kind, value: &str| {
        let Some(Event::Resumed(resumed)) = answered().into_iter().next() else { panic!("the first is an answer") };
        let ending = Ending { response: Some(json!(value)), metadata: None, ..resumed.ending.clone() };
        Event::Resumed(Box::new(Resumed { kind, ending, choice_label: None, choice_description: None, ..*resumed }))
    };
    let bare = Requested {
        action: None,
        reason: "two agents disagree".into(),
        priority: None,
        urgency: None,
        requested_by: "bot".into(),
        claimed_requested_by: None,
        intent_version: 3,
    };
    let whole = Requested {
        action: Some("complete".into()),
        reason: String::new(),
        claimed_requested_by: Some("agent-1".into()),
        ..bare.clone()
    };
    let urgent = Requested { priority: Some("high".into()), urgency: Some("low".into()), ..bare.clone() };
    vec![
        request(Kind::Approval, whole),
        request(Kind::Escalation, urgent),
        request(Kind::Arbitration, bare),
        answer(Kind::Approval, "approve"),
        answer(Kind::Approval, "deny"),
        answer(Kind::Escalation, "try the other bank"),
        answer(Kind::Arbitration, "the first agent is right"),
    ]
}

/// Examples of every kind of event, in the order of the lines of `golden.jsonl`; new ones are added at the end.
fn kinds() -> Vec<Event> {
    [created(), suspended(), answered(), ended(), told(), delivered(), held(), appended(), recorded(), assigned::events()]
        .into_iter()
        .chain([
            requested(),
            governed::events(),
            access::events(),
            three_calls::events(),
            containers::grouped(),
            vec![Event::AskerWentOn { suspension_id: asked_id() }],
            containers::waiting(),
            containers::under_a_deadline(),
            tasks::tasks(),
            tasks::plans(),
            coordinators::events(),
            retries::events(),
            tasks::branches(),
            vec![with_evidence()],
            receipts::events(),
            signed(),
            quorums::events(),
            forms::events(),
            demands::events(),
            hands::events(),
            forms::proposals(),
            hands::deputies(),
            grounds::events(),
            demands::recent(),
            stops::events(),
            stops::parks(),
            errands::events(),
            stops::endings(),
            errands::refused(),
            stops::by_message(),
        ])
        .flatten()
        .collect()
}

fn chain() -> Vec<Sealed> {
    let mut previous = None;
    (1..)
        .zip(&kinds())
        .map(|(sequence, event)| {
            let salt = [u8::try_from(sequence).unwrap(); 32];
            let (id, created_at) = (Uuid::from_u128(1_000 + u128::from(sequence)), at(60));
            let envelope = Envelope { id, sequence, actor: "bot", created_at, previous, salt };
            let sealed = envelope.seal(Entry::Intent(intent(), event)).unwrap();
            previous = Some(sealed.hash);
            sealed
        })
        .collect()
}

#[test]
fn the_bytes_of_every_event_are_as_they_were() {
    let now: Vec<String> = chain().iter().map(Sealed::served).collect();
    for (index, line) in now.iter().enumerate() {
        assert_eq!(GOLDEN.lines().nth(index), Some(line.as_str()), "line {}; all of them now:\n{}", index + 1, now.join("\n"));
    }
    assert_eq!(GOLDEN.lines().count(), now.len());
}

#[test]
fn what_was_written_before_is_read_back_and_verified() {
    let read: Vec<_> = GOLDEN.lines().map(|line| Sealed::from_served_bytes(line.as_bytes()).unwrap()).collect();
    assert_eq!(verify_chain(&read), Ok(read.len() as u64));
    assert_eq!(read, chain());
}

/// Every kind of event has an example in `kinds`: the bytes of a kind without one could change unnoticed. The match below names
/// all kinds, so it does not compile after a kind was added.
#[test]
fn every_kind_of_event_is_pinned() {
    let name = |event: &Event| match event {
        Event::IntentCreated(..) => "intent_created",
        Event::StatePatched(_) => "state_patched",
        Event::StatusChanged { .. } => "status_changed",
        Event::Suspended(suspension, _) => match suspension.kind {
            Kind::AwaitingInput | Kind::Paused | Kind::Parked | Kind::Stopping => "intent.suspended",
            Kind::Approval => "governance.approval_requested",
            Kind::Escalation => "escalation_requested",
            Kind::Arbitration => "arbitration_requested",
        },
        Event::Resumed(resumed) => match (resumed.kind, resumed.ending.response.as_ref().and_then(Value::as_str)) {
            (Kind::AwaitingInput | Kind::Paused | Kind::Parked | Kind::Stopping, _) => "intent.resumed",
            (Kind::Approval, Some("approve")) => "governance.approval_granted",
            (Kind::Approval, _) => "governance.approval_denied",
            (Kind::Escalation, _) => "escalation_resolved",
            (Kind::Arbitration, _) => "arbitration_resolved",
        },
        Event::Announced(_) => "intent.suspension_announced",
        Event::AnsweredUnasked(_) => "intent.unasked_answer",
        Event::Adopted { .. } => "intent.suspension_adopted",
        Event::AskerWentOn { .. } => "intent.asker_went_on",
        Event::AnswerCounted(_) => "intent.answer_counted",
        Event::AnswerTakenBack(_) => "intent.answer_taken_back",
        Event::Hands(change) => change.event_type(),
        Event::Stop(change) => change.event_type(),
        Event::SuspensionExpired(_) => "intent.suspension_expired",
        Event::SuspensionRenotified(_) => "intent.suspension_renotified",
        Event::SuspensionEscalated { .. } => "intent.suspension_escalated",
        Event::SuspensionReminded(_) => "intent.suspension_reminded",
        Event::SuspensionExtended(_) => "intent.suspension_extended",
        Event::SuspensionUndeliverable { .. } => "intent.suspension_undeliverable",
        Event::SuspensionCancelled { .. } => "intent.suspension_cancelled",
        Event::LateAnswer(_) => "intent.late_answer",
        Event::ResponseRejected(_) => "intent.response_rejected",
        Event::LeaseAcquired(_) => "lease_acquired",
        Event::LeaseRenewed(_) => "lease_renewed",
        Event::LeaseReleased(_) => "lease_released",
        Event::DeliverySent { .. } => "delivery.sent",
        Event::DeliveryFailed(_) => "delivery.failed",
        Event::DeliveryBounced { .. } => "delivery.bounced",
        Event::DeliveryFailover(_) => "delivery.failover",
        Event::DeliveryRedriven { .. } => "delivery.redriven",
        Event::AgentAssigned(_) => "agent_assigned",
        Event::AgentUnassigned(_) => "agent_unassigned",
        Event::Access(change) => change.event_type(),
        Event::Joined(_) => "added_to_portfolio",
        Event::Left(_) => "removed_from_portfolio",
        Event::Member(change) => change.event_type(),
        Event::Dependency(change) => change.event_type(),
        Event::Task(change) => change.event_type(),
        Event::Plan(change) => change.event_type(),
        Event::Coordinator(change) => change.event_type(),
        Event::Retry(change) => change.event_type(),
        Event::Receipt(change) => change.event_type(),
        Event::PolicyChanged { policy: Some(_), .. } => "governance.policy_set",
        Event::PolicyChanged { policy: None, .. } => "governance.policy_removed",
        Event::Violated(_) => "governance.violation",
        Event::Recorded(record) => record.event_type(),
        Event::Appended(_) => "comment",
    };
    let kinds = kinds();
    let pinned: BTreeSet<&str> = kinds.iter().map(name).collect();
    assert_eq!(pinned.len(), 116, "{pinned:?}");
    for event in kinds.iter().filter(|event| !matches!(event, Event::Appended(_))) {
        assert_eq!(event.event_type(), name(event));
        assert!(is_a_type(event.event_type()), "no endpoint could subscribe to {}", event.event_type());
    }
}

/// The payloads of the log are read back as they were written, however the bodies of requests and responses change.
#[test]
fn every_golden_payload_is_read_and_written_back() {
    for line in GOLDEN.lines() {
        let served: Value = serde_json::from_str(line).unwrap();
        let event_type = served["event_type"].as_str().unwrap();
        let payload = Payload::read(event_type, served["payload"].clone()).unwrap();
        assert_eq!(canonical(&payload).unwrap(), canonical(&served["payload"]).unwrap(), "{event_type}");
        assert_eq!(matches!(payload, Payload::Appended(_)), client_may_append(event_type), "{event_type}");
    }
}
