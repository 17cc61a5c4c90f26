//! Asking: which callers may ask which people, how often, and with which words.

mod addresses;
mod allowance;
mod pressing;
mod preview;
mod requests;
mod seeming_secrets;
mod superseded;
mod suspend;
mod three_calls;
