//! The part of the store for questions as a person who logged in sees them.

use domain::base::ids::SuspensionId;
use domain::people::principal::Principal;

use crate::backend::Backend;
use crate::error::Unit;
use crate::history::{self, History};
use crate::link::LinkView;
use crate::question::{self, Unsent};
use crate::rows::prelude::*;
use crate::units;

/// Questions as a person who logged in sees them, and what the person typed before the login.
pub trait Personal {
    /// Reads a question for the person who logged in; `NotFound` for every other principal.
    fn question(&self, principal: Principal, id: SuspensionId) -> Unit<'_, LinkView>;
    /// Reads what happened to a question so far; `NotFound` for every principal but a person who logged in and may read it.
    fn history(&self, principal: Principal, id: SuspensionId) -> Unit<'_, History>;
    /// The form that the person who logged in sent before the login, if one is kept.
    fn unsent(&self, principal: Principal, id: SuspensionId) -> Unit<'_, Option<Unsent>>;
    /// Keeps a form for the listed person with this address, whose page sent it. `false` if it is not kept: the address is not listed, the
    /// question has ended, or the form is too large.
    fn keep_unsent(&self, id: SuspensionId, address: String, form: Vec<u8>) -> Unit<'_, bool>;
    /// Forgets the form of a person who has answered.
    fn forget_unsent(&self, id: SuspensionId, address: String) -> Unit<'_, ()>;
}

impl<B: Backend> Personal for B {
    fn question(&self, principal: Principal, id: SuspensionId) -> Unit<'_, LinkView> {
        let watch = self.watch().clone();
        self.authorized("question", move |rows| {
            rows.look_at_the_clock()?;
            question::shown_to(rows, &principal, id, &watch)
        })
    }

    fn history(&self, principal: Principal, id: SuspensionId) -> Unit<'_, History> {
        let now = self.clock().now();
        self.authorized("history", move |rows| history::history(rows, &principal, id, now))
    }

    fn unsent(&self, principal: Principal, id: SuspensionId) -> Unit<'_, Option<Unsent>> {
        let now = self.clock().now();
        self.authorized("unsent", move |rows| question::unsent(rows, &principal, id, now))
    }

    fn keep_unsent(&self, id: SuspensionId, address: String, form: Vec<u8>) -> Unit<'_, bool> {
        self.write("keep_unsent", move |rows, env| units::unsent::keep(rows, env, id, &address, &form))
    }

    fn forget_unsent(&self, id: SuspensionId, address: String) -> Unit<'_, ()> {
        self.write("forget_unsent", move |rows, _| units::unsent::forget(rows, id, &address))
    }
}
