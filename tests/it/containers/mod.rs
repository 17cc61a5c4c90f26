//! Intents that need each other, and how a suspension of one shows in the others.

mod conditions;
mod coordinators;
mod escalations;
mod example;
mod failures;
mod graph;
pub(crate) mod plans;
mod portfolios;
mod random;
mod tasks;
mod workflows;
