//! Groups of listed people.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::PersonId;
use domain::people::group::Group;

use super::Writing;
use crate::person_columns::GROUP;
use crate::rows::{ReadGroups, RowsError, RowsResult, WriteGroups, joined, ordered};
use crate::schema::{people, people_group_members, people_groups};
use crate::sql::Key;

impl WriteGroups for Writing<'_> {
    fn save_group(&mut self, group: &Group, members: &[PersonId]) -> RowsResult<()> {
        let Group { name, managed, .. } = group;
        let row = (people_groups::name.eq(name), people_groups::managed.eq(managed));
        let saved = diesel::insert_into(people_groups::table).values(row);
        let saved = saved.on_conflict(people_groups::name).do_update();
        let changes = (people_groups::version.eq(people_groups::version + 1), people_groups::managed.eq(managed));
        saved.set(changes).execute(self.conn)?;
        let group = people_groups::table.filter(people_groups::name.eq(name)).select(people_groups::rid);
        let rid = group.first::<i64>(self.conn)?;
        let before = people_group_members::table.filter(people_group_members::people_group.eq(rid));
        diesel::delete(before).execute(self.conn)?;
        let row =
            |person: &PersonId| (people_group_members::people_group.eq(rid), people_group_members::person.eq(Key(person.0)));
        let rows: Vec<_> = members.iter().map(row).collect();
        if !rows.is_empty() {
            diesel::insert_into(people_group_members::table).values(rows).execute(self.conn)?;
        }
        Ok(())
    }

    /// Takes no lock: there is only one writer, so no other transaction can change the groups.
    fn hold_groups(&mut self, _: &[String]) -> RowsResult<()> {
        Ok(())
    }

    fn delete_group(&mut self, name: &str) -> RowsResult<()> {
        let group = people_groups::table.filter(people_groups::name.eq(name));
        let Some(rid) = group.select(people_groups::rid).first::<i64>(self.conn).optional()? else { return Ok(()) };
        let members = people_group_members::table.filter(people_group_members::people_group.eq(rid));
        diesel::delete(members).execute(self.conn)?;
        diesel::delete(people_groups::table.find(rid)).execute(self.conn)?;
        Ok(())
    }

    fn leave_groups(&mut self, person: PersonId) -> RowsResult<()> {
        let memberships = people_group_members::table.filter(people_group_members::person.eq(Key(person.0)));
        diesel::delete(memberships).execute(self.conn)?;
        Ok(())
    }
}

impl ReadGroups for SqliteConnection {
    fn group(&mut self, name: &str) -> RowsResult<Option<Group>> {
        let group =
            people_groups::table.filter(people_groups::name.eq(name)).select((people_groups::rid, people_groups::managed));
        let Some((rid, managed)) = group.first::<(i64, bool)>(self).optional()? else { return Ok(None) };
        let members = people_group_members::table.inner_join(people::table.on(people::id.eq(people_group_members::person)));
        let members = members.filter(people_group_members::people_group.eq(rid)).select(people::address);
        Ok(Some(Group { name: name.to_owned(), members: ordered(members.load(self)?), managed }))
    }

    fn groups(&mut self) -> RowsResult<Vec<Group>> {
        let named = people_groups::table.select(GROUP).load(self)?;
        let members = people_group_members::table.inner_join(people::table.on(people::id.eq(people_group_members::person)));
        let members = members.select((people_group_members::people_group, people::address)).load(self)?;
        Ok(joined(named, members))
    }

    fn group_count(&mut self) -> RowsResult<u32> {
        let count = people_groups::table.count().first::<i64>(self)?;
        u32::try_from(count).map_err(|_| RowsError::Inconsistent("a count beyond all numbers"))
    }

    fn groups_of(&mut self, person: PersonId) -> RowsResult<Vec<String>> {
        let groups = people_groups::table
            .inner_join(people_group_members::table.on(people_group_members::people_group.eq(people_groups::rid)));
        let groups = groups.filter(people_group_members::person.eq(Key(person.0))).select(people_groups::name);
        Ok(ordered(groups.load(self)?))
    }

    fn managed_group_of(&mut self, person: PersonId) -> RowsResult<Option<String>> {
        let groups = people_groups::table
            .inner_join(people_group_members::table.on(people_group_members::people_group.eq(people_groups::rid)));
        let managed = groups.filter(people_group_members::person.eq(Key(person.0))).filter(people_groups::managed);
        Ok(ordered(managed.select(people_groups::name).load(self)?).into_iter().next())
    }
}
