//! The SDK's calls for the work on an intent against the real server: assignments, leases, policies and approvals.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use std::time::Duration;

use domain::people::principal::Role;
use harness::app::TestApp;
use harness::on_each_store;
use placet::{
    Approval, CallError, Client, CompletionMode, GovernancePolicy, Intent, LeaseStatus, PartialRetryPolicy, RequestInputError,
    Reversibility, Risk, Source, Status, TimeoutReason, WriteScope,
};
use serde_json::json;

use crate::answering::proposal::{editable, paying, payment};
use crate::people::assignees::{ADA, BOB, directory, key_of as key_of_person};

const MINUTE: Duration = Duration::from_mins(1);

async fn key_of(app: &TestApp, role: Role, name: &str) -> Client {
    Client::new(app.base.clone(), app.new_key(role, name).await).unwrap()
}

async fn begun(app: &TestApp) -> Intent {
    app.client().create_intent("Refund order 12345").active().send().await.unwrap()
}

/// The code of a refusal, with its first field.
#[track_caller]
fn refused<T>(outcome: Result<T, CallError>) -> (String, String) {
    match outcome {
        Err(CallError::Refused(problem)) => {
            (problem.code.unwrap_or_default(), problem.errors.first().map(|error| error.field.clone()).unwrap_or_default())
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was not refused"),
    }
}

fn code(code: &str) -> (String, String) {
    (code.to_owned(), String::new())
}

on_each_store! {
    /// A program that delegates its work must see which agents have it, and must be able to take it back.
    async fn an_agent_is_assigned_listed_and_taken_off(app: &mut TestApp) {
        let intent = begun(app).await;
        let helper = key_of(app, Role::Agent, "helper").await;
        assert_eq!(refused(helper.intent(intent.id()).await), code("not_found"));
        assert_eq!(intent.assign("helper", None).await.unwrap().role, "worker");
        let below = "test-agent/a part, 100 %?";
        let assigned = intent.assign(below, Some("reviewer")).await.unwrap();
        assert_eq!((assigned.agent_id.as_str(), assigned.assigned_by.as_str()), (below, "test-agent"));
        app.restart().await;
        let intent = app.client().intent(intent.id()).await.unwrap();
        let helper = key_of(app, Role::Agent, "helper").await;
        let agents = helper.intent(intent.id()).await.unwrap().assignments().await.unwrap();
        let agents: Vec<_> = agents.iter().map(|one| (one.agent_id.as_str(), one.role.as_str())).collect();
        assert_eq!(agents, [("helper", "worker"), (below, "reviewer")]);
        // A name is one segment of the path, whatever it holds.
        intent.unassign(below).await.unwrap();
        intent.unassign("helper").await.unwrap();
        assert!(intent.assignments().await.unwrap().is_empty());
        assert_eq!(refused(helper.intent(intent.id()).await), code("not_found"));
        assert_eq!(refused(intent.assign("", None).await).1, "agent_id");
        assert_eq!(refused(intent.assign(&"x".repeat(201), None).await).1, "agent_id");
        assert!(intent.assign(&"x".repeat(200), None).await.is_ok());
    }

    /// Only one agent at a time holds the lease on a part. Two agents that both believed to hold it would overwrite each other's
    /// work.
    async fn a_lease_is_taken_prolonged_and_given_back(app: &mut TestApp) {
        let mine = begun(app).await;
        mine.assign("helper", None).await.unwrap();
        let helper = key_of(app, Role::Agent, "helper").await.intent(mine.id()).await.unwrap();
        let mut lease = mine.lease("refund", 5 * MINUTE).await.unwrap();
        assert_eq!((lease.view().duration_seconds, lease.view().agent_id.as_str()), (300, "test-agent"));
        let taken = helper.lease("refund", MINUTE).await;
        let Err(CallError::Refused(problem)) = &taken else { panic!("{taken:?}") };
        assert_eq!((problem.is("lease_conflict"), &problem.more["existing_lease"]["agent_id"]), (true, &json!("test-agent")));
        app.advance(299).await;
        lease.renew(10 * MINUTE).await.unwrap();
        assert_eq!((lease.view().expires_at - lease.view().acquired_at).num_seconds(), 899);
        assert_eq!(refused(helper.lease("refund", MINUTE).await), code("lease_conflict"));
        lease.release().await.unwrap();
        let theirs = helper.lease("refund", MINUTE).await.unwrap();

        // A lease that is dropped stays until its time runs out, and can be found again.
        drop(theirs);
        app.restart().await;
        let (mine, helper) = (app.client().intent(mine.id()).await.unwrap(), key_of(app, Role::Agent, "helper").await);
        let helper = helper.intent(mine.id()).await.unwrap();
        assert_eq!(refused(mine.lease("refund", MINUTE).await), code("lease_conflict"));
        let mut found = helper.leases().await.unwrap();
        assert_eq!((found.len(), found[0].view().status), (1, LeaseStatus::Active));
        assert_eq!(refused(mine.leases().await.unwrap()[0].renew(MINUTE).await), code("not_found"));
        app.advance(60).await;
        assert_eq!(helper.leases().await.unwrap()[0].view().status, LeaseStatus::Expired);
        let lease = mine.lease("refund", MINUTE).await.unwrap();
        assert_eq!(refused(found[0].renew(MINUTE).await), ("invalid".to_owned(), "lease_id".to_owned()));
        lease.clone().release().await.unwrap();
        assert_eq!(refused(lease.release().await), code("not_found"));
    }

    /// If a lease's duration were rounded, the lease would end at another time than the program believes. So only whole seconds
    /// are accepted.
    async fn a_lease_lasts_whole_seconds_up_to_a_day(app: &mut TestApp) {
        let intent = begun(app).await;
        let day = Duration::from_hours(24);
        for beyond in [Duration::ZERO, Duration::from_millis(1500), day + Duration::from_secs(1)] {
            assert_eq!(refused(intent.lease("a", beyond).await), ("invalid".to_owned(), "duration_seconds".to_owned()));
        }
        let mut lease = intent.lease("a", Duration::from_secs(1)).await.unwrap();
        assert!(lease.renew(Duration::from_millis(999)).await.is_err());
        lease.renew(day).await.unwrap();
        assert_eq!(lease.view().duration_seconds, 86_400);
        lease.release().await.unwrap();
    }

    /// A policy demands a person's approval of an intent as it is. Without one the agent must not be able to complete it, and the
    /// approval of an earlier version must not count.
    async fn an_intent_is_completed_after_a_typed_approval(app: &mut TestApp) {
        let policy = GovernancePolicy { completion_mode: Some(CompletionMode::RequireApproval), ..GovernancePolicy::default() };
        let mut intent = app.client().create_intent("Refund").active().policy(&policy).send().await.unwrap();
        assert_eq!(intent.policy().await.unwrap(), policy);
        assert_eq!(refused(intent.set_status(Status::Completed, None).await), code("governance_violation"));
        let approval = || Approval::of_completion().reason("the refund is paid").context("amount", 499.99);
        let mut asked = intent.ask_approval(approval()).await.unwrap();
        assert_eq!(asked.record().context["amount"], json!(499.99));
        app.restart().await;
        // The program starts again and asks again: no person is asked twice.
        let mut intent = app.client().intent(intent.id()).await.unwrap();
        let found = intent.ask_approval(approval()).await.unwrap();
        assert_eq!(found.suspension_id(), asked.suspension_id());
        let operator = key_of(app, Role::Operator, "desk").await;
        operator.respond(found.record(), json!("deny"), None).await.unwrap();
        let denied = asked.answer().await.unwrap();
        assert!(!denied.value && matches!(denied.source, Source::Human { ref by, .. } if by == "desk"));
        assert!(intent.request_approval(approval()).await.unwrap().replayed);
        assert_eq!(refused(intent.set_status(Status::Completed, None).await), code("governance_violation"));

        // A stricter policy is another version, so the same words ask anew.
        let stricter = GovernancePolicy { require_status_reason: Some(true), ..policy };
        intent.set_policy(&stricter).await.unwrap();
        let mut asked = intent.ask_approval(approval()).await.unwrap();
        assert_ne!(asked.suspension_id(), found.suspension_id());
        operator.respond(asked.record(), json!("approve"), None).await.unwrap();
        assert!(asked.answer().await.unwrap().value);
        assert_eq!(refused(intent.set_status(Status::Completed, None).await), code("governance_violation"));
        intent.set_status(Status::Completed, Some("paid")).await.unwrap();
        app.settle().await;
    }

    /// Two people approve a proposed action, which one of them edited: the program gets the final action, and no other.
    async fn an_approval_has_the_members_of_a_question(app: &mut TestApp) {
        directory(app).await;
        let intent = begun(app).await;
        let approval = Approval::of("pay").proposal(payment()).editable(editable()).risk(Risk::High).confidence(0.5);
        let approval = approval.assign_to_group("finance").require_approvals(2).require_from_group("finance", 1);
        let mut asked = intent.ask_approval(approval.clone().reversibility(Reversibility::Irreversible)).await.unwrap();
        let record = asked.record().clone();
        assert_eq!((record.risk, record.confidence_at_suspension), (Some(Risk::High), Some(0.5)));
        let edited = paying(2400).as_object().cloned();
        for address in [ADA, BOB] {
            let key = key_of_person(app, address, address).await;
            let person = Client::new(app.base.clone(), key.key().to_owned()).unwrap();
            let seen = person.suspension(record.id).await.unwrap();
            person.respond_with(&seen, json!("approve"), edited.clone(), None).await.unwrap();
        }
        let answer = asked.answer().await.unwrap();
        assert!(answer.value && answer.proposal == edited, "{answer:?}");
        let listed = intent.request_approval(approval.proposal(json!([]))).await.unwrap_err();
        assert!(matches!(&listed, RequestInputError::Refused(problem) if problem.errors[0].field == "proposal"), "{listed:?}");
    }

    /// If no person decides about an approval, the program gets an error, and the intent stays as it is.
    async fn an_approval_that_no_person_gives_is_an_error(app: &mut TestApp) {
        app.restart_with(|config| {
            let policy = PartialRetryPolicy { max_attempts: Some(1), interval_seconds: Some(600), ..PartialRetryPolicy::default() };
            config.asking.default_retry_policy = Some(policy);
        }).await;
        let intent = begun(app).await;
        let mut asked = intent.ask_approval(Approval::of("deploy")).await.unwrap();
        let other = intent.ask_approval(Approval::of("deploy").again("once more")).await.unwrap();
        assert_ne!(asked.suspension_id(), other.suspension_id());
        app.settle().await;
        app.client().cancel(other.suspension_id(), None).await.unwrap();
        app.advance(600).await;
        let error = asked.answer().await.unwrap_err();
        assert!(matches!(error, RequestInputError::InputTimeout { reason: TimeoutReason::Unanswered, .. }), "{error:?}");
        assert_eq!(app.client().intent(intent.id()).await.unwrap().view().status, Status::Active);
        let empty = intent.request_approval(Approval::of("")).await.unwrap_err();
        assert!(matches!(&empty, RequestInputError::Refused(problem) if problem.errors[0].field == "action"), "{empty:?}");
    }

    /// An agent may make the policy of its intent stricter, and only an admin may loosen it.
    async fn an_agent_tightens_a_policy_and_an_admin_removes_it(app: &mut TestApp) {
        let mut intent = begun(app).await;
        assert_eq!(intent.policy().await.unwrap(), GovernancePolicy::default());
        let policy = GovernancePolicy {
            write_scope: Some(WriteScope::AssignedOnly),
            allowed_agents: Some(vec!["test-agent".to_owned()]),
            max_cost: Some(100.into()),
            ..GovernancePolicy::default()
        };
        intent.assign("test-agent", None).await.unwrap();
        intent.set_policy(&policy).await.unwrap();
        assert_eq!(intent.view().version, 2);
        intent.set_policy(&policy).await.unwrap();
        assert_eq!(refused(intent.assign("helper", None).await), code("governance_violation"));
        assert_eq!(refused(intent.set_policy(&GovernancePolicy::default()).await), code("forbidden"));
        assert_eq!(refused(intent.remove_policy().await), code("forbidden"));
        let many = GovernancePolicy { allowed_agents: Some(vec!["x".to_owned(); 101]), ..policy.clone() };
        assert_eq!(refused(intent.set_policy(&many).await).0, "invalid");
        app.restart().await;
        let mut by_admin = key_of(app, Role::Admin, "boss").await.intent(intent.id()).await.unwrap();
        assert_eq!(by_admin.policy().await.unwrap(), policy);
        by_admin.remove_policy().await.unwrap();
        assert_eq!(by_admin.policy().await.unwrap(), GovernancePolicy::default());
    }

    /// The calls for the work on an intent are the same in a program without a runtime.
    async fn a_program_without_a_runtime_works_on_an_intent(app: &mut TestApp) {
        let client = placet::blocking::Client::new(app.base.clone(), app.agent().key()).unwrap();
        let policy = GovernancePolicy { completion_mode: Some(CompletionMode::RequireApproval), ..GovernancePolicy::default() };
        let working = tokio::task::spawn_blocking(move || {
            let mut intent = client.create_intent("Deploy").active().policy(&policy).send().unwrap();
            intent.assign("helper", None).unwrap();
            assert_eq!(intent.assignments().unwrap().len(), 1);
            intent.unassign("helper").unwrap();
            let mut lease = intent.lease("deploy", MINUTE).unwrap();
            lease.renew(2 * MINUTE).unwrap();
            assert_eq!(intent.leases().unwrap()[0].view(), lease.view());
            lease.release().unwrap();
            intent.set_policy(&policy).unwrap();
            assert_eq!(intent.policy().unwrap(), policy);
            assert!(intent.remove_policy().is_err());
            let asked = intent.ask_approval(Approval::of("deploy")).unwrap();
            (intent, asked)
        });
        let (intent, asked) = working.await.unwrap();
        key_of(app, Role::Operator, "desk").await.respond(asked.record(), json!("approve"), None).await.unwrap();
        let approved = tokio::task::spawn_blocking(move || intent.request_approval(Approval::of("deploy")).unwrap().value);
        assert!(approved.await.unwrap());
        app.settle().await;
    }
}
