//! The links in messages by which people decide. A link counts if a report says that its message was about this question and went to this
//! person. A person can be faster than the report, so a decision whose message has no report yet waits for it.

use std::collections::HashMap;

use domain::base::ids::{DeliveryId, SuspensionId};
use domain::base::text::quoted;
use domain::log::payload::{Delivery, Payload};
use domain::people::principal::Credential;

use super::course::{Happened, NAME_BYTES_MAX, OTHERS_MAX};
use super::doubt::{Decisions, Doubt, Doubts, Fault, Judged};
use super::keys::SHOWN_MAX;
use crate::finding::{Code, Findings, Place};

/// A link by which a person decided.
#[derive(Debug)]
pub(super) struct Link {
    message: DeliveryId,
    question: SuspensionId,
    person: String,
}

/// The messages of an intent, and the decisions that wait for reports about them.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// The messages of which a report has come: their questions and recipients.
    reported: HashMap<DeliveryId, (SuspensionId, String)>,
    waiting: HashMap<DeliveryId, Vec<Waiting>>,
    waiting_count: usize,
    /// Why reports may exist that are not known here.
    hole: Option<Doubt>,
}

/// The decisions by links whose messages have no report in the log of their intent. A report in the log of another intent contradicts them.
#[derive(Debug, Default)]
pub(super) struct Strays {
    waiting: HashMap<DeliveryId, Vec<Waiting>>,
    count: usize,
}

/// A decision by a link whose message has no report yet.
#[derive(Debug)]
struct Waiting {
    link: Link,
    place: Place,
    /// The doubts about it that a report does not settle.
    doubts: Doubts,
}

impl Link {
    /// The link by which a decision was made.
    pub(super) fn of(event: &Happened, question: SuspensionId, credential: Option<Credential>) -> Option<Self> {
        let Some(Credential::EmailLink(message)) = credential else { return None };
        Some(Self { message, question, person: event.actor.clone() })
    }

    /// The link that the event of a decision names.
    pub(super) fn in_payload(event: &Happened, payload: &Payload) -> Option<Self> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "few of the events are decisions that a person can make by a link")]
        match payload {
            Payload::Resumed(answer) => Self::of(event, answer.suspension_id, answer.credential),
            Payload::AnswerCounted(counted) => Self::of(event, counted.suspension_id, counted.credential),
            Payload::AnswerTakenBack(taken) => Self::of(event, taken.suspension_id, taken.credential),
            Payload::Hands(change) => Self::of(event, change.suspension_id(), change.credential()),
            _ => None,
        }
    }

    /// Refuses a link of a message that was about another question, or went to another person.
    fn fits(&self, asked: SuspensionId, recipient: &str) -> Result<(), Fault> {
        if asked == self.question && recipient == self.person {
            return Ok(());
        }
        let text = format!(
            "{} answered by the link of a message that went to {} or was about another question.",
            quoted(&self.person, SHOWN_MAX),
            quoted(recipient, SHOWN_MAX)
        );
        Err(Fault::new(Code::AnswerNotAllowed, text))
    }
}

impl Links {
    /// Refuses a link that a report contradicts. A link without a report is doubtful.
    pub(super) fn judge(&self, link: Option<&Link>) -> Judged {
        let Some(link) = link else { return Ok(Doubts::new()) };
        match self.reported.get(&link.message) {
            Some((asked, recipient)) => link.fits(*asked, recipient).map(|()| Doubts::new()),
            None => Ok(Doubts::from([Doubt::Link])),
        }
    }

    /// Lets a decision wait for the report about its message. If too many wait, it stays doubtful.
    pub(super) fn wait(&mut self, link: Link, place: Place, mut doubts: Doubts, decisions: &mut Decisions) {
        if self.waiting_count >= OTHERS_MAX || link.person.len() > NAME_BYTES_MAX {
            decisions.count(&doubts);
            return;
        }
        doubts.remove(&Doubt::Link);
        self.waiting_count += 1;
        self.waiting.entry(link.message).or_default().push(Waiting { link, place, doubts });
    }

