//! The REST interface, one file per noun. A handler reads the request, calls the store, usually once, and turns the outcome into
//! a response.

mod access;
mod agents;
mod approvals;
mod arbitration;
mod attachments;
mod broadcasts;
mod checkpoints;
mod coordinators;
mod costs;
mod decisions;
mod deliveries;
mod discovery;
mod drafts;
mod escalations;
mod events;
mod export;
mod extensions;
mod failures;
mod governance;
mod graph;
mod groups;
mod hands;
mod health;
mod holds;
mod intents;
mod keys;
mod leases;
mod lifecycle_receipts;
mod metrics;
mod openapi;
mod people;
mod plans;
mod portfolios;
mod preview;
mod proofs;
mod receipts;
mod records;
mod redactions;
mod reminders;
mod requests;
mod retry_policy;
mod server_log;
mod stops;
mod streams;
mod subscriptions;
mod suspensions;
mod tasks;
mod three_calls;
mod unsupported;

use actix_web::web::ServiceConfig;

pub use self::openapi::document;
pub use self::suspensions::WAIT_SECONDS_MAX;
use crate::edge::problem::Surface;
use crate::edge::route::Routes;

/// Registers all routes that are not pages.
pub(crate) fn routes(config: &mut ServiceConfig) {
    declare(&mut Routes::registered(config));
}

/// Declares the routes. The router tries paths in the order of their declaration, so the paths of questions come first: the
/// router then finds the calls that ask and answer quickly.
fn declare(routes: &mut Routes<'_>) {
    routes.under("/api/v1", |routes| {
        suspensions::intent_routes(routes);
        preview::routes(routes);
        suspensions::routes(routes);
        intent_routes(routes);
        extensions::routes(routes);
        reminders::routes(routes);
        hands::routes(routes);
        stops::intent_routes(routes);
        stops::routes(routes);
        broadcasts::routes(routes);
        lifecycle_receipts::routes(routes);
        drafts::routes(routes);
        deliveries::routes(routes);
        escalations::routes(routes);
        portfolios::routes(routes);
        tasks::routes(routes);
        plans::routes(routes);
        checkpoints::routes(routes);
        coordinators::routes(routes);
        keys::routes(routes);
        people::routes(routes);
        groups::routes(routes);
        server_log::routes(routes);
        proofs::routes(routes);
        receipts::routes(routes);
        redactions::routes(routes);
        holds::routes(routes);
        export::routes(routes);
        streams::routes(routes);
        subscriptions::routes(routes);
        unsupported::routes(routes);
    });
    // The RFC writes the routes of intents without a prefix.
    suspensions::intent_routes(routes);
    intent_routes(routes);
    health::routes(routes);
    metrics::routes(routes);
    openapi::routes(routes);
    discovery::routes(routes);
    for (surface, path) in
        [(Surface::OpenIntent, "/api/v1/intents"), (Surface::Ours, "/api/v1"), (Surface::OpenIntent, "/intents")]
    {
        routes.nothing_under(surface, path);
    }
}

fn intent_routes(routes: &mut Routes<'_>) {
    intents::routes(routes);
    events::routes(routes);
    leases::routes(routes);
    agents::routes(routes);
    access::routes(routes);
    governance::routes(routes);
    graph::routes(routes);
    approvals::routes(routes);
    escalations::intent_routes(routes);
    arbitration::routes(routes);
    decisions::routes(routes);
    attachments::routes(routes);
    costs::routes(routes);
    failures::routes(routes);
    retry_policy::routes(routes);
    portfolios::intent_routes(routes);
    tasks::intent_routes(routes);
    plans::intent_routes(routes);
    coordinators::intent_routes(routes);
}
