//! A question with demands on its answer, and an answer that meets them.

use domain::base::ids::SessionId;
use domain::intent::event::{Event, Resumed};
use domain::people::principal::{Assurance, Credential};
use domain::suspension::Question;
use domain::suspension::demand::{CommentOnRefusal, RequiredAssurance, Risk, Separation};
use uuid::Uuid;

use super::{question, suspension, with_evidence};

/// A question with every demand on its answer, and the answer of a person who has logged in.
pub(super) fn events() -> Vec<Event> {
    let question = Question {
        required_assurance: Some(RequiredAssurance::Session),
        risk: Some(Risk::Critical),
        separation: Some(Separation::Owner),
        comment_on_refusal: Some(CommentOnRefusal { refusing: vec!["no".into()] }),
        proposal: None,
        ..question()
    };
    let Event::Resumed(answer) = with_evidence() else { unreachable!() };
    let resumed = Resumed {
        credential: Some(Credential::Session(SessionId(Uuid::from_u128(77)))),
        assurance: Assurance::Session,
        ..*answer
    };
    vec![Event::Suspended(Box::new(suspension()), Box::new(question)), Event::Resumed(Box::new(resumed))]
}

/// A question that demands a recent login, and the answer of a person after one.
pub(super) fn recent() -> Vec<Event> {
    let question = Question { required_assurance: Some(RequiredAssurance::RecentLogin), ..question() };
    let Event::Resumed(answer) = with_evidence() else { unreachable!() };
    let credential = Some(Credential::Session(SessionId(Uuid::from_u128(77))));
    let resumed = Resumed { credential, assurance: Assurance::RecentLogin, ..*answer };
    vec![Event::Suspended(Box::new(suspension()), Box::new(question)), Event::Resumed(Box::new(resumed))]
}
