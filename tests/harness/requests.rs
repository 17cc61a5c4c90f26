//! The requests that the HTTP APIs hand to the store, for tests that call the store without HTTP.

use domain::base::field::FieldError;
use domain::base::ids::IntentId;
use domain::base::name::Owner;
use domain::intent::body::IntentBody;
use domain::intent::command::Command;
use domain::intent::status::Status;
use domain::people::authority::Action;
use domain::people::principal::{Assurance, Principal, Role};
use serde_json::{Map, json};
use store::{CreateIntent, NewIntent, Precondition, Request, Target, Unreadable};

/// A caller with an API key whose name, subject and owner are all `name`.
pub fn principal(name: &str, role: Role) -> Principal {
    let name = name.to_owned();
    Principal {
        credential: None,
        subject: name.clone(),
        owner: Owner(name.clone()),
        name,
        role,
        tied_to: None,
        client: None,
        assurance: Assurance::ApiKey,
    }
}

/// An intent with an empty body.
pub fn body(created_by: &Principal, title: &str) -> IntentBody {
    IntentBody {
        title: title.to_owned(),
        description: String::new(),
        created_by: created_by.name.clone(),
        parent_intent_id: None,
        depends_on: Vec::new(),
        constraints: json!({}),
        state: Map::new(),
        governance_policy: None,
        confidence: 0.0,
    }
}

/// Begins an intent that may be suspended.
pub fn create(principal: &Principal, id: IntentId, body: IntentBody) -> CreateIntent {
    let new = NewIntent { id, status: Status::Active, body };
    CreateIntent { principal: principal.clone(), idempotency: None, below: None, intent: Ok(new) }
}

/// A write without conditions, and without an idempotency key.
pub fn write(principal: &Principal, action: Action, target: Target, command: Result<Command, Vec<FieldError>>) -> Request {
    Request {
        principal: principal.clone(),
        target,
        precondition: Precondition::None,
        idempotency: None,
        command: command.map_err(|errors| Unreadable { action, errors }),
        trace_parent: None,
    }
}
