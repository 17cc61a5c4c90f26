//! The part of the store for messages that a suspension is over.

use futures_util::FutureExt;

use crate::backend::Backend;
use crate::error::Unit;
use crate::posting::{LeasedWake, LeasedWakes, WakeGate, WakeTurn};
use crate::rows::prelude::*;
use crate::sending::DeliveryResult;
use crate::units;

/// The outbox of messages that a suspension is over.
pub trait Wakes {
    /// Leases messages that are due, as far as their endpoints have room.
    fn lease_wakes(&self, turns: Vec<WakeTurn>) -> Unit<'_, LeasedWakes>;
    /// Records the result of a leased message: the message is gone, or waits for its next try. Returns false if the lease is no
    /// longer valid.
    fn complete_wake(&self, wake: LeasedWake, result: DeliveryResult) -> Unit<'_, bool>;
}

impl<B: Backend> Wakes for B {
    fn lease_wakes(&self, turns: Vec<WakeTurn>) -> Unit<'_, LeasedWakes> {
        let (now, asked) = (self.clock().now(), turns.clone());
        let due = self.read("due_wakes", move |rows| {
            let mut due = Vec::new();
            for turn in asked {
                if turn.gate != WakeGate::Room(0) && !rows.due_wake_posts(&turn.endpoint, now, 1)?.is_empty() {
                    due.push(turn);
                }
            }
            Ok(due)
        });
        async move {
            // Mostly no message is due, and then no transaction that writes is begun.
            let turns = due.await?;
            if turns.is_empty() {
                return Ok(LeasedWakes::default());
            }
            self.write("lease_wakes", move |rows, env| units::wakes::lease(rows, env, &turns)).await
        }
        .boxed()
    }

    fn complete_wake(&self, wake: LeasedWake, result: DeliveryResult) -> Unit<'_, bool> {
        self.write("complete_wake", move |rows, env| {
            units::wakes::complete(rows, env, (&wake.endpoint, wake.suspension, wake.lease), &result)
        })
    }
}
