//! Turns a request that pauses many intents into a wish, or names the fields that break rules.

use std::collections::HashSet;

use crate::asking::accepting;
use crate::base::field::FieldError;
use crate::base::text::{is_blank, is_invisible};
use crate::suspension::broadcast::{Broadcast, FOUND_MAX, IDS_MAX, Targets};
use crate::wire::BroadcastRequest;

/// A principal pauses many intents.
///
/// # Errors
///
/// Both ways to name intents, or none; too many of them; a name that is blank; a reason that is too long.
pub fn broadcasting(body: BroadcastRequest) -> Result<Broadcast, Vec<FieldError>> {
    let BroadcastRequest { ids, filter, mode, reason } = body;
    let reason = accepting::reason(reason)?.filter(|reason| !is_blank(reason));
    let targets = match (ids, filter) {
        (Some(_), Some(_)) => {
            return Err(vec![FieldError::new("filter", "value", "must be left out: the intents are named by their ids")]);
        }
        (None, None) => return Err(vec![FieldError::new("ids", "required", "ids or a filter is required")]),
        (Some(ids), None) if ids.len() > IDS_MAX => {
            return Err(vec![FieldError::new("ids", "length", format!("must be at most {IDS_MAX}"))]);
        }
        (Some(mut ids), None) => {
            let mut seen = HashSet::new();
            ids.retain(|id| seen.insert(*id));
            Targets::Ids(ids)
        }
        (None, Some(filter)) => {
            let limit = filter.limit.unwrap_or(FOUND_MAX);
            if !(1..=FOUND_MAX).contains(&limit) {
                return Err(vec![FieldError::new("filter.limit", "range", format!("must be 1 to {FOUND_MAX}"))]);
            }
            if filter.created_by.as_deref().is_some_and(is_blank) {
                return Err(vec![FieldError::new("filter.created_by", "value", "must not be blank")]);
            }
            // No key has a name with characters that show nothing, and PostgreSQL takes no NUL.
            if filter.created_by.as_deref().is_some_and(|name| name.chars().any(is_invisible)) {
                let message = "holds no control characters and none that show nothing";
                return Err(vec![FieldError::new("filter.created_by", "characters", message)]);
            }
            Targets::Running { created_by: filter.created_by, after: filter.after, limit }
        }
    };
    Ok(Broadcast { targets, mode: mode.unwrap_or_default(), reason })
}
