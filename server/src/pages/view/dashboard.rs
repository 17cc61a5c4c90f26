//! The questions of a person, or of the people in a group, in numbers, each picture with its table.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use store::audit::Outcome;
use store::dashboard::{Dashboard, Own};
use store::overview::Counted;

use super::super::dashboard::DASHBOARD;
use super::super::language::in_languages;
use super::moment::{machine, second};
use super::overview::{Class, Period, ROW, WIDTH, answer_seconds, classes, periods, shares};
use super::{INSIDE_STYLESHEET as STYLESHEET, Page, Visitor, line};

/// An answer that comes sooner after the first look than this has hardly been read, in milliseconds.
const UNREAD_MS: i64 = 3_000;
/// How many agents the table names.
const AGENTS_MAX: usize = 20;
/// How many rungs the picture has at most; later ones are counted with the last.
const RUNGS_MAX: u32 = 8;

/// The page.
pub(in crate::pages) struct DashboardPage {
    page: Page,
    visitor: Visitor,
    times_path: String,
    /// The group whose numbers they are; absent for the person's own.
    group: Option<String>,
    /// Whether the person may not look at the group, or there is none of that name.
    is_missing: bool,
    /// The groups that the person may look at, and whether it is this one.
    groups: Vec<(String, bool)>,
    count: usize,
    looked_at: usize,
    since: Option<DateTime<Utc>>,
    has_more: bool,
    waiting: u64,
    answered: u64,
    ended: u64,
    fell_back: u64,
    /// The shares of the questions that ended: answered, and silence that was taken for an answer, in per cent.
    shares: (u64, u64),
    periods: Vec<Period>,
    times: Vec<Class>,
    views: Vec<Class>,
    rungs: Vec<RungShown>,
    unread: Unread,
}

in_languages!(DashboardPage, "dashboard.html");

/// The messages of one attempt, and how far they came.
#[derive(Debug, PartialEq, Eq)]
struct RungShown {
    attempt: u32,
    /// How many questions came to it, how many of them reached a person by it, and how many were answered during it.
    told: u64,
    reached: u64,
    answered: u64,
    /// Where the bar stands, in pixels; how wide it is and where its number stands, in per cent.
    y: usize,
    width: u64,
    end: u64,
}

/// Answers that came before the question can have been read.
#[derive(Debug, Default, PartialEq, Eq)]
struct Unread {
    /// Of so many answers it is known how long they took after the first look.
    known: u64,
    count: u64,
    /// The agents that were answered, with the numbers of these answers and of all.
    agents: Vec<(String, u64, u64)>,
}

impl DashboardPage {
    pub(in crate::pages) fn new(
        (page, visitor): (Page, Visitor),
        (group, is_missing): (Option<String>, bool),
        times_path: String,
        found: &Dashboard,
    ) -> Self {
        let questions = &found.questions;
        let counted: Vec<Counted> = questions.iter().map(|own| own.counted.clone()).collect();
        let count_of = |outcome| counted.iter().filter(|question| question.outcome == outcome).count() as u64;
        let groups = found.groups.iter().map(|name| (name.clone(), group.as_ref() == Some(name))).collect();
        let looks = counted.iter().filter_map(|question| Some((question.viewed_at? - question.asked_at).num_seconds()));
        let periods = periods(&counted, page.manner);
        let (answered, ended) = (count_of(Outcome::Answered), questions.len() as u64 - count_of(Outcome::Waiting));
        let fell_back = questions.iter().filter(|own| own.fell_back).count() as u64;
        let of_ended = shares(&[answered, fell_back, ended.saturating_sub(answered + fell_back)]);
        let share = |place: usize| of_ended.get(place).copied().unwrap_or_default();
        Self {
            page,
            visitor,
            times_path,
            group: group.map(|group| line(&group)),
            is_missing,
            count: questions.len(),
            looked_at: found.looked_at,
            since: found.since,
            has_more: found.has_more,
            waiting: count_of(Outcome::Waiting),
            answered,
            ended,
            fell_back,
            shares: (share(0), share(1)),
            periods,
            times: classes(counted.iter().filter_map(answer_seconds)),
            views: classes(looks),
            rungs: rungs(questions),
            unread: unread(questions),
            groups,
        }
    }

