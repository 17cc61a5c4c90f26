//! Routes of the OpenIntent client that this server does not have.
//!
//! The client takes a 404 on some of them for an empty result or for success, so each of them says that it is not implemented.

use crate::edge::route::Routes;

/// Parts of OpenIntent that do not concern decisions of people: registries, identities, tools and their secrets, memory,
/// messages between agents, triggers, federation.
const OUT_OF_SCOPE: [&str; 34] = [
    "/agents",
    "/agents/register",
    "/agents/{agent}/grants",
    "/agents/{agent}/heartbeat",
    "/agents/{agent}/identity",
    "/agents/{agent}/identity/challenge",
    "/agents/{agent}/identity/rotate",
    "/agents/{agent}/identity/verify",
    "/agents/{agent}/memory",
    "/agents/{agent}/record",
    "/agents/{agent}/status",
    "/channels/{channel}",
    "/channels/{channel}/messages",
    "/channels/{channel}/messages/{message}",
    "/channels/{channel}/messages/{message}/reply",
    "/credentials",
    "/credentials/{credential}",
    "/federation/agents",
    "/federation/dispatch",
    "/federation/receive",
    "/federation/status",
    "/grants",
    "/grants/{grant}",
    "/grants/{grant}/invocations",
    "/intents/{intent_id}/channels",
    "/invocations",
    "/memory",
    "/memory/{memory}",
    "/tools/invoke",
    "/triggers",
    "/triggers/{trigger}",
    "/triggers/{trigger}/fire",
    "/vaults",
    "/vaults/{vault}",
];

pub(super) fn routes(routes: &mut Routes<'_>) {
    for path in OUT_OF_SCOPE {
        routes.unsupported(path, "this part of OpenIntent is no part of this server");
    }
}
