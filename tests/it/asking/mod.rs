//! Asking: who may ask whom, how often, with which words.

mod addresses;
mod allowance;
mod pressing;
mod preview;
mod seeming_secrets;
mod superseded;
mod suspend;
