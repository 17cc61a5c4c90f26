//! The facts about a database that an operator can learn without changing it.

use chrono::{DateTime, Utc};
use domain::base::ids::KeyId;
use domain::people::group::Group;
use domain::people::person::Person;
use domain::people::principal::Role;
use domain::wire::KeyView;

/// How the tables of a database relate to this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schema {
    /// The database has no tables yet; the first start makes them.
    Empty,
    /// The tables are another program's.
    Foreign,
    /// The tables are an older version's; the next start applies so many migrations.
    Older(usize),
    /// The tables are this version's.
    Current,
    /// `placet migrate` is filling the tables, and has not finished.
    Half,
    /// A newer program wrote this migration.
    Newer(String),
}

/// A key with the role `channel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    pub id: KeyId,
    pub name: String,
    /// The channels the key is tied to; absent if the key is tied to none.
    pub tied_to: Option<Vec<String>>,
}

impl Gateway {
    /// The keys among all `keys` that are valid and have the role `channel`.
    pub(crate) fn among(keys: Vec<KeyView>) -> Vec<Self> {
        let counts = |key: &KeyView| key.role == Role::Channel && key.revoked_at.is_none();
        keys.into_iter().filter(counts).map(|key| Self { id: key.id, name: key.name, tied_to: key.tied_to }).collect()
    }
}

/// The key that signs the checkpoints of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyOfLog {
    /// The name of the log.
    pub name: String,
    /// The public half.
    pub public: [u8; 32],
    /// The secret half, encrypted; absent if the operator keeps it.
    pub sealed: Option<Vec<u8>>,
}

/// The people and groups of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    pub people: Vec<Person>,
    pub groups: Vec<Group>,
}

/// The contents of a database that concern its operator.
#[derive(Debug)]
pub struct Inspection {
    /// The state of the tables; the other fields are known only for `Older` and `Current` tables.
    pub schema: Schema,
    /// Whether commits go to a write-ahead log; in PostgreSQL they always do.
    pub write_ahead: bool,
    /// The damage that the database's own check found; PostgreSQL has no check to run.
    pub damage: Option<String>,
    /// Where `placet migrate` moved the data, if it did; no server starts here any more.
    pub moved_to: Option<String>,
    /// When the newest event was written.
    pub last_event: Option<DateTime<Utc>>,
    /// How many keys are valid.
    pub keys: i64,
    /// Gateways whose keys are valid; known once the tables are of this version.
    pub gateways: Vec<Gateway>,
    /// The people and groups; known once the tables are of this version.
    pub directory: Option<Directory>,
    /// The time from which deadlines and messages wait after a restore; absent if they do not wait.
    pub held_since: Option<DateTime<Utc>>,
    /// The key that signs the log's checkpoints; known once the tables are of this version and a log has begun.
    pub log_key: Option<KeyOfLog>,
    /// How many events the tree of the log has; known once the tables are of this version.
    pub tree_size: Option<u64>,
    /// The last sign of life of a server; known once the tables are of this version.
    pub beat_at: Option<DateTime<Utc>>,
    /// The server's own secret whose name the caller gave, if the server has made it.
    pub secret: Option<[u8; 32]>,
    /// Whether a server in production has served the database.
    pub was_in_production: bool,
}

impl Inspection {
    /// A database about which nothing more is known yet.
    pub(crate) fn of(schema: Schema) -> Self {
        Self {
            schema,
            write_ahead: false,
            damage: None,
            moved_to: None,
            last_event: None,
            keys: 0,
            gateways: Vec::new(),
            directory: None,
            held_since: None,
            log_key: None,
            tree_size: None,
            beat_at: None,
            secret: None,
            was_in_production: false,
        }
    }
}
