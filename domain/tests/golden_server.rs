//! The bytes of the server's own log, pinned like those of an intent's log in `golden/main.rs`: an event of every kind, in one
//! chain.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use chrono::TimeDelta;
use domain::base::ids::{HoldId, IntentId, KeyId, PersonId, SessionId};
use domain::base::json::canonical;
use domain::base::name::Owner;
use domain::base::passkey::Octets;
use domain::base::time::from_micros;
use domain::log::payload::{Key, KeyRevoked};
use domain::log::{Entry, Envelope, Sealed, verify_chain};
use domain::people::client::Client;
use domain::people::event::{
    GroupChanged, GroupRemoved, HoldChanged, IdentityBound, KeyFacts, LogExported, LogKeyAdded, PasskeyAdded, PasskeyRemoved,
    PayloadRedacted, PersonAdded, PersonAway, PersonChanged, PersonNamed, ServerEvent, SessionBegan, SessionEnded,
};
use domain::people::hold::HoldScope;
use domain::people::identity::{Beginning, LoginMethod};
use domain::people::principal::{Credential, Role};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

/// The served events, one to a line.
const GOLDEN: &str = include_str!("golden_server.jsonl");

fn facts(role: Role, tied_to: Option<&[&str]>) -> KeyFacts {
    KeyFacts {
        id: KeyId(Uuid::from_u128(7)),
        name: "pager \"night\"".into(),
        subject: "pager@example.com".into(),
        owner: Owner("operations".into()),
        role,
        client: None,
        tied_to: tied_to.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
    }
}

fn held(scope: HoldScope, credential: Option<Credential>) -> HoldChanged {
    HoldChanged { hold_id: HoldId(Uuid::from_u128(11)), scope, reason: "Litigation 2026-7".into(), credential }
}

fn events() -> Vec<ServerEvent> {
    let at = |seconds: i64| from_micros(1_795_507_200_000_000 + seconds * 1_000_000 + 42);
    let credential = Some(Credential::ApiKey(KeyId(Uuid::from_u128(3))));
    vec![
        ServerEvent::KeyRecorded { key: facts(Role::Agent, None), created_at: at(-9), revoked_at: None },
        ServerEvent::KeyRecorded { key: facts(Role::Admin, None), created_at: at(-9), revoked_at: Some(at(-3)) },
        ServerEvent::KeyCreated { key: facts(Role::Channel, Some(&["email", "pager"])), credential },
        ServerEvent::KeyCreated { key: facts(Role::Channel, None), credential: None },
        ServerEvent::KeyImported { key: facts(Role::Operator, None), credential },
        ServerEvent::KeyRevoked { key_id: KeyId(Uuid::from_u128(7)), name: "pager \"night\"".into(), credential },
        ServerEvent::KeyRevoked { key_id: KeyId(Uuid::from_u128(7)), name: "pager \"night\"".into(), credential: None },
        ServerEvent::KeyCreated { key: KeyFacts { client: Some(Client::OpenIntent017), ..facts(Role::Agent, None) }, credential },
        ServerEvent::LogKeyAdded(LogKeyAdded { key: "example.com/log+0a+AQ==".into(), replaces: None, signature: None }),
        ServerEvent::LogKeyAdded(LogKeyAdded {
            key: "example.com/log+0b+AQ==".into(),
            replaces: Some("example.com/log+0a+AQ==".into()),
            signature: Some("c2lnbmVk".into()),
        }),
        ServerEvent::LogExported(LogExported { format: "jsonl".into(), size: 9, after: None, selection: None, credential }),
        ServerEvent::LogExported(LogExported {
            format: "csv".into(),
            size: 9,
            after: Some(4),
            selection: Some([("agent".to_owned(), Value::from("bot"))].into_iter().collect()),
            credential,
        }),
        ServerEvent::PayloadRedacted(PayloadRedacted {
            intent_id: IntentId(Uuid::from_u128(9)),
            first_sequence: 1,
            last_sequence: 12,
            legal_basis: "GDPR Art. 17(1)(a)".into(),
            credential,
        }),
        ServerEvent::HoldPlaced(held(HoldScope::Everything, credential)),
        ServerEvent::HoldPlaced(held(HoldScope::Agent("bot".into()), None)),
        ServerEvent::HoldLifted(held(HoldScope::Intent(IntentId(Uuid::from_u128(9))), credential)),
    ]
    .into_iter()
    .chain(events_of_people(credential))
    .chain(events_of_groups(credential))
    .chain(events_of_identities())
    .chain(events_of_absences(credential))
    .chain(events_of_preferences(credential))
    .chain([event_of_a_recent_login()])
    .collect()
}

