//! The events about the access of agents to an intent.

use domain::base::ids::AccessId;
use domain::base::name::Owner;
use domain::intent::access::{self, AccessEvent, Decided, Granted, PrincipalType, Removed};
use domain::intent::event::Event;
use domain::people::access::Permission;
use domain::suspension::Asker;
use uuid::Uuid;

use super::{at, key};

pub(super) fn events() -> Vec<Event> {
    let id = |number| AccessId(Uuid::from_u128(number));
    let bare = Granted {
        id: id(10),
        principal_id: "helper".into(),
        principal_type: PrincipalType::Agent,
        permission: Permission::Read,
        expires_at: None,
        reason: None,
        request_id: None,
        credential: None,
    };
    let whole = Granted {
        id: id(11),
        permission: Permission::Admin,
        expires_at: Some(at(600)),
        reason: Some("it checks refunds".into()),
        request_id: Some(id(11)),
        credential: Some(key()),
        ..bare.clone()
    };
    let revoked = Removed { id: id(10), principal_id: "helper".into(), expires_at: None, credential: Some(key()) };
    let expired = Removed { id: id(11), expires_at: Some(at(600)), credential: None, ..revoked.clone() };
    let requested = access::Requested {
        id: id(11),
        principal_id: "helper".into(),
        principal_type: PrincipalType::Agent,
        requested_permission: Permission::Write,
        reason: "it checks refunds".into(),
        capabilities: vec!["audit".into()],
        credential: Some(key()),
    };
    let denied = Decided {
        request_id: id(12),
        principal_id: "helper".into(),
        permission: None,
        expires_at: None,
        reason: None,
        decided_by: "alice@example.com".into(),
        claimed_decided_by: None,
        credential: Some(key()),
    };
    let approved = Decided {
        request_id: id(11),
        permission: Some(Permission::Read),
        expires_at: Some(at(600)),
        reason: Some("it is known".into()),
        claimed_decided_by: Some("bob@example.com".into()),
        ..denied.clone()
    };
    let asker = Asker { name: "helper".into(), owner: Owner("team-b".into()) };
    let changes = [
        AccessEvent::Granted(bare),
        AccessEvent::Granted(whole),
        AccessEvent::Revoked(revoked),
        AccessEvent::Expired(expired),
        AccessEvent::Requested(requested, asker),
        AccessEvent::Approved(approved),
        AccessEvent::Denied(denied),
    ];
    changes.into_iter().map(|change| Event::Access(Box::new(change))).collect()
}
