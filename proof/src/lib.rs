//! The parts by which a stranger can check the log: one Merkle tree over all events (RFC 9162), signed checkpoints (C2SP), and the proofs
//! that lead from an event to a checkpoint. `docs/log-format.md` describes every byte.
//!
//! Architecture invariant: this crate imports `domain::base` alone, and does no I/O. The server and the offline verifier run the same
//! functions.
#![warn(missing_docs)]

mod cbor;
pub mod checkpoint;
pub mod intent_tree;
pub mod key;
pub mod leaf;
pub mod passkey;
pub mod receipt;
pub mod succession;
pub mod tree;
pub mod witness;
