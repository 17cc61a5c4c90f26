//! The newest questions in numbers, each picture with its table.

use std::collections::BTreeMap;

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use domain::base::name::is_same_in_any_case;
use store::audit::Outcome;
use store::overview::{Counted, Overview};

use super::super::language::in_languages;
use super::moment::{Manner, machine, second};
use super::{INSIDE_STYLESHEET as STYLESHEET, Page, Visitor, line};

/// How many periods the picture of outcomes has at most.
const PERIODS_MAX: i64 = 12;
/// How long a period may be: an hour, a day, a week, four weeks.
const PERIODS: [TimeDelta; 4] = [TimeDelta::hours(1), TimeDelta::days(1), TimeDelta::days(7), TimeDelta::days(28)];
/// The height of the picture of outcomes without its labels, in pixels.
const HEIGHT: u64 = 200;
/// The height of a row of a picture with lying bars, in pixels, and the width of its longest bar, in per cent.
pub(super) const ROW: usize = 34;
pub(super) const WIDTH: u64 = 56;
/// The ends of the classes of time, in seconds; the last class has no end.
const CLASSES: [i64; 6] = [60, 300, 900, 3_600, 14_400, 86_400];
/// How many people the list names.
const PEOPLE_MAX: usize = 20;
/// The outcomes in the order in which they are stacked, with the colour of each.
const STACKED: [(Outcome, &str); 6] = [
    (Outcome::Answered, "c-act"),
    (Outcome::Waiting, "c-gone"),
    (Outcome::Withdrawn, "c-gone"),
    (Outcome::Replaced, "c-gone"),
    (Outcome::NotAnswered, "c-time"),
    (Outcome::NotReached, "c-stop"),
];

/// The page.
#[derive(Debug)]
pub(in crate::pages) struct OverviewPage {
    page: Page,
    visitor: Visitor,
    to: String,
    agent: String,
    problem: Option<&'static str>,
    count: usize,
    answered: u64,
    ended: u64,
    since: Option<DateTime<Utc>>,
    has_more: bool,
    periods: Vec<Period>,
    times: Vec<Class>,
    views: Vec<Class>,
    people: Vec<Addressee>,
    people_left_out: usize,
}

in_languages!(OverviewPage, "overview.html");

/// The questions that were asked in one period.
#[derive(Debug)]
pub(super) struct Period {
    pub(super) label: String,
    /// In the order of [`STACKED`].
    pub(super) counts: [u64; 6],
    pub(super) bars: Vec<Bar>,
    /// The left side and the middle, in per cent of the width.
    pub(super) left: f64,
    pub(super) middle: f64,
    pub(super) width: f64,
}

/// One part of a stacked bar.
#[derive(Debug)]
pub(super) struct Bar {
    pub(super) class: &'static str,
    pub(super) top: u64,
    pub(super) height: u64,
}

/// Questions that took about as long.
#[derive(Debug)]
pub(super) struct Class {
    /// The place in [`CLASSES`].
    pub(super) place: usize,
    pub(super) count: u64,
    /// The share of all answers, in per cent.
    pub(super) share: u64,
    /// Where the bar stands, in pixels; how wide it is and where its number stands, in per cent.
    pub(super) y: usize,
    pub(super) width: u64,
    pub(super) end: u64,
}

/// A person who was asked.
#[derive(Debug)]
struct Addressee {
    name: String,
    /// The questions to this person that a person answered, or that ended without an answer.
    asked: u64,
    answered: u64,
    /// Where the bar stands, in pixels; how wide it is and where its number stands, in per cent.
    y: usize,
    width: u64,
    end: u64,
}

impl Addressee {
    /// Questions that another person answered, or that ended without an answer.
    fn silent(&self) -> u64 {
        self.asked - self.answered
    }
}