    /// Notes the report about a message. Returns the judgements on the decisions that waited for it.
    pub(super) fn report(&mut self, delivery: &Delivery) -> Vec<(Place, Judged)> {
        let Delivery { suspension_id: asked, delivery_id: message, ref recipient, .. } = *delivery;
        if self.reported.len() < OTHERS_MAX && recipient.len() <= NAME_BYTES_MAX {
            self.reported.insert(message, (asked, recipient.clone()));
        } else {
            self.hole = Some(Doubt::Unknown);
        }
        let waiting = self.waiting.remove(&message).unwrap_or_default();
        self.waiting_count -= waiting.len();
        let judged = |Waiting { link, place, doubts }| (place, Link::fits(&link, asked, recipient).map(|()| doubts));
        waiting.into_iter().map(judged).collect()
    }

    /// Notes that reports may be missing.
    pub(super) fn miss(&mut self, doubt: Doubt) {
        self.hole = Some(doubt);
    }

    /// Hands on the decisions whose reports never came. If there are too many in the whole log, they are counted.
    pub(super) fn end(self, strays: &mut Strays, decisions: &mut Decisions) {
        let doubt = self.hole.unwrap_or(Doubt::Link);
        for mut waiting in self.waiting.into_values().flatten() {
            waiting.doubts.insert(doubt);
            if strays.count >= OTHERS_MAX {
                decisions.count(&waiting.doubts);
            } else {
                strays.count += 1;
                strays.waiting.entry(waiting.link.message).or_default().push(waiting);
            }
        }
    }
}

impl Strays {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Compares the decisions with a report of any intent.
    pub(super) fn report(&mut self, delivery: &Delivery, findings: &mut Findings) {
        let Some(waiting) = self.waiting.get_mut(&delivery.delivery_id) else { return };
        waiting.retain(|Waiting { link, place, .. }| match link.fits(delivery.suspension_id, &delivery.recipient) {
            Ok(()) => true,
            Err(fault) => {
                findings.add(*place, fault.code, fault.text);
                false
            }
        });
    }

    /// Counts the decisions that no report contradicts.
    pub(super) fn end(self, decisions: &mut Decisions) {
        for Waiting { doubts, .. } in self.waiting.into_values().flatten() {
            decisions.count(&doubts);
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use uuid::Uuid;

    use super::*;
    use crate::report::Report;

    /// A forged log has as many links without reports as its forger likes.
    #[test]
    fn only_so_many_decisions_wait() {
        let event = |actor: String| Happened { actor, event_type: "", at: DateTime::UNIX_EPOCH, is_exact: true, leaf: 1 };
        let (mut links, mut decisions, question) = (Links::default(), Decisions::default(), SuspensionId(Uuid::nil()));
        let mut wait = |actor: String, message: u128| {
            let credential = Some(Credential::EmailLink(DeliveryId(Uuid::from_u128(message))));
            let link = Link::of(&event(actor), question, credential).unwrap();
            let doubts = links.judge(Some(&link)).unwrap();
            assert!(doubts.contains(&Doubt::Link));
            links.wait(link, Place::default(), doubts, &mut decisions);
        };
        wait("a".repeat(NAME_BYTES_MAX + 1), 0);
        let waiting = OTHERS_MAX as u128;
        (1..=waiting + 5).for_each(|message| wait("dan@x.example".to_owned(), message));
        assert_eq!((links.waiting_count, links.waiting.len()), (OTHERS_MAX, OTHERS_MAX));
        let mut strays = Strays::default();
        links.end(&mut strays, &mut decisions);
        assert_eq!(strays.count, OTHERS_MAX);
        strays.end(&mut decisions);
        let mut report = Report::new("export");
        decisions.report(&mut report);
        let remarks: Vec<_> = report.not_checkable.iter().map(|remark| (remark.code, remark.count)).collect();
        assert_eq!((report.decisions, remarks), (0, vec![("decisions_link", Some(OTHERS_MAX as u64 + 6))]));
    }
}
