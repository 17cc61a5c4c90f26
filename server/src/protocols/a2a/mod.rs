//! A2A 1.0 (and 0.3 over JSON-RPC): another agent asks a person by sending a message, and gets a task that waits for the answer.
//!
//! The task is an intent that ends with its question. `reading` turns calls into what is asked of the store, `projection` turns an intent
//! into a task, and `handlers` do three things: extract, one call of the store, convert.

mod card;
mod change;
mod earlier;
mod error;
mod halting;
mod handlers;
mod holding;
mod names;
mod parameters;
mod pausing;
mod placing;
mod projection;
mod push;
mod push_paths;
mod reading;
mod rest;
mod rpc;
mod stopped;
mod streaming;
mod wire;

use crate::edge::route::Routes;

pub(crate) use self::push::messages;

pub(super) fn routes(routes: &mut Routes<'_>) {
    rpc::routes(routes);
    push_paths::routes(routes);
    rest::routes(routes);
}
