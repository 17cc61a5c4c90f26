//! The SDK's calls for tasks, plans and coordinators against the real server.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::time::Duration;

use harness::on_each_store;
use placet::{
    CallError, Checkpoint, CheckpointStatus, CoordinatorStatus, CoordinatorType, FailureAction, Guardrails, PlanState,
    SuspensionPolicy, TaskStatus, TimeoutAction,
};
use serde_json::{Map, json};

fn code<T: std::fmt::Debug>(outcome: Result<T, CallError>) -> String {
    let Err(CallError::Refused(problem)) = outcome else { panic!("{outcome:?}") };
    problem.code.clone().unwrap()
}

on_each_store! {
    /// A plan of two tasks stops at its checkpoint until a person has said yes; then the second one is done, and a part of it handed on.
    async fn a_program_works_through_a_plan(app: &mut TestApp) {
        let client = app.client();
        let intent = client.create_intent("Pay an invoice").active().send().await.unwrap();
        let made = intent.create_task("Check it").description("All pages").input("invoice", "INV-7").capability("invoices");
        let mut check = made.timeout(Duration::from_mins(5)).max_attempts(2).send().await.unwrap();
        let mut pay = intent.create_task("Pay it").depends_on([check.id()]).send().await.unwrap();
        assert_eq!((check.view().status, pay.view().status, check.view().timeout_seconds), (TaskStatus::Ready, TaskStatus::Pending, Some(300)));
        assert_eq!(code(intent.create_task("Late").timeout(Duration::from_millis(1_500)).send().await), "invalid");
        let checkpoint = Checkpoint::after(check.id(), "pay", "Pay the invoice").within_hours(4, TimeoutAction::Fail);
        let made = intent.create_plan([check.id(), pay.id()]).checkpoint(checkpoint.approver("boss@example.com"));
        let mut plan = made.on_failure(FailureAction::Notify).metadata("team", "billing").send().await.unwrap();
        plan.activate().await.unwrap();
        check.claim().await.unwrap();
        check.start().await.unwrap();
        check.progress(Some(40), Some("Two of five")).await.unwrap();
        check.fail("The scan is blurred").await.unwrap();
        check.retry().await.unwrap();
        check.start().await.unwrap();
        check.complete([("valid", true)]).await.unwrap();
        let view = plan.refresh().await.unwrap();
        assert_eq!((view.state, view.checkpoints[0].status), (PlanState::Paused, CheckpointStatus::Reached));
        assert_eq!(code(plan.resume().await), "plan_waits_for_person");
        assert_eq!(code(pay.start().await), "invalid_transition");
        let id = plan.view().checkpoints[0].suspension_id.unwrap().expose();
        app.operator().respond(intent.id(), &id, "yes").await.ok();
        pay.start().await.unwrap();
        let mut asked = pay.escalate("The account is new").await.unwrap();
        assert_eq!((pay.view().status, pay.view().blocked_reason.as_deref()), (TaskStatus::Blocked, Some("escalation")));
        app.operator().respond(intent.id(), &asked.suspension_id().expose(), "Pay it.").await.ok();
        assert_eq!(asked.answer().await.unwrap().value, "Pay it.");
        let mut part = pay.delegate("bank", Map::from_iter([("amount".to_owned(), json!(7))])).await.unwrap();
        assert_eq!((pay.view().status, part.view().parent_task_id), (TaskStatus::Blocked, Some(pay.id())));
        part.start().await.unwrap();
        part.complete([("paid", 7)]).await.unwrap();
        pay.refresh().await.unwrap();
        pay.complete([("receipt", "R-1")]).await.unwrap();
        app.restart().await;
        let client = app.client();
        assert_eq!(client.plan(plan.id()).await.unwrap().view().state, PlanState::Completed);
        assert_eq!(client.task(check.id()).await.unwrap().view().output.as_ref().unwrap()["valid"], true);
        let intent = client.intent(intent.id()).await.unwrap();
        assert_eq!((intent.tasks().await.unwrap().len(), intent.plans().await.unwrap().len()), (3, 1));
    }

    /// A coordinator keeps its lease by heartbeats, records its decisions, and its guardrails bind the program itself.
    async fn a_program_directs_an_intent(app: &mut TestApp) {
        let client = app.client();
        let intent = client.create_intent("Refunds").active().send().await.unwrap();
        let limits = Guardrails { max_tasks_per_plan: Some(1), requires_plan_review: Some(true), ..Guardrails::default() };
        let taken = intent.coordinate("test-agent").supervisor("cto@example.com").kind(CoordinatorType::System).guardrails(limits);
        let taken = taken.suspension_policy(SuspensionPolicy::Escalate).heartbeat_every(Duration::from_secs(30));
        let mut coordinator = taken.send().await.unwrap();
        assert_eq!(intent.coordinate("test-agent").send().await.unwrap().id(), coordinator.id());
        assert_eq!(code(intent.coordinate("another").send().await), "forbidden");
        let due = coordinator.heartbeat().await.unwrap();
        assert_eq!((due - coordinator.view().granted_at).num_seconds(), 30);
        let decided = coordinator.record_decision("plan_created", "Check first", "The vendor is new", Vec::new()).await.unwrap();
        assert_eq!(intent.coordinator_decisions().await.unwrap(), [decided]);
        let (one, two) = (intent.create_task("One").send().await.unwrap(), intent.create_task("Two").send().await.unwrap());
        assert_eq!(code(intent.create_plan([one.id(), two.id()]).send().await), "guardrail_violation");
        let mut plan = intent.create_plan([one.id()]).send().await.unwrap();
        plan.activate().await.unwrap();
        assert_eq!(plan.view().state, PlanState::Paused);
        assert_eq!(code(plan.cancel().await), "plan_waits_for_person");
        let state = app.agent().intent(intent.id()).await["state"].clone();
        app.operator().respond(intent.id(), state["_suspension"]["id"].as_str().unwrap(), "yes").await.ok();
        plan.refresh().await.unwrap();
        plan.pause().await.unwrap();
        plan.cancel().await.unwrap();
        assert_eq!(plan.view().state, PlanState::Cancelled);
        app.advance(60).await;
        assert_eq!(coordinator.refresh().await.unwrap().status, CoordinatorStatus::Unresponsive);
        app.advance(90).await;
        assert_eq!(code(coordinator.heartbeat().await), "coordinator_ended");
        assert_eq!(client.coordinator(coordinator.id()).await.unwrap().view().status, CoordinatorStatus::FailedOver);
        let until = coordinator.view().granted_at + chrono::TimeDelta::hours(1);
        intent.coordinate("test-agent").until(until).send().await.unwrap();
        assert_eq!(intent.coordinators().await.unwrap().len(), 2);
    }

    /// A program without a runtime has the same calls.
    async fn a_program_without_a_runtime_has_tasks_too(app: &mut TestApp) {
        let (base, key) = (app.base.clone(), app.agent().key().to_owned());
        let work = move || {
            let client = placet::blocking::Client::new(base, key).unwrap();
            let intent = client.create_intent("Pay").active().send().unwrap();
            let made = intent.create_task("Check").description("all").input("a", 1).capability("c").max_attempts(2);
            let mut check = made.timeout(Duration::from_mins(1)).send().unwrap();
            let mut pay = intent.create_task("Pay").depends_on([check.id()]).send().unwrap();
            let mut plan = intent.create_plan([check.id(), pay.id()]).on_failure(FailureAction::Notify).metadata("a", 1).send().unwrap();
            plan.activate().unwrap();
            check.claim().unwrap();
            check.start().unwrap();
            check.progress(Some(5), None).unwrap();
            check.fail("no").unwrap();
            check.retry().unwrap();
            check.start().unwrap();
            let mut asked = check.escalate("why").unwrap();
            assert_eq!(asked.record().context["task"], "Check");
            asked.cancel(Some("not needed")).unwrap();
            let mut part = check.delegate("c", Map::new()).unwrap();
            part.start().unwrap();
            part.complete([("ok", true)]).unwrap();
            intent.create_task("Spare").send().unwrap().cancel("not needed").unwrap();
            check.refresh().unwrap();
            check.complete([("ok", true)]).unwrap();
            plan.pause().unwrap();
            plan.resume().unwrap();
            pay.start().unwrap();
            pay.complete([("ok", true)]).unwrap();
            assert_eq!((plan.refresh().unwrap().state, client.plan(plan.id()).unwrap().id()), (PlanState::Completed, plan.id()));
            assert_eq!(client.task(pay.id()).unwrap().view().status, TaskStatus::Completed);
            assert_eq!((intent.tasks().unwrap().len(), intent.plans().unwrap().len()), (4, 1));
            let checkpoint = Checkpoint::after(pay.id(), "c", "n");
            assert_eq!(code(intent.create_plan([]).checkpoint(checkpoint).send().map(|_| ())), "invalid");
            let mut draft = intent.create_plan([]).send().unwrap();
            draft.cancel().unwrap();
            let taken = intent.coordinate("test-agent").kind(CoordinatorType::System).supervisor("cto").guardrails(Guardrails::default());
            let taken = taken.suspension_policy(SuspensionPolicy::BlockDependents).heartbeat_every(Duration::from_secs(30));
            let mut lead = taken.until(pay.view().created_at + chrono::TimeDelta::hours(1)).send().unwrap();
            lead.heartbeat().unwrap();
            lead.record_decision("plan_created", "s", "r", Vec::new()).unwrap();
            assert_eq!(lead.refresh().unwrap().status, CoordinatorStatus::Active);
            assert_eq!((client.coordinator(lead.id()).unwrap().id(), intent.coordinators().unwrap().len()), (lead.id(), 1));
            assert_eq!(intent.coordinator_decisions().unwrap()[0].summary, "s");
            assert_eq!((lead.view().id, draft.view().state, check.id()), (lead.id(), PlanState::Cancelled, check.view().id));
        };
        tokio::task::spawn_blocking(work).await.unwrap();
    }
}
