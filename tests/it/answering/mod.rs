//! Answering: which answer counts, and how an agent learns of it.

mod at_once;
mod evidence;
mod race;
mod respond;
mod waiting;
