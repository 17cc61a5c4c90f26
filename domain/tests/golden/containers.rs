//! The events of an intent in a portfolio, and of one that waits for others.

use domain::base::ids::{IntentId, MembershipId, PortfolioId};
use domain::base::time::from_micros;
use domain::intent::dependency::{BlockedReason, DependencyAdded, DependencyEvent, DependencyMet, DependencyRemoved};
use domain::intent::event::{Event, Expired, ExpiryReason};
use domain::intent::status::Status;
use domain::portfolio::membership::{self, Added, MemberEvent, MemberResumed, MemberSuspended, MembershipRole};
use domain::suspension::{FallbackPolicy, PortfolioDeadline, Resolution};
use uuid::Uuid;

use super::{asked_id, key};

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

pub(super) fn under_a_deadline() -> Vec<Event> {
    let (portfolio_id, suspension_id) = (PortfolioId(Uuid::from_u128(13)), asked_id());
    vec![
        Event::Member(MemberEvent::Suspended(MemberSuspended { portfolio_id, suspension_id, suspended_member_count: 1 })),
        Event::Member(MemberEvent::Resumed(MemberResumed {
            portfolio_id,
            suspension_id,
            suspended_member_count: 0,
            resolution: Resolution::Responded,
        })),
        Event::SuspensionExpired(Box::new(Expired {
            suspension_id,
            reason: ExpiryReason::PortfolioDeadline,
            attempts: 2,
            fallback_policy: FallbackPolicy::UseDefaultAndContinue,
            fallback_value: None,
            reached: true,
            portfolio: Some(PortfolioDeadline { portfolio_id, at: from_micros(1_795_507_200_000_042) }),
        })),
    ]
}