impl OverviewPage {
    pub(in crate::pages) fn new(
        (page, visitor): (Page, Visitor),
        (to, agent, problem): (String, String, Option<&'static str>),
        overview: &Overview,
    ) -> Self {
        let questions = &overview.questions;
        let count_of = |outcome| questions.iter().filter(|question| question.outcome == outcome).count() as u64;
        let (people, people_left_out) = people(questions);
        let manner = page.manner;
        Self {
            page,
            visitor,
            to,
            agent,
            problem,
            count: questions.len(),
            answered: count_of(Outcome::Answered),
            ended: questions.len() as u64 - count_of(Outcome::Waiting),
            since: overview.since,
            has_more: overview.has_more,
            periods: periods(questions, manner),
            times: classes(questions.iter().filter_map(answer_seconds)),
            views: classes(questions.iter().filter_map(|question| Some((question.viewed_at? - question.asked_at).num_seconds()))),
            people,
            people_left_out,
        }
    }

    fn people_height(&self) -> usize {
        self.people.len() * ROW
    }
}

/// The questions by the time at which they were asked.
pub(super) fn periods(questions: &[Counted], manner: Manner) -> Vec<Period> {
    let (Some(newest), Some(oldest)) = (questions.first(), questions.last()) else { return Vec::new() };
    let span = (newest.asked_at - oldest.asked_at).abs();
    let fits = |length: &&TimeDelta| span.num_seconds() / length.num_seconds() + 2 <= PERIODS_MAX;
    let length = PERIODS.iter().find(fits).copied().unwrap_or_else(|| longest(span));
    let mut counts: BTreeMap<DateTime<Utc>, [u64; 6]> = BTreeMap::new();
    for question in questions {
        // The days and hours are those of the reader's clocks.
        let asked_at = manner.clock(question.asked_at);
        let begins = asked_at.duration_trunc(length).unwrap_or(asked_at);
        let place = STACKED.iter().position(|(outcome, _)| *outcome == question.outcome).unwrap_or_default();
        counts.entry(begins).or_default()[place] += 1;
    }
    let most = counts.values().map(|counts| counts.iter().sum::<u64>()).max().unwrap_or(1).max(1);
    let step = 100.0 / f64::from(u32::try_from(counts.len()).unwrap_or(1));
    let period = |(place, (begins, counts)): (usize, (DateTime<Utc>, [u64; 6]))| {
        let left = step * f64::from(u32::try_from(place).unwrap_or_default());
        let day = manner.language.day(begins);
        let label = if length < TimeDelta::days(1) { format!("{day} {}", manner.language.clock(begins)) } else { day };
        Period {
            label,
            bars: bars(&counts, most),
            counts,
            left: left + step * 0.15,
            middle: left + step * 0.5,
            width: step * 0.7,
        }
    };
    counts.into_iter().enumerate().map(period).collect()
}

/// A period so long that [`PERIODS_MAX`] of them cover the span.
fn longest(span: TimeDelta) -> TimeDelta {
    TimeDelta::days(span.num_days() / (PERIODS_MAX - 2) + 1)
}

/// The parts of a bar, from the bottom up. A part that counts anything can be seen.
fn bars(counts: &[u64; 6], most: u64) -> Vec<Bar> {
    let mut bottom = HEIGHT;
    let mut bars = Vec::new();
    for ((_, class), count) in STACKED.iter().zip(counts) {
        if *count > 0 {
            let height = (count * HEIGHT / most).max(2).min(bottom);
            bottom -= height;
            bars.push(Bar { class, top: bottom, height });
        }
    }
    bars
}

/// How long an answer took.
pub(super) fn answer_seconds(question: &Counted) -> Option<i64> {
    let ended_at = question.ended_at.filter(|_| question.outcome == Outcome::Answered)?;
    Some((ended_at - question.asked_at).num_seconds())
}

/// These durations in classes.
pub(super) fn classes(seconds: impl Iterator<Item = i64>) -> Vec<Class> {
    let mut counts = [0_u64; CLASSES.len() + 1];
    for seconds in seconds {
        counts[CLASSES.iter().position(|end| seconds < *end).unwrap_or(CLASSES.len())] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let class = |(place, (count, share)): (usize, (u64, u64))| {
        let width = count * WIDTH / most;
        Class { place, count, share, y: place * ROW, width, end: width + 32 }
    };
    counts.into_iter().zip(shares(&counts)).enumerate().map(class).collect()
}

/// These counts in per cent of all of them, in whole numbers that sum to 100: those with the largest rests are rounded up. All are 0 if
/// nothing was counted.
pub(super) fn shares(counts: &[u64]) -> Vec<u64> {
    let all = counts.iter().sum::<u64>();
    if all == 0 {
        return vec![0; counts.len()];
    }
    let mut shares: Vec<u64> = counts.iter().map(|count| count * 100 / all).collect();
    let mut places: Vec<usize> = (0..counts.len()).collect();
    // The rests sum to as many whole shares as are missing, so each place that is rounded up has a rest.
    places.sort_by_key(|place| std::cmp::Reverse(counts[*place] * 100 % all));
    let missing = usize::try_from(100 - shares.iter().sum::<u64>()).unwrap_or_default();
    for place in places.into_iter().take(missing) {
        shares[place] += 1;
    }
    shares
}

/// The people who were asked: those who left the most questions unanswered come first. A question that is open, was taken back or reached
/// no person says nothing about the people who were asked.
fn people(questions: &[Counted]) -> (Vec<Addressee>, usize) {
    let mut counts: BTreeMap<String, (String, u64, u64)> = BTreeMap::new();
    for question in questions.iter().filter(|question| matches!(question.outcome, Outcome::Answered | Outcome::NotAnswered)) {
        // The names of people are erased with the content of an intent.
        for name in question.asked.iter().filter(|name| !name.is_empty()) {
            let (_, asked, answered) = counts.entry(name.to_lowercase()).or_insert_with(|| (line(name), 0, 0));
            *asked += 1;
            let is_theirs = question.by.as_ref().is_some_and(|by| is_same_in_any_case(by, name));
            *answered += u64::from(question.outcome == Outcome::Answered && is_theirs);
        }
    }
    let mut people: Vec<Addressee> =
        counts.into_values().map(|(name, asked, answered)| Addressee { name, asked, answered, y: 0, width: 0, end: 0 }).collect();
    people.sort_by_key(|person| (std::cmp::Reverse(person.silent()), person.name.clone()));
    let left_out = people.len().saturating_sub(PEOPLE_MAX);
    people.truncate(PEOPLE_MAX);
    let most = people.iter().map(Addressee::silent).max().unwrap_or(1).max(1);
    for (place, person) in people.iter_mut().enumerate() {
        person.y = place * ROW;
        person.width = person.silent() * WIDTH / most;
        person.end = person.width + 12;
    }
    (people, left_out)
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;

    use super::*;

    fn at(hour: u32, minute: u32) -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 11, 24, hour, minute, 0).unwrap()
    }

