//! The part of the store for callers of other protocols: they ask without an intent of their own, and see an intent with its question as
//! one matter.

use domain::base::ids::IntentId;
use domain::intent::command::Command;
use domain::people::principal::Principal;
use domain::suspension::errand::Via;
use domain::wire::ResumeRequest;
use futures_util::FutureExt;

use crate::backend::Backend;
use crate::error::{Unit, Wanted};
use crate::matter::{ErrandFilter, Halted, Matter, MatterPage, NewErrand, NewMessage, matter, matters};
use crate::request::Unreadable;
use crate::units;

/// The most messages of a conversation that a caller sees who does not say how many.
const SAID_MAX: usize = 1_000;

/// Questions and answers of callers of other protocols.
pub trait Errands {
    /// Asks for a caller without an intent of its own: makes an intent and its question in one transaction. The intent ends with the
    /// question. A repeated request with the same key gets the matter in its present state.
    fn ask_alone(&self, errand: NewErrand) -> Unit<'_, Matter>;
    /// Answers the question of an intent in words. Words that are no answer are recorded, and leave the question open. Words to an intent
    /// that asks nothing are for the agent that works on it.
    fn say(&self, principal: Principal, id: IntentId, message: NewMessage) -> Unit<'_, Matter>;
    /// Withdraws the question of an errand, and so abandons the errand.
    fn call_off(&self, principal: Principal, id: IntentId) -> Unit<'_, Matter>;
    /// Stops the work of an intent: a principal pauses it, or its agent parks it.
    fn halt(&self, principal: Principal, id: IntentId, command: Result<Command, Unreadable>) -> Unit<'_, Halted>;
    /// Lets the work of an intent go on: a stop is resumed, and an open question is answered by the input.
    fn go_on(&self, principal: Principal, id: IntentId, resume: ResumeRequest, via: Via) -> Unit<'_, Halted>;
    /// Reads an intent as a matter, with so many messages of the conversation.
    fn matter(&self, principal: Principal, id: IntentId, messages: Wanted<usize>) -> Unit<'_, Matter>;
    /// Lists the errands that the principal may read, the one that changed last first.
    fn matters(&self, principal: Principal, filter: Wanted<ErrandFilter>) -> Unit<'_, MatterPage>;
}

impl<B: Backend> Errands for B {
    fn ask_alone(&self, errand: NewErrand) -> Unit<'_, Matter> {
        let principal = errand.principal.clone();
        let asked = self.decide("ask_alone", move |rows, env| units::errands::ask(rows, env, &errand));
        async move { Ok(with_words(self, principal, asked.await?, SAID_MAX).await) }.boxed()
    }

    fn say(&self, principal: Principal, id: IntentId, message: NewMessage) -> Unit<'_, Matter> {
        let (by, messages) = (principal.clone(), message.messages);
        let heard = self.decide("say", move |rows, env| units::errands::hear(rows, env, (&principal, id), &message));
        async move { Ok(with_words(self, by, heard.await?, messages).await) }.boxed()
    }

    fn call_off(&self, principal: Principal, id: IntentId) -> Unit<'_, Matter> {
        let by = principal.clone();
        let called_off = self.decide("call_off", move |rows, env| units::errands::call_off(rows, env, &principal, id));
        async move { Ok(with_words(self, by, called_off.await?, SAID_MAX).await) }.boxed()
    }

    fn halt(&self, principal: Principal, id: IntentId, command: Result<Command, Unreadable>) -> Unit<'_, Halted> {
        let by = principal.clone();
        let halted = self.decide("halt", move |rows, env| units::halting::halt(rows, env, (&principal, id), &command));
        async move { Ok(halted_with_words(self, by, halted.await?).await) }.boxed()
    }

    fn go_on(&self, principal: Principal, id: IntentId, resume: ResumeRequest, via: Via) -> Unit<'_, Halted> {
        let by = principal.clone();
        let gone_on = self.decide("go_on", move |rows, env| units::halting::go_on(rows, env, (&principal, id), &resume, via));
        async move { Ok(halted_with_words(self, by, gone_on.await?).await) }.boxed()
    }

    fn matter(&self, principal: Principal, id: IntentId, messages: Wanted<usize>) -> Unit<'_, Matter> {
        let (now, watch) = (self.clock().now(), self.watch().clone());
        self.authorized("matter", move |rows| matter(rows, &principal, id, messages, (now, &watch)))
    }

    fn matters(&self, principal: Principal, filter: Wanted<ErrandFilter>) -> Unit<'_, MatterPage> {
        let (now, watch) = (self.clock().now(), self.watch().clone());
        self.authorized("matters", move |rows| matters(rows, &principal, filter, (now, &watch)))
    }
}

/// The matter with the newest messages of its conversation, unless it has them. They are read after the work, because a conversation may be
/// long, and all other writes would wait for the transaction that reads it.
async fn with_words<B: Backend>(store: &B, principal: Principal, matter: Matter, messages: usize) -> Matter {
    if messages == 0 || !matter.said.is_empty() {
        return matter;
    }
    // The work is done by now: a caller that cannot be shown the conversation must not believe that it is not.
    match store.matter(principal, matter.intent_id, Ok(messages)).await {
        Ok(Matter { said, .. }) => Matter { said, ..matter },
        Err(_) => matter,
    }
}

async fn halted_with_words<B: Backend>(store: &B, principal: Principal, halted: Halted) -> Halted {
    let Halted { matter, stop } = halted;
    Halted { matter: with_words(store, principal, matter, SAID_MAX).await, stop }
}
