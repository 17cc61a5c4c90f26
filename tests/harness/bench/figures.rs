//! Figures: the measured values, the number of rounds, and the goal; as lines, as JSON, as one table and one chart of all
//! benchmarks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::chart;

/// The mode in which our SQLite runs.
const SQLITE: &str = "SQLite WAL synchronous=FULL";

/// The goal of a figure.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    /// How close a value came to its goal: 1 is the goal itself, more is better.
    pub fn reached(self, value: f64) -> f64 {
        match self {
            Self::AtLeast(goal) => value / goal,
            // A count of zero is the best possible result.
            Self::AtMost(_) if value == 0.0 => f64::INFINITY,
            Self::AtMost(goal) => goal / value,
        }
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtLeast(goal) => write!(f, "≥ {}", short(*goal)),
            Self::AtMost(goal) => write!(f, "≤ {}", short(*goal)),
        }
    }
}

/// One quantity, measured in several rounds.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Figure {
    /// `W1` to `W15`: the workloads of `docs/performance.md`.
    pub workload: String,
    pub what: String,
    pub unit: String,
    /// One value per round, sorted.
    pub rounds: Vec<f64>,
    pub goal: Option<Goal>,
    /// The database, and the faults that its commits survive.
    pub durability: String,
    /// The figure of another server with the same clients in the same run, and its name.
    pub peer: Option<Peer>,
}

/// Another server's figure.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Peer {
    pub name: String,
    pub rounds: Vec<f64>,
}

fn sorted(mut rounds: Vec<f64>) -> Vec<f64> {
    assert!(!rounds.is_empty(), "a figure needs a round");
    rounds.sort_by(f64::total_cmp);
    rounds
}

/// The median. If the number of rounds is even, it is the lower one of the two values in the middle.
fn median(sorted: &[f64]) -> f64 {
    sorted[(sorted.len() - 1) / 2]
}

/// A value with a sensible number of digits.
pub fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1_000.0 => {
            let digits = format!("{value:.0}");
            let mut grouped = String::new();
            for (place, digit) in digits.char_indices() {
                if place > 0 && (digits.len() - place) % 3 == 0 {
                    grouped.push(',');
                }
                grouped.push(digit);
            }
            grouped
        }
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn spread(rounds: &[f64]) -> String {
    let (first, last) = (rounds[0], rounds[rounds.len() - 1]);
    if rounds.len() == 1 { short(first) } else { format!("{} ({}–{})", short(median(rounds)), short(first), short(last)) }
}

impl Figure {
    pub fn new(workload: &str, what: impl Into<String>, unit: &str, rounds: Vec<f64>) -> Self {
        let (workload, unit) = (workload.to_owned(), unit.to_owned());
        let durability = SQLITE.to_owned();
        Self { workload, what: what.into(), unit, rounds: sorted(rounds), goal: None, durability, peer: None }
    }

    /// A figure of a server on another database.
    #[must_use]
    pub fn on(self, durability: &str) -> Self {
        Self { durability: durability.to_owned(), ..self }
    }

    #[must_use]
    pub fn at_least(self, goal: f64) -> Self {
        Self { goal: Some(Goal::AtLeast(goal)), ..self }
    }

    #[must_use]
    pub fn at_most(self, goal: f64) -> Self {
        Self { goal: Some(Goal::AtMost(goal)), ..self }
    }

    #[must_use]
    pub fn beside(self, name: &str, rounds: Vec<f64>) -> Self {
        Self { peer: Some(Peer { name: name.to_owned(), rounds: sorted(rounds) }), ..self }
    }

    /// The middle of its rounds.
    pub fn median(&self) -> f64 {
        median(&self.rounds)
    }

    /// The quotient of this figure and its peer's.
    pub fn ratio(&self) -> Option<f64> {
        self.peer.as_ref().map(|peer| self.median() / median(&peer.rounds))
    }

    /// How close it came to its goal, by the median.
    pub fn reached(&self) -> Option<f64> {
        self.goal.map(|goal| goal.reached(self.median()))
    }

