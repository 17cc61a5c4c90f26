//! The history of one question so far: a line from the time at which it was asked to its deadline, in true proportion, and the same as a
//! table.

use chrono::{DateTime, Utc};
use domain::suspension::Resolution;
use domain::suspension::delivery::DeliveryState;
use store::LinkView;
use store::history::{CountedOnce, History, Told};

use super::line;

/// The ends of the line, in per cent of the width of the picture.
const LEFT: f64 = 3.0;
const RIGHT: f64 = 97.0;
/// Marks that stand closer than this become one, in per cent of the width.
const CLOSE: f64 = 4.5;
/// How many moments the table has at most: the first ones and the last ones.
const MOMENTS_MAX: usize = 60;

/// The history of one question so far.
#[derive(Debug, Clone)]
pub(in crate::pages) struct Timeline {
    pub(super) moments: Vec<Moment>,
    /// How many moments between the first and the last ones the table leaves out.
    pub(super) left_out: usize,
    pub(super) marks: Vec<Mark>,
    /// Where the line is filled up to, in per cent: the end of the question, or now.
    pub(super) filled: f64,
    /// Where the deadline stands.
    pub(super) deadline: Option<f64>,
    pub(super) ends_at: Option<DateTime<Utc>>,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) at: DateTime<Utc>,
    pub(super) what: What,
    /// The person, or the agent.
    pub(super) who: String,
    /// The other person in whose place the person answered, if it was so.
    pub(super) in_place_of: Option<String>,
}

impl Moment {
    /// A thing that no one did in place of another.
    fn of(at: DateTime<Utc>, what: What, who: &str) -> Self {
        Self { at, what, who: line(who), in_place_of: None }
    }
}

/// The kind of a thing that happened. A later one wins where marks become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// A message was delivered for the first time to this person.
    Delivered,
    /// The person saw the question.
    Seen,
    /// The agent asked.
    Asked,
    /// A person who had been told was told again.
    Reminded,
    /// A person was told at a later attempt.
    Escalated,
    /// A message was not delivered.
    NotDelivered,
    /// A person took back an answer that counted.
    NotCounted,
    /// An answer counts, and more must agree.
    Counted,
    /// The deadline passed without an answer that counts.
    Silent,
    /// The agent or an admin took the question back.
    TakenBack,
    /// A person's answer decided.
    Answered,
}

impl What {
    /// The colour of its mark.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Delivered | Self::Seen | Self::Asked | Self::NotCounted | Self::TakenBack => "c-gone",
            Self::Reminded | Self::Escalated | Self::Silent => "c-time",
            Self::NotDelivered => "c-stop",
            Self::Counted | Self::Answered => "c-act",
        }
    }
}

/// A mark on the line.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    /// In per cent of the width.
    pub(super) x: f64,
    pub(super) what: What,
    pub(super) count: usize,
}

impl Timeline {
    pub(in crate::pages) fn of(link: &LinkView, history: &History) -> Self {
        let suspension = &link.suspension;
        let mut moments = vec![Moment::of(suspension.suspended_at, What::Asked, &link.agent)];
        moments.extend(told(&history.told));
        moments.extend(history.seen.iter().map(|(who, at)| Moment::of(*at, What::Seen, who)));
        moments.extend(history.counted.iter().map(counted));
        if let Some(ending) = &suspension.ending {
            let what = match ending.resolution {
                Resolution::Responded => What::Answered,
                Resolution::Expired => What::Silent,
                Resolution::Cancelled => What::TakenBack,
            };
            let by = ending.by.as_deref().unwrap_or_default();
            moments.push(Moment { in_place_of: link.in_place_of.as_deref().map(line), ..Moment::of(ending.at, what, by) });
        }
        moments.sort_by_key(|moment| moment.at);
        let ends_at = suspension.ends_at();
        let filled_to = suspension.ending.as_ref().map_or(link.now, |ending| ending.at);
        let last = moments.last().map_or(filled_to, |moment| moment.at).max(filled_to);
        let scale = Scale { from: suspension.suspended_at, to: ends_at.map_or(last, |at| at.max(last)) };
        let left_out = moments.len().saturating_sub(MOMENTS_MAX);
        let marks = marks(&moments, &scale);
        if left_out > 0 {
            moments.drain(MOMENTS_MAX / 2..MOMENTS_MAX / 2 + left_out);
        }
        Self { marks, moments, left_out, filled: scale.at(filled_to), deadline: ends_at.map(|at| scale.at(at)), ends_at }
    }
}

fn counted(answer: &CountedOnce) -> Moment {
    let what = if answer.is_taken_back { What::NotCounted } else { What::Counted };
    Moment { in_place_of: answer.in_place_of.as_deref().map(line), ..Moment::of(answer.at, what, &answer.person) }
}

