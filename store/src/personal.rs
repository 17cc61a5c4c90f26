//! The part of the store for questions as a person who logged in sees them.

use domain::base::ids::SuspensionId;
use domain::people::principal::Principal;
use domain::suspension::draft::{Draft, DraftValues};

use crate::backend::Backend;
use crate::drafts;
use crate::error::{Unit, Wanted};
use crate::history::{self, History};
use crate::link::LinkView;
use crate::question::{self, Typist, Unsent};
use crate::rows::prelude::*;
use crate::units;

/// Questions as a person who logged in sees them, and what the person typed before the login.
pub trait Personal {
    /// Reads a question for the person who logged in; `NotFound` for every other principal.
    fn question(&self, principal: Principal, id: SuspensionId) -> Unit<'_, LinkView>;
    /// Reads what happened to a question so far; `NotFound` for every principal but a person who logged in and may read it.
    fn history(&self, principal: Principal, id: SuspensionId) -> Unit<'_, History>;
    /// The form that the person who logged in sent before the login, if one is kept: one from this browser, or from a page that was made for
    /// the person, before one that another holder of a link may have typed.
    fn unsent(&self, principal: Principal, id: SuspensionId, browser: Typist) -> Unit<'_, Option<Unsent>>;
    /// Keeps a form for the listed person with this address, whose page sent it. `false` if it is not kept: the address is not listed, the
    /// question has ended, the form is too large, or forms from too many other browsers are kept.
    fn keep_unsent(&self, id: SuspensionId, address: String, from: Typist, form: Vec<u8>) -> Unit<'_, bool>;
    /// Forgets the forms of a person who has answered.
    fn forget_unsent(&self, id: SuspensionId, address: String) -> Unit<'_, ()>;
    /// Saves the draft of the principal's person, in place of the one before; an empty one takes that back. Returns the drafts of the
    /// question. Only a person who may answer the open question saves drafts.
    fn save_draft(&self, principal: Principal, id: SuspensionId, values: Wanted<DraftValues>) -> Unit<'_, Vec<Draft>>;
    /// Reads the drafts of an open question, oldest first; for a person who may answer it, and for auditors.
    fn drafts(&self, principal: Principal, id: SuspensionId) -> Unit<'_, Vec<Draft>>;
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

    fn unsent(&self, principal: Principal, id: SuspensionId, browser: Typist) -> Unit<'_, Option<Unsent>> {
        let now = self.clock().now();
        self.authorized("unsent", move |rows| question::unsent(rows, &principal, id, browser, now))
    }

    fn keep_unsent(&self, id: SuspensionId, address: String, from: Typist, form: Vec<u8>) -> Unit<'_, bool> {
        self.write("keep_unsent", move |rows, env| units::unsent::keep(rows, env, id, &address, (from, &form)))
    }

    fn forget_unsent(&self, id: SuspensionId, address: String) -> Unit<'_, ()> {
        self.write("forget_unsent", move |rows, _| units::unsent::forget(rows, id, &address))
    }

    fn save_draft(&self, principal: Principal, id: SuspensionId, values: Wanted<DraftValues>) -> Unit<'_, Vec<Draft>> {
        self.decide("save_draft", move |rows, env| units::drafts::save(rows, env, &principal, id, &values))
    }

    fn drafts(&self, principal: Principal, id: SuspensionId) -> Unit<'_, Vec<Draft>> {
        let now = self.clock().now();
        self.authorized("drafts", move |rows| drafts::drafts(rows, &principal, id, now))
    }
}
