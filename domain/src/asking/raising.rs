//! The operator's rules about agents, for a question in an intent of another agent.
//!
//! The key that asks is known when a request is accepted. The agent of the intent, and the one that wrote the plan, are known only when the
//! intent is loaded. The rules about all of them hold, and the strictest one counts: otherwise a second agent of the same owner could ask
//! what the first one may not.

use crate::container::plan::{NewPlan, PlanChange, PlanCommand, PlanStep, Prepared};
use crate::intent::Intent;
use crate::intent::command::{Command, Suspend};
use crate::suspension::Question;
use crate::suspension::demand::{AgentRule, RequiredAssurance};

/// The command with its questions as the rules about the agent of the intent want them, and about the agent that wrote the plan; `None` if
/// there are no rules, or the command asks no question.
pub fn raised(intent: &Intent, command: &Command, rules: &[AgentRule]) -> Option<Command> {
    if rules.is_empty() {
        return None;
    }
    let raise = Raise { rules, agents: vec![&intent.created_by.name] };
    if let Command::Plan(plan) = command {
        return Some(Command::Plan(Box::new(raise.of_plan(intent, plan))));
    }
    command.asks().map(|suspend| command.asking(raise.asked(suspend)))
}

/// The warning to the asker of a question for which the server demands more than the request does.
pub fn demanded(floor: RequiredAssurance) -> String {
    format!("required_assurance is {floor}: this server demands it for the question")
}

/// The rules about some agents.
struct Raise<'a> {
    rules: &'a [AgentRule],
    agents: Vec<&'a String>,
}

impl<'a> Raise<'a> {
    fn question(&self, question: &mut Question) {
        for rule in self.rules {
            for agent in &self.agents {
                question.raise(rule, agent);
            }
        }
    }

    fn asked(&self, suspend: &Suspend) -> Suspend {
        let mut suspend = suspend.clone();
        let before = suspend.question.required_assurance;
        self.question(&mut suspend.question);
        suspend.warn_of_demand(before, suspend.question.required_assurance);
        suspend
    }

    fn of_plan(mut self, intent: &'a Intent, command: &PlanCommand) -> PlanCommand {
        // A plan asks in the name of its creator, whichever agent changes or activates it.
        self.agents.extend(intent.plans.iter().filter(|plan| plan.id == command.id).map(|plan| &plan.created_by.name));
        let mut command = command.clone();
        let (outline, others) = match &mut command.step {
            PlanStep::Create(new) => {
                let NewPlan { outline, on_failure_question, .. } = &mut **new;
                (outline, Some(on_failure_question))
            }
            PlanStep::Change(change) => {
                let PlanChange { outline, review, .. } = &mut **change;
                (outline, review.as_mut())
            }
        };
        let raise = |prepared: &mut Prepared| self.question(&mut prepared.question);
        if let Some(prepared) = others {
            raise(prepared);
        }
        for (body, prepared) in outline.checkpoints.iter_mut().flatten() {
            if let Some(prepared) = prepared {
                raise(prepared);
                body.required_assurance = prepared.question.required_assurance;
            }
        }
        command
    }
}

impl Suspend {
    /// Tells the asker that more is `demanded` than the question said `before`, in place of an earlier warning of this kind.
    pub fn warn_of_demand(&mut self, before: Option<RequiredAssurance>, now: Option<RequiredAssurance>) {
        let Some(floor) = now.filter(|_| now != before) else { return };
        let earlier = before.map(demanded);
        self.warnings.retain(|warning| Some(warning) != earlier.as_ref());
        self.warnings.push(demanded(floor));
    }
}
