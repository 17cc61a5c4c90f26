//! The SDK's `request_many` against the real server.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use std::time::Duration;

use domain::people::principal::Role;
use harness::app::TestApp;
use harness::on_each_store;
use placet::{Client, IntentId, Question, RequestInputError};

/// How long a test waits before it fails.
const PATIENCE: Duration = Duration::from_mins(1);

fn go() -> Question<bool> {
    Question::confirm("Go?").timeout(Duration::from_hours(1))
}

/// Active intents, each for one question.
async fn intents(client: &Client, count: usize) -> Vec<IntentId> {
    let mut intents = Vec::new();
    for number in 0..count {
        intents.push(client.create_intent(format!("Order {number}")).active().send().await.unwrap().id());
    }
    intents
}

/// Waits until this many waits are open.
async fn waiters_are(app: &TestApp, count: usize) {
    let line = format!("\nplacet_waiters {count}\n");
    let seen = async {
        while !app.api(Role::Auditor).get("metrics").await.text.contains(&line) {
            harness::pause::pause().await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, seen).await.is_ok(), "there were never {count} waits");
}

/// Answers the question of each of these intents, the last intent first, so that the answers come in another order than the
/// questions.
async fn answer_backwards(app: &TestApp, intents: &[IntentId]) {
    for (number, intent) in intents.iter().enumerate().rev() {
        let id = app.client().ask(*intent, go()).await.unwrap().suspension_id().expose();
        app.operator().respond(*intent, &id, if number % 2 == 0 { "yes" } else { "no" }).await.ok();
    }
}

on_each_store! {
    /// A program that asks about many orders must give each its own answer, and must not lose the others if one question is refused.
    async fn each_question_of_many_has_its_own_end(app: &mut TestApp) {
        let client = app.client();
        let intents = intents(&client, 5).await;
        let draft = client.create_intent("Draft").send().await.unwrap().id();
        let asked = intents.iter().chain([&draft]).map(|intent| (*intent, go()));
        // The first intent gets the same question once more, which is found, and another one, which is refused.
        let more = [(intents[0], go()), (intents[0], go().context("another", true))];
        let (outcomes, ()) = tokio::join!(client.request_many(asked.chain(more)), async {
            waiters_are(app, 6).await;
            answer_backwards(app, &intents).await;
        });
        for (number, outcome) in outcomes.iter().enumerate() {
            match outcome {
                Ok(answer) => assert_eq!(answer.value, number == 6 || number % 2 == 0, "{number}"),
                Err(RequestInputError::Refused(problem)) => assert!(number == 5 || number == 7, "{number}: {problem}"),
                Err(error) => panic!("{number}: {error}"),
            }
        }
        assert!(matches!(&outcomes[5], Err(RequestInputError::Refused(problem)) if problem.is("not_active")));
        assert!(matches!(&outcomes[7], Err(RequestInputError::Refused(problem)) if problem.is("not_active")));
        app.settle().await;
    }

    /// A program may stop waiting for many questions and start again, on a server that was restarted meanwhile. No person may be
    /// asked twice, and no wait may stay behind on the server.
    async fn many_questions_dropped_are_found_again(app: &mut TestApp) {
        let client = app.client();
        let intents = intents(&client, 4).await;
        let questions = || intents.iter().map(|intent| (*intent, go())).collect::<Vec<_>>();
        tokio::select! {
            _ = client.request_many(questions()) => panic!("no person has answered"),
            () = waiters_are(app, 4) => {}
        }
        waiters_are(app, 0).await;
        app.restart().await;
        let client = app.client();
        let (outcomes, ()) = tokio::join!(client.request_many(questions()), async {
            waiters_are(app, 4).await;
            answer_backwards(app, &intents).await;
        });
        let answers: Vec<_> = outcomes.into_iter().map(|outcome| outcome.unwrap()).map(|answer| (answer.value, answer.replayed)).collect();
        assert_eq!(answers, [(true, false), (false, false), (true, false), (false, false)]);
        for intent in intents {
            let asked = app.agent().event_types(intent).await.iter().filter(|event| *event == "intent.suspended").count();
            assert_eq!(asked, 1);
        }
        app.settle().await;
    }

    /// Programs without a runtime ask about many intents, too.
    async fn a_program_without_a_runtime_asks_many(app: &mut TestApp) {
        let blocking = placet::blocking::Client::new(app.base.clone(), app.agent().key()).unwrap();
        let intents = intents(&app.client(), 3).await;
        let questions: Vec<_> = intents.iter().map(|intent| (*intent, go())).collect();
        let asking = tokio::task::spawn_blocking(move || blocking.request_many(questions));
        waiters_are(app, 3).await;
        answer_backwards(app, &intents).await;
        let answers: Vec<_> = asking.await.unwrap().into_iter().map(|outcome| outcome.unwrap().value).collect();
        assert_eq!(answers, [true, false, true]);
        app.settle().await;
    }
}
