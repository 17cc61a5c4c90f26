//! Why a decision cannot be checked, or not in all respects.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Code;
use crate::report::Report;

/// The reason for which a decision cannot be checked in all respects. No doubt is a sign of tampering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doubt {
    /// Events of the intent are not in the selection.
    Selection,
    /// Events of the intent were erased.
    Erased,
    /// Events of the intent have a form that this program does not know, or are too many or too large.
    Unknown,
    /// The event does not name the credential.
    Credential,
    /// A sender of the configuration file told of an event, by a signature under a secret that no log has.
    Sender,
    /// The owner of the agent that asked is not known, or not all people who have keys of this owner.
    Owner,
    /// The server's clock was set back, or several events have one time.
    Clock,
    /// A gateway answered that is tied to channels.
    Gateway,
    /// The question is about a plan or a task.
    Plan,
    /// The intent is in a portfolio, which may have a deadline of its own.
    Portfolio,
    /// The question is assigned to people, and the events about people and groups cannot all be read, or are too many at one time.
    People,
    /// A passkey signed that is not known.
    Passkey,
    /// A passkey signed that was not known beforehand.
    PasskeyOfLog,
    /// A person used the link of a message, and no report about this message was found.
    Link,
}

impl Doubt {
    /// The stable code, and the remark for people.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Selection => (
                "decisions_selection",
                "Decisions depend on events that are not in the selection, for example on the question. Verify a whole export.",
            ),
            Self::Erased => ("decisions_erased", "Decisions depend on events that were erased."),
            Self::Unknown => (
                "decisions_unknown",
                "Decisions depend on events whose form this program does not know, or that are too large. A newer version may know them.",
            ),
            Self::Credential => (
                "decisions_credential",
                "Decisions do not name the key or the message by which they were made, as in logs of older servers: who made them is not checked.",
            ),
            Self::Sender => (
                "decisions_sender",
                "Work went on because of signed messages. The secrets of their senders are not in the log: who sent these messages is not checked.",
            ),
            Self::Owner => (
                "decisions_owner",
                "The name of the agent that asked or that created the intent does not lead to one owner, or a key of this owner was made just then or cannot be read, so it is not checked that the decision was not its owner's.",
            ),
            Self::Clock => (
                "decisions_clock",
                "Decisions have the same time as the event before them, as after a clock was set back: whether they were in time is not checked.",
            ),
            Self::Gateway => (
                "decisions_gateway",
                "Decisions came through a gateway that is tied to channels: the log does not say for which people it was handed messages.",
            ),
            Self::Plan => (
                "decisions_plan",
                "Decisions are about plans or tasks: it is not checked that those who work on these did not answer.",
            ),
            Self::Portfolio => (
                "decisions_portfolio",
                "Decisions belong to intents in portfolios: it is not checked what the deadlines of the portfolios are, nor whether a question's own fallback was due before.",
            ),
            Self::People => (
                "decisions_people",
                "Questions are assigned to people, and events about people or groups cannot be read in the export, or are very many at the time of the answer: whether the question was assigned to the person who answered is not checked.",
            ),
            Self::Passkey => (
                "decisions_passkey",
                "Answers are signed by passkeys whose registrations cannot be read in the export. Give the passkeys that you know with --passkeys.",
            ),
            Self::PasskeyOfLog => (
                "decisions_passkey_of_log",
                "Answers are signed by passkeys that are registered only in this log: a person who can write the log could have registered them. Give the passkeys that you knew beforehand with --passkeys.",
            ),
            Self::Link => (
                "decisions_link",
                "Decisions were made by links in messages of which the export has no report, as when a server stopped before it wrote one, or answers by such links were refused: it is not checked which people got these messages, nor whether there were any.",
            ),
        }
    }
}

/// The doubts about one decision.
pub(super) type Doubts = BTreeSet<Doubt>;

/// A decision that breaks a rule.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: Code,
    pub(super) text: String,
}

impl Fault {
    pub(super) fn new(code: Code, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

/// The judgement on one decision: the doubts that are left, or the rule that it breaks.
pub(super) type Judged = Result<Doubts, Fault>;

/// The counts of the decisions that were replayed.
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    /// The decisions that are right in all respects.
    right: u64,
    doubts: BTreeMap<Doubt, u64>,
}

impl Decisions {
    pub(super) fn count(&mut self, doubts: &Doubts) {
        self.right += u64::from(doubts.is_empty());
        for doubt in doubts {
            *self.doubts.entry(*doubt).or_default() += 1;
        }
    }

    /// Whether no decision was replayed, or each one breaks a rule.
    pub(crate) fn is_empty(&self) -> bool {
        self.right == 0 && self.doubts.is_empty()
    }

    pub(crate) fn report(self, report: &mut Report) {
        report.decisions = self.right;
        for (doubt, count) in self.doubts {
            let (code, text) = doubt.words();
            report.not_checkable(code, Some(count), text);
        }
    }
}
