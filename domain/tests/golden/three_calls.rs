//! The events that the OpenIntent client causes when it suspends an intent in three calls: it sets the status, writes the record
//! of the question into the state, and appends an event.

use domain::base::name::Owner;
use domain::intent::announcement::Announcement;
use domain::intent::event::{Event, UnaskedAnswer};
use domain::intent::status::Status;
use domain::people::principal::Role;
use domain::suspension::{Asker, Question, ResolutionReason, Suspension};
use serde_json::json;

use super::{asked_id, at, key, question, suspension};

/// Examples of these events.
pub(crate) fn events() -> Vec<Event> {
    let by = Asker { name: "bot".into(), owner: Owner("team-a".into()) };
    let announced = Announcement { id: asked_id(), from: Status::Draft, at: at(0), by };
    let unasked = UnaskedAnswer {
        id: asked_id(),
        value: json!({"decision": "approve"}),
        responded_by: "alice".into(),
        role: Role::Channel,
        credential: Some(key()),
    };
    let fixed = Suspension { fixed_deadline: true, expires_at: Some(at(58)), ..suspension() };
    let question = Question { client_id: Some("susp-1".into()), timeout_seconds: Some(60), ..question() };
    vec![
        Event::Announced(Box::new(announced)),
        Event::AnsweredUnasked(Box::new(unasked)),
        Event::Suspended(Box::new(fixed), Box::new(question)),
        Event::Adopted { suspension_id: asked_id(), client_id: "susp-2".into() },
        Event::SuspensionCancelled {
            suspension_id: asked_id(),
            reason: ResolutionReason::TimeLost,
            note: None,
            cancelled_by: "placet".into(),
            credential: None,
        },
    ]
}
