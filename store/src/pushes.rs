//! The part of the store for endpoints that are pushed the changes of a task: subscriptions that another protocol makes.

use domain::base::ids::IntentId;
use domain::people::principal::Principal;
use domain::subscription::Subscription;

use crate::backend::Backend;
use crate::error::Unit;
use crate::request::NewPush;
use crate::units;

/// Endpoints that are pushed the changes of a task.
pub trait Pushes {
    /// Adds an endpoint, or replaces the one that the caller made under the same id. It is told of what changes from now on; of a task that
    /// has ended, it is told all of it.
    fn create_push(&self, principal: Principal, new: NewPush) -> Unit<'_, Subscription>;
    /// The endpoints that the caller made for a task, the newest first.
    fn pushes(&self, principal: Principal, intent: IntentId) -> Unit<'_, Vec<Subscription>>;
    /// Ends an endpoint that the caller made; does nothing if there is none under this id.
    fn delete_push(&self, principal: Principal, intent: IntentId, id: String) -> Unit<'_, ()>;
}

impl<B: Backend> Pushes for B {
    fn create_push(&self, principal: Principal, new: NewPush) -> Unit<'_, Subscription> {
        self.decide("create_push", move |rows, env| units::pushes::create(rows, env, &principal, &new))
    }

    fn pushes(&self, principal: Principal, intent: IntentId) -> Unit<'_, Vec<Subscription>> {
        let now = self.clock().now();
        self.authorized("pushes", move |rows| units::pushes::list(rows, &principal, intent, now))
    }

    fn delete_push(&self, principal: Principal, intent: IntentId, id: String) -> Unit<'_, ()> {
        self.decide("delete_push", move |rows, env| units::pushes::delete(rows, env, &principal, intent, &id))
    }
}
