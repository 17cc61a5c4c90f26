//! The decisions of Placet, pure: what a command does to an intent, what an answer must look like, who may do what.
//!
//! Architecture invariant: nothing here does I/O, reads a clock or draws a random number. Time, identity and entropy are
//! arguments, so the server, the simulator and the offline verifier run the same functions and reach the same events.
#![warn(missing_docs)]

pub mod absence;
pub mod address;
pub mod asking;
pub mod authority;
pub mod body;
pub mod channel;
pub mod choice;
pub mod clock;
pub mod command;
pub mod confusable;
pub mod delivery;
pub mod engagement;
pub mod event;
pub mod ids;
pub mod intent;
pub mod json;
pub mod lease;
pub mod log;
pub mod login;
pub mod name;
pub mod plan;
pub mod planted;
pub mod pressing;
pub mod problem;
pub mod quotation;
pub mod retry;
pub mod secrets;
pub mod suspension;
pub mod text;
pub mod time;
pub mod wire;
pub mod words;
