//! Removes from a failed world everything without which it still fails.

use std::collections::BTreeSet;
use std::sync::Arc;

use store::sqlite::simulated::SimulatedDatabase;
use tokio::runtime::Runtime;

use crate::plan::{Faults, Plan};
use crate::routes::Lines;
use crate::world::{Report, run};

/// How many runs the search for the shortest run that still fails may take.
const RUNS_MAX: u32 = 400;

/// The parts that are left out of a seed's world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    cuts: Vec<Cut>,
    /// Faults from this one on do not happen.
    faults_end: Option<u64>,
    /// These faults do not happen either.
    without: BTreeSet<u64>,
    chaos_steps: Option<u64>,
}

/// A kind of part that is left out.
#[derive(Clone, Copy, Debug)]
enum Cut {
    OneProcess,
    FewerIntents,
    OneQuestion,
    NoOperators,
    NoAttackers,
    MailAlone,
    NoRestore,
    NoPeople,
    NoStops,
    NoFaults,
    NoStoreFaults,
    NoCrashes,
    NoPauses,
    NoJumps,
    NoMailFaults,
    NoWebhookFaults,
}

const CUTS: [Cut; 16] = [
    Cut::NoFaults,
    Cut::NoRestore,
    Cut::NoPeople,
    Cut::NoStops,
    Cut::MailAlone,
    Cut::OneProcess,
    Cut::FewerIntents,
    Cut::OneQuestion,
    Cut::NoOperators,
    Cut::NoAttackers,
    Cut::NoStoreFaults,
    Cut::NoCrashes,
    Cut::NoPauses,
    Cut::NoJumps,
    Cut::NoMailFaults,
    Cut::NoWebhookFaults,
];

impl Change {
    /// The plan without the parts that are left out.
    pub(crate) fn of(&self, mut plan: Plan) -> Plan {
        for cut in &self.cuts {
            let faults = &mut plan.faults;
            match cut {
                Cut::OneProcess => plan.processes = 1,
                Cut::FewerIntents => plan.intents = (plan.intents / 2).max(1),
                Cut::OneQuestion => plan.questions = 1,
                Cut::NoOperators => plan.operators = 0,
                Cut::NoAttackers => plan.attackers = 0,
                Cut::MailAlone => plan.lines = Lines::mail(),
                Cut::NoRestore => plan.restores = false,
                Cut::NoPeople => plan.has_people = false,
                Cut::NoStops => plan.has_stops = false,
                Cut::NoFaults => *faults = Faults::default(),
                Cut::NoStoreFaults => {
                    *faults = Faults { refused: 0, broken: 0, unheard: 0, slow: 0, stall: 0, ..faults.clone() };
                }
                Cut::NoCrashes => faults.crash = 0,
                Cut::NoPauses => faults.pause = 0,
                Cut::NoJumps => faults.jump = 0,
                Cut::NoMailFaults => faults.mail = crate::plan::MailFaults::default(),
                Cut::NoWebhookFaults => faults.webhook = crate::plan::WebhookFaults::default(),
            }
        }
        Plan { chaos_steps: self.chaos_steps.unwrap_or(plan.chaos_steps), ..plan }
    }

    /// Whether the fault of this number happens.
    pub(crate) fn allows(&self, fault: u64) -> bool {
        self.faults_end.is_none_or(|end| fault < end) && !self.without.contains(&fault)
    }
}

/// The search for the shortest run in which the same rule is broken.
struct Search<'a> {
    seed: u64,
    database: &'a Arc<SimulatedDatabase>,
    runtime: &'a Runtime,
    runs: u32,
    change: Change,
    best: Report,
}

impl Search<'_> {
    /// Accepts a change if the changed run still breaks the same rule, and has no more steps than before.
    fn attempt(&mut self, change: Change) -> bool {
        if self.runs >= RUNS_MAX {
            return false;
        }
        self.runs += 1;
        let report = run(self.seed, &change, self.database, self.runtime);
        let same = report.violation.as_deref().map(rule) == self.best.violation.as_deref().map(rule);
        let is_better = same && (report.steps, report.drawn) <= (self.best.steps, self.best.drawn);
        if is_better {
            (self.change, self.best) = (change, report);
        }
        is_better
    }

    fn cut(&mut self) {
        for cut in CUTS {
            let mut change = self.change.clone();
            change.cuts.push(cut);
            self.attempt(change);
        }
    }

    /// Tries fewer steps before everything heals, then fewer faults. First it leaves out half of them; whenever a try does not
    /// break the same rule, the next try leaves out half as many.
    fn shorten(&mut self) {
        let mut less = self.best.plan.chaos_steps / 2;
        while less > 0 {
            let chaos_steps = Some(self.best.plan.chaos_steps.saturating_sub(less));
            if !self.attempt(Change { chaos_steps, ..self.change.clone() }) {
                less /= 2;
            }
        }
        let mut less = self.best.drawn / 2;
        while less > 0 {
            let faults_end = Some(self.change.faults_end.unwrap_or(self.best.drawn).saturating_sub(less));
            if !self.attempt(Change { faults_end, ..self.change.clone() }) {
                less /= 2;
            }
        }
    }

    /// Leaves out each remaining fault by itself, the last first.
    fn thin_out(&mut self) {
        let faults = self.change.faults_end.unwrap_or(self.best.drawn);
        for fault in (0..faults).rev() {
            let mut change = self.change.clone();
            if change.without.insert(fault) {
                self.attempt(change);
            }
        }
    }
}

/// The number of the rule at the beginning of a violation.
fn rule(violation: &str) -> &str {
    violation.split_once(':').map_or(violation, |(rule, _)| rule)
}

/// Finds a shorter run of a failed seed that breaks the same rule; returns the parts that were left out, and the report of that
/// run.
pub(crate) fn shrink(seed: u64, failed: Report, database: &Arc<SimulatedDatabase>, runtime: &Runtime) -> (Change, Report) {
    let mut search = Search { seed, database, runtime, runs: 0, change: Change::default(), best: failed };
    loop {
        let before = (search.best.steps, search.best.drawn);
        search.cut();
        search.shorten();
        search.thin_out();
        if (search.best.steps, search.best.drawn) == before || search.runs >= RUNS_MAX {
            return (search.change, search.best);
        }
    }
}
