//! The tables of this version.

use diesel::sqlite::SqliteConnection;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use crate::host::kill_points::{self, Point};

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../migrations/sqlite");

/// The versions of the migrations this program has, oldest first. They begin with the time they were made at.
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
    // Two processes may start on a new file at once: the second finds the lock, then finds nothing left to do.
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
