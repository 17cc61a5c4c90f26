//! An intent, and everything that may happen to it: `decide` returns the events that a command causes, and `evolve` applies them.

pub mod access;
mod agents;
pub mod announcement;
mod announcing;
pub mod answer;
pub mod assignment;
pub mod body;
mod changing;
pub mod command;
pub mod contract;
mod coordinators;
mod course;
pub mod decide;
pub mod deliveries;
pub mod dependency;
mod entries;
pub mod event;
pub mod evolve;
pub mod fate;
pub mod govern;
pub mod governance;
mod graph;
mod handing;
pub mod hands;
mod leases;
mod operator;
pub mod permit;
mod plans;
mod portfolios;
mod proposed;
mod quorum;
pub mod receipt;
pub mod record;
pub mod refusal;
mod resting;
mod retries;
pub mod retry;
pub mod status;
pub mod stop_command;
pub mod stop_event;
mod stops;
mod suspend;
mod tasks;
pub mod vocabulary;
pub mod workflow;

use chrono::{DateTime, Utc};

pub use self::entries::lapsed;
pub use self::graph::depending;
use crate::base::ids::{IntentId, SuspensionId};
use crate::base::name::is_same;
use crate::container::coordinator::Coordinator;
use crate::container::plan::Plan;
use crate::container::task::Task;
use crate::intent::access::OpenRequest;
use crate::intent::announcement::Announcement;
use crate::intent::assignment::Alias;
use crate::intent::contract::Phase;
use crate::intent::dependency::{BlockedReason, HeldUp, Upstream};
use crate::intent::governance::Governance;
use crate::intent::retry::Retry;
use crate::intent::status::Status;
use crate::people::access::Entry;
use crate::people::principal::Principal;
use crate::portfolio::membership::{Joined, MemberOf, earliest_deadline};
use crate::problem::Blocking;
use crate::suspension::lease::Lease;
use crate::suspension::stop::Stop;
use crate::suspension::{Asker, PortfolioDeadline, Suspension};

/// The part of an intent that decisions need.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and none excludes another")]
pub struct Intent {
    /// Its id.
    pub id: IntentId,
    /// Its status.
    pub status: Status,
    /// 1 at first; +1 per patch of the state, change of status and change of policy.
    pub version: u32,
    /// The credential that created it.
    pub created_by: Asker,
    /// When it began.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
    /// The open question for which the intent waits.
    pub open: Option<Suspension>,
    /// The open stop: the intent is paused or parked.
    pub stop: Option<Box<Stop>>,
    /// The stop that the command names and that has ended.
    pub past_stop: Option<Box<Stop>>,
    /// The question that an agent has announced, but not sent yet.
    pub announcement: Option<Announcement>,
    /// The open requests that do not stop the intent, for example for an approval; only those are loaded that the command needs.
    pub beside: Vec<Suspension>,
    /// The ended suspensions that the command names.
    pub ended: Vec<Suspension>,
    /// Its leases that are not released.
    pub leases: Vec<Lease>,
    /// The agents that are assigned to it; loaded only if the command or the caller needs them.
    pub assigned: Vec<String>,
    /// The entries of its access control list that are in force; loaded only if the command or the caller needs them.
    pub entries: Vec<Entry>,
    /// The requests for access that are not decided; loaded only if the command needs them.
    pub requests: Vec<OpenRequest>,
    /// The keys of agents whose name and subject differ; loaded only if the command needs them.
    pub aliases: Vec<Alias>,
    /// The portfolio that the command names.
    pub portfolio: Option<Box<Joined>>,
    /// Whether it was ever put into a portfolio.
    pub is_grouped: bool,
    /// The active portfolios that it is in.
    pub member_of: Vec<MemberOf>,
    /// Its policy; loaded only if the command needs it.
    pub governance: Governance,
    /// How many of its dependencies are not completed, according to its own log. A completed dependency counts until the log
    /// records its completion.
    pub unmet: u32,
    /// Whether an agent has blocked it by setting its status.
    pub is_held: bool,
    /// How many dependencies it has; loaded for a command that adds one.
    pub dependencies: usize,
    /// The intent that a command adds to the dependencies or removes from them.
    pub upstream: Option<Box<Upstream>>,
    /// The dependencies and children that are not completed; loaded for a command that completes the intent or sets it active.
    pub blocking: Vec<Blocking>,
    /// Its contract as a phase of a workflow, if it has one; loaded for a lease and for its completion.
    pub phase: Option<Box<Phase>>,
    /// Whether it ends with its question, because its asker has no intent of its own and asked nothing but that.
    pub is_errand: bool,
    /// Whether it ever had a task, a plan, a coordinator or a retry policy.
    pub has_tasks: bool,
    /// Its tasks that are not finished, and those that the command names.
    pub tasks: Vec<Task>,
    /// How many tasks it has in all; loaded for a command that creates one.
    pub task_count: usize,
    /// Its plans that have not ended, and the one that the command names.
    pub plans: Vec<Plan>,
    /// How many plans it has in all; loaded for a command that creates one.
    pub plan_count: usize,
    /// The dependency that waits for a person; loaded for the claim of a task, if the intent is blocked. For a lease, an intent that waits
    /// for a person and whose coordinator holds up all intents that need it, also by way of others.
    pub held_up_by: Option<Box<HeldUp>>,
    /// The newest lease of a coordinator, even if it has ended.
    pub coordinator: Option<Box<Coordinator>>,
    /// How many leases of coordinators it has had; loaded for a command that grants one.
    pub coordinator_count: usize,
    /// Its retry policy, with the step that follows the last failure.
    pub retry: Option<Box<Retry>>,
}

