//! The SDK's calls for graphs and portfolios against the real server.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use chrono::TimeDelta;
use harness::on_each_store;
use placet::{CallError, Intent, MembershipRole, PortfolioPolicy, PortfolioStatus, Question, Related, RequestInputError, Status};

fn code<T: std::fmt::Debug>(outcome: Result<T, CallError>) -> String {
    let Err(CallError::Refused(problem)) = outcome else { panic!("{outcome:?}") };
    problem.code.clone().unwrap()
}

fn ids(related: Result<Related, CallError>) -> Vec<placet::IntentId> {
    let related = related.unwrap();
    assert!(!related.truncated);
    related.intents.iter().map(Intent::id).collect()
}

on_each_store! {
    /// A report waits for a review. The program sees it, and cannot go round the person that the review asks.
    async fn a_program_builds_and_reads_a_graph(app: &mut TestApp) {
        let client = app.client();
        let root = client.create_intent("Quarter").active().send().await.unwrap();
        let mut review = client.create_intent("Review").parent(root.id()).active().send().await.unwrap();
        let mut report = client.create_intent("Report").parent(root.id()).depends_on([review.id()]).active().send().await.unwrap();
        assert_eq!((report.view().status, &report.view().blocked_by), (Status::Blocked, &vec![review.id()]));
        let mut letter = client.create_intent("Letter").active().send().await.unwrap();
        letter.add_dependency(report.id()).await.unwrap();
        assert_eq!(letter.view().status, Status::Blocked);
        assert_eq!(code(letter.add_dependency(report.id()).await), "dependency_exists");
        assert_eq!(code(review.add_dependency(letter.id()).await), "dependency_cycle");

        assert_eq!(ids(root.children().await), [review.id(), report.id()]);
        assert_eq!(ids(root.descendants().await), [review.id(), report.id()]);
        assert_eq!((ids(root.ready().await), ids(root.blocked().await)), (vec![review.id()], vec![report.id()]));
        assert_eq!((ids(report.ancestors().await), ids(report.dependencies().await)), (vec![root.id()], vec![review.id()]));
        assert_eq!(ids(report.dependents().await), [letter.id()]);
        let graph = letter.graph().await.unwrap();
        assert_eq!((graph.nodes.len(), graph.edges.len(), graph.truncated), (3, 2, false));

        letter.remove_dependency(report.id()).await.unwrap();
        assert_eq!(letter.view().status, Status::Active);
        let question = Question::confirm("Does it comply?").timeout(std::time::Duration::from_hours(1));
        let mut pending = client.ask(review.id(), question).await.unwrap();
        assert_eq!(code(report.remove_dependency(review.id()).await), "upstream_intent_suspended");
        pending.cancel(None).await.unwrap();
        assert_eq!(code(report.remove_dependency(review.id()).await), "upstream_intent_unanswered");
        review.set_status(Status::Completed, None).await.unwrap();
        assert_eq!(report.refresh().await.unwrap().status, Status::Active);
    }

    /// The deadline of a portfolio ends the questions of its intents, and the program that waits learns that no person answered.
    async fn a_program_uses_a_portfolio_with_a_deadline(app: &mut TestApp) {
        let client = app.client();
        let intent = client.create_intent("Refund").active().send().await.unwrap();
        let other = client.create_intent("Letter").active().send().await.unwrap();
        let at = intent.view().created_at + TimeDelta::minutes(10);
        let made = client.create_portfolio("Refunds").description("Of November").metadata("team", "billing");
        let mut portfolio = made.deadline(at).require_all_completed().send().await.unwrap();
        let shown = (portfolio.view().name.as_str(), portfolio.view().description.as_deref(), &portfolio.view().metadata["team"]);
        assert_eq!(shown, ("Refunds", Some("Of November"), &"billing".into()));
        portfolio.add(intent.id(), MembershipRole::Primary, 5).await.unwrap();
        let place = portfolio.add(other.id(), MembershipRole::Member, 0).await.unwrap();
        assert_eq!((place.intent_id, place.priority), (other.id(), 0));
        let members: Vec<_> = portfolio.intents().await.unwrap().iter().map(|member| member.intent_id).collect();
        assert_eq!(members, [intent.id(), other.id()]);
        assert_eq!(intent.portfolios().await.unwrap()[0].id(), portfolio.id());
        assert_eq!(code(portfolio.set_status(PortfolioStatus::Completed).await), "members_incomplete");
        portfolio.remove(other.id()).await.unwrap();

        let policy = PortfolioPolicy { deadline: Some(at + TimeDelta::minutes(5)), require_all_completed: None };
        portfolio.set_policy(policy).await.unwrap();
        let question = Question::confirm("Refund it?").timeout(std::time::Duration::from_hours(2)).fallback(true);
        let mut pending = client.ask(intent.id(), question).await.unwrap();
        app.advance(899).await;
        assert_eq!(portfolio.refresh().await.unwrap().suspended_member_count, 1);
        app.advance(1).await;
        let ended = pending.answer().await;
        assert!(matches!(ended, Err(RequestInputError::InputCancelled { .. })), "{ended:?}");
        portfolio.set_status(PortfolioStatus::Abandoned).await.unwrap();
        app.restart().await;
        let found = app.client().portfolio(portfolio.id()).await.unwrap();
        assert_eq!((found.view().status, found.view().aggregate_status.by_status.abandoned), (PortfolioStatus::Abandoned, 1));
        assert_eq!(code(app.client().create_portfolio("Late").deadline(at - TimeDelta::days(1)).send().await), "invalid");
    }

    /// A program without a runtime has the same calls.
    async fn a_program_without_a_runtime_has_them_too(app: &mut TestApp) {
        let (base, key) = (app.base.clone(), app.agent().key().to_owned());
        let work = move || {
            let client = placet::blocking::Client::new(base, key).unwrap();
            let root = client.create_intent("Quarter").active().send().unwrap();
            let mut report = client.create_intent("Report").parent(root.id()).active().send().unwrap();
            let review = client.create_intent("Review").depends_on([report.id()]).active().send().unwrap();
            let of = |related: Result<placet::blocking::Related, CallError>| related.unwrap().intents[0].id();
            assert_eq!((of(root.children()), of(review.dependencies()), of(report.dependents())), (report.id(), report.id(), review.id()));
            assert_eq!((of(report.ancestors()), of(root.descendants()), of(root.ready())), (root.id(), report.id(), report.id()));
            assert!(root.blocked().unwrap().intents.is_empty());
            assert_eq!(root.graph().unwrap().nodes.len(), 2);
            let other = client.create_intent("Letter").active().send().unwrap();
            report.add_dependency(other.id()).unwrap();
            assert_eq!(report.view().status, Status::Blocked);
            report.remove_dependency(other.id()).unwrap();
            assert_eq!(report.view().status, Status::Active);

            let made = client.create_portfolio("Refunds").description("all").metadata("team", "billing").require_all_completed();
            let mut portfolio = made.send().unwrap();
            portfolio.add(other.id(), MembershipRole::Member, 0).unwrap();
            assert_eq!(portfolio.intents().unwrap()[0].intent_id, other.id());
            assert_eq!(other.portfolios().unwrap()[0].id(), portfolio.id());
            assert_eq!(code(portfolio.set_status(PortfolioStatus::Completed)), "members_incomplete");
            portfolio.set_policy(PortfolioPolicy::default()).unwrap();
            portfolio.remove(other.id()).unwrap();
            portfolio.set_status(PortfolioStatus::Completed).unwrap();
            assert_eq!(client.portfolio(portfolio.id()).unwrap().refresh().unwrap().status, PortfolioStatus::Completed);
        };
        tokio::task::spawn_blocking(work).await.unwrap();
    }
}
