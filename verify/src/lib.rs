//! Verifies an export of Placet's log without a server and without a network: the events, the chain of each log, the tree over
//! all events, the signed checkpoint, and the decisions. `docs/log-format.md` says what an export is.
//!
//! Architecture invariant: all of this crate but `replay` imports `domain::base` and `proof` alone. So it shares nothing with the
//! server that makes exports but the form of an event, the tree, and the signatures. A second program, `docs/verifier/verify.py`,
//! shares none of these; `tests/verifier/run` compares the verdict and the first finding of both. `replay` imports the rules of
//! the domain, because it asks whether the server kept them: rules that were written a second time would differ from the first.
//! The crate knows neither store nor server.
//!
//! Guarantee: memory does not grow with the export, and no export makes the verifier panic. Mechanism: one pass in the order of
//! the file; the ends of too many chains, and the events on which decisions depend, go to temporary files. Failure: a file that
//! cannot be read, or a temporary file that cannot be written, gives the verdict `failed`.
//!
//! The order of the checks decides which finding comes first, and the first finding should name the cause. So each line is
//! checked from the inside to the outside: it is a line, it is JSON, the event has its one form and its hash; then its leaf's
//! place, its chain, its time, its proof. At the end come the absence of a manifest, the root, erased events, kept checkpoints,
//! and the manifest. If nothing was found until then, the decisions are replayed.
#![warn(missing_docs)]

mod body;
mod chains;
pub mod command;
mod erased;
mod event;
mod export;
mod files;
pub mod finding;
mod form;
mod header;
mod kept;
mod line;
mod progress;
mod replay;
pub mod report;
mod runs;
mod tally;
mod words;

pub use crate::chains::LOGS_IN_MEMORY;
pub use crate::event::{LogId, LogKind};
pub use crate::export::{Options, Watchers};
pub use crate::files::{Outcome, verify, verify_files};
pub use crate::kept::Kept;
pub use crate::line::LINE_BYTES_MAX;
pub use crate::words::words;
