//! The log as a whole: its signing key, the loop that gives events their leaves and signs checkpoints, and the second places that keep
//! checkpoints where the server cannot change them.

pub(crate) mod begin;
pub mod checkpoints;
pub mod failure;
pub mod file;
pub(crate) mod hook;
pub mod key;
pub(crate) mod mail;
pub mod second_places;
pub(crate) mod witness;
