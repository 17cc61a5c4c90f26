//! The part of the store for callers of other protocols: they ask without an intent of their own, and see an intent with its question as
//! one matter.

use domain::asking::errands::Said;
use domain::base::field::FieldError;
use domain::base::ids::IntentId;
use domain::people::principal::Principal;

use crate::backend::Backend;
use crate::error::{Unit, Wanted};
use crate::matter::{ErrandFilter, Matter, MatterPage, NewErrand, matter, matters};
use crate::request::Idempotency;
use crate::units;

/// Questions and answers of callers of other protocols.
pub trait Errands {
    /// Asks for a caller without an intent of its own: makes an intent and its question in one transaction. The intent ends with the
    /// question. A repeated request with the same key gets the matter in its present state.
    fn ask_alone(&self, errand: NewErrand) -> Unit<'_, Matter>;
    /// Answers the question of an intent in words. Words that are no answer are recorded, and leave the question open.
    fn say(
        &self,
        principal: Principal,
        id: IntentId,
        said: Result<Said, Vec<FieldError>>,
        idempotency: Option<Idempotency>,
    ) -> Unit<'_, Matter>;
    /// Withdraws the question of an errand, and so abandons the errand.
    fn call_off(&self, principal: Principal, id: IntentId) -> Unit<'_, Matter>;
    /// Reads an intent as a matter, with so many messages of the conversation.
    fn matter(&self, principal: Principal, id: IntentId, messages: Wanted<usize>) -> Unit<'_, Matter>;
    /// Lists the errands that the principal may read, the one that changed last first.
    fn matters(&self, principal: Principal, filter: Wanted<ErrandFilter>) -> Unit<'_, MatterPage>;
}

impl<B: Backend> Errands for B {
    fn ask_alone(&self, errand: NewErrand) -> Unit<'_, Matter> {
        self.decide("ask_alone", move |rows, env| units::errands::ask(rows, env, &errand))
    }

    fn say(
        &self,
        principal: Principal,
        id: IntentId,
        said: Result<Said, Vec<FieldError>>,
        idempotency: Option<Idempotency>,
    ) -> Unit<'_, Matter> {
        self.decide("say", move |rows, env| units::errands::say(rows, env, (&principal, id), &said, idempotency))
    }

    fn call_off(&self, principal: Principal, id: IntentId) -> Unit<'_, Matter> {
        self.decide("call_off", move |rows, env| units::errands::call_off(rows, env, &principal, id))
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