    fn rungs_height(&self) -> usize {
        self.rungs.len() * ROW
    }
}

/// How far each attempt came.
fn rungs(questions: &[Own]) -> Vec<RungShown> {
    let mut counts: BTreeMap<u32, (u64, u64, u64)> = BTreeMap::new();
    for own in questions {
        for rung in &own.rungs {
            let (told, reached, _) = counts.entry(rung.attempt.min(RUNGS_MAX)).or_default();
            *told += 1;
            *reached += u64::from(rung.is_reached);
        }
        if let Some(attempt) = own.answered_at {
            counts.entry(attempt.min(RUNGS_MAX)).or_default().2 += 1;
        }
    }
    let most = counts.values().map(|(_, _, answered)| *answered).max().unwrap_or(1).max(1);
    let shown = |(place, (attempt, (told, reached, answered))): (usize, (u32, (u64, u64, u64)))| {
        let width = answered * WIDTH / most;
        RungShown { attempt, told, reached, answered, y: place * ROW, width, end: width + 32 }
    };
    counts.into_iter().enumerate().map(shown).collect()
}

/// The answers that came before the question can have been read. The agents that got the most of them come first.
fn unread(questions: &[Own]) -> Unread {
    let mut agents: BTreeMap<String, (String, u64, u64)> = BTreeMap::new();
    for (own, after) in questions.iter().filter_map(|own| Some((own, own.decided_after_ms?))) {
        let (_, count, all) = agents.entry(own.agent.to_lowercase()).or_insert_with(|| (line(&own.agent), 0, 0));
        *count += u64::from(after < UNREAD_MS);
        *all += 1;
    }
    let mut unread = Unread::default();
    for (_, count, all) in agents.values() {
        (unread.count, unread.known) = (unread.count + count, unread.known + all);
    }
    unread.agents = agents.into_values().filter(|(_, count, _)| *count > 0).collect();
    unread.agents.sort_by_key(|(name, count, _)| (std::cmp::Reverse(*count), name.clone()));
    unread.agents.truncate(AGENTS_MAX);
    unread
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use store::dashboard::Rung;

    use super::super::samples::at;
    use super::*;

    fn own(agent: &str, after: Option<i64>, rungs: &[(u32, bool)], answered_at: Option<u32>) -> Own {
        Own {
            counted: Counted {
                asked_at: at(7, 0),
                outcome: Outcome::Answered,
                ended_at: Some(at(7, 0) + TimeDelta::seconds(9)),
                by: Some("ada".to_owned()),
                asked: Vec::new(),
                viewed_at: None,
            },
            agent: agent.to_owned(),
            fell_back: false,
            rungs: rungs.iter().map(|(attempt, is_reached)| Rung { attempt: *attempt, is_reached: *is_reached }).collect(),
            answered_at,
            decided_after_ms: after,
        }
    }

    #[test]
    fn an_answer_is_unread_below_its_bound_and_read_from_it_on() {
        let questions = [
            own("cleaner", Some(UNREAD_MS - 1), &[], None),
            own("Cleaner", Some(UNREAD_MS), &[], None),
            own("deployer", Some(0), &[], None),
            own("deployer", Some(1), &[], None),
            own("payer", Some(60_000), &[], None),
            own("cleaner", None, &[], None),
        ];
        let agents = vec![("deployer".to_owned(), 2, 2), ("cleaner".to_owned(), 1, 2)];
        assert_eq!(unread(&questions), Unread { known: 5, count: 3, agents });
    }

    #[test]
    fn each_rung_counts_a_question_once() {
        let questions = [
            own("a", None, &[(1, false), (2, true)], Some(2)),
            own("a", None, &[(1, true)], Some(1)),
            own("a", None, &[(1, true), (RUNGS_MAX + 3, true)], None),
            own("a", None, &[], Some(1)),
        ];
        let told: Vec<_> = rungs(&questions).iter().map(|rung| (rung.attempt, rung.told, rung.reached, rung.answered)).collect();
        assert_eq!(told, [(1, 3, 2, 2), (2, 1, 1, 1), (RUNGS_MAX, 1, 1, 0)]);
        assert!(rungs(&[]).is_empty());
    }
}
