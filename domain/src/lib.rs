//! The decisions of Placet, pure: the effect of a command on an intent, the form of an answer, the permissions of a caller.
//!
//! Architecture invariant: nothing here does I/O, reads a clock or draws a random number. Time, identity and entropy are
//! arguments, so the server, the simulator and the offline verifier run the same functions and reach the same events.
#![warn(missing_docs)]

pub mod asking;
pub mod base;
pub mod container;
pub mod form;
pub mod intent;
pub mod log;
pub mod people;
pub mod portfolio;
pub mod problem;
pub mod subscription;
pub mod suspension;
pub mod wire;
