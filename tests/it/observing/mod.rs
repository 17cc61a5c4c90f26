//! Metrics and traces: the numbers that operators see.

pub(crate) mod metrics;
mod traces;
