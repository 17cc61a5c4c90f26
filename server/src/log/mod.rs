//! The log as a whole: its signing key, and the loop that gives events their leaves and signs checkpoints.

pub mod checkpoints;
pub(crate) mod key;
