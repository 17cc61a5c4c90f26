//! Claims, places that are handed on, and questions that are assigned to other people.

use domain::intent::event::{Agreed, AnswerCounted, Event};
use domain::intent::hands::{Claimed, Delegated, HandsEvent, Reassigned, Released};
use domain::suspension::assignees::Assignees;
use domain::suspension::quorum::Tally;

use super::{asked_id, at, key, with_evidence};

pub(super) fn events() -> Vec<Event> {
    let [ada, bob, cleo] = ["ada", "bob", "cleo"].map(|name| format!("{name}@example.com"));
    let (suspension_id, credential) = (asked_id(), Some(key()));
    let hands = |event| Event::Hands(Box::new(event));
    let claimed = |taken_over_from, credential| {
        hands(HandsEvent::Claimed(Claimed { suspension_id, person: ada.clone(), taken_over_from, credential }))
    };
    let released = |credential| {
        let (person, released_by) = (ada.clone(), "root".to_owned());
        hands(HandsEvent::Released(Released { suspension_id, person, released_by, credential }))
    };
    let delegated = |credential| {
        let (place, from, to) = (ada.clone(), bob.clone(), cleo.clone());
        hands(HandsEvent::Delegated(Delegated {
            suspension_id,
            place,
            from,
            to,
            credential,
            out_of_office: false,
            via: Vec::new(),
        }))
    };
    let assignees = Assignees { people: vec![cleo.clone()], groups: vec!["finance".into()], ..Assignees::default() };
    let reassigned = |before: Option<Assignees>, credential| {
        let (assignees, notify_to, reassigned_by) = (assignees.clone(), vec![cleo.clone()], "root".to_owned());
        hands(HandsEvent::Reassigned(Reassigned { suspension_id, assignees, before, notify_to, reassigned_by, credential }))
    };
    let Event::Resumed(mut answer) = with_evidence() else { panic!("the answer is no answer") };
    answer.in_place_of = Some(ada.clone());
    let counted = AnswerCounted {
        answer: (*answer).clone(),
        person: cleo.clone(),
        gateway: None,
        tally: Tally { given: 1, needed: 2 },
        clears: Vec::new(),
    };
    let agreed = [(bob.clone(), 30, None), (cleo.clone(), 60, Some(ada.clone()))];
    answer.agreed = agreed.map(|(person, second, in_place_of)| Agreed { person, at: at(second), in_place_of }).into();
    vec![
        claimed(None, credential),
        claimed(Some(bob.clone()), None),
        released(credential),
        released(None),
        delegated(credential),
        delegated(None),
        reassigned(Some(Assignees { people: vec![ada.clone()], ..Assignees::default() }), credential),
        reassigned(None, None),
        Event::AnswerCounted(Box::new(counted)),
        Event::Resumed(answer),
    ]
}

/// Places that went to the deputies of people who are out of office.
pub(super) fn deputies() -> Vec<Event> {
    let stood_in = |via: &[&str]| {
        let (place, from, to) = ("ada@example.com".to_owned(), "ada@example.com".to_owned(), "cleo@example.com".to_owned());
        let via = via.iter().map(|address| (*address).to_owned()).collect();
        let delegated = Delegated { suspension_id: asked_id(), place, from, to, credential: None, out_of_office: true, via };
        Event::Hands(Box::new(HandsEvent::Delegated(delegated)))
    };
    vec![stood_in(&[]), stood_in(&["bob@example.com"])]
}
