//! Questions with a form whose answer has a schema, and with a proposed action whose fields have one.

use domain::form::Schema;
use domain::intent::event::{AnswerCounted, Event};
use domain::log::Hash;
use domain::suspension::evidence::Evidence;
use domain::suspension::proposal::Proposal;
use domain::suspension::quorum::Tally;
use domain::suspension::{Question, ResponseType, Suspension};
use serde_json::json;

use super::{object, question, suspension, with_evidence};

pub(super) fn events() -> Vec<Event> {
    let schema = json!({"type": "object", "required": ["cap"], "properties": {"cap": {"type": "integer", "title": "Liability cap", "maximum": 5}}});
    let schema = Schema::accept(schema.as_object().unwrap().clone()).unwrap();
    let form = Suspension {
        response_type: ResponseType::Form,
        choices: Vec::new(),
        fallback_value: Some(json!({"cap": 1})),
        schema: Some(Box::new(schema)),
        ..suspension()
    };
    vec![Event::Suspended(Box::new(form), Box::new(question()))]
}

/// Questions that propose an action, and answers that approve it with edits.
pub(super) fn proposals() -> Vec<Event> {
    let editable = json!({"type": "object", "properties": {"amount": {"type": "integer", "maximum": 500}}});
    let proposal = Proposal {
        action: object(json!({"amount": 412, "to": "DE02"})),
        editable: Some(Box::new(Schema::accept(object(editable)).unwrap())),
        refusing: vec!["no".into()],
    };
    let fixed = Proposal { editable: None, refusing: Vec::new(), ..proposal.clone() };
    let with = |proposal| Question { proposal: Some(Box::new(proposal)), ..question() };
    let Event::Resumed(mut answer) = with_evidence() else { panic!("the answer is no answer") };
    answer.action = Some(object(json!({"amount": 400, "to": "DE02"})));
    let (action_digest, proposed_digest, presented_hash) = (Hash([7; 32]), Some(Hash([9; 32])), Hash([8; 32]));
    answer.evidence = Some(Evidence { action_digest, proposed_digest, presented_hash });
    let (person, tally) = ("bob@example.com".into(), Tally { given: 1, needed: 2 });
    let clears = vec!["ada@example.com".into()];
    let counted = AnswerCounted { answer: (*answer).clone(), person, gateway: None, tally, clears };
    vec![
        Event::Suspended(Box::new(suspension()), Box::new(with(proposal))),
        Event::Suspended(Box::new(suspension()), Box::new(with(fixed))),
        Event::AnswerCounted(Box::new(counted)),
        Event::Resumed(answer),
    ]
}
