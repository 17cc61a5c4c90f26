//! The `down.sql` of each migration must undo its `up.sql`. This helps the person who writes the next migration.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use harness::postgres::{Cluster, Scratch};
use harness::rows::Untouched;

/// A query that returns one line for each table column, index, sequence and constraint that a migration can make.
const SHAPE_IN_SQLITE: &str = "SELECT m.type || ' ' || m.name || ' ' || coalesce(c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' \
    || coalesce(c.dflt_value, ''), coalesce(m.sql, '')) AS line FROM sqlite_schema m \
    LEFT JOIN pragma_table_info(m.name) c ON m.type = 'table' ORDER BY 1";
const SHAPE_IN_POSTGRES: &str = "SELECT line FROM ( \
    SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) AS line FROM information_schema.columns \
        WHERE table_schema = current_schema() \
    UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() \
    UNION ALL SELECT sequencename FROM pg_sequences WHERE schemaname = current_schema() \
    UNION ALL SELECT concat_ws(' ', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint \
        WHERE connamespace = current_schema()::regnamespace) AS shape ORDER BY line";

/// A database on which migrations are tried.
enum Tried {
    Sqlite(Box<Untouched>),
    Postgres(Scratch),
}

impl Tried {
    async fn run(&mut self, sql: &Path) {
        let text = std::fs::read_to_string(sql).unwrap();
        match self {
            Self::Sqlite(database) => database.sql(&text),
            Self::Postgres(scratch) => Cluster::of_this_process().sql(scratch.name(), &text).await,
        }
    }

    async fn shape(&mut self) -> Vec<String> {
        match self {
            Self::Sqlite(database) => database.lines(SHAPE_IN_SQLITE),
            Self::Postgres(scratch) => Cluster::of_this_process().lines(scratch.name(), SHAPE_IN_POSTGRES).await,
        }
    }
}

/// The folders of one database's migrations, oldest first.
fn migrations(database: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrations").join(database);
    let mut found: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// The lines that only one of two shapes has.
fn difference<'a>(one: &'a [String], other: &'a [String]) -> Vec<&'a str> {
    let [one, other] = [one, other].map(|shape| shape.iter().map(String::as_str).collect::<BTreeSet<_>>());
    one.symmetric_difference(&other).copied().collect()
}

/// Each `down.sql` undoes its `up.sql` completely, so that the next person who changes a migration finds nothing left behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_migration_goes_back_to_what_was_before_it() {
    let sqlite = Tried::Sqlite(Box::new(Untouched::in_memory()));
    let postgres = Tried::Postgres(Cluster::of_this_process().empty().await);
    for (database, mut tried) in [("sqlite", sqlite), ("postgres", postgres)] {
        for migration in migrations(database) {
            let (up, down) = (migration.join("up.sql"), migration.join("down.sql"));
            let before = tried.shape().await;
            tried.run(&up).await;
            let after = tried.shape().await;
            tried.run(&down).await;
            assert_eq!(difference(&before, &tried.shape().await), [""; 0], "{}", down.display());
            tried.run(&up).await;
            assert_eq!(difference(&after, &tried.shape().await), [""; 0], "{}", up.display());
        }
        if let Tried::Postgres(scratch) = tried {
            scratch.forget().await;
        }
    }
}
