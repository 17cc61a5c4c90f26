//! Whether a principal and an agent are one, as far as the server can tell.

use crate::base::name::is_same_in_any_case;
use crate::people::principal::{Assurance, Principal};
use crate::suspension::Asker;

/// Whether an answer of this principal would be the asker's own: both have the same owner, or the principal is a key with the
/// asker's name, so that the log would show the asker as the one who answered. The holder of a link is no key: its name is a
/// mailbox, and a person's own agent may well have the same name.
pub(crate) fn is_at_one(principal: &Principal, asker: &Asker) -> bool {
    is_same_in_any_case(asker.owner.as_str(), principal.owner.as_str()) || is_named(principal, &asker.name)
}

/// Whether the principal is a key with this name or subject.
pub(crate) fn is_named(principal: &Principal, name: &str) -> bool {
    let is_own_name = |own: &str| is_same_in_any_case(own, name);
    principal.assurance == Assurance::ApiKey && (is_own_name(&principal.name) || is_own_name(&principal.subject))
}
