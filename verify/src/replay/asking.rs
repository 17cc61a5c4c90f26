//! Questions as they were asked, and the people who may act on them.

use domain::base::name::Owner;
use domain::intent::Intent;
use domain::intent::command::Command;
use domain::intent::permit::permit;
use domain::log::payload::Suspended;
use domain::people::answerer::{Answerer, answers_for};
use domain::people::authority::{Action, Demands, Object, Ownership, authorize};
use domain::people::principal::{Assurance, Principal, Role};
use domain::problem::Rejection;
use domain::suspension::hands::Hands;
use domain::suspension::requested::REQUESTS_OPEN_MAX;
use domain::suspension::{Asker, Question, Suspension, SuspensionChoice};
use serde_json::Map;

use super::course::{Course, Happened};
use super::doubt::{Doubt, Doubts, Fault, Judged};
use super::keys::{Owned, stranger};
use crate::finding::Code;

impl Course<'_> {
    /// A question is new, and an intent waits for one at a time.
    pub(super) fn asked(&self, event: &Happened, asked: &Suspended) -> Judged {
        let differs = |text: &str| Err(Fault::new(Code::DecisionDiffers, text));
        if self.intent.suspension(asked.suspension_id).is_some() {
            return differs("The question has the id of an earlier question of the intent.");
        }
        if asked.id != asked.suspension_id || asked.intent_id != self.intent.id {
            return differs("The question names two ids, or another intent than the one that it is an event of.");
        }
        if asked.suspended_at > event.at || (event.is_exact && asked.suspended_at != event.at) {
            return differs("The question says another time than its event.");
        }
        if asked.kind.stops_intent() && self.intent.open.is_some() {
            let text = "A question was asked although another one was open, and no event says how that ended.";
            return Err(Fault::new(Code::QuestionOpen, text));
        }
        if !asked.kind.stops_intent() && self.intent.beside.len() >= REQUESTS_OPEN_MAX {
            return differs("More requests are open beside the intent than a server allows.");
        }
        Ok(Doubts::new())
    }

    /// The agent with this name. If several owners are possible, one of them stands in for all.
    pub(super) fn asker(&self, name: &str) -> Asker {
        let owner = self.keys.owners(name).first().cloned().unwrap_or_else(stranger);
        Asker { name: name.to_owned(), owner }
    }

    /// The suspension and its question, the latter without its texts.
    pub(super) fn rebuilt(&self, asked: Suspended) -> (Suspension, Question) {
        let choices = asked.choices.iter().map(|choice| SuspensionChoice {
            value: choice.value.clone(),
            label: choice.label.clone(),
            description: choice.description.clone(),
            style: choice.style,
            metadata: None,
        });
        let suspension = Suspension {
            id: asked.suspension_id,
            intent_id: self.intent.id,
            kind: asked.kind,
            version: asked.version,
            attempt: asked.attempt,
            response_type: asked.response_type,
            choices: choices.collect(),
            suspended_at: asked.suspended_at,
            expires_at: asked.expires_at,
            fallback_policy: asked.fallback_policy,
            fallback_value: asked.fallback_value.clone(),
            reached: asked.reached,
            // The log does not say this, so the judgement on a deadline tries both.
            requires_delivery: false,
            fixed_deadline: asked.fixed_deadline,
            refusals: 0,
            reminded_at: None,
            asked_by: self.asker(&asked.asked_by),
            quorum: asked.quorum.clone(),
            schema: asked.schema.clone(),
            counted: Vec::new(),
            hands: Hands::default(),
            ending: None,
            portfolio_deadline: None,
        };
        let mut question = asked.into_question();
        let is_about_work = IS_ABOUT_WORK.iter().any(|name| question.context.contains_key(*name));
        question.context = Map::new();
        if is_about_work {
            question.context.insert(ABOUT_WORK.to_owned(), true.into());
        }
        (question.question, question.decision_record, question.requested) = (String::new(), None, None);
        (suspension, question)
    }

    /// Whether the question may be about a plan or a task.
    pub(super) fn is_about_work(&self, open: &Suspension) -> bool {
        self.questions.get(&open.id).is_none_or(|question| question.context.contains_key(ABOUT_WORK))
    }

    /// Whether a principal may give a command about a question; the doubts if that depends on what the log does not say.
    pub(super) fn allowed(
        &self,
        (by, holders): (&Principal, &[Answerer]),
        action: Action,
        open: &Suspension,
        command: &Command,
        alone: &Intent,
        event: &Happened,
    ) -> Result<Doubts, Rejection> {
        let mut doubts = Doubts::new();
        let respond = if let Command::Respond(respond) = command { Some(respond) } else { None };
        let claimed = respond.and_then(|respond| respond.claimed_responded_by.clone());
        // The log does not say for which people a gateway was handed messages.
        let handed_for: Vec<String> = claimed.into_iter().collect();
        if by.tied_to.is_some() {
            doubts.insert(Doubt::Gateway);
        }
        // An agent that asked was allowed to, so it has the permission to work on the intent.
        let assigned = [by.name.clone()];
        let assigned = if by.role == Role::Agent { &assigned[..] } else { &[] };
        let question = self.questions.get(&open.id);
        let (assurance, assignees) = question.map_or((None, None), |asked| (asked.required_assurance, asked.assignees.as_ref()));
        let is_separate = question.is_some_and(|asked| asked.separation.is_some());
        let hand = if let Command::Hand(hand) = command { Some(hand) } else { None };
        // People behind the asker never decide who answers, also if one answer is enough.
        let decides_who = action == Action::Reassign;
        let keeps_owner = is_separate || open.quorum.is_some() || decides_who;
        let names_people = is_separate || assignees.is_some() || decides_who;
        let address = answers_for(by, handed_for.first().map(String::as_str)).filter(|_| names_people);
        let answerer = respond.and_then(|respond| respond.answerer.as_ref()).or(hand.and_then(|hand| hand.facts.person.as_ref()));
        // An answer that is taken back needs no signature: the question is as open as before it.
        let assurance = assurance.filter(|_| !respond.is_some_and(|respond| respond.takes_back));
        let creators = self.possible(by, self.knows_creator.then_some(&self.intent.created_by.name));
        let askers = self.possible(by, Some(&open.asked_by.name));
        let (mut allowed, mut refused) = (0, None);
        for created_by in &creators {
            for asked_by in &askers {
                let owned = match &address {
                    Some(address) if keeps_owner => self.keys.own([created_by, asked_by], address, event),
                    Some(_) | None => Owned::No,
                };
                let ownership = match owned {
                    Owned::Yes => Ownership::Own,
                    Owned::No | Owned::Unsure if is_separate && address.is_none() => Ownership::Unknown,
                    Owned::No | Owned::Unsure => Ownership::Free,
                };
                let hands = Some(&open.hands);
                let demands = Demands { assurance, assignees, answerer, ownership, hands, holders };
                let (asked_by, handed_for) = (Some(asked_by), &handed_for);
                let object = Object::Intent { created_by, asked_by, assigned, entries: &[], handed_for, demands };
                match authorize(by, action, object).and_then(|()| permit(alone, command, by, handed_for)) {
                    Ok(()) => {
                        allowed += 1;
                        if owned == Owned::Unsure {
                            doubts.insert(Doubt::Owner);
                        }
                    }
                    Err(rejection) => refused = Some(rejection),
                }
            }
        }
        match refused {
            Some(rejection) if allowed == 0 => Err(rejection),
            Some(_) => {
                doubts.insert(if self.knows_creator { Doubt::Owner } else { Doubt::Selection });
                Ok(doubts)
            }
            None => Ok(doubts),
        }
    }

    /// All that may be true of an agent with this name, as far as it makes a difference for `by`.
    pub(super) fn possible(&self, by: &Principal, name: Option<&String>) -> Vec<Asker> {
        let asker = |name: &str, owner: Owner| Asker { name: name.to_owned(), owner };
        let Some(name) = name else {
            return vec![asker(stranger().as_str(), stranger()), asker(&by.name, by.owner.clone())];
        };
        let owners = self.keys.owners(name);
        if !owners.is_empty() {
            return owners.iter().map(|owner| asker(name, owner.clone())).collect();
        }
        // The holder of a mailbox has the owner of no key.
        let own = (by.assurance == Assurance::ApiKey).then(|| asker(name, by.owner.clone()));
        std::iter::once(asker(name, stranger())).chain(own).collect()
    }
}

/// The members of a context that show that the question is about a plan or a task.
pub(super) const IS_ABOUT_WORK: [&str; 3] = ["plan_id", "task_id", "task"];
/// The member that marks a question about a plan or a task, in place of its context.
const ABOUT_WORK: &str = "about_work";
