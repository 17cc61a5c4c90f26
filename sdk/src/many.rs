//! Many questions at a time, for a program that asks about many intents and goes on when all of them have ended.

use std::sync::Arc;

use domain::base::ids::IntentId;
use futures_util::future::join_all;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::answer::Answer;
use crate::client::Client;
use crate::error::RequestInputError;
use crate::pending::WAIT_SECONDS;
use crate::question::Question;

/// The most questions that are being asked at a time. Asking takes milliseconds, and a server has other agents, too.
const ASKS_AT_A_TIME: usize = 16;
/// The most waits at a time. Each holds a connection, and many systems allow a process 1,024 open files.
const WAITS_AT_A_TIME: usize = 256;
/// How long one wait may take on the server while questions wait for their turn, in seconds. A shorter wait would show answers
/// sooner, and a longer one would ask the server less often.
const WAIT_IN_TURN_SECONDS: u32 = 5;

/// Lets questions take turns with waiting, because no more than [`WAITS_AT_A_TIME`] may wait at a time.
#[derive(Clone)]
pub(crate) struct Turns {
    places: Arc<Semaphore>,
    /// How long a turn takes, in seconds.
    pub(crate) wait_seconds: u32,
}

impl Turns {
    fn of(questions: usize) -> Self {
        let wait_seconds = if questions > WAITS_AT_A_TIME { WAIT_IN_TURN_SECONDS } else { WAIT_SECONDS };
        Self { places: Arc::new(Semaphore::new(WAITS_AT_A_TIME)), wait_seconds }
    }

    /// Waits for a turn; turns are given in the order in which they were asked for. The result is never `None`, because the
    /// semaphore is never closed.
    pub(crate) async fn place(&self) -> Option<SemaphorePermit<'_>> {
        self.places.acquire().await.ok()
    }
}

impl Client {
    /// Asks several questions at a time and waits until all of them have ended; the results are in the order of the questions.
    ///
    /// Each result is the one of [`request_input`](Client::request_input): an error of one question changes nothing about the
    /// others. An intent has one open question at most, so each question belongs on an intent of its own; a second question of the
    /// same intent gets the server's refusal (`not_active`), unless it is the same question, which is found. Questions with
    /// answers of different types need several calls, joined by `tokio::join!`.
    ///
    /// All questions are asked at once, 16 requests at a time, so that no person waits for another one. At most 256 waits are open
    /// at a time, each on a connection of the client's pool. If there are more questions, they take turns of 5 seconds: with 1,000
    /// questions, an answer is seen within 20 seconds.
    ///
    /// Dropping the future is safe at any time. It ends the waits and closes their connections; no task goes on in the background.
    /// Questions that were asked stay open, people can answer them, and the same call made again finds them and asks the rest.
    ///
    /// ```no_run
    /// # async fn example(client: placet::Client, orders: Vec<(placet::IntentId, String)>) {
    /// use std::time::Duration;
    ///
    /// use placet::Question;
    ///
    /// let questions = orders.iter().map(|(intent, order)| {
    ///     let question = Question::confirm("Refund it?").context("order", order.as_str());
    ///     (*intent, question.timeout(Duration::from_hours(1)).fallback(false))
    /// });
    /// for ((_, order), answer) in orders.iter().zip(client.request_many(questions).await) {
    ///     match answer {
    ///         Ok(answer) => println!("{order}: {} ({:?})", answer.value, answer.source),
    ///         Err(error) => println!("{order}: {error}"),
    ///     }
    /// }
    /// # }
    /// ```
    pub async fn request_many<T>(
        &self,
        questions: impl IntoIterator<Item = (IntentId, Question<T>)>,
    ) -> Vec<Result<Answer<T>, RequestInputError>> {
        let questions: Vec<_> = questions.into_iter().collect();
        let (asks, turns) = (Semaphore::new(ASKS_AT_A_TIME), Turns::of(questions.len()));
        let one = async |(intent_id, question)| {
            let asked = {
                let _place = asks.acquire().await;
                self.ask(intent_id, question).await?
            };
            asked.in_turn(turns.clone()).answer().await
        };
        join_all(questions.into_iter().map(one)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The future of `request_many` is `Send`, because agents ask from tasks that move between threads.
    #[expect(dead_code, reason = "compiling it is the test")]
    fn asking_many_can_move_between_threads(client: &Client, id: IntentId, question: Question<bool>) {
        fn is_send(_: impl Send) {}
        is_send(client.request_many([(id, question)]));
    }

    #[test]
    fn turns_are_short_only_if_questions_wait_for_them() {
        assert_eq!(Turns::of(WAITS_AT_A_TIME).wait_seconds, WAIT_SECONDS);
        assert_eq!(Turns::of(WAITS_AT_A_TIME + 1).wait_seconds, WAIT_IN_TURN_SECONDS);
    }
}
