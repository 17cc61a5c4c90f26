//! The protocols of other agents: each is a thin adapter that reads a call, calls the store once, and writes the result in its own words.
//!
//! A protocol imports what every surface shares, the store's traits and the domain; it never imports another protocol. Its projections are
//! pure functions, so tables test them.

pub(crate) mod a2a;
pub(crate) mod jsonrpc;

use actix_web::web::ServiceConfig;

use crate::edge::doors::Doors;
use crate::edge::route::Routes;

/// Registers the routes of the protocols that are open. A protocol that is turned off has no routes, as if it did not exist.
pub(crate) fn routes(config: &mut ServiceConfig, doors: &Doors) {
    let mut routes = Routes::registered(config);
    if doors.a2a {
        a2a::routes(&mut routes);
    }
}
