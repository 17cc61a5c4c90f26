//! Questions with a form whose answer has a schema.

use domain::form::Schema;
use domain::intent::event::Event;
use domain::suspension::{ResponseType, Suspension};
use serde_json::json;

use super::{question, suspension};

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
