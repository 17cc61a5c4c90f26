//! Portfolios, their logs, and the intents in them.

use domain::base::ids::{PortfolioId, SuspensionId};
use domain::intent::status::Status;
use domain::log::{Hash, Sealed};
use domain::portfolio::Portfolio;
use domain::portfolio::membership::{MemberOf, Membership};
use domain::suspension::Asker;

use super::error::RowsResult;

/// A portfolio's row, with the end of its own log.
#[derive(Clone, Debug)]
pub(crate) struct PortfolioRow {
    pub(crate) rid: i64,
    pub(crate) portfolio: Portfolio,
    pub(crate) last_sequence: u64,
    pub(crate) last_hash: Option<Hash>,
}

/// An intent in a portfolio.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemberRow {
    pub(crate) intent: i64,
    pub(crate) membership: Membership,
}

/// Which portfolios to list, newest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedPortfolios<'a> {
    /// Only those of this creator.
    pub(crate) creator: Option<&'a str>,
    /// Only those that this intent is in.
    pub(crate) intent: Option<i64>,
    pub(crate) limit: u32,
    pub(crate) offset: u32,
}

/// Writes portfolios, in one transaction.
pub(crate) trait WritePortfolios {
    /// Inserts a portfolio whose log is empty; returns its row id.
    fn insert_portfolio(&mut self, portfolio: &Portfolio) -> RowsResult<i64>;
    /// Keeps the portfolios of an intent as they are until the transaction is over: a transaction that locks one of them waits. The time of
    /// this transaction is then later than that of the transactions for which it waited.
    /// Other transactions may hold them in this way as well.
    fn hold_portfolios_of(&mut self, intent: i64) -> RowsResult<()>;
    /// Reads a portfolio. Other transactions that ask for it in this way wait until this one is over, and find a later time.
    fn lock_portfolio(&mut self, id: PortfolioId) -> RowsResult<Option<PortfolioRow>>;
    /// Adds an event to the log, and writes the portfolio's row as the event leaves it.
    fn append_to_portfolio(&mut self, row: &PortfolioRow, event_type: &str, sealed: &Sealed) -> RowsResult<()>;
    /// Records the membership that `event` gave to an intent, in place of an earlier one.
    fn save_membership(&mut self, portfolio: i64, intent: i64, membership: &Membership, event: i64) -> RowsResult<()>;
    fn delete_membership(&mut self, portfolio: i64, intent: i64) -> RowsResult<()>;
}

/// Reads portfolios, inside a transaction that writes or outside.
pub(crate) trait ReadPortfolios {
    fn portfolio(&mut self, id: PortfolioId) -> RowsResult<Option<PortfolioRow>>;
    fn portfolios(&mut self, listed: ListedPortfolios<'_>) -> RowsResult<Vec<PortfolioRow>>;
    /// The log of a portfolio, oldest first.
    fn portfolio_id(&mut self, rid: i64) -> RowsResult<PortfolioId>;
    fn portfolio_events(&mut self, portfolio: i64) -> RowsResult<Vec<Sealed>>;
    /// The intents in a portfolio behind the first `offset`: by priority, the highest first, and then the oldest intent
    /// first.
    fn members(&mut self, portfolio: i64, offset: u32) -> RowsResult<Vec<MemberRow>>;
    /// The membership of an intent in a portfolio.
    fn membership(&mut self, portfolio: i64, intent: i64) -> RowsResult<Option<Membership>>;
    /// The active portfolios in which an intent is, with their rows.
    fn member_of(&mut self, intent: i64) -> RowsResult<Vec<(i64, MemberOf)>>;
    /// How many intents of a portfolio wait for a person, apart from this one.
    fn others_suspended(&mut self, portfolio: i64, intent: i64) -> RowsResult<u64>;
    /// The intents in a portfolio that have an open question, with the row and the id of the question.
    fn open_questions_in(&mut self, portfolio: i64) -> RowsResult<Vec<(i64, i64, SuspensionId)>>;
    /// The credentials that created the intents in a portfolio, each once.
    fn creators_in(&mut self, portfolio: i64) -> RowsResult<Vec<Asker>>;
    /// How many intents of a portfolio have each status.
    fn member_statuses(&mut self, portfolio: i64) -> RowsResult<Vec<(Status, u64)>>;
    /// The portfolios in which an intent is.
    fn portfolios_of(&mut self, intent: i64) -> RowsResult<Vec<PortfolioId>>;
}
