//! The tables of this version.

use diesel::sqlite::SqliteConnection;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use crate::host::kill_points::{self, Point};

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../migrations/sqlite");

/// The versions of the migrations in this program, oldest first. A version begins with the date of its migration.
pub fn known_migrations() -> anyhow::Result<Vec<String>> {
    let migrations = diesel::migration::MigrationSource::<diesel::sqlite::Sqlite>::migrations(&MIGRATIONS);
    let migrations = migrations.map_err(|error| anyhow::anyhow!(error))?;
    let mut versions: Vec<String> = migrations.iter().map(|migration| migration.name().version().to_string()).collect();
    versions.sort_unstable();
    Ok(versions)
}

pub(super) fn migrate(conn: &mut SqliteConnection) -> anyhow::Result<()> {
    let known = known_migrations()?;
    let applied = conn.applied_migrations().map_err(|error| anyhow::anyhow!(error))?;
    if let Some(newer) = applied.iter().map(ToString::to_string).find(|version| !known.contains(version)) {
        anyhow::bail!("the database was written by a newer placet (migration {newer}); use that version or restore a backup");
    }
    // Two processes may start on a new file at once. The second waits for the lock, and then finds nothing left to do.
    conn.exclusive_transaction(|conn| {
        conn.run_pending_migrations(MIGRATIONS).map_err(|error| anyhow::anyhow!(error))?;
        kill_points::reached(Point::WithinMigration);
        Ok(())
    })
    .map_err(|error: MigrateError| error.0)
}

struct MigrateError(anyhow::Error);

impl From<diesel::result::Error> for MigrateError {
    fn from(error: diesel::result::Error) -> Self {
        Self(error.into())
    }
}

impl From<anyhow::Error> for MigrateError {
    fn from(error: anyhow::Error) -> Self {
        Self(error)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use diesel::prelude::*;
    use diesel::sql_types::Text;
    use diesel::sqlite::Sqlite;

    use super::*;
    use crate::schema;

    /// Columns that only PostgreSQL has, where several servers share the tables.
    const ONLY_POSTGRES: [&str; 3] = ["outbox.leased_by", "presence.version", "published.position"];

    type Tables = BTreeMap<String, BTreeSet<String>>;

    #[derive(QueryableByName)]
    struct Column {
        #[diesel(sql_type = Text)]
        of_table: String,
        #[diesel(sql_type = Text)]
        name: String,
    }

    /// The tables and columns the migrations make.
    fn migrated() -> Tables {
        let mut conn = SqliteConnection::establish(":memory:").unwrap();
        migrate(&mut conn).unwrap();
        let columns = "SELECT m.name AS of_table, c.name AS name FROM sqlite_schema m, pragma_table_info(m.name) c \
                       WHERE m.type = 'table' AND m.name NOT LIKE '\\_\\_%' ESCAPE '\\' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
        let mut tables = Tables::new();
        for column in diesel::sql_query(columns).load::<Column>(&mut conn).unwrap() {
            tables.entry(column.of_table).or_default().insert(column.name);
        }
        tables
    }

    /// Puts the columns of one table into the map, as diesel would name them in a query.
    macro_rules! described {
        ($tables:ident: $($table:ident)*) => {$(
            let query = diesel::debug_query::<Sqlite, _>(&schema::$table::table.select(schema::$table::all_columns)).to_string();
            let list = query.split(" FROM ").next().unwrap().trim_start_matches("SELECT ");
            let names = list.split(", ").map(|column| column.split('`').nth(3).unwrap().to_owned());
            $tables.insert(stringify!($table).to_owned(), names.collect());
        )*};
    }

    #[test]
    fn the_described_tables_are_those_of_the_migrations() {
        let mut described = Tables::new();
        described!(described: intents intent_bodies events suspensions counted_answers suspension_keys idempotency timers outbox tokens leases);
        described!(described: api_keys agent_bytes secrets presence suspension_traces bounces departures places);
        described!(described: server_events server_log assignments published access_entries access_requests);
        described!(described: announcements client_ids graph_edges completions tasks plans coordinators retries receipts redactions holds);
        described!(described: portfolios portfolio_events portfolio_members subscriptions);
        described!(described: people people_groups people_group_members logins sessions passkeys views identities openid_logins unsent_answers);
        described!(described: inbox answered drafts alerts stops wakes wake_posts errands);
        described!(described: tree unplaced tree_tiles tree_runs checkpoints witnesses log_keys);
        for only in ONLY_POSTGRES {
            let (table, column) = only.split_once('.').unwrap();
            assert!(described.get_mut(table).unwrap().remove(column), "{only}");
        }
        assert_eq!(described, migrated());
    }
}
