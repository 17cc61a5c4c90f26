//! A question of an asker without an intent of its own, and the doors through which answers come.

use domain::intent::event::{AnswerCounted, Event, RefusedAnswer, Resumed};
use domain::suspension::Question;
use domain::suspension::errand::{Errand, Via};
use domain::suspension::quorum::Tally;

use super::{question, suspension, with_evidence};

/// A refused answer names its door as well.
pub(super) fn refused() -> Vec<Event> {
    let Some(Event::ResponseRejected(refused)) = super::answered().into_iter().next_back() else {
        panic!("no answer is refused")
    };
    let words = RefusedAnswer { code: "invalid_choice", value: Some("yes please".into()), via: Some(Via::A2a), ..refused };
    vec![Event::ResponseRejected(words)]
}

pub(super) fn events() -> Vec<Event> {
    let errand = Errand { via: Via::A2a, message_id: "message-1".into(), context_id: "talk-1".into() };
    let question = Question { errand: Some(Box::new(errand)), ..question() };
    let asked = Event::Suspended(Box::new(suspension()), Box::new(question));
    let Event::Resumed(answer) = with_evidence() else { panic!("the answer is no answer") };
    let through = |via| Resumed { via: Some(via), ..(*answer).clone() };
    let doors = [Via::Page, Via::Link, Via::Api, Via::Openintent, Via::A2a];
    let tally = Tally { given: 1, needed: 2 };
    let counted =
        AnswerCounted { answer: through(Via::A2a), person: "ada@example.com".into(), gateway: None, tally, clears: Vec::new() };
    let answers = doors.map(|via| Event::Resumed(Box::new(through(via))));
    std::iter::once(asked).chain(answers).chain([Event::AnswerCounted(Box::new(counted))]).collect()
}
