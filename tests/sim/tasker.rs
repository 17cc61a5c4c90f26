//! Commands of agents about tasks and coordinators, drawn at random.

use domain::base::ids::{CoordinatorId, Entropy, LeaseId, TaskId};
use domain::container::coordinator::{
    CoordinatorBody, CoordinatorCommand, CoordinatorStep, CoordinatorType, Guardrails, NewCoordinator, SuspensionPolicy,
};
use domain::container::task::{NewTask, TaskBody, TaskChange, TaskCommand, TaskStatus, TaskStep};
use domain::intent::command::Command;

use crate::world::World;

/// The tasks and the coordinator of its intent, as an agent knows them.
#[derive(Default)]
pub(crate) struct Tasker {
    tasks: Vec<TaskId>,
    coordinator: Option<CoordinatorId>,
}

impl Tasker {
    /// The next command of this agent about a task.
    pub(crate) fn on_a_task(&mut self, world: &World, agent: &str) -> Command {
        let now = world.executor.now();
        let known = self.tasks.clone();
        let known = world.draw(|chance| chance.happens(60).then(|| (!known.is_empty()).then(|| *chance.pick(&known))).flatten());
        let step = if known.is_some() {
            TaskStep::Change(Box::new(TaskChange::to(world.draw(|chance| {
                *chance.pick(&[
                    TaskStatus::Running,
                    TaskStatus::Running,
                    TaskStatus::Running,
                    TaskStatus::Completed,
                    TaskStatus::Failed,
                    TaskStatus::Blocked,
                    TaskStatus::Ready,
                    TaskStatus::Cancelled,
                ])
            }))))
        } else {
            let timeout_seconds = Some(u32::try_from(world.draw(|chance| chance.within(1..=3_600))).unwrap());
            let body = TaskBody { name: "Check the order".to_owned(), ..TaskBody::default() };
            let (plan_id, depends_on, parent_task_id) = (None, Vec::new(), None);
            TaskStep::Create(Box::new(NewTask { body, plan_id, depends_on, parent_task_id, timeout_seconds, max_attempts: 2 }))
        };
        let id = known.unwrap_or_else(|| TaskId(world.entropy.uuid(now)));
        if known.is_none() {
            self.tasks.push(id);
        }
        let lease_id = LeaseId(world.entropy.uuid(now));
        Command::Task(Box::new(TaskCommand { id, agent_id: agent.to_owned(), lease_id, step }))
    }

    /// The next command of this agent about the lease by which it directs its intent.
    pub(crate) fn on_a_coordinator(&mut self, world: &World, agent: &str) -> Command {
        let beats = world.draw(|chance| chance.happens(50));
        if let Some(id) = self.coordinator.filter(|_| beats) {
            return Command::Coordinate(Box::new(CoordinatorCommand { id, step: CoordinatorStep::Heartbeat }));
        }
        let id = CoordinatorId(world.entropy.uuid(world.executor.now()));
        self.coordinator.get_or_insert(id);
        let policies = [SuspensionPolicy::Isolate, SuspensionPolicy::BlockDependents, SuspensionPolicy::Escalate];
        let suspension_policy = world.draw(|chance| *chance.pick(&policies));
        let step = CoordinatorStep::Grant(Box::new(NewCoordinator {
            agent_id: agent.to_owned(),
            role: "coordinator".to_owned(),
            supervisor_id: None,
            coordinator_type: CoordinatorType::Llm,
            suspension_policy,
            escalates_to: vec!["dan@example.com".to_owned()],
            guardrails: Guardrails::default(),
            heartbeat_interval_seconds: 60,
            expires_at: None,
            body: CoordinatorBody::default(),
        }));
        Command::Coordinate(Box::new(CoordinatorCommand { id, step }))
    }
}
