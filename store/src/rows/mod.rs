//! The rows of a database, and the operations it must offer on them inside one transaction: small, synchronous, without policy.
//! Each kind of row has a file and two small traits.

pub(crate) mod access;
pub(crate) mod alerts;
pub(crate) mod announcements;
pub(crate) mod answers;
pub(crate) mod assignments;
pub(crate) mod audit;
pub(crate) mod bytes;
pub(crate) mod codes;
pub(crate) mod coordinators;
pub(crate) mod departures;
pub(crate) mod drafts;
pub(crate) mod errands;
pub(crate) mod error;
pub(crate) mod events;
pub(crate) mod graph;
pub(crate) mod groups;
pub(crate) mod holds;
pub(crate) mod idempotency;
pub(crate) mod identities;
pub(crate) mod inbox;
pub(crate) mod intents;
pub(crate) mod keys;
pub(crate) mod leases;
pub(crate) mod outbox;
pub(crate) mod passkeys;
pub(crate) mod people;
pub(crate) mod plans;
pub(crate) mod portfolios;
pub(crate) mod presence;
pub(crate) mod published;
pub(crate) mod receipts;
pub(crate) mod redactions;
pub(crate) mod retries;
pub(crate) mod server_log;
pub(crate) mod stops;
pub(crate) mod subscriptions;
pub(crate) mod suspensions;
pub(crate) mod tasks;
pub(crate) mod timers;
pub(crate) mod tokens;
pub(crate) mod tree;
pub(crate) mod unsent;
mod wakes;

pub(crate) use self::access::{AccessRequestRow, EntryRow, ReadAccess, WriteAccess};
pub(crate) use self::alerts::{AlertRow, ReadAlerts, WriteAlerts};
pub(crate) use self::announcements::{ReadAnnouncements, WriteAnnouncements};
pub(crate) use self::answers::{AnswerRow, ReadAnswers, WriteAnswers};
pub(crate) use self::assignments::{ReadAssignments, WriteAssignments};
pub(crate) use self::audit::{MessageRow, ReadAudit, WriteAudit};
pub(crate) use self::bytes::{ReadBytes, WriteBytes};
pub(crate) use self::codes::{Code, DeliveryState, Source, TimerKind};
pub(crate) use self::coordinators::{ReadCoordinators, WriteCoordinators};
pub(crate) use self::departures::{ReadDepartures, WriteDepartures};
pub(crate) use self::drafts::{DraftRow, ReadDrafts, WriteDrafts};
pub(crate) use self::errands::{ErrandRow, ListedErrands, ReadErrands, WriteErrands};
pub(crate) use self::error::{Decided, RowsError, RowsResult};
pub(crate) use self::events::{EventLink, NewEvent, ReadEvents, WriteEvents, served_whole};
pub(crate) use self::graph::{Counted, EdgeKind, EdgeRow, GRAPH_AT_ONCE, HELD_UP, Label, ReadGraph, WriteGraph};
pub(crate) use self::groups::{ReadGroups, WriteGroups, joined, ordered};
pub(crate) use self::holds::{ReadHolds, WriteHolds};
pub(crate) use self::idempotency::{ReadIdempotency, WriteIdempotency, day};
pub(crate) use self::identities::{OpenIdLoginRow, ReadIdentities, WriteIdentities};
pub(crate) use self::inbox::{ListedRow, PlaceMarks, PlacedRow, ReadInbox, WriteInbox};
pub(crate) use self::intents::{IntentRow, ReadIntents, WriteIntents, last_hash};
pub(crate) use self::keys::{ReadKeys, WriteKeys, names};
pub(crate) use self::leases::{ReadLeases, WriteLeases};
pub(crate) use self::outbox::{BounceRow, IS_NOT_REPLACED, OutboxRow, QueuedChannel, ReadOutbox, TryRow, WriteOutbox};
pub(crate) use self::passkeys::{ReadPasskeys, WritePasskeys};
pub(crate) use self::people::{LoginRow, LoginsSent, ReadPeople, SessionRow, WritePeople};
pub(crate) use self::plans::{ReadPlans, WritePlans};
pub(crate) use self::portfolios::{ListedPortfolios, MemberRow, PortfolioRow, ReadPortfolios, WritePortfolios};
pub(crate) use self::presence::{PresenceRow, ReadPresence, Recovery, Restore, WritePresence};
pub(crate) use self::published::{ReadPublished, WritePublished};
pub(crate) use self::receipts::{ReadReceipts, ReceiptRow, WriteReceipts};
pub(crate) use self::redactions::{Blanks, ReadRedactions, RedactionRow, WriteRedactions};
pub(crate) use self::retries::{ReadRetries, WriteRetries};
pub(crate) use self::server_log::{ReadServerLog, ServerHead, WriteServerLog};
pub(crate) use self::stops::{ReadStops, WriteStops};
pub(crate) use self::subscriptions::{
    AT_ONCE, ListedSubscriptions, ReadSubscriptions, SubscriptionPlace, SubscriptionRow, WriteSubscriptions,
};
pub(crate) use self::suspensions::{FixedQuestion, Listed, ReadSuspensions, SuspensionRow, WriteSuspensions};
pub(crate) use self::tasks::{ListedTasks, ReadTasks, WriteTasks};
pub(crate) use self::timers::{ReadTimers, TimerRow, WriteTimers};
pub(crate) use self::tokens::{ReadTokens, TokenRow, WriteTokens};
pub(crate) use self::tree::{CheckpointRow, LogKeyRow, Place, ReadTree, Run, TreeRow, WriteTree};
pub(crate) use self::unsent::{ReadUnsent, UnsentRow, WriteUnsent};
pub(crate) use self::wakes::{ReadWakePosts, WakePostRow, WriteWakePosts};
use crate::hub::Notice;