fn events_of_people(credential: Option<Credential>) -> Vec<ServerEvent> {
    let (person_id, session_id) = (PersonId(Uuid::from_u128(8)), SessionId(Uuid::from_u128(9)));
    let session = Some(Credential::Session(session_id));
    let address = || "ada@example.com".to_owned();
    let added = |role, credential| {
        ServerEvent::PersonAdded(PersonAdded { person_id, address: address(), role, time_zone: None, locale: None, credential })
    };
    let named = |credential| PersonNamed { person_id, address: address(), credential };
    let began = |replaces| {
        let (role, method, auth_time) = (Role::Auditor, None, None);
        ServerEvent::SessionBegan(SessionBegan { session_id, person_id, role, replaces, method, auth_time, recent_until: None })
    };
    let ended = |everywhere| ServerEvent::SessionEnded(SessionEnded { session_id, person_id, everywhere });
    vec![
        added(Role::Auditor, None),
        added(Role::Operator, credential),
        ServerEvent::PersonConfirmed(named(None)),
        began(None),
        began(Some(SessionId(Uuid::from_u128(10)))),
        ended(false),
        ended(true),
        ServerEvent::PersonRemoved(named(credential)),
        ServerEvent::LogExported(LogExported {
            format: "csv".into(),
            size: 9,
            after: None,
            selection: None,
            credential: session,
        }),
        passkey_added(None, session),
        passkey_added(Some(octets(7)), session),
        ServerEvent::PasskeyRemoved(PasskeyRemoved { person_id, person: address(), credential_id: octets(7), credential: None }),
    ]
}

fn events_of_preferences(credential: Option<Credential>) -> Vec<ServerEvent> {
    let (person_id, address, role) = (PersonId(Uuid::from_u128(8)), "ada@example.com".to_owned(), Role::Operator);
    let (time_zone, locale) = (Some("Europe/Vienna".to_owned()), Some("de-AT".to_owned()));
    let added = PersonAdded { person_id, address: address.clone(), role, time_zone, locale: locale.clone(), credential };
    let changed = PersonChanged { person_id, address, role, time_zone: None, locale, credential: None };
    vec![ServerEvent::PersonAdded(added), ServerEvent::PersonChanged(changed)]
}

fn events_of_groups(credential: Option<Credential>) -> Vec<ServerEvent> {
    let changed = |role, credential| {
        let (person_id, address) = (PersonId(Uuid::from_u128(8)), "ada@example.com".to_owned());
        ServerEvent::PersonChanged(PersonChanged { person_id, address, role, time_zone: None, locale: None, credential })
    };
    let set = |members: &[&str], credential| {
        let members = members.iter().map(|member| (*member).to_owned()).collect();
        ServerEvent::GroupChanged(GroupChanged { group: "finance".to_owned(), members, credential })
    };
    let removed = |credential| ServerEvent::GroupRemoved(GroupRemoved { group: "finance".to_owned(), credential });
    vec![
        changed(Role::Admin, None),
        changed(Role::Operator, credential),
        set(&["ada@example.com"], credential),
        set(&["ada@example.com", "bob@example.com"], None),
        removed(credential),
        removed(None),
    ]
}

fn events_of_absences(credential: Option<Credential>) -> Vec<ServerEvent> {
    let (person_id, address) = (PersonId(Uuid::from_u128(8)), "ada@example.com".to_owned());
    let away = |credential| {
        let (deputy_id, deputy) = (PersonId(Uuid::from_u128(9)), "bob@example.com".to_owned());
        let (from, until) = (from_micros(1_795_507_200_000_000), from_micros(1_796_507_200_000_042));
        ServerEvent::PersonAway(PersonAway { person_id, address: address.clone(), from, until, deputy_id, deputy, credential })
    };
    let back = |credential| ServerEvent::PersonBack(PersonNamed { person_id, address: address.clone(), credential });
    vec![away(credential), away(None), back(credential), back(None)]
}

fn events_of_identities() -> Vec<ServerEvent> {
    let (person_id, session_id) = (PersonId(Uuid::from_u128(8)), SessionId(Uuid::from_u128(9)));
    let began = |method, auth_time| {
        let (role, replaces, method) = (Role::Auditor, None, Some(method));
        ServerEvent::SessionBegan(SessionBegan { session_id, person_id, role, replaces, method, auth_time, recent_until: None })
    };
    vec![
        ServerEvent::IdentityBound(IdentityBound {
            person_id,
            address: "ada@example.com".to_owned(),
            issuer: "https://login.example.com".to_owned(),
            subject: "248289761001".to_owned(),
        }),
        began(LoginMethod::OpenId, Some(from_micros(1_795_507_100_000_000))),
        began(LoginMethod::OpenId, None),
        began(LoginMethod::Mail, None),
    ]
}