    fn line(&self, circumstances: &str) -> String {
        let mut line = format!("{} {}: {} {}", self.workload, self.what, spread(&self.rounds), self.unit);
        if let (Some(goal), Some(reached)) = (self.goal, self.reached()) {
            write!(line, ", goal {goal}: {}", if reached >= 1.0 { "met" } else { "MISSED" }).unwrap();
        }
        if let (Some(peer), Some(ratio)) = (&self.peer, self.ratio()) {
            write!(line, "; {}: {} {} (ratio {})", peer.name, spread(&peer.rounds), self.unit, short(ratio)).unwrap();
        }
        write!(line, "; {}; {circumstances}", self.durability).unwrap();
        line
    }

    fn row(&self, circumstances: &str) -> String {
        let goal = match (self.goal, self.reached()) {
            (Some(goal), Some(reached)) if reached >= 1.0 => format!("{goal}"),
            (Some(goal), _) => format!("**{goal}**"),
            (None, _) => String::new(),
        };
        let peer = self.peer.as_ref().map(|peer| spread(&peer.rounds)).unwrap_or_default();
        let ratio = self.ratio().map(short).unwrap_or_default();
        let Self { workload, what, unit, rounds, durability, .. } = self;
        format!(
            "| {workload} | {what} | {goal} | {} {unit} | {peer} | {ratio} | {durability} | {circumstances} |",
            spread(rounds)
        )
    }
}

/// The figures of one benchmark.
#[derive(Debug, Deserialize, Serialize)]
pub struct Report {
    /// The command that measures them.
    pub command: String,
    /// Machine, commit, build.
    pub circumstances: String,
    pub figures: Vec<Figure>,
}

impl Report {
    /// Takes a figure up and prints it.
    #[expect(clippy::print_stdout, reason = "a benchmark talks to the person who runs it")]
    pub fn add(&mut self, figure: Figure) {
        println!("{}", figure.line(&self.circumstances));
        self.figures.push(figure);
    }

    /// Writes the figures to `folder`, and the table and the chart of all figures that are there. Each workload has a file of its
    /// own, so a run that measures one workload replaces the figures of this workload only.
    pub(super) fn write(self, folder: &Path, name: &str) {
        std::fs::create_dir_all(folder).unwrap();
        let Self { command, circumstances, figures } = self;
        let mut workloads: BTreeMap<String, Vec<Figure>> = BTreeMap::new();
        for figure in figures {
            workloads.entry(figure.workload.clone()).or_default().push(figure);
        }
        for (workload, figures) in workloads {
            let report = Self { command: command.clone(), circumstances: circumstances.clone(), figures };
            let file = folder.join(format!("{name}-{workload}.json"));
            std::fs::write(file, serde_json::to_string_pretty(&report).unwrap()).unwrap();
        }
        let reports = reports(folder);
        std::fs::write(folder.join("table.md"), table(&reports)).unwrap();
        std::fs::write(folder.join("chart.svg"), chart::draw(&reports)).unwrap();
    }
}

fn reports(folder: &Path) -> Vec<Report> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
    files.sort();
    files.iter().map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect()
}

/// The place of a workload in the table: its number.
pub(super) fn number(figure: &Figure) -> u32 {
    figure.workload.trim_start_matches('W').parse().unwrap_or(u32::MAX)
}

fn table(reports: &[Report]) -> String {
    let mut rows: Vec<_> = reports
        .iter()
        .flat_map(|report| {
            report.figures.iter().map(|figure| (number(figure), figure.row(&report.circumstances), &report.command))
        })
        .collect();
    rows.sort_by_key(|(number, ..)| *number);
    let mut text =
        "| | what | goal | figure | peer | ratio | durability | circumstances | command |\n|---|---|---|---|---|---|---|---|---|\n".to_owned();
    for (_, row, command) in rows {
        writeln!(text, "{row} `{command}` |").unwrap();
    }
    text
}
