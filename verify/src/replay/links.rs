//! The links in messages by which people decide. A link counts if a report says that its message was about this question and went to this
//! person. A person can be faster than the report, so a decision whose message has no report yet waits for it. A message may have several
//! reports, and those of a server all say the same of it: its question and its recipient never change.

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
    /// The messages of which a report has come.
    reported: HashMap<DeliveryId, Reported>,
    waiting: HashMap<DeliveryId, Vec<Waiting>>,
    waiting_count: usize,
    /// Why reports may exist that are not known here.
    hole: Option<Doubt>,
}

/// A message of which a report has come.
#[derive(Debug)]
struct Reported {
    question: SuspensionId,
    recipient: String,
    /// The first decision that counts because of the report. A later report may contradict it.
    decision: Option<Place>,
    is_contradicted: bool,
}

/// The decisions by links for whose messages no report is known from the log of their intent. A report in any log may contradict them.
#[derive(Debug, Default)]
pub(super) struct Strays {
    waiting: HashMap<DeliveryId, Stray>,
    count: usize,
}

/// The decisions by the link of one message.
#[derive(Debug, Default)]
struct Stray {
    decisions: Vec<Waiting>,
    /// Whether a report was compared with all of them, so that those that are left are about one question and by one person.
    is_compared: bool,
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
            Payload::RefusedAnswer(refused) => Self::of(event, refused.suspension_id, refused.credential),
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

impl Reported {
    /// Refuses a link if the reports about its message name another question or person, or do not agree.
    fn judge(&self, link: &Link) -> Result<(), Fault> {
        if self.is_contradicted { Err(contradiction()) } else { link.fits(self.question, &self.recipient) }
    }

    /// Compares a further report about the message. Returns the decision that it makes wrong.
    fn compare(&mut self, asked: SuspensionId, recipient: &str) -> Option<(Place, Judged)> {
        if asked == self.question && recipient == self.recipient {
            return None;
        }
        self.is_contradicted = true;
        self.decision.take().map(|place| (place, Err(contradiction())))
    }
}

fn contradiction() -> Fault {
    let text = "The reports about the message whose link was used contradict each other: they name two questions or recipients.";
    Fault::new(Code::AnswerNotAllowed, text)
}

/// Whether the recipient of a message was erased. A server erases a long log in several transactions, and with the first part the recipients
/// of its messages. Between these transactions it may record that a message came back, or that a person opened a link too late.
fn is_erased(recipient: &str) -> bool {
    recipient.is_empty()
}

impl Links {
    /// Refuses a link that a report contradicts. A link without a report is doubtful.
    pub(super) fn judge(&self, link: Option<&Link>) -> Judged {
        let Some(link) = link else { return Ok(Doubts::new()) };
        match self.reported.get(&link.message) {
            Some(reported) => reported.judge(link).map(|()| Doubts::new()),
            None => Ok(Doubts::from([Doubt::Link])),
        }
    }

    /// As [`Links::judge`], for an answer that was refused.
    pub(super) fn judge_refused(&self, link: Option<&Link>) -> Judged {
        if link.is_some_and(|link| is_erased(&link.person)) { Ok(Doubts::from([Doubt::Erased])) } else { self.judge(link) }
    }

