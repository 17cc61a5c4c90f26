//! From a request to a command: the operator's rules about questions, and the rules every request keeps.

pub mod accepting;
pub mod choice;
pub mod engagement;
pub mod policy;
pub mod pressing;
pub mod preview;
pub mod recording;
pub mod secrets;
