//! The events of an intent in a portfolio, and of one that waits for others.

use domain::base::ids::{IntentId, MembershipId, PortfolioId};
use domain::intent::dependency::{BlockedReason, DependencyAdded, DependencyEvent, DependencyMet, DependencyRemoved};
use domain::intent::event::Event;
use domain::intent::status::Status;
use domain::portfolio::membership::{self, Added, MembershipRole};
use uuid::Uuid;

use super::key;

pub(super) fn grouped() -> Vec<Event> {
    let portfolio_id = PortfolioId(Uuid::from_u128(13));
    let bare = Added {
        id: MembershipId(Uuid::from_u128(14)),
        portfolio_id,
        role: MembershipRole::Member,
        priority: 0,
        credential: None,
    };
    let whole = Added { role: MembershipRole::Primary, priority: -7, credential: Some(key()), ..bare.clone() };
    let left = |credential| Event::Left(membership::Removed { portfolio_id, credential });
    vec![Event::Joined(Box::new(bare)), Event::Joined(Box::new(whole)), left(Some(key())), left(None)]
}

pub(super) fn waiting() -> Vec<Event> {
    let dependency_id = IntentId(Uuid::from_u128(15));
    let change = |change| Event::Dependency(Box::new(change));
    let added = |completed, credential| change(DependencyEvent::Added(DependencyAdded { dependency_id, completed, credential }));
    let removed = |completed, agents, credential| {
        change(DependencyEvent::Removed(DependencyRemoved { dependency_id, completed, agents, credential }))
    };
    let status = |old, new, blocked_reason, overrides| Event::StatusChanged { old, new, reason: None, blocked_reason, overrides };
    vec![
        added(false, Some(key())),
        added(true, None),
        status(Status::Active, Status::Blocked, Some(BlockedReason::Dependencies), Vec::new()),
        removed(true, Vec::new(), None),
        removed(false, vec!["bot".into()], Some(key())),
        change(DependencyEvent::Met(DependencyMet { dependency_id, agents: Vec::new() })),
        change(DependencyEvent::Met(DependencyMet { dependency_id, agents: vec!["bot".into(), "other".into()] })),
        status(Status::Active, Status::Completed, None, vec![dependency_id]),
    ]
}