    fn question(asked_at: DateTime<Utc>, outcome: Outcome, seconds: i64, by: &str, asked: &[&str]) -> Counted {
        let ended_at = (outcome != Outcome::Waiting).then(|| asked_at + TimeDelta::seconds(seconds));
        Counted {
            asked_at,
            outcome,
            ended_at,
            by: Some(by.to_owned()),
            asked: asked.iter().map(|name| (*name).to_owned()).collect(),
            viewed_at: None,
        }
    }

    #[test]
    fn each_class_of_time_ends_before_its_bound() {
        let answered = |seconds| question(at(8, 0), Outcome::Answered, seconds, "ada", &[]);
        for (place, end) in CLASSES.into_iter().enumerate() {
            let classes = classes([answered(end - 1), answered(end)].iter().filter_map(answer_seconds));
            assert_eq!((classes[place].count, classes[place + 1].count), (1, 1), "{end}");
        }
        let late = question(at(8, 0), Outcome::NotAnswered, 5, "", &[]);
        assert_eq!(answer_seconds(&late), None);
    }

    /// Shares that do not sum to 100 make people look for the questions that are missing.
    #[test]
    fn shares_are_rounded_and_sum_to_a_hundred() {
        for (counts, expected) in [
            (&[0, 0][..], &[0, 0][..]),
            (&[9, 2][..], &[82, 18][..]),
            (&[7, 1][..], &[88, 12][..]),
            (&[1, 1, 1][..], &[34, 33, 33][..]),
            (&[0, 999, 1][..], &[0, 100, 0][..]),
            (&[0, 5, 0][..], &[0, 100, 0][..]),
        ] {
            assert_eq!(shares(counts), expected, "{counts:?}");
        }
        let classes = classes([1, 1, 1, 1, 1, 1, 1, 1, 1, 100_000, 100_000].into_iter());
        assert_eq!(classes.iter().map(|class| class.share).sum::<u64>(), 100);
    }

