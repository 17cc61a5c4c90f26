//! The reference for tasks and coordinators: their history according to the events of one intent.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::{Checked, must};

const SUSPENDED: &str = "suspended_awaiting_input";

/// The tasks and the coordinator of one intent according to its events.
#[derive(Clone, Default)]
pub(crate) struct ModelWork {
    /// The status of each task, and the reason if it is blocked.
    tasks: BTreeMap<String, (&'static str, String)>,
    /// The newest lease of a coordinator, and whether it has ended.
    coordinator: Option<(String, bool)>,
}

impl ModelWork {
    /// Applies an event of the intent, which has this status.
    pub(crate) fn fold(&mut self, event_type: &str, payload: &Value, intent: &str) -> Checked {
        if let Some(step) = event_type.strip_prefix("task.") {
            return self.task(step, payload, intent);
        }
        match event_type.strip_prefix("coordinator.") {
            Some(step) => self.coordinator(step, payload),
            None => Ok(()),
        }
    }

    fn task(&mut self, step: &str, payload: &Value, intent: &str) -> Checked {
        let id = payload["task_id"].as_str().unwrap_or_default().to_owned();
        let status = match step {
            "created" => "pending",
            "ready" | "retrying" => "ready",
            "claimed" => "claimed",
            "started" | "unblocked" => "running",
            "completed" => "completed",
            "failed" => "failed",
            "blocked" => "blocked",
            "cancelled" | "skipped" => "over",
            _ => return Ok(()),
        };
        let begins = matches!(step, "claimed" | "started");
        must!(!begins || intent == "active" || intent == "draft", "I42: a task was {step} while its intent is {intent}");
        let was = self.tasks.get(&id).map_or("", |(status, _)| status);
        must!(!matches!(was, "completed" | "over"), "I42: a task that is {was} was {step}");
        self.tasks.insert(id, (status, payload["blocked_reason"].as_str().unwrap_or_default().to_owned()));
        Ok(())
    }

    fn coordinator(&mut self, step: &str, payload: &Value) -> Checked {
        let id = payload["coordinator_id"].as_str().unwrap_or_default().to_owned();
        if step == "granted" {
            must!(self.coordinator.as_ref().is_none_or(|(_, over)| *over), "I43: two agents direct one intent");
            self.coordinator = Some((id, false));
            return Ok(());
        }
        let live = self.coordinator.as_ref().is_some_and(|(newest, over)| *newest == id && !over);
        must!(live, "I43: the lease of a coordinator that has ended: {step}");
        if matches!(step, "failed_over" | "ended") {
            self.coordinator = Some((id, true));
        }
        Ok(())
    }

    /// The rules between transactions: tasks wait exactly while their intent waits for a person.
    pub(crate) fn check(&self, intent: &str, is_ending: bool) -> Checked {
        let runs = self.tasks.values().any(|(status, _)| *status == "running");
        must!(intent != SUSPENDED || !runs, "I42: a task runs while its intent waits for a person");
        let waits = self.tasks.values().any(|(status, reason)| *status == "blocked" && reason == "intent_suspended");
        // A task that waited when the work was ended is not taken up again.
        must!(intent == SUSPENDED || is_ending || !waits, "I42: a task waits for a person, and its intent is {intent}");
        Ok(())
    }
}
