//! The permissions of callers, by their keys, the people who are listed, and the data that stays secret.

mod absences;
mod access;
mod alerts;
mod approvals;
pub(crate) mod assignees;
mod assignments;
mod authority;
mod checkpoints;
mod deputies;
mod directory;
mod floors;
mod gateways;
mod governance;
mod hands;
mod keys;
pub(crate) mod logins;
pub(crate) mod openid;
mod owners;
pub(crate) mod passkeys;
mod preferences;
mod quorum_changes;
pub(crate) mod quorums;
mod recent_logins;
mod roster;
pub(crate) mod secrets;
