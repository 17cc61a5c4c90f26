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

/// Queries for the columns of suspensions that have a value, each with its type.
const COLUMNS_IN_SQLITE: &str =
    "SELECT name || ' ' || lower(type) AS line FROM pragma_table_info('suspensions') WHERE \"notnull\" AND dflt_value IS NULL";
const COLUMNS_IN_POSTGRES: &str = "SELECT column_name || ' ' || data_type AS line FROM information_schema.columns \
    WHERE table_schema = current_schema() AND table_name = 'suspensions' AND is_nullable = 'NO' AND column_default IS NULL";

/// A column, and a value of its type.
fn value(column: &str, kind: u32) -> (&str, String) {
    let (name, of) = column.split_once(' ').unwrap();
    let value = match of {
        _ if name == "kind" => kind.to_string(),
        "blob" => "x'00'".to_owned(),
        "bytea" | "text" => "''".to_owned(),
        "boolean" => "false".to_owned(),
        "uuid" => "'00000000-0000-0000-0000-000000000000'".to_owned(),
        "json" | "jsonb" => "'[]'".to_owned(),
        "timestamp with time zone" => "now()".to_owned(),
        _ => "0".to_owned(),
    };
    (name, value)
}

/// A database on which migrations are tried.
enum Tried {
    Sqlite(Box<Untouched>),
    Postgres(Scratch),
}

impl Tried {
    async fn run(&mut self, sql: &Path) {
        self.say(&std::fs::read_to_string(sql).unwrap()).await;
    }

    async fn say(&mut self, sql: &str) {
        match self {
            Self::Sqlite(database) => database.sql(sql),
            Self::Postgres(scratch) => Cluster::of_this_process().sql(scratch.name(), sql).await,
        }
    }

    async fn refuses(&mut self, sql: &Path) -> bool {
        let text = std::fs::read_to_string(sql).unwrap();
        match self {
            Self::Sqlite(database) => database.refuses(&text),
            Self::Postgres(scratch) => Cluster::of_this_process().refuses(scratch.name(), &text).await,
        }
    }

    /// Adds an open suspension of this kind; its other values mean nothing.
    async fn stop(&mut self, kind: u32) {
        let columns = match self {
            Self::Sqlite(database) => database.lines(COLUMNS_IN_SQLITE),
            Self::Postgres(scratch) => Cluster::of_this_process().lines(scratch.name(), COLUMNS_IN_POSTGRES).await,
        };
        let (names, values): (Vec<&str>, Vec<String>) = columns.iter().map(|column| value(column, kind)).unzip();
        let row = format!("INSERT INTO suspensions ({}) VALUES ({})", names.join(", "), values.join(", "));
        // Its intent and its event are not there.
        match self {
            Self::Sqlite(database) => database.sql(&format!("PRAGMA foreign_keys = OFF; {row}")),
            Self::Postgres(scratch) => {
                let row = format!("SET session_replication_role = replica; {row}");
                Cluster::of_this_process().sql(scratch.name(), &row).await;
            }
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

/// An older version would leave an intent blocked for ever that is stopped now, so the tables do not go back while one is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_goes_back_while_an_intent_is_stopped() {
    let sqlite = Tried::Sqlite(Box::new(Untouched::in_memory()));
    let postgres = Tried::Postgres(Cluster::of_this_process().empty().await);
    for (database, mut tried) in [("sqlite", sqlite), ("postgres", postgres)] {
        for migration in migrations(database) {
            tried.run(&migration.join("up.sql")).await;
            let name = migration.file_name().unwrap().to_str().unwrap();
            let kinds: &[u32] = match name {
                _ if name.ends_with("_stops") => &[1, 2],
                _ if name.ends_with("_endings") => &[6],
                _ => continue,
            };
            let down = migration.join("down.sql");
            for kind in kinds {
                let before = tried.shape().await;
                tried.stop(*kind).await;
                assert!(tried.refuses(&down).await, "{} with an open stop of kind {kind}", down.display());
                assert_eq!(difference(&before, &tried.shape().await), [""; 0], "{}", down.display());
                tried.say("DELETE FROM suspensions").await;
            }
            tried.run(&down).await;
            tried.run(&migration.join("up.sql")).await;
        }
        if let Tried::Postgres(scratch) = tried {
            scratch.forget().await;
        }
    }
}
