//! Where intents live, with their event logs and the work those events cause.
//!
//! [`Store`] is the server's view of the database: about sixty methods, written once for every `Backend` (SQLite, PostgreSQL, and
//! the simulator's). A backend supplies `rows::Rows`: private, small, synchronous reads and writes that decide nothing. The
//! transaction bodies in `units` and the reads in `reads` use only these rows, so they are written once, too. Nothing in this
//! crate knows HTTP, pages or metrics; the crate reports its work to an [`Observer`].

mod alert_columns;
mod alerts;
pub mod allowance;
mod assigning;
pub mod audit;
mod audits;
mod backend;
pub mod bounce;
mod broadcast;
mod chain;
mod columns;
mod coordinators;
pub mod damage;
pub mod dashboard;
mod database;
mod drafts;
mod earlier;
mod earlier_columns;
mod erasure_columns;
mod errand_columns;
mod errands;
mod error;
mod export;
pub mod fact;
mod filter;
mod graph;
mod groups;
mod handoffs;
pub mod history;
pub mod host;
pub mod hub;
mod identity;
pub mod inbox;
mod inbox_columns;
mod inboxes;
mod inspection;
pub mod link;
mod logins;
mod look;
pub mod mailbox;
mod matter;
pub mod moving;
mod observer;
mod openid;
pub mod overview;
mod passkey;
mod passkeys;
mod person;
mod person_columns;
mod personal;
mod portfolios;
pub mod postgres;
mod posting;
mod proofs;
mod publications;
mod pushes;
pub mod question;
mod reads;
mod receipts;
mod redactions;
mod request;
mod rows;
mod running;
mod schema;
pub mod scrub;
mod sending;
pub mod span;
mod sql;
pub mod sqlite;
mod standing;
mod stopped;
mod stopping;
mod stops;
mod store;
pub mod story;
mod stream;
mod surroundings;
mod tasks;
mod tree;
mod tree_columns;
mod units;
mod wake_columns;
mod waking;
pub mod work;

pub use self::alerts::Alerts;
pub use self::audits::Audits;
pub use self::broadcast::{BroadcastOutcome, Broadcasts};
pub use self::damage::{Damaged, LogName};
pub use self::database::{Database, open};
pub use self::errands::Errands;
pub use self::error::{StoreError, Unit, Wanted};
pub use self::export::{ExportFilter, ExportPage, Exported, Outcome as ExportOutcome};
pub use self::filter::{
    CheckpointFilter, DeliveryFilter, EventFilter, FailedFilter, IntentFilter, PortfolioFilter, ServerEventFilter,
    SubscriptionFilter, SuspensionFilter, TaskFilter,
};
pub use self::graph::{Relation, Relatives};
pub use self::groups::Groups;
pub use self::identity::{Entry, OPENID_LOGIN_LASTS, Proved, Stray, TakenLogin};
pub use self::inboxes::Inboxes;
pub use self::inspection::{Directory, Gateway, Inspection, KeyOfLog, Schema};
pub use self::link::LinkView;
pub use self::logins::Logins;
pub use self::matter::{EndOfWork, ErrandFilter, ErrandPlace, Halted, Heard, Matter, MatterPage, NewErrand, NewMessage};
pub use self::observer::{Again, Copied, Observer, Unobserved};
pub use self::openid::OpenId;
pub use self::passkey::{NewPasskey, PasskeyChallenge, Signer};
pub use self::passkeys::Passkeys;
pub use self::person::{
    Entered, LOGIN_LASTS, LOGIN_MAILS_PER_HOUR, LOGIN_MAILS_WITHIN, LOGINS_MAX, LeasedAlert, LeasedLogin, LeasedLogins,
    LoginResult, LoginToken, Named, NewPerson, OpenIdState, OpenSession, OwnAbsence, SESSION_IDLE, SESSION_LASTS, SessionToken,
};
pub use self::personal::Personal;
pub use self::posting::{
    LeasedPost, LeasedPosts, LeasedWake, LeasedWakes, SUBSCRIPTION_SECRET, WakeGate, WakeTurn, subscription_secret,
};
pub use self::proofs::CheckpointId;
pub use self::pushes::Pushes;
pub use self::question::{Typist, UNSENT_BROWSERS_MAX};
pub use self::receipts::ProvedReceipt;
pub use self::request::{
    CreateIntent, Idempotency, NewIntent, NewKey, NewPortfolio, NewPush, NewSubscription, Outcome, Precondition, Redrive,
    Repeatable, Request, SecretOrigin, Target, Unreadable,
};
pub use self::rows::tree::{CheckpointRow, LogKeyRow};
pub use self::sending::{BounceReport, DeliveryResult, Gate, Lane, Leased, LeasedDelivery, LinePlace, Turn};
pub use self::standing::{Fired, Hold, Recovered, Standing, Swept};
pub use self::stops::{StoppedWork, Stops};
pub use self::store::Store;
pub use self::stream::{StreamCursor, StreamOf, Streamed};
pub use self::surroundings::Surroundings;
pub use self::tree::ForWitness;
pub use self::units::absence::Awaited;
pub use self::units::redact::Redacted;
pub use self::units::retain::Retained;
pub use self::units::sweep::QUESTIONS_PER_LOOK;
pub use self::waking::Wakes;

/// The mark of a database that a server in production has served. The mark is stored as one of the server's own secrets, and its
/// random value means nothing. So it needs no table of its own, is made once, and moves along with the data.
pub const PRODUCTION_MARK: &str = "served-in-production";
