//! The part of the store for groups of people.

use domain::people::group::Group;
use domain::people::principal::Principal;

use crate::backend::Backend;
use crate::error::{Unit, Wanted};
use crate::units;

/// Groups of listed people.
pub trait Groups {
    /// Makes a group, or gives it these members in place of those that it has. Returns it with the members in the order of their
    /// characters.
    fn set_group(&self, principal: Principal, group: Wanted<Group>) -> Unit<'_, Group>;
    /// Removes a group, and returns it as it was; `NotFound` if there is none of this name.
    fn remove_group(&self, principal: Principal, name: Wanted<String>) -> Unit<'_, Group>;
    /// Lists the groups, in the order of the characters of their names.
    fn groups(&self, principal: Principal) -> Unit<'_, Vec<Group>>;
}

impl<B: Backend> Groups for B {
    fn set_group(&self, principal: Principal, group: Wanted<Group>) -> Unit<'_, Group> {
        self.decide("set_group", move |rows, env| units::groups::set(rows, env, &principal, &group))
    }

    fn remove_group(&self, principal: Principal, name: Wanted<String>) -> Unit<'_, Group> {
        self.decide("remove_group", move |rows, env| units::groups::remove(rows, env, &principal, &name))
    }

    fn groups(&self, principal: Principal) -> Unit<'_, Vec<Group>> {
        self.authorized("groups", move |rows| units::groups::list(rows, &principal))
    }
}
