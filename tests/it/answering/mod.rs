//! Answering: which answer counts, and how an agent learns of it.

mod at_once;
pub(crate) mod drafts;
mod evidence;
pub(crate) mod forms;
pub(crate) mod grounds;
pub(crate) mod proposal;
mod race;
mod respond;
mod waiting;
