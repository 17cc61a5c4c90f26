//! The part of the store for passkeys of people.

use domain::base::passkey::{Assertion, KnownPasskey, Octets};
use domain::people::passkey::Passkey;
use domain::people::person::Person;
use domain::people::principal::Principal;

use crate::backend::Backend;
use crate::error::{Unit, Wanted};
use crate::passkey::{NewPasskey, PasskeyChallenge};
use crate::units;

/// Passkeys of people.
pub trait Passkeys {
    /// The passkeys of the person who logged in.
    fn own_passkeys(&self, principal: Principal) -> Unit<'_, Vec<Passkey>>;
    /// Gives out the challenge that the next change of the person's passkeys needs.
    fn challenge_passkey(&self, principal: Principal) -> Unit<'_, PasskeyChallenge>;
    /// Adds a passkey of the person who logged in. It must have signed the challenge that was given out, and if the person has a
    /// passkey already, one of those must have signed it, too.
    fn add_passkey(&self, principal: Principal, new: Wanted<NewPasskey>) -> Unit<'_, Passkey>;
    /// Removes a passkey of the person who logged in. A passkey of the person must have signed the challenge.
    fn remove_passkey(&self, principal: Principal, removed: Wanted<(Octets, Assertion)>) -> Unit<'_, ()>;
    /// Removes all passkeys of a person; gives how many there were.
    fn reset_passkeys(&self, principal: Principal, address: Wanted<String>) -> Unit<'_, (Person, usize)>;
    /// The passkeys of all people, as a verifier without this server needs them.
    fn known_passkeys(&self, principal: Principal) -> Unit<'_, Vec<KnownPasskey>>;
}

impl<B: Backend> Passkeys for B {
    fn own_passkeys(&self, principal: Principal) -> Unit<'_, Vec<Passkey>> {
        self.authorized("own_passkeys", move |rows| units::passkeys::list_own(rows, &principal))
    }

    fn challenge_passkey(&self, principal: Principal) -> Unit<'_, PasskeyChallenge> {
        self.decide("challenge_passkey", move |rows, env| units::passkeys::challenge(rows, env, &principal))
    }

    fn add_passkey(&self, principal: Principal, new: Wanted<NewPasskey>) -> Unit<'_, Passkey> {
        self.decide("add_passkey", move |rows, env| units::passkeys::add(rows, env, &principal, &new))
    }

    fn remove_passkey(&self, principal: Principal, removed: Wanted<(Octets, Assertion)>) -> Unit<'_, ()> {
        self.decide("remove_passkey", move |rows, env| units::passkeys::remove(rows, env, &principal, &removed))
    }

    fn reset_passkeys(&self, principal: Principal, address: Wanted<String>) -> Unit<'_, (Person, usize)> {
        self.decide("reset_passkeys", move |rows, env| units::passkeys::reset(rows, env, &principal, &address))
    }

    fn known_passkeys(&self, principal: Principal) -> Unit<'_, Vec<KnownPasskey>> {
        self.authorized("known_passkeys", move |rows| units::passkeys::known(rows, &principal))
    }
}
