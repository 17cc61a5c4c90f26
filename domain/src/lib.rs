//! The decisions of Placet, pure: what a command does to an intent, what an answer must look like, who may do what.
//!
//! Architecture invariant: nothing here does I/O, reads a clock or draws a random number. Time, identity and entropy are
//! arguments, so the server, the simulator and the offline verifier run the same functions and reach the same events.
#![warn(missing_docs)]

pub mod asking;
pub mod base;
pub mod intent;
pub mod log;
pub mod people;
pub mod problem;
pub mod suspension;
pub mod wire;
