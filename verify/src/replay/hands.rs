//! Claims, releases, delegations and reassignments of an open question.

use std::collections::BTreeSet;

use domain::base::text::quoted;
use domain::base::time::rfc3339;
use domain::intent::command::Command;
use domain::intent::decide::decide;
use domain::intent::event::Event;
use domain::intent::hands::{Delegated, Hand, HandFacts, HandStep, HandsEvent};
use domain::people::answerer::{Answerer, answers_for};
use domain::people::deputies::DEPUTIES_MAX;
use domain::people::principal::{Assurance, Principal, Role};
use domain::problem::Rejection;
use domain::suspension::Suspension;
use domain::suspension::hands::HANDED_MAX;

use super::answer::first;
use super::change::at_least;
use super::course::{Course, Happened, NAME_BYTES_MAX};
use super::doubt::{Doubt, Doubts, Fault, Judged};
use super::keys::{Acted, Owned, SHOWN_MAX};
use super::standing::Claim;
use crate::finding::Code;

impl Course<'_> {
    /// A person claims an open question, hands the own place on, or assigns the question to others, before the deadline.
    pub(super) fn hands(&self, event: &Happened, logged: &HandsEvent) -> Judged {
        let Some(open) = self.intent.opened(logged.suspension_id()) else { return self.not_open(logged.suspension_id()) };
        let stands_in = matches!(logged, HandsEvent::Delegated(delegated) if delegated.out_of_office);
        let subject = match logged {
            HandsEvent::Claimed(claimed) => &claimed.person,
            HandsEvent::Released(released) => &released.released_by,
            HandsEvent::Delegated(delegated) => &delegated.from,
            HandsEvent::Reassigned(reassigned) => &reassigned.reassigned_by,
        };
        let (role, assurance, credential) = (Role::Operator, Assurance::ApiKey, logged.credential());
        let acted = Acted { event, subject, role, assurance, credential };
        let who = if stands_in { self.keys.who(&acted)? } else { self.keys.person(&acted)? };
        let by_link = self.was_sent_to(open, event, credential)?;
        let mut doubts = self.judge_hands(event, logged, open, &who.principal)?;
        doubts.extend(by_link);
        if let (true, HandsEvent::Delegated(delegated)) = (stands_in, logged) {
            doubts.extend(self.was_away(event, delegated)?);
        }
        if !event.is_exact && open.is_expired(event.at) {
            doubts.insert(Doubt::Clock);
        }
        doubts.extend(who.doubts);
        Ok(doubts)
    }

    /// Judges a change by each state in which its people may have been. It is right if it is right by one of them.
    fn judge_hands(&self, event: &Happened, logged: &HandsEvent, open: &Suspension, by: &Principal) -> Judged {
        let step = match logged {
            HandsEvent::Claimed(_) => HandStep::Claim,
            HandsEvent::Released(_) => HandStep::Release,
            HandsEvent::Delegated(delegated) if delegated.out_of_office => {
                let Delegated { from, to, via, .. } = delegated.clone();
                HandStep::StandIn { from, to, via }
            }
            HandsEvent::Delegated(delegated) => HandStep::Delegate { to: delegated.to.clone() },
            HandsEvent::Reassigned(reassigned) => HandStep::Reassign { assignees: reassigned.assignees.clone() },
        };
        let mut doubts = Doubts::new();
        let mut facts = HandFacts {
            assignees: self.questions.get(&open.id).and_then(|question| question.assignees.clone()),
            notify_to: logged.told().to_vec(),
            ..HandFacts::default()
        };
        let deputies: Vec<&String> = match &step {
            HandStep::Delegate { to } => vec![to],
            HandStep::StandIn { to, via, .. } => [to].into_iter().chain(via).collect(),
            HandStep::Claim | HandStep::Release | HandStep::Reassign { .. } => Vec::new(),
        };
        for deputy in deputies {
            match self.keys.own([&self.intent.created_by, &open.asked_by], deputy, event) {
                Owned::Yes => facts.is_own = true,
                Owned::Unsure => {
                    doubts.insert(Doubt::Owner);
                }
                Owned::No => {}
            }
        }
        let (states, is_sure) = self.hands_states(open, &step, &facts, by, event);
        let mut judged = Ok(Doubts::new());
        for state in states {
            let facts = HandFacts { person: state.person, holders: state.holders, named: state.named, ..facts.clone() };
            judged = self.judge_change(event, logged, open, by, Hand { suspension_id: open.id, step: step.clone(), facts });
            if judged.is_ok() {
                break;
            }
        }
        doubts.extend(judged?);
        if !is_sure {
            doubts.insert(Doubt::People);
        }
        Ok(doubts)
    }

    /// The server gives a place to a deputy only while its person, and each deputy in between, is out of office, and the deputy is not.
    fn was_away(&self, event: &Happened, delegated: &Delegated) -> Judged {
        let Delegated { from, to, via, .. } = delegated;
        let chain: Vec<&str> = [from].into_iter().chain(via).chain([to]).map(String::as_str).collect();
        let fault = |text: String| Err(Fault::new(Code::ChangeNotAllowed, text));
        if via.len() >= DEPUTIES_MAX {
            return fault(format!("A place went by {} deputies, which are more than the server asks.", via.len() + 1));
        }
        if chain.iter().collect::<BTreeSet<_>>().len() < chain.len() {
            return fault("A place went to a deputy by way of the same person twice.".to_owned());
        }
        for hop in chain.windows(2) {
            let [away, deputy] = hop else { continue };
            match self.people.was_away(away, deputy, event) {
                Some(true) => {}
                None => return Ok(Doubts::from([Doubt::People])),
                Some(false) => {
                    let (away, deputy) = (quoted(away, SHOWN_MAX), quoted(deputy, SHOWN_MAX));
                    return fault(format!("The place of {away} was given to {deputy}, who was no deputy of {away} then."));
                }
            }
        }
        match self.people.was_absent(to, event) {
            Some(false) => Ok(Doubts::new()),
            None => Ok(Doubts::from([Doubt::People])),
            Some(true) => {
                let deputy = quoted(to, SHOWN_MAX);
                fault(format!("A place was given to {deputy}, who was out of office as well."))
            }
        }
    }

    fn judge_change(&self, event: &Happened, logged: &HandsEvent, open: &Suspension, by: &Principal, hand: Hand) -> Judged {
        let (alone, action) = (self.with_only(open), hand.step.action());
        let holders = hand.facts.holders.clone();
        let command = Command::Hand(Box::new(hand));
        let decided =
            decide(&alone, &command, by, at_least(event, open)).map_err(|refusal| why(&refusal.rejection, open, event))?;
        let allowed = self.allowed((by, &holders), action, open, &command, &alone, event);
        let doubts = allowed.map_err(|rejection| not_allowed(&rejection, event))?;
        match decided.first() {
            Some(Event::Hands(due)) if **due == *logged => Ok(doubts),
            Some(Event::Hands(due)) => Err(differs(&first(&**due, logged))),
            Some(_) | None => Err(differs("effect")),
        }
    }

    /// The states in which the people of a change may have been. The flag is false if the log does not say it.
    fn hands_states(
        &self,
        open: &Suspension,
        step: &HandStep,
        facts: &HandFacts,
        by: &Principal,
        event: &Happened,
    ) -> (Vec<State>, bool) {
        let address = match step {
            HandStep::StandIn { from, .. } => Some(from.clone()),
            HandStep::Claim | HandStep::Release | HandStep::Delegate { .. } | HandStep::Reassign { .. } => answers_for(by, None),
        };
        let holders = open.hands.holders();
        let groups: Vec<&str> = facts.assignees.iter().flat_map(|assignees| &assignees.groups).map(String::as_str).collect();
        let addresses: Vec<&str> = holders.iter().chain(step.named()).chain(&address).map(String::as_str).collect();
        let state = |mut people: Vec<Option<Answerer>>| {
            let person = address.as_ref().and_then(|_| people.pop().flatten());
            let named = people.split_off(holders.len()).into_iter().flatten().collect();
            State { person, named, holders: people.into_iter().flatten().collect() }
        };
        if let Some(states) = self.people.states(&addresses, &groups, event) {
            return (states.into_iter().map(state).collect(), true);
        }
        let assignees = facts.assignees.clone().unwrap_or_default();
        let listed = |address: &&str| Some(Claim::TakenBack.listed(open, &assignees, address));
        (vec![state(addresses.iter().map(listed).collect())], false)
    }

    /// Whether a change is larger than that of an honest log, so that it must not be kept.
    pub(super) fn is_too_large(&self, change: &HandsEvent) -> bool {
        let names = match change {
            HandsEvent::Claimed(claimed) => claimed.person.len(),
            HandsEvent::Delegated(delegated) => {
                let via = delegated.via.iter().map(String::len).sum::<usize>();
                delegated.place.len().max(delegated.from.len()).max(delegated.to.len()).max(via)
            }
            HandsEvent::Released(_) | HandsEvent::Reassigned(_) => 0,
        };
        let handed = self.intent.opened(change.suspension_id()).map_or(0, |open| open.hands.handed.len());
        names > NAME_BYTES_MAX || (matches!(change, HandsEvent::Delegated(_)) && handed >= HANDED_MAX)
    }
}

/// A state in which the people of a change may have been.
struct State {
    person: Option<Answerer>,
    named: Vec<Answerer>,
    holders: Vec<Answerer>,
}

fn differs(member: &str) -> Fault {
    let text = format!("The change of the people who answer has another {member} than the question and the credential give it.");
    Fault::new(Code::DecisionDiffers, text)
}

/// Why a change is none, in words.
fn why(rejection: &Rejection, open: &Suspension, event: &Happened) -> Fault {
    if let Rejection::Expired { .. } = rejection {
        let until = open.ends_at().map(rfc3339).unwrap_or_default();
        let at = rfc3339(event.at);
        let text = format!("The people who answer were changed at {at}, after the deadline: people had time until {until}.");
        return Fault::new(Code::ChangeLate, text);
    }
    not_allowed(rejection, event)
}

fn not_allowed(rejection: &Rejection, event: &Happened) -> Fault {
    let actor = quoted(&event.actor, SHOWN_MAX);
    Fault::new(Code::ChangeNotAllowed, format!("{actor} changed who answers the question, which is not allowed: {rejection}."))
}
