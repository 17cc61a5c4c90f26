//! The three calls in which the OpenIntent client suspends: it sets the status, writes the record into the state, and appends the
//! event. Only keys for that client can use them.

use domain::asking::by_record::{adapted, check_window};
use domain::base::field::FieldError;
use domain::base::ids::{IntentId, SuspensionId};
use domain::intent::body::{Patch, PatchOp, SUSPENSION_KEY};
use domain::intent::command::{ByRecord, Command, Suspend};
use domain::intent::status::Status;
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::wire::EventView;
use serde_json::Value;
use store::EventFilter;

use crate::edge::auth::Caller;
use crate::edge::body::Json;
use crate::edge::problem::Failure;
use crate::edge::shared::Shared;

/// The types of the events that the client appends although the server has written them already.
const TOLD: [&str; 3] = ["intent.suspended", "intent.suspension_renotified", "intent.suspension_escalated"];
/// How many events of one type are looked through for the one that the client means.
const LOOKED_THROUGH: u32 = 50;

/// A new id for the question that a change of status announces. Only a key for the OpenIntent client announces a question, and it
/// does so by setting the status `suspended_awaiting_input`. `None` for every other change.
pub(super) fn announces(shared: &Shared, by: &Principal, status: Status) -> Option<SuspensionId> {
    let is_announced = by.client.is_some() && status == Status::SuspendedAwaitingInput;
    is_announced.then(|| SuspensionId(shared.entropy.uuid(shared.clock.now())))
}

/// The command that asks a question, if the patches are one patch that writes the record of a question, by a key for the
/// OpenIntent client. If the record breaks rules, the command refuses it. `None` for all other patches, which ask nothing.
pub(super) fn asks(shared: &Shared, by: &Principal, patches: &[Patch]) -> Result<Option<Command>, Vec<FieldError>> {
    let [patch] = patches else { return Ok(None) };
    if by.client.is_none() || patch.op != PatchOp::Set || !patch.segments().eq([SUSPENSION_KEY]) {
        return Ok(None);
    }
    let Value::Object(record) = &patch.value else {
        let error = FieldError::new("_suspension", "type", "must be the record of a question");
        return Ok(Some(refused(String::new(), vec![error])));
    };
    let adapted = match adapted(record.clone()) {
        Ok(adapted) => adapted,
        // A record that says how the question ended is refused like every other write to `_suspension`.
        Err(Rejection::SuspensionIsServerOwned) => return Ok(None),
        Err(Rejection::Invalid { errors }) => return Ok(Some(refused(String::new(), errors))),
        Err(other) => return Err(vec![FieldError::new("_suspension", "value", other.to_string())]),
    };
    let id = SuspensionId(shared.entropy.uuid(shared.clock.now()));
    let asked = Json(adapted.body).into().and_then(|request| {
        let mut suspend = shared.asking.accept(request, id, by, by.client)?;
        check_window(adapted.window_seconds, &suspend.schedule)?;
        suspend.warnings.splice(0..0, adapted.warnings);
        Ok(Box::new(suspend))
    });
    Ok(Some(match asked {
        Ok(suspend) => by_record(adapted.client_id, Ok(suspend)),
        Err(errors) => refused(adapted.client_id, errors),
    }))
}

/// The command for a record that breaks rules. It is applied to the intent like any other command, to undo the announcement.
fn refused(client_id: String, mut errors: Vec<FieldError>) -> Command {
    for error in &mut errors {
        if !error.field.starts_with("_suspension") {
            error.field.insert_str(0, "_suspension.");
        }
    }
    by_record(client_id, Err(errors))
}

fn by_record(client_id: String, asked: Result<Box<Suspend>, Vec<FieldError>>) -> Command {
    Command::SuspendByRecord(Box::new(ByRecord { client_id, asked, is_used: false, open: None }))
}

/// The client appends events that the server has written already ([`TOLD`]). If `body` repeats one of them, this returns the
/// server's event as the response, and the server does not write it again. `None` for events of other types and other clients.
///
/// # Errors
///
/// `ReservedEventType` if the server has not written this event: no client can forge one, or write one too early.
pub(super) async fn told(shared: &Shared, caller: &Caller, intent: IntentId, body: &Json) -> Result<Option<String>, Failure> {
    let event_type = body.0["event_type"].as_str().unwrap_or_default();
    if caller.principal.client.is_none() || !TOLD.contains(&event_type) {
        return Ok(None);
    }
    let named = body.0["payload"]["suspension_id"].as_str().unwrap_or_default();
    let asked = events(shared, caller, intent, "intent.suspended").await?;
    let adopted = events(shared, caller, intent, "intent.suspension_adopted").await?;
    let known_as = |event: &&(EventView, String)| event.0.payload.get("client_id").is_some_and(|id| id == named);
    let ours = asked.iter().chain(&adopted).find(known_as).and_then(|event| event.0.payload.get("suspension_id").cloned());
    let candidates = if event_type == TOLD[0] { asked } else { events(shared, caller, intent, event_type).await? };
    let is_meant = |event: &(EventView, String)| {
        let attempt = body.0["payload"].get("attempt");
        event.0.payload.get("suspension_id") == ours.as_ref()
            && attempt.is_none_or(|attempt| event.0.payload.get("attempt") == Some(attempt))
    };
    let meant = ours.is_some().then(|| candidates.into_iter().find(is_meant)).flatten();
    match meant {
        Some((_, served)) => Ok(Some(served)),
        None => Err(Rejection::ReservedEventType { event_type: event_type.to_owned() }.into()),
    }
}

/// The newest events of one type, each as parsed, and as the text that is served.
async fn events(
    shared: &Shared,
    caller: &Caller,
    intent: IntentId,
    event_type: &str,
) -> Result<Vec<(EventView, String)>, Failure> {
    let filter = EventFilter {
        limit: LOOKED_THROUGH,
        offset: 0,
        event_type: Some(event_type.to_owned()),
        since: None,
        all: true,
        refuse_far: false,
    };
    let served = shared.store.events(caller.principal.clone(), intent, Ok(filter)).await?;
    Ok(served.into_iter().filter_map(|served| Some((serde_json::from_str(&served).ok()?, served))).collect())
}
