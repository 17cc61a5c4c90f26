//! The part of the store for people, their login links and their sessions.

use domain::base::field::FieldError;
use domain::base::ids::{SessionId, SuspensionId};
use domain::people::person::PersonChange;
use domain::people::preferences::Preferences;
use domain::people::principal::Principal;
use domain::people::roster::{Change, Roster};
use domain::wire::{OutOfOffice, PersonView};
use futures_util::FutureExt;
use uuid::Uuid;

use crate::backend::Backend;
use crate::error::{Unit, Wanted};
use crate::person::{Entered, LeasedLogins, LoginResult, LoginToken, Named, NewPerson, OpenSession, OwnAbsence, SessionToken};
use crate::units;
use crate::units::absence::Awaited;

/// People who may log in, with their login links and sessions.
pub trait Logins {
    /// Lists a person, who may log in from now on.
    fn add_person(&self, principal: Principal, person: Wanted<NewPerson>) -> Unit<'_, PersonView>;
    /// Lists the people, in the order in which they were added.
    fn people(&self, principal: Principal) -> Unit<'_, Vec<PersonView>>;
    /// Changes a person, which counts at once; `NotFound` if the person is not listed.
    fn change_person(&self, principal: Principal, person: Wanted<Named>, change: Wanted<PersonChange>) -> Unit<'_, PersonView>;
    /// Sets the time zone and the locale of the person of a session.
    fn choose_preferences(&self, principal: Principal, preferences: Wanted<Preferences>) -> Unit<'_, ()>;
    /// Says for which time a person is out of office, or with `None` that the person is back. A session says it of its own person alone.
    fn set_absence(
        &self,
        principal: Principal,
        person: Wanted<Named>,
        absence: Wanted<Option<OutOfOffice>>,
    ) -> Unit<'_, PersonView>;
    /// For which time the person of a session is out of office, and what is wrong with the address of a deputy that the person has `typed`.
    fn own_absence(&self, principal: Principal, typed: Option<String>) -> Unit<'_, (Option<OwnAbsence>, Option<FieldError>)>;
    /// The questions that wait for people who are out of office.
    fn awaited(&self) -> Unit<'_, Vec<Awaited>>;
    /// Moves the place of a person who is out of office to the deputy; false if it stays.
    fn stand_in(&self, awaited: Awaited) -> Unit<'_, bool>;
    /// Removes a person from the list and from all groups, and ends the person's sessions; `NotFound` if the person is not listed.
    fn remove_person(&self, principal: Principal, person: Wanted<Named>) -> Unit<'_, PersonView>;
    /// Makes people and groups be as the configuration file says, and returns the changes; for a server that starts. Refused with the fields
    /// that do not fit to people and groups that were added otherwise.
    fn follow_roster(&self, roster: Roster) -> Unit<'_, Vec<Change>>;
    /// Queues a mail with a login link, if the address is listed. The result and the time that it takes do not depend on the address.
    /// Behind the link, the person is led back to the `question`.
    fn request_login(&self, address: String, question: Option<SuspensionId>) -> Unit<'_, ()>;
    /// Leases mails with login links that are due, and mints a token for each.
    fn lease_logins(&self) -> Unit<'_, LeasedLogins>;
    /// Records the result of a leased mail. If the lease is no longer valid, changes nothing.
    fn complete_login(&self, id: Uuid, lease: [u8; 16], result: LoginResult) -> Unit<'_, ()>;
    /// The address of the person who can log in with this link; `None` if the link cannot be used.
    fn login(&self, token: LoginToken) -> Unit<'_, Option<String>>;
    /// Uses a login link: begins a session in place of the one that the browser had. `None` if the link cannot be used.
    fn log_in(&self, token: LoginToken, before: Option<SessionToken>) -> Unit<'_, Option<Entered>>;
    /// Finds a session that has not ended, with its person.
    fn session(&self, token: SessionToken) -> Unit<'_, Option<OpenSession>>;
    /// Notes that a session is used.
    fn touch_session(&self, id: SessionId) -> Unit<'_, ()>;
    /// Ends the session of the principal, or all sessions of that person.
    fn log_out(&self, principal: Principal, everywhere: bool) -> Unit<'_, ()>;
}

