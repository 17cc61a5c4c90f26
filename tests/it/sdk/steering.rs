//! The SDK for operators: listing open questions, answering, extending and reminding, and a preview before a question is asked.

use harness::on_each_store;
use placet::{CallError, Client, PartialRetryPolicy, Question, What};
use serde_json::{Map, json};

on_each_store! {
    /// If a reply is lost, a careful client sends its answer again. The repeat must neither fail nor count as another answer. A
    /// client that sends a different answer must be told that it came too late.
    async fn an_answer_sent_twice_is_recorded_once(app: &mut TestApp) {
        let agent = app.client();
        let operator = Client::new(app.operator().base(), app.operator().key().to_owned()).unwrap();
        assert!(operator.open_suspensions(None).await.unwrap().suspensions.is_empty());
        let intent = agent.create_intent("Refund order 12345").active().send().await.unwrap().id();
        agent.ask(intent, Question::confirm("Refund?").timeout_seconds(3600)).await.unwrap();
        let page = operator.open_suspensions(None).await.unwrap();
        let [question] = page.suspensions.as_slice() else { panic!("one question is open: {}", page.suspensions.len()) };
        assert_eq!(question.asked_by.as_deref(), Some("test-agent"));

        let comment = || Some(Map::from_iter([("comment".to_owned(), json!("go ahead"))]));
        let refused = operator.respond(question, json!("maybe"), None).await;
        assert!(matches!(&refused, Err(CallError::Refused(problem)) if problem.is("invalid_choice")), "{refused:?}");
        let first = operator.respond(question, json!("yes"), comment()).await.unwrap();
        let again = operator.respond(question, json!("yes"), comment()).await.unwrap();
        assert_eq!(first, again);
        let late = operator.respond(question, json!("no"), comment()).await;
        assert!(matches!(&late, Err(CallError::Refused(problem)) if problem.is("already_resolved")), "{late:?}");
        let resumed = app.operator().event_types(intent).await.iter().filter(|event| *event == "intent.resumed").count();
        assert_eq!(resumed, 1);
        assert_eq!(app.operator().suspension(&question.id.expose()).await["metadata"], json!({"comment": "go ahead"}));
        assert!(operator.open_suspensions(None).await.unwrap().suspensions.is_empty());
    }
    /// If a reply is lost, a repeated extension must not extend twice. A question that changed meanwhile must not be extended
    /// unseen.
    async fn an_extension_sent_twice_counts_once(app: &mut TestApp) {
        let agent = app.client();
        let operator = Client::new(app.base.clone(), app.operator().key().to_owned()).unwrap();
        let intent = agent.create_intent("Refund order 12345").active().send().await.unwrap().id();
        let asked = agent.ask(intent, Question::confirm("Refund?").timeout_seconds(3600)).await.unwrap();
        let record = asked.record();
        let first = operator.extend(record, 600, Some("lunch")).await.unwrap();
        let again = operator.extend(record, 600, Some("lunch")).await.unwrap();
        assert_eq!(first, again);
        let given = |record: &placet::SuspensionRecord| record.expires_at.map(|at| (at - record.suspended_at).num_seconds());
        assert_eq!(given(&first), Some(4200));
        let stale = operator.extend(record, 700, None).await;
        assert!(matches!(&stale, Err(CallError::Refused(problem)) if problem.is("version_conflict")), "{stale:?}");
        assert_eq!(given(&operator.extend(&first, 700, None).await.unwrap()), Some(4900));
        let own = agent.extend(&first, 60, None).await;
        assert!(matches!(&own, Err(CallError::Refused(problem)) if problem.is("forbidden")), "{own:?}");
    }

    /// An operator can remind people of an open question with one call, and is told if it is too soon.
    async fn a_reminder_is_one_call(app: &mut TestApp) {
        let agent = app.client();
        let operator = Client::new(app.base.clone(), app.operator().key().to_owned()).unwrap();
        let intent = agent.create_intent("Refund order 12345").active().send().await.unwrap().id();
        let id = agent.ask(intent, Question::confirm("Refund?").timeout_seconds(3600)).await.unwrap().suspension_id();
        app.settle().await;
        assert_eq!(operator.remind(id).await.unwrap().id, id);
        let soon = operator.remind(id).await;
        let Err(CallError::Refused(problem)) = soon else { panic!("{soon:?}") };
        assert!(problem.is("rate_limited"), "{problem}");
        app.settle().await;
        app.smtp.next_mail().await;
        assert!(app.smtp.next_mail().await.subject().starts_with("Re: "));
    }

    /// A program can preview the plan of the question that it is going to ask. The preview uses the program's own default policy
    /// as asking does.
    async fn a_question_is_previewed_as_it_would_be_asked(app: &mut TestApp) {
        let policy = PartialRetryPolicy { max_attempts: Some(2), interval_seconds: Some(600), ..PartialRetryPolicy::default() };
        let agent = app.client().with_default_retry_policy(policy);
        let question = || Question::confirm("Refund?").fallback(false);
        let preview = agent.preview(question()).await.unwrap();
        let intent = agent.create_intent("Refund order 12345").active().send().await.unwrap().id();
        let asked = agent.ask(intent, question()).await.unwrap();
        assert_eq!((preview.schedule.len(), preview.expires_at), (2, asked.record().expires_at));
        assert_eq!((preview.at_the_end.what, preview.at_the_end.value), (What::Fallback, Some(json!("no"))));
        let refused = agent.preview(Question::confirm("")).await;
        assert!(matches!(&refused, Err(CallError::Refused(problem)) if problem.is("invalid")), "{refused:?}");
    }
}
