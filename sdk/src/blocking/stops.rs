//! Stops: an agent parks its work, sees that it was paused or ended, and goes on or hands in what it has.

use domain::base::ids::{IntentId, SuspensionId};
use domain::suspension::stop::{Conditions, Mode, Stage};
use domain::wire::{StopRecord, SuspensionView};
use serde_json::Value;

use super::{Client, Intent};
use crate::error::CallError;
use crate::stop::GoOn;

impl Client {
    /// Pauses the work of another agent on an intent; see [`crate::Client::pause`].
    pub fn pause(&self, id: IntentId, mode: Mode, reason: Option<&str>) -> Result<StopRecord, CallError> {
        self.driver.run(self.client.pause(id, mode, reason))
    }

    /// Parks the agent's own work; see [`crate::Client::park`].
    pub fn park(&self, id: IntentId, reason: &str, conditions: Option<Conditions>) -> Result<StopRecord, CallError> {
        self.driver.run(self.client.park(id, reason, conditions))
    }

    /// Ends the work of another agent on an intent; see [`crate::Client::stop`].
    pub fn stop(&self, id: IntentId, graceful: bool, reason: Option<&str>) -> Result<StopRecord, CallError> {
        self.driver.run(self.client.stop(id, graceful, reason))
    }

    /// Lets stopped work go on; see [`crate::Client::resume`].
    pub fn resume(&self, id: SuspensionId, input: Option<Value>) -> Result<StopRecord, CallError> {
        self.driver.run(self.client.resume(id, input))
    }

    /// Says how far the agent has stopped.
    pub fn settle(&self, id: SuspensionId, stage: Stage) -> Result<StopRecord, CallError> {
        self.driver.run(self.client.settle(id, stage))
    }

    /// Hands in what the agent has; see [`crate::Client::hand_in`].
    pub fn hand_in(&self, id: SuspensionId, handoff: Value) -> Result<StopRecord, CallError> {
        self.driver.run(self.client.hand_in(id, handoff))
    }

    /// Reads the present state of a stop.
    pub fn stop_record(&self, id: SuspensionId) -> Result<StopRecord, CallError> {
        self.driver.run(self.client.stop_record(id))
    }

    /// The stop that holds an intent, if there is one.
    pub fn open_stop(&self, id: IntentId) -> Result<Option<StopRecord>, CallError> {
        self.driver.run(self.client.open_stop(id))
    }

    /// Reads a suspension of any kind: a question or a stop.
    pub fn suspension_of_any_kind(&self, id: SuspensionId) -> Result<SuspensionView, CallError> {
        self.driver.run(self.client.suspension_of_any_kind(id))
    }

    /// Waits until a stop has ended, however long that takes.
    pub fn stop_ended(&self, record: StopRecord) -> Result<StopRecord, CallError> {
        self.driver.run(self.client.stop_ended(record))
    }

    /// The place between two steps of an agent's work; see [`crate::Client::between_steps`].
    pub fn between_steps(&self, id: IntentId) -> Result<GoOn, CallError> {
        self.driver.run(self.client.between_steps(id))
    }
}

impl Intent {
    /// Parks the work on the intent; see [`crate::Client::park`].
    pub fn park(&self, reason: &str, conditions: Option<Conditions>) -> Result<StopRecord, CallError> {
        self.client.driver.run(self.intent.park(reason, conditions))
    }

    /// The place between two steps of the work; see [`crate::Client::between_steps`].
    pub fn between_steps(&self) -> Result<GoOn, CallError> {
        self.client.driver.run(self.intent.between_steps())
    }
}