impl<B: Backend> Logins for B {
    fn add_person(&self, principal: Principal, person: Wanted<NewPerson>) -> Unit<'_, PersonView> {
        self.decide("add_person", move |rows, env| units::people::add(rows, env, &principal, &person))
    }

    fn people(&self, principal: Principal) -> Unit<'_, Vec<PersonView>> {
        let now = self.clock().now();
        self.authorized("people", move |rows| units::people::list(rows, &principal, now))
    }

    fn change_person(&self, principal: Principal, person: Wanted<Named>, change: Wanted<PersonChange>) -> Unit<'_, PersonView> {
        self.decide("change_person", move |rows, env| units::people::change(rows, env, &principal, &person, &change))
    }

    fn choose_preferences(&self, principal: Principal, preferences: Wanted<Preferences>) -> Unit<'_, ()> {
        self.decide("choose_preferences", move |rows, env| units::preferences::choose(rows, env, &principal, &preferences))
    }

    fn set_absence(
        &self,
        principal: Principal,
        person: Wanted<Named>,
        absence: Wanted<Option<OutOfOffice>>,
    ) -> Unit<'_, PersonView> {
        self.decide("set_absence", move |rows, env| units::absence::set(rows, env, &principal, &person, &absence))
    }

    fn own_absence(&self, principal: Principal, typed: Option<String>) -> Unit<'_, (Option<OwnAbsence>, Option<FieldError>)> {
        let now = self.clock().now();
        self.authorized("own_absence", move |rows| units::absence::own(rows, &principal, typed.as_deref(), now))
    }

    fn awaited(&self) -> Unit<'_, Vec<Awaited>> {
        let now = self.clock().now();
        self.read("awaited", move |rows| units::absence::awaited(rows, now))
    }

    fn stand_in(&self, awaited: Awaited) -> Unit<'_, bool> {
        self.write("stand_in", move |rows, env| units::absence::stand_in(rows, env, &awaited))
    }

    fn remove_person(&self, principal: Principal, person: Wanted<Named>) -> Unit<'_, PersonView> {
        self.decide("remove_person", move |rows, env| units::people::remove(rows, env, &principal, &person))
    }

    fn follow_roster(&self, roster: Roster) -> Unit<'_, Vec<Change>> {
        self.decide("follow_roster", move |rows, env| units::roster::apply(rows, env, &roster))
    }

    fn request_login(&self, address: String, question: Option<SuspensionId>) -> Unit<'_, ()> {
        self.write("request_login", move |rows, env| units::logins::request(rows, env, &address, question))
    }

    fn lease_logins(&self) -> Unit<'_, LeasedLogins> {
        let now = self.clock().now();
        let next = self.read("next_login", units::logins::next_due);
        async move {
            // The delivery loop asks at each of its turns, and most of them find nothing that is due.
            match next.await? {
                Some(due_at) if due_at <= now => self.write("lease_logins", |rows, env| units::logins::lease(rows, env)).await,
                next_due => Ok(LeasedLogins { logins: Vec::new(), next_due }),
            }
        }
        .boxed()
    }

    fn complete_login(&self, id: Uuid, lease: [u8; 16], result: LoginResult) -> Unit<'_, ()> {
        self.write("complete_login", move |rows, env| units::logins::complete(rows, env, (id, lease), result))
    }

    fn login(&self, token: LoginToken) -> Unit<'_, Option<String>> {
        let now = self.clock().now();
        self.read("login", move |rows| units::logins::address_of(rows, &token, now))
    }

    fn log_in(&self, token: LoginToken, before: Option<SessionToken>) -> Unit<'_, Option<Entered>> {
        self.write("log_in", move |rows, env| units::logins::log_in(rows, env, &token, before.as_ref()))
    }

    fn session(&self, token: SessionToken) -> Unit<'_, Option<OpenSession>> {
        let (now, hash) = (self.clock().now(), token.hash());
        self.look_up("session", move |rows| units::logins::session(rows, &hash, now))
    }

    fn touch_session(&self, id: SessionId) -> Unit<'_, ()> {
        self.write("touch_session", move |rows, env| units::logins::touch(rows, env, id))
    }

    fn log_out(&self, principal: Principal, everywhere: bool) -> Unit<'_, ()> {
        self.decide("log_out", move |rows, env| units::logins::log_out(rows, env, &principal, everywhere))
    }
}