impl Intent {
    /// The intent after its first event.
    pub fn born(id: IntentId, status: Status, created_by: Asker, now: DateTime<Utc>) -> Self {
        Self {
            id,
            status,
            version: 1,
            created_by,
            created_at: now,
            updated_at: now,
            open: None,
            stop: None,
            past_stop: None,
            announcement: None,
            beside: Vec::new(),
            ended: Vec::new(),
            leases: Vec::new(),
            assigned: Vec::new(),
            entries: Vec::new(),
            requests: Vec::new(),
            aliases: Vec::new(),
            portfolio: None,
            is_grouped: false,
            member_of: Vec::new(),
            governance: Governance::default(),
            unmet: 0,
            is_held: false,
            dependencies: 0,
            upstream: None,
            blocking: Vec::new(),
            phase: None,
            is_errand: false,
            has_tasks: false,
            tasks: Vec::new(),
            task_count: 0,
            plans: Vec::new(),
            plan_count: 0,
            held_up_by: None,
            coordinator: None,
            coordinator_count: 0,
            retry: None,
        }
    }

    /// Whether this credential, or another one with the same name, created the intent.
    pub fn is_created_by(&self, principal: &Principal) -> bool {
        is_same(&self.created_by.name, &principal.name)
    }

    /// Why the intent is blocked; `None` if it is not. Of several reasons a stop comes first, then the dependencies.
    pub fn blocked_reason(&self) -> Option<BlockedReason> {
        let others = if self.unmet > 0 { BlockedReason::Dependencies } else { BlockedReason::Manual };
        let reason = self.stop.as_deref().map_or(others, |stop| stop.suspension.kind.blocks_as());
        (self.status == Status::Blocked).then_some(reason)
    }

    /// The time since which the intent has been stopped or has waited for a person.
    pub fn suspended_since(&self) -> Option<DateTime<Utc>> {
        let stopped = self.stop.as_deref().map(|stop| &stop.suspension);
        self.open.as_ref().or(stopped).map(|suspension| suspension.suspended_at)
    }

    /// The lease that holds this scope.
    pub fn lease_on(&self, scope: &str, now: DateTime<Utc>) -> Option<&Lease> {
        self.leases.iter().find(|lease| lease.scope == scope && lease.holds(now, self.suspended_since()))
    }

    /// The earliest deadline of the active portfolios that the intent is in.
    pub fn portfolio_deadline(&self) -> Option<PortfolioDeadline> {
        earliest_deadline(&self.member_of)
    }

    /// The open suspension with this id.
    pub fn opened(&self, id: SuspensionId) -> Option<&Suspension> {
        self.open.iter().chain(&self.beside).find(|open| open.id == id)
    }

    /// The open suspension with this id, to be changed.
    pub fn opened_mut(&mut self, id: SuspensionId) -> Option<&mut Suspension> {
        self.open.iter_mut().chain(&mut self.beside).find(|open| open.id == id)
    }

    /// The stop with this id, open or ended.
    pub fn stopped(&self, id: SuspensionId) -> Option<&Stop> {
        [self.stop.as_deref(), self.past_stop.as_deref()].into_iter().flatten().find(|stop| stop.suspension.id == id)
    }

    /// The suspension with this id, open or ended.
    pub fn suspension(&self, id: SuspensionId) -> Option<&Suspension> {
        self.open.iter().chain(&self.beside).chain(&self.ended).find(|suspension| suspension.id == id)
    }
}
