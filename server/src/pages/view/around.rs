//! The page about the work around a question.

use chrono::{DateTime, Utc};
use domain::base::text::truncated;
use domain::intent::status::Status;
use domain::portfolio::PortfolioStatus;
use store::work::{PortfolioWork, Work, WorkView};

use super::super::language::in_languages;
use super::drawing::Drawing;
use super::moment::{machine, minute};
use super::{Page, STYLESHEET, line};

/// The longest title in a box of the drawing, in characters.
const BOX_CHARS_MAX: usize = 22;
/// The longest title in the table, in characters.
const TITLE_CHARS_MAX: usize = 80;
/// The most names in one cell of the table.
const NAMES_MAX: usize = 5;

/// The work around a question.
#[derive(Debug)]
pub(in crate::pages) struct Around {
    page: Page,
    from: CameFrom,
    rows: Vec<Row>,
    drawing: Drawing,
    is_cut: bool,
    portfolios: Vec<Portfolio>,
    now: DateTime<Utc>,
}

in_languages!(Around, "work.html");

/// The page from which a person comes.
#[derive(Debug)]
pub(in crate::pages) enum CameFrom {
    /// The page of the question.
    Question {
        /// Its address.
        back: String,
        /// How many intents wait, according to that page; the agent that asks may not be permitted to read them.
        waiting: u32,
    },
    /// The first page, in development mode.
    FirstPage,
}

/// One piece of work.
#[derive(Debug)]
struct Row {
    title: String,
    short: String,
    status: Status,
    until: Option<DateTime<Utc>>,
    /// The places of those that it needs and that are not completed.
    needs: Vec<usize>,
    /// How many more there are.
    more: usize,
}

/// A portfolio, with its progress.
#[derive(Debug)]
struct Portfolio {
    name: String,
    /// Its deadline, if it is active; otherwise the deadline has no effect.
    deadline: Option<DateTime<Utc>>,
    total: u64,
    completed: u64,
    percent: u64,
    rows: Vec<Row>,
    is_cut: bool,
}

impl Row {
    fn of(work: &Work) -> Self {
        let title = truncated(&line(&work.title), TITLE_CHARS_MAX);
        Self {
            short: truncated(&title, BOX_CHARS_MAX),
            title,
            status: work.status,
            until: work.until,
            needs: Vec::new(),
            more: 0,
        }
    }

    /// The class of its box.
    fn class(&self) -> &'static str {
        match self.status {
            Status::SuspendedAwaitingInput => "asks",
            Status::Completed | Status::Abandoned => "over",
            Status::Draft | Status::Active | Status::Blocked => "",
        }
    }
}

impl Portfolio {
    fn of(work: &PortfolioWork) -> Self {
        let &PortfolioWork { ref name, status, deadline, total, completed, ref members, is_cut } = work;
        let deadline = deadline.filter(|_| status == PortfolioStatus::Active);
        let percent = (completed * 100).checked_div(total).unwrap_or(0);
        Self { name: line(name), deadline, total, completed, percent, rows: members.iter().map(Row::of).collect(), is_cut }
    }
}

impl Around {
    pub(in crate::pages) fn new(page: Page, from: CameFrom, work: WorkView, now: DateTime<Utc>) -> Self {
        let drawing = Drawing::of(work.works.len(), &work.edges);
        let mut rows: Vec<Row> = work.works.iter().map(Row::of).collect();
        for (needed, waits) in work.edges {
            if rows.get(needed).is_none_or(|row| row.status == Status::Completed) {
                continue;
            }
            let Some(row) = rows.get_mut(waits) else { continue };
            if row.needs.len() < NAMES_MAX {
                row.needs.push(needed);
            } else {
                row.more += 1;
            }
        }
        let portfolios = work.portfolios.iter().map(Portfolio::of).collect();
        Self { page, from, rows, drawing, is_cut: work.is_cut, portfolios, now }
    }

    /// Whether work waits that the agent which asks may not read.
    fn hides_work(&self) -> bool {
        matches!(self.from, CameFrom::Question { waiting: 1.., .. })
    }

    /// Whether there is any work beside the question's own.
    fn is_alone(&self) -> bool {
        self.rows.len() < 2
    }

    /// The short title of the piece of work at this place.
    fn title(&self, place: usize) -> &str {
        self.rows.get(place).map_or("", |row| &row.short)
    }
}