/// The tables for which [`Rows::next`] gives the id of a new row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Intents,
    Events,
    Suspensions,
    Outbox,
    Tokens,
}

/// One transaction on one database.
pub(crate) trait Rows:
    WriteAccess
    + WriteAlerts
    + WriteAnnouncements
    + WriteAnswers
    + WriteAssignments
    + WriteAudit
    + WriteBytes
    + WriteCoordinators
    + WriteDepartures
    + WriteDrafts
    + WriteErrands
    + WriteEvents
    + WriteGraph
    + WriteGroups
    + WriteHolds
    + WriteIdempotency
    + WriteIdentities
    + WriteInbox
    + WriteIntents
    + WriteKeys
    + WriteLeases
    + WriteOutbox
    + WritePasskeys
    + WritePeople
    + WritePlans
    + WritePortfolios
    + WritePresence
    + WritePublished
    + WriteReceipts
    + WriteRedactions
    + WriteRetries
    + WriteServerLog
    + WriteStops
    + WriteSubscriptions
    + WriteSuspensions
    + WriteTasks
    + WriteTimers
    + WriteTokens
    + WriteTree
    + WriteUnsent
    + WriteWakePosts
{
    /// The reads in the same transaction.
    type Reads: ReadRows;

    /// Reads in the same transaction.
    fn reads(&mut self) -> &mut Self::Reads;
    /// The next row id of a table.
    fn next(&mut self, table: Table) -> RowsResult<i64>;
    /// Adds a notice to announce after the commit.
    fn notice(&mut self, notice: Notice);
}

/// All reads, inside a transaction that writes or outside.
pub(crate) trait ReadRows:
    ReadAccess
    + ReadAlerts
    + ReadAnnouncements
    + ReadAnswers
    + ReadAssignments
    + ReadAudit
    + ReadBytes
    + ReadCoordinators
    + ReadDepartures
    + ReadDrafts
    + ReadErrands
    + ReadEvents
    + ReadGraph
    + ReadGroups
    + ReadHolds
    + ReadIdempotency
    + ReadIdentities
    + ReadInbox
    + ReadIntents
    + ReadKeys
    + ReadLeases
    + ReadOutbox
    + ReadPasskeys
    + ReadPeople
    + ReadPlans
    + ReadPortfolios
    + ReadPresence
    + ReadPublished
    + ReadReceipts
    + ReadRedactions
    + ReadRetries
    + ReadServerLog
    + ReadStops
    + ReadSubscriptions
    + ReadSuspensions
    + ReadTasks
    + ReadTimers
    + ReadTokens
    + ReadTree
    + ReadUnsent
    + ReadWakePosts
{
}

impl<R> ReadRows for R where
    R: ReadAccess
        + ReadAlerts
        + ReadAnnouncements
        + ReadAnswers
        + ReadAssignments
        + ReadAudit
        + ReadBytes
        + ReadCoordinators
        + ReadDepartures
        + ReadDrafts
        + ReadErrands
        + ReadEvents
        + ReadGraph
        + ReadGroups
        + ReadHolds
        + ReadIdempotency
        + ReadIdentities
        + ReadInbox
        + ReadIntents
        + ReadKeys
        + ReadLeases
        + ReadOutbox
        + ReadPasskeys
        + ReadPeople
        + ReadPlans
        + ReadPortfolios
        + ReadPresence
        + ReadPublished
        + ReadReceipts
        + ReadRedactions
        + ReadRetries
        + ReadServerLog
        + ReadStops
        + ReadSubscriptions
        + ReadSuspensions
        + ReadTasks
        + ReadTimers
        + ReadTokens
        + ReadTree
        + ReadUnsent
        + ReadWakePosts
{
}

/// The traits to import where code works on the rows of any database: most of those that read rows, and [`Rows`] and
/// [`ReadRows`], which join all traits.
pub(crate) mod prelude {
    pub(crate) use super::{
        ReadAccess, ReadAlerts, ReadAnnouncements, ReadAssignments, ReadBytes, ReadCoordinators, ReadDepartures, ReadDrafts,
        ReadEvents, ReadGraph, ReadGroups, ReadHolds, ReadIdempotency, ReadIdentities, ReadIntents, ReadKeys, ReadLeases,
        ReadOutbox, ReadPasskeys, ReadPeople, ReadPlans, ReadPortfolios, ReadPresence, ReadReceipts, ReadRedactions, ReadRetries,
        ReadRows, ReadSubscriptions, ReadSuspensions, ReadTasks, ReadTimers, ReadTokens, ReadTree, ReadWakePosts, Rows,
    };
}