/// A login by an issuer that says when it was, so that it counts as recent for a while.
fn event_of_a_recent_login() -> ServerEvent {
    let (person_id, session_id) = (PersonId(Uuid::from_u128(8)), SessionId(Uuid::from_u128(9)));
    let beginning =
        Beginning::openid(Some(from_micros(1_795_507_100_000_000)), TimeDelta::minutes(5), from_micros(1_795_507_200_000_000));
    let Beginning { method, auth_time, recent_until } = beginning;
    let (role, replaces, method) = (Role::Operator, None, Some(method));
    ServerEvent::SessionBegan(SessionBegan { session_id, person_id, role, replaces, method, auth_time, recent_until })
}

fn octets(byte: u8) -> Octets {
    Octets(vec![byte; 20])
}

fn passkey_added(allowed_by: Option<Octets>, credential: Option<Credential>) -> ServerEvent {
    ServerEvent::PasskeyAdded(PasskeyAdded {
        person_id: PersonId(Uuid::from_u128(8)),
        person: "ada@example.com".to_owned(),
        credential_id: octets(if allowed_by.is_some() { 8 } else { 7 }),
        public_key: octets(9),
        algorithm: -7,
        rp_id: "placet.example".to_owned(),
        allowed_by,
        credential,
    })
}

fn chain() -> Vec<Sealed> {
    let mut previous = None;
    (1..)
        .zip(&events())
        .map(|(sequence, event)| {
            let (id, created_at) = (Uuid::from_u128(1_000 + u128::from(sequence)), from_micros(1_795_507_200_000_042));
            let salt = [u8::try_from(sequence).unwrap(); 32];
            let actor = if sequence == 4 { "local:0@build-host" } else { "root" };
            let sealed = Envelope { id, sequence, actor, created_at, previous, salt }.seal(Entry::Server(event)).unwrap();
            previous = Some(sealed.hash);
            sealed
        })
        .collect()
}

#[test]
fn the_bytes_of_every_event_of_the_server_are_as_they_were() {
    let now: Vec<String> = chain().iter().map(Sealed::served).collect();
    assert_eq!(GOLDEN.lines().collect::<Vec<_>>(), now, "all of them now:\n{}", now.join("\n"));
    let read: Vec<Sealed> = GOLDEN.lines().map(|line| Sealed::from_served_bytes(line.as_bytes()).unwrap()).collect();
    assert_eq!(verify_chain(&read), Ok(read.len() as u64));
}

#[test]
fn every_payload_of_the_server_is_read_and_written_back() {
    fn again<T: Serialize + DeserializeOwned>(payload: &Value) -> Vec<u8> {
        canonical(&serde_json::from_value::<T>(payload.clone()).unwrap()).unwrap()
    }
    for line in GOLDEN.lines() {
        let served: Value = serde_json::from_str(line).unwrap();
        let payload = &served["payload"];
        let written = match served["event_type"].as_str().unwrap() {
            "key.created" | "key.imported" | "key.recorded" => again::<Key>(payload),
            "key.revoked" => again::<KeyRevoked>(payload),
            "log.exported" => again::<LogExported>(payload),
            "log_key.added" => again::<LogKeyAdded>(payload),
            "hold.placed" | "hold.lifted" => again::<HoldChanged>(payload),
            "payload.redacted" => again::<PayloadRedacted>(payload),
            "person.added" => again::<PersonAdded>(payload),
            "person.away" => again::<PersonAway>(payload),
            "person.confirmed" | "person.removed" | "person.back" => again::<PersonNamed>(payload),
            "person.changed" => again::<PersonChanged>(payload),
            "group.changed" => again::<GroupChanged>(payload),
            "group.removed" => again::<GroupRemoved>(payload),
            "identity.bound" => again::<IdentityBound>(payload),
            "session.began" => again::<SessionBegan>(payload),
            "session.ended" => again::<SessionEnded>(payload),
            "passkey.added" => again::<PasskeyAdded>(payload),
            "passkey.removed" => again::<PasskeyRemoved>(payload),
            other => panic!("{other} is not read back here"),
        };
        assert_eq!(written, canonical(payload).unwrap(), "{line}");
        assert_eq!((&served["log"], served.get("intent_id")), (&Value::from("server"), None));
    }
}