    /// Notes a decision that counts, so that a later report about its message can contradict it.
    pub(super) fn count(&mut self, link: &Link, place: Place) {
        if let Some(reported) = self.reported.get_mut(&link.message) {
            reported.decision.get_or_insert(place);
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

    /// Notes a report about a message. Returns the judgements on the decisions that waited for it, or that it contradicts.
    pub(super) fn report(&mut self, delivery: &Delivery) -> Vec<(Place, Judged)> {
        let Delivery { suspension_id: asked, delivery_id: message, ref recipient, .. } = *delivery;
        if is_erased(recipient) {
            self.hole = Some(Doubt::Erased);
            return Vec::new();
        }
        if let Some(reported) = self.reported.get_mut(&message) {
            return reported.compare(asked, recipient).into_iter().collect();
        }
        if self.reported.len() >= OTHERS_MAX || recipient.len() > NAME_BYTES_MAX {
            // A later report could not be compared with this one. So the decisions go on waiting, and are doubtful at the end.
            self.hole = Some(Doubt::Unknown);
            return Vec::new();
        }
        let waiting = self.waiting.remove(&message).unwrap_or_default();
        self.waiting_count -= waiting.len();
        let judged = |Waiting { link, place, doubts }| (place, Link::fits(&link, asked, recipient).map(|()| doubts));
        let judged: Vec<(Place, Judged)> = waiting.into_iter().map(judged).collect();
        let decision = judged.iter().find(|(_, judged)| judged.is_ok()).map(|(place, _)| *place);
        let reported = Reported { question: asked, recipient: recipient.clone(), decision, is_contradicted: false };
        self.reported.insert(message, reported);
        judged
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
                strays.waiting.entry(waiting.link.message).or_default().decisions.push(waiting);
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
        let stray = self.waiting.get_mut(&delivery.delivery_id);
        let Some(stray) = stray.filter(|_| !is_erased(&delivery.recipient)) else { return };
        let fits = |waiting: &Waiting| waiting.link.fits(delivery.suspension_id, &delivery.recipient);
        // A forger can write as many reports of one message as there are events, and decisions by its link as well.
        if stray.is_compared && stray.decisions.first().is_none_or(|first| fits(first).is_ok()) {
            return;
        }
        stray.is_compared = true;
        stray.decisions.retain(|waiting| match fits(waiting) {
            Ok(()) => true,
            Err(fault) => {
                findings.add(waiting.place, fault.code, fault.text);
                false
            }
        });
    }

    /// Counts the decisions that no report contradicts.
    pub(super) fn end(self, decisions: &mut Decisions) {
        for Waiting { doubts, .. } in self.waiting.into_values().flat_map(|stray| stray.decisions) {
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

    /// A report about the message with this number.
    fn report(message: u128, recipient: &str) -> Delivery {
        Delivery {
            suspension_id: SuspensionId(Uuid::nil()),
            delivery_id: DeliveryId(Uuid::from_u128(message)),
            sequence: 1,
            attempt: 1,
            channel: "email".to_owned(),
            recipient: recipient.to_owned(),
            detail: String::new(),
            tries: 1,
        }
    }

    /// The link of the message with this number, used by `dan@x.example`.
    fn link(message: u128) -> Link {
        Link {
            message: DeliveryId(Uuid::from_u128(message)),
            question: SuspensionId(Uuid::nil()),
            person: "dan@x.example".to_owned(),
        }
    }

    /// A report that is not kept cannot be compared with a later one that contradicts it, so it settles nothing.
    #[test]
    fn a_report_beyond_the_bound_settles_nothing() {
        let (mut links, mut strays, mut decisions) = (Links::default(), Strays::default(), Decisions::default());
        let last = OTHERS_MAX as u128;
        links.wait(link(last), Place::default(), Doubts::from([Doubt::Link]), &mut decisions);
        for message in 0..=last {
            assert!(links.report(&report(message, "dan@x.example")).is_empty());
        }
        assert_eq!((links.reported.len(), links.waiting_count), (OTHERS_MAX, 1));
        // A message that is kept is still compared.
        assert!(links.judge(Some(&link(0))).unwrap().is_empty());
        links.count(&link(0), Place::line(7));
        let contradicted = links.report(&report(0, "eve@x.example"));
        assert!(matches!(&*contradicted, [(place, Err(_))] if *place == Place::line(7)), "{contradicted:?}");
        assert!(links.report(&report(0, "eve@x.example")).is_empty(), "one finding is enough");
        links.end(&mut strays, &mut decisions);
        let waiting: Vec<_> = strays.waiting.values().flat_map(|stray| &stray.decisions).map(|waiting| &waiting.doubts).collect();
        assert_eq!(waiting, [&Doubts::from([Doubt::Unknown])]);
    }

    /// Many reports of one message, and many decisions by its link, are compared in the time of both together and not of their product.
    #[test]
    fn a_stray_is_compared_with_a_report_of_each_content() {
        let (mut links, mut strays, mut decisions) = (Links::default(), Strays::default(), Decisions::default());
        for _ in 0..OTHERS_MAX {
            links.wait(link(1), Place::default(), Doubts::from([Doubt::Link]), &mut decisions);
        }
        links.end(&mut strays, &mut decisions);
        let mut findings = Findings::default();
        let mut told = |message: u128, recipient: &str| {
            strays.report(&report(message, recipient), &mut findings);
            findings.count()
        };
        assert_eq!(told(1, ""), 0, "the recipient was erased");
        assert_eq!(told(2, "eve@x.example"), 0, "another message");
        // If each of them were compared with each decision, this would take a minute.
        for _ in 0..100_000 {
            assert_eq!(told(1, "dan@x.example"), 0);
        }
        assert_eq!(told(1, "eve@x.example"), OTHERS_MAX as u64);
        assert_eq!(told(1, "dan@x.example"), OTHERS_MAX as u64);
        strays.end(&mut decisions);
        assert!(decisions.is_empty());
    }

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