    #[test]
    fn a_period_counts_each_question_once_and_its_bar_fits() {
        let questions: Vec<Counted> = (0..30)
            .map(|number| {
                question(at(20, 59) - TimeDelta::hours(number), STACKED[usize::try_from(number).unwrap() % 6].0, 9, "ada", &[])
            })
            .collect();
        let periods = periods(&questions, Manner::default());
        assert!(i64::try_from(periods.len()).unwrap() <= PERIODS_MAX, "{periods:?}");
        assert_eq!(periods.iter().flat_map(|period| period.counts).sum::<u64>(), 30);
        for period in &periods {
            assert!(period.bars.iter().map(|bar| bar.height).sum::<u64>() <= HEIGHT, "{period:?}");
        }
        assert!(super::periods(&[], Manner::default()).is_empty());
    }

    /// A question that was asked late in the evening belongs to the day on the reader's calendar.
    #[test]
    fn days_are_those_of_the_reader() {
        let questions: Vec<Counted> = [at(23, 30), at(10, 0), at(10, 0) - TimeDelta::days(1)]
            .map(|at| question(at, Outcome::Answered, 9, "ada", &[]))
            .into();
        let days = |zone: Option<&str>| {
            let manner = Manner { zone: zone.map(|zone| zone.parse().unwrap()), ..Manner::default() };
            periods(&questions, manner).iter().map(|period| (period.label.clone(), period.counts[0])).collect::<Vec<_>>()
        };
        assert_eq!(days(None), [("23 Nov".to_owned(), 1), ("24 Nov".to_owned(), 2)]);
        let vienna = [("23 Nov".to_owned(), 1), ("24 Nov".to_owned(), 1), ("25 Nov".to_owned(), 1)];
        assert_eq!(days(Some("Europe/Vienna")), vienna);
    }

    #[test]
    fn a_person_is_silent_where_another_answered() {
        let all = &["ada@example.com", "bob@example.com", "eve@example.com"];
        let questions = [
            question(at(8, 0), Outcome::Answered, 9, "ADA@example.com", &all[..2]),
            question(at(8, 1), Outcome::NotAnswered, 9, "", &["bob@example.com"]),
            // No person could have answered these, or can still.
            question(at(8, 2), Outcome::Waiting, 9, "", all),
            question(at(8, 3), Outcome::Withdrawn, 9, "an-agent", all),
            question(at(8, 4), Outcome::Replaced, 9, "an-agent", all),
            question(at(8, 5), Outcome::NotReached, 9, "", all),
        ];
        let (people, left_out) = people(&questions);
        let told: Vec<_> = people.iter().map(|person| (person.name.as_str(), person.asked, person.answered)).collect();
        assert_eq!((told, left_out), (vec![("bob@example.com", 2, 0), ("ada@example.com", 1, 1)], 0));
    }
}