/// The messages, as people read them: a person who is told again is reminded, and one who is told later is asked as well.
fn told(messages: &[Told]) -> Vec<Moment> {
    let first =
        |recipient: &str| messages.iter().filter(|message| message.recipient == recipient).map(|message| message.attempt).min();
    let moment = |message: &Told| {
        let what = match message.state {
            // These have not happened yet, or never will.
            DeliveryState::Queued | DeliveryState::Sending | DeliveryState::Obsolete => return None,
            DeliveryState::Failed | DeliveryState::Bounced => What::NotDelivered,
            DeliveryState::Sent if message.attempt == 1 => What::Delivered,
            DeliveryState::Sent if first(&message.recipient) == Some(message.attempt) => What::Escalated,
            DeliveryState::Sent => What::Reminded,
        };
        Some(Moment::of(message.at, what, &message.recipient))
    };
    messages.iter().filter_map(moment).collect()
}

/// The time that the line covers.
struct Scale {
    from: DateTime<Utc>,
    to: DateTime<Utc>,
}

impl Scale {
    /// Where a moment stands, in per cent of the width, to a tenth.
    fn at(&self, at: DateTime<Utc>) -> f64 {
        // Milliseconds of years are exact in these numbers.
        #[expect(clippy::cast_precision_loss, reason = "a hundredth of a pixel more or less is not seen")]
        let part = |to: DateTime<Utc>| (to - self.from).num_milliseconds().max(0) as f64;
        let share = (part(at) / part(self.to).max(1.0)).clamp(0.0, 1.0);
        ((LEFT + share * (RIGHT - LEFT)) * 10.0).round() / 10.0
    }
}

/// The marks, of which those that would touch are one.
fn marks(moments: &[Moment], scale: &Scale) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for moment in moments {
        let x = scale.at(moment.at);
        match marks.last_mut().filter(|last| x - last.x < CLOSE) {
            Some(last) => (last.what, last.count) = (last.what.max(moment.what), last.count + 1),
            None => marks.push(Mark { x, what: moment.what, count: 1 }),
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::super::OpenQuestion;
    use super::super::samples::{at, open};
    use super::*;

    fn message(attempt: u32, recipient: &str, state: DeliveryState, minute: u32) -> Told {
        Told { attempt, recipient: recipient.to_owned(), state, at: at(7, minute) }
    }

    #[test]
    fn a_person_who_is_told_again_is_reminded_and_a_later_one_is_asked_as_well() {
        let sent = |attempt, recipient, minute| message(attempt, recipient, DeliveryState::Sent, minute);
        let messages = [
            sent(1, "ada", 1),
            message(1, "bob", DeliveryState::Bounced, 2),
            sent(2, "ada", 3),
            sent(2, "eve", 4),
            message(3, "ada", DeliveryState::Queued, 5),
            message(3, "eve", DeliveryState::Obsolete, 5),
        ];
        let whats: Vec<_> = told(&messages).into_iter().map(|moment| (moment.what, moment.who)).collect();
        let expected = [(What::Delivered, "ada"), (What::NotDelivered, "bob"), (What::Reminded, "ada"), (What::Escalated, "eve")];
        assert_eq!(whats, expected.map(|(what, who)| (what, who.to_owned())));
    }

    #[test]
    fn the_description_of_the_picture_counts_one_moment_and_several() {
        for (count, told) in [(1, "with one moment on it."), (2, "with 2 moments on it.")] {
            let moments = vec![Moment::of(at(7, 14), What::Asked, "ada"); count];
            let timeline = Timeline { moments, left_out: 0, marks: Vec::new(), filled: LEFT, deadline: None, ends_at: None };
            let html = OpenQuestion { timeline: Some(Box::new(timeline)), ..open() }.render().unwrap();
            assert!(html.contains(told), "{html}");
        }
    }

    #[test]
    fn marks_stand_in_true_proportion_and_do_not_touch() {
        let scale = Scale { from: at(7, 0), to: at(8, 0) };
        let shown = [at(6, 0), at(7, 0), at(7, 30), at(9, 0)].map(|at| scale.at(at).to_string());
        assert_eq!(shown, ["3", "3", "50", "97"]);
        assert_eq!(Scale { from: at(7, 0), to: at(7, 0) }.at(at(7, 0)).to_string(), "3");
        let moment = |minute, what| Moment::of(at(7, minute), what, "");
        let shown = marks(
            &[moment(0, What::Asked), moment(1, What::Delivered), moment(30, What::Seen), moment(31, What::Answered)],
            &scale,
        );
        let told: Vec<_> = shown.iter().map(|mark| (mark.what, mark.count)).collect();
        assert_eq!(told, [(What::Asked, 2), (What::Answered, 2)]);
        for second in 0..3_600 {
            let x = scale.at(at(7, 0) + TimeDelta::seconds(second));
            assert!((LEFT..=RIGHT).contains(&x), "{x}");
        }
    }
}
