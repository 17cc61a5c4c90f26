//! Questions that are assigned to people, and those on which several people must agree.

use std::collections::BTreeMap;

use domain::intent::event::{Agreed, AnswerCounted, AnswerTakenBack, Event};
use domain::suspension::assignees::{AssignedRole, Assignees};
use domain::suspension::quorum::{Quorum, Tally};
use domain::suspension::{Question, ResolutionReason, Suspension};

use super::{asked_id, at, key, question, suspension, with_evidence};

pub(super) fn events() -> Vec<Event> {
    let (ada, bob) = ("ada@example.com".to_owned(), "bob@example.com".to_owned());
    let assigned = |assignees| Question { assignees: Some(assignees), ..question() };
    let groups = Assignees { groups: vec!["finance".into()], ..Assignees::default() };
    let all = Assignees { people: vec![ada.clone()], roles: vec![AssignedRole::Operator, AssignedRole::Admin], ..groups.clone() };
    let quorum = Quorum {
        required_approvals: 2,
        required_refusals: 1,
        required_by_group: BTreeMap::from([("finance".into(), 1)]),
        refusing: vec!["no".into()],
    };
    let plain = Quorum { required_by_group: BTreeMap::new(), refusing: Vec::new(), ..quorum.clone() };
    let with = |quorum| Suspension { quorum: Some(quorum), ..suspension() };
    let Event::Resumed(mut answer) = with_evidence() else { panic!("the answer is no answer") };
    let counted = |gateway| {
        let (answer, person, tally) = ((*answer).clone(), ada.clone(), Tally { given: 1, needed: 2 });
        Event::AnswerCounted(Box::new(AnswerCounted { answer, person, gateway, tally, clears: Vec::new() }))
    };
    let first = counted(None);
    answer.agreed =
        [(ada.clone(), 30), (bob, 60)].map(|(person, second)| Agreed { person, at: at(second), in_place_of: None }).into();
    let taken_back = |credential| {
        let (suspension_id, person, taken_back_by) = (asked_id(), ada.clone(), ada.clone());
        Event::AnswerTakenBack(AnswerTakenBack { suspension_id, person, taken_back_by, credential })
    };
    vec![
        Event::Suspended(Box::new(suspension()), Box::new(assigned(groups))),
        Event::Suspended(Box::new(with(plain)), Box::new(assigned(all.clone()))),
        Event::Suspended(Box::new(with(quorum)), Box::new(assigned(all))),
        first,
        taken_back(Some(key())),
        taken_back(None),
        Event::Resumed(answer),
        Event::SuspensionCancelled {
            suspension_id: asked_id(),
            reason: ResolutionReason::QuorumUnmet,
            note: None,
            cancelled_by: "server".into(),
            credential: None,
        },
    ]
}
